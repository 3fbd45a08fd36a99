//! The server's packets.

use super::{Capabilities, LONGEST, Plugin, Salt};

/// Writes and numbers the packets that answer one packet.
#[derive(Debug)]
pub struct Replies<'o> {
    out: &'o mut Vec<u8>,
    sequence: u8,
    capabilities: Capabilities,
}

/// The result of a statement.
///
/// Source: "OK_Packet".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// How many rows were changed; a replaced row counts as 2.
    pub affected: u64,
    /// The first ID that the statement made; 0 for none.
    pub last_insert_id: u64,
    /// The connection's status.
    pub status: Status,
}

/// A connection's status.
///
/// Source: "SERVER_STATUS_flags_enum".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    /// Each statement commits by itself.
    pub autocommit: bool,
    /// A transaction is open.
    pub in_transaction: bool,
    /// Another statement's answer follows.
    pub more_results: bool,
}

impl Default for Status {
    /// The connection commits each statement, and no further answer follows.
    fn default() -> Self {
        Self { autocommit: true, in_transaction: false, more_results: false }
    }
}

impl Status {
    fn flags(self) -> [u8; 2] {
        [u8::from(self.in_transaction) | u8::from(self.autocommit) << 1 | u8::from(self.more_results) << 3, 0]
    }
}

/// A column of an answer.
///
/// Source: "Protocol::ColumnDefinition41".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column<'a> {
    /// Its name for the client.
    pub name: &'a [u8],
    /// Whether it holds unsigned integers of 64 bits; otherwise text in utf8mb4.
    pub integer: bool,
}

/// A value in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cell<'a> {
    /// NULL.
    Null,
    /// A value of a column of integers.
    Integer(u64),
    /// A value of a column of text.
    Text(&'a [u8]),
}

impl<'o> Replies<'o> {
    /// Answers packet number `sequence`, at the end of `out`.
    pub fn new(out: &'o mut Vec<u8>, sequence: u8, capabilities: Capabilities) -> Self {
        Self { out, sequence: sequence.wrapping_add(1), capabilities }
    }

    /// The number of the next packet.
    #[must_use]
    pub fn sequence(&self) -> u8 {
        self.sequence
    }

    fn packet(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        self.sequence = packet(self.out, self.sequence, write);
    }

    /// The statement succeeded.
    pub fn ok(&mut self, done: &Done) {
        self.done(0x00, done);
    }

    fn done(&mut self, code: u8, done: &Done) {
        self.packet(|out| {
            out.push(code);
            push_length(out, done.affected);
            push_length(out, done.last_insert_id);
            out.extend_from_slice(&done.status.flags());
            out.extend_from_slice(&NO_WARNINGS);
        });
    }

    /// The statement failed: the error's number, its SQLSTATE and its text. As in MySQL, at most 512 bytes of the text
    /// are sent.
    ///
    /// Source: "ERR_Packet".
    pub fn error(&mut self, code: u16, state: &[u8; 5], text: &str) {
        let end = (0..=text.len().min(512)).rev().find(|at| text.is_char_boundary(*at));
        let shown = end.and_then(|end| text.get(..end)).unwrap_or_default();
        self.packet(|out| {
            out.push(0xff);
            out.extend_from_slice(&code.to_le_bytes());
            out.push(b'#');
            out.extend_from_slice(state);
            out.extend_from_slice(shown.as_bytes());
        });
    }

    /// The EOF packet, which answers `COM_SET_OPTION`. A client with `DEPRECATE_EOF` gets an OK packet that begins like it.
    ///
    /// Source: "EOF_Packet", "OK_Packet".
    pub fn eof(&mut self, status: Status) {
        if self.capabilities.has(Capabilities::DEPRECATE_EOF) {
            self.done(0xfe, &Done { status, ..Done::default() });
        } else {
            self.plain_eof(status);
        }
    }

    fn plain_eof(&mut self, status: Status) {
        self.packet(|out| {
            out.push(0xfe);
            out.extend_from_slice(&NO_WARNINGS);
            out.extend_from_slice(&status.flags());
        });
    }

    /// A line of text, which answers `COM_STATISTICS`.
    pub fn statistics(&mut self, text: &str) {
        self.packet(|out| out.extend_from_slice(text.as_bytes()));
    }

