//! The ledger in a bucket, on a real server of S3's protocol and on Microsoft's of Azure's, and in a table of DynamoDB.
//!
//! `scripts/test --skip-stores` leaves out every test in here, by the name of this module.

use std::collections::HashMap;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use floe::Name;
use floe::ledger::LedgerError;
use floe::ledger::conformance::{self, Realm};
use floe_ledger::{OpenError, Opening};
use floe_testbed::{Azurite, Minio, Proxy, http_stub};

use super::faults::{Rig, faults, open};
use super::realm_of;
use crate::processes::program;
use crate::{ask, got, says};

#[cfg(feature = "dynamodb")]
mod dynamodb;

fn rig() -> Rig<Minio> {
    Rig { server: Minio::start(&[]), url: Minio::url_at }
}

faults!(super::rig);

/// Azurite writes its index only every few seconds, so kill -9 loses answered writes, which no cloud does. So it is not
/// killed here.
mod azure {
    use floe::ledger::conformance::CASES;

    use super::{Azurite, Rig, fresh_at};
    use crate::real_servers::faults;

    fn rig() -> Rig<Azurite> {
        Rig { server: Azurite::start(), url: Azurite::url_at }
    }

    #[test]
    fn conforms() {
        let server = Azurite::start();
        // Its 12,000 requests take minutes here, and its names are fewer than the 5,000 of a page of Azure's.
        let fresh = fresh_at(Azurite::url_at(server.port(), "max_wait=60s"));
        for case in CASES.iter().filter(|case| case.name != "many_names") {
            case.check(&fresh);
        }
    }

    #[test]
    fn the_store_alone_conforms() {
        faults::the_store_alone_conforms(&rig());
    }

    #[test]
    fn nothing_is_made_unless_allowed_and_another_realm_is_refused() {
        faults::nothing_is_made_unless_allowed_and_another_realm_is_refused(&rig());
    }

    #[test]
    fn scratch_realms_are_not_counted() {
        faults::scratch_realms_are_not_counted(&rig());
    }

    #[test]
    fn a_frozen_server_is_waited_for_no_longer_than_the_bound() {
        faults::a_frozen_server_is_waited_for_no_longer_than_the_bound(&rig());
    }

    #[test]
    fn a_lost_reply_is_unavailable_and_the_same_token_gets_the_same_range() {
        faults::a_lost_reply_is_unavailable_and_the_same_token_gets_the_same_range(&rig());
    }

    #[test]
    fn a_network_that_is_cut_and_healed_loses_nothing() {
        faults::a_network_that_is_cut_and_healed_loses_nothing(&rig());
    }
}

#[test]
fn conforms() {
    let server = Minio::start(&[]);
    conformance::run(&fresh_at(Minio::url_at(server.port(), "max_wait=60s")));
}

/// Makes fresh realms at a URL, for one test with every case: a runner with a process per test would start a server for
/// each.
fn fresh_at(url: String) -> impl Fn() -> Realm {
    let realms = AtomicU32::new(0);
    move || {
        let url = url.clone();
        let realm = format!("realm-{}", realms.fetch_add(1, Ordering::Relaxed));
        realm_of(move || floe_ledger::open_in(&url, &realm).unwrap())
    }
}

#[test]
fn a_slot_whose_record_somebody_deleted_stays_missing() {
    let server = Minio::start(&[]);
    let url = Minio::url_at(server.port(), "");
    conformance::check_deleted(&|| open(&url), &|key| {
        server.curl("DELETE", &format!("/floe/mark/test/{key}"));
    });
}

#[test]
fn a_reserve_is_one_request() {
    let server = Minio::start(&[]);
    let opening = "the realm three times, and a try of each condition";
    check_requests(server.port(), &|port| Minio::url_at(port, ""), opening);
}

/// A reservation of a known record is one request, and an opening of a known realm five, for the reason given.
fn check_requests(port: u16, url_at: &dyn Fn(u16) -> String, opening: &str) {
    let proxy = Proxy::before(port);
    let ledger = open(&url_at(proxy.port()));
    got(&*ledger, &ask(5));
    let before = proxy.round_trips();
    for _ in 0..10 {
        got(&*ledger, &ask(5));
    }
    assert_eq!(proxy.round_trips() - before, 10);
    let before = proxy.round_trips();
    drop(open(&url_at(proxy.port())));
    assert_eq!(proxy.round_trips() - before, 5, "{opening}");
}

/// The store has executed the write, and is asked again automatically. Its refusal does not mean that another caller wrote.
#[test]
fn a_write_whose_answer_was_lost_is_sent_again_and_known_for_ones_own() {
    let server = Minio::start(&[]);
    check_lost_answers(server.port(), &|port| Minio::url_at(port, "max_wait=60s"));
}

