//! `floe serve` on ledgers that several nodes share, each on its real server.
//!
//! Every test in here is left out by `scripts/test --skip-servers`, by the name of this module, and those on Consul by
//! `--skip-stores`.

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

pub(crate) fn postgres() -> Rig {
    Rig::postgres()
}

pub(crate) fn mysql() -> Rig {
    Rig::mysql()
}

pub(crate) fn redis() -> Rig {
    Rig::redis()
}

pub(crate) fn etcd() -> Rig {
    Rig::etcd()
}

pub(crate) fn consul() -> Rig {
    Rig::consul()
}

pub(crate) fn zookeeper() -> Rig {
    Rig::zookeeper()
}

/// Makes a test of `$check` over every server.
macro_rules! on_every_server {
    ($check:path) => {
        $crate::real_servers::on_every_server!($check: postgres mysql redis etcd zookeeper consul);
    };
    ($check:path: $($server:ident)*) => {
        $(
            #[test]
            fn $server() {
                $check(super::super::$server());
            }
        )*
    };
}
pub(crate) use on_every_server;
