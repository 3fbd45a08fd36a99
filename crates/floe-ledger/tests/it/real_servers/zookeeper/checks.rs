//! What is looked at when a ledger is opened, and what it says.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use floe::Name;
use floe::ledger::{Key, Ledger, LedgerError, Reply, Reserve};
use floe_ledger::OpenError;
use floe_testbed::Zookeeper;

use super::{fresh_url, open};
use crate::{ask, got, says};

/// Why a URL cannot be opened.
#[track_caller]
pub(super) fn refused(url: &str) -> OpenError {
    match floe_ledger::open_in(url, "test") {
        Err(error) => error,
        Ok(ledger) => panic!("{url} opened {}", ledger.describe()),
    }
}

/// The only one of what a path of ZooKeeper's has below it.
#[track_caller]
pub(super) fn only_child(path: &str) -> String {
    let listed = Zookeeper::shared().cli(&["ls", path]);
    format!("{path}/{}", listed.trim_matches(['[', ']']))
}

#[test]
fn what_was_made_with_credentials_is_open_to_these_alone() {
    let (url, path) = fresh_url();
    let with = |login: &str| url.replace("//", &format!("//{login}@"));
    let ledger = open(&with("careful:r%40ght"));
    assert_eq!(got(&*ledger, &ask(3)), (0, 3));
    assert_eq!(ledger.describe(), url);
    assert!(ledger.is_shared());
    for wrong in [with("careful:wr0ng"), with("stranger:r%40ght"), url.clone()] {
        let error = refused(&wrong);
        assert!(matches!(error, OpenError::Asked(_)), "{error:?}");
        says(&error, &["NoAuth", &path, "ZOOKEEPER_PASSWORD", "getAcl"]);
        assert!(!error.to_string().contains("wr0ng") && !error.to_string().contains("r@ght"), "{error}");
    }
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("password");
    fs::write(&file, "r@ght\n").unwrap();
    let from_file = format!("{}?password_file={}", with("careful"), file.display());
    says(&refused(&from_file), &["chmod 600"]);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    assert_eq!(got(&*open(&from_file), &ask(3)), (3, 6));
}

#[test]
fn a_name_of_a_realm_that_is_closed_is_not_told_of() {
    let (url, path) = fresh_url();
    let (ledger, name) = (open(&url), Name::new("orders").unwrap());
    let with = url.replace("//", "//careful:r%40ght@");
    for (url, realm) in [(&with, "closed"), (&url, "plain")] {
        floe_ledger::open_in(url, realm).unwrap().bind(&name, "uuid4", false).unwrap();
    }
    let found = ledger.in_other_realms(&name).unwrap();
    assert_eq!(found.iter().map(|found| &*found.realm).collect::<Vec<_>>(), ["plain"]);
    // Of a realm that everyone may see, the records may be closed.
    let records = only_child(&format!("{path}/plain"));
    let close = format!("setAcl -R {records} auth:careful:r@ght:cdrwa");
    Zookeeper::shared().cli_script(&format!("addauth digest careful:r@ght\n{close}\n"));
    assert_eq!(ledger.in_other_realms(&name), Ok(Vec::new()));
    assert_eq!(got(&*ledger, &ask(3)), (0, 3));
}

#[test]
fn a_list_of_what_may_not_be_read_is_not_taken_for_an_empty_one() {
    let (url, path) = fresh_url();
    let ledger = open(&url);
    got(&*ledger, &ask(3));
    let marks = format!("{path}/test/{}/marks", ledger.realm_id().unwrap());
    let bucket = only_child(&marks);
    let record = only_child(&bucket);
    let server = Zookeeper::shared();
    for closed in [marks, bucket, record] {
        server.cli(&["setAcl", &closed, "world:anyone:cdwa"]);
        let listed = ledger.list("", "", 9);
        let Err(LedgerError::Unavailable(text)) = listed else { panic!("{closed}: {listed:?}") };
        says(&text, &["NoAuth"]);
        server.cli(&["setAcl", &closed, "world:anyone:cdrwa"]);
        assert_eq!(ledger.list("", "", 9).unwrap().len(), 1, "{closed}");
    }
}

