//! The one list of rows, and the rows of numbers of 64 bits: floe, and others beside it.
//!
//! A layout with 12 bits of sequence yields 4096 IDs in a millisecond, 244 ns each, however fast the code is. So the
//! code is measured on a layout with 20 bits of sequence, for floe and for the others that can have one. The rest are a
//! group of their own.

use std::cell::Cell;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use ferroid::generator::{AtomicSnowflakeGenerator, BasicSnowflakeGenerator, LockSnowflakeGenerator};
use ferroid::time::{MonotonicClock, TWITTER_EPOCH};
use floe::ledger::Memory;
use floe::{Definition, Floe, Generator, Id, Layout, MintError, Name, NameOptions, Segment};
use idgenerator::{IdGeneratorOptions, IdInstance};

use crate::Result;
use crate::measure::{Outcome, fill, fill_with, run};
use crate::{kinds, limits, texts};

/// A measurement on each number of threads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    /// The rows of one group may be compared.
    pub(crate) group: &'static str,
    pub(crate) name: &'static str,
    pub(crate) threads: &'static [usize],
    /// IDs of all threads together in one round.
    pub(crate) count: usize,
    /// Makes this many IDs on this many threads.
    pub(crate) run: fn(threads: usize, count: usize) -> Result<Outcome>,
}

/// The numbers of threads on which most rows run.
pub(crate) const THREADS: &[usize] = &[1, 2, 4, 8];
/// IDs of one batch.
pub(crate) const BATCH: usize = 1_000;
/// IDs of one round, if one takes nanoseconds.
pub(crate) const MANY: usize = 10_000_000;
/// If one takes 244 ns.
const SOME: usize = 400_000;
/// If one takes 39 us.
const A_FEW: usize = 4_000;
/// If one takes 15 us. A counter reserves further ahead the longer it is busy, and reaches the most after a thousand
/// batches, so fewer would measure how it gets there.
const FEW: usize = 20_000;

ferroid::define_snowflake_id!(Roomy, u64, reserved: 1, timestamp: 41, machine_id: 2, sequence: 20);

type Clock = MonotonicClock<1>;

/// All rows, the limits first.
pub(crate) fn all() -> Vec<Row> {
    [limits::rows(), numbers(), at_the_ceiling(), on_a_disk(), kinds::rows(), texts::rows()].concat()
}

fn numbers() -> Vec<Row> {
    let row = |name, run| Row { group: "Numbers of 64 bits", name, threads: THREADS, count: MANY, run };
    vec![
        row("floe minter, one a thread", minters),
        row("floe shared generator", |threads, count| generator(roomy, threads, count)),
        row("floe batches of 1,000", batches),
        row("floe fill of 1,000", |threads, count| {
            let floe = Floe::open(Memory::default())?;
            let generator = ready(&floe, vast)?;
            fills(threads, count, generator, Generator::fill)
        }),
        row("floe segment", segment),
        row("floe segment's minter, one a thread", |threads, count| {
            let floe = Floe::open(Memory::default())?;
            let segment = tickets(&floe)?;
            run(threads, count, || {
                let mut minter = segment.minter();
                move |ids: &mut [Id]| fill(ids, || minter.mint())
            })
        }),
        row("floe segment, batches of 1,000", segment_batches),
        row("floe segment, fill of 1,000", |threads, count| {
            let floe = Floe::open(Memory::default())?;
            fills(threads, count, tickets(&floe)?, Segment::fill)
        }),
        // Its machine ids have two bits.
        Row { threads: &[1, 2, 4], ..row("ferroid basic, one a thread", ferroid_basic) },
        row("ferroid atomic", ferroid_atomic),
        row("ferroid lock", ferroid_lock),
        row("idgenerator", idgenerator),
    ]
}

