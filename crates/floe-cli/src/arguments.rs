//! The command line: what can be asked for, and how it is written.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Arg, ArgAction, ArgMatches, Args, FromArgMatches, Parser, Subcommand, ValueEnum};
use floe::ledger::MAX_MARK;
use floe::{Given, Kind, Layout, LayoutError, Setting, Takes};
use floe_peers::ENTRANTS;
use floe_sim::fleet::MOST_NODES;
use floe_sim::scenario::Class;

/// The most IDs that one `floe mint` prints.
pub(crate) const MAX_MINT: u64 = 1_000_000_000;

/// A layout, written in full.
pub(crate) const LAYOUT_EXAMPLE: &str = "time:41 worker:10 sequence:12 tick=1ms epoch=2020-01-01T00:00:00Z";

const AFTER_HELP: &str = "\
Exit codes: 0 success, 1 an error (its cause and the way out are on stderr), 2 wrong usage, 3 an unfinished check.

Try:
  floe serve                       a server on http://127.0.0.1:7600, its ledger in ./floe-data
  floe mint orders -n 3            three IDs, with or without that server
  floe inspect ID                  what it is: UUID, ULID, ObjectId, KSUID, TypeID, snowflake
  floe layout                      the layouts of snowflakes, and how long they last";

const INSPECT_HELP: &str = "\
Try:
  floe inspect 017f22e2-79b0-7cc3-98c4-dc0c0c07398f      a UUID: its version, time, bits
  floe inspect user_01h455vb4pex5vsknk084sn02q           a TypeID, and the UUID in it
  floe inspect 1541815603606036480 --layout twitter      a snowflake by its layout
  floe inspect 42 --name orders --server http://127.0.0.1:7600
  cut -f1 orders.tsv | floe inspect - --json             a JSON object for each line";

const FORM_HELP: &str = "\
Try:
  floe form list
  floe form encode base62 1212092628029698048 --set width=11
  floe form decode 'hashids salt=pepper min=8' 8nEo4Kbg
  FLOE_FORM_KEY=000102030405060708090a0b0c0d0e0f floe form encode 'sealed base62' 1000 1001";

const LAYOUT_HELP: &str = "\
Try:
  floe layout                                        the presets, side by side
  floe layout twitter epoch=2026-01-01T00:00:00Z     a preset with another epoch
  floe layout 'time:41 shard:13 sequence:9 epoch=2026-01-01T00:00:00Z'
  floe layout 'time:37 server:20 sequence:16'        73 bits: what is wrong, and what fits";

const SIM_HELP: &str = "\
Try:
  floe sim                                        floe, 1,000 new seeds
  floe sim --seed 42 --trace                      everything that happens in one history
  floe sim --model twitter --faults rollback,crash --svg twitter.svg
                                                  what another algorithm does, with a picture
  floe sim --table                                all algorithms, side by side
  floe sim --explain leaf-snowflake crash+rollback
                                                  one cell of that table, with its shortest story
  floe sim --fleet 1000 --kills-per-minute 20 --outage 20s
                                                  the load of a thousand nodes on one ledger";

