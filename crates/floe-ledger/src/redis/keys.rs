//! The place of a record in the database.
//!
//! A realm is one hash, `floe:{REALM}`, and a sorted set of its fields. The braces are a hash tag: a Redis Cluster
//! keeps both in one slot, so a script may use them together. A brace in the realm's name would end the tag early, so
//! it is escaped. The text between the braces therefore belongs to one realm only.

/// The set of realms that were made in this database.
pub(super) const REALMS: &str = "floe:realms";

/// The field of the realm's own record.
pub(super) const REALM: &str = "realm";

/// The keys of one realm.
#[derive(Clone)]
pub(super) struct Keys {
    /// A hash: the layout's `version`, each record under its field, and what counters have reserved ahead.
    pub(super) records: String,
    /// The fields of all records, a sorted set with score 0: its order is that of bytes.
    pub(super) fields: String,
}

impl Keys {
    pub(super) fn of(realm: &str) -> Self {
        let tag = realm.replace('%', "%25").replace('{', "%7B").replace('}', "%7D");
        let records = format!("floe:{{{tag}}}");
        Self { fields: format!("{records}:fields"), records }
    }
}

/// The realm of a store's key, and its field there: `mark/n/orders` of `shop` for `mark/shop/n/orders`, and [`REALM`] of
/// `shop` for `realm/shop`.
pub(super) fn place_of(key: &str) -> (&str, String) {
    let (sort, rest) = key.split_once('/').unwrap_or((key, ""));
    match rest.split_once('/') {
        Some((realm, rest)) => (realm, format!("{sort}/{rest}")),
        None => (rest, sort.to_owned()),
    }
}

/// The realm of a record's key, and the field of what is reserved ahead for it: `ahead/n/orders`.
pub(super) fn ahead_of(key: &str) -> (&str, String) {
    let (realm, field) = place_of(key);
    (realm, field.replacen("mark/", "ahead/", 1))
}
