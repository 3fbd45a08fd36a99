//! A ledger in memory.

/// A ledger in memory.
#[derive(Debug, Default)]
pub struct Memory {}
