//! `floe mint`: new IDs on stdout, one a line.

use std::io::{BufWriter, IsTerminal as _, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use floe::ledger::Beginning;
use floe::{Floe, MintError, Name, NameOptions, NameState};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use crate::arguments;
use crate::failure::{Failure, Outcome};
use crate::form::with_key;
use crate::place;
use crate::remote::{Remote, path_segment};

/// How many IDs are asked for at once: large enough for a counter's one ledger write each, small enough that an
/// answer comes soon and that little is lost where the reader has had enough.
const BATCH: u64 = 10_000;

/// From this many on, the progress is shown.
const LONG: u64 = 200_000;

/// How long one batch may wait, and how long a busy server is asked again.
const PATIENCE: Duration = Duration::from_secs(30);

/// How long nothing is said of what is waited for.
const QUIET: Duration = Duration::from_secs(3);

pub(crate) fn run(arguments: &arguments::Mint) -> Outcome {
    let name = Name::new(&arguments.name)?;
    // Flags that contradict each other are refused before any ledger is opened, or made.
    arguments.shape.definition()?;
    let mut out = Output::new(arguments.count);
    if arguments.place.server.is_some() && arguments.cache.cache.is_some() {
        return Err(Failure::usage(
            "--cache is for a ledger, and --server asks a server: give only one of them",
        ));
    }
    let minted = match &arguments.place.server {
        Some(server) => from_server(&Remote::at(server)?, &name, arguments, &mut out),
        None => from_ledger(&name, arguments, &mut out),
    };
    // Minted IDs are printed even if the rest failed: they belong to the caller, and are never minted again.
    let flushed = out.finish();
    minted.and(flushed)
}

fn from_ledger(name: &Name, arguments: &arguments::Mint, out: &mut Output) -> Outcome {
    let mut config = arguments.place.ledger.settings_for(Some(name))?;
    arguments.cache.set(&mut config);
    place::set(&mut config, "worker", arguments.worker.as_deref())?;
    let configured = place::configured(&config, name)?;
    if configured.is_none() && place::is_new(&config) {
        arguments.shape.check_reserved(name)?;
    }
    let first = place::is_new(&config);
    let ledger = place::open_or_make(&config)?;
    let mut builder = Floe::builder()
        .window(config.window_on(ledger.is_shared()))
        .renew_idle(false)
        // Replicas with a ledger each are kept apart by their worker ids: those hold for commands as well.
        .worker(config.worker.clone())
        .max_wait(PATIENCE)
        .max_hold(config.clock.max_hold)
        .rollback_wait(config.clock.wait);
    if arguments.ignore_ledger_clock || !config.clock.check_ledger {
        builder = builder.ignore_ledger_clock();
    }
    let floe = builder.open(ledger).map_err(Failure::new)?;
    let stored = floe.stored(name).map_err(Failure::new)?;
    let new = stored.is_none();
    let begins_at = configured.as_ref().and_then(|settings| settings.first);
    let configured = configured.map(|settings| settings.definition);
    let definition = with_key(arguments.shape.settle(name, stored, configured)?)?;
    // One call's own step: nothing is reserved beyond what is asked for, give or take the spare.
    let step = arguments.count.min(1_000_000);
    let options = NameOptions { min_step: step, max_step: step, ..NameOptions::default() };
    let defined = match begins_at {
        None => floe.define(name, &definition, &options).map(|handle| (handle, None)),
        Some(first) => {
            floe.define_from(name, &definition, &options, first).map(|(handle, begun)| (handle, Some(begun)))
        }
    };
    let (handle, begun) = defined.map_err(Failure::new)?;
    if let (Some(begins_at), Some(Beginning::Earlier { mark })) = (begins_at, begun)
        && let Some(next) = definition.number_at(mark).filter(|next| *next < begins_at)
    {
        anstream::eprintln!(
            "note: {name} began below its first number {begins_at} and continues at {next}: stop every server, then run floe marks raise {name} --to {begins_at}"
        );
    }
    // In a ledger that holds names already, a new one may be a slip of the pen, and it stays.
    if new && !first {
        anstream::eprintln!("note: {name} is a new name, and its definition is for ever: {definition}");
    }
    let mut written = Ok(());
    let told = AtomicBool::new(false);
    while out.left > 0 && written.is_ok() {
        let count = out.left.min(BATCH);
        written = match said_after_a_while(&told, || handle.mint_many(count), || what_is_missing(&floe, name))
        {
            Ok(minted) => out.each(minted),
            Err(MintError::Busy { retry }) => {
                std::thread::park_timeout(retry);
                Ok(())
            }
            Err(error) => Err(Failure::new(error)),
        };
    }
    floe.close();
    written
}

/// The result of `work`. If it takes long, a note says why, once.
fn said_after_a_while<T>(
    told: &AtomicBool,
    work: impl FnOnce() -> T,
    why: impl FnOnce() -> String + Send,
) -> T {
    let (done, is_done) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            if is_done.recv_timeout(QUIET) == Err(RecvTimeoutError::Timeout) {
                say_why(told, &why());
            }
        });
        let result = work();
        drop(done);
        result
    })
}

