//! `floe://`: the ledger of a real `floe serve` on SQLite, for other processes.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::thread;

use floe::Name;
use floe::ledger::conformance::Realm;
use floe::ledger::{Key, Ledger, LedgerError, Reserve, Token};
use floe_ledger::{OpenError, Opening};
use floe_testbed::{Certificates, Home, Proxy, Server, Signal};

use crate::asking::{ask, got, orders, says};
use crate::client::{agent, get, mint};
use crate::ledger_faults::{self as faults, Rig, range, timed};
use crate::process::{self, floe, run};

/// A token for every realm, and one for none.
pub(crate) const TOKEN: &str = "floe_5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e";
const HASH: &str = "sha256d:1cc10bdca0d75b306d93f8a9e22eaf25ebbfacf8f59d6f938b55b9d6bbf3b3f5";
pub(crate) const OTHER: &str = "floe_6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f";
const OTHER_HASH: &str = "sha256d:a0dc6a3bdae15cb5f0ae6809327c90e0af770012618ef9026ff83d1976a1521e";

/// A server's own realm, which comes behind those of the tests where realms are listed.
const OWN: &str = "the-servers-own";

/// A `floe serve` that offers its ledger.
pub(crate) struct Offering(Server);

impl Deref for Offering {
    type Target = Server;

    fn deref(&self) -> &Server {
        &self.0
    }
}

impl Offering {
    /// On SQLite, with these settings beside.
    pub(crate) fn start(more: &str) -> Self {
        Self::start_in(Home::new("offering"), more)
    }

    fn start_in(home: Home, more: &str) -> Self {
        home.write(
            "floe.toml",
            &format!(
                "realm = '{OWN}'\nmysql = 'off'\n{more}\n\
                 [[token]]\nname = 'fleet'\nnames = ['*']\nhash = '{HASH}'\nledger = ['*']\n\
                 [[token]]\nname = 'shop'\nnames = ['*']\nhash = '{OTHER_HASH}'\nledger = ['shop', 'shop-*']\n"
            ),
        );
        Self(Server::new(home, Signal::TERM, command, |port| {
            get(&agent(), &format!("http://127.0.0.1:{port}/readyz")).is_some_and(|(status, _)| status == 200)
        }))
    }

    fn url(&self, options: &str) -> String {
        url(self.port(), options)
    }
}

fn command(home: &Home, port: u16) -> std::process::Command {
    let mut command = home.command(Path::new(env!("CARGO_BIN_EXE_floe")));
    command.args(["serve", "--config", "floe.toml", "--listen", &format!("127.0.0.1:{port}")]);
    command
}

fn url(port: u16, options: &str) -> String {
    format!("floe://:{TOKEN}@127.0.0.1:{port}?{options}")
}

fn rig() -> Rig<Offering> {
    Rig { server: Offering::start(""), url }
}

fn open(url: &str) -> Box<dyn Ledger> {
    floe_ledger::open_in(url, "test").unwrap()
}

#[track_caller]
fn refused(url: &str, realm: &str) -> OpenError {
    match floe_ledger::open_in(url, realm) {
        Ok(ledger) => panic!("{} was opened", ledger.describe()),
        Err(error) => {
            assert!(!format!("{error}{error:?}").contains(&TOKEN[5..]), "{error}");
            error
        }
    }
}

mod conformance {
    use super::*;

    /// The server lives as long as any realm in it.
    static SERVER: Mutex<Weak<Offering>> = Mutex::new(Weak::new());
    static REALMS: AtomicU64 = AtomicU64::new(0);

    fn fresh() -> Realm {
        let mut known = process::lock(&SERVER);
        let server = known.upgrade().unwrap_or_else(|| Arc::new(Offering::start("")));
        *known = Arc::downgrade(&server);
        let realm = format!("realm-{}", REALMS.fetch_add(1, Ordering::Relaxed));
        Realm::new(move || floe_ledger::open_in(&server.url("max_wait=30s"), &realm).unwrap())
            .with_names(2_000)
    }

    floe::ledger_conformance!(fresh);
}

/// Each test on a server of its own.
macro_rules! bears {
    ($($fault:ident)*) => {
        mod bears {
            $(
                #[test]
                fn $fault() {
                    crate::ledger_faults::$fault(&super::rig());
                }
            )*
        }
    };
}

#[test]
fn thirty_two_callers_with_connections_of_their_own() {
    crate::ledger_faults::callers_with_connections_of_their_own(&rig(), 32);
}

