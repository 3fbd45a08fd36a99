//! etcd, a cluster of one member that others may join.

use std::io::Write;
use std::ops::Deref;
use std::process::{Command, Stdio};
use std::sync::{Arc, OnceLock};

use rustix::process::Signal;

use crate::{Certificates, Home, Server, free_port, output, program};

/// How long an operator's command waits. To flush a write, or to hash a password, takes seconds on a busy machine.
const PATIENCE: &str = "30s";

/// A member of a cluster, at first the only one.
pub struct Etcd(Server);

impl Etcd {
    /// A server with these settings added, as on the command line: `["--quota-backend-bytes=…"]`.
    pub fn start(settings: &[&str]) -> Self {
        Self::start_in(Home::new("etcd"), "http", &Cluster::fresh(free_port()), settings)
    }

    /// A server for `host` that accepts only TLS, with these settings added. Its certificate is also valid for a
    /// client.
    pub fn start_with_tls(host: &str, settings: &[&str]) -> (Self, Certificates) {
        let home = Home::new("etcd");
        let certificates = Certificates::for_host(host, &home);
        let files = ["--cert-file=server.pem", "--key-file=server.key"];
        let settings: Vec<_> = files.iter().chain(settings).copied().collect();
        (Self::start_in(home, "https", &Cluster::fresh(free_port()), &settings), certificates)
    }

    /// Another member of its cluster.
    pub fn join(&self) -> Self {
        self.add(&[], "health")
    }

    /// Another member, without a vote.
    pub fn join_as_learner(&self) -> Self {
        self.add(&["--learner"], "status")
    }

    fn add(&self, options: &[&str], readiness: &'static str) -> Self {
        let peer = free_port();
        let (name, url) = (format!("n{peer}"), format!("--peer-urls=http://127.0.0.1:{peer}"));
        let answer = self.control(&[&["member", "add", &name, &url], options].concat());
        let members = answer.lines().find_map(|line| line.strip_prefix("ETCD_INITIAL_CLUSTER=")).unwrap();
        let members = members.trim_matches('"').to_owned();
        let cluster = Cluster { peer, members, state: "existing", readiness };
        Self::start_in(Home::new("etcd"), "http", &cluster, &[])
    }

    fn start_in(home: Home, scheme: &'static str, cluster: &Cluster, settings: &[&str]) -> Self {
        let settings: Arc<[String]> = settings.iter().map(|setting| (*setting).to_owned()).collect();
        let Cluster { peer, members, state, readiness } = cluster.clone();
        let start = move |home: &Home, port: u16| {
            let mut command = home.command(&program("etcd", "FLOE_ETCD", &[], "etcd-server"));
            let (client, others) =
                (format!("{scheme}://127.0.0.1:{port}"), format!("http://127.0.0.1:{peer}"));
            command.args(["--data-dir=data", "--logger=zap", "--log-level=warn"]);
            // The check would keep a second member out until the first two have known each other for a while.
            command.args(["--strict-reconfig-check=false", &format!("--name=n{peer}")]);
            command.arg(format!("--initial-cluster-state={state}"));
            command.args(["--heartbeat-interval=10", "--election-timeout=50"]);
            for (setting, url) in [
                ("--listen-client-urls", &client),
                ("--advertise-client-urls", &client),
                ("--listen-peer-urls", &others),
                ("--initial-advertise-peer-urls", &others),
            ] {
                command.arg(format!("{setting}={url}"));
            }
            command.arg(format!("--initial-cluster={members}")).args(&*settings);
            command
        };
        let folder = home.path().to_owned();
        let ready = move |port: u16| {
            // Who asks again soon need not wait long.
            let mut control = control(port, scheme, "1s");
            if scheme == "https" {
                control.current_dir(&folder).args(["--cacert=signer.pem", "--insecure-skip-tls-verify"]);
                control.args(["--cert=server.pem", "--key=server.key"]);
            }
            control.args(["endpoint", readiness]).output().unwrap().status.success()
        };
        Self(Server::new(home, Signal::TERM, start, ready))
    }

    /// One server for all tests of a process that do not harm it.
    pub fn shared() -> &'static Self {
        static SHARED: OnceLock<Etcd> = OnceLock::new();
        SHARED.get_or_init(|| Self::start(&[]))
    }

    /// Its URL for floe, with everything under `/floe`.
    pub fn url(&self) -> String {
        format!("etcd://127.0.0.1:{}/floe", self.port())
    }

    /// The output of a command of etcd's own client, for an operator's commands.
    #[track_caller]
    pub fn control(&self, arguments: &[&str]) -> String {
        output(control(self.port(), "http", PATIENCE).args(arguments))
    }

    /// Whether the conditions of a transaction held, and so its operations were carried out. Both are lines of `etcdctl txn`.
    #[track_caller]
    pub fn transact(&self, conditions: &[String], operations: &[String]) -> bool {
        let mut command = control(self.port(), "http", PATIENCE);
        let mut client = command.arg("txn").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        // An empty line ends each part; the third, for conditions that do not hold, has nothing in it.
        let part = |lines: &[String]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
        let text = format!("{}\n{}\n\n", part(conditions), part(operations));
        client.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        let answer = String::from_utf8(client.wait_with_output().unwrap().stdout).unwrap();
        match answer.lines().next() {
            Some("SUCCESS") => true,
            Some("FAILURE") => false,
            _ => panic!("{answer} to {text}"),
        }
    }
}

/// The cluster that a member belongs to.
#[derive(Clone)]
struct Cluster {
    peer: u16,
    members: String,
    state: &'static str,
    /// The endpoint's path that shows whether it is ready.
    readiness: &'static str,
}

impl Cluster {
    fn fresh(peer: u16) -> Self {
        let members = format!("n{peer}=http://127.0.0.1:{peer}");
        Self { peer, members, state: "new", readiness: "health" }
    }
}

/// etcd's client, which gives up after this time.
fn control(port: u16, scheme: &str, patience: &str) -> Command {
    let mut command = Command::new(program("etcdctl", "FLOE_ETCD", &[], "etcd-client"));
    command.env("ETCDCTL_API", "3").args(["--endpoints", &format!("{scheme}://127.0.0.1:{port}")]);
    command.args([format!("--dial-timeout={patience}"), format!("--command-timeout={patience}")]);
    command
}

impl Deref for Etcd {
    type Target = Server;

    fn deref(&self) -> &Server {
        &self.0
    }
}
