//! What a server of ZooKeeper says to a ledger: whatever it is, the ledger ends in an error and no panic.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| floe_ledger::fuzzing::zookeeper(bytes));
