//! `floe ledger check` on a user's own store, and the first start after it, which names no realm.

use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;

use super::Rig;
use crate::client::mint;
use crate::process::{Server, configuration, floe, run};

fn a_store_that_was_checked_is_used_as_a_new_one(rig: Rig) {
    let dir = tempfile::tempdir().unwrap();
    // A busy machine takes longer for one of the thousands of calls than the rig allows.
    let url = (rig.url)(rig.server.port()).replace("max_wait=2s", "max_wait=60s");
    let check = || floe(["ledger", "check", &url]).output().unwrap();
    let mut checked = check();
    // The machine was too busy for a verdict: as the error advises, check again.
    if checked.status.code() == Some(3) {
        checked = check();
    }
    let said = String::from_utf8(checked.stdout).unwrap();
    assert!(checked.status.success(), "{said}{}", String::from_utf8_lossy(&checked.stderr));
    assert!(said.contains("in scratch realms *check-") && said.ends_with("cases, all held\n"), "{said}");
    run(&mut floe(["names", "--ledger", &url])).refuses(1, &["has no realm default", "it has: none"]);
    assert_eq!(run(&mut floe(["mint", "tickets", "--kind", "segment", "--ledger", &url])).numbers(), [1]);
    let names = run(&mut floe(["names", "--ledger", &url]));
    assert_eq!(names.lines().len(), 2, "{names:?}");
    let config = configuration(dir.path(), &format!("realm = \"default\"\nledger = \"{url}\""));
    let server =
        Server::spawn(floe(["serve", "--listen", "127.0.0.1:0", "--mysql", "off", "--config"]).arg(config));
    assert_eq!(mint(server.url(), "visits", 1), [1]);
    let (status, log) = server.terminate();
    assert!(status.success() && !log.contains("*check-") && !log.contains("elsewhere"), "{log}");
}

/// Two that list their realms in different ways. The suite itself runs on every server in floe-ledger's tests.
mod a_store_that_was_checked_is_used_as_a_new_one_on {
    super::super::on_every_server!(super::a_store_that_was_checked_is_used_as_a_new_one: postgres consul);
}

/// It gives no answer from the second case on: that breaks no rule.
#[test]
fn a_store_that_stops_answering_gets_no_verdict() {
    let rig = Rig::redis();
    let mut command = floe(["ledger", "check", &(rig.url)(rig.server.port())]);
    let mut check = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(check.stdout.take().unwrap());
    let mut line = String::new();
    while !line.starts_with("ok ") {
        line.clear();
        assert_ne!(said.read_line(&mut line).unwrap(), 0, "it ended before its first case");
    }
    rig.server.freeze();
    let mut rest = String::new();
    said.read_to_string(&mut rest).unwrap();
    let output = check.wait_with_output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(3), "{rest}{told}");
    assert!(told.starts_with("error: the check could not be finished: redis://127.0.0.1:"), "{told}");
    assert!(told.contains("max_wait=60s") && !told.contains("cannot be a ledger"), "{told}");
    assert!(rest.lines().all(|line| line.starts_with("ok ")), "{rest}");
}
