//! A cache's data on disk. For each key: the range that it holds, how far that has been handed out, and the token of a
//! request to the ledger behind that has no answer yet.
//!
//! Nothing of a range `[mark, end)` has been handed out. There may also be a spare range that does not follow it, because
//! others reserved in between. As in a ledger, the last local reservation's record is a row of the table `mark`.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use floe::ledger::{Key, Ledger, LedgerError, MAX_MARK, Mark, Record, Reply, Reserve, Token};
use floe::{Definition, Kind, Name};
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::sqlite::{Begin, CACHE_ID, Done, FilePurpose, FileTrouble, Origin, number, position};
use crate::{OpenError, Sqlite};

/// The file in the directory.
pub(super) const FILE: &str = "cache.db";

const PURPOSE: FilePurpose = FilePurpose {
    application_id: CACHE_ID,
    tables: "
        CREATE TABLE cache (
            one INTEGER PRIMARY KEY CHECK (one = 1),
            id BLOB NOT NULL CHECK (length(id) = 16),
            witness TEXT NOT NULL,
            realm TEXT NOT NULL,
            upstream TEXT NOT NULL,
            realm_id TEXT,
            openings INTEGER NOT NULL CHECK (openings >= 0),
            pending BLOB CHECK (length(pending) = 16)
        ) STRICT;
        CREATE TABLE held (
            key TEXT PRIMARY KEY,
            end INTEGER NOT NULL CHECK (end >= 0),
            spare_after INTEGER NOT NULL CHECK (spare_after >= 0),
            spare_start INTEGER NOT NULL CHECK (spare_start >= 0),
            spare_end INTEGER NOT NULL CHECK (spare_end >= spare_start),
            pending BLOB CHECK (length(pending) = 16)
        ) STRICT, WITHOUT ROWID;
    ",
    off_network: |_| "a cache is of one machine, so put its directory on a disk of this machine".to_owned(),
};

/// The file of a cache.
pub(super) struct Store {
    file: Sqlite,
    dir: String,
    /// The slots with a held range, as this process last saw them.
    seen: Mutex<Slots>,
}

/// By width and worker.
type Slots = BTreeMap<(u32, u64), Level>;

/// The owner of the ranges in a cache.
#[derive(Clone, Debug)]
pub(super) struct Home {
    /// The cache's own id. It is drawn again whenever the cache drops all that it held.
    pub(super) id: Token,
    /// The ledger behind, without credentials, by its last name.
    pub(super) upstream: String,
    /// The realm id of the ledger behind, once it has been reached.
    pub(super) realm_id: Option<String>,
    /// The mark of the cache's openings in the ledger behind, as far as this cache knows.
    pub(super) openings: u64,
    /// The token of an opening that has begun.
    pub(super) pending: Option<Token>,
}

/// An opening that has begun.
#[derive(Clone, Copy, Debug)]
pub(super) struct Begun {
    /// The cache's id.
    pub(super) id: Token,
    /// The token under which the ledger behind counts the opening.
    pub(super) token: Token,
    /// The mark of the cache's openings, as far as this cache knows.
    pub(super) openings: u64,
    /// Whether the token is new. A copy may have one that was on disk before.
    pub(super) is_new: bool,
}

/// An opening that has ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ended {
    /// The cache's id. If it is not the one that a process began with, what that process had was of an older copy, even
    /// if another process on this directory was first to find out.
    pub(super) id: Token,
    /// Whether this call ended it, and not another process before.
    pub(super) here: bool,
}

/// The held ranges of one key, beside the record of the last reservation.
#[derive(Clone, Default)]
struct Held {
    end: u64,
    spare: Spare,
    pending: Option<[u8; 16]>,
}

/// A range that does not follow the one before it; empty if there is none.
#[derive(Clone, Copy, Default)]
struct Spare {
    /// The mark before it was reserved. Below it are others' ranges, or ranges that this cache held.
    after: u64,
    start: u64,
    end: u64,
}

/// The state of a key's held ranges.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Level {
    /// The local mark.
    pub(super) mark: u64,
    /// The end of the last held range.
    pub(super) end: u64,
    /// How much is left in total.
    pub(super) left: u64,
    /// Whether the rest is in two pieces.
    pub(super) has_spare: bool,
}

/// The result of a local reservation.
#[derive(Debug)]
pub(super) enum Local {
    /// The answer, and the state after it.
    Served(Reply, Level),
    /// The held ranges do not suffice.
    Short(Short),
}

