//! What is not an answer of Consul's, and what is one of an overloaded Consul.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;

use floe::Name;
use floe::ledger::{Key, LedgerError, Reply, Reserve};
use floe_ledger::OpenError;
use floe_testbed::{Consul, http_stub};

use super::{apart, open};
use crate::{ask, got, says};

/// What stands before a server: whole answers in the place of its own, while there is one.
#[derive(Clone, Default)]
struct Front(Arc<Mutex<Option<String>>>);

impl Front {
    /// Listens until the test ends, and returns its port.
    fn before(&self, server: u16) -> u16 {
        let front = self.clone();
        http_stub(move |head, body| {
            let said = front.0.lock().unwrap().clone();
            said.unwrap_or_else(|| pass(server, head, body)).into_bytes()
        })
    }

    fn say(&self, status: &str, headers: &str, body: &str) {
        let length = body.len();
        let said = format!("HTTP/1.1 {status}\r\n{headers}content-length: {length}\r\n\r\n{body}");
        *self.0.lock().unwrap() = Some(said);
    }
}

/// The server's answer to a request on a connection of its own.
fn pass(server: u16, head: &str, body: &[u8]) -> String {
    let mut there = TcpStream::connect(("127.0.0.1", server)).unwrap();
    write!(there, "{head}connection: close\r\n\r\n").unwrap();
    there.write_all(body).unwrap();
    let mut answer = String::new();
    there.read_to_string(&mut answer).unwrap();
    answer.replace("Connection: close\r\n", "")
}

