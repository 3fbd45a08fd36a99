//! Each row of the error table that HTTP can meet.

use std::sync::Arc;
use std::time::Duration;

use floe_server::{Config, ServeError};

use crate::harness::{Server, directory, file, problem, until};
use crate::hostile::{answer, connect};
use crate::{grpc, mysql, thrift};

fn counter(name: &str) -> String {
    format!("[[name]]\nname = \"{name}\"\nkind = \"counter\"\n")
}

fn database(server: &Server) -> std::path::PathBuf {
    server.directory.path().join("data/floe.db")
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_name() {
    let server = Server::of(&(counter("orders") + &counter("user-*"))).await;
    let body = server.problem("/v1/mint/nothing", 404).await;
    assert_eq!(body["type"], "/problems/unknown-name");
    let detail = body["detail"].as_str().unwrap();
    assert!(detail.contains("`nothing`") && detail.contains("[[name]]"), "{detail}");
    // Anybody may ask: neither the other names nor where the configuration lies is anybody's business.
    let leaf = server.get("/api/segment/get/nothing").await;
    let tinyid = server.get("/tinyid/id/nextId?bizType=nothing").await;
    let of = |response: &reqwest::Response| response.headers()["floe-detail"].to_str().unwrap().to_owned();
    for said in
        [detail.to_owned(), of(&leaf), of(&tinyid), leaf.text().await.unwrap(), tinyid.text().await.unwrap()]
    {
        for secret in ["orders", "user-", "floe.toml", "/"] {
            assert!(!said.replace("/api/segment/get/", "").contains(secret), "{said}");
        }
    }
    assert_eq!(server.mint("user-7", 1).await, ["1"]);
    server.problem("/v1/mint/user-", 404).await;
    server.problem("/v1/names/user-8", 404).await;
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn no_route_and_wrong_method() {
    let server = Server::standalone().await;
    assert_eq!(server.problem("/nowhere", 404).await["type"], "/problems/no-route");
    let response = server.client.delete(server.url("/v1/mint/orders")).send().await.unwrap();
    assert!(response.headers()["allow"].to_str().unwrap().contains("POST"));
    assert_eq!(problem(response, 405).await["type"], "/problems/method");
    let response = server.client.post(server.url("/v1/names")).send().await.unwrap();
    problem(response, 405).await;
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn busy_says_when_to_ask_again() {
    // Four IDs a millisecond, and a short wait.
    let server = Server::of(
        "limits = { max_wait = \"50ms\" }\n[[name]]\nname = \"slow\"\nkind = \"snowflake\"\nlayout = \"time:41 worker:10 sequence:2\"\ntick = \"1ms\"\nepoch = \"2020-01-01T00:00:00Z\"\nmax_ahead = \"5ms\"\n",
    )
    .await;
    // A ledger on a slow disk may take longer than that wait for the first window.
    until("the first window", || async { (server.get("/v1/mint/slow").await.status() == 200).then_some(()) })
        .await;
    // Each asks for all that comes due within that wait: they cannot all get it.
    let asked: Vec<_> =
        (0..8).map(|_| tokio::spawn(server.client.get(server.url("/v1/mint/slow?n=200")).send())).collect();
    let mut busy = 0;
    for asked in asked {
        let response = asked.await.unwrap().unwrap();
        if response.status() != 200 {
            assert_eq!(problem(response, 503).await["type"], "/problems/busy");
            busy += 1;
        }
    }
    assert!(busy > 0);
    // Whatever the failed call drew, a small one gets through again.
    until("a small batch", || async {
        (server.get("/v1/mint/slow?n=4").await.status() == 200).then_some(())
    })
    .await;
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn unavailable_while_the_ledger_is_locked_and_back_at_once() {
    let server = Server::of(&format!("limits = {{ max_wait = \"300ms\" }}\n{}", counter("serial"))).await;
    assert_eq!(server.mint("serial", 1).await, ["1"]);
    let lock = rusqlite::Connection::open(database(&server)).unwrap();
    lock.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let body = server.problem("/v1/mint/serial", 503).await;
    assert!(["/problems/busy", "/problems/unavailable"].contains(&body["type"].as_str().unwrap()), "{body}");
    lock.execute_batch("ROLLBACK").unwrap();
    let id: u64 = until("minting again", || async {
        let response = server.get("/v1/mint/serial").await;
        match response.status().as_u16() {
            200 => {
                response.json::<serde_json::Value>().await.unwrap()["ids"][0].as_str().unwrap().parse().ok()
            }
            503 => None,
            other => panic!("{other}"),
        }
    })
    .await;
    assert!(id > 1);
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_waits_for_its_ledger_says_so_on_every_wire_and_then_serves() {
    let directory = directory();
    let path = directory.path().join("ids.db");
    drop(floe_ledger::Sqlite::builder().realm("test").at(&path).unwrap());
    // Nobody else gets at the file, not even to read.
    let holder = rusqlite::Connection::open(&path).unwrap();
    holder.execute_batch("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE").unwrap();
    let text = format!(
        "ledger = 'sqlite:{}?max_wait=50ms'\nlimits = {{ max_wait = '300ms' }}\ndefault_names = {{ thrift = 'flakes' }}\n\
         [[name]]\nname = 'flakes'\nkind = 'snowflake'\nlayout = 'twitter'\n{}",
        path.display(),
        counter("serial")
    );
    let server = Server::start(file(&text), Arc::clone(&directory)).await;
    assert_eq!(server.get("/livez").await.status(), 200);
    let ready = server.get("/readyz").await;
    assert_eq!(ready.status(), 503);
    assert!(ready.text().await.unwrap().contains("is not there yet"));
    let (mut twitter, mut tickets) = (connect(&server).await, mysql::Client::of(&server).await);
    let (code, text) = grpc::mint(&server, "serial").await.unwrap_err();
    assert!(code == "14" && text.contains("ids.db"), "{code} {text}");
    let (exception, text) = thrift::get_id(&mut twitter).await.unwrap_err();
    assert!(
        exception == 6 && text.starts_with("unavailable: ") && text.contains("ids.db"),
        "{exception} {text}"
    );
    let (code, text) = tickets.mint("serial").await.unwrap_err();
    assert!(code == 1205 && text.contains("ids.db"), "{code} {text}");
    let (code, _) = tickets.run("ALTER TABLE serial AUTO_INCREMENT = 100").await.unwrap_err();
    assert_eq!(code, 1205);
    drop(holder);
    until("the server to be ready", || async { (server.get("/readyz").await.status() == 200).then_some(()) })
        .await;
    // On the connections that were refused, too.
    assert!(thrift::get_id(&mut twitter).await.unwrap() > 0);
    assert_eq!(tickets.mint("serial").await, Ok(1));
    assert_eq!(grpc::mint(&server, "serial").await.unwrap(), [&[0x0a, 8, 2][..], &[0; 7]].concat());
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn exhausted_is_not_hidden() {
    let server = Server::of("[[name]]\nname = \"few\"\nkind = \"dated\"\ndigits = 1\nzone = \"UTC\"\n").await;
    // More than a day's digits hold, over midnight as well.
    let mut last = 200;
    for _ in 0..30 {
        let response = server.get("/v1/mint/few").await;
        last = response.status().as_u16();
        if last != 200 {
            assert_eq!(problem(response, 507).await["type"], "/problems/exhausted");
            break;
        }
    }
    assert_eq!(last, 507);
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_is_used_up_is_shown_to_operators() {
    // Numbers up to 15.
    let short = |name: &str| counter(name) + "form = \"base62 bits=4\"\n";
    let server = Server::of(&(short("rows") + &short("seats"))).await;
    until("the names to be there", || async { (server.get("/readyz").await.status() == 200).then_some(()) })
        .await;
    for (used_up, states, ready) in [
        (None, ["ready", "ready"], 200),
        (Some("seats"), ["ready", "exhausted"], 200),
        // Only now is there no name to mint from.
        (Some("rows"), ["exhausted", "exhausted"], 503),
    ] {
        if let Some(name) = used_up {
            assert_eq!(server.mint(name, 15).await.len(), 15);
        }
        for (name, state) in ["rows", "seats"].into_iter().zip(states) {
            if state == "exhausted" {
                let body = server.problem(&format!("/v1/mint/{name}"), 507).await;
                assert_eq!(body["type"], "/problems/exhausted");
            }
            let page = server.json("/v1/names").await;
            let report = page["names"].as_array().unwrap().iter().find(|report| report["name"] == name);
            assert_eq!(report.unwrap()["state"], state, "{page}");
            assert_eq!(server.json(&format!("/v1/names/{name}")).await["state"], state);
            let line = format!("floe_name_ready{{name=\"{name}\"}} {}", u8::from(state == "ready"));
            let metrics = server.text("/metrics").await;
            assert!(metrics.lines().any(|found| found == line), "{line} is not in\n{metrics}");
        }
        let response = server.get("/readyz").await;
        assert_eq!(response.status(), ready, "after {used_up:?}");
        let said = response.text().await.unwrap();
        assert_eq!(
            said.contains("no name can be minted from; `rows` is exhausted: "),
            ready == 503,
            "{said}"
        );
    }
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_layout_whose_time_is_over_is_not_served() {
    let config = file(
        "[[name]]\nname = \"old\"\nkind = \"snowflake\"\nlayout = \"time:20 worker:4 sequence:4\"\ntick = \"1ms\"\nepoch = \"2020-01-01T00:00:00Z\"\n",
    );
    let Err(ServeError::Config(error)) = Server::try_start(config, directory()).await else {
        panic!("the server starts");
    };
    assert!(error.to_string().contains("ran out on 2020"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_definition_that_changed_stops_its_name_and_shows_both() {
    let directory = directory();
    let first = Server::start(file(&(counter("orders") + &counter("other"))), directory.clone()).await;
    assert_eq!(first.mint("orders", 1).await, ["1"]);
    first.stop().await.unwrap();
    let changed = format!("[[name]]\nname = \"orders\"\nkind = \"segment\"\n{}", counter("other"));
    let second = Server::start(file(&changed), directory.clone()).await;
    let body = second.problem("/v1/mint/orders", 500).await;
    assert_eq!(body["type"], "/problems/stopped");
    let detail = body["detail"].as_str().unwrap();
    assert!(detail.contains("counter") && detail.contains("segment increment=1 offset=1"), "{detail}");
    assert_eq!(second.mint("other", 1).await, ["1"], "the other names are served");
    assert_eq!(second.json("/v1/names/orders").await["state"], "stopped");
    second.stop().await.unwrap();
    let third = Server::start(file(&(counter("orders") + &counter("other"))), directory).await;
    assert_eq!(third.mint("orders", 1).await, ["2"], "the old configuration is a way out");
    third.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_ledger_that_is_removed_stops_the_server() {
    let server = Server::of(&counter("serial")).await;
    server.mint("serial", 1).await;
    std::fs::remove_file(database(&server)).unwrap();
    let body = problem(server.get("/v1/mint/serial").await, 500).await;
    assert_eq!(body["type"], "/problems/stopped");
    let error = server.ended().await.unwrap_err();
    assert!(matches!(error, ServeError::Stopped(_)), "{error:?}");
    assert!(error.to_string().contains("floe.db"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_ledger_that_is_replaced_stops_the_server() {
    let other = Server::of(&counter("serial")).await;
    let (others, directory) = (database(&other), Arc::clone(&other.directory));
    other.stop().await.unwrap();
    let server = Server::of(&counter("serial")).await;
    server.mint("serial", 1).await;
    std::fs::rename(others, database(&server)).unwrap();
    problem(server.get("/v1/mint/serial").await, 500).await;
    let error = server.ended().await.unwrap_err();
    assert!(matches!(error, ServeError::Stopped(_)), "{error:?}");
    drop(directory);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_too_large_is_refused_with_its_limit() {
    let server = Server::of(
        "limits = { body_bytes = 1000, uri_bytes = 600, header_bytes = 2000, header_count = 20 }\n",
    )
    .await;
    let long = server.problem(&format!("/v1/mint/{}", "x".repeat(700)), 414).await;
    assert!(long["detail"].as_str().unwrap().contains("600"), "{long}");
    let header =
        server.client.get(server.url("/livez")).header("x-filler", "y".repeat(2000)).send().await.unwrap();
    problem(header, 431).await;
    let mut many = server.client.get(server.url("/livez"));
    for field in 0..25 {
        many = many.header(format!("x-{field}"), "y");
    }
    problem(many.send().await.unwrap(), 431).await;
    let body = server.client.post(server.url("/v1/mint/orders")).body("z".repeat(1001)).send().await.unwrap();
    problem(body, 413).await;
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn every_type_of_problem_has_its_page() {
    let server = Server::standalone().await;
    for slug in [
        "unknown-name",
        "bad-request",
        "wrong-kind",
        "busy",
        "unavailable",
        "exhausted",
        "stopped",
        "no-route",
        "method",
        "timeout",
    ] {
        assert!(server.text(&format!("/problems/{slug}")).await.len() > 60);
    }
    server.problem("/problems/nothing", 404).await;
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_port_in_use_is_named_with_the_way_out() {
    let server = Server::standalone().await;
    let directory = directory();
    let mut config = Config::standalone();
    config.listen = vec![floe_server::Endpoint::Tcp(server.address)];
    config.data_dir = directory.path().join("data");
    let never = std::future::pending::<()>();
    let error = floe_server::run(config.clone(), never, |_| {}).await.unwrap_err().to_string();
    for part in ["in use", &server.address.port().to_string(), "--listen"] {
        assert!(error.contains(part), "{error}");
    }
    assert!(!config.data_dir.exists(), "the ledger was not touched");
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_listener_that_others_reach_does_not_start_unprotected() {
    let mut config = Config::standalone();
    config.listen = vec!["0.0.0.0:0".parse().unwrap()];
    let error = floe_server::run(config, std::future::pending(), |_| {}).await.unwrap_err();
    assert!(matches!(error, ServeError::Config(_)) && error.to_string().contains("--insecure"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_ledger_that_cannot_be_opened_is_named() {
    let directory = directory();
    std::fs::create_dir_all(directory.path().join("data")).unwrap();
    std::fs::write(
        directory.path().join("data/floe.db"),
        "this is no database, however long one reads".repeat(100),
    )
    .unwrap();
    let error = Server::try_start(Config::standalone(), directory).await.err().unwrap();
    assert!(matches!(error, ServeError::Open(_)) && error.to_string().contains("floe.db"), "{error}");
    let mut foreign = Config::standalone();
    foreign.ledger = Some("gopher://ledger".to_owned());
    let error = Server::try_start(foreign, crate::harness::directory()).await.err().unwrap();
    let text = error.to_string();
    assert!(matches!(error, ServeError::Config(_)) && text.contains("ledger: `gopher:…` is not"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_answer_ends_at_the_requests_deadline() {
    let config = "limits = { max_wait = \"200ms\", request_timeout = \"200ms\" }\n";
    let server = Server::of(&format!("{config}{}", counter("serial"))).await;
    let lock = rusqlite::Connection::open(database(&server)).unwrap();
    lock.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let asked = tokio::time::timeout(Duration::from_secs(5), server.get("/v1/mint/serial"));
    problem(asked.await.expect("no answer within the deadline"), 503).await;
    lock.execute_batch("ROLLBACK").unwrap();
    server.stop().await.unwrap();
}

#[tokio::test]
async fn every_answer_has_a_date_also_to_what_is_no_request() {
    let server = Server::standalone().await;
    let good = "GET /livez HTTP/1.1\r\nhost: x\r\n\r\n";
    for (asked, answered) in [
        ("GET /livez HTTP/1.2\r\nhost: x\r\n\r\n".to_owned(), vec!["400"]),
        ("GET /livez\u{1} HTTP/1.1\r\nhost: x\r\n\r\n".to_owned(), vec!["400"]),
        ("GET /livez HTTP/1.1\r\nhost : x\r\n\r\n".to_owned(), vec!["400"]),
        ("GET /livez HTTP/1.1\r\nhost: x\r\ntransfer-encoding: x\r\n\r\n".to_owned(), vec!["400"]),
        (format!("GET /livez HTTP/1.1\r\na: {}\r\n\r\n", "b".repeat(400_000)), vec!["431"]),
        (format!("{good}{good}GET /livez HTTP/1.2\r\n\r\n"), vec!["200", "200", "400"]),
    ] {
        let said = answer(&server, asked.as_bytes()).await;
        let heads: Vec<_> = said.split("HTTP/1.1 ").skip(1).collect();
        let statuses: Vec<_> = heads.iter().map(|head| &head[..3]).collect();
        let shown = &asked[..asked.len().min(60)];
        assert_eq!(statuses, answered, "{shown}: {said}");
        for head in heads {
            let head = head.split("\r\n\r\n").next().unwrap();
            let dates: Vec<_> = head.lines().filter_map(|line| line.strip_prefix("date: ")).collect();
            assert!(
                matches!(dates[..], [date] if date.len() == 29 && date.ends_with(" GMT")),
                "{shown}: {said}"
            );
        }
    }
}

#[tokio::test]
async fn a_head_mints_nothing() {
    let server = Server::standalone().await;
    const ORIGINALS: &str = "GET,POST,PUT,PATCH,DELETE,OPTIONS";
    for (path, allowed) in [
        ("/v1/mint/orders", "GET, POST"),
        ("/api/snowflake/get/orders", ORIGINALS),
        ("/api/segment/get/tickets.json", ORIGINALS),
        ("/id/nextId?bizType=tickets", ORIGINALS),
        ("/tinyid/id/nextSegmentIdSimple?bizType=tickets", ORIGINALS),
        ("/id", "GET"),
        ("/ids?n=3", "GET"),
    ] {
        for method in [reqwest::Method::HEAD, reqwest::Method::TRACE, reqwest::Method::PUT] {
            if method == reqwest::Method::PUT && allowed == ORIGINALS {
                continue;
            }
            let response = server.client.request(method.clone(), server.url(path)).send().await.unwrap();
            assert_eq!(response.status(), 405, "{method} {path}");
            assert_eq!(response.headers()["allow"], allowed, "{method} {path}");
        }
    }
    assert_eq!(server.json("/v1/names").await["names"].as_array().unwrap().len(), 0);
    assert_eq!(server.client.head(server.url("/livez")).send().await.unwrap().status(), 200);
}
