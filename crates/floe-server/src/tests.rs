//! What each wire tells of a ledger that is away: all of it to clients on the server's machine, and nothing to strangers of
//! where the ledger is. Only here can a call come from another machine, wherever the tests run.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use axum::http::header;
use floe::ledger::{Key, Memory, Reply, Reserve, Token};
use floe::{Floe, Ledger, LedgerError, Name, Owner};
use http_body_util::BodyExt;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::{JoinSet, yield_now};
use tokio::time::timeout;
use tower::ServiceExt;

use crate::access::Origin;
use crate::awaited::Awaited;
use crate::clients::{Address, Clients};
use crate::config::{Config, NewToken};
use crate::fronts::{Backend, Conversation, Front, Offer, http};
use crate::metrics::Metrics;
use crate::server;
use crate::service::Service;
use crate::service::call::NATIVE;
use crate::status::Status;

/// Where the ledger is, and what its client says of it. Long enough not to be in the random salt of a greeting by chance.
const SECRETS: [&str; 6] = ["redis", "127.0.0.1", ":1/", "clerk", "/7531", "refused"];

/// Names of each sort.
const NAMES: &str = "[[name]]\nname = 'orders'\nkind = 'counter'\n[[name]]\nname = 'tickets'\nkind = 'segment'\n\
    [[name]]\nname = 'flakes'\nkind = 'snowflake'\nlayout = 'twitter'\n";

/// A ledger to which something happens before each call that moves a mark.
struct Troubled<F>(Memory, F);

impl<F: Fn(&Memory) -> Result<(), LedgerError> + Send + Sync> Ledger for Troubled<F> {
    floe::__hand_on!(self => self.0; give_back bind definition names list realm_id describe is_shared);

    fn reserve(&self, request: &Reserve) -> Result<Reply, LedgerError> {
        self.1(&self.0).and_then(|()| self.0.reserve(request))
    }

    fn raise(&self, key: &Key, at_least: u64) -> Result<u64, LedgerError> {
        self.1(&self.0).and_then(|()| self.0.raise(key, at_least))
    }
}

fn request(key: Key, floor: u64, count: u64, note: Option<String>) -> Reserve {
    Reserve { key, floor, count, max_mark: 0, token: Token::random().unwrap(), create: true, note }
}

/// A ledger in which the first worker id of Twitter's layout is held for a while more, with this note.
fn held(milliseconds: u64, note: String) -> Memory {
    let memory = Memory::default();
    let floe = Floe::open(memory.clone()).unwrap();
    let now = u64::try_from(floe.steady_time().get()).unwrap();
    floe.close();
    memory.reserve(&request(Key::slot(10, 0), now + milliseconds, 1, Some(note))).unwrap();
    memory
}

/// A server whose ledger is away, or as a test says.
struct Away {
    backend: Arc<Backend>,
}

impl Away {
    async fn with(tokens: &str) -> Self {
        let text = format!(
            "realm = 'r'\nledger = 'redis://clerk@127.0.0.1:1/7531'\nlimits = {{ max_wait = '200ms' }}\n\
             default_names = {{ thrift = 'flakes', katsubushi = 'flakes' }}\n{NAMES}{tokens}"
        );
        let config = Arc::new(Config::parse(&text, "floe.toml".as_ref()).unwrap());
        let awaited = Awaited::begin(&config);
        awaited.tried().await;
        Self::of(&config, awaited).await
    }

    /// A server whose ledger is this one, with its names open.
    async fn with_ledger(ledger: impl Ledger + 'static, settings: &str) -> Self {
        let text = format!("realm = 'r'\nlimits = {{ max_wait = '20s' }}\n{settings}");
        let config = Arc::new(Config::parse(&text, "floe.toml".as_ref()).unwrap());
        let there = Self::of(&config, Awaited::on(ledger)).await;
        there.backend.service.open_listed().await;
        there
    }

    async fn of(config: &Arc<Config>, awaited: Awaited) -> Self {
        let metrics = Arc::new(Metrics::new(10, []));
        let (ledger, settings) = (awaited.clone(), Arc::clone(config));
        let opened = tokio::task::spawn_blocking(move || server::open(ledger, &settings)).await;
        let service = Service::new(config, opened.unwrap().unwrap(), metrics, awaited);
        Self { backend: Backend::new(config, &service) }
    }

