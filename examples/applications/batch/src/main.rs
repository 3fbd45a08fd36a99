//! Writes millions of IDs into a file, one a line.
//!
//! ```text
//! cargo run --release -p batch -- ids.txt 5000000
//! ```

use std::env;
use std::error::Error;
use std::fs::File;
use std::io::{BufWriter, Write};

use floe::{Floe, Layout};
use floe_ledger::Sqlite;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [file, count] = arguments.as_slice() else {
        return Err("usage: batch FILE COUNT".into());
    };
    let count: usize = count.parse()?;
    let mut out = BufWriter::new(File::create(file)?);

    let floe = Floe::open(Sqlite::open("ids.db")?)?;
    // One thread's own minter: it mints without touching memory that other threads write.
    let mut rows = floe.snowflake("rows", Layout::TWITTER)?.minter();
    for id in rows.ids().take(count) {
        writeln!(out, "{}", id?)?;
    }
    out.flush()?;
    floe.close();
    println!("{count} IDs in {file}");
    Ok(())
}
