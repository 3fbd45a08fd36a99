//! A number of up to 122 bits as a UUID of version 8 (RFC 9562, section 5.8): in order, and for columns that are UUIDs.

use super::buffer::Buffer;
use super::error::FormError;
use super::same;
use crate::id::WideId;
use crate::kind::{ReadError, Uuid, UuidV8Error};

pub(super) const BITS: u32 = 122;
pub(super) const SYMBOLS: usize = 36;
/// Where the digits of the version and of the variant stand.
const VERSION_AT: usize = 14;
const VARIANT_AT: usize = 19;

/// Writes a number of at most 122 bits.
pub(super) fn encode(number: u128, buffer: &mut Buffer) -> Result<(), FormError> {
    let uuid =
        Uuid::try_from(WideId::from(number)).map_err(|_| FormError::DoesNotFit { number, bits: BITS })?;
    buffer.put_all(uuid.encode(&mut [0; SYMBOLS]).as_bytes());
    Ok(())
}

/// The number of a text of 36 bytes.
pub(super) fn decode(text: &str, bits: u32) -> Result<u128, FormError> {
    let uuid: Uuid = text.parse().map_err(|error| match error {
        ReadError::Character { character, at, .. } => FormError::Symbol { character, at },
        _ => FormError::NotCanonical { at: 0 },
    })?;
    let number = WideId::try_from(uuid).map_err(|error| match error {
        UuidV8Error::Version(uuid) if uuid.version().is_some() => FormError::symbol(text, VERSION_AT),
        _ => FormError::symbol(text, VARIANT_AT),
    })?;
    // Capitals are a UUID's, and what is written has none.
    let mut written = Buffer::new();
    encode(number.get(), &mut written)?;
    same(text, &written)?;
    if number.get() > super::largest(bits) {
        return Err(FormError::TooLarge { bits });
    }
    Ok(number.get())
}
