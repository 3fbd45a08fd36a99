//! Who may mint what.

use floe_server::NewToken;
use reqwest::header::AUTHORIZATION;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::harness::{PATIENCE, Server, problem, say, until};
use crate::hostile::{answer, connect};
use crate::resp::answers;

const NAMES: &str = "[[name]]\nname = 'orders'\nkind = 'counter'\n[[name]]\nname = 'bills'\nkind = 'counter'\n\
                     [[name]]\nname = 'tickets'\nkind = 'segment'\n";

async fn server() -> (Server, NewToken) {
    let token = NewToken::random("shop", "orders").unwrap();
    (Server::of(&format!("{NAMES}{}", token.toml())).await, token)
}

impl Server {
    pub(crate) async fn with(&self, path: &str, authorization: &str) -> reqwest::Response {
        self.client.get(self.url(path)).header(AUTHORIZATION, authorization).send().await.unwrap()
    }
}

#[tokio::test]
async fn every_call_over_http_needs_a_token_that_is_for_its_name() {
    let (server, token) = server().await;
    let (good, bad) = (format!("Bearer {}", token.secret()), "Bearer floe_0000");
    for path in [
        "/v1/mint/orders",
        "/v1/inspect/7",
        "/v1/inspect/7?name=orders",
        "/v1/names",
        "/v1/names/orders",
        "/v1/slots",
        "/stats",
        "/cache",
        "/db",
        "/decodeSnowflakeId?snowflakeId=7",
    ] {
        let response = server.get(path).await;
        assert!(response.headers()["www-authenticate"].to_str().unwrap().contains("Bearer"), "{path}");
        let none = problem(response, 401).await;
        let wrong = problem(server.with(path, bad).await, 401).await;
        assert_eq!(
            (&none["type"], &wrong["type"]),
            (&"/problems/unauthenticated".into(), &"/problems/wrong-token".into())
        );
        assert!(!wrong.to_string().contains("floe_0000"));
    }
    assert_eq!(
        server.with("/v1/mint/orders?n=2", &good).await.text().await.unwrap(),
        "{\"name\":\"orders\",\"ids\":[\"1\",\"2\"]}\n"
    );
    let basic =
        server.client.get(server.url("/api/segment/get/orders")).basic_auth("any", Some(token.secret()));
    assert_eq!(basic.send().await.unwrap().text().await.unwrap(), "3");
    for path in ["/v1/mint/bills", "/v1/mint/nothing", "/v1/names/bills", "/v1/inspect/7?name=bills"] {
        let refused = problem(server.with(path, &good).await, 403).await;
        assert_eq!(refused["type"], "/problems/forbidden", "{path}");
    }
    for (status, authorization) in [(401, bad), (403, good.as_str())] {
        let leaf = server.with("/api/segment/get/bills", authorization).await;
        assert_eq!(leaf.status(), status);
        assert!(leaf.text().await.unwrap().contains("Result{id=-2, status=EXCEPTION}"));
        // A dot is no way around, and neither is asking for what an error cannot be written in.
        for accept in ["image/png", "nonsense"] {
            let asked = server.client.get(server.url("/api/segment/get/bills.json"));
            let leaf =
                asked.header("authorization", authorization).header("accept", accept).send().await.unwrap();
            assert_eq!(leaf.status(), status, "{accept}");
        }
    }
    let names = server.with("/v1/names", &good).await.text().await.unwrap();
    assert!(names.contains("orders") && !names.contains("bills"), "{names}");
    for path in ["/db", "/cache"] {
        let page = server.with(path, &good).await.text().await.unwrap();
        assert!(page.contains("orders") && !page.contains("bills"), "{page}");
    }
    // Probes are asked for nothing, and this machine may read its metrics.
    for path in ["/livez", "/readyz", "/", "/docs/", "/openapi.json", "/problems/forbidden"] {
        assert_eq!(server.get(path).await.status(), 200, "{path}");
    }
    let metrics = server.text("/metrics").await;
    assert!(metrics.contains("floe_minted_with_token_total{token=\"shop\"} 3"), "{metrics}");
    assert!(!metrics.contains(token.secret()));
}

