//! The rules for opening a ledger: which parts may be made, and which must exist.

use std::fmt;
use std::sync::Arc;

use floe::ledger::LedgerError;

use crate::DEFAULT_REALM;

/// How to open a ledger: its realm, whether to make what is missing, and which realm it has to be.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let url = format!("sqlite:{}", dir.path().join("ids.db").display());
/// use floe_ledger::Opening;
///
/// // url = "sqlite:ids.db", which is not there yet
/// assert!(Opening::of("shop").existing().open(&url).is_err());
/// let id = Opening::of("shop").open(&url)?.realm_id()?;
/// assert!(Opening::of("shop").existing().realm_id(&id).open(&url).is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Opening {
    pub(crate) realm: String,
    pub(crate) missing: Missing,
    pub(crate) pinned: Option<String>,
    pub(crate) sole: bool,
    /// How many floe servers ask for it, each for the one before; 0 for a process that asks for itself.
    pub(crate) servers: u8,
    /// The other realms that an error may name; all of them if it is `None`.
    pub(crate) sees: Option<Sees>,
}

/// Whether a caller may know of a realm.
#[derive(Clone)]
pub(crate) struct Sees(pub(crate) Arc<dyn Fn(&str) -> bool + Send + Sync>);

impl PartialEq for Sees {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Sees {}

impl fmt::Debug for Sees {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sees").finish_non_exhaustive()
    }
}

/// The reaction if a ledger, tables or a realm do not exist.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "offer", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
pub(crate) enum Missing {
    /// Make them.
    Make,
    /// Fail. Tables of an older version are updated.
    Refuse,
    /// Fail, and change nothing: the caller only looks.
    Look,
}

impl Opening {
    /// The realm `realm`, named as in [`open_in`](crate::open_in). Missing parts are made. [`Opening`] has an example.
    pub fn of(realm: &str) -> Self {
        Self {
            realm: realm.to_owned(),
            missing: Missing::Make,
            pinned: None,
            sole: false,
            servers: 0,
            sees: None,
        }
    }

    #[cfg(feature = "sqlite")]
    pub(crate) fn with_realm(self, realm: &str) -> Self {
        Self { realm: realm.to_owned(), ..self }
    }

    /// Makes nothing: a missing file, missing tables or a missing realm are an error.
    #[must_use]
    pub fn existing(self) -> Self {
        Self { missing: Missing::Refuse, ..self }
    }

    /// Like [`existing`](Self::existing), for commands that only look: tables of an older version stay as they are.
    #[must_use]
    pub fn to_look(self) -> Self {
        Self { missing: Missing::Look, ..self }
    }

    /// The random id that the realm has to have ([`Ledger::realm_id`](floe::ledger::Ledger::realm_id)). A missing realm
    /// is not made, and a realm with another id is an error: the store was emptied, or it is another store. [`Opening`]
    /// has an example.
    #[must_use]
    pub fn realm_id(self, id: &str) -> Self {
        Self { pinned: Some(id.to_owned()), ..self }
    }

    /// The caller named no realm, so the ledger may have only this one. If it has several, the error names them.
    #[must_use]
    pub fn sole_realm(self) -> Self {
        Self { sole: true, ..self }
    }

    /// The realm's name.
    pub fn realm(&self) -> &str {
        &self.realm
    }

    pub(crate) fn may_make(&self) -> bool {
        self.missing == Missing::Make && self.pinned.is_none()
    }

    /// Whether the caller only looks.
    pub(crate) fn only_looks(&self) -> bool {
        self.missing == Missing::Look
    }

    /// Whether the ledger's other realms matter although this one exists.
    pub(crate) fn asks_for_others(&self) -> bool {
        self.sole && self.realm == DEFAULT_REALM
    }

    /// Checks the `others` of a ledger that has this realm.
    ///
    /// # Errors
    /// `Unfit` if there are several realms and the caller named none; and the errors of `others`.
    pub(crate) fn check_sole<E: From<LedgerError>>(
        &self,
        others: impl FnOnce() -> Result<Vec<String>, E>,
        shown: &str,
    ) -> Result<(), E> {
        let others = if self.asks_for_others() { others()? } else { Vec::new() };
        if others.is_empty() {
            return Ok(());
        }
        let (realm, others) = (&self.realm, self.named(&others));
        Err(E::from(LedgerError::Unfit(format!(
            "{shown} has several realms, {realm} and {others}, and none was named: name one (--realm {realm}, --realm …, or \
             --config FILE)"
        ))))
    }

    /// Checks that this realm may be made in a ledger that does not have it, and has `others`. A caller that names no realm
    /// wants the existing one, and not a second one in which all IDs begin again.
    ///
    /// # Errors
    /// `Unfit` if it may not be made; and the errors of `others`.
    pub(crate) fn check_new<E: From<LedgerError>>(
        &self,
        others: impl FnOnce() -> Result<Vec<String>, E>,
        shown: &str,
    ) -> Result<(), E> {
        if self.pinned.is_some() {
            return Err(self.not_made(&format!("the realm {} at {shown} is missing", self.realm)).into());
        }
        let may_make = self.missing == Missing::Make;
        let others = if may_make && self.realm != DEFAULT_REALM { Vec::new() } else { others()? };
        if may_make && others.is_empty() {
            return Ok(());
        }
        Err(self.is_not_there(&others, shown).into())
    }

    /// The error for a missing realm that may not be made. It names the `others` of the ledger.
    pub(crate) fn is_not_there(&self, others: &[String], shown: &str) -> LedgerError {
        let has = match others {
            [] => "none that floe could name (look at the URL)".to_owned(),
            others => format!(
                "{}. Name one of them (realm = \"…\" in the configuration, --realm, or --config FILE)",
                self.named(others)
            ),
        };
        let hint = format!("{shown} has no realm {}, it has: {has}", self.realm);
        match self.missing {
            Missing::Refuse => self.not_made(&hint),
            Missing::Look => {
                LedgerError::Unfit(format!("{hint}. `floe serve` and `floe mint` make a new one"))
            }
            Missing::Make => LedgerError::Unfit(hint),
        }
    }

