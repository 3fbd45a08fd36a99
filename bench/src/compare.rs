//! floe and others side by side. In each round every row runs once on each number of threads, so other load on the
//! machine affects every row alike. A figure is the median of the rounds.

use std::fs;
use std::path::PathBuf;

use crate::Result;
use crate::limits::{ATOMIC_ADD, COUNTER, ROUND_TRIP};
use crate::machine::Machine;
use crate::measure::Outcome;
use crate::rows::{self, Row};
use crate::{plot, servers, table};

/// The rows to compare, and for how long.
pub(crate) struct Comparison {
    /// A tenth of the IDs, and fewer rounds.
    pub(crate) quick: bool,
    /// The folder for `bench.md`, `bench.json` and `bench.svg`.
    pub(crate) out: PathBuf,
    /// Parts of the names of the wanted rows; if empty, all rows. The limits always run.
    pub(crate) wanted: Vec<String>,
    /// The binary `floe` that is measured beside other servers, if it is wanted.
    pub(crate) servers: Option<PathBuf>,
}

impl Default for Comparison {
    fn default() -> Self {
        Self { quick: false, out: PathBuf::from("target/bench"), wanted: Vec::new(), servers: None }
    }
}

/// One row on this many threads, round by round.
pub(crate) struct Line {
    pub(crate) group: &'static str,
    pub(crate) name: String,
    /// 0 for a server, whose name says how many clients it has.
    pub(crate) threads: usize,
    pub(crate) rounds: Vec<Outcome>,
}

impl Comparison {
    /// Measures, prints the table and writes it. Returns whether no ID occurred twice, and the servers did what they must.
    ///
    /// # Errors
    /// A row that could not run, a part of a name that matches no row, a folder that cannot be written.
    pub(crate) fn run(&self) -> Result<bool> {
        let rows = self.rows()?;
        fs::create_dir_all(&self.out).map_err(|error| format!("{}: {error}", self.out.display()))?;
        let machine = Machine::this();
        let mut lines: Vec<(Row, Line)> = Vec::new();
        for row in rows {
            for &threads in row.threads {
                let line = Line { group: row.group, name: row.name.to_owned(), threads, rounds: Vec::new() };
                lines.push((row, line));
            }
        }
        let rounds = if self.quick { 3 } else { 7 };
        for round in 1..=rounds {
            eprintln!("round {round} of {rounds}");
            for (row, line) in &mut lines {
                let count = if self.quick { row.count / 10 } else { row.count };
                let outcome = (row.run)(line.threads, count);
                line.rounds.push(outcome.map_err(|error| format!("{}: {error}", line.name))?);
            }
        }
        let mut lines: Vec<Line> = lines.into_iter().map(|(_, line)| line).collect();
        if let Some(binary) = &self.servers {
            lines.extend(servers::all(binary, self.quick)?);
        }
        let markdown = table::markdown(&machine, rounds, &lines);
        print!("{markdown}");
        let json = table::text(&table::json(&machine, rounds, &lines));
        for (name, text) in [("bench.md", markdown), ("bench.json", json), ("bench.svg", plot::svg(&lines))] {
            let path = self.out.join(name);
            fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
        }
        println!("\nWritten to {}: bench.md, bench.json, bench.svg.", self.out.display());
        Ok(servers::sound(&lines))
    }

    fn rows(&self) -> Result<Vec<Row>> {
        let mut rows = rows::all();
        let limits = rows[0].group;
        if let Some(part) = self.wanted.iter().find(|part| !rows.iter().any(|row| row.name.contains(*part))) {
            let names: Vec<&str> = rows.iter().map(|row| row.name).collect();
            return Err(format!("no row has {part:?} in its name. There are: {}", names.join("; ")).into());
        }
        rows.retain(|row| {
            let wanted = self.wanted.iter().any(|part| row.name.contains(part));
            self.wanted.is_empty() || row.group == limits || wanted
        });
        Ok(rows)
    }
}

impl Line {
    /// Nanoseconds of wall time per ID: the median of the rounds. `None` if an ID occurred twice: such a row does not count.
    pub(crate) fn nanos(&self) -> Option<f64> {
        self.median(|outcome| Some(outcome.nanos_per_id()))
    }

    /// The same for the first IDs of a run, if they were measured.
    pub(crate) fn first_nanos(&self) -> Option<f64> {
        self.median(|outcome| outcome.first)
    }

    /// Nanoseconds of the server's processor per ID, if they were measured.
    pub(crate) fn server_nanos(&self) -> Option<f64> {
        self.median(|outcome| outcome.server)
    }

    /// IDs a second.
    pub(crate) fn rate(&self) -> Option<f64> {
        self.nanos().map(|nanos| 1e9 / nanos)
    }

    fn median(&self, of: impl Fn(&Outcome) -> Option<f64>) -> Option<f64> {
        if self.repeated() > 0 {
            return None;
        }
        let mut values: Vec<f64> = self.rounds.iter().filter_map(of).collect();
        values.sort_by(f64::total_cmp);
        values.get(values.len() / 2).copied()
    }

