//! The recorded sessions of one protocol, one file each. An empty line in it begins another connection.

use std::fs;
use std::path::Path;

use crate::transcript::{Turn, turns};

/// Runs `replay` on the turns of each connection in a folder of `count` sessions.
pub(crate) fn replay_all(folder: &str, count: usize, replay: impl Fn(&str, &[Turn])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/transcripts").join(folder);
    let mut sessions = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        for connection in fs::read_to_string(&path).unwrap().split("\n\n") {
            let turns = turns(connection.trim_end());
            assert!(!turns.is_empty(), "{name} has a connection in which nothing was said");
            replay(name, &turns);
        }
        sessions += 1;
    }
    assert_eq!(sessions, count, "as many as were recorded");
}

/// A request's words in a transcript's notation: a space inside a word is `\x20`.
pub(crate) fn written(words: &[Vec<u8>]) -> String {
    let written = |word: &Vec<u8>| word.escape_ascii().to_string().replace(' ', "\\x20");
    words.iter().map(written).collect::<Vec<_>>().join(" ")
}
