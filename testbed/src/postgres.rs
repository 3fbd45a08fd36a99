//! PostgreSQL.

use std::fs;
use std::ops::Deref;
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Arc, OnceLock};

use rustix::process::Signal;

use crate::{Home, Server, output, program};

/// Passwords for the user `careful`, none for other users on loopback; `encrypted` must use TLS.
const ACCESS: &str = "
host all careful 127.0.0.1/32 scram-sha-256
hostnossl all encrypted 127.0.0.1/32 reject
host all all 127.0.0.1/32 trust
";

/// A PostgreSQL with its superuser `postgres` and the database of that name.
pub struct Postgres(Server);

impl Postgres {
    /// A server with these settings added, `name=value` each.
    pub fn start(settings: &[&str]) -> Self {
        Self::start_in(Home::new("postgres"), settings)
    }

    /// The same, in a home with its own files.
    pub fn start_in(home: Home, settings: &[&str]) -> Self {
        let made = home
            .command(&Self::tool("initdb"))
            .args(["-D", "data", "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync"])
            .status()
            .unwrap();
        assert!(made.success(), "{}", home.log());
        fs::write(home.path().join("data/pg_hba.conf"), ACCESS).unwrap();
        let settings: Arc<[String]> = settings.iter().map(|setting| (*setting).to_owned()).collect();
        let start = move |home: &Home, port: u16| {
            // kill -9 leaves this file. PostgreSQL refuses to start if its process id belongs to a process of the same
            // user, and another test's server may have that id by now. No server of this home is running: see `kill`.
            drop(fs::remove_file(home.path().join("data/postmaster.pid")));
            let mut command = home.command(&Self::tool("postgres"));
            command.args(["-D", "data", "-p", &port.to_string()]);
            let port_only = ["listen_addresses=127.0.0.1", "unix_socket_directories="];
            let small = ["max_connections=200", "shared_buffers=16MB"];
            for setting in port_only.into_iter().chain(small).chain(settings.iter().map(String::as_str)) {
                command.args(["-c", setting]);
            }
            command
        };
        let ready = |port: u16| {
            let mut asked = Command::new(Self::tool("pg_isready"));
            asked.args(["-q", "-h", "127.0.0.1", "-p", &port.to_string()]).status().unwrap().success()
        };
        // A fast shutdown: sessions are ended. SIGTERM would wait for them.
        Self(Server::new(home, Signal::INT, start, ready))
    }

    /// One server for all tests of a process that do not harm it.
    pub fn shared() -> &'static Self {
        static SHARED: OnceLock<Postgres> = OnceLock::new();
        SHARED.get_or_init(|| Self::start(&[]))
    }

    /// The URL of its database for floe.
    pub fn url(&self) -> String {
        self.url_of("postgres")
    }

    /// The same for another user.
    pub fn url_of(&self, user: &str) -> String {
        format!("postgres://{user}@127.0.0.1:{}/postgres", self.port())
    }

    /// The output of a statement in PostgreSQL's own client, for an operator's commands.
    #[track_caller]
    pub fn psql(&self, sql: &str) -> String {
        let mut psql = Command::new(Self::tool("psql"));
        psql.args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-U", "postgres", "-h", "127.0.0.1"]);
        output(psql.args(["-p", &self.port().to_string(), "-d", "postgres", "-c", sql]))
    }

    /// One of PostgreSQL's programs: `psql`, `pgbench`, ….
    pub fn tool(name: &str) -> PathBuf {
        static FOLDERS: OnceLock<Vec<PathBuf>> = OnceLock::new();
        let folders = FOLDERS.get_or_init(|| {
            let entries = fs::read_dir("/usr/lib/postgresql").into_iter().flatten();
            let mut versions: Vec<_> =
                entries.filter_map(|entry| Some(entry.ok()?.path().join("bin"))).collect();
            // Debian's, newest first; then a build from source.
            versions.sort();
            versions.reverse();
            versions.push("/usr/local/pgsql/bin".into());
            versions
        });
        program(name, "FLOE_POSTGRES", folders, "postgresql")
    }
}

impl Deref for Postgres {
    type Target = Server;

    fn deref(&self) -> &Server {
        &self.0
    }
}
