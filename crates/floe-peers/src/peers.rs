//! Published algorithms that mint IDs, as models: the same clocks, crashes and store faults as floe, under the same
//! seeds.
//!
//! Each file is one algorithm as its project publishes it: its constants, its layout, its checks, and what it does when
//! its store does not answer. None is tuned, neither to fail nor to pass. Each names the files that it was read from;
//! nothing is copied from them.

use floe::UnixMillis;

use floe_sim::model::{Machine, Model, NameInfo, Order, Parts, Verdict};

/// What the models that keep their state in a [`Registry`] have in common, inside their `impl Model`.
macro_rules! keeps_a_registry {
    () => {
        type Store = $crate::peers::Registry;
        type Request = $crate::peers::Request;
        type Reply = $crate::peers::Reply;

        fn names(&self) -> &[floe_sim::model::NameInfo] {
            $crate::peers::NAMES
        }

        fn copy(&self, store: &Self::Store) -> Self::Store {
            store.clone()
        }

        fn execute(
            &mut self,
            store: &mut Self::Store,
            _from: floe_sim::model::Life,
            request: &Self::Request,
            now: floe_sim::model::Micros,
        ) -> Self::Reply {
            store.execute(request, now)
        }

        fn store_dies(&mut self, store: &mut Self::Store, now: floe_sim::model::Micros) {
            store.expire(now);
        }

        fn store_starts(&mut self, store: &mut Self::Store, now: floe_sim::model::Micros) {
            store.renew_sessions(now);
        }

        fn eat(&mut self, store: &mut Self::Store, random: &mut floe_sim::random::Random) -> Option<String> {
            store.eat(random)
        }

        fn memory(
            &mut self,
            process: &Self::Process,
            _fresh: floe_sim::random::Random,
        ) -> Option<Self::Process> {
            Some(process.clone())
        }
    };
}

/// What the models that share nothing between nodes have in common, inside their `impl Model`; with what a host keeps, if it
/// keeps something.
macro_rules! keeps_nothing {
    () => {
        keeps_nothing!(());
    };
    ($disk:ty) => {
        type Store = ();
        type Disk = $disk;
        type Request = ();
        type Reply = ();

        fn names(&self) -> &[floe_sim::model::NameInfo] {
            $crate::peers::NAMES
        }

        fn store(&mut self, _fleet: &floe_sim::model::Fleet) {}

        fn copy(&self, _store: &()) {}

        fn execute(
            &mut self,
            _store: &mut (),
            _from: floe_sim::model::Life,
            _request: &(),
            _now: floe_sim::model::Micros,
        ) {
        }

        fn memory(
            &mut self,
            process: &Self::Process,
            _fresh: floe_sim::random::Random,
        ) -> Option<Self::Process> {
            Some(process.clone())
        }
    };
}

mod registry;

#[cfg(test)]
mod by_hand;
#[cfg(test)]
mod hand;
#[cfg(test)]
mod originals;

pub mod baidu;
pub mod bwmarrin;
pub mod cosid;
pub mod flickr;
pub mod hutool;
pub mod katsubushi;
pub mod leaf_segment;
pub mod leaf_snowflake;
pub mod mybatis_plus;
pub mod notfound9;
pub mod random_ids;
pub mod redis_incr;
pub mod seata;
pub mod sequence;
pub mod shardingsphere;
pub mod sonyflake;
pub mod tinyid;
pub mod tsid;
pub mod twitter;
pub mod twitter_service;
pub mod yitter;
pub mod yitter_redis;

pub use registry::{Entry, Registry, Reply, Request};

/// All of these mint one kind of ID, which increases on a generator as long as it lives.
const NAMES: &[NameInfo] = &[NameInfo { label: "id", domain: 0, order: Order::Life }];

/// A thread that spins until the wall clock is past `last` looks again when the clock lacks nothing any more if it runs on
/// as it is, and after 50 ms at the latest.
fn spin<M: Model>(machine: &Machine<'_, M>, last: i64) -> Verdict {
    spin_for(machine, last.saturating_sub(machine.wall()))
}

/// The same, where the clock lacks so many milliseconds to `last`.
fn spin_for<M: Model>(machine: &Machine<'_, M>, lacks: i64) -> Verdict {
    let lacks = lacks.saturating_add(1).clamp(1, 50);
    Verdict::Again(machine.now.mono.plus(lacks.unsigned_abs()))
}

/// A signed 64-bit ID of a time, shifted, and what is below it, as the 64 bits that the library returns. A time before
/// the epoch, or past the bits that it has, makes what it makes there: nothing is checked.
fn signed(time: i64, shift: u32, below: u64) -> u128 {
    u128::from((time << shift).cast_unsigned() | below)
}

/// The time that [`signed`] put into an ID.
fn time(id: u128, shift: u32) -> i64 {
    u64::try_from(id).unwrap_or(0).cast_signed() >> shift
}

/// So many bits of an ID, from `low` up.
fn field(id: u128, low: u32, bits: u32) -> u64 {
    u64::try_from(id >> low & ((1 << bits) - 1)).unwrap_or(0)
}

/// What an ID of Twitter's layout says, with so many bits of worker id.
fn snowflake(id: u128, epoch: i64, worker_bits: u32) -> Parts {
    Parts {
        worker: field(id, 12, worker_bits),
        time: UnixMillis::new(time(id, 12 + worker_bits) + epoch),
        sequence: field(id, 0, 12),
    }
}
