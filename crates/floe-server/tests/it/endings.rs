//! How names end: retired by hand, or with the day that they were made for.

use std::sync::Arc;

use floe::ledger::{self, Ledger};
use floe::{Name, UnixMillis};
use jiff::{ToSpan, Zoned};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::harness::{Server, directory, file, until};
use crate::hostile::connect;

const PATTERN: &str = "[[name]]\nname = \"*\"\nkind = \"counter\"\n";

fn ledger(directory: &Arc<TempDir>) -> impl Ledger + use<> {
    floe_ledger::Sqlite::builder().realm("test").in_dir(directory.path().join("data")).unwrap()
}

fn name(text: &str) -> Name {
    Name::new(text).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_is_retired_beside_a_running_server_is_closed_for_ever() {
    let directory = directory();
    let listed = format!("{PATTERN}[[name]]\nname = \"listed\"\nkind = \"segment\"\n");
    let server = Server::start(file(&listed), directory.clone()).await;
    for name in ["orders", "listed", "others"] {
        server.mint(name, 5).await;
    }
    let beside = ledger(&directory);
    for text in ["orders", "listed"] {
        ledger::retire(&beside, &name(text), UnixMillis::new(1_790_000_000_000)).unwrap();
        let said = until("the server learns of it", async || {
            let answer = server.get(&format!("/v1/mint/{text}")).await;
            (answer.status() == 507).then_some(answer)
        })
        .await;
        let said = said.text().await.unwrap();
        assert!(said.contains("retired at 2026-09-21T14:13:20.000Z"), "{said}");
    }
    assert_eq!(server.mint("others", 1).await, ["6"]);
    assert_eq!(server.get("/readyz").await.status(), 200);
    server.stop().await.unwrap();
    let marks = || {
        let records = beside.list("n/", "", 10).unwrap().into_iter();
        records.map(|record| (record.key, record.mark)).collect::<Vec<_>>()
    };
    let before = marks();
    assert!(before.iter().all(|(_, mark)| *mark >= 5) && before.len() == 3, "{before:?}");
    // And after a restart, on every wire, with its mark where it was.
    let server = Server::start(file(&listed), directory.clone()).await;
    for text in ["orders", "listed"] {
        for path in ["/v1/mint/", "/api/segment/get/"] {
            let answer = server.get(&format!("{path}{text}")).await;
            assert!(answer.status().is_server_error(), "{path}{text}");
        }
        let report = server.json(&format!("/v1/names/{text}")).await;
        assert_eq!(report["state"], "retired", "{report}");
    }
    let all = server.json("/v1/names").await;
    let state = |at: usize| all["names"][at]["state"].as_str().unwrap().to_owned();
    assert_eq!([state(0), state(1), state(2)], ["retired", "retired", "closed"], "{all}");
    assert_eq!(marks(), before);
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_whose_listed_names_were_all_retired_is_not_ready() {
    let directory = directory();
    let listed =
        file("[[name]]\nname = \"orders\"\nkind = \"segment\"\n[[name]]\nname = \"ids\"\nkind = \"uuid7\"\n");
    let server = Server::start(listed.clone(), directory.clone()).await;
    let beside = ledger(&directory);
    let retire = |text| drop(ledger::retire(&beside, &name(text), UnixMillis::new(1)).unwrap());
    let closed = async |text| {
        let mint = format!("/v1/mint/{text}");
        until("the server learns of it", async || (server.get(&mint).await.status() == 507).then_some(()))
            .await;
    };
    retire("orders");
    closed("orders").await;
    assert_eq!(server.get("/readyz").await.status(), 200, "there is another one");
    retire("ids");
    closed("ids").await;
    let unready = async |server: &Server| {
        let answer = server.get("/readyz").await;
        assert_eq!(answer.status(), 503);
        assert!(answer.text().await.unwrap().contains("were retired"));
    };
    unready(&server).await;
    server.stop().await.unwrap();
    let server = Server::start(listed, directory).await;
    unready(&server).await;
    server.stop().await.unwrap();
}

/// A snowflake is minted from what was reserved before, so a connection that holds it looks whether it has ended.
#[tokio::test(flavor = "multi_thread")]
async fn a_retired_name_has_ended_on_a_connection_that_mints_from_it_too() {
    let directory = directory();
    let text = "[[name]]\nname = \"orders\"\nkind = \"snowflake\"\nlayout = \"twitter\"\n";
    let server = Server::start(file(text), directory.clone()).await;
    server.mint("orders", 1).await;
    let mut stream = connect(&server).await;
    let mut status = async || {
        stream.write_all(b"GET /v1/mint/orders HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
        let mut said = Vec::new();
        let is_whole = |said: &[u8]| {
            let said = String::from_utf8_lossy(said);
            said.split_once("\r\n\r\n").is_some_and(|(head, body)| {
                let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
                body.len() == length.parse::<usize>().unwrap()
            })
        };
        while !is_whole(&said) {
            assert_ne!(stream.read_buf(&mut said).await.unwrap(), 0, "it was closed");
        }
        String::from_utf8_lossy(&said["HTTP/1.1 ".len()..][..3]).into_owned()
    };
    assert_eq!(status().await, "200");
    ledger::retire(&ledger(&directory), &name("orders"), UnixMillis::new(1)).unwrap();
    until("the server learns of it", async || {
        (server.get("/v1/mint/orders").await.status() == 507).then_some(())
    })
    .await;
    assert_eq!(status().await, "507");
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_of_one_day_ends_by_itself_a_while_after_it() {
    let directory = directory();
    let today = Zoned::now().in_tz("UTC").unwrap().date();
    let compact = |day: jiff::civil::Date| day.to_string().replace('-', "");
    let (fresh, earlier) =
        (format!("order:{}", compact(today)), format!("order-{}", today.saturating_sub(40.days())));
    let server = Server::start(file(PATTERN), directory.clone()).await;
    for text in [&fresh, &earlier] {
        assert_eq!(server.mint(text, 1).await, ["1"]);
    }
    server.stop().await.unwrap();
    let beside = ledger(&directory);
    let ends = ledger::ends_on(&beside, &name(&fresh)).unwrap();
    assert_eq!(ends, Some(today.saturating_add(30.days())));
    assert_eq!(ledger::ends_on(&beside, &name(&earlier)).unwrap(), None, "it was made on no such day");
    // As if it had been made on its day.
    ledger::end_on(&beside, &name(&earlier), today.saturating_sub(10.days())).unwrap();
    let server = Server::start(file(PATTERN), directory.clone()).await;
    let said = server.problem(&format!("/v1/mint/{earlier}"), 507).await.to_string();
    assert!(said.contains("was the name of one day"), "{said}");
    assert_eq!(server.mint(&fresh, 1).await, ["2"]);
    server.stop().await.unwrap();
    let listed = format!("{PATTERN}[[name]]\nname = \"{earlier}\"\nkind = \"counter\"\n");
    let server = Server::start(file(&listed), directory).await;
    assert_eq!(server.mint(&earlier, 1).await, ["2"], "what is listed has no end");
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_of_one_day_is_there_on_its_last_day() {
    let directory = directory();
    let today = || Zoned::now().in_tz("UTC").unwrap().date();
    let day = today();
    let text = format!("order-{}", day.saturating_sub(40.days()));
    let server = Server::start(file(PATTERN), directory.clone()).await;
    assert_eq!(server.mint(&text, 1).await, ["1"]);
    server.stop().await.unwrap();
    ledger::end_on(&ledger(&directory), &name(&text), day).unwrap();
    let server = Server::start(file(PATTERN), directory.clone()).await;
    let status = server.get(&format!("/v1/mint/{text}")).await.status();
    assert!(status == 200 || today() > day, "{status}");
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn names_that_have_ended_make_room_within_a_tokens_bound() {
    let directory = directory();
    let token = floe_server::NewToken::random("shop", "a*,b*").unwrap();
    let text = format!("{PATTERN}{}", token.toml().replace("[[token]]", "[[token]]\nmax_names = 3"));
    let server = Server::start(file(&text), directory.clone()).await;
    let bearer = format!("Bearer {}", token.secret());
    let status = async |name: &str| server.with(&format!("/v1/mint/{name}"), &bearer).await.status().as_u16();
    for name in ["a1", "b:20200101", "b2"] {
        assert_eq!(status(name).await, 200, "{name}");
    }
    assert_eq!(status("a2").await, 507);
    let beside = ledger(&directory);
    ledger::retire(&beside, &name("a1"), UnixMillis::new(1)).unwrap();
    assert_eq!((status("a2").await, status("a3").await), (200, 507));
    ledger::end_on(&beside, &name("b:20200101"), jiff::civil::date(2020, 1, 31)).unwrap();
    assert_eq!((status("a3").await, status("a4").await), (200, 507));
    // What has ended twice makes room once.
    ledger::retire(&beside, &name("b:20200101"), UnixMillis::new(1)).unwrap();
    assert_eq!(status("a4").await, 507);
    ledger::retire(&beside, &name("b2"), UnixMillis::new(1)).unwrap();
    assert_eq!((status("a4").await, status("a5").await), (200, 507));
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_alone_that_has_ended_twice_is_counted_as_none() {
    let directory = directory();
    let token = floe_server::NewToken::random("shop", "b*").unwrap();
    let text = format!("{PATTERN}{}", token.toml().replace("[[token]]", "[[token]]\nmax_names = 1"));
    let server = Server::start(file(&text), directory.clone()).await;
    let bearer = format!("Bearer {}", token.secret());
    let status = async |name: &str| server.with(&format!("/v1/mint/{name}"), &bearer).await.status().as_u16();
    assert_eq!(status("b:20200101").await, 200);
    let beside = ledger(&directory);
    ledger::retire(&beside, &name("b:20200101"), UnixMillis::new(1)).unwrap();
    ledger::end_on(&beside, &name("b:20200101"), jiff::civil::date(2020, 1, 31)).unwrap();
    assert_eq!((status("b2").await, status("b3").await), (200, 507));
    server.stop().await.unwrap();
}

/// A name of today that an earlier floe made has no note of its last day, and gets none.
#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_was_there_before_has_no_end() {
    let directory = directory();
    let today = Zoned::now().in_tz("UTC").unwrap().date();
    let text = format!("order-{today}");
    let beside = Arc::new(ledger(&directory));
    let floe = floe::Floe::open(Arc::clone(&beside)).unwrap();
    floe.counter(&text).unwrap().mint().unwrap();
    floe.close();
    let server = Server::start(file(PATTERN), directory.clone()).await;
    assert_eq!(server.mint(&text, 1).await, ["2"]);
    server.stop().await.unwrap();
    assert_eq!(ledger::ends_on(&*beside, &name(&text)).unwrap(), None);
}
