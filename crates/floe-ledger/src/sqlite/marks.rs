//! The operations of the contract, each in one transaction.

use floe::Name;
use floe::ledger::{Elsewhere, Key, Ledger, LedgerError, Mark, Record, Reply, Reserve, Token};
use floe::store::Place;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::trouble::{Trouble, damaged};
use super::{Begin, Done, Sqlite};

/// A row of `mark`.
fn read(row: &Row<'_>) -> rusqlite::Result<Mark> {
    let token = row.get::<_, Option<[u8; 16]>>(3)?;
    Ok(Mark {
        previous: position(row, 0)?,
        start: position(row, 1)?,
        mark: position(row, 2)?,
        token: token.and_then(Token::from_bytes),
        note: row.get(4)?,
    })
}

/// A number in the form in which it is stored, at most `2^63 - 1`.
pub(crate) fn number(value: u64, shown: &str) -> Result<i64, Trouble> {
    i64::try_from(value).map_err(|_| damaged(shown, &format!("{value} does not fit its column")).into())
}

/// A stored number. A negative one was not written by floe, and is an error.
pub(crate) fn position(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    let value: i64 = row.get(column)?;
    u64::try_from(value).map_err(|_| rusqlite::Error::IntegralValueOutOfRange(column, value))
}

impl Sqlite {
    pub(crate) fn find(&self, connection: &Connection, key: &str) -> Result<Option<Mark>, Trouble> {
        let sql = "SELECT previous, start, mark, token, note FROM mark WHERE realm = ?1 AND key = ?2";
        let mut statement = connection.prepare_cached(sql)?;
        Ok(statement.query_row(params![self.realm, key], read).optional()?)
    }

    /// Writes a row. Every number in it is at most `2^63 - 1`.
    pub(crate) fn store(&self, connection: &Connection, key: &str, new: &Mark) -> Result<(), Trouble> {
        let sql = "INSERT INTO mark (realm, key, previous, start, mark, token, note) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
                   ON CONFLICT (realm, key) DO UPDATE SET previous = ?3, start = ?4, mark = ?5, token = ?6, note = ?7";
        let number = |value| number(value, self.shown());
        connection.prepare_cached(sql)?.execute(params![
            self.realm,
            key,
            number(new.previous)?,
            number(new.start)?,
            number(new.mark)?,
            new.token.as_ref().map(Token::as_bytes),
            new.note
        ])?;
        Ok(())
    }

    /// Reads a record, and writes what `step` makes of it, in one transaction.
    fn change<T>(
        &self,
        key: &Key,
        step: impl Fn(&Connection, Option<Mark>) -> Result<(T, Option<Mark>), Trouble>,
    ) -> Result<T, LedgerError> {
        self.transact(Begin::Write, |connection| {
            let (answer, new) = step(connection, self.find(connection, key.as_str())?)?;
            if let Some(new) = &new {
                self.store(connection, key.as_str(), new)?;
            }
            Ok(Done { answer, written: new.is_some() })
        })
    }

    /// Notes that the record of a slot or a name is made, in the transaction that makes it.
    ///
    /// # Errors
    /// `Missing` if it was made before: somebody deleted it.
    fn note_made(&self, connection: &Connection, key: &Key) -> Result<(), Trouble> {
        let sql = "INSERT INTO made (realm, key) VALUES (?1, ?2) ON CONFLICT DO NOTHING";
        match connection.prepare_cached(sql)?.execute(params![self.realm, key.as_str()])? {
            1 => Ok(()),
            _ => Err(LedgerError::Missing(key.clone()).into()),
        }
    }

    fn find_definition(&self, connection: &Connection, name: &Name) -> Result<Option<String>, Trouble> {
        let sql = "SELECT definition FROM definition WHERE realm = ?1 AND name = ?2";
        let mut statement = connection.prepare_cached(sql)?;
        Ok(statement.query_row(params![self.realm, name.as_str()], |row| row.get(0)).optional()?)
    }

    pub(crate) fn shown(&self) -> &str {
        self.watch.shown()
    }
}

impl Ledger for Sqlite {
    fn reserve(&self, request: &Reserve) -> Result<Reply, LedgerError> {
        let key = &request.key;
        self.change(key, |connection, found| {
            if found.is_none() {
                self.note_made(connection, key)?;
            }
            // An error takes the note back with it. Where there is no record, a reservation without an error makes one.
            Ok(Mark::reserve(found.as_ref(), request)?)
        })
    }

