//! What floe costs as the work grows: names, taken slots, nodes, and the size of a batch.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use floe::ledger::{Key, Ledger, Memory, Reserve, Token};
use floe::manual::{self, Manual, Op, Surroundings};
use floe::{
    Definition, Floe, Generator, Id, Layout, MonoMillis, Name, NameOptions, Outcome, Owner, Reading, Segment,
    UnixMillis,
};

use crate::Result;
use crate::compare::Comparison;
use crate::curves::Curves;
use crate::measure::{now, run};
use crate::rows::{MANY, ready, vast};
use crate::serve::resident_kib;

/// When the clocks of the nodes begin.
const NOW: i64 = 1_767_225_600_000;

/// The curves, and whether their largest figures are left out.
struct Growth {
    curves: Curves,
    quick: bool,
}

/// Prints each curve and writes them all. Returns whether no ID came twice.
pub(crate) fn report(options: &Comparison) -> Result<bool> {
    let mut growth = Growth { curves: Curves::default(), quick: options.quick };
    let sound = batches(&mut growth)?;
    names(&mut growth)?;
    slots(&mut growth)?;
    nodes(&mut growth)?;
    growth.curves.write(&options.out, "growth")?;
    Ok(sound)
}

impl Growth {
    /// Those of the counts that are measured.
    fn counts<const N: usize>(&self, counts: [u32; N]) -> impl Iterator<Item = u32> + use<N> {
        let most = if self.quick { 10_000 } else { u32::MAX };
        counts.into_iter().filter(move |count| *count <= most)
    }
}

fn batches(growth: &mut Growth) -> Result<bool> {
    println!("IDs in one batch, ns an ID");
    let mut sound = true;
    let ids = if growth.quick { MANY / 10 } else { MANY };
    for size in growth.counts([1, 10, 100, 1_000, 10_000, 100_000, 1_000_000]) {
        let at_once = usize::try_from(size)?;
        let floe = Floe::open(Memory::default())?;
        let generator = ready(&floe, vast)?;
        let outcome = run(1, ids, || {
            let generator = generator.clone();
            move |ids: &mut [Id]| {
                for places in ids.chunks_mut(at_once) {
                    let batch = generator.mint_many(u64::try_from(places.len())?)?;
                    places.iter_mut().zip(batch).for_each(|(place, id)| *place = id);
                }
                Ok(())
            }
        })?;
        sound &= outcome.repeated() == 0;
        println!("{size:>10} {:>8.2}", outcome.nanos_per_id());
        let point = (f64::from(size), outcome.nanos_per_id());
        growth.curves.add("an ID of a batch, ns", "IDs in the batch", "mint_many", point);
    }
    Ok(sound)
}

/// Segments, each asked for one number: all of them kept, and unloaded one by one. The ledger is in memory too.
fn names(growth: &mut Growth) -> Result<()> {
    const TIME: &str = "a name, µs";
    const MEMORY: &str = "memory of a name, its record included, KB";
    println!("names: us to define one, KB of each, us to load one again");
    for count in growth.counts([10, 1_000, 100_000]) {
        let floe = Floe::open(Memory::default())?;
        let (before, begun) = (resident_kib(std::process::id())?, now());
        for number in 0..count {
            mint(&floe, number)?;
        }
        let (each, loaded) = (micros_each(begun.elapsed(), count), resident_kib(std::process::id())?);
        for number in 0..count {
            floe.unload(&name(number)?);
        }
        let (again, begun) = (count.min(1_000), now());
        for number in 0..again {
            mint(&floe, number)?;
        }
        let again = micros_each(begun.elapsed(), again);
        let kib = f64::from(loaded.saturating_sub(before)) / f64::from(count);
        println!("{count:>10} {each:>8.1} {kib:>8.2} {again:>8.1}");
        growth.curves.add(TIME, "names", "define", (f64::from(count), each));
        growth.curves.add(TIME, "names", "load again", (f64::from(count), again));
        growth.curves.add(MEMORY, "names", "loaded", (f64::from(count), kib));
    }
    println!(
        "names that pass by, each unloaded after its number: us for each, MB more at the end, most of them the ledger's"
    );
    for count in growth.counts([1_000, 100_000, 1_000_000]) {
        let floe = Floe::open(Memory::default())?;
        let (before, begun) = (resident_kib(std::process::id())?, now());
        for number in 0..count {
            mint(&floe, number)?;
            floe.unload(&name(number)?);
        }
        let each = micros_each(begun.elapsed(), count);
        let kib = resident_kib(std::process::id())?.saturating_sub(before);
        println!("{count:>10} {each:>8.1} {:>8.1}", f64::from(kib) / 1024.0);
        growth.curves.add(TIME, "names", "define, mint, unload", (f64::from(count), each));
        growth.curves.add(MEMORY, "names", "unloaded", (f64::from(count), f64::from(kib) / f64::from(count)));
    }
    Ok(())
}