/// The point from which the ledger behind must be asked.
#[derive(Clone, Debug)]
pub(super) struct Short {
    /// The first held position that could begin the range.
    pub(super) from: u64,
    /// The end of the last held range; 0 if there is none.
    pub(super) end: u64,
    /// The token to ask with. It is on disk.
    pub(super) token: Option<Token>,
    /// The current owner note.
    pub(super) note: Option<String>,
}

/// A range that the ledger behind handed out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Got {
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) previous_mark: u64,
}

impl Held {
    fn last_end(&self) -> u64 {
        if self.spare.is_empty() { self.end } else { self.spare.end }
    }

    fn level(&self, mark: u64) -> Level {
        let spare = self.spare.end - self.spare.start;
        let left = self.end.saturating_sub(mark) + spare;
        Level { mark, end: self.last_end(), left, has_spare: spare > 0 }
    }
}

impl Spare {
    fn is_empty(&self) -> bool {
        self.start == self.end
    }
}

impl Store {
    pub(super) fn open(dir: &Path, max_wait: Duration) -> Result<Self, OpenError> {
        let shown = dir.display().to_string();
        let builder = Sqlite::builder().realm("cache").max_wait(max_wait).purpose(PURPOSE);
        let file = builder.open(&dir.join(FILE), true).map_err(|error| match error {
            OpenError::Ledger(error) => OpenError::Ledger(of_a_cache(error, &shown)),
            asked @ OpenError::Asked(_) => asked,
        })?;
        Ok(Self { file, dir: shown, seen: Mutex::default() })
    }

    /// The directory, for texts.
    pub(super) fn shown(&self) -> &str {
        &self.dir
    }

    /// Enters the cache of `realm`, and makes it if the file is new. Until the ledger behind was reached, nothing is held,
    /// and another realm may enter.
    pub(super) fn enter(
        &self,
        realm: &str,
        upstream: &str,
        here: &Origin,
        fresh: Token,
    ) -> Result<Home, LedgerError> {
        let text = here.to_string();
        self.write(|connection| {
            let sql = "SELECT witness, realm FROM cache";
            let found: Option<(String, String)> =
                connection.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
            let Some((witness, of)) = found else {
                let sql = "INSERT INTO cache (one, id, witness, realm, upstream, openings) VALUES (1, ?1, ?2, ?3, ?4, 0)";
                connection.execute(sql, params![fresh.as_bytes(), text, realm, upstream])?;
                return Ok(Done::written(Ok(home(connection)?)));
            };
            let home = home(connection)?;
            if of != realm && home.realm_id.is_some() {
                return Ok(Done::read(Err(self.unfit(format!("it belongs to the realm {of}, and not to {realm}")))));
            }
            if let Some(difference) = here.differs_from(&witness) {
                return Ok(Done::read(Err(self.unfit(format!(
                    "it is a copy: {difference}. What the original holds would be handed out twice"
                )))));
            }
            Ok(Done::read(Ok(home)))
        })?
    }

    /// Records the realm of the ledger behind and its id, which never change, and the name by which it was reached.
    pub(super) fn meet(&self, realm: &str, realm_id: &str, upstream: &str) -> Result<(), LedgerError> {
        self.write(|connection| {
            let home = home(connection)?;
            match home.realm_id {
                Some(known) if known != realm_id => Ok(Done::read(Err(self.unfit(format!(
                    "it holds ranges of another ledger: of the realm id {known}, and {upstream} has {realm_id}. Name the ledger \
                     that it belongs to"
                ))))),
                Some(_) if home.upstream == upstream => Ok(Done::read(Ok(()))),
                _ => {
                    let sql = "UPDATE cache SET realm = ?1, realm_id = ?2, upstream = ?3";
                    connection.execute(sql, [realm, realm_id, upstream])?;
                    Ok(Done::written(Ok(())))
                }
            }
        })?
    }

    /// The realm id of the ledger behind, once it has been reached.
    pub(super) fn realm_id(&self) -> Result<Option<String>, LedgerError> {
        self.read(|connection| Ok(home(connection)?.realm_id))
    }

