//! Questions to a floe server that offers its ledger, one a line: each is answered or refused. A ledger on that server reads
//! each answer, and whatever else it is told.
#![no_main]

use floe::ledger::{Ledger, Memory};
use floe_ledger::fuzzing;
use floe_ledger::offer::Offer;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let store = Memory::default();
    let id = store.realm_id().expect("a memory has one");
    let offer = Offer::new(move |_| Ok(Box::new(store.clone())));
    for line in input.split(|byte| *byte == b'\n') {
        // Nobody guesses a random id, so a question writes it as `REALM`.
        let question = match std::str::from_utf8(line) {
            Ok(text) => text.replace("REALM", &id).into_bytes(),
            Err(_) => line.to_vec(),
        };
        if let Ok(answered) = offer.answer("shop", |_: &str| true, &question) {
            assert!(fuzzing::said(&answered.body), "{:?}", String::from_utf8_lossy(&answered.body));
        }
        let _is_an_answer = fuzzing::said(&question);
    }
});
