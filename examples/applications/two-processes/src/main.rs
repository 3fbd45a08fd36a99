//! Two processes mint the same name from one ledger file.
//!
//! ```text
//! cargo run -p two-processes -- ids.db 100000
//! ```
//!
//! The process starts itself once more. It mints while the other one does, reads the other's IDs, and looks for an ID
//! that was minted twice.

use std::collections::HashSet;
use std::env;
use std::error::Error;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::process::{Command, Stdio};

use floe::{Floe, Generator, Layout};
use floe_ledger::Sqlite;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let (file, count, other) = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [file, count] => (file, count, false),
        [file, count, "other"] => (file, count, true),
        _ => return Err("usage: two-processes FILE COUNT".into()),
    };
    let floe = Floe::open(Sqlite::open(file)?)?;
    let orders = floe.snowflake("orders", Layout::TWITTER)?;
    if other {
        print(&orders, count.parse()?)?
    } else {
        compare(&orders, file, count)?
    }
    floe.close();
    Ok(())
}

/// The other process: prints its IDs.
fn print(orders: &Generator, count: usize) -> Result<(), Box<dyn Error>> {
    let mut out = BufWriter::new(io::stdout().lock());
    for id in orders.minter().ids().take(count) {
        writeln!(out, "{}", id?)?;
    }
    Ok(out.flush()?)
}

/// The first process: mints an ID for each one that the other prints, and compares.
fn compare(orders: &Generator, file: &str, count: &str) -> Result<(), Box<dyn Error>> {
    let mut other =
        Command::new(env::current_exe()?).args([file, count, "other"]).stdout(Stdio::piped()).spawn()?;
    let theirs = BufReader::new(other.stdout.take().ok_or("the other process has no output")?);
    let (mut seen, mut twice) = (HashSet::new(), 0);
    for line in theirs.lines() {
        for id in [line?.parse()?, orders.mint()?] {
            twice += usize::from(!seen.insert(id));
        }
    }
    if !other.wait()?.success() {
        return Err("the other process failed".into());
    }
    println!("{} IDs of two processes, {twice} of them twice", seen.len());
    Ok(())
}
