//! Snowflakes: time, worker id and sequence in the bit fields of a layout.

use super::row::{Complain, Given, Reserved, Row, Rules, Setting, Takes};
use super::{Definition, DefinitionError};
use crate::layout::{self, Layout, LayoutError};

pub(crate) static ROW: Row = Row {
    word: "snowflake",
    aliases: &[],
    settings: &[
        Setting::new(
            "layout",
            Takes::Text("LAYOUT"),
            "The bit fields of a snowflake: a preset such as twitter or \"sonyflake epoch=2020-01-01T00:00:00Z\", or \"time:41 worker:10 sequence:12 tick=1ms epoch=2020-01-01T00:00:00Z\" [default: twitter]",
        )
        .required("it is missing: write a preset such as \"twitter\", or fields such as \"time:41 worker:10 sequence:12\" with a tick and an epoch"),
        Setting::new("tick", Takes::Text("TICK"), "How long one step of a snowflake's time is, if the layout does not say it"),
        Setting::new("epoch", Takes::Time, "The time from which a snowflake counts, if the layout does not say it"),
        Setting::new("own", Takes::Flag, "Give the snowflake its own generator instead of the one that names of its layout share"),
    ],
    options: &["start", "max_ahead", "max-vibration-offset"],
    has_time: true,
    rules: Rules::Reserved(Reserved { counted: false, define, parse }),
};

fn define(given: &Given, complain: Complain<'_>) -> Option<Definition> {
    let own = given.read("own", false, complain)?;
    Some(Definition::Snowflake { layout: layout(given, complain)?, own })
}

/// The layout of `layout`, `tick` and `epoch`. A preset has its own tick and epoch where they are not said; fields need
/// both to be said.
fn layout(given: &Given, complain: Complain<'_>) -> Option<Layout> {
    let spec = given.get("layout").unwrap_or("twitter");
    let mut words: Vec<&str> = spec.split_ascii_whitespace().collect();
    let is_preset = words.first().is_none_or(|word| !word.contains(':'));
    let mut wrong = false;
    for (key, sign, example) in [("tick", "tick=", "1ms"), ("epoch", "epoch=", "2020-01-01T00:00:00Z")] {
        let said = words.iter().any(|word| word.starts_with(sign));
        let problem = match (said, given.get(key)) {
            (true, Some(_)) => Some("the layout says it too: say it once".to_owned()),
            (false, None) if !is_preset => Some(format!(
                "it is missing, and a layout of fields needs it: add for example {key} = \"{example}\""
            )),
            _ => None,
        };
        if let Some(problem) = problem {
            wrong = true;
            complain(key, problem);
        }
    }
    let mut read = |key, value: Result<String, LayoutError>| {
        value.map_err(|error| complain(key, error.to_string())).ok()
    };
    let tick = match given.get("tick") {
        Some(tick) => Some(read("tick", layout::parse_tick(tick).map(|tick| format!("tick={tick}ms")))?),
        None => None,
    };
    let epoch = match given.get("epoch") {
        Some(epoch) => Some(read("epoch", layout::parse_epoch(epoch).map(|epoch| format!("epoch={epoch}")))?),
        None => None,
    };
    if wrong {
        return None;
    }
    let wide = words.pop_if(|word| *word == "wide");
    words.extend([tick.as_deref(), epoch.as_deref(), wide].into_iter().flatten());
    words.join(" ").parse().map_err(|error: LayoutError| complain("layout", error.to_string())).ok()
}

fn parse(text: &str) -> Result<Option<Definition>, DefinitionError> {
    Ok(Some(match text.strip_prefix("own ") {
        Some(layout) => Definition::Snowflake { layout: layout.parse()?, own: true },
        None => Definition::Snowflake { layout: text.parse()?, own: false },
    }))
}
