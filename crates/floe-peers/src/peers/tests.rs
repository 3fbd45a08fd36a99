//! What the tests of the models share.

pub(super) mod by_hand;
pub(super) mod hand;

mod originals;