    /// Begins an opening, or goes on with one that has begun. Its token is on disk before it is used.
    pub(super) fn begin_opening(&self, fresh: Token) -> Result<Begun, LedgerError> {
        self.write(|connection| {
            let Home { id, openings, pending, .. } = home(connection)?;
            if let Some(token) = pending {
                return Ok(Done::read(Begun { id, token, openings, is_new: false }));
            }
            connection.execute("UPDATE cache SET pending = ?1", params![fresh.as_bytes()])?;
            Ok(Done::written(Begun { id, token: fresh, openings, is_new: true }))
        })
    }

    /// Ends the opening `token`, by the answer of the ledger behind. If that ledger has counted openings that this cache
    /// does not know (it then refuses this one, or has counted it behind them), this is an older copy: everything that it
    /// holds is dropped, and `fresh` becomes its id.
    pub(super) fn end_opening(
        &self,
        token: Token,
        answer: &Reply,
        fresh: Token,
    ) -> Result<Ended, LedgerError> {
        self.write(|connection| {
            let home = home(connection)?;
            if home.pending != Some(token) {
                return Ok(Done::read(Ok(Ended { id: home.id, here: false })));
            }
            let (before, counted) = match *answer {
                Reply::Got { previous_mark, end, .. } => (previous_mark, Some(end)),
                Reply::Refused { mark, .. } => (mark, None),
            };
            if before < home.openings {
                return Ok(Done::read(Err(self.went_back(&Key::cache(&home.id), before, home.openings))));
            }
            if before == home.openings {
                let Some(counted) = counted else {
                    return Ok(Done::read(Err(LedgerError::Unfit(format!(
                        "the ledger behind the cache refused to count this start, although the mark of {} is {before}, as it was: it is not \
                         fit for use",
                        Key::cache(&home.id).subject()
                    )))));
                };
                let openings = number(counted, self.file.shown())?;
                connection.execute("UPDATE cache SET openings = ?1, pending = NULL", [openings])?;
                return Ok(Done::written(Ok(Ended { id: home.id, here: true })));
            }
            connection.execute("DELETE FROM held", [])?;
            connection.execute("DELETE FROM mark", [])?;
            let sql = "UPDATE cache SET id = ?1, openings = 0, pending = NULL";
            connection.execute(sql, params![fresh.as_bytes()])?;
            Ok(Done::written(Ok(Ended { id: fresh, here: true })))
        })?
    }

    /// Whether the cache holds ranges of this key: of slots, and of names that are known to be segments.
    pub(super) fn covers(&self, key: &Key) -> Result<bool, LedgerError> {
        if key.as_str().starts_with(Key::SLOTS) {
            return Ok(true);
        }
        let Some(name) = key.as_str().strip_prefix(Key::NAMES).and_then(|name| Name::new(name).ok()) else {
            return Ok(false);
        };
        let definition: Option<Definition> = self.definition(&name)?.and_then(|text| text.parse().ok());
        Ok(definition.is_some_and(|definition| definition.kind() == Kind::SEGMENT))
    }

    /// Reserves from the held ranges. If they do not suffice and `fresh` is given, a token for a request to the ledger
    /// behind is on disk afterwards: `fresh`, or the token of a request that has no answer. `gives` is called before a
    /// range can be had, and still inside the write: an opening that ends later finds what it has noted.
    pub(super) fn reserve(
        &self,
        request: &Reserve,
        fresh: Option<Token>,
        gives: impl Fn(),
    ) -> Result<Local, LedgerError> {
        self.write(|connection| {
            let Done { answer, written } = self.serve(connection, request)?;
            if let Local::Served(reply, level) = &answer {
                self.note(&request.key, *level);
                if matches!(reply, Reply::Got { .. }) {
                    gives();
                }
            }
            match (answer, fresh) {
                (Local::Short(short), Some(fresh)) => self.pend(connection, &request.key, short, fresh),
                (answer, _) => Ok(Done { answer, written }),
            }
        })
    }

    /// Prepares to add to a key of which less than `below` is left. `None` if more is left, or if the rest is in two
    /// pieces: a third would cost one of them.
    pub(super) fn begin_top_up(
        &self,
        key: &Key,
        below: u64,
        fresh: Token,
    ) -> Result<Option<Short>, LedgerError> {
        self.write(|connection| {
            let mark = self.file.find(connection, key.as_str())?.unwrap_or_default();
            let level = find_held(connection, key.as_str())?.level(mark.mark);
            if level.left >= below || level.has_spare {
                return Ok(Done::read(None));
            }
            let short = Short { from: mark.mark, end: level.end, token: None, note: mark.note };
            let Done { answer, written } = self.pend(connection, key, short, fresh)?;
            let Local::Short(short) = answer else { return Ok(Done { answer: None, written }) };
            Ok(Done { answer: Some(short), written })
        })
    }

