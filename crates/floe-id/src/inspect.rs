//! Recognises a pasted text: all kinds of ID that it may be, the most likely first, or why it is none.
//!
//! A text alone rarely shows its kind. A number may have any layout, 32 hexadecimal digits may be a UUID or a digest,
//! and any 21 characters read as a NanoID. So each answer says how likely it is, by its form and by whether its time is
//! plausible.
//!
//! ```
//! use floe_id::{UnixMillis, inspect::{Likelihood, recognize}};
//!
//! let now = UnixMillis::new(1_795_219_200_000);
//! let found = recognize("01ARZ3NDEKTSV4RRFFQ69G5FAV", now)?;
//! assert_eq!((found[0].kind.as_str(), found[0].likelihood), ("ulid", Likelihood::Certain));
//! let found = recognize("1541815603606036480", now)?;
//! assert_eq!(found[0].title, "snowflake of twitter");
//! # Ok::<(), floe_id::inspect::InspectError>(())
//! ```

use core::fmt;
mod kinds;
mod others;
mod reading;
mod snowflakes;
#[cfg(test)]
#[cfg(feature = "serde")]
mod tests;
mod uuid;

use alloc::{
    borrow::ToOwned,
    format,
    string::{String, ToString},
    vec,
    vec::Vec,
};

use jiff::civil::Date;

pub use reading::{BitField, Datum, Likelihood, Moment, Reading};

use crate::id::{IdError, WideId};
use crate::kind::{Ksuid, ObjectId, Ulid, Uuid};
use crate::time::UnixMillis;

/// The longest text that is read, in bytes. A TypeID, the longest of all kinds, has 90.
pub const LONGEST: usize = 256;

/// Why a text is not an ID of any kind.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum InspectError {
    /// The text is empty, or has only characters that may surround an ID.
    Empty,
    /// The text has more than [`LONGEST`] bytes.
    Length,
    /// The text has a character that no kind has.
    Character {
        /// The character.
        character: char,
        /// Where it begins, in bytes.
        at: usize,
    },
    /// The number is not an ID of any width.
    Number(IdError),
    /// No preset gives the number a plausible time.
    Undated {
        /// The number.
        id: WideId,
        /// The number as a Unix time.
        also: String,
    },
    /// No kind reads the text.
    Unknown {
        /// The text, without surrounding characters.
        text: String,
        /// The rule that it breaks, of the most similar kind.
        rule: Option<String>,
    },
}

impl fmt::Display for InspectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("an empty text is no ID"),
            Self::Length => write!(
                f,
                "a text of over {LONGEST} bytes is no ID of any kind: the longest, a TypeID, has 90"
            ),
            Self::Character { character, at } => write!(
                f,
                "{} at byte {at} cannot be in an ID{}",
                shown(*character),
                if character.is_ascii() { "" } else { ": all kinds are written in ASCII" }
            ),
            Self::Number(error) => write!(f, "{error}"),
            Self::Undated { id, also } => write!(
                f,
                "no preset gives {id} a date between its epoch and now: it is a number of a segment or a counter, or of a layout that is no preset{also}"
            ),
            Self::Unknown { text, rule } => write!(
                f,
                "{text:?} is no ID of any kind that floe knows{}",
                rule.iter().map(|rule| format!(": {rule}")).collect::<String>()
            ),
        }
    }
}

impl From<IdError> for InspectError {
    fn from(error: IdError) -> Self {
        Self::Number(error)
    }
}

crate::__error!(InspectError);

fn shown(character: char) -> String {
    match character.is_ascii() {
        true => format!("{character:?}"),
        false => format!("{character:?} (U+{:04X})", u32::from(character)),
    }
}

