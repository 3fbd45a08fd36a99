//! How long one `mint` takes: not the mean but the slowest, at a share of what a layout can give, through ticks and
//! renewals of the window.

use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

use floe::ledger::Memory;
use floe::{Floe, Generator, Layout, Outcome};

use crate::Result;
use crate::compare::Comparison;
use crate::curves::Curves;
use crate::measure::{check, now};
use crate::redis::processor_micros;

const THREADS: [usize; 3] = [1, 2, 8];
/// Percent of what the layout can give.
const SHARES: [u64; 3] = [10, 90, 100];
const TIME: Duration = Duration::from_secs(3);
/// Shorter than the time of a run, so that each run has renewals.
const WINDOW: Duration = Duration::from_secs(1);
/// The percentiles that are printed, and one call in how many is slower.
const PERCENTILES: [(f64, f64); 4] = [(50.0, 2.0), (99.0, 100.0), (99.9, 1_000.0), (99.99, 10_000.0)];
/// IDs a second that Twitter's layout can give.
const CEILING: u64 = 4_096_000;

/// The calls of one thread.
#[derive(Default)]
struct Calls {
    /// Nanoseconds of each call that did not wait for a tick.
    nanos: Vec<u32>,
    /// Calls that found all IDs that were due minted.
    waited: u64,
    ids: Vec<u64>,
}

/// Prints the distribution for each share and number of threads, and how busy one core is at the ceiling, and writes the
/// curves. Returns whether no ID came twice.
pub(crate) fn report(options: &Comparison) -> Result<bool> {
    println!(
        "One `try_mint`, Twitter's layout, windows of {WINDOW:?}, {TIME:?} each; microseconds, with the clock's own time"
    );
    println!(
        "{:>7} {:>6} {:>12} {:>8} {:>8} {:>8} {:>8} {:>9} {:>12} {:>6}",
        "threads", "share", "a second", "p50", "p99", "p99.9", "p99.99", "longest", "for a tick", "twice"
    );
    let (mut sound, mut curves) = (true, Curves::default());
    for threads in THREADS {
        for share in SHARES {
            sound &= distribution(threads, share, &mut curves)?;
        }
    }
    let clock = clock_alone();
    println!("the clock alone: p50 {:.2}, p99.9 {:.2}", micros(&clock, 50.0), micros(&clock, 99.9));
    busy()?;
    curves.write(&options.out, "tails")?;
    Ok(sound)
}

fn open() -> Result<(Floe, Generator)> {
    let floe = Floe::builder().window(WINDOW).open(Memory::default())?;
    let generator = floe.snowflake("orders", Layout::TWITTER)?;
    generator.mint()?;
    Ok((floe, generator))
}

fn distribution(threads: usize, share: u64, curves: &mut Curves) -> Result<bool> {
    let (_floe, generator) = open()?;
    let between = Duration::from_nanos(1_000_000_000 * 100 * threads as u64 / (CEILING * share));
    let barrier = Arc::new(Barrier::new(threads));
    let handles: Vec<_> = (0..threads)
        .map(|_| {
            let (generator, barrier) = (generator.clone(), Arc::clone(&barrier));
            thread::spawn(move || {
                barrier.wait();
                calls(&generator, between)
            })
        })
        .collect();
    let mut all = Calls::default();
    for handle in handles {
        let calls = handle.join().map_err(|_| "a thread of the benchmark panicked")??;
        all.nanos.extend(calls.nanos);
        all.ids.extend(calls.ids);
        all.waited += calls.waited;
    }
    all.nanos.sort_unstable();
    let made = all.ids.len() as u64;
    let twice = check(all.ids)?.repeated;
    print!("{threads:>7} {share:>5}% {:>12}", made / TIME.as_secs());
    for (percent, one_in) in PERCENTILES {
        let micros = micros(&all.nanos, percent);
        print!(" {micros:>8.2}");
        let (chart, name) = (format!("a mint, threads: {threads}, µs"), format!("at {share} %"));
        curves.add(&chart, "one in … is slower", &name, (one_in, micros));
    }
    println!(" {:>9.2} {:>12} {twice:>6}", micros(&all.nanos, 100.0), all.waited);
    Ok(twice == 0)
}

/// One call every `between`. Where a call is due already, it comes at once.
fn calls(generator: &Generator, between: Duration) -> Result<Calls> {
    let expected = usize::try_from(TIME.as_nanos() / between.as_nanos())?;
    let mut calls =
        Calls { nanos: Vec::with_capacity(expected), ids: Vec::with_capacity(expected), waited: 0 };
    let begun = now();
    let mut due = begun;
    loop {
        let before = now();
        if before.duration_since(begun) > TIME {
            return Ok(calls);
        }
        if before < due {
            std::hint::spin_loop();
            continue;
        }
        due += between;
        let outcome = generator.try_mint()?;
        let nanos = before.elapsed().as_nanos();
        match outcome {
            Outcome::Ready(id) => {
                calls.nanos.push(u32::try_from(nanos).unwrap_or(u32::MAX));
                calls.ids.push(id.get());
            }
            Outcome::WaitUntil(_) | Outcome::NeedWindow => calls.waited += 1,
        }
    }
}

/// Two looks at the clock with nothing between.
fn clock_alone() -> Vec<u32> {
    let look = |_| u32::try_from(now().elapsed().as_nanos()).unwrap_or(u32::MAX);
    let mut nanos: Vec<u32> = (0..1_000_000).map(look).collect();
    nanos.sort_unstable();
    nanos
}

/// How busy a core is where one thread mints all that Twitter's layout can give.
fn busy() -> Result<()> {
    let (_floe, generator) = open()?;
    let process = std::process::id();
    let (begun, before) = (now(), processor_micros(process)?);
    let mut made = 0_u64;
    while begun.elapsed() < TIME {
        for _ in 0..1_000 {
            generator.mint()?;
            made += 1;
        }
    }
    #[expect(clippy::cast_precision_loss, reason = "a share for people to read")]
    let wall = begun.elapsed().as_micros() as f64;
    let share = (processor_micros(process)? - before) / wall * 100.0;
    println!(
        "one thread of `mint` at the ceiling: {} a second, one core {share:.0} % busy",
        made / TIME.as_secs()
    );
    Ok(())
}

/// A percentile of sorted nanoseconds, in microseconds.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a percentile for people to read"
)]
fn micros(sorted: &[u32], percent: f64) -> f64 {
    let at = (sorted.len() as f64 * percent / 100.0).ceil() as usize;
    let nanos = sorted.get(at.saturating_sub(1)).copied().unwrap_or_default();
    f64::from(nanos) / 1e3
}
