//! IDs in columns of a real PostgreSQL, by the clients that people use: tokio-postgres, and sqlx of both versions.

use std::fmt::Debug;

use floe::kind::{
    KsuidGenerator, Mint, NanoIdGenerator, ObjectIdGenerator, Ulid, UlidGenerator, Uuid, UuidV4Generator,
    UuidV7Generator,
};
use floe::{DatedId, DatedShape, Id, Overflow, WideId};
use floe_testbed::Postgres;
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

floe::id! {
    struct OrderId;
    struct SessionId(Ulid);
}

fn dated() -> DatedId {
    DatedShape::new("UTC", 4, "INV", Overflow::Refuse).unwrap().id_at(41).unwrap()
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
    // The client refuses another type before the server sees anything.
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
        kept(&client, WideId::MAX, &["bytea", "text", "varchar(39)"], &WideId::MAX.to_string()).await;
        kept(&client, OrderId::new(Id::MAX), &["bigint"], &Id::MAX.to_string()).await;
        kept(&client, SessionId::new(Ulid::MAX), &["text", "bytea"], &Ulid::MAX.to_string()).await;
        let row = client.query_one("SELECT $1::text, $2::text[]", &[&dated(), &vec![dated()]]).await.unwrap();
        assert_eq!(row.get::<_, String>(0), dated().to_string());
        assert_eq!(row.get::<_, Vec<String>>(1), [dated().to_string()]);
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
        let wide: Vec<_> = (0..100_u32).map(|bit| WideId::new((1 << bit) + 7)).collect();
        let sql = "SELECT array_agg(id ORDER BY id DESC) FROM unnest($1::bytea[]) AS id";
        let mut sorted: Vec<WideId> = client.query_one(sql, &[&wide]).await.unwrap().get(0);
        sorted.reverse();
        assert_eq!(sorted, wide);
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
        assert!(format!("{found:?}").contains("-1 is negative"), "{found:?}");
        assert!(row.try_get::<_, Id>(1).is_err(), "another width is another type");
        let row = client.query_one("SELECT '\\x0102'::bytea, -1::bigint", &[]).await.unwrap();
        let found = format!("{:?}", row.try_get::<_, WideId>(0).unwrap_err());
        assert!(found.contains("2 bytes are no"), "{found}");
        assert!(row.try_get::<_, OrderId>(1).is_err());
    });
}

