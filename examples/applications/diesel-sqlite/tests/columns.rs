//! Every kind of ID is a column of SQLite by Diesel.

use diesel::prelude::*;
use floe::kind::{Ksuid, NanoId, ObjectId, Ulid, Uuid};
use floe::{Id, WideId};

floe::id! {
    pub struct OrderId;
    pub struct SessionId(Ulid);
}

diesel::table! {
    orders (id) {
        id -> BigInt,
        parent -> Nullable<BigInt>,
        wide -> Binary,
        session -> Text,
        request -> Nullable<Binary>,
        object -> Text,
        file -> Binary,
        code -> Nullable<Text>,
    }
}

#[derive(Queryable, Selectable, Insertable, Identifiable, AsChangeset, Clone, PartialEq, Debug)]
#[diesel(table_name = orders)]
struct Order {
    id: OrderId,
    parent: Option<OrderId>,
    wide: WideId,
    session: SessionId,
    request: Option<Uuid>,
    object: ObjectId,
    file: Ksuid,
    code: Option<NanoId>,
}

fn order(number: u32, parent: Option<OrderId>) -> Order {
    Order {
        id: OrderId::new(Id::from(number)),
        parent,
        wide: WideId::new(1 << number),
        session: SessionId::new(Ulid::MAX),
        request: parent.map(|_| Uuid::MAX),
        object: ObjectId::from_bytes([9; 12]),
        file: Ksuid::from_bytes([7; 20]),
        code: parent.map(|_| "V1StGXR8_Z5jdHi6B-myT".parse().unwrap()),
    }
}

#[test]
fn ids_are_columns() {
    let db = &mut SqliteConnection::establish(":memory:").unwrap();
    let table = "CREATE TABLE orders (id BIGINT PRIMARY KEY, parent BIGINT, wide BLOB NOT NULL, session TEXT NOT NULL, \
                 request BLOB, object TEXT NOT NULL, file BLOB NOT NULL, code TEXT)";
    diesel::sql_query(table).execute(db).unwrap();
    let first = order(7, None);
    let second = order(100, Some(first.id));
    diesel::insert_into(orders::table).values([&first, &second]).execute(db).unwrap();

    assert_eq!(orders::table.find(first.id).first::<Order>(db).unwrap(), first);
    let by = |filter: &str| format!("{filter} finds the second");
    let all = || orders::table.select(Order::as_select());
    assert_eq!(all().filter(orders::parent.eq(first.id)).first(db).as_ref(), Ok(&second), "{}", by("an ID"));
    assert_eq!(
        all().filter(orders::parent.eq(Some(first.id))).first(db).as_ref(),
        Ok(&second),
        "{}",
        by("an Option")
    );
    assert_eq!(all().filter(orders::wide.eq(second.wide)).first(db).as_ref(), Ok(&second), "{}", by("bytes"));
    assert_eq!(
        all().filter(orders::code.eq(second.code)).first(db).as_ref(),
        Ok(&second),
        "{}",
        by("a text")
    );
    assert_eq!(all().filter(orders::id.eq_any([second.id])).load(db), Ok(vec![second.clone()]));
    assert_eq!(all().order(orders::wide.desc()).load(db), Ok(vec![second.clone(), first.clone()]));

    let changed = Order { wide: WideId::MAX, ..second };
    diesel::update(&changed).set(&changed).execute(db).unwrap();
    assert_eq!(all().find(changed.id).first(db), Ok(changed));

    diesel::sql_query("UPDATE orders SET id = -id WHERE id = 100").execute(db).unwrap();
    let error = format!("{:?}", orders::table.select(orders::id).load::<OrderId>(db).unwrap_err());
    assert!(error.contains("-100 is negative"), "{error}");
}
