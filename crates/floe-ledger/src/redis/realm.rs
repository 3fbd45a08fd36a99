//! The realm: found, or made.

use redis::{Cmd, FromRedisValue, cmd};

use super::Trouble;
use super::checks::Found;
use super::connect::Link;
use super::keys::REALMS;
use super::scripts;
use crate::DEFAULT_REALM;
use crate::remote::{Wanted, realm as words};

/// The version of the layout of keys and fields. A migration is one script for each realm; there is none yet.
const VERSION: u32 = 1;

/// Makes the realm where it is missing, and returns its id. Where that is `known`, it may not be missing.
pub(super) async fn enter(
    link: &mut Link,
    shown: &str,
    found: Found,
    wanted: Wanted<'_>,
) -> Result<String, Trouble> {
    let name = link.keys.name.clone();
    if let Some(id) = look(link, shown, &[]).await? {
        if wanted.asks_for_others() && !found.is_in_a_cluster {
            words::is_the_only_one(&name, &others(link, &name).await?, shown)?;
        }
        return Ok(id);
    }
    let may_make = wanted.may_make(shown, &format!("the realm {name}"))?;
    // On a cluster the list of realms is likely another node's: who wants to be kept from a second realm there has to
    // name the first.
    if !found.is_in_a_cluster {
        if name == DEFAULT_REALM || !may_make {
            // Another process may make the same one meanwhile: that is not another realm.
            let others = others(link, &name).await?;
            if !may_make {
                return Err(wanted.is_not_there(&name, &others, shown).into());
            }
            words::may_be_made(&name, &others, shown)?;
        }
        // Before the realm itself, so that there is none that is not listed.
        ask::<i64>(link, cmd("SADD").arg(REALMS).arg(&name)).await?;
    }
    if !may_make {
        return Err(wanted.is_not_there(&name, &[], shown).into());
    }
    let fresh = words::fresh_id()?;
    look(link, shown, &[VERSION.to_string().as_bytes(), fresh.as_bytes()])
        .await?
        .ok_or_else(|| words::is_gone(shown, &format!("the realm {name}")).into())
}

async fn others(link: &mut Link, name: &str) -> Result<Vec<String>, Trouble> {
    let mut others: Vec<String> = ask(link, cmd("SMEMBERS").arg(REALMS)).await?;
    others.retain(|other| other != name);
    others.sort();
    Ok(others)
}

/// The realm's id, its version being one that this floe knows; with arguments, a realm is made where there is none.
async fn look(link: &mut Link, shown: &str, fresh: &[&[u8]]) -> Result<Option<String>, Trouble> {
    let key = link.keys.realm.clone();
    let found: (Option<String>, Option<String>) = link.evaluate(&scripts::ENTER, &[&key], fresh).await?;
    let version = match &found.0 {
        Some(text) => text.parse::<u32>().ok(),
        None if found.1.is_none() => return Ok(None),
        None => None,
    };
    match (version, found.1) {
        (Some(VERSION), Some(id)) => Ok(Some(id)),
        (Some(newer), _) if newer > VERSION => {
            Err(words::is_newer(shown, newer.into(), VERSION.into()).into())
        }
        _ => Err(words::is_damaged(shown, &format!("a hash {key} without a version and an id")).into()),
    }
}

async fn ask<T: FromRedisValue>(link: &mut Link, command: &Cmd) -> Result<T, Trouble> {
    link.ask(command).await.map_err(Trouble::Store)
}
