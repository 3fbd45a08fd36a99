//! Reserves ranges of one name and prints each as `START END`, after a line with the id of the realm:
//!
//! ```text
//! cargo run -p floe-ledger --example reserve -- sqlite:ids.db orders 100 5
//! ```
//!
//! Start several at once on one file, and kill some: no two lines ever overlap. The tests do exactly that.

use std::error::Error;
use std::io::Write;

use floe::Name;
use floe::ledger::{Key, Reply, Reserve, Token};
use floe_ledger::DEFAULT_REALM;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [url, name, count, times] = arguments.as_slice() else {
        return Err("usage: reserve URL NAME COUNT TIMES".into());
    };
    let (key, count, times) = (Key::name(&Name::new(name)?), count.parse()?, times.parse::<u64>()?);
    let ledger = floe_ledger::open_in(url, DEFAULT_REALM).map_err(|error| error.to_string())?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "{}", ledger.realm_id()?)?;
    out.flush()?;
    for _ in 0..times {
        let request = Reserve {
            key: key.clone(),
            floor: 0,
            count,
            max_mark: u64::MAX,
            token: Token::random()?,
            create: true,
            note: Some(format!("pid {}", std::process::id())),
        };
        if let Reply::Got { start, end, .. } = ledger.reserve(&request).map_err(|error| error.to_string())? {
            writeln!(out, "{start} {end}")?;
            out.flush()?;
        }
    }
    Ok(())
}