fn name(number: u32) -> Result<Name> {
    Ok(Name::new(&format!("name-{number}"))?)
}

fn mint(floe: &Floe, number: u32) -> Result<()> {
    let handle = floe.define(&name(number)?, &Definition::SEGMENT, &NameOptions::default())?;
    let segment: &Segment = handle.get().ok_or("a segment is served as another kind")?;
    segment.mint()?;
    Ok(())
}

fn micros_each(elapsed: Duration, count: u32) -> f64 {
    elapsed.as_secs_f64() * 1e6 / f64::from(count)
}

/// A node that looks for a free slot where others have taken some of 2^20.
fn slots(growth: &mut Growth) -> Result<()> {
    const BITS: u32 = 20;
    println!("taken slots of 2^20: calls to the ledger and ms until the first ID");
    let layout: Layout = "time:41 worker:20 sequence:2 tick=1ms epoch=2020-01-01T00:00:00.000Z".parse()?;
    let ledger = Memory::default();
    let mut taken = 0;
    for wanted in [0, 1 << 10, 1 << 19, (1 << 20) - (1 << 14), (1 << 20) - (1 << 10)] {
        while taken < wanted {
            let reserve = Reserve {
                key: Key::slot(BITS, taken),
                // A day ahead, so that nobody takes it over while this is measured.
                floor: u64::try_from(system_millis())? + 86_400_000,
                count: 1,
                max_mark: floe::ledger::MAX_MARK - 1,
                token: Token::random()?,
                create: true,
                note: None,
            };
            ledger.reserve(&reserve)?;
            taken += 1;
        }
        let begun = now();
        let floe = Floe::builder().max_wait(Duration::from_secs(60)).open(ledger.clone())?;
        floe.snowflake("orders", layout.clone())?.mint()?;
        let (calls, millis) = (floe.status().calls, begun.elapsed().as_secs_f64() * 1e3);
        let calls = u32::try_from(calls.granted + calls.refused)?;
        println!("{taken:>10} {calls:>8} {millis:>8.1}");
        let free = f64::from((1 << BITS) - u32::try_from(taken)?);
        growth.curves.add(
            "calls to the ledger for a slot",
            "free slots of 2^20",
            "calls",
            (free, calls.into()),
        );
        floe.close();
    }
    Ok(())
}

fn system_millis() -> i64 {
    let since = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or_default()
}

