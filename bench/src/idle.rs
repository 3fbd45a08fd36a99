//! The memory of a server with ten thousand waiting clients.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::Duration;

use crate::Result;
use crate::serve::{Subject, resident_kib};

const CONNECTIONS: u32 = 10_000;

/// The most that the server may hold, in MB.
const MOST: f64 = 200.0;

/// The bytes that a client sends before it falls silent.
const WAYS: [(&str, &[u8]); 5] = [
    ("nothing", b""),
    ("INCR over Redis' protocol", b"*2\r\n$4\r\nINCR\r\n$7\r\nsegment\r\n"),
    ("Leaf's GET", b"GET /api/segment/get/segment HTTP/1.1\r\nhost: x\r\n\r\n"),
    ("floe's GET", b"GET /v1/mint/segment HTTP/1.1\r\nhost: x\r\n\r\n"),
    ("a GET that hyper serves", b"GET /v1/mint/segment?n=2 HTTP/1.1\r\nhost: x\r\n\r\n"),
];

/// Opens the connections in each way on a server of its own, and prints its memory. Returns whether that was below the limit.
///
/// # Errors
/// The limit on open files is too low.
pub(crate) fn report(binary: &Path) -> Result<bool> {
    let mut sound = true;
    println!("{:<32} {:>12}", "10,000 clients that said", "MB resident");
    for (way, said) in WAYS {
        let subject = Subject::start(
            binary,
            &format!("connections = {0}\nconnections_per_address = {0}\nmemory = '512MB'", CONNECTIONS + 100),
        )?;
        let mut clients = Vec::new();
        for _ in 0..CONNECTIONS {
            let mut client = TcpStream::connect(("127.0.0.1", subject.port)).map_err(|error| {
                format!(
                    "connection {}: {error}; raise the limit on open files (ulimit -n 32768)",
                    clients.len()
                )
            })?;
            client.set_read_timeout(Some(Duration::from_secs(10)))?;
            if !said.is_empty() {
                client.write_all(said)?;
                if client.read(&mut [0; 1024])? == 0 {
                    return Err(format!(
                        "the server closed connection {}: has it enough open files (ulimit -n 32768)?",
                        clients.len()
                    )
                    .into());
                }
            }
            clients.push(client);
        }
        let megabytes = f64::from(resident_kib(subject.server.id())?) / 1024.0;
        println!("{way:<32} {megabytes:>12.1}");
        sound &= megabytes <= MOST;
    }
    Ok(sound)
}
