//! Servers' messages to a ledger, for the fuzz targets. Only `cargo fuzz` builds this.

/// A server of MySQL says `bytes`, to a ledger that logs in or has logged in.
pub fn mysql(bytes: &[u8], is_logged_in: bool) {
    crate::mysql::fuzzed(bytes, is_logged_in);
}

/// A server of ZooKeeper says `bytes`.
pub fn zookeeper(bytes: &[u8]) {
    crate::zookeeper::fuzzed(bytes);
}
