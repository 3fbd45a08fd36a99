//! Measures how many reserves a second a ledger answers, with one key for each thread:
//!
//! ```text
//! cargo run --release -p floe-ledger --features postgres --example round_trips -- postgres://floe@db/ids 16 5
//! ```

use std::error::Error;
use std::thread;
use std::time::{Duration, Instant};

use floe::ledger::{Key, Ledger, LedgerError, Reserve, Token};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let usage = "usage: round_trips URL THREADS SECONDS";
    if arguments.iter().any(|argument| argument == "--help") {
        println!("{usage}");
        return Ok(());
    }
    let [url, threads, seconds] = arguments.as_slice() else {
        return Err(usage.into());
    };
    let (threads, seconds) = (threads.parse()?, seconds.parse()?);
    let ledger = floe_ledger::open_in(url, "round_trips").map_err(|error| error.to_string())?;
    let ledger = &*ledger;
    let counted = thread::scope(|scope| {
        let threads: Vec<_> =
            (0..threads).map(|worker| scope.spawn(move || reserves(ledger, worker, seconds))).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().map_err(|_| "a thread panicked")?)
            .sum::<Result<u64, _>>()
    });
    println!("{} a second", counted? / seconds);
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "a measurement reads the clock")]
fn reserves(ledger: &dyn Ledger, worker: u64, seconds: u64) -> Result<u64, String> {
    let (begin, mut counted) = (Instant::now(), 0);
    while begin.elapsed() < Duration::from_secs(seconds) {
        let request = Reserve {
            key: Key::slot(10, worker),
            floor: 0,
            count: 1,
            max_mark: u64::MAX,
            token: Token::random().map_err(|error| error.to_string())?,
            create: true,
            note: None,
        };
        ledger.reserve(&request).map_err(|error: LedgerError| error.to_string())?;
        counted += 1;
    }
    Ok(counted)
}
