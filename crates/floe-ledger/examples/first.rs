//! The first program of docs/start.md: keep the two equal.
use floe::{Batch, Floe, Id, Layout};
use floe_ledger::Sqlite;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let ids = Floe::open(Sqlite::open("ids.db")?)?; // runs a thread; its drop gives unused IDs back
    let orders = ids.snowflake("orders", Layout::TWITTER)?; // Clone + Send + Sync, lock-free
    let id: Id = orders.mint()?; // waits at most a second
    let many: Batch = orders.mint_many(1_000)?; // an iterator; it stores two numbers, not 1,000
    let mut fast = orders.minter(); // for one thread; faster
    println!("{id} {} {} {}", many.len(), fast.mint()?, orders.inspect(id)?.time);
    Ok(())
}
