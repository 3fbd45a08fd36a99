//! Places an order of several lines in SQLite, by SeaORM.
//!
//! ```text
//! cargo run -p sea-orm-sqlite -- shop.db tea rice
//! ```
//!
//! The IDs exist before the rows: the order and its lines refer to each other, and the database is not asked for a key.

use std::env;
use std::error::Error;

use floe::{Floe, Layout};
use sea_orm::{ActiveModelTrait, ConnectionTrait, Database, EntityTrait, QueryOrder, Set, TransactionTrait};

floe::id! {
    /// The key of the table `orders`.
    pub struct OrderId;
    /// The key of the table `lines`: an `OrderId` in its place does not compile.
    pub struct LineId;
}

mod order {
    use sea_orm::entity::prelude::*;

    #[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
    #[sea_orm(table_name = "orders")]
    pub struct Model {
        #[sea_orm(primary_key, auto_increment = false)]
        pub id: super::OrderId,
        pub customer: String,
    }

    #[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
    pub enum Relation {}

    impl ActiveModelBehavior for ActiveModel {}
}

mod line {
    use sea_orm::entity::prelude::*;

    #[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
    #[sea_orm(table_name = "lines")]
    pub struct Model {
        #[sea_orm(primary_key, auto_increment = false)]
        pub id: super::LineId,
        pub order_id: super::OrderId,
        pub item: String,
    }

    #[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
    pub enum Relation {}

    impl ActiveModelBehavior for ActiveModel {}
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args().skip(1);
    let (Some(file), items) = (arguments.next(), arguments.collect::<Vec<_>>()) else {
        return Err("usage: sea-orm-sqlite FILE ITEM...".into());
    };
    let db = Database::connect(format!("sqlite:{file}?mode=rwc")).await?;
    db.execute_unprepared(
        "CREATE TABLE IF NOT EXISTS orders (id BIGINT PRIMARY KEY, customer TEXT NOT NULL)",
    )
    .await?;
    let lines = "CREATE TABLE IF NOT EXISTS lines (id BIGINT PRIMARY KEY, order_id BIGINT NOT NULL, item TEXT NOT NULL)";
    db.execute_unprepared(lines).await?;

    let floe = Floe::open_async(floe_ledger::open_async(&format!("sqlite:{file}.ids")).await?).await?;
    let orders = floe.snowflake_async("orders", Layout::TWITTER).await?;
    let lines = floe.snowflake_async("lines", Layout::TWITTER).await?;

    let id: OrderId = orders.mint_async().await?.into();
    let placed = db.begin().await?;
    order::ActiveModel { id: Set(id), customer: Set("Ada".to_owned()) }.insert(&placed).await?;
    for item in items {
        let line = LineId::from(lines.mint_async().await?);
        line::ActiveModel { id: Set(line), order_id: Set(id), item: Set(item) }.insert(&placed).await?;
    }
    placed.commit().await?;

    for line in line::Entity::find().order_by_asc(line::Column::Id).all(&db).await? {
        println!("{} {} {}", line.order_id, line.id, line.item);
    }
    floe.close_async().await;
    Ok(())
}
