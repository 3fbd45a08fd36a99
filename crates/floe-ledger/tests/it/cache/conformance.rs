//! The conformance cases over a cache. Its slots are cached. The cases bind their names to texts of no segment, so the
//! cache passes those names on.

use std::sync::Arc;

use floe::ledger::Ledger;
use floe::ledger::conformance::{CASES, Realm};
use floe_ledger::{Cache, Sqlite};
use tempfile::TempDir;

use super::{Behind, open};

mod before_a_ledger_in_memory {
    use super::*;

    fn fresh() -> Realm {
        let dir = TempDir::new().unwrap();
        let cache: Arc<dyn Ledger> = Arc::new(open(dir.path(), &Behind::default()));
        Realm::new(move || {
            // It lives as long as the realm.
            let _dir = &dir;
            Box::new(Arc::clone(&cache))
        })
    }

    floe::ledger_conformance!(fresh);
}

mod before_a_ledger_in_a_file {
    use super::*;

    fn fresh() -> Realm {
        let dir = TempDir::new().unwrap();
        let path = dir.path().join("shared.db");
        let upstream = move || Ok(Box::new(Sqlite::open(&path)?) as Box<dyn Ledger>);
        let cache = Cache::builder(dir.path().join("cache")).before_ledger("shared.db", upstream).unwrap();
        let cache: Arc<dyn Ledger> = Arc::new(cache);
        Realm::new(move || {
            let _dir = &dir;
            Box::new(Arc::clone(&cache))
        })
    }

    floe::ledger_conformance!(fresh);
}

/// Each connection is a process of its own on the one directory.
///
/// One case is left out. If two processes ask for a slot's first range at once, with different floors, they share the
/// one that the higher floor may have got. So the other one's range can begin above its floor. That is a gap, not an
/// overlap.
#[test]
fn every_case_but_one_over_many_processes_on_one_directory() {
    let fresh = || {
        let (dir, behind) = (TempDir::new().unwrap(), Behind::default());
        Realm::new(move || Box::new(open(dir.path(), &behind)))
    };
    for case in CASES.iter().filter(|case| case.name != "exact_chain_under_concurrent_floors") {
        case.check(&fresh);
    }
}
