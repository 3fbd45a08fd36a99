//! `floe ledger check` on a user's own store, and the first start after it, which names no realm.

use super::Rig;
use crate::client::mint;
use crate::process::{Server, configuration, floe, run};

fn a_store_that_was_checked_is_used_as_a_new_one(rig: Rig) {
    let dir = tempfile::tempdir().unwrap();
    // A busy machine takes longer for one of the thousands of calls than the rig allows.
    let url = (rig.url)(rig.server.port()).replace("max_wait=2s", "max_wait=60s");
    let checked = floe(["ledger", "check", &url]).output().unwrap();
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

mod a_store_that_was_checked_is_used_as_a_new_one_on {
    super::super::on_every_server!(super::a_store_that_was_checked_is_used_as_a_new_one);
}
