//! The calls of the contract, each a statement and what its rows mean.

use std::sync::Arc;

use floe::Name;
use floe::UnixMillis;
use floe::ledger::{Key, Ledger, LedgerError, MAX_MARK, Record, Reply, Reserve, Token};
use tokio_postgres::Row;
use tokio_postgres::types::FromSql;

use super::Postgres;
use super::pool::Pool;
use super::statements::Call;
use super::trouble::Trouble;

impl Ledger for Postgres {
    fn reserve(&self, request: &Reserve) -> Result<Reply, LedgerError> {
        let (pool, realm, request) = (Arc::clone(&self.pool), Arc::clone(&self.realm), request.clone());
        self.call(async move { reserve(&pool, &realm, &request).await })
    }

    fn give_back(&self, key: &Key, token: Token, from: u64) -> Result<bool, LedgerError> {
        let Ok(from) = i64::try_from(from) else { return Ok(false) };
        let (pool, realm, key) = (Arc::clone(&self.pool), Arc::clone(&self.realm), key.clone());
        self.call(async move {
            let token = token.as_bytes().as_slice();
            let mut lease = pool.lease().await?;
            let changed = lease.execute(Call::GiveBack, &[&&*realm, &key.as_str(), &token, &from]).await?;
            lease.keep();
            Ok(changed > 0)
        })
    }

    fn bind(&self, name: &Name, definition: &str, marked: bool) -> Result<String, LedgerError> {
        let (pool, realm) = (Arc::clone(&self.pool), Arc::clone(&self.realm));
        let (name, definition) = (name.clone(), definition.to_owned());
        self.call(async move {
            let key = Key::name(&name);
            let mut lease = pool.lease().await?;
            loop {
                let rows = lease
                    .query(Call::Bind, &[&&*realm, &name.as_str(), &definition, &key.as_str(), &marked])
                    .await?;
                if let Some(row) = rows.first() {
                    let stored = column(row, 0)?;
                    lease.keep();
                    return Ok(stored);
                }
            }
        })
    }

    fn definition(&self, name: &Name) -> Result<Option<String>, LedgerError> {
        let (pool, realm, name) = (Arc::clone(&self.pool), Arc::clone(&self.realm), name.clone());
        self.call(async move {
            let mut lease = pool.lease().await?;
            let rows = lease.query(Call::Definition, &[&&*realm, &name.as_str()]).await?;
            let stored = rows.first().map(|row| column(row, 0)).transpose()?;
            lease.keep();
            Ok(stored)
        })
    }

    fn names(&self, after: &str, limit: usize) -> Result<Vec<(String, String)>, LedgerError> {
        let (pool, realm, after) = (Arc::clone(&self.pool), Arc::clone(&self.realm), after.to_owned());
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        self.call(async move {
            let mut lease = pool.lease().await?;
            let rows = lease.query(Call::Names, &[&&*realm, &after, &limit]).await?;
            let names = rows
                .iter()
                .map(|row| Ok((column(row, 0)?, column(row, 1)?)))
                .collect::<Result<_, Trouble>>()?;
            lease.keep();
            Ok(names)
        })
    }

    fn raise(&self, key: &Key, at_least: u64) -> Result<u64, LedgerError> {
        let (pool, realm, key) = (Arc::clone(&self.pool), Arc::clone(&self.realm), key.clone());
        self.call(async move {
            // No mark is below 0, so where it does not fit, the record is only read.
            let wanted = i64::try_from(at_least).unwrap_or(0);
            let mut lease = pool.lease().await?;
            loop {
                let rows = lease.query(Call::Raise, &[&&*realm, &key.as_str(), &wanted]).await?;
                let Some(row) = rows.first() else {
                    lease.keep();
                    return Err(LedgerError::Missing(key).into());
                };
                let (moved, mark) = (column(row, 0)?, position(row, 1)?);
                if at_least > MAX_MARK {
                    lease.keep();
                    return Err(LedgerError::Overflow { key, mark }.into());
                }
                if moved || mark >= at_least {
                    lease.keep();
                    return Ok(mark);
                }
            }
        })
    }

