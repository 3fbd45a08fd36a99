//! Aligned columns for people.

use std::io::Write;

use crate::failure::{Failure, Outcome};

/// Rows of text under a heading, each column as wide as its widest cell.
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these headings.
    pub(crate) fn new(headings: &[&str]) -> Self {
        Self { rows: vec![headings.iter().map(|heading| (*heading).to_owned()).collect()] }
    }

    /// One more row.
    pub(crate) fn row<const N: usize>(&mut self, cells: [String; N]) {
        self.rows.push(cells.into());
    }

    /// The text, with a line for each row and two spaces between columns.
    pub(crate) fn render(&self) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width_of = |column: usize| {
            self.rows
                .iter()
                .filter_map(|row| row.get(column))
                .map(|cell| cell.chars().count())
                .max()
                .unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width_of).collect();
        let mut text = String::new();
        for row in &self.rows {
            let cells = row.iter().zip(&widths).map(|(cell, &width)| format!("{cell:width$}"));
            text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
            text.push('\n');
        }
        text
    }
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
    use super::Table;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let mut table = Table::new(&["NAME", "KIND", "NEXT"]);
        table.row(["a".into(), "snowflake".into(), String::new()]);
        table.row(["größer".into(), "counter".into(), "7".into()]);
        assert_eq!(table.render(), "NAME    KIND       NEXT\na       snowflake\ngrößer  counter    7\n");
    }
}
