//! The canonical text of a form: `base62 width=11`, `hashids salt=pepper min=8`, `sealed key=1 keyid=2bits base62`.
//!
//! Writing has one spelling for each form. Reading takes the words behind a form's name in any order, and what goes
//! without saying may be said, since each still says exactly one thing.

use alloc::{
    borrow::ToOwned,
    format,
    string::{String, ToString},
    vec::Vec,
};
use core::fmt;
use core::str::FromStr;

use super::digits::{Digits, Length, Radix};
use super::error::FormDefinitionError;
use super::{Form, Hashids, KeyId, KeyPlace, Notation, Sqids, hashids, sqids};

/// `{:#}` leaves out what may change: which key seals, where the texts say it themselves.
impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unsaid = match self.notation {
            Notation::TypeId => Self::TYPE_ID_BITS,
            _ => Self::BITS,
        };
        self.write(f, unsaid, f.alternate())
    }
}

impl Form {
    /// Reads a form for numbers of `bits` bits, where the text does not say of how many.
    ///
    /// ```
    /// use floe_id::form::Form;
    /// assert_eq!(Form::of_bits("base62 width=22", 128)?, "base62 bits=128 width=22".parse()?);
    /// # Ok::<(), floe_id::form::FormDefinitionError>(())
    /// ```
    ///
    /// # Errors
    /// [`FormDefinitionError`], as for `FromStr`.
    pub fn of_bits(text: &str, bits: u32) -> Result<Self, FormDefinitionError> {
        if text.trim_ascii().is_empty() {
            return Err(FormDefinitionError::UnknownForm(String::new()));
        }
        let (name, rest) =
            text.trim_ascii().split_once(|c: char| c.is_ascii_whitespace()).unwrap_or((text, ""));
        match rest.split_ascii_whitespace().any(|word| word.starts_with("bits=")) {
            true => text.parse(),
            false => format!("{name} bits={bits} {rest}").parse(),
        }
    }

    /// The canonical text, without the bits if they are those that go without saying; where it has to be `lasting`,
    /// without the key as well if the form's texts say theirs.
    fn write(&self, f: &mut fmt::Formatter<'_>, unsaid: u32, lasting: bool) -> fmt::Result {
        let bits = |f: &mut fmt::Formatter<'_>| match self.bits == unsaid {
            true => Ok(()),
            false => write!(f, " bits={}", self.bits),
        };
        match &self.notation {
            Notation::TypeId => {
                f.write_str("typeid")?;
                bits(f)?;
                return match self.prefix.as_str().strip_suffix('_') {
                    Some(kind) => write!(f, " type={kind}"),
                    None => Ok(()),
                };
            }
            Notation::Sealed(sealed) => {
                f.write_str("sealed")?;
                if let Some(key) = sealed.key.filter(|_| !lasting || sealed.place == KeyPlace::Unsaid) {
                    write!(f, " key={key}")?;
                }
                if let Some(check) = sealed.check {
                    write!(f, " check={check}")?;
                }
                bits(f)?;
                match sealed.place {
                    KeyPlace::Unsaid => {}
                    KeyPlace::Bits(bits) => write!(f, " keyid={bits}bits")?,
                    KeyPlace::Prefix => f.write_str(" keyid=prefix")?,
                }
                f.write_str(" ")?;
                sealed.inner.write(f, sealed.inner.bits, lasting)?;
            }
            Notation::Uuid8 => {
                f.write_str("uuid8")?;
                bits(f)?;
            }
            Notation::Hashids(shuffled) => {
                let Hashids { salt, min, alphabet } = &shuffled.hashids;
                f.write_str("hashids")?;
                bits(f)?;
                write_unless(f, "salt", salt, "")?;
                write_unless(f, "min", &min.to_string(), "0")?;
                write_unless(f, "alphabet", alphabet, hashids::DEFAULT_ALPHABET)?;
            }
            Notation::Sqids(shuffled) => {
                let Sqids { min, alphabet, blocklist } = &shuffled.sqids;
                f.write_str("sqids")?;
                bits(f)?;
                write_unless(f, "min", &min.to_string(), "0")?;
                write_unless(f, "alphabet", alphabet, sqids::DEFAULT_ALPHABET)?;
                if let Some(words) = blocklist {
                    f.write_str(" blocklist=")?;
                    for (at, word) in words.iter().enumerate() {
                        write!(f, "{}{}", if at == 0 { "" } else { "," }, Escaped(word))?;
                    }
                }
            }
            Notation::Digits(digits) => {
                let digits = digits.digits();
                f.write_str(digits.radix().as_str())?;
                bits(f)?;
                if let Some(case) = digits.case() {
                    write!(f, " {case}")?;
                }
                match digits.length() {
                    Length::Shortest => {}
                    Length::Fixed(width) => write!(f, " width={width}")?,
                    Length::AtLeast(width) => write!(f, " pad={width}")?,
                }
            }
        }
        write_unless(f, "prefix", self.prefix.as_str(), "")
    }
}

