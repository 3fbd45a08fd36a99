//! Which names exist, of which kind, and how they are listed.

use floe_server::{Config, ServeError};

use crate::harness::{Server, directory, file, say};
use crate::hostile::connect;
use crate::resp::answers;
use crate::{grpc, mysql, thrift};

async fn kind(server: &Server, name: &str) -> String {
    server.json(&format!("/v1/names/{name}")).await["kind"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_file_a_name_becomes_what_is_natural_on_its_wire() {
    let server = Server::standalone().await;
    server.mint("orders", 1).await;
    server.text("/api/snowflake/get/flakes").await;
    server.text("/api/segment/get/tickets").await;
    assert_eq!(kind(&server, "orders").await, "snowflake");
    assert_eq!(kind(&server, "flakes").await, "snowflake");
    assert_eq!(kind(&server, "tickets").await, "segment");
    // A name has one kind for ever, whatever wire asks.
    assert_eq!(server.mint("tickets", 2).await, ["2", "3"]);
    assert_eq!(server.get("/api/segment/get/orders").await.status(), 500);
    assert_eq!(server.get("/api/snowflake/get/tickets").await.status(), 500);
    // Names of one layout share a generator, so an ID is unique in the realm.
    let (a, b) = (server.mint("orders", 500).await, server.mint("flakes", 500).await);
    assert!(a.iter().all(|id| !b.contains(id)));
    let never = server.problem("/v1/names/never-asked", 404).await;
    assert!(never["detail"].as_str().unwrap().contains("/v1/mint/never-asked"), "{never}");
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_from_which_nothing_can_be_minted_does_not_start() {
    // If others can ask, or share the ledger, no name is made on first use.
    let mut open_to_all = Config::standalone();
    open_to_all.listen = vec!["0.0.0.0:0".parse().unwrap()];
    open_to_all.insecure = true;
    let shared = Config { ledger: Some("redis://127.0.0.1:1/0".to_owned()), ..Config::standalone() };
    for (config, way_out) in [
        (open_to_all, "--config FILE"),
        (shared, "--config FILE"),
        (file("ledger = \"redis://127.0.0.1:1/0\""), "kind = \"snowflake\""),
        (file(""), "floe.toml: it lists no name"),
    ] {
        let error = Server::try_start(config, directory()).await.err().unwrap();
        assert!(matches!(error, ServeError::Config(_)) && error.to_string().contains(way_out), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn beside_names_that_are_listed_none_comes_into_being_by_itself() {
    let server = Server::of("").await;
    assert!(!server.started.names_on_first_use);
    server.problem("/v1/mint/orders", 404).await;
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bound_name_keeps_its_kind_over_restarts() {
    let directory = directory();
    let first = Server::start(Config::standalone(), directory.clone()).await;
    assert_eq!(first.text("/api/segment/get/tickets").await, "1");
    first.stop().await.unwrap();
    let second = Server::start(Config::standalone(), directory).await;
    // `/v1/mint` would have made it a snowflake.
    let id: u64 = second.mint("tickets", 1).await[0].parse().unwrap();
    assert!((2..10_000_000).contains(&id), "{id}");
    assert_eq!(second.get("/api/snowflake/get/tickets").await.status(), 500);
    second.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn reserved_names_never_become_numbers_by_themselves() {
    let server = Server::standalone().await;
    for (name, length) in
        [("uuid", 36), ("ULID", 26), ("objectid", 24), ("uuid7", 36), ("ksuid", 27), ("nanoid", 21)]
    {
        let ids = server.mint(name, 2).await;
        assert!(ids.iter().all(|id| id.len() == length) && ids[0] != ids[1], "{name}: {ids:?}");
    }
    for name in ["cuid", "XID", "typeid", "uuid6"] {
        let body = server.problem(&format!("/v1/mint/{name}"), 404).await;
        assert!(body["detail"].as_str().unwrap().contains("does not mint yet"), "{body}");
    }
    server.stop().await.unwrap();
    let patterns = Server::of("[[name]]\nname = \"u*\"\nkind = \"counter\"\n").await;
    patterns.problem("/v1/mint/uuid", 404).await;
    assert_eq!(patterns.mint("users", 1).await, ["1"]);
    patterns.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_longest_pattern_rules_and_a_listed_name_before_all() {
    let server = Server::of(
        "[[name]]\nname = \"*\"\nkind = \"counter\"\n[[name]]\nname = \"t-*\"\nkind = \"segment\"\n[[name]]\nname = \"t-one\"\nkind = \"snowflake\"\nlayout = \"twitter\"\n",
    )
    .await;
    for (name, expected) in [("any", "counter"), ("t-two", "segment"), ("t-one", "snowflake")] {
        server.mint(name, 1).await;
        assert_eq!(kind(&server, name).await, expected, "{name}");
    }
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn names_are_listed_in_pages() {
    let server = Server::standalone().await;
    for name in ["d", "b", "a", "c"] {
        server.text(&format!("/api/segment/get/{name}")).await;
    }
    server.mint("a", 5).await;
    let mut found = Vec::new();
    let mut path = "/v1/names?limit=3".to_owned();
    loop {
        let page = server.json(&path).await;
        assert_eq!(page["patterns"], serde_json::json!(["*"]));
        found.extend(page["names"].as_array().unwrap().clone());
        match page["next"].as_str() {
            Some(next) => path = format!("/v1/names?limit=3&after={next}"),
            None => break,
        }
    }
    let names: Vec<_> = found.iter().map(|name| name["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["a", "b", "c", "d"]);
    assert_eq!((&found[0]["minted"], &found[1]["minted"]), (&6.into(), &1.into()));
    assert_eq!(
        (&found[0]["kind"], &found[0]["form"], &found[0]["state"]),
        (&"segment".into(), &"decimal".into(), &"ready".into())
    );
    assert!(found[0]["segment_left"].as_u64().is_some());
    for wrong in ["limit=0", "limit=1001", "limit=x", "page=2"] {
        server.problem(&format!("/v1/names?{wrong}"), 400).await;
    }
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_snowflake_name_shows_its_horizon_and_window() {
    let server = Server::standalone().await;
    server.mint("orders", 3).await;
    let name = server.json("/v1/names/orders").await;
    assert_eq!(name["horizon"], "2080-07-10T17:30:30.209Z");
    assert_eq!(
        name["layout"],
        "time:41 datacenter:5 worker:5 sequence:12 tick=1ms epoch=2010-11-04T01:42:54.657Z"
    );
    assert_eq!(name["minted"], 3);
    assert!(name["window_left_ms"].as_u64().unwrap() <= 3000);
    let slots = server.json("/v1/slots").await;
    let own: Vec<_> = slots["slots"].as_array().unwrap().iter().filter(|slot| slot["own"] == true).collect();
    assert_eq!(own.len(), 1);
    assert!(own[0]["owner"].as_str().unwrap().contains(&std::process::id().to_string()), "{own:?}");
    server.stop().await.unwrap();
}

/// A segment, a counter and others, on a server that makes no number without being told the first.
const ASKING: &str = "new_names = \"ask for first\"\n[[name]]\nname = \"orders\"\nkind = \"segment\"\nfirst = 50000001\n\
    [[name]]\nname = \"visits\"\nkind = \"counter\"\nfirst = 7\n[[name]]\nname = \"forgotten\"\nkind = \"segment\"\n\
    [[name]]\nname = \"*\"\nkind = \"counter\"\n[[name]]\nname = \"flake-*\"\nkind = \"snowflake\"\nlayout = \"twitter\"\n\
    [[name]]\nname = \"day\"\nkind = \"dated\"\nzone = \"UTC\"\ndigits = 6\n";

#[tokio::test(flavor = "multi_thread")]
async fn a_new_name_begins_at_its_first_number_and_an_old_one_goes_on() {
    let directory = directory();
    let first = Server::start(file(ASKING), directory.clone()).await;
    assert_eq!(first.mint("orders", 2).await, ["50000001", "50000002"]);
    assert_eq!(first.mint("visits", 2).await, ["7", "8"]);
    first.stop().await.unwrap();
    // The number is for a name that is new: whatever a file says later moves nothing.
    let moved = ASKING.replace("50000001", "90000001").replace("first = 7", "first = 700");
    let second = Server::start(file(&moved), directory).await;
    assert_eq!(second.mint("orders", 1).await, ["50000003"]);
    assert_eq!(second.mint("visits", 1).await, ["9"]);
    second.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_was_bound_and_never_raised_begins_at_its_first_number_too() {
    // As where a server ended between the two.
    let directory = directory();
    let text = "[[name]]\nname = \"orders\"\nkind = \"segment\"\n";
    Server::start(file(text), directory.clone()).await.stop().await.unwrap();
    let second = Server::start(file(&format!("{text}first = 1001\n")), directory).await;
    assert_eq!(second.mint("orders", 1).await, ["1001"]);
    second.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_that_make_a_name_together_begin_it_at_its_first_number() {
    let directory = directory();
    let (a, b) = tokio::join!(
        Server::start(file(ASKING), directory.clone()),
        Server::start(file(ASKING), directory.clone())
    );
    let (ids, others) = tokio::join!(a.mint("orders", 500), b.mint("orders", 500));
    let least = ids.iter().chain(&others).map(|id| id.parse::<u64>().unwrap()).min();
    assert_eq!(least, Some(50_000_001));
    assert!(ids.iter().all(|id| !others.contains(id)));
    a.stop().await.unwrap();
    b.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_asks_for_the_first_number_makes_no_number_without_one() {
    let directory = directory();
    let server = Server::start(file(ASKING), directory.clone()).await;
    for (name, kind) in [("forgotten", "segment"), ("tickets64", "counter")] {
        let refused = server.problem(&format!("/v1/mint/{name}"), 404).await;
        let detail = refused["detail"].as_str().unwrap();
        let command = format!("floe marks raise {name} --kind {kind} --to N");
        assert!(detail.contains("first = N") && detail.contains(&command), "{detail}");
        // Nobody is told what else there is.
        assert!(!detail.contains("orders") && !detail.contains("floe.toml"), "{detail}");
    }
    server.problem("/v1/names/tickets64", 404).await;
    // What begins with the time, or is random, repeats nothing.
    for name in ["flake-1", "day"] {
        server.mint(name, 1).await;
    }
    server.stop().await.unwrap();
    let data = directory.path().join("data");
    let ledger = floe_ledger::Sqlite::builder().realm("test").in_dir(&data).unwrap();
    let floe = floe::Floe::open(ledger).unwrap();
    let forgotten = floe::Name::new("forgotten").unwrap();
    assert_eq!(floe.stored(&forgotten).unwrap(), None, "what is refused is not bound");
    // What floe marks raise does.
    floe.define(&forgotten, &floe::Definition::SEGMENT, &floe::NameOptions::default()).unwrap();
    floe.ledger().raise(&floe::ledger::Key::name(&forgotten), 999).unwrap();
    floe.close();
    let server = Server::start(file(ASKING), directory).await;
    assert_eq!(server.mint("forgotten", 1).await, ["1000"]);
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kill_between_a_name_and_its_first_number_leaves_none_that_begins_at_1() {
    // A write that the ledger does not do is what a kill before it leaves.
    for lost in ["UPDATE ON mark WHEN NEW.key LIKE 'n/%'", "INSERT ON definition"] {
        let directory = directory();
        let server = Server::start(file(ASKING), directory.clone()).await;
        let file_of = rusqlite::Connection::open(directory.path().join("data/floe.db")).unwrap();
        let losing = format!("CREATE TRIGGER losing BEFORE {lost} BEGIN SELECT RAISE(IGNORE); END");
        file_of.execute_batch(&losing).unwrap();
        answers(&server, &["SETNX tickets64 100"]).await;
        let mut client = mysql::Client::of(&server).await;
        let altered = client.run("ALTER TABLE forgotten AUTO_INCREMENT = 101").await;
        assert_eq!(altered, Ok(0), "{lost}");
        drop(client);
        server.stop().await.unwrap();
        file_of.execute_batch("DROP TRIGGER losing").unwrap();
        let server = Server::start(file(ASKING), directory).await;
        let mut client = mysql::Client::of(&server).await;
        for name in ["tickets64", "forgotten"] {
            let minted = client.mint(name).await;
            let refused = |(code, text): &(u16, String)| *code == 1146 && text.contains("first = N");
            assert!(
                minted.as_ref().map_or_else(refused, |number| *number == 101),
                "{lost}: {name}: {minted:?}"
            );
        }
        // Who says a number anew is heard.
        if lost.contains("definition") {
            for (name, next) in [("tickets64", 50), ("forgotten", 201)] {
                let altered = client.run(&format!("ALTER TABLE {name} AUTO_INCREMENT = {next}")).await;
                assert_eq!(altered, Ok(0), "{name}");
                assert_eq!(client.mint(name).await, Ok(next.max(101)), "{name}");
            }
        }
        server.stop().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_wire_says_that_the_first_number_is_missing() {
    let server = Server::of(ASKING).await;
    let segment = server.get("/api/segment/get/forgotten").await;
    assert_eq!(segment.status(), 500);
    let tinyid = server.text("/tinyid/id/nextId?bizType=forgotten&token=x").await;
    assert!(!tinyid.contains("\"code\":200"), "{tinyid}");
    for (words, answer) in [
        (
            &b"*2\r\n$4\r\nINCR\r\n$9\r\ntickets64\r\n*1\r\n$4\r\nQUIT\r\n"[..],
            "-NOKEY there is no name `tickets64` yet",
        ),
        (b"get tickets64\r\nquit\r\n", "CLIENT_ERROR unknown-name: there is no name `tickets64` yet"),
    ] {
        let stream = tokio::net::TcpStream::connect(server.address).await.unwrap();
        let said = say(stream, words).await;
        assert!(said.contains(answer) && said.contains("first = N"), "{said}");
    }
    let (code, text) = grpc::mint(&server, "tickets64").await.unwrap_err();
    assert!(
        code == "5" && text.contains("no name `tickets64` yet") && text.contains("first = N"),
        "{code} {text}"
    );
    let (code, text) = mysql::Client::of(&server).await.mint("tickets64").await.unwrap_err();
    assert!(code == 1146 && text.contains("no name `tickets64` yet") && text.contains("first = N"), "{text}");
    server.problem("/v1/names/tickets64", 404).await;
    // A number that is told is heard by all.
    answers(&server, &["SETNX tickets64 500"]).await;
    assert_eq!(grpc::mint(&server, "tickets64").await.unwrap(), fixed64(501));
    assert_eq!(mysql::Client::of(&server).await.mint("tickets64").await, Ok(502));
    server.stop().await.unwrap();
}

/// gRPC's answer of one number.
fn fixed64(number: u64) -> Vec<u8> {
    [&[0x0a, 8][..], &number.to_le_bytes()].concat()
}

#[tokio::test(flavor = "multi_thread")]
async fn twitters_service_makes_its_snowflake_unless_no_name_may_be_made() {
    for (new_names, is_made) in [("ask for first", true), ("refuse", false)] {
        let text = ASKING.replace("ask for first", new_names);
        let server = Server::of(&format!("default_names = {{ thrift = 'flake-1' }}\n{text}")).await;
        let minted = thrift::get_id(&mut connect(&server).await).await;
        match is_made {
            true => assert!(minted.as_ref().is_ok_and(|id| *id > 0), "{minted:?}"),
            false => {
                let (exception, text) = minted.unwrap_err();
                assert!(exception == 6 && text.contains("no name `flake-1` yet"), "{exception} {text}");
                assert!(text.starts_with("unknown-name: ") && text.contains("floe mint flake-1"), "{text}");
            }
        }
        let status = server.get("/v1/names/flake-1").await.status();
        assert_eq!(status == 200, is_made, "{status}");
        server.stop().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_refuses_new_names_serves_those_that_the_ledger_has() {
    let directory = directory();
    let first = Server::start(file(ASKING), directory.clone()).await;
    assert_eq!(first.mint("visits", 1).await, ["7"]);
    first.mint("flake-1", 1).await;
    first.stop().await.unwrap();
    let text = ASKING.replace("ask for first", "refuse");
    let second = Server::start(file(&text), directory).await;
    assert_eq!(second.mint("visits", 1).await, ["8"]);
    second.mint("flake-1", 1).await;
    for (name, command) in [("flake-2", "floe mint flake-2"), ("any", "floe marks raise any --kind counter")]
    {
        let refused = second.problem(&format!("/v1/mint/{name}"), 404).await;
        assert!(refused["detail"].as_str().unwrap().contains(command), "{refused}");
    }
    second.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn who_is_reached_from_other_machines_asks_for_the_first_number_by_default() {
    let text = "insecure = true\n[[name]]\nname = \"tickets\"\nkind = \"segment\"\n";
    for (listen, refused) in [("127.0.0.1:0", false), ("0.0.0.0:0", true)] {
        let mut config = file(text);
        config.listen = vec![listen.parse().unwrap()];
        let server = Server::start(config, directory()).await;
        let url = format!("http://127.0.0.1:{}/v1/mint/tickets", server.address.port());
        let status = server.client.get(url).send().await.unwrap().status();
        assert_eq!(status == 404, refused, "{listen}: {status}");
        server.stop().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn bytes_that_are_no_text_become_no_name() {
    let server = Server::standalone().await;
    for path in [
        "/v1/mint/%ff",
        "/v1/mint/a%C3",
        "/v1/names/%ff",
        "/v1/inspect/7?name=%ff",
        "/v1/open/%ff/x",
        "/api/segment/get/%ff",
        "/api/segment/get/a%C3.json",
        "/api/snowflake/get/%ff",
        "/ids?n=%ff",
    ] {
        let refused = server.get(path).await;
        assert_eq!(refused.status(), 400, "{path}");
        assert!(refused.text().await.unwrap().contains("is not UTF-8"), "{path}");
    }
    // tinyid's clients read nothing but 200.
    let form = |url: &str, body: &'static str| {
        let asked =
            server.client.put(server.url(url)).header("content-type", "application/x-www-form-urlencoded");
        asked.body(body).send()
    };
    let mut answers = Vec::new();
    for query in ["bizType=%ff", "bizType=a%C3", "bizType=tickets&bizType=tickets"] {
        answers.push(server.get(&format!("/tinyid/id/nextId?{query}")).await);
        answers.push(server.get(&format!("/tinyid/id/nextSegmentId?{query}&batchSize=0")).await);
    }
    answers.push(form("/tinyid/id/nextId?bizType=tickets", "bizType=tickets").await.unwrap());
    answers.push(form("/tinyid/id/nextId", "bizType=%ff").await.unwrap());
    for answer in answers {
        let (status, said) = (answer.status(), answer.text().await.unwrap());
        assert_eq!(status, 200, "{said}");
        assert!(said.contains("\"code\":6") && said.contains("can not find biztype:"), "{said}");
    }
    assert_eq!(server.json("/v1/names").await["names"].as_array().unwrap().len(), 0, "no name was made");
    // What Spring puts together is found where it is there.
    assert_eq!(server.text("/tinyid/id/nextIdSimple?bizType=tickets%2Ctickets").await, "1");
    assert_eq!(server.text("/tinyid/id/nextIdSimple?bizType=tickets&bizType=tickets").await, "2");
    server.stop().await.unwrap();
}
