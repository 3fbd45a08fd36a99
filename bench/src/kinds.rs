//! Kinds that need no ledger, each beside the crate that is used today.
//!
//! IDs are compared in the form in which they are minted, as bytes or numbers.

use std::sync::Arc;
use std::time::SystemTime;

use floe::kind::{
    KsuidGenerator, Mint, NanoIdGenerator, ObjectIdGenerator, UlidGenerator, UuidV4Generator, UuidV7Generator,
};
use svix_ksuid::KsuidLike;

use crate::Result;
use crate::measure::{Blank, Outcome, fill, fill_with, run};
use crate::rows::{BATCH, Row, THREADS};

/// IDs of one round.
const COUNT: usize = 2_000_000;

/// All rows, floe before its peer.
pub(crate) fn rows() -> Vec<Row> {
    let row = |name, run| Row { group: "Kinds without a ledger", name, threads: THREADS, count: COUNT, run };
    vec![
        row("floe uuid v4", |threads, count| floes(threads, count, UuidV4Generator::new(), |id| id.get())),
        row("uuid v4", |threads, count| others(threads, count, || uuid::Uuid::new_v4().as_u128())),
        row("floe uuid v7 minter, one a thread", |threads, count| {
            run(threads, count, || {
                let mut minter = UuidV7Generator::new().minter();
                move |ids: &mut [u128]| fill(ids, || minter.mint().map(floe::kind::Uuid::get))
            })
        }),
        row("floe uuid v7", |threads, count| floes(threads, count, UuidV7Generator::new(), |id| id.get())),
        row("floe uuid v7, batches of 1,000", |threads, count| {
            batches(threads, count, UuidV7Generator::new(), |id| id.get())
        }),
        row("floe uuid v7, precise", |threads, count| {
            floes(threads, count, UuidV7Generator::precise(), |id| id.get())
        }),
        row("uuid v7", |threads, count| others(threads, count, || uuid::Uuid::now_v7().as_u128())),
        row("floe ulid minter, one a thread", |threads, count| {
            run(threads, count, || {
                let mut minter = UlidGenerator::new().minter();
                move |ids: &mut [u128]| fill(ids, || minter.mint().map(floe::kind::Ulid::get))
            })
        }),
        row("floe ulid", |threads, count| floes(threads, count, UlidGenerator::new(), |id| id.get())),
        row("floe ulid, batches of 1,000", |threads, count| {
            batches(threads, count, UlidGenerator::new(), |id| id.get())
        }),
        row("ferroid ulid, monotonic, one a thread", |threads, count| {
            others(threads, count, || {
                ferroid::generator::thread_local::Ulid::new_ulid_mono(|_| std::hint::spin_loop()).to_raw()
            })
        }),
        row("ulid, random", |threads, count| others(threads, count, || ulid::Ulid::generate().0)),
        row("floe objectid", |threads, count| {
            floes(threads, count, ObjectIdGenerator::new(), |id| id.to_bytes())
        }),
        row("bson objectid", |threads, count| others(threads, count, || bson::oid::ObjectId::new().bytes())),
        row("floe ksuid", |threads, count| floes(threads, count, KsuidGenerator::new(), |id| id.to_bytes())),
        row("svix-ksuid", |threads, count| {
            others(threads, count, || *svix_ksuid::Ksuid::new(None::<SystemTime>, None).bytes())
        }),
        row("floe nanoid", |threads, count| {
            floes(threads, count, NanoIdGenerator::default(), |id| text(id.as_bytes()))
        }),
        row("nanoid", |threads, count| others(threads, count, || text(nanoid::nanoid!().as_bytes()))),
    ]
}

/// The 21 characters of a NanoID, for the comparison.
fn text(bytes: &[u8]) -> [u8; 21] {
    let mut text = [0; 21];
    text.copy_from_slice(bytes);
    text
}

fn floes<G, I>(
    threads: usize,
    count: usize,
    generator: G,
    take: impl Fn(G::Id) -> I + Copy + Send + 'static,
) -> Result<Outcome>
where
    G: Mint + 'static,
    I: Blank + Ord,
{
    let generator = Arc::new(generator);
    run(threads, count, || {
        let generator = Arc::clone(&generator);
        move |ids: &mut [I]| fill(ids, || generator.mint().map(take))
    })
}

fn batches<G, I>(
    threads: usize,
    count: usize,
    generator: G,
    take: impl Fn(G::Id) -> I + Copy + Send + 'static,
) -> Result<Outcome>
where
    G: Mint + 'static,
    I: Blank + Ord,
{
    let generator = Arc::new(generator);
    run(threads, count, || {
        let generator = Arc::clone(&generator);
        move |ids: &mut [I]| {
            for places in ids.chunks_mut(BATCH) {
                let batch = generator.mint_many(u64::try_from(places.len())?)?;
                for (place, id) in places.iter_mut().zip(batch) {
                    *place = take(id);
                }
            }
            Ok(())
        }
    })
}

fn others<I: Blank + Ord>(
    threads: usize,
    count: usize,
    make: impl Fn() -> I + Copy + Send + 'static,
) -> Result<Outcome> {
    run(threads, count, || move |ids: &mut [I]| fill_with(ids, make))
}
