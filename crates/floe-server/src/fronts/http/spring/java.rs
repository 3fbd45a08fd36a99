//! Numbers as Java reads them.

/// The digits zero of the scripts that Java knows within 16 bits (Unicode's Nd); nine more follow each.
const ZEROS: [u32; 37] = [
    0x30, 0x660, 0x6f0, 0x7c0, 0x966, 0x9e6, 0xa66, 0xae6, 0xb66, 0xbe6, 0xc66, 0xce6, 0xd66, 0xde6, 0xe50,
    0xed0, 0xf20, 0x1040, 0x1090, 0x17e0, 0x1810, 0x1946, 0x19d0, 0x1a80, 0x1a90, 0x1b50, 0x1bb0, 0x1c40,
    0x1c50, 0xa620, 0xa8d0, 0xa900, 0xa9d0, 0xa9f0, 0xaa50, 0xabf0, 0xff10,
];

/// `Long.parseLong`.
pub(in crate::fronts::http) fn long(text: &str) -> Option<i64> {
    parse(text, 10)
}

/// Spring's `NumberUtils` for an `Integer`; `None` for an empty text.
///
/// # Errors
/// The message of Java's exception.
pub(in crate::fronts::http) fn integer(text: &str) -> Result<Option<i32>, String> {
    if text.is_empty() {
        return Ok(None);
    }
    let trimmed: String = text.chars().filter(|c| !is_white_space(*c)).collect();
    let unsigned = trimmed.strip_prefix('-').unwrap_or(&trimmed);
    let hex = ["0x", "0X", "#"].iter().find_map(|begin| unsigned.strip_prefix(begin));
    let (digits, radix) = match hex {
        Some(digits) if unsigned.len() < trimmed.len() => (format!("-{digits}"), 16),
        Some(digits) => (digits.to_owned(), 16),
        None => (trimmed, 10),
    };
    let under = if radix == 16 { " under radix 16" } else { "" };
    let number = parse(&digits, radix).and_then(|number| i32::try_from(number).ok());
    number.map(Some).ok_or_else(|| format!("For input string: \"{digits}\"{under}"))
}

/// A sign or none, and one digit or more.
fn parse(text: &str, radix: u32) -> Option<i64> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if digits.is_empty() {
        return None;
    }
    digits.chars().try_fold(0_i64, |number, c| {
        let digit = i64::from(digit(c, radix)?);
        // Downwards, where there is room for one more.
        let number = number.checked_mul(i64::from(radix))?;
        if negative { number.checked_sub(digit) } else { number.checked_add(digit) }
    })
}

fn digit(c: char, radix: u32) -> Option<u32> {
    let of_script =
        ZEROS.iter().find_map(|zero| (u32::from(c)).checked_sub(*zero).filter(|digit| *digit < 10));
    of_script.or_else(|| c.to_digit(radix))
}

/// `Character.isWhitespace`.
fn is_white_space(c: char) -> bool {
    matches!(c, '\t'..='\r' | '\u{1c}'..='\u{1f}')
        || (c.is_whitespace() && !matches!(c, '\u{85}' | '\u{a0}' | '\u{2007}' | '\u{202f}'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_java_reads_them() {
        for (text, number) in [
            ("0", Some(0)),
            ("-0", Some(0)),
            ("+5", Some(5)),
            ("007", Some(7)),
            ("\u{ff11}\u{ff12}", Some(12)),
            ("\u{663}", Some(3)),
            ("-9223372036854775808", Some(i64::MIN)),
            ("9223372036854775808", None),
            ("", None),
            ("-", None),
            ("1.0", None),
            (" 5", None),
            ("0x10", None),
            ("\u{1d7ce}", None),
        ] {
            assert_eq!(long(text), number, "{text:?}");
        }
        for (text, number) in [
            ("", Ok(None)),
            (" 1 0 ", Ok(Some(10))),
            ("0x10", Ok(Some(16))),
            ("-#f", Ok(Some(-15))),
            ("-2147483648", Ok(Some(i32::MIN))),
            ("2147483648", Err("For input string: \"2147483648\"")),
            (" ", Err("For input string: \"\"")),
            ("1,1", Err("For input string: \"1,1\"")),
            ("0xg", Err("For input string: \"g\" under radix 16")),
        ] {
            assert_eq!(integer(text), number.map_err(str::to_owned), "{text:?}");
        }
    }
}
