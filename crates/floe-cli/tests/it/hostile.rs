//! Input that no client sends, on every wire of one real server: it answers or closes, its memory stays within a bound,
//! and other clients notice nothing.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use floe_testbed::free_port;
use tempfile::TempDir;

use crate::process::{PATIENCE, Server, configuration, floe, now};

mod cases;
mod wires;

use cases::{Case, Outcome, cases};
use wires::{Port, Wire, wires};

/// The most memory that the server may ever have had beyond what it has after serving each wire once.
const MOST_MEMORY_KIB: u64 = 48 << 10;

/// A server whose timeouts for a slow client are all the same: an hour, so that what ends has ended by itself, or so little
/// that what hangs ends because of them. Idleness never ends a connection.
struct Stand {
    server: Server,
    main: SocketAddr,
    mysql: SocketAddr,
    memory: u64,
    _dir: TempDir,
}

impl Stand {
    fn start(timeout: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let settings = format!(
            "realm = \"hostile\"\nlog = {{ level = \"info,floe_server=debug\" }}\ndefault_names = {{ thrift = \"orders\" }}\n[limits]\nheader_timeout = \"{timeout}\"\nstall_timeout = \"{timeout}\"\nrequest_timeout = \"5s\"\nmax_wait = \"5s\"\nidle_timeout = \"1h\"\n",
        );
        let config = configuration(dir.path(), &settings);
        let [main, mysql] = [(); 2].map(|()| SocketAddr::from(([127, 0, 0, 1], free_port())));
        let mut command = floe(["serve", "--listen", &main.to_string(), "--mysql", &mysql.to_string()]);
        command.arg("--config").arg(config).arg("--data-dir").arg(dir.path().join("data"));
        let server = Server::spawn(&mut command);
        let mut stand = Self { server, main, mysql, memory: 0, _dir: dir };
        for wire in wires() {
            stand.minted(&wire).unwrap_or_else(|error| panic!("{}: {error}", wire.name));
        }
        stand.memory = peak_memory_kib(stand.server.pid());
        stand
    }

    fn connect(&self, port: Port) -> TcpStream {
        let stream = TcpStream::connect(match port {
            Port::Main => self.main,
            Port::Mysql => self.mysql,
        })
        .unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    /// A connection that has got an ID.
    fn minted(&self, wire: &Wire) -> Result<TcpStream, String> {
        let mut stream = self.connect(wire.port);
        stream.write_all(&[&wire.opening[..], &(wire.request)(0)].concat()).unwrap();
        until_said(&mut stream, wire.answer).map_err(|error| format!("a good client is {error}"))?;
        Ok(stream)
    }

    /// Another client of the wire gets an ID, and the server's memory has never been over the bound.
    fn is_well(&self, wire: &Wire) -> Result<(), String> {
        self.minted(wire)?;
        let grown = peak_memory_kib(self.server.pid()) - self.memory;
        match grown <= MOST_MEMORY_KIB {
            true => Ok(()),
            false => Err(format!("the server has {grown} KiB more than at the start")),
        }
    }
}

/// Reads on until these bytes have come.
fn until_said(stream: &mut TcpStream, needle: &[u8]) -> Result<(), String> {
    let (mut said, mut part) = (Vec::new(), [0; 4096]);
    while !contains(&said, needle) {
        match stream.read(&mut part) {
            Ok(count) if count > 0 => said.extend_from_slice(&part[..count]),
            Ok(_) => return Err(format!("not answered, but closed after \"{}\"", said.escape_ascii())),
            Err(error) => return Err(format!("not answered: {error} after \"{}\"", said.escape_ascii())),
        }
    }
    Ok(())
}

/// Everything that comes until the server closes.
fn until_closed(stream: &mut TcpStream) -> Result<Vec<u8>, String> {
    let mut said = Vec::new();
    match stream.read_to_end(&mut said) {
        Ok(_) => Ok(said),
        // The server did not read all that was sent.
        Err(error) if error.kind() == ErrorKind::ConnectionReset => Ok(said),
        Err(error) => Err(format!("not closed: {error} after \"{}\"", said.escape_ascii())),
    }
}

fn contains(bytes: &[u8], needle: &[u8]) -> bool {
    needle.is_empty() || bytes.windows(needle.len()).any(|part| part == needle)
}

/// The most memory that a process has had so far.
fn peak_memory_kib(pid: u32) -> u64 {
    let status = std::fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("status")).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    peak.trim().trim_end_matches(" kB").parse().unwrap()
}