    fn list(&self, prefix: &str, after: &str, limit: usize) -> Result<Vec<Record>, LedgerError> {
        let (pool, realm) = (Arc::clone(&self.pool), Arc::clone(&self.realm));
        let (prefix, after) = (prefix.to_owned(), after.to_owned());
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        self.call(async move {
            let mut lease = pool.lease().await?;
            let rows = lease.query(Call::List, &[&&*realm, &prefix, &after, &limit]).await?;
            let record = |row: &Row| {
                Ok(Record { key: column(row, 0)?, mark: position(row, 1)?, note: column(row, 2)? })
            };
            let records = rows.iter().map(record).collect::<Result<_, Trouble>>()?;
            lease.keep();
            Ok(records)
        })
    }

    fn clock(&self) -> Result<Option<UnixMillis>, LedgerError> {
        let pool = Arc::clone(&self.pool);
        self.call(async move {
            let mut lease = pool.lease().await?;
            let rows = lease.query(Call::Clock, &[]).await?;
            let read = rows.first().map(|row| column(row, 0)).transpose()?;
            lease.keep();
            Ok(read.map(UnixMillis::new))
        })
    }

    fn realm_id(&self) -> Result<String, LedgerError> {
        Ok(self.pool.realm_id())
    }

    fn describe(&self) -> String {
        format!("{}{}", self.pool.shown(), self.found.get().map_or("", String::as_str))
    }
}

/// See `statements.rs` for why this is right.
async fn reserve(pool: &Pool, realm: &str, request: &Reserve) -> Result<Reply, Trouble> {
    // The highest mark and floor that leave room for the count.
    let room = MAX_MARK.checked_sub(request.count).filter(|highest| request.floor <= *highest);
    let ceiling = room.map(|highest| highest.min(request.max_mark));
    let number = |value: u64| i64::try_from(value).unwrap_or(0);
    let (floor, count, ceiling) = match ceiling {
        Some(ceiling) => (number(request.floor), number(request.count), number(ceiling)),
        None => (0, 0, -1),
    };
    let token = request.token.as_bytes().as_slice();
    let mut lease = pool.lease().await?;
    loop {
        let rows = lease
            .query(
                Call::Reserve,
                &[
                    &realm,
                    &request.key.as_str(),
                    &floor,
                    &count,
                    &ceiling,
                    &token,
                    &request.note,
                    &request.create,
                ],
            )
            .await?;
        if let Some(answer) = answer(request, room, rows.first())? {
            lease.keep();
            return answer;
        }
    }
}

/// What a row says; `None` where another call came in between.
fn answer(
    request: &Reserve,
    room: Option<u64>,
    row: Option<&Row>,
) -> Result<Option<Result<Reply, Trouble>>, Trouble> {
    let overflow =
        |mark| Some(Err(Trouble::Ledger(LedgerError::Overflow { key: request.key.clone(), mark })));
    let Some(row) = row else {
        return Ok(match (request.create, room) {
            (false, _) => Some(Err(LedgerError::Missing(request.key.clone()).into())),
            (true, None) => overflow(0),
            (true, Some(_)) => None,
        });
    };
    let (done, mark) = (column::<bool>(row, 0)?, position(row, 3)?);
    let held = column::<Option<&[u8]>>(row, 4)?.is_some_and(|held| held == request.token.as_bytes());
    if done || held {
        let (previous_mark, start) = (position(row, 1)?, position(row, 2)?);
        return Ok(Some(Ok(Reply::Got { start, end: mark, previous_mark })));
    }
    Ok(match room {
        _ if mark > request.max_mark => Some(Ok(Reply::Refused { mark, note: column(row, 5)? })),
        Some(highest) if mark <= highest => None,
        _ => overflow(mark),
    })
}

fn column<'a, T: FromSql<'a>>(row: &'a Row, index: usize) -> Result<T, Trouble> {
    row.try_get(index).map_err(Trouble::Sql)
}

/// A mark, a start or a previous mark, which the tables hold to 0 and more.
fn position(row: &Row, index: usize) -> Result<u64, Trouble> {
    u64::try_from(column::<i64>(row, index)?)
        .map_err(|_| LedgerError::Unfit("a record in the ledger has a number below 0, which no floe has written: restore it from a backup, then raise the marks".to_owned()).into())
}