    /// The start of a result: its columns. Then come the rows, then [`Replies::eof`].
    ///
    /// Source: "Text Resultset".
    pub fn columns(&mut self, columns: &[Column<'_>], status: Status) {
        self.packet(|out| push_size(out, columns.len()));
        self.definitions(columns, status);
    }

    /// Columns, and the packet that ends them if the client wants one.
    fn definitions(&mut self, columns: &[Column<'_>], status: Status) {
        if columns.is_empty() {
            return;
        }
        for column in columns {
            self.definition(column, b"");
        }
        if !self.capabilities.has(Capabilities::DEPRECATE_EOF) {
            self.plain_eof(status);
        }
    }

    fn definition(&mut self, column: &Column<'_>, default: &[u8]) {
        // The collation `binary`, 20 digits, LONGLONG, and the flags NOT NULL, unsigned and binary. For text: utf8mb4,
        // a length that promises little, VAR_STRING.
        let (collation, width, kind, flags) =
            if column.integer { (63_u16, 20_u32, 0x08, 0x00a1_u16) } else { (45, 1024, 0xfd, 0) };
        self.packet(|out| {
            push_text(out, b"def");
            // Schema, table, and the table's own name.
            out.extend_from_slice(&[0, 0, 0]);
            push_text(out, column.name);
            out.extend_from_slice(&[0, 12]);
            out.extend_from_slice(&collation.to_le_bytes());
            out.extend_from_slice(&width.to_le_bytes());
            out.push(kind);
            out.extend_from_slice(&flags.to_le_bytes());
            out.extend_from_slice(&[0, 0, 0]);
            out.extend_from_slice(default);
        });
    }

    /// A row of the answer to a query.
    ///
    /// Source: "Text Resultset Row".
    pub fn text_row(&mut self, cells: &[Cell<'_>]) {
        self.packet(|out| {
            for cell in cells {
                match cell {
                    Cell::Null => out.push(0xfb),
                    Cell::Integer(number) => push_text(out, itoa::Buffer::new().format(*number).as_bytes()),
                    Cell::Text(text) => push_text(out, text),
                }
            }
        });
    }

    /// A row of the answer to a prepared statement.
    ///
    /// Source: "Binary Protocol Resultset Row".
    pub fn binary_row(&mut self, cells: &[Cell<'_>]) {
        self.packet(|out| {
            out.push(0);
            // The first two bits of the NULL bitmap are unused.
            for from in 0..cells.len().saturating_add(2).div_ceil(8) {
                let bits = (0..8_usize).filter(|bit| {
                    let cell = (from * 8 + bit).checked_sub(2).and_then(|at| cells.get(at));
                    matches!(cell, Some(Cell::Null))
                });
                out.push(bits.fold(0, |bits, bit| bits | 1 << bit));
            }
            for cell in cells {
                match cell {
                    Cell::Null => {}
                    Cell::Integer(number) => out.extend_from_slice(&number.to_le_bytes()),
                    Cell::Text(text) => push_text(out, text),
                }
            }
        });
    }

    /// The answer to a prepared statement: its number, how many parameters it takes, and the columns of its rows.
    ///
    /// Source: "COM_STMT_PREPARE Response".
    pub fn prepared(&mut self, statement: u32, parameters: u16, columns: &[Column<'_>], status: Status) {
        // The server chooses the columns, and they are few. A count that does not fit has no packet.
        let count = u16::try_from(columns.len()).unwrap_or(u16::MAX);
        let columns = columns.get(..usize::from(count)).unwrap_or_default();
        self.packet(|out| {
            out.push(0);
            out.extend_from_slice(&statement.to_le_bytes());
            out.extend_from_slice(&count.to_le_bytes());
            out.extend_from_slice(&parameters.to_le_bytes());
            out.push(0);
            out.extend_from_slice(&NO_WARNINGS);
        });
        let parameter = Column { name: b"?", integer: false };
        for _ in 0..parameters {
            self.definition(&parameter, b"");
        }
        if parameters > 0 && !self.capabilities.has(Capabilities::DEPRECATE_EOF) {
            self.plain_eof(status);
        }
        self.definitions(columns, status);
    }

    /// The answer to `COM_FIELD_LIST`: a table's columns, without defaults.
    pub fn fields(&mut self, columns: &[Column<'_>], status: Status) {
        for column in columns {
            self.definition(column, &[0xfb]);
        }
        self.eof(status);
    }

    /// Asks for a proof by another plugin, or for another salt. The client's answer is a packet with the proof alone,
    /// and its number is [`Replies::sequence`] at that time.
    ///
    /// Source: "Protocol::AuthSwitchRequest".
    pub fn switch(&mut self, plugin: Plugin, salt: &Salt) {
        self.packet(|out| {
            out.push(0xfe);
            out.extend_from_slice(plugin.name().as_bytes());
            out.push(0);
            out.extend_from_slice(salt.as_bytes());
            out.push(0);
        });
    }

    /// Says that the caching_sha2_password proof was right. An OK packet follows.
    ///
    /// Source: "Protocol::AuthMoreData", `fast_auth_success`.
    pub fn fast(&mut self) {
        self.packet(|out| out.extend_from_slice(&[1, 3]));
    }
}

const NO_WARNINGS: [u8; 2] = [0, 0];

/// Writes a payload after its header, and returns the next packet's number. A payload of 16 MiB - 1 bytes or more goes
/// in pieces. The last piece is shorter, and may be empty.
pub(super) fn packet(out: &mut Vec<u8>, sequence: u8, write: impl FnOnce(&mut Vec<u8>)) -> u8 {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    write(out);
    let length = out.len().saturating_sub(start).saturating_sub(4);
    if length < LONGEST {
        head(out, start, length, sequence);
        return sequence.wrapping_add(1);
    }
    let payload = out.split_off(start.saturating_add(4));
    out.truncate(start);
    let mut sequence = sequence;
    let whole = payload.chunks_exact(LONGEST);
    let rest = whole.remainder();
    for piece in whole.chain([rest]) {
        let start = out.len();
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(piece);
        head(out, start, piece.len(), sequence);
        sequence = sequence.wrapping_add(1);
    }
    sequence
}

/// Fills in a header. The length is below 2^24.
fn head(out: &mut [u8], start: usize, length: usize, sequence: u8) {
    let [low, middle, high, ..] = length.to_le_bytes();
    if let Some(head) = out.get_mut(start..).and_then(<[u8]>::first_chunk_mut::<4>) {
        *head = [low, middle, high, sequence];
    }
}

/// A length-encoded integer. Source: "Integer Types".
fn push_length(out: &mut Vec<u8>, number: u64) {
    let bytes = number.to_le_bytes();
    let [low, middle, high, ..] = bytes;
    match number {
        0..=0xfa => out.push(low),
        0xfb..=0xffff => out.extend_from_slice(&[0xfc, low, middle]),
        0x1_0000..=0xff_ffff => out.extend_from_slice(&[0xfd, low, middle, high]),
        _ => {
            out.push(0xfe);
            out.extend_from_slice(&bytes);
        }
    }
}

/// The same for a size, which has at most 64 bits on any machine.
fn push_size(out: &mut Vec<u8>, size: usize) {
    push_length(out, u64::try_from(size).unwrap_or(u64::MAX));
}

fn push_text(out: &mut Vec<u8>, text: &[u8]) {
    push_size(out, text.len());
    out.extend_from_slice(text);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cursor::Cursor;
    use crate::mysql::length;

    #[test]
    fn a_number_is_as_short_as_it_can_be_and_reads_as_itself() {
        for (number, bytes) in [
            (0, 1),
            (0xfa, 1),
            (0xfb, 3),
            (0xffff, 3),
            (0x1_0000, 4),
            (0xff_ffff, 4),
            (0x100_0000, 9),
            (u64::MAX, 9),
        ] {
            let mut out = Vec::new();
            push_length(&mut out, number);
            let mut cursor = Cursor::new(&out);
            let read = length(&mut cursor);
            assert_eq!((out.len(), read, cursor.position()), (bytes, Some(number), bytes), "{number:#x}");
        }
    }

    #[test]
    fn a_payload_that_is_too_long_for_a_packet_goes_in_pieces() {
        for (length, pieces) in [(LONGEST - 1, 1), (LONGEST, 2), (LONGEST + 5, 2), (2 * LONGEST, 3)] {
            let mut out = Vec::new();
            let next = packet(&mut out, 254, |out| out.resize(out.len() + length, 7));
            assert_eq!(
                (out.len(), next),
                (length + 4 * pieces, 254_u8.wrapping_add(u8::try_from(pieces).unwrap()))
            );
            assert_eq!(out[3], 254);
        }
    }
}
