//! A server of HTTP/1.1 whose answers a test writes.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

/// Listens on the returned port until the test ends. `answer` gets each request's head, its lines ended by `\r\n`, and its body,
/// and returns the whole answer.
pub fn http_stub(answer: impl Fn(&str, &[u8]) -> Vec<u8> + Send + Sync + 'static) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (port, answer) = (listener.local_addr().unwrap().port(), Arc::new(answer));
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let answer = Arc::clone(&answer);
            thread::spawn(move || serve(stream, &*answer));
        }
    });
    port
}

/// Answers the requests of a connection. A client that has read enough of an answer closes.
fn serve(mut client: TcpStream, answer: &impl Fn(&str, &[u8]) -> Vec<u8>) {
    let mut reader = BufReader::new(client.try_clone().unwrap());
    loop {
        let (mut head, mut length) = (String::new(), 0);
        for line in reader.by_ref().lines().map_while(Result::ok).take_while(|line| !line.is_empty()) {
            if let Some(told) = line.strip_prefix("content-length: ") {
                length = told.parse().unwrap();
            }
            head += &format!("{line}\r\n");
        }
        let mut body = vec![0; length];
        if head.is_empty() || reader.read_exact(&mut body).is_err() {
            return;
        }
        if client.write_all(&answer(&head, &body)).is_err() {
            return;
        }
    }
}
