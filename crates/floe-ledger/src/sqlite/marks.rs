//! The operations of the contract, each in one transaction.

use floe::Name;
use floe::ledger::{Key, Ledger, LedgerError, MAX_MARK, Record, Reply, Reserve, Token};
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::trouble::{Trouble, damaged};
use super::{Begin, Done, Sqlite};

/// One row of `mark`.
#[derive(Default)]
struct Mark {
    previous: u64,
    start: u64,
    mark: u64,
    token: Option<[u8; 16]>,
    note: Option<String>,
}

impl Mark {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            previous: position(row, 0)?,
            start: position(row, 1)?,
            mark: position(row, 2)?,
            token: row.get(3)?,
            note: row.get(4)?,
        })
    }

    fn holds(&self, token: Token) -> bool {
        self.token == Some(*token.as_bytes())
    }
}

/// A stored number; one that is negative was not written by floe, and comes out as an error.
fn position(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    let value: i64 = row.get(column)?;
    u64::try_from(value).map_err(|_| rusqlite::Error::IntegralValueOutOfRange(column, value))
}

impl Sqlite {
    fn find(&self, connection: &Connection, key: &str) -> Result<Option<Mark>, Trouble> {
        let sql = "SELECT previous, start, mark, token, note FROM mark WHERE realm = ?1 AND key = ?2";
        let mut statement = connection.prepare_cached(sql)?;
        Ok(statement.query_row(params![self.realm, key], Mark::read).optional()?)
    }

    /// Writes a row. Every number in it is at most `2^63 - 1`.
    fn store(&self, connection: &Connection, key: &str, new: &Mark) -> Result<(), Trouble> {
        let sql = "INSERT INTO mark (realm, key, previous, start, mark, token, note) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
                   ON CONFLICT (realm, key) DO UPDATE SET previous = ?3, start = ?4, mark = ?5, token = ?6, note = ?7";
        let number = |value: u64| {
            i64::try_from(value)
                .map_err(|_| damaged(self.shown(), &format!("{value} does not fit its column")))
        };
        connection.prepare_cached(sql)?.execute(params![
            self.realm,
            key,
            number(new.previous)?,
            number(new.start)?,
            number(new.mark)?,
            new.token,
            new.note
        ])?;
        Ok(())
    }

    fn find_definition(&self, connection: &Connection, name: &Name) -> Result<Option<String>, Trouble> {
        let sql = "SELECT definition FROM definition WHERE realm = ?1 AND name = ?2";
        let mut statement = connection.prepare_cached(sql)?;
        Ok(statement.query_row(params![self.realm, name.as_str()], |row| row.get(0)).optional()?)
    }

    fn shown(&self) -> &str {
        self.watch.shown()
    }
}

impl Ledger for Sqlite {
    fn reserve(&self, request: &Reserve) -> Result<Reply, LedgerError> {
        let key = &request.key;
        self.transact(Begin::Write, |connection| {
            let old = match self.find(connection, key.as_str())? {
                Some(old) => old,
                None if request.create => Mark::default(),
                None => return Err(LedgerError::Missing(key.clone()).into()),
            };
            if old.holds(request.token) {
                return Ok(Done::read(Reply::Got {
                    start: old.start,
                    end: old.mark,
                    previous_mark: old.previous,
                }));
            }
            if old.mark > request.max_mark {
                return Ok(Done::read(Reply::Refused { mark: old.mark, note: old.note }));
            }
            let start = old.mark.max(request.floor);
            let Some(end) = start.checked_add(request.count).filter(|end| *end <= MAX_MARK) else {
                return Err(LedgerError::Overflow { key: key.clone(), mark: old.mark }.into());
            };
            let new = Mark {
                previous: old.mark,
                start,
                mark: end,
                token: Some(*request.token.as_bytes()),
                note: request.note.clone().or(old.note),
            };
            self.store(connection, key.as_str(), &new)?;
            Ok(Done::written(Reply::Got { start, end, previous_mark: old.mark }))
        })
    }

    fn give_back(&self, key: &Key, token: Token, from: u64) -> Result<bool, LedgerError> {
        self.transact(Begin::Write, |connection| match self.find(connection, key.as_str())? {
            Some(old) if old.holds(token) && (old.start..=old.mark).contains(&from) => {
                self.store(connection, key.as_str(), &Mark { mark: from, token: None, ..old })?;
                Ok(Done::written(true))
            }
            _ => Ok(Done::read(false)),
        })
    }

    fn bind(&self, name: &Name, definition: &str, marked: bool) -> Result<String, LedgerError> {
        self.transact(Begin::Write, |connection| {
            if let Some(stored) = self.find_definition(connection, name)? {
                return Ok(Done::read(stored));
            }
            let sql = "INSERT INTO definition (realm, name, definition) VALUES (?1, ?2, ?3)";
            connection.prepare_cached(sql)?.execute(params![self.realm, name.as_str(), definition])?;
            let key = Key::name(name);
            if marked && self.find(connection, key.as_str())?.is_none() {
                self.store(connection, key.as_str(), &Mark::default())?;
            }
            Ok(Done::written(definition.to_owned()))
        })
    }

    fn definition(&self, name: &Name) -> Result<Option<String>, LedgerError> {
        self.transact(Begin::Read, |connection| Ok(Done::read(self.find_definition(connection, name)?)))
    }

    fn names(&self, after: &str, limit: usize) -> Result<Vec<(String, String)>, LedgerError> {
        let sql = "SELECT name, definition FROM definition WHERE realm = ?1 AND name > ?2 ORDER BY name";
        self.transact(Begin::Read, |connection| {
            let mut statement = connection.prepare_cached(sql)?;
            let rows =
                statement.query_map(params![self.realm, after], |row| Ok((row.get(0)?, row.get(1)?)))?;
            Ok(Done::read(rows.take(limit).collect::<rusqlite::Result<_>>()?))
        })
    }

    fn raise(&self, key: &Key, at_least: u64) -> Result<u64, LedgerError> {
        self.transact(Begin::Write, |connection| {
            let Some(old) = self.find(connection, key.as_str())? else {
                return Err(LedgerError::Missing(key.clone()).into());
            };
            let before = old.mark;
            if at_least > MAX_MARK {
                return Err(LedgerError::Overflow { key: key.clone(), mark: before }.into());
            }
            if at_least <= before {
                return Ok(Done::read(before));
            }
            self.store(connection, key.as_str(), &Mark { mark: at_least, token: None, ..old })?;
            Ok(Done::written(before))
        })
    }

    fn list(&self, prefix: &str, after: &str, limit: usize) -> Result<Vec<Record>, LedgerError> {
        // In byte order, the keys with a prefix stand together, from the prefix itself on.
        let sql = "SELECT key, mark, note FROM mark WHERE realm = ?1 AND key >= ?2 AND key > ?3 ORDER BY key";
        self.transact(Begin::Read, |connection| {
            let mut statement = connection.prepare_cached(sql)?;
            let mut rows = statement.query(params![self.realm, prefix, after])?;
            let mut records = Vec::new();
            while records.len() < limit {
                let Some(row) = rows.next()? else { break };
                let record = Record { key: row.get(0)?, mark: position(row, 1)?, note: row.get(2)? };
                if !record.key.starts_with(prefix) {
                    break;
                }
                records.push(record);
            }
            Ok(Done::read(records))
        })
    }

    fn realm_id(&self) -> Result<String, LedgerError> {
        Ok(self.realm_id.clone())
    }

    fn describe(&self) -> String {
        format!("sqlite:{}", self.shown())
    }

    fn is_shared(&self) -> bool {
        false
    }
}
