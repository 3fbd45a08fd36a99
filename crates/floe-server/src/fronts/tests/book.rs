//! The parts of docs/ that are tables of the code. Each stands between two comments of its page, and a test compares it with
//! the code, so that neither changes without the other. `GENERATED=overwrite` writes the parts again.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::Request;
use floe::ledger::Memory;
use floe::{Definition, Floe, Layout};
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tower::ServiceExt;

use super::super::http::{explanations, leaf, tinyid};
use super::super::{Backend, FRONTS, grpc, katsubushi, mysql, resp, thrift};
use crate::access::{Origin, strangers};
use crate::awaited::{self, Awaited};
use crate::clients::{Address, Clients};
use crate::config::{Config, show_duration};
use crate::metrics::{Format, Metrics};
use crate::protocols::PROTOCOLS;
use crate::service::Service;
use crate::service::call::{Call, NATIVE};
use crate::service::{endings, inspect, offered};
use crate::status::Status;

/// The group of servers in the comparison that `scripts/bench --servers` writes.
const SERVERS: &str = "Servers";

/// The protocol that only tests build.
const OF_TESTS: &str = "lines";

fn metrics() -> Metrics {
    let fronts = FRONTS.iter().filter(|front| front.protocol.word != OF_TESTS);
    Metrics::new(10, fronts.flat_map(|front| front.counters.iter().copied()))
}

/// Every metric of a server that has done something of each sort, since a metric without samples is not written.
fn metrics_table() -> String {
    let (metrics, floe) = (metrics(), Floe::open(Memory::default()).unwrap());
    floe.snowflake("orders", Layout::TWITTER).unwrap().mint().unwrap();
    floe.segment("tickets").unwrap().mint().unwrap();
    metrics.observe(&floe);
    for name in ["orders", "tickets"] {
        metrics.name(name).minted(1);
    }
    metrics.minted_with("shop").inc();
    metrics.request("/v1/mint/{name}", 200, std::time::Duration::ZERO);
    metrics.protocol("resp").took(std::time::Duration::ZERO);
    metrics.ledger_call("reserve", "ok");
    let text = metrics.encode(Format::Text).unwrap();

    let mut rows: Vec<(&str, &str, &str, Vec<&str>)> = Vec::new();
    for line in text.lines() {
        if let Some((name, help)) = line.strip_prefix("# HELP ").and_then(|rest| rest.split_once(' ')) {
            rows.push((name, "", help.trim_end_matches('.'), Vec::new()));
        } else if let Some((_, sort)) = line.strip_prefix("# TYPE ").and_then(|rest| rest.split_once(' ')) {
            rows.last_mut().unwrap().1 = sort;
        } else if let Some((_, labels)) = line.rsplit_once('}').and_then(|(front, _)| front.split_once('{')) {
            let known = &mut rows.last_mut().unwrap().3;
            let labels =
                labels.split(',').filter_map(|label| label.split_once("=\"")).map(|(label, _)| label);
            for label in labels.filter(|label| *label != "le") {
                if !known.contains(&label) {
                    known.push(label);
                }
            }
        }
    }
    rows.sort_unstable();
    let mut table = "| metric | type | labels | what it shows |\n|---|---|---|---|\n".to_owned();
    for (name, sort, help, labels) in rows {
        let labels: Vec<_> = labels.into_iter().map(|label| format!("`{label}`")).collect();
        writeln!(table, "| `{name}` | {sort} | {} | {help} |", labels.join(", ")).unwrap();
    }
    table
}

/// What `floe config --defaults` prints.
fn settings() -> String {
    let text = Config::defaults_text();
    let lines = text.lines().filter(|line| !line.starts_with(&format!("# {OF_TESTS} = ")));
    format!("```toml\n{}\n```\n", lines.collect::<Vec<_>>().join("\n"))
}

/// Every protocol, in the order in which a connection is asked about.
fn protocols() -> String {
    let listen = Config::standalone().listen;
    let listen: Vec<_> = listen.iter().map(|endpoint| format!("`{endpoint}`")).collect();
    let mut table = "| protocol | setting and metrics' label | listens by default on | example of a port of its own |\n|---|---|---|---|\n".to_owned();
    for protocol in PROTOCOLS.iter().filter(|protocol| protocol.word != OF_TESTS) {
        let (name, word, port) = (protocol.name, protocol.word, protocol.port);
        let default = match protocol.server_begins {
            true => format!("`127.0.0.1:{port}`"),
            false => listen.join(", "),
        };
        writeln!(table, "| {name} | `{word}` | {default} | {port} |").unwrap();
    }
    table
}

