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

#[tokio::test(flavor = "multi_thread")]
async fn errors_are_status_200_with_code_6_or_nothing() {
    let server = Server::of(NAMES).await;
    for wrong in [
        "bizType=nothing",
        "bizType=orders",
        "bizType=two%20words",
        "bizType=%FF",
        "bizType=odd&bizType=tickets",
        "token=secret",
        "",
    ] {
        for call in ["nextId", "nextSegmentId"] {
            let body = server.json(&format!("/tinyid/id/{call}?{wrong}")).await;
            assert_eq!((&body["data"], &body["code"]), (&Value::Null, &6.into()), "{wrong}: {body}");
            let message = body["message"].as_str().unwrap();
            assert!(message.len() > 20 && !message.contains("secret"), "{message}");
            assert_eq!(server.text(&format!("/id/{call}Simple?{wrong}")).await, "", "{wrong}");
        }
    }
    for size in ["0", "-1", "100001", "2147483648", "9223372036854775808", "x"] {
        let body = server.json(&format!("/id/nextId?bizType=odd&batchSize={size}")).await;
        assert_eq!(body["code"], 6, "{size}: never cut to fit");
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
