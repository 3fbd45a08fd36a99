//! Clients over HTTP, Redis' and memcached's protocols and Thrift at once that survive any fault of the server, and the check of
//! all IDs that they got.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::Result;
use crate::load::{Connection, Wire};
use crate::measure::now;

/// How soon a client tries again if it cannot connect, or after a refusal.
const AGAIN: Duration = Duration::from_millis(10);

/// The wires, each with its space of IDs: snowflake names of one layout share one.
pub(crate) const WIRES: [(&str, &str); 12] = [
    ("http://{}/v1/mint/orders", "twitter"),
    ("http://{}/v1/mint/orders?n=20", "twitter"),
    ("redis://{}/orders", "twitter"),
    ("memcached://{}/messages", "twitter"),
    ("thrift://{}", "twitter"),
    ("http://{}/api/segment/get/tickets", "tickets"),
    ("http://{}/v1/mint/tickets?n=20", "tickets"),
    ("redis://{}/tickets", "tickets"),
    ("redis://{}/visits", COUNTER),
    ("memcached://{}/visits", COUNTER),
    ("http://{}/v1/mint/visits?n=5", COUNTER),
    ("http://{}/v1/mint/invoice", "invoice"),
];

/// The space whose numbers never go back, whichever node mints them.
const COUNTER: &str = "visits";

/// The names that the wires mint, for a configuration.
pub(crate) const NAMES: &str = "
[[name]]
name = 'orders'
kind = 'snowflake'
layout = 'twitter'
[[name]]
name = 'messages'
kind = 'snowflake'
layout = 'twitter'
[[name]]
name = 'snowflake'
kind = 'snowflake'
layout = 'twitter'
[[name]]
name = 'tickets'
kind = 'segment'
first = 1
[[name]]
name = 'visits'
kind = 'counter'
first = 1
[[name]]
name = 'invoice'
kind = 'dated'
zone = 'UTC'
digits = 9
";

/// Clients of one server. They mint until they are told to stop, and connect again whenever the server was gone.
pub(crate) struct Clients {
    stop: Arc<AtomicBool>,
    answered: Arc<[AtomicU64; WIRES.len()]>,
    threads: Vec<(&'static str, JoinHandle<Received>)>,
}

/// The IDs that one client got, or several clients of one space.
#[derive(Default)]
pub(crate) struct Received {
    ids: Vec<u128>,
    /// For counters only.
    calls: Vec<Call>,
}

/// A counter's call that was answered.
struct Call {
    begun: Instant,
    ended: Instant,
    lowest: u128,
    highest: u128,
}

/// All IDs received, by space.
#[derive(Default)]
pub(crate) struct Record(BTreeMap<&'static str, Received>);

/// The result of checking a record.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) ids: usize,
    pub(crate) twice: usize,
    /// How many calls of a counter got a number below one that was returned before they began.
    pub(crate) back: usize,
}

impl Clients {
    /// Starts this many clients on each wire of the server at a loopback port. Each pauses for `pause` after an answer.
    ///
    /// # Errors
    /// None for the known wires.
    pub(crate) fn start(port: u16, each: usize, pause: Option<Duration>) -> Result<Self> {
        let (stop, answered) = (Arc::new(AtomicBool::new(false)), Arc::new(WIRES.map(|_| AtomicU64::new(0))));
        let mut threads = Vec::new();
        for (index, (url, space)) in WIRES.into_iter().enumerate() {
            let url = url.replace("{}", &format!("127.0.0.1:{port}"));
            let (host, wire) = Wire::of(&url)?;
            for _ in 0..each {
                let (host, wire) = (host.to_owned(), wire.clone());
                let (stop, answered) = (Arc::clone(&stop), Arc::clone(&answered));
                let keeps_calls = space == COUNTER;
                let work = move || mint(&host, &wire, pause, &stop, &answered[index], keeps_calls);
                threads.push((space, thread::spawn(work)));
            }
        }
        Ok(Self { stop, answered, threads })
    }

    /// How often each wire has answered so far.
    pub(crate) fn answered(&self) -> [u64; WIRES.len()] {
        self.answered.each_ref().map(|count| count.load(Ordering::Relaxed))
    }

