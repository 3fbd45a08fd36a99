//! The ledger in a table, on two servers of DynamoDB's protocol: Dynalite, which keeps its tables on disk, and Moto,
//! which checks signatures and rights, and returns the current item if a condition does not hold.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use floe::Name;
use floe::ledger::conformance;
use floe::ledger::{Key, Ledger, LedgerError, Reserve};
use floe_ledger::{OpenError, Opening};
use floe_testbed::{Dynalite, Moto, Proxy};
use serde_json::{Value, json};

use super::{fresh_at, reserve_with};
use crate::real_servers::faults::{Rig, faults, open, timed};
use crate::{ask, got, says};

fn rig() -> Rig<Dynalite> {
    Rig { server: Dynalite::start(&[]), url: Dynalite::url_at }
}

// Dynalite does not return the current item if a condition fails, so the caller that wrote last has an advantage.
faults!(super::rig, 8);

/// The command by which an operator makes the table.
const MAKE: &str = "create-table --table-name ids --billing-mode PAY_PER_REQUEST --deletion-protection-enabled \
                    --attribute-definitions AttributeName=folder,AttributeType=S AttributeName=name,AttributeType=S \
                    --key-schema AttributeName=folder,KeyType=HASH AttributeName=name,KeyType=RANGE";

/// DynamoDB's answer about a table that it does not have.
const NOT_FOUND: &str = r#"{"__type":"com.amazonaws.dynamodb.v20120810#ResourceNotFoundException","message":"Requested resource not found"}"#;

/// All other tests depend on this: if several write at once what they read, one wins.
#[test]
fn the_server_itself_swaps_atomically() {
    const WRITERS: usize = 8;
    const ROUNDS: usize = 40;
    let server = Dynalite::start(&[]);
    drop(open(&Dynalite::url_at(server.port(), "")));
    let swap = |round: usize, writer: usize| {
        let mut write = json!({
            "TableName": "ids",
            "Item": { "folder": { "S": "test" }, "name": { "S": "one" }, "record": { "S": format!("{}", round + 1) },
                      "writer": { "N": writer.to_string() } },
            "ConditionExpression": if round == 0 { "attribute_not_exists(#at)" } else { "#at = :round" },
            "ExpressionAttributeNames": { "#at": "record" },
        });
        if round > 0 {
            write["ExpressionAttributeValues"] = json!({ ":round": { "S": format!("{round}") } });
        }
        let answer = Dynalite::ask(server.port(), "PutItem", &write.to_string());
        assert!(answer.starts_with("HTTP/1.1 200") || answer.contains("ConditionalCheckFailed"), "{answer}");
        answer.starts_with("HTTP/1.1 200")
    };
    for round in 0..ROUNDS {
        let swap = &swap;
        let winners = thread::scope(|scope| {
            let writers: Vec<_> =
                (0..WRITERS).map(|writer| scope.spawn(move || swap(round, writer))).collect();
            writers.into_iter().map(|writer| writer.join().unwrap()).filter(|won| *won).count()
        });
        assert_eq!(winners, 1, "in round {round}");
    }
}

#[test]
fn conforms() {
    let server = Dynalite::start(&[]);
    conformance::run(&fresh_at(Dynalite::url_at(server.port(), "max_wait=60s")));
}

