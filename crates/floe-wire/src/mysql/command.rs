//! A client's commands after its login.

use super::{Capabilities, Error, Login, Packet, lengthy, login, until_zero};
use crate::cursor::Cursor;

/// A packet that begins an exchange.
///
/// Source: "Command Phase".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command<'a> {
    /// `COM_QUIT`: the client leaves and waits for no answer.
    Quit,
    /// `COM_INIT_DB`: use this database.
    InitDb(&'a [u8]),
    /// `COM_QUERY`: SQL.
    Query(&'a [u8]),
    /// `COM_FIELD_LIST`: which columns a table has.
    FieldList {
        /// The table.
        table: &'a [u8],
    },
    /// `COM_STATISTICS`: a line of text for people.
    Statistics,
    /// `COM_PING`.
    Ping,
    /// `COM_CHANGE_USER`: log in again on this connection.
    ChangeUser(Login<'a>),
    /// `COM_RESET_CONNECTION`: clear the connection's state, keep the login.
    ResetConnection,
    /// `COM_SET_OPTION`: whether a query may hold several statements. The answer is an EOF packet.
    SetOption {
        /// Whether it may.
        multi_statements: bool,
    },
    /// `COM_STMT_PREPARE`: SQL that is executed later.
    Prepare(&'a [u8]),
    /// `COM_STMT_EXECUTE`.
    Execute(Execute<'a>),
    /// `COM_STMT_SEND_LONG_DATA`, a parameter in pieces. floe does not accept it. It gets no answer, but the
    /// statement's next execution is refused.
    SendLongData {
        /// The statement.
        statement: u32,
    },
    /// `COM_STMT_CLOSE`: drop a statement. It gets no answer.
    Close(u32),
    /// `COM_STMT_RESET`: drop a statement's parameters in pieces and its cursor.
    Reset(u32),
    /// A command that floe does not have: error 1047.
    Unknown(u8),
    /// A command, by its number, with malformed bytes: error 1835.
    Malformed(u8),
}

impl<'a> Command<'a> {
    /// Reads a command of a client that opened with `capabilities`.
    ///
    /// # Errors
    /// [`Error::OutOfOrder`] if the packet does not begin an exchange.
    pub fn read(packet: &Packet<'a>, capabilities: Capabilities) -> Result<Self, Error> {
        if packet.sequence != 0 {
            return Err(Error::OutOfOrder);
        }
        let mut cursor = Cursor::new(packet.payload);
        let code = cursor.byte().unwrap_or(SLEEP);
        Ok(Self::of(code, &mut cursor, capabilities).unwrap_or(Self::Malformed(code)))
    }

    fn of(code: u8, cursor: &mut Cursor<'a>, capabilities: Capabilities) -> Option<Self> {
        let text = cursor.rest();
        Some(match code {
            0x01 => Self::Quit,
            0x02 => Self::InitDb(text),
            0x03 => Self::Query(text),
            // A pattern for the column names may follow; no client sends one.
            0x04 => Self::FieldList { table: until_zero(cursor).unwrap_or(text) },
            0x09 => Self::Statistics,
            0x0e => Self::Ping,
            0x11 => Self::ChangeUser(login::change(cursor, capabilities)?),
            0x16 => Self::Prepare(text),
            0x17 => {
                let statement = number(cursor)?;
                let [flags, _, _, _, _] = cursor.array()?;
                Self::Execute(Execute { statement, cursor: flags != 0, bound: cursor.rest() })
            }
            0x18 => Self::SendLongData { statement: number(cursor)? },
            0x19 => Self::Close(number(cursor)?),
            0x1a => Self::Reset(number(cursor)?),
            0x1b => match u16::from_le_bytes(cursor.array()?) {
                0 => Self::SetOption { multi_statements: true },
                1 => Self::SetOption { multi_statements: false },
                _ => return None,
            },
            0x1f => Self::ResetConnection,
            other => Self::Unknown(other),
        })
    }
}

/// Only a server gives itself this command. An empty packet counts as it.
const SLEEP: u8 = 0;

fn number(cursor: &mut Cursor<'_>) -> Option<u32> {
    cursor.array().map(u32::from_le_bytes)
}

/// `COM_STMT_EXECUTE`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Execute<'a> {
    /// The statement.
    pub statement: u32,
    /// Whether the client wants a cursor. A server without cursors answers with the rows.
    pub cursor: bool,
    bound: &'a [u8],
}

impl<'a> Execute<'a> {
    /// The values of the statement's `count` parameters. The server keeps `types` for each statement, empty at first,
    /// because a client sends the types only if they are new.
    ///
    /// `None` if the packet holds no types and none are kept, or fewer than `count`: error 1835.
    ///
    /// Source: "COM_STMT_EXECUTE", "Binary Protocol Value".
    #[must_use]
    pub fn parameters<'t>(&self, count: usize, types: &'t mut Vec<[u8; 2]>) -> Option<Parameters<'a, 't>> {
        let mut cursor = Cursor::new(self.bound);
        if count == 0 {
            return Some(Parameters { nulls: &[], cursor, types: &[], at: 0 });
        }
        let nulls = cursor.take(count.div_ceil(8))?;
        if cursor.byte()? == 1 {
            let sent = cursor.take(count.checked_mul(2)?)?;
            types.clear();
            types.extend(
                sent.iter()
                    .step_by(2)
                    .zip(sent.iter().skip(1).step_by(2))
                    .map(|(kind, flags)| [*kind, *flags]),
            );
        }
        (types.len() == count).then_some(Parameters { nulls, cursor, types, at: 0 })
    }
}

/// The values of a statement's parameters, in order. After `Err`, error 1835, nothing follows.
#[derive(Clone, Debug)]
pub struct Parameters<'a, 't> {
    nulls: &'a [u8],
    cursor: Cursor<'a>,
    types: &'t [[u8; 2]],
    at: usize,
}

impl<'a> Iterator for Parameters<'a, '_> {
    type Item = Result<Value<'a>, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        let [kind, flags] = *self.types.get(self.at)?;
        let null = self.nulls.get(self.at / 8).is_some_and(|bits| bits >> (self.at % 8) & 1 == 1);
        self.at += 1;
        if null {
            return Some(Ok(Value::Null));
        }
        let value = value(kind, flags & UNSIGNED != 0, &mut self.cursor);
        if value.is_none() {
            self.types = &[];
        }
        Some(value.ok_or(Malformed))
    }
}

