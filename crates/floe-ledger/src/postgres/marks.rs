//! The calls of the contract, each a statement and what its rows mean.

use std::sync::Arc;

use floe::Name;
use floe::UnixMillis;
use floe::ledger::{Elsewhere, Key, Ledger, LedgerError, MAX_MARK, Record, Reply, Reserve, Token};
use tokio_postgres::Row;
use tokio_postgres::types::{FromSql, ToSql};

use super::connect::Link;
use super::statements::Call;
use super::{Postgres, Trouble, counting};
use crate::remote::realm::{LOOKED_AT, TOLD_OF};

impl Ledger for Postgres {
    fn reserve(&self, request: &Reserve) -> Result<Reply, LedgerError> {
        let (realm, request) = (Arc::clone(&self.realm), request.clone());
        self.remote.call(|link| Box::pin(async move { reserve(link, &realm, &request).await }))
    }

    fn count(&self, request: &Reserve) -> Result<Reply, LedgerError> {
        let (realm, request) = (Arc::clone(&self.realm), request.clone());
        self.remote.call(|link| Box::pin(async move { counting::count(link, &realm, &request).await }))
    }

    fn give_back(&self, key: &Key, token: Token, from: u64) -> Result<bool, LedgerError> {
        let Ok(from) = i64::try_from(from) else { return Ok(false) };
        let (realm, key) = (Arc::clone(&self.realm), key.clone());
        self.remote.call(move |link| {
            Box::pin(async move {
                let token = token.as_bytes().as_slice();
                Ok(link.execute(Call::GiveBack, &[&&*realm, &key.as_str(), &token, &from]).await? > 0)
            })
        })
    }

    fn bind(&self, name: &Name, definition: &str, marked: bool) -> Result<String, LedgerError> {
        let realm = Arc::clone(&self.realm);
        let (name, definition) = (name.clone(), definition.to_owned());
        self.remote.call(move |link| {
            Box::pin(async move {
                let key = Key::name(&name);
                loop {
                    let asked: [&(dyn ToSql + Sync); 5] =
                        [&&*realm, &name.as_str(), &definition, &key.as_str(), &marked];
                    if let Some(row) = link.query(Call::Bind, &asked).await?.first() {
                        return column(row, 0);
                    }
                }
            })
        })
    }

    fn definition(&self, name: &Name) -> Result<Option<String>, LedgerError> {
        let (realm, name) = (Arc::clone(&self.realm), name.clone());
        self.remote.call(|link| {
            Box::pin(async move {
                let rows = link.query(Call::Definition, &[&&*realm, &name.as_str()]).await?;
                rows.first().map(|row| column(row, 0)).transpose()
            })
        })
    }

    fn names(&self, after: &str, limit: usize) -> Result<Vec<(String, String)>, LedgerError> {
        let (realm, after) = (Arc::clone(&self.realm), after.to_owned());
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        self.remote.call(move |link| {
            Box::pin(async move {
                let rows = link.query(Call::Names, &[&&*realm, &after, &limit]).await?;
                rows.iter().map(|row| Ok((column(row, 0)?, column(row, 1)?))).collect()
            })
        })
    }

    fn raise(&self, key: &Key, at_least: u64) -> Result<u64, LedgerError> {
        let (realm, key) = (Arc::clone(&self.realm), key.clone());
        self.remote
            .call(move |link| Box::pin(async move { counting::raise(link, &realm, &key, at_least).await }))
    }

    fn list(&self, prefix: &str, after: &str, limit: usize) -> Result<Vec<Record>, LedgerError> {
        let (realm, prefix, after) = (Arc::clone(&self.realm), prefix.to_owned(), after.to_owned());
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        self.remote.call(move |link| {
            Box::pin(async move {
                let rows = link.query(Call::List, &[&&*realm, &prefix, &after, &limit]).await?;
                let record = |row: &Row| {
                    Ok(Record { key: column(row, 0)?, mark: position(row, 1)?, note: column(row, 2)? })
                };
                rows.iter().map(record).collect()
            })
        })
    }

