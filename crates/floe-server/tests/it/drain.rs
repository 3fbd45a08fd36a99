//! The end of a server.

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::harness::{Server, directory, file, until};
use crate::hostile::{connect, rest};

#[tokio::test(flavor = "multi_thread")]
async fn readiness_fails_first_and_minting_goes_on_until_the_listeners_close() {
    let mut server =
        Server::of("limits = { drain_delay = \"2s\" }\n[[name]]\nname = \"serial\"\nkind = \"counter\"\n")
            .await;
    assert_eq!(server.get("/readyz").await.status(), 200);
    server.tell_to_stop();
    until("readiness to fail", || async { (server.get("/readyz").await.status() == 503).then_some(()) })
        .await;
    assert!(server.get("/readyz").await.text().await.unwrap().contains("shutting down"));
    assert_eq!(server.get("/livez").await.status(), 200);
    assert_eq!(server.mint("serial", 1).await, ["1"]);
    let address = server.address;
    server.ended().await.unwrap();
    assert!(tokio::net::TcpStream::connect(address).await.is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_under_way_is_answered() {
    // 400 ms of IDs: the call is still waiting when the server is told to stop.
    let mut server = Server::of(
        "[[name]]\nname = \"slow\"\nkind = \"snowflake\"\nlayout = \"time:41 worker:10 sequence:2\"\ntick = \"1ms\"\nepoch = \"2020-01-01T00:00:00Z\"\n",
    )
    .await;
    let asked = tokio::spawn(server.client.get(server.url("/v1/mint/slow?n=1600")).send());
    let metrics = || async {
        let metrics = server.text("/metrics").await;
        // The one that asks is the other.
        metrics.contains("floe_http_requests_in_flight 2\n").then_some(())
    };
    until("the request to arrive", metrics).await;
    server.tell_to_stop();
    server.ended().await.unwrap();
    let response = asked.await.unwrap().unwrap();
    assert_eq!(response.status(), 200);
    let ids: serde_json::Value = response.json().await.unwrap();
    assert_eq!(ids["ids"].as_array().unwrap().len(), 1600);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_under_way_is_answered_and_its_connection_closed_at_once() {
    // 400 ms of IDs, and a server that would wait longer for its clients than this test does.
    let mut server = Server::of(
        "limits = { drain_timeout = \"60s\" }\n[[name]]\nname = \"slow\"\nkind = \"snowflake\"\nlayout = \"time:41 worker:10 sequence:2\"\ntick = \"1ms\"\nepoch = \"2020-01-01T00:00:00Z\"\n",
    )
    .await;
    let mut stream = connect(&server).await;
    let mint = |n| format!("*3\r\n$4\r\nMINT\r\n$4\r\nslow\r\n$4\r\n{n}\r\n");
    // The first answer is too long to wait for the second one.
    stream.write_all((mint(2200) + &mint(1600)).as_bytes()).await.unwrap();
    let mut head = [0; 7];
    stream.read_exact(&mut head).await.unwrap();
    assert_eq!(&head, b"*2200\r\n");
    server.tell_to_stop();
    let said = rest(&mut stream).await;
    assert_eq!(said.iter().filter(|byte| **byte == b':').count(), 2200 + 1600);
    server.ended().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_left_is_given_back() {
    let directory = directory();
    let text = "[[name]]\nname = \"tickets\"\nkind = \"segment\"\n[[name]]\nname = \"orders\"\nkind = \"snowflake\"\nlayout = \"twitter\"\nstart = \"zero\"\n";
    for expected in ["1", "2", "3"] {
        let server = Server::start(file(text), directory.clone()).await;
        assert_eq!(server.mint("tickets", 1).await, [expected], "the segment's tail came back");
        server.mint("orders", 1).await;
        server.stop().await.unwrap();
    }
    // The window's tail came back as well: no slot's mark lies ahead.
    let server = Server::start(file(text), directory).await;
    let slots = server.get("/v1/slots").await.json::<serde_json::Value>().await.unwrap();
    let slots = slots["slots"].as_array().unwrap();
    assert!(!slots.is_empty() && slots.iter().all(|slot| slot["live"] == false), "{slots:?}");
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_connection_does_not_hold_the_end_up() {
    let server = Server::standalone().await;
    let silent = tokio::net::TcpStream::connect(server.address).await.unwrap();
    // Kept alive by the client's pool.
    server.mint("orders", 1).await;
    server.stop().await.unwrap();
    drop(silent);
}
