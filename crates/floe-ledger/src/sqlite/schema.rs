//! The tables: how they are made, recognised, and entered.

use std::fs;
use std::path::Path;

use floe::ledger::{LedgerError, Token};
use rusqlite::{Connection, OptionalExtension};

use super::draft::{draft_path, link_into_place};
use super::file::Place;
use super::trouble::{Trouble, damaged};
use super::turn;
use crate::opening::is_newer;
use crate::{DEFAULT_REALM, Opening};

/// `floc` in ASCII, in the header of a cache's file.
pub(crate) const CACHE_ID: i32 = 0x666c_6f63;

/// The version of the tables, in the header of the file.
const VERSION: i32 = 2;

/// SQLite's page; a commit writes one or two of them.
const PAGE_BYTES: u64 = 4096;

/// Up to this size, opening reads the whole file, which takes some ten milliseconds. In a larger file, damage is found
/// when a damaged page is read.
const CHECKED_PAGES: i64 = 8192;

/// Text is compared byte by byte (SQLite's default collation), and integers are 64 bits with a sign, so 0..2^63 is
/// exact.
const TABLES: &str = "
    CREATE TABLE ledger (id TEXT NOT NULL) STRICT;
    CREATE TABLE realm (
        realm INTEGER PRIMARY KEY,
        name TEXT NOT NULL UNIQUE,
        id TEXT NOT NULL
    ) STRICT;
    CREATE TABLE mark (
        realm INTEGER NOT NULL,
        key TEXT NOT NULL,
        previous INTEGER NOT NULL CHECK (previous >= 0),
        start INTEGER NOT NULL CHECK (start >= 0),
        mark INTEGER NOT NULL CHECK (mark >= start),
        token BLOB CHECK (length(token) = 16),
        note TEXT,
        PRIMARY KEY (realm, key)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE definition (
        realm INTEGER NOT NULL,
        name TEXT NOT NULL,
        definition TEXT NOT NULL,
        PRIMARY KEY (realm, name)
    ) STRICT, WITHOUT ROWID;
";

/// The slots and names that were made, even if their rows no longer exist. A file of an earlier floe lacks its names.
const MADE: &str = "
    CREATE TABLE made (
        realm INTEGER NOT NULL,
        key TEXT NOT NULL,
        PRIMARY KEY (realm, key)
    ) STRICT, WITHOUT ROWID;
";

/// The step from version 1, which did not remember them.
const FROM_1: &str = "INSERT INTO made (realm, key) SELECT realm, key FROM mark WHERE key NOT LIKE 'n/%';";

/// The purpose of a file. The header shows which one it has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Purpose {
    pub(crate) application_id: i32,
    /// The tables that not every file has.
    pub(crate) tables: &'static str,
    /// The way out if the file is on a network file system.
    pub(crate) off_network: fn(&str) -> String,
}

/// The marks of realms.
pub(super) const LEDGER: Purpose = Purpose {
    // `floe` in ASCII; `file` and `sqlite3` show it.
    application_id: 0x666c_6f65,
    tables: "",
    off_network: |shown| {
        format!(
            "put it on a disk of this machine, or use a ledger that is made for sharing; if only this machine ever \
             opens the file, say so with `sqlite:{shown}?network_filesystem=allow`"
        )
    },
};

/// Why a file with this number in its header does not have this purpose.
fn other_purpose(found: i64, shown: &str) -> LedgerError {
    LedgerError::Unfit(match i32::try_from(found) {
        Ok(id) if id == LEDGER.application_id => {
            format!("{shown} is a ledger, not a part of a cache: give the cache a directory of its own")
        }
        Ok(CACHE_ID) => format!(
            "{shown} belongs to a cache, and is not a ledger: it holds parts of another ledger's ranges; name that ledger, and this \
             directory as its cache"
        ),
        _ => format!(
            "{shown} is a SQLite database of another program, not a ledger: give floe a path of its own"
        ),
    })
}

/// Makes a ledger at a vacant place, unless another process is first.
///
/// It is made whole under another name and linked into place. So a process that finds a ledger there finds a complete
/// one, already in WAL mode.
pub(super) fn create(place: &Place, purpose: Purpose) -> Result<(), LedgerError> {
    let id = Token::random()?.hex();
    let draft = draft_path(place.real(), &id);
    let made = write(&draft, &id, purpose).map_err(|error| match error.sqlite_error_code() {
        Some(rusqlite::ErrorCode::CannotOpen | rusqlite::ErrorCode::ReadOnly) => place.not_writable(&error),
        _ => place.at_open(&error),
    });
    let linked = made.and_then(|()| {
        link_into_place(&draft, place.real()).map(drop).map_err(|error| {
            LedgerError::Unfit(format!(
                "a ledger cannot be made at {} ({error}): look at the permissions and the room on its file system",
                place.shown()
            ))
        })
    });
    if linked.is_err() {
        // The rest of the draft is worthless. If it cannot be deleted either, it does no harm.
        for suffix in ["", "-journal", "-wal", "-shm"] {
            let mut path = draft.clone().into_os_string();
            path.push(suffix);
            drop(fs::remove_file(path));
        }
    }
    linked
}

