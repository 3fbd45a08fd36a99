//! A ledger that is gone for less than a window is noticed by nobody who mints snowflakes or segments.

use std::time::Duration;

use super::Rig;
use crate::client::{agent, get, numbers, unique};
use crate::process::{Server, configuration, floe, now, until};

/// How long the ledgers are gone.
const GONE: Duration = Duration::from_secs(20);
/// How many rounds the node was in use before: its segment has been reserved anew by then, at the rate that it is used.
const USED: u32 = 1_500;

/// One node on a ledger of its own, minted from at a steady pace.
fn no_client_sees_an_error(rig: Rig) {
    let dir = tempfile::tempdir().unwrap();
    let url = (rig.url)(rig.server.port());
    let config =
        configuration(dir.path(), &format!("realm = \"shop\"\nledger = \"{url}\"\nwindow = \"60s\""));
    let mut command = floe(["serve", "--listen", "127.0.0.1:0", "--config"]);
    let node = Server::spawn(command.arg(&config));
    let agent = agent();
    let mut ids = [Vec::new(), Vec::new()];
    let mut mint = || {
        for (name, ids) in ["orders", "tickets"].iter().zip(&mut ids) {
            let answer = get(&agent, &format!("{}/v1/mint/{name}?n=3", node.url()));
            let (status, body) = answer.expect("an answer");
            assert_eq!(status, 200, "{url}: {name}: {body}");
            ids.extend(numbers(&body));
        }
    };
    (0..USED).for_each(|_| mint());
    rig.server.kill();
    let (begun, mut rounds) = (now(), 0);
    until(2 * GONE, "the outage to end", || {
        mint();
        rounds += 1;
        (begun.elapsed() > GONE).then_some(())
    });
    rig.server.run();
    (0..20).for_each(|_| mint());
    assert!(rounds > 500, "{rounds} rounds are too few to tell");
    for (name, ids) in ["orders", "tickets"].iter().zip(ids) {
        unique(name, ids);
    }
    let (status, text) = node.terminate();
    assert!(status.success(), "{status}: {text}");
}

#[test]
fn of_twenty_seconds_is_seen_by_no_client_with_a_window_of_sixty() {
    // All at once: each mostly waits.
    std::thread::scope(|scope| {
        for rig in [Rig::postgres, Rig::mysql, Rig::redis, Rig::etcd, Rig::zookeeper] {
            scope.spawn(move || no_client_sees_an_error(rig()));
        }
    });
}

mod of_twenty_seconds_is_seen_by_no_client_with_a_window_of_sixty_on {
    super::super::on_every_server!(super::no_client_sees_an_error: consul);
}
