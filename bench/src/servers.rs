//! floe's server beside other servers, in turn, as one group of the comparison.
//!
//! redis-benchmark and wrk throw the answers away, so nobody can compare all IDs afterwards. A [`Witness`] mints under
//! the same name during each of their rounds, and checks what can be known from outside.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use floe::Layout;
use floe_testbed::{Home, Server, Signal, listens};

use crate::compare::Line;
use crate::load::{Connection, Wire};
use crate::measure::{Ids, Outcome, pass};
use crate::{Result, ledgers, memcached, nginx, redis, tickets};

/// The group of all rows of servers.
pub(crate) const GROUP: &str = "Servers";

/// Measures the binary at a path beside every other server, and a counter on PostgreSQL. Prints their figures. A quick
/// run has shorter rounds.
///
/// # Errors
/// One of the servers is not installed.
pub(crate) fn all(binary: &Path, quick: bool) -> Result<Vec<Line>> {
    let mut lines = Vec::new();
    for measure in [redis::rows, memcached::rows, nginx::rows, tickets::rows] {
        lines.extend(measure(binary, quick)?);
    }
    lines.extend(ledgers::counter(quick)?);
    Ok(lines)
}

/// Whether all lines are as required.
pub(crate) fn sound(lines: &[Line]) -> bool {
    lines.iter().all(|line| line.repeated() == 0) && ledgers::is_fast_enough(lines)
}

/// A program that the measurement needs.
///
/// # Errors
/// It is not installed.
pub(crate) fn need(program: &str, package: &str) -> Result<()> {
    let found = Command::new(program).arg("-V").stdout(Stdio::null()).stderr(Stdio::null()).status();
    match found {
        Ok(_) => Ok(()),
        Err(_) => {
            Err(format!("there is no {program}: install it (on Debian, apt-get install {package})").into())
        }
    }
}

/// One of the servers that are measured in turn.
pub(crate) struct Row<'a> {
    name: String,
    /// The number of the row that it is compared with.
    beside: usize,
    run: Box<dyn FnMut() -> Result<Outcome> + 'a>,
}

impl<'a> Row<'a> {
    pub(crate) fn new(
        name: impl Into<String>,
        beside: usize,
        run: impl FnMut() -> Result<Outcome> + 'a,
    ) -> Self {
        Self { name: name.into(), beside, run: Box::new(run) }
    }
}

/// Measures each row in turn, `rounds` times. Prints the medians, each beside that of another row, and all rounds.
pub(crate) fn in_turn(rounds: usize, mut rows: Vec<Row<'_>>) -> Result<Vec<Line>> {
    let line = |row: &Row<'_>| Line { group: GROUP, name: row.name.clone(), threads: 0, rounds: Vec::new() };
    let mut lines: Vec<Line> = rows.iter().map(line).collect();
    for _ in 0..rounds {
        for (row, line) in rows.iter_mut().zip(&mut lines) {
            line.rounds.push((row.run)().map_err(|error| format!("{}: {error}", row.name))?);
        }
    }
    println!(
        "{:<56} {:>12} {:>7} {:>10} {:>7}   rounds",
        "in turn; medians", "a second", "ratio", "server us", "ratio"
    );
    for (row, line) in rows.iter().zip(&lines) {
        let beside = &lines[row.beside];
        let ratio = |of: fn(&Line) -> Option<f64>| Some(of(line)? / of(beside)?);
        let shown =
            |value: Option<f64>, digits: usize| value.map_or("-".to_owned(), |v| format!("{v:.digits$}"));
        let rates: Vec<String> =
            line.rounds.iter().map(|round| format!("{:.0}", 1e9 / round.nanos_per_id())).collect();
        println!(
            "{:<56} {:>12} {:>7} {:>10} {:>7}   {}",
            line.name,
            shown(line.rate(), 0),
            shown(ratio(Line::rate), 2),
            shown(line.server_nanos().map(|nanos| nanos / 1e3), 3),
            shown(ratio(Line::server_nanos), 2),
            rates.join(" ")
        );
    }
    Ok(lines)
}

/// The least that a server can do: `loops/epoll.c`, which answers with a constant on one thread.
///
/// # Errors
/// `cc` is not installed.
pub(crate) fn least() -> Result<Server> {
    need("cc", "gcc")?;
    let home = Home::new("least");
    let (source, program) =
        (concat!(env!("CARGO_MANIFEST_DIR"), "/loops/epoll.c"), home.path().join("epoll"));
    let compiled = Command::new("cc").args(["-O2", source, "-o"]).arg(&program).status()?;
    if !compiled.success() {
        return Err(format!("cc does not compile {source}").into());
    }
    let start = move |home: &Home, port: u16| {
        let mut command = home.command(&program);
        command.arg(port.to_string());
        command
    };
    Ok(Server::new(home, Signal::TERM, start, listens))
}

/// How long the witness waits after each answer: it shall not be seen in the figure.
const PAUSE: Duration = Duration::from_millis(2);

/// The place of an ID among all that a name can give, in order.
pub(crate) type Place = fn(u128) -> Result<u128>;

/// A client of one name whose IDs are checked while a program with other clients throws its answers away.
pub(crate) struct Witness {
    url: String,
    place: Place,
    /// The last ID of its last round.
    last: Option<u128>,
}