/// `key=value`, unless the value is the one that goes without saying.
fn write_unless(f: &mut fmt::Formatter<'_>, key: &str, value: &str, unsaid: &str) -> fmt::Result {
    if value == unsaid { Ok(()) } else { write!(f, " {key}={}", Escaped(value)) }
}

/// A block list of a few thousand words has room.
const LONGEST: usize = 1 << 16;

impl FromStr for Form {
    type Err = FormDefinitionError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.len() > LONGEST {
            let bytes = text.len();
            return Err(FormDefinitionError::Value(format!(
                "the text of a form has at most {LONGEST} bytes, and this one has {bytes}"
            )));
        }
        let mut words = text.split_ascii_whitespace();
        let name = words.next().unwrap_or_default();
        let words = Words { form: name, words: words.collect() };
        if name == "sealed" { read_sealed(words) } else { read(words, None) }
    }
}

/// A form for numbers of `bits` bits, which may say itself how many if there is none.
fn read(mut words: Words<'_>, bits: Option<u32>) -> Result<Form, FormDefinitionError> {
    let form = read_words(&mut words, bits)?;
    words.end()?;
    Ok(form)
}

fn read_sealed(mut words: Words<'_>) -> Result<Form, FormDefinitionError> {
    let Some(at) = words.words.iter().position(|word| !word.contains('=')) else {
        return Err(FormDefinitionError::value(
            "say in which form a sealed number is written: sealed key=1 base62",
        ));
    };
    let mut inner = words.words.split_off(at);
    let inner = Words { form: inner.remove(0), words: inner };
    let bits = words.number("bits")?.unwrap_or(Form::BITS);
    let key = words.number("key")?.map(KeyId::new);
    let check = match words.value("check") {
        None => None,
        Some(value) => Some(value.parse().map_err(|()| words.error(&format!("check={value}")))?),
    };
    let place = match words.value("keyid") {
        None => KeyPlace::Unsaid,
        Some("prefix") => KeyPlace::Prefix,
        Some(value) => {
            let bits = value.strip_suffix("bits").and_then(number);
            KeyPlace::Bits(bits.ok_or_else(|| words.error(&format!("keyid={value}")))?)
        }
    };
    words.end()?;
    if key.is_none() && place == KeyPlace::Unsaid {
        return Err(FormDefinitionError::value(
            "say the id of the key of a sealed form: sealed key=1 base62",
        ));
    }
    if check.is_some() && place != KeyPlace::Unsaid {
        return Err(FormDefinitionError::value("a check value is for the one key of a form without keyid="));
    }
    let inner_bits = bits.checked_add(place.bits()).ok_or_else(|| words.error("bits"))?;
    Ok(Form::seal(bits, key, place, read(inner, Some(inner_bits))?)?.with_check(check))
}

fn read_words(words: &mut Words<'_>, bits: Option<u32>) -> Result<Form, FormDefinitionError> {
    let unsaid = if words.form == "typeid" { Form::TYPE_ID_BITS } else { Form::BITS };
    let bits = match bits {
        Some(bits) => bits,
        None => words.number("bits")?.unwrap_or(unsaid),
    };
    if words.form == "typeid" {
        let kind = words.text("type")?.unwrap_or_default();
        return Form::type_id(bits, &kind);
    }
    let prefix = words.text("prefix")?.unwrap_or_default();
    let form = match words.form {
        "uuid8" => Form::uuid8(bits)?,
        "hashids" => Form::hashids(bits, read_hashids(words)?)?,
        "sqids" => Form::sqids(bits, read_sqids(words)?)?,
        name => match Radix::ALL.iter().copied().find(|radix| radix.as_str() == name) {
            Some(radix) => Form::digits(bits, read_digits(words, radix)?)?,
            None => return Err(FormDefinitionError::UnknownForm(name.to_owned())),
        },
    };
    form.with_prefix(&prefix)
}

fn read_digits(words: &mut Words<'_>, radix: Radix) -> Result<Digits, FormDefinitionError> {
    let mut digits = Digits::new(radix);
    match (words.flag("upper"), words.flag("lower")) {
        (true, true) => return Err(words.error("lower")),
        (true, false) => digits = digits.upper(),
        (false, true) => digits = digits.lower(),
        (false, false) => {}
    }
    match (words.number("width")?, words.number("pad")?) {
        (Some(_), Some(_)) => Err(words.error("pad")),
        (Some(width), None) => Ok(digits.width(width)),
        (None, Some(width)) => Ok(digits.pad(width)),
        (None, None) => Ok(digits),
    }
}

