//! floe-server
