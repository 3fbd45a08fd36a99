//! What `/metrics` says.
//!
//! The server's own counts are in counters. The library's figures are read from its status at each scrape.
//! Labels are bounded: routes and states are fixed sets, and the first `limits.metric_names` names have a label of
//! their own. All later names share `_other`, without gauges, because gauges cannot be added up.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use std::time::Duration;

use floe::{ClockState, ClockStatus, Floe, Kind, LATENCY_BOUNDS_MICROS, NameState, SlotStatus, Status};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{
    DescriptorEncoder, EncodeGaugeValue, EncodeLabelSet, EncodeLabelValue, EncodeMetric, GaugeValueEncoder,
};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::{ConstCounter, Counter};
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::{ConstGauge, Gauge};
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};

mod durations;
mod prometheus;

use durations::Durations;

type Seconds = Counter<f64, AtomicU64>;

/// The label of the names that have none of their own.
const OTHER: &str = "_other";

/// Declares metrics in the order in which they are written. A row is a field and its type, the name (with its unit) and
/// the help that Prometheus shows, and how it is made, if not by default.
macro_rules! metrics {
    ($($vis:vis $field:ident: $type:ty = $name:literal $(in $unit:ident)?, $help:literal $(, $made:expr)?;)+) => {
        /// All metrics of a server.
        pub(crate) struct Metrics {
            registry: Registry,
            names: Arc<Names>,
            /// What single protocols count, by the metric's name.
            of_protocols: HashMap<&'static str, Counter>,
            floe: Arc<OnceLock<Floe>>,
            $(#[doc = $help] $vis $field: $type,)+
        }

        impl Metrics {
            /// The metrics below, registered, without those of single protocols and of the library.
            fn registered(names: Arc<Names>) -> Self {
                let mut registry = Registry::with_prefix("floe");
                let build = Info::new(vec![("version", env!("CARGO_PKG_VERSION"))]);
                registry.register("build", "The version of this server", build);
                $(let $field: $type = metrics!(@made $($made)?);
                metrics!(@register registry, $name, $help, $field.clone() $(, Unit::$unit)?);)+
                Self { registry, names, of_protocols: HashMap::new(), floe: Arc::default(), $($field,)+ }
            }
        }
    };
    (@made) => { Default::default() };
    (@made $made:expr) => { $made };
    (@register $registry:ident, $name:literal, $help:literal, $metric:expr) => {
        $registry.register($name, $help, $metric)
    };
    (@register $registry:ident, $name:literal, $help:literal, $metric:expr, $unit:expr) => {
        $registry.register_with_unit($name, $help, $unit, $metric)
    };
}

metrics! {
    minted: Family<NameLabel, Counter> = "minted", "IDs minted";
    minted_with_token: Family<TokenLabel, Counter> = "minted_with_token", "IDs minted with a token";
    waits: Family<NameLabel, Counter> = "mint_waits", "Calls that had to wait for their IDs";
    wait_seconds: Family<NameLabel, Seconds> = "mint_wait" in Seconds, "Time that calls waited for their IDs";
    requests: Family<RequestLabels, Counter> = "http_requests", "HTTP requests by route and status";
    request_seconds: Family<RouteLabel, Histogram> = "http_request_duration" in Seconds,
        "Time until the answer to an HTTP request began",
        // 0.1 ms to 3.3 s.
        Family::new_with_constructor(|| Histogram::new(exponential_buckets(0.0001, 2.0, 16)));
    ledger_calls: Family<LedgerCallLabels, Counter> = "offered_ledger_calls",
        "Calls of other processes that this server's ledger answered (floe://), by outcome";
    commands: Family<CommandLabels, Counter> = "commands",
        "Commands of all protocols except HTTP, by outcome: ok, or the error";
    command_seconds: Family<ProtocolLabel, Durations> = "pipeline_duration" in Seconds,
        "Time until all commands of a pipeline were answered";
    pub(crate) in_flight: Gauge = "http_requests_in_flight", "HTTP requests that wait for their answer to begin";
    pub(crate) connections: Gauge = "connections", "Open connections";
    pub(crate) accepted: Counter = "connections_accepted", "Connections that were accepted";
    pub(crate) turned_away: Counter = "connections_turned_away",
        "Connections refused at limits.connections or limits.connections_per_address";
    pub(crate) closed_for_others: Counter = "connections_closed_for_others",
        "Idle or stuck connections that were closed to make room for others";
    pub(crate) memory_held: Gauge = "memory_held" in Bytes,
        "Memory held for clients: connections, requests, and answers that were not read yet";
    pub(crate) names_created: Counter = "names_created", "Names that this server made";
    pub(crate) names_unloaded: Counter = "names_unloaded",
        "Names unloaded to make room for others; the next call loads them again";
    pub(crate) names_refused: Counter = "names_refused",
        "Calls refused because a new name would exceed limits.max_names, limits.new_names_per_hour or a token's max_names";
    names_limit: Gauge = "names_limit",
        "How many names fit in memory: limits.max_names plus the names that the configuration lists";
    pub(crate) unknown_protocols: Counter = "connections_unknown_protocol",
        "Connections closed because their first bytes match no served protocol";
}

/// How metrics are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Format {
    /// Prometheus' text format, version 0.0.4, which everything reads.
    Text,
    /// OpenMetrics 1.0.0.
    OpenMetrics,
}

