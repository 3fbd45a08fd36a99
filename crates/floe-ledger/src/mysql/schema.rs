//! The checks of every new connection, of the server's settings and of the tables; and how tables are made.

use std::collections::HashMap;
use std::time::Duration;

use floe::ledger::LedgerError;

use super::Trouble;
use super::link::Link;
use super::session::{Answer, Row};
use super::statements;
use super::url::Settings;
use crate::Opening;
use crate::options::let_be;
use crate::remote::{Wanted, realm as words};

/// The version of the tables. Version 3 compares and swaps records; earlier versions had a column for each number.
const VERSION: i64 = 3;

/// The tables; `docs/ledgers.md` repeats them for operators who make them by hand. Each statement commits by itself and
/// does nothing if it has run before. The version comes last, so the next start repairs a start that was cut off.
const TABLES: &str = include_str!("tables.sql");

/// The step from earlier versions, once the new tables exist. The former tables stay, and accept no more writes: each
/// write of an older floe changes the column `writes`, which now has to be in a table that is empty. A constraint added
/// while `foreign_key_checks` is off does not check existing rows. So the last write is over before anything is copied.
/// Those statements commit by themselves; all the copies and the version are one transaction. If a step was cut off,
/// the next process repeats it, and no floe writes in between.
const FROM_2: &str = include_str!("from_2.sql");

/// How many records of an older floe a slow server moves in a second. A fast one moves ten times as many.
pub(crate) const MOVED_A_SECOND: u64 = 4_000;

/// The constraint exists: another process has come this far.
const CONSTRAINT_IS_THERE: u16 = 1826;

/// The settings that durability depends on. `SHOW` leaves out settings that a server does not have. A limit cuts its
/// answer short as well, and `DEFAULT` would be the server's own one.
const SETTINGS: &str = "
SET sql_select_limit = 18446744073709551615;
SHOW GLOBAL VARIABLES WHERE Variable_name IN ('version', 'read_only', 'super_read_only', 'log_bin', 'sync_binlog',
    'binlog_format', 'innodb_flush_log_at_trx_commit', 'innodb_doublewrite', 'wsrep_on');
SHOW GLOBAL STATUS WHERE Variable_name = 'Innodb_redo_log_enabled'
";

/// The existing tables of floe, with their engines, and columns that would treat two names as one.
const FIND: &str = "
SELECT TABLE_NAME, ENGINE FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE()
    AND TABLE_NAME IN ('floe_version', 'floe_record', 'floe_counting', 'floe_realm', 'floe_mark', 'floe_made', 'floe_definition');
SELECT CONCAT(TABLE_NAME, '.', COLUMN_NAME), COLLATION_NAME FROM information_schema.COLUMNS
    WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME IN ('floe_record', 'floe_counting')
    AND COLUMN_NAME IN ('key', 'record') AND COALESCE(COLLATION_NAME, '') <> 'utf8mb4_bin'
";

/// The columns of `SHOW REPLICA STATUS`, on both servers: the source of replication, and whether its two threads run.
const PRIMARY: usize = 1;
const THREADS: [usize; 2] = [10, 11];

/// MariaDB shows all channels by another statement, which has two more columns before these.
const ALL_OF_MARIADB: (&str, usize) = ("SHOW ALL REPLICAS STATUS", 2);
const ALL_OF_MYSQL: (&str, usize) = ("SHOW REPLICA STATUS", 0);

/// Its user may not run this statement, or it is MySQL before 8.0.22.
const NO_RIGHT: u16 = 1227;
const NO_SUCH_STATEMENT: u16 = 1064;