    /// Records what the ledger behind handed out under `token`, unless another process on this directory already did.
    /// Then reserves, in the same step, if there is a request.
    pub(super) fn add(
        &self,
        key: &Key,
        token: Token,
        got: Got,
        request: Option<&Reserve>,
    ) -> Result<Option<Local>, LedgerError> {
        self.write(|connection| {
            let mut held = find_held(connection, key.as_str())?;
            let adds = held.pending == Some(*token.as_bytes());
            if adds {
                if got.previous_mark < held.last_end() {
                    return Ok(Done::read(Err(self.went_back(key, got.previous_mark, held.last_end()))));
                }
                held.pending = None;
                held.add(got);
                self.store_held(connection, key.as_str(), &held)?;
            }
            let served = request.map(|request| self.serve(connection, request)).transpose()?;
            self.note(key, self.level_of(connection, key.as_str())?);
            let written = adds || served.as_ref().is_some_and(|served| served.written);
            Ok(Done { answer: Ok(served.map(|served| served.answer)), written })
        })?
    }

    /// Whether this key has a record here.
    pub(super) fn knows(&self, key: &Key) -> Result<bool, LedgerError> {
        self.read(|connection| Ok(self.file.find(connection, key.as_str())?.is_some()))
    }

    /// Gives a tail of the last local reservation back.
    pub(super) fn give_back(&self, key: &Key, token: Token, from: u64) -> Result<bool, LedgerError> {
        let given = self.file.give_back(key, token, from).map_err(|error| of_a_cache(error, &self.dir))?;
        self.read(|connection| {
            self.note(key, self.level_of(connection, key.as_str())?);
            Ok(given)
        })
    }

    /// Moves the local mark up too, after that of the ledger behind, which was `behind` before. Returns the mark
    /// before, as callers of this cache see it.
    pub(super) fn raise(&self, key: &Key, at_least: u64, behind: u64) -> Result<u64, LedgerError> {
        self.write(|connection| {
            let found = self.file.find(connection, key.as_str())?;
            let mut held = find_held(connection, key.as_str())?;
            let before = found.as_ref().filter(|_| held.last_end() == behind).map_or(behind, |own| own.mark);
            let nothing_held = found.is_none() && held.last_end() == 0 && held.pending.is_none();
            let old = found.unwrap_or_default();
            let Some(raised) = old.raise(key, at_least)?.filter(|_| !nothing_held) else {
                return Ok(Done::read(before));
            };
            held.skip_to(at_least);
            // Its answer may be a range below the new mark.
            held.pending = None;
            self.store_held(connection, key.as_str(), &held)?;
            self.file.store(connection, key.as_str(), &raised)?;
            self.note(key, held.level(raised.mark));
            Ok(Done::written(before))
        })
    }

    /// Records of the ledger behind, as seen from here. If this cache holds the range up to a mark, the record shows
    /// how far the cache has come in it.
    pub(super) fn seen_from_here(&self, records: &[Record]) -> Result<Vec<Record>, LedgerError> {
        self.read(|connection| {
            let mut seen = records.to_vec();
            for record in &mut seen {
                let held = find_held(connection, &record.key)?;
                if held.last_end() != record.mark {
                    continue;
                }
                if let Some(own) = self.file.find(connection, &record.key)? {
                    record.mark = own.mark;
                    record.note = own.note.or(record.note.take());
                }
            }
            Ok(seen)
        })
    }

