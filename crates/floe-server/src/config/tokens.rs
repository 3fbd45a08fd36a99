//! `[[token]]`: who may mint what, and what a secret is checked against.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;

use sha1::Sha1;
use sha2::{Digest as _, Sha256};
use toml::de::DeValue;

use super::names::NameRule;
use super::reader::{self, Document, Section, boolean, text, within};

/// How a token begins, so that people and repository scanners recognise it.
const PREFIX: &str = "floe_";

/// How the text of a hash begins: SHA-256, twice.
const HASH: &str = "sha256d:";

/// One `[[token]]` of a configuration: what its bearer shows, and what that allows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TokenSettings {
    /// What logs and metrics call its bearer.
    pub name: String,
    /// The hash that a secret is compared with; `None` if only a certificate names the bearer.
    pub hash: Option<TokenHash>,
    /// The hash that a proof of mysql_native_password is compared with.
    pub mysql_native: Option<NativeHash>,
    /// A name in a client certificate (its CN, or a DNS name) by which the bearer is known without a secret.
    pub certificate: Option<String>,
    /// The names that the bearer may mint and read.
    pub names: Vec<NameRule>,
    /// The bearer may make a new name only while its patterns cover fewer names than this.
    pub max_names: Option<usize>,
    /// Whether the bearer may raise those names (`ALTER TABLE … AUTO_INCREMENT`), which cannot be undone.
    pub raise: bool,
    /// The realms that the bearer may use as a ledger (`floe://…`). It can then mint any ID there.
    pub ledger: Vec<NameRule>,
}

/// One `[[tiny_id_token]]` of a configuration: a row of tinyid's own table, `tiny_id_token(token, biz_type)`. A
/// client with this token gets that name's IDs over tinyid's calls, and nothing else.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TinyIdToken {
    /// The hash that a secret is compared with. The table, and the file, hold the secret itself.
    pub hash: TokenHash,
    /// The name.
    pub biz_type: String,
}

/// SHA-256, twice, of a secret. Once is not enough: from that, the proof of MySQL's caching_sha2_password can be made.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct TokenHash(pub(crate) [u8; 32]);

/// SHA-1, twice, of a secret, which is what MySQL's mysql_native_password needs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct NativeHash(pub(crate) [u8; 20]);

impl TokenHash {
    pub(crate) fn of(secret: &[u8]) -> Self {
        Self(Sha256::digest(Sha256::digest(secret)).into())
    }
}

impl NativeHash {
    fn of(secret: &[u8]) -> Self {
        Self(Sha1::digest(Sha1::digest(secret)).into())
    }
}

impl fmt::Display for TokenHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(HASH)?;
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Display for NativeHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("*")?;
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02X}"))
    }
}

// A hash must not get into logs, which are kept for ever.
impl fmt::Debug for TokenHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenHash(…)")
    }
}

impl fmt::Debug for NativeHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NativeHash(…)")
    }
}

/// A new token. The secret is stored nowhere else.
pub struct NewToken {
    secret: String,
    settings: TokenSettings,
}

impl NewToken {
    /// Makes one of 256 random bits, for `names` as in a file, separated by commas.
    ///
    /// # Errors
    /// A text that says what is wrong with the names, or that the system has no randomness.
    ///
    /// ```
    /// let token = floe_server::NewToken::random("shop", "orders,user-*")?;
    /// assert!(token.secret().starts_with("floe_"));
    /// assert!(!token.toml().contains(token.secret()));
    /// # Ok::<(), String>(())
    /// ```
    pub fn random(name: &str, names: &str) -> Result<Self, String> {
        let names = names.split(',').map(|rule| NameRule::parse(rule.trim())).collect::<Result<_, _>>()?;
        let name = called(name)?;
        let mut bits = [0; 32];
        getrandom::fill(&mut bits)
            .map_err(|error| format!("the system gives no random bits for a token ({error}): try again"))?;
        let secret = bits.iter().fold(PREFIX.to_owned(), |text, byte| format!("{text}{byte:02x}"));
        let settings = TokenSettings {
            name,
            hash: Some(TokenHash::of(secret.as_bytes())),
            mysql_native: Some(NativeHash::of(secret.as_bytes())),
            certificate: None,
            names,
            max_names: None,
            raise: false,
            ledger: Vec::new(),
        };
        Ok(Self { secret, settings })
    }

    /// What a client shows.
    pub fn secret(&self) -> &str {
        &self.secret
    }

    /// What a configuration file holds: the hashes alone.
    pub fn toml(&self) -> String {
        let TokenSettings { name, hash, mysql_native, names, .. } = &self.settings;
        // Names may hold quotes. What JSON makes of a text, TOML reads.
        let quoted = |text: String| serde_json::Value::String(text).to_string();
        let name = quoted(name.clone());
        let names: Vec<_> = names.iter().map(|rule| quoted(rule.to_string())).collect();
        let hash = hash.map(|hash| hash.to_string()).unwrap_or_default();
        let native = mysql_native.map(|hash| hash.to_string()).unwrap_or_default();
        format!(
            "[[token]]\nname = {name}\nnames = [{}]\nhash = \"{hash}\"\n# For MySQL clients that know only mysql_native_password.\n# mysql_native = \"{native}\"\n# To let its bearer raise these names with ALTER TABLE … AUTO_INCREMENT, which cannot be undone.\n# raise = true\n# To let its bearer use the ledger of these realms (floe://), and mint any ID there.\n# ledger = [\"default\"]\n",
            names.join(", ")
        )
    }
}

