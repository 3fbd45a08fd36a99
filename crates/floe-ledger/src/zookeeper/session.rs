//! A session on one TCP connection. It sends requests in batches, and the replies arrive in the same order.
//!
//! A session ends with its connection, and floe never resumes it: no node depends on a session. A task of its own reads,
//! writes and pings, even without calls, so it notices the end of the connection at once.

use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt, split};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{MissedTickBehavior, interval};

use super::jute::{self, Reply, Request};
use super::trouble::Error;
use crate::remote::socket::Socket;
use crate::remote::task::Task;

/// The session timeout that floe asks for. It sends a ping at each third of the timeout that the server sets. If two
/// pings pass without any reply, it closes the connection.
const SESSION_MS: i32 = 10_000;

pub(super) struct Session {
    calls: mpsc::Sender<Batch>,
    /// Counts requests; numbers below 1 are the server's.
    number: i32,
    /// Why the task ended.
    why: Arc<OnceLock<Error>>,
    task: Task,
}

/// Requests in frames, and the channel for their replies.
struct Batch {
    frames: Vec<u8>,
    /// The numbers of the replies that have not arrived yet.
    numbers: VecDeque<i32>,
    replies: Vec<Reply>,
    answer: oneshot::Sender<Vec<Reply>>,
}

impl Session {
    /// Begins a session on a fresh connection.
    pub(super) async fn begin(mut stream: Box<dyn Socket>) -> Result<Self, Error> {
        stream.write_all(&jute::ask_for_session(SESSION_MS)?).await.map_err(closed)?;
        stream.flush().await.map_err(closed)?;
        let mut inbox = Vec::with_capacity(64);
        let timeout_ms = loop {
            if let Some((content, _)) = jute::next_frame(&inbox)? {
                break jute::session_timeout_ms(content)?;
            }
            if stream.read_buf(&mut inbox).await.map_err(|_| Error::NoSession)? == 0 {
                return Err(Error::NoSession);
            }
        };
        let (calls, mut batches) = mpsc::channel(1);
        let why = Arc::new(OnceLock::new());
        let reason = Arc::clone(&why);
        let task = Task::start(async move {
            // Whoever waits hears of the end when these go, and finds the reason.
            let mut waiting = VecDeque::new();
            let third = Duration::from_millis(timeout_ms / 3 + 1);
            if let Err(error) = drive(stream, &mut batches, &mut waiting, third).await {
                reason.get_or_init(|| error);
            }
            drop((batches, waiting));
        });
        Ok(Self { calls, number: 0, why, task })
    }

    /// Sends requests and waits for the reply to each. Once sent, a request may take effect, even if the caller no longer
    /// waits.
    pub(super) async fn ask(&mut self, requests: &[Request<'_>]) -> Result<Vec<Reply>, Error> {
        let (mut frames, mut numbers) = (Vec::new(), VecDeque::with_capacity(requests.len()));
        for request in requests {
            self.number = self.number.checked_add(1).unwrap_or(1);
            numbers.push_back(request.write(self.number, &mut frames)?);
        }
        let (answer, answered) = oneshot::channel();
        let batch = Batch { frames, numbers, replies: Vec::new(), answer };
        // If the task has ended, `answered` returns an error, too.
        drop(self.calls.send(batch).await);
        answered.await.map_err(|_| self.why_closed())
    }

    /// Whether the connection is known to be gone.
    pub(super) fn is_closed(&self) -> bool {
        self.calls.is_closed()
    }

    /// Ends the session in order.
    pub(super) async fn end(self) {
        drop(self.calls);
        self.task.end().await;
    }

    fn why_closed(&self) -> Error {
        self.why.get().cloned().unwrap_or(Error::Closed("the connection was closed".to_owned()))
    }
}

async fn drive(
    stream: Box<dyn Socket>,
    batches: &mut mpsc::Receiver<Batch>,
    waiting: &mut VecDeque<Batch>,
    third: Duration,
) -> Result<(), Error> {
    let (mut reader, mut writer) = split(stream);
    let mut inbox = Vec::with_capacity(16 << 10);
    let (mut clock, mut silent) = (interval(third), 0);
    clock.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            batch = batches.recv() => {
                let Some(mut batch) = batch else { break };
                let frames = std::mem::take(&mut batch.frames);
                waiting.push_back(batch);
                writer.write_all(&frames).await.map_err(closed)?;
                writer.flush().await.map_err(closed)?;
            }
            read = reader.read_buf(&mut inbox) => {
                if read.map_err(closed)? == 0 {
                    return Err(Error::Closed("it closed the connection".to_owned()));
                }
                silent = 0;
                let mut rest = inbox.as_slice();
                while let Some((content, next)) = jute::next_frame(rest)? {
                    take(Reply::parse(content)?, waiting)?;
                    rest = next;
                }
                let taken = inbox.len() - rest.len();
                inbox.drain(..taken);
            }
            _ = clock.tick() => {
                silent += 1;
                if silent > 2 {
                    return Err(Error::Closed("it answers no pings".to_owned()));
                }
                writer.write_all(&jute::ping()).await.map_err(closed)?;
                writer.flush().await.map_err(closed)?;
            }
        }
    }
    writer.write_all(&jute::end_of_session()).await.map_err(closed)?;
    writer.flush().await.map_err(closed)?;
    // The server closes the connection after it has recorded the end of the session.
    while reader.read_buf(&mut inbox).await.map_err(closed)? > 0 {
        inbox.clear();
    }
    Ok(())
}

