//! URLs, paths and records, without a server.
