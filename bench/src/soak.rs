//! HTTP, Redis' and memcached's protocols and Thrift at once on one port, while the server is killed and started again. No ID
//! may occur twice, no counter may go back, and each wire must be served again after every kill.

use std::fs;
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::time::Duration;

use crate::Result;
use crate::clients::{Clients, NAMES, Record, WIRES};
use crate::measure::{now, pass};
use crate::serve::Server;

/// How long each life of the server lasts.
const LIFE: Duration = Duration::from_secs(5);

/// How many clients each wire has.
const CLIENTS: usize = 4;

/// Mints on all wires for this many seconds and checks every ID.
pub(crate) fn run(binary: &Path, seconds: u32) -> Result<bool> {
    let dir = tempfile::tempdir()?;
    let config = dir.path().join("floe.toml");
    fs::write(&config, format!("realm = 'soak'\n{NAMES}"))?;
    let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port();
    let arguments = ["--config".as_ref(), config.as_os_str(), "--data-dir".as_ref(), dir.path().as_os_str()];
    let mut server = Server::start(binary, port, &arguments)?;
    let clients = Clients::start(port, CLIENTS, None)?;
    let (end, mut lives, mut sound) = (now() + Duration::from_secs(seconds.into()), 1, true);
    while now() < end {
        let before = clients.answered();
        pass(LIFE);
        for ((url, _), (before, after)) in WIRES.iter().zip(before.iter().zip(clients.answered())) {
            if after == *before {
                println!("{url} was not served in life {lives}");
                sound = false;
            }
        }
        // The drop kills it, as kill -9 does.
        drop(server);
        server = Server::start(binary, port, &arguments)?;
        lives += 1;
    }
    let mut record = Record::default();
    clients.stop(&mut record)?;
    let found = record.check();
    println!("{lives} lives of the server in {seconds} s");
    Ok(sound && found.ids > 0 && found.twice == 0 && found.back == 0)
}
