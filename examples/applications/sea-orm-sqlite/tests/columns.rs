//! Every kind of ID is a column of SQLite by SeaORM.

use floe::kind::{Ksuid, NanoId, ObjectId, Ulid, Uuid};
use floe::{Id, WideId};
use sea_orm::{
    ActiveModelTrait, ColumnTrait, ConnectionTrait, Database, EntityTrait, IntoActiveModel, QueryFilter,
    QueryOrder, Schema, Set,
};

floe::id! {
    pub struct OrderId;
    pub struct SessionId(Ulid);
}

mod order {
    use floe::WideId;
    use floe::kind::{Ksuid, NanoId, ObjectId, Uuid};
    use sea_orm::entity::prelude::*;

    use super::{OrderId, SessionId};

    #[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
    #[sea_orm(table_name = "orders")]
    pub struct Model {
        #[sea_orm(primary_key, auto_increment = false)]
        pub id: OrderId,
        pub parent: Option<OrderId>,
        pub wide: WideId,
        pub session: SessionId,
        pub request: Option<Uuid>,
        pub object: ObjectId,
        pub file: Ksuid,
        pub code: Option<NanoId>,
    }

    #[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
    pub enum Relation {}

    impl ActiveModelBehavior for ActiveModel {}
}

fn order(number: u32, parent: Option<OrderId>) -> order::Model {
    order::Model {
        id: OrderId::new(Id::from(number)),
        parent,
        wide: WideId::new(1 << number),
        session: SessionId::new(Ulid::MAX),
        request: parent.map(|_| Uuid::MAX),
        object: ObjectId::from_bytes([9; 12]),
        file: Ksuid::from_bytes([7; 20]),
        code: parent.map(|_| "V1StGXR8_Z5jdHi6B-myT".parse::<NanoId>().unwrap()),
    }
}

#[tokio::test]
async fn ids_are_columns() {
    let db = &Database::connect("sqlite::memory:").await.unwrap();
    let table = Schema::new(db.get_database_backend()).create_table_from_entity(order::Entity);
    db.execute(&table).await.unwrap();
    let first = order(7, None);
    let second = order(100, Some(first.id));
    for order in [&first, &second] {
        assert_eq!(&order.clone().into_active_model().insert(db).await.unwrap(), order);
    }

    let orders = order::Entity::find;
    assert_eq!(order::Entity::find_by_id(first.id).one(db).await.unwrap().as_ref(), Some(&first));
    for filter in [
        order::Column::Parent.eq(first.id),
        order::Column::Wide.eq(second.wide),
        order::Column::Code.eq(second.code),
        order::Column::Id.is_in([second.id]),
    ] {
        assert_eq!(orders().filter(filter).all(db).await.unwrap(), std::slice::from_ref(&second));
    }
    let descending = orders().order_by_desc(order::Column::Wide).all(db).await.unwrap();
    assert_eq!(descending, [second.clone(), first.clone()]);

    let mut changed = second.into_active_model();
    changed.wide = Set(WideId::MAX);
    assert_eq!(changed.update(db).await.unwrap().wide, WideId::MAX);

    db.execute_unprepared("UPDATE orders SET id = -id WHERE id = 100").await.unwrap();
    let error = format!("{:?}", orders().all(db).await.unwrap_err());
    assert!(error.contains("-100 is negative"), "{error}");
}