    /// The IDs of all rounds, each unique in its round. `None` if the row makes none.
    pub(crate) fn unique(&self) -> Option<u64> {
        self.rounds.iter().map(|outcome| outcome.ids.map(|ids| ids.unique)).sum()
    }

    /// IDs of all rounds that were repeated.
    pub(crate) fn repeated(&self) -> u64 {
        self.rounds.iter().map(Outcome::repeated).sum()
    }
}

/// How many times longer than a limit a line takes on the same number of threads; a server, than the limit on one.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Ratios {
    pub(crate) counter: Option<f64>,
    pub(crate) atomic_add: Option<f64>,
    pub(crate) round_trip: Option<f64>,
}

impl Ratios {
    /// The ratios of `line`. `None` if the limit was not measured on as many threads, or does not count.
    pub(crate) fn of(line: &Line, lines: &[Line]) -> Self {
        let to = |name: &str| {
            let threads = line.threads.max(1);
            let limit = lines.iter().find(|limit| limit.name == name && limit.threads == threads)?;
            Some(line.nanos()? / limit.nanos()?)
        };
        Self { counter: to(COUNTER), atomic_add: to(ATOMIC_ADD), round_trip: to(ROUND_TRIP) }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::time::Duration;

    use super::{Comparison, Line, Ratios};
    use crate::limits::{ATOMIC_ADD, COUNTER, ROUND_TRIP};
    use crate::measure::{Ids, Outcome};

    /// A line with this many nanoseconds per ID in each round, and this many repeated IDs in the first.
    pub(crate) fn line(name: &str, threads: usize, nanos: &[u64], repeated: u64) -> Line {
        let round = |(round, nanos): (usize, &u64)| {
            let repeated = if round == 0 { repeated } else { 0 };
            let ids = Some(Ids { unique: 100 - repeated, repeated });
            Outcome::of_server(100, Duration::from_nanos(nanos * 100), ids)
        };
        let rounds = nanos.iter().enumerate().map(round).collect();
        Line { group: "Group", name: name.to_owned(), threads, rounds }
    }

    fn ratios(counter: Option<f64>, atomic_add: Option<f64>, round_trip: Option<f64>) -> Ratios {
        Ratios { counter, atomic_add, round_trip }
    }

    #[test]
    fn a_figure_is_the_median_of_the_rounds() {
        let line = line("row", 1, &[9, 1, 4], 0);
        assert_eq!((line.nanos(), line.first_nanos()), (Some(4.0), None));
        assert_eq!((line.unique(), line.repeated()), (Some(300), 0));
    }

    #[test]
    fn a_row_that_repeats_an_id_has_no_figure_and_no_ratio() {
        let lines = [line(COUNTER, 1, &[2, 2, 2], 0), line("row", 1, &[1, 1, 1], 1)];
        assert_eq!((lines[1].nanos(), lines[1].repeated()), (None, 1));
        assert_eq!(Ratios::of(&lines[1], &lines), ratios(None, None, None));
    }

    #[test]
    fn a_ratio_is_to_the_limit_on_as_many_threads() {
        let lines = [
            line(COUNTER, 1, &[2], 0),
            line(COUNTER, 2, &[1], 0),
            line(ATOMIC_ADD, 1, &[5], 0),
            line(ATOMIC_ADD, 2, &[8], 0),
            line("row", 2, &[4], 0),
            line("row", 16, &[4], 0),
            line(ROUND_TRIP, 1, &[50], 0),
            line(ROUND_TRIP, 2, &[1], 0),
            // A server.
            line("row", 0, &[100], 0),
        ];
        assert_eq!(Ratios::of(&lines[4], &lines), ratios(Some(4.0), Some(0.5), Some(4.0)));
        assert_eq!(Ratios::of(&lines[5], &lines), ratios(None, None, None));
        assert_eq!(Ratios::of(&lines[8], &lines), ratios(Some(50.0), Some(20.0), Some(2.0)));
    }

    #[test]
    fn every_row_runs_and_repeats_nothing() -> crate::Result<()> {
        for row in crate::rows::all() {
            for &threads in row.threads {
                let outcome = (row.run)(threads, 64).map_err(|error| format!("{}: {error}", row.name))?;
                assert_eq!(outcome.repeated(), 0, "{} on {threads} threads", row.name);
            }
        }
        Ok(())
    }

    #[test]
    fn the_limits_always_run_and_a_name_that_no_row_has_is_refused() -> crate::Result<()> {
        let of = |part: &str| Comparison { wanted: vec![part.to_owned()], ..Comparison::default() }.rows();
        let names: Vec<&str> = of("floe minter")?.iter().map(|row| row.name).collect();
        assert_eq!(
            (names[0], names[1], names.last().copied()),
            (COUNTER, ATOMIC_ADD, Some("floe minter, one a thread"))
        );
        assert!(of("flow").is_err_and(|error| error.to_string().contains("floe minter")));
        Ok(())
    }
}
