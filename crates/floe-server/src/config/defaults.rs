//! Every default as commented TOML.

use floe_wire::Protocol;

use super::{Config, LogFormat, show_duration};

/// A setting with a default that depends on something else is written as a comment. All others are written as they are.
pub(super) fn text() -> String {
    let config = Config::standalone();
    let (limits, clock, log) = (&config.limits, &config.clock, &config.log);
    let listen: Vec<_> = config.listen.iter().map(|address| format!("\"{address}\"")).collect();
    let options = floe::NameOptions::default();
    let format = match log.format {
        LogFormat::Text => "text",
        LogFormat::Json => "json",
    };
    format!(
        r##"# Every setting of `floe serve`, with its default. A line that begins with "# name = value" shows a default
# that depends on something else, or an example.
#
# Durations are texts with their units: ms, s, m, h, d. A relative path begins at the directory in which the server is
# started, not at the directory of this file.

# ---- Cluster settings: the same on every node, and for ever ----

# One name space of IDs in the ledger. A file must name it; a server without a file uses this one.
realm = "{realm}"

# ---- Process settings: free to change with every start ----

# The store of marks. The default is floe.db in data_dir: embedded, for the processes of one machine. Two replicas
# that each have an embedded ledger are two realms, and may mint the same IDs.
# Several machines share a database: "postgres://floe@db/ids" (docs/ledgers.md).
# ledger = "sqlite:{data_dir}/floe.db"
# A table can also say what the server must find there. With create = false (--existing), a missing ledger or realm is
# an error, and the server makes none. With realm_id, a realm with another id is an error too: the store was emptied, or it is
# another store. `floe realm` prints the id.
#   ledger = {{ url = "postgres://floe@db/ids", create = false, realm_id = "0123456789abcdef0123456789abcdef" }}

# How long a starting server waits for a ledger that does not answer. Meanwhile it listens, /readyz answers 503, and calls that
# need the ledger get `unavailable`. "forever", a duration, or "0" to exit at once with code 1.
wait_for_ledger = "forever"

# The directory of the embedded ledger.
data_dir = "{data_dir}"

# A directory of this machine. With it, a node can restart while the shared ledger is gone (docs/ledgers.md). The default is none.
# cache = "floe-cache"

# Time of a slot that the cache reserves at once, 1s to 30d. The node mints about this long if the ledger is gone.
cache_window = "{cache_window}"

# Time reserved per ledger write, 100ms to 1d. The node mints about this long if the ledger is gone, and a crash costs about this
# much of a slot's time (docs/configuration.md). The default on the embedded ledger is "3s", on a shared one "30s".
# window = "3s"

# Whether an idle node renews its window. The default on the embedded ledger is false (an idle server
# writes nothing), on a shared one true.
# keep = false

# Where to listen for clients of every protocol but MySQL's, told apart by their first bytes: addresses (port 0 takes a
# free one), or unix sockets ("unix:/run/floe.sock").
listen = [{listen}]

{ports}
# Whether a listener that other machines can reach may start without a [[token]]. It then serves everybody.
insecure = {insecure}

# Host names that HTTP requests may have on a listener that only this machine can reach: the names under which a proxy
# on this machine passes requests on, if it keeps the client's Host header. Other names are refused there, because a
# web page may have sent the request. localhost, addresses, names without a dot, and names below .localhost, .local,
# .internal and .test are always accepted.
# hosts = ["ids.example.com"]

# TLS on every listener, with PEM files that are read again when they change. With client_ca, a client's certificate can
# stand for a token. Plaintext is then refused on listeners that other machines can reach, unless plain is true. The
# default is no TLS (docs/security.md).
# tls = {{ certificate = "server.pem", key = "server.key", client_ca = "clients.pem", plain = false }}

# What the server does with a name that the ledger does not know yet. A new name that begins at 1 repeats the numbers
# of the system that it replaces. "ask for first" makes a segment or a counter only if its first number is known, from
# `first` in its [[name]] or from floe marks raise; it makes other kinds on first use. "from 1" lets new names begin
# at 1. "refuse" makes no names. The default is "from 1" if only this machine can ask, and "ask for first" if others
# can.
# new_names = "from 1"

# Which worker ids this node may take: "auto", a number, a range ("512..1023"), or pinned fields ({{ datacenter = 3 }}).
worker = "auto"

# A name for this node; two nodes must never run under it at once. With it, a restart on another machine takes over a fixed
# worker id at once. Without it, only a restart on the same machine does.
# instance = "node-1"

# Threads that serve clients, 1 to 256. The default is one for each core, up to 4.
# threads = 4

[clock]
# If the clock goes back by up to this, the node keeps minting. If it goes back further, the node refuses until the clock is right.
max_hold = "{max_hold}"
# If the clock goes back by up to this, the node's time stands still until the clock has caught up.
wait = "{wait}"
# "check": snowflake names mint only while this machine's clock is within 10 s of the ledger's clock, if the ledger
# has one (SQLite has none). "ignore" skips this check; IDs are unique either way.
ledger = "{clock_ledger}"

[log]
# "text" for people, "json" for machines.
format = "{format}"
# off, error, warn, info, debug or trace, or a filter such as "info,floe_server=debug".
level = "{level}"

# The names for calls that name none. Without a file, the first call makes them. A file must list them.
[default_names]
# Twitter's Snowflake over Thrift.
thrift = "{thrift}"
# katsubushi over HTTP and gRPC.
katsubushi = "{katsubushi}"

[limits]
# IDs in one call, 1 to 10000000. A larger count is refused, never cut.
max_batch = {max_batch}
# Names in memory, beside those that this file lists. Beyond that, unused names are unloaded; the next call loads them again.
# The ledger may hold any number.
max_names = {max_names}
# Names that the bearers of one token may make in an hour by first use (without a file, or by a pattern).
new_names_per_hour = {new_names_per_hour}
# Names with a label of their own in the metrics, in the order of their first use; all others share `_other`.
metric_names = {metric_names}
# How long a call waits for its IDs at most.
max_wait = "{max_wait}"
# How long a request may take until its answer begins.
request_timeout = "{request_timeout}"
# A request's body, URI and header, in bytes, and the fields of its header.
body_bytes = {body_bytes}
uri_bytes = {uri_bytes}
header_bytes = {header_bytes}
header_count = {header_count}
# Memory for all clients together: connections, incomplete requests, and answers that were not read yet. When it is used up, the
# server closes the connections that have been stuck longest. If that is not enough, it rejects requests as busy.
# "16MB" to "1024GB".
memory = "{memory}"
# Connections at once over all listeners. Beyond that, a new one replaces the one that has been idle longest. If none is
# idle, the server tells the new client and closes it. Each connection needs an open file; the server logs if
# `ulimit -n` is too low.
connections = {connections}
# How many of these may come from one address (with IPv6, from one /64 network), and may show the same token. The
# default is half of all. A proxy or a balancer in front of the server is one address.
# connections_per_address = {share}
# connections_per_token = {share}
# Requests at once on one HTTP/2 connection.
streams = {streams}
# How long a client may take to log in, and to send a request's header, or the whole request if the protocol has no header.
header_timeout = "{header_timeout}"
# How long a connection stays open without a request.
idle_timeout = "{idle_timeout}"
# How long a client may stop reading its answer before it is cut off.
stall_timeout = "{stall_timeout}"
# At shutdown: how long /readyz fails before the listeners close, and how long requests may take to finish.
drain_delay = "{drain_delay}"
drain_timeout = "{drain_timeout}"

# ---- Names: with a file, only those that it lists exist. One [[name]] each; there is no default one. ----

# [[name]]
# name = "orders"                      # or a pattern, a prefix and one `*` at its end: "user-*"
# kind = "snowflake"                   # snowflake | segment | counter | dated | uuid4 | uuid7 | ulid | objectid | ksuid | nanoid; for ever
# layout = "twitter"                   # a preset, or "twitter epoch=2020-01-01T00:00:00Z"; for ever
# own = false                          # a generator of its own instead of the layout's; for ever
# start = "rolling"                    # where a tick's sequence begins: zero | random:100 | rolling
# max_ahead = "10ms"                   # how far minted ticks may run ahead of the steady clock in a burst
# form = "decimal"                     # how IDs are written (docs/forms.md); for ever
# worker-id = 3                        # ShardingSphere's words for worker,
# max-tolerate-time-difference-milliseconds = 10  # for clock.wait,
# max-vibration-offset = 1             # and for start = "random:2"

# [[name]]
# name = "user-*"
# kind = "snowflake"
# layout = "time:41 shard:10 sequence:12"  # or fields, high to low; for ever
# tick = "1ms"                         # fields need both, a preset has its own; for ever
# epoch = "2020-01-01T00:00:00Z"       # likewise; for ever

# [[name]]
# name = "Tickets64"
# kind = "segment"
# first = 50000001                     # the first number of a new name (docs/clients.md); a counter has it too
# increment = 1                        # the n-th number (from 0) is offset + increment * n; for ever
# offset = 1                           # for ever
# min_step = {min_step}                       # a segment's size follows the rate between these
# max_step = {max_step}
# refill = "{refill}"                       # how long a segment should last

# [[name]]
# name = "invoice"
# kind = "dated"
# date = "yyyyMMdd"                    # yyyyMMdd | yyyyMM | yyyy | yyMMdd | yyMM | yy: each day, month or year from 1; for ever
# digits = 6                           # of a day's counter, 1 to 10, or up to 12 behind a shorter date; for ever
# zone = "Asia/Shanghai"               # where a day begins; for ever
# prefix = ""                          # before the date; for ever
# overflow = "refuse"                  # after the last number of these digits: refuse | widen; for ever

# [[name]]
# name = "sessions"
# kind = "uuid7"
# precise = false                      # the time to a quarter of a microsecond instead of a millisecond; for ever
# form = "typeid type=session"

# [[name]]
# name = "coupons"
# kind = "nanoid"
# length = 21                          # characters, 1 to 63; for ever
# alphabet = "{alphabet}"  # for ever

# [[name]]
# name = "receipts"
# kind = "segment"
# form = "sealed key=1 keyid=2bits base62 width=11"  # hides order and volume; key= may change, the rest is for ever
# keys = {{ 1 = "000102030405060708090a0b0c0d0e0f" }}  # id = key: 32 hexadecimal digits, env:VARIABLE or file:PATH

# ---- Tokens: with one of them, every client must show one (docs/security.md). There is no default one. ----

# [[token]]
# name = "shop"                        # what logs and metrics call its bearer
# names = ["orders", "user-*"]         # what its bearer may mint and read; ["*"] is everything
# hash = "sha256d:0000000000000000000000000000000000000000000000000000000000000000"  # `floe token new` prints it
# mysql_native = "*0000000000000000000000000000000000000000"  # for MySQL clients that know only mysql_native_password
# max_names = 1000                     # no new name if its patterns already cover this many
# raise = false                        # whether it may also raise them (ALTER TABLE … AUTO_INCREMENT), which cannot be undone
# ledger = ["default"]                 # the realms that it may use as floe:// and mint any ID in; ["*"] is all
# certificate = "shop.example"         # a CN or DNS name in a client certificate that stands for the token

# ---- tinyid's own tokens, row by row as its table tiny_id_token holds them (docs/clients.md). With one of them, tinyid's ----
# ---- calls ask for the token of the name, also where there is no [[token]]; other calls do not look at them. ----

# [[tiny_id_token]]
# token = "0f673adf80504e2eaa552f5d791b644c"
# biz_type = "order"
"##,
        realm = config.realm,
        alphabet = floe::kind::NanoIdFormat::default().alphabet(),
        data_dir = config.data_dir.display(),
        cache_window = show_duration(config.cache_window),
        listen = listen.join(", "),
        ports = ports(),
        insecure = config.insecure,
        max_hold = show_duration(clock.max_hold),
        wait = show_duration(clock.wait),
        clock_ledger = if clock.check_ledger { "check" } else { "ignore" },
        level = log.level,
        thrift = config.default_names.thrift,
        katsubushi = config.default_names.katsubushi,
        max_batch = limits.max_batch,
        max_names = limits.max_names,
        new_names_per_hour = limits.new_names_per_hour,
        metric_names = limits.metric_names,
        max_wait = show_duration(limits.max_wait),
        request_timeout = show_duration(limits.request_timeout),
        body_bytes = limits.body_bytes,
        uri_bytes = limits.uri_bytes,
        header_bytes = limits.header_bytes,
        header_count = limits.header_count,
        memory = super::reader::show_bytes(limits.memory),
        connections = limits.connections,
        share = limits.connections / 2,
        streams = limits.streams,
        header_timeout = show_duration(limits.header_timeout),
        idle_timeout = show_duration(limits.idle_timeout),
        stall_timeout = show_duration(limits.stall_timeout),
        drain_delay = show_duration(limits.drain_delay),
        drain_timeout = show_duration(limits.drain_timeout),
        min_step = options.min_step,
        max_step = options.max_step,
        refill = show_duration(options.refill),
    )
}

/// Where to listen for single protocols.
fn ports() -> String {
    let (needed, others): (Vec<&Protocol>, Vec<_>) =
        crate::protocols::PROTOCOLS.iter().copied().partition(|protocol| protocol.server_begins);
    let mut text = String::new();
    let line = |protocol: &Protocol| format!("# {} = \"127.0.0.1:{}\"\n", protocol.word, protocol.port);
    for protocol in needed {
        text += &format!(
            "# Where to listen for clients of {}, or \"off\". If another program has the default's port, floe goes without it; an\n# address that is set must be free.\n{}\n",
            protocol.name,
            line(protocol)
        );
    }
    text += "# Where to listen for this protocol only. The default is nowhere.\n";
    text.extend(others.into_iter().map(line));
    text
}
