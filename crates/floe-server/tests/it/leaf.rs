//! Leaf's calls, as its clients make them.

use serde_json::Value;

use tokio::io::AsyncWriteExt;

use crate::harness::Server;
use crate::hostile::{connect, rest};

const NAMES: &str = r#"
[[name]]
name = "leaf-segment-test"
kind = "segment"
[[name]]
name = "orders"
kind = "snowflake"
layout = "twitter"
[[name]]
name = "invoice"
kind = "dated"
digits = 4
zone = "UTC"
prefix = "INV"
"#;

/// Leaf's error, every field of it.
async fn error(server: &Server, path: &str, code: i32) {
    let response = server.get(path).await;
    assert_eq!(response.status(), 500, "{path}");
    assert!(response.headers()["content-type"].to_str().unwrap().starts_with("application/json"));
    assert!(response.headers()["floe-detail"].len() > 20);
    let body: Value = response.json().await.unwrap();
    let mut keys: Vec<_> = body.as_object().unwrap().keys().map(String::as_str).collect();
    keys.sort_unstable();
    assert_eq!(keys, ["error", "message", "path", "status", "timestamp"]);
    assert!(body["timestamp"].as_i64().unwrap() > 1_700_000_000_000);
    assert_eq!(body["status"], 500);
    assert_eq!(body["error"], "Internal Server Error");
    assert_eq!(body["message"], format!("Result{{id={code}, status=EXCEPTION}}"));
    assert_eq!(body["path"], path);
}

#[tokio::test(flavor = "multi_thread")]
async fn ids_are_decimal_text() {
    let server = Server::of(NAMES).await;
    for expected in ["1", "2", "3"] {
        let response = server.get("/api/segment/get/leaf-segment-test").await;
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/plain;charset=UTF-8");
        assert_eq!(response.headers()["cache-control"], "no-store");
        assert_eq!(response.text().await.unwrap(), expected);
    }
    let first: i64 = server.text("/api/snowflake/get/orders").await.parse().unwrap();
    let second: i64 = server.text("/api/snowflake/get/orders").await.parse().unwrap();
    assert!(first > 0 && second > first);
    let dated: i64 = server.text("/api/segment/get/invoice").await.parse().unwrap();
    assert_eq!(dated % 10_000, 1);
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_are_status_500_with_leafs_codes() {
    let server = Server::of(NAMES).await;
    error(&server, "/api/segment/get/nothing", -2).await;
    error(&server, "/api/snowflake/get/nothing", -2).await;
    // Never 200 with the body 0, also where the kind is another one.
    error(&server, "/api/segment/get/orders", -2).await;
    error(&server, "/api/snowflake/get/leaf-segment-test", -2).await;
    error(&server, "/api/segment/get/two%20words", -2).await;
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_ledger_that_is_locked_is_an_empty_segment() {
    let server =
        Server::of("limits = { max_wait = \"200ms\" }\n[[name]]\nname = \"serial\"\nkind = \"counter\"\n")
            .await;
    let lock = rusqlite::Connection::open(server.directory.path().join("data/floe.db")).unwrap();
    lock.execute_batch("BEGIN EXCLUSIVE").unwrap();
    error(&server, "/api/segment/get/serial", -3).await;
    lock.execute_batch("ROLLBACK").unwrap();
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_id_is_decoded_as_the_original_does() {
    let server = Server::standalone().await;
    let zero = server.json("/decodeSnowflakeId?snowflakeId=0").await;
    let timestamp = zero["timestamp"].as_str().unwrap();
    // In the server's zone: the minutes and seconds of whole-hour zones are these.
    assert!(
        timestamp.starts_with("1288834974657(2010-11-0") && timestamp.ends_with(":54.657)"),
        "{timestamp}"
    );
    assert_eq!((&zero["workerId"], &zero["sequenceId"]), (&"0".into(), &"0".into()));
    let id = (1_i64 << 22 | 39 << 12 | 3448).to_string();
    let parts = server.json(&format!("/decodeSnowflakeId?snowflakeId={id}")).await;
    assert_eq!((&parts["workerId"], &parts["sequenceId"]), (&"39".into(), &"3448".into()));
    for wrong in [
        "/decodeSnowflakeId",
        "/decodeSnowflakeId?snowflakeId=abc",
        "/decodeSnowflakeId?snowflakeId=",
        "/decodeSnowflakeId?id=1",
    ] {
        server.problem(wrong, 400).await;
    }
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_pages_for_people_show_names_as_text() {
    let server = Server::standalone().await;
    server.text("/api/segment/get/%3Cb%3Ebold%3Cscript%3E&'%22").await;
    for path in ["/cache", "/db"] {
        let response = server.get(path).await;
        assert_eq!(response.headers()["content-type"], "text/html; charset=utf-8");
        let page = response.text().await.unwrap();
        assert!(page.contains("&lt;b&gt;bold&lt;script&gt;&amp;&#39;&quot;"), "{page}");
        assert!(!page.contains("<script>"), "{page}");
    }
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_whose_requests_are_no_longer_plain_goes_on() {
    let server = Server::of(NAMES).await;
    let mut stream = connect(&server).await;
    let of = |path: &str, header: &str| format!("GET {path} HTTP/1.1\r\nhost: x\r\n{header}\r\n");
    // Two that are answered at once, one that the router answers, an error, and again one like the first.
    let pipeline = [
        of("/api/segment/get/leaf-segment-test", ""),
        of("/api/segment/get/leaf-segment-test", "accept: */*\r\n"),
        of("/api/segment/get/leaf-segment-test", "x-unheard-of: 1\r\n"),
        of("/api/segment/get/orders", ""),
        of("/api/segment/get/leaf-segment-test", "connection: close\r\n"),
    ];
    // In two pieces that part the third request.
    let whole = pipeline.concat();
    let (first, second) = whole.split_at(pipeline[..2].concat().len() + 9);
    stream.write_all(first.as_bytes()).await.unwrap();
    stream.write_all(second.as_bytes()).await.unwrap();
    let said = String::from_utf8(rest(&mut stream).await).unwrap();
    let answers: Vec<&str> = said.split("HTTP/1.1 ").skip(1).collect();
    assert_eq!(answers.len(), 5, "{said}");
    let numbered = |number: &str| {
        format!(
            "200 OK\r\ncontent-type: text/plain;charset=UTF-8\r\ncache-control: no-store\r\ncontent-length: 1\r\n\r\n{number}"
        )
    };
    assert_eq!(answers[..3], ["1", "2", "3"].map(numbered), "all in one form");
    assert!(answers[3].starts_with("500 ") && answers[3].contains("\"status\":500"), "{said}");
    assert!(answers[4].starts_with("200 ") && answers[4].ends_with("\r\n\r\n4"), "{said}");
    let metrics = server.text("/metrics").await;
    for line in [
        "floe_http_requests_total{route=\"/api/segment/get/{key}\",status=\"200\"} 4\n",
        "floe_http_requests_total{route=\"/api/segment/get/{key}\",status=\"500\"} 1\n",
        "floe_http_request_duration_seconds_count{route=\"/api/segment/get/{key}\"} 5\n",
    ] {
        assert!(metrics.contains(line), "{line}{metrics}");
    }
    server.stop().await.unwrap();
}