fn write(draft: &Path, id: &str, purpose: Purpose) -> rusqlite::Result<()> {
    let connection = Connection::open(draft)?;
    connection.pragma_update(None, "page_size", i64::try_from(PAGE_BYTES).unwrap_or(4096))?;
    connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
    durable(&connection)?;
    connection.execute_batch(&format!(
        "BEGIN; {TABLES} {MADE} {} PRAGMA application_id = {}; PRAGMA user_version = {VERSION};",
        purpose.tables, purpose.application_id,
    ))?;
    connection.execute("INSERT INTO ledger (id) VALUES (?1)", [id])?;
    connection.execute_batch("COMMIT")?;
    // Moves everything from the WAL to the file, flushes it, and deletes the WAL.
    connection.close().map_err(|(_, error)| error)
}

/// Flushes every commit, on macOS down to the platter.
fn durable(connection: &Connection) -> rusqlite::Result<()> {
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "fullfsync", true)?;
    connection.pragma_update(None, "checkpoint_fullfsync", true)
}

/// Checks that this is a whole ledger of a version that this floe knows, and sets up the connection.
pub(super) fn prepare(
    connection: &Connection,
    place: &Place,
    purpose: Purpose,
    opening: &Opening,
    max_bytes: u64,
) -> Result<(), Trouble> {
    // All waiting is in one place (`patience`).
    connection.busy_timeout(std::time::Duration::ZERO)?;
    let shown = place.shown();
    let number = |pragma: &str| connection.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0));
    let found = number("application_id")?;
    if found != i64::from(purpose.application_id) {
        return Err(other_purpose(found, shown).into());
    }
    let version = number("user_version")?;
    if version > i64::from(VERSION) {
        return Err(is_newer(shown, version, VERSION.into()).into());
    }
    if version < 1 {
        return Err(damaged(shown, &format!("it has version {version}, which no floe has written")).into());
    }
    if connection.is_readonly(rusqlite::MAIN_DB)? {
        return Err(place.not_writable(&"it was opened for reading only").into());
    }
    let journal: String =
        connection.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0))?;
    if !journal.eq_ignore_ascii_case("wal") {
        return Err(unfit(format!(
            "{shown} cannot be put into WAL mode (it stays in {journal} mode): its file system does not share memory; put it \
             on another"
        )));
    }
    durable(connection)?;
    // Small on purpose: a ledger touches one page at a time.
    connection.pragma_update(None, "cache_size", -256)?;
    connection.pragma_update_and_check(None, "mmap_size", 0, |_| Ok(()))?;
    // By itself it would write the WAL to a file that may have been put back meanwhile.
    connection.pragma_update_and_check(None, "wal_autocheckpoint", 0, |_| Ok(()))?;
    connection.pragma_update_and_check(None, "journal_size_limit", 1 << 20, |_| Ok(()))?;
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    connection.pragma_update(None, "trusted_schema", false)?;
    let pages = i64::try_from(max_bytes / PAGE_BYTES).unwrap_or(i64::MAX).clamp(1, 0xffff_fffe);
    connection.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(()))?;
    if number("page_count")? <= CHECKED_PAGES {
        let verdict: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
        if verdict != "ok" {
            return Err(damaged(shown, &verdict).into());
        }
    }
    let (is_older, has_turn) = (version < i64::from(VERSION), turn::is_there(connection)?);
    if is_older || !has_turn {
        opening.may_change("the tables", version, shown)?;
        if let Some((_, id)) = find_realm(connection, opening)? {
            opening.check_id(&id, shown)?;
        }
    }
    if is_older {
        migrate(connection)?;
    }
    if !has_turn {
        turn::make(connection)?;
    }
    Ok(())
}

/// One step from each older version, all in one transaction. Another process may be first.
fn migrate(connection: &Connection) -> Result<(), Trouble> {
    connection.execute_batch("BEGIN IMMEDIATE")?;
    let stepped = (|| {
        let version: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
        if version == 1 {
            connection.execute_batch(&format!("{MADE} {FROM_1} PRAGMA user_version = {VERSION};"))?;
        }
        connection.execute_batch("COMMIT")
    })();
    if stepped.is_err() && !connection.is_autocommit() {
        connection.execute_batch("ROLLBACK")?;
    }
    Ok(stepped?)
}

