//! Every conformance case over SQLite: a file for each realm, and many realms in one file.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};

use floe::ledger::conformance::Realm;
use floe_ledger::Sqlite;
use tempfile::TempDir;

mod a_file_for_each_realm {
    use super::{Realm, Sqlite, TempDir};

    fn fresh() -> Realm {
        let dir = TempDir::new().unwrap();
        Realm::new(move || Box::new(Sqlite::open(dir.path().join("ids.db")).unwrap()))
    }

    floe::ledger_conformance!(fresh);
}

mod realms_in_one_file {
    use super::{Arc, AtomicU64, Mutex, Ordering, Realm, Sqlite, TempDir, Weak};

    /// The directory lives as long as any realm in it.
    static DIR: Mutex<Weak<TempDir>> = Mutex::new(Weak::new());
    static REALMS: AtomicU64 = AtomicU64::new(0);

    fn fresh() -> Realm {
        let mut known = DIR.lock().unwrap();
        let dir = known.upgrade().unwrap_or_else(|| Arc::new(TempDir::new().unwrap()));
        *known = Arc::downgrade(&dir);
        let builder = Sqlite::builder().realm(&format!("realm-{}", REALMS.fetch_add(1, Ordering::Relaxed)));
        Realm::new(move || Box::new(builder.in_dir(dir.path()).unwrap()))
    }

    floe::ledger_conformance!(fresh);
}
