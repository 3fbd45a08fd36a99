//! Redis `INCR`: one key, one command for each ID.
//!
//! People expect numbers that are unique and increase over all callers, because one server executes one command at a
//! time. `INCR` reads the key (0 if there is none), adds 1, and replies with the sum; past 2^63 - 1 it is an error. The
//! reply leaves before any replica has the write: replication is asynchronous. So a replica that is promoted may lack
//! the last increments, and counts them again. Nothing in the client's answer shows it.
//!
//! The configuration decides what survives a crash of the server. The stock one has no append-only file. It writes its
//! memory to disk after an hour with one change, five minutes with 100, or a minute with 10,000; later changes are
//! lost. With `appendonly yes` and `appendfsync always` each change is on disk before its reply leaves.
//!
//! Read in: redis/redis 74b289a (7.4.1), `src/t_string.c` (`incrDecrCommand`), `src/server.c` (`initServerConfig`, whose calls of
//! `appendServerSaveParams` are 3600 1, 300 100 and 60 10000, and `serverCron`, which compares them), `src/config.c`
//! (`appendonly`, off; `appendfsync`), `src/aof.c` (`flushAppendOnlyFile`), `redis.conf`, which says the same. A Redis
//! that is told to stop writes its dump first; here it is killed.

use std::collections::BTreeMap;

use floe_sim::model::{
    Ask, Fleet, Life, Machine, Micros, Model, NameInfo, Order, Pace, Setup, Silence, Verdict,
};
use floe_sim::random::Random;
use floe_sim::scenario::SECOND;

const NAMES: &[NameInfo] = &[NameInfo { label: "orders", domain: 0, order: Order::Fleet }];

/// The largest number that `INCR` can reach.
const MOST: u64 = i64::MAX.unsigned_abs();

/// `save`: after this many seconds with this many changes.
const SAVES: [(Micros, u64); 3] = [(3_600, 1), (300, 100), (60, 10_000)];

/// Clients that `INCR` one key.
#[derive(Clone, Copy, Debug, Default)]
pub struct RedisIncr {
    /// Whether the server has an append-only file, flushed for each change.
    pub append_only: bool,
}

type Keys = BTreeMap<&'static str, u64>;

/// The server: its keys.
#[derive(Clone, Debug, Default)]
pub struct Redis {
    keys: Keys,
    /// `dump.rdb`, when it was written, and the changes since.
    dump: Keys,
    dumped: Micros,
    dirty: u64,
}

impl Redis {
    /// Does all that `serverCron` has done by now.
    fn cron(&mut self, now: Micros) {
        let since = now.saturating_sub(self.dumped);
        let is_due = |&(seconds, changes): &(Micros, u64)| self.dirty >= changes && since > seconds * SECOND;
        if SAVES.iter().any(is_due) {
            (self.dump, self.dumped, self.dirty) = (self.keys.clone(), now, 0);
        }
    }
}

/// `INCR orders`.
#[derive(Clone, Copy, Debug)]
pub struct Incr;

/// A client's unanswered commands: request to ask.
#[derive(Clone, Debug, Default)]
pub struct Client {
    unanswered: BTreeMap<u64, u64>,
}

impl Model for RedisIncr {
    const PACE: Pace = Pace::NATIVE;

    // The reply: the new value, or `None` if it would overflow.
    keeps!(Redis, (), Incr, Option<u64>);

    type Process = Client;

    fn names(&self) -> &[NameInfo] {
        NAMES
    }

    fn store(&mut self, _fleet: &Fleet) -> Redis {
        Redis::default()
    }

    fn execute(&mut self, store: &mut Redis, _from: Life, _request: &Incr, now: Micros) -> Option<u64> {
        store.cron(now);
        store.dirty += 1;
        let value = store.keys.entry("orders").or_insert(0);
        if *value >= MOST {
            return None;
        }
        *value += 1;
        Some(*value)
    }

    fn store_dies(&mut self, store: &mut Redis, now: Micros) {
        store.cron(now);
        if !self.append_only {
            (store.keys, store.dirty) = (store.dump.clone(), 0);
        }
    }

    fn store_starts(&mut self, store: &mut Redis, now: Micros) {
        (store.dump, store.dumped, store.dirty) = (store.keys.clone(), now, 0);
    }