#[tokio::test]
async fn a_request_that_is_answered_without_hyper_needs_a_token_as_well() {
    let (server, _) = server().await;
    let goodbye = "GET /livez HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
    for path in ["/v1/mint/tickets", "/api/segment/get/tickets"] {
        let asked = format!("GET {path} HTTP/1.1\r\nhost: x\r\n\r\n{goodbye}");
        let said = answer(&server, asked.as_bytes()).await;
        assert!(said.starts_with("HTTP/1.1 401 "), "{said}");
    }
}

#[tokio::test]
async fn an_id_that_is_at_hand_and_what_it_says_are_for_the_tokens_of_its_name() {
    let (some, all) = (NewToken::random("some", "orders").unwrap(), NewToken::random("all", "*").unwrap());
    let flakes = "[[name]]\nname = 'flakes'\nkind = 'snowflake'\nlayout = 'twitter'\n";
    let server = Server::of(&format!("{NAMES}{flakes}{}{}", some.toml(), all.toml())).await;
    let with = |token: &NewToken| format!("Bearer {}", token.secret());
    let minted: serde_json::Value = server.with("/v1/mint/flakes", &with(&all)).await.json().await.unwrap();
    let id = minted["ids"][0].as_str().unwrap();
    let goodbye = "GET /livez HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
    for path in ["/v1/mint/flakes", "/api/snowflake/get/flakes"] {
        let asked = format!("GET {path} HTTP/1.1\r\nhost: x\r\n\r\n{goodbye}");
        let said = answer(&server, asked.as_bytes()).await;
        assert!(said.starts_with("HTTP/1.1 401 "), "{said}");
    }
    for path in [format!("/v1/inspect/{id}?name=flakes"), format!("/v1/open/flakes/{id}")] {
        problem(server.with(&path, &with(&some)).await, 403).await;
    }
    let read = async |token: &NewToken| {
        server.with(&format!("/v1/inspect/{id}"), &with(token)).await.text().await.unwrap()
    };
    let (by_all, by_some) = (read(&all).await, read(&some).await);
    assert!(by_all.contains("flakes") && !by_some.contains("flakes"), "{by_all}\n{by_some}");
    server.stop().await.unwrap();
}

#[tokio::test]
async fn protocols_without_a_place_for_a_token_are_told_so() {
    let (server, _) = server().await;
    let said = answer(&server, b"stats\r\nget orders\r\nversion\r\nquit\r\n").await;
    let heads: Vec<_> = said.lines().map(|line| line.split(':').next().unwrap()).collect();
    assert_eq!(heads[..2], ["CLIENT_ERROR unauthenticated"; 2], "{said}");
    assert!(heads[2].starts_with("VERSION ") && heads.len() == 3, "{said}");
    let mut thrift = connect(&server).await;
    thrift.write_all(b"\x80\x01\0\x01\0\0\0\x0dget_timestamp\0\0\0\x07\0").await.unwrap();
    let mut kind = [0; 4];
    thrift.read_exact(&mut kind).await.unwrap();
    assert_eq!(kind, *b"\x80\x01\0\x03", "an exception");
}

#[tokio::test]
async fn who_asks_for_a_name_that_is_not_there_learns_of_no_other() {
    let token = NewToken::random("shop", "bils").unwrap();
    let server = Server::of(&format!("{NAMES}{}", token.toml())).await;
    let refused =
        problem(server.with("/v1/mint/bils", &format!("Bearer {}", token.secret())).await, 404).await;
    let text = refused.to_string();
    assert!(text.contains("bils") && !text.contains("bills") && !text.contains("orders"), "{text}");
}

#[tokio::test]
async fn a_token_brings_no_more_names_into_being_than_it_may() {
    let shop = NewToken::random("shop", "user-*,bill-*,orders").unwrap();
    let other = NewToken::random("other", "*").unwrap();
    let pattern = "[[name]]\nname = '*'\nkind = 'counter'\n";
    let shops = shop.toml().replace("[[token]]", "[[token]]\nmax_names = 3");
    let server = Server::of(&format!("{pattern}{shops}{}", other.toml())).await;
    let with = |token: &NewToken| format!("Bearer {}", token.secret());
    let status = async |name: &str, token: &NewToken| {
        server.with(&format!("/v1/mint/{name}"), &with(token)).await.status().as_u16()
    };
    for name in ["user-1", "bill-1"] {
        assert_eq!(status(name, &shop).await, 200, "{name}");
    }
    // One more that it may mint from, and two that are none of its patterns'.
    for name in ["user-2", "a", "z"] {
        assert_eq!(status(name, &other).await, 200, "{name}");
    }
    let refused = problem(server.with("/v1/mint/user-3", &with(&shop)).await, 507).await;
    let text = refused["detail"].as_str().unwrap();
    assert!(
        text.contains("`user-3`") && text.contains("token `shop`") && text.contains("max_names"),
        "{text}"
    );
    assert_eq!([status("user-2", &shop).await, status("bill-1", &shop).await], [200; 2]);
    assert_eq!(status("user-3", &other).await, 200);
}

