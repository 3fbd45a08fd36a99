//! Third-party clients against the real binary: each mints, meets errors, and comes back after the server was killed.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::process::{Server, floe};

mod memcached;
mod thrift;

const NAMES: &str = "[[name]]\nname = \"snowflake\"\nkind = \"snowflake\"\nlayout = \"twitter\"\n";

/// A script beside these tests.
fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients").join(name)
}

/// Runs a Python script for each of these clients, kills the server in the middle, starts it again on the same port, and
/// checks that no name had an ID twice.
#[track_caller]
fn outlives_its_server(name: &str, clients: &[&str]) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let config = crate::process::configuration(dir.path(), "realm = \"shop\"");
    let text = std::fs::read_to_string(&config).expect("the file that was just written");
    std::fs::write(&config, text + NAMES).expect("the temporary directory takes a file");
    let data = dir.path().join("data");
    let flags: [&OsStr; 4] =
        ["--config".as_ref(), config.as_os_str(), "--data-dir".as_ref(), data.as_os_str()];
    let mut server = Server::start(flags);
    let port = server.url().rsplit(':').next().expect("a port").to_owned();
    let mut seen: HashMap<String, HashSet<u64>> = HashMap::new();
    for client in clients {
        let mut command = floe_testbed::clients::python(&script(name));
        command.args([client, "127.0.0.1", port.as_str()]);
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the client starts");
        let lines = BufReader::new(child.stdout.take().expect("stdout is piped")).lines();
        let mut minted = 0;
        for line in lines.map_while(Result::ok) {
            if line == "restart" {
                server.kill();
                server = again(&port, flags);
                let stdin = child.stdin.as_mut().expect("stdin is piped");
                stdin.write_all(b"restarted\n").expect("the client listens");
                continue;
            }
            let (name, id) = line.split_once(' ').expect("a name and an ID");
            let id = id.parse().expect("an ID");
            assert!(seen.entry(name.to_owned()).or_default().insert(id), "{client}: {name} had {id} twice");
            minted += 1;
        }
        let status = child.wait().expect("the client ends");
        assert!(status.success() && minted >= 100, "{client}: {status} after {minted} IDs");
    }
}

/// The server once more, where its clients look for it.
fn again(port: &str, flags: [&OsStr; 4]) -> Server {
    let mut command: Command = floe(["serve", "--listen", &format!("127.0.0.1:{port}")]);
    Server::spawn(command.args(flags))
}
