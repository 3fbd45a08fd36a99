//! Pages for operators and their tools.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::harness::Server;

#[tokio::test(flavor = "multi_thread")]
async fn a_fresh_server_is_alive_and_ready_and_says_what_to_try() {
    let server = Server::standalone().await;
    assert_eq!(server.text("/livez").await, "ok\n");
    assert_eq!(server.text("/readyz").await, "ready\n");
    assert!(server.text("/").await.contains("/v1/mint/orders"));
    assert!(server.started.realm_id.as_ref().is_some_and(|id| !id.is_empty()));
    assert!(server.started.ledger.starts_with("sqlite:"), "{}", server.started.ledger);
    server.stop().await.unwrap();
}

/// What is served, by its description.
const ROUTES: &[&str] = &[
    "DELETE /api/segment/get/{key}",
    "DELETE /api/snowflake/get/{key}",
    "DELETE /cache",
    "DELETE /db",
    "DELETE /decodeSnowflakeId",
    "DELETE /id/nextId",
    "DELETE /id/nextIdSimple",
    "DELETE /id/nextSegmentId",
    "DELETE /id/nextSegmentIdSimple",
    "DELETE /tinyid/id/nextId",
    "DELETE /tinyid/id/nextIdSimple",
    "DELETE /tinyid/id/nextSegmentId",
    "DELETE /tinyid/id/nextSegmentIdSimple",
    "GET /",
    "GET /api/segment/get/{key}",
    "GET /api/snowflake/get/{key}",
    "GET /cache",
    "GET /db",
    "GET /decodeSnowflakeId",
    "GET /id",
    "GET /id/nextId",
    "GET /id/nextIdSimple",
    "GET /id/nextSegmentId",
    "GET /id/nextSegmentIdSimple",
    "GET /ids",
    "GET /livez",
    "GET /metrics",
    "GET /problems/{problem}",
    "GET /readyz",
    "GET /stats",
    "GET /tinyid/id/nextId",
    "GET /tinyid/id/nextIdSimple",
    "GET /tinyid/id/nextSegmentId",
    "GET /tinyid/id/nextSegmentIdSimple",
    "GET /v1/inspect/{id}",
    "GET /v1/mint/{name}",
    "GET /v1/names",
    "GET /v1/names/{name}",
    "GET /v1/open/{name}/{text}",
    "GET /v1/slots",
    "PATCH /api/segment/get/{key}",
    "PATCH /api/snowflake/get/{key}",
    "PATCH /cache",
    "PATCH /db",
    "PATCH /decodeSnowflakeId",
    "PATCH /id/nextId",
    "PATCH /id/nextIdSimple",
    "PATCH /id/nextSegmentId",
    "PATCH /id/nextSegmentIdSimple",
    "PATCH /tinyid/id/nextId",
    "PATCH /tinyid/id/nextIdSimple",
    "PATCH /tinyid/id/nextSegmentId",
    "PATCH /tinyid/id/nextSegmentIdSimple",
    "POST /api/segment/get/{key}",
    "POST /api/snowflake/get/{key}",
    "POST /cache",
    "POST /db",
    "POST /decodeSnowflakeId",
    "POST /id/nextId",
    "POST /id/nextIdSimple",
    "POST /id/nextSegmentId",
    "POST /id/nextSegmentIdSimple",
    "POST /tinyid/id/nextId",
    "POST /tinyid/id/nextIdSimple",
    "POST /tinyid/id/nextSegmentId",
    "POST /tinyid/id/nextSegmentIdSimple",
    "POST /v1/ledger/{realm}",
    "POST /v1/mint/{name}",
    "PUT /api/segment/get/{key}",
    "PUT /api/snowflake/get/{key}",
    "PUT /cache",
    "PUT /db",
    "PUT /decodeSnowflakeId",
    "PUT /id/nextId",
    "PUT /id/nextIdSimple",
    "PUT /id/nextSegmentId",
    "PUT /id/nextSegmentIdSimple",
    "PUT /tinyid/id/nextId",
    "PUT /tinyid/id/nextIdSimple",
    "PUT /tinyid/id/nextSegmentId",
    "PUT /tinyid/id/nextSegmentIdSimple",
];

