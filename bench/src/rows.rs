//! What is measured: floe, and others beside it.
//!
//! A layout with 12 bits of sequence yields 4096 IDs in a millisecond, 244 ns each, whatever the code costs. So the
//! cost of the code is measured on a layout with 20 bits of sequence, for floe and for the peers that can have one;
//! rows at the ceiling say so.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};

use ferroid::generator::{AtomicSnowflakeGenerator, BasicSnowflakeGenerator, LockSnowflakeGenerator};
use ferroid::time::{MonotonicClock, TWITTER_EPOCH};
use floe::ledger::Memory;
use floe::{Definition, Floe, Id, Layout, Name, NameOptions, Segment};

use crate::Result;
use crate::measure::{Outcome, fill, run};

/// One line of the table.
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) run: fn() -> Result<Outcome>,
}

/// IDs of one thread in one round, where they cost nanoseconds.
const MANY: usize = 10_000_000;
/// Where they cost 244 ns.
const SOME: usize = 400_000;
/// Where they cost a write to disk.
const FEW: usize = 500;

ferroid::define_snowflake_id!(Roomy, u64, reserved: 1, timestamp: 41, machine_id: 2, sequence: 20);

type Clock = MonotonicClock<1>;

/// All rows, floe first.
pub(crate) fn all() -> Vec<Row> {
    let row = |name, run| Row { name, run };
    vec![
        row("floe minter, 1 thread", || minters(1)),
        row("floe minter, 2 threads with one each", || minters(2)),
        row("floe shared generator, 1 thread", || generator(roomy, 1, MANY)),
        row("floe shared generator, 2 threads", || generator(roomy, 2, MANY)),
        row("floe batches of 1000, 1 thread", batches),
        row("floe segment, 1 thread", || segment(1)),
        row("floe segment, 2 threads", || segment(2)),
        row("floe twitter layout, 1 thread (at the ceiling)", || generator(|| Ok(Layout::TWITTER), 1, SOME)),
        row("floe counter over sqlite, 1 thread", || counter(1)),
        row("floe counter over sqlite, 16 threads", || counter(16)),
        row("ferroid basic, 1 thread", || {
            run(1, MANY, || {
                let generator = BasicSnowflakeGenerator::<Roomy, _>::new(1, Clock::with_epoch(TWITTER_EPOCH));
                move |ids: &mut [u64]| fill(ids, || never(generator.next_id(|_| std::hint::spin_loop())))
            })
        }),
        row("ferroid atomic, 1 thread", || ferroid_atomic(1)),
        row("ferroid atomic, 2 threads", || ferroid_atomic(2)),
        row("ferroid lock, 2 threads", || {
            let generator = LockSnowflakeGenerator::<Roomy, _>::new(1, Clock::with_epoch(TWITTER_EPOCH));
            let generator = Arc::new(generator);
            run(2, MANY / 10, || {
                let generator = Arc::clone(&generator);
                move |ids: &mut [u64]| {
                    for id in ids {
                        *id = generator
                            .try_next_id(|_| std::hint::spin_loop())
                            .map_err(|error| format!("ferroid: {error:?}"))?
                            .to_raw();
                    }
                    Ok(())
                }
            })
        }),
        row("snowflaked, 1 thread (at the ceiling)", || {
            run(1, SOME, || {
                let mut generator = snowflaked::Generator::new(1);
                move |ids: &mut [u64]| fill(ids, || Ok::<_, Infallible>(generator.generate::<u64>()))
            })
        }),
        row("snowflaked, 2 threads (at the ceiling)", || {
            let generator = Arc::new(snowflaked::sync::Generator::new(1));
            run(2, SOME, || {
                let generator = Arc::clone(&generator);
                move |ids: &mut [u64]| fill(ids, || Ok::<_, Infallible>(generator.generate::<u64>()))
            })
        }),
        row("rs-snowflake in a mutex, 2 threads (ceiling)", || {
            let generator = Arc::new(Mutex::new(snowflake::SnowflakeIdGenerator::new(1, 1)));
            run(2, SOME, || {
                let generator = Arc::clone(&generator);
                move |ids: &mut [i64]| {
                    fill(ids, || {
                        let mut generator = generator.lock().unwrap_or_else(PoisonError::into_inner);
                        Ok::<_, Infallible>(generator.generate())
                    })
                }
            })
        }),
        row("uuid v7, 1 thread", || uuids(1, uuid::Uuid::now_v7)),
        row("uuid v7, 2 threads", || uuids(2, uuid::Uuid::now_v7)),
        row("uuid v4, 1 thread", || uuids(1, uuid::Uuid::new_v4)),
    ]
}

