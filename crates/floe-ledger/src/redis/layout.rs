//! The last check of every new connection, once the server is known to be fit: the layout of the realm's keys.

use floe::ledger::LedgerError;

use super::Trouble;
use super::keys::Keys;
use super::link::Link;
use super::scripts::{self, VERSION};
use crate::remote::{Wanted, realm as words};

/// Updates the realm of an older floe, in one script. Does nothing if there is no realm.
pub(super) async fn enter(
    link: &mut Link,
    keys: &Keys,
    shown: &str,
    wanted: Wanted<'_>,
) -> Result<(), Trouble> {
    let [records, names, definitions] =
        ["records", "names", "definitions"].map(|former| format!("{}:{former}", keys.records));
    let looked = [&*keys.records, &keys.fields, &records];
    let (version, id, left) = link
        .evaluate::<(Option<String>, Option<String>, Option<String>)>(&scripts::LOOK, &looked, &[])
        .await?;
    if version.is_none() && id.is_none() {
        return match left {
            None => Ok(()),
            Some(_) => Err(LedgerError::Unfit(format!(
                "{shown} holds keys of a realm whose own hash {} is gone: restore all from a backup, then {}",
                keys.records,
                words::RAISE
            ))
            .into()),
        };
    }
    let version = known(version.as_deref(), keys, shown)?;
    if version == VERSION {
        return Ok(());
    }
    wanted.opening.may_change("the keys", version.into(), shown)?;
    wanted.check_id(&id.ok_or_else(|| damaged(keys, shown))?, shown)?;
    let moved = [&*keys.records, &keys.fields, &records, &names, &definitions];
    link.evaluate::<()>(&scripts::FROM_1, &moved, &[]).await
}

/// # Errors
/// `Unfit` if the version belongs to a newer floe, or to none.
pub(super) fn known(version: Option<&str>, keys: &Keys, shown: &str) -> Result<u32, LedgerError> {
    match version.and_then(|version| version.parse().ok()) {
        Some(known @ 1..=VERSION) => Ok(known),
        Some(newer) if newer > VERSION => Err(words::is_newer(shown, newer.into(), VERSION.into())),
        _ => Err(damaged(keys, shown)),
    }
}

fn damaged(keys: &Keys, shown: &str) -> LedgerError {
    words::is_damaged(shown, &format!("a hash {} without a version and an id", keys.records))
}
