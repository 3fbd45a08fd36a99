//! The calls of the contract: each a packet of statements, and what its answers mean.

use std::sync::Arc;

use floe::ledger::{Elsewhere, Key, Ledger, LedgerError, MAX_MARK, Mark, Record, Reply, Reserve, Token};
use floe::{Name, UnixMillis};

use super::connect::Link;
use super::session::{Answer, Row};
use super::statements::{self, CLOCK, Room};
use super::trouble::Error;
use super::{Mysql, Trouble};
use crate::remote::realm as words;

impl Ledger for Mysql {
    fn reserve(&self, request: &Reserve) -> Result<Reply, LedgerError> {
        let (realm, request) = (Arc::clone(&self.realm), request.clone());
        self.remote.call(|link| Box::pin(async move { reserve(link, &realm, &request).await }))
    }

    fn give_back(&self, key: &Key, token: Token, from: u64) -> Result<bool, LedgerError> {
        let Ok(from) = i64::try_from(from) else { return Ok(false) };
        let sql = statements::give_back(&self.realm, key.as_str(), token, from);
        self.remote.call(move |link| {
            Box::pin(async move {
                let answers = link.transact(&sql).await?;
                Ok(answers.iter().any(|answer| answer.affected > 0))
            })
        })
    }

    fn bind(&self, name: &Name, definition: &str, marked: bool) -> Result<String, LedgerError> {
        let key = marked.then(|| Key::name(name));
        let sql = statements::bind(&self.realm, name.as_str(), definition, key.as_ref().map(Key::as_str));
        self.remote.call(move |link| {
            Box::pin(async move {
                let answers = link.transact(&sql).await?;
                let [.., found, _commit] = answers.as_slice() else { return Err(unexpected()) };
                match found.rows.first() {
                    Some(row) => text(link, row, 0, "a definition"),
                    None => Err(unexpected()),
                }
            })
        })
    }

    fn definition(&self, name: &Name) -> Result<Option<String>, LedgerError> {
        let sql = statements::definition(&self.realm, name.as_str());
        self.remote.call(move |link| {
            Box::pin(async move {
                let found = link.rows(&sql).await?;
                found.rows.first().map(|row| text(link, row, 0, "a definition")).transpose()
            })
        })
    }

    fn names(&self, after: &str, limit: usize) -> Result<Vec<(String, String)>, LedgerError> {
        let sql = statements::names(&self.realm, after, limit);
        self.remote.call(move |link| {
            Box::pin(async move {
                let found = link.rows(&sql).await?;
                let bound = |row| Ok((text(link, row, 0, "a name")?, text(link, row, 1, "a definition")?));
                found.rows.iter().map(bound).collect()
            })
        })
    }

    fn raise(&self, key: &Key, at_least: u64) -> Result<u64, LedgerError> {
        let (realm, key) = (Arc::clone(&self.realm), key.clone());
        self.remote.call(move |link| {
            Box::pin(async move {
                let Ok(wanted) = i64::try_from(at_least) else {
                    let found = link.rows(&statements::record(&realm, key.as_str())).await?;
                    return raised(link, &key, &found, at_least);
                };
                let answers = link.transact(&statements::raise(&realm, key.as_str(), wanted)).await?;
                let [_begin, found, moved, _commit] = answers.as_slice() else { return Err(unexpected()) };
                let before = raised(link, &key, found, at_least)?;
                agrees(link, moved, true)?;
                Ok(before)
            })
        })
    }

    fn list(&self, prefix: &str, after: &str, limit: usize) -> Result<Vec<Record>, LedgerError> {
        let sql = statements::list(&self.realm, prefix, after, limit);
        self.remote.call(move |link| {
            Box::pin(async move {
                let found = link.rows(&sql).await?;
                let record = |row: &Row| {
                    let (key, note) = (text(link, row, 0, "a key")?, row.text(2).map(str::to_owned));
                    Ok(Record { key, mark: position(link, row, 1)?, note })
                };
                found.rows.iter().map(record).collect()
            })
        })
    }

    fn clock(&self) -> Result<Option<UnixMillis>, LedgerError> {
        self.remote.call(|link| {
            Box::pin(async move {
                let now = link.rows(CLOCK).await?;
                let now = now.rows.first().and_then(|row| row.text(0)?.parse().ok());
                now.map(|now| Some(UnixMillis::new(now))).ok_or_else(unexpected)
            })
        })
    }

