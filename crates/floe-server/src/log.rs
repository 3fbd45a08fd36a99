//! The log: lines of text, or of JSON and then of nothing else, a panic's and an error's at the start among them.

use std::fmt::Write as _;
use std::io::Write as _;

use serde_json::{Map, Value};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::{FormatTime, SystemTime};
use tracing_subscriber::prelude::*;

use crate::config::{LogFormat, LogSettings};

/// Sends the log to stderr, as the settings say. If the process already has a log, that one stays.
pub(crate) fn start(settings: &LogSettings) {
    // `Config::check` has refused what is no filter.
    let log = tracing_subscriber::registry().with(settings.filter().unwrap_or_default());
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
    let started = match settings.format {
        LogFormat::Text => {
            let ansi = std::io::IsTerminal::is_terminal(&std::io::stderr());
            log.with(lines.with_ansi(ansi)).try_init()
        }
        LogFormat::Json => log.with(lines.json().flatten_event(true)).try_init(),
    };
    // An error means that a log is set already, as in tests.
    if started.is_ok() && settings.format == LogFormat::Json {
        std::panic::set_hook(Box::new(panicked));
    }
}

/// A line of JSON with these fields, in the form of the log's own. It is written whatever the log's level is.
pub fn json_line(level: &str, message: &str, fields: Map<String, Value>) -> String {
    let mut time = String::new();
    // Where the clock cannot be shown the line has none.
    let _ = SystemTime.format_time(&mut Writer::new(&mut time));
    let mut line = Map::new();
    for (key, value) in [("timestamp", time.as_str()), ("level", level), ("message", message)] {
        line.insert(key.to_owned(), value.into());
    }
    line.extend(fields);
    line.insert("target".to_owned(), "floe".into());
    format!("{}\n", Value::Object(line))
}

/// Logs a panic if the log is JSON.
fn panicked(panic: &std::panic::PanicHookInfo<'_>) {
    let payload = panic.payload();
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    let message = text.unwrap_or("a thread panicked");
    let mut fields = Map::new();
    let thread = std::thread::current();
    fields.insert("thread".to_owned(), thread.name().unwrap_or("unnamed").into());
    if let Some(location) = panic.location() {
        fields.insert("location".to_owned(), location.to_string().into());
    }
    let mut text = String::new();
    let backtrace = std::backtrace::Backtrace::capture();
    if backtrace.status() == std::backtrace::BacktraceStatus::Captured && write!(text, "{backtrace}").is_ok()
    {
        fields.insert("backtrace".to_owned(), text.into());
    }
    // There is nobody left to tell where stderr is closed.
    let _ = std::io::stderr().write_all(json_line("ERROR", message, fields).as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs itself, as a process that panics: the hook is the process's.
    #[test]
    fn a_panic_is_a_line_of_json() {
        const ASKED: &str = "FLOE_TEST_PANICS";
        if std::env::var_os(ASKED).is_some() {
            start(&LogSettings { format: LogFormat::Json, level: "off".to_owned() });
            panic!("on purpose\nin two lines");
        }
        let mut command = std::process::Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "log::tests::a_panic_is_a_line_of_json", "--nocapture"]).env(ASKED, "1");
        let said = command.output().unwrap();
        assert!(!said.status.success());
        let said = String::from_utf8(said.stderr).unwrap();
        let lines: Vec<Value> = said.lines().map(|line| serde_json::from_str(line).expect(&said)).collect();
        assert_eq!(lines.len(), 1, "{said}");
        assert_eq!(
            (&lines[0]["message"], &lines[0]["level"]),
            (&"on purpose\nin two lines".into(), &"ERROR".into())
        );
        assert!(lines[0]["location"].as_str().unwrap().contains("log.rs:"), "{said}");
    }

    #[test]
    fn a_line_is_one_object_whatever_stands_in_it() {
        let mut fields = Map::new();
        fields.insert("hint".to_owned(), "a\nb".into());
        let line = json_line("ERROR", "\"it\"\nfailed", fields);
        assert_eq!(line.matches('\n').count(), 1, "{line}");
        let read: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(read["message"], "\"it\"\nfailed");
        assert_eq!((&read["level"], &read["hint"]), (&"ERROR".into(), &"a\nb".into()));
        assert!(read["timestamp"].as_str().unwrap().ends_with('Z'), "{line}");
    }
}
