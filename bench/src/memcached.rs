//! `incr` on a real memcached beside `get` of a segment on floe's port for memcached, by one client in turn.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::Duration;

use floe_testbed::{Home, Server, Signal, listens};

use crate::Result;
use crate::compare::Line;
use crate::load::{Connection, Wire};
use crate::measure::{Outcome, check, now};
use crate::serve::Subject;
use crate::servers::{self, Row};

const ROUNDS: usize = 5;
const CONNECTIONS: usize = 16;

/// How many requests each connection sends before it reads the answers.
const DEPTHS: [usize; 2] = [1, 16];

/// Measures both at each depth.
///
/// # Errors
/// `memcached` is not installed.
pub(crate) fn rows(binary: &Path, quick: bool) -> Result<Vec<Line>> {
    servers::need("memcached", "memcached")?;
    let start = |home: &Home, port: u16| {
        let mut command = home.command("memcached".as_ref());
        command.args(["-l", "127.0.0.1", "-p", &port.to_string()]);
        command
    };
    let memcached = Server::new(Home::new("memcached"), Signal::TERM, start, listens);
    set(memcached.port())?;
    let floe = Subject::start(binary, "")?;
    let time = Duration::from_secs(if quick { 1 } else { 3 });
    let mut lines = Vec::new();
    for depth in DEPTHS {
        let row = |server: &str, port: u16, request: &str| {
            let wire = Wire::Memcached(request.to_owned());
            let name = format!("{CONNECTIONS} connections, {depth} at a time: {server}");
            Row::new(name, 0, move || measure(port, &wire, depth, time))
        };
        // floe refuses `incr`: a name's `get` is the same request.
        let rows = vec![
            row("memcached, incr", memcached.port(), "incr segment 1\r\n"),
            row("floe, get of a segment", floe.port, "get segment\r\n"),
        ];
        lines.extend(servers::in_turn(ROUNDS, rows)?);
    }
    Ok(lines)
}

/// The number that memcached counts up: it does not make it by itself.
fn set(port: u16) -> Result<()> {
    let mut stream = BufReader::new(TcpStream::connect(("127.0.0.1", port))?);
    stream.get_mut().write_all(b"set segment 0 0 1\r\n0\r\n")?;
    let mut answer = String::new();
    stream.read_line(&mut answer)?;
    match answer.trim_end() {
        "STORED" => Ok(()),
        other => Err(format!("memcached says {other}").into()),
    }
}

/// One thread runs all connections, to leave the processors to the server as far as possible. It asks on each before it
/// waits for an answer, and checks the numbers afterwards.
fn measure(port: u16, wire: &Wire, depth: usize, time: Duration) -> Result<Outcome> {
    let host = format!("127.0.0.1:{port}");
    let mut connections = (0..CONNECTIONS).map(|_| Connection::open(&host)).collect::<Result<Vec<_>>>()?;
    let (start, mut numbers) = (now(), Vec::new());
    while start.elapsed() < time {
        for connection in &mut connections {
            connection.send(wire, depth)?;
        }
        for connection in &mut connections {
            for _ in 0..depth {
                numbers.push(connection.receive(wire)?);
            }
        }
    }
    let (elapsed, made) = (start.elapsed(), u64::try_from(numbers.len())?);
    Ok(Outcome::of_server(made, elapsed, Some(check(numbers)?)))
}