fn at_the_ceiling() -> Vec<Row> {
    let row = |name, count, run| Row { group: "At a layout's ceiling", name, threads: THREADS, count, run };
    vec![
        row("floe, Twitter's layout: 4,096 a ms", SOME, |threads, count| {
            generator(|| Ok(Layout::TWITTER), threads, count)
        }),
        row("snowflaked: 4,096 a ms", SOME, |threads, count| {
            let generator = Arc::new(snowflaked::sync::Generator::new(1));
            run(threads, count, || {
                let generator = Arc::clone(&generator);
                move |ids: &mut [u64]| fill_with(ids, || generator.generate())
            })
        }),
        row("rs-snowflake in a mutex: 4,096 a ms", SOME, |threads, count| {
            let generator = Arc::new(Mutex::new(snowflake::SnowflakeIdGenerator::new(1, 1)));
            run(threads, count, || {
                let generator = Arc::clone(&generator);
                move |ids: &mut [i64]| {
                    fill_with(ids, || generator.lock().unwrap_or_else(PoisonError::into_inner).generate())
                }
            })
        }),
        row("sonyflake: 256 in 10 ms", A_FEW, |threads, count| {
            let generator = sonyflake::Sonyflake::builder().machine_id(&|| Ok(1)).finalize()?;
            run(threads, count, || {
                let generator = generator.clone();
                move |ids: &mut [u64]| fill(ids, || generator.next_id().map(sonyflake::Id::to_u64))
            })
        }),
    ]
}

fn on_a_disk() -> Vec<Row> {
    vec![Row {
        group: "Durable before it is answered",
        name: "floe counter on SQLite",
        threads: &[1, 2, 4, 8, 16],
        count: FEW,
        run: counter,
    }]
}

fn roomy() -> Result<Layout> {
    Ok("time:41 worker:2 sequence:20 tick=1ms epoch=2020-01-01T00:00:00.000Z".parse()?)
}

/// For many IDs at once: 20 bits allow one ID each 0.95 ns, and these one each 0.24 ns, for 17 years.
pub(crate) fn vast() -> Result<Layout> {
    Ok("time:39 worker:2 sequence:22 tick=1ms epoch=2026-01-01T00:00:00.000Z".parse()?)
}

fn minters(threads: usize, count: usize) -> Result<Outcome> {
    let floe = Floe::open(Memory::default())?;
    let generator = ready(&floe, roomy)?;
    run(threads, count, || {
        let mut minter = generator.minter();
        move |ids: &mut [Id]| fill(ids, || minter.mint())
    })
}

fn generator(layout: fn() -> Result<Layout>, threads: usize, count: usize) -> Result<Outcome> {
    generator_of(&Floe::open(Memory::default())?, layout, threads, count)
}

/// Measures one thread's IDs of a shared generator on this floe.
pub(crate) fn snowflakes(floe: &Floe) -> Result<Outcome> {
    generator_of(floe, roomy, 1, MANY)
}

fn generator_of(
    floe: &Floe,
    layout: fn() -> Result<Layout>,
    threads: usize,
    count: usize,
) -> Result<Outcome> {
    let generator = ready(floe, layout)?;
    run(threads, count, || {
        let generator = generator.clone();
        move |ids: &mut [Id]| fill(ids, || generator.mint())
    })
}

/// A generator that already has a window.
pub(crate) fn ready(floe: &Floe, layout: fn() -> Result<Layout>) -> Result<Generator> {
    let generator = floe.snowflake("orders", layout()?)?;
    generator.mint()?;
    Ok(generator)
}

fn batches(threads: usize, count: usize) -> Result<Outcome> {
    let floe = Floe::open(Memory::default())?;
    let generator = ready(&floe, vast)?;
    run(threads, count, || {
        let generator = generator.clone();
        move |ids: &mut [Id]| {
            for places in ids.chunks_mut(BATCH) {
                let batch = generator.mint_many(u64::try_from(places.len())?)?;
                places.iter_mut().zip(batch).for_each(|(place, id)| *place = id);
            }
            Ok(())
        }
    })
}

fn fills<G: Clone + Send + 'static>(
    threads: usize,
    count: usize,
    generator: G,
    fill: fn(&G, &mut [Id]) -> std::result::Result<(), MintError>,
) -> Result<Outcome> {
    run(threads, count, || {
        let generator = generator.clone();
        move |ids: &mut [Id]| Ok(ids.chunks_mut(BATCH).try_for_each(|ids| fill(&generator, ids))?)
    })
}