/// Which names answer a call, and what it makes of a new one.
fn calls() -> String {
    let of = |text: &str| text.parse::<Definition>().unwrap();
    let definitions = [
        leaf::SNOWFLAKE.natural.clone(),
        Definition::SEGMENT,
        Definition::Counter,
        of("dated zone=UTC digits=6 overflow=refuse prefix="),
        of("ulid"),
    ];
    let calls: [(&str, &Call); 11] = [
        ("`/v1/mint/{name}`, gRPC's `floe.v1.Ids`, `MINT` of Redis' protocol", &NATIVE),
        ("Leaf's `/api/snowflake/get/{key}`", &leaf::SNOWFLAKE),
        ("Leaf's `/api/segment/get/{key}`", &leaf::SEGMENT),
        ("tinyid's calls", &tinyid::CALL),
        ("katsubushi's `/id`, `/ids` and gRPC calls, memcached's `get`", &katsubushi::CALL),
        ("Redis' `INCR`", &resp::INCR),
        ("Redis' `INCRBY` by more than 1", &resp::INCRBY),
        ("Redis' `SET` of a first number", &resp::SET_FIRST),
        ("Thrift's `get_id`", &thrift::MINT),
        ("MySQL: one row", &mysql::ROW),
        ("MySQL: several rows at once", &mysql::ROWS),
    ];
    let mut table = "| call | a new name becomes | snowflake | segment | counter | dated | texts |\n|---|---|---|---|---|---|---|\n".to_owned();
    for (name, call) in calls {
        let answers = definitions.iter().map(|definition| match call.admits("orders", definition) {
            Ok(()) => "yes",
            Err(_) => "",
        });
        let answers = answers.collect::<Vec<_>>().join(" | ");
        let natural = match &call.natural {
            Definition::Snowflake { layout, .. } => {
                let preset = floe::layout::PRESETS.iter().find(|preset| preset.layout == *layout).unwrap();
                format!("snowflake of `{}`", preset.name)
            }
            natural => natural.kind().to_string(),
        };
        writeln!(table, "| {name} | {natural} | {answers} |").unwrap();
    }
    table
}

/// The one table of errors, a column for each wire.
fn errors() -> String {
    let mut table = "| error | HTTP | gRPC | Redis | memcached | memcached, binary | MySQL |\n|---|---|---|---|---|---|---|\n".to_owned();
    for status in Status::ALL {
        let (number, state) = status.mysql();
        let memcached = if status.is_memcached_client_error() { "CLIENT_ERROR" } else { "SERVER_ERROR" };
        writeln!(
            table,
            "| `{}` | {} | {:?} | `{}` | `{memcached}` | {:?} | {number}, {} |",
            status.slug(),
            status.http(),
            status.grpc(),
            status.resp(),
            status.memcached_binary(),
            String::from_utf8_lossy(state),
        )
        .unwrap();
    }
    table
}

/// What HTTP calls a problem.
fn problems() -> String {
    let mut table = "| status | `/problems/…` | what it means |\n|---|---|---|\n".to_owned();
    for row in explanations() {
        writeln!(table, "| {} | `{}` | {} |", row.status, row.slug, row.meaning).unwrap();
    }
    table
}

