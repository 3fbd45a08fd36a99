//! A node whose clock is an hour off, by libfaketime: refused where the ledger has a clock, and harmless where it has
//! none or where the check is overridden. `scripts/test --skip-faketime` leaves these out as well.

use super::Rig;
use crate::client::{mint, unique};
use crate::faketime::library;
use crate::process::{Server, configuration, floe, run};

fn a_clock_that_is_an_hour_off(rig: Rig) {
    let dir = tempfile::tempdir().unwrap();
    let url = (rig.url)(rig.server.port());
    let config = configuration(dir.path(), &format!("realm = \"shop\"\nledger = \"{url}\""));
    let serve = |offset: &str, flags: &[&str]| {
        let mut command = floe(["serve", "--listen", "127.0.0.1:0", "--config"]);
        command.arg(&config).args(flags);
        command.env("LD_PRELOAD", library()).env("FAKETIME", offset);
        // The monotonic clock runs on through a step of the wall clock.
        command.env("FAKETIME_DONT_FAKE_MONOTONIC", "1").env("DONT_FAKE_MONOTONIC", "1");
        command
    };
    let right = Server::spawn(&mut serve("+0", &[]));
    let mut ids = mint(right.url(), "orders", 100);
    for (offset, side) in [("+3600", "ahead"), ("-3600", "behind")] {
        let flags: &[&str] = if rig.has_clock {
            let said = run(&mut serve(offset, &[]));
            said.refuses(1, &[side, "--ignore-ledger-clock"]);
            &["--ignore-ledger-clock"]
        } else {
            &[]
        };
        let off = Server::spawn(&mut serve(offset, flags));
        for _ in 0..20 {
            ids.extend(mint(off.url(), "orders", 50));
            ids.extend(mint(right.url(), "orders", 50));
        }
        off.kill();
        ids.extend(mint(right.url(), "orders", 100));
    }
    unique("orders", ids);
}

mod faketime_an_hour_off_on {
    super::super::on_every_server!(super::a_clock_that_is_an_hour_off);
}
