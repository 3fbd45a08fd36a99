//! A Redis that loses confirmed writes: refused if it can be known beforehand, noticed by a node if it cannot.

use std::fs;
use std::path::{Path, PathBuf};

use floe::{Floe, MintError};
use floe_testbed::Redis;

use super::open;
use crate::says;

/// Mints until the name stops, and returns the reason.
fn why_it_stops(mint: impl Fn() -> Result<(), MintError>) -> String {
    loop {
        match mint() {
            Ok(()) | Err(MintError::Unavailable { .. } | MintError::Busy { .. }) => {}
            Err(MintError::Stopped(stopped)) => return stopped.cause,
            Err(error) => panic!("{error:?}"),
        }
    }
}

#[test]
fn a_redis_without_a_file_is_refused_and_with_the_override_the_node_stops() {
    let server = Redis::start(&["--appendonly", "no"]);
    let Err(error) = floe_ledger::open_in(&server.url(), "test") else { panic!("taken without a file") };
    says(&error, &["has appendonly = no", "appendfsync always", "unsafe=allow"]);

    let floe = Floe::open(open(&format!("{}?unsafe=allow", server.url()))).unwrap();
    let invoice = floe.counter("invoice").unwrap();
    invoice.mint().unwrap();
    server.kill();
    server.run();
    // The next call finds that the realm is gone.
    let why = why_it_stops(|| invoice.mint().map(drop));
    says(&why, &["the realm test", "is gone", "restore", "marks raise"]);
    assert!(matches!(invoice.mint(), Err(MintError::Stopped(_))));
}

#[test]
fn a_redis_that_lost_its_last_writes_is_noticed_by_the_node_that_held_them() {
    let server = Redis::start(&[]);
    let floe = Floe::open(open(&server.url())).unwrap();
    let (invoice, other) = (floe.counter("invoice").unwrap(), floe.counter("other").unwrap());
    invoice.mint().unwrap();
    other.mint().unwrap();
    server.stop();
    let earlier = Files::of(&server.home().path().join("appendonlydir"));
    server.run();
    let last = loop {
        // The first call may use the connection that the stop has closed.
        if let Ok(id) = invoice.mint() {
            break id;
        }
    };
    assert_eq!(last.to_string(), "2");
    server.kill();
    earlier.put_back();
    server.run();

    let why = why_it_stops(|| invoice.mint().map(drop));
    says(&why, &["the ledger went backwards", "`invoice`", "was 1", "up to 2", "marks raise"]);
    // A name that lost nothing continues.
    assert_eq!(other.mint().unwrap().to_string(), "2");
}

/// The contents of the files of a folder.
struct Files(Vec<(PathBuf, Vec<u8>)>);

impl Files {
    fn of(folder: &Path) -> Self {
        let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        Self(paths.map(|path| (path.clone(), fs::read(path).unwrap())).collect())
    }

    fn put_back(&self) {
        for (path, bytes) in &self.0 {
            fs::write(path, bytes).unwrap();
        }
    }
}