    fn clock(&self) -> Result<Option<UnixMillis>, LedgerError> {
        self.remote.call(|link| {
            Box::pin(async move {
                let rows = link.query(Call::Clock, &[]).await?;
                rows.first().map(|row| column(row, 0).map(UnixMillis::new)).transpose()
            })
        })
    }

    fn in_other_realms(&self, name: &Name) -> Result<Vec<Elsewhere>, LedgerError> {
        let (realm, name) = (Arc::clone(&self.realm), name.clone());
        self.remote.call(move |link| {
            Box::pin(async move {
                let key = Key::name(&name);
                let [looked_at, told_of] =
                    [LOOKED_AT, TOLD_OF].map(|most| i64::try_from(most).unwrap_or(i64::MAX));
                let asked: [&(dyn ToSql + Sync); 5] =
                    [&&*realm, &name.as_str(), &key.as_str(), &looked_at, &told_of];
                let rows = link.query(Call::Elsewhere, &asked).await?;
                // What is damaged in another realm is that realm's trouble.
                let found = |row: &Row| {
                    let mark =
                        column::<Option<i64>>(row, 2).ok()?.map_or(Ok(0), |_| position(row, 2)).ok()?;
                    Some(Elsewhere { realm: column(row, 0).ok()?, definition: column(row, 1).ok()?, mark })
                };
                Ok(rows.iter().filter_map(found).collect())
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
    let room = room(request);
    let [floor, count, ceiling] = limits(request);
    let (key, token) = (request.key.as_str(), request.token.as_bytes().as_slice());
    loop {
        let asked: [&(dyn ToSql + Sync); 8] =
            [&realm, &key, &floor, &count, &ceiling, &token, &request.note, &request.create];
        let rows = link.query(Call::Reserve, &asked).await?;
        if let Some(reply) = answer(request, room, rows.first())? {
            return Ok(reply);
        }
    }
}

/// The highest mark that leaves room for the count, where the floor does.
fn room(request: &Reserve) -> Option<u64> {
    MAX_MARK.checked_sub(request.count).filter(|highest| request.floor <= *highest)
}

/// Floor, count and ceiling as the statements want them.
pub(super) fn limits(request: &Reserve) -> [i64; 3] {
    let number = |value: u64| i64::try_from(value).unwrap_or(0);
    match room(request).map(|highest| highest.min(request.max_mark)) {
        Some(ceiling) => [request.floor, request.count, ceiling].map(number),
        None => [0, 0, -1],
    }
}

/// What a row says; `None` where another call came in between.
fn answer(request: &Reserve, room: Option<u64>, row: Option<&Row>) -> Result<Option<Reply>, Trouble> {
    let overflow = |mark| Err(LedgerError::Overflow { key: request.key.clone(), mark }.into());
    let Some(row) = row else {
        return match (request.create, room) {
            (false, _) => Err(LedgerError::Missing(request.key.clone()).into()),
            (true, None) => overflow(0),
            (true, Some(_)) => Ok(None),
        };
    };
    if column::<Option<i64>>(row, 3)?.is_none() {
        return Err(LedgerError::Missing(request.key.clone()).into());
    }
    let (done, mark) = (column::<bool>(row, 0)?, position(row, 3)?);
    let held = column::<Option<&[u8]>>(row, 4)?.is_some_and(|held| held == request.token.as_bytes());
    if done || held {
        let (previous_mark, start) = (position(row, 1)?, position(row, 2)?);
        return Ok(Some(Reply::Got { start, end: mark, previous_mark }));
    }
    match room {
        _ if mark > request.max_mark => Ok(Some(Reply::Refused { mark, note: column(row, 5)? })),
        Some(highest) if mark <= highest => Ok(None),
        _ => overflow(mark),
    }
}

fn column<'a, T: FromSql<'a>>(row: &'a Row, index: usize) -> Result<T, Trouble> {
    row.try_get(index).map_err(Trouble::Store)
}

/// A mark, a start or a previous mark, which the tables hold to 0 and more.
pub(super) fn position(row: &Row, index: usize) -> Result<u64, Trouble> {
    u64::try_from(column::<i64>(row, index)?)
        .map_err(|_| LedgerError::Unfit("a record in the ledger has a number below 0, which no floe has written: restore it from a backup, then raise the marks".to_owned()).into())
}
