//! Aligned columns for people.

use std::io::Write;

use crate::failure::{Failure, Outcome};

/// Rows under a heading: a line each, two spaces between columns, and each column as wide as its widest cell.
pub(crate) fn table<const N: usize>(
    headings: [&str; N],
    rows: impl IntoIterator<Item = [String; N]>,
) -> String {
    let rows: Vec<[String; N]> = std::iter::once(headings.map(str::to_owned)).chain(rows).collect();
    let widths: [usize; N] = std::array::from_fn(|column| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    });
    let line = |row: &[String; N]| {
        let cells = row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}"));
        format!("{}\n", cells.collect::<Vec<_>>().join("  ").trim_end())
    };
    rows.iter().map(line).collect()
}

/// Values behind their labels, a line each, one below the other.
pub(crate) fn aligned(lines: &[(&str, impl std::fmt::Display)]) -> String {
    let width = lines.iter().map(|(label, _)| label.len()).max().unwrap_or(0);
    lines.iter().map(|(label, value)| format!("{label:width$}  {value}\n")).collect()
}

/// Writes all of `text` to stdout.
pub(crate) fn print(text: &str) -> Outcome {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(|error| Failure::output(&error))
}

/// Writes all of `text` to stdout, and its colours where a terminal shows them.
pub(crate) fn print_painted(text: &str) -> Outcome {
    let mut out = anstream::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(|error| Failure::output(&error))
}

/// Writes a JSON value to stdout, indented, with a line break at its end.
pub(crate) fn print_json(value: &serde_json::Value) -> Outcome {
    print(&format!("{value:#}\n"))
}

#[cfg(test)]
mod tests {
    use super::table;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [
            ["a".to_owned(), "snowflake".to_owned(), String::new()],
            ["größer".to_owned(), "counter".to_owned(), "7".to_owned()],
        ];
        let text = table(["NAME", "KIND", "NEXT"], rows);
        assert_eq!(text, "NAME    KIND       NEXT\na       snowflake\ngrößer  counter    7\n");
    }
}
