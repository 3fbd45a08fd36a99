//! The data directory: the file, and a record that it existed.

use std::fs::{self, DirBuilder, File};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use floe::ledger::{LedgerError, Token};

use super::draft::{draft_path, flush_dir, link_into_place};
use super::file::WITNESS_SUFFIX;
use super::trouble::RAISE;
use super::{Builder, Sqlite};
use crate::OpenError;

/// The ledger's file in a data directory.
pub const DATABASE: &str = "floe.db";

/// The witness in a data directory: a line of text with the id of the ledger that lives there.
const WITNESS: &str = "realm";

/// The label before the id in the witness.
const LABEL: &str = "ledger ";

const EXPLANATION: &str = "\
The id of the ledger in floe.db, kept here so that floe notices when floe.db is lost or exchanged:
a fresh ledger would repeat IDs. Leave this file where it is.
";

impl Builder {
    /// The ledger of the data directory `dir`, which is made (for this user alone) if it is missing and its parent
    /// exists. It holds the ledger, `floe.db`, and its witness, `realm`.
    ///
    /// The ledger comes first and its witness second, and nothing is served before both are on disk. So whenever a
    /// first start crashes, the next start repairs the rest, and a ledger that was ever served has its witness.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let dir = dir.path().join("floe-data");
    /// use floe::LedgerError;
    /// use floe_ledger::{OpenError, Sqlite};
    ///
    /// // dir = "floe-data", which is not there yet
    /// drop(Sqlite::builder().in_dir(&dir)?);
    /// std::fs::remove_file(dir.join("floe.db"))?;
    /// let again = Sqlite::builder().in_dir(&dir);
    /// assert!(matches!(again, Err(OpenError::Ledger(LedgerError::Unfit(_))))); // the witness is still there
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Builder::at`]; and `Unfit` if the witness says that a ledger was here, and `floe.db` is missing,
    /// empty or another one.
    pub fn in_dir(&self, dir: impl AsRef<Path>) -> Result<Sqlite, OpenError> {
        let dir = dir.as_ref();
        crate::realm_name(self.opening.realm())?;
        if !self.opening.may_make() && !dir.exists() {
            return Err(self.opening.not_made(&format!("there is no directory {}", dir.display())).into());
        }
        make(dir)?;
        let (path, witness) = (dir.join(DATABASE), dir.join(WITNESS));
        // In this order: a witness is only written beside an existing ledger.
        let Some(witnessed) = read_witness(&witness)? else {
            let ledger = self.open(&path, true)?;
            if self.opening.only_looks() {
                return Ok(ledger);
            }
            return match write_witness(&witness, ledger.ledger_id())? {
                None => Ok(ledger),
                // Another process was first, and its ledger may have been exchanged since.
                Some(witnessed) => same(dir, &witnessed, ledger),
            };
        };
        match bytes(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => Err(lost(dir, &witnessed, "missing").into()),
            Ok(0) => Err(lost(dir, &witnessed, "empty").into()),
            _ => same(dir, &witnessed, self.open(&path, false)?),
        }
    }
}

/// Whether opening the ledger at `path` would make it: neither the ledger nor a witness of it exists. A lost ledger is
/// not made again.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("ids.db");
/// use floe_ledger::{Sqlite, sqlite};
///
/// // path = "ids.db"
/// assert!(sqlite::is_new(&path));
/// drop(Sqlite::open(&path)?);
/// std::fs::remove_file(&path)?;
/// assert!(!sqlite::is_new(&path)); // the witness is still there
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn is_new(path: &Path) -> bool {
    let mut beside = path.as_os_str().to_owned();
    beside.push(WITNESS_SUFFIX);
    let of_dir = path.file_name().is_some_and(|name| name == DATABASE).then(|| path.with_file_name(WITNESS));
    // What this user may not look at may be there.
    let is_missing = |path: &Path| path.try_exists().is_ok_and(|is_there| !is_there);
    is_missing(path) && is_missing(beside.as_ref()) && of_dir.is_none_or(|witness| is_missing(&witness))
}

fn same(dir: &Path, witnessed: &str, ledger: Sqlite) -> Result<Sqlite, OpenError> {
    if ledger.ledger_id() == witnessed {
        return Ok(ledger);
    }
    Err(lost(dir, witnessed, &format!("another one, {}", ledger.ledger_id())).into())
}

fn lost(dir: &Path, witnessed: &str, how: &str) -> LedgerError {
    let dir = dir.display();
    LedgerError::Unfit(format!(
        "{dir}/{WITNESS} says that the ledger {witnessed} lives in {dir}, but {dir}/{DATABASE} is {how}, and a fresh ledger would \
         repeat IDs: put {DATABASE} back (with its {DATABASE}-wal, if it has one), or restore the backup and {RAISE}; if no ID \
         of that ledger is in use anywhere, remove {DATABASE}, {DATABASE}{WITNESS_SUFFIX} and {WITNESS}, and floe makes a fresh ledger",
    ))
}

/// Makes a directory for this user alone, durably, unless it exists.
pub(crate) fn make(dir: &Path) -> Result<(), LedgerError> {
    let unfit = |what: &str, error: &io::Error| {
        LedgerError::Unfit(format!(
            "the directory {} cannot be {what} ({error}): look at the path, its parent and their permissions",
            dir.display()
        ))
    };
    match DirBuilder::new().mode(0o700).create(dir) {
        Ok(()) => {
            let absolute = std::path::absolute(dir).map_err(|error| unfit("found", &error))?;
            absolute.parent().map_or(Ok(()), flush_dir).map_err(|error| unfit("made durable", &error))
        }
        Err(error) if error.kind() == ErrorKind::AlreadyExists => match fs::metadata(dir) {
            Ok(metadata) if metadata.is_dir() => Ok(()),
            Ok(_) => Err(LedgerError::Unfit(format!(
                "{} is not a directory: give floe a directory for its data",
                dir.display()
            ))),
            Err(error) => Err(unfit("entered", &error)),
        },
        Err(error) => Err(unfit("made", &error)),
    }
}

/// How long the ledger's file is.
fn bytes(path: &Path) -> io::Result<u64> {
    #[cfg(test)]
    tests::before_a_look();
    fs::metadata(path).map(|metadata| metadata.len())
}

/// The id in the witness, or `None` if there is no witness.
fn read_witness(path: &Path) -> Result<Option<String>, LedgerError> {
    #[cfg(test)]
    tests::before_a_look();
    let shown = path.display();
    let text = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => {
            return Err(LedgerError::Unfit(format!(
                "{shown} cannot be read ({error}): it says which ledger lives here; look at its permissions"
            )));
        }
    };
    let id = std::str::from_utf8(&text).ok().and_then(|text| text.lines().next()?.strip_prefix(LABEL));
    match id.filter(|id| id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit())) {
        Some(id) => Ok(Some(id.to_owned())),
        None => Err(LedgerError::Unfit(format!(
            "{shown} does not say which ledger lives here: it was changed or damaged; if {DATABASE} beside it is known to be the \
             right one and up to date, remove {shown}, and floe writes it again"
        ))),
    }
}

/// Writes the witness. If one exists, returns its id.
fn write_witness(path: &Path, id: &str) -> Result<Option<String>, LedgerError> {
    let draft = draft_path(path, &Token::random()?.hex());
    let written = File::create_new(&draft).and_then(|mut file| {
        file.write_all(format!("{LABEL}{id}\n\n{EXPLANATION}").as_bytes())?;
        file.sync_all()
    });
    let linked = written.and_then(|()| link_into_place(&draft, path));
    match linked {
        Ok(true) => Ok(None),
        Ok(false) => read_witness(path),
        Err(error) => {
            drop(fs::remove_file(&draft));
            Err(LedgerError::Unfit(format!(
                "{} cannot be written ({error}): look at the permissions of its directory and the room on its file system",
                path.display()
            )))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::collections::VecDeque;
    use std::path::PathBuf;

    use tempfile::TempDir;

    use super::*;

    thread_local! {
        /// What another process does before each of this thread's next looks, and in which directory.
        static OTHER: RefCell<(PathBuf, VecDeque<Steps>)> = RefCell::default();
    }

    type Steps = Vec<fn(&Path)>;

    pub(super) fn before_a_look() {
        let (dir, steps) = OTHER.with_borrow_mut(|(dir, steps)| (dir.clone(), steps.pop_front()));
        steps.unwrap_or_default().into_iter().for_each(|step| step(&dir));
    }

    /// A link that leads nowhere may lead to a ledger when its volume is there again.
    #[test]
    fn what_cannot_be_looked_at_is_not_said_to_be_new() {
        let dir = TempDir::new().unwrap();
        let path = dir.path().join("ids.db");
        assert!(is_new(&path));
        std::os::unix::fs::symlink(&path, &path).unwrap();
        assert!(!is_new(&path));
    }

    #[test]
    fn who_comes_while_another_process_makes_the_ledger_and_its_witness_misses_neither() {
        let make_ledger = |dir: &Path| drop(Sqlite::builder().open(&dir.join(DATABASE), true).unwrap());
        let make_witness = |dir: &Path| {
            let ledger = Sqlite::builder().open(&dir.join(DATABASE), false).unwrap();
            assert_eq!(write_witness(&dir.join(WITNESS), ledger.ledger_id()), Ok(None));
        };
        let steps: [fn(&Path); 2] = [make_ledger, make_witness];
        for (first, second) in [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)] {
            let dir = TempDir::new().unwrap();
            let parts = [&steps[..first], &steps[first..second]].map(<[_]>::to_vec);
            OTHER.set((dir.path().to_owned(), parts.into()));
            let opened = Sqlite::builder().in_dir(dir.path()).map(|ledger| ledger.ledger_id().to_owned());
            OTHER.take();
            let witnessed = read_witness(&dir.path().join(WITNESS)).unwrap().unwrap();
            assert_eq!(opened, Ok(witnessed), "{first} {second}");
        }
    }
}