    /// The slots with a held range, as this process last saw them.
    pub(super) fn seen(&self) -> MutexGuard<'_, Slots> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks at the slots with a held range.
    pub(super) fn note_slots(&self) -> Result<(), LedgerError> {
        self.read(|connection| {
            let sql = "SELECT key FROM held WHERE key >= ?1 AND max(end, spare_end) > 0 ORDER BY key";
            let mut statement = connection.prepare_cached(sql)?;
            let keys: Vec<String> =
                statement.query_map([Key::SLOTS], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
            let slots = keys.iter().filter_map(|key| Some((Key::parse_slot(key)?, key)));
            let slots = slots.map(|(slot, key)| Ok((slot, self.level_of(connection, key)?)));
            let slots = slots.collect::<Result<_, FileTrouble>>()?;
            #[cfg(test)]
            tests::during_a_note(self);
            *self.seen() = slots;
            Ok(())
        })
    }

    /// Remembers what a call found or left, if that is of a slot. The call still has the file: a later call notes later.
    fn note(&self, key: &Key, level: Level) {
        #[cfg(test)]
        tests::during_a_note(self);
        self.seen().extend(Key::parse_slot(key.as_str()).map(|slot| (slot, level)));
    }

    /// The definition of a name that was bound through this cache, or a note that was bound or read through it.
    pub(super) fn definition(&self, name: &Name) -> Result<Option<String>, LedgerError> {
        self.file.definition(name).map_err(|error| of_a_cache(error, &self.dir))
    }

    /// Keeps the definition of a name, or a note. It never changes.
    pub(super) fn remember(&self, name: &Name, definition: &str) -> Result<String, LedgerError> {
        self.file.bind(name, definition, false).map_err(|error| of_a_cache(error, &self.dir))
    }

    fn level_of(&self, connection: &Connection, key: &str) -> Result<Level, FileTrouble> {
        let mark = self.file.find(connection, key)?.unwrap_or_default();
        Ok(find_held(connection, key)?.level(mark.mark))
    }

    fn serve(&self, connection: &Connection, request: &Reserve) -> Result<Done<Local>, FileTrouble> {
        let key = request.key.as_str();
        let found = self.file.find(connection, key)?;
        let mut held = find_held(connection, key)?;
        let known = found.is_some() || held.end > 0;
        let old = found.unwrap_or_default();
        if known {
            let (reply, written) = Mark::reserve(Some(&old), request)?;
            let Some(new) = written else {
                return Ok(Done::read(Local::Served(reply, held.level(old.mark))));
            };
            if new.mark <= held.end {
                self.file.store(connection, key, &new)?;
                return Ok(Done::written(Local::Served(reply, held.level(new.mark))));
            }
        }
        let spare = held.spare;
        if spare.is_empty() {
            let short = Short { from: old.mark, end: held.end, token: None, note: old.note };
            return Ok(Done::read(Local::Short(short)));
        }
        let before = if spare.after > held.end { spare.after } else { old.mark };
        if before > request.max_mark {
            let refused = Reply::Refused { mark: before, note: old.note };
            return Ok(Done::read(Local::Served(refused, held.level(old.mark))));
        }
        let begin = Mark { mark: spare.start, token: None, ..old };
        let unlimited = Reserve { max_mark: MAX_MARK, ..request.clone() };
        let (_, written) = Mark::reserve(Some(&begin), &unlimited)?;
        let Some(new) = written.filter(|new| new.mark <= spare.end) else {
            let short = Short { from: spare.start, end: spare.end, token: None, note: begin.note };
            return Ok(Done::read(Local::Short(short)));
        };
        let new = Mark { previous: before, ..new };
        (held.end, held.spare) = (spare.end, Spare::default());
        self.store_held(connection, key, &held)?;
        self.file.store(connection, key, &new)?;
        let reply = Reply::Got { start: new.start, end: new.mark, previous_mark: before };
        Ok(Done::written(Local::Served(reply, held.level(new.mark))))
    }

    /// Puts the token for the next request to the ledger behind on disk, unless one is there.
    fn pend(
        &self,
        connection: &Connection,
        key: &Key,
        short: Short,
        fresh: Token,
    ) -> Result<Done<Local>, FileTrouble> {
        let mut held = find_held(connection, key.as_str())?;
        if let Some(token) = held.pending.and_then(Token::from_bytes) {
            return Ok(Done::read(Local::Short(Short { token: Some(token), ..short })));
        }
        held.pending = Some(*fresh.as_bytes());
        self.store_held(connection, key.as_str(), &held)?;
        Ok(Done::written(Local::Short(Short { token: Some(fresh), ..short })))
    }

    fn store_held(&self, connection: &Connection, key: &str, held: &Held) -> Result<(), FileTrouble> {
        let sql = "INSERT INTO held (key, end, spare_after, spare_start, spare_end, pending) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
                   ON CONFLICT (key) DO UPDATE SET end = ?2, spare_after = ?3, spare_start = ?4, spare_end = ?5, pending = ?6";
        let number = |value| number(value, self.file.shown());
        connection.prepare_cached(sql)?.execute(params![
            key,
            number(held.end)?,
            number(held.spare.after)?,
            number(held.spare.start)?,
            number(held.spare.end)?,
            held.pending
        ])?;
        Ok(())
    }

    fn read<T>(&self, work: impl Fn(&Connection) -> Result<T, FileTrouble>) -> Result<T, LedgerError> {
        let outcome = self.file.transact(Begin::Read, |connection| Ok(Done::read(work(connection)?)));
        outcome.map_err(|error| of_a_cache(error, &self.dir))
    }

    fn write<T>(&self, work: impl Fn(&Connection) -> Result<Done<T>, FileTrouble>) -> Result<T, LedgerError> {
        self.file.transact(Begin::Write, work).map_err(|error| of_a_cache(error, &self.dir))
    }

    /// The error for a ledger behind whose mark lies below a range that it handed out (I1).
    fn went_back(&self, key: &Key, mark: u64, held: u64) -> LedgerError {
        LedgerError::Unfit(format!(
            "the ledger behind the cache went backwards: the mark of {} was {mark}, and the cache holds a range up to {held}. It was \
             restored from an older backup, or it lost writes that it had confirmed. Minting on would repeat IDs: {}; raise the \
             marks above every ID in use (`floe marks raise`), then start again",
            key.subject(),
            remove(&self.dir)
        ))
    }

    /// The error for a ledger behind from which somebody deleted the count of this cache's openings.
    pub(super) fn lost_count(&self, key: &Key) -> LedgerError {
        self.unfit(format!(
            "the record in which the ledger behind it counts its starts ({key}) was deleted, so floe cannot tell whether this is an \
             older copy. Put that record back as it was"
        ))
    }

    /// Why this directory must not be used.
    fn unfit(&self, cause: String) -> LedgerError {
        LedgerError::Unfit(format!("the cache {}: {cause}; or {}", self.dir, remove(&self.dir)))
    }
}

impl Held {
    /// Lengthens the last range if the new one begins at its end. Otherwise the new one becomes the spare. It replaces
    /// an older spare only if that was too short for a request.
    fn add(&mut self, Got { start, end, previous_mark }: Got) {
        if !self.spare.is_empty() && self.spare.end == start {
            self.spare.end = end;
        } else if self.spare.is_empty() && self.end == start {
            self.end = end;
        } else {
            self.spare = Spare { after: previous_mark, start, end };
        }
    }