    /// A key that was evicted for memory (`maxmemory-policy`), or that an operator deleted.
    fn delete_record(&mut self, store: &mut Redis, _random: &mut Random) -> Option<String> {
        store.keys.remove("orders").map(|value| format!("the key orders, which was {value}"))
    }

    fn start(
        &mut self,
        _setup: &Setup,
        _store: Option<&mut Redis>,
        _machine: &mut Machine<'_, Self>,
    ) -> Client {
        Client::default()
    }

    fn answer(
        &mut self,
        process: &mut Client,
        number: u64,
        answer: Result<Option<u64>, Silence>,
        machine: &mut Machine<'_, Self>,
    ) {
        // The reply to a command that was given up came on a closed connection.
        let Some(ask) = process.unanswered.remove(&number) else { return };
        let verdict = match answer {
            Ok(Some(value)) => Verdict::Minted(vec![u128::from(value)]),
            Ok(None) => Verdict::Refused("ERR increment or decrement would overflow".into()),
            Err(Silence) => Verdict::Refused("timed out".into()),
        };
        machine.deliver(ask, verdict);
    }

    fn mint(&mut self, process: &mut Client, ask: &Ask, machine: &mut Machine<'_, Self>) -> Verdict {
        process.unanswered.insert(machine.send(Incr), ask.id);
        Verdict::Later
    }
}

#[cfg(test)]
mod tests {
    use super::RedisIncr;
    use crate::peers::tests::manual_fleet::ManualFleet;

    #[test]
    fn every_caller_gets_a_larger_number() {
        let mut fleet = ManualFleet::new(RedisIncr::default(), 2);
        let ids: Vec<_> = (0..6).map(|turn| fleet.minted(turn % 2)).collect();
        assert_eq!(ids, [1, 2, 3, 4, 5, 6]);
    }

    #[test]
    fn a_lost_reply_wastes_a_number_and_repeats_none() {
        let mut fleet = ManualFleet::new(RedisIncr::default(), 1);
        assert_eq!(fleet.minted(0), 1);
        fleet.lose_replies = 1;
        assert_eq!(fleet.refused(0), "timed out");
        assert_eq!(fleet.minted(0), 3);
    }

    #[test]
    fn a_late_or_doubled_reply_changes_nothing() {
        let mut fleet = ManualFleet::new(RedisIncr::default(), 1);
        fleet.double = true;
        fleet.lose_replies = 1;
        assert_eq!(fleet.refused(0), "timed out");
        assert_eq!(fleet.minted(0), 3);
        assert_eq!(fleet.minted(0), 5);
    }

    #[test]
    fn a_replica_that_lagged_counts_again() {
        let mut fleet = ManualFleet::new(RedisIncr::default(), 1);
        assert_eq!(fleet.minted(0), 1);
        let replica = fleet.copy();
        assert_eq!(fleet.minted(0), 2);
        fleet.forget(&replica);
        assert_eq!(fleet.minted(0), 2);
    }

    /// Redis 74b289a, config.c: appendonly is 0; server.c, initServerConfig: save 3600 1 300 100 60 10000, and serverCron:
    /// later than so many seconds, with at least so many changes.
    #[test]
    fn a_crash_loses_what_came_since_the_last_dump_unless_each_change_is_appended() {
        for append_only in [false, true] {
            let mut fleet = ManualFleet::new(RedisIncr { append_only }, 1);
            for id in 1..=99 {
                assert_eq!(fleet.minted(0), id);
            }
            fleet.pass(300_001);
            fleet.host.store_is_down_for(0);
            assert_eq!(fleet.minted(0), if append_only { 100 } else { 1 }, "99 changes in five minutes");
            let next = u128::from(u64::from(append_only)) * 99 + 2;
            for id in 0..120 {
                assert_eq!(fleet.minted(0), next + id);
            }
            fleet.pass(300_001);
            assert_eq!(fleet.minted(0), next + 120);
            fleet.host.store_is_down_for(0);
            let expected = if append_only { next + 121 } else { next + 120 };
            assert_eq!(fleet.minted(0), expected, "the dump has 121 changes, and not the last one");
        }
    }

    #[test]
    fn an_evicted_key_starts_again() {
        let mut fleet = ManualFleet::new(RedisIncr::default(), 1);
        assert_eq!(fleet.minted(0), 1);
        assert_eq!(fleet.delete_record().as_deref(), Some("the key orders, which was 1"));
        assert_eq!(fleet.minted(0), 1);
    }
}