impl Witness {
    /// A client of a URL as [`Load`](crate::load::Load) takes it.
    pub(crate) fn new(url: String, place: Place) -> Self {
        Self { url, place, last: None }
    }

    /// Mints while `work` runs, which returns how many answers it got in what time, and checks its IDs.
    ///
    /// # Errors
    /// An ID that is not above the one before, or more answers than IDs.
    pub(crate) fn during(&mut self, work: impl FnOnce() -> Result<(u64, Duration)>) -> Result<Outcome> {
        let (host, wire) = Wire::of(&self.url)?;
        let mut connection = Connection::open(host)?;
        // It is answered before the work begins, and the last one is asked for after the work has ended.
        let mut ids = vec![connection.call(&wire)?];
        let stop = AtomicBool::new(false);
        let (worked, minted) = thread::scope(|scope| {
            let client = scope.spawn(|| -> Result<()> {
                while !stop.load(Ordering::Relaxed) {
                    ids.push(connection.call(&wire)?);
                    pass(PAUSE);
                }
                Ok(())
            });
            let worked = work();
            stop.store(true, Ordering::Relaxed);
            (worked, client.join().unwrap_or_else(|_| Err("a client panicked".into())))
        });
        minted?;
        let (answers, elapsed) = worked?;
        ids.push(connection.call(&wire)?);
        let checked = testify(self.last, &ids, answers, self.place)?;
        self.last = ids.last().copied();
        Ok(Outcome::of_server(answers, elapsed, Some(checked)))
    }
}

/// Checks one client's IDs, in the order in which it got them. Every kind that is measured increases from one call to
/// the next on one server, so IDs that increase are different, also from those of earlier rounds. All answers that
/// others got meanwhile have their places between the first and the last; so there must be as many.
fn testify(last: Option<u128>, ids: &[u128], answers: u64, place: Place) -> Result<Ids> {
    let all: Vec<u128> = last.iter().chain(ids).copied().collect();
    if let Some(pair) = all.windows(2).find(|pair| pair[0] >= pair[1]) {
        return Err(format!("{} came after {}", pair[1], pair[0]).into());
    }
    let (Some(&first), Some(&end)) = (ids.first(), ids.last()) else { return Err("no ID came".into()) };
    let places = place(end)? - place(first)? + 1;
    let unique = u64::try_from(ids.len())?;
    if places < u128::from(answers) + u128::from(unique) {
        return Err(format!("{answers} answers came, and there were only {places} IDs").into());
    }
    Ok(Ids { unique, repeated: 0 })
}

/// Of a number that counts.
#[expect(clippy::unnecessary_wraps, reason = "a place")]
pub(crate) fn number(id: u128) -> Result<u128> {
    Ok(id)
}

/// Of a snowflake of Twitter's layout: its worker does not count.
pub(crate) fn snowflake(id: u128) -> Result<u128> {
    let parts = Layout::TWITTER.split(id)?;
    Ok(Layout::TWITTER.position(parts.tick, parts.sequence).into())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use floe::Layout;

    use super::{Row, in_turn, number, snowflake, testify};
    use crate::Result;
    use crate::measure::{Ids, Outcome};

    #[test]
    fn a_witness_sees_an_id_again_and_answers_without_ids() -> Result<()> {
        // Between 5 and 14 are ten places, and three of them are the witness' own.
        assert_eq!(testify(Some(4), &[5, 9, 14], 7, number)?, Ids { unique: 3, repeated: 0 });
        assert!(testify(Some(4), &[5, 9, 14], 8, number).is_err(), "8 answers from 7 IDs");
        assert!(testify(None, &[5, 5, 14], 0, number).is_err(), "5 twice");
        assert!(testify(None, &[5, 9, 8], 0, number).is_err(), "8 after 9");
        assert!(testify(Some(5), &[5, 9, 14], 0, number).is_err(), "5 in an earlier round");
        assert!(testify(None, &[], 0, number).is_err(), "nothing");
        Ok(())
    }

    #[test]
    fn the_place_of_a_snowflake_does_not_count_its_worker() -> Result<()> {
        let place = |tick, worker, sequence| snowflake(Layout::TWITTER.compose(tick, worker, sequence)?);
        assert_eq!(place(10, 0, 0)? - place(9, 1_023, 4_095)?, 1);
        assert_eq!(place(11, 7, 3)? - place(9, 1_023, 4_095)?, 4_100);
        Ok(())
    }

    #[test]
    fn every_server_has_its_turn_in_every_round() -> Result<()> {
        let turns = std::cell::RefCell::new(Vec::new());
        let row = |name: &'static str, nanos| {
            let turns = &turns;
            Row::new(name, 0, move || {
                turns.borrow_mut().push(name);
                Ok(Outcome::of_server(10, Duration::from_nanos(nanos), None))
            })
        };
        let lines = in_turn(2, vec![row("a", 20), row("b", 40)])?;
        assert_eq!(*turns.borrow(), ["a", "b", "a", "b"]);
        assert_eq!(lines[1].name, "b");
        assert_eq!((lines[0].nanos(), lines[1].nanos()), (Some(2.0), Some(4.0)));
        assert_eq!(lines[0].unique(), None);
        Ok(())
    }
}
