//! `floe serve --cache` while the shared ledger is gone: killed and started again, it goes on at once.

use std::path::PathBuf;
use std::time::Duration;

use tempfile::TempDir;

use super::Rig;
use crate::client::{agent, get, mint, numbers, unique};
use crate::process::{Server, configuration, floe, now, run, until};

/// How soon a server has to mint after it was started, on a loaded machine with two cores; a window is 30 s.
const SOON: Duration = Duration::from_secs(5);

struct Machine {
    dir: TempDir,
    rig: Rig,
    config: PathBuf,
    orders: Vec<u64>,
    tickets: Vec<u64>,
}

impl Machine {
    fn new() -> Self {
        let (dir, rig) = (tempfile::tempdir().unwrap(), Rig::postgres());
        let ledger = format!("realm = \"shop\"\nledger = \"{}\"", (rig.url)(rig.server.port()));
        let config = configuration(dir.path(), &ledger);
        Self { dir, rig, config, orders: Vec::new(), tickets: Vec::new() }
    }

    fn cache(&self) -> PathBuf {
        self.dir.path().join("cache")
    }

    fn serve(&self) -> Server {
        let mut command = floe(["serve", "--listen", "127.0.0.1:0", "--config"]);
        Server::spawn(command.arg(&self.config).arg("--cache").arg(self.cache()))
    }

    /// Starts a server, which mints at once.
    #[track_caller]
    fn serve_at_once(&mut self) -> Server {
        let begun = now();
        let server = self.serve();
        until(SOON, "it to mint", || status(&server, "orders").filter(|status| *status == 200));
        self.mint(&server);
        println!("minted {:?} after its start", begun.elapsed());
        assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
        server
    }

    #[track_caller]
    fn mint(&mut self, server: &Server) {
        self.orders.extend(mint(server.url(), "orders", 50));
        self.tickets.extend(mint(server.url(), "tickets", 5));
    }

    fn check(self) {
        unique("orders", self.orders);
        unique("tickets", self.tickets);
    }
}

fn status(server: &Server, name: &str) -> Option<u16> {
    get(&agent(), &format!("{}/v1/mint/{name}", server.url())).map(|(status, _)| status)
}

#[test]
fn killed_again_and_again_while_the_ledger_is_gone_it_mints_at_once_and_nothing_twice() {
    let mut machine = Machine::new();
    let mut server = machine.serve_at_once();
    assert_eq!(status(&server, "visits"), Some(200));
    machine.rig.server.kill();
    for _ in 0..3 {
        server.kill();
        server = machine.serve_at_once();
    }
    // A counter's order is the cluster's: there is none without the ledger.
    assert_eq!(status(&server, "visits"), Some(503));
    machine.rig.server.run();
    until(SOON, "the counter to go on", || status(&server, "visits").filter(|status| *status == 200));
    machine.mint(&server);
    let (ended, text) = server.terminate();
    assert!(ended.success(), "{text}");
    assert!(text.contains("behind the cache"), "{text}");
    machine.check();
}

#[test]
fn a_ledger_that_is_frozen_does_not_hold_up_the_start() {
    let mut machine = Machine::new();
    machine.serve_at_once().kill();
    machine.rig.server.freeze();
    let server = machine.serve_at_once();
    machine.rig.server.thaw();
    machine.mint(&server);
    machine.check();
}

#[test]
fn a_neighbour_on_the_same_directory_is_left_in_peace() {
    let mut machine = Machine::new();
    let (first, second) = (machine.serve_at_once(), machine.serve_at_once());
    machine.rig.server.kill();
    first.kill();
    let first = machine.serve_at_once();
    let mut worker_of = |server: &Server| {
        machine.mint(server);
        let url = format!("{}/v1/mint/orders", server.url());
        let id = numbers(&get(&agent(), &url).unwrap().1)[0];
        machine.orders.push(id);
        id >> 12 & 0x3ff
    };
    assert_ne!(worker_of(&first), worker_of(&second));
    machine.check();
}

#[test]
fn commands_go_through_the_cache_too() {
    let machine = Machine::new();
    let command = |arguments: &[&str]| {
        let mut command = floe(arguments);
        command.arg("--config").arg(&machine.config);
        command
    };
    let cached = |arguments: &[&str]| run(command(arguments).arg("--cache").arg(machine.cache()));
    let mut tickets = cached(&["mint", "tickets", "-n", "3"]).numbers();
    // A raise reaches what the cache holds.
    assert_eq!(cached(&["marks", "raise", "tickets", "--to", "1000"]).lines().len(), 1);
    machine.rig.server.kill();
    machine.rig.server.run();
    tickets.extend(cached(&["mint", "tickets", "-n", "3"]).numbers());
    assert_eq!(tickets, [1, 2, 3, 1000, 1001, 1002]);
    // Who looks at the realm looks at the ledger itself.
    for arguments in [&["names"][..], &["slots"], &["marks", "list"]] {
        let said = run(&mut command(arguments));
        assert_eq!(said.code, Some(0), "{said:#?}");
        assert!(!said.out.contains("c/"), "the openings of caches are nobody's marks: {}", said.out);
    }
}