/// The counters of one name.
pub(crate) struct NameMetrics {
    minted: Counter,
    /// Of this name only, even if it shares a label.
    own: Arc<AtomicU64>,
    waits: Counter,
    wait_seconds: Seconds,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, EncodeLabelSet)]
struct NameLabel {
    name: String,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, EncodeLabelSet)]
struct TokenLabel {
    token: String,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, EncodeLabelSet)]
struct RouteLabel {
    route: &'static str,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, EncodeLabelSet)]
struct RequestLabels {
    route: &'static str,
    status: u16,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, EncodeLabelSet)]
struct ProtocolLabel {
    protocol: &'static str,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, EncodeLabelSet)]
struct CommandLabels {
    protocol: &'static str,
    outcome: &'static str,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, EncodeLabelSet)]
struct LedgerCallLabels {
    call: &'static str,
    outcome: &'static str,
}

/// The counters of one protocol, for one connection.
pub(crate) struct ProtocolMetrics {
    protocol: &'static str,
    answered: Counter,
    commands: Family<CommandLabels, Counter>,
    seconds: Durations,
}

/// The counters of one route of HTTP, for one connection.
pub(crate) struct RouteMetrics {
    answered: Counter,
    seconds: Histogram,
}

/// The names that have been opened, with what each has minted, and whether it has a label of its own.
struct Names {
    limit: usize,
    known: RwLock<HashMap<Box<str>, Admitted>>,
}

/// Whether a name has a label of its own, and what it has minted.
type Admitted = (bool, Arc<AtomicU64>);

impl Metrics {
    /// Metrics in which up to `metric_names` names have a label of their own, with what single protocols count: names and
    /// help.
    pub(crate) fn new(
        metric_names: usize,
        of_protocols: impl IntoIterator<Item = (&'static str, &'static str)>,
    ) -> Self {
        let names = Arc::new(Names { limit: metric_names, known: RwLock::default() });
        let mut metrics = Self::registered(Arc::clone(&names));
        for (name, help) in of_protocols {
            let counter = Counter::default();
            metrics.registry.register(name, help, counter.clone());
            metrics.of_protocols.insert(name, counter);
        }
        let floe = Arc::clone(&metrics.floe);
        metrics.registry.register_collector(Box::new(FromStatus { floe, names }));
        metrics
    }

    /// Reads the library's status too from now on.
    pub(crate) fn observe(&self, floe: &Floe) {
        // A second call would have the same `Floe`, since a server has only one.
        let _ = self.floe.set(floe.clone());
    }

    /// Sets the most names in memory.
    pub(crate) fn limit_names(&self, most: usize) {
        self.names_limit.set(i64::try_from(most).unwrap_or(i64::MAX));
    }

