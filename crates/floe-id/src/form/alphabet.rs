//! The symbols of the forms that write a number in a base, as tables in both directions.

/// A base's symbols in ASCII order, from 0 up, and what each byte of a text means.
#[derive(Debug)]
pub(super) struct Alphabet {
    symbols: &'static [u8],
    /// The symbols of two digits at once.
    pairs: &'static [[u8; 2]],
    values: [u8; 256],
}

/// What [`Alphabet::values`] has for a byte that is no symbol.
const FOREIGN: u8 = 0xff;
/// What [`Alphabet::values`] has for a letter whose other case is a symbol.
const OTHER_CASE: u8 = 0xfe;

/// What a byte is in an alphabet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Byte {
    Digit(u8),
    OtherCase,
    Foreign,
}

macro_rules! alphabet {
    ($name:ident, $rule:ident, $symbols:literal) => {
        pub(super) static $name: Alphabet = {
            static PAIRS: [[u8; 2]; $symbols.len() * $symbols.len()] = pairs($symbols);
            Alphabet::$rule($symbols, &PAIRS)
        };
    };
}

alphabet!(DECIMAL, exact, b"0123456789");
alphabet!(HEX, exact, b"0123456789abcdef");
alphabet!(HEX_UPPER, exact, b"0123456789ABCDEF");
alphabet!(BASE36, exact, b"0123456789abcdefghijklmnopqrstuvwxyz");
alphabet!(BASE36_UPPER, exact, b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ");
// <https://en.bitcoin.it/wiki/Base58Check_encoding>: without `0`, `O`, `I` and `l`.
alphabet!(BASE58, of, b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz");
// Digits, capitals, small letters: the order of ASCII, which is KSUID's as well.
alphabet!(BASE62, of, b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz");
// <https://www.crockford.com/base32.html>
alphabet!(BASE32, crockford, b"0123456789ABCDEFGHJKMNPQRSTVWXYZ");
alphabet!(BASE32_LOWER, crockford, b"0123456789abcdefghjkmnpqrstvwxyz");
// TypeID takes Crockford's symbols in small letters and none of his aliases.
alphabet!(TYPE_ID, exact, b"0123456789abcdefghjkmnpqrstvwxyz");

const fn pairs<const COUNT: usize>(symbols: &[u8]) -> [[u8; 2]; COUNT] {
    let mut pairs = [[0; 2]; COUNT];
    let mut at = 0;
    while at < COUNT {
        pairs[at] = [symbols[at / symbols.len()], symbols[at % symbols.len()]];
        at += 1;
    }
    pairs
}

impl Alphabet {
    /// Letters of one case: one in the other is an error of its own.
    const fn exact(list: &'static [u8], pairs: &'static [[u8; 2]]) -> Self {
        let mut alphabet = Self::of(list, pairs);
        let mut at = 0;
        while at < list.len() {
            if list[at].is_ascii_alphabetic() {
                alphabet.values[(list[at] ^ 0x20) as usize] = OTHER_CASE;
            }
            at += 1;
        }
        alphabet
    }

    /// Crockford's aliases: either case, `o` for `0`, `i` and `l` for `1`.
    const fn crockford(list: &'static [u8], pairs: &'static [[u8; 2]]) -> Self {
        let mut alphabet = Self::of(list, pairs);
        let mut at = 0;
        while at < list.len() {
            if list[at].is_ascii_alphabetic() {
                alphabet.values[(list[at] ^ 0x20) as usize] = alphabet.values[list[at] as usize];
            }
            at += 1;
        }
        let aliases = b"oOiIlL";
        let meant = [0, 0, 1, 1, 1, 1];
        let mut at = 0;
        while at < aliases.len() {
            alphabet.values[aliases[at] as usize] = meant[at];
            at += 1;
        }
        alphabet
    }

    /// One text for each number, and nothing else.
    const fn of(symbols: &'static [u8], pairs: &'static [[u8; 2]]) -> Self {
        let mut values = [FOREIGN; 256];
        let mut digit = 0_u8;
        while (digit as usize) < symbols.len() {
            values[symbols[digit as usize] as usize] = digit;
            digit += 1;
        }
        Self { symbols, pairs, values }
    }

    /// The symbols of a number of two digits.
    #[inline(always)]
    pub(super) fn pair(&self, digits: u16) -> [u8; 2] {
        self.pairs[usize::from(digits)]
    }

    #[inline(always)]
    pub(super) fn zero(&self) -> u8 {
        self.symbols[0]
    }

    #[inline(always)]
    pub(super) fn read(&self, byte: u8) -> Byte {
        match self.values[usize::from(byte)] {
            FOREIGN => Byte::Foreign,
            OTHER_CASE => Byte::OtherCase,
            digit => Byte::Digit(digit),
        }
    }

    /// How many digits the numbers up to `largest` have at most.
    pub(super) fn digits(&self, largest: u128) -> usize {
        digits(self.symbols.len(), largest)
    }
}

/// How many digits in `base` the numbers up to `largest` have at most.
pub(super) fn digits(base: usize, largest: u128) -> usize {
    core::iter::successors(Some(largest), |rest| Some(rest / base as u128).filter(|rest| *rest > 0)).count()
}

/// The last digit of `number` in `base`, and what is before it.
#[expect(clippy::cast_possible_truncation, reason = "a remainder is less than the base")]
#[inline(always)]
pub(super) fn last_digit(number: u64, base: usize) -> (usize, u64) {
    let base = base as u64;
    ((number % base) as usize, number / base)
}
