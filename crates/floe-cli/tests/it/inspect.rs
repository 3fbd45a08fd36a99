//! `floe inspect` and `floe form` on what stdin brings, and on more than an ID.

use std::fs::File;
use std::process::Stdio;

use serde_json::Value;

use crate::process::{Said, floe, run};

fn with_stdin(arguments: &[&str], bytes: &[u8]) -> Said {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let file = dir.path().join("ids");
    std::fs::write(&file, bytes).expect("the temporary directory takes a file");
    run(floe(arguments).stdin(Stdio::from(File::open(file).expect("the file is there"))))
}

const THREE: &[u8] =
    b"017f22e2-79b0-7cc3-98c4-dc0c0c07398f\r\n\n  01ARZ3NDEKTSV4RRFFQ69G5FAV\n175928847299117063";

#[test]
fn each_line_of_stdin_has_its_best_reading() {
    let said = with_stdin(&["inspect", "-"], THREE);
    let lines = said.lines();
    assert_eq!(lines.len(), 3, "{said:#?}");
    let times = ["2022-02-22T19:22:22.000Z", "2016-07-30T23:54:10.259Z", "2016-04-30T11:18:25.796Z"];
    for ((line, time), kind) in
        lines.iter().zip(times).zip(["UUID version 7", "ULID", "snowflake of discord"])
    {
        let columns: Vec<&str> = line.split('\t').collect();
        assert!(columns.len() == 4 && columns[1].starts_with(kind) && columns[2] == time, "{columns:?}");
    }
    let said = with_stdin(&["inspect", "-", "--json"], THREE);
    let objects: Vec<Value> =
        said.lines().iter().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(objects.len(), 3);
    assert!(objects.iter().zip(times).all(|(object, time)| object["readings"][0]["time"] == time));
    let said = with_stdin(&["inspect", "-", "--layout", "twitter"], b"1541815603606036480\n");
    assert!(said.lines()[0].contains("2022-06-28T16:07:40.105Z"), "{said:#?}");
}

#[test]
fn lines_that_are_no_ids_are_told_and_the_others_read() {
    let mut input = b"he\x1b[2Jllo\n\xff\xfe\n".to_vec();
    input.extend(std::iter::repeat_n(b'7', 10_000_000));
    input.extend(b"\n01ARZ3NDEKTSV4RRFFQ69G5FAV\n");
    let said = with_stdin(&["inspect", "-"], &input);
    said.refuses(1, &["3 of 4 lines are not IDs"]);
    let lines: Vec<&str> = said.out.lines().collect();
    assert_eq!(lines.len(), 4, "{lines:?}");
    assert!(lines.iter().take(3).all(|line| line.contains("\tno ID\t") && line.len() < 700), "{lines:?}");
    assert!(lines[3].contains("ULID"), "{lines:?}");
    assert!(
        !said.out.contains('\u{1b}') && !said.err.contains('\u{1b}'),
        "what a terminal would obey: {lines:?}"
    );
    with_stdin(&["form", "decode", "base62", "-"], &input[8..]).refuses(1, &["error: "]);
    with_stdin(&["form", "decode", "base62", "-"], &[b'7'; 1_000_000]).refuses(1, &["over 512 bytes"]);
    let said = with_stdin(&["inspect", "-", "--json"], b"hello\n");
    assert!(said.out.contains("\"error\":") && said.code == Some(1), "{said:#?}");
    with_stdin(&["inspect", "-"], b"\n\n").refuses(2, &["stdin has no ID"]);
    with_stdin(&["inspect", "-", "--explain"], THREE).refuses(2, &["--explain"]);
}

#[test]
fn what_is_too_long_is_refused_and_not_repeated() {
    for text in ["7".repeat(100_000), "é".repeat(50_000), "{".repeat(100_000), "a_".repeat(50_000)] {
        for arguments in
            [&["inspect", &text][..], &["form", "decode", "base62", &text], &["form", "encode", "hex", &text]]
        {
            let said = run(&mut floe(arguments));
            assert!(said.code == Some(1) || said.code == Some(2), "{:?}", said.code);
            assert!(said.err.contains("error: ") && said.err.len() < 1_000, "{}", said.err);
        }
    }
}

#[test]
fn a_form_reads_and_writes_lines_of_stdin() {
    let texts = with_stdin(&["form", "encode", "base62 width=11", "-"], b"1\n1212092628029698048\n");
    assert_eq!(texts.lines(), ["00000000001", "1RXOcR2DqUK"]);
    let numbers = with_stdin(&["form", "decode", "base62 width=11", "-"], texts.out.as_bytes());
    assert_eq!(numbers.lines(), ["1", "1212092628029698048"]);
    // What came before the mistake is out, and the mistake is named.
    let said = with_stdin(&["form", "decode", "hex", "-"], b"ff\nFF\n00\n");
    said.refuses(1, &["\"FF\"", "byte 0", "wrong case"]);
    assert_eq!(said.out, "255\n");
}

#[test]
fn a_key_comes_from_a_file_or_the_environment() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let file = dir.path().join("key");
    std::fs::write(&file, "1:000102030405060708090a0b0c0d0e0f\n2:0f0e0d0c0b0a09080706050403020100\n")
        .expect("a file");
    let form = "sealed key=1 keyid=prefix base62 width=11";
    let by_file = run(floe(["form", "encode", form, "1000", "--key-file"]).arg(&file));
    assert_eq!(by_file.lines(), ["1-5MIzgllb7ch"]);
    // What is written on the command line goes before the environment.
    let both = run(floe(["form", "encode", form, "1000", "--key-file"]).arg(&file).env("FLOE_FORM_KEY", "x"));
    assert_eq!(both.lines(), by_file.lines());
    let by_environment =
        run(floe(["form", "encode", form, "1000"]).env("FLOE_FORM_KEY", "000102030405060708090a0b0c0d0e0f"));
    assert_eq!(by_environment.lines(), by_file.lines());
    // Whoever has no seal to make may have a key in the environment all the same.
    assert_eq!(run(floe(["form", "encode", "hex", "255"]).env("FLOE_FORM_KEY", "x")).lines(), ["ff"]);
}
