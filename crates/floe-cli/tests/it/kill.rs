//! `kill -9` in the middle of everything: a mark is written before anything below it is used (I1), so what a life
//! had handed out, no later life hands out again.

use std::path::Path;

use crate::client::{Clients, check};
use crate::process::{Server, configuration};

const NAMES: &[&str] = &["orders", "tickets", "visits", "invoice"];

#[test]
fn ten_lives_on_one_data_directory_repeat_nothing() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let config = configuration(dir.path(), "realm = \"shop\"");
    ten_lives(|_life| start(dir.path(), &config, &[]));
}

#[test]
fn ten_lives_of_one_fixed_worker_repeat_nothing() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let config = configuration(dir.path(), "realm = \"shop\"");
    ten_lives(|_life| start(dir.path(), &config, &["--worker", "7"]));
}

pub(crate) fn start(dir: &Path, config: &Path, flags: &[&str]) -> Server {
    let data = dir.join("data");
    let mut arguments: Vec<&std::ffi::OsStr> =
        vec!["--config".as_ref(), config.as_os_str(), "--data-dir".as_ref(), data.as_os_str()];
    arguments.extend(flags.iter().map(std::ffi::OsStr::new));
    Server::start(arguments)
}

/// Eight clients mint over HTTP through ten lives of a server, each of which ends by SIGKILL in mid-work.
pub(crate) fn ten_lives(mut start: impl FnMut(usize) -> Server) {
    let clients = Clients::start(8, NAMES);
    for life in 0..10 {
        let server = start(life);
        clients.aim(server.url());
        // Enough for every client to have had every kind, and not so many that the kill finds a pattern.
        clients.answers(500 + 37 * life as u64);
        server.kill();
    }
    check(&clients.stop());
}
