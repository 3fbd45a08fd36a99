//! `floe serve` on ledgers that several nodes share, each on its real server.
//!
//! Every test in here is left out by `scripts/test --skip-servers`, by the name of this module, and those on Consul,
//! MinIO and Dynalite by `--skip-stores`, by their own.

mod cache;
mod checked;
mod clock;
mod elsewhere;
mod faults;
mod fleet;
#[cfg(unix)]
mod kubernetes;
mod offered;
mod outage;
mod passwords;
mod pinned;
mod slots;
mod waiting;

pub(crate) use floe_testbed::Rig;

/// Makes a test of `$check` over every server.
macro_rules! on_every_server {
    ($check:path) => {
        $crate::real_servers::on_every_server!($check: postgres mysql redis etcd zookeeper consul);
    };
    ($check:path: $($server:ident)*) => {
        $(
            #[test]
            fn $server() {
                $check(floe_testbed::Rig::$server());
            }
        )*
    };
}
pub(crate) use on_every_server;
