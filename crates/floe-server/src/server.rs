//! Starting, serving and stopping.

use std::io::{self, Write};
use std::net::Ipv4Addr;
use std::sync::Arc;
#[cfg(unix)]
use std::task::Poll;
use std::time::Duration;

use floe::ledger::Ledger as _;
use floe::{Floe, Kind, OpenError};
use floe_wire::Protocol;
use serde_json::{Map, Value};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use crate::awaited::{Awaited, Stage};
use crate::config::{
    Config, ConfigError, Endpoint, LogFormat, NameRule, NameSettings, NewNames, show_duration,
};
use crate::fronts::http::thread_date;
use crate::fronts::{Backend, FRONTS};
use crate::listener::{Listeners, Port};
use crate::log;
use crate::metrics::Metrics;
use crate::service::{self, Service};

/// What a server says once it listens.
#[derive(Clone, Debug)]
pub struct Started {
    /// Where it listens for every protocol but MySQL's, with the ports that were really taken.
    pub endpoints: Vec<Endpoint>,
    /// Where it listens for a single protocol, with its name.
    pub ports: Vec<(&'static str, Endpoint)>,
    /// The random id of the realm in this ledger; `None` while the ledger is waited for.
    pub realm_id: Option<String>,
    /// The ledger, in one line, without credentials.
    pub ledger: String,
    /// Whether names are made on first use.
    pub names_on_first_use: bool,
}

/// Why a server did not start, or stopped.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The configuration cannot be served.
    #[error("{0}")]
    Config(#[from] ConfigError),
    /// An address cannot be listened on.
    #[error("{0}")]
    Listen(String),
    /// The ledger cannot be opened.
    #[error("{0}")]
    Open(String),
    /// The ledger is no longer the one that it was: nothing may be minted from it.
    #[error("{0}")]
    Stopped(String),
    /// The operating system refused something else.
    #[error("{0}")]
    System(String),
}

/// Serves until `shutdown` is done, then drains and gives back; `ready` is called once everything listens. Needs a
/// tokio runtime with time and I/O, and blocking threads.
///
/// # Errors
/// [`ServeError`].
pub async fn run(
    config: Config,
    shutdown: impl Future<Output = ()> + Send,
    ready: impl FnOnce(&Started) + Send,
) -> Result<(), ServeError> {
    config.check()?;
    config.check_mints()?;
    let config = Arc::new(config);
    let metrics = Arc::new(Metrics::new(
        config.limits.metric_names,
        FRONTS.iter().flat_map(|front| front.counters.iter().copied()),
    ));
    // Before the ledger is opened: a second server, started by mistake, must not touch it.
    let listeners =
        Listeners::bind(&ports(&config), &config.limits, config.tls.as_ref(), Arc::clone(&metrics)).await;
    let listeners = listeners.map_err(ServeError::Listen)?;
    let endpoints = listeners.endpoints().map_err(|error| ServeError::Listen(error.to_string()))?;
    warn_of_tokens_in_the_clear(&config, &endpoints);
    if let Some(warning) = config.old_spelling() {
        tracing::warn!("{warning}");
    }
    let (mut any, mut ports) = (Vec::new(), Vec::new());
    for (endpoint, protocol) in endpoints {
        match protocol {
            None => any.push(endpoint),
            Some(protocol) => ports.push((protocol.name, endpoint)),
        }
    }
    let awaited = Awaited::begin(&config);
    let is_there = begun(&awaited, &config).await?;
    let (ledger, opened) = (awaited.clone(), Arc::clone(&config));
    let floe = blocking(move || open(ledger, &opened)).await??;
    if is_there {
        met(&floe, &config).await?;
    }
    metrics.observe(&floe);
    let status = floe.status();
    let service = Service::new(&config, floe.clone(), metrics, awaited.clone());
    let realm_id = Some(status.realm_id).filter(|id| !id.is_empty());
    let ledger = status.ledger;
    let started =
        Started { endpoints: any, ports, realm_id, ledger, names_on_first_use: service.names_on_first_use() };
    service.open_listed().await;
    let backend = Backend::new(&config, &service);
    ready(&started);

    let mut cause = None;
    let stop = async {
        tokio::select! {
            () = shutdown => tracing::info!("shutting down"),
            stopped = service.stopped() => {
                tracing::error!("the ledger may not be used any more, so this server stops: {stopped}");
                cause = Some(ServeError::Stopped(stopped));
            }
            error = later(&awaited, is_there, &floe, &config, &service) => {
                tracing::error!("this server stops: {error}");
                cause = Some(error);
            }
        }
        service.drain();
        if cause.is_none() {
            tokio::time::sleep(config.limits.drain_delay).await;
        }
    };
    listeners.serve(&backend, stop).await;
    let closing = Arc::clone(&service);
    blocking(move || closing.close()).await?;
    cause.map_or(Ok(()), Err)
}

/// How long a server that may wait for its ledger delays listening for it.
const PATIENCE: Duration = Duration::from_secs(1);

/// Waits for the first attempt to reach the ledger.
///
/// # Errors
/// `Open` if waiting cannot help, or the server must not wait.
async fn begun(awaited: &Awaited, config: &Config) -> Result<bool, ServeError> {
    let waits = config.wait_for_ledger != Some(Duration::ZERO);
    let stage = match waits {
        true => tokio::time::timeout(PATIENCE, awaited.tried()).await.unwrap_or(Stage::Asking),
        false => awaited.tried().await,
    };
    match stage {
        Stage::There => return Ok(true),
        Stage::Wrong(cause) => return Err(ServeError::Open(cause)),
        Stage::Away(cause) if !waits => return Err(ServeError::Open(cause)),
        Stage::Asking | Stage::Away(_) => {}
    }
    let cause = awaited.missing().unwrap_or_default();
    tracing::warn!("{cause}. This server waits for it (wait_for_ledger)");
    Ok(false)
}

/// Once the ledger is there: writes a log line and compares the clocks.
async fn met(floe: &Floe, config: &Arc<Config>) -> Result<(), ServeError> {
    let (checked, settings) = (floe.clone(), Arc::clone(config));
    blocking(move || {
        let status = checked.status();
        let (realm, id, ledger) = (&settings.realm, status.realm_id, status.ledger);
        tracing::info!("the ledger is {ledger}; its realm {realm} has the id {id}");
        check_clock(&checked, &settings, settings.is_shared())
    })
    .await?
}

/// Waits for the missing ledger, then binds the waiting names, for as long as the server runs. Returns only if the
/// server must end.
async fn later(
    awaited: &Awaited,
    is_there: bool,
    floe: &Floe,
    config: &Arc<Config>,
    service: &Arc<Service>,
) -> ServeError {
    if !is_there {
        let begun = Instant::now();
        let settled = match config.wait_for_ledger {
            None => Some(awaited.settled().await),
            Some(bound) => tokio::time::timeout(bound, awaited.settled()).await.ok(),
        };
        match settled {
            Some(Stage::There) => {}
            Some(Stage::Wrong(cause)) => return ServeError::Open(cause),
            _ => {
                let waited = config.wait_for_ledger.map(show_duration).unwrap_or_default();
                let cause = awaited.missing().unwrap_or_default();
                return ServeError::Open(format!("{cause} (waited for {waited}, wait_for_ledger)"));
            }
        }
        if let Err(error) = met(floe, config).await {
            return error;
        }
        service.open_listed().await;
        tracing::info!(
            "the ledger is there after {} ms, and every name is served",
            begun.elapsed().as_millis()
        );
    }
    tokio::join!(service.bind_late(), service.end_names()).0
}

/// Serves until the process is told to stop (SIGTERM, SIGINT): makes the runtime, sets up the log, and prints where
/// it listens. What `floe serve` calls.
///
/// # Errors
/// [`ServeError`].
pub fn serve(mut config: Config) -> Result<(), ServeError> {
    config.check()?;
    config.check_mints()?;
    log::start(&config.log);
    #[cfg(unix)]
    crate::files::allow(&mut config.limits);
    let system =
        |error: io::Error| ServeError::System(format!("the system refuses what a server needs: {error}"));
    let threads = config.worker_threads();
    let mut builder = match threads {
        // A single thread needs no scheduler for several.
        1 => tokio::runtime::Builder::new_current_thread(),
        _ => tokio::runtime::Builder::new_multi_thread(),
    };
    // Of one thread alone it is this one.
    thread_date::make();
    let runtime = builder
        .worker_threads(threads)
        .max_blocking_threads(service::BLOCKING_THREADS)
        .thread_name("floe-server")
        .on_thread_start(thread_date::make)
        .enable_all()
        .build()
        .map_err(system)?;
    let served = runtime.block_on(async {
        // Before anything is reserved, so that a signal always leads to a give-back.
        let mut signals = Signals::new().map_err(system)?;
        let ((stop, told), (stop_now, told_again)) = (oneshot::channel::<()>(), oneshot::channel::<()>());
        let (counted, counting) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            loop {
                signals.next().await;
                // Nobody counts any more after the second signal.
                if counted.send(()).is_err() {
                    return;
                }
            }
        });
        tokio::spawn(tell(counting, stop, stop_now));
        let told = async {
            let _ = told.await;
        };
        let shown = config.clone();
        let served = run(config, told, move |started| {
            say(&match shown.log.format {
                LogFormat::Text => greeting(&shown, started),
                LogFormat::Json => greeting_in_json(&shown, started),
            });
        });
        tokio::select! {
            served = served => served,
            _ = told_again => Err(ServeError::System(
                "stopped at once, because the server was told to stop twice: what was reserved and not minted stays unused".to_owned(),
            )),
        }
    });
    // A hanging ledger call must not keep the process alive.
    runtime.shutdown_timeout(Duration::from_secs(1));
    served
}