/// Hands a reply to the batch that waits for it.
fn take(reply: Reply, waiting: &mut VecDeque<Batch>) -> Result<(), Error> {
    if [jute::PING, jute::EVENT].contains(&reply.number) {
        return Ok(());
    }
    let Some(batch) = waiting.front_mut() else { return Err(Error::Garbled("a reply to nothing")) };
    if batch.numbers.pop_front() != Some(reply.number) {
        return Err(Error::Garbled("a reply out of turn"));
    }
    batch.replies.push(reply);
    if batch.numbers.is_empty()
        && let Some(batch) = waiting.pop_front()
    {
        // A caller that has gone away needs no answer.
        drop(batch.answer.send(batch.replies));
    }
    Ok(())
}

fn closed(error: std::io::Error) -> Error {
    Error::Closed(format!("the connection broke ({error})"))
}

#[cfg(test)]
pub(super) mod tests {
    use std::pin::pin;
    use std::task::{Context, Wake};

    use tokio::io::{BufStream, DuplexStream, duplex};
    use tokio::time::{sleep, timeout};

    use super::super::link::tests::reply as answer;
    use super::*;

    /// Waits for the frame that asks for a session, and accepts it with this timeout.
    pub(in crate::zookeeper) async fn accept(server: &mut DuplexStream, timeout_ms: i32) {
        frame(server).await;
        let begun = [&36_i32.to_be_bytes()[..], &[0; 4], &timeout_ms.to_be_bytes(), &[0; 28]].concat();
        server.write_all(&begun).await.unwrap();
    }

    /// A reply to another request, as from something that stands before the server, proves nothing.
    #[test]
    fn a_reply_belongs_to_the_request_that_was_first() {
        let reply = |number: i32| {
            let content = [&number.to_be_bytes()[..], &[0; 12]].concat();
            Reply::parse(&content).unwrap()
        };
        let batch = || {
            let (answer, answered) = oneshot::channel();
            let numbers = VecDeque::from([1, 2]);
            (Batch { frames: Vec::new(), numbers, replies: Vec::new(), answer }, answered)
        };
        for wrong in [[2, 1], [1, 3], [0, 1]] {
            let (asked, mut answered) = batch();
            let mut waiting = VecDeque::from([asked]);
            let taken = wrong.into_iter().try_for_each(|number| take(reply(number), &mut waiting));
            assert!(taken.is_err() && answered.try_recv().is_err(), "{wrong:?}");
        }
        let (asked, mut answered) = batch();
        let mut waiting = VecDeque::from([asked]);
        // In between come the answer to a ping, and an event.
        for number in [1, -2, -1, 2] {
            take(reply(number), &mut waiting).unwrap();
        }
        assert_eq!(answered.try_recv(), Ok(vec![reply(1), reply(2)]));
        assert!(take(reply(3), &mut waiting).is_err(), "nothing was asked");
    }

    /// A busy floe may get there on one connection.
    #[tokio::test]
    async fn after_the_highest_number_a_request_has_the_first_one() {
        let (stream, mut server) = duplex(1 << 10);
        let (session, ()) = tokio::join!(Session::begin(Box::new(stream)), accept(&mut server, 10_000));
        let mut session = session.unwrap();
        session.number = i32::MAX - 1;
        for expected in [[i32::MAX, 1], [2, 3]] {
            let served = async {
                for _ in expected {
                    answer(&mut server, 1, 0, &[]).await;
                }
            };
            let asked = [Request::Children { path: "/" }, Request::Read { path: "/" }];
            let both = async { tokio::join!(session.ask(&asked), served).0 };
            let replies = timeout(Duration::from_secs(60), both).await.expect("it waits for another number");
            assert_eq!(replies.unwrap().iter().map(|reply| reply.number).collect::<Vec<_>>(), expected);
        }
    }

    /// Waits for the next frame, and returns the number in it and the rest.
    pub(in crate::zookeeper) async fn frame(server: &mut DuplexStream) -> (i32, Vec<u8>) {
        let length = server.read_i32().await.unwrap();
        let number = server.read_i32().await.unwrap();
        let mut rest = vec![0; usize::try_from(length - 4).unwrap()];
        server.read_exact(&mut rest).await.unwrap();
        (number, rest)
    }

    /// A connection with TLS may keep what was written until it is flushed.
    #[tokio::test]
    async fn the_request_for_a_session_is_flushed() {
        let (stream, mut server) = duplex(1 << 10);
        let begun = async {
            tokio::join!(Session::begin(Box::new(BufStream::new(stream))), accept(&mut server, 10_000)).0
        };
        assert!(timeout(Duration::from_secs(20), begun).await.expect("the server waits").is_ok());
    }