/// Every route, from the description that the server itself hands out.
async fn routes() -> String {
    let directory = tempfile::tempdir().unwrap();
    let text = format!("realm = 'r'\ndata_dir = '{}'\n", directory.path().display());
    let config = Arc::new(Config::parse(&text, "floe.toml".as_ref()).unwrap());
    let awaited = Awaited::begin(&config);
    awaited.tried().await;
    let service = Service::new(&config, Floe::open(Memory::default()).unwrap(), Arc::new(metrics()), awaited);
    let backend = Backend::new(&config, &service);
    let request = Request::builder().uri("/openapi.json").header("host", "localhost");
    let mut request = request.body(Body::empty()).unwrap();
    let origin = Origin { protocol: "a test", peer: None, local: true, exposed: false };
    request.extensions_mut().insert(backend.service.access().unknown().from(origin));
    let clients = Clients::new(&config.limits, 1, Arc::new(metrics()));
    let place = clients.admit(Address::of(None)).unwrap();
    request.extensions_mut().insert(Arc::clone(place.client()));
    let answer = backend.router().oneshot(request).await.unwrap();
    let answer = answer.into_body().collect().await.unwrap().to_bytes();
    let api: Value =
        serde_json::from_slice(&answer).unwrap_or_else(|error| panic!("{error}: {}", answer.escape_ascii()));

    let mut rows: Vec<(String, String, BTreeSet<&str>)> = Vec::new();
    for (path, methods) in api["paths"].as_object().unwrap() {
        let methods = methods.as_object().unwrap();
        let names: Vec<_> = methods.keys().map(|method| method.to_uppercase()).collect();
        let names = if names.len() == 5 { "any".to_owned() } else { names.join(", ") };
        // The methods of a path do the same.
        let operation = methods.values().next().unwrap();
        let parameters = operation["parameters"].as_array().into_iter().flatten();
        let query = parameters.filter(|parameter| parameter["in"] == "query");
        let query: Vec<_> =
            query.map(|parameter| format!("`{}`", parameter["name"].as_str().unwrap())).collect();
        let summary = operation["summary"].as_str().unwrap();
        let answers = operation["responses"].as_object().unwrap().keys().map(String::as_str).collect();
        rows.push((format!("{names} | `{path}`"), format!("{} | {summary}", query.join(", ")), answers));
    }
    let common =
        rows.iter().map(|(_, _, answers)| answers.clone()).reduce(|some, more| &some & &more).unwrap();
    let listed = |answers: &BTreeSet<&str>| answers.iter().copied().collect::<Vec<_>>().join(", ");
    let mut table = format!(
        "Each route may answer {}. The last column has what else it may answer.\n\n\
         | method | path | query | what it does | also |\n|---|---|---|---|---|\n",
        listed(&common)
    );
    for (route, about, answers) in &rows {
        writeln!(table, "| {route} | {about} | {} |", listed(&(answers - &common))).unwrap();
    }
    table
}

/// Every preset of a layout, which ends with the last time that it can write.
fn presets() -> String {
    let mut table = "| preset | fields, tick and epoch | lasts to |\n|---|---|---|\n".to_owned();
    for preset in floe::layout::PRESETS {
        let ends = preset.layout.horizon().to_string();
        let day = ends.split_once('T').map_or("after the year 9999", |(day, _)| day);
        writeln!(table, "| `{}` | `{}` | {day} |", preset.name, preset.layout).unwrap();
    }
    table
}

/// The run of `scripts/bench` that docs/benchmarks.json holds.
fn run() -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/benchmarks.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// The rows of servers that are compared. `{}` stands for the depth of the pipelines. The loop in C is the least that a
/// server can do.
const BESIDE: [(&str, &str); 13] = [
    ("INCR, 50 connections, -P {}: floe, segment", "INCR, 50 connections, -P {}: Redis"),
    ("INCR, 50 connections, -P {}: floe, snowflake", "INCR, 50 connections, -P {}: Redis"),
    ("INCR, 50 connections, -P {}: the loop in C, a constant", "INCR, 50 connections, -P {}: Redis"),
    ("INCR, 50 connections, -P {}: floe, counter", "INCR, 50 connections, -P {}: Redis, appendfsync always"),
    (
        "INCR, 50 connections, -P {}: the loop in C, a constant",
        "INCR, 50 connections, -P {}: Redis, appendfsync always",
    ),
    ("16 connections, 1 at a time: floe, get of a segment", "16 connections, 1 at a time: memcached, incr"),
    ("16 connections, 16 at a time: floe, get of a segment", "16 connections, 16 at a time: memcached, incr"),
    ("GET by wrk, 50 connections: floe, snowflake", "GET by wrk, 50 connections: nginx, a constant"),
    (
        "GET by wrk, 50 connections: the loop in C, a constant",
        "GET by wrk, 50 connections: nginx, a constant",
    ),
    (
        "16 clients, a ticket by one query: floe, segment",
        "16 clients, a ticket by one query: MariaDB, MyISAM",
    ),
    (
        "16 clients, a ticket by two queries: floe, segment",
        "16 clients, a ticket by two queries: MariaDB, MyISAM",
    ),
    (
        "floe counter on PostgreSQL, 64 clients on two threads",
        "PostgreSQL, select nextval, 16 connections of pgbench",
    ),
    ("floe counter on PostgreSQL, 64 clients on two threads", "the same, prepared"),
];