#[test]
fn credentials_on_a_realm_that_is_open_to_everybody_are_refused_until_it_is_closed() {
    let ((url, path), server) = (fresh_url(), Zookeeper::shared());
    got(&*open(&url), &ask(3));
    let with = url.replace("//", "//careful:r%40ght@");
    let error = refused(&with);
    assert!(matches!(error, OpenError::Ledger(LedgerError::Unfit(_))), "{error:?}");
    says(&error, &["open to everybody", &path, "setAcl -R", "ZOOKEEPER_PASSWORD"]);
    assert!(!error.to_string().contains("r@ght"), "{error}");
    // What the documentation says closes it.
    server.cli_script(&format!("addauth digest careful:r@ght\nsetAcl -R {path} auth:careful:r@ght:cdrwa\n"));
    assert_eq!(got(&*open(&with), &ask(3)), (3, 6));
    says(&refused(&url), &["NoAuth"]);
}

#[test]
fn nobody_listens() {
    let port = floe_testbed::free_port();
    let error = refused(&format!("zookeeper://floe:secret@127.0.0.1:{port}/ids"));
    assert!(matches!(error, OpenError::Ledger(LedgerError::Unavailable(_))), "{error:?}");
    let told = format!("zookeeper://127.0.0.1:{port}/ids: it cannot be reached");
    says(&error, &[&told, "refused", "whether the server runs"]);
    assert!(!error.to_string().contains("secret"), "{error}");
    let another = floe_testbed::free_port();
    let error = refused(&format!("zookeeper://127.0.0.1:{port},127.0.0.1:{another}/ids"));
    says(&error, &[&format!("127.0.0.1:{port}: it cannot"), &format!("127.0.0.1:{another}: it cannot")]);
    // One of several is enough, in whichever order they are asked.
    let (url, _) = fresh_url();
    for _ in 0..4 {
        drop(open(&url.replace("//", &format!("//127.0.0.1:{port},"))));
    }
}

#[test]
fn what_is_not_floes_or_a_newer_floes_is_refused() {
    let (url, path) = fresh_url();
    drop(open(&url));
    let server = Zookeeper::shared();
    for (data, parts) in [
        ("version=3 shape=round", ["newer floe", "version 3"]),
        ("hello", ["no floe has written", "test"]),
        ("version=1 id=", ["no floe has written", "test"]),
        ("version=2 id=0f", ["no floe has written", "test"]),
    ] {
        server.cli(&["set", &format!("{path}/test"), data]);
        let error = refused(&url);
        assert!(matches!(error, OpenError::Ledger(LedgerError::Unfit(_))), "{error:?}");
        says(&error, &parts);
    }
}

#[test]
fn a_path_that_is_there_needs_no_right_to_make_it() {
    let ((url, path), server) = (fresh_url(), Zookeeper::shared());
    server.cli_script(&format!("create {path}\ncreate {path}/ids\nsetAcl {path} world:anyone:r\n"));
    assert_eq!(got(&*open(&format!("{url}/ids")), &ask(3)), (0, 3));
}

#[test]
fn every_node_above_a_realm_is_made() {
    let (url, path) = fresh_url();
    let below = format!("{url}/of/several/parts");
    for end in [3, 6] {
        assert_eq!(got(&*open(&below), &ask(3)), (end - 3, end));
    }
    assert_eq!(only_child(&path), format!("{path}/of"));
}

#[test]
fn who_names_no_realm_does_not_begin_a_second_one() {
    let (url, path) = fresh_url();
    drop(floe_ledger::open_in(&url, "shop").unwrap());
    Zookeeper::shared().cli(&["create", &format!("{path}/zebra"), "stripes"]);
    let Err(error) = floe_ledger::open_in(&url, floe_ledger::DEFAULT_REALM) else { panic!("a second realm") };
    says(&error, &["has no realm default", "it has: shop. ", "--realm"]);
    drop(floe_ledger::open_in(&url, "games").unwrap());
}

