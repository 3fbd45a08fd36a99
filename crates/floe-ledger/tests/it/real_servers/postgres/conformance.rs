//! Every conformance case, for realms in the same tables and for realms with a schema each. One test each: a runner
//! with a process per test would start a server for each.

use floe::ledger::conformance;

use super::{Postgres, open, schema};
use crate::real_servers::realm_of;

#[test]
fn realms_in_the_same_tables() {
    let url = Postgres::shared().url();
    conformance::run(&|| {
        let (url, realm) = (url.clone(), schema());
        realm_of(move || floe_ledger::open_in(&url, &realm).unwrap())
    });
}

#[test]
fn a_schema_for_each_realm() {
    conformance::run(&|| {
        let url = format!("{}?schema={}", Postgres::shared().url(), schema());
        realm_of(move || open(&url))
    });
}
