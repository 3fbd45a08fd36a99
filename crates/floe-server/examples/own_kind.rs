//! A server with a kind of its own: order numbers that end with a check digit (Luhn), so that a mistyped one is noticed.
//!
//! ```console
//! $ cargo run -p floe-server --example own_kind -- floe.toml
//! $ curl http://127.0.0.1:7600/v1/mint/receipts
//! ```
//! where `floe.toml` has a name of the kind:
//! ```toml
//! realm = "shop"
//! [[name]]
//! name = "receipts"
//! kind = "check-digit"
//! properties = { prefix = "R-" }
//! ```

use std::process::ExitCode;

use floe::kind::Mint;
use floe::{KindRegistry, MintError, Segment};
use floe_server::{Config, serve};

/// A prefix, a number of a segment, and its check digit.
struct CheckDigit {
    prefix: String,
    numbers: Segment,
}

impl Mint for CheckDigit {
    type Id = String;

    fn mint(&self) -> Result<String, MintError> {
        let number = self.numbers.mint()?.to_string();
        Ok(format!("{}{number}{}", self.prefix, luhn(&number)))
    }
}

/// The digit that makes the sum of all digits, every second one doubled, a multiple of ten (ISO/IEC 7812-1, annex B).
fn luhn(digits: &str) -> u32 {
    let values = digits.chars().rev().filter_map(|digit| digit.to_digit(10)).enumerate();
    let sum: u32 = values
        .map(|(at, value)| match at % 2 {
            0 => value * 2 / 10 + value * 2 % 10,
            _ => value,
        })
        .sum();
    (10 - sum % 10) % 10
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn std::error::Error>> {
    let usage = "usage: own_kind FILE";
    if std::env::args().any(|argument| argument == "--help") {
        println!("{usage}");
        return Ok(());
    }
    let file = std::env::args().nth(1).ok_or(usage)?;
    let kinds = KindRegistry::new().with("check-digit", |properties, floe| {
        properties.only(&["prefix"])?;
        let prefix = properties.get("prefix").unwrap_or_default().to_owned();
        let numbers = floe.segment(&format!("{prefix}numbers")).map_err(|error| error.to_string())?;
        Ok(CheckDigit { prefix, numbers })
    });
    Ok(serve(Config::load_with(file.as_ref(), kinds)?)?)
}
