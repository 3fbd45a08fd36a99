//! A proxy on loopback that can lose what the server answers, cut the network between, and count round trips.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

/// Stands before a server until the test process ends.
pub struct Proxy {
    port: u16,
    road: Arc<Road>,
}

#[derive(Default)]
struct Road {
    state: Mutex<State>,
    healed: Condvar,
    round_trips: AtomicU64,
}

#[derive(Clone, Copy, Default)]
struct State {
    loses_replies: bool,
    is_cut: bool,
}

impl Proxy {
    /// Stands before the server at `port`.
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
                            true
                        });
                    });
                    road.pass(answers, client, |state| {
                        by_server.store(true, Ordering::SeqCst);
                        !state.loses_replies
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

    /// Whether every reply from now on is lost; requests go on reaching the server.
    pub fn lose_replies(&self, lose: bool) {
        self.road.state.lock().unwrap().loses_replies = lose;
    }

    /// How often a client has spoken first, or after the server had: once for each round trip, where one connection
    /// carries one call at a time and neither side speaks unasked.
    pub fn round_trips(&self) -> u64 {
        self.road.round_trips.load(Ordering::SeqCst)
    }

    /// Whether nothing passes, in either direction: nobody is told, and what was sent arrives when it is healed, as
    /// TCP has it.
    pub fn cut(&self, cut: bool) {
        self.road.state.lock().unwrap().is_cut = cut;
        self.road.healed.notify_all();
    }
}

impl Road {
    /// The state, once it is not cut.
    fn wait(&self) -> State {
        let state = self.state.lock().unwrap();
        *self.healed.wait_while(state, |state| state.is_cut).unwrap()
    }

    /// Passes on what `passes` says it may.
    fn pass(&self, mut from: TcpStream, mut to: TcpStream, passes: impl Fn(State) -> bool) {
        let mut buffer = [0; 16 << 10];
        while let Ok(bytes @ 1..) = from.read(&mut buffer) {
            if passes(self.wait()) && to.write_all(&buffer[..bytes]).is_err() {
                break;
            }
        }
        self.wait();
        drop(to.shutdown(Shutdown::Both));
        drop(from.shutdown(Shutdown::Both));
    }
}
