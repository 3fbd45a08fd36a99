//! Leaf's calls, as its clients make them.

use serde_json::Value;

use tokio::io::AsyncWriteExt;

use crate::harness::{Server, directory, file};
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
    assert_eq!(keys, ["error", "exception", "message", "path", "status", "timestamp"]);
    assert_eq!(body["exception"], "com.sankuai.inf.leaf.server.exception.LeafServerException");
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
    for wrong in ["/decodeSnowflakeId?snowflakeId=abc", "/decodeSnowflakeId?snowflakeId="] {
        assert_eq!(server.text(wrong).await, "{\"errorMsg\":\"snowflake Id反解析发生异常!\"}");
    }
    for missing in ["/decodeSnowflakeId", "/decodeSnowflakeId?id=1"] {
        let response = server.get(missing).await;
        assert_eq!(response.status(), 400);
        let body: Value = response.json().await.unwrap();
        assert_eq!(body["message"], "Required String parameter 'snowflakeId' is not present");
    }
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_pages_for_people_show_names_as_text() {
    let server = Server::standalone().await;
    server.text("/api/segment/get/%3Cb%3Ebold%3Cscript%3E&'%22").await;
    for path in ["/cache", "/db"] {
        let response = server.get(path).await;
        assert_eq!(response.headers()["content-type"], "text/html;charset=UTF-8");
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
        // Leaf closes behind an error of its own, and not behind a path that is none.
        of("/api/segment/get/", ""),
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
    // The second may have changed in between.
    let undated = |answer: &str| {
        let (before, rest) = answer.split_once("date: ").unwrap();
        let (date, after) = rest.split_once("\r\n").unwrap();
        assert!(date.len() == 29 && date.ends_with(" GMT"), "{answer}");
        format!("{before}{after}")
    };
    let numbered = |number: &str| {
        format!(
            "200 OK\r\ncontent-type: text/plain;charset=UTF-8\r\ncache-control: no-store\r\ncontent-length: 1\r\n\r\n{number}"
        )
    };
    let first: Vec<String> = answers[..3].iter().map(|answer| undated(answer)).collect();
    assert_eq!(first, ["1", "2", "3"].map(numbered), "all in one form");
    assert!(answers[3].starts_with("404 ") && answers[3].contains("\"status\":404"), "{said}");
    assert!(answers[4].starts_with("200 ") && answers[4].ends_with("\r\n\r\n4"), "{said}");
    let metrics = server.text("/metrics").await;
    for line in [
        "floe_http_requests_total{route=\"/api/segment/get/{key}\",status=\"200\"} 4\n",
        "floe_http_request_duration_seconds_count{route=\"/api/segment/get/{key}\"} 4\n",
    ] {
        assert!(metrics.contains(line), "{line}{metrics}");
    }
    server.stop().await.unwrap();
}

/// A whole answer, without its date.
async fn whole(server: &Server, request: &str) -> String {
    let mut stream = connect(server).await;
    stream.write_all(request.as_bytes()).await.unwrap();
    let said = String::from_utf8(rest(&mut stream).await).unwrap();
    said.lines().filter(|line| !line.starts_with("date: ")).collect::<Vec<_>>().join("\n")
}

#[tokio::test(flavor = "multi_thread")]
async fn what_hyper_answers_is_what_is_answered_without_it() {
    let server = Server::of(NAMES).await;
    let last = "GET /livez HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
    for path in
        ["/api/segment/get/leaf-segment-test", "/api/snowflake/get/orders", "/v1/mint/leaf-segment-test"]
    {
        for accept in [
            "",
            "accept: */*\r\n",
            "accept: application/json\r\n",
            "accept: text/plain\r\n",
            "accept: application/json, application/*+json\r\n",
            "accept: text/plain, application/json, application/*+json, */*\r\n",
            "accept: text/html,*/*;q=0.8\r\n",
        ] {
            // The header makes it another's.
            let [plain, slow] = ["", "x-unheard-of: 1\r\n"]
                .map(|other| format!("GET {path} HTTP/1.1\r\nhost: x\r\n{accept}{other}\r\n{last}"));
            let digits = |said: String| {
                said.split(|c: char| c.is_ascii_digit())
                    .filter(|part| !part.is_empty())
                    .collect::<Vec<_>>()
                    .join("#")
            };
            let (plain, slow) = (digits(whole(&server, &plain).await), digits(whole(&server, &slow).await));
            assert_eq!(plain, slow, "{path} {accept}");
            assert!(plain.contains("content-type"), "{plain}");
        }
    }
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_path_only_carries_becomes_no_name() {
    let server = Server::standalone().await;
    assert_eq!(server.text("/api/segment/get/tickets").await, "1");
    for (path, expected) in [
        ("/api/segment/get/tickets;x=1", "2"),
        ("/api/segment/get/tickets.json", "3"),
        ("/api/segment/get/tickets/", "4"),
        ("//api//segment/get/tickets;jsessionid=1", "5"),
    ] {
        assert_eq!(
            whole(&server, &format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"))
                .await
                .lines()
                .last(),
            Some(expected),
            "{path}"
        );
    }
    for path in [
        "/v1/mint/..",
        "/v1/mint/.",
        "/v1/mint/a;x=1",
        "/api/segment/get/..",
        "/api/segment/get/.",
        "/api/segment/get/;x",
        "/api/segment/get/%2e%2e",
    ] {
        let said =
            whole(&server, &format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")).await;
        assert!(said.starts_with("HTTP/1.1 404 ") || said.starts_with("HTTP/1.1 400 "), "{path}: {said}");
    }
    let said = crate::harness::say(connect(&server).await, b"INCR ..\r\nINCR .\r\nQUIT\r\n").await;
    assert_eq!(said.matches("-NOKEY").count(), 2, "{said}");
    let names = server.json("/v1/names").await;
    assert_eq!(names["names"].as_array().unwrap().len(), 1, "{names}");
    // A name with a dot that is there is reached whole.
    server.mint("a.b", 1).await;
    assert_eq!(server.get("/api/segment/get/a.b").await.status(), 500, "a snowflake, and not the segment a");
    assert_eq!(server.json("/v1/names").await["names"].as_array().unwrap().len(), 2);
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn any_key_is_a_snowflake_where_every_name_is_one() {
    let server = Server::of("[[name]]\nname = \"tickets\"\nkind = \"segment\"\n[[name]]\nname = \"*\"\nkind = \"snowflake\"\nlayout = \"leaf\"\n").await;
    let mut last = 0;
    for key in ["orders", "tickets", "%FF", "two%20words", "uuid", &"k".repeat(129), "orders.json"] {
        let id: i64 = server.text(&format!("/api/snowflake/get/{key}")).await.parse().unwrap();
        assert!(id > last, "{key}: {id} after {last}");
        last = id;
    }
    assert_eq!(server.text("/api/segment/get/tickets").await, "1");
    error(&server, "/api/segment/get/orders", -2).await;
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_pages_have_leafs_columns() {
    let server = Server::of("[[name]]\nname = \"tickets\"\nkind = \"segment\"\nincrement = 2\noffset = 1\nmin_step = 1000\n[[name]]\nname = \"serial\"\nkind = \"counter\"\n").await;
    server.text("/api/segment/get/tickets").await;
    server.text("/api/segment/get/serial").await;
    let page = server.text("/db").await;
    assert!(page.contains("<th>tag</th><th>max</th><th>step</th>"), "{page}");
    assert!(page.contains("<tr><td>serial</td><td>2</td>"), "the next number of a counter: {page}");
    let row = page.lines().find(|line| line.contains("<td>tickets</td>")).unwrap();
    let cells: Vec<&str> = row.split("<td>").skip(1).map(|cell| cell.split('<').next().unwrap()).collect();
    let (max, mark) = (cells[1].parse::<u64>().unwrap(), cells[3].parse::<u64>().unwrap());
    assert!(max == mark * 2 + 1 && mark >= 1000 && cells[2] == "1000", "{row}");
    let page = server.text("/cache").await;
    assert!(page.contains("<th>name</th><th>init</th><th>step</th>"), "{page}");
    assert!(page.contains("<tr><td>tickets</td><td>true</td><td>1000</td>"), "{page}");
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn no_id_is_0_which_leaf_answers_where_it_mints_none() {
    let names = ["plain", "slow"]
        .map(|name| format!("[[name]]\nname = \"{name}\"\nkind = \"segment\"\nincrement = 2\noffset = 0\n"));
    let server = Server::of(&names.concat()).await;
    assert_eq!(server.text("/api/segment/get/slow.json").await, "2");
    // Open, so that the first ID of the other is minted without hyper.
    server.text("/v1/names/plain").await;
    assert_eq!(server.text("/api/segment/get/plain").await, "2");
    assert_eq!(server.text("/api/segment/get/plain").await, "4");
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_with_a_dot_is_the_same_after_a_restart() {
    let config = file("[[name]]\nname = \"user-*\"\nkind = \"segment\"\n");
    let directory = directory();
    let first = Server::start(config.clone(), directory.clone()).await;
    assert_eq!(first.mint("user-a.b", 1).await, ["1"]);
    first.stop().await.unwrap();
    let second = Server::start(config, directory).await;
    assert_eq!(second.text("/api/segment/get/user-a.b").await, "2", "and not the first of `user-a`");
    assert_eq!(second.text("/api/segment/get/user-a.json").await, "1");
    second.stop().await.unwrap();
}
