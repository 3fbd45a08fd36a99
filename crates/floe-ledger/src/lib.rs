//! floe-ledger