    #[tokio::test]
    async fn the_pace_of_the_pings_is_that_of_the_servers_timeout() {
        let (stream, mut server) = duplex(1 << 10);
        let (session, ()) = tokio::join!(Session::begin(Box::new(stream)), accept(&mut server, 600));
        assert_eq!(frame(&mut server).await.0, jute::PING);
        // The next one is due after 201 ms, and comes first on a machine that is late with both.
        let too_late = async {
            sleep(Duration::from_millis(450)).await;
            for _ in 0..10 {
                tokio::task::yield_now().await;
            }
        };
        let next = tokio::select! {
            biased;
            (next, _) = frame(&mut server) => next,
            () = too_late => panic!("the server hears nothing"),
        };
        assert_eq!(next, jute::PING);
        drop(session);
    }

    /// It ends when there is no ledger any more, and the server is told so: otherwise it would hold the session until it
    /// times out.
    #[tokio::test]
    async fn a_session_lasts_as_long_as_its_pings_are_answered_and_is_ended_in_order() {
        let (stream, mut server) = duplex(1 << 10);
        let (calls, mut batches) = mpsc::channel(1);
        let mut waiting = VecDeque::new();
        let driven = drive(Box::new(stream), &mut batches, &mut waiting, Duration::from_millis(10));
        let served = async {
            for _ in 0..10 {
                assert_eq!(frame(&mut server).await, (jute::PING, 11_i32.to_be_bytes().to_vec()));
                let pong = [16, jute::PING, 0, 0, 0].map(i32::to_be_bytes).concat();
                server.write_all(&pong).await.unwrap();
            }
            drop(calls);
            loop {
                let next = timeout(Duration::from_secs(60), frame(&mut server));
                match next.await.expect("the session is not ended") {
                    (jute::PING, _) => {}
                    last => break last,
                }
            }
        };
        let mut driven = pin!(driven);
        let last = tokio::select! {
            ended = &mut driven => panic!("it ended before the server closed: {ended:?}"),
            last = served => last,
        };
        assert_eq!(last.1, (-11_i32).to_be_bytes());
        drop(server);
        assert_eq!(driven.await, Ok(()));
    }

    /// A server that is frozen would never close it.
    #[tokio::test]
    async fn a_session_that_is_given_up_is_closed_without_a_wait_for_the_server() {
        let (stream, mut server) = duplex(1 << 10);
        let (session, ()) = tokio::join!(Session::begin(Box::new(stream)), accept(&mut server, 10_000));
        drop(session.unwrap());
        let mut rest = Vec::new();
        let closed = timeout(Duration::from_secs(20), server.read_to_end(&mut rest));
        closed.await.expect("it is open until the server closes it").unwrap();
    }

    /// What a waiting caller finds as soon as it hears of the end.
    struct Hears {
        why: Arc<OnceLock<Error>>,
        found: OnceLock<Option<Error>>,
    }

    impl Wake for Hears {
        fn wake(self: Arc<Self>) {
            self.found.get_or_init(|| self.why.get().cloned());
        }
    }

    /// It may hear on a thread of its own, before the task goes on.
    #[tokio::test]
    async fn whoever_hears_that_the_connection_broke_finds_the_reason() {
        let (stream, mut server) = duplex(1 << 10);
        let (session, ()) = tokio::join!(Session::begin(Box::new(stream)), accept(&mut server, 10_000));
        let session = session.unwrap();
        let mut hear = Vec::new();
        // One waits for its replies, one is being written, and one has not begun.
        for length in [1, 2 << 10, 1] {
            let (answer, answered) = oneshot::channel();
            let (frames, numbers) = (vec![0; length], VecDeque::from([1]));
            assert!(session.calls.send(Batch { frames, numbers, replies: Vec::new(), answer }).await.is_ok());
            let hears = Arc::new(Hears { why: Arc::clone(&session.why), found: OnceLock::new() });
            let mut answered = Box::pin(answered);
            let waits = answered.as_mut().poll(&mut Context::from_waker(&Arc::clone(&hears).into()));
            assert!(waits.is_pending());
            hear.push((hears, answered));
        }
        drop(server);
        timeout(Duration::from_secs(60), session.task.end()).await.expect("it goes on");
        for (hears, _) in hear {
            let found = hears.found.get();
            assert!(matches!(found, Some(Some(Error::Closed(why))) if why.contains("broke")), "{found:?}");
        }
    }

    /// Otherwise the first call after a silent cut would wait for all of its time. A single answer may be late.
    #[tokio::test]
    async fn a_server_that_answers_neither_of_two_pings_loses_its_connection() {
        let (stream, mut server) = duplex(1 << 10);
        let (_calls, mut batches) = mpsc::channel(1);
        let (mut heard, mut waiting) = (Vec::new(), VecDeque::new());
        let driven = drive(Box::new(stream), &mut batches, &mut waiting, Duration::from_millis(1));
        let both = async { tokio::join!(driven, server.read_to_end(&mut heard)).0 };
        let ended = timeout(Duration::from_secs(60), both).await.expect("pings without an end");
        assert!(matches!(&ended, Err(Error::Closed(why)) if why == "it answers no pings"), "{ended:?}");
        assert_eq!(heard, jute::ping().repeat(2));
    }
}