    fn from(&self, peer: &str, local: bool) -> Origin {
        let _ = self;
        Origin { protocol: "a test", peer: Some(peer.parse().unwrap()), local, exposed: true }
    }

    async fn ask(&self, origin: Origin, token: Option<&str>, path: &str, grpc: &[u8]) -> String {
        let mut request = Request::builder().uri(path);
        if let Some(token) = token {
            request = request.header(header::AUTHORIZATION, format!("Bearer {token}"));
        }
        if !grpc.is_empty() {
            request = request.method("POST").header(header::CONTENT_TYPE, "application/grpc");
        }
        let mut request = request.header(header::HOST, "x").body(Body::from(grpc.to_vec())).unwrap();
        request.extensions_mut().insert(self.backend.service.access().unknown().from(origin));
        let clients = Clients::new(&self.backend.limits, 1, Arc::new(Metrics::new(10, [])));
        let place = clients.admit(Address::of(None)).unwrap();
        request.extensions_mut().insert(Arc::clone(place.client()));
        http::recognise(&mut request);
        let response = self.backend.router().oneshot(request).await.unwrap();
        let (head, body) = response.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        format!("{path}: {head:?} {}", body.escape_ascii())
    }

    async fn say(&self, word: &str, origin: Origin, words: &[u8]) -> String {
        let mut said = Vec::new();
        let asked = async |mut client: DuplexStream| {
            client.write_all(words).await.unwrap();
            client.shutdown().await.unwrap();
            client.read_to_end(&mut said).await.unwrap();
        };
        self.talk(word, origin, words.first().copied(), 1 << 20, asked).await;
        said.escape_ascii().to_string()
    }

    /// Serves a client, with so much room between the two.
    async fn talk(
        &self,
        word: &str,
        origin: Origin,
        first: Option<u8>,
        room: usize,
        client: impl AsyncFnOnce(DuplexStream),
    ) {
        let clients = Clients::new(&self.backend.limits, 1, Arc::new(Metrics::new(10, [])));
        let (end, served) = self.connect(&clients, word, origin, first, room);
        tokio::join!(served, client(end)).0.unwrap();
    }

    /// A client's end of a connection, and the future that serves it.
    fn connect(
        &self,
        clients: &Arc<Clients>,
        word: &str,
        origin: Origin,
        first: Option<u8>,
        room: usize,
    ) -> (DuplexStream, impl Future<Output = io::Result<()>> + Send + 'static) {
        let place = clients.admit(Address::of(None)).unwrap();
        let (end, stream) = tokio::io::duplex(room);
        let (going_on, draining) = watch::channel(false);
        let front = Front::of(crate::protocols::protocol(word).unwrap()).unwrap();
        let served = (front.serve)(Conversation {
            stream: Box::new(stream),
            caller: self.backend.service.access().unknown().from(origin),
            client: Arc::clone(place.client()),
            backend: Arc::clone(&self.backend),
            draining,
            id: 1,
            first,
            shared: true,
            tls: Offer::None,
        });
        let served = async move {
            let _all = (place, going_on);
            served.await
        };
        (end, served)
    }

