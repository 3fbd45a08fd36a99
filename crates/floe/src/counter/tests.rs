//! Counters and dated names of a floe by hand.

use super::*;
use crate::definition::Overflow;
use crate::manual::tests::Rig;

#[test]
fn one_call_after_another_gets_the_next_number_and_reserves_no_other() {
    let rig = Rig::new();
    let invoices = rig.floe.counter("invoices").unwrap();
    let dated = rig.floe.dated("dated", DatedShape::new("UTC", 4, "", Overflow::Refuse).unwrap()).unwrap();
    for number in 1..4 {
        assert_eq!(rig.block_on(invoices.mint_async()).unwrap().get(), number);
        let id = rig.block_on(dated.mint_async()).unwrap().to_string();
        assert_eq!(id, format!("20260301000{number}"));
    }
}
