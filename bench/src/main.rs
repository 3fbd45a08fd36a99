//! How fast floe mints, beside others in the same run. Only IDs that a checker found unique are counted.
//!
//! ```text
//! cargo run --release -p floe-bench                                  the table
//! cargo run --release -p floe-bench -- minter "shared generator"     the rows whose name holds one of these
//! cargo run --release -p floe-bench -- --load http://127.0.0.1:7600/v1/mint/orders
//!                                                                    10,000 mints a second for 60 s, over HTTP, or
//!                                                                    redis://127.0.0.1:7600/orders, thrift://127.0.0.1:7600
//! cargo run --release -p floe-bench -- --counter                     a counter on PostgreSQL beside nextval
//! cargo run --release -p floe-bench -- --ledgers                     minting on PostgreSQL beside minting on memory
//! cargo run --release -p floe-bench -- --redis target/release/floe   INCR by redis-benchmark, on Redis and on floe
//! cargo run --release -p floe-bench -- --tickets target/release/floe Flickr's tickets, on a MariaDB and on floe
//! cargo run --release -p floe-bench -- --nginx target/release/floe   one ID over HTTP by wrk, beside nginx
//! cargo run --release -p floe-bench -- --bulk target/release/floe    IDs by the hundred thousand, over HTTP, gRPC and RESP
//! cargo run --release -p floe-bench -- --idle target/release/floe    memory with 10,000 connections that wait
//! cargo run --release -p floe-bench -- --soak target/release/floe --seconds 300
//!                                                                    all wires at once, and the server killed
//! cargo run --release -p floe-bench -- --binary target/release/floe  how soon `floe serve` answers, and its memory
//! ```
//!
//! A row is run five times, in turn with all others, so that what else the machine does meets every row. The table
//! shows the median and the best.
#![forbid(unsafe_code)]

use std::path::PathBuf;
use std::process::ExitCode;

mod bulk;
mod idle;
mod kinds;
mod ledgers;
mod load;
mod measure;
mod nginx;
mod redis;
mod rows;
mod serve;
mod soak;
mod tickets;

/// Any error, on its way to the person at the terminal.
type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

const ROUNDS: usize = 5;

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("floe-bench: {error}");
            ExitCode::from(2)
        }
    }
}

/// Whether all went as it must: no ID twice, no target of the load missed.
fn run() -> Result<bool> {
    let mut load = load::Load::default();
    let (mut url, mut binary, mut soak, mut wanted) = (None, None, None, Vec::new());
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{argument} needs a value"));
        match argument.as_str() {
            "--load" => url = Some(value()?),
            "--counter" => return ledgers::counter(),
            "--ledgers" => return ledgers::minting(),
            "--soak" => soak = Some(PathBuf::from(value()?)),
            "--redis" => return redis::report(value()?.as_ref()),
            "--tickets" => return tickets::report(value()?.as_ref()),
            "--nginx" => return nginx::report(value()?.as_ref()),
            "--bulk" => return bulk::report(value()?.as_ref()),
            "--idle" => return idle::report(value()?.as_ref()),
            "--binary" => binary = Some(PathBuf::from(value()?)),
            "--rate" => load.rate = value()?.parse()?,
            "--seconds" => load.seconds = value()?.parse()?,
            "--connections" => load.connections = value()?.parse()?,
            other if other.starts_with("--") => {
                return Err(format!(
                    "{other} is none of --load URL, --rate N, --seconds N, --connections N, --counter, --ledgers, --redis PATH, --tickets PATH, --nginx PATH, --bulk PATH, --idle PATH, --soak PATH and --binary PATH"
                )
                .into());
            }
            row => wanted.push(row.to_owned()),
        }
    }
    if let Some(binary) = &soak {
        return soak::run(binary, load.seconds);
    }
    if let Some(binary) = &binary {
        serve::report(binary)?;
    }
    match url {
        Some(url) => load.run(&url),
        None if binary.is_some() => Ok(true),
        None => table(&wanted),
    }
}

fn table(wanted: &[String]) -> Result<bool> {
    let mut rows = rows::all();
    rows.extend(kinds::all());
    rows.retain(|row| wanted.is_empty() || wanted.iter().any(|part| row.name.contains(part)));
    let mut results: Vec<Vec<measure::Outcome>> = rows.iter().map(|_| Vec::new()).collect();
    for round in 1..=ROUNDS {
        for (row, results) in rows.iter().zip(&mut results) {
            eprint!("\r\x1b[Kround {round} of {ROUNDS}: {}", row.name);
            results.push((row.run)()?);
        }
    }
    eprint!("\r\x1b[K");
    println!("{:<46} {:>10} {:>10} {:>10} {:>6}", "", "median", "best", "unique IDs", "twice");
    let mut sound = true;
    for (row, results) in rows.iter().zip(&mut results) {
        results.sort_by(|a, b| a.nanos_per_id().total_cmp(&b.nanos_per_id()));
        let median = results[results.len() / 2].nanos_per_id();
        let best = results[0].nanos_per_id();
        let unique: u64 = results.iter().map(|outcome| outcome.unique).sum();
        let repeated: u64 = results.iter().map(|outcome| outcome.repeated).sum();
        sound &= repeated == 0;
        println!("{:<46} {:>7} ns {:>7} ns {unique:>10} {repeated:>6}", row.name, short(median), short(best));
    }
    Ok(sound)
}

fn short(nanos: f64) -> String {
    if nanos < 100.0 { format!("{nanos:.2}") } else { format!("{nanos:.0}") }
}