/// Nodes that each mint an ID a second, on one ledger and one clock, which is a number.
fn nodes(growth: &mut Growth) -> Result<()> {
    println!(
        "nodes, each with an ID a second: windows that they reserve a second, and questions for the ledger's clock"
    );
    let layout: Layout = "time:41 worker:17 sequence:5 tick=1ms epoch=2020-01-01T00:00:00.000Z".parse()?;
    let (short, long) = (growth.counts([10, 1_000]), growth.counts([1_000, 10_000, 100_000]));
    for (window, count) in short.map(|count| (3, count)).chain(long.map(|count| (30, count))) {
        let seconds = 240;
        let (time, ledger) = (Arc::new(AtomicI64::new(0)), Memory::default());
        let nodes =
            (0..count).map(|number| Node::open(&ledger, &time, number, &layout, Duration::from_secs(window)));
        let mut nodes = nodes.collect::<Result<Vec<_>>>()?;
        let mut calls = [0_u64; 2];
        for second in 0..seconds {
            time.store(1_000 * second, Ordering::Relaxed);
            for node in &mut nodes {
                let (minted, asked) = node.mint()?;
                // At first they all look for a slot at once.
                if second >= seconds / 2 {
                    if !minted {
                        return Err("a node had no window for an ID a second".into());
                    }
                    calls[0] += asked[0];
                    calls[1] += asked[1];
                }
            }
        }
        let seconds = u32::try_from(seconds - seconds / 2)?;
        #[expect(clippy::cast_precision_loss, reason = "a rate for people to read")]
        let [windows, clock] = calls.map(|calls| calls as f64 / f64::from(seconds));
        println!("{window:>4} s {count:>10} {windows:>10.2} {clock:>10.2}");
        let name = format!("windows of {window} s");
        growth.curves.add("windows reserved a second", "nodes", &name, (f64::from(count), windows));
    }
    Ok(())
}

/// A bijection of 64 bits, so that nodes try other slots and no token comes twice (`SplitMix64`).
fn mix(bits: u64) -> u64 {
    let mixed = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

struct Node {
    generator: Generator,
    manual: Manual,
    ledger: Memory,
    _floe: Floe,
}

impl Node {
    fn open(
        ledger: &Memory,
        time: &Arc<AtomicI64>,
        number: u32,
        layout: &Layout,
        window: Duration,
    ) -> Result<Self> {
        let (read, mut drawn) = (Arc::clone(time), 0_u64);
        let surroundings = Surroundings {
            clock: Box::new(move || {
                let passed = read.load(Ordering::Relaxed);
                let mono = u64::try_from(passed).unwrap_or_default();
                Reading { wall: UnixMillis::new(NOW + passed), mono: MonoMillis::new(mono) }
            }),
            entropy: Box::new(move || {
                drawn += 1;
                let halves = [number, u32::MAX - number].map(|half| mix(u64::from(half) << 32 | drawn));
                (u128::from(halves[0]) << 64 | u128::from(halves[1]) | 1).to_le_bytes()
            }),
            owner: Owner::this_process(&format!("node-{number}")),
            is_gone: Box::new(|_| false),
        };
        let (floe, manual) = manual::open(Floe::builder().window(window), ledger.clone(), surroundings)?;
        let generator = floe.snowflake("orders", layout.clone())?;
        Ok(Self { generator, manual, ledger: ledger.clone(), _floe: floe })
    }

    /// Mints an ID, if it has a window or gets one. Returns how many windows it asked for, and how often it asked for the
    /// ledger's clock.
    fn mint(&mut self) -> Result<(bool, [u64; 2])> {
        let mut asked = [0; 2];
        self.manual.tick();
        loop {
            let minted = matches!(self.generator.try_mint()?, Outcome::Ready(_));
            let turn = self.manual.turn();
            if turn.calls.is_empty() {
                return Ok((minted, asked));
            }
            for call in turn.calls {
                match &call.op {
                    Op::Reserve(request) => {
                        asked[0] += 1;
                        self.manual.answer(call.id, self.ledger.reserve(request));
                    }
                    Op::Count(request) => self.manual.answer(call.id, self.ledger.count(request)),
                    Op::Clock => {
                        asked[1] += 1;
                        self.manual.answer_clock(call.id, Ok(None));
                    }
                    Op::GiveBack { .. } => self.manual.over(call.id),
                }
            }
        }
    }
}