#[tokio::test(flavor = "multi_thread")]
async fn each_described_route_is_served_as_described() {
    let server = Server::standalone().await;
    server.mint("orders", 1).await;
    let api = server.json("/openapi.json").await;
    assert!(api["openapi"].as_str().unwrap().starts_with("3."));
    assert_eq!(api["info"]["title"], "floe");
    assert_eq!(api["info"]["contact"]["name"], "floe");
    let (mut described, mut operations) = (BTreeSet::new(), BTreeSet::new());
    for (path, methods) in api["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            described.insert(format!("{} {path}", method.to_uppercase()));
            assert!(operations.insert(operation["operationId"].to_string()), "{operation}");
            assert!(operation["summary"].as_str().is_some_and(|summary| !summary.is_empty()), "{path}");
            let url = path
                .replace("{name}", "orders")
                .replace("{key}", "orders")
                .replace("{id}", "1212092628029698048")
                .replace("{text}", "11MHQTB098W00")
                .replace("{problem}", "busy");
            let url = if path == "/decodeSnowflakeId" { format!("{url}?snowflakeId=1") } else { url };
            let method = method.to_uppercase().parse().unwrap();
            let response = server.client.request(method, server.url(&url)).send().await.unwrap();
            let status = response.status().as_u16().to_string();
            let answer = &operation["responses"][&status];
            assert!(answer.is_object(), "{url} answers {status}, which is not described");
            let media =
                response.headers()["content-type"].to_str().unwrap().split(';').next().unwrap().to_owned();
            assert!(answer["content"][&media].is_object(), "{url} answers {media}, which is not described");
        }
    }
    assert_eq!(described.iter().map(String::as_str).collect::<Vec<_>>(), ROUTES);
    references_resolve(&api, &api);
    // Each of them is counted under its own label.
    assert!(!server.text("/metrics").await.contains("route=\"other\""));
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_document_says_how_a_caller_shows_who_it_is_and_what_is_settings() {
    let names = "[[name]]\nname = 'orders'\nkind = 'counter'\n";
    let server = Server::of(&format!("limits = {{ max_batch = 500 }}\n{names}")).await;
    let api = server.json("/openapi.json").await;
    let schemes = &api["components"]["securitySchemes"];
    assert_eq!(
        (&schemes["bearer"]["scheme"], &schemes["basic"]["scheme"]),
        (&"bearer".into(), &"basic".into())
    );
    for (path, methods) in api["paths"].as_object().unwrap() {
        for operation in methods.as_object().unwrap().values() {
            // A server without tokens asks for none.
            let ways = operation["security"].as_array().unwrap();
            let open = ["/", "/livez", "/readyz", "/problems/{problem}"].contains(&path.as_str());
            assert_eq!(ways.len(), if open { 1 } else { 3 }, "{path}: {ways:?}");
            // Leaf's and tinyid's have answers of their own, some without a body.
            let own = ["leaf", "tinyid"].iter().any(|tag| operation["tags"][0] == *tag);
            for status in ["400", "408", "413", "414", "431", "503"] {
                let described = &operation["responses"][status];
                assert!(described["content"].is_object() || own && described.is_object(), "{path}: {status}");
            }
        }
    }
    for path in ["/v1/mint/{name}", "/ids"] {
        let parameters = api["paths"][path]["get"]["parameters"].as_array().unwrap();
        let count = parameters.iter().find(|parameter| parameter["name"] == "n").unwrap();
        assert_eq!(
            (&count["schema"]["minimum"], &count["schema"]["maximum"]),
            (&1.into(), &500.into()),
            "{path}"
        );
    }
    server.problem("/v1/mint/orders?n=501", 400).await;
    server.stop().await.unwrap();
}