bears! {
    a_server_that_is_killed_in_mid_call_loses_nothing
    a_server_that_was_restarted_between_calls_is_met_on_a_new_connection
    a_frozen_server_is_waited_for_no_longer_than_the_bound
    a_lost_reply_is_unavailable_and_the_same_token_gets_the_same_range
    a_network_that_is_cut_and_healed_loses_nothing
}

/// Whoever names no realm is told of those that there are: the server's own is one.
#[test]
fn a_caller_that_names_no_realm_is_told_of_several() {
    let server = Offering::start("");
    let sole = Opening::of(floe_ledger::DEFAULT_REALM).sole_realm();
    let Err(error) = sole.open(&server.url("")) else { panic!("it was opened") };
    says(&error, &["has no realm default", OWN, "--realm"]);
}

#[test]
fn a_realm_is_made_looked_for_and_pinned_as_the_caller_says() {
    let server = Offering::start("");
    let refused = |opening: &Opening, parts: &[&str]| {
        let Err(OpenError::Ledger(error @ LedgerError::Unfit(_))) = opening.open(&server.url("")) else {
            panic!("{opening:?} was opened")
        };
        says(&error, parts);
    };
    let of = |realm: &str| Opening::of(realm);
    let no_id = "0".repeat(32);
    // Twice: the first time has made nothing.
    for _ in 0..2 {
        refused(&of("test").existing(), &["has no realm test", OWN, "nothing may be made (--existing"]);
        refused(&of("test").to_look(), &["has no realm test", OWN]);
        refused(&of("test").realm_id(&no_id), &["the realm test at", "is missing", "realm_id pins 0000"]);
    }
    let id = open(&server.url("")).realm_id().unwrap();
    for opening in [of("test").existing(), of("test").to_look(), of("test").realm_id(&id)] {
        assert_eq!(opening.open(&server.url("")).unwrap().realm_id().unwrap(), id);
    }
    refused(&of("test").realm_id(&no_id), &[&format!("has the id {id}"), &format!("realm_id = \"{id}\"")]);
    refused(&of("tset").existing(), &["has no realm tset", "test"]);
}

#[test]
fn a_call_is_one_round_trip() {
    let server = Offering::start("");
    let proxy = Proxy::before(server.port());
    let ledger = open(&url(proxy.port(), ""));
    assert_eq!(proxy.round_trips(), 1, "the realm is entered once");
    let name = Name::new("tickets").unwrap();
    let (request, key) = (ask(5), Key::name(&name));
    let trips = |what: &str, call: &dyn Fn()| {
        let before = proxy.round_trips();
        call();
        assert_eq!(proxy.round_trips() - before, 1, "{what}");
    };
    trips("reserve", &|| drop(ledger.reserve(&request).unwrap()));
    trips("give back", &|| assert!(ledger.give_back(&orders(), request.token, 3).unwrap()));
    trips("bind", &|| drop(ledger.bind(&name, "counter", true).unwrap()));
    trips("definition", &|| assert_eq!(ledger.definition(&name).unwrap().as_deref(), Some("counter")));
    trips("count", &|| drop(ledger.count(&Reserve { key: key.clone(), create: false, ..ask(1) }).unwrap()));
    trips("raise", &|| assert!(ledger.raise(&key, 50).is_ok()));
    trips("names", &|| assert_eq!(ledger.names("", 9).unwrap().len(), 1));
    trips("list", &|| assert_eq!(ledger.list("", "", 9).unwrap().len(), 2));
    trips("clock", &|| assert_eq!(ledger.clock().unwrap(), None, "SQLite has none"));
    trips("other realms", &|| assert!(ledger.in_other_realms(&name).unwrap().is_empty()));
    let (_, metrics) = get(&agent(), &format!("http://127.0.0.1:{}/metrics", server.port())).unwrap();
    let counted = "floe_offered_ledger_calls_total{call=\"reserve\",outcome=\"ok\"} 1";
    assert!(metrics.contains(counted), "{metrics}");
}

#[test]
fn each_wrong_token_is_told_what_is_missing() {
    let server = Offering::start("");
    let with = |token: &str| format!("floe://:{token}@127.0.0.1:{}", server.port());
    for (url, realm, words) in [
        (with("floe_0000"), "test", "does not know this token"),
        (with(OTHER), "test", "the token `shop` may not use the ledger of the realm \"test\""),
        (with(OTHER), "sho", "add the realm to `ledger` of that [[token]]"),
        (format!("floe://127.0.0.1:{}", server.port()), "test", "FLOE_TOKEN"),
    ] {
        let error = refused(&url, realm);
        assert!(matches!(error, OpenError::Asked(_)), "{error}");
        says(&error, &[words]);
    }
    for realm in ["shop", "shop-2"] {
        got(&*floe_ledger::open_in(&with(OTHER), realm).unwrap(), &ask(1));
    }
}

