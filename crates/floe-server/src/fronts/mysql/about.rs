//! What a connection says about itself: the variables and functions that clients read before and between their tickets.

use std::time::Duration;

use floe_wire::mysql::sql::{Expression, Item, Which};
use floe_wire::mysql::{Column, Status as Standing, Value as Parameter};

use super::answer::Value;
use super::{Failure, VERSION};
use crate::status::Refusal;

/// How much of a text from a client is shown to it.
const SHOWN: usize = 40;

const fn text(name: &[u8]) -> Column<'_> {
    Column { name, integer: false }
}

/// The columns of every table.
pub(super) const TABLE: [Column<'_>; 2] = [Column { name: b"id", integer: true }, text(b"stub")];

/// The columns of `SHOW VARIABLES`.
pub(super) const VARIABLES: [Column<'_>; 2] = [text(b"Variable_name"), text(b"Value")];

/// The columns of `SHOW WARNINGS`, of which there are none.
pub(super) const WARNINGS: [Column<'_>; 3] =
    [text(b"Level"), Column { name: b"Code", integer: true }, text(b"Message")];

/// The column of a table's primary key.
pub(super) const KEY: &str = "id";

/// A column of `SHOW FIELDS`: its name, whether only `FULL` shows it, and what it says of each column of [`TABLE`].
type Field = (&'static str, bool, Option<&'static str>, &'static str);

/// The columns of `SHOW FIELDS`, which says the same of every table.
const FIELDS: [Field; 9] = [
    ("Field", false, Some(KEY), "stub"),
    ("Type", false, Some("bigint unsigned"), "varchar(255)"),
    ("Collation", true, None, "utf8mb4_general_ci"),
    ("Null", false, Some("NO"), "NO"),
    ("Key", false, Some("PRI"), ""),
    ("Default", false, None, ""),
    ("Extra", false, Some("auto_increment"), ""),
    ("Privileges", true, Some("select,insert"), "select,insert"),
    ("Comment", true, Some(""), ""),
];

fn fields_shown(full: bool) -> impl Iterator<Item = &'static Field> {
    FIELDS.iter().filter(move |(_, added, ..)| full || !added)
}

/// The columns of `SHOW FIELDS`.
pub(super) fn field_columns(full: bool) -> Vec<Column<'static>> {
    fields_shown(full).map(|(name, ..)| text(name.as_bytes())).collect()
}

/// The rows of `SHOW FIELDS`.
pub(super) fn fields(full: bool) -> Vec<Vec<Value>> {
    let id = fields_shown(full).map(|(_, _, id, _)| id.map_or(Value::Null, Value::text));
    let stub = fields_shown(full).map(|(.., stub)| Value::text(*stub));
    vec![id.collect(), stub.collect()]
}

/// The one column of a question to `information_schema`.
pub(super) fn catalog_column(name: &'static [u8]) -> Vec<Column<'static>> {
    vec![text(name)]
}

/// What a connection knows of itself.
pub(super) struct About {
    pub(super) connection: u32,
    pub(super) user: Vec<u8>,
    database: Option<Vec<u8>>,
    /// The first ID of the last statement that inserted, 0 before the first one; `None` if a statement after it was
    /// refused.
    pub(super) last_insert_id: Option<u64>,
    pub(super) standing: Standing,
    packet_bytes: u64,
    idle_seconds: u64,
}

/// A variable's value.
#[derive(Clone, Copy)]
enum Variable {
    Text(&'static str),
    Number(u64),
    Switch(bool),
    Autocommit,
    IdleSeconds,
    LastInsertId,
    PacketBytes,
}

/// The variables that clients ask for, in alphabetical order.
const KNOWN: [(&str, Variable); 45] = {
    use Variable::{Autocommit, IdleSeconds, LastInsertId, Number, PacketBytes, Switch, Text};
    [
        ("auto_increment_increment", Number(1)),
        ("auto_increment_offset", Number(1)),
        ("autocommit", Autocommit),
        ("character_set_client", Text("utf8mb4")),
        ("character_set_connection", Text("utf8mb4")),
        ("character_set_database", Text("utf8mb4")),
        ("character_set_filesystem", Text("binary")),
        ("character_set_results", Text("utf8mb4")),
        ("character_set_server", Text("utf8mb4")),
        ("character_set_system", Text("utf8mb3")),
        ("collation_connection", Text("utf8mb4_general_ci")),
        ("collation_database", Text("utf8mb4_general_ci")),
        ("collation_server", Text("utf8mb4_general_ci")),
        ("default_storage_engine", Text("floe")),
        ("identity", LastInsertId),
        ("init_connect", Text("")),
        ("interactive_timeout", IdleSeconds),
        ("last_insert_id", LastInsertId),
        ("license", Text("Apache-2.0 OR MIT")),
        ("lower_case_table_names", Number(0)),
        ("max_allowed_packet", PacketBytes),
        ("net_buffer_length", Number(16_384)),
        ("net_read_timeout", Number(30)),
        ("net_write_timeout", Number(60)),
        ("performance_schema", Switch(false)),
        ("protocol_version", Number(10)),
        ("query_cache_size", Number(0)),
        ("query_cache_type", Text("OFF")),
        ("read_only", Switch(false)),
        ("session_track_schema", Switch(false)),
        ("session_track_system_variables", Text("")),
        ("sql_auto_is_null", Switch(false)),
        ("sql_mode", Text("STRICT_TRANS_TABLES")),
        ("super_read_only", Switch(false)),
        ("system_time_zone", Text("UTC")),
        ("time_zone", Text("SYSTEM")),
        ("transaction_isolation", Text("REPEATABLE-READ")),
        ("transaction_read_only", Switch(false)),
        ("tx_isolation", Text("REPEATABLE-READ")),
        ("tx_read_only", Switch(false)),
        ("version", Text(VERSION)),
        ("version_comment", Text("floe, a server of IDs")),
        ("version_compile_machine", Text("")),
        ("version_compile_os", Text("")),
        ("wait_timeout", IdleSeconds),
    ]
};

impl About {
    pub(super) fn new(id: u64, packet_bytes: usize, idle: Duration) -> Self {
        Self {
            // The protocol has 32 bits for it; it only tells connections apart in logs.
            connection: u32::try_from(id & u64::from(u32::MAX)).unwrap_or(u32::MAX),
            user: Vec::new(),
            database: None,
            last_insert_id: Some(0),
            standing: Standing::default(),
            packet_bytes: u64::try_from(packet_bytes).unwrap_or(u64::MAX),
            idle_seconds: idle.as_secs().max(1),
        }
    }

    /// Any database will do: the names are the same in all of them.
    pub(super) fn use_database(&mut self, database: &[u8]) {
        self.database = Some(database).filter(|database| !database.is_empty()).map(<[u8]>::to_vec);
    }

    /// The columns of a `SELECT`.
    pub(super) fn columns<'s>(&self, items: &[Item<'s>]) -> Result<Vec<Column<'s>>, Failure> {
        let column = |item: &Item<'s>| {
            let integer = match item.value {
                _ if item.is_null.is_some() => true,
                Expression::Parameter => false,
                _ => matches!(self.value(item, &mut [].iter())?, Value::Integer(_)),
            };
            Ok(Column { name: item.name, integer })
        };
        items.iter().map(column).collect()
    }

    /// The value of an item of a `SELECT`; a `?` takes the next of `parameters`.
    pub(super) fn value<'p>(
        &self,
        item: &Item<'_>,
        parameters: &mut impl Iterator<Item = &'p Parameter<'p>>,
    ) -> Result<Value, Failure> {
        let value = self.evaluated(item, parameters)?;
        Ok(match item.is_null {
            None => value,
            Some(is_null) => Value::Integer(u64::from((value == Value::Null) == is_null)),
        })
    }

    fn evaluated<'p>(
        &self,
        item: &Item<'_>,
        parameters: &mut impl Iterator<Item = &'p Parameter<'p>>,
    ) -> Result<Value, Failure> {
        Ok(match item.value {
            Expression::Variable(name) => self.variable(name)?,
            Expression::Function(name) => self.function(name)?,
            Expression::Integer(number) => Value::Integer(number),
            Expression::Text(text) => Value::text(text),
            Expression::Null => Value::Null,
            Expression::Parameter => match parameters.next().ok_or_else(Failure::malformed)? {
                Parameter::Null => Value::Null,
                Parameter::Signed(number) => Value::text(number.to_string()),
                Parameter::Unsigned(number) => Value::text(number.to_string()),
                Parameter::Double(number) => Value::text(number.to_string()),
                Parameter::Bytes(bytes) => Value::text(*bytes),
                Parameter::Moment(_) => {
                    return Err(Refusal::bad("floe does not say what time it is: bind a text").into());
                }
            },
        })
    }

    fn variable(&self, name: &[u8]) -> Result<Value, Failure> {
        let known = KNOWN.iter().find(|(known, _)| name.eq_ignore_ascii_case(known.as_bytes()));
        let (_, variable) = known.ok_or_else(|| {
            Failure::new(
                1193,
                b"HY000",
                format!(
                    "there is no variable '{}' here: SHOW VARIABLES lists those that there are",
                    shown(name)
                ),
            )
        })?;
        Ok(match *variable {
            Variable::Text(text) => Value::text(text),
            Variable::Number(number) => Value::Integer(number),
            Variable::Switch(on) => Value::Integer(on.into()),
            Variable::Autocommit => Value::Integer(self.standing.autocommit.into()),
            Variable::IdleSeconds => Value::Integer(self.idle_seconds),
            Variable::LastInsertId => self.last_insert_id()?,
            Variable::PacketBytes => Value::Integer(self.packet_bytes),
        })
    }

    fn function(&self, name: &[u8]) -> Result<Value, Failure> {
        Ok(match name.to_ascii_uppercase().as_slice() {
            b"LAST_INSERT_ID" => self.last_insert_id()?,
            b"DATABASE" | b"SCHEMA" => self.database.clone().map_or(Value::Null, Value::Text),
            b"USER" | b"CURRENT_USER" | b"SESSION_USER" | b"SYSTEM_USER" => {
                Value::Text([&self.user[..], b"@%"].concat())
            }
            b"VERSION" => Value::text(VERSION),
            b"CONNECTION_ID" => Value::Integer(self.connection.into()),
            _ => return Err(Failure::other(name)),
        })
    }

    /// The last ID, for a client that asks in a statement of its own. After a refusal there is none (MySQL's manual calls
    /// it undefined): a client that did not look at the refusal would use the ID before it twice.
    fn last_insert_id(&self) -> Result<Value, Failure> {
        let none = || {
            let text = "a statement was refused since the last INSERT, so there is no LAST_INSERT_ID(): its error says why";
            Failure::new(1105, b"HY000", text)
        };
        self.last_insert_id.map(Value::Integer).ok_or_else(none)
    }

    /// The rows of `SHOW VARIABLES`.
    pub(super) fn show(&self, which: &Which<'_>) -> Vec<Vec<Value>> {
        let asked = |name: &str| match which {
            Which::All => true,
            Which::Like(pattern) => like(pattern, name.as_bytes()),
            Which::Named(names) => names.iter().any(|asked| asked.eq_ignore_ascii_case(name.as_bytes())),
        };
        let row = |(name, variable): &(&str, Variable)| {
            let value = match (variable, self.variable(name.as_bytes()).ok()?) {
                (Variable::Switch(_) | Variable::Autocommit, value) => {
                    Value::text(if value == Value::Integer(1) { "ON" } else { "OFF" })
                }
                (_, Value::Integer(number)) => Value::text(number.to_string()),
                (_, value) => value,
            };
            Some(vec![Value::text(*name), value])
        };
        KNOWN.iter().filter(|(name, _)| asked(name)).filter_map(row).collect()
    }
}

