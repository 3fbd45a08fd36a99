//! The password of a ledger: on the wire to it, and nowhere else, however much a node is told to say.

use std::process::Command;
use std::time::Duration;

use super::Rig;
use crate::client::{agent, get};
use crate::process::{Server, configuration, floe, run, until};

const PASSWORD: &str = "tell-nobody";

/// Whether the server takes this password or not.
fn a_password_is_shown_nowhere(rig: Rig) {
    let dir = tempfile::tempdir().unwrap();
    let url = (rig.url)(rig.server.port());
    let (scheme, rest) = url.split_once("://").unwrap();
    let place = rest.split_once('@').map_or(rest, |(_, place)| place);
    let user = match scheme {
        "postgres" => "postgres",
        "consul" => "",
        _ => "floe",
    };
    let settings = format!(
        "realm = \"shop\"\nledger = \"{scheme}://{user}:{PASSWORD}@{place}\"\nwindow = \"1s\"\n[log]\nlevel = \"trace\""
    );
    let config = configuration(dir.path(), &settings);
    let command = |arguments: &[&str]| {
        let mut command = floe(arguments);
        command.arg("--config").arg(&config);
        command
    };
    let mut said = Vec::new();
    let mut runs = |mut command: Command| {
        let it = run(&mut command);
        said.extend([it.out, it.err]);
    };
    for arguments in [&["mint", "orders"][..], &["mint", "visits"], &["slots"], &["names"]] {
        runs(command(arguments));
    }
    let mut check = floe(["config", "--check"]);
    check.arg(&config);
    runs(check);
    if scheme == "postgres" {
        // It trusts whoever comes from here, so that a node runs.
        let node = Server::spawn(&mut command(&["serve", "--listen", "127.0.0.1:0"]));
        let ask = |path: &str| get(&agent(), &format!("{}{path}", node.url())).map(|(_, body)| body);
        said.extend(ask("/v1/mint/orders"));
        rig.server.kill();
        said.push(until(Duration::from_secs(20), "the outage to be told", || {
            ask("/v1/mint/visits").filter(|body| body.contains("since"))
        }));
        said.extend(["/metrics", "/readyz", "/v1/slots", "/v1/names"].iter().filter_map(|path| ask(path)));
        said.push(node.terminate().1);
    }
    rig.server.kill();
    let gone = run(&mut command(&["mint", "visits"]));
    assert_ne!(gone.code, Some(0), "{gone:#?}");
    assert!(gone.err.contains(&format!("127.0.0.1:{}", rig.server.port())), "the ledger is named: {gone:#?}");
    said.push(gone.err);
    let said = said.join("\n");
    assert!(!said.contains(PASSWORD), "{said}");
}

mod a_password_is_shown_nowhere_by {
    super::super::on_every_server!(super::a_password_is_shown_nowhere);
}
