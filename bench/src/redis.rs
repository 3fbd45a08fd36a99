//! `INCR` by redis-benchmark, on a real Redis and on floe in turn: requests a second, and the server's processor time
//! for each. A segment and a snowflake are compared with a Redis that persists nothing, a counter with one that flushes
//! before it answers.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use floe_testbed::{Redis, Server};

use crate::Result;
use crate::compare::Line;
use crate::measure::Outcome;
use crate::serve::Subject;
use crate::servers::{self, Row, Witness};

const ROUNDS: usize = 3;
const CLIENTS: &str = "50";

/// The pipelines' depths, and how many requests are measured at each.
const DEPTHS: [(u32, u32); 3] = [(1, 200_000), (16, 1_600_000), (128, 6_400_000)];

/// Measures the two Redis, then floe's counter, segment and snowflake, at each depth.
pub(crate) fn rows(binary: &Path, quick: bool) -> Result<Vec<Line>> {
    servers::need("redis-benchmark", "redis-tools")?;
    let redis = Redis::start(&["--save", "", "--appendonly", "no"]);
    let durable = Redis::start(&["--save", "", "--appendonly", "yes", "--appendfsync", "always"]);
    let floe = Subject::start(binary, "")?;
    let (port, process) = (floe.port, floe.server.id());
    // What it is, where it is, its process, the key, the place of a number, and the row that it is compared with.
    let subjects: [(_, _, _, _, servers::Place, _); 5] = [
        ("Redis", redis.port(), process_of(&redis)?, "redis", servers::number, 0),
        ("Redis, appendfsync always", durable.port(), process_of(&durable)?, "redis", servers::number, 1),
        ("floe, counter", port, process, "counter", servers::number, 1),
        ("floe, segment", port, process, "segment", servers::number, 0),
        ("floe, snowflake", port, process, "snowflake", servers::snowflake, 0),
    ];
    let least = servers::least()?;
    let (least_port, least_process) = (least.port(), process_of(&least)?);
    let mut lines = Vec::new();
    for (depth, requests) in DEPTHS {
        let requests = if quick { requests / 10 } else { requests };
        let row = |(what, port, process, key, place, beside)| {
            let mut witness = Witness::new(format!("redis://127.0.0.1:{port}/{key}"), place);
            Row::new(format!("INCR, 50 connections, -P {depth}: {what}"), beside, move || {
                timed(process, requests, || witness.during(|| measure(port, key, depth, requests)))
            })
        };
        let mut rows: Vec<_> = subjects.into_iter().map(row).collect();
        let name = format!("INCR, 50 connections, -P {depth}: the loop in C, a constant");
        rows.push(Row::new(name, 0, || {
            timed(least_process, requests, || {
                let (answers, elapsed) = measure(least_port, "segment", depth, requests)?;
                Ok(Outcome::of_server(answers, elapsed, None))
            })
        }));
        lines.extend(servers::in_turn(ROUNDS, rows)?);
    }
    Ok(lines)
}

/// What `work` measured, with the processor time that `process` used meanwhile for each of the requests.
fn timed(process: u32, requests: u32, work: impl FnOnce() -> Result<Outcome>) -> Result<Outcome> {
    let before = processor_micros(process)?;
    let mut outcome = work()?;
    let spent = processor_micros(process)? - before;
    outcome.server = Some(spent * 1e3 / f64::from(requests));
    Ok(outcome)
}

fn process_of(server: &Server) -> Result<u32> {
    let process = server.home().processes().first().map(|pid| pid.as_raw_nonzero().get());
    Ok(u32::try_from(process.ok_or("the server does not run")?)?)
}

fn measure(port: u16, key: &str, depth: u32, requests: u32) -> Result<(u64, Duration)> {
    let output = Command::new("redis-benchmark")
        .args(["-h", "127.0.0.1", "-p", &port.to_string(), "-c", CLIENTS, "-q", "--csv"])
        .args(["-P", &depth.to_string(), "-n", &requests.to_string(), "INCR", key])
        .output()?;
    let text = String::from_utf8(output.stdout)?;
    let rate = text.lines().last().and_then(|line| line.split(',').nth(1)?.trim_matches('"').parse().ok());
    let rate: f64 = rate.ok_or_else(|| {
        format!("redis-benchmark said no rate: {text}{}", String::from_utf8_lossy(&output.stderr))
    })?;
    Ok((requests.into(), Duration::from_secs_f64(f64::from(requests) / rate)))
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
