//! The log.

use tracing_subscriber::EnvFilter;

use crate::config::{LogFormat, LogSettings};

/// Sends the log to stderr, as the settings say. Where the process has a log already, that one stays.
pub(crate) fn start(settings: &LogSettings) {
    let filter = EnvFilter::builder().parse_lossy(&settings.level);
    let lines = tracing_subscriber::fmt().with_writer(std::io::stderr).with_env_filter(filter);
    // An error means that a log is set already, as in tests.
    let _ = match settings.format {
        LogFormat::Text => lines.with_ansi(std::io::IsTerminal::is_terminal(&std::io::stderr())).try_init(),
        LogFormat::Json => lines.json().flatten_event(true).try_init(),
    };
}
