//! The codes of the errors that a ledger tells apart.

pub(super) const UNIMPLEMENTED: i32 = -6;
pub(super) const NO_NODE: i32 = -101;
pub(super) const NO_AUTH: i32 = -102;
pub(super) const BAD_VERSION: i32 = -103;
pub(super) const NODE_EXISTS: i32 = -110;
pub(super) const INVALID_ACL: i32 = -114;
pub(super) const AUTH_FAILED: i32 = -115;
pub(super) const NOT_READ_ONLY: i32 = -119;
pub(super) const REQUIRES_AUTH: i32 = -124;
pub(super) const QUOTA_EXCEEDED: i32 = -125;
pub(super) const THROTTLED: i32 = -127;