#[test]
fn what_is_no_answer_of_consul_proves_nothing() {
    let server = Consul::shared();
    let front = Front::default();
    let ledger = open(&apart(front.before(server.port())));
    got(&*ledger, &ask(5));
    let errors = |what: &str| format!(r#"{{"Results":null,"Errors":[{{"OpIndex":0,"What":"{what}"}}]}}"#);
    let cases = [
        ("200 OK", "", "<html>log in, please</html>".to_owned(), "not an answer of Consul's"),
        ("200 OK", "", "{}".to_owned(), "permission denied"),
        ("200 OK", "", "[]".to_owned(), "permission denied, or this is not Consul"),
        ("404 Not Found", "", String::new(), "not an answer of Consul's"),
        ("403 Forbidden", "", "Permission denied: token lacks it".to_owned(), "docs/ledgers.md"),
        ("409 Conflict", "", errors("something new"), "something new"),
        ("409 Conflict", "", errors(r#"unknown KV verb \"get-or-empty\""#), "update Consul to 1.14"),
        ("429 Too Many Requests", "", "rate limit exceeded".to_owned(), "limits.request_limits"),
        ("500 Internal Server Error", "", "No cluster leader".to_owned(), "consul operator raft list-peers"),
        (
            "500 Internal Server Error",
            "",
            "leadership lost while committing log".to_owned(),
            "consul operator raft list-peers",
        ),
        ("301 Moved Permanently", "location: /ui/\r\n", String::new(), "not an answer of Consul's"),
    ];
    let mut end = 5;
    for (status, headers, body, words) in cases {
        front.say(status, headers, &body);
        let request = ask(5);
        for outcome in [ledger.reserve(&request).map(drop), ledger.list("", "", 9).map(drop)] {
            let Err(LedgerError::Unavailable(text)) = outcome else { panic!("{status} {body}: {outcome:?}") };
            if !body.starts_with(['[', '{']) {
                says(&text, &[words]);
            }
        }
        says(&ledger.reserve(&request).unwrap_err(), &[words]);
        *front.0.lock().unwrap() = None;
        assert_eq!(got(&*ledger, &request), (end, end + 5));
        end += 5;
    }
}

/// If floe took it for a conflict, it would read the record again, and nobody would learn of the refusal.
#[test]
fn a_refusal_that_is_no_conflict_is_told_also_beside_one() {
    let front = Front::default();
    let ledger = open(&apart(front.before(Consul::shared().port())));
    let all = [r#"{"What":"something new"}"#, r#"{"What":"index is stale"},{"What":"something new"}"#];
    for (end, errors) in [5, 10].into_iter().zip(all) {
        assert_eq!(got(&*ledger, &ask(5)), (end - 5, end));
        front.say("409 Conflict", "", &format!(r#"{{"Results":null,"Errors":[{errors}]}}"#));
        let outcome = ledger.reserve(&ask(5));
        let Err(LedgerError::Unavailable(text)) = outcome else { panic!("{errors}: {outcome:?}") };
        says(&text, &["something new; ", "not an answer of Consul's"]);
        *front.0.lock().unwrap() = None;
    }
}

/// The index of the other one is higher by then, and nothing was lost.
#[test]
fn a_write_that_is_answered_after_a_later_one_of_the_process_is_taken() {
    let server = Consul::shared().port();
    let (holds, held) = mpsc::channel();
    let (lets_go, let_go) = mpsc::channel::<()>();
    let (next, let_go) = (Arc::new(Mutex::new(None)), Mutex::new(let_go));
    let hold = Arc::clone(&next);
    let port = http_stub(move |head, body| {
        let answer = pass(server, head, body);
        let holds: Option<mpsc::Sender<()>> = hold.lock().unwrap().take();
        if let Some(holds) = holds {
            holds.send(()).unwrap();
            let_go.lock().unwrap().recv().unwrap();
        }
        answer.into_bytes()
    });
    let ledger = open(&apart(port));
    assert_eq!(got(&*ledger, &ask(5)), (0, 5));
    *next.lock().unwrap() = Some(holds);
    thread::scope(|scope| {
        let first = scope.spawn(|| ledger.reserve(&ask(5)));
        held.recv().unwrap();
        assert_eq!(got(&*ledger, &Reserve { key: Key::slot(10, 7), ..ask(5) }), (0, 5));
        lets_go.send(()).unwrap();
        assert_eq!(first.join().unwrap(), Ok(Reply::Got { start: 5, end: 10, previous_mark: 5 }));
    });
}

/// Some would write no errors as an empty list.
#[test]
fn a_list_of_no_errors_is_no_refusal() {
    let server = Consul::shared().port();
    let port = http_stub(move |head, body| {
        let answer = pass(server, head, body);
        // As long as it was.
        answer.replace(r#""Errors":null"#, r#""Errors":[]  "#).into_bytes()
    });
    let ledger = open(&apart(port));
    for end in [5, 10, 15] {
        assert_eq!(got(&*ledger, &ask(5)), (end - 5, end));
    }
}

/// A read has no condition. If such an answer were taken for "no record", a name would be missing, and a realm made anew.
#[test]
fn a_read_that_is_refused_as_a_conflict_says_of_no_record_that_it_is_missing() {
    let server = Consul::shared().port();
    let stale = r#"{"Results":null,"Errors":[{"OpIndex":0,"What":"index is stale"}]}"#;
    let stale = format!("HTTP/1.1 409 Conflict\r\ncontent-length: {}\r\n\r\n{stale}", stale.len());
    let refuses = Arc::new(AtomicBool::new(false));
    let refused = Arc::clone(&refuses);
    let port = http_stub(move |head, body| {
        let is_refused = refused.load(Ordering::SeqCst) && head.contains(" /v1/txn?");
        if is_refused { stale.clone() } else { pass(server, head, body) }.into_bytes()
    });
    let (url, name) = (apart(port), Name::new("orders").unwrap());
    let ledger = open(&url);
    ledger.bind(&name, "segment", true).unwrap();
    assert_eq!(got(&*ledger, &ask(5)), (0, 5));
    refuses.store(true, Ordering::SeqCst);
    let fresh = floe_ledger::open_in(&url, "fresh").err().unwrap();
    assert!(matches!(fresh, OpenError::Ledger(LedgerError::Unavailable(_))), "{fresh:?}");
    says(&fresh, &["refuses a read as a conflict"]);
    for outcome in [
        ledger.definition(&name).map(drop),
        ledger.list("", "", 9).map(drop),
        ledger.reserve(&ask(5)).map(drop),
    ] {
        let Err(LedgerError::Unavailable(text)) = outcome else { panic!("{outcome:?}") };
        says(&text, &["refuses a read as a conflict"]);
    }
    refuses.store(false, Ordering::SeqCst);
    assert_eq!(got(&*ledger, &ask(5)), (5, 10));
}

/// With `acl.enable_key_list_policy`, to list keys is a right of its own.
#[test]
fn a_list_that_a_token_may_not_ask_for_is_not_taken_for_an_empty_one() {
    let server = Consul::shared().port();
    let refusal =
        "HTTP/1.1 403 Forbidden\r\ncontent-length: 41\r\n\r\nPermission denied: token lacks 'key:list'\n";
    let was_opened = Arc::new(AtomicBool::new(false));
    let refuses = Arc::clone(&was_opened);
    let port = http_stub(move |head, body| {
        let is_list = head.split(' ').nth(1).is_some_and(|path| path.contains("?keys"));
        let is_refused = is_list && refuses.load(Ordering::SeqCst);
        if is_refused { refusal.to_owned() } else { pass(server, head, body) }.into_bytes()
    });
    let ledger = open(&apart(port));
    assert_eq!(got(&*ledger, &ask(5)), (0, 5));
    was_opened.store(true, Ordering::SeqCst);
    let listed = ledger.list("", "", 9);
    let Err(LedgerError::Unavailable(text)) = listed else { panic!("{listed:?}") };
    says(&text, &["key:list", "docs/ledgers.md"]);
    // A token for one realm may list no others, and learns of none.
    assert_eq!(ledger.in_other_realms(&Name::new("orders").unwrap()), Ok(Vec::new()));
}

/// Whoever stands before Consul and carries out a write without its conditions.
#[test]
fn a_condition_that_was_not_executed_is_noticed() {
    let server = Consul::shared();
    let front = Front::default();
    let ledger = open(&apart(front.before(server.port())));
    got(&*ledger, &ask(5));
    front.say(
        "200 OK",
        "",
        r#"{"Results":[{"KV":{"Key":"floe/other","ModifyIndex":9000000}}],"Errors":null}"#,
    );
    assert!(matches!(ledger.reserve(&ask(5)), Err(LedgerError::Unavailable(_))));
    *front.0.lock().unwrap() = None;
    assert_eq!(got(&*ledger, &ask(5)), (5, 10));
}
