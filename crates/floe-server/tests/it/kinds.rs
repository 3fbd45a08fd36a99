//! Names whose IDs are texts: every kind and every form, on every wire that can write a text, and refused on the others.

use std::collections::HashSet;
use std::sync::mpsc::{Receiver, RecvError, channel};
use std::sync::{Arc, Mutex};

use floe::form::{Form, Key, KeyId, Keys};
use floe::kind::{Mint, UlidGenerator, Uuid};
use floe::{KindRegistry, MintError};
use floe_server::Config;

use crate::harness::{Server, directory, file};
use crate::hostile::answer;

const KEY: &str = "000102030405060708090a0b0c0d0e0f";

/// A name of every kind and every form, with how long its IDs are at least and at most.
const NAMES: [(&str, &str, usize, usize); 18] = [
    ("v4", "kind = \"uuid4\"", 36, 36),
    ("v7", "kind = \"uuid7\"", 36, 36),
    ("v7p", "kind = \"uuid7\"\nprecise = true", 36, 36),
    ("ul", "kind = \"ulid\"", 26, 26),
    ("oid", "kind = \"objectid\"", 24, 24),
    ("ks", "kind = \"ksuid\"", 27, 27),
    ("nano", "kind = \"nanoid\"", 21, 21),
    ("type", "kind = \"uuid7\"\nform = \"typeid type=user\"", 31, 31),
    ("hex", "kind = \"ulid\"\nform = \"hex width=32\"", 32, 32),
    ("b32", "kind = \"snowflake\"\nlayout = \"twitter\"\nform = \"base32 width=13\"", 13, 13),
    ("b36", "kind = \"segment\"\nform = \"base36 pad=6\"", 6, 6),
    ("b58", "kind = \"uuid4\"\nform = \"base58\"", 18, 22),
    ("b62", "kind = \"snowflake\"\nlayout = \"twitter\"\nform = \"base62\"", 10, 11),
    ("dec", "kind = \"counter\"\nform = \"decimal width=19 prefix=C-\"", 21, 21),
    ("dated", "kind = \"dated\"\ndigits = 6\nzone = \"UTC\"\nform = \"base62 prefix=INV\"", 10, 12),
    ("hash", "kind = \"counter\"\nform = \"hashids salt=pepper min=8\"", 8, 8),
    ("sq", "kind = \"counter\"\nform = \"sqids min=8\"", 8, 8),
    (
        "seal",
        "kind = \"counter\"\nform = \"sealed key=1 base62 width=11\"\nkeys = { 1 = \"000102030405060708090a0b0c0d0e0f\" }",
        11,
        11,
    ),
];

fn configuration() -> String {
    NAMES.iter().map(|(name, settings, _, _)| format!("[[name]]\nname = \"{name}\"\n{settings}\n")).collect()
}

/// Of each name, all that was minted, whichever wire did: no two the same, and each as long as it has to be.
#[derive(Default)]
struct Seen(HashSet<(String, String)>);