/// What `text` may be by itself, the best first and at least one. `now` is the wall clock's time: what was minted more
/// than a day after it, or before 1990, is unlikely.
///
/// White space, quotes, braces, `urn:uuid:`, `ObjectId()` and the like around the ID are read past, and noted.
///
/// ```
/// use floe_id::{UnixMillis, inspect};
/// let now = UnixMillis::new(1_795_219_200_000);
/// let found = inspect::recognize(r#"ObjectId("507f1f77bcf86cd799439011")"#, now)?;
/// assert_eq!((found[0].kind.as_str(), found[0].text.as_str()), ("objectid", "507f1f77bcf86cd799439011"));
/// assert!(found[0].notes.iter().any(|note| note == "read without ObjectId() around it"));
/// assert!(inspect::recognize("no ID", now).is_err());
/// # Ok::<(), floe_id::inspect::InspectError>(())
/// ```
///
/// # Errors
/// [`InspectError`], where no kind reads the text.
pub fn recognize(text: &str, now: UnixMillis) -> Result<Vec<Reading>, InspectError> {
    let Pasted { text, around } = Pasted::new(text);
    check(text)?;
    let found = match after_0x(text) {
        Some(digits) => of_hexadecimal(digits, now),
        None => of_bare(text, now),
    };
    if found.is_empty() {
        return Err(nothing(text, now));
    }
    let judged = found.into_iter().map(|reading| {
        around.iter().fold(reading.judged(now), |reading, what| reading.note(format!("read without {what}")))
    });
    let mut found: Vec<Reading> = judged.collect();
    // Stable: what was found first among equals stays there.
    found.sort_by_key(|reading| reading.likelihood);
    Ok(found)
}

/// A text without what programs put around IDs.
struct Pasted<'t> {
    text: &'t str,
    /// What was there.
    around: Vec<&'static str>,
}

impl<'t> Pasted<'t> {
    fn new(text: &'t str) -> Self {
        const AROUND: [(&str, &str, &str); 6] = [
            ("\"", "\"", "the quotes around it"),
            ("'", "'", "the quotes around it"),
            ("`", "`", "the quotes around it"),
            ("ObjectId(", ")", "ObjectId() around it"),
            ("UUID(", ")", "UUID() around it"),
            ("{", "}", "the braces around it"),
        ];
        let trimmed = text.trim();
        let mut pasted = Self { text: trimmed, around: Vec::new() };
        if trimmed.len() < text.len() {
            pasted.around.push("the white space around it");
        }
        // One inside the other, as in ObjectId("…").
        for _ in 0..AROUND.len() {
            let inner = AROUND.into_iter().find_map(|(before, after, what)| {
                Some((pasted.text.strip_prefix(before)?.strip_suffix(after)?, what))
            });
            let Some((inner, what)) = inner else { break };
            pasted.text = inner;
            pasted.around.push(what);
        }
        if let Some((urn, id)) = pasted.text.split_at_checked("urn:uuid:".len())
            && urn.eq_ignore_ascii_case("urn:uuid:")
        {
            pasted.text = id;
            pasted.around.push("urn:uuid: before it");
        }
        let number =
            pasted.text.strip_suffix('n').filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()));
        if let Some(number) = number.filter(|digits| !digits.is_empty()) {
            pasted.text = number;
            pasted.around.push("the n of a JavaScript BigInt");
        }
        pasted
    }
}

/// Refuses what no ID of any kind is.
fn check(text: &str) -> Result<(), InspectError> {
    if text.is_empty() {
        return Err(InspectError::Empty);
    }
    if text.len() > LONGEST {
        return Err(InspectError::Length);
    }
    match text.char_indices().find(|(_, character)| !character.is_ascii_graphic()) {
        None => Ok(()),
        Some((at, character)) => Err(InspectError::Character { character, at }),
    }
}

/// The number that `text` writes, whatever its width.
///
/// ```
/// use floe_id::{IdError, inspect};
/// assert_eq!(inspect::number("18446744073709551616")?.get(), 1 << 64); // wider than an `Id`
/// assert_eq!(inspect::number("-7"), Err(IdError::Negative(-7)));
/// # Ok::<(), IdError>(())
/// ```
///
/// # Errors
/// [`IdError`]; a negative number is told as one.
pub fn number(text: &str) -> Result<WideId, IdError> {
    match text.parse::<i64>() {
        // Its own text says where a negative ID comes from.
        Ok(negative) if negative < 0 => Err(IdError::Negative(negative)),
        _ => text.parse(),
    }
}

