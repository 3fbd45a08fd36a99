//! Kinds that need no ledger, each beside the crate that its users have today.
//!
//! IDs are compared as they are minted, as bytes or numbers.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::SystemTime;

use floe::kind::{
    KsuidGenerator, Mint, NanoIdGenerator, ObjectIdGenerator, UlidGenerator, UuidV4Generator, UuidV7Generator,
};
use svix_ksuid::KsuidLike;

use crate::Result;
use crate::measure::{Outcome, fill, run};
use crate::rows::Row;

/// IDs of one thread in one round.
const MANY: usize = 2_000_000;

/// All rows, floe before its peer.
pub(crate) fn all() -> Vec<Row> {
    let row = |name, run| Row { name, run };
    vec![
        row("kind uuid v4, 1 thread", || floes(1, UuidV4Generator::new(), |id| id.get())),
        row("kind uuid v4, 2 threads", || floes(2, UuidV4Generator::new(), |id| id.get())),
        row("kind uuid v7 minter, 1 thread", || {
            run(1, MANY, || {
                let mut minter = UuidV7Generator::new().minter();
                move |ids: &mut [u128]| fill(ids, || minter.mint().map(floe::kind::Uuid::get))
            })
        }),
        row("kind uuid v7, 1 thread", || floes(1, UuidV7Generator::new(), |id| id.get())),
        row("kind uuid v7, 2 threads on one generator", || floes(2, UuidV7Generator::new(), |id| id.get())),
        row("kind uuid v7, batches of 1000", || batches(UuidV7Generator::new(), |id| id.get())),
        row("kind uuid v7, precise", || floes(1, UuidV7Generator::precise(), |id| id.get())),
        row("kind ulid minter, 1 thread", || {
            run(1, MANY, || {
                let mut minter = UlidGenerator::new().minter();
                move |ids: &mut [u128]| fill(ids, || minter.mint().map(floe::kind::Ulid::get))
            })
        }),
        row("kind ulid, 1 thread", || floes(1, UlidGenerator::new(), |id| id.get())),
        row("kind ulid, 2 threads on one generator", || floes(2, UlidGenerator::new(), |id| id.get())),
        row("kind ulid, batches of 1000", || batches(UlidGenerator::new(), |id| id.get())),
        row("ferroid ulid, monotonic, thread-local", || {
            others(|| {
                ferroid::generator::thread_local::Ulid::new_ulid_mono(|_| std::hint::spin_loop()).to_raw()
            })
        }),
        row("ulid ulid, random", || others(|| ulid::Ulid::generate().0)),
        row("kind objectid, 1 thread", || floes(1, ObjectIdGenerator::new(), |id| id.to_bytes())),
        row("kind objectid, 2 threads", || floes(2, ObjectIdGenerator::new(), |id| id.to_bytes())),
        row("bson objectid", || others(|| bson::oid::ObjectId::new().bytes())),
        row("kind ksuid, 1 thread", || floes(1, KsuidGenerator::new(), |id| id.to_bytes())),
        row("svix-ksuid ksuid", || others(|| *svix_ksuid::Ksuid::new(None::<SystemTime>, None).bytes())),
        row("kind nanoid, 1 thread", || floes(1, NanoIdGenerator::default(), |id| text(id.as_bytes()))),
        row("nanoid nanoid", || others(|| text(nanoid::nanoid!().as_bytes()))),
    ]
}

/// The 21 characters of a NanoID, as they are compared.
fn text(bytes: &[u8]) -> [u8; 21] {
    let mut text = [0; 21];
    text.copy_from_slice(bytes);
    text
}

fn floes<G, I>(threads: usize, generator: G, take: fn(G::Id) -> I) -> Result<Outcome>
where
    G: Mint + 'static,
    I: Copy + Ord + Send + Default + 'static,
{
    let generator = Arc::new(generator);
    run(threads, MANY, || {
        let generator = Arc::clone(&generator);
        move |ids: &mut [I]| fill(ids, || generator.mint().map(take))
    })
}

fn batches<G, I>(generator: G, take: fn(G::Id) -> I) -> Result<Outcome>
where
    G: Mint + 'static,
    I: Copy + Ord + Send + Default + 'static,
{
    let generator = Arc::new(generator);
    run(1, MANY, || {
        let generator = Arc::clone(&generator);
        move |ids: &mut [I]| {
            for places in ids.chunks_mut(1_000) {
                let batch = generator.mint_many(u64::try_from(places.len())?)?;
                for (place, id) in places.iter_mut().zip(batch) {
                    *place = take(id);
                }
            }
            Ok(())
        }
    })
}

fn others<I: Copy + Ord + Send + Default + 'static>(make: fn() -> I) -> Result<Outcome> {
    run(1, MANY, || move |ids: &mut [I]| fill(ids, || Ok::<_, Infallible>(make())))
}