/// The ratios of a run: how many times as many requests one answers, and its processor time for each.
fn ratios(run: &Value) -> String {
    let rows = run["rows"].as_array().unwrap();
    let figures = |name: &str| {
        let row = rows.iter().find(|row| row["row"] == name).unwrap_or_else(|| panic!("no row {name}"));
        (row["nanos"].as_f64().unwrap(), row["server_nanos"].as_f64())
    };
    let mut table =
        "| one / another | requests a second | the server's processor |\n|---|---|---|\n".to_owned();
    for (one, another) in BESIDE {
        let depths: &[&str] = if one.contains("{}") { &["1", "16", "128"] } else { &[""] };
        for depth in depths {
            let [one, another] = [one, another].map(|name| name.replace("{}", depth));
            let ((nanos, work), (beside, beside_work)) = (figures(&one), figures(&another));
            let work = work.zip(beside_work).map(|(work, beside)| figure(work / beside));
            let another = another.rsplit(": ").next().unwrap();
            writeln!(
                table,
                "| {one} / {another} | {} | {} |",
                figure(beside / nanos),
                work.unwrap_or_default()
            )
            .unwrap();
        }
    }
    table
}

/// The rows of a comparison on one and on two threads, and its rows of servers if it has any.
fn compared(run: &Value) -> String {
    let said = |fact: &str| run["machine"][fact].as_str().unwrap_or_else(|| panic!("no {fact}"));
    let mut text = format!(
        "Measured on {}, {} cores, Linux {}, {}, with a load of {} before; medians of {} rounds (servers: three or five).\n",
        said("cpu"),
        run["machine"]["cores"],
        said("kernel"),
        said("rustc").split(" (").next().unwrap(),
        said("load"),
        run["rounds"],
    );
    let rows = run["rows"].as_array().unwrap();
    let mut groups: Vec<&Value> = rows.iter().map(|row| &row["group"]).collect();
    groups.dedup();
    for group in groups {
        if group == SERVERS {
            text += "\n| Servers | requests a second | of a send and recv | the server's processor, ns |\n|---|---|---|---|\n";
            for row in rows.iter().filter(|row| row["group"] == *group) {
                let rate = row["nanos"].as_f64().map(|nanos| figure(1e9 / nanos));
                let others = ["to_round_trip", "server_nanos"].map(|column| row[column].as_f64().map(figure));
                let cells: Vec<_> = [rate].into_iter().chain(others).map(Option::unwrap_or_default).collect();
                writeln!(text, "| {} | {} |", row["row"].as_str().unwrap(), cells.join(" | ")).unwrap();
            }
            continue;
        }
        write!(
            text,
            "\n| {} | 1 thread, ns | of an atomic add | 2 threads, ns | of an atomic add |\n|---|---|---|---|---|\n",
            group.as_str().unwrap()
        )
        .unwrap();
        let mut names: Vec<&Value> =
            rows.iter().filter(|row| row["group"] == *group).map(|row| &row["row"]).collect();
        names.dedup();
        for name in names {
            let cells = [1, 2].map(|threads| {
                let row = rows.iter().find(|row| row["row"] == *name && row["threads"] == threads);
                ["nanos", "to_atomic_add"].map(|column| row.and_then(|row| row[column].as_f64()).map(figure))
            });
            let cells: Vec<_> = cells.into_iter().flatten().map(Option::unwrap_or_default).collect();
            writeln!(text, "| {} | {} |", name.as_str().unwrap(), cells.join(" | ")).unwrap();
        }
    }
    text
}

#[test]
fn rows_of_servers_are_shown_with_their_ratio_to_a_round_trip() {
    let row = |name: &str, nanos: f64, server: Option<f64>| {
        let (threads, group) = (0, SERVERS);
        json!({ "group": group, "row": name, "threads": threads, "nanos": nanos, "to_round_trip": nanos / 7_000.0,
            "server_nanos": server, "to_atomic_add": 1_000.0 })
    };
    let text = compared(&json!({
        "machine": { "cpu": "x", "cores": 2, "kernel": "6", "rustc": "rustc 1", "load": "0" },
        "rounds": 7,
        "rows": [row("INCR: Redis", 8_000.0, Some(4_567.8)), row("GET: nginx", 5_600.0, None)],
    }));
    let (_, table) = text.split_once("| Servers | ").unwrap();
    assert!(table.contains("\n| INCR: Redis | 125,000 | 1.14 | 4,568 |\n"), "{text}");
    assert!(table.contains("\n| GET: nginx | 178,571 | 0.80 |  |\n"), "{text}");
}

