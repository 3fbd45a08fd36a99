//! Where a realm keeps what in the database.
//!
//! Every key of a realm begins with `floe:{realm}`. The braces are a hash tag: a Redis Cluster keeps all of them in
//! one slot, so a script may use them together. A brace in the realm's name would end the tag early and is escaped,
//! so what stands between the braces is one realm's alone.

use floe::ledger::Key;

/// The realms that were made in this database, a set.
pub(super) const REALMS: &str = "floe:realms";

/// The keys of one realm.
pub(super) struct Keys {
    /// The realm's name.
    pub(super) name: String,
    /// A hash: `version` of the layout, and the realm's `id`.
    pub(super) realm: String,
    /// The keys of all records, a sorted set with score 0: its order is that of bytes.
    pub(super) records: String,
    /// The names that are bound, in the same way.
    pub(super) names: String,
    /// A hash from each name to its definition.
    pub(super) definitions: String,
}

impl Keys {
    pub(super) fn of(name: &str) -> Self {
        let tag = name.replace('%', "%25").replace('{', "%7B").replace('}', "%7D");
        let realm = format!("floe:{{{tag}}}");
        Self {
            name: name.to_owned(),
            records: format!("{realm}:records"),
            names: format!("{realm}:names"),
            definitions: format!("{realm}:definitions"),
            realm,
        }
    }

    /// One record, a hash: `previous`, `start`, `mark`, `token`, and perhaps `note`.
    pub(super) fn record(&self, key: &Key) -> String {
        self.record_of(key.as_str())
    }

    pub(super) fn record_of(&self, key: &str) -> String {
        format!("{}:m:{key}", self.realm)
    }
}