/// A second signal this soon after the first counts as the same one: `timeout` and shells send it to the process and
/// again to its group.
const SAME_SIGNAL: Duration = Duration::from_millis(500);

/// Tells `stop` of the first signal, and `stop_now` of the next one that is not the same.
async fn tell(
    mut signals: mpsc::UnboundedReceiver<()>,
    stop: oneshot::Sender<()>,
    stop_now: oneshot::Sender<()>,
) {
    if signals.recv().await.is_none() {
        return;
    }
    let first = Instant::now();
    // Nobody receives it if the server has ended meanwhile.
    let _ = stop.send(());
    while signals.recv().await.is_some() {
        if first.elapsed() >= SAME_SIGNAL {
            let _ = stop_now.send(());
            return;
        }
    }
}

/// Prints; a reader that has gone away is no reason to stop.
fn say(text: &str) {
    let mut out = io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// What is listened on.
fn ports(config: &Config) -> Vec<Port> {
    let asked = config.endpoints().map(|(protocol, endpoint)| Port {
        endpoint: endpoint.clone(),
        protocol,
        optional: false,
    });
    let needed = crate::protocols::PROTOCOLS
        .iter()
        .filter(|protocol| protocol.server_begins && !config.own_ports.contains_key(protocol.word));
    let by_default = needed.map(|protocol| Port {
        endpoint: Endpoint::Tcp((Ipv4Addr::LOCALHOST, protocol.port).into()),
        protocol: Some(protocol),
        optional: true,
    });
    asked.chain(by_default).collect()
}

/// Opens the library on the ledger, even if the ledger is not there yet.
pub(crate) fn open(ledger: Awaited, config: &Config) -> Result<Floe, ServeError> {
    let shared = ledger.is_shared();
    let mut builder = Floe::builder()
        .window(config.window_on(shared))
        .renew_idle(config.renews_idle_on(shared))
        .worker(config.worker.clone())
        .kinds(config.kinds.clone())
        .max_wait(config.limits.max_wait)
        .max_hold(config.clock.max_hold)
        .rollback_wait(config.clock.wait);
    if let Some(instance) = &config.instance {
        builder = builder.instance(instance.clone());
    }
    if !config.clock.check_ledger {
        builder = builder.ignore_ledger_clock();
    }
    builder.await_ledger().open(ledger).map_err(|error| ServeError::Open(error.to_string()))
}

/// Compares this machine's clock with the ledger's, where names mint by it.
///
/// # Errors
/// `Open` if they do not agree.
fn check_clock(floe: &Floe, config: &Config, shared: bool) -> Result<(), ServeError> {
    let by_clock = |name: &NameSettings| name.definition.kind() == Kind::SNOWFLAKE;
    if !config.names.iter().any(by_clock) {
        return Ok(());
    }
    if !config.clock.check_ledger {
        tracing::warn!("the ledger's clock is ignored (clock.ledger = \"ignore\")");
        return Ok(());
    }
    judge_clock(floe.check_clock(), shared)
}

fn judge_clock(checked: Result<Option<i64>, OpenError>, shared: bool) -> Result<(), ServeError> {
    match checked {
        Ok(Some(offset)) => {
            tracing::info!("this machine's clock minus the ledger's: {offset} ms");
        }
        // The embedded ledger is on this machine, so there is no other clock.
        Ok(None) if !shared => {}
        Ok(None) => tracing::info!(
            "the ledger shows no clock (it has none, or is out of reach behind a cache), so this machine's clock cannot be checked"
        ),
        Err(error @ OpenError::Clock(_)) => return Err(ServeError::Open(error.to_string())),
        // The node asks again before it reserves anything.
        Err(error) => tracing::warn!("the ledger's clock is not known yet: {error}"),
    }
    Ok(())
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, ServeError> {
    let task = tokio::task::spawn_blocking(work);
    task.await.map_err(|error| ServeError::System(format!("a thread of the server failed: {error}")))
}

/// What a server prints when it has started: where it listens, what it mints from, and an example.
fn greeting(config: &Config, started: &Started) -> String {
    let mut lines = vec![format!("floe {}", env!("CARGO_PKG_VERSION"))];
    let scheme = if config.tls.is_some() { "https" } else { "http" };
    for endpoint in &started.endpoints {
        lines.push(match endpoint {
            Endpoint::Tcp(address) => format!("  listening on {scheme}://{address}"),
            Endpoint::Unix(_) => format!("  listening on {endpoint}"),
        });
    }
    for (protocol, endpoint) in &started.ports {
        lines.push(format!("  listening for {protocol} on {endpoint}"));
    }
    let mut endpoints = started.endpoints.iter().chain(started.ports.iter().map(|(_, endpoint)| endpoint));
    if config.tokens.is_empty() && endpoints.any(Endpoint::is_exposed) {
        lines.push("  INSECURE     reachable from other machines, and every client may mint".to_owned());
    }
    match &started.realm_id {
        Some(id) => {
            lines.push(format!("  realm        {} ({id})", config.realm));
            lines.push(format!("  ledger       {}", started.ledger));
        }
        None => {
            lines.push(format!("  realm        {}", config.realm));
            lines.push(format!(
                "  ledger       {}, which does not answer yet; this server waits for it",
                started.ledger
            ));
        }
    }
    if config.ledger.is_none() {
        lines.push(
            "               embedded: for the processes of this machine. Two replicas that each have one are"
                .to_owned(),
        );
        lines.push(
            "               two realms and may mint the same IDs, unless their workers are kept apart on"
                .to_owned(),
        );
        lines.push("               purpose (worker = \"0..511\" here, \"512..1023\" there).".to_owned());
    }
    match config.tokens.len() {
        0 => {}
        1 => lines.push("  tokens       1, and every client must show it".to_owned()),
        count => lines.push(format!("  tokens       {count}, and every client must show one")),
    }
    lines.push(match &config.file {
        Some(file) => format!("  names        {} in {}", config.names.len(), file.display()),
        None if started.names_on_first_use => "  names        are made on first use".to_owned(),
        None => format!("  names        {}", config.names.len()),
    });
    // A name without its first number is not proposed, if there is another.
    let can_begin = |name: &&NameSettings| {
        config.on_new_names() == NewNames::FromOne
            || name.first.is_some()
            || name.definition.position_of(0).is_none()
    };
    let proposed = config.names.iter().find(can_begin).or(config.names.first());
    let name = match proposed.map(|name| &name.rule) {
        Some(NameRule::Exact(name)) => Some(name.to_string()),
        Some(NameRule::Pattern(prefix)) => Some(format!("{prefix}1")),
        None => started.names_on_first_use.then(|| "orders".to_owned()),
    };
    let http = started.ports.iter().filter(|(protocol, _)| *protocol == floe_wire::http::PROTOCOL.name);
    let mut http = started.endpoints.iter().chain(http.map(|(_, endpoint)| endpoint));
    if let (Some(endpoint), Some(name)) = (http.next(), name) {
        let (socket, reachable) = match endpoint {
            Endpoint::Tcp(address) if address.ip().is_unspecified() => {
                (String::new(), format!("{}:{}", Ipv4Addr::LOCALHOST, address.port()))
            }
            Endpoint::Tcp(address) => (String::new(), address.to_string()),
            Endpoint::Unix(path) => (format!("--unix-socket {} ", path.display()), "localhost".to_owned()),
        };
        let token = if config.tokens.is_empty() { "" } else { "-H 'Authorization: Bearer TOKEN' " };
        lines.push(format!("  try          curl {socket}{token}{scheme}://{reachable}/v1/mint/{name}"));
    }
    lines.push(String::new());
    lines.join("\n")
}

/// The same as a line of the log.
fn greeting_in_json(config: &Config, started: &Started) -> String {
    let mut fields = Map::new();
    let mut add = |key: &str, value: Value| fields.insert(key.to_owned(), value);
    add("version", env!("CARGO_PKG_VERSION").into());
    let scheme = if config.tls.is_some() { "https" } else { "http" };
    let shown = started.endpoints.iter().map(|endpoint| match endpoint {
        Endpoint::Tcp(address) => format!("{scheme}://{address}"),
        Endpoint::Unix(_) => endpoint.to_string(),
    });
    add("listen", shown.collect());
    let ports = started
        .ports
        .iter()
        .map(|(protocol, endpoint)| ((*protocol).to_owned(), endpoint.to_string().into()));
    add("ports", Value::Object(ports.collect()));
    add("tls", config.tls.is_some().into());
    add("tokens", config.tokens.len().into());
    add("realm", config.realm.as_str().into());
    add("realm_id", started.realm_id.clone().into());
    add("ledger", started.ledger.as_str().into());
    add("names", config.names.len().into());
    add("names_on_first_use", started.names_on_first_use.into());
    log::json_line("INFO", "listening", fields)
}

/// Warns if secrets cross a network in plaintext.
fn warn_of_tokens_in_the_clear(config: &Config, endpoints: &[(Endpoint, Option<&'static Protocol>)]) {
    let plain = config.tls.as_ref().is_none_or(|tls| tls.plain);
    let exposed: Vec<_> = endpoints
        .iter()
        .filter(|(endpoint, _)| endpoint.is_exposed())
        .map(|(endpoint, _)| endpoint.to_string())
        .collect();
    if plain && !config.tokens.is_empty() && !exposed.is_empty() {
        let way_out = match config.tls {
            None => "set tls, or listen on loopback behind a proxy that terminates TLS",
            Some(_) => "leave tls.plain out",
        };
        tracing::warn!(
            "tokens reach {} from other machines without TLS, and anyone who sees the traffic can use them: {way_out}",
            exposed.join(", ")
        );
    }
}

/// SIGTERM, SIGINT, SIGQUIT, and SIGHUP, which a terminal that is closed sends; where there are no signals, Ctrl-C.
struct Signals {
    #[cfg(unix)]
    signals: [tokio::signal::unix::Signal; 4],
}

impl Signals {
    #[cfg(unix)]
    fn new() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        let signals = [
            signal(SignalKind::terminate())?,
            signal(SignalKind::interrupt())?,
            signal(SignalKind::quit())?,
            signal(SignalKind::hangup())?,
        ];
        Ok(Self { signals })
    }

    #[cfg(unix)]
    async fn next(&mut self) {
        std::future::poll_fn(|context| {
            let come = |signal: &mut tokio::signal::unix::Signal| signal.poll_recv(context).is_ready();
            if self.signals.iter_mut().any(come) { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }

    #[cfg(not(unix))]
    fn new() -> io::Result<Self> {
        Ok(Self {})
    }

    #[cfg(not(unix))]
    async fn next(&mut self) {
        if let Err(error) = tokio::signal::ctrl_c().await {
            tracing::error!("Ctrl-C cannot be waited for: {error}");
            std::future::pending::<()>().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn greeted(config: &Config) -> String {
        let started = Started {
            endpoints: config.listen.clone(),
            ports: vec![("MySQL", Endpoint::Tcp(([127, 0, 0, 1], 7606).into()))],
            realm_id: Some("r".to_owned()),
            ledger: "memory:".to_owned(),
            names_on_first_use: config.names_on_first_use(),
        };
        greeting(config, &started)
    }

    #[test]
    fn the_banner_proposes_only_what_can_be_minted() {
        let of = |names: &str| Config::parse(&format!("realm = 'r'\n{names}"), "floe.toml".as_ref()).unwrap();
        assert!(greeted(&Config::standalone()).contains("/v1/mint/orders\n"));
        let asks = "new_names = 'ask for first'\n[[name]]\nname = 'a'\nkind = 'counter'\n[[name]]\nname = 'b'\nkind = 'counter'\nfirst = 1\n";
        assert!(greeted(&of(asks)).contains("/v1/mint/b\n"));
        assert!(greeted(&of("[[name]]\nname = 'a'\nkind = 'counter'")).contains("/v1/mint/a\n"));
        assert!(greeted(&of("[[name]]\nname = 'u-*'\nkind = 'counter'")).contains("/v1/mint/u-1\n"));
    }

    #[test]
    fn only_clocks_that_disagree_keep_a_server_from_starting() {
        for fine in [
            Ok(None),
            Ok(Some(-9_000)),
            Err(OpenError::Ledger(floe::LedgerError::Unavailable("gone".to_owned()))),
        ] {
            judge_clock(fine, true).unwrap();
        }
        let apart = judge_clock(Err(OpenError::Clock("an hour ahead".to_owned())), true).unwrap_err();
        assert!(matches!(&apart, ServeError::Open(text) if text == "an hour ahead"), "{apart}");
    }

    #[tokio::test]
    async fn a_signal_that_comes_twice_at_once_is_one() {
        let ((stop, told), (stop_now, mut told_again)) = (oneshot::channel(), oneshot::channel());
        let (signal, signals) = mpsc::unbounded_channel();
        let since = Instant::now();
        signal.send(()).unwrap();
        signal.send(()).unwrap();
        tokio::spawn(tell(signals, stop, stop_now));
        told.await.unwrap();
        // Whoever goes on telling it is heard, and not before.
        while told_again.try_recv().is_err() {
            assert!(since.elapsed() < Duration::from_secs(20), "a later signal counts");
            let _ = signal.send(());
            tokio::task::yield_now().await;
        }
        assert!(since.elapsed() >= SAME_SIGNAL, "{:?}", since.elapsed());
    }
}
