//! The Redis ledger on a real Redis.

mod checks;
mod cluster;
mod conformance;
mod lists;
mod losses;
mod moved;
mod tls;
mod trouble;

use floe_testbed::Redis;

use super::faults::{Rig, faults, open};

fn rig() -> Rig<Redis> {
    let url = |port, options: &str| format!("redis://127.0.0.1:{port}/0?{options}");
    Rig { server: Redis::start(&[]), url }
}

faults!(super::rig);