#[test]
fn a_server_that_does_not_offer_its_ledger_says_how_it_would() {
    let dir = tempfile::tempdir().unwrap();
    let server = process::Server::on(dir.path());
    let port = server.url().rsplit_once(':').unwrap().1;
    let error = refused(&format!("floe://:{TOKEN}@127.0.0.1:{port}"), "default");
    assert!(matches!(error, OpenError::Asked(_)), "{error}");
    says(&error, &["offers its ledger only to tokens", "ledger = [\"default\"]", "floe token new"]);
    let memory = format!(
        "realm = 'r'\nledger = 'memory:'\n[[name]]\nname = 'a'\nkind = 'counter'\n\
                          [[token]]\nname = 'fleet'\nnames = ['*']\nhash = '{HASH}'\nledger = ['r']\n"
    );
    let file = dir.path().join("floe.toml");
    std::fs::write(&file, memory).unwrap();
    run(floe(["serve", "--config"]).arg(file))
        .refuses(1, &["memory: cannot be offered", "a ledger that lasts"]);
}

/// A server of something else on a port, which answers each connection with these bytes.
fn answers(bytes: Vec<u8>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for mut client in listener.incoming().map_while(Result::ok) {
            let mut asked = [0; 16 << 10];
            // The client may have gone before it has read all.
            let _read = client.read(&mut asked);
            let _written = client.write_all(&bytes);
        }
    });
    port
}

#[test]
fn what_is_no_answer_of_floe_proves_nothing() {
    let page = |status: &str, body: &str| {
        format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n\r\n{body}", body.len()).into_bytes()
    };
    // A nonce as long as floe's own, and another one.
    let got = r#"{"nonce":"00000000000000000000000000000001","realm_id":"1","answer":{"got":{"start":0,"end":5,"previous_mark":0}}}"#;
    let problem = r#"{"type":"/problems/busy","detail":"wait a little"}"#;
    for (answer, words) in [
        (page("200 OK", "<html>Welcome to nginx!</html>"), "gives an answer that is not one of a ledger"),
        (page("200 OK", got), "answers another question"),
        (page("502 Bad Gateway", "<html>"), "answers HTTP 502"),
        (page("413 Content Too Large", ""), "answers HTTP 413"),
        (page("404 Not Found", "{\"type\":\"/problems/\"}"), "answers HTTP 404"),
        (page("200 OK", &"[".repeat(1 << 20)), "gives an answer that is not one of a ledger"),
        (page("200 OK", &" ".repeat(5 << 20)), "the connection broke off"),
        (page("503 Service Unavailable", problem), "wait a little"),
        (b"SSH-2.0-OpenSSH_9.2\r\n".to_vec(), "the connection broke off"),
        (Vec::new(), "the connection broke off"),
    ] {
        let error = refused(&url(answers(answer), "max_wait=10s"), "test");
        assert!(matches!(error, OpenError::Ledger(LedgerError::Unavailable(_))), "{error}");
        says(&error, &[words, "127.0.0.1"]);
    }
}

/// A server of another store at the same address: its realm of this name is another one.
#[test]
fn another_realm_stops_the_ledger() {
    let (one, two) = (Offering::start(""), Offering::start(""));
    drop(open(&two.url("")));
    let ledger = open(&format!("floe://:{TOKEN}@127.0.0.1:{}?max_wait=2s", one.port()));
    got(&*ledger, &ask(5));
    // A restored, emptied or other store behind the same server.
    one.stop();
    std::fs::rename(one.home().path().join("floe-data"), one.home().path().join("lost")).unwrap();
    one.run();
    let Err(error) = ledger.reserve(&ask(5)) else { panic!("it has the id of a realm that is gone") };
    assert!(matches!(error, LedgerError::Unfit(_)), "{error}");
    says(&error, &["realm_id pins", "restore"]);
    drop(open(&one.url("")));
    let Err(error) = ledger.reserve(&ask(5)) else { panic!("it is another realm") };
    says(&error, &["has the id", "another ledger"]);
    // Also for a caller that tells the server nothing of the id that it has.
    let id = open(&two.url("")).realm_id().unwrap();
    let Err(error) = Opening::of("test").realm_id(&id).open(&one.url("")) else { panic!("it was opened") };
    says(&error, &["realm_id pins"]);
}

