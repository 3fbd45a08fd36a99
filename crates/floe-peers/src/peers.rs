//! Models of published algorithms that mint IDs. They get the same clocks, crashes and store faults as floe, from the
//! same seeds.
//!
//! Each file is one algorithm as its project publishes it: its constants, its layout, its checks, and its behaviour
//! when its store does not answer. None is tuned, neither to fail nor to pass. Each names the files that it was read
//! from; nothing is copied from them.

use floe::UnixMillis;

use floe_sim::model::{Machine, Model, NameInfo, Order, Parts, Verdict};

/// The types of a model's store, of a host's disk, and of what processes and the store say to each other, for use in its
/// `impl Model`; with copies of the store and of a process that are clones.
macro_rules! keeps {
    ($store:ty, $disk:ty, $request:ty, $reply:ty) => {
        type Store = $store;
        type Disk = $disk;
        type Request = $request;
        type Reply = $reply;

        fn copy(&self, store: &Self::Store) -> Self::Store {
            Clone::clone(store)
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

/// The same for a model with its state in a [`Registry`], and what such models share.
macro_rules! keeps_a_registry {
    ($disk:ty) => {
        keeps!($crate::peers::Registry, $disk, $crate::peers::Request, $crate::peers::Reply);

        fn names(&self) -> &[floe_sim::model::NameInfo] {
            $crate::peers::NAMES
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

        fn delete_record(
            &mut self,
            store: &mut Self::Store,
            random: &mut floe_sim::random::Random,
        ) -> Option<String> {
            store.delete_record(random)
        }
    };
}

/// The same for a model without a shared store.
macro_rules! keeps_nothing {
    ($disk:ty) => {
        keeps!((), $disk, (), ());

        fn names(&self) -> &[floe_sim::model::NameInfo] {
            $crate::peers::NAMES
        }

        fn store(&mut self, _fleet: &floe_sim::model::Fleet) {}

        fn execute(
            &mut self,
            _store: &mut (),
            _from: floe_sim::model::Life,
            _request: &(),
            _now: floe_sim::model::Micros,
        ) {
        }
    };
}

mod registry;

#[cfg(test)]
mod tests;

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

/// All of these mint one kind of ID, which increases on each generator during its life.
const NAMES: &[NameInfo] = &[NameInfo { label: "id", domain: 0, order: Order::Life }];

/// A process takes a worker id, and gives up with `words` if it is above `most`.
fn claim<M: Model>(worker: u64, most: u64, words: &str, machine: &mut Machine<'_, M>) {
    if worker > most {
        machine.die(words);
    }
    machine.claims(worker);
}

/// A thread spins until the wall clock is past `last`. It looks again when the clock should be there if it runs on as
/// it is, and after 50 ms at the latest.
fn spin<M: Model>(machine: &Machine<'_, M>, last: i64) -> Verdict {
    spin_for(machine, last.saturating_sub(machine.wall()))
}

/// The same, if the clock is this many milliseconds short of `last`.
fn spin_for<M: Model>(machine: &Machine<'_, M>, lacks: i64) -> Verdict {
    let lacks = lacks.saturating_add(1).clamp(1, 50);
    Verdict::Again(machine.now.mono.plus(lacks.unsigned_abs()))
}

/// A signed 64-bit ID: a time, shifted, above the bits `below`. It is what the library returns. Nothing is checked: a
/// time before the epoch, or past its bits, gives whatever that computes.
fn signed(time: i64, shift: u32, below: u64) -> u128 {
    u128::from((time << shift).cast_unsigned() | below)
}

/// The time that [`signed`] put into an ID.
fn time(id: u128, shift: u32) -> i64 {
    u64::try_from(id).unwrap_or(0).cast_signed() >> shift
}

/// This many bits of an ID, from bit `low` up.
fn field(id: u128, low: u32, bits: u32) -> u64 {
    u64::try_from(id >> low & ((1 << bits) - 1)).unwrap_or(0)
}

/// The parts of an ID in Twitter's layout with this many bits of worker id.
fn snowflake(id: u128, epoch: i64, worker_bits: u32) -> Parts {
    Parts {
        worker: field(id, 12, worker_bits),
        time: UnixMillis::new(time(id, 12 + worker_bits) + epoch),
        sequence: field(id, 0, 12),
    }
}