/// The same for each version. `$sql` wraps a statement that was built at run time.
macro_rules! by_sqlx {
    ($module:ident, $core:ident, $postgres:ident, $sql:expr) => {
        mod $module {
            use floe::kind::{Ksuid, NanoId, ObjectId};
            use $core::connection::Connection;
            use $core::decode::Decode;
            use $core::encode::Encode;
            use $core::query::query;
            use $core::row::Row;
            use $core::types::{Text, Type};
            use $postgres::{PgConnection, PgHasArrayType, Postgres as Sqlx};

            use super::*;

            async fn sqlx() -> PgConnection {
                PgConnection::connect(&Postgres::shared().url()).await.unwrap()
            }

            /// A bound ID comes back from the column that it was written to, from one of the other type, and from an array.
            async fn bound<T>(client: &mut PgConnection, id: T, column: &str, other: &str, text: &str)
            where
                T: for<'q> Encode<'q, Sqlx> + for<'r> Decode<'r, Sqlx> + Type<Sqlx> + PgHasArrayType,
                T: PartialEq + Debug + Copy + Send + Sync + 'static,
            {
                let sql = $sql(format!("SELECT pg_typeof($1)::text, $1, $1::text, {other}, $2, $3"));
                let arguments = query::<Sqlx>(sql).bind(id).bind(None::<T>).bind(vec![id, id]);
                let row =
                    arguments.fetch_one(client).await.unwrap_or_else(|error| panic!("{column}: {error}"));
                assert_eq!(row.get::<String, _>(0), column);
                assert_eq!(row.get::<T, _>(1), id);
                assert_eq!(row.get::<String, _>(2), text);
                assert_eq!(row.get::<T, _>(3), id, "{other}");
                assert_eq!(row.get::<Option<T>, _>(4), None);
                assert_eq!(row.get::<Vec<T>, _>(5), [id, id]);
            }

            #[test]
            fn what_is_bound_comes_back() {
                block_on(async {
                    let client = &mut sqlx().await;
                    let v4 = UuidV4Generator::new().mint().unwrap();
                    let v7 = UuidV7Generator::new().mint().unwrap();
                    for id in [v4, v7, Uuid::NIL] {
                        bound(client, id, "uuid", "$1::text", &id.to_string()).await;
                    }
                    let hex =
                        |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
                    let ulid = UlidGenerator::new().mint().unwrap();
                    let uuid = Uuid::from(ulid).to_string();
                    bound(client, ulid, "uuid", &format!("'{ulid}'::text"), &uuid).await;
                    bound(client, SessionId::new(ulid), "uuid", &format!("'{ulid}'::text"), &uuid).await;
                    let id = ObjectIdGenerator::new().mint().unwrap();
                    bound(client, id, "text", "decode($1, 'hex')", &id.to_string()).await;
                    let ksuid = KsuidGenerator::new().mint().unwrap();
                    let bytes = format!("'\\x{}'::bytea", hex(&ksuid.to_bytes()));
                    bound(client, ksuid, "text", &bytes, &ksuid.to_string()).await;
                    let id = NanoIdGenerator::default().mint().unwrap();
                    bound(client, id, "text", "$1::varchar", id.as_str()).await;
                    bound(client, Id::MAX, "bigint", "$1::bigint", &Id::MAX.to_string()).await;
                    bound(client, OrderId::new(Id::MAX), "bigint", "$1::bigint", &Id::MAX.to_string()).await;
                    let wide = WideId::new(1 << 100);
                    let text = format!("\\x{}", hex(&wide.to_bytes()));
                    bound(client, wide, "bytea", &format!("'{wide}'::text"), &text).await;
                    // sqlx's own type writes the column's other type.
                    let arguments = query::<Sqlx>("SELECT $1::text, $2::bytea, $3");
                    let arguments = arguments.bind(Text(ulid)).bind(ksuid.to_bytes()).bind(dated());
                    let row = arguments.fetch_one(client).await.unwrap();
                    assert_eq!((row.get::<Ulid, _>(0), row.get::<Ksuid, _>(1)), (ulid, ksuid));
                    assert_eq!(row.get::<String, _>(2), dated().to_string());
                });
            }

            #[test]
            fn what_is_no_id_is_an_error_of_the_column() {
                block_on(async {
                    let mut client = sqlx().await;
                    let sql = "SELECT 'zz', '\\x01'::bytea, -1::bigint, 1.5::float8";
                    let row = query::<Sqlx>(sql).fetch_one(&mut client).await.unwrap();
                    for (found, error) in [
                        (row.try_get::<Uuid, _>(0).unwrap_err(), "'z' at byte 0 cannot be there in a UUID"),
                        (row.try_get::<ObjectId, _>(1).unwrap_err(), "1 bytes are no ObjectId"),
                        (row.try_get::<WideId, _>(1).unwrap_err(), "1 bytes are not an ID of 128 bits"),
                        (row.try_get::<Id, _>(2).unwrap_err(), "-1 is negative"),
                        (row.try_get::<OrderId, _>(2).unwrap_err(), "-1 is negative"),
                        (row.try_get::<Ksuid, _>(3).unwrap_err(), "is not compatible with SQL type `FLOAT8`"),
                        (
                            row.try_get_unchecked::<NanoId, _>(3).unwrap_err(),
                            "a column of FLOAT8 holds no NanoId",
                        ),
                    ] {
                        assert!(found.to_string().contains(error), "{found}");
                    }
                });
            }
        }
    };
}

by_sqlx!(sqlx_0_8, sqlx_core_0_8, sqlx_postgres_0_8, |sql: String| &*sql.leak());
by_sqlx!(sqlx_0_9, sqlx_core_0_9, sqlx_postgres_0_9, sqlx_core_0_9::sql_str::AssertSqlSafe);
