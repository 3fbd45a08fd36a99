//! Completions and man pages, made from the command line's own description.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Arg, Command, CommandFactory as _, ValueHint};
use clap_complete::Shell;
use floe::layout::PRESETS;
use floe::{DateFormat, Kind};

use crate::arguments::Arguments;
use crate::failure::{Failure, Outcome};
use crate::table::print;

/// Prints the completions for `shell`.
pub(crate) fn completions(shell: Shell) -> Outcome {
    let mut script = Vec::new();
    let mut command = offering(Arguments::command());
    clap_complete::generate(shell, &mut command, "floe", &mut script);
    if shell == Shell::Fish {
        script.extend(fish_positionals(&command).into_bytes());
    }
    std::io::stdout().lock().write_all(&script).map_err(|error| Failure::output(&error))
}

/// The same command with the values that shells offer. A value that is no path is completed by none.
fn offering(command: Command) -> Command {
    let command = command.mut_args(|arg| {
        let known = match arg.get_id().as_str() {
            "kind" => Kind::ALL.iter().map(|kind| PossibleValue::new(kind.as_str())).collect(),
            // Others can be written as well: these are the ones that have a name.
            "layout" | "spec" => {
                PRESETS.iter().map(|preset| PossibleValue::new(preset.name).help(preset.about)).collect()
            }
            "date" => DateFormat::ALL.into_iter().map(|date| PossibleValue::new(date.as_str())).collect(),
            _ => arg.get_possible_values(),
        };
        if arg.get_action().takes_values() && !known.is_empty() {
            return arg.value_parser(PossibleValuesParser::new(known.into_iter().map(quotable)));
        }
        match arg.get_value_hint() {
            ValueHint::Unknown if arg.get_action().takes_values() => arg.value_hint(ValueHint::Other),
            _ => arg,
        }
    });
    command.mut_subcommands(offering)
}

/// The scripts put a value's help between double quotes, in which shells read all of these.
fn quotable(value: PossibleValue) -> PossibleValue {
    let help =
        value.get_help().map(|help| help.to_string().replace(['"', '`'], "'").replace(['$', '\\'], ""));
    match help {
        Some(help) => value.help(help),
        None => value,
    }
}

/// The parts that clap_complete leaves out for fish: the values of positional arguments, and that other positional
/// arguments are not files.
fn fish_positionals(command: &Command) -> String {
    let mut lines = String::new();
    for subcommand in command.get_subcommands() {
        let condition =
            format!("complete -c floe -n \"__fish_floe_using_subcommand {}\" -f", subcommand.get_name());
        let is_path = |arg: &Arg| !matches!(arg.get_value_hint(), ValueHint::Unknown | ValueHint::Other);
        let nested = subcommand.get_subcommands().flat_map(Command::get_positionals);
        if !subcommand.get_positionals().chain(nested).any(is_path) {
            let _ = writeln!(lines, "{condition}");
        }
        for value in subcommand.get_positionals().flat_map(Arg::get_possible_values) {
            let help = value.get_help().map(|help| help.to_string().replace('\'', "\\'")).unwrap_or_default();
            let _ = writeln!(lines, "{condition} -a {} -d '{help}'", value.get_name());
        }
    }
    lines
}

/// Prints `floe.1`, or writes it and one page for each command to `dir`.
pub(crate) fn man(dir: Option<&Path>) -> Outcome {
    let mut command = Arguments::command();
    // Sets the names of the commands' own pages.
    command.build();
    let date = date();
    let Some(dir) = dir else {
        return print(&page(&command, &date).map_err(|error| Failure::output(&error))?);
    };
    let write = || {
        std::fs::create_dir_all(dir)?;
        write_pages(&command, &date, dir)
    };
    write().map_err(|error| {
        Failure::new(format_args!("cannot write man pages to {}: {error}", dir.display()))
            .hint("name a directory that can be written to, such as ~/.local/share/man/man1")
    })?;
    print(&format!("man pages are in {}\n", dir.display()))
}

fn write_pages(command: &Command, date: &str, dir: &Path) -> std::io::Result<()> {
    for subcommand in command.get_subcommands().filter(|command| !command.is_hide_set()) {
        write_pages(subcommand, date, dir)?;
    }
    let name = command.get_display_name().unwrap_or(command.get_name());
    std::fs::write(dir.join(format!("{name}.1")), page(command, date)?)
}

/// One command's page, in the form that `mandoc -T lint` asks for.
fn page(command: &Command, date: &str) -> std::io::Result<String> {
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone()).render(&mut page)?;
    let name = command.get_display_name().unwrap_or(command.get_name()).to_uppercase();
    let title = format!(".TH {name} 1 {date} \"floe {}\"", env!("CARGO_PKG_VERSION"));
    Ok(linted(&String::from_utf8_lossy(&page), &title))
}

/// Input lines are at most so long where they can be broken.
const LINE: usize = 72;

/// The page of clap_mangen with `title` for its own, without white space that says nothing, breaks beside spaces, and long
/// lines.
fn linted(page: &str, title: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut literal = false;
    for line in page.lines().map(str::trim_end) {
        literal = line.starts_with(".nf") || literal && !line.starts_with(".fi");
        match line {
            ".br" if lines.last().is_some_and(|last| last == ".sp") => {}
            "" if !literal => {
                lines.pop_if(|last| last == ".br");
                if lines.last().is_none_or(|last| last != ".sp") {
                    lines.push(".sp".to_owned());
                }
            }
            title_line if title_line.starts_with(".TH ") => lines.push(title.to_owned()),
            request if literal || request.starts_with('.') => lines.push(request.to_owned()),
            text => lines.extend(broken(text)),
        }
    }
    lines.join("\n") + "\n"
}

/// A line of text at its spaces. A word that begins like a request is kept from being one.
fn broken(text: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for (at, word) in text.split(' ').enumerate() {
        let Some(line) = lines.last_mut() else { continue };
        if line.len() + word.len() < LINE || line.trim().is_empty() {
            if at > 0 {
                line.push(' ');
            }
            line.push_str(word);
        } else if word.starts_with(['.', '\'']) || word.is_empty() {
            lines.push(format!("\\&{word}"));
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}

/// The day that a page gives: today, or the one of `SOURCE_DATE_EPOCH`, by which packages are built the same again.
fn date() -> String {
    let set = std::env::var("SOURCE_DATE_EPOCH").ok().and_then(|seconds| seconds.parse().ok());
    let set = set.and_then(|seconds| jiff::Timestamp::from_second(seconds).ok());
    set.unwrap_or_else(jiff::Timestamp::now).strftime("%Y-%m-%d").to_string()
}