#[test]
fn tls_is_checked_as_the_url_says() {
    let home = Home::new("offering");
    let files = Certificates::for_host("localhost", &home);
    let server = Offering::start_in(home, "tls = { certificate = 'server.pem', key = 'server.key' }");
    let with = |mode: &str, root: Option<&PathBuf>| {
        let root = root.map_or(String::new(), |root| format!("&sslrootcert={}", root.display()));
        format!("floe://:{TOKEN}@localhost:{}?sslmode={mode}{root}", server.port())
    };
    for (mode, root) in
        [("require", None), ("verify-ca", Some(&files.signer)), ("verify-full", Some(&files.signer))]
    {
        got(&*open(&with(mode, root)), &ask(1));
    }
    for mode in ["verify-ca", "verify-full"] {
        let error = refused(&with(mode, Some(&files.stranger)), "test");
        assert!(matches!(error, OpenError::Asked(_)), "{error}");
        says(&error, &["TLS", "certificate", "sslrootcert"]);
    }
    let other = with("verify-full", Some(&files.signer)).replace("localhost", "127.0.0.1");
    says(&refused(&other, "test"), &["TLS", "certificate"]);
}

/// Two servers on one store: one is frozen, then killed, and the other answers.
#[test]
fn another_server_answers_where_one_is_frozen_or_gone() {
    let one = Offering::start("");
    let store = one.home().path().join("floe-data");
    let two = Offering::start_in(Home::new("offering"), &format!("data_dir = '{}'", store.display()));
    let both = format!(
        "floe://:{TOKEN}@127.0.0.1:{},127.0.0.1:{}?max_wait=2s&connect_timeout=1",
        one.port(),
        two.port()
    );
    let (ledger, failures) = (open(&both), AtomicUsize::new(0));
    let mut ranges = vec![got(&*ledger, &ask(5))];
    one.freeze();
    for _ in 0..4 {
        ranges.push(range(&*ledger, &ask(5), &failures));
    }
    one.thaw();
    two.kill();
    for _ in 0..4 {
        ranges.push(range(&*ledger, &ask(5), &failures));
    }
    assert!(failures.load(Ordering::Relaxed) <= 3, "{failures:?}");
    assert!(faults::disjoint(ranges) >= 45);
    // Opened anew, each time at a server by chance.
    for _ in 0..6 {
        let (range, took) = timed(|| got(&*open(&both), &ask(5)));
        assert!(took.as_secs() < 2, "{range:?} {took:?}");
    }
}

fn settings(dir: &Path, ledger: &str, more: &str) -> PathBuf {
    let file = dir.join("floe.toml");
    let text = format!(
        "realm = 'test'\nledger = '{ledger}'\n{more}\n[[name]]\nname = 'flakes'\nkind = 'snowflake'\nlayout = 'twitter'\n\
         [[name]]\nname = 'tickets'\nkind = 'segment'\nfirst = 1\n"
    );
    std::fs::write(&file, text).unwrap();
    file
}

