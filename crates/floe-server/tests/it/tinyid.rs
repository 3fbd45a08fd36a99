//! tinyid's calls, as its Java client makes them and takes the answers.

use serde_json::Value;

use crate::harness::Server;

const NAMES: &str = r#"
[[name]]
name = "tickets"
kind = "segment"
[[name]]
name = "odd"
kind = "segment"
increment = 2
offset = 1
min_step = 100
[[name]]
name = "orders"
kind = "snowflake"
layout = "twitter"
"#;

/// Every number that the Java client mints from a segment: it goes up to the first that leaves `remainder`, and on from
/// there in steps of `delta` while it is at most `maxId`.
fn taken(segment: &str) -> Vec<i64> {
    let parts: Vec<i64> = segment.split(',').map(|part| part.parse().unwrap()).collect();
    let [current, loading, max, delta, remainder] = parts[..] else { panic!("{segment}") };
    assert!(current < loading && loading <= max, "{segment}");
    (current + 1..=max).filter(|id| id % delta == remainder).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_segment_is_a_range_that_nobody_else_gets() {
    let server = Server::of(NAMES).await;
    for (name, first, step) in [("tickets", 1, 1), ("odd", 1, 2)] {
        let mut all = Vec::new();
        for _ in 0..5 {
            let form = [("bizType", name), ("token", "secret")];
            let asked = server.client.post(server.url("/tinyid/id/nextSegmentIdSimple")).form(&form);
            let range = taken(&asked.send().await.unwrap().text().await.unwrap());
            assert!(range.len() >= 100, "{range:?}");
            all.extend(range);
            let single = server.text(&format!("/id/nextIdSimple?bizType={name}&batchSize=3")).await;
            all.extend(single.split(',').map(|id| id.parse::<i64>().unwrap()));
            let body = server.json(&format!("/id/nextSegmentId?bizType={name}&token=secret")).await;
            let part = |key: &str| body["data"][key].to_string();
            let parts = ["currentId", "loadingId", "maxId", "delta", "remainder"].map(part);
            all.extend(taken(&parts.join(",")));
        }
        assert!(all.is_sorted_by(|a, b| a < b), "{name}: a number came twice, or went back");
        assert!(all.iter().all(|id| id % step == first % step), "{name}: a number of another server's");
    }
    let whole = server.text("/tinyid/id/nextId?bizType=tickets&batchSize=2&token=t&unknown=1").await;
    let answer: Value = serde_json::from_str(&whole).unwrap();
    assert_eq!((&answer["code"], &answer["message"]), (&200.into(), &"".into()));
    assert_eq!(answer["data"].as_array().unwrap().len(), 2);
    server.stop().await.unwrap();
}

/// Checks an error, and that the call that answers in text says nothing.
async fn error(server: &Server, query: &str, code: i64, message: &str) {
    for (call, before) in [("nextId", "error query segmentId: "), ("nextSegmentId", "")] {
        let body = server.text(&format!("/tinyid/id/{call}?{query}")).await;
        let before = if code == 5 { "" } else { before };
        let expected = format!("{{\"data\":null,\"code\":{code},\"message\":\"{before}{message}\"}}");
        assert_eq!(body, expected, "{query}");
        assert_eq!(server.text(&format!("/id/{call}Simple?{query}")).await, "", "{query}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_are_status_200_with_the_originals_codes_or_nothing() {
    let server = Server::of(NAMES).await;
    for (query, name) in [
        ("bizType=nothing", "nothing"),
        ("bizType=orders", "orders"),
        ("bizType=two%20words", "two words"),
        ("bizType=%FF", "\u{fffd}"),
        ("bizType=odd&bizType=tickets", "odd,tickets"),
    ] {
        error(&server, query, 6, &format!("can not find biztype:{name}")).await;
    }
    for query in ["token=secret", "", "bizType=", "biztype=odd"] {
        error(&server, query, 5, "token is error").await;
    }
    // An error that floe alone has says so in floe's words, where operators look.
    let response = server.get("/id/nextId?bizType=orders").await;
    assert!(response.headers()["floe-detail"].to_str().unwrap().contains("snowflake"));
    let response = server.get("/id/nextId?bizType=it's").await;
    assert!(response.headers()["floe-detail"].to_str().unwrap().contains("`it's`"), "{response:?}");
    let response = server.get("/id/nextId?bizType=%E7%94%A8").await;
    assert!(response.headers()["floe-detail"].to_str().unwrap().contains("`\\u{7528}`"), "{response:?}");
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_is_as_large_as_the_original_makes_it() {
    let server = Server::of(&format!("limits = {{ max_batch = 50 }}\n{NAMES}")).await;
    for (size, count) in [
        ("0", 0),
        ("-1", 0),
        ("", 1),
        ("3", 3),
        ("%2B3", 3),
        ("1%200", 10),
        ("0x10", 16),
        ("51", 50),
        ("2147483647", 50),
    ] {
        let body = server.json(&format!("/id/nextId?bizType=odd&batchSize={size}")).await;
        assert_eq!((&body["code"], body["data"].as_array().unwrap().len()), (&200.into(), count), "{size}");
        let text = server.text(&format!("/id/nextIdSimple?bizType=odd&batchSize={size}")).await;
        assert_eq!(text.split(',').filter(|id| !id.is_empty()).count(), count, "{size}");
    }
    for size in ["2147483648", "9223372036854775808", "x", "1,1", "%20"] {
        for call in ["nextId", "nextIdSimple"] {
            let response = server.get(&format!("/id/{call}?bizType=odd&batchSize={size}")).await;
            assert_eq!(response.status(), 400, "{size}");
            let body: Value = response.json().await.unwrap();
            assert!(
                body["message"].as_str().unwrap().contains("NumberFormatException: For input string"),
                "{body}"
            );
        }
    }
    // Nothing is looked up for none, and still a name that is not there is none.
    error(&server, "bizType=nothing&batchSize=0", 6, "can not find biztype:nothing").await;
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_rows_of_its_table_of_tokens_are_asked_for() {
    let rows = "[[tiny_id_token]]\ntoken = \"0f67\"\nbiz_type = \"odd\"\n[[tiny_id_token]]\ntoken = \"0f67\"\nbiz_type = \"ghost\"\nremark = \"a\"\n";
    let server = Server::of(&format!("{NAMES}{rows}")).await;
    let body = server.json("/tinyid/id/nextId?bizType=odd&token=0f67").await;
    assert_eq!(body["code"], 200, "{body}");
    for query in [
        "bizType=odd&token=0f68",
        "bizType=odd&token=",
        "bizType=odd",
        "bizType=tickets&token=0f67",
        "bizType=nothing&token=0f67",
        "token=0f67",
        "bizType=odd&token=0f67&token=0f67",
    ] {
        error(&server, query, 5, "token is error").await;
    }
    error(&server, "bizType=ghost&token=0f67", 6, "can not find biztype:ghost").await;
    // Other calls ask nobody here.
    assert_eq!(server.mint("tickets", 1).await.len(), 1);
    server.stop().await.unwrap();
    let token = floe_server::NewToken::random("shop", "tickets").unwrap();
    let both = Server::of(&format!("{NAMES}{rows}{}", token.toml())).await;
    for (query, code) in [
        ("bizType=odd&token=0f67".to_owned(), 200),
        (format!("bizType=tickets&token={}", token.secret()), 200),
        (format!("bizType=odd&token={}", token.secret()), 5),
        ("bizType=tickets&token=0f67".to_owned(), 5),
    ] {
        assert_eq!(both.json(&format!("/id/nextId?{query}")).await["code"], code, "{query}");
    }
    both.problem("/v1/mint/odd?n=1", 401).await;
    both.stop().await.unwrap();
    for (wrong, says) in [
        ("token = \"a\"", "biz_type"),
        ("biz_type = \"a\"", "token"),
        ("token = \"\"\nbiz_type = \"a\"", "empty"),
    ] {
        let text = format!("realm = \"r\"\n[[tiny_id_token]]\n{wrong}\n");
        let error = floe_server::Config::parse(&text, "floe.toml".as_ref()).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn forms_of_every_sort_are_read_where_the_original_reads_them() {
    let server = Server::of(NAMES).await;
    let url = server.url("/tinyid/id/nextIdSimple");
    let form = [("bizType", "odd"), ("batchSize", "2")];
    let multipart = "--x\r\nContent-Disposition: form-data; name=\"bizType\"\r\n\r\nodd\r\n--x--\r\n";
    for (request, count) in [
        (server.client.post(&url).form(&form), 2),
        (server.client.put(&url).form(&form), 2),
        (server.client.patch(&url).form(&form), 2),
        (server.client.delete(&url).form(&form), 0),
        (server.client.get(&url).form(&form), 0),
        (
            server
                .client
                .post(&url)
                .header("content-type", "multipart/form-data; boundary=x")
                .body(multipart),
            1,
        ),
        (server.client.post(format!("{url}?bizType=odd")).json(&form), 1),
        (server.client.post(format!("{url}?bizType=odd")).body("anything"), 1),
    ] {
        let text = request.send().await.unwrap().text().await.unwrap();
        assert_eq!(text.split(',').filter(|id| !id.is_empty()).count(), count, "{text}");
    }
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn katsubushi_names_no_name_and_gets_its_own_layout() {
    let server = Server::standalone().await;
    let id: u64 = server.text("/id").await.parse().unwrap();
    let ids: Vec<u64> = server.text("/ids?n=3").await.split('\n').map(|line| line.parse().unwrap()).collect();
    assert!(ids.len() == 3 && ids.is_sorted() && id < ids[0]);
    let many: Value = server.accept("/ids?n=2", "application/json").await.json().await.unwrap();
    assert!(many["ids"][1].as_str().unwrap().parse::<u64>().unwrap() > ids[2]);
    for n in ["0", "-1", "100001", "x"] {
        server.problem(&format!("/ids?n={n}"), 400).await;
    }
    let name = server.json("/v1/names/katsubushi").await;
    assert!(name["layout"].as_str().unwrap().contains("epoch=2015-01-01T00:00:00"), "{name}");
    let stats = server.json("/stats").await;
    assert_eq!((&stats["cmd_get"], &stats["get_hits"]), (&3.into(), &6.into()), "{stats}");
    server.stop().await.unwrap();
    // A file that does not list the name does not serve the calls.
    let other = Server::of("default_names = { katsubushi = \"orders\" }").await;
    let body = other.problem("/id", 404).await;
    assert!(body["detail"].as_str().unwrap().contains("`orders`"), "{body}");
    other.stop().await.unwrap();
}
