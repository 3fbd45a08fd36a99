//! Leaf's calls, as its clients make them.

use serde_json::Value;

use crate::harness::Server;

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
