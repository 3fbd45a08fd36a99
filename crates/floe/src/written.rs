//! A dated ID in what other libraries write: its text. None of them reads it, since only its name's
//! [`DatedShape`](crate::DatedShape) knows where in the text the date ends.
//!
//! The libraries are those that floe-id's features bring.

#[cfg(any(
    feature = "diesel",
    feature = "postgres-types",
    feature = "schemars",
    feature = "sea-orm",
    feature = "serde",
    feature = "sqlx-0_8",
    feature = "sqlx-0_9",
    feature = "utoipa"
))]
use crate::definition::DatedId;

#[cfg(feature = "serde")]
impl floe_id::__private::serde_1::Serialize for DatedId {
    fn serialize<S: floe_id::__private::serde_1::Serializer>(
        &self,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(any(feature = "schemars", feature = "utoipa"))]
impl floe_id::__private::InJson for DatedId {
    const TEXT: floe_id::__private::Text =
        floe_id::__private::Text::new("A date and the number within it", "20261123000042");
}

#[cfg(feature = "schemars")]
floe_id::__private::id_schemars!(DatedId, DatedId);
#[cfg(feature = "utoipa")]
floe_id::__private::id_utoipa!(DatedId, DatedId);

#[cfg(feature = "postgres-types")]
mod postgres {
    use std::error::Error;

    use floe_id::__private::postgres_types_0_2::private::BytesMut;
    use floe_id::__private::postgres_types_0_2::{IsNull, ToSql, Type, to_sql_checked};

    use super::DatedId;

    impl ToSql for DatedId {
        fn to_sql(&self, column: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
            self.to_string().to_sql(column, out)
        }

        fn accepts(column: &Type) -> bool {
            <&str as ToSql>::accepts(column)
        }

        to_sql_checked!();
    }
}

/// For one version of sqlx; `$buffer` is where arguments are written.
#[cfg(any(feature = "sqlx-0_8", feature = "sqlx-0_9"))]
macro_rules! sqlx {
    ($module:ident, $sqlx:ident, $buffer:ty) => {
        mod $module {
            use floe_id::__private::$sqlx::database::Database;
            use floe_id::__private::$sqlx::encode::{Encode, IsNull};
            use floe_id::__private::$sqlx::error::BoxDynError;
            use floe_id::__private::$sqlx::types::Type;

            use super::DatedId;

            impl<DB: Database> Type<DB> for DatedId
            where
                String: Type<DB>,
            {
                fn type_info() -> DB::TypeInfo {
                    <String as Type<DB>>::type_info()
                }

                fn compatible(column: &DB::TypeInfo) -> bool {
                    <String as Type<DB>>::compatible(column)
                }
            }

            impl<'q, DB: Database> Encode<'q, DB> for DatedId
            where
                String: Encode<'q, DB>,
            {
                fn encode_by_ref(&self, buffer: &mut $buffer) -> Result<IsNull, BoxDynError> {
                    <String as Encode<'q, DB>>::encode(self.to_string(), buffer)
                }
            }
        }
    };
}

#[cfg(feature = "sqlx-0_8")]
sqlx!(sqlx_0_8, sqlx_core_0_8, DB::ArgumentBuffer<'q>);
#[cfg(feature = "sqlx-0_9")]
sqlx!(sqlx_0_9, sqlx_core_0_9, DB::ArgumentBuffer);

#[cfg(feature = "diesel")]
mod diesel {
    use floe_id::__private::diesel_2::expression::AsExpression;
    use floe_id::__private::diesel_2::sql_types::{Nullable, Text};

    use super::DatedId;

    macro_rules! text {
        ($($id:ty as $sql:ty),+) => {$(
            impl AsExpression<$sql> for $id {
                type Expression = <String as AsExpression<$sql>>::Expression;

                fn as_expression(self) -> Self::Expression {
                    AsExpression::<$sql>::as_expression(self.to_string())
                }
            }
        )+};
    }

    text!(DatedId as Text, DatedId as Nullable<Text>, &DatedId as Text, &DatedId as Nullable<Text>);
}

#[cfg(feature = "sea-orm")]
impl From<DatedId> for floe_id::__private::sea_orm_2::Value {
    fn from(id: DatedId) -> Self {
        id.to_string().into()
    }
}
