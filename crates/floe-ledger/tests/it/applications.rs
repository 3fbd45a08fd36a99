//! The applications in `examples/applications` that need no crate beside floe, as processes. `beside_other_crates` has
//! the others, and `tested` is itself a test.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::processes::{lines, program};

/// The output of an application, and its messages on standard error.
pub(crate) fn run(dir: &Path, program: &Path, arguments: &[&str]) -> (String, String) {
    let output =
        Command::new(program).args(arguments).current_dir(dir).stdin(Stdio::null()).output().unwrap();
    let (out, beside) =
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert!(output.status.success(), "{}: {beside}", program.display());
    (out, beside)
}

fn start(dir: &Path, name: &str, arguments: &[&str]) -> Child {
    let mut command = Command::new(program(name));
    command
        .args(arguments)
        .current_dir(dir)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    command.spawn().unwrap()
}

/// Asserts that each ID is above the one before, so none occurs twice. Returns how many there are.
#[track_caller]
pub(crate) fn ascending(ids: impl IntoIterator<Item = u64>) -> usize {
    let (mut last, mut count) = (0, 0);
    for id in ids {
        assert!(id > last, "{id} comes after {last}");
        (last, count) = (id, count + 1);
    }
    count
}

#[test]
fn a_batch_job_writes_millions_of_ids_and_none_twice() {
    let dir = tempfile::tempdir().unwrap();
    for file in ["first.txt", "second.txt"] {
        let (out, _) = run(dir.path(), &program("batch"), &[file, "1500000"]);
        assert_eq!(out, format!("1500000 IDs in {file}\n"));
    }
    let ids_of = |file| {
        let lines = BufReader::new(File::open(dir.path().join(file)).unwrap()).lines();
        lines.map(|line| line.unwrap().parse().unwrap()).collect::<Vec<u64>>()
    };
    let [mut ids, second] = ["first.txt", "second.txt"].map(ids_of);
    for file in [&ids, &second] {
        assert_eq!(ascending(file.iter().copied()), 1_500_000);
    }
    // The first process may have run some milliseconds ahead of its clock, so the second one's IDs may lie among its IDs.
    ids.extend(second);
    ids.sort_unstable();
    assert_eq!(ascending(ids.into_iter()), 3_000_000);
}

#[cfg(target_os = "linux")]
#[test]
fn five_thousand_tenants_have_numbers_of_their_own() {
    let dir = tempfile::tempdir().unwrap();
    let mut last = BTreeMap::new();
    let mut note = |line: &str| {
        let (tenant, number) = line.split_once(' ').unwrap();
        let number = number.parse::<u64>().unwrap();
        let before = last.insert(tenant.to_owned(), number).unwrap_or(0);
        assert!(number > before, "{tenant} has {number} after {before}");
        number
    };
    let (out, memory) = run(dir.path(), &program("tenants"), &["5000"]);
    assert_eq!(out.lines().filter(|line| note(line) == 1).count(), 5_000);
    let bytes: Vec<u64> =
        memory.lines().filter_map(|line| line.split_once(" bytes ")?.0.parse().ok()).collect();
    assert!(bytes.len() == 2 && bytes.iter().all(|bytes| (100..8_000).contains(bytes)), "{memory}");
    assert!(memory.contains("5000 names unloaded"), "{memory}");

    // A process is killed while it mints, and the next one repeats none of its IDs.
    let mut killed = start(dir.path(), "tenants", &["5000"]);
    assert_eq!(lines(&mut killed).take(300).map(|line| note(&line.unwrap())).count(), 300);
    killed.kill().unwrap();
    killed.wait().unwrap();
    let (out, _) = run(dir.path(), &program("tenants"), &["500"]);
    assert_eq!(out.lines().map(note).count(), 500);
}

#[test]
fn two_processes_on_one_file_share_no_id() {
    let dir = tempfile::tempdir().unwrap();
    let (out, _) = run(dir.path(), &program("two-processes"), &["ids.db", "50000"]);
    assert_eq!(out, "100000 IDs of two processes, 0 of them twice\n");

    // A process is killed while it mints beside another.
    let mut killed = start(dir.path(), "two-processes", &["ids.db", "50000000", "other"]);
    let mut theirs: Vec<u64> =
        lines(&mut killed).take(20_000).map(|id| id.unwrap().parse().unwrap()).collect();
    killed.kill().unwrap();
    killed.wait().unwrap();
    let (out, _) = run(dir.path(), &program("two-processes"), &["ids.db", "20000", "other"]);
    theirs.extend(out.lines().map(|id| id.parse::<u64>().unwrap()));
    theirs.sort_unstable();
    assert_eq!(ascending(theirs), 40_000);
}
