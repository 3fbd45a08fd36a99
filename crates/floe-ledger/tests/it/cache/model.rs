//! Whatever is reserved, given back, lost, cut off, killed and restarted: no position is handed out twice.

use std::collections::BTreeMap;

use floe::ledger::{Key, Ledger, LedgerError, MAX_MARK, Reply, Reserve};
use floe_ledger::Cache;
use proptest::prelude::*;
use tempfile::TempDir;

use super::{Behind, bind, numbers, open, try_open, window};

/// The next event. `of` is one of the processes, `key` one of the keys.
#[derive(Clone, Debug)]
enum Event {
    Reserve {
        of: usize,
        key: usize,
        ahead: u64,
        count: u64,
        patience: u64,
    },
    /// The last reservation that was not answered, again, with other parameters.
    Again {
        of: usize,
        ahead: u64,
    },
    GiveBack {
        of: usize,
        part: u64,
    },
    Raise {
        of: usize,
        key: usize,
        ahead: u64,
    },
    /// A caller without a cache reserves.
    Direct {
        key: usize,
        count: u64,
    },
    LoseAnswers {
        count: u64,
    },
    Cut,
    Heal,
    Kill {
        of: usize,
    },
}

/// The processes: two on one directory, and one on another.
const DIRS: [usize; 3] = [0, 0, 1];

fn event() -> impl Strategy<Value = Event> {
    let (of, key) = (0..DIRS.len(), 0..3_usize);
    let (ahead, count) = (0..300_u64, 1..40_u64);
    prop_oneof![
        10 => (of.clone(), key.clone(), ahead.clone(), count.clone(), prop_oneof![Just(0), 0..2_000_u64, Just(MAX_MARK)])
            .prop_map(|(of, key, ahead, count, patience)| Event::Reserve { of, key, ahead, count, patience }),
        4 => (of.clone(), ahead.clone()).prop_map(|(of, ahead)| Event::Again { of, ahead }),
        4 => (of.clone(), 0..100_u64).prop_map(|(of, part)| Event::GiveBack { of, part }),
        1 => (of.clone(), key.clone(), 0..3_000_u64).prop_map(|(of, key, ahead)| Event::Raise { of, key, ahead }),
        2 => (key, count).prop_map(|(key, count)| Event::Direct { key, count }),
        2 => (1..4_u64).prop_map(|count| Event::LoseAnswers { count }),
        1 => Just(Event::Cut),
        2 => Just(Event::Heal),
        2 => of.prop_map(|of| Event::Kill { of }),
    ]
}

/// Every range that any caller got, without what was given back.
#[derive(Default)]
struct Given(BTreeMap<(Key, u64), u64>);

impl Given {
    #[track_caller]
    fn add(&mut self, key: &Key, start: u64, end: u64) {
        if start == end {
            return;
        }
        let before = self.0.range(..(key.clone(), end)).next_back();
        if let Some(((of, other), until)) = before.filter(|((of, _), until)| of == key && **until > start) {
            panic!("{of}: {start}..{end} overlaps {other}..{until}");
        }
        self.0.insert((key.clone(), start), end);
    }

    fn take_back(&mut self, key: &Key, start: u64, from: u64) {
        self.0.remove(&(key.clone(), start));
        if from > start {
            self.0.insert((key.clone(), start), from);
        }
    }

    /// The end of the last range of a key.
    fn end(&self, key: &Key) -> u64 {
        let of = self.0.iter().filter(|((of, _), _)| of == key);
        of.map(|(_, end)| *end).max().unwrap_or(0)
    }
}

struct Process {
    cache: Option<Cache>,
    /// The last reservation that was answered, with its range.
    held: Option<(Reserve, u64, u64)>,
    unanswered: Option<Reserve>,
}

fn keys() -> [Key; 3] {
    [Key::slot(10, 1), Key::slot(10, 2), numbers("orders", 1).key]
}

struct World {
    behind: Behind,
    dirs: [TempDir; 2],
    processes: Vec<Process>,
    given: Given,
}

