//! Names on a real PostgreSQL: a counter beside the database's own sequence, and how little the ledger affects the
//! speed of minting.

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use floe::Floe;
use floe_testbed::Postgres;

use crate::measure::{Outcome, now};
use crate::{Result, rows};

/// How long each measurement takes, and how often the two alternate.
const SECONDS: u64 = 5;
const ROUNDS: usize = 3;
/// Clients of the counter, and connections of pgbench.
const CLIENTS: usize = 64;
const CONNECTIONS: usize = 16;
/// How many times faster than `nextval` the counter must be, and how much slower minting may be on a shared ledger.
const TIMES_NEXTVAL: f64 = 3.5;
const DEARER: f64 = 1.05;

type Mint = fn(&Floe) -> Result<Outcome>;
type Run<'a> = Box<dyn Fn() -> Result<f64> + 'a>;

/// Measures a counter with clients on one node, and on four, beside `select nextval`. Prints the ratio, and returns
/// whether the counter is fast enough.
pub(crate) fn counter() -> Result<bool> {
    let server = Postgres::start(&["synchronous_commit=on", "fsync=on"]);
    server.psql("CREATE SEQUENCE numbers");
    println!("{:<54} {:>12} {:>12} {:>12}", "a second", "round 1", "round 2", "round 3");
    let rows: [(&str, Run<'_>); 5] = [
        ("pgbench, select nextval, 16 connections", Box::new(|| nextval(&server, "simple"))),
        ("pgbench, the same, prepared", Box::new(|| nextval(&server, "prepared"))),
        ("floe counter, 64 clients on two threads", Box::new(|| counts_of_tasks(&server))),
        ("floe counter, 64 threads of one node", Box::new(|| counts(&server, 1))),
        ("floe counter, 16 threads of each of four nodes", Box::new(|| counts(&server, 4))),
    ];
    let mut results = rows.each_ref().map(|_| Vec::new());
    for _ in 0..ROUNDS {
        for ((_, run), results) in rows.iter().zip(&mut results) {
            results.push(run()?);
        }
    }
    for ((name, _), results) in rows.iter().zip(&results) {
        print!("{name:<54}");
        results.iter().for_each(|rate| print!(" {rate:>12.0}"));
        println!();
    }
    let ratio = median(&results[2]) / median(&results[0]);
    println!("64 clients on two threads against nextval: {ratio:.2}, at least {TIMES_NEXTVAL} wanted");
    Ok(ratio >= TIMES_NEXTVAL)
}

/// Measures a snowflake and a segment on a ledger in memory and on PostgreSQL, in turn. Windows and segments are
/// reserved while minting continues, so minting does not wait for the ledger.
pub(crate) fn minting() -> Result<bool> {
    const TURNS: usize = 9;
    let server = Postgres::start(&[]);
    let open = |shared: bool| -> Result<Floe> {
        let url = if shared { server.url() } else { "memory:".to_owned() };
        Ok(Floe::open(floe_ledger::open_in(&url, "bench")?)?)
    };
    let rows: [(&str, Mint); 2] = [
        ("snowflake, shared generator", rows::snowflakes),
        ("segment", |floe| rows::segment_of(floe, 1, rows::MANY)),
    ];
    let mut sound = true;
    for (name, run) in rows {
        let mut nanos = [Vec::new(), Vec::new()];
        for _ in 0..TURNS {
            for (shared, nanos) in [false, true].into_iter().zip(&mut nanos) {
                let outcome = run(&open(shared)?)?;
                sound &= outcome.repeated() == 0;
                nanos.push(outcome.nanos_per_id());
            }
        }
        let [memory, postgres] = nanos.each_ref().map(|nanos| median(nanos));
        let ratio = postgres / memory;
        println!("{name:<30} memory {memory:.2} ns, postgres {postgres:.2} ns, ratio {ratio:.3}");
        sound &= ratio <= DEARER;
    }
    Ok(sound)
}

fn median(results: &[f64]) -> f64 {
    let mut sorted = results.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

fn nextval(server: &Postgres, protocol: &str) -> Result<f64> {
    let script = server.home().write("nextval.sql", "select nextval('numbers');\n");
    let output = Command::new(Postgres::tool("pgbench"))
        .args(["-h", "127.0.0.1", "-U", "postgres", "-n", "-j", "2", "-M", protocol, "-f"])
        .arg(script)
        .args(["-p", &server.port().to_string(), "-c", &CONNECTIONS.to_string(), "-T", &SECONDS.to_string()])
        .arg("postgres")
        .output()?;
    let text = String::from_utf8(output.stdout)?;
    let rate = text.lines().find_map(|line| line.strip_prefix("tps = ")?.split(' ').next()?.parse().ok());
    rate.ok_or_else(|| {
        format!("pgbench said no rate: {text}{}", String::from_utf8_lossy(&output.stderr)).into()
    })
}

/// Clients that request one number at a time and share two threads, as pgbench's clients do.
fn counts_of_tasks(server: &Postgres) -> Result<f64> {
    let floe = Floe::open(floe_ledger::open_in(&server.url(), "bench")?)?;
    let counter = floe.counter("visits")?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build()?;
    let numbers = runtime.block_on(async {
        let stop = Arc::new(AtomicBool::new(false));
        let mut clients = tokio::task::JoinSet::new();
        for _ in 0..CLIENTS {
            let (counter, stop) = (counter.clone(), Arc::clone(&stop));
            clients.spawn(async move {
                let mut numbers = Vec::new();
                while !stop.load(Ordering::Relaxed) {
                    numbers.push(counter.mint_async().await?.get());
                }
                Ok::<_, floe::MintError>(numbers)
            });
        }
        tokio::time::sleep(Duration::from_secs(SECONDS)).await;
        stop.store(true, Ordering::Relaxed);
        clients.join_all().await
    });
    checked(numbers.into_iter().collect::<std::result::Result<_, _>>()?)
}

/// Clients that request one number at a time, each on its own thread, on this many nodes.
fn counts(server: &Postgres, nodes: usize) -> Result<f64> {
    let stop = AtomicBool::new(false);
    let floes = (0..nodes)
        .map(|_| Ok(Floe::open(floe_ledger::open_in(&server.url(), "bench")?)?))
        .collect::<Result<Vec<_>>>()?;
    let counters = floes.iter().map(|floe| Ok(floe.counter("visits")?)).collect::<Result<Vec<_>>>()?;
    let numbers: Vec<Result<Vec<u64>>> = thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|client| {
                let (counter, stop) = (&counters[client % nodes], &stop);
                scope.spawn(move || {
                    let mut numbers = Vec::new();
                    while !stop.load(Ordering::Relaxed) {
                        numbers.push(counter.mint()?.get());
                    }
                    Ok(numbers)
                })
            })
            .collect();
        let end = now() + Duration::from_secs(SECONDS);
        while let Some(left) = end.checked_duration_since(now()) {
            thread::park_timeout(left);
        }
        stop.store(true, Ordering::Relaxed);
        clients
            .into_iter()
            .map(|client| client.join().unwrap_or_else(|_| Err("a client panicked".into())))
            .collect()
    });
    checked(numbers.into_iter().collect::<Result<_>>()?)
}

/// The rate, after a check that every client's numbers increase and none occurs twice.
fn checked(numbers: Vec<Vec<u64>>) -> Result<f64> {
    if numbers.iter().any(|numbers| !numbers.is_sorted_by(|a, b| a < b)) {
        return Err("a client saw the counter go back".into());
    }
    let mut all: Vec<u64> = numbers.into_iter().flatten().collect();
    all.sort_unstable();
    if all.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err("the counter repeated a number".into());
    }
    Ok(all.len() as f64 / SECONDS as f64)
}