fn check_lost_answers(port: u16, url_at: &dyn Fn(u16) -> String) {
    let proxy = Proxy::before(port);
    let ledger = open(&url_at(proxy.port()));
    assert_eq!(got(&*ledger, &ask(5)), (0, 5));
    for round in 1..=5 {
        let lost = proxy.lost_replies();
        proxy.sever(true);
        thread::scope(|scope| {
            let call = scope.spawn(|| got(&*ledger, &ask(5)));
            while proxy.lost_replies() == lost {
                thread::yield_now();
            }
            proxy.sever(false);
            assert_eq!(call.join().unwrap(), (round * 5, round * 5 + 5));
        });
    }
}

/// As `aws s3 cp` or the console shows it.
#[test]
fn an_operator_can_read_a_record() {
    let server = Minio::start(&[]);
    let ledger = open(&Minio::url_at(server.port(), ""));
    ledger.bind(&Name::new("orders").unwrap(), "segment", true).unwrap();
    let text = server.curl("GET", "/floe/mark/test/n/orders");
    let id = ledger.realm_id().unwrap();
    assert!(text.starts_with(&format!("floe 1\nrealm {id}\nwritten ")), "{text}");
    assert!(text.ends_with("mark 0 start 0 previous 0\ndefinition segment\nend"), "{text}");
}

/// Each action that docs/ledgers.md names, with what it is allowed on.
fn rights() -> Vec<(&'static str, &'static str)> {
    let page = include_str!("../../../../../docs/ledgers.md");
    let (_, rest) = page.split_once("\nOn S3: ").unwrap();
    let actions = rest.split('.').next().unwrap().split('`').filter(|word| word.starts_with("s3:"));
    let on = |action| if action == "s3:ListBucket" { "arn:aws:s3:::ids" } else { "arn:aws:s3:::ids/floe/*" };
    actions.map(|action| (action, on(action))).collect()
}

/// For callers without a key, because MinIO takes a policy for those from the API of S3 alone.
#[test]
fn the_rights_that_the_docs_list_are_enough_and_each_is_needed() {
    let rights = rights();
    assert_eq!(rights.len(), 3, "{rights:?}");
    let reserve = |rights: &[(&str, &str)]| {
        let server = Minio::start(&[]);
        server.allow(rights);
        let url = format!("s3://ids/floe?endpoint=http://127.0.0.1:{}&max_wait=20s", server.port());
        let mut command = Command::new(program("reserve"));
        let output =
            command.args([&url, "orders", "5", "3"]).env("AWS_SKIP_SIGNATURE", "true").output().unwrap();
        let [done, failed] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
        (output.status.success(), done, failed)
    };
    let (succeeds, done, failed) = reserve(&rights);
    assert!(succeeds && done.ends_with("\n0 5\n5 10\n10 15\n"), "{done}{failed}");
    for left_out in 0..rights.len() {
        let fewer: Vec<_> = (0..rights.len()).filter(|at| *at != left_out).map(|at| rights[at]).collect();
        let (succeeds, done, failed) = reserve(&fewer);
        assert!(!succeeds && done.is_empty(), "without {}: {done}", rights[left_out].0);
        let words = [
            "s3://ids/floe refuses access",
            "AWS_ACCESS_KEY_ID",
            "read, write and list objects",
            "s3:ListBucket",
        ];
        says(&failed, &words);
    }
}

/// The output of the program `reserve` with these variables in its environment, or what it says of its failure.
fn reserve_with(variables: &[(&str, &str)], url: &str) -> Result<String, String> {
    let mut command = Command::new(program("reserve"));
    let output = command.args([url, "orders", "5", "1"]).envs(variables.iter().copied()).output().unwrap();
    let [done, failed] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
    if output.status.success() { Ok(done) } else { Err(failed) }
}

/// As a shell leaves it in a variable that it read from a file.
#[test]
fn a_line_break_in_the_environments_key_is_told_unless_the_url_has_another() {
    let stub = Stub::default();
    stub.set("honest");
    let port = stub.start();
    for (range, [id, token], named) in [
        ("0 5", ["an-id\n", "a-token"], "AWS_ACCESS_KEY_ID"),
        ("5 10", ["an-id", "a-token\n"], "AWS_SESSION_TOKEN"),
    ] {
        let key =
            [("AWS_ACCESS_KEY_ID", id), ("AWS_SECRET_ACCESS_KEY", "secret"), ("AWS_SESSION_TOKEN", token)];
        let told =
            reserve_with(&key, &format!("s3://ids/floe?endpoint=http://127.0.0.1:{port}")).unwrap_err();
        says(&told, &[&format!("{named} has a space, a line break"), "set it again"]);
        let done = reserve_with(&key, &Minio::url_at(port, "")).unwrap();
        assert!(done.ends_with(&format!("\n{range}\n")), "{done}");
    }
}