    /// Ends the clients and adds their IDs to a record.
    ///
    /// # Errors
    /// A client that panicked.
    pub(crate) fn stop(self, record: &mut Record) -> Result<()> {
        self.stop.store(true, Ordering::Relaxed);
        for (space, client) in self.threads {
            let received = client.join().map_err(|_| "a client panicked")?;
            let all = record.0.entry(space).or_default();
            all.ids.extend(received.ids);
            all.calls.extend(received.calls);
        }
        Ok(())
    }
}

impl Record {
    /// Checks every ID, and prints a line for each space.
    pub(crate) fn check(self) -> Found {
        let mut sum = Found { ids: 0, twice: 0, back: 0 };
        for (space, received) in self.0 {
            let found = received.check();
            let order = if space == COUNTER { format!(", {} went back", found.back) } else { String::new() };
            println!("{space:<10} {:>10} IDs, {} twice{order}", found.ids, found.twice);
            sum.ids += found.ids;
            sum.twice += found.twice;
            sum.back += found.back;
        }
        sum
    }
}

impl Received {
    fn check(mut self) -> Found {
        let ids = self.ids.len();
        self.ids.sort_unstable();
        self.ids.dedup();
        Found { ids, twice: ids - self.ids.len(), back: went_back(&self.calls) }
    }
}

/// How many calls got a number that is not above all numbers returned before they began.
fn went_back(calls: &[Call]) -> usize {
    let (mut by_begin, mut by_end): (Vec<_>, Vec<_>) = (calls.iter().collect(), calls.iter().collect());
    by_begin.sort_by_key(|call| call.begun);
    by_end.sort_by_key(|call| call.ended);
    let (mut returned, mut highest, mut back) = (by_end.into_iter().peekable(), None, 0);
    for call in by_begin {
        while let Some(before) = returned.next_if(|before| before.ended < call.begun) {
            highest = highest.max(Some(before.highest));
        }
        back += usize::from(highest >= Some(call.lowest));
    }
    back
}

fn mint(
    host: &str,
    wire: &Wire,
    pause: Option<Duration>,
    stop: &AtomicBool,
    answered: &AtomicU64,
    keeps_calls: bool,
) -> Received {
    let mut received = Received::default();
    while !stop.load(Ordering::Relaxed) {
        if let Ok(mut connection) = Connection::open(host) {
            while !stop.load(Ordering::Relaxed) {
                let begun = now();
                let Ok(ids) = connection.call_many(wire) else { break };
                let ended = now();
                if let (true, Some(&lowest), Some(&highest)) =
                    (keeps_calls, ids.iter().min(), ids.iter().max())
                {
                    received.calls.push(Call { begun, ended, lowest, highest });
                }
                received.ids.extend(ids);
                answered.fetch_add(1, Ordering::Relaxed);
                if let Some(pause) = pause {
                    thread::park_timeout(pause);
                }
            }
        }
        thread::park_timeout(AGAIN);
    }
    received
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Calls by their start and end in seconds, and their lowest and highest number.
    fn found(calls: &[(u64, u64, u128, u128)]) -> Found {
        let zero = now();
        let at = |seconds| zero + Duration::from_secs(seconds);
        let mut received = Received::default();
        for &(begun, ended, lowest, highest) in calls {
            received.ids.extend(lowest..=highest);
            received.calls.push(Call { begun: at(begun), ended: at(ended), lowest, highest });
        }
        received.check()
    }

    #[test]
    fn an_id_that_comes_twice_is_counted() {
        assert_eq!(found(&[(0, 1, 1, 5), (2, 3, 6, 9)]), Found { ids: 9, twice: 0, back: 0 });
        assert_eq!(found(&[(0, 5, 1, 5), (0, 5, 5, 9)]), Found { ids: 10, twice: 1, back: 0 });
    }

    #[test]
    fn a_counter_goes_back_only_for_a_call_that_begins_after_another_returned() {
        // They overlap, so either may be first.
        assert_eq!(found(&[(0, 3, 6, 9), (2, 4, 1, 5)]).back, 0);
        assert_eq!(found(&[(0, 1, 6, 9), (2, 4, 1, 5)]).back, 1);
        // The order in which calls were recorded does not matter.
        assert_eq!(found(&[(2, 4, 1, 5), (0, 1, 6, 9)]).back, 1);
        // The highest returned so far counts, not the last.
        assert_eq!(found(&[(0, 1, 9, 9), (0, 2, 3, 3), (4, 5, 7, 7), (6, 7, 10, 10)]).back, 1);
    }
}
