//! Where a server listens, an address of TCP or a socket in the file system, and what is spoken there.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

use toml::de::DeValue;

use super::reader;

/// Where a server listens.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Endpoint {
    /// TCP. Port 0 takes a free one.
    Tcp(SocketAddr),
    /// A unix socket at this path. Clients that may write to the file may connect.
    Unix(PathBuf),
}

impl Endpoint {
    /// Whether other machines can reach it.
    pub fn is_exposed(&self) -> bool {
        match self {
            Self::Tcp(address) => !address.ip().is_loopback(),
            Self::Unix(_) => false,
        }
    }
}

/// As it is written in a configuration: `127.0.0.1:7600`, or `unix:/run/floe.sock`.
impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => write!(f, "{address}"),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

/// `127.0.0.1:7600`, `[::1]:7600`, `localhost:7600` for the first, or `unix:/run/floe.sock`.
///
/// # Errors
/// A text that says what is expected.
impl FromStr for Endpoint {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(path) = text.strip_prefix("unix:") {
            return match path {
                "" => Err(format!("{text:?} names no file: write it like \"unix:/run/floe.sock\"")),
                path => Ok(Self::Unix(PathBuf::from(path))),
            };
        }
        let numeric = match text.strip_prefix("localhost:") {
            Some(port) => format!("127.0.0.1:{port}"),
            None => text.to_owned(),
        };
        numeric.parse().map(Self::Tcp).map_err(|_| {
            format!(
                "{text:?} is not an address with a port: write it like \"127.0.0.1:7600\", \"[::]:7600\" or \"unix:/run/floe.sock\", or \"off\" for none"
            )
        })
    }
}

/// Names of machines, without a port.
pub(super) fn hosts(value: &DeValue<'_>) -> Result<Vec<String>, String> {
    let DeValue::Array(hosts) = value else {
        return Err(format!("expected names such as [\"ids.example.com\"], found {}", reader::shown(value)));
    };
    let host = |host: String| match host
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte))
    {
        true if !host.is_empty() => Ok(host),
        _ => Err(format!(
            "{host:?} is not a host name: write it without a scheme and a port, such as \"ids.example.com\""
        )),
    };
    hosts.iter().map(|text| reader::text(text.get_ref()).and_then(host)).collect()
}

/// Reads endpoints: one, several with commas between them, a list, or `off`.
pub(super) fn endpoints(value: &DeValue<'_>) -> Result<Vec<Endpoint>, String> {
    match value {
        DeValue::String(text) if text == "off" => Ok(Vec::new()),
        DeValue::String(text) => text.split(',').map(|text| text.trim().parse()).collect(),
        DeValue::Array(endpoints) => {
            endpoints.iter().map(|text| reader::text(text.get_ref()).and_then(|text| text.parse())).collect()
        }
        other => {
            Err(format!("expected addresses such as [\"127.0.0.1:7600\"], found {}", reader::shown(other)))
        }
    }
}