#[test]
fn a_slot_whose_record_somebody_deleted_stays_missing() {
    let server = Dynalite::start(&[]);
    let url = Dynalite::url_at(server.port(), "");
    conformance::check_deleted(&|| open(&url), &|key| {
        let key = format!(r#"{{"folder":{{"S":"mark/test"}},"name":{{"S":"{key}"}}}}"#);
        server.aws(&format!("delete-item --table-name ids --key {key}"));
    });
}

/// DynamoDB ends each page at a megabyte, as Dynalite does.
#[test]
fn a_page_that_is_shorter_than_asked_for_is_not_the_last_one() {
    let server = Dynalite::start(&[]);
    let ledger = open(&Dynalite::url_at(server.port(), ""));
    let note = Some("x".repeat(60 << 10));
    for worker in 0..20 {
        got(&*ledger, &Reserve { key: Key::slot(10, worker), note: note.clone(), ..ask(1) });
    }
    assert_eq!(ledger.list("", "", 100).unwrap().len(), 20);
}

/// Only one without a `LastEvaluatedKey` is.
#[test]
fn a_page_without_records_is_not_the_last_one() {
    let server = Dynalite::start(&[]);
    let places = Mutex::new(Vec::new());
    let port = front(server.port(), move |operation, body, pass| {
        let (mut body, from) = (body.clone(), body["ExclusiveStartKey"].clone());
        if operation == "Query" {
            body["Limit"] = 1.into();
            let mut places = places.lock().unwrap();
            if !from.is_null() && !places.contains(&from) {
                places.push(from.clone());
                let page = json!({ "Items": [], "Count": 0, "ScannedCount": 0, "LastEvaluatedKey": from });
                return said("200 OK", &page.to_string());
            }
        }
        pass(&body)
    });
    let ledger = open(&Dynalite::url_at(port, ""));
    for worker in 0..3 {
        got(&*ledger, &Reserve { key: Key::slot(10, worker), ..ask(1) });
    }
    assert_eq!(ledger.list("", "", 100).unwrap().len(), 3);
}

#[test]
fn an_operator_can_read_a_record() {
    let server = Dynalite::start(&[]);
    let ledger = open(&Dynalite::url_at(server.port(), ""));
    ledger.bind(&Name::new("orders").unwrap(), "segment", true).unwrap();
    let key = r#"{"folder":{"S":"mark/test"},"name":{"S":"n/orders"}}"#;
    let text = server.aws(&format!(
        "get-item --consistent-read --table-name ids --key {key} --query Item.record.S --output text"
    ));
    let id = ledger.realm_id().unwrap();
    assert!(text.starts_with(&format!("floe 1\nrealm {id}\nwritten ")), "{text}");
    assert!(text.ends_with("mark 0 start 0 previous 0\ndefinition segment\nend"), "{text}");
}

#[test]
fn a_reserve_is_one_request() {
    let server = Dynalite::start(&[]);
    let opening = "the table, the realm twice, and a try of each condition";
    super::check_requests(server.port(), &|port| Dynalite::url_at(port, ""), opening);
}

/// DynamoDB has executed the write, and is asked again automatically. Its refusal does not mean that another caller wrote.
#[test]
fn a_write_whose_answer_was_lost_is_known_for_ones_own() {
    let server = Dynalite::start(&[]);
    super::check_lost_answers(server.port(), &|port| Dynalite::url_at(port, ""));
}

#[track_caller]
fn refused(url: &str, parts: &[&str]) -> OpenError {
    let Err(error) = Opening::of("test").open(url) else { panic!("{url} was opened") };
    says(&error, parts);
    error
}

#[test]
fn a_table_is_made_once_and_waited_for() {
    let server = Dynalite::start(&["--createTableMs", "1500"]);
    let url = Dynalite::url_at(server.port(), "max_wait=500ms");
    let Err(error) = floe_ledger::open_existing(&url, "test") else { panic!("it was made") };
    says(&error, &["has no realm test", "floe serve"]);
    assert_eq!(server.aws("list-tables --query TableNames --output text"), "");
    let ranges = thread::scope(|scope| {
        let openings: Vec<_> = (0..4).map(|_| scope.spawn(|| got(&*open(&url), &ask(5)))).collect();
        openings.into_iter().map(|opening| opening.join().unwrap()).collect()
    });
    assert_eq!(crate::real_servers::faults::disjoint(ranges), 20);
}

#[test]
fn a_table_of_somebody_else_is_refused() {
    let server = Dynalite::start(&[]);
    server.aws(
        "create-table --table-name ids --billing-mode PAY_PER_REQUEST --key-schema AttributeName=id,KeyType=HASH \
         --attribute-definitions AttributeName=id,AttributeType=N",
    );
    let error = refused(
        &Dynalite::url_at(server.port(), ""),
        &[
            "another key",
            r#"{"AttributeName":"id","KeyType":"HASH"}"#,
            &format!("aws dynamodb {MAKE}").replace("                    ", ""),
        ],
    );
    assert!(matches!(error, OpenError::Ledger(LedgerError::Unfit(_))), "{error:?}");
}

/// In a table whose names are numbers, or whose folder and name have changed places, no record of floe's has its place.
#[test]
fn a_table_with_floes_attributes_in_another_key_is_refused() {
    let server = Dynalite::start(&[]);
    for (table, keys) in [
        ("swapped", ["name S HASH", "folder S RANGE"].as_slice()),
        ("folders", &["folder N HASH", "name S RANGE"]),
        ("names", &["folder S HASH", "name N RANGE"]),
        ("only", &["folder S HASH"]),
        ("other", &["folder S HASH", "record S RANGE"]),
    ] {
        let key = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let schema = |key: &Vec<String>| json!({ "AttributeName": key[0], "KeyType": key[2] });
        let kind = |key: &Vec<String>| json!({ "AttributeName": key[0], "AttributeType": key[1] });
        let keys: Vec<_> = keys.iter().map(|text| key(text)).collect();
        let made = json!({
            "TableName": table,
            "BillingMode": "PAY_PER_REQUEST",
            "KeySchema": keys.iter().map(schema).collect::<Vec<_>>(),
            "AttributeDefinitions": keys.iter().map(kind).collect::<Vec<_>>(),
        });
        let made = Dynalite::ask(server.port(), "CreateTable", &made.to_string());
        assert!(made.starts_with("HTTP/1.1 200"), "{made}");
        let url = Dynalite::url_at(server.port(), "").replace("//ids", &format!("//{table}"));
        let error = refused(&url, &["another key"]);
        assert!(matches!(error, OpenError::Ledger(LedgerError::Unfit(_))), "{error:?}");
    }
}

#[test]
fn an_item_without_a_text_is_damage() {
    let server = Dynalite::start(&[]);
    let url = Dynalite::url_at(server.port(), "");
    let ledger = open(&url);
    got(&*ledger, &ask(5));
    for record in [json!(null), json!({ "N": "5" }), json!({ "B": "/w==" })] {
        let mut item = json!({ "folder": { "S": "mark/test" }, "name": { "S": "n/orders" } });
        if !record.is_null() {
            item["record"] = record;
        }
        let put = json!({ "TableName": "ids", "Item": item });
        let put = Dynalite::ask(server.port(), "PutItem", &put.to_string());
        assert!(put.starts_with("HTTP/1.1 200"), "{put}");
        for outcome in [
            ledger.reserve(&ask(5)).map(drop),
            open(&url).reserve(&ask(5)).map(drop),
            ledger.list("", "", 9).map(drop),
        ] {
            let Err(LedgerError::Unfit(text)) = outcome else { panic!("{item}: {outcome:?}") };
            says(&text, &["an item without the attribute record", "no floe has written"]);
        }
    }
}

/// Passes a request on, and returns the whole answer.
type Pass<'a> = &'a dyn Fn(&Value) -> String;

/// A server in front of Dynalite, which answers by `answer`. It listens until the test ends.
fn front(server: u16, answer: impl Fn(&str, &Value, Pass) -> String + Send + Sync + 'static) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (port, answer) = (listener.local_addr().unwrap().port(), Arc::new(answer));
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let answer = Arc::clone(&answer);
            thread::spawn(move || {
                serve(&stream, |operation, body| {
                    answer(operation, body, &|body| Dynalite::ask(server, operation, &body.to_string()))
                })
            });
        }
    });
    port
}

