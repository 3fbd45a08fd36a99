//! Columns by libraries that say without a server what they would send. Real servers and files are asked in `floe-ledger`'s tests.

use floe_id::kind::{Ksuid, NanoId, ObjectId, Ulid, Uuid};
use floe_id::{Id, WideId};

floe_id::id! {
    struct OrderId;
    struct SessionId(Ulid);
}

#[cfg(feature = "diesel")]
mod diesel_2 {
    use diesel::debug_query;
    use diesel::pg::Pg;
    use diesel::prelude::*;

    use super::*;

    diesel::table! {
        orders (id) {
            id -> BigInt,
            parent -> Nullable<BigInt>,
            session -> Uuid,
            code -> Text,
            object -> Binary,
            related -> Array<BigInt>,
        }
    }

    #[derive(Queryable, Selectable, Insertable, Identifiable, AsChangeset)]
    #[diesel(table_name = orders)]
    struct Order {
        id: OrderId,
        parent: Option<OrderId>,
        session: SessionId,
        code: NanoId,
        object: ObjectId,
        related: Vec<OrderId>,
    }

    #[test]
    fn diesel_binds_ids_as_the_columns_types() {
        let order = Order {
            id: OrderId::new(Id::MAX),
            parent: Some(OrderId::new(Id::from(7_u8))),
            session: SessionId::new(Ulid::MAX),
            code: "abc".parse().unwrap(),
            object: ObjectId::from_bytes([9; 12]),
            related: vec![OrderId::new(Id::from(1_u8))],
        };
        assert_eq!(Identifiable::id(&order), &order.id);
        let insert = diesel::insert_into(orders::table).values(&order);
        let said = debug_query::<Pg, _>(&insert).to_string();
        assert!(
            said.starts_with(
                r#"INSERT INTO "orders" ("id", "parent", "session", "code", "object", "related")"#
            ),
            "{said}"
        );
        for bound in
            ["9223372036854775807", ", 7, ", "ffffffff-ffff-ffff-ffff-ffffffffffff", "\"abc\"", "[9, 9,"]
        {
            assert!(said.contains(bound), "{bound}: {said}");
        }
        let all = orders::table
            .filter(orders::id.eq(order.id))
            .filter(orders::parent.eq(order.parent))
            .filter(orders::id.eq_any([order.id, OrderId::new(Id::from(8_u8))]))
            .filter(orders::code.eq(order.code))
            .or_filter(orders::parent.eq(Id::MAX))
            .select(Order::as_select());
        let said = debug_query::<Pg, _>(&all).to_string();
        assert!(said.contains(r#""orders"."id" = $1"#), "{said}");
        assert!(debug_query::<Pg, _>(&diesel::update(&order).set(&order)).to_string().contains("UPDATE"));
    }
}

#[cfg(feature = "postgres-types")]
mod postgres {
    use bytes::BytesMut;
    use postgres_types::{FromSql, IsNull, ToSql, Type};

    use super::*;

    /// In a column of this type it is these bytes, and comes back from them.
    fn kept<T>(id: T, column: &Type, bytes: &[u8])
    where
        T: ToSql + for<'a> FromSql<'a> + PartialEq + std::fmt::Debug,
    {
        assert!(<T as ToSql>::accepts(column) && <T as FromSql<'_>>::accepts(column), "{column}");
        let mut out = BytesMut::new();
        assert!(matches!(id.to_sql_checked(column, &mut out), Ok(IsNull::No)));
        assert_eq!(out, bytes, "{column}");
        assert_eq!(T::from_sql(column, bytes).unwrap(), id, "{column}");
    }

    #[test]
    fn an_id_is_the_bytes_of_the_columns_type() {
        kept(Id::MAX, &Type::INT8, &i64::MAX.to_be_bytes());
        kept(OrderId::new(Id::from(7_u8)), &Type::INT8, &[0, 0, 0, 0, 0, 0, 0, 7]);
        kept(WideId::from(7_u8), &Type::BYTEA, &WideId::from(7_u8).to_bytes());
        kept(WideId::MAX, &Type::TEXT, b"340282366920938463463374607431768211455");
        for column in [Type::UUID, Type::BYTEA] {
            kept(Uuid::MAX, &column, &[0xff; 16]);
            kept(Ulid::MAX, &column, &[0xff; 16]);
            kept(SessionId::new(Ulid::MAX), &column, &[0xff; 16]);
        }
        kept(Ulid::MAX, &Type::VARCHAR, b"7ZZZZZZZZZZZZZZZZZZZZZZZZZ");
        kept(ObjectId::from_bytes([9; 12]), &Type::BYTEA, &[9; 12]);
        kept(ObjectId::from_bytes([9; 12]), &Type::TEXT, b"090909090909090909090909");
        kept(Ksuid::MAX, &Type::BYTEA, &[0xff; 20]);
        kept("abc".parse::<NanoId>().unwrap(), &Type::TEXT, b"abc");
    }

    #[test]
    fn what_a_column_holds_is_checked() {
        assert!(Id::from_sql(&Type::INT8, &(-1_i64).to_be_bytes()).is_err());
        assert!(OrderId::from_sql(&Type::INT8, &(-1_i64).to_be_bytes()).is_err());
        assert!(WideId::from_sql(&Type::BYTEA, &[1; 15]).is_err());
        assert!(WideId::from_sql(&Type::TEXT, b"007").is_err());
        assert!(Uuid::from_sql(&Type::BYTEA, &[1; 17]).is_err());
        assert!(Ulid::from_sql(&Type::TEXT, b"01ARZ3NDEKTSV4RRFFQ69G5FAU").is_err());
        // A column of another width would cut an ID, and one of floating-point numbers its last digits.
        for column in [Type::INT4, Type::FLOAT8, Type::NUMERIC, Type::TEXT] {
            assert!(!<Id as ToSql>::accepts(&column) && !<Id as FromSql<'_>>::accepts(&column), "{column}");
        }
        for column in [Type::INT8, Type::UUID] {
            assert!(!<WideId as ToSql>::accepts(&column) && !<Ksuid as ToSql>::accepts(&column), "{column}");
        }
    }
}

#[cfg(feature = "sea-orm")]
mod sea_orm_2 {
    use sea_orm::sea_query::{ColumnType, Nullable, StringLen, ValueType};
    use sea_orm::{DbErr, TryFromU64, Value};

    use super::*;

    /// It is this value of SeaORM, and comes back from it.
    fn kept<T>(id: T, value: Value, column: ColumnType)
    where
        T: Into<Value> + ValueType + Nullable + TryFromU64 + Copy + PartialEq + std::fmt::Debug,
    {
        assert_eq!(id.into(), value);
        assert_eq!(<T as ValueType>::try_from(value.clone()).ok(), Some(id));
        assert_eq!(T::column_type(), column);
        assert_eq!(std::mem::discriminant(&T::null()), std::mem::discriminant(&value));
        assert_eq!(Value::from(None::<T>), T::null());
        assert!(<T as ValueType>::try_from(Value::Bool(Some(true))).is_err());
    }

    #[test]
    fn ids_are_values() {
        let text = |characters| ColumnType::String(StringLen::N(characters));
        kept(Id::MAX, Value::from(i64::MAX), ColumnType::BigInteger);
        kept(OrderId::new(Id::MAX), Value::from(i64::MAX), ColumnType::BigInteger);
        kept(WideId::MAX, Value::from(vec![255_u8; 16]), ColumnType::Binary(16));
        kept(Uuid::NIL, Value::from("00000000-0000-0000-0000-000000000000"), text(36));
        kept(Ulid::MAX, Value::from("7ZZZZZZZZZZZZZZZZZZZZZZZZZ"), text(26));
        kept(SessionId::new(Ulid::MAX), Value::from("7ZZZZZZZZZZZZZZZZZZZZZZZZZ"), text(26));
        kept(ObjectId::from_bytes([9; 12]), Value::from("090909090909090909090909"), text(24));
        kept(
            "0ujtsYcgvSTl8PAuAdqWYSMnLOv".parse::<Ksuid>().unwrap(),
            Value::from("0ujtsYcgvSTl8PAuAdqWYSMnLOv"),
            text(27),
        );
        kept("abc".parse::<NanoId>().unwrap(), Value::from("abc"), text(63));
    }

    #[test]
    fn what_a_column_holds_is_checked() {
        assert!(<Id as ValueType>::try_from(Value::from(-1_i64)).is_err());
        assert!(<OrderId as ValueType>::try_from(Value::from(-1_i64)).is_err());
        assert!(<WideId as ValueType>::try_from(Value::from(vec![1_u8; 15])).is_err());
        assert!(<Ulid as ValueType>::try_from(Value::from("01ARZ3NDEKTSV4RRFFQ69G5FAU")).is_err());
        assert_eq!(OrderId::try_from_u64(7), Ok(OrderId::new(Id::from(7_u8))));
        assert_eq!(Id::try_from_u64(1 << 63), Err(DbErr::ConvertFromU64("Id")));
        assert_eq!(Ulid::try_from_u64(7), Err(DbErr::ConvertFromU64("Ulid")));
    }
}