    /// The counters of a name.
    pub(crate) fn name(&self, name: &str) -> NameMetrics {
        let (labelled, own) = self.names.admit(name);
        let label = NameLabel { name: if labelled { name } else { OTHER }.to_owned() };
        NameMetrics {
            minted: self.minted.get_or_create(&label).clone(),
            own,
            waits: self.waits.get_or_create(&label).clone(),
            wait_seconds: self.wait_seconds.get_or_create(&label).clone(),
        }
    }

    /// Forgets the count of an unloaded name, if it shares a label.
    pub(crate) fn forget(&self, name: &str) {
        let mut known = self.names.known.write().unwrap_or_else(PoisonError::into_inner);
        if known.get(name).is_some_and(|(labelled, _)| !labelled) {
            known.remove(name);
        }
    }

    /// The counter of the IDs that the bearer of a token gets.
    pub(crate) fn minted_with(&self, token: &str) -> Counter {
        self.minted_with_token.get_or_create(&TokenLabel { token: token.to_owned() }).clone()
    }

    /// The IDs minted under a name since this server started.
    pub(crate) fn minted_by(&self, name: &str) -> u64 {
        let known = self.names.known.read().unwrap_or_else(PoisonError::into_inner);
        known.get(name).map_or(0, |(_, minted)| minted.load(std::sync::atomic::Ordering::Relaxed))
    }

    /// Counts a request whose answer has begun.
    pub(crate) fn request(&self, route: &'static str, status: u16, took: Duration) {
        self.requests.get_or_create(&RequestLabels { route, status }).inc();
        self.request_seconds.get_or_create(&RouteLabel { route }).observe(took.as_secs_f64());
    }

    /// Counts a call of another process that the ledger answered.
    pub(crate) fn ledger_call(&self, call: &'static str, outcome: &'static str) {
        self.ledger_calls.get_or_create(&LedgerCallLabels { call, outcome }).inc();
    }

    /// The counters of a route, for requests that are answered with 200.
    pub(crate) fn route(&self, route: &'static str) -> RouteMetrics {
        RouteMetrics {
            answered: self.requests.get_or_create(&RequestLabels { route, status: 200 }).clone(),
            seconds: self.request_seconds.get_or_create(&RouteLabel { route }).clone(),
        }
    }

    /// Adds one to what a single protocol counts.
    pub(crate) fn count(&self, name: &'static str) {
        if let Some(counter) = self.of_protocols.get(name) {
            counter.inc();
        }
    }

    /// The counters of a protocol.
    pub(crate) fn protocol(&self, protocol: &'static str) -> ProtocolMetrics {
        let label = CommandLabels { protocol, outcome: "ok" };
        ProtocolMetrics {
            protocol,
            answered: self.commands.get_or_create(&label).clone(),
            commands: self.commands.clone(),
            seconds: self.command_seconds.get_or_create(&ProtocolLabel { protocol }).clone(),
        }
    }

    /// All of it.
    ///
    /// # Errors
    /// None in practice: writing to a text does not fail.
    pub(crate) fn encode(&self, format: Format) -> Result<String, fmt::Error> {
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &self.registry)?;
        match format {
            Format::OpenMetrics => Ok(text),
            Format::Text => prometheus::from_open_metrics(&text),
        }
    }
}

impl ProtocolMetrics {
    /// So many commands were done.
    pub(crate) fn answered(&self, count: u64) {
        self.answered.inc_by(count);
    }

    /// A command came to an error.
    pub(crate) fn refused(&self, status: crate::status::Status) {
        let label = CommandLabels { protocol: self.protocol, outcome: status.slug() };
        self.commands.get_or_create(&label).inc();
    }

    /// The commands that came together were answered.
    pub(crate) fn took(&self, time: Duration) {
        self.seconds.observe(time);
    }
}

impl RouteMetrics {
    /// A request was answered.
    pub(crate) fn answered(&self) {
        self.answered.inc();
    }

    /// How long one of them took.
    pub(crate) fn took(&self, time: Duration) {
        self.seconds.observe(time.as_secs_f64());
    }
}

impl NameMetrics {
    /// The IDs of this name alone.
    pub(crate) fn own(&self) -> u64 {
        self.own.load(std::sync::atomic::Ordering::Relaxed)
    }

