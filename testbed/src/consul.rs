//! Consul, a cluster of one server that others may join.

use std::ops::Deref;
use std::process::Command;
use std::sync::{Arc, OnceLock};

use rustix::process::Signal;

use crate::minio::stores;
use crate::{Certificates, Home, Server, free_port, output};

/// A server of a cluster, at first the only one.
pub struct Consul {
    server: Server,
    /// The ports of its gossip and of its calls from other servers.
    peers: [u16; 2],
}

/// The settings of the first server of a cluster. Others vote after a second.
const FIRST: &str = r#""bootstrap_expect":1,"autopilot":{"server_stabilization_time":"1s"}"#;

impl Consul {
    /// A server with these settings added, each a member of the configuration's JSON: `"acl":{…}`.
    pub fn start(settings: &[&str]) -> Self {
        Self::start_in(Home::new("consul"), "http", &["-data-dir=data"], &[&[FIRST], settings].concat())
    }

    /// A server for `host` that accepts only TLS, and clients without a certificate only if it does not `ask` for one.
    pub fn start_with_tls(host: &str, asks: bool) -> (Self, Certificates) {
        let home = Home::new("consul");
        let certificates = Certificates::for_host(host, &home);
        let files = r#""cert_file":"server.pem","key_file":"server.key","ca_file":"signer.pem""#;
        let tls = format!(r#""tls":{{"https":{{{files},"verify_incoming":{asks}}}}}"#);
        (Self::start_in(home, "https", &["-data-dir=data"], &[FIRST, &tls]), certificates)
    }

    /// A server as developers start it, which keeps nothing on disk.
    pub fn start_dev() -> Self {
        Self::start_in(Home::new("consul"), "http", &["-dev"], &[])
    }

    /// Another server of its cluster.
    pub fn join(&self) -> Self {
        let join = format!(r#""retry_join":["127.0.0.1:{}"],"retry_interval":"1s""#, self.peers[0]);
        Self::start_in(Home::new("consul"), "http", &["-data-dir=data"], &[&join])
    }

    fn start_in(home: Home, scheme: &'static str, mode: &'static [&'static str], settings: &[&str]) -> Self {
        let peers = [free_port(), free_port()];
        let [gossip, calls] = peers;
        let settings: Arc<str> =
            settings.iter().map(|setting| format!(",{setting}")).collect::<String>().into();
        let start = move |home: &Home, port: u16| {
            let (http, https) = if scheme == "https" { (-1, i32::from(port)) } else { (i32::from(port), -1) };
            let off = r#""dns":-1,"grpc":-1,"grpc_tls":-1,"serf_wan":-1"#;
            let ports =
                format!(r#"{{"http":{http},"https":{https},"serf_lan":{gossip},"server":{calls},{off}}}"#);
            let place = format!(r#""server":true,"bind_addr":"127.0.0.1","node_name":"n{gossip}""#);
            // Elections take a fifth of their usual time.
            let quick =
                r#""performance":{"raft_multiplier":1},"log_level":"warn","disable_update_check":true"#;
            home.write("consul.json", &format!(r#"{{{place},"ports":{ports},{quick}{settings}}}"#));
            let mut command = home.command(&program());
            command.args(["agent", "-config-file=consul.json"]).args(mode);
            command
        };
        let folder = home.path().to_owned();
        let ready = move |port: u16| {
            let mut curl = Command::new("curl");
            if scheme == "https" {
                curl.current_dir(&folder).args(["--cert", "client.pem", "--key", "client.key"]);
            }
            let url = format!("{scheme}://127.0.0.1:{port}/v1/status/leader");
            let asked = curl.args(["-sk", "-m", "5", &url]).output().unwrap();
            // The address of the leader, in quotes.
            asked.status.success() && asked.stdout.len() > 4
        };
        Self { server: Server::new(home, Signal::TERM, start, ready), peers }
    }

    /// Its name in the cluster.
    pub fn name(&self) -> String {
        format!("n{}", self.peers[0])
    }

    /// One server for all tests of a process that do not harm it.
    pub fn shared() -> &'static Self {
        static SHARED: OnceLock<Consul> = OnceLock::new();
        SHARED.get_or_init(|| Self::start(&[]))
    }

    /// The output of a command of Consul's own client, for an operator's commands.
    #[track_caller]
    pub fn control(&self, arguments: &[&str]) -> String {
        output(self.client().args(arguments))
    }

    fn client(&self) -> Command {
        let mut command = Command::new(program());
        command.env("CONSUL_HTTP_ADDR", format!("http://127.0.0.1:{}", self.port()));
        command.current_dir(self.home().path());
        command
    }
}

fn program() -> std::path::PathBuf {
    let path = stores().join("bin/consul");
    assert!(
        path.is_file(),
        "these tests need {}: ./scripts/stores builds it, and scripts/test --skip-stores leaves them out",
        path.display()
    );
    path
}

impl Deref for Consul {
    type Target = Server;

    fn deref(&self) -> &Server {
        &self.server
    }
}