/// Unique IDs across machines: reserve a range durably, then mint inside it.
#[derive(Parser, Debug)]
#[command(name = "floe", version, about, after_help = AFTER_HELP, arg_required_else_help = true)]
#[command(disable_help_subcommand = true, max_term_width = 100)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Run the server until a signal stops it, then drain and give the unused ranges back
    Serve(Box<Serve>),
    /// Print new IDs, one per line
    Mint(Box<Mint>),
    /// Say what an ID is, and take it apart
    ///
    /// Without --layout and --name, floe guesses the kind from the text: a UUID of any version, a ULID, a TypeID, an
    /// ObjectId, a KSUID, a NanoID, a dated number, or a snowflake. It reads a snowflake by each preset that gives a
    /// plausible date, and shows the likeliest first. With -, each line of stdin is an ID. Each gets one line with
    /// its best reading: ID, kind, time and fields, separated by tabs.
    #[command(after_long_help = INSPECT_HELP)]
    Inspect(Box<Inspect>),
    /// Write a number in a form, read one back, or list the forms
    #[command(after_long_help = FORM_HELP)]
    Form {
        #[command(subcommand)]
        command: Form,
    },
    /// Draw a layout, and say what it holds, how long it lasts, and what is wrong with it
    ///
    /// Without a layout, it lists the presets. If a layout has too many bits, it lists the nearest layouts that fit
    /// and what each of them gives up; the exit code is then 1.
    #[command(after_long_help = LAYOUT_HELP)]
    Layout(Box<Layouts>),
    /// List the names that the ledger knows, with their definitions; or retire one
    Names(Names),
    /// List the worker slots, with their marks and owners
    ///
    /// LIVE is `live` while the owner's window is open. It is `idle` if the window has passed and the owner's process
    /// still runs on this machine: it opens its next window when it is asked for an ID. Otherwise it is `no`.
    Slots(Slots),
    /// Print the random id of the realm, which a configuration can pin
    ///
    /// With `ledger = { url = "…", realm_id = "ID" }` a server refuses a store that was emptied, and any other store.
    Realm(Realm),
    /// Show the marks of names, or move one up
    Marks {
        #[command(subcommand)]
        command: Marks,
    },
    /// Try a store before a fleet depends on it
    Ledger {
        #[command(subcommand)]
        command: LedgerCommand,
    },
    /// Make a token, which clients show to a server that asks for one
    Token {
        #[command(subcommand)]
        command: Token,
    },
    /// Print the default configuration, write a starter file, or check a file
    Config(Config),
    /// Run a simulated fleet through faults, and say whether an ID is ever handed out twice
    ///
    /// Each seed is one history of a fleet on a virtual clock: which faults happen, when, how long and on which
    /// machines. The nodes run floe's own code, or a model of a published algorithm. A seed gives the same history,
    /// event by event, on every machine. Exit code 1 means that an ID was handed out twice, or that the model broke
    /// another of its promises. With `--model all`, `--table` and `--explain`, only floe's failures count.
    #[command(after_long_help = SIM_HELP)]
    Sim(Box<Sim>),
    /// Print the completions for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the man page, or write all of them to a directory
    Man {
        /// The directory to write floe.1, floe-serve.1, … to
        #[arg(long, value_name = "DIR")]
        dir: Option<PathBuf>,
    },
}

#[derive(Subcommand, Debug)]
pub(crate) enum Token {
    /// Print a new secret, and the lines that a server's configuration needs for it
    ///
    /// The first line is the secret. floe stores it nowhere, so it is shown only this once. The rest is TOML for the server's configuration, which holds only a hash of the secret.
    New {
        /// The names that its bearer may mint, separated by commas, such as orders,user-*; * is every name
        #[arg(long, value_name = "NAMES")]
        names: String,
        /// The bearer's name in logs and metrics
        #[arg(long, value_name = "NAME", default_value = "client")]
        name: String,
    },
}

