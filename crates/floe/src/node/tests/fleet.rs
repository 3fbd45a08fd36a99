//! Several nodes on one ledger, in any order: answers that are lost, late, doubled; clocks that step; crashes, copies
//! and closings. Everything that is ever minted is held against I1, I2 and I3.

use std::collections::HashSet;

use proptest::prelude::*;

use super::*;

/// Few slots for three nodes, and few IDs a tick.
fn layouts() -> [(Layout, Workers); 2] {
    let layout =
        |fields| Layout::new(fields, 1, UnixMillis::new(1_600_000_000_000), Layout::TWITTER.width()).unwrap();
    [
        (layout("time:41 worker:2 sequence:2"), Workers::all(2).unwrap()),
        // One slot for all of them, and each takes the others for its own earlier lives.
        (layout("time:41 sequence:2"), Workers::all(0).unwrap()),
    ]
}

const NODES: usize = 3;

/// A node's life.
struct Life {
    rig: Rig,
    streams: Vec<Arc<Stream>>,
    numbers: Arc<SegmentSupply>,
    counter: Name,
    waiting: Vec<(Arc<Ticket>, Option<u64>)>,
    /// What this life may mint from: the ranges that were reserved for it since its last era began.
    owned: Vec<(Key, Token, std::ops::Range<u64>)>,
    /// Questions up to this one were asked in an earlier era.
    stale: u64,
    last: [Option<u64>; 3],
    /// Answers that are under way, and may come more than once.
    late: Vec<(u64, Result<Reply, LedgerError>)>,
}

struct Fleet {
    ledger: Memory,
    lives: Vec<Life>,
    closed: Vec<Life>,
    seed: u64,
    /// What takes effect some day, or never.
    stray: Vec<Call>,
    minted: HashSet<(usize, u64, u64)>,
    counted: HashSet<u64>,
    largest: Option<u64>,
}

impl Fleet {
    fn new() -> Self {
        let mut fleet = Self {
            ledger: Memory::default(),
            lives: Vec::new(),
            closed: Vec::new(),
            seed: 0,
            stray: Vec::new(),
            minted: HashSet::new(),
            counted: HashSet::new(),
            largest: None,
        };
        fleet.lives = (0..NODES).map(|_| fleet.born(Hands::at(BEGIN))).collect();
        fleet
    }

    fn born(&mut self, hands: Hands) -> Life {
        self.seed += 1;
        let mut rig = Rig::with(&self.ledger, self.seed, hands, 100, self.seed.is_multiple_of(2));
        rig.node.requests.settings.is_gone = Box::new(|_| true);
        let streams = layouts().map(|(layout, workers)| rig.snowflake(&layout, workers)).into();
        let numbers = rig.segment("tickets", Steps { min: 4, max: 32, refill_ms: 50 });
        let counter = rig.queue("count", None);
        Life {
            rig,
            streams,
            numbers,
            counter,
            waiting: Vec::new(),
            owned: Vec::new(),
            stale: 0,
            last: [None; 3],
            late: Vec::new(),
        }
    }

    /// The ledger does it, now.
    fn effect(&mut self, node: usize, call: &Call) -> Option<Result<Reply, LedgerError>> {
        let life = &mut self.lives[node];
        let answer = life.rig.effect(call)?;
        if let (Op::Reserve(request) | Op::Count(request), Ok(Reply::Got { start, end, .. })) =
            (&call.op, &answer)
            && call.id > life.stale
        {
            if request.key.as_str().starts_with(Key::SLOTS) {
                assert!(*end <= life.rig.now() + 200, "the mark of {} runs away", request.key);
            }
            life.owned.push((request.key.clone(), request.token, *start..*end));
        }
        Some(answer)
    }

    fn answer(&mut self, node: usize, id: u64, answer: Result<Reply, LedgerError>) {
        self.lives[node].rig.answer(id, answer);
        self.check_counts(node);
    }

