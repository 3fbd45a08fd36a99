//! Names on a real PostgreSQL: a counter beside the database's own sequence, and how little minting cares where the
//! marks are kept.

use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use floe::Floe;
use floe_testbed::Postgres;

use crate::Result;

/// How long each measurement takes, and how often the two are taken in turn.
const SECONDS: u64 = 5;
const ROUNDS: usize = 3;
/// Clients of the counter, and connections of pgbench.
const CLIENTS: usize = 64;
const CONNECTIONS: usize = 16;

type Run<'a> = Box<dyn Fn() -> Result<f64> + 'a>;

/// Measures a counter with clients on one node, and on four, beside `select nextval`, and prints the ratio.
pub(crate) fn counter() -> Result<bool> {
    let server = Postgres::start(&["synchronous_commit=on", "fsync=on"]);
    server.psql("CREATE SEQUENCE numbers");
    println!("{:<54} {:>12} {:>12} {:>12}", "a second", "round 1", "round 2", "round 3");
    let rows: [(&str, Run<'_>); 4] = [
        ("pgbench, select nextval, 16 connections", Box::new(|| nextval(&server, "simple"))),
        ("pgbench, the same, prepared", Box::new(|| nextval(&server, "prepared"))),
        ("floe counter, 64 clients of one node", Box::new(|| counts(&server, 1))),
        ("floe counter, 16 clients of each of four nodes", Box::new(|| counts(&server, 4))),
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
    let median = |results: &Vec<f64>| {
        let mut sorted = results.clone();
        sorted.sort_by(f64::total_cmp);
        sorted[sorted.len() / 2]
    };
    println!("one node against nextval: {:.2}", median(&results[2]) / median(&results[0]));
    Ok(true)
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

/// Clients that ask for one number at a time, on so many nodes; every number is checked.
fn counts(server: &Postgres, nodes: usize) -> Result<f64> {
    let stop = AtomicBool::new(false);
    let floes = (0..nodes)
        .map(|_| Ok(Floe::open(floe_ledger::open(&server.url(), "bench")?)?))
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
        thread::park_timeout(Duration::from_secs(SECONDS));
        stop.store(true, Ordering::Relaxed);
        clients
            .into_iter()
            .map(|client| client.join().unwrap_or_else(|_| Err("a client panicked".into())))
            .collect()
    });
    let numbers = numbers.into_iter().collect::<Result<Vec<_>>>()?;
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