/// The beginning of a text from a client.
pub(super) fn shown(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).chars().take(SHOWN).collect()
}

/// SQL's `LIKE`, in capitals or not: `%` stands for any text, `_` for any character. Without recursion, and in at most
/// as many steps as both lengths multiplied.
fn like(pattern: &[u8], text: &[u8]) -> bool {
    let (mut at, mut within, mut back) = (0, 0, None);
    while within < text.len() {
        match (pattern.get(at), text.get(within)) {
            (Some(b'%'), _) => {
                at += 1;
                back = Some((at, within));
            }
            (Some(wanted), Some(found)) if *wanted == b'_' || wanted.eq_ignore_ascii_case(found) => {
                at += 1;
                within += 1;
            }
            // The last `%` takes one character more.
            _ => match back {
                None => return false,
                Some((after, taken)) => {
                    (at, within) = (after, taken + 1);
                    back = Some((after, taken + 1));
                }
            },
        }
    }
    pattern.get(at..).unwrap_or_default().iter().all(|rest| *rest == b'%')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn like_is_that_of_sql() {
        for (pattern, matches) in [
            ("tx_isolation", true),
            ("TX_ISO%", true),
            ("%", true),
            ("%%ion%", true),
            ("tx_isolatio_", true),
            ("tx%a%n", true),
            ("", false),
            ("tx", false),
            ("tx_isolation_", false),
            ("%x", false),
        ] {
            assert_eq!(like(pattern.as_bytes(), b"tx_isolation"), matches, "{pattern}");
        }
    }

    #[test]
    fn variables_stand_in_order_and_once() {
        assert!(KNOWN.windows(2).all(|pair| pair[0].0 < pair[1].0));
    }
}
