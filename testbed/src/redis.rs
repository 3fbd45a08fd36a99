//! Redis.

use std::ops::Deref;
use std::process::Command;
use std::sync::{Arc, OnceLock};

use rustix::process::Signal;

use crate::{Certificates, Home, Server, output, program};

/// A Redis that writes every change to its append-only file before it answers, unless a setting says otherwise.
pub struct Redis(Server);

impl Redis {
    /// A server with these settings added to floe's needs, as on the command line: `["--appendonly", "no"]`. The later
    /// setting wins.
    pub fn start(settings: &[&str]) -> Self {
        Self::start_in(Home::new("redis"), settings)
    }

    /// The same, in a home with its own files.
    pub fn start_in(home: Home, settings: &[&str]) -> Self {
        let settings: Arc<[String]> = settings.iter().map(|setting| (*setting).to_owned()).collect();
        let start = move |home: &Home, port: u16| {
            let mut command = home.command(&program("redis-server", "FLOE_REDIS", &[], "redis-server"));
            command.args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", ""]);
            command.args(["--appendonly", "yes", "--appendfsync", "always"]).args(&*settings);
            command
        };
        // A server with only TLS answers no PING; it is enough that it listens.
        Self(Server::new(home, Signal::TERM, start, |port| crate::listens(port) && !is_loading(port)))
    }

    /// A server for `host` that accepts only TLS on its port.
    pub fn start_with_tls(host: &str, settings: &[&str]) -> (Self, Certificates) {
        let home = Home::new("redis");
        let certificates = Certificates::for_host(host, &home);
        let settings: Arc<[String]> = settings.iter().map(|setting| (*setting).to_owned()).collect();
        let start = move |home: &Home, port: u16| {
            let mut command = home.command(&program("redis-server", "FLOE_REDIS", &[], "redis-server"));
            command.args([
                "--port",
                "0",
                "--tls-port",
                &port.to_string(),
                "--bind",
                "127.0.0.1",
                "--save",
                "",
            ]);
            command.args(["--tls-cert-file", "server.pem", "--tls-key-file", "server.key"]);
            command.args(["--tls-ca-cert-file", "signer.pem", "--tls-auth-clients", "no"]);
            command.args(["--appendonly", "yes", "--appendfsync", "always"]).args(&*settings);
            command
        };
        (Self(Server::new(home, Signal::TERM, start, crate::listens)), certificates)
    }

    /// One server for all tests of a process that do not harm it.
    pub fn shared() -> &'static Self {
        static SHARED: OnceLock<Redis> = OnceLock::new();
        SHARED.get_or_init(|| Self::start(&[]))
    }

    /// Its URL for floe.
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}/0", self.port())
    }

    /// The output of a command in Redis's own client, for an operator's commands.
    #[track_caller]
    pub fn cli(&self, arguments: &[&str]) -> String {
        output(&mut client(self.port(), arguments))
    }
}

fn client(port: u16, arguments: &[&str]) -> Command {
    let mut command = Command::new(program("redis-cli", "FLOE_REDIS", &[], "redis-tools"));
    command.args(["-h", "127.0.0.1", "-p", &port.to_string()]).args(arguments);
    command
}

/// Whether it is reading its file: it answers then, but serves nothing.
fn is_loading(port: u16) -> bool {
    let output = client(port, &["PING"]).output().unwrap();
    String::from_utf8_lossy(&output.stdout).contains("LOADING")
}

impl Deref for Redis {
    type Target = Server;

    fn deref(&self) -> &Server {
        &self.0
    }
}
