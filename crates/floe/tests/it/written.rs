//! A dated ID in what other libraries write.

use floe::{DatedId, DatedShape, Overflow};

fn dated() -> DatedId {
    DatedShape::new("UTC", 4, "INV", Overflow::Refuse).unwrap().id_at((1 << 40) + 41).unwrap()
}

#[test]
fn a_dated_id_is_its_text_everywhere() {
    let id = dated();
    assert_eq!(serde_json::to_value(&id).unwrap(), id.to_string());
    #[cfg(feature = "schemars")]
    assert_eq!(
        serde_json::to_value(floe_id::__private::schemars_1::schema_for!(DatedId)).unwrap()["type"],
        "string"
    );
    #[cfg(feature = "sea-orm")]
    {
        use floe_id::__private::sea_orm_2::Value;
        assert_eq!(Value::from(id.clone()), Value::from(id.to_string()));
    }
    #[cfg(feature = "diesel")]
    {
        use floe_id::__private::diesel_2 as diesel;
        use floe_id::__private::diesel_2::expression::AsExpression;
        let bound = AsExpression::<diesel::sql_types::Text>::as_expression(&id);
        let said = diesel::debug_query::<diesel::pg::Pg, _>(&diesel::select(bound)).to_string();
        assert!(said.contains(&format!("{:?}", id.to_string())), "{said}");
    }
}
