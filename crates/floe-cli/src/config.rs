//! `floe config`: the defaults, and what is wrong with a file.

use floe_server::Config;

use crate::arguments;
use crate::failure::Outcome;
use crate::table::print;

pub(crate) fn run(arguments: &arguments::Config) -> Outcome {
    match &arguments.check {
        None => print(&Config::defaults_text()),
        Some(file) => {
            let config = Config::load(file)?;
            config.check()?;
            config.check_files()?;
            let names = match config.names.len() {
                0 => "no name yet, without which `floe serve` does not start".to_owned(),
                1 => "1 name".to_owned(),
                count => format!("{count} names"),
            };
            print(&format!("{} is valid: realm {}, {names}\n", file.display(), config.realm))
        }
    }
}