    fn act(&mut self, (what, which, how): (u8, u8, u16)) {
        let node = usize::from(which) % NODES;
        let how = u64::from(how);
        match what % 32 {
            0..=8 => self.mint(node, how),
            9 => self.mint_where_it_is_closed(how),
            10 | 11 => self.count(node, how % 5 + 1),
            // Questions reach the ledger, and answers the node.
            12..=20 => self.deliver(node, how),
            21 => {
                let late = &mut self.lives[node].late;
                if !late.is_empty() {
                    let at = usize::try_from(how).unwrap() % late.len();
                    // Some come again.
                    let (id, answer) =
                        if how.is_multiple_of(3) { late[at].clone() } else { late.swap_remove(at) };
                    self.answer(node, id, answer);
                }
            }
            22 if !self.stray.is_empty() => {
                let at = usize::try_from(how).unwrap() % self.stray.len();
                let call = self.stray.swap_remove(at);
                self.lives[node].rig.effect(&call);
            }
            23..=26 => self.lives.iter().for_each(|life| life.rig.hands.pass(how % 40)),
            27 => self.lives[node].rig.hands.pass(how % 7),
            28 => {
                let by = i64::try_from(how % 200).unwrap() - 100;
                let life = &mut self.lives[node];
                let era = life.rig.clock.look().stamp.era();
                life.rig.hands.set(if how.is_multiple_of(16) { 20 * by } else { by });
                if life.rig.clock.look().stamp.era() != era {
                    life.forget();
                }
            }
            29 if how.is_multiple_of(4) => {
                let life = &mut self.lives[node];
                life.rig.clock.invalidate();
                life.forget();
            }
            29 if how % 4 == 1 => self.crash(node),
            29 if how % 4 == 2 => self.close(node, how / 4),
            _ => {}
        }
    }

    fn deliver(&mut self, node: usize, how: u64) {
        self.lives[node].rig.step();
        let Some(call) = self.lives[node].rig.calls.pop_front() else { return };
        match how % 16 {
            // Lost on the way there, and back.
            0 => self.answer(node, call.id, unavailable()),
            1 => {
                self.effect(node, &call);
                self.answer(node, call.id, unavailable());
            }
            // The node gives up on it, and it takes effect later all the same.
            2 => {
                self.answer(node, call.id, unavailable());
                self.stray.push(call);
            }
            // The answer takes its time.
            3 => {
                if let Some(answer) = self.effect(node, &call) {
                    self.lives[node].late.push((call.id, answer));
                }
            }
            _ => {
                if let Some(answer) = self.effect(node, &call) {
                    self.answer(node, call.id, answer);
                }
            }
        }
    }

    fn mint(&mut self, node: usize, how: u64) {
        let kind = usize::try_from(how % 3).unwrap();
        let life = &mut self.lives[node];
        let (position, worker, count, span, key) = if kind < 2 {
            let layout = life.streams[kind].layout.clone();
            let Mint::Got { position, worker } = life.rig.mint(&life.streams[kind]) else { return };
            let time = |tick| layout.time_of(tick).position().unwrap();
            let tick = layout.tick_of(position);
            (position, worker, 1, time(tick)..time(tick + 1), Key::slot(layout.worker_bits(), worker))
        } else {
            let count = how / 3 % 6 + 1;
            let Ok(start) = life.rig.number(&life.numbers, count) else { return };
            (start, 0, count, start..start + count, Key::name(&Name::new("tickets").unwrap()))
        };
        // A draw may go over two ranges that touch.
        let inside =
            span.clone().all(|at| life.owned.iter().any(|(of, _, range)| *of == key && range.contains(&at)));
        assert!(inside, "node {node} minted {span:?} of {key}, which is not its own (I3): {:?}", life.owned);
        assert!(life.last[kind] < Some(position), "node {node} went back to {position} of {key}");
        life.last[kind] = Some(position + count - 1);
        for position in position..position + count {
            assert!(self.minted.insert((kind, worker, position)), "{key} minted {position} twice (I3)");
        }
    }

