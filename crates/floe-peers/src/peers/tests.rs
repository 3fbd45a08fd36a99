//! What the tests of the models share.

pub(super) mod manual_fleet;
pub(super) mod manual_host;

mod originals;
