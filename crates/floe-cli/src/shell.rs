//! Completions and man pages, made from the command line's own description.

use std::io::Write as _;
use std::path::Path;

use clap::CommandFactory as _;

use crate::arguments::Arguments;
use crate::failure::{Failure, Outcome};
use crate::table::print;

/// Prints the completions for `shell`.
pub(crate) fn completions(shell: clap_complete::Shell) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "floe", &mut script);
    std::io::stdout().lock().write_all(&script).map_err(|error| Failure::output(&error))
}

/// Prints `floe.1`, or writes it and one page for each command to `dir`.
pub(crate) fn man(dir: Option<&Path>) -> Outcome {
    let command = Arguments::command();
    let Some(dir) = dir else {
        let mut page = Vec::new();
        clap_mangen::Man::new(command).render(&mut page).map_err(|error| Failure::output(&error))?;
        return std::io::stdout().lock().write_all(&page).map_err(|error| Failure::output(&error));
    };
    let write = || {
        std::fs::create_dir_all(dir)?;
        clap_mangen::generate_to(command, dir)
    };
    write().map_err(|error| {
        Failure::new(format_args!("cannot write man pages to {}: {error}", dir.display()))
            .hint("name a directory that can be written to, such as ~/.local/share/man/man1")
    })?;
    print(&format!("man pages are in {}\n", dir.display()))
}
