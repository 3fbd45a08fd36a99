//! etcd, a cluster of one.

use std::ops::Deref;
use std::process::Command;
use std::sync::{Arc, OnceLock};

use rustix::process::Signal;

use crate::{Certificates, Home, Server, free_port, output, program, text};

/// An etcd of one member.
pub struct Etcd(Server);

impl Etcd {
    /// A server with these settings beside its defaults, as on the command line: `["--quota-backend-bytes=…"]`.
    pub fn start(settings: &[&str]) -> Self {
        Self::start_in(Home::new("etcd"), "http", settings)
    }

    /// A server that takes TLS and nothing else, for `host`.
    pub fn start_with_tls(host: &str) -> (Self, Certificates) {
        let home = Home::new("etcd");
        let certificates = Certificates::for_host(host, &home);
        let settings = [
            format!("--cert-file={}", text(&certificates.server)),
            format!("--key-file={}", text(&certificates.key)),
        ];
        (Self::start_in(home, "https", &settings.each_ref().map(String::as_str)), certificates)
    }

    fn start_in(home: Home, scheme: &'static str, settings: &[&str]) -> Self {
        let settings: Arc<[String]> = settings.iter().map(|setting| (*setting).to_owned()).collect();
        let peer = free_port();
        let start = move |home: &Home, port: u16| {
            let mut command = home.command(&program("etcd", "FLOE_ETCD", &[], "etcd-server"));
            let (client, peer) = (format!("{scheme}://127.0.0.1:{port}"), format!("http://127.0.0.1:{peer}"));
            command.args(["--name=n", "--data-dir=data", "--logger=zap", "--log-level=warn"]);
            command.args(["--heartbeat-interval=10", "--election-timeout=50"]);
            for (setting, url) in [
                ("--listen-client-urls", &client),
                ("--advertise-client-urls", &client),
                ("--listen-peer-urls", &peer),
                ("--initial-advertise-peer-urls", &peer),
            ] {
                command.arg(format!("{setting}={url}"));
            }
            command.arg(format!("--initial-cluster=n={peer}")).args(&*settings);
            command
        };
        let signer = home.path().join("signer.pem");
        let ready = move |port: u16| {
            let mut control = control(port, scheme);
            if scheme == "https" {
                control.args(["--cacert", text(&signer), "--insecure-skip-tls-verify"]);
            }
            control.args(["endpoint", "health"]).output().unwrap().status.success()
        };
        Self(Server::new(home, Signal::TERM, start, ready))
    }

    /// One server for all tests of a process that do it no harm.
    pub fn shared() -> &'static Self {
        static SHARED: OnceLock<Etcd> = OnceLock::new();
        SHARED.get_or_init(|| Self::start(&[]))
    }

    /// Its URL for floe, with everything under `/floe`.
    pub fn url(&self) -> String {
        format!("etcd://127.0.0.1:{}/floe", self.port())
    }

    /// What etcd's own client says to a command, as an operator would ask.
    #[track_caller]
    pub fn control(&self, arguments: &[&str]) -> String {
        output(control(self.port(), "http").args(arguments))
    }
}

fn control(port: u16, scheme: &str) -> Command {
    let mut command = Command::new(program("etcdctl", "FLOE_ETCD", &[], "etcd-client"));
    command.env("ETCDCTL_API", "3").args(["--endpoints", &format!("{scheme}://127.0.0.1:{port}")]);
    command.args(["--dial-timeout=1s", "--command-timeout=1s"]);
    command
}

impl Deref for Etcd {
    type Target = Server;

    fn deref(&self) -> &Server {
        &self.0
    }
}