#[test]
fn every_case_comes_to_what_it_has_to() {
    let wires = wires();
    let (patient, hasty) = (Stand::start("1h"), Stand::start("300ms"));
    let mut wrong = Vec::new();
    for case in cases() {
        let wire = wires.iter().find(|wire| wire.name == case.wire).unwrap();
        let stand = if matches!(case.outcome, Outcome::Waits(_)) { &hasty } else { &patient };
        if let Err(error) = outcome(stand, wire, &case).and_then(|()| stand.is_well(wire)) {
            wrong.push(format!("{}, {}: {error}", case.wire, case.what));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let log = patient.server.text();
    assert!(log.contains("a client wants TLS"), "{log}");
    assert!(log.contains("/v1/mint/{name}") && !log.contains("floe_5ec7e7"), "{log}");
}

/// Sends a case's input and sees what comes of it.
fn outcome(stand: &Stand, wire: &Wire, case: &Case) -> Result<(), String> {
    let mut stream = if case.after { stand.minted(wire)? } else { stand.connect(wire.port) };
    // The server may close before it has read all.
    let _ = stream.write_all(&case.bytes);
    match case.outcome {
        Outcome::Says(needle) => until_said(&mut stream, needle),
        Outcome::Ends(needle) | Outcome::Closes(needle) | Outcome::Waits(needle) => {
            let said = until_closed(&mut stream)?;
            let may_be_answered = matches!(case.outcome, Outcome::Closes(_));
            match contains(&said, needle) && (may_be_answered || !contains(&said, wire.answer)) {
                true => Ok(()),
                false => Err(format!("closed, but after \"{}\"", said.escape_ascii())),
            }
        }
    }
}

#[test]
fn a_request_that_comes_a_byte_at_a_time_is_answered() {
    let stand = Stand::start("1h");
    for wire in wires() {
        let mut stream = stand.connect(wire.port);
        for byte in [&wire.opening[..], &(wire.request)(0)].concat() {
            stream.write_all(&[byte]).unwrap();
        }
        assert_eq!(until_said(&mut stream, wire.answer), Ok(()), "{}", wire.name);
    }
}

#[test]
fn a_client_that_falls_silent_anywhere_in_its_request_is_closed() {
    let stand = Stand::start("300ms");
    for wire in wires() {
        let request = [&wire.opening[..], &(wire.request)(0)].concat();
        let cuts = (0..request.len()).filter(|cut| !wire.may_be_idle_at.contains(cut));
        let connections: Vec<_> = cuts
            .map(|cut| {
                let mut stream = stand.connect(wire.port);
                // On a busy machine the server may have closed it by now.
                let _ = stream.write_all(&request[..cut]);
                (cut, stream)
            })
            .collect();
        for (cut, mut stream) in connections {
            let what = format!("{}: silence after {cut} bytes of {}", wire.name, request.len());
            let said = until_closed(&mut stream).unwrap_or_else(|error| panic!("{what}: {error}"));
            assert!(!contains(&said, wire.answer), "{what} minted: {}", said.escape_ascii());
        }
        assert_eq!(stand.is_well(&wire), Ok(()), "{}", wire.name);
    }
}

#[test]
fn a_client_that_never_reads_is_held_back_and_cut_off() {
    let stand = Stand::start("300ms");
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let floods: Vec<_> = wires()
            .into_iter()
            .map(|wire| {
                scope.spawn({
                    let stand = &stand;
                    move || flood(stand, &wire)
                })
            })
            .collect();
        let others = scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                for wire in wires() {
                    stand.is_well(&wire).map_err(|error| format!("{}: {error}", wire.name))?;
                }
            }
            Ok::<_, String>(())
        });
        let ended: Vec<_> = floods.into_iter().map(|flood| flood.join().unwrap()).collect();
        over.store(true, Ordering::Relaxed);
        assert_eq!(others.join().unwrap(), Ok(()));
        assert!(ended.iter().all(Result::is_ok), "{ended:?}");
    });
}

/// Asks on and on without reading an answer, until the server closes.
fn flood(stand: &Stand, wire: &Wire) -> Result<(), String> {
    let mut stream = stand.connect(wire.port);
    stream.write_all(&wire.opening).unwrap();
    let end = now() + 2 * PATIENCE;
    for number in 0.. {
        let many: Vec<u8> = (number * 100..(number + 1) * 100).flat_map(wire.much).collect();
        match stream.write_all(&many) {
            Ok(()) if now() < end => {}
            Ok(()) => return Err(format!("{}: the server reads on", wire.name)),
            // The time limit of the write.
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                return Err(format!("{}: neither read nor closed", wire.name));
            }
            Err(_) => break,
        }
    }
    Ok(())
}
