//! A MySQL client's packets, from the login on: nothing is read past the end, pieces do not matter, and SQL is divided
//! the same way wherever it stands.
#![no_main]

use floe_wire::mysql::{Capabilities, Command, Error, Opening, Packet, packet, sql};
use libfuzzer_sys::fuzz_target;

const LIMIT: usize = 600;

fuzz_target!(|input: (u8, &[u8])| {
    let (piece, bytes) = input;
    let whole = read(bytes, bytes.len().max(1));
    assert_eq!(read(bytes, 1), whole);
    assert_eq!(read(bytes, usize::from(piece).max(1)), whole);
});

/// What was read when `piece` bytes came at a time, and how it ended.
fn read(bytes: &[u8], piece: usize) -> (Vec<String>, usize, Option<Error>) {
    let offered = Capabilities::OFFERED.with(Capabilities::TLS);
    let (mut requests, mut at, mut end) = (Vec::new(), 0, 0);
    let (mut login, mut tls) = (None, false);
    let mut types = Vec::new();
    while end < bytes.len() {
        end = (end + piece).min(bytes.len());
        loop {
            let (packet, consumed) = match packet(&bytes[at..end], LIMIT) {
                Ok(None) => {
                    assert!(end - at < 4 + LIMIT, "waits for more than a packet may have");
                    break;
                }
                Ok(Some(read)) => read,
                Err(error) => return (requests, at, Some(error)),
            };
            assert!(
                consumed == 4 + packet.payload.len() && consumed <= end - at && packet.payload.len() <= LIMIT
            );
            assert!(!matches!(floe_wire::mysql::packet(&bytes[at..at + consumed - 1], LIMIT), Ok(Some(_))));
            let asked = match login {
                None => Opening::read(&packet, offered, tls).map(|opening| {
                    match &opening {
                        Opening::Tls => tls = true,
                        Opening::Login(who) => login = Some(who.capabilities),
                    }
                    format!("{opening:?}")
                }),
                Some(capabilities) => command(&packet, capabilities, &mut types),
            };
            match asked {
                Ok(asked) => requests.push(asked),
                Err(error) => return (requests, at, Some(error)),
            }
            at += consumed;
        }
    }
    (requests, at, None)
}

fn command(
    packet: &Packet<'_>,
    capabilities: Capabilities,
    types: &mut Vec<[u8; 2]>,
) -> Result<String, Error> {
    let command = Command::read(packet, capabilities)?;
    match &command {
        Command::Query(text) | Command::Prepare(text) => divided(text),
        Command::Execute(execute) => {
            let count = usize::try_from(execute.statement).unwrap_or(usize::MAX);
            if let Some(parameters) = execute.parameters(count, types) {
                let values: Vec<_> = parameters.collect();
                assert!(values.len() <= count);
                assert!(values.len() == count || values.last().is_some_and(Result::is_err));
                return Ok(format!("{command:?} {values:?}"));
            }
        }
        _ => {}
    }
    Ok(format!("{command:?}"))
}

fn divided(text: &[u8]) {
    let read: Vec<_> = sql::statements(text).collect();
    let most = text.iter().filter(|byte| **byte == b';').count() + 1;
    assert!((1..=most).contains(&read.len()));
    let moved = [b"/* ; */ ", text].concat();
    assert!(sql::statements(&moved).eq(read.iter().cloned()), "a comment changes it");
    let behind = [b"COMMIT;", text].concat();
    let last: Vec<_> = sql::statements(&behind).skip(1).collect();
    let nothing = read.len() == 1 && read[0].statement == sql::Statement::Empty && last.is_empty();
    assert!(nothing || last == read, "what comes before changes it");
    for parsed in &read {
        match &parsed.statement {
            sql::Statement::Insert { rows, table, .. } => {
                assert!((1..=text.len()).contains(rows) && !table.name.is_empty());
            }
            sql::Statement::Select { items, .. } => assert!((1..=sql::MOST).contains(&items.len())),
            sql::Statement::Other(_) => assert_eq!(parsed.parameters, 0),
            _ => {}
        }
        assert!(parsed.parameters <= text.len());
    }
}
