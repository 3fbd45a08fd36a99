//! One field of a layout.

use core::fmt;

/// The kind of a layout's field.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FieldKind {
    /// The tick. The field is called `time`.
    Time,
    /// A part of the worker id. The field has any name but `time` and `sequence`.
    Node,
    /// A number that tells the IDs of one worker and tick apart. The field is called `sequence`.
    Sequence,
}

/// A field of a layout: its name, how many bits it has and where they lie.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Field {
    name: [u8; Self::MAX_NAME_BYTES],
    name_bytes: u8,
    bits: u8,
    shift: u8,
    kind: FieldKind,
}

impl Field {
    /// The longest name of a field, in bytes.
    pub const MAX_NAME_BYTES: usize = 16;

    /// A field whose name has been checked by [`is_name`](Self::is_name).
    pub(super) const fn new(name: &str, bits: u8, shift: u8) -> Self {
        let text = name.as_bytes();
        let mut name = [0; Self::MAX_NAME_BYTES];
        let mut at: u8 = 0;
        while (at as usize) < text.len() {
            name[at as usize] = text[at as usize];
            at += 1;
        }
        Self { name, name_bytes: at, bits, shift, kind: FieldKind::of(text) }
    }

    /// Whether `name` is `[a-z][a-z0-9_]{0,15}`.
    pub(super) const fn is_name(name: &str) -> bool {
        let text = name.as_bytes();
        let mut at = 0;
        while at < text.len() {
            match text[at] {
                b'a'..=b'z' => {}
                b'0'..=b'9' | b'_' if at > 0 => {}
                _ => return false,
            }
            at += 1;
        }
        at > 0 && at <= Self::MAX_NAME_BYTES
    }

    /// Returns its name: `time`, `sequence`, or any other for a node field.
    pub fn name(&self) -> &str {
        // The bytes were copied from a `&str` of ASCII letters, so there is always a text.
        core::str::from_utf8(&self.name[..usize::from(self.name_bytes)]).unwrap_or_default()
    }

    /// Returns its number of bits, at least 1.
    pub const fn bits(&self) -> u32 {
        self.bits as u32
    }

    /// Returns the bit at which it begins, counted from the lowest, 0.
    pub const fn shift(&self) -> u32 {
        self.shift as u32
    }

    /// Returns its kind.
    pub const fn kind(&self) -> FieldKind {
        self.kind
    }

    /// Returns its largest value, `2^bits - 1`.
    pub const fn max(&self) -> u64 {
        (1 << self.bits) - 1
    }

    /// The value of this field in `id`.
    pub(super) const fn read(&self, id: u128) -> u64 {
        // A field has at most 62 bits, so nothing is cut.
        #[expect(clippy::cast_possible_truncation)]
        let bits = (id >> self.shift) as u64;
        bits & self.max()
    }
}

impl fmt::Debug for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}<<{}", self.name(), self.bits, self.shift)
    }
}

impl FieldKind {
    pub(super) const fn of(name: &[u8]) -> Self {
        match name {
            b"time" => Self::Time,
            b"sequence" => Self::Sequence,
            _ => Self::Node,
        }
    }
}
