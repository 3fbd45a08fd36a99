//! Flickr's tickets, from one client, on a real MariaDB and on floe's MySQL port in turn.

use std::io::{BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::Duration;

use floe_testbed::Mariadb;

use crate::Result;
use crate::compare::Line;
use crate::measure::{Outcome, check, now};
use crate::serve::Subject;
use crate::servers::{Row, in_turn};

const ROUNDS: usize = 3;
const CLIENTS: usize = 16;

const TABLE: &str = "CREATE TABLE floe.Tickets64 (id bigint unsigned NOT NULL auto_increment, stub char(1) NOT NULL default '', PRIMARY KEY (id), UNIQUE KEY stub (stub))";
const MINT: &[u8] = b"REPLACE INTO Tickets64 (stub) VALUES ('a')";
/// Error 1213, by which InnoDB asks a client to try again.
const DEADLOCK: &[u8] = b"\xff\xbd\x04";
const READ: &[u8] = b"SELECT LAST_INSERT_ID()";
const BOTH: &[u8] = b"REPLACE INTO Tickets64 (stub) VALUES ('a'); SELECT LAST_INSERT_ID()";

/// Measures MariaDB with Flickr's table (MyISAM), the same on InnoDB, and floe.
pub(crate) fn rows(binary: &Path, quick: bool) -> Result<Vec<Line>> {
    let floe = Subject::start(binary, "")?;
    let servers = ["MyISAM", "InnoDB"].map(|engine| {
        let server = Mariadb::start(&[]);
        server.sql(&format!("{TABLE} ENGINE={engine}"));
        server
    });
    let subjects = [
        ("MariaDB, MyISAM", servers[0].port()),
        ("MariaDB, InnoDB", servers[1].port()),
        ("floe, segment", floe.mysql),
    ];
    let time = Duration::from_secs(if quick { 1 } else { 3 });
    let mut lines = Vec::new();
    for (way, together) in [("one query", true), ("two queries", false)] {
        let row = |(name, port)| {
            let name = format!("{CLIENTS} clients, a ticket by {way}: {name}");
            Row::new(name, 0, move || measure(port, together, time))
        };
        lines.extend(in_turn(ROUNDS, subjects.into_iter().map(row).collect())?);
    }
    Ok(lines)
}

/// Tickets of all clients together, with the check of each. One thread runs all clients, to leave the processors to the
/// server as far as possible. Each client sends one query before the thread waits for an answer: one client after the
/// other would measure how long this machine takes to wake a thread.
fn measure(port: u16, together: bool, time: Duration) -> Result<Outcome> {
    let mut clients = (0..CLIENTS).map(|_| Client::connect(port)).collect::<Result<Vec<_>>>()?;
    let (start, mut all) = (now(), Vec::new());
    while start.elapsed() < time {
        clients.iter_mut().try_for_each(|client| client.ask(together))?;
        clients.iter_mut().try_for_each(|client| client.minted(together))?;
        if !together {
            clients.iter_mut().try_for_each(|client| client.query(READ))?;
        }
        for client in &mut clients {
            all.push(client.ticket()?);
        }
    }
    let (elapsed, made) = (start.elapsed(), u64::try_from(all.len())?);
    Ok(Outcome::of_server(made, elapsed, Some(check(all)?)))
}

/// The part of a MySQL client that tickets need: a user without a password, and answers in text.
pub(crate) struct Client {
    stream: BufReader<TcpStream>,
    packet: Vec<u8>,
}

impl Client {
    pub(crate) fn connect(port: u16) -> Result<Self> {
        /// PROTOCOL_41, SECURE_CONNECTION, CONNECT_WITH_DB, PLUGIN_AUTH, TRANSACTIONS, MULTI_STATEMENTS and
        /// MULTI_RESULTS.
        const CAPABILITIES: u32 = 0x200 | 0x8000 | 0x8 | 0x8_0000 | 0x2000 | 0x1_0000 | 0x2_0000;
        let stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(Duration::from_secs(10)))?;
        let mut client = Self { stream: BufReader::new(stream), packet: Vec::new() };
        client.read()?;
        let mut login = CAPABILITIES.to_le_bytes().to_vec();
        login.extend((1_u32 << 24).to_le_bytes());
        login.push(45);
        login.extend([0; 23]);
        login.extend(b"root\0\0floe\0mysql_native_password\0");
        client.write(1, &login)?;
        let mut number = 3;
        while client.read()? == Some(0xfe) {
            // The server asks for another login method. Without a password every method sends nothing.
            client.write(number, &[])?;
            number += 2;
        }
        client.fine()?;
        Ok(client)
    }

    /// Requests a ticket, as Flickr's clients do.
    pub(crate) fn ask(&mut self, together: bool) -> Result<()> {
        self.query(if together { BOTH } else { MINT })
    }

    /// The answer to the first statement.
    pub(crate) fn minted(&mut self, together: bool) -> Result<()> {
        self.read()?;
        while self.packet.starts_with(DEADLOCK) {
            self.ask(together)?;
            self.read()?;
        }
        self.fine()
    }

    /// The answer to the second.
    pub(crate) fn ticket(&mut self) -> Result<u64> {
        // One column, its description, the end of these, one row, and the end of the rows.
        self.read()?;
        self.fine()?;
        self.read()?;
        self.read()?;
        self.read()?;
        let text = self.packet.get(1..).unwrap_or_default();
        let ticket = std::str::from_utf8(text)?.parse();
        let ticket = ticket.map_err(|error| format!("{}: {error}", text.escape_ascii()))?;
        self.read()?;
        Ok(ticket)
    }

    fn query(&mut self, sql: &[u8]) -> Result<()> {
        self.write(0, &[b"\x03", sql].concat())
    }

    fn write(&mut self, number: u8, body: &[u8]) -> Result<()> {
        let mut packet = u32::try_from(body.len())?.to_le_bytes().to_vec();
        packet[3] = number;
        packet.extend_from_slice(body);
        Ok(self.stream.get_mut().write_all(&packet)?)
    }

    /// The next packet's first byte.
    fn read(&mut self) -> Result<Option<u8>> {
        let mut head = [0; 4];
        self.stream.read_exact(&mut head)?;
        head[3] = 0;
        self.packet.resize(usize::try_from(u32::from_le_bytes(head))?, 0);
        self.stream.read_exact(&mut self.packet)?;
        Ok(self.packet.first().copied())
    }

    /// Checks that the last packet is no error.
    fn fine(&self) -> Result<()> {
        match self.packet.first() {
            Some(0xff) => Err(format!("the server says {}", self.packet.escape_ascii()).into()),
            _ => Ok(()),
        }
    }
}
