//! Schemas of what `serde` writes into JSON: JSON Schema by schemars, OpenAPI by utoipa.

use crate::form::Form;
use crate::kind::{Ksuid, NanoId, ObjectId, Ulid, Uuid};
use crate::{Id, Layout, UnixMillis, WideId};

/// The schema of a text.
#[derive(Clone, Copy, Debug)]
pub struct Text {
    /// What it is.
    pub description: &'static str,
    /// A format that others know by this name.
    pub format: Option<&'static str>,
    /// The regular expression of what is written.
    pub pattern: Option<&'static str>,
    /// One of them.
    pub example: &'static str,
}

impl Text {
    /// Makes the schema of a text that has no format and no pattern.
    pub const fn new(description: &'static str, example: &'static str) -> Self {
        Self { description, format: None, pattern: None, example }
    }

    const fn format(self, format: &'static str) -> Self {
        Self { format: Some(format), ..self }
    }

    const fn pattern(self, pattern: &'static str) -> Self {
        Self { pattern: Some(pattern), ..self }
    }
}

/// A type that is a text in JSON.
pub trait InJson {
    /// The text's schema.
    const TEXT: Text;
}

/// For [`id!`](crate::id): as the type inside.
#[cfg(feature = "schemars")]
#[doc(hidden)]
#[macro_export]
macro_rules! __id_schemars {
    ($name:ident, $inner:ty) => {
        impl $crate::__private::schemars_1::JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> $crate::__private::Cow<'static, str> {
                ::core::stringify!($name).into()
            }

            fn schema_id() -> $crate::__private::Cow<'static, str> {
                ::core::concat!(::core::module_path!(), "::", ::core::stringify!($name)).into()
            }

            fn json_schema(
                _: &mut $crate::__private::schemars_1::SchemaGenerator,
            ) -> $crate::__private::schemars_1::Schema {
                $crate::__private::json_schema(&<$inner as $crate::__private::InJson>::TEXT)
            }
        }
    };
}

/// For [`id!`](crate::id): as the type inside.
#[cfg(feature = "utoipa")]
#[doc(hidden)]
#[macro_export]
macro_rules! __id_utoipa {
    ($name:ident, $inner:ty) => {
        impl $crate::__private::utoipa_6::PartialSchema for $name {
            fn schema()
            -> $crate::__private::utoipa_6::openapi::RefOr<$crate::__private::utoipa_6::openapi::Schema> {
                $crate::__private::openapi_schema(&<$inner as $crate::__private::InJson>::TEXT)
            }
        }

        impl $crate::__private::utoipa_6::ToSchema for $name {
            fn name() -> $crate::__private::Cow<'static, str> {
                ::core::stringify!($name).into()
            }
        }
    };
}

/// The schema in JSON Schema.
#[cfg(feature = "schemars")]
pub fn json_schema(text: &Text) -> schemars::Schema {
    let Text { description, format, pattern, example } = *text;
    let mut schema =
        schemars::json_schema!({ "type": "string", "description": description, "examples": [example] });
    for (key, value) in [("format", format), ("pattern", pattern)] {
        if let Some(value) = value {
            schema.insert(key.into(), value.into());
        }
    }
    schema
}

/// The schema in OpenAPI.
#[cfg(feature = "utoipa")]
pub fn openapi_schema(text: &Text) -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
    use utoipa::openapi::{ObjectBuilder, SchemaFormat, Type};

    let Text { description, format, pattern, example } = *text;
    ObjectBuilder::new()
        .schema_type(Type::String)
        .description(Some(description))
        .format(format.map(|format| SchemaFormat::Custom(format.into())))
        .pattern(pattern)
        .examples([example])
        .into()
}

macro_rules! texts {
    ($($type:ident $text:expr;)+) => {$(
        impl InJson for $type {
            const TEXT: Text = $text;
        }

        #[cfg(feature = "schemars")]
        __id_schemars!($type, $type);
        #[cfg(feature = "utoipa")]
        __id_utoipa!($type, $type);
    )+};
}

texts! {
    Id Text::new("An ID of at most 63 bits, in decimal digits", "1212092628029698048")
        .pattern("^(0|[1-9][0-9]{0,18})$");
    WideId Text::new("An ID of up to 128 bits, in decimal digits", "4722366482869645213696")
        .pattern("^(0|[1-9][0-9]{0,38})$");
    UnixMillis Text::new("A time to the millisecond", "2010-11-04T01:42:54.657Z").format("date-time");
    Layout Text::new(
        "How the bits of an ID lie: fields from high to low, a tick and an epoch",
        "time:41 datacenter:5 worker:5 sequence:12 tick=1ms epoch=2010-11-04T01:42:54.657Z",
    );
    Form Text::new("How an ID is written", "base62 width=11");
    Uuid Text::new("A UUID", "017f22e2-79b0-7cc3-98c4-dc0c0c07398f").format("uuid");
    Ulid Text::new("A ULID", "01ARZ3NDEKTSV4RRFFQ69G5FAV").pattern("^[0-7][0-9A-HJKMNP-TV-Z]{25}$");
    ObjectId Text::new("An ObjectId", "507f1f77bcf86cd799439011").pattern("^[0-9a-f]{24}$");
    Ksuid Text::new("A KSUID", "0ujtsYcgvSTl8PAuAdqWYSMnLOv").pattern("^[0-9A-Za-z]{27}$");
    NanoId Text::new("A NanoID", "V1StGXR8_Z5jdHi6B-myT").pattern("^[!-~]{1,63}$");
}
