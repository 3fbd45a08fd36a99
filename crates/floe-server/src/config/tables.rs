//! The settings that stand in tables of the configuration: each once, with its meaning, default and range.

use std::time::Duration;

use toml::de::DeValue;
use tracing_subscriber::filter::Targets;

use super::reader::{self, Section, bytes_within, duration_within, one_of, within};

/// Declares a table. A setting is `field: type = default, how it is read`; it has the field's name in a file, or the one
/// behind `as`.
macro_rules! table {
    ($(#[$meta:meta])* $table:ident {
        $($(#[doc = $doc:literal])+ $field:ident $(as $key:literal)?: $type:ty = $default:expr, $read:expr;)+
    }) => {
        $(#[$meta])*
        #[derive(Clone, PartialEq, Eq, Debug)]
        pub struct $table {
            $($(#[doc = $doc])+ pub $field: $type,)+
        }

        impl Default for $table {
            fn default() -> Self {
                Self { $($field: $default,)+ }
            }
        }

        impl $table {
            /// Reads the settings that a file gives.
            pub(super) fn read(&mut self, section: &Section<'_, '_>) {
                $(section.set(table!(@key $field $($key)?), &mut self.$field, $read);)+
            }
        }
    };
    (@key $field:ident) => { stringify!($field) };
    (@key $field:ident $key:literal) => { $key };
}

const MILLISECOND: Duration = Duration::from_millis(1);
const HOUR: Duration = Duration::from_secs(3_600);

table! {
    /// What to do about a clock that moves.
    ClockSettings {
        /// The largest rollback that the node mints through; after a larger one, it refuses to mint.
        max_hold: Duration = HOUR, duration_within(Duration::ZERO..=HOUR * 24 * 366);
        /// How long a call waits for a clock that went back, before anything else.
        wait: Duration = Duration::from_millis(5), duration_within(Duration::ZERO..=HOUR / 60);
        /// Whether snowflake names mint only while this machine's clock is within ten seconds of the ledger's, if the
        /// ledger has one.
        check_ledger as "ledger": bool = true, one_of(&[("check", true), ("ignore", false)]);
    }
}

table! {
    /// How to log.
    LogSettings {
        /// `text` for people, `json` for machines.
        format: LogFormat = LogFormat::Text, one_of(LogFormat::WORDS);
        /// A level (`error` to `trace`, or `off`), or a filter such as `info,floe_server=debug`.
        level: String = "info".to_owned(), level;
    }
}

table! {
    /// The names behind calls that name none: those of systems that had one generator for all keys.
    DefaultNames {
        /// Twitter's Snowflake over Thrift.
        thrift: String = "snowflake".to_owned(), super::name;
        /// katsubushi over HTTP and gRPC.
        katsubushi: String = "katsubushi".to_owned(), super::name;
    }
}

table! {
    /// What bounds every wait, buffer, batch and count.
    Limits {
        /// The most IDs in one call.
        max_batch: u64 = 100_000, within(1..=10_000_000);
        /// The most names in memory, beside those that are listed. One more replaces unused names, which are loaded from
        /// the ledger again when they are asked for.
        max_names: usize = 10_000, within(1..=1_000_000);
        /// The most names that the bearers of each token may make in an hour by first use.
        new_names_per_hour: u32 = 10_000, within(1..=1_000_000);
        /// The most names with a label of their own in the metrics; the others share one.
        metric_names: usize = 1_000, within(0..=100_000);
        /// The longest that a call waits for its IDs.
        max_wait: Duration = Duration::from_secs(2), short;
        /// The longest that a request takes until its answer begins.
        request_timeout: Duration = Duration::from_secs(10), short;
        /// The longest body of a request, in bytes.
        body_bytes: usize = 64 << 10, within(0..=64 << 20);
        /// The longest URI, in bytes.
        uri_bytes: usize = 8 << 10, within(512..=65_000);
        /// The longest header of a request, in bytes.
        header_bytes: usize = 16 << 10, within(1024..=1 << 20);
        /// The most fields in a request's header.
        header_count: usize = 64, within(8..=1000);
        /// The most memory that is held for all clients together, in bytes: requests that are not whole, answers that are
        /// not read, and what connections cost by themselves.
        memory: usize = 256 << 20, bytes_within(16 << 20..=1 << 40);
        /// The most connections at once, over all listeners.
        connections: usize = 4_096, within(1..=1_000_000);
        /// The most connections at once of one address (of IPv6, one network of 64 bits); `None` is half of
        /// [`connections`](Self::connections).
        connections_per_address: Option<usize> = None, share;
        /// The most connections at once that show one token; `None` is half of [`connections`](Self::connections).
        connections_per_token: Option<usize> = None, share;
        /// The most requests at once on one HTTP/2 connection.
        streams: u32 = 128, within(1..=10_000);
        /// How long a client may take to log in, and to send a request's header, or the whole request if the protocol has
        /// no header.
        header_timeout: Duration = Duration::from_secs(10), short;
        /// How long a connection stays open without a request.
        idle_timeout: Duration = Duration::from_secs(75), short;
        /// How long a client may stop reading before its connection is closed.
        stall_timeout: Duration = Duration::from_secs(20), short;
        /// How long `/readyz` fails before the listeners close at shutdown.
        drain_delay: Duration = Duration::ZERO, duration_within(Duration::ZERO..=HOUR);
        /// How long requests may take to finish at shutdown.
        drain_timeout: Duration = Duration::from_secs(10), duration_within(Duration::ZERO..=HOUR);
    }
}

impl Limits {
    /// The longest request of a protocol that has no header, in bytes.
    pub(crate) fn request_bytes(&self) -> usize {
        self.header_bytes + self.body_bytes
    }
}

impl LogSettings {
    /// What `level` lets through.
    pub(crate) fn filter(&self) -> Result<Targets, String> {
        filter(&self.level)
    }
}

/// How a log line is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LogFormat {
    /// For people.
    Text,
    /// For machines: one JSON object a line.
    Json,
}

impl LogFormat {
    const WORDS: &[(&str, Self)] = &[("text", Self::Text), ("json", Self::Json)];
}

fn short(value: &DeValue<'_>) -> Result<Duration, String> {
    duration_within(MILLISECOND..=HOUR)(value)
}

fn share(value: &DeValue<'_>) -> Result<Option<usize>, String> {
    within(1..=1_000_000)(value).map(Some)
}

fn level(value: &DeValue<'_>) -> Result<String, String> {
    let level = reader::text(value)?;
    filter(&level)?;
    Ok(level)
}

fn filter(level: &str) -> Result<Targets, String> {
    let known = |word: &str| matches!(word, "off" | "error" | "warn" | "info" | "debug" | "trace");
    let fine = |part: &str| known(part.rsplit('=').next().unwrap_or(part)) && !part.contains('[');
    let filter = level.parse().ok().filter(|_| level.split(',').all(fine));
    filter.ok_or_else(|| {
        format!(
            "{level:?} is not a level: write off, error, warn, info, debug or trace, or a filter such as \"info,floe_server=debug\""
        )
    })
}
