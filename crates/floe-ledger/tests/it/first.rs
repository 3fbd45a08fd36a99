//! The first program of the book is a real program.

use std::process::Command;

use crate::processes::program;

#[test]
fn the_book_shows_the_example() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let page = std::fs::read_to_string(format!("{root}/docs/start.md")).unwrap();
    let example = include_str!("../../examples/first.rs");
    let shown = page.split_once("```rust\n").unwrap().1.split_once("```").unwrap().0;
    let (_, run) = example.split_once('\n').unwrap();
    assert_eq!(shown, run, "docs/start.md and examples/first.rs differ");
}

#[test]
fn the_books_first_program_mints() {
    let dir = tempfile::tempdir().unwrap();
    let mut seen = Vec::new();
    for _ in 0..2 {
        let output = Command::new(program("first")).current_dir(&dir).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let line = String::from_utf8(output.stdout).unwrap();
        let words: Vec<_> = line.split_whitespace().collect();
        assert_eq!(words[1], "1000");
        seen.extend([words[0].parse::<u64>().unwrap(), words[2].parse().unwrap()]);
    }
    assert!(seen.windows(2).all(|pair| pair[0] < pair[1]), "{seen:?}");
}