#[test]
fn a_client_that_is_told_to_send_no_conditions_is_refused() {
    let stub = Stub::default();
    stub.set("honest");
    let url = Minio::url_at(stub.start(), "");
    let told = reserve_with(&[("AWS_CONDITIONAL_PUT", "disabled")], &url).unwrap_err();
    says(&told, &["s3://ids/floe does not support conditional writes", "another ledger"]);
    assert!(stub.objects.lock().unwrap().is_empty(), "it wrote without a condition");
}

/// Some work-alikes accept a conditional request and ignore its conditions. On them, two nodes would get the same
/// range.
#[test]
fn a_store_that_ignores_conditions_is_refused() {
    for (mode, condition) in [("no If-None-Match", "(If-None-Match)"), ("no If-Match", "(If-Match)")] {
        let stub = Stub::default();
        stub.set(mode);
        let Err(error) = floe_ledger::open(&Minio::url_at(stub.start(), "")) else {
            panic!("{mode}: it was opened")
        };
        assert!(matches!(error, OpenError::Ledger(LedgerError::Unfit(_))), "{mode}: {error:?}");
        says(&error, &["s3://ids/floe ignores the condition of a write", condition, "another ledger"]);
    }
}

/// Amazon and MinIO refuse a signature whose time is over a quarter of an hour off.
#[test]
fn a_clock_that_is_off_is_unavailable_at_the_start_and_at_work() {
    let stub = Stub::default();
    let url = Minio::url_at(stub.start(), "max_wait=2s");
    let words = ["s3://ids/floe refuses the time", "RequestTimeTooSkewed", "clock", "set it right"];
    stub.set("skewed");
    let Err(error) = Opening::of("test").open(&url) else { panic!("it was opened") };
    assert!(matches!(error, OpenError::Ledger(LedgerError::Unavailable(_))), "{error:?}");
    says(&error, &words);
    assert!(!error.to_string().contains("AWS_ACCESS_KEY_ID"), "{error}");
    stub.set("honest");
    let ledger = open(&url);
    assert_eq!(got(&*ledger, &ask(5)), (0, 5));
    stub.set("skewed");
    // A write, because the record is known, and then a read.
    for _ in 0..2 {
        let Err(LedgerError::Unavailable(text)) = ledger.reserve(&ask(5)) else { panic!("it was reserved") };
        says(&text, &words);
    }
    stub.set("honest");
    assert_eq!(got(&*ledger, &ask(5)), (5, 10));
}

#[test]
fn what_is_no_answer_of_a_store_proves_nothing() {
    let stub = Stub::default();
    stub.set("honest");
    let ledger = open(&Minio::url_at(stub.start(), "max_wait=2s"));
    assert_eq!(got(&*ledger, &ask(5)), (0, 5));
    let page = "has a web page in it: this is not an object store, or a proxy stands before it";
    let record = "is not a record of floe's: check what it is, and whether the endpoint is an object store";
    // A portal's page or words for every answer; a length that no memory has; a 404 from something that knows no objects.
    for (mode, to_a_write, to_a_read) in [
        ("page", page, record),
        ("words", page, record),
        ("endless", "", ""),
        ("nothing", "", ""),
        ("long error", "", ""),
    ] {
        stub.set(mode);
        // The first is a write, because the record is known. After it the record is not, so the second call looks.
        for words in [to_a_write, to_a_read] {
            let Err(LedgerError::Unavailable(text)) = ledger.reserve(&ask(5)) else { panic!("{mode}") };
            assert!(text.contains(words) && text.len() < 1_000, "{mode}: {text}");
        }
        stub.set("honest");
        assert_eq!(got(&*ledger, &ask(5)).1 % 5, 0, "{mode}");
    }
    assert_eq!(got(&*ledger, &ask(5)), (30, 35), "nothing was handed out that was not written");
}

#[test]
fn a_realm_whose_own_record_was_deleted_is_not_made_anew() {
    let server = Minio::start(&[]);
    let url = Minio::url_at(server.port(), "");
    got(&*open(&url), &ask(5));
    let realm = server.curl("GET", "/floe/realm/test");
    server.curl("DELETE", "/floe/realm/test");
    let Err(error) = Opening::of("test").open(&url) else { panic!("it was opened") };
    says(&error, &["the record of the realm itself (realm/test) is gone", realm.lines().nth(1).unwrap()]);
}