fn segment(threads: usize, count: usize) -> Result<Outcome> {
    segment_of(&Floe::open(Memory::default())?, threads, count)
}

/// Measures numbers of a segment on this floe.
pub(crate) fn segment_of(floe: &Floe, threads: usize, count: usize) -> Result<Outcome> {
    let segment = tickets(floe)?;
    run(threads, count, || {
        let segment = segment.clone();
        move |ids: &mut [Id]| fill(ids, || segment.mint())
    })
}

fn segment_batches(threads: usize, count: usize) -> Result<Outcome> {
    let floe = Floe::open(Memory::default())?;
    let segment = tickets(&floe)?;
    run(threads, count, || {
        let segment = segment.clone();
        move |ids: &mut [Id]| {
            for places in ids.chunks_mut(BATCH) {
                let batch = segment.mint_many(u64::try_from(places.len())?)?;
                places.iter_mut().zip(batch).for_each(|(place, id)| *place = id);
            }
            Ok(())
        }
    })
}

/// A segment that has minted at this rate for a while, so its steps are as large as they get.
fn tickets(floe: &Floe) -> Result<Segment> {
    let options = NameOptions { min_step: 20_000_000, max_step: 100_000_000, ..NameOptions::default() };
    let tickets = floe.define(&Name::new("tickets")?, &Definition::SEGMENT, &options)?;
    let segment: &Segment = tickets.get().ok_or("a segment is served as another kind")?;
    segment.mint()?;
    Ok(segment.clone())
}

fn counter(threads: usize, count: usize) -> Result<Outcome> {
    let dir = tempfile::tempdir()?;
    let url = format!("sqlite:{}", dir.path().join("ids.db").display());
    let floe = Floe::open(floe_ledger::open_in(&url, floe_ledger::DEFAULT_REALM)?)?;
    let counter = floe.counter("invoices")?;
    counter.mint()?;
    run(threads, count, || {
        let counter = counter.clone();
        move |ids: &mut [Id]| fill(ids, || counter.mint())
    })
}

fn ferroid_basic(threads: usize, count: usize) -> Result<Outcome> {
    let machine = Cell::new(0_u64);
    run(threads, count, || {
        let clock = Clock::with_epoch(TWITTER_EPOCH);
        let generator = BasicSnowflakeGenerator::<Roomy, _>::new(machine.replace(machine.get() + 1), clock);
        move |ids: &mut [u64]| fill_with(ids, || generator.next_id(|_| std::hint::spin_loop()).to_raw())
    })
}

fn ferroid_atomic(threads: usize, count: usize) -> Result<Outcome> {
    let clock = Clock::with_epoch(TWITTER_EPOCH);
    let generator = Arc::new(AtomicSnowflakeGenerator::<Roomy, _>::new(1, clock));
    run(threads, count, || {
        let generator = Arc::clone(&generator);
        move |ids: &mut [u64]| fill_with(ids, || generator.next_id(|_| std::hint::spin_loop()).to_raw())
    })
}

fn ferroid_lock(threads: usize, count: usize) -> Result<Outcome> {
    let clock = Clock::with_epoch(TWITTER_EPOCH);
    let generator = Arc::new(LockSnowflakeGenerator::<Roomy, _>::new(1, clock));
    run(threads, count, || {
        let generator = Arc::clone(&generator);
        move |ids: &mut [u64]| {
            for id in ids {
                let minted = generator.try_next_id(|_| std::hint::spin_loop());
                *id = minted.map_err(|error| format!("ferroid: {error:?}"))?.to_raw();
            }
            Ok(())
        }
    })
}

/// The process's only generator, with as many bits as floe has here.
fn idgenerator(threads: usize, count: usize) -> Result<Outcome> {
    static READY: LazyLock<std::result::Result<(), String>> = LazyLock::new(|| {
        let options = IdGeneratorOptions::new().worker_id(1).worker_id_bit_len(2).seq_bit_len(20);
        IdInstance::init(options).map_err(|error| error.to_string())
    });
    READY.clone()?;
    run(threads, count, || |ids: &mut [i64]| fill_with(ids, IdInstance::next_id))
}
