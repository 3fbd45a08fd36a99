//! What a server of MySQL says to a ledger: whatever it is, the ledger ends in an error and no panic, and waits for no more than
//! comes.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (bool, &[u8])| {
    let (is_logged_in, bytes) = input;
    floe_ledger::fuzzing::mysql(bytes, is_logged_in);
});
