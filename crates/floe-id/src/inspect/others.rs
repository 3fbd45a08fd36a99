//! Kinds that floe does not mint, and that people paste all the same: xid, CUID, and Firebase's push IDs.

use alloc::{borrow::ToOwned, format, string::ToString};

use crate::time::UnixMillis;

use super::reading::{Likelihood, Reading, fields};

/// An xid: the fields of an ObjectId's older form in 20 digits of `0-9a-v` (github.com/rs/xid).
pub(super) fn xid(text: &str) -> Option<Reading> {
    const DIGITS: usize = 20;
    let mut digits = text.bytes().map(|byte| match byte {
        b'0'..=b'9' => Some(u128::from(byte - b'0')),
        b'a'..=b'v' => Some(u128::from(byte - b'a' + 10)),
        _ => None,
    });
    let number = digits.try_fold(0_u128, |number, digit| Some(number << 5 | digit?))?;
    // 100 bits for 96: the last four are 0.
    if text.len() != DIGITS || number & 0xf != 0 {
        return None;
    }
    let number = number >> 4;
    let field = |shift: u32, bits: u32| number >> shift & ((1 << bits) - 1);
    let (seconds, machine, process, counter) = (field(64, 32), field(40, 24), field(24, 16), field(0, 24));
    let time = UnixMillis::from_position(u64::try_from(seconds * 1_000).ok()?);
    let sums = [("time * 1000".to_owned(), format!("{}  ms since 1970: {time}", time.get()))];
    Some(
        Reading::new("xid", "xid: a time, a machine, a process, a counter", "base32hex", text)
            .at(time)
            .fact("machine", format!("{machine:#08x}"))
            .fact("process", process.to_string())
            .fact("counter", counter.to_string())
            .that_is(Likelihood::Likely)
            .bits(
                fields([
                    ("time", 32, seconds),
                    ("machine", 24, machine),
                    ("process", 16, process),
                    ("counter", 24, counter),
                ]),
                &sums,
            ),
    )
}

/// A CUID of the first version: `c`, milliseconds, a counter, a fingerprint of the machine, and randomness, all in base36
/// (github.com/paralleldrive/cuid).
pub(super) fn cuid(text: &str) -> Option<Reading> {
    const DIGITS: usize = 25;
    if text.len() != DIGITS || !text.bytes().all(|byte| byte.is_ascii_digit() || byte.is_ascii_lowercase()) {
        return None;
    }
    let rest = text.strip_prefix('c')?;
    let (time, rest) = rest.split_at_checked(8)?;
    let (counter, rest) = rest.split_at_checked(4)?;
    let (fingerprint, random) = rest.split_at_checked(4)?;
    let base36 = |digits: &str| u64::from_str_radix(digits, 36).ok();
    Some(
        Reading::new("cuid", "CUID version 1: a time, a counter, a machine, random digits", "base36", text)
            .at(UnixMillis::from_position(base36(time)?))
            .fact("counter", base36(counter)?.to_string())
            .fact("machine", format!("{fingerprint} (a fingerprint of it and the process)"))
            .fact("random", random)
            .that_is(Likelihood::Likely),
    )
}

/// A push ID of Firebase: milliseconds in 8 characters of 6 bits, and 72 random bits in 12 (firebase.blog, The 2^120 Ways to
/// Ensure Unique Identifiers).
pub(super) fn push_id(text: &str) -> Option<Reading> {
    const DIGITS: usize = 20;
    // In the order of their bytes, so that texts are in the order of time.
    const ALPHABET: &[u8; 64] = b"-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz";
    if text.len() != DIGITS {
        return None;
    }
    let value = |byte: u8| u128::try_from(ALPHABET.iter().position(|symbol| *symbol == byte)?).ok();
    let number = text.bytes().try_fold(0_u128, |number, byte| Some(number << 6 | value(byte)?))?;
    let (millis, random) = (number >> 72, number & ((1 << 72) - 1));
    let time = UnixMillis::from_position(u64::try_from(millis).ok()?);
    let sums = [("time".to_owned(), format!("{millis}  ms since 1970: {time}"))];
    Some(
        Reading::new("pushid", "push ID of Firebase: a time in order, and random bits", "base64", text)
            .at(time)
            .fact("random", format!("{random:#020x}"))
            .that_is(Likelihood::Possible)
            .bits(fields([("time", 48, millis), ("random", 72, random)]), &sums),
    )
}