/// Reads one `[[token]]`, and where it stands.
pub(super) fn read(section: &Section<'_, '_>) -> Option<(usize, TokenSettings)> {
    let name = section.read("name", |value| called(&text(value)?));
    let hash = section.read("hash", |value| hash(value).map(TokenHash));
    let mysql_native = section.read("mysql_native", |value| native(value).map(NativeHash));
    let certificate = section.read("certificate", |value| match text(value)? {
        empty if empty.is_empty() => {
            Err("it is empty: write the common name, or a DNS name, of the client's certificate".to_owned())
        }
        name => Ok(name),
    });
    let ledger = section.read("ledger", names).unwrap_or_default();
    let names = section.read("names", names);
    let max_names = section.read("max_names", within(0..=1_000_000));
    let raise = section.read("raise", boolean).unwrap_or(false);
    section.need("name", "give its bearer a name for logs and metrics");
    section.need(
        "names",
        "list what its bearer may mint, such as [\"orders\", \"user-*\"], or [\"*\"] for every name",
    );
    if !["hash", "mysql_native", "certificate"].iter().any(|proof| section.has(proof)) {
        section.complain("hash", "it is missing: `floe token new` makes a token and prints its hash (or name a client's certificate)");
    }
    let settings = TokenSettings {
        name: name?,
        hash,
        mysql_native,
        certificate,
        names: names?,
        max_names,
        raise,
        ledger,
    };
    Some((section.at_key("name"), settings))
}

/// Reads one `[[tiny_id_token]]`.
pub(super) fn read_row(section: &Section<'_, '_>) -> Option<TinyIdToken> {
    let token = section.read("token", |value| match text(value)? {
        token if token.is_empty() => Err("a token cannot be empty: copy the row of tiny_id_token".to_owned()),
        token => Ok(TokenHash::of(token.as_bytes())),
    });
    let biz_type = section.read("biz_type", |value| {
        let biz_type = text(value)?;
        floe::Name::new(&biz_type).map(|_| biz_type).map_err(|error| error.to_string())
    });
    // Another column of a row. It has no effect.
    section.has("remark");
    for column in ["token", "biz_type"] {
        section.need(column, "a row has token = \"…\" and biz_type = \"…\"");
    }
    Some(TinyIdToken { hash: token?, biz_type: biz_type? })
}

/// Complains about values that two tokens share and only one may have.
pub(super) fn complain_about_doubles(document: &Document<'_>, tokens: &[(usize, TokenSettings)]) {
    // Where each setting had a value first.
    let mut first: HashMap<(&str, String), usize> = HashMap::new();
    for (at, token) in tokens {
        let said = [
            ("name", Some(token.name.clone())),
            ("hash", token.hash.map(|hash| hash.to_string())),
            ("mysql_native", token.mysql_native.map(|hash| hash.to_string())),
            ("certificate", token.certificate.clone()),
        ];
        for (setting, value) in said {
            let Some(value) = value else { continue };
            match first.entry((setting, value)) {
                Entry::Vacant(vacant) => {
                    vacant.insert(*at);
                }
                Entry::Occupied(before) => {
                    let place = document.place(*before.get());
                    document.complain(
                        *at,
                        format!("[[token]] {setting}: the token at {place} has the same: a bearer has one token, so change or remove one"),
                    );
                }
            }
        }
    }
}

fn called(name: &str) -> Result<String, String> {
    floe::Name::new(name).map(|name| name.to_string()).map_err(|error| error.to_string())
}

fn names(value: &DeValue<'_>) -> Result<Vec<NameRule>, String> {
    let DeValue::Array(rules) = value else {
        return Err(format!(
            "expected a list such as [\"orders\", \"user-*\"], found {}",
            reader::shown(value)
        ));
    };
    rules.iter().map(|rule| NameRule::parse(&text(rule.get_ref())?)).collect()
}

/// The bytes of a hash. The text is never shown, because it may be the secret itself.
fn hash(value: &DeValue<'_>) -> Result<[u8; 32], String> {
    let expected = |why: &str| {
        format!("{why}: write \"{HASH}\" and 64 hexadecimal digits, as `floe token new` prints it")
    };
    let DeValue::String(text) = value else { return Err(expected("it is not a text in quotes")) };
    if text.starts_with(PREFIX) {
        return Err(expected("this is a token itself, which only its bearer may keep"));
    }
    let digits = text.strip_prefix(HASH).ok_or_else(|| expected("it is not a hash of a token"))?;
    hexadecimal(digits).ok_or_else(|| expected("it is not a hash of a token"))
}

fn native(value: &DeValue<'_>) -> Result<[u8; 20], String> {
    let read = match value {
        DeValue::String(text) => text.strip_prefix('*').and_then(hexadecimal),
        _ => None,
    };
    read.ok_or_else(|| {
        "it is not a hash of this kind: write \"*\" and 40 hexadecimal digits, as `floe token new` prints it"
            .to_owned()
    })
}

fn hexadecimal<const N: usize>(digits: &str) -> Option<[u8; N]> {
    if digits.len() != 2 * N || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let mut bytes = [0; N];
    for (index, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(digits.get(2 * index..2 * index + 2)?, 16).ok()?;
    }
    Some(bytes)
}
