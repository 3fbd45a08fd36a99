//! What a loss of power can take back: the calls by which a process writes, names and flushes its files, in their order.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use crate::processes::program;

/// What is not on disk at one moment of a process.
#[derive(Default)]
struct Unflushed {
    /// The files that were written to.
    content: BTreeSet<String>,
    /// The directories in which a file or a directory got a name.
    names: BTreeSet<String>,
}

impl Unflushed {
    fn name(&mut self, path: &str) {
        self.names.insert(Path::new(path).parent().unwrap().display().to_string());
    }

    /// All of it that has to be on disk. SQLite makes the WAL's index again, and the witness is flushed now and then.
    fn all(&self) -> Vec<&String> {
        let may_be_lost = |path: &&String| path.ends_with("-shm") || path.ends_with("floe.db-witness");
        self.names.iter().chain(self.content.iter().filter(|path| !may_be_lost(path))).collect()
    }
}

/// What `reserve` does to its files in a first start in `dir`, and in so many reservations: a call and its paths.
fn calls(dir: &Path, times: usize) -> Vec<[String; 3]> {
    let beside = TempDir::new().unwrap();
    let [library, calls] = ["calls.so", "calls"].map(|name| beside.path().join(name));
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/flushes.c");
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-o"]).arg(&library).args([source, "-ldl"]);
    assert!(compiler.status().unwrap().success());
    File::create(&calls).unwrap();
    let output = Command::new(program("reserve"))
        .args([&format!("sqlite:{}/floe.db", dir.display()), "orders", "1", &times.to_string()])
        .env("LD_PRELOAD", library)
        .env("FLOE_TEST_CALLS", &calls)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = fs::read_to_string(calls).unwrap();
    let fields = |line: &str| line.splitn(3, '\t').map(str::to_owned).collect::<Vec<_>>();
    text.lines().map(|line| fields(line).try_into().unwrap()).collect()
}

#[test]
fn nothing_is_told_or_gets_a_name_before_what_it_needs_is_on_disk() {
    const TIMES: usize = 3;
    let parent = TempDir::new().unwrap();
    let dir = parent.path().canonicalize().unwrap().join("floe-data");
    let in_dir = |name: &str| dir.join(name).display().to_string();
    let (mut unflushed, mut written) = (Unflushed::default(), BTreeSet::new());
    let (mut made, mut named, mut told) = (Vec::new(), Vec::new(), 0);
    for [call, path, to] in calls(&dir, TIMES) {
        match call.as_str() {
            "write" if path == "stdout" => {
                assert_eq!(unflushed.all(), [""; 0], "after {told} answers");
                assert!(written.remove(&in_dir("floe.db-wal")), "{told}: nothing was committed");
                told += 1;
            }
            "write" => {
                written.insert(path.clone());
                unflushed.content.insert(path);
            }
            "flush" => {
                unflushed.content.remove(&path);
                unflushed.names.remove(&path);
            }
            "mkdir" => {
                unflushed.name(&path);
                made.push(path);
            }
            "link" | "rename" => {
                assert!(written.contains(&path), "{path} is empty");
                assert!(
                    !unflushed.content.contains(&path),
                    "{path} gets a name before its content is on disk"
                );
                // Who finds the later name relies on the earlier one.
                assert_eq!(unflushed.names, BTreeSet::new(), "before {to} gets its name");
                unflushed.name(&to);
                named.push(to);
            }
            "unlink" => drop(unflushed.content.remove(&path)),
            call => panic!("{call}"),
        }
    }
    // A call that is not seen breaks nothing above.
    assert_eq!(made, [dir.display().to_string()]);
    assert_eq!(named, ["floe.db", "floe.db-witness", "realm"].map(in_dir));
    assert_eq!(told, 1 + TIMES, "the realm, and the ranges");
}

/// Every 1,024 turns; a process before it may have been killed when that was due.
#[test]
fn a_process_flushes_what_those_before_it_have_noted() {
    let parent = TempDir::new().unwrap();
    let dir = parent.path().canonicalize().unwrap().join("floe-data");
    let witness = dir.join("floe.db-witness").display().to_string();
    let flushes = |times| {
        let calls = calls(&dir, times);
        calls.iter().filter(|[call, path, _]| call == "flush" && *path == witness).count()
    };
    assert_eq!(flushes(1_030), 1, "besides the one of its making, which is of a draft");
    assert_eq!(flushes(3), 1);
}
