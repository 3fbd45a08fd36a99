//! The server: a tokio shell around the library `floe`.
//!
//! Every protocol translates to the one `Service`, which decides; every error has one row in one table.
//! This crate knows `floe` and its ledgers, and no user's terminal: `floe-cli` calls [`serve`].
#![forbid(unsafe_code)]
#![cfg_attr(
    not(all(
        feature = "protocol-grpc",
        feature = "protocol-memcached",
        feature = "protocol-mysql",
        feature = "protocol-resp",
        feature = "protocol-thrift"
    )),
    allow(
        dead_code,
        unused_imports,
        unused_variables,
        reason = "no protocol needs all that there is for them"
    )
)]

mod access;
mod awaited;
mod clients;
mod config;
#[cfg(unix)]
mod files;
mod fronts;
#[cfg(test)]
#[path = "../../../examples/protocol/codec.rs"]
mod lines_codec;
mod listener;
mod log;
mod metrics;
mod protocols;
mod rewound;
mod server;
mod service;
mod session;
mod status;
#[cfg(test)]
mod tests;
mod tls;

pub use config::{
    ClockSettings, Config, ConfigError, DefaultNames, Endpoint, Limits, LogFormat, LogSettings, NameRule,
    NameSettings, NativeHash, NewNames, NewToken, Places, TinyIdToken, TokenHash, TokenSettings,
    parse_duration, show_duration,
};
pub use log::json_line;
pub use server::{ServeError, Started, run, serve};
pub use tls::TlsSettings;
