//! `INCR` by redis-benchmark, on a real Redis and on floe in turn: requests a second, and the server's processor time
//! for each. A segment and a snowflake are compared with a Redis that persists nothing, a counter with one that flushes
//! before it answers.

use std::fs;
use std::path::Path;
use std::process::Command;

use floe_testbed::Redis;

use crate::Result;
use crate::serve::Subject;

const ROUNDS: usize = 3;
const CLIENTS: &str = "50";

/// The pipelines' depths, and how many requests are measured at each.
const DEPTHS: [(u32, u32); 3] = [(1, 200_000), (16, 1_600_000), (128, 6_400_000)];

/// The result of a run.
#[derive(Clone, Copy)]
struct Row {
    a_second: f64,
    /// Microseconds of the server's processor for each request.
    micros: f64,
}

/// Measures the two Redis, then floe's counter, segment and snowflake, at each depth, and prints medians and ratios.
pub(crate) fn report(binary: &Path) -> Result<bool> {
    let redis = Redis::start(&["--save", "", "--appendonly", "no"]);
    let durable = Redis::start(&["--save", "", "--appendonly", "yes", "--appendfsync", "always"]);
    let floe = Subject::start(binary, "")?;
    let (port, process) = (floe.port, floe.server.id());
    // Where it is, its process, the key, and the number of the one that it is compared with.
    let subjects = [
        (redis.port(), process_of(&redis)?, "redis", 0),
        (durable.port(), process_of(&durable)?, "redis-always", 1),
        (port, process, "counter", 1),
        (port, process, "segment", 0),
        (port, process, "snowflake", 0),
    ];
    println!(
        "{:<12} {:>6} {:>14} {:>8} {:>16} {:>8}",
        "INCR on", "-P", "requests/s", "ratio", "server us each", "ratio"
    );
    for (depth, requests) in DEPTHS {
        let mut rows: Vec<Vec<Row>> = subjects.iter().map(|_| Vec::new()).collect();
        for _ in 0..ROUNDS {
            for ((port, process, name, _), rows) in subjects.iter().zip(&mut rows) {
                rows.push(measure(*port, *process, name, depth, requests)?);
            }
        }
        let medians: Vec<Row> = rows.iter().map(|rows| median(rows)).collect();
        for ((_, _, name, beside), row) in subjects.iter().zip(&medians) {
            let beside = medians[*beside];
            println!(
                "{name:<12} {depth:>6} {:>14.0} {:>8.2} {:>16.3} {:>8.2}",
                row.a_second,
                row.a_second / beside.a_second,
                row.micros,
                row.micros / beside.micros
            );
        }
    }
    Ok(true)
}

fn process_of(redis: &Redis) -> Result<u32> {
    let process = redis.home().processes().first().map(|pid| pid.as_raw_nonzero().get());
    Ok(u32::try_from(process.ok_or("redis-server does not run")?)?)
}

fn measure(port: u16, process: u32, name: &str, depth: u32, requests: u32) -> Result<Row> {
    let before = processor_micros(process)?;
    let output = Command::new("redis-benchmark")
        .args(["-h", "127.0.0.1", "-p", &port.to_string(), "-c", CLIENTS, "-q", "--csv"])
        .args(["-P", &depth.to_string(), "-n", &requests.to_string(), "INCR", name])
        .output()?;
    let spent = processor_micros(process)? - before;
    let text = String::from_utf8(output.stdout)?;
    let rate = text.lines().last().and_then(|line| line.split(',').nth(1)?.trim_matches('"').parse().ok());
    let a_second = rate.ok_or_else(|| format!("redis-benchmark said no rate: {text}"))?;
    Ok(Row { a_second, micros: spent / f64::from(requests) })
}

fn median(rows: &[Row]) -> Row {
    let of = |value: fn(&Row) -> f64| {
        let mut values: Vec<f64> = rows.iter().map(value).collect();
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    Row { a_second: of(|row| row.a_second), micros: of(|row| row.micros) }
}

/// The processor time that a process has used so far, in user and system mode.
pub(crate) fn processor_micros(process: u32) -> Result<f64> {
    /// `sysconf(_SC_CLK_TCK)` on every Linux that floe runs on.
    const TICKS_A_SECOND: f64 = 100.0;
    let stat = fs::read_to_string(format!("/proc/{process}/stat"))?;
    let (_, fields) = stat.rsplit_once(')').ok_or("/proc/PID/stat has no name")?;
    let mut fields = fields.split_whitespace().skip(11);
    let mut ticks = || {
        fields
            .next()
            .ok_or("too few fields in /proc/PID/stat")?
            .parse::<f64>()
            .map_err(|error| error.to_string())
    };
    Ok((ticks()? + ticks()?) / TICKS_A_SECOND * 1e6)
}