/// Each kind that reads the text, in the order of how often it is met.
fn of_bare(text: &str, now: UnixMillis) -> Vec<Reading> {
    let mut found = Vec::new();
    if let Ok(id) = text.parse::<Uuid>() {
        found.push(uuid::uuid(id, "hyphens"));
    }
    if let Some(id) = without_hyphens(text) {
        found.extend(bare_uuid(id));
    }
    found.extend(kinds::type_id(text));
    if let Ok(id) = text.parse::<Ulid>() {
        let likely = if text.bytes().any(|byte| byte.is_ascii_lowercase()) {
            Likelihood::Likely
        } else {
            Likelihood::Certain
        };
        found.push(kinds::ulid(id).that_is(likely));
    }
    if let Ok(id) = text.parse::<ObjectId>() {
        found.extend(kinds::object_id(id));
    }
    if let Ok(id) = text.parse::<Ksuid>() {
        found.push(kinds::ksuid(id));
    }
    // Their texts are so common that a time which can be has to speak for them.
    let others = [others::xid(text), others::cuid(text), others::push_id(text)].into_iter().flatten();
    found.extend(others.filter(|other| other.time.as_ref().is_some_and(|time| time.is_credible(now))));
    found.extend(dated(text, now));
    match text.parse::<WideId>() {
        Ok(id) => {
            let presets = snowflakes::by_presets(id, now).into_iter();
            found.extend(presets.map(|reading| match unix_time(id, now) {
                Some(time) => reading.note(format!("such a number is more often a time than an ID: {time}")),
                None => reading,
            }));
            found.extend(number_of_a_uuid(id));
        }
        Err(_) => found.extend(snowflakes::in_other_bases(text, now)),
    }
    found.extend(kinds::nano_id(text));
    found
}

/// The digits of a number that says that it is hexadecimal, as SQL Server and MySQL, PostgreSQL and languages write
/// bytes.
fn after_0x(text: &str) -> Option<&str> {
    ["0x", "0X", "\\x"].into_iter().find_map(|before| text.strip_prefix(before))
}

/// What is hexadecimal for certain: a UUID's or an ObjectId's bytes, or a number.
fn of_hexadecimal(digits: &str, now: UnixMillis) -> Vec<Reading> {
    if let Some(id) = without_hyphens(digits) {
        return bare_uuid(id);
    }
    if let Ok(id) = digits.parse::<ObjectId>() {
        return kinds::object_id(id).into();
    }
    let hexadecimal = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    let Some(number) = u128::from_str_radix(digits, 16).ok().filter(|_| hexadecimal) else {
        return Vec::new();
    };
    let readings = snowflakes::by_presets(WideId::from(number), now).into_iter();
    readings
        .map(|reading| reading.written("hex", &number.to_string()).note("read as a hexadecimal number"))
        .collect()
}

fn without_hyphens(text: &str) -> Option<Uuid> {
    let hexadecimal = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let number = u128::from_str_radix(text, 16).ok()?;
    hexadecimal.then_some(Uuid::from_u128(number))
}

/// 32 hexadecimal digits, which a digest and a trace's ID have too.
fn bare_uuid(id: Uuid) -> Vec<Reading> {
    let reading = uuid::uuid(id, "hex");
    if matches!(id.version(), Some(1..=8)) {
        return vec![reading.note("read without hyphens; one in 8 digests or trace IDs looks like this")];
    }
    let ulid = kinds::ulid(Ulid::from(id))
        .written("hex", &format!("{:032x}", id.get()))
        .titled("ULID, written in hex")
        .that_is(Likelihood::Unlikely);
    vec![
        reading
            .note("32 hexadecimal digits that are not a UUID of any version are most often a digest (MD5) or a trace ID")
            .that_is(Likelihood::Possible),
        ulid,
    ]
}

/// A UUID as some databases and languages print its 128 bits.
fn number_of_a_uuid(id: WideId) -> Option<Reading> {
    let id = Uuid::from_u128(id.get());
    let known = matches!(id.version(), Some(1..=8)) && id.get() >> 120 != 0;
    let reading = known.then(|| uuid::uuid(id, "decimal"))?;
    let title = format!("{}, written as a number", reading.title);
    Some(reading.titled(title).that_is(Likelihood::Possible))
}