/// A server behind a server, which offers the ledger once more, with a cache: it starts again while the first is gone.
#[test]
fn a_cache_stands_before_it_and_a_server_offers_it_again() {
    let (first, dir) = (Offering::start(""), tempfile::tempdir().unwrap());
    let token = format!("[[token]]\nname = 'fleet'\nnames = ['*']\nhash = '{HASH}'\nledger = ['*']");
    let config = settings(dir.path(), &first.url(""), "new_names = 'from 1'");
    let serve = |cache: &str| {
        let mut command = floe(["serve", "--listen", "127.0.0.1:0", "--config"]);
        let server = process::Server::spawn(command.arg(&config).arg("--cache").arg(dir.path().join(cache)));
        // It listens before it has its ledger.
        process::until(process::PATIENCE, "the server to have its ledger", || {
            get(&agent(), &format!("{}/v1/mint/flakes", server.url())).filter(|(status, _)| *status != 503)
        });
        server
    };
    let server = serve("cache");
    let mut ids = mint(server.url(), "flakes", 5);
    ids.extend(mint(server.url(), "flakes", 5));
    first.kill();
    server.kill();
    let server = serve("cache");
    ids.extend(mint(server.url(), "flakes", 5));
    crate::client::unique("flakes", ids);
    drop(server);
    first.run();
    std::fs::write(&config, format!("{}{token}\n", std::fs::read_to_string(&config).unwrap())).unwrap();
    let second = serve("cache");
    let port = second.url().rsplit_once(':').unwrap().1.parse().unwrap();
    let (through, direct) = (open(&url(port, "max_wait=10s")), open(&first.url("")));
    assert_eq!(through.realm_id().unwrap(), direct.realm_id().unwrap());
    assert_eq!(
        (got(&*through, &ask(5)), got(&*direct, &ask(5)), got(&*through, &ask(5))),
        ((0, 5), (5, 10), (10, 15))
    );
    assert_eq!(through.raise(&Key::slot(10, 999), 5), Err(LedgerError::Missing(Key::slot(10, 999))));
    let too_much = Reserve { floor: floe::ledger::MAX_MARK, ..ask(5) };
    assert!(matches!(through.reserve(&too_much), Err(LedgerError::Overflow { mark: 15, .. })));
    first.kill();
    let Err(LedgerError::Unavailable(text)) = through.reserve(&ask(5)) else { panic!("there is no store") };
    says(&text, &["floe at 127.0.0.1"]);
}

/// A `floe serve` on a ledger that is another server, or itself, and which it offers.
fn serve_on(dir: &Path, port: u16, ledger: u16) -> process::Server {
    let token = format!("[[token]]\nname = 'fleet'\nnames = ['*']\nhash = '{HASH}'\nledger = ['*']");
    let config = settings(dir, &url(ledger, "max_wait=20s&connect_timeout=20"), "");
    std::fs::write(&config, format!("{}{token}\n", std::fs::read_to_string(&config).unwrap())).unwrap();
    let listen = format!("127.0.0.1:{port}");
    process::Server::spawn(floe(["serve", "--listen", &listen, "--config"]).arg(config))
}

const RING: [&str; 2] = ["form a ring", "set it to a store on one"];

#[test]
fn servers_whose_ledgers_lead_back_to_themselves_say_so() {
    let dirs = [(); 3].map(|()| tempfile::tempdir().unwrap());
    let [one, two, alone] = [(); 3].map(|()| floe_testbed::free_port());
    let alone = serve_on(dirs[0].path(), alone, alone);
    let first = serve_on(dirs[1].path(), one, two);
    let second = serve_on(dirs[2].path(), two, one);
    for server in [&alone, &first, &second] {
        process::until(process::PATIENCE, "the cause at the terminal and where probes ask", || {
            let (status, page) = get(&agent(), &format!("{}/readyz", server.url()))?;
            let says = |text: &str| RING.iter().all(|words| text.contains(words));
            (status == 503 && says(&page) && says(&server.text())).then_some(())
        });
    }
    says(&refused(&url(one, "max_wait=20s"), "test"), &RING);
}

#[test]
fn a_program_mints_and_a_retired_name_stays_so() {
    let server = Offering::start("");
    let shop = |realm: &str| floe::Floe::open(floe_ledger::open_in(&server.url(""), realm).unwrap()).unwrap();
    let program = shop("shop");
    let tickets = program.segment("tickets").unwrap();
    let first: Vec<_> = (0..10).map(|_| tickets.mint().unwrap()).collect();
    let url = server.url("");
    let retired = run(&mut floe(["names", "retire", "tickets", "--ledger", &url, "--realm", "shop"]));
    assert_eq!(retired.code, Some(0), "{retired:?}");
    let listed = run(&mut floe(["names", "--ledger", &url, "--realm", "shop", "--json"]));
    assert!(listed.out.contains("\"retired\"") && !listed.out.contains("\"retired\": null"), "{listed:?}");
    drop((tickets, program));
    let refused =
        run(&mut floe(["mint", "tickets", "--kind", "segment", "--ledger", &url, "--realm", "shop"]));
    assert_ne!(refused.code, Some(0), "{refused:?} after {first:?}");
    assert!(refused.err.contains("retired"), "{refused:?}");
}

#[test]
fn the_check_of_a_store_holds() {
    let server = Offering::start("");
    let output = floe(["ledger", "check", &server.url("max_wait=30s")]).output().unwrap();
    assert!(output.status.success() && output.stdout.ends_with(b"cases, all held\n"), "{output:?}");
}

