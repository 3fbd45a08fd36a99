//! Many processes on one data directory at once.

use crate::client::{Clients, unique};
use crate::kill::start;
use crate::process::{Said, configuration, floe, run};

#[test]
fn two_servers_and_three_commands_share_one_data_directory() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let config = configuration(dir.path(), "realm = \"shop\"");
    let data = dir.path().join("data");
    let servers = [start(dir.path(), &config, &[]), start(dir.path(), &config, &[])];
    let clients: Vec<Clients> = servers
        .iter()
        .map(|server| {
            let clients = Clients::start(3, &["orders", "tickets", "visits", "invoice"]);
            clients.aim(server.url());
            clients
        })
        .collect();
    let rounds: Vec<(&str, Said)> = std::thread::scope(|scope| {
        let commands = ["orders", "tickets", "visits"].map(|name| {
            let (config, data) = (&config, &data);
            scope.spawn(move || {
                let one = |n: &str| {
                    let mut command = floe(["mint", name, "-n", n, "--config"]);
                    (name, run(command.arg(config).arg("--data-dir").arg(data)))
                };
                ["1", "20000", "1", "5000", "30000"].map(one)
            })
        });
        commands.into_iter().flat_map(|command| command.join().expect("a thread ends well")).collect()
    });
    for clients in &clients {
        clients.answers(50);
    }
    let received: Vec<_> = clients.into_iter().flat_map(Clients::stop).collect();
    for name in ["orders", "tickets", "visits", "invoice"] {
        let over_http =
            received.iter().flatten().filter(|one| one.name == name).flat_map(|one| one.ids.clone());
        let printed = rounds.iter().filter(|(of, _)| *of == name).flat_map(|(_, said)| said.numbers());
        unique(name, over_http.chain(printed));
    }
    // SQLite's own words must never reach a user.
    for (_, said) in &rounds {
        assert!(!said.err.contains("locked"), "{}", said.err);
    }
    for server in servers {
        let (status, text) = server.terminate();
        assert!(status.success(), "{status}: {text}");
        assert!(!text.contains("locked"), "{text}");
    }
}
