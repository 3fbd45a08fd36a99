//! A server that nobody asks: it is ready soon, stays small, and writes nothing.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, SystemTime};

use crate::client::mint;
use crate::kill::start;
use crate::process::{PATIENCE, configuration, now, until};

/// All that a process has written, and when its files changed.
#[derive(PartialEq, Eq, Debug)]
struct Written {
    files: BTreeMap<String, (u64, SystemTime)>,
    counters: Vec<String>,
}

impl Written {
    fn of(pid: u32, data: &Path) -> Self {
        let entries = std::fs::read_dir(data).expect("the data directory can be listed");
        let files = entries.map(|entry| {
            let entry = entry.expect("an entry");
            let about = entry.metadata().expect("its metadata");
            let name = entry.file_name().into_string().expect("a name in UTF-8");
            (name, (about.len(), about.modified().expect("a time of change")))
        });
        let io =
            std::fs::read_to_string(format!("/proc/{pid}/io")).expect("Linux counts what a process writes");
        let writes = |line: &&str| {
            ["wchar:", "syscw:", "write_bytes:"].iter().any(|counter| line.starts_with(counter))
        };
        let counters: Vec<String> = io.lines().filter(writes).map(str::to_owned).collect();
        assert_eq!(counters.len(), 3, "{io}");
        Self { files: files.collect(), counters }
    }
}

#[test]
fn an_idle_embedded_server_writes_nothing() {
    const WINDOW: Duration = Duration::from_millis(300);
    let dir = tempfile::tempdir().expect("a temporary directory");
    let data = dir.path().join("data");
    let config = configuration(dir.path(), "realm = \"shop\"\nwindow = \"300ms\"");
    let begun = now();
    let server = start(dir.path(), &config, &[]);
    println!("listening after {:?}", begun.elapsed());
    for name in ["orders", "tickets", "visits", "invoice"] {
        mint(server.url(), name, 1);
    }
    println!("all kinds minted after {:?}", begun.elapsed());
    // What the last calls began may still be written; from some point on, three whole windows pass without a byte.
    let mut before = Written::of(server.pid(), &data);
    let mut since = now();
    until(PATIENCE, "three windows without a write", || {
        let after = Written::of(server.pid(), &data);
        if after != before {
            before = after;
            since = now();
        }
        (since.elapsed() > 3 * WINDOW).then_some(())
    });
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.pid())).expect("Linux tells");
    println!("idle at {:?}", status.lines().find(|line| line.starts_with("VmRSS")));
    // It was idle, not dead.
    assert_eq!(mint(server.url(), "orders", 3).len(), 3);
    assert_ne!(Written::of(server.pid(), &data), before, "a mint after an idle window writes its mark first");
}
