//! Servers' messages to a ledger, for the fuzz targets. Only `cargo fuzz` builds this.

/// A server of MySQL says `bytes`, to a ledger that logs in or has logged in.
pub fn mysql(bytes: &[u8], is_logged_in: bool) {
    crate::mysql::fuzzed(bytes, is_logged_in);
}

/// A floe server answers `bytes` to a ledger on it. Returns whether that is an answer; if so, it is the same after it
/// was written and read again.
#[cfg(feature = "offer")]
pub fn said(bytes: &[u8]) -> bool {
    let read = |bytes: &[u8]| serde_json::from_slice::<crate::offer::Said>(bytes).ok();
    let Some(said) = read(bytes) else { return false };
    let again = serde_json::to_vec(&said).ok().and_then(|written| read(&written));
    assert_eq!(again.map(|again| format!("{again:?}")), Some(format!("{said:?}")));
    true
}

/// A server of ZooKeeper says `bytes`.
pub fn zookeeper(bytes: &[u8]) {
    crate::zookeeper::fuzzed(bytes);
}