impl World {
    fn new() -> Self {
        let (behind, dirs) = (Behind::default(), [TempDir::new().unwrap(), TempDir::new().unwrap()]);
        let processes = DIRS.map(|dir| {
            let cache = open(dirs[dir].path(), &behind);
            bind(&cache, "orders");
            Process { cache: Some(cache), held: None, unanswered: None }
        });
        Self { behind, dirs, processes: processes.into(), given: Given::default() }
    }

    /// The process. If it was killed, it is restarted if that is possible.
    fn process(&mut self, of: usize) -> Option<&mut Process> {
        let process = &mut self.processes[of];
        if process.cache.is_none() {
            process.cache = try_open(self.dirs[DIRS[of]].path(), &self.behind).ok();
        }
        process.cache.is_some().then_some(process)
    }

    fn reserve(&mut self, of: usize, request: Reserve) {
        let Some(process) = self.process(of) else { return };
        let Some(cache) = &process.cache else { return };
        process.unanswered = None;
        match cache.reserve(&request) {
            Ok(Reply::Got { start, end, previous_mark }) => {
                assert!(previous_mark <= start, "{previous_mark} {start}");
                process.held = Some((request.clone(), start, end));
                // A repeated request gets its earlier range, which counts once.
                self.given.add(&request.key, start, end);
            }
            Ok(Reply::Refused { mark, .. }) => assert!(mark > request.max_mark, "{mark} {request:?}"),
            Err(LedgerError::Unavailable(_)) => process.unanswered = Some(request),
            Err(error) => panic!("{error}"),
        }
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Reserve { of, key, ahead, count, patience } => {
                let key = keys()[key].clone();
                let now = self.given.end(&key);
                let max_mark = now.saturating_add(patience).min(MAX_MARK - 2 * count);
                let request = Reserve { key, count, max_mark, ..window(1, now + ahead) };
                self.reserve(of, request);
            }
            Event::Again { of, ahead } => {
                let Some(request) = self.processes[of].unanswered.clone() else { return };
                self.reserve(of, Reserve { floor: request.floor + ahead, ..request });
            }
            Event::GiveBack { of, part } => {
                let Some(process) = self.process(of) else { return };
                let (Some((request, start, end)), Some(cache)) = (process.held.take(), &process.cache) else {
                    return;
                };
                let from = start + (end - start) * part / 100;
                // From here on nobody may mint what is being given back, however the call ends.
                if cache.give_back(&request.key, request.token, from) == Ok(true) {
                    self.given.take_back(&request.key, start, from);
                }
            }
            Event::Raise { of, key, ahead } => {
                let key = keys()[key].clone();
                let at_least = self.given.end(&key) + ahead;
                let Some(cache) = self.process(of).and_then(|process| process.cache.as_ref()) else { return };
                if cache.raise(&key, at_least).is_ok() {
                    // From here on this directory hands out nothing below it.
                    let request =
                        Reserve { key: key.clone(), count: 1, max_mark: MAX_MARK - 1, ..window(1, 0) };
                    if let Ok(Reply::Got { start, end, .. }) = cache.reserve(&request) {
                        assert!(start >= at_least, "{start} is below {at_least}");
                        self.given.add(&key, start, end);
                    }
                }
            }
            Event::Direct { key, count } => {
                let request =
                    Reserve { key: keys()[key].clone(), count, max_mark: MAX_MARK - count, ..window(1, 0) };
                let Ok(Reply::Got { start, end, .. }) = self.behind.store.reserve(&request) else {
                    panic!("refused")
                };
                self.given.add(&request.key, start, end);
            }
            Event::LoseAnswers { count } => self.behind.lose_answers(count),
            Event::Cut => self.behind.cut(),
            Event::Heal => self.behind.heal(),
            Event::Kill { of } => self.processes[of] = Process { cache: None, held: None, unanswered: None },
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn nothing_is_handed_out_twice(events in prop::collection::vec(event(), 1..120)) {
        let mut world = World::new();
        for event in events {
            world.happen(event);
        }
        // When everything works again, every caller is served.
        world.behind.heal();
        world.behind.lose_answers(0);
        for of in 0..DIRS.len() {
            let before = world.given.0.len();
            world.reserve(of, Reserve { max_mark: MAX_MARK / 2, ..numbers("orders", 5) });
            prop_assert_eq!(world.given.0.len(), before + 1);
        }
    }
}