/// A realm inside the file.
pub(super) struct Entered {
    pub(super) realm: i64,
    pub(super) realm_id: String,
    pub(super) ledger_id: String,
    /// The realms beside the default one.
    pub(super) others: Vec<String>,
}

/// The number of the realm in the file, and its id.
fn find_realm(connection: &Connection, opening: &Opening) -> rusqlite::Result<Option<(i64, String)>> {
    let sql = "SELECT realm, id FROM realm WHERE name = ?1";
    connection.query_row(sql, [opening.realm()], |row| Ok((row.get(0)?, row.get(1)?))).optional()
}

/// Finds a realm, and makes it if it is new and may be made.
pub(super) fn enter(connection: &Connection, opening: &Opening, place: &Place) -> Result<Entered, Trouble> {
    let (name, shown) = (opening.realm(), place.shown());
    let ledger_id: Option<String> =
        connection.query_row("SELECT id FROM ledger", [], |row| row.get(0)).optional()?;
    let Some(ledger_id) = ledger_id else {
        return Err(damaged(shown, &"its id is gone").into());
    };
    let others = || -> Result<Vec<String>, Trouble> {
        // A scratch realm is no other one.
        let sql = "SELECT name FROM realm WHERE name <> ?1 AND substr(name, 1, 1) <> ?2 ORDER BY 1 LIMIT 20";
        let mut statement = connection.prepare(sql)?;
        let beside = [name, &floe::store::Place::SCRATCH.to_string()];
        Ok(statement.query_map(beside, |row| row.get(0))?.collect::<rusqlite::Result<_>>()?)
    };
    if let Some((realm, realm_id)) = find_realm(connection, opening)? {
        opening.check_id(&realm_id, shown)?;
        // If there are several, a caller that named none is told of them.
        let others = if name == DEFAULT_REALM { others()? } else { Vec::new() };
        opening.check_sole(|| Ok::<_, Trouble>(others.clone()), shown)?;
        return Ok(Entered { realm, realm_id, ledger_id, others });
    }
    // Another process may make the same one meanwhile: that is not another realm.
    opening.check_new(others, shown)?;
    let fresh = Token::random()?.hex();
    connection
        .execute("INSERT INTO realm (name, id) VALUES (?1, ?2) ON CONFLICT DO NOTHING", [name, &fresh])?;
    match find_realm(connection, opening)? {
        Some((realm, realm_id)) => Ok(Entered { realm, realm_id, ledger_id, others: Vec::new() }),
        None => Err(damaged(shown, &"a realm that was just made is not there").into()),
    }
}

fn unfit(text: String) -> Trouble {
    LedgerError::Unfit(text).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tables of version 1, without a turn.
    fn first_version() -> Connection {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch(&format!("{TABLES} PRAGMA user_version = 1")).unwrap();
        connection
    }

    fn version(connection: &Connection) -> i64 {
        connection.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap()
    }

    #[test]
    fn a_step_that_another_process_has_made_is_not_made_again() {
        let connection = first_version();
        for _ in 0..2 {
            migrate(&connection).unwrap();
            assert_eq!(version(&connection), i64::from(VERSION));
        }
    }

    /// Its ledger would find another id in the file at its first call.
    #[test]
    fn who_makes_a_realm_at_once_with_another_process_has_the_id_of_the_first() {
        let dir = tempfile::TempDir::new().unwrap();
        let place = Place::new(&dir.path().join("ids.db")).unwrap();
        let connection = first_version();
        // The other process comes between the look and the write.
        connection
            .execute_batch(
                "INSERT INTO ledger VALUES ('0f'); \
                 CREATE TRIGGER first BEFORE INSERT ON realm BEGIN \
                 INSERT INTO realm (name, id) VALUES (NEW.name, 'theirs'); END",
            )
            .unwrap();
        let entered = enter(&connection, &Opening::of("shop"), &place).unwrap();
        assert_eq!(entered.realm_id, "theirs");
    }

    /// Another process would wait for it, and who tries again would hear of it, and not of what is wrong.
    #[test]
    fn a_step_that_fails_leaves_no_transaction_open() {
        let connection = first_version();
        connection.execute_batch("CREATE TABLE made (x); CREATE VIEW turn AS SELECT 1").unwrap();
        for _ in 0..2 {
            let error = migrate(&connection).unwrap_err();
            assert!(format!("{error:?}").contains("made already exists"), "{error:?}");
            assert!(turn::make(&connection).is_err());
            assert!(connection.is_autocommit());
        }
        assert_eq!(version(&connection), 1);
    }
}
