use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::DuplexStream;
use tokio::task::JoinSet;

use super::*;
use crate::clients::{Address, Clients};
use crate::metrics::Metrics;

/// A protocol in which each byte is a request, takes a moment, and is answered by itself. A `w` waits for ever, an `h` is the
/// beginning of a request, and a `g` says goodbye.
struct Slow {
    served: Arc<AtomicUsize>,
}

/// Longer than a client is served without a turn.
const MOMENT: Duration = Duration::from_micros(150);

impl Session for Slow {
    async fn take(&mut self, input: &[u8], output: &mut Vec<u8>, _: Instant) -> Option<Taken> {
        let request = *input.first()?;
        if request == b'h' {
            return None;
        }
        if request == b'g' {
            return Some((1, Next::Close));
        }
        if request == b'w' {
            std::future::pending::<()>().await;
        }
        let begun = Instant::now();
        while begun.elapsed() < MOMENT {}
        output.push(request);
        self.served.fetch_add(1, Ordering::Relaxed);
        Some((1, Next::Read))
    }

    fn took(&mut self, _: Duration) {}
}

/// Has a client served, and returns its end of the connection.
fn connect(
    clients: &Arc<Clients>,
    served: &Arc<AtomicUsize>,
    draining: &watch::Receiver<bool>,
    connections: &mut JoinSet<io::Result<()>>,
) -> DuplexStream {
    connect_within(Limits::default(), clients, served, draining, connections)
}

fn connect_within(
    limits: Limits,
    clients: &Arc<Clients>,
    served: &Arc<AtomicUsize>,
    draining: &watch::Receiver<bool>,
    connections: &mut JoinSet<io::Result<()>>,
) -> DuplexStream {
    let place = clients.admit(Address::of(None)).unwrap();
    let (end, stream) = tokio::io::duplex(1 << 20);
    let (mut stream, mut session): (Stream, _) = (Box::new(stream), Slow { served: Arc::clone(served) });
    let draining = draining.clone();
    connections.spawn(async move {
        let client = place.client();
        to_its_end(&mut stream, &mut session, client, &limits, draining).await.map(drop)
    });
    end
}

#[tokio::test]
async fn clients_that_have_always_more_to_ask_let_others_be_served_between_two_turns() {
    const GREEDY: usize = 600;
    const ASKED: usize = 16 << 10;
    let clients = Clients::new(&Limits::default(), 1, Arc::new(Metrics::new(10, [])));
    let (_going_on, draining) = watch::channel(false);
    let mut connections = JoinSet::new();
    let all = Arc::new(AtomicUsize::new(0));
    let mut greedy = Vec::new();
    for _ in 0..GREEDY {
        let served = Arc::new(AtomicUsize::new(0));
        let mut end = connect(&clients, &served, &draining, &mut connections);
        end.write_all(&[b'x'; ASKED]).await.unwrap();
        greedy.push((served, end));
    }
    while greedy.iter().any(|(served, _)| served.load(Ordering::Relaxed) == 0) {
        yield_now().await;
    }
    let by_greedy = || greedy.iter().map(|(served, _)| served.load(Ordering::Relaxed)).sum::<usize>();
    let mut honest = connect(&clients, &all, &draining, &mut connections);
    for _ in 0..10 {
        let before = by_greedy();
        honest.write_all(b"y").await.unwrap();
        assert_eq!(honest.read_u8().await.unwrap(), b'y');
        let meanwhile = by_greedy() - before;
        // One request of each would be 600, and a turn of each 20,000.
        let turn = usize::try_from(PROMPT.as_micros() / MOMENT.as_micros()).unwrap();
        assert!(meanwhile <= 10 * turn, "{meanwhile} requests were served before this one");
    }
    assert!(by_greedy() < GREEDY * ASKED, "they had something to ask at all times");
}

#[tokio::test]
async fn a_turn_ends_where_there_is_something_to_wait_for() {
    const BEFORE: usize = 100;
    let clients = Clients::new(&Limits::default(), 1, Arc::new(Metrics::new(10, [])));
    let (_going_on, draining) = watch::channel(false);
    let mut connections = JoinSet::new();
    let [served, others]: [Arc<AtomicUsize>; 2] = std::array::from_fn(|_| Arc::default());
    let mut waits = connect(&clients, &served, &draining, &mut connections);
    waits.write_all(&[&[b'x'; BEFORE][..], b"w"].concat()).await.unwrap();
    while served.load(Ordering::Relaxed) < BEFORE {
        yield_now().await;
    }
    let mut other = connect(&clients, &others, &draining, &mut connections);
    other.write_all(&[b'x'; BEFORE]).await.unwrap();
    let answered = timeout(Duration::from_secs(20), other.read_exact(&mut [0; BEFORE])).await;
    answered.expect("the other one has no turn").unwrap();
}

/// A client whose bytes are there whenever the server looks, so that it is served in a turn before it has ever been waited for.
struct Eager {
    end: DuplexStream,
    going_on: watch::Sender<bool>,
    connections: JoinSet<io::Result<()>>,
}

impl Eager {
    /// Sends as many requests as one read takes, the last byte and what follows as given.
    async fn new(last: &[u8]) -> Self {
        let clients = Clients::new(&Limits::default(), 1, Arc::new(Metrics::new(10, [])));
        let (going_on, draining) = watch::channel(false);
        let mut connections = JoinSet::new();
        let limits = Limits { header_timeout: Duration::from_millis(50), ..Limits::default() };
        let mut end = connect_within(limits, &clients, &Arc::default(), &draining, &mut connections);
        end.write_all(&[&[b'x'; READ - 1], last].concat()).await.unwrap();
        let mut answers = [0; READ - 1];
        end.read_exact(&mut answers).await.unwrap();
        Self { end, going_on, connections }
    }

    async fn ended(&mut self) -> io::Result<()> {
        let ended = timeout(Duration::from_secs(20), self.connections.join_next()).await;
        ended.expect("its connection stays open").unwrap().unwrap()
    }
}

#[tokio::test]
async fn a_client_that_falls_silent_in_a_request_that_came_in_a_turn_is_closed() {
    let mut client = Eager::new(b"hh").await;
    assert_eq!(client.ended().await.map_err(|error| error.kind()), Err(io::ErrorKind::TimedOut));
}

#[tokio::test]
async fn a_client_that_is_idle_after_a_turn_is_told_when_the_server_stops() {
    let mut client = Eager::new(b"xx").await;
    client.end.read_exact(&mut [0; 2]).await.unwrap();
    client.going_on.send(true).unwrap();
    let told = timeout(Duration::from_secs(20), client.end.read_u8()).await.expect("it is not told");
    assert_eq!(told.map_err(|error| error.kind()), Err(io::ErrorKind::UnexpectedEof));
}

#[tokio::test]
async fn a_client_that_is_sent_away_holds_no_memory_while_it_may_still_read_why() {
    let metrics = Arc::new(Metrics::new(10, []));
    let clients = Clients::new(&Limits::default(), 1, Arc::clone(&metrics));
    let (_going_on, draining) = watch::channel(false);
    let mut connections = JoinSet::new();
    let mut end = connect(&clients, &Arc::default(), &draining, &mut connections);
    let connected = metrics.memory_held.get();
    end.write_all(&[&b"g"[..], &[b'x'; READ - 1]].concat()).await.unwrap();
    assert_eq!(end.read(&mut [0]).await.unwrap(), 0, "nothing is answered");
    assert_eq!(metrics.memory_held.get(), connected);
    assert!(connections.try_join_next().is_none(), "it is still listened to");
}
