//! A proxy on loopback that can lose a server's answers, cut the network, and count round trips.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

/// Stands in front of a server until the test process ends.
pub struct Proxy {
    port: u16,
    road: Arc<Road>,
}

#[derive(Default)]
struct Road {
    state: Mutex<State>,
    healed: Condvar,
    round_trips: AtomicU64,
    lost_replies: AtomicU64,
}

#[derive(Clone, Copy, Default)]
struct State {
    loses_replies: bool,
    severs: bool,
    is_cut: bool,
}

/// The fate of bytes on their way.
enum Fate {
    Arrives,
    Lost,
    /// They are lost, and so is the connection.
    Severed,
}

impl Proxy {
    /// A proxy in front of the server at `port`.
    pub fn before(port: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let proxy = Self { port: listener.local_addr().unwrap().port(), road: Arc::default() };
        let road = Arc::clone(&proxy.road);
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let road = Arc::clone(&road);
                thread::spawn(move || {
                    road.wait();
                    let Ok(server) = TcpStream::connect(("127.0.0.1", port)) else { return };
                    let (asks, answers) = (client.try_clone().unwrap(), server.try_clone().unwrap());
                    let there = Arc::clone(&road);
                    let answered = Arc::new(AtomicBool::new(true));
                    let by_server = Arc::clone(&answered);
                    thread::spawn(move || {
                        there.pass(asks, server, |_| {
                            if answered.swap(false, Ordering::SeqCst) {
                                there.round_trips.fetch_add(1, Ordering::SeqCst);
                            }
                            Fate::Arrives
                        });
                    });
                    road.pass(answers, client, |state| {
                        by_server.store(true, Ordering::SeqCst);
                        if !state.severs && !state.loses_replies {
                            return Fate::Arrives;
                        }
                        road.lost_replies.fetch_add(1, Ordering::SeqCst);
                        if state.severs { Fate::Severed } else { Fate::Lost }
                    });
                });
            }
        });
        proxy
    }

    /// The port to connect to.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Whether to lose every reply from now on; requests still reach the server. A connection that lost a reply ends
    /// with the first one that is not lost, so that no later reply takes the place of an earlier one.
    pub fn lose_replies(&self, lose: bool) {
        self.road.state.lock().unwrap().loses_replies = lose;
    }

    /// Whether a connection ends with its next reply, which is lost: the server has executed the request, and the
    /// client sees a closed connection.
    pub fn sever(&self, sever: bool) {
        self.road.state.lock().unwrap().severs = sever;
    }

    /// How many replies, or parts of long ones, were lost.
    pub fn lost_replies(&self) -> u64 {
        self.road.lost_replies.load(Ordering::SeqCst)
    }

    /// How often a client has spoken first, or after the server: once for each round trip, if one connection carries
    /// one call at a time and neither side speaks without being asked.
    pub fn round_trips(&self) -> u64 {
        self.road.round_trips.load(Ordering::SeqCst)
    }

    /// Whether nothing passes, in either direction. Neither side is told, and what was sent arrives when the cut ends,
    /// as in TCP.
    pub fn cut(&self, cut: bool) {
        self.road.state.lock().unwrap().is_cut = cut;
        self.road.healed.notify_all();
    }
}

impl Road {
    /// The state, as soon as it is not cut.
    fn wait(&self) -> State {
        let state = self.state.lock().unwrap();
        *self.healed.wait_while(state, |state| state.is_cut).unwrap()
    }

    /// Passes on the bytes that should arrive.
    fn pass(&self, mut from: TcpStream, mut to: TcpStream, fate: impl Fn(State) -> Fate) {
        let mut buffer = [0; 16 << 10];
        let mut has_lost = false;
        while let Ok(bytes @ 1..) = from.read(&mut buffer) {
            match fate(self.wait()) {
                Fate::Lost => has_lost = true,
                Fate::Arrives if !has_lost && to.write_all(&buffer[..bytes]).is_ok() => {}
                Fate::Arrives | Fate::Severed => break,
            }
        }
        self.wait();
        drop(to.shutdown(Shutdown::Both));
        drop(from.shutdown(Shutdown::Both));
    }
}
