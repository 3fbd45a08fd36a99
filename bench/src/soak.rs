//! Every wire at once on the one port, while the server is killed and started again: no ID may come twice, on whatever
//! wires, and each wire has to be served again after every kill.

use std::collections::HashMap;
use std::fs;
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use crate::Result;
use crate::load::{Connection, Wire};
use crate::measure::now;
use crate::serve::Server;

/// How long each life of the server lasts.
const LIFE: Duration = Duration::from_secs(5);

/// How many clients each wire has.
const CLIENTS: usize = 4;

/// The wires, each with the space of IDs that it mints from: snowflake names of one layout share one.
const WIRES: [(&str, &str); 8] = [
    ("http://{}/v1/mint/orders", "twitter"),
    ("redis://{}/orders", "twitter"),
    ("memcached://{}/messages", "twitter"),
    ("thrift://{}", "twitter"),
    ("http://{}/api/segment/get/tickets", "tickets"),
    ("redis://{}/tickets", "tickets"),
    ("redis://{}/visits", "visits"),
    ("memcached://{}/visits", "visits"),
];

const NAMES: &str = "
realm = 'soak'
[[name]]
name = 'orders'
kind = 'snowflake'
layout = 'twitter'
[[name]]
name = 'messages'
kind = 'snowflake'
layout = 'twitter'
[[name]]
name = 'snowflake'
kind = 'snowflake'
layout = 'twitter'
[[name]]
name = 'tickets'
kind = 'segment'
[[name]]
name = 'visits'
kind = 'counter'
";

/// Mints on all wires for so many seconds and checks every ID.
pub(crate) fn run(binary: &Path, seconds: u32) -> Result<bool> {
    let dir = tempfile::tempdir()?;
    let config = dir.path().join("floe.toml");
    fs::write(&config, NAMES)?;
    let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port();
    let arguments = ["--config".as_ref(), config.as_os_str(), "--data-dir".as_ref(), dir.path().as_os_str()];
    let (stop, answered) = (Arc::new(AtomicBool::new(false)), Arc::new(WIRES.map(|_| AtomicU64::new(0))));
    let mut server = Server::start(binary, port, &arguments)?;
    let mut clients = Vec::new();
    for (index, (url, _)) in WIRES.iter().enumerate() {
        for _ in 0..CLIENTS {
            let url = url.replace("{}", &format!("127.0.0.1:{port}"));
            let (stop, answered) = (Arc::clone(&stop), Arc::clone(&answered));
            clients.push((index, thread::spawn(move || mint(&url, &stop, &answered[index]))));
        }
    }
    let (end, mut lives, mut sound) = (now() + Duration::from_secs(seconds.into()), 1, true);
    while now() < end {
        let before: Vec<u64> = answered.iter().map(|count| count.load(Ordering::Relaxed)).collect();
        let life = now() + LIFE;
        while let Some(left) = life.checked_duration_since(now()) {
            thread::park_timeout(left);
        }
        for ((url, _), (before, after)) in WIRES.iter().zip(before.iter().zip(answered.iter())) {
            if after.load(Ordering::Relaxed) == *before {
                println!("{url} was not served in life {lives}");
                sound = false;
            }
        }
        // The drop kills it, as kill -9 does.
        drop(server);
        server = Server::start(binary, port, &arguments)?;
        lives += 1;
    }
    stop.store(true, Ordering::Relaxed);
    let mut spaces: HashMap<&str, Vec<u128>> = HashMap::new();
    for (index, client) in clients {
        let ids = client.join().map_err(|_| "a client panicked")?;
        spaces.entry(WIRES[index].1).or_default().extend(ids);
    }
    for (space, mut ids) in spaces {
        let minted = ids.len();
        ids.sort_unstable();
        ids.dedup();
        println!("{space:<10} {minted:>10} IDs, {} twice", minted - ids.len());
        sound &= minted == ids.len() && minted > 0;
    }
    println!("{lives} lives of the server in {seconds} s");
    Ok(sound)
}

/// Mints until it is told to stop, and connects again whenever the server has gone.
fn mint(url: &str, stop: &AtomicBool, answered: &AtomicU64) -> Vec<u128> {
    let mut ids = Vec::new();
    let Ok((host, wire)) = Wire::of(url) else { return ids };
    while !stop.load(Ordering::Relaxed) {
        let Ok(mut connection) = Connection::open(host) else {
            thread::park_timeout(Duration::from_millis(10));
            continue;
        };
        while !stop.load(Ordering::Relaxed) {
            match connection.call(&wire) {
                Ok(id) => {
                    ids.push(id);
                    answered.fetch_add(1, Ordering::Relaxed);
                }
                Err(_) => break,
            }
        }
    }
    ids
}
