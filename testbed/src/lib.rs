//! Real servers for tests and benchmarks: on free loopback ports, as an ordinary user, in a directory that is deleted
//! with the test, however the test ends.
//!
//! A [`Server`] can be killed, frozen, stopped and started again with its files and its port. A [`Proxy`] in front of
//! it loses replies or cuts the network. The programs come from the system (on Debian: `postgresql`, `mariadb-server`,
//! `redis-server`, `etcd-server`, `zookeeper` with a Java runtime), or from `scripts/stores`; `scripts/test` installs them. If a program is
//! missing, its tests fail with the package's name. [`woken_by`] alone is for tests without a server. Nothing here is part of floe.
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]
#![allow(clippy::missing_panics_doc, reason = "everything in here panics rather than let a test pass")]

use std::hash::{BuildHasher, RandomState};
use std::net::TcpListener;
use std::path::{Path, PathBuf};

mod azurite;
pub mod certificates;
pub mod clients;
mod consul;
mod dynamodb;
mod etcd;
mod faketime;
mod home;
mod http_stub;
mod mariadb;
mod minio;
mod postgres;
mod proxy;
mod redis;
mod rig;
mod server;
mod woken;
mod zookeeper;

pub use azurite::Azurite;
pub use certificates::Certificates;
pub use consul::Consul;
pub use dynamodb::{Dynalite, Moto};
pub use etcd::Etcd;
pub use faketime::faketime;
pub use home::Home;
pub use http_stub::http_stub;
pub use mariadb::Mariadb;
pub use minio::Minio;
pub use postgres::Postgres;
pub use proxy::Proxy;
pub use redis::Redis;
pub use rig::{Named, Rig};
pub use server::Server;
pub use woken::woken_by;
pub use zookeeper::Zookeeper;

/// The signals to processes.
pub use rustix::process::Signal;

/// A free port, for a server that cannot find one itself.
///
/// It is below the ports that the system gives to connections. Otherwise a client that keeps connecting to a killed
/// server's port would at some time get that very port, and talk to itself.
pub fn free_port() -> u16 {
    let seed = RandomState::new().hash_one(std::process::id());
    let mut ports = (seed..).map(|number| 10_000 + u16::try_from(number % 20_000).unwrap());
    ports.find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok()).unwrap()
}

/// The system's `program`: in `variable`'s folder if that is set, in one of `folders`, or on the usual paths. Panics
/// with the name of the Debian `package` if it is in none of them.
fn program(program: &str, variable: &str, folders: &[PathBuf], package: &str) -> PathBuf {
    let told = std::env::var_os(variable).map(PathBuf::from);
    let usual = ["/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin"].map(PathBuf::from);
    let places = told.iter().chain(folders).chain(&usual);
    places.map(|folder| folder.join(program)).find(|path| path.is_file()).unwrap_or_else(|| {
        panic!(
            "these tests need the program {program}: install the Debian package {package}, set {variable} to its \
             folder, or leave them out with scripts/test --skip-servers"
        )
    })
}

/// Whether a process listens on a loopback port.
pub fn listens(port: u16) -> bool {
    std::net::TcpStream::connect(("127.0.0.1", port)).is_ok()
}

/// The output of a command, which must succeed.
#[track_caller]
fn output(command: &mut std::process::Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// The path as text for a command line.
fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}
