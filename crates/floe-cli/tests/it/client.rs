//! HTTP clients that mint, and the record of what they were given.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::process::{PATIENCE, lock, now, until};

/// What came of one HTTP exchange.
enum Exchange {
    /// The status and the whole body.
    Answered(u16, String),
    /// An answer began and did not arrive in full.
    Cut,
    /// No answer began.
    Silent,
}

fn exchange(agent: &ureq::Agent, url: &str) -> Exchange {
    let Ok(mut answer) = agent.get(url).header("Accept", "text/plain").call() else {
        return Exchange::Silent;
    };
    match answer.body_mut().with_config().limit(1 << 26).read_to_string() {
        Ok(body) => Exchange::Answered(answer.status().as_u16(), body),
        Err(_) => Exchange::Cut,
    }
}

/// The status and the whole body, or nothing where the answer did not arrive in full.
pub(crate) fn get(agent: &ureq::Agent, url: &str) -> Option<(u16, String)> {
    match exchange(agent, url) {
        Exchange::Answered(status, body) => Some((status, body)),
        Exchange::Cut | Exchange::Silent => None,
    }
}

pub(crate) fn agent() -> ureq::Agent {
    ureq::Agent::config_builder()
        .http_status_as_error(false)
        .timeout_global(Some(Duration::from_secs(10)))
        .build()
        .into()
}

/// Mints once and fails the test where that does not work.
#[track_caller]
pub(crate) fn mint(url: &str, name: &str, n: u64) -> Vec<u64> {
    let (status, body) = get(&agent(), &format!("{url}/v1/mint/{name}?n={n}")).expect("a full answer");
    assert_eq!(status, 200, "{body}");
    numbers(&body)
}

#[track_caller]
pub(crate) fn numbers(body: &str) -> Vec<u64> {
    body.lines().map(|line| line.parse().expect("one number a line")).collect()
}

/// Where the clients send their requests: changes with every life of the server.
#[derive(Default)]
struct Target {
    state: Mutex<(u64, Option<String>)>,
    changed: Condvar,
}

impl Target {
    /// The address, once there is one of a later life than `life`.
    fn after(&self, life: u64, stop: &AtomicBool) -> Option<(u64, String)> {
        let mut state = lock(&self.state);
        loop {
            if stop.load(Ordering::SeqCst) {
                return None;
            }
            if let (number, Some(url)) = &*state
                && *number > life
            {
                return Some((*number, url.clone()));
            }
            state = self.changed.wait_timeout(state, Duration::from_millis(50)).expect("no poison").0;
        }
    }
}

/// Client threads that mint without pause, over all lives of a server.
pub(crate) struct Clients {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<Vec<Received>>>,
}

#[derive(Default)]
struct Shared {
    target: Target,
    stop: AtomicBool,
    answers: AtomicU64,
    cut: AtomicU64,
}

/// One answer that arrived in full.
pub(crate) struct Received {
    pub(crate) name: &'static str,
    pub(crate) ids: Vec<u64>,
}

impl Clients {
    /// `count` threads, each of which takes the names in turn.
    pub(crate) fn start(count: usize, names: &'static [&'static str]) -> Self {
        let shared = Arc::new(Shared::default());
        let threads = (0..count).map(|number| {
            let shared = Arc::clone(&shared);
            std::thread::spawn(move || work(number, names, &shared))
        });
        Self { threads: threads.collect(), shared }
    }

    /// Sends all clients to this address from now on.
    pub(crate) fn aim(&self, url: &str) {
        let mut state = lock(&self.shared.target.state);
        *state = (state.0 + 1, Some(url.to_owned()));
        self.shared.target.changed.notify_all();
    }

    /// Waits until the clients have had `more` further answers.
    #[track_caller]
    pub(crate) fn answers(&self, more: u64) {
        let from = self.shared.answers.load(Ordering::SeqCst);
        until(PATIENCE, "the clients' answers", || {
            (self.shared.answers.load(Ordering::SeqCst) >= from + more).then_some(())
        });
    }

    /// How many answers began and did not arrive in full.
    pub(crate) fn cut(&self) -> u64 {
        self.shared.cut.load(Ordering::SeqCst)
    }

    /// Ends the threads; gives what each of them received, in its order.
    pub(crate) fn stop(self) -> Vec<Vec<Received>> {
        self.shared.stop.store(true, Ordering::SeqCst);
        self.shared.target.changed.notify_all();
        self.threads.into_iter().map(|thread| thread.join().expect("a client thread ends well")).collect()
    }
}