/// A parameter's value is cut off, or its type is unknown to MySQL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed;

/// A parameter's value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// NULL.
    Null,
    /// An integer of at most 64 bits with a sign.
    Signed(i64),
    /// An integer of at most 64 bits without a sign.
    Unsigned(u64),
    /// A floating-point number.
    Double(f64),
    /// A text, a blob, a decimal number as text, and everything else that has a length.
    Bytes(&'a [u8]),
    /// A date or a time, as the protocol packs it ("Binary Protocol Value").
    Moment(&'a [u8]),
}

const UNSIGNED: u8 = 0x80;

fn value<'a>(kind: u8, unsigned: bool, cursor: &mut Cursor<'a>) -> Option<Value<'a>> {
    let integer = |bytes: &[u8]| {
        let negative = !unsigned && bytes.last().is_some_and(|high| high & 0x80 != 0);
        let mut wide = if negative { [0xff; 8] } else { [0; 8] };
        wide.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
        if unsigned {
            Value::Unsigned(u64::from_le_bytes(wide))
        } else {
            Value::Signed(i64::from_le_bytes(wide))
        }
    };
    Some(match kind {
        // TINY; SHORT and YEAR; LONG and INT24; LONGLONG.
        0x01 => integer(cursor.take(1)?),
        0x02 | 0x0d => integer(cursor.take(2)?),
        0x03 | 0x09 => integer(cursor.take(4)?),
        0x08 => integer(cursor.take(8)?),
        // FLOAT, DOUBLE, NULL.
        0x04 => Value::Double(f64::from(f32::from_le_bytes(cursor.array()?))),
        0x05 => Value::Double(f64::from_le_bytes(cursor.array()?)),
        0x06 => Value::Null,
        // TIMESTAMP, DATE, TIME, DATETIME.
        0x07 | 0x0a..=0x0c => {
            let length = cursor.byte()?;
            Value::Moment(cursor.take(usize::from(length))?)
        }
        // DECIMAL, VARCHAR, BIT; JSON, NEWDECIMAL, ENUM, SET, the blobs, the strings, GEOMETRY.
        0x00 | 0x0f | 0x10 | 0xf5..=0xff => Value::Bytes(lengthy(cursor)?),
        _ => return None,
    })
}
