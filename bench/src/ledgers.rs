//! Names on a real PostgreSQL: a counter beside the database's own sequence, and how little the ledger affects the
//! speed of minting.

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use floe::Floe;
use floe_testbed::Postgres;

use crate::compare::Line;
use crate::measure::{Outcome, check, pass};
use crate::servers::{self, Row};
use crate::{Result, rows};

/// How often the servers alternate.
const ROUNDS: usize = 3;
/// Clients of the counter, and connections of pgbench.
const CLIENTS: usize = 64;
const CONNECTIONS: usize = 16;
/// How many times faster than `nextval` the counter must be, and how much slower minting may be on a shared ledger.
const TIMES_NEXTVAL: f64 = 3.5;
const DEARER: f64 = 1.05;

type Mint = fn(&Floe) -> Result<Outcome>;
const NEXTVAL: &str = "PostgreSQL, select nextval, 16 connections of pgbench";
const COUNTER: &str = "floe counter on PostgreSQL, 64 clients on two threads";

/// Measures a counter with clients on one node, and on four, beside `select nextval`.
pub(crate) fn counter(quick: bool) -> Result<Vec<Line>> {
    let time = Duration::from_secs(if quick { 1 } else { 5 });
    let server = Postgres::start(&["synchronous_commit=on", "fsync=on"]);
    server.psql("CREATE SEQUENCE numbers");
    let rows = vec![
        Row::new(NEXTVAL, 0, || nextval(&server, "simple", time)),
        Row::new("the same, prepared", 0, || nextval(&server, "prepared", time)),
        Row::new(COUNTER, 0, || counts_of_tasks(&server, time)),
        Row::new("floe counter on PostgreSQL, 64 threads of one node", 0, || counts(&server, 1, time)),
        Row::new("floe counter on PostgreSQL, 16 threads of each of 4 nodes", 0, || counts(&server, 4, time)),
    ];
    servers::in_turn(ROUNDS, rows)
}

/// Whether the counter is as many times as fast as `nextval` as it must be, if both were measured.
pub(crate) fn is_fast_enough(lines: &[Line]) -> bool {
    let rate = |name: &str| lines.iter().find(|line| line.name == name)?.rate();
    let ratio = rate(COUNTER).zip(rate(NEXTVAL)).map(|(counter, nextval)| counter / nextval);
    let fast = ratio.is_none_or(|ratio| ratio >= TIMES_NEXTVAL);
    if !fast {
        println!("{COUNTER}: at least {TIMES_NEXTVAL} times nextval is wanted");
    }
    fast
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

/// pgbench throws the numbers away. The sequence itself says that it gave as many as pgbench counted.
fn nextval(server: &Postgres, protocol: &str, time: Duration) -> Result<Outcome> {
    let script = server.home().write("nextval.sql", "select nextval('numbers');\n");
    let next = || server.psql("SELECT nextval('numbers')").parse::<u64>();
    let before = next()?;
    let output = Command::new(Postgres::tool("pgbench"))
        .args(["-h", "127.0.0.1", "-U", "postgres", "-n", "-j", "2", "-M", protocol, "-f"])
        .arg(script)
        .args(["-p", &server.port().to_string(), "-c", &CONNECTIONS.to_string()])
        .args(["-T", &time.as_secs().to_string(), "postgres"])
        .output()?;
    let text = String::from_utf8(output.stdout)?;
    let after =
        |label: &str| text.lines().find_map(|line| line.strip_prefix(label)?.split_whitespace().next());
    let said = || format!("pgbench said no rate: {text}{}", String::from_utf8_lossy(&output.stderr));
    let count: u32 = after("number of transactions actually processed:").ok_or_else(said)?.parse()?;
    let rate: f64 = after("tps = ").ok_or_else(said)?.parse()?;
    let given = next()? - before - 1;
    if given < u64::from(count) {
        return Err(format!("{count} answers came, and the sequence gave {given} numbers").into());
    }
    Ok(Outcome::of_server(count.into(), Duration::from_secs_f64(f64::from(count) / rate), None))
}

/// Clients that request one number at a time and share two threads, as pgbench's clients do.
fn counts_of_tasks(server: &Postgres, time: Duration) -> Result<Outcome> {
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
        tokio::time::sleep(time).await;
        stop.store(true, Ordering::Relaxed);
        clients.join_all().await
    });
    checked(numbers.into_iter().collect::<std::result::Result<_, _>>()?, time)
}

/// Clients that request one number at a time, each on its own thread, on this many nodes.
fn counts(server: &Postgres, nodes: usize, time: Duration) -> Result<Outcome> {
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
        pass(time);
        stop.store(true, Ordering::Relaxed);
        clients
            .into_iter()
            .map(|client| client.join().unwrap_or_else(|_| Err("a client panicked".into())))
            .collect()
    });
    checked(numbers.into_iter().collect::<Result<_>>()?, time)
}

/// Checks that every client's numbers increase, and how many occur twice.
fn checked(numbers: Vec<Vec<u64>>, time: Duration) -> Result<Outcome> {
    if numbers.iter().any(|numbers| !numbers.is_sorted_by(|a, b| a < b)) {
        return Err("a client saw the counter go back".into());
    }
    let all: Vec<u64> = numbers.into_iter().flatten().collect();
    Ok(Outcome::of_server(u64::try_from(all.len())?, time, Some(check(all)?)))
}
