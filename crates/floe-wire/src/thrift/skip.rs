//! Finds the end of a value without understanding it, in as many pieces as it arrives in.

use super::Fault;
use crate::cursor::Cursor;

// Types of values: thrift-binary-protocol.md, "Struct"; 16 is a UUID since Thrift 0.20.
pub(super) const STOP: u8 = 0;
pub(super) const I32: u8 = 8;
pub(super) const I64: u8 = 10;
pub(super) const STRING: u8 = 11;
const STRUCT: u8 = 12;
const MAP: u8 = 13;
const SET: u8 = 14;
const LIST: u8 = 15;

/// The open structs and containers, innermost last, and how far everything has been skipped. The position may lie after
/// the bytes that have arrived, because a string is skipped by its length.
#[derive(Clone, Debug, Default)]
pub(super) struct Skip {
    open: Vec<Open>,
    at: usize,
}

#[derive(Clone, Copy, Debug)]
enum Open {
    Struct,
    /// Elements, some of which have no fixed size: how many are left. A map's keys and values alternate.
    Elements {
        next: u8,
        then: u8,
        left: usize,
    },
}

impl Skip {
    /// At the front of a struct's fields.
    pub(super) fn begin(&mut self) {
        self.open.clear();
        self.open.push(Open::Struct);
        self.at = 0;
    }

    pub(super) fn position(&self) -> usize {
        self.at
    }

    /// Continues as far as `bytes` reach; they begin where the struct does. `true` at the struct's end, which is then
    /// inside `bytes` and within `room`. Bytes after `room` are not examined, so it does not matter how many of them
    /// have arrived.
    pub(super) fn go_on(&mut self, bytes: &[u8], room: usize, depth: usize) -> Result<bool, Fault> {
        let within = bytes.get(..room).unwrap_or(bytes);
        match self.pass_over(within, room, depth)? {
            false if within.len() == room => Err(Fault::TooLong(room)),
            ended => Ok(ended),
        }
    }

    fn pass_over(&mut self, bytes: &[u8], room: usize, depth: usize) -> Result<bool, Fault> {
        while let Some(innermost) = self.open.last_mut() {
            if self.at >= room {
                // At least the end of the outermost struct is still missing.
                return Err(Fault::TooLong(room));
            }
            let Some(rest) = bytes.get(self.at..) else { return Ok(false) };
            let mut cursor = Cursor::new(rest);
            let kind = match innermost {
                Open::Struct => match cursor.byte() {
                    None => return Ok(false),
                    Some(STOP) => {
                        self.open.pop();
                        self.at += 1;
                        continue;
                    }
                    Some(kind) if cursor.take(2).is_some() => kind,
                    Some(_) => return Ok(false),
                },
                Open::Elements { left: 0, .. } => {
                    self.open.pop();
                    continue;
                }
                Open::Elements { next, .. } => *next,
            };
            let Some((length, inner)) = value(kind, &mut cursor, room)? else { return Ok(false) };
            let end = self.at.saturating_add(cursor.position()).saturating_add(length);
            if let Some(Open::Elements { next, then, left }) = self.open.last_mut() {
                std::mem::swap(next, then);
                *left -= 1;
            }
            if let Some(inner) = inner {
                if self.open.len() >= depth {
                    return Err(Fault::TooDeep(depth));
                }
                self.open.push(inner);
            }
            self.at = end;
        }
        Ok(true)
    }

    /// The length of a field's value at the front of `bytes`, which also hold its struct's end.
    pub(super) fn value(&mut self, kind: u8, bytes: &[u8], depth: usize) -> Option<usize> {
        let mut cursor = Cursor::new(bytes);
        let (length, inner) = value(kind, &mut cursor, bytes.len()).ok()??;
        self.at = cursor.position().checked_add(length)?;
        self.open.clear();
        self.open.extend(inner);
        matches!(self.go_on(bytes, bytes.len(), depth), Ok(true)).then_some(self.at)
    }
}

/// The type and number of a struct's next field; `None` at the struct's end.
pub(super) fn field(cursor: &mut Cursor<'_>) -> Option<(u8, i16)> {
    let kind = cursor.byte().filter(|kind| *kind != STOP)?;
    Some((kind, i16::from_be_bytes(cursor.array()?)))
}

/// Reads the start of a value: how many bytes directly follow it, and what it opens.
fn value(kind: u8, cursor: &mut Cursor<'_>, room: usize) -> Result<Option<(usize, Option<Open>)>, Fault> {
    if let Some(size) = fixed(kind) {
        return Ok(Some((size, None)));
    }
    let (next, then) = match kind {
        STRUCT => return Ok(Some((0, Some(Open::Struct)))),
        // A string is a list of bytes that does not name their type.
        STRING => (BYTE, BYTE),
        SET | LIST => match cursor.byte() {
            Some(element) => (element, element),
            None => return Ok(None),
        },
        MAP => match cursor.array::<2>() {
            Some([key, value]) => (key, value),
            None => return Ok(None),
        },
        unknown => return Err(Fault::Type(unknown)),
    };
    let Some(count) = cursor.array().map(i32::from_be_bytes) else { return Ok(None) };
    let count = usize::try_from(count).map_err(|_| Fault::Negative)?;
    if count == 0 {
        // An empty container need not name its elements' type.
        return Ok(Some((0, None)));
    }
    let elements = if kind == MAP { count.saturating_mul(2) } else { count };
    if elements > room {
        // Every value has at least one byte.
        return Err(Fault::TooLong(room));
    }
    Ok(Some(match (fixed(next), fixed(then)) {
        (Some(_), Some(second)) if kind != MAP => (count.saturating_mul(second), None),
        (Some(first), Some(second)) => (count.saturating_mul(first + second), None),
        _ => (0, Some(Open::Elements { next, then, left: elements })),
    }))
}

const BYTE: u8 = 3;

/// The size of a value whose type fixes it.
fn fixed(kind: u8) -> Option<usize> {
    match kind {
        // A bool, a byte.
        2 | BYTE => Some(1),
        // A double.
        4 => Some(8),
        // An i16.
        6 => Some(2),
        I32 => Some(4),
        I64 => Some(8),
        // A UUID.
        16 => Some(16),
        _ => None,
    }
}