/// Answers the one request of a connection.
fn serve(mut stream: &TcpStream, answer: impl Fn(&str, &Value) -> String) {
    let mut reader = BufReader::new(stream);
    let (mut operation, mut length) = (String::new(), 0);
    for line in reader.by_ref().lines().map_while(Result::ok).take_while(|line| !line.is_empty()) {
        let (head, told) = line.split_once(": ").unwrap_or_default();
        if head.eq_ignore_ascii_case("x-amz-target") {
            operation = told.rsplit('.').next().unwrap().to_owned();
        } else if head.eq_ignore_ascii_case("content-length") {
            length = told.parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    if reader.read_exact(&mut body).is_ok() && length > 0 {
        let answer = answer(&operation, &serde_json::from_slice(&body).unwrap());
        stream.write_all(answer.as_bytes()).unwrap();
    }
}

/// An answer in place of DynamoDB's.
fn said(status: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}", body.len())
}

/// Takes one of what is left, unless nothing is.
fn takes_one(left: &AtomicUsize) -> bool {
    left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok()
}

/// The request without its condition.
fn without_condition(body: &Value) -> Value {
    let mut body = body.clone();
    for member in ["ConditionExpression", "ExpressionAttributeNames", "ExpressionAttributeValues"] {
        body.as_object_mut().unwrap().remove(member);
    }
    body
}

#[test]
fn a_store_that_ignores_conditions_is_refused() {
    // Each alone: that there is no item, and that it is the one that was read.
    for ignored in ["attribute_not_exists", "#at = "] {
        let server = Dynalite::start(&[]);
        let port = front(server.port(), move |operation, body, pass| {
            let condition = body["ConditionExpression"].as_str().unwrap_or_default();
            match operation {
                "PutItem" if condition.starts_with(ignored) => pass(&without_condition(body)),
                _ => pass(body),
            }
        });
        let id = open(&Dynalite::url_at(server.port(), "")).realm_id().unwrap();
        let test = Opening::of("test");
        for opening in [test.clone(), test.clone().existing(), test.clone().to_look(), test.realm_id(&id)] {
            match opening.open(&Dynalite::url_at(port, "")).err().unwrap() {
                OpenError::Ledger(LedgerError::Unfit(text)) => {
                    says(&text, &["ignores the condition of a write", "another ledger"]);
                }
                other => panic!("{ignored}: {other:?}"),
            }
        }
    }
}

/// Amazon refuses a signature whose time is over five minutes off.
#[test]
fn a_clock_that_is_off_is_unavailable_at_the_start_and_at_work() {
    let server = Dynalite::start(&[]);
    let mode = Arc::new(Mutex::new(""));
    let by = Arc::clone(&mode);
    let port = front(server.port(), move |_, body, pass| match *by.lock().unwrap() {
        "" => pass(body),
        text => said(
            "400 Bad Request",
            &format!(
                r#"{{"__type":"com.amazon.coral.service#InvalidSignatureException","message":"{text}"}}"#
            ),
        ),
    });
    let url = Dynalite::url_at(port, "max_wait=2s");
    let ledger = open(&url);
    for (round, text) in (0..).zip([
        "Signature expired: 20260301T100000Z is now earlier than 20260301T115500Z (20260301T120000Z - 5 min.)",
        "Signature not yet current: 20260301T130000Z is still later than 20260301T120500Z (20260301T120000Z + 5 min.)",
    ]) {
        let words = ["dynamodb://ids refuses the time", text, "clock", "set it right"];
        assert_eq!(got(&*ledger, &ask(5)), (round * 5, round * 5 + 5));
        *mode.lock().unwrap() = text;
        let error = refused(&url, &words);
        assert!(matches!(error, OpenError::Ledger(LedgerError::Unavailable(_))), "{error:?}");
        assert!(!error.to_string().contains("AWS_ACCESS_KEY_ID"), "{error}");
        let Err(LedgerError::Unavailable(told)) = ledger.reserve(&ask(5)) else { panic!("it was reserved") };
        says(&told, &words);
        *mode.lock().unwrap() = "";
    }
}

#[test]
fn the_environment_names_the_region_if_the_url_names_none() {
    let told = reserve_with(&[("AWS_REGION", "eu/central")], "dynamodb://ids").unwrap_err();
    says(&told, &["`eu/central` is no region"]);
    let told = reserve_with(&[("AWS_REGION", "eu/central")], "dynamodb://ids?region=us/east").unwrap_err();
    says(&told, &["`us/east` is no region"]);
}

#[test]
fn who_is_refused_access_has_asked_for_too_much_whatever_says_so() {
    let server = Dynalite::start(&[]);
    let said_now = Arc::new(Mutex::new(None));
    let by = Arc::clone(&said_now);
    let port = front(server.port(), move |_, body, pass| match *by.lock().unwrap() {
        Some((status, text)) => said(status, text),
        None => pass(body),
    });
    let url = Dynalite::url_at(port, "max_wait=2s");
    let ledger = open(&url);
    for (status, text, words) in [
        (
            "400 Bad Request",
            r#"{"__type":"a#UnrecognizedClientException","message":"its words"}"#,
            "its words",
        ),
        ("400 Bad Request", r#"{"__type":"a#ExpiredTokenException","message":"its words"}"#, "its words"),
        // As IAM spells it.
        ("400 Bad Request", r#"{"__type":"a#AccessDeniedException","Message":"its words"}"#, "its words"),
        // Some work-alikes deny access in XML.
        ("403 Forbidden", "<Error>its words</Error>", "403 Forbidden: <Error>its words"),
        ("401 Unauthorized", "<Error>its words</Error>", "401 Unauthorized: <Error>its words"),
    ] {
        *said_now.lock().unwrap() = Some((status, text));
        let words = ["dynamodb://ids refuses access", words, "AWS_ACCESS_KEY_ID", "docs/ledgers.md"];
        let error = refused(&url, &words);
        assert!(matches!(error, OpenError::Asked(_)), "{error:?}");
        // A right may be given again.
        let Err(LedgerError::Unavailable(told)) = ledger.reserve(&ask(5)) else { panic!("{text}") };
        says(&told, &words);
        *said_now.lock().unwrap() = None;
        got(&*ledger, &ask(5));
    }
    assert_eq!(got(&*ledger, &ask(5)), (25, 30), "nothing was handed out that was refused");
}

/// Even if the conditions worked at the opening: each answer has to say what was replaced.
#[test]
fn a_store_that_ignores_a_condition_later_hands_nothing_out() {
    let server = Dynalite::start(&[]);
    let mode = Arc::new(Mutex::new("honest"));
    let by = Arc::clone(&mode);
    let port = front(server.port(), move |operation, body, pass| match (operation, *by.lock().unwrap()) {
        ("PutItem", "ignores") => pass(&without_condition(body)),
        // As if somebody else had been first.
        ("PutItem", "ignores twice") => {
            drop(pass(&without_condition(body)));
            pass(&without_condition(body))
        }
        ("PutItem", "silent") => said("200 OK", "{}"),
        _ => pass(body),
    });
    let ledger = open(&Dynalite::url_at(port, ""));
    assert_eq!(got(&*ledger, &ask(5)), (0, 5));
    assert_eq!(got(&*open(&Dynalite::url_at(server.port(), "")), &ask(5)), (5, 10));
    let slot = Reserve { key: Key::slot(10, 7), ..ask(5) };
    for (now, request) in [("ignores", ask(5)), ("silent", ask(5)), ("ignores twice", slot)] {
        *mode.lock().unwrap() = now;
        let Err(LedgerError::Unfit(text)) = ledger.reserve(&request) else { panic!("{now}") };
        says(&text, &["ignores the condition of a write"]);
    }
}

/// Without that, DynamoDB may answer with the item before the last write. Dynalite has one copy of each.
#[test]
fn every_read_asks_for_the_last_write() {
    let server = Dynalite::start(&[]);
    let reads = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&reads);
    let port = front(server.port(), move |operation, body, pass| {
        if ["GetItem", "Query"].contains(&operation) {
            noted.lock().unwrap().push((operation.to_owned(), body["ConsistentRead"] == json!(true)));
        }
        pass(body)
    });
    let ledger = open(&Dynalite::url_at(port, ""));
    got(&*ledger, &ask(5));
    ledger.definition(&Name::new("orders").unwrap()).unwrap();
    assert_eq!(ledger.list("", "", 9).unwrap().len(), 1);
    let reads = reads.lock().unwrap();
    assert!(reads.iter().all(|(_, is_consistent)| *is_consistent), "{reads:?}");
    assert!(["GetItem", "Query"].iter().all(|read| reads.iter().any(|(operation, _)| operation == read)));
}

/// A server in front of Dynalite whose answers have `told` in place of `truth`.
fn retold(server: u16, truth: &'static str, told: String) -> u16 {
    front(server, move |_, body, pass| {
        let answer = pass(body);
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        said(&head[9..head.find("\r\n").unwrap()], &body.replace(truth, &told))
    })
}

#[test]
fn a_table_that_is_going_or_gone_is_unavailable_with_its_state() {
    let server = Dynalite::start(&[]);
    drop(open(&Dynalite::url_at(server.port(), "")));
    for status in ["DELETING", "ARCHIVED", "INACCESSIBLE_ENCRYPTION_CREDENTIALS"] {
        let port = retold(server.port(), r#""TableStatus":"ACTIVE""#, format!(r#""TableStatus":"{status}""#));
        let error =
            refused(&Dynalite::url_at(port, ""), &[&format!("cannot be used (TableStatus {status})")]);
        assert!(matches!(error, OpenError::Ledger(LedgerError::Unavailable(_))), "{error:?}");
    }
}

/// As while its capacity is changed, and as some work-alikes say that there are none.
#[test]
fn a_table_that_is_updated_or_that_has_an_empty_list_of_replicas_is_used() {
    let server = Dynalite::start(&[]);
    for (end, told) in [(5, r#""TableStatus":"UPDATING""#), (10, r#""Replicas":[],"TableStatus":"ACTIVE""#)] {
        let port = retold(server.port(), r#""TableStatus":"ACTIVE""#, told.to_owned());
        assert_eq!(got(&*open(&Dynalite::url_at(port, "")), &ask(5)), (end - 5, end), "{told}");
    }
}

/// DynamoDB shows a new table to all only after a moment.
#[test]
fn a_table_that_was_made_and_is_not_seen_yet_is_waited_for() {
    let server = Dynalite::start(&[]);
    let unseen = AtomicUsize::new(3);
    let port = front(server.port(), move |operation, body, pass| {
        if operation == "DescribeTable" && takes_one(&unseen) {
            said("400 Bad Request", NOT_FOUND)
        } else {
            pass(body)
        }
    });
    assert_eq!(got(&*open(&Dynalite::url_at(port, "")), &ask(5)), (0, 5));
}

/// Its records are lost: it would not help to try again.
#[test]
fn a_table_that_is_deleted_under_a_running_ledger_stops_it() {
    let server = Dynalite::start(&[]);
    let ledger = open(&Dynalite::url_at(server.port(), ""));
    assert_eq!(got(&*ledger, &ask(5)), (0, 5));
    let deleted = Dynalite::ask(server.port(), "DeleteTable", &json!({ "TableName": "ids" }).to_string());
    assert!(deleted.starts_with("HTTP/1.1 200"), "{deleted}");
    // A write, because the record is known, and then a read.
    for _ in 0..2 {
        let outcome = ledger.reserve(&ask(5));
        let Err(LedgerError::Unfit(text)) = outcome else { panic!("{outcome:?}") };
        says(&text, &["the table at dynamodb://ids is gone", "restore", "marks raise"]);
    }
    assert!(matches!(ledger.list("", "", 1), Err(LedgerError::Unfit(_))));
}

#[test]
fn a_global_table_is_refused() {
    let server = Dynalite::start(&[]);
    let replicas = r#""Replicas":[{"RegionName":"eu-west-1"}],"TableStatus":"#;
    let port = retold(server.port(), r#""TableStatus":"#, replicas.to_owned());
    let error = refused(&Dynalite::url_at(port, ""), &["global table (Replicas)", "last writer wins"]);
    assert!(matches!(error, OpenError::Ledger(LedgerError::Unfit(_))), "{error:?}");
}

#[test]
fn what_is_throttled_is_asked_again_and_then_unavailable() {
    let server = Dynalite::start(&[]);
    let (mode, refusals) = (Arc::new(Mutex::new("")), Arc::new(AtomicUsize::new(0)));
    let (by, left) = (Arc::clone(&mode), Arc::clone(&refusals));
    let port = front(server.port(), move |_, body, pass| {
        let refuses = takes_one(&left);
        let error = |code: &str| {
            format!(r#"{{"__type":"com.amazonaws.dynamodb.v20120810#{code}","message":"slow down"}}"#)
        };
        match *by.lock().unwrap() {
            _ if !refuses => pass(body),
            "broken" => said("500 Internal Server Error", &error("InternalServerError")),
            "page" => said("200 OK", "<html>log in, please</html>"),
            "gateway" => said("502 Bad Gateway", "<html>upstream</html>"),
            code => said("400 Bad Request", &error(code)),
        }
    });
    let ledger = open(&Dynalite::url_at(port, ""));
    assert_eq!(got(&*ledger, &ask(5)), (0, 5));
    let modes = [
        (
            "ProvisionedThroughputExceededException",
            "gets more requests than its capacity allows (400 Bad Request, Provisioned",
        ),
        ("ThrottlingException", "gets more requests than its capacity allows"),
        ("RequestLimitExceeded", "gets more requests than its capacity allows"),
        (
            "gateway",
            "dynamodb://ids: the server that answered is not DynamoDB (502 Bad Gateway: <html>upstream</html>)",
        ),
        ("broken", "500 Internal Server Error, InternalServerError: slow down"),
        (
            "page",
            "dynamodb://ids: the server that answered is not DynamoDB (200 OK: <html>log in, please</html>)",
        ),
    ];
    for (round, (now, words)) in (1..).zip(modes) {
        *mode.lock().unwrap() = now;
        refusals.store(usize::MAX, Ordering::SeqCst);
        let Err(LedgerError::Unavailable(text)) = ledger.reserve(&ask(5)) else { panic!("{now}") };
        says(&text, &[words]);
        // A page is not DynamoDB's answer, and the request is not sent again.
        let asked = usize::MAX - refusals.load(Ordering::SeqCst);
        assert_eq!(asked, if now == "page" { 1 } else { 4 }, "{now}");
        refusals.store(if now == "page" { 0 } else { 3 }, Ordering::SeqCst);
        assert_eq!(got(&*ledger, &ask(5)), (round * 5, round * 5 + 5), "{now}");
    }
}

/// The write took effect, and the next try finds that.
#[test]
fn an_answer_that_breaks_off_is_asked_for_again() {
    let server = Dynalite::start(&[]);
    let breaking = Arc::new(AtomicUsize::new(0));
    let left = Arc::clone(&breaking);
    let port = front(server.port(), move |operation, body, pass| {
        let mut answer = pass(body);
        if operation == "PutItem" && takes_one(&left) {
            answer.pop();
        }
        answer
    });
    let ledger = open(&Dynalite::url_at(port, ""));
    assert_eq!(got(&*ledger, &ask(5)), (0, 5));
    breaking.store(1, Ordering::SeqCst);
    assert_eq!(got(&*ledger, &ask(5)), (5, 10));
    assert_eq!(breaking.load(Ordering::SeqCst), 0, "one broke off");
}

/// The policies in docs/ledgers.md: for an existing table, and for one that floe makes. Moto checks rights on
/// everything, whatever the resource.
fn policies() -> Vec<String> {
    let page = include_str!("../../../../../../docs/ledgers.md");
    let policies = page.split("```json\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    policies.map(|policy| policy.replace("arn:aws:dynamodb:*:*:table/ids", "*")).collect()
}

#[test]
fn the_rights_that_the_docs_list_are_enough() {
    let [uses, makes] = policies().try_into().unwrap();
    let moto = Moto::start(&makes, &[]);
    let proxy = Proxy::before(moto.port());
    let (first, second) =
        (open(&moto.url_at(proxy.port(), "max_wait=20s")), open(&moto.url_at(moto.port(), "max_wait=20s")));
    let made = "describe-table --table-name ids --output text --query Table.[DeletionProtectionEnabled,BillingModeSummary.BillingMode]";
    assert_eq!(moto.aws(made), "True\tPAY_PER_REQUEST");
    assert_eq!(got(&*first, &ask(5)), (0, 5));
    assert_eq!(got(&*second, &ask(5)), (5, 10));
    let before = proxy.round_trips();
    assert_eq!(got(&*first, &ask(5)), (10, 15));
    // Moto closes its connections, and each counts as a trip here.
    assert_eq!(proxy.round_trips() - before, 2, "a refusal says what is there");
    assert_eq!(first.list("", "", 9).unwrap().len(), 1);

    let moto = Moto::start(&uses, &[]);
    let error = refused(
        &moto.url_at(moto.port(), "max_wait=20s"),
        &["has no table", "dynamodb:CreateTable", "aws dynamodb create-table --table-name ids"],
    );
    assert!(matches!(error, OpenError::Asked(_)), "{error:?}");
    let moto = Moto::start(&uses, &[MAKE]);
    let url = moto.url_at(moto.port(), "max_wait=20s");
    assert_eq!(got(&*open(&url), &ask(5)), (0, 5));
    let secret = url.split("password_file=").nth(1).unwrap().split('&').next().unwrap();
    std::fs::write(secret, "another-secret").unwrap();
    let error = refused(&url, &["dynamodb://ids refuses access", "Signature", "AWS_ACCESS_KEY_ID"]);
    assert!(matches!(error, OpenError::Asked(_)), "{error:?}");
}

#[test]
fn nobody_at_the_endpoint_is_told_within_the_bound() {
    let nobody = floe_testbed::free_port();
    let (error, took) = timed(|| {
        refused(
            &Dynalite::url_at(nobody, "max_wait=1s"),
            &["dynamodb://ids", "Check whether it can be reached"],
        )
    });
    assert!(matches!(error, OpenError::Ledger(LedgerError::Unavailable(_))), "{error:?}");
    assert!(took.as_secs() < 5, "{took:?}");
}
