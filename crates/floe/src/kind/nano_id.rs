//! Minting NanoIDs.

use floe_id::inspect::Reading;
use floe_id::kind::{NanoId, NanoIdFormat, NanoIdFormatError};

use super::random::Random;
use super::{Mint, MintError, as_texts};
use crate::definition::{
    Complain, DefinitionError, Given, LedgerlessRules, Properties, Row, Rules, Setting, Takes,
};

pub(crate) static ROW: Row = Row {
    word: "nanoid",
    aliases: &[],
    settings: &[
        Setting::new("length", Takes::Whole(1..=63), "The number of characters in a nanoid [default: 21]"),
        Setting::new(
            "alphabet",
            Takes::Text("CHARACTERS"),
            "The alphabet of a nanoid [default: 64 characters that need no escape in a URL]",
        ),
    ],
    options: &[],
    has_time: false,
    rules: Rules::Ledgerless(LedgerlessRules {
        keys: &["length", "alphabet"],
        define,
        check: |properties| format(properties).map(drop),
        ..LedgerlessRules::plain(
            |of, text| {
                let id = format(of.properties())
                    .map_err(|error| of.foreign(text, error.to_string()))?
                    .read(text)?;
                Ok(Reading::new("nanoid", "NanoID: random", "nanoid", id.to_string()))
            },
            |properties| Ok(as_texts(NanoIdGenerator::new(format(properties)?), |_| None)),
        )
    }),
};

fn define(given: &Given, complain: Complain<'_>) -> Option<Properties> {
    let usual = NanoIdFormat::default();
    let length = given.read("length", usual.length(), complain)?;
    let alphabet = given.get("alphabet").unwrap_or(usual.alphabet());
    let properties = Properties::new()
        .with("length", &length.to_string())
        .and_then(|properties| properties.with("alphabet", alphabet));
    let checked = properties.and_then(|properties| format(&properties).map(|_| properties));
    let wrong = |error: &DefinitionError| match error {
        DefinitionError::NanoId(NanoIdFormatError::Length(_)) => "length",
        _ => "alphabet",
    };
    checked.map_err(|error| complain(wrong(&error), error.to_string())).ok()
}

/// The format that the properties describe.
fn format(properties: &Properties) -> Result<NanoIdFormat, DefinitionError> {
    let missing = || DefinitionError::Value("a nanoid has length= and alphabet=".to_owned());
    let said = properties.get("length").ok_or_else(missing)?;
    let length: usize = said.parse().map_err(|_| missing())?;
    // One text for each definition: 7, and neither 07 nor +7.
    if length.to_string() != said {
        return Err(DefinitionError::Value(format!("length={said} is written as length={length}")));
    }
    Ok(NanoIdFormat::new(properties.get("alphabet").ok_or_else(missing)?, length)?)
}

/// Mints NanoIDs: each character is any of the alphabet with the same probability.
///
/// For each character it takes as many random bits as a place in the alphabet needs, and takes new ones if they give
/// a place past its end. The remainder of a division would favour the first characters.
///
/// ```
/// use floe::kind::{Mint, NanoIdFormat, NanoIdGenerator};
/// let ids = NanoIdGenerator::new(NanoIdFormat::new("0123456789", 8).unwrap());
/// let id = ids.mint()?;
/// assert_eq!(id.as_str().len(), 8);
/// # Ok::<(), floe::MintError>(())
/// ```
#[derive(Clone, Debug)]
pub struct NanoIdGenerator {
    format: NanoIdFormat,
    random: Random,
}

impl NanoIdGenerator {
    /// Makes a generator of IDs of `format`, with the operating system's randomness.
    ///
    /// ```
    /// use floe::kind::{Mint, NanoIdFormat, NanoIdGenerator};
    /// let codes = NanoIdGenerator::new(NanoIdFormat::new("0123456789", 8)?);
    /// assert!(codes.mint()?.to_string().parse::<u32>()? < 100_000_000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(format: NanoIdFormat) -> Self {
        Self::of(format, Random::System)
    }

    pub(super) fn of(format: NanoIdFormat, random: Random) -> Self {
        Self { format, random }
    }

    /// Returns the format of its IDs.
    pub const fn format(&self) -> &NanoIdFormat {
        &self.format
    }
}

impl Default for NanoIdGenerator {
    fn default() -> Self {
        Self::new(NanoIdFormat::default())
    }
}

impl Mint for NanoIdGenerator {
    type Id = NanoId;

    #[inline]
    fn mint(&self) -> Result<NanoId, MintError> {
        self.format.compose(|| self.random.word())
    }
}