/// Flags override the configuration file
#[derive(Args, Debug)]
pub(crate) struct Serve {
    #[command(flatten)]
    pub(crate) ledger: Ledger,
    #[command(flatten)]
    pub(crate) cache: Cache,
    /// The address to listen on instead of 127.0.0.1:7600; port 0 takes a free port, unix:PATH is a unix socket. May be given several times
    #[arg(long, value_name = "ADDR")]
    pub(crate) listen: Vec<String>,
    /// The address to listen on for MySQL clients instead of 127.0.0.1:7606; off listens nowhere. May be given several times
    #[arg(long, value_name = "ADDR")]
    pub(crate) mysql: Vec<String>,
    /// Which worker ids to take: auto, a number, a range such as 512..1023, or datacenter=3
    #[arg(long, value_name = "WORKER", allow_negative_numbers = true)]
    pub(crate) worker: Option<String>,
    /// Time reserved per ledger write, such as 3s or 1h; the node mints for at least half of it if the ledger is gone
    #[arg(long, value_name = "DURATION")]
    pub(crate) window: Option<String>,
    /// Make no new ledger or realm; if one is missing, for example because a volume was not mounted, exit with an error
    #[arg(long)]
    pub(crate) existing: bool,
    /// How long to wait at the start for a ledger that does not answer: a duration, 0 to exit at once, or forever [default: forever]
    #[arg(long, value_name = "DURATION")]
    pub(crate) wait_for_ledger: Option<String>,
    /// Listen on addresses that other machines can reach, although no token is configured; every client can then mint
    #[arg(long)]
    pub(crate) insecure: bool,
    /// Mint even if this machine's clock is more than ten seconds off the ledger's clock
    #[arg(long)]
    pub(crate) ignore_ledger_clock: bool,
    /// How log lines are written to stderr
    #[arg(long, value_name = "FORMAT")]
    pub(crate) log_format: Option<LogFormat>,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LogFormat {
    /// For people
    Text,
    /// One JSON object per line
    Json,
}

/// Where the ledger is
#[derive(Args, Debug, Default)]
#[command(next_help_heading = "Where the ledger is")]
pub(crate) struct Ledger {
    /// The directory of a ledger on this machine [default: floe-data]
    #[arg(long, value_name = "DIR", conflicts_with = "url")]
    pub(crate) data_dir: Option<PathBuf>,
    /// The ledger as a URL, such as sqlite:floe-data/floe.db or postgres://floe@db/ids
    #[arg(long = "ledger", value_name = "URL", id = "url")]
    pub(crate) url: Option<String>,
    /// The realm, which is one name space of IDs in the ledger [default: the file's, or default]
    #[arg(long, value_name = "REALM")]
    pub(crate) realm: Option<String>,
    /// A configuration file; the flags override what it says
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
}

/// A cache in front of the ledger
#[derive(Args, Debug, Default)]
#[command(next_help_heading = "Where the ledger is")]
pub(crate) struct Cache {
    /// A directory on this machine for a cache; with it, the node can restart while a shared ledger is gone
    #[arg(long, value_name = "DIR", conflicts_with = "data_dir")]
    pub(crate) cache: Option<PathBuf>,
}

/// Where the ledger is, or a server that has it open
#[derive(Args, Debug)]
pub(crate) struct Place {
    #[command(flatten)]
    pub(crate) ledger: Ledger,
    /// Ask this server instead, such as http://127.0.0.1:7600; if it needs a token, put it into FLOE_TOKEN
    #[arg(help_heading = "Where the ledger is")]
    #[arg(long, value_name = "URL", conflicts_with_all = ["data_dir", "url", "realm", "config"])]
    pub(crate) server: Option<String>,
}

#[derive(Args, Debug)]
pub(crate) struct Mint {
    /// The name to mint under; a new name is made
    pub(crate) name: String,
    /// How many, from 1 to 1000000000
    #[arg(short = 'n', long = "count", value_name = "N", default_value = "1", value_parser = count)]
    #[arg(allow_hyphen_values = true)]
    pub(crate) count: u64,
    /// Which worker ids to take: auto, a number, a range such as 512..1023, or datacenter=3
    #[arg(long, value_name = "WORKER", allow_negative_numbers = true, conflicts_with = "server")]
    pub(crate) worker: Option<String>,
    /// Mint even if this machine's clock is more than ten seconds off the ledger's clock
    #[arg(long, conflicts_with = "server")]
    pub(crate) ignore_ledger_clock: bool,
    #[command(flatten)]
    pub(crate) shape: Shape,
    #[command(flatten)]
    pub(crate) place: Place,
    #[command(flatten)]
    pub(crate) cache: Cache,
}

/// What a new name is; a name that exists never changes, and a flag that contradicts it is an error
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "What a new name is")]
pub(crate) struct Shape {
    #[arg(long, value_name = "KIND", help = format!("{} [default: snowflake]", Kind::words("or")))]
    pub(crate) kind: Option<Kind>,
    #[command(flatten)]
    pub(crate) given: KindFlags,
    /// How IDs are written: "base62 width=11", "typeid type=user", … (floe form list shows them; the key of a sealed form is in FLOE_FORM_KEY) [default: the kind's own]
    #[arg(long, value_name = "FORM")]
    pub(crate) form: Option<String>,
}

/// The settings of all kinds, each a flag.
#[derive(Clone, Debug, Default)]
pub(crate) struct KindFlags(pub(crate) Given);

