//! A comparison as Markdown, for people, and as JSON, for programs.

use std::fmt::Write;

use serde_json::{Value, json};

use crate::compare::{Line, Ratios};
use crate::machine::Machine;
use crate::servers::GROUP;

/// A table for each group.
pub(crate) fn markdown(machine: &Machine, rounds: usize, lines: &[Line]) -> String {
    let mut text = format!("# floe beside others\n\n{}.\n", machine.markdown());
    text += &format!(
        "Medians of {rounds} rounds, nanoseconds of wall time an ID. Every ID was checked in its run; docs/benchmarks.md \
         says where a server's were not.\n"
    );
    let mut group = "";
    for line in lines {
        if line.group != group && line.group == GROUP {
            let _ = write!(
                text,
                "\n## {GROUP}\n\n| {:<60} | a second | ns a request | send and recv | server's ns | checked IDs | twice |\n\
                 |{}|---------:|-------------:|--------------:|------------:|------------:|------:|\n",
                "row",
                "-".repeat(62)
            );
        } else if line.group != group {
            let _ = write!(
                text,
                "\n## {}\n\n| {:<48} | threads | ns an ID | counter | atomic add | first ns | unique IDs | twice |\n\
                 |{}|--------:|---------:|--------:|-----------:|---------:|-----------:|------:|\n",
                line.group,
                "row",
                "-".repeat(50)
            );
        }
        group = line.group;
        let Ratios { counter, atomic_add, round_trip } = Ratios::of(line, lines);
        let unique = line.unique().map_or("-".to_owned(), |unique| unique.to_string());
        if group == GROUP {
            let _ = writeln!(
                text,
                "| {:<60} | {:>8} | {:>12} | {:>13} | {:>11} | {:>11} | {:>5} |",
                line.name,
                figure(line.rate()),
                figure(line.nanos()),
                figure(round_trip),
                figure(line.server_nanos()),
                unique,
                line.repeated()
            );
            continue;
        }
        let _ = writeln!(
            text,
            "| {:<48} | {:>7} | {:>8} | {:>7} | {:>10} | {:>8} | {:>10} | {:>5} |",
            line.name,
            line.threads,
            figure(line.nanos()),
            figure(counter),
            figure(atomic_add),
            figure(line.first_nanos()),
            unique,
            line.repeated()
        );
    }
    text
}

/// Everything in the table, and each round.
pub(crate) fn json(machine: &Machine, rounds: usize, lines: &[Line]) -> Value {
    let rows: Vec<Value> = lines
        .iter()
        .map(|line| {
            let Ratios { counter, atomic_add, round_trip } = Ratios::of(line, lines);
            let nanos: Vec<f64> = line.rounds.iter().map(crate::measure::Outcome::nanos_per_id).collect();
            json!({
                "group": line.group,
                "row": line.name,
                "threads": line.threads,
                "nanos": line.nanos(),
                "nanos_of_rounds": nanos,
                "first_nanos": line.first_nanos(),
                "server_nanos": line.server_nanos(),
                "to_counter": counter,
                "to_atomic_add": atomic_add,
                "to_round_trip": round_trip,
                "unique": line.unique(),
                "repeated": line.repeated(),
            })
        })
        .collect();
    json!({ "machine": machine.json(), "rounds": rounds, "rows": rows })
}

/// The JSON as a text with a line for each row, in which a change can be seen.
pub(crate) fn text(json: &Value) -> String {
    let rows: Vec<String> = json["rows"].as_array().into_iter().flatten().map(Value::to_string).collect();
    format!(
        "{{\n\"machine\": {},\n\"rounds\": {},\n\"rows\": [\n{}\n]\n}}\n",
        json["machine"],
        json["rounds"],
        rows.join(",\n")
    )
}

/// At least three digits if there are as many; `-` if nothing was measured.
fn figure(value: Option<f64>) -> String {
    match value {
        None => "-".to_owned(),
        Some(value) if value < 10.0 => format!("{value:.2}"),
        Some(value) if value < 100.0 => format!("{value:.1}"),
        Some(value) => format!("{value:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::{json, markdown, text};
    use crate::compare::Line;
    use crate::compare::tests::line;
    use crate::limits::{ATOMIC_ADD, COUNTER, ROUND_TRIP};
    use crate::machine::Machine;

    fn lines() -> [Line; 4] {
        [
            line(COUNTER, 1, &[2, 2, 2], 0),
            line(ATOMIC_ADD, 1, &[5, 5, 5], 0),
            line("floe", 1, &[6, 5, 90], 0),
            line("another", 1, &[1, 1, 1], 7),
        ]
    }

    /// The cells of a row.
    fn cells(markdown: &str, row: &str) -> Vec<String> {
        let line = markdown.lines().find(|line| line.starts_with(&format!("| {row} ")));
        line.unwrap_or_default().split('|').map(|cell| cell.trim().to_owned()).collect()
    }

    #[test]
    fn the_table_has_a_line_of_every_row_with_its_ratios() {
        let text = markdown(&Machine::this(), 3, &lines());
        assert_eq!(cells(&text, "floe")[1..9], ["floe", "1", "6.00", "3.00", "1.20", "-", "300", "0"]);
        assert_eq!(cells(&text, "another")[1..9], ["another", "1", "-", "-", "-", "-", "293", "7"]);
        assert_eq!(cells(&text, COUNTER)[3..6], ["2.00", "1.00", "0.40"]);
        let widths: Vec<usize> = text.lines().filter(|line| line.starts_with('|')).map(str::len).collect();
        assert_eq!(widths, vec![widths[0]; 6], "the columns stand under one another:\n{text}");
    }

    #[test]
    fn servers_have_a_table_with_their_ratio_to_a_round_trip() {
        let mut server = line("GET", 0, &[7_000], 0);
        server.group = super::GROUP;
        server.rounds[0].server = Some(350.0);
        let text = markdown(&Machine::this(), 3, &[line(ROUND_TRIP, 1, &[3_500], 0), server]);
        assert_eq!(cells(&text, "GET")[1..8], ["GET", "142857", "7000", "2.00", "350", "100", "0"]);
        let table = text.split("## Servers").nth(1).unwrap_or_default();
        let widths: Vec<usize> = table.lines().filter(|line| line.starts_with('|')).map(str::len).collect();
        assert_eq!(widths, vec![widths[0]; 3], "the columns stand under one another:\n{text}");
    }

    #[test]
    fn the_json_has_every_round_and_no_figure_of_a_row_that_repeats() {
        let value = json(&Machine::this(), 3, &lines());
        let row = &value["rows"][2];
        assert_eq!((row["nanos"].as_f64(), row["to_atomic_add"].as_f64()), (Some(6.0), Some(1.2)));
        assert_eq!(row["nanos_of_rounds"], serde_json::json!([6.0, 5.0, 90.0]));
        let row = &value["rows"][3];
        assert!(row["nanos"].is_null() && row["to_counter"].is_null());
        assert_eq!(row["repeated"], 7);
        assert!(value["machine"]["cores"].as_u64() > Some(0));
        let written = text(&value);
        assert_eq!(serde_json::from_str::<serde_json::Value>(&written).ok(), Some(value));
        assert_eq!(written.lines().filter(|line| line.starts_with("{\"")).count(), 4);
    }
}
