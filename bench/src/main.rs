//! Measures how fast floe mints, beside others in the same run. Only IDs that a checker found unique are counted; where
//! a program throws a server's answers away, a client beside it is checked ([`servers::Witness`]).
//! `floe-bench --help` lists what it measures.
#![forbid(unsafe_code)]

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use compare::Comparison;

mod attack;
mod bulk;
mod chaos;
mod clients;
mod compare;
mod curves;
mod growth;
mod honest;
mod http2;
mod idle;
mod kinds;
mod ledgers;
mod limits;
mod load;
mod machine;
mod measure;
mod memcached;
mod nginx;
mod plot;
mod redis;
mod rows;
mod serve;
mod servers;
mod soak;
mod table;
mod tails;
mod texts;
mod tickets;

/// Any error, on its way to the person at the terminal.
type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// A measurement that prints its own figures. Returns whether everything was as required.
type Report = dyn FnOnce(&Comparison) -> Result<bool>;

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

const USAGE: &str = "\
usage: floe-bench [--rate N] [--seconds N] [--connections N] [WHAT]

  ROW…            floe beside others, the rows whose name holds one of these (default: all); --quick makes a tenth of
                  the IDs; --out DIR is where the table goes as Markdown, JSON and SVG (default: target/bench);
                  --servers FLOE measures --redis, --memcached, --nginx, --tickets and --counter for the same table
  --load URL      mints over http://, redis://, memcached:// or thrift://, 10,000 a second for 60 s
  --counter       a counter on PostgreSQL beside nextval
  --ledgers       minting on PostgreSQL beside minting on memory
  --tails         how long one mint takes, the slowest among a million
  --growth        what it costs as names, taken slots, nodes and batches grow
  --idle FLOE     memory with up to 10,000 connections that wait, and the time to connect; these three write their
                  curves as JSON to DIR, and draw all that are there as curves.svg
  --redis FLOE    INCR by redis-benchmark, on Redis and on the binary FLOE
  --memcached FLOE
                  incr on memcached, and get of a segment on FLOE
  --tickets FLOE  Flickr's tickets, on a MariaDB and on FLOE
  --nginx FLOE    one ID over HTTP by wrk, beside nginx
  --bulk FLOE     IDs by the hundred thousand, over HTTP, gRPC and RESP
  --attack FLOE   memory and connections under hostile clients, and what honest ones get meanwhile
  --soak FLOE     HTTP, Redis' and memcached's protocols and Thrift at once, and the server killed
  --chaos FLOE    three nodes on a ledger, with faults of nodes, clocks, ledger and network by seed;
                  --ledger sqlite (the default), postgres and so on (a wrong name prints all), all of them (all), or
                  memory (which repeats IDs); --seed N (default: a fresh one, printed)
  --binary FLOE   how soon `floe serve` answers, and its memory; with --load, mints over it after that
";

/// A measurement of the binary `floe` at a path.
type OnABinary = fn(&Path, &Comparison) -> Result<bool>;

/// The measurements of one binary, each with its flag.
const ON_A_BINARY: &[(&str, OnABinary)] = &[
    ("--attack", |binary, _| attack::report(binary)),
    ("--bulk", |binary, _| bulk::report(binary)),
    ("--idle", idle::report),
    ("--redis", |binary, options| Ok(servers::sound(&redis::rows(binary, options.quick)?))),
    ("--memcached", |binary, options| Ok(servers::sound(&memcached::rows(binary, options.quick)?))),
    ("--nginx", |binary, options| Ok(servers::sound(&nginx::rows(binary, options.quick)?))),
    ("--tickets", |binary, options| Ok(servers::sound(&tickets::rows(binary, options.quick)?))),
];

/// Whether everything was as required: no ID twice, every target of the load reached.
fn run() -> Result<bool> {
    let mut load = load::Load::default();
    let (mut url, mut binary, mut soak) = (None, None, None);
    let mut comparison = Comparison::default();
    let (mut chaos, mut troubled) = (chaos::Chaos::default(), None);
    let mut report: Option<Box<Report>> = None;
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{argument} needs a value"));
        match argument.as_str() {
            "-h" | "--help" => {
                print!("{USAGE}");
                return Ok(true);
            }
            "--quick" => comparison.quick = true,
            "--out" => comparison.out = PathBuf::from(value()?),
            "--load" => url = Some(value()?),
            "--servers" => comparison.servers = Some(PathBuf::from(value()?)),
            "--counter" => {
                report = Some(Box::new(|options| Ok(servers::sound(&ledgers::counter(options.quick)?))));
            }
            "--tails" => report = Some(Box::new(tails::report)),
            "--growth" => report = Some(Box::new(growth::report)),
            "--ledgers" => report = Some(Box::new(|_| ledgers::minting())),
            "--soak" => soak = Some(PathBuf::from(value()?)),
            "--chaos" => troubled = Some(PathBuf::from(value()?)),
            "--ledger" => chaos.ledger = Some(value()?),
            "--seed" => chaos.seed = Some(value()?.parse()?),
            "--binary" => binary = Some(PathBuf::from(value()?)),
            "--rate" => load.rate = value()?.parse()?,
            "--seconds" => load.seconds = value()?.parse()?,
            "--connections" => load.connections = value()?.parse()?,
            other if other.starts_with('-') => {
                let Some((_, measure)) = ON_A_BINARY.iter().find(|(flag, _)| *flag == other) else {
                    return Err(format!("there is no {other}: floe-bench --help lists what there is").into());
                };
                let binary = PathBuf::from(value()?);
                report = Some(Box::new(move |options| measure(&binary, options)));
            }
            row => comparison.wanted.push(row.to_owned()),
        }
    }
    if let Some(report) = report {
        return report(&comparison);
    }
    if let Some(binary) = &soak {
        return soak::run(binary, load.seconds);
    }
    if let Some(binary) = &troubled {
        return chaos.run(binary, load.seconds);
    }
    if let Some(binary) = &binary {
        serve::report(binary)?;
    }
    match url {
        Some(url) => load.run(&url),
        None if binary.is_some() => Ok(true),
        None => comparison.run(),
    }
}