fn settings() -> impl Iterator<Item = &'static Setting> {
    Kind::ALL.iter().flat_map(|kind| kind.settings())
}

impl Args for KindFlags {
    fn augment_args(command: clap::Command) -> clap::Command {
        settings().fold(command, |command, setting| {
            let flag = Arg::new(setting.key).long(setting.key).help(setting.help);
            command.arg(match setting.takes {
                Takes::Flag => flag.action(ArgAction::SetTrue),
                Takes::Whole(_) => flag
                    .value_name("N")
                    .allow_negative_numbers(true)
                    .value_parser(|text: &str| whole(text).map(|number| number.to_string())),
                Takes::Text(name) => flag.value_name(name),
                _ => flag.value_name("TIME"),
            })
        })
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for KindFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut flags = Self::default();
        flags.update_from_arg_matches(matches)?;
        Ok(flags)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        for setting in settings() {
            match setting.takes {
                Takes::Flag if matches.get_flag(setting.key) => self.0.set(setting.key, true),
                Takes::Flag => {}
                _ => {
                    if let Some(value) = matches.get_one::<String>(setting.key) {
                        self.0.set(setting.key, value);
                    }
                }
            }
        }
        Ok(())
    }
}

#[derive(Args, Debug)]
pub(crate) struct Inspect {
    /// The ID; - reads one from each line of stdin
    #[arg(allow_hyphen_values = true)]
    pub(crate) id: String,
    /// Read it by this layout: a preset such as twitter or "sonyflake epoch=2020-01-01T00:00:00Z", or "time:41 worker:10 sequence:12 tick=1ms epoch=2020-01-01T00:00:00Z"
    #[arg(long, value_name = "LAYOUT", value_parser = layout, conflicts_with = "name")]
    pub(crate) layout: Option<Layout>,
    /// Read it by the definition of this name, as a ledger or a server has it
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Show the shifts and masks as well
    #[arg(long, conflicts_with = "json")]
    pub(crate) explain: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) place: Place,
}

#[derive(Subcommand, Debug)]
pub(crate) enum Form {
    /// Write numbers in a form, one per line
    ///
    /// A number is written in decimal digits; for a TypeID it may also be a UUID.
    Encode {
        #[command(flatten)]
        form: Formed,
        /// The numbers; - reads one from each line of stdin
        #[arg(value_name = "NUMBER", required = true, allow_negative_numbers = true)]
        values: Vec<String>,
    },
    /// Read numbers out of texts of a form, one per line
    Decode {
        #[command(flatten)]
        form: Formed,
        /// The texts; - reads one from each line of stdin
        #[arg(value_name = "TEXT", required = true, allow_negative_numbers = true)]
        values: Vec<String>,
    },
    /// List the forms, with an example of each
    List,
}

#[derive(Args, Debug)]
pub(crate) struct Formed {
    /// A form with or without its settings, such as base62, "base62 width=11" or "sealed key=1 base62"
    pub(crate) form: String,
    /// A setting of the form, such as width=11, upper, salt=pepper; may be given several times
    ///
    /// Each setting of the form's text can be given here, also bits=, prefix=, pad=, min=, alphabet=, blocklist=,
    /// type= and keyid=. A value may have spaces and commas. key= takes the id of a key, or the key itself: 32
    /// hexadecimal digits. Everybody on the machine can see arguments, so better put a key into a file or the
    /// environment.
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// A file with the keys of a sealed form: 32 hexadecimal digits, or one ID:DIGITS per line; FLOE_FORM_KEY takes the same text
    #[arg(long, value_name = "FILE")]
    pub(crate) key_file: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct Layouts {
    /// A preset, or fields such as "time:41 worker:10 sequence:12"; tick=, epoch= and wide may follow either
    #[arg(value_name = "SPEC", num_args = 0..)]
    pub(crate) spec: Vec<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Names {
    #[command(subcommand)]
    pub(crate) command: Option<NamesCommand>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) place: Place,
}

#[derive(Subcommand, Debug)]
pub(crate) enum NamesCommand {
    /// Close a name for ever; its definition and its mark stay in the ledger, so that nothing under it can repeat
    ///
    /// From then on, every floe of this version refuses to mint under it, even if its configuration lists the name.
    /// Running servers notice within ten seconds, and other programs when they open the name again. This cannot be
    /// undone.
    Retire {
        /// The name
        name: String,
        #[command(flatten)]
        ledger: Ledger,
    },
}

#[derive(Args, Debug)]
pub(crate) struct Realm {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) ledger: Ledger,
}

