//! Recorded sessions. A file begins with who spoke to whom; an empty line begins a connection; `>` is what the client
//! sent until the server answered, each `=` after it is a request in it, and `<` is what the server answered.
//!
//! Bytes are written as they are if they can be printed, and else as `\r`, `\n`, `\t`, `\\` and `\xff`. A request's words
//! stand between spaces; a space in one is `\x20`, and an empty one is `\e`.

use std::fs;
use std::path::Path;

/// What a client sent, what it meant, and what it was answered, which may not have been kept.
#[derive(Debug, Default)]
pub(crate) struct Exchange {
    pub(crate) sent: Vec<u8>,
    pub(crate) requests: Vec<Vec<Vec<u8>>>,
    pub(crate) answered: Vec<u8>,
}

/// Runs `replay` on each connection of each session in a folder, of which there are at least `count`.
pub(crate) fn replay_all(folder: &str, count: usize, replay: impl Fn(&str, &[Exchange])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/transcripts").join(folder);
    let mut sessions = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        let connections = connections(&fs::read_to_string(&path).unwrap());
        assert!(!connections.is_empty(), "{name} has no connection");
        connections.iter().for_each(|exchanges| replay(name, exchanges));
        sessions += 1;
    }
    assert!(sessions >= count, "only {sessions} sessions");
}

fn connections(text: &str) -> Vec<Vec<Exchange>> {
    let mut connections = Vec::new();
    let mut exchanges = Vec::new();
    for line in text.lines() {
        match line.split_at_checked(2) {
            None if line.is_empty() => connections.push(std::mem::take(&mut exchanges)),
            Some(("# ", _)) => {}
            Some(("> ", bytes)) => exchanges.push(Exchange { sent: unescape(bytes), ..Exchange::default() }),
            Some(("= ", words)) => {
                let words = words.split(' ').map(unescape).collect();
                exchanges.last_mut().unwrap().requests.push(words);
            }
            Some(("< ", bytes)) => exchanges.last_mut().unwrap().answered = unescape(bytes),
            _ => panic!("a line that is none: {line}"),
        }
    }
    connections.push(exchanges);
    connections.retain(|exchanges| !exchanges.is_empty());
    connections
}

fn unescape(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        match rest.next().unwrap() {
            b'r' => bytes.push(b'\r'),
            b'n' => bytes.push(b'\n'),
            b't' => bytes.push(b'\t'),
            b'\\' => bytes.push(b'\\'),
            b'e' => {}
            b'x' => {
                let digits = [rest.next().unwrap(), rest.next().unwrap()];
                bytes.push(u8::from_str_radix(std::str::from_utf8(&digits).unwrap(), 16).unwrap());
            }
            other => panic!("an escape that is none: {}", other.escape_ascii()),
        }
    }
    bytes
}