/// Amazon's answer to a request that was signed by a clock that is off ("Error responses" in its API reference).
const SKEWED: &[u8] = b"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>RequestTimeTooSkewed</Code><Message>The \
    difference between the request time and the server's time is too large.</Message><RequestTime>20260301T100000Z\
    </RequestTime><ServerTime>2026-03-01T12:00:00Z</ServerTime></Error>";

/// A server that keeps what it gets, and answers by its mode.
#[derive(Clone, Default)]
struct Stub {
    objects: Arc<Mutex<HashMap<String, Vec<u8>>>>,
    mode: Arc<Mutex<String>>,
}

impl Stub {
    /// Listens until the test ends.
    fn start(&self) -> u16 {
        let stub = self.clone();
        http_stub(move |head, body| stub.answer(&head.to_lowercase(), body.to_vec()))
    }

    fn set(&self, mode: &str) {
        mode.clone_into(&mut self.mode.lock().unwrap());
    }

    fn answer(&self, head: &str, body: Vec<u8>) -> Vec<u8> {
        let header = |name: &str| head.lines().find_map(|line| line.strip_prefix(name)).map(str::to_owned);
        let [method, path] = head.split(' ').take(2).collect::<Vec<_>>().try_into().unwrap();
        let (status, length, body) = match self.mode.lock().unwrap().as_str() {
            "page" => ("200 OK", None, b"<html>log in, please</html>".to_vec()),
            "words" => ("200 OK", None, b"{\"login\":\"please\"}".to_vec()),
            "endless" => ("200 OK", Some(1_000_000_000_000_u64), b"x".repeat(100_000)),
            "nothing" => ("404 Not Found", None, b"<html>nothing is here</html>".to_vec()),
            "long error" => ("501 Not Implemented", None, b"x".repeat(10_000_000)),
            "skewed" => ("403 Forbidden", None, SKEWED.to_vec()),
            mode => self.store(mode, [method, path], &header, body),
        };
        let length = length.unwrap_or(body.len() as u64);
        let date = "last-modified: Sun, 01 Mar 2026 12:00:00 GMT";
        let tag = self.objects.lock().unwrap().get(path).map_or_else(|| tag(b""), |body| tag(body));
        let head = format!("HTTP/1.1 {status}\r\netag: {tag}\r\n{date}\r\ncontent-length: {length}\r\n\r\n");
        [head.as_bytes(), &body].concat()
    }

    fn store(
        &self,
        mode: &str,
        [method, path]: [&str; 2],
        header: &dyn Fn(&str) -> Option<String>,
        body: Vec<u8>,
    ) -> (&'static str, Option<u64>, Vec<u8>) {
        let mut objects = self.objects.lock().unwrap();
        let found = objects.get(path);
        let is_met = match (header("if-none-match: "), header("if-match: ")) {
            (Some(_), _) => mode == "no If-None-Match" || found.is_none(),
            (_, Some(expected)) => mode == "no If-Match" || found.is_some_and(|found| tag(found) == expected),
            _ => true,
        };
        let is_list = path.contains("list-type");
        match (method, found) {
            ("put", _) if !is_met => ("412 Precondition Failed", None, Vec::new()),
            ("put", _) => {
                objects.insert(path.to_owned(), body);
                ("200 OK", None, Vec::new())
            }
            (_, Some(found)) => ("200 OK", None, found.clone()),
            (_, None) if is_list => ("200 OK", None, b"<ListBucketResult></ListBucketResult>".to_vec()),
            (_, None) => ("404 Not Found", None, b"<Error><Code>NoSuchKey</Code></Error>".to_vec()),
        }
    }
}

/// An `ETag`: a digest of the content.
fn tag(body: &[u8]) -> String {
    let digest = body.iter().fold(7_u64, |digest, byte| digest.wrapping_mul(31).wrapping_add((*byte).into()));
    format!("\"{digest:x}\"")
}

#[test]
fn what_is_wrong_with_the_bucket_or_the_key_is_told() {
    let server = Minio::start(&[]);
    let url = Minio::url_at(server.port(), "max_wait=2s");
    let refused = |url: &str, parts: &[&str]| match Opening::of("test").open(url) {
        Err(error @ OpenError::Asked(_)) => says(&error, parts),
        Err(other) => panic!("{other:?}"),
        Ok(_) => panic!("{url} was opened"),
    };
    refused(&url.replace("s3://ids", "s3://nowhere"), &["s3://nowhere/floe", "make the bucket"]);
    refused(
        &url.replace("key_id=floe", "key_id=nobody"),
        &["s3://ids/floe refuses access", "AWS_ACCESS_KEY_ID"],
    );
    got(&*open(&url), &ask(5));
}