#[derive(Args, Debug)]
pub(crate) struct Slots {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) place: Place,
}

#[derive(Subcommand, Debug)]
pub(crate) enum LedgerCommand {
    /// Run the conformance suite against a ledger, in realms of its own, and measure how long a reservation takes
    ///
    /// Each case opens the ledger again, as another process would, and checks one rule of the contract: ranges are
    /// disjoint when many reserve at once, a refusal writes nothing, a list is exact, and so on. The realms are
    /// called `*check-…`. They stay in the store, and floe does not count them among its realms, so you can go on to
    /// use the store without a realm's name. The suite takes some seconds on a database, and minutes on a bucket. It
    /// tests no faults such as a loss of power. Exit code 1 means that a rule was broken. Exit code 3 means that the
    /// ledger did not answer in time, so that nothing is known: check it again.
    Check {
        /// The ledger as a URL, as in `floe serve --ledger URL`
        url: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

#[derive(Subcommand, Debug)]
pub(crate) enum Marks {
    /// Show the next ID of every name that has a mark
    ///
    /// NEXT is the first ID above all reserved ones, as it would be printed. A running node may still mint lower IDs
    /// from the range that it holds. MARK is what the ledger stores. It counts positions: all positions below it are
    /// reserved. A segment's position n is the number offset + increment * n; a counter's is n + 1. A dated name's
    /// position is the day (or the month, or the year) since 1970 times 2^40, plus its number minus 1. `floe marks
    /// raise` takes an ID, not a position.
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        ledger: Ledger,
    },
    /// Move a name's mark up, so that its next ID is at least N; never down
    ///
    /// Use it when a name replaces a system that has already handed out IDs: raise the name above the largest of them
    /// before the first client asks floe. Stop running servers first, because they use up the numbers that they have
    /// reserved below N. A snowflake needs no raise: its IDs are ordered by time.
    Raise(Box<Raise>),
}

/// Shows only what a name can be that is raised.
fn of_a_raise(flag: Arg) -> Arg {
    let counted = [Kind::SEGMENT, Kind::COUNTER, Kind::DATED];
    let mut shown = counted.iter().flat_map(|kind| kind.settings());
    let is = |setting: &Setting| flag.get_id() == setting.key;
    match flag.get_id().as_str() {
        "kind" => flag.help("segment, counter or dated"),
        _ if settings().any(is) && !shown.any(is) => flag.hide(true),
        _ => flag,
    }
}

#[derive(Args, Debug)]
#[command(mut_args(of_a_raise))]
pub(crate) struct Raise {
    /// The name; if it does not exist yet, --kind makes it
    pub(crate) name: String,
    /// The next ID will be at least this; for a dated name, an ID as it is printed
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub(crate) to: String,
    /// Say what would happen, and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) shape: Shape,
    #[command(flatten)]
    pub(crate) ledger: Ledger,
    #[command(flatten)]
    pub(crate) cache: Cache,
}

#[derive(Args, Debug)]
#[group(required = true, multiple = false)]
pub(crate) struct Config {
    /// Print every setting with its default
    #[arg(long)]
    pub(crate) defaults: bool,
    /// Check this file, and say what is wrong with it; if the ledger can be reached, compare the names with it
    #[arg(long, value_name = "FILE")]
    pub(crate) check: Option<PathBuf>,
    /// Write a short starter file to FILE, or to floe.toml; an existing file is not overwritten
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "floe.toml")]
    pub(crate) new: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct Sim {
    /// How many seeds [default: 1000; 100 for a table or a cell of it; 1 with --seed]
    #[arg(long, value_name = "N", value_parser = at_least_one, allow_negative_numbers = true)]
    pub(crate) seeds: Option<u64>,
    /// The first seed [default: a random one, which is printed; 1 for a table, a cell and a fleet]
    #[arg(long, value_name = "S", value_parser = seed, allow_negative_numbers = true)]
    pub(crate) seed: Option<u64>,
    /// The algorithm that mints [default: floe; all for a table]
    #[arg(long, value_name = "MODEL", value_parser = models())]
    pub(crate) model: Option<String>,
    /// What goes wrong: a mix, or classes separated by commas
    ///
    /// With a mix, each seed picks its own classes. With named classes, each seed has all of them.
    #[arg(long, value_name = "FAULTS", default_value = "contract", value_delimiter = ',', value_parser = faults())]
    pub(crate) faults: Vec<String>,
    /// How many nodes the fleet has, from 1 to 64
    #[arg(long, value_name = "N", default_value = "5", value_parser = nodes, allow_negative_numbers = true)]
    pub(crate) nodes: usize,
    /// How many virtual seconds a history lasts, from 10 to 7200 [default: 60; 900 for a table or a cell]
    ///
    /// Sessions and heartbeats of some models last a minute or more: give those 900 or more.
    #[arg(long, value_name = "N", value_parser = seconds, allow_negative_numbers = true)]
    pub(crate) seconds: Option<u64>,
    /// How many threads run seeds [default: one for each core]
    #[arg(long, value_name = "N", value_parser = jobs, allow_negative_numbers = true)]
    pub(crate) jobs: Option<usize>,
    /// Print all that happens in the history of --seed
    #[arg(long, requires = "seed", conflicts_with_all = ["seeds", "table"])]
    pub(crate) trace: bool,
    /// Draw the failing history, cut to the shortest that still fails; if none fails, draw that of --seed
    #[arg(long, value_name = "FILE", conflicts_with = "table")]
    pub(crate) svg: Option<PathBuf>,
    /// Compare all models under several mixes of faults, as Markdown; with --model, print only that row
    #[arg(long, conflicts_with = "faults")]
    pub(crate) table: bool,
    /// Explain one cell of that table: the rule, its figures, and the shortest story of an ID that is handed out twice
    ///
    /// FAULTS is a column, such as crash+rollback or store-forgets, or any classes of faults joined by +.
    #[arg(long, num_args = 2, value_names = ["MODEL", "FAULTS"])]
    #[arg(conflicts_with_all = ["model", "faults", "trace", "svg", "table"])]
    pub(crate) explain: Option<Vec<String>>,
    #[command(flatten)]
    pub(crate) fleet: Fleet,
}

