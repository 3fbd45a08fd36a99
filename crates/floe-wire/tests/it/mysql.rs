//! Sessions of ticket servers' clients with MariaDB.

use floe_wire::mysql::{self, Capabilities, Command, Done, Opening, Replies, Salt, Status, sql};
use sql::{Statement, Which};

use crate::transcript::{Turn, turns};

/// `SHA1(SHA1("secret"))`.
const STORED: [u8; 20] = *b"\x14\xe6\x55\x67\xab\xdb\x51\x35\xd0\xcf\xd9\xa7\x0b\x30\x32\xc1\x79\xa4\x9e\xe7";

const SESSIONS: [(&str, &str); 8] = [
    ("connector-java", include_str!("transcripts/mysql/connector-java.txt")),
    ("mariadb-cli", include_str!("transcripts/mysql/mariadb-cli.txt")),
    ("pymysql", include_str!("transcripts/mysql/pymysql.txt")),
    ("connector-python", include_str!("transcripts/mysql/connector-python.txt")),
    ("mysql2", include_str!("transcripts/mysql/mysql2.txt")),
    ("mysqli", include_str!("transcripts/mysql/mysqli.txt")),
    ("pdo", include_str!("transcripts/mysql/pdo.txt")),
    ("dbd-mariadb", include_str!("transcripts/mysql/dbd-mariadb.txt")),
];

#[test]
fn sessions_of_real_clients_are_read_wholly() {
    for (client, text) in SESSIONS {
        let mut session = Session::default();
        for turn in turns(text) {
            assert_eq!(session.read(&turn), turn.requests, "{client}");
        }
        assert!(session.logins > 0, "{client}");
    }
}

#[test]
fn oks_are_written_as_the_real_server_writes_them() {
    let mut compared = 0;
    for (client, text) in SESSIONS {
        for turn in turns(text) {
            let Some((mysql::Packet { sequence, payload }, consumed)) = packet(&turn.answered) else {
                continue;
            };
            let Some(done) = ok(payload).filter(|_| consumed == turn.answered.len()) else { continue };
            let mut out = Vec::new();
            let mut replies = Replies::new(&mut out, sequence.wrapping_sub(1), Capabilities::OFFERED);
            replies.ok(&done);
            assert_eq!(out, turn.answered, "{client}");
            compared += 1;
        }
    }
    assert!(compared > 20, "{compared}");
}

fn packet(bytes: &[u8]) -> Option<(mysql::Packet<'_>, usize)> {
    mysql::packet(bytes, 1 << 16).expect("a packet")
}

/// Reads an OK packet of a server that tracks nothing. `None` if it has a status that floe does not know.
fn ok(payload: &[u8]) -> Option<Done> {
    let (affected, last_insert_id, flags) = match *payload {
        [0, affected @ 0..=0xfa, id @ 0..=0xfa, low, 0, 0, 0] => (affected, u64::from(id), low),
        [0, affected @ 0..=0xfa, 0xfc, low_id, high_id, low, 0, 0, 0] => {
            (affected, u64::from(u16::from_le_bytes([low_id, high_id])), low)
        }
        _ => return None,
    };
    let status =
        Status { in_transaction: flags & 1 != 0, autocommit: flags & 2 != 0, more_results: flags & 8 != 0 };
    (flags & !0b1011 == 0).then_some(Done { affected: affected.into(), last_insert_id, status })
}

/// The state of a connection that its reader needs.
#[derive(Default)]
struct Session {
    salt: Option<Salt>,
    capabilities: Option<Capabilities>,
    logins: usize,
    types: Vec<[u8; 2]>,
}

impl Session {
    /// The requests in a turn's packets.
    fn read(&mut self, turn: &Turn) -> Vec<String> {
        let mut asked = Vec::new();
        let mut rest = &turn.sent[..];
        while let Some((packet, consumed)) = packet(rest) {
            asked.extend(self.packet(&packet));
            rest = &rest[consumed..];
        }
        assert_eq!(rest, b"");
        if let Some((greeting, _)) = packet(&turn.answered)
            && greeting.sequence == 0
        {
            self.salt = Some(salt(greeting.payload));
            self.capabilities = None;
        }
        asked
    }

    fn packet(&mut self, packet: &mysql::Packet<'_>) -> Vec<String> {
        let Some(capabilities) = self.capabilities else {
            let opening = Opening::read(packet, Capabilities::OFFERED, false).expect("a login");
            let Opening::Login(login) = opening else { return vec!["tls".to_owned()] };
            let salt = self.salt.expect("a greeting");
            let known = mysql::native_password(login.proof, &salt, &STORED);
            self.capabilities = Some(login.capabilities);
            self.logins += 1;
            let database = shown(login.database.unwrap_or_default());
            let plugin = shown(login.plugin.unwrap_or_default());
            return vec![format!("login {} {database} {plugin} {known}", shown(login.user))];
        };
        match Command::read(packet, capabilities).expect("a command") {
            Command::Query(text) => sql::statements(text).map(|parsed| statement(&parsed)).collect(),
            Command::Prepare(text) => {
                let parsed: Vec<_> = sql::statements(text).map(|parsed| statement(&parsed)).collect();
                vec![format!("prepare {}", parsed.join("; "))]
            }
            Command::Execute(execute) => {
                // A packet is as long as its parameters need. These sessions bind at most one.
                let count = usize::from(packet.payload.len() > 10);
                let bound = execute.parameters(count, &mut self.types).expect("parameters");
                vec![format!("execute {} {:?}", execute.statement, bound.collect::<Vec<_>>())]
            }
            Command::InitDb(name) => vec![format!("init_db {}", shown(name))],
            other => vec![format!("{other:?}")],
        }
    }
}

fn salt(greeting: &[u8]) -> Salt {
    let after_version = &greeting[greeting.iter().position(|byte| *byte == 0).expect("a version") + 1..];
    let (front, back) = (&after_version[4..12], &after_version[31..43]);
    Salt::new([front, back].concat().try_into().expect("20 bytes")).expect("printable bytes")
}

fn shown(text: &[u8]) -> &str {
    str::from_utf8(text).expect("UTF-8")
}

fn statement(parsed: &sql::Parsed<'_>) -> String {
    let table = |table: &sql::Table<'_>| match table.database {
        Some(database) => format!("{}.{}", shown(database), shown(table.name)),
        None => shown(table.name).to_owned(),
    };
    let text = match &parsed.statement {
        Statement::Insert { table: name, rows, replace } => {
            format!("{} {} {rows}", if *replace { "replace" } else { "insert" }, table(name))
        }
        Statement::Select { items, limit } => {
            let names: Vec<_> = items.iter().map(|item| shown(item.name)).collect();
            format!("select {} {limit:?}", names.join(", "))
        }
        Statement::Use(name) => format!("use {}", shown(name)),
        Statement::Raise { table: name, next } => format!("raise {} {next}", table(name)),
        Statement::ShowVariables(Which::Like(pattern)) => format!("show like {}", shown(pattern)),
        Statement::Other(near) => format!("other near {}", shown(near)),
        other => format!("{other:?}"),
    };
    if parsed.parameters == 0 { text } else { format!("{text} with {}", parsed.parameters) }
}
