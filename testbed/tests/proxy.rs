//! Replies that a proxy loses stay lost: a client never takes the answer to a later request for that to an earlier one.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use floe_testbed::Proxy;

/// A server that echoes every byte, a proxy in front of it, and the requests that reached the server.
fn echo() -> (Proxy, Receiver<u8>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (proxy, (asks, asked)) = (Proxy::before(listener.local_addr().unwrap().port()), channel());
    thread::spawn(move || {
        for mut client in listener.incoming().map_while(Result::ok) {
            let mut byte = [0];
            while matches!(client.read(&mut byte), Ok(1)) && client.write_all(&byte).is_ok() {
                let _nobody_listens_any_more = asks.send(byte[0]);
            }
        }
    });
    (proxy, asked)
}

fn connect(proxy: &Proxy) -> TcpStream {
    TcpStream::connect(("127.0.0.1", proxy.port())).unwrap()
}

/// Whether the connection ends with nothing left to read. It may be reset, because the proxy may leave bytes unread.
fn has_ended(client: &mut TcpStream) -> bool {
    !matches!(client.read(&mut [0]), Ok(1..))
}

#[test]
fn a_connection_that_lost_a_reply_ends_with_the_next() {
    let (proxy, asked) = echo();
    let mut client = connect(&proxy);
    proxy.lose_replies(true);
    client.write_all(b"a").unwrap();
    assert_eq!(asked.recv(), Ok(b'a'), "the request arrives");
    while proxy.lost_replies() == 0 {
        thread::yield_now();
    }
    proxy.lose_replies(false);
    client.write_all(b"b").unwrap();
    assert!(has_ended(&mut client));
    let mut client = connect(&proxy);
    client.write_all(b"c").unwrap();
    let mut answer = [0];
    client.read_exact(&mut answer).unwrap();
    assert_eq!((&answer, proxy.lost_replies()), (b"c", 1));
}

#[test]
fn a_connection_that_is_severed_ends_with_its_request_done() {
    let (proxy, asked) = echo();
    let mut client = connect(&proxy);
    proxy.sever(true);
    client.write_all(b"a").unwrap();
    assert!(has_ended(&mut client));
    assert_eq!((asked.recv(), proxy.lost_replies()), (Ok(b'a'), 1));
}