fn read_hashids(words: &mut Words<'_>) -> Result<Hashids, FormDefinitionError> {
    let salt = words.text("salt")?.unwrap_or_default();
    let hashids = Hashids::new(&salt).min(words.number("min")?.unwrap_or(0));
    Ok(match words.text("alphabet")? {
        Some(alphabet) => hashids.alphabet(&alphabet),
        None => hashids,
    })
}

fn read_sqids(words: &mut Words<'_>) -> Result<Sqids, FormDefinitionError> {
    let mut sqids = Sqids::new().min(words.number("min")?.unwrap_or(0));
    if let Some(alphabet) = words.text("alphabet")? {
        sqids = sqids.alphabet(&alphabet);
    }
    if let Some(list) = words.value("blocklist") {
        let listed: Option<Vec<String>> =
            list.split(',').filter(|word| !word.is_empty()).map(unescape).collect();
        sqids = sqids.blocklist(listed.ok_or_else(|| words.error(list))?);
    }
    Ok(sqids)
}

/// A longer value is in no error: it may be a secret.
const MOST_SHOWN: usize = 16;

/// The words behind the name of a form, each of which is taken once.
struct Words<'t> {
    form: &'t str,
    words: Vec<&'t str>,
}

impl<'t> Words<'t> {
    /// Whether there is the word.
    fn flag(&mut self, word: &str) -> bool {
        let at = self.words.iter().position(|have| *have == word);
        at.map(|at| self.words.remove(at)).is_some()
    }

    /// What `key=` says.
    fn value(&mut self, key: &str) -> Option<&'t str> {
        let value = |word: &'t str| word.strip_prefix(key).and_then(|rest| rest.strip_prefix('='));
        let at = self.words.iter().position(|word| value(word).is_some())?;
        value(self.words.remove(at))
    }

    /// What `key=` says, without its escapes.
    fn text(&mut self, key: &str) -> Result<Option<String>, FormDefinitionError> {
        self.value(key).map(|value| unescape(value).ok_or_else(|| self.error(value))).transpose()
    }

    fn number<N: FromStr>(&mut self, key: &str) -> Result<Option<N>, FormDefinitionError> {
        let Some(value) = self.value(key) else { return Ok(None) };
        number(value).map(Some).ok_or_else(|| {
            // Somebody may have put the key itself where its id belongs.
            let shown = if value.len() > MOST_SHOWN { "…" } else { value };
            FormDefinitionError::Value(format!(
                "the form {} cannot have {:?}: write a whole number there that is not too large and has no leading zeros",
                self.form,
                format!("{key}={shown}")
            ))
        })
    }

    fn end(&self) -> Result<(), FormDefinitionError> {
        self.words.first().map_or(Ok(()), |word| Err(self.error(word)))
    }

    fn error(&self, word: &str) -> FormDefinitionError {
        FormDefinitionError::Word { form: self.form.to_owned(), word: word.to_owned() }
    }
}

/// A number in its one spelling.
fn number<N: FromStr>(text: &str) -> Option<N> {
    let one_spelling =
        text.bytes().all(|byte| byte.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    text.parse().ok().filter(|_| one_spelling)
}

/// Displays a value with escapes: `%` and two hexadecimal digits in place of every byte that is not printable ASCII, of
/// `%` itself, and of the comma, which separates lists. [`unescape`] reads it back.
pub struct Escaped<'t>(pub &'t str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.bytes().try_for_each(|byte| match byte {
            b'%' | b',' => write!(f, "%{byte:02X}"),
            byte if byte.is_ascii_graphic() => write!(f, "{}", char::from(byte)),
            byte => write!(f, "%{byte:02X}"),
        })
    }
}

/// Reads an escaped value back; `None` if an escape is wrong or the result is not UTF-8.
///
/// ```
/// use floe_id::form::{Escaped, unescape};
/// assert_eq!(Escaped("a b").to_string(), "a%20b");
/// assert_eq!(unescape("a%20b").as_deref(), Some("a b"));
/// assert_eq!(unescape("a%2"), None);
/// ```
pub fn unescape(value: &str) -> Option<String> {
    let (first, rest) = value.split_once('%').map_or((value, None), |(first, rest)| (first, Some(rest)));
    let mut bytes = first.as_bytes().to_vec();
    for part in rest.into_iter().flat_map(|rest| rest.split('%')) {
        let (hex, plain) = part.split_at_checked(2)?;
        if !hex.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        bytes.push(u8::from_str_radix(hex, 16).ok()?);
        bytes.extend(plain.bytes());
    }
    String::from_utf8(bytes).ok()
}
