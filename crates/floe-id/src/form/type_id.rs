//! TypeID: the type of a thing, an underscore, and 128 bits in 26 symbols.
//! <https://github.com/jetify-com/typeid/tree/main/spec>, version 0.3.0.

use alloc::{format, string::String};

use super::digits::Checked;
use super::error::{FormDefinitionError, FormError};

const MAX_TYPE_BYTES: usize = 63;
pub(super) const BITS: u32 = 128;
const SYMBOLS: usize = 26;
const SEPARATOR: u8 = b'_';

/// Takes a TypeID of any type apart: the type, which may be empty, and the number.
///
/// ```
/// let (kind, number) = floe_id::form::read_type_id("user_01h455vb4pex5vsknk084sn02q")?;
/// assert_eq!((kind, number), ("user", 0x01890a5d_ac96_774b_bcce_b302099a8057));
/// # Ok::<(), floe_id::form::FormError>(())
/// ```
///
/// # Errors
/// [`FormError`] names the rule that the text breaks, and the byte.
pub fn read_type_id(text: &str) -> Result<(&str, u128), FormError> {
    const MOST: usize = MAX_TYPE_BYTES + 1 + SYMBOLS;
    let bytes = text.len();
    if text.is_empty() {
        return Err(FormError::Empty);
    }
    if !(SYMBOLS..=MOST).contains(&bytes) {
        return Err(FormError::Length { bytes, least: SYMBOLS, most: MOST });
    }
    let suffix_at = bytes - SYMBOLS;
    let Some((before, suffix)) = text.split_at_checked(suffix_at) else {
        let at = (0..suffix_at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default();
        return Err(FormError::symbol(text, at));
    };
    let kind = match before.strip_suffix('_') {
        Some(kind) if !kind.is_empty() => kind,
        None if before.is_empty() => before,
        // A separator with nothing before it, or none at all.
        _ => return Err(FormError::symbol(text, 0)),
    };
    if let Some(at) = wrong(kind) {
        return Err(FormError::symbol(text, at));
    }
    let number = Checked::TYPE_ID.decode(suffix, BITS).map_err(|error| error.later(suffix_at))?;
    Ok((kind, number))
}

/// The text before the symbols of a TypeID whose type is `kind`.
pub(super) fn prefix(kind: &str) -> Result<String, FormDefinitionError> {
    if kind.len() > MAX_TYPE_BYTES || wrong(kind).is_some() {
        return Err(FormDefinitionError::Value(format!(
            "{kind:?} is not the type of a TypeID: it has at most {MAX_TYPE_BYTES} of a-z and _, and neither begins nor ends with _"
        )));
    }
    Ok(if kind.is_empty() { String::new() } else { format!("{kind}_") })
}

/// Where a type breaks the rule of its characters.
fn wrong(kind: &str) -> Option<usize> {
    let last = kind.len().saturating_sub(1);
    kind.bytes().enumerate().position(|(at, byte)| match byte {
        SEPARATOR => at == 0 || at == last,
        byte => !byte.is_ascii_lowercase(),
    })
}