    /// A list of other realms, for the caller.
    fn named(&self, others: &[String]) -> String {
        let sees = |realm: &&str| self.sees.as_ref().is_none_or(|sees| (sees.0)(realm));
        let mut named: Vec<&str> = others.iter().map(String::as_str).filter(sees).collect();
        if named.len() < others.len() {
            named.push("some that are not shown to this caller");
        }
        named.join(", ")
    }

    /// Whether `what`, which an older floe made, may be upgraded.
    ///
    /// # Errors
    /// `Unfit` for a caller that only looks.
    pub(crate) fn may_change(&self, what: &str, version: i64, shown: &str) -> Result<(), LedgerError> {
        if !self.only_looks() {
            return Ok(());
        }
        Err(LedgerError::Unfit(format!(
            "{what} at {shown} are those of an older floe (version {version}), and this command does not change them: run \
             `floe serve` or `floe mint` to update them, or use the older floe"
        )))
    }

    /// # Errors
    /// `Unfit` if the realm is not the pinned one.
    pub(crate) fn check_id(&self, found: &str, shown: &str) -> Result<(), LedgerError> {
        match self.pinned.as_deref() {
            Some(pinned) if pinned != found => Err(LedgerError::Unfit(format!(
                "the realm {} at {shown} has the id {found}, and realm_id pins {pinned}: this is another ledger, or it \
                 was emptied and made again. Name the right ledger, or restore it from a backup and {RAISE}; if this one is right, set \
                 realm_id = \"{found}\"",
                self.realm
            ))),
            _ => Ok(()),
        }
    }

    /// Why nothing is made here if `what` is missing.
    pub(crate) fn not_made(&self, what: &str) -> LedgerError {
        let why = match &self.pinned {
            Some(pinned) => format!("realm_id pins {pinned}"),
            None => "nothing may be made (--existing, or create = false)".to_owned(),
        };
        LedgerError::Unfit(format!(
            "{what}, and {why}: in a new one, every name would begin at its first ID. Was a volume not mounted, or a store emptied? Mount it, \
             name the right ledger, or restore it from a backup and {RAISE}; for a first start, leave {} out",
            if self.pinned.is_some() { "realm_id" } else { "--existing and create = false" }
        ))
    }
}

/// The way out for a restored or remade ledger, before anything is minted.
pub(crate) const RAISE: &str = "raise its marks above every ID in use (`floe marks raise NAME --to N`)";

/// A newer floe wrote this store.
pub(crate) fn is_newer(shown: &str, found: i64, known: i64) -> LedgerError {
    LedgerError::Unfit(format!(
        "the ledger at {shown} was written by a newer floe: it has version {found}, and this floe knows versions up to \
         {known}; run the newer floe"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_caller_that_looks_leaves_the_tables_of_an_older_floe_as_they_are() {
        let shop = Opening::of("shop");
        for (opening, may_change) in
            [(shop.clone(), true), (shop.clone().existing(), true), (shop.to_look(), false)]
        {
            for opening in [opening.clone(), opening.realm_id("0123")] {
                assert_eq!(opening.may_change("the tables", 1, "db").is_ok(), may_change, "{opening:?}");
            }
        }
    }

    #[test]
    fn a_first_start_that_may_make_nothing_is_told_what_to_leave_out() {
        let shop = Opening::of("shop");
        for (opening, way_out) in [
            (shop.clone().existing(), "leave --existing and create = false out"),
            (shop.realm_id("0123"), "leave realm_id out"),
        ] {
            let text = opening.not_made("the file is missing").to_string();
            assert!(text.contains(way_out), "{text}");
        }
    }

    #[test]
    fn whoever_named_a_realm_is_told_of_no_other() {
        let others = || Ok::<_, LedgerError>(vec!["games".to_owned()]);
        for (opening, is_told) in [
            (Opening::of(DEFAULT_REALM).sole_realm(), true),
            (Opening::of(DEFAULT_REALM), false),
            (Opening::of("shop").sole_realm(), false),
        ] {
            assert_eq!(opening.check_sole(others, "db").is_err(), is_told, "{opening:?}");
        }
    }

    #[test]
    fn who_named_no_realm_is_told_only_of_those_that_it_may_see() {
        let others = || Ok::<_, LedgerError>(["games", "secret"].map(str::to_owned).into());
        let sees = Sees(Arc::new(|realm| realm == "games"));
        let sole = Opening { sees: Some(sees), ..Opening::of(DEFAULT_REALM).sole_realm() };
        for refused in [sole.check_sole(others, "db"), sole.check_new(others, "db")] {
            let text = refused.unwrap_err().to_string();
            assert!(text.contains("games, some that are not shown"), "{text}");
            assert!(!text.contains("secret"), "{text}");
        }
    }

    /// All IDs would begin again in it.
    #[test]
    fn who_named_no_realm_makes_none_beside_others() {
        let others = || Ok::<_, LedgerError>(vec!["games".to_owned()]);
        let none = || Ok::<_, LedgerError>(Vec::new());
        for (opening, is_made) in [
            (Opening::of(DEFAULT_REALM).sole_realm(), false),
            (Opening::of(DEFAULT_REALM), false),
            (Opening::of("shop"), true),
        ] {
            assert_eq!(opening.check_new(others, "db").is_ok(), is_made, "{opening:?}");
            assert_eq!(opening.check_new(none, "db"), Ok(()), "{opening:?}");
        }
    }
}
