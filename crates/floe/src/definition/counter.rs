//! Counters: 1, 2, 3, … over the whole cluster.

use floe_id::inspect::Reading;

use super::row::{Reserved, Row, Rules};
use super::words::narrow;
use super::{Definition, ReadIdError};

pub(crate) static ROW: Row = Row {
    word: "counter",
    aliases: &[],
    settings: &[],
    options: &[],
    has_time: false,
    rules: Rules::Reserved(Reserved {
        counted: true,
        define: |_, _| Some(Definition::Counter),
        parse: |_| Ok(Some(Definition::Counter)),
    }),
};

pub(super) fn read(definition: &Definition, text: &str) -> Result<Reading, ReadIdError> {
    let id = narrow(text)?;
    if id == 0 {
        return Err(definition.foreign(text, "a counter begins at 1"));
    }
    let reading = Reading::new("counter", "counter", "decimal", id.to_string()).with("position", id);
    Ok(reading.explained(format!(
        "a counter prints its count:\n  {id}\n\
         every smaller number was handed out or skipped before it; it holds no time and no worker\n"
    )))
}