impl Seen {
    #[track_caller]
    fn all(&mut self, name: &str, ids: impl IntoIterator<Item = String>) {
        let (_, _, least, most) = NAMES.iter().find(|(listed, ..)| *listed == name).unwrap();
        for id in ids {
            assert!((*least..=*most).contains(&id.len()), "{name}: {id}");
            assert!(self.0.insert((name.to_owned(), id.clone())), "{name}: {id} twice");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_kind_and_form_is_minted_on_every_wire_that_has_texts() {
    let server = Server::of(&configuration()).await;
    let mut seen = Seen::default();
    for (name, ..) in NAMES {
        let path = format!("/v1/mint/{name}?n=20");
        seen.all(name, server.mint(name, 20).await);
        let lines = server.accept(&path, "text/plain").await.text().await.unwrap();
        assert_eq!(lines.lines().count(), 20);
        seen.all(name, lines.lines().map(str::to_owned));
        let single = server.accept(&format!("/v1/mint/{name}"), "text/plain").await.text().await.unwrap();
        seen.all(name, [single.trim_end().to_owned()]);

        let said = answer(&server, format!("MINT {name}\r\nMINT {name} 3\r\nQUIT\r\n").as_bytes()).await;
        let bulks: Vec<_> = said.split("\r\n").filter(|line| !line.starts_with(['$', '*', '+'])).collect();
        assert_eq!(bulks.len(), 5, "{said:?}");
        seen.all(name, bulks[..4].iter().map(|id| (*id).to_owned()));

        let said = answer(&server, format!("get {name} {name}\r\nquit\r\n").as_bytes()).await;
        let values: Vec<_> = said.lines().filter(|line| !line.starts_with("VALUE")).collect();
        assert_eq!(values.len(), 3, "{said:?}");
        seen.all(name, values[..2].iter().map(|id| (*id).to_owned()));
    }
    // They are counted like any other.
    let metrics = server.text("/metrics").await;
    assert!(metrics.contains("floe_minted_total{name=\"seal\"} 47"), "{metrics}");
    let report = server.json("/v1/names/type").await;
    assert_eq!((&report["kind"], &report["form"]), (&"uuid7".into(), &"typeid type=user".into()));
    assert_eq!(report["minted"], 47);
    assert_eq!(server.json("/v1/names/v4").await["form"], "uuid4");
    assert_eq!(server.json("/v1/names/b62").await["kind"], "snowflake");
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn wires_of_numbers_refuse_texts_and_mint_none() {
    let server = Server::of(&configuration()).await;
    for (name, ..) in NAMES {
        for path in ["/v1/mint/NAME?numbers=true", "/api/segment/get/NAME", "/api/snowflake/get/NAME"] {
            let response = server.get(&path.replace("NAME", name)).await;
            let status = response.status().as_u16();
            let body = response.text().await.unwrap();
            assert!(
                status == 400 || status == 500 && path.starts_with("/api"),
                "{name} {path}: {status} {body}"
            );
            assert!(status == 500 || body.contains("text"), "{name} {path}: {body}");
        }
        let octets = server.accept(&format!("/v1/mint/{name}"), "application/octet-stream").await;
        assert_eq!(octets.status(), 406, "{name}");
        let tinyid = server.text(&format!("/tinyid/id/nextId?bizType={name}&token=x")).await;
        assert!(tinyid.contains("\"code\":6"), "{name}: {tinyid}");
        let said = answer(&server, format!("INCR {name}\r\nINCRBY {name} 2\r\nQUIT\r\n").as_bytes()).await;
        let lines: Vec<_> = said.lines().collect();
        assert!(lines[0].starts_with("-WRONGTYPE") && lines[1].starts_with("-WRONGTYPE"), "{name}: {said}");
        assert!(lines[0].contains("MINT of Redis"), "{said}");
        assert_eq!(server.json(&format!("/v1/names/{name}")).await["minted"], 0, "{name}");
    }
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_id_in_a_form_opens_to_its_number() {
    let server = Server::of(&configuration()).await;
    for (name, first) in [("b36", 1), ("dec", 1), ("hash", 1), ("sq", 1), ("seal", 1)] {
        for (id, number) in server.mint(name, 5).await.iter().zip(first..) {
            let opened = server.json(&format!("/v1/open/{name}/{id}")).await;
            assert_eq!(opened["number"], number.to_string(), "{name}: {opened}");
            assert_eq!((&opened["name"], &opened["id"]), (&name.into(), &id.as_str().into()));
            assert_eq!(opened.get("text"), None);
            let read = server.json(&format!("/v1/inspect/{id}?name={name}")).await;
            assert!(read["readings"][0]["position"].is_u64(), "{read}");
        }
    }
    let id = &server.mint("type", 1).await[0];
    let opened = server.json(&format!("/v1/open/type/{id}")).await;
    let uuid: Uuid = opened["text"].as_str().unwrap().parse().unwrap();
    assert_eq!(uuid.version(), Some(7));
    assert_eq!(u128::from_be_bytes(uuid.to_bytes()).to_string(), opened["number"].as_str().unwrap());
    let read = server.json(&format!("/v1/inspect/{id}?name=type")).await;
    assert_eq!(read["readings"][0]["form"], "typeid type=user");
    assert_eq!(read["readings"][0]["time_ms"], uuid.time().unwrap().get());

    for (path, status, part) in [
        ("/v1/open/v4/123", 400, "has no form"),
        ("/v1/open/none/123", 404, "no name"),
        ("/v1/open/b32/11MHQTB098W0U", 400, "at byte 12"),
        ("/v1/open/b32/11MHQTB098W0%EF%BC%90", 400, "has 15 bytes"),
        ("/v1/open/hash/aaaaaaaa", 400, "not an ID in the form"),
        ("/v1/open/dec/C-0", 400, "writes 21 to 21"),
        // Texts of the form, and nothing that the name can have minted.
        ("/v1/open/dec/C-0000000000000000000", 400, "is not an ID of"),
        ("/v1/open/b36/000000", 400, "is not an ID of"),
        ("/v1/open/type/user_00000000000000000000000000", 400, "is not an ID of"),
        ("/v1/open/dec/C-0?x=1", 400, "x"),
    ] {
        let body = server.problem(path, status).await;
        assert!(body["detail"].as_str().unwrap().contains(part), "{path}: {body}");
    }
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_sealed_with_an_older_key_opens_and_another_key_under_its_id_is_refused() {
    let (directory, other) = (directory(), "ffffffffffffffffffffffffffffffff");
    let of = |key: u8, keys: &str| {
        file(&format!(
            "[[name]]\nname = \"orders\"\nkind = \"counter\"\nform = \"sealed key={key} keyid=2bits base62\"\nkeys = {{ {keys} }}\n"
        ))
    };
    let first = Server::start(of(1, &format!("1 = \"{KEY}\"")), directory.clone()).await;
    let old = first.mint("orders", 1).await.remove(0);
    first.stop().await.unwrap();
    let both = format!("1 = \"{KEY}\", 2 = \"{other}\"");
    let second = Server::start(of(2, &both), directory.clone()).await;
    let new = second.mint("orders", 1).await.remove(0);
    for (id, number) in [(&old, "1"), (&new, "2")] {
        assert_eq!(second.json(&format!("/v1/open/orders/{id}")).await["number"], number);
    }
    let keys = Keys::new().with(KeyId::new(1), KEY.parse::<Key>().unwrap()).unwrap();
    let form = "sealed key=1 keyid=2bits base62".parse::<Form>().unwrap().with_keys(&keys).unwrap();
    assert_eq!(form.decode(&old), Ok(1), "the library reads what the server wrote");
    second.stop().await.unwrap();
    // Without the older key its texts are of an unknown key, and say so.
    let third = Server::start(of(2, &format!("2 = \"{other}\"")), directory.clone()).await;
    let body = third.problem(&format!("/v1/open/orders/{old}"), 400).await;
    assert!(body["detail"].as_str().unwrap().contains("the key 1 is unknown here"), "{body}");
    third.stop().await.unwrap();
    // Another key under its id would open it as another number: it opens nothing, before anything was minted and after.
    let wrong = of(2, &format!("1 = \"{other}\", 2 = \"{other}\""));
    let fourth = Server::start(wrong, directory.clone()).await;
    for path in [
        format!("/v1/open/orders/{old}"),
        format!("/v1/inspect/{old}?name=orders"),
        "/v1/mint/orders".to_owned(),
        format!("/v1/open/orders/{old}"),
    ] {
        let body = fourth.problem(&path, 500).await;
        assert!(
            body["detail"].as_str().unwrap().contains("the key with the id 1 of the name orders is not"),
            "{path}: {body}"
        );
    }
    assert_eq!(fourth.json("/v1/names/orders").await["state"], "stopped");
    fourth.stop().await.unwrap();
    // So it does nothing where a pattern covers the name, which nobody has asked for yet.
    let pattern = file(&format!(
        "[[name]]\nname = \"ord*\"\nkind = \"counter\"\nform = \"sealed key=2 keyid=2bits base62\"\nkeys = {{ 1 = \"{other}\", 2 = \"{other}\" }}\n"
    ));
    let fifth = Server::start(pattern, directory).await;
    fifth.problem(&format!("/v1/open/orders/{old}"), 500).await;
    fifth.problem(&format!("/v1/inspect/{old}?name=orders"), 500).await;
    fifth.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_with_one_key_refuses_another_under_the_same_id() {
    let directory = directory();
    let of = |key: &str| {
        file(&format!(
            "[[name]]\nname = \"orders\"\nkind = \"counter\"\nform = \"sealed key=1 base62\"\nkeys = {{ 1 = \"{key}\" }}\n"
        ))
    };
    let first = Server::start(of(KEY), directory.clone()).await;
    first.mint("orders", 1).await;
    first.stop().await.unwrap();
    let second = Server::start(of("ffffffffffffffffffffffffffffffff"), directory).await;
    let body = second.problem("/v1/mint/orders", 500).await;
    let detail = body["detail"].as_str().unwrap();
    assert!(detail.contains("bound to another definition") && detail.contains("check="), "{detail}");
    assert!(!detail.contains("ffff") && !detail.contains("0a0b0c"), "a key is shown: {detail}");
    second.problem("/v1/open/orders/5MIzgllb7ch", 500).await;
    second.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_id_without_a_name_is_read_as_what_it_can_be() {
    let server = Server::of(&configuration()).await;
    for (id, kind, time) in [
        ("017F22E2-79B0-7CC3-98C4-DC0C0C07398F", "uuid7", "2022-02-22T19:22:22.000Z"),
        ("01ARZ3NDEKTSV4RRFFQ69G5FAV", "ulid", "2016-07-30T23:54:10.259Z"),
        ("507f1f77bcf86cd799439011", "objectid", "2012-10-17T21:13:27.000Z"),
        ("0ujtsYcgvSTl8PAuAdqWYSMnLOv", "ksuid", "2017-10-10T04:00:47.000Z"),
    ] {
        let read = server.json(&format!("/v1/inspect/{id}")).await;
        assert_eq!(
            (&read["readings"][0]["kind"], &read["readings"][0]["time"]),
            (&kind.into(), &time.into()),
            "{id}"
        );
    }
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_that_do_not_read_their_texts_hold_no_more_than_all_may() {
    for path in ["/v1/mint/long", "/ids"] {
        hold_no_more_than_all_may(path).await;
    }
}

async fn hold_no_more_than_all_may(path: &str) {
    let server = Server::of("limits = { memory = \"107MB\", max_wait = \"20s\", request_timeout = \"30s\" }\ndefault_names = { katsubushi = \"long\" }\n[[name]]\nname = \"long\"\nkind = \"segment\"\nform = \"hashids salt=x min=255\"\n[[name]]\nname = \"tickets\"\nkind = \"segment\"\n").await;
    let mut silent = Vec::new();
    let mut refused = 0;
    // 26 MB each, of which a socket takes a few.
    for _ in 0..8 {
        assert!(server.held().await <= 107 << 20);
        let response = server.get(&format!("{path}?n=100000")).await;
        match response.status().as_u16() {
            200 => silent.push(response),
            503 => refused += 1,
            other => panic!("{other}"),
        }
    }
    assert!(!silent.is_empty());
    assert_eq!(server.mint("tickets", 1000).await.len(), 1000, "numbers are not held");
    assert_eq!(server.mint("long", 2).await.len(), 2, "a few texts are always possible");
    // Who does not read is cut off for whoever asks next.
    let mut cut_off = 0;
    for response in silent {
        cut_off += usize::from(response.bytes().await.is_err());
    }
    assert!(cut_off + refused >= 4, "{refused} were refused, and {cut_off} were cut off");
    crate::harness::until("room for texts", || async {
        (server.get(&format!("{path}?n=50000")).await.status() == 200).then_some(())
    })
    .await;
    server.stop().await.unwrap();
}

/// A kind whose minting does not end until nobody holds the other end any more.
struct Slow(Arc<Mutex<Receiver<()>>>);

impl Mint for Slow {
    type Id = String;

    fn mint(&self) -> Result<String, MintError> {
        let shut = self.0.lock().unwrap().recv();
        assert_eq!(shut, Err(RecvError), "nothing is ever sent");
        Ok("x".to_owned())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registered_kind_that_hangs_holds_nobody_else() {
    let (gate, end) = channel();
    let end = Arc::new(Mutex::new(end));
    let kinds = KindRegistry::new().with("slow", move |_, _| Ok(Slow(Arc::clone(&end))));
    let directory = directory();
    let path = directory.path().join("floe.toml");
    std::fs::write(&path, "realm = \"test\"\nlimits = { max_wait = \"200ms\" }\n[[name]]\nname = \"slow\"\nkind = \"slow\"\n[[name]]\nname = \"v7\"\nkind = \"uuid7\"\n[[name]]\nname = \"b\"\nkind = \"segment\"\nform = \"base62\"\n").unwrap();
    let server = Server::start(Config::load_with(&path, kinds).unwrap(), directory).await;
    // More than tokio has threads for what blocks, by default.
    let calls = (0..600).map(|_| server.get("/v1/mint/slow"));
    for response in futures_util::future::join_all(calls).await {
        assert_eq!(response.status(), 503);
    }
    // All of its threads stand; what needs another one goes on.
    assert_eq!(server.mint("v7", 10).await.len(), 10);
    let id = &server.mint("b", 1).await[0];
    assert_eq!(server.json(&format!("/v1/open/b/{id}")).await["number"], "1");
    server.json("/v1/names").await;
    drop(gate);
    crate::harness::until("the kind to mint again", || async {
        (server.get("/v1/mint/slow").await.status() == 200).then_some(())
    })
    .await;
    server.stop().await.unwrap();
}

/// A kind of a program's own: what it is configured by, and a ULID.
struct Tagged(String, UlidGenerator);

impl Mint for Tagged {
    type Id = String;

    fn mint(&self) -> Result<String, MintError> {
        Ok(format!("{}\"{}", self.0, self.1.mint()?))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registered_kind_is_served_by_its_type_name() {
    let kinds = KindRegistry::new().with("tagged", |properties, _| {
        Ok(Tagged(properties.get("tag").ok_or("it needs a tag")?.to_owned(), UlidGenerator::new()))
    });
    let directory = directory();
    let path = directory.path().join("floe.toml");
    std::fs::write(
        &path,
        "realm = \"test\"\n[[name]]\nname = \"users\"\nkind = \"tagged\"\nproperties = { tag = \"eu\" }\n",
    )
    .unwrap();
    let server = Server::start(Config::load_with(&path, kinds).unwrap(), directory).await;
    // The quotation mark in it is JSON's to escape.
    let ids = server.mint("users", 3).await;
    assert!(ids.iter().all(|id| id.len() == 29 && id.starts_with("eu\"0")) && ids.is_sorted(), "{ids:?}");
    assert_eq!(server.json("/v1/names/users").await["kind"], "tagged");
    let said = answer(&server, b"MINT users\r\nQUIT\r\n").await;
    assert!(said.starts_with("$29\r\neu\"0"), "{said:?}");
    server.stop().await.unwrap();
}