fn work(number: usize, names: &'static [&'static str], shared: &Shared) -> Vec<Received> {
    let mut received = Vec::new();
    let mut life = 0;
    // From one to three hundred IDs at a time. Five sizes meet every name, for there are at most four of those.
    let mut sizes = [1_u64, 7, 300, 2, 64].into_iter().cycle().skip(number);
    let mut turn = names.iter().cycle().skip(number);
    while let Some((number, url)) = shared.target.after(life, &shared.stop) {
        let agent = agent();
        let begun = now();
        // A refused connection means that this life is over (or that the next has not begun); other statuses are
        // the server's own, such as 503 while it waits for its first window.
        while !shared.stop.load(Ordering::SeqCst) {
            let (Some(name), Some(n)) = (turn.next(), sizes.next()) else { break };
            match exchange(&agent, &format!("{url}/v1/mint/{name}?n={n}")) {
                Exchange::Answered(200, body) => {
                    let ids = numbers(&body);
                    assert_eq!(ids.len() as u64, n, "{url} gave another count for {name}");
                    received.push(Received { name, ids });
                    shared.answers.fetch_add(1, Ordering::SeqCst);
                }
                Exchange::Answered(503, _) => std::thread::park_timeout(Duration::from_millis(2)),
                Exchange::Answered(status, body) => panic!("{url} answered {status} for {name}: {body}"),
                ended => {
                    if matches!(ended, Exchange::Cut) {
                        shared.cut.fetch_add(1, Ordering::SeqCst);
                    }
                    life = number;
                    break;
                }
            }
            assert!(begun.elapsed() < 4 * PATIENCE, "one life lasted too long");
        }
    }
    received
}

/// Fails where any name yielded an ID twice, or where a counter did not grow from one answer to the next of a
/// client.
#[track_caller]
pub(crate) fn check(all: &[Vec<Received>]) {
    let mut names: Vec<&str> = all.iter().flatten().map(|one| one.name).collect();
    names.sort_unstable();
    names.dedup();
    for name in names {
        let of_name = || all.iter().map(move |one| one.iter().filter(move |one| one.name == name));
        unique(name, of_name().flatten().flat_map(|one| one.ids.iter().copied()));
        if name == "visits" {
            for client in of_name() {
                let ids: Vec<u64> = client.flat_map(|one| one.ids.iter().copied()).collect();
                assert!(ids.is_sorted_by(|a, b| a < b), "a client of {name} saw it go back");
            }
        }
    }
}

/// Fails where an ID is there twice; prints how many there were.
#[track_caller]
pub(crate) fn unique(name: &str, ids: impl IntoIterator<Item = u64>) {
    let mut ids: Vec<u64> = ids.into_iter().collect();
    let count = ids.len();
    assert!(count > 0, "nothing was minted for {name}");
    ids.sort_unstable();
    if let Some(pair) = ids.windows(2).find(|pair| pair[0] == pair[1]) {
        panic!("{name}: {} was minted twice among {count} IDs", pair[0]);
    }
    println!("{name}: {count} IDs, none twice");
}

/// The record counts only answers that arrived in full: a server that dies in mid-answer must look like one.
#[test]
fn half_an_answer_is_no_answer() {
    use std::io::{Read as _, Write as _};
    for half in [
        "HTTP/1.1 200 OK\r\ncontent-length: 20\r\n\r\n12345\n",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n6\r\n12345\n\r\n",
    ] {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
        let url = format!("http://{}/", listener.local_addr().expect("its address"));
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("a client");
            let mut request = [0; 1024];
            assert!(stream.read(&mut request).expect("a request") > 0);
            stream.write_all(half.as_bytes()).expect("half an answer");
        });
        assert!(get(&agent(), &url).is_none());
        server.join().expect("the server thread ends well");
    }
}