/// Bytes as they are, and what comes back until the other side is done.
fn say(port: u16, bytes: &[u8]) -> String {
    let mut socket = TcpStream::connect(("127.0.0.1", port)).unwrap();
    socket.set_read_timeout(Some(process::PATIENCE)).unwrap();
    // The server may answer, and close, before it has read all.
    let _written = socket.write_all(bytes);
    let mut said = Vec::new();
    let _read = socket.read_to_end(&mut said);
    String::from_utf8_lossy(&said).into_owned()
}

#[test]
fn a_hostile_client_gets_errors_and_nothing_else() {
    let server = Offering::start("");
    let ledger = open(&server.url(""));
    got(&*ledger, &ask(5));
    let id = ledger.realm_id().unwrap();
    let post = |path: &str, token: Option<&str>, body: &str| {
        let token = token.map_or(String::new(), |token| format!("authorization: Bearer {token}\r\n"));
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n{token}content-length: {}\r\n\r\n",
            body.len()
        );
        say(server.port(), format!("{head}{body}").as_bytes())
    };
    let reserve = |realm: &str, key: &str, token: &str, count: &str| {
        format!(
            "{{\"nonce\":\"1\",\"realm_id\":\"{realm}\",\"call\":{{\"reserve\":{{\"key\":\"{key}\",\"floor\":0,\"count\":{count},\
             \"max_mark\":9,\"token\":\"{token}\",\"create\":true,\"note\":null}}}}}}"
        )
    };
    let fresh = Token::random().unwrap().hex();
    let good = reserve(&id, "n/orders", &fresh, "1");
    let path = "/v1/ledger/test";
    // Nobody without the right is read, whatever comes.
    for (token, status) in [(None, "401"), (Some("floe_0"), "401"), (Some(OTHER), "403")] {
        assert!(post(path, token, &good).starts_with(&format!("HTTP/1.1 {status}")), "{token:?}");
        let endless = format!(
            "POST {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n{}content-length: 99999999999\r\n\r\nx",
            token.map_or(String::new(), |token| format!("authorization: Bearer {token}\r\n"))
        );
        assert!(say(server.port(), endless.as_bytes()).starts_with("HTTP/1.1 4"), "{token:?}");
    }
    let deep = "[".repeat(60_000);
    let long = reserve(&id, &format!("n/{}", "a".repeat(50_000)), &fresh, "1");
    for (path, body, status) in [
        (path, deep.as_str(), "400"),
        (path, &" ".repeat(70 << 10), "413"),
        (path, &long, "400"),
        (path, "", "400"),
        (path, "null", "400"),
        (path, &good.replace("\"count\":1", "\"count\":-1"), "400"),
        (path, &good.replace("\"count\":1", "\"count\":1e30"), "400"),
        (path, &good.replace("\"count\":1", "\"count\":1,\"count\":2"), "400"),
        (path, &good.replace("\"nonce\"", "\"more\":1,\"nonce\""), "400"),
        (path, &good.replace("reserve", "drop"), "400"),
        (path, &reserve(&id, "x/orders", &fresh, "1"), "400"),
        (path, &reserve(&id, "s/10/18446744073709551616", &fresh, "1"), "400"),
        (path, &reserve(&id, "s/010/1", &fresh, "1"), "400"),
        (path, &reserve(&id, "n/a b", &fresh, "1"), "400"),
        (path, &reserve(&id, "n/orders", &"0".repeat(32), "1"), "400"),
        (path, &reserve(&id, "n/orders", "+1", "1"), "400"),
        (path, "{\"nonce\":\"1\",\"call\":{\"clock\":{}}}", "400"),
        (
            path,
            &format!(
                "{{\"nonce\":\"1\",\"realm_id\":\"{id}\",\"call\":{{\"names\":{{\"after\":\"\",\"limit\":251}}}}}}"
            ),
            "400",
        ),
        ("/v1/ledger/te%2Fst", &good, "200 OK"),
        ("/v1/ledger/..%2f..", &good, "200 OK"),
        ("/v1/ledger/", &good, "4"),
        (path, &good, "200 OK"),
    ] {
        let said = post(path, Some(TOKEN), body);
        assert!(said.starts_with(&format!("HTTP/1.1 {status}")), "{path} {:.200}: {said}", body);
        if path.contains('%') {
            assert!(said.contains("\"realm_id\":null") && !said.contains("\"got\""), "{said}");
        }
    }
    // One that goes on with what it has begun is what it was: the last one alone has reserved.
    assert_eq!(got(&*ledger, &ask(5)), (6, 11));
}