fn say_why(told: &AtomicBool, why: &str) {
    if !told.swap(true, Ordering::Relaxed) {
        anstream::eprintln!("note: still waiting, for up to {} s: {why}", PATIENCE.as_secs());
    }
}

/// Why a name does not mint, as far as this process knows.
fn what_is_missing(floe: &Floe, name: &Name) -> String {
    let status = floe.status();
    let state = status.names.into_iter().find(|status| status.name == *name).map(|status| status.state);
    match state {
        Some(
            NameState::Unavailable { cause: why, .. }
            | NameState::Exhausted(why)
            | NameState::ClockApart(why)
            | NameState::ClockRefused(why)
            | NameState::Stopped(why),
        ) => why,
        Some(NameState::Ready) | None => format!("{} has not answered", status.ledger),
    }
}

fn from_server(server: &Remote, name: &Name, arguments: &arguments::Mint, out: &mut Output) -> Outcome {
    agree(server, name, arguments)?;
    let name = path_segment(name.as_str());
    let mut waited = Duration::ZERO;
    let told = AtomicBool::new(false);
    while out.left > 0 {
        let batch = out.left.min(BATCH);
        let answer = server.get(&format!("/v1/mint/{name}?n={batch}"), "text/plain")?;
        match answer.status {
            200 => {
                waited = Duration::ZERO;
                let ids: Vec<&str> = answer.body.lines().collect();
                if ids.len() as u64 != batch {
                    return Err(server.foreign(format_args!("{} IDs instead of {batch}", ids.len())));
                }
                out.each(ids.into_iter())?;
            }
            503 if waited < PATIENCE => {
                let wait = answer.retry_after.unwrap_or(Duration::from_secs(1)).min(PATIENCE);
                waited += wait.max(Duration::from_millis(1));
                if waited >= QUIET {
                    say_why(&told, &server.said(&answer));
                }
                std::thread::park_timeout(wait);
            }
            _ => return Err(server.refused(&answer)),
        }
    }
    Ok(())
}

/// Refuses flags that contradict what the server's name is.
fn agree(server: &Remote, name: &Name, arguments: &arguments::Mint) -> Outcome {
    if arguments.shape.is_empty() {
        return Ok(());
    }
    let known = crate::names::of_server(server, name)?;
    let asked = arguments.shape.settle(name, known.clone(), None)?;
    if known.is_none() && asked != arguments::Shape::default().definition()? {
        return Err(Failure::new(format_args!(
            "the server has no name {name} yet, and a first use over HTTP would make it `{}`",
            arguments::Shape::default().definition()?
        ))
        .hint(format_args!(
            "list it in the server's configuration, or mint it once with --data-dir or --ledger instead of --server"
        )));
    }
    Ok(())
}

/// Stdout, and the progress on stderr where a person waits for it.
struct Output {
    out: BufWriter<std::io::StdoutLock<'static>>,
    left: u64,
    progress: ProgressBar,
}

impl Output {
    fn new(count: u64) -> Self {
        let stdout = std::io::stdout();
        // On one terminal the IDs themselves show that it goes on.
        let watched = count >= LONG && std::io::stderr().is_terminal() && !stdout.is_terminal();
        let target = if watched { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let progress = ProgressBar::with_draw_target(Some(count), target);
        if let Ok(style) =
            ProgressStyle::with_template("{human_pos} of {human_len} IDs, {rate}/s, {eta} left")
        {
            let rate = |state: &ProgressState, text: &mut dyn std::fmt::Write| {
                // A number that cannot be written is not shown; there is nobody to tell.
                let _ = write!(text, "{:.0}", state.per_sec());
            };
            progress.set_style(style.with_key("rate", rate));
        }
        Self { out: BufWriter::with_capacity(1 << 16, stdout.lock()), left: count, progress }
    }

    fn each(&mut self, ids: impl Iterator<Item = impl std::fmt::Display>) -> Outcome {
        let mut written: u64 = 0;
        for id in ids {
            writeln!(self.out, "{id}").map_err(|error| Failure::output(&error))?;
            written += 1;
        }
        self.left = self.left.saturating_sub(written);
        self.progress.inc(written);
        Ok(())
    }

    fn finish(&mut self) -> Outcome {
        self.progress.finish_and_clear();
        self.out.flush().map_err(|error| Failure::output(&error))
    }
}
