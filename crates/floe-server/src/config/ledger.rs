//! The ledger's setting: a URL, or a table that also says what must be found there; and how long to wait for the ledger.

use std::time::Duration;

use floe_ledger::Opening;
use toml::de::DeValue;

use super::{Config, reader};

/// What `ledger = …` says.
pub(super) struct LedgerSetting {
    /// `None` is the embedded ledger in `data_dir`.
    pub(super) url: Option<String>,
    pub(super) create: Option<bool>,
    pub(super) realm_id: Option<String>,
}

/// Reads `"url"`, or `{ url = "…", create = false, realm_id = "…" }`. Each part may be left out.
pub(super) fn ledger(value: &DeValue<'_>) -> Result<LedgerSetting, String> {
    let DeValue::Table(table) = value else {
        return Ok(LedgerSetting { url: Some(url(value)?), create: None, realm_id: None });
    };
    let mut read = LedgerSetting { url: None, create: None, realm_id: None };
    for (key, value) in table.iter() {
        let value = value.get_ref();
        match key.get_ref().as_ref() {
            "url" => read.url = Some(url(value)?),
            "create" => {
                read.create = Some(reader::boolean(value).map_err(|problem| format!("create: {problem}"))?);
            }
            "realm_id" => read.realm_id = Some(realm_id(value)?),
            other => return Err(format!("unknown setting `{other}`: it has url, create and realm_id")),
        }
    }
    Ok(read)
}

fn url(value: &DeValue<'_>) -> Result<String, String> {
    let ledger = reader::text(value)?;
    floe_ledger::check_scheme(&ledger).map_err(|error| error.to_string())?;
    Ok(ledger)
}

/// The id of a realm: 32 hexadecimal digits.
fn realm_id(value: &DeValue<'_>) -> Result<String, String> {
    // Capitals are the same digits.
    let id = reader::text(value)?.to_ascii_lowercase();
    match id.len() == 32 && id.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
        true => Ok(id),
        false => Err(format!(
            "realm_id: {id:?} is not the id of a realm, which has 32 digits of 0-9 and a-f: `floe realm` prints it"
        )),
    }
}

/// Reads how long to wait for a missing ledger: a duration, 0, or `forever`, which is `None`.
pub(super) fn patience(value: &DeValue<'_>) -> Result<Option<Duration>, String> {
    match value {
        DeValue::String(text) if text == "forever" => Ok(None),
        DeValue::String(text) if text == "0" => Ok(Some(Duration::ZERO)),
        DeValue::Integer(zero) if zero.as_str() == "0" => Ok(Some(Duration::ZERO)),
        DeValue::String(text) => super::parse_duration(text)
            .map(Some)
            .map_err(|problem| format!("{problem}, \"0\" to exit at once, or \"forever\"")),
        other => Err(format!(
            "expected a duration such as \"5m\", \"0\" or \"forever\", found {}",
            reader::shown(other)
        )),
    }
}

impl Config {
    /// How the ledger is opened: its realm, whether it may be made, and the required realm id.
    pub(crate) fn opening(&self) -> Opening {
        let opening = Opening::of(&self.realm);
        let opening = if self.create { opening } else { opening.existing() };
        let opening = if self.sole_realm { opening.sole_realm() } else { opening };
        self.realm_id.iter().fold(opening, |opening, id| opening.realm_id(id))
    }

    /// Whether other processes may use the ledger through this server.
    pub(crate) fn offers_ledger(&self) -> bool {
        self.tokens.iter().any(|token| !token.ledger.is_empty())
    }

    /// Whether other machines use the ledger too, as far as its URL tells.
    pub(crate) fn is_shared(&self) -> bool {
        super::check::is_shared(self)
    }

    /// The ledger without credentials, as far as it is known before it is opened.
    pub(crate) fn ledger_shown(&self) -> String {
        match &self.ledger {
            Some(url) => floe_ledger::shown(url),
            None => format!("sqlite:{}", self.data_dir.join(floe_ledger::sqlite::DATABASE).display()),
        }
    }
}
