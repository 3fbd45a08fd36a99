//! IDs in columns of a real PostgreSQL, by the clients that people use: tokio-postgres and sqlx.

use std::fmt::Debug;

use floe::Id;
use floe::kind::{
    Ksuid, KsuidGenerator, Mint, NanoId, NanoIdGenerator, ObjectId, ObjectIdGenerator, Ulid, UlidGenerator,
    Uuid, UuidV4Generator, UuidV7Generator,
};
use floe_testbed::Postgres;
use sqlx_core::connection::Connection;
use sqlx_core::decode::Decode;
use sqlx_core::encode::Encode;
use sqlx_core::query::query;
use sqlx_core::row::Row;
use sqlx_core::types::{Text, Type};
use sqlx_postgres::{PgConnection, Postgres as Sqlx};
use tokio_postgres::types::{FromSqlOwned, ToSql};
use tokio_postgres::{Client, NoTls};

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

async fn tokio_postgres() -> Client {
    let (client, connection) = tokio_postgres::connect(&Postgres::shared().url(), NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

async fn sqlx() -> PgConnection {
    PgConnection::connect(&Postgres::shared().url()).await.unwrap()
}

/// An ID in a column of each type comes back, alone and in an array, and the server itself sees `text`.
async fn kept<T>(client: &Client, id: T, columns: &[&str], text: &str)
where
    T: ToSql + FromSqlOwned + Sync + PartialEq + Debug + Copy,
{
    for column in columns {
        let row = client
            .query_one(
                &format!("SELECT $1::{column}, $1::{column}::text = $2 OR '{column}' = 'bytea', $3::{column}[], $4::{column}"),
                &[&id, &text, &vec![id, id], &None::<T>],
            )
            .await
            .unwrap_or_else(|error| panic!("{column}: {error:?}"));
        assert_eq!(row.get::<_, T>(0), id, "{column}");
        assert!(row.get::<_, bool>(1), "{column} shows {id:?} as another text");
        assert_eq!(row.get::<_, Vec<T>>(2), [id, id], "{column}");
        assert_eq!(row.get::<_, Option<T>>(3), None, "{column}");
    }
    // Another type is refused by the client, before the server sees anything.
    let error = client.query_one("SELECT $1::float8", &[&id]).await.unwrap_err();
    assert!(error.to_string().contains("serializing parameter 0"), "{error}");
}

#[test]
fn by_tokio_postgres() {
    block_on(async {
        let client = tokio_postgres().await;
        for id in [UuidV4Generator::new().mint().unwrap(), UuidV7Generator::new().mint().unwrap(), Uuid::MAX]
        {
            kept(&client, id, &["uuid", "bytea", "text", "varchar(36)", "char(36)"], &id.to_string()).await;
        }
        let id = UlidGenerator::new().mint().unwrap();
        kept(&client, id, &["text", "char(26)", "bytea"], &id.to_string()).await;
        kept(&client, id, &["uuid"], &Uuid::from(id).to_string()).await;
        let id = ObjectIdGenerator::new().mint().unwrap();
        kept(&client, id, &["text", "char(24)", "bytea"], &id.to_string()).await;
        let id = KsuidGenerator::new().mint().unwrap();
        kept(&client, id, &["text", "char(27)", "bytea"], &id.to_string()).await;
        let id = NanoIdGenerator::default().mint().unwrap();
        kept(&client, id, &["text", "varchar(21)"], id.as_str()).await;
        kept(&client, Id::MAX, &["bigint"], &Id::MAX.to_string()).await;
    });
}

#[test]
fn the_order_of_a_column_is_the_order_of_the_ids() {
    block_on(async {
        let client = tokio_postgres().await;
        let ids = UuidV7Generator::new().mint_many(100).unwrap();
        let sql = "SELECT array_agg(id ORDER BY id DESC) FROM unnest($1::uuid[]) AS id";
        let mut sorted: Vec<Uuid> = client.query_one(sql, &[&ids]).await.unwrap().get(0);
        sorted.reverse();
        assert_eq!(sorted, ids);
    });
}

#[test]
fn what_is_no_id_is_an_error_of_the_column() {
    block_on(async {
        let client = tokio_postgres().await;
        for (sql, error) in [
            ("SELECT '01ARZ3NDEKTSV4RRFFQ69G5FAU'::text", "'U' at byte 25 cannot be there in a ULID"),
            ("SELECT '01ARZ3NDEKTSV4RRFFQ69G5FAV'::char(30)", "30 bytes are no ULID"),
            ("SELECT '\\x0102'::bytea", "2 bytes are no ULID"),
        ] {
            let row = client.query_one(sql, &[]).await.unwrap();
            let found = row.try_get::<_, Ulid>(0).unwrap_err();
            let cause = std::error::Error::source(&found).map(ToString::to_string).unwrap_or_default();
            assert!(cause.contains(error), "{sql}: {cause}");
        }
        let row = client.query_one("SELECT -1::bigint, 7::int", &[]).await.unwrap();
        let found = row.try_get::<_, Id>(0).unwrap_err();
        assert!(format!("{found:?}").contains("Negative(-1)"), "{found:?}");
        assert!(row.try_get::<_, Id>(1).is_err(), "another width is another type");

        let mut client = sqlx().await;
        let row = query::<Sqlx>("SELECT 'zz', '\\x01'::bytea, -1::bigint, 1.5::float8")
            .fetch_one(&mut client)
            .await
            .unwrap();
        for (found, error) in [
            (row.try_get::<Uuid, _>(0).unwrap_err(), "'z' at byte 0 cannot be there in a UUID"),
            (row.try_get::<ObjectId, _>(1).unwrap_err(), "1 bytes are no ObjectId"),
            (row.try_get::<Id, _>(2).unwrap_err(), "-1 is negative"),
            (row.try_get::<Ksuid, _>(3).unwrap_err(), "is not compatible with SQL type `FLOAT8`"),
            (row.try_get_unchecked::<NanoId, _>(3).unwrap_err(), "a column of FLOAT8 holds no NanoId"),
        ] {
            assert!(found.to_string().contains(error), "{found}");
        }
    });
}

/// An ID that is bound comes back from the column that it is written to, and from one of the other type.
async fn bound<T>(client: &mut PgConnection, id: T, column: &str, other: &str, text: &str)
where
    T: for<'q> Encode<'q, Sqlx> + for<'r> Decode<'r, Sqlx> + Type<Sqlx> + PartialEq + Debug + Copy + 'static,
{
    let sql = format!("SELECT pg_typeof($1)::text, $1, $1::text, {other}, $2");
    let arguments = query::<Sqlx>(&sql).bind(id).bind(None::<T>);
    let row = arguments.fetch_one(client).await.unwrap_or_else(|error| panic!("{column}: {error}"));
    assert_eq!(row.get::<String, _>(0), column);
    assert_eq!(row.get::<T, _>(1), id);
    assert_eq!(row.get::<String, _>(2), text);
    assert_eq!(row.get::<T, _>(3), id, "{other}");
    assert_eq!(row.get::<Option<T>, _>(4), None);
}

#[test]
fn by_sqlx() {
    block_on(async {
        let client = &mut sqlx().await;
        for id in [UuidV4Generator::new().mint().unwrap(), UuidV7Generator::new().mint().unwrap(), Uuid::NIL]
        {
            bound(client, id, "uuid", "$1::text", &id.to_string()).await;
        }
        let ulid = UlidGenerator::new().mint().unwrap();
        bound(client, ulid, "uuid", &format!("'{ulid}'::text"), &Uuid::from(ulid).to_string()).await;
        let id = ObjectIdGenerator::new().mint().unwrap();
        bound(client, id, "text", "decode($1, 'hex')", &id.to_string()).await;
        let ksuid = KsuidGenerator::new().mint().unwrap();
        let bytes: String = ksuid.to_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
        bound(client, ksuid, "text", &format!("'\\x{bytes}'::bytea"), &ksuid.to_string()).await;
        let id = NanoIdGenerator::default().mint().unwrap();
        bound(client, id, "text", "$1::varchar", id.as_str()).await;
        bound(client, Id::MAX, "bigint", "$1::bigint", &Id::MAX.to_string()).await;
        // The column's other type is written by what sqlx has for it.
        let arguments = query::<Sqlx>("SELECT $1::text, $2::bytea").bind(Text(ulid)).bind(ksuid.to_bytes());
        let row = arguments.fetch_one(client).await.unwrap();
        assert_eq!((row.get::<Ulid, _>(0), row.get::<Ksuid, _>(1)), (ulid, ksuid));
    });
}