    /// Counts IDs that were handed out.
    pub(crate) fn minted(&self, n: u64) {
        self.minted.inc_by(n);
        self.own.fetch_add(n, std::sync::atomic::Ordering::Relaxed);
    }

    /// Counts a call that waited.
    pub(crate) fn waited(&self, time: Duration) {
        self.waits.inc();
        self.wait_seconds.inc_by(time.as_secs_f64());
    }
}

/// One in a gauge, for as long as it lives.
pub(crate) struct Counted(Gauge);

impl Counted {
    pub(crate) fn new(gauge: &Gauge) -> Self {
        gauge.inc();
        Self(gauge.clone())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.dec();
    }
}

impl Names {
    fn admit(&self, name: &str) -> Admitted {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        let labelled = known.len() < self.limit;
        known.entry(name.into()).or_insert_with(|| (labelled, Arc::default())).clone()
    }

    fn labelled(&self, name: &str) -> bool {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.get(name).is_some_and(|(labelled, _)| *labelled)
    }
}

/// What is read from the library's status at each scrape.
struct FromStatus {
    floe: Arc<OnceLock<Floe>>,
    names: Arc<Names>,
}

impl fmt::Debug for FromStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FromStatus")
    }
}

impl Collector for FromStatus {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let Some(floe) = self.floe.get() else { return Ok(()) };
        let status = floe.status();
        clock(&mut encoder, &status.clock)?;
        slots(&mut encoder, &status)?;
        self.per_name(&mut encoder, &status)?;
        ledger(&mut encoder, &status)
    }
}

impl FromStatus {
    fn per_name(&self, encoder: &mut DescriptorEncoder<'_>, status: &Status) -> fmt::Result {
        type Value = fn(&floe::NameStatus, &Status) -> Option<Number>;
        let of_names: [(&str, &str, Value); 4] = [
            ("ahead_seconds", "How far minted ticks run ahead of the steady clock", |name, _| {
                (name.definition.kind() == Kind::SNOWFLAKE).then_some(Number::Seconds(millis(name.ahead_ms)))
            }),
            ("segment_left", "Reserved numbers that are not minted yet", |name, _| {
                let left = whole(name.left);
                (name.definition.kind() == Kind::SEGMENT).then_some(Number::Whole(left))
            }),
            ("horizon_seconds", "Time until the layout's time bits run out", |name, status| {
                let left = name.horizon?.since(status.clock.steady);
                Some(Number::Whole(left.div_euclid(1_000)))
            }),
            ("name_ready", "1 if the name can mint", |name, _| {
                Some(Number::Whole(i64::from(name.state == NameState::Ready)))
            }),
        ];
        for (metric, help, value) in of_names {
            let labelled = status.names.iter().filter(|name| self.names.labelled(name.name.as_str()));
            let values =
                labelled.filter_map(|name| Some(([("name", name.name.as_str())], value(name, status)?)));
            gauges(encoder, metric, help, values)?;
        }
        gauge(encoder, "names", "Names in memory", i64::try_from(status.names.len()).unwrap_or(i64::MAX))
    }
}

fn clock(encoder: &mut DescriptorEncoder<'_>, clock: &ClockStatus) -> fmt::Result {
    let help = "Steady clock minus wall clock";
    gauge(encoder, "steady_clock_offset_seconds", help, signed_seconds(clock.offset_ms()))?;
    let help = "How far the wall clock is behind after a rollback, both while the node keeps minting and while it refuses";
    gauge(encoder, "rollback_held_seconds", help, millis(behind_ms(clock)))?;
    let help = "1 while the clock is refused: names that need it mint nothing";
    gauge(encoder, "clock_refused", help, i64::from(clock.refused.is_some()))?;
    let help = "Wall clock minus the ledger's clock; no sample until the ledger's clock is known";
    let metric = encoder.encode_descriptor("ledger_clock_offset_seconds", help, None, MetricType::Gauge)?;
    match clock.ledger_offset_ms {
        Some(offset) => ConstGauge::new(signed_seconds(offset)).encode(metric),
        None => Ok(()),
    }
}

