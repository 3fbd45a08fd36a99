//! A web service with axum. Orders are in PostgreSQL by sqlx, and floe's ledger is in the same database.
//!
//! ```text
//! DATABASE_URL=postgres://… ORDER_KEY=$(openssl rand -hex 16) cargo run -p axum-sqlx
//! curl -d tea http://127.0.0.1:3000/orders
//! ```
//!
//! The table's key is a number in the order of time. The customer sees a sealed text, which does not show how many
//! orders exist.

use std::env;
use std::error::Error;

use axum::extract::{Path, State};
use axum::http::{StatusCode, header::RETRY_AFTER};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use floe::form::{Form, FormError, Key, KeyId, Keys};
use floe::{Floe, Formed, Layout, MintError};
use sqlx::PgPool;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

floe::id! {
    /// The key of the table `orders`.
    pub struct OrderId;
}

#[derive(serde::Serialize)]
struct Order {
    id: String,
    item: String,
}

#[derive(Clone)]
struct Shop {
    orders: Formed,
    db: PgPool,
}

async fn place(State(shop): State<Shop>, item: String) -> Result<(StatusCode, Json<Order>), Failed> {
    let (id, public_id) = shop.orders.mint_async().await?;
    let insert =
        sqlx::query("INSERT INTO orders (id, item) VALUES ($1, $2)").bind(OrderId::from(id)).bind(&item);
    insert.execute(&shop.db).await?;
    Ok((StatusCode::CREATED, Json(Order { id: public_id, item })))
}

async fn show(State(shop): State<Shop>, Path(public_id): Path<String>) -> Result<Json<Order>, Failed> {
    let id: OrderId = shop.orders.read(&public_id)?.into();
    let select = sqlx::query_scalar("SELECT item FROM orders WHERE id = $1").bind(id);
    let item = select.fetch_optional(&shop.db).await?.ok_or(Failed::Missing)?;
    Ok(Json(Order { id: public_id, item }))
}

#[derive(Debug, thiserror::Error)]
enum Failed {
    #[error("no order can be placed: {0}")]
    Mint(#[from] MintError),
    #[error("this is not the ID of an order: {0}")]
    Text(#[from] FormError),
    #[error("there is no such order")]
    Missing,
    #[error("the database: {0}")]
    Database(#[from] sqlx::Error),
}

impl IntoResponse for Failed {
    fn into_response(self) -> Response {
        let text = self.to_string();
        match self {
            Self::Mint(error) => match error.retry_after() {
                Some(after) => {
                    let seconds = after.as_secs().max(1).to_string();
                    (StatusCode::SERVICE_UNAVAILABLE, [(RETRY_AFTER, seconds)], text).into_response()
                }
                None => (StatusCode::INTERNAL_SERVER_ERROR, text).into_response(),
            },
            Self::Text(_) => (StatusCode::BAD_REQUEST, text).into_response(),
            Self::Missing => (StatusCode::NOT_FOUND, text).into_response(),
            Self::Database(_) => (StatusCode::INTERNAL_SERVER_ERROR, text).into_response(),
        }
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let url =
        env::var("DATABASE_URL").map_err(|_| "DATABASE_URL is not set: postgres://user@host/database")?;
    let key = env::var("ORDER_KEY").map_err(|_| "ORDER_KEY is not set: openssl rand -hex 16")?;
    let listen = env::var("LISTEN").unwrap_or("127.0.0.1:3000".to_owned());

    let db = PgPool::connect(&url).await?;
    let create = "CREATE TABLE IF NOT EXISTS orders (id BIGINT PRIMARY KEY, item TEXT NOT NULL)";
    sqlx::query(create).execute(&db).await?;

    let floe = Floe::open_async(floe_ledger::open_async(&url).await?).await?;
    let keys = Keys::new().with(KeyId::new(1), key.parse::<Key>()?)?;
    let form = "sealed key=1 base62 width=11 prefix=ord_".parse::<Form>()?.with_keys(&keys)?;
    let orders = floe.formed_async("orders", Layout::TWITTER, form).await?;

    let routes = Router::new().route("/orders", post(place)).route("/orders/{id}", get(show));
    let listener = TcpListener::bind(listen).await?;
    println!("listening on {}", listener.local_addr()?);
    let mut terminate = signal(SignalKind::terminate())?;
    axum::serve(listener, routes.with_state(Shop { orders, db }))
        .with_graceful_shutdown(async move {
            terminate.recv().await;
        })
        .await?;
    // Gives back the last reserved time that was not used.
    floe.close_async().await;
    Ok(())
}
