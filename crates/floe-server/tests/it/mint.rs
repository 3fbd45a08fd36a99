//! `/v1/mint` and `/v1/inspect`.

use std::collections::HashSet;

use serde_json::json;
use tokio::io::AsyncWriteExt;

use crate::harness::{Server, problem};
use crate::hostile::{answer, connect, rest};
use crate::resp::answers;

const NAMES: &str = r#"
[[name]]
name = "orders"
kind = "snowflake"
layout = "twitter"
[[name]]
name = "wide"
kind = "snowflake"
layout = "time:41 server:30 sequence:16 wide"
tick = "1ms"
epoch = "2020-01-01T00:00:00Z"
[[name]]
name = "tickets"
kind = "segment"
increment = 2
offset = 1
[[name]]
name = "serial"
kind = "counter"
[[name]]
name = "invoice"
kind = "dated"
digits = 6
zone = "UTC"
prefix = "INV"
[[name]]
name = "receipt"
kind = "dated"
digits = 6
zone = "UTC"
"#;

#[tokio::test(flavor = "multi_thread")]
async fn one_id_is_json_with_a_string() {
    let server = Server::of(NAMES).await;
    let response = server.get("/v1/mint/orders").await;
    assert_eq!(response.status(), 200);
    assert_eq!(response.headers()["content-type"], "application/json");
    assert_eq!(response.headers()["cache-control"], "no-store");
    let body: serde_json::Value = response.json().await.unwrap();
    assert_eq!(body["name"], "orders");
    let ids = body["ids"].as_array().unwrap();
    assert_eq!(ids.len(), 1);
    assert!(ids[0].as_str().unwrap().parse::<u64>().unwrap() > 1 << 60);
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn numbers_come_where_they_are_asked_for() {
    let server = Server::of(NAMES).await;
    let body = server.json("/v1/mint/tickets?n=3&numbers=true").await;
    let ids: Vec<_> = body["ids"].as_array().unwrap().iter().map(|id| id.as_u64().unwrap()).collect();
    assert_eq!(ids, [1, 3, 5]);
    assert_eq!(server.mint("tickets", 2).await, ["7", "9"]);
    assert_eq!(server.mint("serial", 3).await, ["1", "2", "3"]);
    let receipt = server.json("/v1/mint/receipt?numbers=true").await["ids"][0].as_u64().unwrap();
    assert_eq!(receipt % 1_000_000, 1);
    let octets = server.accept("/v1/mint/receipt", "application/octet-stream").await.bytes().await.unwrap();
    assert_eq!(octets[..], (receipt + 1).to_le_bytes());
    // A number would have lost the prefix: nothing is minted then.
    for (refused, status) in [
        (server.get("/v1/mint/invoice?numbers=true").await, 400),
        (server.accept("/v1/mint/invoice", "application/octet-stream").await, 406),
    ] {
        let body = problem(refused, status).await;
        assert!(body["detail"].as_str().unwrap().contains("are text"), "{body}");
    }
    let text = &server.mint("invoice", 1).await[0];
    assert_eq!(text, &format!("INV{:08}000001", receipt / 1_000_000));
    problem(server.get("/v1/mint/wide?numbers=true").await, 400).await;
    problem(server.accept("/v1/mint/wide", "application/octet-stream").await, 406).await;
    assert!(server.mint("wide", 1).await[0].parse::<u128>().unwrap() > u128::from(u64::MAX));
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_accept_header_chooses_the_form() {
    let server = Server::of(NAMES).await;
    let response = server.accept("/v1/mint/orders?n=5", "text/plain").await;
    assert_eq!(response.headers()["content-type"], "text/plain; charset=utf-8");
    let lines = response.text().await.unwrap();
    let ids: Vec<u64> = lines.lines().map(|line| line.parse().unwrap()).collect();
    assert!(lines.ends_with('\n') && ids.len() == 5 && ids.is_sorted());

    let response = server.accept("/v1/mint/orders?n=5", "application/octet-stream").await;
    assert_eq!(response.headers()["content-type"], "application/octet-stream");
    let bytes = response.bytes().await.unwrap();
    let octets: Vec<u64> =
        bytes.chunks_exact(8).map(|eight| u64::from_le_bytes(eight.try_into().unwrap())).collect();
    assert!(bytes.len() == 40 && octets.is_sorted() && octets[0] > ids[4]);

    let unacceptable = problem(server.accept("/v1/mint/orders", "image/png").await, 406).await;
    assert!(unacceptable["detail"].as_str().unwrap().contains("text/plain"));
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_largest_batch_comes_whole_in_every_form() {
    let server = Server::of(NAMES).await;
    let mut seen = HashSet::new();
    for media in ["application/octet-stream", "text/plain", "application/json"] {
        let response = server.accept("/v1/mint/tickets?n=100000", media).await;
        assert_eq!(response.status(), 200);
        let ids: Vec<u64> = match media {
            "application/octet-stream" => {
                assert_eq!(response.headers()["content-length"], "800000");
                let bytes = response.bytes().await.unwrap();
                bytes.chunks_exact(8).map(|eight| u64::from_le_bytes(eight.try_into().unwrap())).collect()
            }
            "text/plain" => {
                response.text().await.unwrap().lines().map(|line| line.parse().unwrap()).collect()
            }
            _ => {
                let body: serde_json::Value = response.json().await.unwrap();
                body["ids"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|id| id.as_str().unwrap().parse().unwrap())
                    .collect()
            }
        };
        assert_eq!(ids.len(), 100_000, "{media}");
        assert!(ids.iter().all(|id| seen.insert(*id)), "{media}");
    }
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn post_mints_as_get_does_and_takes_no_body() {
    let server = Server::of(NAMES).await;
    let response = server.client.post(server.url("/v1/mint/serial?n=2")).send().await.unwrap();
    assert_eq!(response.status(), 200);
    let with_body = server.client.post(server.url("/v1/mint/serial")).body("n=5").send().await.unwrap();
    let ignored = problem(with_body, 400).await;
    assert!(ignored["detail"].as_str().unwrap().contains("query"));
    assert_eq!(server.mint("serial", 1).await, ["3"], "a refused call mints nothing");
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_count_out_of_its_range_is_refused_and_never_cut() {
    let server = Server::of(NAMES).await;
    for (n, said) in [
        ("0", "outside 1 to 100000"),
        ("-1", "outside 1 to 100000"),
        ("100001", "outside 1 to 100000"),
        ("1000000000000000000", "outside 1 to 100000"),
        ("99999999999999999999999999999999999999999999999999", "outside 1 to 100000"),
        ("abc", "not a whole number"),
        ("1.5", "not a whole number"),
        ("", "not a whole number"),
        ("1e3", "not a whole number"),
        ("0x10", "not a whole number"),
    ] {
        let body = server.problem(&format!("/v1/mint/serial?n={n}"), 400).await;
        assert!(body["detail"].as_str().unwrap().contains(said), "{n}: {body}");
    }
    for (query, said) in [
        ("n=1&n=2", "twice"),
        ("count=5", "unknown key \"count\": this call takes n, numbers"),
        ("numbers=1", "neither true nor false"),
        ("n=%FF", "UTF-8"),
    ] {
        let body = server.problem(&format!("/v1/mint/serial?{query}"), 400).await;
        assert!(body["detail"].as_str().unwrap().contains(said), "{query}: {body}");
    }
    assert_eq!(server.mint("serial", 1).await, ["1"], "nothing was minted by any of them");
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn names_are_decoded_and_checked() {
    let server = Server::of(NAMES).await;
    assert_eq!(server.json("/v1/mint/%6Frders").await["name"], "orders");
    for (path, said) in [
        ("x".repeat(300), "at most 128 bytes"),
        ("a%00b".to_owned(), "'\\0'"),
        ("a%0Ab".to_owned(), "'\\n'"),
        ("two%20words".to_owned(), "' '"),
        ("a%2Fb".to_owned(), "'/'"),
        ("%FF".to_owned(), "UTF-8"),
    ] {
        let body = server.problem(&format!("/v1/mint/{path}"), 400).await;
        assert!(body["detail"].as_str().unwrap().contains(said), "{path}: {body}");
    }
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_id_is_taken_apart() {
    let server = Server::of(NAMES).await;
    let id = &server.mint("orders", 1).await[0];
    let named = &server.json(&format!("/v1/inspect/{id}?name=orders")).await["readings"];
    assert_eq!(named.as_array().unwrap().len(), 1);
    assert_eq!(
        (&named[0]["name"], &named[0]["kind"], &named[0]["form"]),
        (&"orders".into(), &"snowflake".into(), &"decimal".into())
    );
    let fields = named[0]["fields"].as_array().unwrap();
    let composed: u64 =
        fields.iter().map(|field| field["value"].as_u64().unwrap() << field["shift"].as_u64().unwrap()).sum();
    assert_eq!(composed.to_string(), *id);
    let slots = server.json("/v1/slots").await;
    let held = slots["slots"].as_array().unwrap().iter().find(|slot| slot["worker_bits"] == 10).unwrap();
    assert_eq!(held["worker"], named[0]["worker"]);

    // An ID of 2010's Snowflake that its own documents publish.
    let moved = "sonyflake+epoch%3D2025-01-01T08:00:00%2B08:00";
    let moved = &server.json(&format!("/v1/inspect/52908628378063412?layout={moved}")).await["readings"][0];
    assert_eq!((&moved["time"], &moved["sequence"]), (&json!("2026-01-01T00:00:00.000Z"), &json!(7)));
    let twitter = &server.json("/v1/inspect/1212092628029698048?layout=twitter").await["readings"][0];
    assert_eq!(twitter["preset"], "twitter");
    assert_eq!(twitter["time"], "2019-12-31T19:26:16.771Z");
    assert_eq!(twitter["time_ms"], 1_577_820_376_771_i64);
    let anyhow = server.json("/v1/inspect/1212092628029698048").await;
    let readings = anyhow["readings"].as_array().unwrap();
    assert_eq!(readings[0]["name"], "orders");
    assert!(readings.iter().any(|reading| reading["preset"] == "twitter"));

    let ticket = &server.json("/v1/inspect/7?name=tickets").await["readings"][0];
    assert_eq!(ticket["position"], 3);
    let invoice = &server.json("/v1/inspect/INV20261120000042?name=invoice").await["readings"][0];
    assert_eq!((&invoice["time"], &invoice["position"]), (&"2026-11-20".into(), &42.into()));
    assert_eq!(server.json("/v1/inspect/20261120000042?name=invoice").await["readings"][0], *invoice);
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_id_that_many_names_could_have_is_read_by_a_hundred_at_once() {
    let mut names: Vec<_> = (0..205).map(|name| format!("n{name:03}")).collect();
    let mut text: String = names
        .iter()
        .map(|name| format!("[[name]]\nname = \"{name}\"\nkind = \"snowflake\"\nlayout = \"twitter\"\n"))
        .collect();
    // The last by its name reads the fewest numbers.
    text += "[[name]]\nname = \"zip\"\nkind = \"dated\"\ndigits = 6\nzone = \"UTC\"\n";
    let server = Server::of(&text).await;
    let id = &server.mint("zip", 1).await[0];
    let (mut read, mut after, mut others) = (Vec::new(), String::new(), 0);
    for page in 0.. {
        let found = server.json(&format!("/v1/inspect/{id}{after}")).await;
        let readings = found["readings"].as_array().unwrap();
        let named: Vec<_> =
            readings.iter().filter_map(|reading| Some(reading["name"].as_str()?.to_owned())).collect();
        assert!(named.len() <= 100, "page {page} has {}", named.len());
        others += readings.len() - named.len();
        assert_eq!(readings.len() > named.len(), page == 0, "those of no name stand on the first page");
        read.extend(named);
        let Some(next) = found["next"].as_str() else { break };
        assert_eq!(read.len(), 100 * (page + 1));
        after = format!("?after={next}");
    }
    names.insert(0, "zip".to_owned());
    assert_eq!(read, names);
    assert!(others > 3);
    // The same pages over Redis' protocol.
    let (mut read, mut command) = (Vec::new(), format!("INSPECT {id}"));
    loop {
        let said = answers(&server, &[&command]).await;
        let of = |key: &str| -> Vec<String> {
            said.windows(3).filter(|line| line[0] == key).map(|line| line[2].clone()).collect()
        };
        read.extend(of("name").into_iter().filter(|name| names.contains(name)));
        let next = of("next");
        let [next] = &next[..] else { break };
        assert_eq!(read.len() % 100, 0);
        command = format!("INSPECT {id} after {next}");
    }
    assert_eq!(read, names);
    for wrong in ["AFTER zip", "n001 2:n001", "AFTER 2:n001 n002"] {
        let said = answers(&server, &[&format!("INSPECT {id} {wrong}")]).await.join(" ");
        assert!(said.starts_with("-ERR"), "{wrong}: {said}");
    }
    for path in ["after=", "after=zip", "after=2:n001&name=n002", "after=2:n001&layout=twitter"] {
        server.problem(&format!("/v1/inspect/{id}?{path}"), 400).await;
    }
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_id_is_refused() {
    let server = Server::of(NAMES).await;
    for (path, status) in [
        ("abc", 400),
        ("-1", 400),
        ("01", 400),
        ("8?name=tickets", 400),
        ("0?name=serial", 400),
        ("INV20261340000042?name=invoice", 400),
        ("1?name=nothing", 404),
        ("1?layout=twiter", 400),
        ("1?layout=twitter&name=orders", 400),
        ("99999999999999999999?layout=twitter", 400),
        ("340282366920938463463374607431768211456", 400),
        ("1?layout=", 400),
    ] {
        server.problem(&format!("/v1/inspect/{path}"), status).await;
    }
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pipeline_that_is_too_long_for_one_step_is_minted_one_by_one() {
    // One step mints ten a day at most, so that nobody's share depends on who else is in the pipeline.
    let of = "kind = \"dated\"\ndigits = 1\nzone = \"UTC\"\n";
    let server = Server::of(&format!("[[name]]\nname = \"few\"\n{of}[[name]]\nname = \"less\"\n{of}")).await;
    for (asked, end, minted, refused) in [
        ("get few\r\n", "quit\r\n", "VALUE few 0 9\r\n", "SERVER_ERROR exhausted: "),
        ("*2\r\n$4\r\nINCR\r\n$4\r\nless\r\n", "*1\r\n$4\r\nQUIT\r\n", ":2", "-OVERFLOW "),
    ] {
        let said = answer(&server, format!("{}{end}", asked.repeat(30)).as_bytes()).await;
        let count = said.matches(minted).count();
        // Nine of one day, or of each of two around midnight.
        assert!(count == 9 || count == 18, "{said}");
        assert_eq!(said.matches(refused).count(), 30 - count, "{said}");
    }
    server.stop().await.unwrap();
}

/// Days, months and years, of four and two digits, on the wires that have numbers, and read back by the name.
#[tokio::test(flavor = "multi_thread")]
async fn dated_names_write_the_date_that_they_are_configured_with() {
    let dates = ["yyyyMMdd", "yyyyMM", "yyyy", "yyMMdd", "yyMM", "yy"];
    let names: String = dates
        .iter()
        .map(|date| {
            format!("[[name]]\nname = \"{date}\"\nkind = \"dated\"\ndate = \"{date}\"\ndigits = 5\nzone = \"UTC\"\n")
        })
        .collect();
    let server = Server::of(&names).await;
    let today = || jiff::Timestamp::now().strftime("%Y%m%d").to_string();
    for date in dates {
        let before = today();
        let said = answer(
            &server,
            format!("*2\r\n$4\r\nINCR\r\n${}\r\n{date}\r\n*1\r\n$4\r\nQUIT\r\n", date.len()).as_bytes(),
        )
        .await;
        let body = server.json(&format!("/v1/mint/{date}?n=2&numbers=true")).await;
        let after = today();
        let written =
            |day: &str| day[if date.starts_with("yyyy") { 0 } else { 2 }..][..date.len()].to_owned();
        let ids: Vec<String> =
            std::iter::once(said.trim_start_matches(':').split('\r').next().unwrap().to_owned())
                .chain(body["ids"].as_array().unwrap().iter().map(ToString::to_string))
                .collect();
        for id in &ids {
            let (day, counter) = id.split_at(date.len());
            assert!(day == written(&before) || day == written(&after), "{date}: {ids:?}");
            assert_eq!(counter.len(), 5, "{date}: {ids:?}");
            let read = &server.json(&format!("/v1/inspect/{id}?name={date}")).await["readings"][0];
            assert_eq!(read["position"], json!(counter.parse::<u64>().unwrap()), "{read}");
            let time = read["time"].as_str().unwrap().replace('-', "");
            assert_eq!(written(&time), day, "{read}");
        }
        if before == after {
            let counters: Vec<_> = ids.iter().map(|id| &id[date.len()..]).collect();
            assert_eq!(counters, ["00001", "00002", "00003"], "{date}");
        }
        server.problem(&format!("/v1/inspect/{}?name={date}", "0".repeat(date.len() + 5)), 400).await;
    }
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plain_request_is_answered_like_any_other() {
    const GOODBYE: &str = "GET /livez HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
    let server = Server::of("[[name]]\nname = \"tickets\"\nkind = \"segment\"\n[[name]]\nname = \"days\"\nkind = \"dated\"\nprefix = \"D\"\ndigits = 4\nzone = \"UTC\"\n").await;
    for name in ["tickets", "days"] {
        for media in ["", "accept: */*\r\n", "accept: application/json\r\n", "accept: text/plain\r\n"] {
            // The second has a header that is not known to say nothing, and goes by the router.
            let mut said = Vec::new();
            for other in ["", "x-unheard-of: 1\r\n"] {
                let plain = format!("GET /v1/mint/{name} HTTP/1.1\r\nhost: x\r\n{media}{other}\r\n");
                let mut stream = connect(&server).await;
                stream.write_all((plain + GOODBYE).as_bytes()).await.unwrap();
                let answer = String::from_utf8(rest(&mut stream).await).unwrap();
                assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
                said.push(answer);
            }
            let shape = |answer: &str| answer.replace(|letter: char| letter.is_ascii_digit(), "9");
            assert_eq!(shape(&said[0]), shape(&said[1]), "{media}");
            assert_ne!(said[0], said[1]);
        }
    }
    // What is refused says why, as ever.
    let mut stream = connect(&server).await;
    let unknown = "GET /v1/mint/unknown HTTP/1.1\r\nhost: x\r\n\r\n".to_owned();
    stream.write_all((unknown + GOODBYE).as_bytes()).await.unwrap();
    let answer = String::from_utf8(rest(&mut stream).await).unwrap();
    assert!(answer.starts_with("HTTP/1.1 404 ") && answer.contains("problem+json"), "{answer}");
    server.stop().await.unwrap();
}
