//! The recorded sessions of one protocol: a file each, in which an empty line begins another connection.

use std::fs;
use std::path::Path;

use crate::transcript::{Turn, turns};

/// Runs `replay` on the turns of each connection of each session in a folder, in which there are `count` sessions.
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

/// A request's words as a transcript writes them: a space in one as `\x20`.
pub(crate) fn written(words: &[Vec<u8>]) -> String {
    let written = |word: &Vec<u8>| word.escape_ascii().to_string().replace(' ', "\\x20");
    words.iter().map(written).collect::<Vec<_>>().join(" ")
}
