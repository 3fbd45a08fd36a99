//! Several `floe serve` on one ledger, each with clients of its own that mint without pause.

use std::path::PathBuf;
use std::time::Duration;

use floe_testbed::{Proxy, Server as LedgerServer};
use tempfile::TempDir;

use super::Rig;
use crate::client::{Clients, agent, check, get};
use crate::process::{Server, configuration, floe, until};

/// The names that the clients mint: a snowflake, a segment, a counter, a dated one.
pub(crate) const NAMES: &[&str] = &["orders", "tickets", "visits", "invoice"];

/// How soon every node mints again once the ledger is back.
const AGAIN: Duration = Duration::from_secs(5);

pub(crate) struct Fleet {
    _dir: TempDir,
    config: PathBuf,
    rig: Rig,
    proxy: Proxy,
    nodes: Vec<Node>,
}

struct Node {
    server: Option<Server>,
    clients: Clients,
}

impl Fleet {
    /// `count` nodes behind a proxy, with these settings in their common configuration.
    pub(crate) fn start(rig: Rig, count: usize, settings: &str, names: &'static [&'static str]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let proxy = Proxy::before(rig.server.port());
        let ledger = format!("realm = \"shop\"\nledger = \"{}\"\n{settings}", (rig.url)(proxy.port()));
        let config = configuration(dir.path(), &ledger);
        let mut fleet = Self { _dir: dir, config, rig, proxy, nodes: Vec::new() };
        for _ in 0..count {
            fleet.nodes.push(Node { server: None, clients: Clients::start(2, names) });
        }
        (0..count).for_each(|node| fleet.run(node));
        fleet
    }

    /// The server behind the ledger.
    pub(crate) fn ledger(&self) -> &LedgerServer {
        &self.rig.server
    }

    /// The network between the nodes and the ledger.
    pub(crate) fn network(&self) -> &Proxy {
        &self.proxy
    }

    /// Starts a node and sends its clients to it.
    pub(crate) fn run(&mut self, node: usize) {
        let mut command = floe(["serve", "--listen", "127.0.0.1:0", "--config"]);
        let server = Server::spawn(command.arg(&self.config));
        self.nodes[node].clients.aim(server.url());
        self.nodes[node].server = Some(server);
    }

    pub(crate) fn node(&self, node: usize) -> &Server {
        self.nodes[node].server.as_ref().unwrap()
    }

    /// kill -9.
    pub(crate) fn kill(&mut self, node: usize) {
        self.nodes[node].server.take().unwrap().kill();
    }

    /// Waits until each node's clients have had `more` answers.
    #[track_caller]
    pub(crate) fn mints(&self, more: u64) {
        self.nodes.iter().for_each(|node| node.clients.answers(more));
    }

    /// Waits until no node mints snowflakes any more: its window has passed, and it says so.
    #[track_caller]
    pub(crate) fn runs_dry(&self) {
        for node in 0..self.nodes.len() {
            until(Duration::from_secs(20), "a window to run out", || {
                let (status, body) = self.ask(node, "orders")?;
                (status == 503).then(|| assert!(body.contains("since"), "{body}"))
            });
        }
    }

    /// Every node mints every name within the bound; whoever waited in vain before may need a connection anew.
    #[track_caller]
    pub(crate) fn mints_again(&self, after: &str) {
        let begun = crate::process::now();
        for node in 0..self.nodes.len() {
            for name in NAMES {
                let left = AGAIN.saturating_sub(begun.elapsed());
                until(left, &format!("node {node} to mint {name} again after {after}"), || {
                    self.ask(node, name).filter(|(status, _)| *status == 200)
                });
            }
            self.nodes[node].clients.aim(self.node(node).url());
        }
        self.mints(20);
    }

    fn ask(&self, node: usize, name: &str) -> Option<(u16, String)> {
        get(&agent(), &format!("{}/v1/mint/{name}", self.node(node).url()))
    }

    /// Stops the clients and looks whether anything was minted twice; then ends the nodes in order.
    #[track_caller]
    pub(crate) fn check(self) {
        let (servers, clients): (Vec<_>, Vec<_>) =
            self.nodes.into_iter().map(|node| (node.server, node.clients)).unzip();
        let received: Vec<_> = clients.into_iter().flat_map(Clients::stop).collect();
        check(&received);
        for server in servers.into_iter().flatten() {
            let (status, text) = server.terminate();
            assert!(status.success(), "{status}: {text}");
        }
    }
}