    /// Drops everything below `mark`.
    fn skip_to(&mut self, mark: u64) {
        if !self.spare.is_empty() && mark >= self.spare.start {
            (self.end, self.spare) = (self.spare.end, Spare::default());
        }
        self.end = self.end.max(mark);
    }
}

/// The way out of every error of a cache.
fn remove(dir: &str) -> String {
    format!(
        "stop every floe that uses {dir}, and remove it: what was reserved in it is wasted, and nothing else is lost"
    )
}

/// Turns an error of the file into one of the cache, which needs no backup.
fn of_a_cache(error: LedgerError, dir: &str) -> LedgerError {
    match error {
        LedgerError::Unfit(cause) => LedgerError::Unfit(format!(
            "the cache {dir} cannot be used as it is. Repair it, or {}. The cause: {cause}",
            remove(dir)
        )),
        other => other,
    }
}

fn home(connection: &Connection) -> Result<Home, FileTrouble> {
    let sql = "SELECT id, upstream, realm_id, openings, pending FROM cache";
    Ok(connection.query_row(sql, [], |row| {
        let pending: Option<[u8; 16]> = row.get(4)?;
        Ok(Home {
            // floe never writes an id of zeros.
            id: Token::from_bytes(row.get(0)?).ok_or(rusqlite::Error::QueryReturnedNoRows)?,
            upstream: row.get(1)?,
            realm_id: row.get(2)?,
            openings: position(row, 3)?,
            pending: pending.and_then(Token::from_bytes),
        })
    })?)
}

fn find_held(connection: &Connection, key: &str) -> Result<Held, FileTrouble> {
    let sql = "SELECT end, spare_after, spare_start, spare_end, pending FROM held WHERE key = ?1";
    let read = |row: &Row<'_>| {
        let spare = Spare { after: position(row, 1)?, start: position(row, 2)?, end: position(row, 3)? };
        Ok(Held { end: position(row, 0)?, spare, pending: row.get(4)? })
    };
    Ok(connection.prepare_cached(sql)?.query_row([key], read).optional()?.unwrap_or_default())
}

#[cfg(test)]
mod tests;