    fn count(&mut self, node: usize, count: u64) {
        let life = &mut self.lives[node];
        let counter = life.counter.clone();
        let ticket = life.rig.enqueue(&counter, count);
        life.waiting.push((ticket, self.largest));
    }

    /// Every number is larger than all that were answered before its call began.
    fn check_counts(&mut self, node: usize) {
        let life = &mut self.lives[node];
        life.waiting.retain(|(ticket, before)| {
            let Some(answer) = ticket.answered() else { return true };
            let first = answer.expect("the counter goes on");
            assert!(*before < Some(first), "{first} after {before:?}");
            for number in first..first + ticket.count {
                assert!(self.counted.insert(number), "counted {number} twice");
                self.largest = self.largest.max(Some(number));
            }
            false
        });
    }

    /// The process dies: what it asked may take effect some day, what it held is nobody's.
    fn crash(&mut self, node: usize) {
        let mut life = self.next_life(node);
        self.stray.extend(life.rig.calls.drain(..));
    }

    /// The process ends in order. What it gives back reaches the ledger now, later, twice, or never.
    fn close(&mut self, node: usize, how: u64) {
        let mut life = self.next_life(node);
        life.rig.node.close(&life.rig.clock);
        life.rig.collect();
        for call in life.rig.calls.drain(..).collect::<Vec<_>>() {
            if let Op::GiveBack { key, token, from } = &call.op {
                // A retry whose first attempt had an effect that somebody else reserved over has two ranges.
                let own = |(of, with, range): &(Key, Token, std::ops::Range<u64>)| {
                    of == key && with == token && range.contains(from)
                };
                assert!(life.owned.iter().any(own), "{from} of {key} was not reserved in this era (I1)");
            }
            if !how.is_multiple_of(4) {
                life.rig.effect(&call);
            }
            if how % 4 < 2 {
                self.stray.push(call);
            }
        }
        self.closed.push(life);
    }

    fn next_life(&mut self, node: usize) -> Life {
        let hands = self.lives[node].rig.hands.clone();
        let next = self.born(hands);
        std::mem::replace(&mut self.lives[node], next)
    }

    fn mint_where_it_is_closed(&self, how: u64) {
        let Some(life) = self.closed.last() else { return };
        let mint = life.rig.mint(&life.streams[usize::try_from(how % 2).unwrap()]);
        assert!(matches!(mint, Mint::Empty(Some(MintError::Stopped(_)))), "{mint:?}");
        let number = life.rig.number(&life.numbers, 1);
        assert!(matches!(number, Err(Some(MintError::Stopped(_)))), "{number:?}");
    }
}

impl Life {
    /// A copy of this process may mint in all that was reserved up to now.
    fn forget(&mut self) {
        self.owned.clear();
        self.stale = self.rig.node.requests.last_call;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_is_minted_twice_whatever_becomes_of_questions_answers_clocks_and_processes(
        actions in prop::collection::vec(any::<(u8, u8, u16)>(), 1..300)
    ) {
        let mut fleet = Fleet::new();
        actions.into_iter().for_each(|action| fleet.act(action));
    }
}

/// The property above would hold of nodes that do nothing, too.
#[test]
fn the_histories_mint() {
    let mut fleet = Fleet::new();
    let mut random = 7_u64;
    for _ in 0..60_000 {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let [what, which, a, b, ..] = (random >> 16).to_le_bytes();
        fleet.act((what, which, u16::from_le_bytes([a, b])));
    }
    let of = |kind| fleet.minted.iter().filter(|(of, ..)| *of == kind).count();
    let minted = [of(0), of(1), of(2), fleet.counted.len()];
    assert!(minted.iter().all(|&count| count > 300), "{minted:?}");
    let slots = fleet.ledger.list("s/2/", "", 9).unwrap().len();
    assert_eq!(slots, 4, "all slots were in use");
    assert!(fleet.closed.len() > 100);
}
