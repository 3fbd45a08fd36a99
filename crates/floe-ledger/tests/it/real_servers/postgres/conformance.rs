//! Every conformance case, for realms in the same tables and for realms with a schema each.

use floe::ledger::conformance::{self, Realm};

use super::{Postgres, open, schema};

mod realms_in_the_same_tables {
    use super::{Postgres, Realm, schema};

    fn fresh() -> Realm {
        let (url, realm) = (Postgres::shared().url(), schema());
        Realm::new(move || floe_ledger::open(&url, &realm).unwrap())
    }

    floe::ledger_conformance!(fresh);
}

/// One test, since a runner that starts a process for each would start a server for each.
#[test]
fn a_schema_for_each_realm() {
    conformance::run(&|| {
        let url = format!("{}?schema={}", Postgres::shared().url(), schema());
        Realm::new(move || open(&url))
    });
}
