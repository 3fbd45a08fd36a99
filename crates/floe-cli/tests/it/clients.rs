//! floe as unmodified clients of other systems meet it.
//!
//! Each client is a script in its own language below `tests/clients`. It is given a host and a port, mints, meets errors,
//! and prints what came of it, a line at a time:
//!
//! - `id NAME VALUE`: an ID that it was given;
//! - `kill`: the server is to be killed and started again now, while the script goes on minting and reconnects. It is told
//!   `restarted` on its input;
//! - anything else is for people.
//!
//! It ends with status 0 if everything was as it should be. No ID may come twice, before and after the kill together.

use std::collections::{BTreeMap, HashSet};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use floe_testbed::{clients, free_port};
use tempfile::TempDir;

use crate::process::{Server, configuration};

mod access;
mod described;
mod grpc;
mod memcached;
mod mysql;
mod page;
mod redis;
mod shells;
mod thrift;

/// A server with names of every kind, on a port that it keeps.
pub(crate) struct Stand {
    dir: TempDir,
    config: PathBuf,
    port: u16,
    mysql_port: u16,
    server: Option<Server>,
}

impl Stand {
    pub(crate) fn start() -> Self {
        Self::with("")
    }

    /// With these settings, too.
    pub(crate) fn with(settings: &str) -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let config = configuration(dir.path(), &format!("realm = \"shop\"\n{settings}{MORE}"));
        let mut stand = Self { dir, config, port: free_port(), mysql_port: free_port(), server: None };
        stand.run();
        stand
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// MySQL's own port, where the server speaks first.
    pub(crate) fn mysql_port(&self) -> u16 {
        self.mysql_port
    }

    fn run(&mut self) {
        let data = self.dir.path().join("data");
        let listen = format!("127.0.0.1:{}", self.port);
        let mysql = format!("127.0.0.1:{}", self.mysql_port);
        let mut command = crate::process::floe(["serve", "--listen", &listen, "--mysql", &mysql]);
        command.arg("--config").arg(&self.config).arg("--data-dir").arg(&data);
        self.server = Some(Server::spawn(&mut command));
    }

    /// `kill -9`, and a new life on the same port.
    fn live_again(&mut self) {
        if let Some(server) = self.server.take() {
            server.kill();
        }
        self.run();
    }

    /// Runs a client to its end; what it was given, by name.
    #[track_caller]
    pub(crate) fn serve(&mut self, mut client: Command) -> BTreeMap<String, Vec<String>> {
        client.arg("127.0.0.1").arg(self.port.to_string());
        let mut child =
            client.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut errors = child.stderr.take().unwrap();
        let errors = std::thread::spawn(move || {
            let mut text = String::new();
            errors.read_to_string(&mut text).map(|_| text)
        });
        let (mut given, mut said) = (BTreeMap::<String, Vec<String>>::new(), String::new());
        for line in BufReader::new(child.stdout.take().unwrap()).lines() {
            let line = line.unwrap();
            match line.split(' ').collect::<Vec<_>>()[..] {
                ["id", name, id] => given.entry(name.to_owned()).or_default().push(id.to_owned()),
                ["kill"] => {
                    self.live_again();
                    // A script that does not wait for it may have ended.
                    let _ = child.stdin.as_mut().map(|input| input.write_all(b"restarted\n"));
                }
                _ => said.push_str(&format!("{line}\n")),
            }
        }
        let status = child.wait().unwrap();
        let errors = errors.join().unwrap().unwrap();
        let server = self.server.as_ref().map(Server::text);
        assert!(status.success(), "{status}\n{said}{errors}\n{}", server.unwrap_or_default());
        for (name, ids) in &given {
            let unique: HashSet<_> = ids.iter().collect();
            assert_eq!(unique.len(), ids.len(), "{name} repeated an ID");
        }
        given
    }
}

/// Runs a Python script for each of these clients, which it takes as its first argument, on one server. No name has an ID
/// twice, and each client got a hundred at least.
#[track_caller]
fn outlives_its_server(name: &str, clients: &[&str]) {
    let mut stand = Stand::start();
    let mut seen = HashSet::new();
    for client in clients {
        let mut command = python(name);
        command.arg(client);
        let given = stand.serve(command);
        assert!(given.values().map(Vec::len).sum::<usize>() >= 100, "{client}: {given:?}");
        for (name, ids) in given {
            for id in ids {
                assert!(seen.insert((name.clone(), id.clone())), "{client}: {name} had {id} twice");
            }
        }
    }
}

/// Names beside those of every kind of number: one that is soon used up, IDs that no 64 bits hold, and texts.
const MORE: &str = r#"
[[name]]
name = "few"
kind = "dated"
zone = "UTC"
digits = 1

[[name]]
name = "first-*"
kind = "counter"

[[name]]
name = "katsubushi"
kind = "snowflake"
layout = "katsubushi"

[[name]]
name = "snowflake"
kind = "snowflake"
layout = "twitter"

[[name]]
name = "sessions"
kind = "uuid7"
form = "typeid type=session"

[[name]]
name = "receipts"
kind = "counter"
form = "sealed key=1 base62 width=11"
keys = { 1 = "000102030405060708090a0b0c0d0e0f" }

[[name]]
name = "wide"
kind = "snowflake"
layout = "time:42 worker:20 sequence:20 wide"
tick = "1ms"
epoch = "2020-01-01T00:00:00Z"
"#;

/// A script of `tests/clients`.
pub(crate) fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients").join(name)
}

/// A Python script of `tests/clients`.
pub(crate) fn python(name: &str) -> Command {
    clients::python(&script(name))
}

/// A script of `tests/clients` for Node.js.
pub(crate) fn node(name: &str) -> Command {
    clients::node(&script(name))
}
