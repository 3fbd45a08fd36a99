//! MariaDB.

use std::ops::Deref;
use std::process::Command;
use std::sync::{Arc, OnceLock};

use rustix::process::Signal;

use crate::{Home, Server, output, program, text};

/// The default is 96 MB, and is made for every server.
const REDO_LOG: &str = "--innodb-log-file-size=8M";

/// A MariaDB with its user `root`, without a password, and the database `floe`.
pub struct Mariadb(Server);

impl Mariadb {
    /// A server with these settings added, as on the command line: `["--sync-binlog=1"]`.
    pub fn start(settings: &[&str]) -> Self {
        Self::start_in(Home::new("mariadb"), settings)
    }

    /// The same, in a home with its own files. Temporary tables stay there too: a starting server deletes those of
    /// others.
    pub fn start_in(home: Home, settings: &[&str]) -> Self {
        let data = home.path().join("data");
        let made = home
            .command(&program("mariadb-install-db", "FLOE_MARIADB", &[], "mariadb-server"))
            .args(["--no-defaults", &format!("--datadir={}", text(&data)), "--skip-test-db"])
            .args(["--auth-root-authentication-method=normal", REDO_LOG])
            .env("TMPDIR", home.path())
            .status()
            .unwrap();
        assert!(made.success(), "{}", home.log());
        let settings: Arc<[String]> = settings.iter().map(|setting| (*setting).to_owned()).collect();
        let start = move |home: &Home, port: u16| {
            let mut command = home.command(&program("mariadbd", "FLOE_MARIADB", &[], "mariadb-server"));
            let path = |name: &str| home.path().join(name).display().to_string();
            command.args(["--no-defaults", &format!("--datadir={}", path("data"))]);
            command.args(["--bind-address=127.0.0.1", &format!("--port={port}")]);
            command.args([format!("--socket={}", path("socket")), format!("--pid-file={}", path("pid"))]);
            command.args([
                "--innodb-buffer-pool-size=16M",
                "--skip-name-resolve",
                "--performance-schema=OFF",
            ]);
            command.args(["--max-connections=300", REDO_LOG]).args(&*settings);
            command.env("TMPDIR", home.path());
            command
        };
        let ready = |port: u16| {
            let mut admin = Command::new(program("mariadb-admin", "FLOE_MARIADB", &[], "mariadb-client"));
            admin.args(["--no-defaults", "-h", "127.0.0.1", "-P", &port.to_string(), "-u", "root", "ping"]);
            admin.output().unwrap().status.success()
        };
        let server = Self(Server::new(home, Signal::TERM, start, ready));
        server.sql("CREATE DATABASE IF NOT EXISTS floe");
        server
    }

    /// One server for all tests of a process that do not harm it.
    pub fn shared() -> &'static Self {
        static SHARED: OnceLock<Mariadb> = OnceLock::new();
        SHARED.get_or_init(|| Self::start(&[]))
    }

    /// The URL of its database for floe.
    pub fn url(&self) -> String {
        self.url_of("root")
    }

    /// The same for another user, `name` or `name:password`.
    pub fn url_of(&self, user: &str) -> String {
        format!("mysql://{user}@127.0.0.1:{}/floe", self.port())
    }

    /// The output of statements in MariaDB's own client, for an operator's commands.
    #[track_caller]
    pub fn sql(&self, sql: &str) -> String {
        let mut client = Command::new(program("mariadb", "FLOE_MARIADB", &[], "mariadb-client"));
        client.args(["--no-defaults", "-h", "127.0.0.1", "-u", "root", "-N", "-B", "--skip-ssl"]);
        output(client.args(["-P", &self.port().to_string(), "-e", sql]))
    }
}

impl Deref for Mariadb {
    type Target = Server;

    fn deref(&self) -> &Server {
        &self.0
    }
}