    /// What each wire says to a client there, which shows this token over HTTP.
    async fn all(&self, origin: Origin, token: Option<&str>) -> Vec<String> {
        let mut said = Vec::new();
        for path in [
            "/readyz",
            "/v1/mint/orders",
            "/v1/mint/tickets",
            "/v1/mint/flakes",
            "/v1/names",
            "/v1/names/orders",
            "/v1/slots",
            "/v1/inspect/9?name=orders",
            "/api/segment/get/tickets",
            "/api/snowflake/get/flakes",
            "/id/nextId?bizType=tickets",
            "/db",
            "/id",
        ] {
            said.push(self.ask(origin, token, path, b"").await);
        }
        let mint = b"\0\0\0\0\x08\n\x06orders";
        said.push(self.ask(origin, token, "/floe.v1.Ids/Mint", mint).await);
        if token.is_some() {
            return said;
        }
        for command in ["INCR orders", "MINT tickets", "GET orders", "EXISTS orders", "SETNX tickets 5"] {
            said.push(self.say("resp", origin, format!("{command}\r\n").as_bytes()).await);
        }
        said.push(self.say("memcached", origin, b"get orders\r\n").await);
        let mut get = vec![0x80, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0, 6];
        get.extend([[0; 12].as_slice(), b"orders"].concat());
        said.push(self.say("memcached", origin, &get).await);
        let call = b"\x80\x01\0\x01\0\0\0\x06get_id\0\0\0\x07\x0b\0\x01\0\0\0\x03app\0";
        said.push(self.say("thrift", origin, call).await);
        for query in ["REPLACE INTO orders (stub) VALUES ('a')", "ALTER TABLE tickets AUTO_INCREMENT = 9"] {
            let mut login = b"\x22\0\0\x01\x00\x82\0\0\0\0\0\x01\x21".to_vec();
            login.extend([0; 23]);
            login.extend(b"a\0\0");
            login[0] = u8::try_from(login.len() - 4).unwrap();
            login.extend([u8::try_from(query.len() + 1).unwrap(), 0, 0, 0, 3]);
            login.extend(query.bytes());
            said.push(self.say("mysql", origin, &login).await);
        }
        said
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn strangers_are_not_told_where_the_ledger_is_and_this_machine_is() {
    let away = Away::with("").await;
    for said in away.all(away.from("192.0.2.7:9000", false), None).await {
        for secret in SECRETS {
            assert!(!said.contains(secret), "{secret}: {said}");
        }
        assert!(said.contains("ledger"), "the cause is told: {said}");
    }
    for said in away.all(away.from("127.0.0.1:9000", true), None).await {
        assert!(said.contains("127.0.0.1:1"), "{said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_that_were_given_up_leave_nothing_behind_while_the_ledger_hangs() {
    let away = Away::with("").await;
    let service = &away.backend.service;
    // A ledger that hangs until the sender is gone.
    let (hangs, hanging) = watch::channel(());
    let asked = Arc::new(AtomicUsize::new(0));
    let ask = || {
        let (mut hanging, asked) = (hanging.clone(), Arc::clone(&asked));
        move |_: &Arc<Service>| {
            asked.fetch_add(1, Ordering::SeqCst);
            let _ = Handle::current().block_on(hanging.changed());
            Ok(())
        }
    };
    let call = || {
        let (service, ask) = (Arc::clone(service), ask());
        async move { service.within_wait(ask).await }
    };
    let calls: JoinSet<_> = (0..100).map(|_| call()).collect();
    for answer in calls.join_all().await {
        assert_eq!(answer.unwrap_err().status, Status::Busy);
    }
    for command in ["GET orders\r\n", "INSPECT 9 orders\r\n"] {
        let said = away.say("resp", away.from("127.0.0.1:9000", true), command.as_bytes());
        let said = timeout(Duration::from_secs(30), said).await.expect(command);
        assert!(said.contains("the ledger is slow to answer"), "{command}: {said}");
    }
    drop(hangs);
    service.blocking(ask()).await.unwrap();
    assert_eq!(asked.load(Ordering::SeqCst), 7, "six hung, and the last one found its turn");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_for_every_name_is_told_where_the_ledger_is_and_one_for_some_is_not() {
    let (all, some) = (NewToken::random("all", "*").unwrap(), NewToken::random("some", "orders").unwrap());
    let away = Away::with(&format!("{}{}", all.toml(), some.toml())).await;
    let far = away.from("192.0.2.7:9000", false);
    for said in away.all(far, Some(all.secret())).await {
        assert!(said.contains("127.0.0.1:1"), "{said}");
    }
    for said in away.all(far, Some(some.secret())).await {
        for secret in SECRETS {
            assert!(!said.contains(secret), "{secret}: {said}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn strangers_are_not_told_more_once_a_name_is_open() {
    let (all, some) = (NewToken::random("all", "*").unwrap(), NewToken::random("some", "flakes").unwrap());
    let name = "worker = 0\n[[name]]\nname = 'flakes'\nkind = 'snowflake'\nlayout = 'twitter'\n";
    let settings = format!("{name}{}{}", all.toml(), some.toml());
    let secret = || "redis://clerk@127.0.0.1:1/7531 refused".to_owned();
    for (trouble, state) in [
        (Some(LedgerError::Unavailable(secret())), "unavailable"),
        (Some(LedgerError::Unfit(secret())), "stopped"),
        // Another node has the worker id.
        (None, "exhausted"),
    ] {
        let before = move |_: &Memory| trouble.clone().map_or(Ok(()), Err);
        let away = Away::with_ledger(Troubled(held(3_600_000, secret()), before), &settings).await;
        let far = away.from("192.0.2.7:9000", false);
        for path in ["/v1/mint/flakes", "/readyz", "/v1/names", "/v1/names/flakes", "/v1/slots"] {
            let said = away.ask(far, Some(all.secret()), path, b"").await;
            assert!(said.contains("clerk"), "{said}");
            assert!(said.contains(state) || path == "/v1/slots", "{state}: {said}");
            for token in [None, Some(some.secret())] {
                let said = away.ask(far, token, path, b"").await;
                for secret in SECRETS {
                    assert!(!said.contains(secret), "{secret}: {said}");
                }
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn metrics_are_for_this_machine_and_for_tokens_for_every_name() {
    let (all, some) = (NewToken::random("all", "*").unwrap(), NewToken::random("some", "orders").unwrap());
    let away = Away::with(&format!("{}{}", all.toml(), some.toml())).await;
    let (far, here) = (away.from("192.0.2.7:9000", false), away.from("127.0.0.1:9000", true));
    for (origin, token, status) in
        [(far, None, 401), (far, Some(&some), 403), (far, Some(&all), 200), (here, None, 200)]
    {
        let said = away.ask(origin, token.map(NewToken::secret), "/metrics", b"").await;
        assert!(said.contains(&format!("status: {status}")), "{said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_is_raised_by_those_who_may_alone() {
    let token = NewToken::random("shop", "orders").unwrap();
    for (settings, may) in [(token.toml(), false), (token.toml().replace("# raise", "raise"), true)] {
        let away = Away::with(&settings).await;
        let service = &away.backend.service;
        let caller = service.access().token(token.secret().as_bytes(), &service.access().unknown());
        // Who may hears that the ledger is away.
        let raised = service.raise(&caller, &NATIVE, "orders", 9).await.unwrap_err();
        assert_eq!(raised.status != Status::Forbidden, may, "{raised:?}");
        let begun = service.begin_behind(&caller, &NATIVE, "orders", 9).await.unwrap_err();
        assert_eq!(begun.status != Status::Forbidden, may, "{begun:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_may_mint_from_one_name_learns_of_no_other() {
    let token = NewToken::random("shop", "orders").unwrap();
    let away = Away::with(&token.toml()).await;
    let service = &away.backend.service;
    let caller = service.access().token(token.secret().as_bytes(), &service.access().unknown());
    assert_eq!(service.mintable(&caller, &NATIVE, 9), [b"orders"]);
    assert_eq!(service.check_mintable(&caller, &NATIVE, "orders"), Ok(()));
    for other in ["tickets", "nothing"] {
        let refused = service.check_mintable(&caller, &NATIVE, other).unwrap_err();
        assert_eq!(refused.status, Status::Forbidden, "{other}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_raise_of_a_segment_is_not_promised_if_another_server_was_faster() {
    let key = || Key::name(&Name::new("tickets").unwrap());
    let faster = move |memory: &Memory| memory.reserve(&request(key(), 0, 1_000, None)).map(drop);
    let memory = Memory::default();
    let there = Away::with_ledger(Troubled(memory.clone(), faster), NAMES).await;
    let service = &there.backend.service;
    let raised = service.raise(&service.access().unknown(), &NATIVE, "tickets", 5_000_000).await;
    let refused = raised.unwrap_err();
    assert!(refused.status == Status::BadRequest && refused.detail.contains("is in use"), "{refused:?}");
    assert_eq!(memory.list(Key::NAMES, "n/orders", 1).unwrap()[0].mark, 4_999_999, "it came to the raise");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clock_that_is_behind_is_waited_for_and_minted_through_as_the_configuration_says() {
    for (settings, expected) in [
        ("clock = { max_hold = '1s' }", "further ahead than clock.max_hold"),
        ("clock = { wait = '1m' }", "Waiting"),
        ("", "Holding"),
    ] {
        // An earlier run of this server was so far ahead.
        let memory = held(50_000, Owner::this_process("one").to_string());
        let settings = format!("instance = 'one'\nworker = 0\n{settings}\n{NAMES}");
        let there = Away::with_ledger(memory, &settings).await;
        let said = there.ask(there.from("127.0.0.1:9000", true), None, "/v1/mint/flakes", b"").await;
        let state = there.backend.service.status().clock.state;
        assert!(format!("{state:?} {said}").contains(expected), "{state:?} {said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_ledger_is_called_with_tokens_for_its_realm_alone() {
    let token = NewToken::random("fleet", "*").unwrap();
    let away = Away::with(&token.toml().replace("# ledger = [\"default\"]", "ledger = ['shop']")).await;
    let service = &away.backend.service;
    let caller = service.access().token(token.secret().as_bytes(), &service.access().unknown());
    let call = async |realm: &str| {
        let answered = service.ledger_call(&caller, realm.to_owned(), b"no question").await;
        answered.map_err(|refusal| refusal.status)
    };
    assert_eq!(call("r").await, Err(Status::Forbidden));
    assert_eq!(call("shop").await, Err(Status::BadRequest), "it may call, but this is no call");
}

/// A connection is taken back from hyper when nothing is under way, and not earlier.
#[tokio::test]
async fn an_answer_that_is_read_late_is_whole() {
    let away = Away::with("").await;
    let late = async |mut client: DuplexStream| {
        for _ in 0..2 {
            client.write_all(b"GET /metrics HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
            // So long it is late.
            tokio::time::sleep(Duration::from_secs(2)).await;
            let mut said = Vec::new();
            let whole = |said: &[u8]| {
                let head = said.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
                let text = std::str::from_utf8(&said[..head]).unwrap();
                let length = text.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
                Some(head + length.parse::<usize>().unwrap())
            };
            while whole(&said) != Some(said.len()) {
                assert_ne!(client.read_buf(&mut said).await.unwrap(), 0, "{} bytes", said.len());
            }
            assert!(said.len() > 2 << 10, "longer than the room: {}", said.len());
            // So long it rests.
            tokio::time::sleep(Duration::from_secs(2)).await;
        }
    };
    away.talk("http", away.from("127.0.0.1:9000", true), Some(b'G'), 1 << 10, late).await;
}

/// Over HTTP, too, clients with pipelines let others be served between two turns, whoever reads their requests.
#[tokio::test]
async fn pipelines_over_http_are_served_in_turns() {
    const GREEDY: usize = 30;
    let away = Away::with("").await;
    let local = away.from("127.0.0.1:9000", true);
    for path in ["/livez", "/v1/mint/nobody"] {
        let request = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n");
        let clients = Clients::new(&away.backend.limits, 1, Arc::new(Metrics::new(10, [])));
        let (mut connections, mut readers) = (JoinSet::new(), JoinSet::new());
        let answers: [Arc<AtomicUsize>; GREEDY] = std::array::from_fn(|_| Arc::default());
        let answered = || answers.iter().map(|answers| answers.load(Ordering::Relaxed)).sum::<usize>();
        for answers in &answers {
            let (end, served) = away.connect(&clients, "http", local, Some(b'G'), 1 << 20);
            connections.spawn(served);
            let (mut reads, mut writes) = tokio::io::split(end);
            writes.write_all(request.repeat(5_000).as_bytes()).await.unwrap();
            let answers = Arc::clone(answers);
            readers.spawn(async move {
                let _open = writes;
                let mut bytes = vec![0; 64 << 10];
                while let Ok(count @ 1..) = reads.read(&mut bytes).await {
                    let begun = bytes[..count].windows(9).filter(|nine| nine == b"HTTP/1.1 ").count();
                    answers.fetch_add(begun, Ordering::Relaxed);
                }
            });
        }
        while answers.iter().any(|answers| answers.load(Ordering::Relaxed) == 0) {
            yield_now().await;
        }
        let (mut honest, served) = away.connect(&clients, "http", local, Some(b'G'), 1 << 20);
        connections.spawn(served);
        let mut most = 0;
        for _ in 0..20 {
            let before = answered();
            honest.write_all(request.as_bytes()).await.unwrap();
            let mut said = Vec::new();
            while !said.ends_with(b"}") && !said.ends_with(b"ok\n") {
                assert_ne!(honest.read_buf(&mut said).await.unwrap(), 0);
            }
            most = most.max(answered() - before);
        }
        assert!(answered() < GREEDY * 5_000, "they had something to ask at all times");
        // hyper lets others run after 16 requests: of each connection that would be 480.
        assert!(most <= 8 * 16, "{path}: {most} requests were answered before one");
    }
}