/// Each `$ref` of the description leads somewhere.
fn references_resolve(api: &Value, value: &Value) {
    match value {
        Value::Object(fields) => {
            if let Some(Value::String(reference)) = fields.get("$ref") {
                let pointer = reference.strip_prefix('#').unwrap();
                assert!(api.pointer(pointer).is_some(), "{reference}");
            }
            fields.values().for_each(|field| references_resolve(api, field));
        }
        Value::Array(values) => values.iter().for_each(|value| references_resolve(api, value)),
        _ => {}
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_docs_work_without_any_other_host() {
    let server = Server::standalone().await;
    let page = server.text("/docs").await;
    assert!(page.contains("swagger-ui"));
    let attributes = page.split(['"', '\'']).skip(1).step_by(2);
    let mut scripts = 0;
    for value in attributes {
        assert!(!value.contains("://") && !value.starts_with("//"), "{value}");
        if value.ends_with(".js") || value.ends_with(".css") {
            scripts += 1;
            assert!(!server.text(&format!("/docs/{}", value.trim_start_matches("./"))).await.is_empty());
        }
    }
    assert!(scripts >= 3, "{page}");
    let start = server.text("/docs/swagger-initializer.js").await;
    assert!(start.contains("/openapi.json") && start.contains("\"validatorUrl\": \"none\""), "{start}");
    assert!(!start.contains("://"), "{start}");
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_metrics_hold_what_operators_need() {
    let server = Server::of(
        "limits = { metric_names = 2 }\n[[name]]\nname = \"orders\"\nkind = \"snowflake\"\nlayout = \"twitter\"\n[[name]]\nname = \"tickets\"\nkind = \"segment\"\n[[name]]\nname = \"u-*\"\nkind = \"counter\"\n",
    )
    .await;
    server.mint("orders", 7).await;
    server.mint("tickets", 5).await;
    server.mint("u-1", 1).await;
    server.mint("u-2", 2).await;
    server.get("/nowhere").await;
    let open = server.accept("/metrics", "application/openmetrics-text;version=1.0.0,text/plain;q=0.5").await;
    assert_eq!(open.headers()["content-type"], "application/openmetrics-text; version=1.0.0; charset=utf-8");
    let open = open.text().await.unwrap();
    assert!(open.ends_with("# EOF\n") && open.contains("# TYPE floe_minted counter\n"), "{open}");
    for accept in ["*/*", "text/plain", "text/html", "application/json"] {
        let response = server.accept("/metrics", accept).await;
        assert_eq!(
            response.headers()["content-type"],
            "text/plain; version=0.0.4; charset=utf-8",
            "{accept}"
        );
    }
    let metrics = server.text("/metrics").await;
    assert!(!metrics.contains("# EOF") && !metrics.contains("# UNIT"), "{metrics}");
    check_families(&metrics);
    for line in [
        "floe_minted_total{name=\"orders\"} 7",
        "floe_minted_total{name=\"tickets\"} 5",
        // Past metric_names, names share a label.
        "floe_minted_total{name=\"_other\"} 3",
        "floe_http_requests_total{route=\"/v1/mint/{name}\",status=\"200\"} 4",
        "floe_http_requests_total{route=\"none\",status=\"404\"} 1",
        "floe_names 4",
        "floe_name_ready{name=\"orders\"} 1",
        "floe_clock_refused 0",
        "floe_connections_turned_away_total 0",
    ] {
        assert!(metrics.lines().any(|found| found == line), "{line} is not in\n{metrics}");
    }
    for metric in [
        "floe_build_info{version=",
        "floe_mint_waits_total{name=\"_other\"} ",
        "floe_mint_wait_seconds_total{name=\"_other\"} ",
        "floe_ahead_seconds{name=\"orders\"} ",
        "floe_horizon_seconds{name=\"orders\"} ",
        "floe_segment_left{name=\"tickets\"} ",
        "floe_rollback_held_seconds ",
        "floe_steady_clock_offset_seconds ",
        "floe_window_left_seconds{worker_bits=\"10\"} ",
        "floe_worker_id{worker_bits=\"10\"} ",
        "floe_ledger_calls_total{outcome=\"granted\"} ",
        "floe_ledger_calls_total{outcome=\"refused\"} ",
        "floe_ledger_calls_total{outcome=\"error\"} ",
        "floe_ledger_call_duration_seconds_count ",
        "floe_ledger_call_duration_seconds_bucket{le=\"+Inf\"} ",
        "floe_http_request_duration_seconds_bucket{le=",
        "floe_connections ",
        "floe_connections_accepted_total ",
    ] {
        assert!(metrics.lines().any(|line| line.starts_with(metric)), "{metric} is not in\n{metrics}");
    }
    let horizon =
        metrics.lines().find_map(|line| line.strip_prefix("floe_horizon_seconds{name=\"orders\"} ")).unwrap();
    assert!((86_400..30_000 * 86_400).contains(&horizon.parse::<i64>().unwrap()), "{horizon}");
    server.stop().await.unwrap();
}

/// What `promtool check metrics` looks for, and what a parser of the text format 0.0.4 does.
fn check_families(metrics: &str) {
    let (mut families, mut helped) = (BTreeMap::new(), BTreeSet::new());
    for line in metrics.lines() {
        match line.split(' ').collect::<Vec<_>>()[..] {
            ["#", "HELP", name, _, ..] => assert!(helped.insert(name), "{line}"),
            ["#", "TYPE", name, kind] => {
                assert!(["counter", "gauge", "histogram"].contains(&kind), "{line}");
                assert_eq!(name.ends_with("_total"), kind == "counter", "{line}");
                for other in ["milliseconds", "days", "minutes", "hours", "micros", "millis"] {
                    assert!(!name.split('_').any(|word| word == other), "{line}: not in a base unit");
                }
                assert!(families.insert(name, kind).is_none(), "{line} comes twice");
            }
            _ => {
                let name = line.split(['{', ' ']).next().unwrap();
                let of_histogram =
                    ["_bucket", "_sum", "_count"].iter().find_map(|part| name.strip_suffix(part));
                let family = of_histogram.filter(|family| families.get(family) == Some(&"histogram"));
                let family = family.unwrap_or(name);
                assert!(families.contains_key(family) && helped.contains(family), "{line} has no family");
                line.rsplit(' ').next().unwrap().parse::<f64>().expect(line);
            }
        }
    }
    assert!(families.len() > 20);
}

#[tokio::test(flavor = "multi_thread")]
async fn http_2_without_tls_is_spoken_too() {
    let server = Server::standalone().await;
    let client = reqwest::Client::builder().http2_prior_knowledge().build().unwrap();
    let asked = (0..50).map(|_| client.get(server.url("/v1/mint/orders")).send());
    let mut seen = BTreeSet::new();
    for asked in asked.collect::<Vec<_>>() {
        let response = asked.await.unwrap();
        assert_eq!((response.status().as_u16(), response.version()), (200, reqwest::Version::HTTP_2));
        assert!(seen.insert(response.text().await.unwrap()));
    }
    server.stop().await.unwrap();
}