/// A date and the number within its day, perhaps behind a prefix.
fn dated(text: &str, now: UnixMillis) -> Option<Reading> {
    let prefix = text.trim_end_matches(|c: char| c.is_ascii_digit());
    let (date, number) = text.strip_prefix(prefix)?.split_at_checked("yyyyMMdd".len())?;
    let named = prefix.bytes().all(|byte| byte.is_ascii_alphabetic() || matches!(byte, b'-' | b'_' | b'#'));
    // A sign alone is no prefix: a negative number has an error of its own.
    if !named || prefix == "-" || !(1..=12).contains(&number.len()) {
        return None;
    }
    let day = Date::strptime("%Y%m%d", date).ok()?;
    let midnight = day.to_zoned(jiff::tz::TimeZone::UTC).ok()?;
    let time = Moment::from(UnixMillis::new(midnight.timestamp().as_millisecond()));
    if !time.is_credible(now) {
        return None;
    }
    let place: u64 = number.parse().ok()?;
    let reading = Reading::new("dated", "dated number", "decimal", text)
        .fact("date", day.to_string())
        .fact("number", format!("{place} of that day"))
        .note("only its name says in which time zone a day begins: floe inspect ID --name NAME")
        .with("date", day.to_string())
        .with("position", place)
        .with("prefix", prefix);
    Some(reading.that_is(Likelihood::Likely))
}

/// Why `text`, which no kind reads, is nothing: the rule of the kind that it is nearest to, and what was tried.
fn nothing(text: &str, now: UnixMillis) -> InspectError {
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    let signed = text.strip_prefix(['-', '+']).unwrap_or(text);
    let numeric = !signed.is_empty() && signed.bytes().all(|byte| byte.is_ascii_digit());
    if numeric {
        return match number(text) {
            Ok(id) => no_preset(id, now),
            Err(error) => error.into(),
        };
    }
    let hyphens = text.bytes().filter(|byte| *byte == b'-').count();
    let rule = match text.len() {
        _ if hyphens >= 4 => text.parse::<Uuid>().err().map(|error| error.to_string()),
        _ if after_0x(text).is_some() => Some(hexadecimal_number(text, now)),
        _ if text.contains('_') => Some(type_id(text)),
        31 | 33 => {
            Some(format!("a UUID without hyphens has 32 hexadecimal digits, and here are {}", text.len()))
        }
        32 => hexadecimal(text).map(|(at, character)| {
            format!(
                "{character:?} at byte {at} is not a hexadecimal digit, and a UUID without hyphens has 32 of them"
            )
        }),
        35..=37 => text.parse::<Uuid>().err().map(|error| error.to_string()),
        25 | 26 => text.parse::<Ulid>().err().map(|error| error.to_string()),
        23 | 24 => text.parse::<ObjectId>().err().map(|error| error.to_string()),
        27 | 28 => text.parse::<Ksuid>().err().map(|error| error.to_string()),
        _ if digits * 4 >= text.len() * 3 => number(text).err().map(|error| format!("as a number: {error}")),
        _ => None,
    };
    InspectError::Unknown { text: text.to_owned(), rule }
}

/// Why a text with an underscore is no TypeID.
fn type_id(text: &str) -> String {
    let symbols = text.rsplit('_').next().unwrap_or_default().len();
    match crate::form::read_type_id(text) {
        Err(error) if symbols == 26 => format!("as a TypeID: {error}"),
        _ => format!("as a TypeID it has {symbols} symbols behind its last _, and needs 26"),
    }
}

/// Why a text that says that it is hexadecimal is no ID.
fn hexadecimal_number(text: &str, now: UnixMillis) -> String {
    let digits = after_0x(text).unwrap_or_default();
    match (hexadecimal(digits), u128::from_str_radix(digits, 16)) {
        (Some((at, character)), _) => {
            format!("{character:?} at byte {} is not a hexadecimal digit", at + text.len() - digits.len())
        }
        (None, Ok(number)) => no_preset(WideId::from(number), now).to_string(),
        (None, Err(_)) => format!("it has {} digits, and a hexadecimal number has 1 to 32", digits.len()),
    }
}

fn hexadecimal(text: &str) -> Option<(usize, char)> {
    text.char_indices().find(|(_, character)| !character.is_ascii_hexdigit())
}

/// The number as a time of Unix, if it is one that can be.
fn unix_time(id: WideId, now: UnixMillis) -> Option<String> {
    let number = i64::try_from(id.get()).ok()?;
    [("milliseconds", 1), ("seconds", 1_000)].into_iter().find_map(|(unit, millis)| {
        let time = UnixMillis::new(number.checked_mul(millis)?);
        Moment::from(time).is_credible(now).then(|| format!("read as {unit} since 1970 it is {time}"))
    })
}

fn no_preset(id: WideId, now: UnixMillis) -> InspectError {
    let also = unix_time(id, now).map(|time| format!("; {time}")).unwrap_or_default();
    InspectError::Undated { id, also }
}
