//! Numbers the invoices of 5,000 tenants: each tenant has its own name, and so its own numbers.
//!
//! ```text
//! cargo run --release -p tenants -- 5000
//! ```
//!
//! It prints the number of each tenant's next invoice, and how much memory a name takes.

use std::env;
use std::error::Error;
use std::fs;

use floe::{Definition, Floe, Name, NameOptions};
use floe_ledger::Sqlite;

fn main() -> Result<(), Box<dyn Error>> {
    let count: u64 = env::args().nth(1).ok_or("usage: tenants COUNT")?.parse()?;
    let tenants = (1..=count).map(|tenant| Name::new(&format!("invoices-{tenant}")));
    let tenants = tenants.collect::<Result<Vec<Name>, _>>()?;
    let floe = Floe::open(Sqlite::open("ids.db")?)?;

    // At the start: open the known tenants' names, several at a time.
    let known: Vec<_> =
        tenants.iter().map(|name| (name.clone(), Definition::SEGMENT, NameOptions::default())).collect();
    let before = memory()?;
    for handle in floe.define_many(&known) {
        handle?;
    }
    let defined = memory()?;

    // At a request, for any tenant: a name that is served is found in memory, and a new one is defined.
    for tenant in &tenants {
        println!("{tenant} {}", floe.segment(tenant.as_str())?.mint()?);
    }
    let minted = memory()?;
    eprintln!("{} bytes of memory for a name that is defined", defined.saturating_sub(before) / count);
    eprintln!("{} bytes for one that has minted", minted.saturating_sub(before) / count);

    // A tenant without a name in memory takes none. Its numbers stay in the ledger.
    let unloaded = tenants.iter().filter(|name| floe.unload(name)).count();
    eprintln!("{unloaded} names unloaded");
    floe.close();
    Ok(())
}

/// The memory of this process, as Linux reports it.
fn memory() -> Result<u64, Box<dyn Error>> {
    let status = fs::read_to_string("/proc/self/status")?;
    let kib = status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.strip_suffix("kB"));
    Ok(kib.ok_or("/proc/self/status has no VmRSS")?.trim().parse::<u64>()? * 1024)
}