/// Three digits, or all of a larger number.
fn figure(value: f64) -> String {
    match value {
        0.0..9.995 => format!("{value:.2}"),
        9.995..99.95 => format!("{value:.1}"),
        _ => grouped(format!("{value:.0}").parse().unwrap()),
    }
}

/// A page with the text of its part, and what stood there.
fn with_part<'p>(page: &'p str, name: &str, part: &str) -> Option<(String, &'p str)> {
    let (before, rest) = page.split_once(&format!("<!-- generated: {name}"))?;
    let (note, rest) = rest.split_once("-->\n")?;
    let (found, after) = rest.split_once("<!-- end -->")?;
    Some((format!("{before}<!-- generated: {name}{note}-->\n{part}<!-- end -->{after}"), found))
}

#[tokio::test(flavor = "multi_thread")]
async fn the_tables_of_the_book_are_those_of_the_code() {
    let overwrite = std::env::var_os("GENERATED").is_some_and(|value| value == "overwrite");
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let (mut wrong, run) = (String::new(), run());
    for (page, name, part) in [
        ("configuration.md", "presets", presets()),
        ("metrics.md", "metrics", metrics_table()),
        ("settings.md", "settings", settings()),
        ("wires.md", "protocols", protocols()),
        ("wires.md", "calls", calls()),
        ("wires.md", "errors", errors()),
        ("http.md", "problems", problems()),
        ("http.md", "routes", routes().await),
        ("benchmarks.md", "measured", compared(&run)),
        ("benchmarks.md", "ratios", ratios(&run)),
    ] {
        let path = docs.join(page);
        let text = std::fs::read_to_string(&path).unwrap();
        let (new, found) =
            with_part(&text, name, &part).unwrap_or_else(|| panic!("docs/{page} has no part `{name}`"));
        if overwrite {
            std::fs::write(path, new).unwrap();
        } else if found != part {
            let lines = part.lines().filter(|line| !found.lines().any(|known| known == *line));
            wrong.extend(lines.map(|line| format!("docs/{page}, {name}: {line}\n")));
            let lines = found.lines().filter(|line| !part.lines().any(|known| known == *line));
            wrong.extend(lines.map(|line| format!("docs/{page}, {name}, no more: {line}\n")));
        }
    }
    assert!(
        wrong.is_empty(),
        "{wrong}the pages are not what the code says: run\n    GENERATED=overwrite cargo test -p floe-server --lib book\nand read the change"
    );
}

/// A page of the repository, each run of white space as one space.
fn page(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name);
    std::fs::read_to_string(path).unwrap().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Fails with every sentence that its page does not have.