    fn count(&self, request: &Reserve) -> Result<Reply, LedgerError> {
        let key = &request.key;
        self.change(key, |_, found| {
            let record = found.ok_or_else(|| LedgerError::Missing(key.clone()))?;
            let ((reply, new), calls) = match self.ahead.take(&record, request) {
                Ok(reply) => return Ok((reply, None)),
                Err(Some(next)) => {
                    let calls = self.ahead.calls(key.as_str());
                    (record.reserve_ahead(next, request, calls)?, calls)
                }
                Err(None) => (Mark::reserve(Some(&record), request)?, 0),
            };
            let (Reply::Got { end, .. }, Some(new)) = (&reply, new) else { return Ok((reply, None)) };
            let token = self.ahead.note(key.as_str(), &record, *end..new.mark, calls)?;
            Ok((reply, Some(Mark { token, ..new })))
        })
    }

    fn count_at_once(&self, request: &Reserve) -> Option<Reply> {
        self.try_transact(|connection| {
            let record = self.find(connection, request.key.as_str())?;
            Ok(record.and_then(|record| self.ahead.take(&record, request).ok()))
        })
    }

    fn give_back(&self, key: &Key, token: Token, from: u64) -> Result<bool, LedgerError> {
        self.change(key, |_, found| {
            let shorter = found.and_then(|record| record.give_back(token, from));
            Ok((shorter.is_some(), shorter))
        })
    }

    fn bind(&self, name: &Name, definition: &str, marked: bool) -> Result<String, LedgerError> {
        self.transact(Begin::Write, |connection| {
            if let Some(stored) = self.find_definition(connection, name)? {
                return Ok(Done::read(stored));
            }
            let key = Key::name(name);
            if self.find(connection, key.as_str())?.is_none() {
                self.note_made(connection, &key)?;
                if marked {
                    self.store(connection, key.as_str(), &Mark::default())?;
                }
            }
            let sql = "INSERT INTO definition (realm, name, definition) VALUES (?1, ?2, ?3)";
            connection.prepare_cached(sql)?.execute(params![self.realm, name.as_str(), definition])?;
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
        self.change(key, |_, found| {
            let record = found.ok_or_else(|| LedgerError::Missing(key.clone()))?;
            let new = match record.raise(key, at_least)? {
                None if self.ahead.skip(&record, at_least) => None,
                // The rest is in another memory. Without the token, nothing is taken from it.
                None => Some(Mark { token: None, ..record.clone() }),
                raised => raised,
            };
            Ok((record.mark, new))
        })
    }

    fn list(&self, prefix: &str, after: &str, limit: usize) -> Result<Vec<Record>, LedgerError> {
        // In byte order, keys with a common prefix are adjacent, beginning with the prefix itself.
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

    fn in_other_realms(&self, name: &Name) -> Result<Vec<Elsewhere>, LedgerError> {
        let sql = "SELECT r.name, d.definition, m.mark FROM realm AS r
                   JOIN definition AS d ON d.realm = r.realm AND d.name = ?2
                   LEFT JOIN mark AS m ON m.realm = r.realm AND m.key = ?3
                   WHERE r.realm <> ?1 AND substr(r.name, 1, 1) <> ?4 ORDER BY r.name LIMIT 10";
        let key = Key::name(name);
        self.transact(Begin::Read, |connection| {
            let mut statement = connection.prepare_cached(sql)?;
            let scratch = Place::SCRATCH.to_string();
            let mut rows = statement.query(params![self.realm, name.as_str(), key.as_str(), scratch])?;
            let mut found = Vec::new();
            while let Some(row) = rows.next()? {
                let unmarked = row.get_ref(2)? == ValueRef::Null;
                let mark = if unmarked { 0 } else { position(row, 2)? };
                found.push(Elsewhere { realm: row.get(0)?, definition: row.get(1)?, mark });
            }
            Ok(Done::read(found))
        })
    }

    fn realm_id(&self) -> Result<String, LedgerError> {
        Ok(self.realm_id.clone())
    }

    fn describe(&self) -> String {
        match self.others.as_slice() {
            [] => format!("sqlite:{}", self.shown()),
            others => format!("sqlite:{} (which has other realms, too: {})", self.shown(), others.join(", ")),
        }
    }

    fn is_shared(&self) -> bool {
        false
    }
}
