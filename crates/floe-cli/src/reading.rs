//! A reading as the command line prints it: in lines for people, in a line of a table, and for programs.

use floe::inspect::Reading;
use serde_json::Value;

use crate::drawing::{Cell, draw};
use crate::table::aligned;

/// A line for each thing that the ID says, and its bits.
pub(crate) fn summary(reading: &Reading) -> String {
    let mut lines = vec![("id", reading.text.as_str()), ("kind", reading.title.as_str())];
    lines.extend(reading.facts.iter().map(|(label, value)| (label.as_str(), value.as_str())));
    lines.extend(reading.notes.iter().map(|note| ("note", note.as_str())));
    let mut text = aligned(&lines);
    if !reading.fields.is_empty() {
        text.push('\n');
        text.push_str(&draw(&reading.fields.iter().map(Cell::from).collect::<Vec<_>>()));
    }
    text
}

/// `kind  time  what else it says`, for one line of a table.
pub(crate) fn line(reading: &Reading) -> [String; 3] {
    let time = reading.time.as_ref().map(|time| time.text.clone()).unwrap_or_default();
    let unsaid =
        |label: &str| matches!(label, "time" | "layout" | "worker id" | "preset" | "written in" | "made of");
    let says = reading.facts.iter().filter(|(label, _)| !unsaid(label));
    // Text in parentheses explains, and a line has no room for that.
    let bare = |value: &str| value.split(" (").next().unwrap_or_default().to_owned();
    let says: Vec<String> = says.map(|(label, value)| format!("{label}={}", bare(value))).collect();
    [reading.title.clone(), time, says.join(" ")]
}

/// The same for programs, with the words of the server's `/v1/inspect`.
pub(crate) fn json(reading: &Reading) -> Value {
    // Texts and numbers alone are in it, which JSON has.
    serde_json::to_value(reading).unwrap_or_default()
}
