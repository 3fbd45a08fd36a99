//! A proxy on loopback that can lose what the server answers.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

pub(crate) struct Proxy {
    pub(crate) port: u16,
    deaf: Arc<AtomicBool>,
}

impl Proxy {
    /// Stands before the server at `port`.
    pub(crate) fn before(port: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let proxy = Self { port: listener.local_addr().unwrap().port(), deaf: Arc::default() };
        let deaf = Arc::clone(&proxy.deaf);
        // It ends with the test process.
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let Ok(server) = TcpStream::connect(("127.0.0.1", port)) else { continue };
                let (asks, answers) = (client.try_clone().unwrap(), server.try_clone().unwrap());
                let deaf = Arc::clone(&deaf);
                thread::spawn(move || pass(asks, server, &AtomicBool::new(false)));
                thread::spawn(move || pass(answers, client, &deaf));
            }
        });
        proxy
    }

    /// Whether every reply from now on is lost; requests go on reaching the server.
    pub(crate) fn lose_replies(&self, lose: bool) {
        self.deaf.store(lose, Ordering::SeqCst);
    }
}

fn pass(mut from: TcpStream, mut to: TcpStream, lose: &AtomicBool) {
    let mut buffer = [0; 16 << 10];
    while let Ok(bytes @ 1..) = from.read(&mut buffer) {
        if !lose.load(Ordering::SeqCst) && to.write_all(&buffer[..bytes]).is_err() {
            break;
        }
    }
    drop(to.shutdown(Shutdown::Both));
}