#[test]
fn the_clock_is_the_servers() {
    let (url, _) = fresh_url();
    let ledger = open(&url);
    // The server's is this machine's, so a node that this machine makes between two readings is dated between them.
    let before = ledger.clock().unwrap().unwrap().get();
    let dir = tempfile::tempdir().unwrap();
    let made = fs::metadata(dir.path()).unwrap().modified().unwrap();
    let made = made.duration_since(std::time::UNIX_EPOCH).unwrap().as_millis();
    let after = ledger.clock().unwrap().unwrap().get();
    let made = i64::try_from(made).unwrap();
    // A file system may round its times down to the tick of the kernel.
    assert!(before <= made + 20 && made <= after, "{before} {made} {after}");
}

#[test]
fn an_operator_can_read_and_write_it_with_the_servers_own_client() {
    let (url, path) = fresh_url();
    let (ledger, server) = (open(&url), Zookeeper::shared());
    let key = Key::slot(10, 7);
    let note = Some("订单 'host'\nline 2".to_owned());
    let request = Reserve { key: key.clone(), floor: (1 << 53) + 1, note: note.clone(), ..ask(1 << 53) };
    got(&*ledger, &Reserve { key: key.clone(), ..ask(1) });
    got(&*ledger, &request);
    let id = ledger.realm_id().unwrap();
    let root = format!("{path}/test/{id}");
    assert_eq!(server.cli(&["get", &format!("{path}/test")]), format!("version=2 floe 1\nrealm {id}"));
    let record = only_child(&only_child(&format!("{root}/marks")));
    assert!(record.ends_with("/s%2F10%2F7"), "{record}");
    let text = server.cli(&["get", &record]);
    let token = request.token.hex();
    let numbers = "mark 18014398509481985 start 9007199254740993 previous 1";
    says(&text, &[&format!("{numbers}\ntoken {token}\nnote 订单 'host'\\nline 2\nend")]);
    // A write by hand is noticed. (The client takes a line break for the end of a command.)
    let number = only_child(&record).replace(&format!("{record}/"), "");
    says(&text, &[&format!("written {number}\n")]);
    let by_hand = format!(
        "{}\n",
        text.replace("mark 18014398509481985 start 9007199254740993", "mark 9223372036854775807 start 1")
    );
    server.cli(&["set", &record, &by_hand]);
    let refused = ledger.reserve(&Reserve { key: key.clone(), max_mark: 5, ..ask(1) });
    assert_eq!(refused, Ok(Reply::Refused { mark: (1 << 63) - 1, note }));
    // What cannot be a record is no record.
    for data in ["", "hello", "mark=9223372036854775808 start=0 previous=0 token=-", "floe 1\nrealm 0f\n"] {
        server.cli(&["set", &record, data]);
        let outcome = ledger.reserve(&Reserve { key: key.clone(), ..ask(1) });
        let Err(LedgerError::Unfit(text)) = outcome else { panic!("{data}: {outcome:?}") };
        says(&text, &["mark/test/s/10/7", "no floe has written", "marks raise"]);
    }
}

/// The number of its last write stays as it was.
#[test]
fn a_mark_that_was_raised_by_hand_is_not_written_over_by_a_ledger_that_knows_the_former_one() {
    let ((url, path), server) = (fresh_url(), Zookeeper::shared());
    let ledger = open(&url);
    assert_eq!(got(&*ledger, &ask(3)), (0, 3));
    let marks = format!("{path}/test/{}/marks", ledger.realm_id().unwrap());
    let record = only_child(&only_child(&marks));
    let text = server.cli(&["get", &record]);
    says(&text, &["mark 3 start 0 "]);
    server.cli(&["set", &record, &format!("{}\n", text.replace("mark 3 start", "mark 500 start"))]);
    assert_eq!(got(&*ledger, &ask(3)), (500, 503));
}

#[test]
fn a_ledger_may_be_used_inside_an_async_runtime() {
    let (url, _) = fresh_url();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let ledger = open(&url);
        assert_eq!(got(&*ledger, &ask(3)), (0, 3));
        drop(ledger);
    });
}