/// Its names are counted in the ledger, which is more work than the refusal of one that was too fast.
#[tokio::test]
async fn a_token_that_made_names_too_fast_is_refused_before_its_names_are_counted() {
    let shop = NewToken::random("shop", "user-*").unwrap();
    let token = shop.toml().replace("[[token]]", "[[token]]\nmax_names = 2");
    let config = "limits = { new_names_per_hour = 2 }\n[[name]]\nname = '*'\nkind = 'counter'\n";
    let server = Server::of(&format!("{config}{token}")).await;
    let with = format!("Bearer {}", shop.secret());
    for name in ["user-1", "user-2"] {
        assert_eq!(server.with(&format!("/v1/mint/{name}"), &with).await.status(), 200, "{name}");
    }
    let refused = problem(server.with("/v1/mint/user-3", &with).await, 503).await;
    assert!(refused["detail"].as_str().unwrap().contains("limits.new_names_per_hour"), "{refused}");
}

/// What an HTTP connection is answered that asks for an ID with a token; nothing where the server has closed it.
async fn ask(stream: &mut TcpStream, token: &NewToken) -> Option<String> {
    let request = format!(
        "GET /v1/mint/orders HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {}\r\n\r\n",
        token.secret()
    );
    let mut said = String::new();
    let asking = async {
        stream.write_all(request.as_bytes()).await.ok()?;
        loop {
            let mut bytes = [0; 4096];
            let read = stream.read(&mut bytes).await.ok().filter(|read| *read > 0)?;
            said.push_str(std::str::from_utf8(&bytes[..read]).unwrap());
            // JSON ends an answer.
            if said.trim_end().ends_with('}') {
                return Some(said);
            }
        }
    };
    tokio::time::timeout(PATIENCE, asking).await.expect("an answer, or the end")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_is_shown_on_so_many_connections_and_another_token_on_its_own() {
    let (shop, other) =
        (NewToken::random("shop", "orders").unwrap(), NewToken::random("other", "orders").unwrap());
    let limits = "[limits]\nconnections_per_token = 2\n";
    let server = Server::of(&format!("{limits}{NAMES}{}{}", shop.toml(), other.toml())).await;
    // An idle connection makes place after a second, so that a slow machine may see the third one served: then again.
    let (mut shown, mut third) = until("a third connection to be refused", || async {
        let mut shown = [connect(&server).await, connect(&server).await];
        for stream in &mut shown {
            if !ask(stream, &shop).await?.starts_with("HTTP/1.1 200 ") {
                return None;
            }
        }
        let mut third = connect(&server).await;
        let said = ask(&mut third, &shop).await?;
        if said.starts_with("HTTP/1.1 200 ") {
            return None;
        }
        assert!(said.starts_with("HTTP/1.1 503 ") && said.contains("\r\nretry-after: "), "{said}");
        assert!(said.contains("token `shop`") && said.contains("limits.connections_per_token"), "{said}");
        Some((shown, third))
    })
    .await;
    for _ in 0..3 {
        let said = ask(&mut connect(&server).await, &other).await.unwrap();
        assert!(said.starts_with("HTTP/1.1 200 "), "another token has its own share: {said}");
    }
    // In place of the one of the two that has been idle longest.
    let taking = async {
        loop {
            match ask(&mut third, &shop).await {
                Some(said) if said.starts_with("HTTP/1.1 200 ") => break,
                Some(_) => tokio::task::yield_now().await,
                None => third = connect(&server).await,
            }
        }
    };
    tokio::time::timeout(PATIENCE, taking).await.expect("an idle connection makes place");
    let closed = tokio::time::timeout(PATIENCE, shown[0].read(&mut [0])).await.expect("it is closed");
    assert!(matches!(closed, Ok(0) | Err(_)), "{closed:?}");
    server.stop().await.unwrap();
}

#[tokio::test]
async fn redis_clients_say_who_they_are_before_anything_else() {
    let (server, token) = server().await;
    let secret = token.secret();
    let asked = format!(
        "*1\r\n$4\r\nPING\r\nINCR orders\r\nMULTI\r\nHELLO 3\r\nAUTH floe_0000\r\nHELLO 3 AUTH default floe_0000\r\nAUTH\r\n\
         INCR orders\r\nAUTH {secret}\r\nINCR orders\r\nMINT bills\r\nGET bills\r\nINSPECT 1 bills\r\nRESET\r\nINCR orders\r\n\
         AUTH any {secret}\r\nINCR orders\r\nAUTH floe_0000\r\nINCR orders\r\nQUIT\r\n"
    );
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream.write_all(asked.as_bytes()).await.unwrap();
    let mut said = String::new();
    tokio::time::timeout(PATIENCE, stream.read_to_string(&mut said)).await.unwrap().unwrap();
    let heads: Vec<_> = said.lines().map(|line| line.split(' ').next().unwrap()).collect();
    assert_eq!(
        heads,
        [
            "-NOAUTH",
            "-NOAUTH",
            "-NOAUTH",
            "-NOAUTH",
            "-WRONGPASS",
            "-WRONGPASS",
            "-ERR",
            "-NOAUTH",
            "+OK",
            ":1",
            "-NOPERM",
            "-NOPERM",
            "-NOPERM",
            "+RESET",
            "-NOAUTH",
            "+OK",
            ":2",
            "-WRONGPASS",
            ":3",
            "+OK",
        ],
        "{said}"
    );
    assert!(!said.contains("floe_0"), "{said}");
    // A name is moved on by those who may.
    let asked = format!(
        "AUTH {secret}\r\nSETNX orders 9\r\nSETNX orders 0\r\nSETNX bills 0\r\nEXISTS bills\r\nEXISTS orders\r\nQUIT\r\n"
    );
    let said = say(TcpStream::connect(server.address).await.unwrap(), asked.as_bytes()).await;
    let heads: Vec<_> = said.lines().map(|line| line.split(' ').next().unwrap()).collect();
    assert_eq!(heads, ["+OK", "-NOPERM", ":0", "-NOPERM", "-NOPERM", ":1", "+OK"], "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_may_not_raise_a_name_does_not_say_where_a_new_one_begins() {
    let token = NewToken::random("shop", "orders, tickets").unwrap();
    let server = Server::of(&format!("new_names = 'ask for first'\n{NAMES}{}", token.toml())).await;
    let auth = format!("AUTH {}", token.secret());
    for set in ["SETNX orders 0", "SET orders 0 EX 60 NX", "SET tickets 0 NX"] {
        let said = answers(&server, &[&auth, set, "MINT orders", "MINT tickets"]).await;
        for refused in &said[1..] {
            assert!(refused.starts_with("-NOKEY") && refused.contains("first = N"), "{set}: {said:?}");
        }
    }
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_for_a_ledger_learns_of_its_own_realms_alone() {
    let [shop, all] = ["shop", "all"].map(|name| NewToken::random(name, "*").unwrap());
    let offered = |token: &NewToken, realms: &str| token.toml().replace("# ledger = [\"default\"]", realms);
    let tokens = [offered(&shop, "ledger = ['shop']"), offered(&all, "ledger = ['*']")].concat();
    let server = Server::of(&format!("{NAMES}{tokens}")).await;
    // A realm that is not there, beside `test`.
    let question =
        r#"{"nonce":"7","realm_id":null,"call":{"enter":{"missing":"refuse","realm_id":null,"sole":false}}}"#;
    for (token, learns) in [(&shop, false), (&all, true)] {
        let asked = server.client.post(server.url("/v1/ledger/shop")).bearer_auth(token.secret());
        let said = asked.body(question).send().await.unwrap().text().await.unwrap();
        assert!(said.contains("unfit") && said.contains("not shown") != learns, "{said}");
        assert_eq!(said.contains("it has: test"), learns, "{said}");
    }
    server.stop().await.unwrap();
}