fn pages_say(said: &[(&str, String)]) {
    let missing = said.iter().filter(|(name, sentence)| !page(name).contains(sentence.as_str()));
    let missing: Vec<_> =
        missing.map(|(name, sentence)| format!("{name} does not say: {sentence}")).collect();
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

/// 100,000.
fn grouped(number: u64) -> String {
    match number {
        0..1_000 => number.to_string(),
        _ => format!("{},{:03}", grouped(number / 1_000), number % 1_000),
    }
}

/// Sentences with a limit or a default of the server.
#[test]
fn the_numbers_of_the_book_are_those_of_the_code() {
    let config = Config::standalone();
    let listen = config.listen.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let spaced = |duration| {
        let text = show_duration(duration);
        let unit = text.trim_start_matches(|c: char| c.is_ascii_digit());
        format!("{} {unit}", &text[..text.len() - unit.len()])
    };
    let (hold, cached) = (spaced(config.clock.max_hold), spaced(config.cache_window));
    assert_eq!(hold, "1 h", "two pages say: an hour, one hour");
    let clock_wait = config.clock.wait.as_millis();
    let limits = &config.limits;
    let memory = limits.memory >> 20;
    let mysql = floe_wire::mysql::PROTOCOL.port;
    let [batch, names, new_names, texts] =
        [limits.max_batch, limits.max_names as u64, limits.new_names_per_hour.into(), grpc::ids::CHUNK]
            .map(grouped);
    let (after, around) = (endings::DAYS_AFTER, endings::DAYS_AROUND);
    assert_eq!(around, 2, "a page says: two days");
    assert_eq!(crate::clients::IDLE.as_secs(), 1, "a page says: idle for a second or more");
    let [room, certificates] = [crate::clients::WAIT, crate::tls::LOOK].map(|time| time.as_secs());
    assert_eq!([room, certificates], [2, 2], "two pages say: two seconds");
    let (first_pause, longest_pause) = (awaited::FIRST_PAUSE.as_millis(), awaited::LONGEST_PAUSE.as_secs());
    assert_eq!(longest_pause, 1, "a page says: a second");
    assert_eq!(offered::AT_ONCE, 6, "a page says: at most six calls");
    pages_say(&[
        // Ports and connections.
        (
            "docs/configuration.md",
            format!("the first {} bytes of a connection tell which", floe_wire::FIRST_BYTES),
        ),
        ("docs/configuration.md", format!("`listen` ({listen})")),
        ("docs/configuration.md", format!("`mysql` (127.0.0.1:{mysql})")),
        ("docs/http.md", format!("on `listen`, by default `{listen}`")),
        ("docs/start.md", format!("listens on {listen}")),
        ("docs/start.md", format!("MySQL's clients use port {mysql}")),
        ("docs/clients.md", format!("floe's port ({})", Config::DEFAULT_PORT)),
        ("docs/clients.md", format!("MySQL's clients take port {mysql}")),
        ("docs/clients.md", format!("`limits.idle_timeout` ({})", spaced(limits.idle_timeout))),
        ("docs/operating.md", format!("`limits.connections` ({})", limits.connections)),
        ("docs/operating.md", format!("`limits.memory` (`\"{memory}MB\"`)")),
        ("docs/kubernetes.md", format!("(operating.md#memory-and-connections) ({memory} MB)")),
        ("docs/kubernetes.md", format!("`limits.drain_timeout` ({})", spaced(limits.drain_timeout))),
        ("docs/operating.md", "a new request waits for up to two seconds".to_owned()),
        ("docs/security.md", "The server looks at the files every two seconds".to_owned()),
        ("docs/security.md", format!("Beyond {} addresses in a minute", grouped(strangers::MOST as u64))),
        // Clocks and ledgers.
        ("docs/configuration.md", format!("reserves `cache_window` ({cached}) of the slot's time")),
        ("docs/ledgers.md", format!("`cache_window` of one slot, {cached}")),
        (
            "docs/operating.md",
            format!(
                "1.5 times `cache_window`, {} h by default",
                1.5 * config.cache_window.as_secs_f64() / 3_600.0
            ),
        ),
        ("docs/operating.md", format!("`clock.max_hold` ({hold})")),
        ("docs/ledgers.md", format!("`clock.max_hold` ({hold}) must be longer than two windows times")),
        ("docs/guarantees.md", "up to `clock.max_hold` (an hour)".to_owned()),
        ("docs/questions.md", "more than `clock.max_hold` (one hour)".to_owned()),
        ("docs/guarantees.md", format!("up to `clock.wait` ({clock_wait} ms)")),
        ("docs/configuration.md", format!("{clock_wait} ms, and then `clock.max_hold`")),
        ("docs/ledgers.md", format!("grow from {first_pause} ms to a second")),
        ("docs/ledgers.md", "One server sends at most six calls to the store at a time".to_owned()),
        // Calls and names.
        ("docs/configuration.md", format!("{} s on a server)", limits.max_wait.as_secs())),
        ("docs/clients.md", format!("one over `limits.max_batch` ({batch})")),
        ("docs/clients.md", format!("Without a name it tries {} names", inspect::MOST_NAMES)),
        ("docs/http.md", format!("as IDs of up to {} names", inspect::MOST_NAMES)),
        ("docs/clients.md", format!("One `Mint` gives at most {texts} texts")),
        ("docs/clients.md", format!("a stream to 2^{}", grpc::ids::MAX_STREAM.ilog2())),
        (
            "docs/clients.md",
            format!(
                "a user name over {} bytes, a database's name over {}",
                mysql::USER_BYTES,
                mysql::DATABASE_BYTES
            ),
        ),
        ("docs/operating.md", format!("up to `limits.max_names` ({names})")),
        ("docs/security.md", format!("`limits.new_names_per_hour` ({new_names})")),
        ("docs/clients.md", format!("[ends by itself](operating.md#names) {after} days later")),
        ("docs/operating.md", format!("from the {}st day after that day on", after + 1)),
        ("docs/operating.md", "within two days of the day in the name".to_owned()),
    ]);
}

/// A configuration in a page is a ```toml block, or an indented one that begins with its realm or its ledger. Each can be read,
/// with 64 digits in the place of a hash's `…`; one without a realm gets one. The files and keys that it names are not there.
#[test]
fn the_configurations_of_the_book_can_be_read() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("floe.toml");
    let (mut read, mut wrong) = (0, String::new());
    for entry in std::fs::read_dir(docs).unwrap() {
        let path = entry.unwrap().path();
        let page = match path.extension() {
            Some(extension) if extension == "md" => std::fs::read_to_string(&path).unwrap(),
            _ => continue,
        };
        for configuration in configurations(&page) {
            let mut text = configuration.replace('…', &"0".repeat(64));
            if !text.lines().any(|line| line.starts_with("realm = ")) {
                text.insert_str(0, "realm = \"shop\"\n");
            }
            std::fs::write(&file, &text).unwrap();
            if let Err(error) = Config::load_for(&file, None) {
                writeln!(wrong, "{}: {error}, in\n{text}", path.display()).unwrap();
            }
            read += 1;
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    assert!(read >= 15, "only {read} were found");
}

fn configurations(page: &str) -> Vec<String> {
    let (mut found, mut fence, mut taken) = (Vec::<String>::new(), None, false);
    for line in page.lines() {
        let code = if fence.is_some() { Some(line) } else { line.strip_prefix("    ") };
        match (line.strip_prefix("```"), code) {
            (Some(word), _) => {
                fence = if fence.is_none() { Some(word) } else { None };
                taken = fence == Some("toml");
                found.extend(taken.then(String::new));
            }
            (None, Some(code)) => {
                if fence.is_none()
                    && !taken
                    && ["realm = ", "ledger = "].iter().any(|word| code.starts_with(word))
                {
                    taken = true;
                    found.push(String::new());
                }
                if taken {
                    *found.last_mut().unwrap() += &format!("{code}\n");
                }
            }
            (None, None) => taken = false,
        }
    }
    // This one is Cargo's.
    found.retain(|text| !text.starts_with("[dependencies]"));
    found
}

/// The README and the questions quote figures of docs/benchmarks.md, which says on what machine they were measured.
#[test]
fn figures_are_those_of_the_benchmarks() {
    let benchmarks = page("docs/benchmarks.md");
    let measured = |row: &str| {
        let rest = benchmarks.split(&format!("| {row} | ")).nth(1).unwrap_or_else(|| panic!("no row {row}"));
        rest.split(" |").next().unwrap()
    };
    let minter = measured("floe minter, one a thread");
    let generator = measured("floe shared generator");
    let segment = measured("floe segment");
    let counter = measured("floe counter on SQLite").replace(',', "").parse::<f64>().unwrap() / 1_000.0;
    let http = benchmarks.split("from the time a request was due, ").nth(1).unwrap();
    let http = http.split(", p99.9").next().unwrap();
    let [redis_segment, redis_counter] =
        ["segment", "counter"].map(|kind| measured(&format!("INCR, 50 connections, -P 1: floe, {kind}")));
    pages_say(&[
        (
            "docs/questions.md",
            format!("a segment gave {redis_segment} a second and a counter on SQLite {redis_counter}"),
        ),
        (
            "README.md",
            format!(
                "{minter} ns from a thread's own minter, {generator} ns from a shared generator, {segment} ns from a segment"
            ),
        ),
        ("README.md", format!("| {http} |")),
        (
            "docs/questions.md",
            format!(
                "In your process {minter} ns from a thread's own minter of snowflakes, {generator} ns from a shared generator, {segment} ns from [a segment](benchmarks.md#measured), and {counter:.0} µs from a busy counter on SQLite. (The first two are snowflakes with 20 sequence bits. In the long run the default layout gives at most one ID in 244 ns.) Over HTTP on loopback {http}: "
            ),
        ),
    ]);
}