    fn in_other_realms(&self, name: &Name) -> Result<Vec<Elsewhere>, LedgerError> {
        let sql = statements::elsewhere(&self.realm, name.as_str(), Key::name(name).as_str());
        self.remote.call(move |link| {
            Box::pin(async move {
                let found = link.rows(&sql).await?;
                // What is damaged in another realm is that realm's trouble.
                let told = |row: &Row| {
                    let mark = row.text(2).map_or(Ok(0), |_| position(link, row, 2)).ok()?;
                    let (realm, definition) = (row.text(0)?.to_owned(), row.text(1)?.to_owned());
                    Some(Elsewhere { realm, definition, mark })
                };
                Ok(found.rows.iter().filter_map(told).collect())
            })
        })
    }

    fn realm_id(&self) -> Result<String, LedgerError> {
        Ok(self.remote.realm_id())
    }

    fn describe(&self) -> String {
        self.remote.describe()
    }
}

/// See `statements.rs` for why this is right.
async fn reserve(link: &mut Link, realm: &str, request: &Reserve) -> Result<Reply, Trouble> {
    // The highest mark that leaves room for the count, where the floor does.
    let room = MAX_MARK.checked_sub(request.count).filter(|highest| request.floor <= *highest);
    let ceiling = room.and_then(|highest| i64::try_from(highest.min(request.max_mark)).ok());
    let room = match ceiling {
        Some(ceiling) => Room { floor: request.floor, count: request.count, ceiling },
        None => Room { floor: 0, count: 0, ceiling: -1 },
    };
    let attempt = words::fresh_token()?;
    let answers = link.transact(&statements::reserve(realm, request, room, attempt)).await?;
    let [_begin, .., found, moved, _commit] = answers.as_slice() else { return Err(unexpected()) };
    let found = found.rows.first().map(|row| record(link, row)).transpose()?;
    if found.is_none() && room.ceiling >= 0 {
        // It would have been made if it had not been before.
        return Err(LedgerError::Missing(request.key.clone()).into());
    }
    let outcome = Mark::reserve(found.as_ref(), request);
    agrees(link, moved, matches!(outcome, Ok((Reply::Got { .. }, _))))?;
    Ok(outcome?.0)
}

/// The mark before it was raised.
fn raised(link: &Link, key: &Key, found: &Answer, at_least: u64) -> Result<u64, Trouble> {
    let Some(row) = found.rows.first() else { return Err(LedgerError::Missing(key.clone()).into()) };
    let found = record(link, row)?;
    found.raise(key, at_least)?;
    Ok(found.mark)
}

/// Whether the server wrote exactly what the record that it showed calls for. Nothing between floe and the tables (a
/// trigger, a view, a proxy that sends half of a packet elsewhere) may make it differ.
fn agrees(link: &Link, moved: &Answer, is_written: bool) -> Result<(), Trouble> {
    if moved.affected == u64::from(is_written) {
        return Ok(());
    }
    Err(LedgerError::Unfit(format!(
        "{} changed {} records where the one that it showed calls for {}: look for a trigger on floe_mark, or for a \
         proxy that splits transactions",
        link.shown(),
        moved.affected,
        u8::from(is_written)
    ))
    .into())
}

fn record(link: &Link, row: &Row) -> Result<Mark, Trouble> {
    let token = row.bytes(3).and_then(|token| Token::from_bytes(token.try_into().ok()?));
    Ok(Mark {
        previous: position(link, row, 0)?,
        start: position(link, row, 1)?,
        mark: position(link, row, 2)?,
        token,
        note: row.text(4).map(str::to_owned),
    })
}

/// A mark, a start or a previous mark.
fn position(link: &Link, row: &Row, column: usize) -> Result<u64, Trouble> {
    let position = row.number(column).filter(|position| *position <= MAX_MARK);
    position.ok_or_else(|| damaged(link, "a mark that is no number from 0 to 2^63 - 1"))
}

fn text(link: &Link, row: &Row, column: usize, what: &str) -> Result<String, Trouble> {
    let text = row.text(column).map(str::to_owned);
    text.ok_or_else(|| damaged(link, &format!("{what} that is no text")))
}

fn damaged(link: &Link, what: &str) -> Trouble {
    words::is_damaged(link.shown(), &what).into()
}

fn unexpected() -> Trouble {
    Trouble::Store(Error::Protocol("other answers than statements"))
}
