//! The memory of a server with waiting clients, up to ten thousand, and the time to connect them.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::Duration;

use crate::Result;
use crate::compare::Comparison;
use crate::curves::Curves;
use crate::measure::{now, pass};
use crate::serve::{Subject, resident_kib};

/// How many clients wait when the memory is read.
const CONNECTIONS: [u32; 4] = [1, 100, 1_000, 10_000];

/// The most that the server may hold, in MB.
const MOST: f64 = 200.0;

/// The server frees the buffers of a client that has been silent for a tenth of a second.
const SILENCE: Duration = Duration::from_millis(300);

/// The bytes that a client sends before it falls silent.
const WAYS: [(&str, &[u8]); 5] = [
    ("nothing", b""),
    ("INCR over Redis' protocol", b"*2\r\n$4\r\nINCR\r\n$7\r\nsegment\r\n"),
    ("Leaf's GET", b"GET /api/segment/get/segment HTTP/1.1\r\nhost: x\r\n\r\n"),
    ("floe's GET", b"GET /v1/mint/segment HTTP/1.1\r\nhost: x\r\n\r\n"),
    ("a GET that hyper serves", b"GET /v1/mint/segment?n=2 HTTP/1.1\r\nhost: x\r\n\r\n"),
];

/// Opens the connections in each way on a server of its own, prints its memory and the time to connect, and writes the
/// curves. Returns whether the memory was below the limit.
///
/// # Errors
/// The limit on open files is too low.
pub(crate) fn report(binary: &Path, options: &Comparison) -> Result<bool> {
    let (mut sound, mut curves) = (true, Curves::default());
    let counts = if options.quick { &CONNECTIONS[..3] } else { &CONNECTIONS[..] };
    let most = counts.iter().max().copied().unwrap_or_default();
    println!(
        "{:<28} {:>12} {:>12} {:>20}",
        "clients that said", "connections", "MB resident", "us to connect each"
    );
    for (way, said) in WAYS {
        let subject = Subject::start(
            binary,
            &format!("connections = {0}\nconnections_per_address = {0}\nmemory = '512MB'", most + 100),
        )?;
        let mut clients = Vec::new();
        for &count in counts {
            let (begun, before) = (now(), clients.len());
            while clients.len() < usize::try_from(count)? {
                clients.push(connect(subject.port, said).map_err(|error| {
                    format!(
                        "connection {}: {error}; raise the limit on open files (ulimit -n 32768)",
                        clients.len()
                    )
                })?);
            }
            let opened = u32::try_from(clients.len() - before)?;
            let micros = begun.elapsed().as_secs_f64() * 1e6 / f64::from(opened);
            pass(SILENCE);
            let megabytes = f64::from(resident_kib(subject.server.id())?) / 1024.0;
            println!("{way:<28} {count:>12} {megabytes:>12.1} {micros:>20.1}");
            curves.add("memory of the server, MB", "connections", way, (f64::from(count), megabytes));
            curves.add("to connect one more, µs", "connections", way, (f64::from(count), micros));
            sound &= megabytes <= MOST;
        }
    }
    curves.write(&options.out, "idle")?;
    Ok(sound)
}

/// A client that has said this, and got its answer.
fn connect(port: u16, said: &[u8]) -> Result<TcpStream> {
    let mut client = TcpStream::connect(("127.0.0.1", port))?;
    client.set_read_timeout(Some(Duration::from_secs(10)))?;
    if !said.is_empty() {
        client.write_all(said)?;
        if client.read(&mut [0; 1024])? == 0 {
            return Err("the server closed it".into());
        }
    }
    Ok(client)
}