/// The load of a large fleet on one ledger
///
/// All nodes start at once and renew their windows. They are restarted as often as the flags say. At least four
/// windows and a minute are measured. Then the ledger is gone for a while, and returns.
#[derive(Args, Debug)]
#[command(next_help_heading = "The load of a large fleet on its ledger")]
pub(crate) struct Fleet {
    /// Run this many nodes of floe and print the load on their ledger, instead of histories
    #[arg(long = "fleet", id = "fleet", value_name = "NODES", value_parser = fleet_nodes, allow_negative_numbers = true)]
    #[arg(conflicts_with_all = ["seeds", "model", "faults", "nodes", "seconds", "jobs", "trace", "svg", "table", "explain"])]
    pub(crate) size: Option<usize>,
    /// How long a window is, from 1s to 1h [default: 30s]
    #[arg(long, value_name = "DURATION", requires = "fleet", value_parser = duration)]
    pub(crate) window: Option<Duration>,
    /// The layout of their name, at most 63 bits [default: twitter, or one with two slots for each node]
    #[arg(long, value_name = "LAYOUT", requires = "fleet", value_parser = layout)]
    pub(crate) layout: Option<Layout>,
    /// How many processes are killed per minute; each starts again a second later [default: 0]
    #[arg(long, value_name = "N", requires = "fleet", value_parser = whole, allow_negative_numbers = true)]
    pub(crate) kills_per_minute: Option<u64>,
    /// How many processes are shut down per minute; each starts again a second later [default: 0]
    #[arg(long, value_name = "N", requires = "fleet", value_parser = whole, allow_negative_numbers = true)]
    pub(crate) stops_per_minute: Option<u64>,
    /// How long the ledger is gone, up to 4h [default: 0s]
    #[arg(long, value_name = "DURATION", requires = "fleet", value_parser = duration)]
    pub(crate) outage: Option<Duration>,
    /// How many numbers per second each node takes from one segment [default: 0]
    #[arg(long, value_name = "N", requires = "fleet", value_parser = whole, allow_negative_numbers = true)]
    pub(crate) segment: Option<u64>,
    /// How many calls per second the ledger serves, one after the other [default: no limit]
    #[arg(long, value_name = "N", requires = "fleet", value_parser = whole, allow_negative_numbers = true)]
    pub(crate) ledger_rate: Option<u64>,
    /// Print JSON
    #[arg(long, requires = "fleet")]
    pub(crate) json: bool,
}

