//! The answer to a statement, and how it is written.

use floe_wire::mysql::{Cell, Column, Done, Replies, Status as Standing};

/// The answer to a statement.
pub(super) enum Answer<'s> {
    Done(Done),
    Rows { columns: Vec<Column<'s>>, rows: Vec<Vec<Value>> },
}

/// A value in a row.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Value {
    Null,
    Integer(u64),
    Text(Vec<u8>),
}

/// How rows are written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    /// To a query.
    Text,
    /// To a prepared statement.
    Binary,
}

impl Answer<'_> {
    pub(super) fn write(&self, format: Format, standing: Standing, replies: &mut Replies<'_>) {
        let (columns, rows) = match self {
            Self::Done(done) => return replies.ok(&Done { status: standing, ..*done }),
            Self::Rows { columns, rows } => (columns, rows),
        };
        replies.columns(columns, standing);
        for row in rows {
            let cells: Vec<_> = row.iter().map(Value::cell).collect();
            match format {
                Format::Text => replies.text_row(&cells),
                Format::Binary => replies.binary_row(&cells),
            }
        }
        replies.eof(standing);
    }
}

impl Value {
    pub(super) fn text(text: impl Into<Vec<u8>>) -> Self {
        Self::Text(text.into())
    }

    fn cell(&self) -> Cell<'_> {
        match self {
            Self::Null => Cell::Null,
            Self::Integer(number) => Cell::Integer(*number),
            Self::Text(text) => Cell::Text(text),
        }
    }
}
