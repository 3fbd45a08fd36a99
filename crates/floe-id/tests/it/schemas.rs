//! Schemas of what serde writes.

use floe_id::form::Form;
use floe_id::kind::{Ksuid, NanoId, ObjectId, Ulid, Uuid};
use floe_id::{Id, Layout, UnixMillis, WideId};
use serde_json::{Value, json};

floe_id::id! {
    struct OrderId;
    struct RequestId(Uuid);
}

const ID: &str = "^(0|[1-9][0-9]{0,18})$";

fn id() -> Value {
    let description = "An ID of at most 63 bits, in decimal digits";
    json!({ "type": "string", "description": description, "pattern": ID, "examples": ["1212092628029698048"] })
}

fn uuid() -> Value {
    let example = "017f22e2-79b0-7cc3-98c4-dc0c0c07398f";
    json!({ "type": "string", "description": "A UUID", "format": "uuid", "examples": [example] })
}

fn time() -> Value {
    let example = "2010-11-04T01:42:54.657Z";
    json!({ "type": "string", "description": "A time to the millisecond", "format": "date-time", "examples": [example] })
}

/// For each type: its examples read back as written, and its pattern is that of the others' texts.
#[cfg(all(feature = "schemars", feature = "serde"))]
#[test]
fn each_example_is_what_is_written() {
    fn held<T: schemars::JsonSchema + serde::Serialize + serde::de::DeserializeOwned>() {
        let schema = serde_json::to_value(schemars::schema_for!(T)).unwrap();
        assert_eq!(schema["type"], "string");
        let example = &schema["examples"][0];
        let read: T = serde_json::from_value(example.clone()).unwrap();
        assert_eq!(&serde_json::to_value(read).unwrap(), example);
    }
    held::<Id>();
    held::<WideId>();
    held::<UnixMillis>();
    held::<Layout>();
    held::<Form>();
    held::<Uuid>();
    held::<Ulid>();
    held::<ObjectId>();
    held::<Ksuid>();
    held::<NanoId>();
    held::<OrderId>();
    held::<RequestId>();
}

#[cfg(feature = "schemars")]
#[test]
fn json_schema_says_text() {
    fn schema<T: schemars::JsonSchema>() -> Value {
        let mut schema = serde_json::to_value(schemars::schema_for!(T)).unwrap();
        let object = schema.as_object_mut().unwrap();
        object.remove("$schema");
        object.remove("title");
        schema
    }
    assert_eq!(schema::<Id>(), id());
    assert_eq!(schema::<OrderId>(), id());
    assert_eq!(schema::<Uuid>(), uuid());
    assert_eq!(schema::<RequestId>(), uuid());
    assert_eq!(schema::<UnixMillis>(), time());
    assert_eq!(schema::<WideId>()["pattern"], "^(0|[1-9][0-9]{0,38})$");
    assert_eq!(schema::<Option<OrderId>>()["type"], json!(["string", "null"]));
    assert_eq!(schema::<Vec<OrderId>>()["items"], id());
    assert_eq!(<OrderId as schemars::JsonSchema>::schema_name(), "OrderId");
}

/// What a program describes.
#[cfg(feature = "utoipa")]
mod described {
    use super::{Id, OrderId};

    #[derive(utoipa::ToSchema)]
    #[expect(dead_code, reason = "only its schema is of interest")]
    pub(super) struct Order {
        id: OrderId,
        parent: Option<OrderId>,
        #[schema(value_type = u64)]
        number: Id,
    }

    #[derive(utoipa::OpenApi)]
    #[openapi(components(schemas(Order)))]
    pub(super) struct Api;
}

#[cfg(feature = "utoipa")]
#[test]
fn openapi_says_text() {
    use utoipa::{PartialSchema, ToSchema};

    fn schema<T: PartialSchema>() -> Value {
        serde_json::to_value(T::schema()).unwrap()
    }
    assert_eq!(schema::<Id>(), id());
    assert_eq!(schema::<OrderId>(), id());
    assert_eq!(schema::<Uuid>(), uuid());
    assert_eq!(schema::<RequestId>(), uuid());
    assert_eq!(schema::<UnixMillis>(), time());
    assert_eq!((Id::name(), OrderId::name()), ("Id".into(), "OrderId".into()));

    let api = serde_json::to_value(<described::Api as utoipa::OpenApi>::openapi()).unwrap();
    let schemas = &api["components"]["schemas"];
    assert_eq!(schemas["OrderId"], id());
    assert_eq!(schemas["Order"]["properties"]["id"], json!({ "$ref": "#/components/schemas/OrderId" }));
    assert_eq!(schemas["Order"]["properties"]["number"]["type"], "integer");
}