/// The mixes of `--faults`, which stand alone.
pub(crate) const MIXES: [(&str, &str); 3] = [
    ("contract", "a mix of all that floe's promise covers, and snapshots: skew to snapshot"),
    (
        "all",
        "a mix of everything; the ledger loses writes, and floe repeats IDs as its documentation predicts",
    ),
    ("none", "nothing"),
];

fn models() -> PossibleValuesParser {
    let entrants = ENTRANTS.iter().map(|entrant| PossibleValue::new(entrant.name).help(entrant.source));
    PossibleValuesParser::new(entrants.chain([PossibleValue::new("all").help("one after the other")]))
}

fn faults() -> PossibleValuesParser {
    let mixes = MIXES.iter().map(|(word, meaning)| PossibleValue::new(word).help(meaning));
    let classes = Class::ALL.iter().map(|class| PossibleValue::new(class.word()).help(class.meaning()));
    PossibleValuesParser::new(mixes.chain(classes))
}

fn at_least_one(text: &str) -> Result<u64, String> {
    match text.parse() {
        Ok(0) => Err("run at least 1".to_owned()),
        Ok(number) => Ok(number),
        Err(_) => Err(format!("write a whole number from 1 to {}", u64::MAX)),
    }
}

fn seed(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("write a whole number from 0 to {}", u64::MAX))
}

fn nodes(text: &str) -> Result<usize, String> {
    within(text, 1, 64, "the smallest fields for worker ids among the models have 6 bits")
}

fn fleet_nodes(text: &str) -> Result<usize, String> {
    within(text, 1, MOST_NODES, "each takes about 6 kB of memory")
}

fn duration(text: &str) -> Result<Duration, String> {
    floe_server::parse_duration(text)
}

fn seconds(text: &str) -> Result<u64, String> {
    within(text, 10, 7_200, "for more virtual time, run more seeds")
}

fn jobs(text: &str) -> Result<usize, String> {
    within(text, 1, 1_024, "more threads than cores make nothing faster")
}

fn within<N: std::str::FromStr + PartialOrd + std::fmt::Display>(
    text: &str,
    least: N,
    most: N,
    why: &str,
) -> Result<N, String> {
    match text.parse() {
        Ok(number) if number >= least && number <= most => Ok(number),
        _ => Err(format!("write a whole number from {least} to {most}: {why}")),
    }
}

fn count(text: &str) -> Result<u64, String> {
    let too_many = || Err(format!("one call mints at most {MAX_MINT}: for more, call it again"));
    match text.parse::<i128>() {
        Ok(n) if n < 1 => Err("mint at least 1".to_owned()),
        Ok(n) => u64::try_from(n).ok().filter(|n| *n <= MAX_MINT).map_or_else(too_many, Ok),
        Err(_) if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) => too_many(),
        Err(_) => Err(format!("write a whole number from 1 to {MAX_MINT}")),
    }
}

fn layout(text: &str) -> Result<Layout, String> {
    text.parse::<Layout>().map_err(|error| match error {
        LayoutError::UnknownPreset { .. } | LayoutError::Unsaid { .. } => {
            format!("{error}; a full layout is written as `{LAYOUT_EXAMPLE}`")
        }
        _ => error.to_string(),
    })
}

fn whole(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("write a whole number of at most {MAX_MARK}, in digits only"))
}
