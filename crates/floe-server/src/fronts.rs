//! The protocols that clients speak, a module each.

pub(crate) mod grpc;
pub(crate) mod http;
pub(crate) mod memcached;
pub(crate) mod mysql;
pub(crate) mod resp;
pub(crate) mod thrift;
