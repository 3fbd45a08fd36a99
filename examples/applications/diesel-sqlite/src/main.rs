//! Reads items from standard input, one a line, and keeps each as an order in SQLite, by Diesel.
//!
//! ```text
//! printf 'tea\nrice\n' | cargo run -p diesel-sqlite -- shop.db
//! ```
//!
//! It prints the orders of the last hour. No column holds their time, because the ID contains it.

use std::error::Error;
use std::{env, io};

use diesel::prelude::*;
use floe::{Floe, Id, Layout};
use floe_ledger::Sqlite;

floe::id! {
    /// The key of the table `orders`.
    pub struct OrderId;
}

diesel::table! {
    orders (id) {
        id -> BigInt,
        item -> Text,
    }
}

#[derive(Queryable, Selectable, Insertable)]
#[diesel(table_name = orders)]
struct Order {
    id: OrderId,
    item: String,
}

fn main() -> Result<(), Box<dyn Error>> {
    let file = env::args().nth(1).ok_or("usage: diesel-sqlite FILE")?;
    let db = &mut SqliteConnection::establish(&file)?;
    diesel::sql_query("CREATE TABLE IF NOT EXISTS orders (id BIGINT PRIMARY KEY, item TEXT NOT NULL)")
        .execute(db)?;

    // In its own file: restoring a backup of the shop must not restore an older ledger.
    let floe = Floe::open(Sqlite::open(format!("{file}.ids"))?)?;
    let ids = floe.snowflake("orders", Layout::TWITTER)?;
    let mut placed = Vec::new();
    for item in io::stdin().lines() {
        placed.push(Order { id: ids.mint()?.into(), item: item? });
    }
    diesel::insert_into(orders::table).values(&placed).execute(db)?;

    let now = floe.steady_time();
    let hour = Layout::TWITTER.ids_between::<Id>(now.plus(-3_600_000), now.plus(1_000))?;
    let between = orders::id.between(OrderId::from(*hour.start()), OrderId::from(*hour.end()));
    for order in orders::table.select(Order::as_select()).filter(between).order(orders::id).load(db)? {
        println!("{} {}", order.id, order.item);
    }
    floe.close();
    Ok(())
}
