//! The codecs held against what real clients and servers said to each other.

mod mysql;
mod thrift;
mod transcript;