fn slots(encoder: &mut DescriptorEncoder<'_>, status: &Status) -> fmt::Result {
    let label = |slot: &SlotStatus| [("worker_bits", u64::from(slot.worker_bits))];
    let left = status.slots.iter().map(|slot| (label(slot), millis(slot.window_left_ms)));
    gauges(encoder, "window_left_seconds", "Time left in the reserved window, by worker bits", left)?;
    let workers = status.slots.iter().filter_map(|slot| Some((label(slot), whole(slot.worker?))));
    gauges(encoder, "worker_id", "The worker id that this node holds, by worker bits", workers)
}

/// The rollback that has not passed yet, even if it is larger than `max_hold`.
fn behind_ms(clock: &ClockStatus) -> u64 {
    match clock.state {
        ClockState::Refused(behind) => behind,
        _ => clock.held_ms(),
    }
}

fn ledger(encoder: &mut DescriptorEncoder<'_>, status: &Status) -> fmt::Result {
    let calls = &status.calls;
    let help = "Reservations asked of the ledger, by outcome: granted, refused, error";
    let mut outcomes = encoder.encode_descriptor("ledger_calls", help, None, MetricType::Counter)?;
    for (outcome, count) in [("granted", calls.granted), ("refused", calls.refused), ("error", calls.errors)]
    {
        ConstCounter::new(count).encode(outcomes.encode_family(&[("outcome", outcome)])?)?;
    }
    // The last bucket is open above.
    let bounds = LATENCY_BOUNDS_MICROS.into_iter().map(seconds).chain([f64::INFINITY]);
    let buckets: Vec<_> = bounds.zip(calls.latency).collect();
    let help = "Time that reservations took";
    encoder
        .encode_descriptor("ledger_call_duration", help, Some(&Unit::Seconds), MetricType::Histogram)?
        .encode_histogram::<[(&str, &str); 0]>(
            seconds(calls.latency_sum_micros),
            calls.latency.iter().sum(),
            &buckets,
            None,
        )
}

/// The value of a gauge.
enum Number {
    Whole(i64),
    Seconds(f64),
}

impl EncodeGaugeValue for Number {
    fn encode(&self, encoder: &mut GaugeValueEncoder<'_>) -> fmt::Result {
        match self {
            Self::Whole(number) => EncodeGaugeValue::encode(number, encoder),
            Self::Seconds(seconds) => EncodeGaugeValue::encode(seconds, encoder),
        }
    }
}

/// A gauge with a value for each label.
fn gauges<N: EncodeGaugeValue, V: EncodeLabelValue>(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    values: impl Iterator<Item = ([(&'static str, V); 1], N)>,
) -> fmt::Result {
    let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
    for (label, value) in values {
        ConstGauge::new(value).encode(family.encode_family(&label)?)?;
    }
    Ok(())
}

fn gauge<N: EncodeGaugeValue>(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    value: N,
) -> fmt::Result {
    ConstGauge::new(value).encode(encoder.encode_descriptor(name, help, None, MetricType::Gauge)?)
}

fn seconds(micros: u64) -> f64 {
    Duration::from_micros(micros).as_secs_f64()
}

/// Milliseconds in the unit that metrics have.
fn millis(millis: u64) -> f64 {
    Duration::from_millis(millis).as_secs_f64()
}

fn signed_seconds(signed_ms: i64) -> f64 {
    let seconds = millis(signed_ms.unsigned_abs());
    if signed_ms < 0 { -seconds } else { seconds }
}

/// A number as a gauge holds it. None of them comes near the end of the range.
fn whole(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use floe::UnixMillis;

    #[test]
    fn a_rollback_is_shown_also_where_it_is_refused() {
        let clock = |state| ClockStatus {
            steady: UnixMillis::new(5_000),
            wall: UnixMillis::new(1_000),
            state,
            refused: None,
            ledger_offset_ms: None,
            apart: None,
        };
        assert_eq!(behind_ms(&clock(ClockState::Level)), 0);
        assert_eq!(behind_ms(&clock(ClockState::Holding(40))), 40);
        assert_eq!(behind_ms(&clock(ClockState::Refused(7_200_000))), 7_200_000);
    }
}