/// Refuses a server that is not fit to keep marks, sets up the session, and adds a remark for each unexpected finding.
pub(super) async fn check_server(
    link: &mut Link,
    settings: &Settings,
    remarks: &mut Vec<String>,
) -> Result<(), Trouble> {
    let answers = link.query(SETTINGS).await?;
    let rows = answers.iter().flat_map(|answer| &answer.rows);
    let found: HashMap<String, &str> =
        rows.filter_map(|row| Some((row.text(0)?.to_ascii_lowercase(), row.text(1)?))).collect();
    let value = |name: &str| found.get(name).copied().unwrap_or_default();
    check_version(settings, value("version"))?;
    check_writable(settings, |name| found.get(name).copied())?;
    let is_off = |name: &str| matches!(value(name), "OFF" | "0" | "DETECT_ONLY");
    let mut refuse = |finding: &str, what: &str, way_out: &str| {
        let_be(settings.reach.allows_unsafe, &settings.reach.shown, remarks, [finding, what, way_out])
    };

    let flush = value("innodb_flush_log_at_trx_commit");
    if !matches!(flush, "1" | "3") {
        refuse(
            &format!("has innodb_flush_log_at_trx_commit = {flush}"),
            "a crash takes back ranges that were handed out",
            "Set it to 1",
        )?;
    }
    let logs = matches!(value("log_bin"), "ON" | "1");
    if logs && value("sync_binlog") != "1" {
        refuse(
            &format!("has a binary log and sync_binlog = {}", value("sync_binlog")),
            "after a loss of power InnoDB rolls back what the binary log has lost, and with it ranges that were handed \
             out",
            "Set sync_binlog to 1",
        )?;
    }
    if is_off("innodb_doublewrite") {
        refuse(
            &format!("has innodb_doublewrite = {}", value("innodb_doublewrite")),
            "a crash in mid-write can leave a page that is neither old nor new, except on a file system that writes \
             whole pages",
            "Turn innodb_doublewrite on",
        )?;
    }
    if is_off("innodb_redo_log_enabled") {
        refuse(
            "has its redo log disabled",
            "a crash takes back ranges that were handed out, or the whole server",
            "ALTER INSTANCE ENABLE INNODB REDO_LOG",
        )?;
    }
    if logs && value("binlog_format") == "STATEMENT" {
        return Err(unfit(format!(
            "{} has binlog_format = STATEMENT, with which InnoDB takes no writes at READ COMMITTED: set it to ROW or MIXED",
            settings.reach.shown
        )));
    }
    let is_cluster = matches!(value("wsrep_on"), "ON" | "1");
    let all = if is_mariadb(value("version")) { ALL_OF_MARIADB } else { ALL_OF_MYSQL };
    check_replication(link, settings, all, remarks).await?;
    set_up(link, settings, is_cluster).await
}

/// The oldest versions that some distribution still maintains and that have `SHOW REPLICA STATUS`.
fn check_version(settings: &Settings, version: &str) -> Result<(), Trouble> {
    let mut numbers = version.split(['.', '-']).map_while(|part| part.parse::<u32>().ok());
    let found = (numbers.next().unwrap_or_default(), numbers.next().unwrap_or_default());
    let (server, oldest) = if is_mariadb(version) { ("MariaDB", (10, 5)) } else { ("MySQL", (8, 0)) };
    if found >= oldest {
        return Ok(());
    }
    Err(unfit(format!(
        "{} is {server} {version}, and floe needs {}.{} or newer: update the server",
        settings.reach.shown, oldest.0, oldest.1
    )))
}

fn is_mariadb(version: &str) -> bool {
    version.contains("MariaDB")
}

fn check_writable<'a>(
    settings: &Settings,
    value: impl Fn(&'a str) -> Option<&'a str>,
) -> Result<(), Trouble> {
    for setting in ["read_only", "super_read_only"] {
        if let Some(found) = value(setting).filter(|found| !matches!(*found, "OFF" | "0")) {
            return Err(LedgerError::Unavailable(format!(
                "{} has {setting} = {found}, as a replica does: name the primary, or turn it off if this is the one",
                settings.reach.shown
            ))
            .into());
        }
    }
    Ok(())
}

/// A replica that accepts writes gets them from two sides. A user without the right to look gets no remark either way.
async fn check_replication(
    link: &mut Link,
    settings: &Settings,
    (statement, shift): (&str, usize),
    remarks: &mut Vec<String>,
) -> Result<(), Trouble> {
    let status = match link.rows(statement).await {
        Err(Trouble::Store(error)) if matches!(error.code(), Some(NO_RIGHT | NO_SUCH_STATEMENT)) => {
            return Ok(());
        }
        status => status?,
    };
    // One row for each channel.
    let has_ended = |row: &&Row| THREADS.iter().all(|column| row.text(shift + column) == Some("No"));
    let Some(row) = status.rows.iter().find(|row| !has_ended(row)) else { return Ok(()) };
    let finding = [
        &format!("replicates from {}", row.text(shift + PRIMARY).unwrap_or("another server")),
        "writes there and writes here can hand out the same range",
        "Name the primary, or end the replication (RESET REPLICA ALL)",
    ];
    Ok(let_be(settings.reach.allows_unsafe, &settings.reach.shown, remarks, finding)?)
}

/// The client bounds each call. `innodb_lock_wait_timeout`, in whole seconds, ends a lock wait that an abandoned call
/// left behind. It is short, and the statement is sent again until the call's time is over: on an overloaded machine,
/// MariaDB may leave all waiters for a row asleep until that time is over, although the row is free.
async fn set_up(link: &mut Link, settings: &Settings, is_cluster: bool) -> Result<(), Trouble> {
    let wait = settings.reach.bounds.max_wait.as_secs().max(1);
    let current = if is_cluster { ", wsrep_sync_wait = 7" } else { "" };
    let sql = format!(
        "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED; SET SESSION TRANSACTION READ WRITE; \
         SET NAMES utf8mb4; \
         SET autocommit = 1, completion_type = 0, sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', \
         time_zone = '+00:00', innodb_lock_wait_timeout = 1, lock_wait_timeout = {wait}{current}"
    );
    link.query(&sql).await.map(drop)
}