#[expect(clippy::unnecessary_wraps, reason = "what `fill` takes")]
fn never(id: Roomy) -> std::result::Result<u64, Infallible> {
    Ok(id.to_raw())
}

fn roomy() -> Result<Layout> {
    Ok("time:41 worker:2 sequence:20 tick=1ms epoch=2020-01-01T00:00:00.000Z".parse()?)
}

/// An ID that a slice can be filled with before there are any.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Slot(Id);

impl Default for Slot {
    fn default() -> Self {
        Self(Id::MAX)
    }
}

fn minters(threads: usize) -> Result<Outcome> {
    let floe = Floe::open(Memory::default())?;
    let generator = floe.snowflake("orders", roomy()?)?;
    generator.mint()?;
    run(threads, MANY, || {
        let mut minter = generator.minter();
        move |ids: &mut [Slot]| fill(ids, || minter.mint().map(Slot))
    })
}

fn generator(layout: fn() -> Result<Layout>, threads: usize, count: usize) -> Result<Outcome> {
    generator_of(&Floe::open(Memory::default())?, layout, threads, count)
}

/// One thread's IDs of a shared generator on this floe.
pub(crate) fn snowflakes(floe: &Floe) -> Result<Outcome> {
    generator_of(floe, roomy, 1, MANY)
}

fn generator_of(
    floe: &Floe,
    layout: fn() -> Result<Layout>,
    threads: usize,
    count: usize,
) -> Result<Outcome> {
    let generator = floe.snowflake("orders", layout()?)?;
    generator.mint()?;
    run(threads, count, || {
        let generator = generator.clone();
        move |ids: &mut [Slot]| fill(ids, || generator.mint().map(Slot))
    })
}

fn batches() -> Result<Outcome> {
    let floe = Floe::open(Memory::default())?;
    let generator = floe.snowflake("orders", roomy()?)?;
    generator.mint()?;
    run(1, MANY, || {
        let generator = generator.clone();
        move |ids: &mut [Slot]| {
            for chunk in ids.chunks_mut(1_000) {
                let batch = generator.mint_many(u64::try_from(chunk.len())?)?;
                for (slot, id) in chunk.iter_mut().zip(batch) {
                    *slot = Slot(id);
                }
            }
            Ok(())
        }
    })
}

fn segment(threads: usize) -> Result<Outcome> {
    segment_of(&Floe::open(Memory::default())?, threads)
}

/// Numbers of a segment on this floe. Steps are as large as a name has them that has minted at this rate for a while.
pub(crate) fn segment_of(floe: &Floe, threads: usize) -> Result<Outcome> {
    let taste = NameOptions { min_step: 20_000_000, max_step: 100_000_000, ..NameOptions::default() };
    let tickets = floe.define(&Name::new("tickets")?, &Definition::SEGMENT, &taste)?;
    let segment: &Segment = tickets.get().ok_or("a segment is served as another kind")?;
    segment.mint()?;
    run(threads, MANY, || {
        let segment = segment.clone();
        move |ids: &mut [Slot]| fill(ids, || segment.mint().map(Slot))
    })
}

fn counter(threads: usize) -> Result<Outcome> {
    let dir = tempfile::tempdir()?;
    let url = format!("sqlite:{}", dir.path().join("ids.db").display());
    let floe = Floe::open(floe_ledger::open_in(&url, floe_ledger::DEFAULT_REALM)?)?;
    let counter = floe.counter("invoices")?;
    counter.mint()?;
    run(threads, FEW, || {
        let counter = counter.clone();
        move |ids: &mut [Slot]| fill(ids, || counter.mint().map(Slot))
    })
}

fn ferroid_atomic(threads: usize) -> Result<Outcome> {
    let generator = AtomicSnowflakeGenerator::<Roomy, _>::new(1, Clock::with_epoch(TWITTER_EPOCH));
    let generator = Arc::new(generator);
    run(threads, MANY, || {
        let generator = Arc::clone(&generator);
        move |ids: &mut [u64]| fill(ids, || never(generator.next_id(|_| std::hint::spin_loop())))
    })
}

fn uuids(threads: usize, make: fn() -> uuid::Uuid) -> Result<Outcome> {
    run(threads, MANY / 10, || move |ids: &mut [u128]| fill(ids, || Ok::<_, Infallible>(make().as_u128())))
}