/// Makes missing tables, and updates those of an older floe.
pub(super) async fn enter(link: &mut Link, settings: &Settings, opening: &Opening) -> Result<(), Trouble> {
    let (shown, wanted, remarks) = (&settings.reach.shown, Wanted::at_open(opening), &mut Vec::new());
    let mut version = find_version(link, settings, remarks).await?;
    if version.is_none() {
        if !wanted.may_make(shown, "the version in the table floe_version")? {
            return Err(opening.is_not_there(&[], shown).into());
        }
        link.query(TABLES).await?;
        version = find_version(link, settings, remarks).await?;
    }
    if let Some(older @ 1..VERSION) = version {
        opening.may_change("the tables", older, shown)?;
        check_former(link, settings, opening).await?;
        link.query(TABLES).await?;
        while let Err(trouble) = move_over(link).await {
            match trouble {
                Trouble::Store(error) if error.is_in_the_way() => drop(link.query("ROLLBACK").await?),
                trouble => return Err(trouble),
            }
        }
        version = find_version(link, settings, remarks).await?;
    }
    match version {
        Some(VERSION) => Ok(()),
        _ => Err(words::is_damaged(shown, &"no version in the table floe_version").into()),
    }
}

/// Refuses a move that would stop no older floe, would not end, or has another realm than the pinned one.
async fn check_former(link: &mut Link, settings: &Settings, opening: &Opening) -> Result<(), Trouble> {
    let (shown, max_wait) = (&settings.reach.shown, settings.reach.bounds.max_wait);
    let sql = format!(
        "SELECT @@GLOBAL.foreign_key_checks, (SELECT COUNT(*) FROM floe_mark) + (SELECT COUNT(*) FROM floe_definition), \
         (SELECT id FROM floe_realm WHERE realm = {})",
        statements::text(opening.realm())
    );
    let found = link.rows(&sql).await?;
    let column = |index| found.rows.first().and_then(|row| row.text(index));
    if let Some(id) = column(2) {
        opening.check_id(id, shown)?;
    }
    if column(0) != Some("1") {
        return Err(unfit(format!(
            "{shown} has foreign_key_checks = OFF for new sessions, so an older floe that still runs would reserve beside this one: SET \
             GLOBAL foreign_key_checks = ON, restart the older floes, and start this one again"
        )));
    }
    let records = column(1).and_then(|records| records.parse().ok()).unwrap_or(u64::MAX);
    let seconds = records.div_ceil(MOVED_A_SECOND);
    if Duration::from_secs(seconds) > max_wait.max(Duration::from_secs(1)) {
        return Err(unfit(format!(
            "{shown} has {records} records of an older floe, and moving them may take longer than max_wait \
             ({max_wait:?}). Then nothing would be moved, and no floe could reserve: for this one start, write \
             max_wait={seconds}s in the URL"
        )));
    }
    Ok(())
}

async fn move_over(link: &mut Link) -> Result<(), Trouble> {
    for statement in FROM_2.split_terminator(";\n") {
        match link.query(statement).await {
            Err(Trouble::Store(error)) if error.code() == Some(CONSTRAINT_IS_THERE) => {}
            outcome => drop(outcome?),
        }
    }
    Ok(())
}

/// Examines the existing tables. `None` if some are still missing; a newer version is refused.
pub(super) async fn find_version(
    link: &mut Link,
    settings: &Settings,
    remarks: &mut Vec<String>,
) -> Result<Option<i64>, Trouble> {
    let answers = link.query(FIND).await?;
    let [tables, columns] = answers.as_slice() else { return Ok(None) };
    let found = |answer: &Answer, wrong: fn(&str) -> bool| {
        let rows = answer.rows.iter().filter(|row| wrong(row.text(1).unwrap_or_default()));
        rows.map(|row| row.text(0).unwrap_or_default().to_owned()).collect::<Vec<_>>().join(", ")
    };
    let others = found(tables, |engine| !engine.eq_ignore_ascii_case("InnoDB"));
    if !others.is_empty() {
        let finding = format!("keeps {others} in another engine than InnoDB");
        let what = "it has no transactions, or does not survive a crash";
        let finding = [&*finding, what, "ALTER TABLE … ENGINE = InnoDB"];
        let_be(settings.reach.allows_unsafe, &settings.reach.shown, remarks, finding)?;
    }
    let loose = found(columns, |_| true);
    if !loose.is_empty() {
        return Err(unfit(format!(
            "{} has columns that take different names as equal ({loose}): make them CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, \
             as docs/ledgers.md has them",
            settings.reach.shown
        )));
    }
    if !tables.rows.iter().any(|row| row.text(0) == Some("floe_version")) {
        return Ok(None);
    }
    let version = link.rows("SELECT version FROM floe_version").await?;
    match version.rows.first().and_then(|row| row.text(0)?.parse().ok()) {
        Some(newer) if newer > VERSION => Err(words::is_newer(&settings.reach.shown, newer, VERSION).into()),
        version => Ok(version),
    }
}

fn unfit(text: String) -> Trouble {
    LedgerError::Unfit(text).into()
}
