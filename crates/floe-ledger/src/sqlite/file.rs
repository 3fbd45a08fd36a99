//! The file under the ledger: where it is, whether it stays the same one, and on which file system it is.

use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use floe::ledger::LedgerError;
use rusqlite::ErrorCode;

use super::draft::draft_path;
use super::trouble::{self, RAISE, Trouble, damaged};
use crate::OpenError;

/// The suffix of the witness (`witness.rs`), which is added to the ledger's path.
pub(super) const WITNESS_SUFFIX: &str = "-witness";

/// A ledger is at least as long as its first page.
const SHORTEST: u64 = 512;

/// The file that a path leads to. While a process has a file open, as SQLite does, no other file gets its inode.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Identity {
    device: u64,
    inode: u64,
}

impl Identity {
    pub(super) fn of(metadata: &fs::Metadata) -> Self {
        Self { device: metadata.dev(), inode: metadata.ino() }
    }
}

/// The place of a ledger, existing or new.
#[derive(Clone, Debug)]
pub(super) struct Place {
    /// As the user wrote it, for texts.
    shown: String,
    /// Absolute, so that a later change of the working directory does not matter.
    path: PathBuf,
    /// With all symbolic links resolved: SQLite puts its `-wal` and `-shm` beside this file.
    real: PathBuf,
}

impl Place {
    pub(super) fn new(given: &Path) -> Result<Self, OpenError> {
        let shown = given.display().to_string();
        let absolute = std::path::absolute(given);
        let path = absolute.map_err(|error| OpenError::Asked(format!("`{shown}` is not a path: {error}")))?;
        let unfit = |text| OpenError::Ledger(LedgerError::Unfit(text));
        let (Some(dir), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(unfit(format!("{shown} is a directory: a ledger is a file, such as {shown}/ids.db")));
        };
        let real = match fs::canonicalize(&path) {
            Ok(real) => real,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                // Another process may have made the file since.
                if fs::symlink_metadata(&path).is_ok_and(|found| found.is_symlink()) {
                    return Err(unfit(format!(
                        "{shown} is a symbolic link that leads nowhere: a ledger that was there is gone, or not \
                         mounted; repair the link or remove it"
                    )));
                }
                let dir = fs::canonicalize(dir).map_err(|error| {
                    unfit(format!(
                        "the directory of {shown} cannot be entered ({error}): create it, or mount it, first"
                    ))
                })?;
                dir.join(name)
            }
            Err(error) => {
                return Err(unfit(format!(
                    "{shown} cannot be reached ({error}): look at the path and its permissions"
                )));
            }
        };
        if real.is_dir() {
            return Err(unfit(format!("{shown} is a directory: a ledger is a file, such as {shown}/ids.db")));
        }
        Ok(Self { shown, path, real })
    }

    pub(super) fn shown(&self) -> &str {
        &self.shown
    }

    pub(super) fn real(&self) -> &Path {
        &self.real
    }

    /// The path of one of SQLite's files beside the ledger.
    pub(super) fn beside(&self, suffix: &str) -> PathBuf {
        let mut name = self.real.as_os_str().to_owned();
        name.push(suffix);
        name.into()
    }

    /// One look at the ledger, or at a file beside it. Other processes make and remove these files between two looks.
    fn look(&self, suffix: &str) -> io::Result<fs::Metadata> {
        #[cfg(test)]
        tests::before_a_look();
        fs::metadata(self.beside(suffix))
    }

    pub(super) fn dir(&self) -> &Path {
        self.real.parent().unwrap_or(Path::new("/"))
    }

    /// Whether a ledger may be made here: there is none, and no remains of one. An existing one has to be complete.
    pub(super) fn is_vacant(&self) -> Result<bool, LedgerError> {
        // In this order: a WAL is only made beside an existing ledger.
        let remains =
            ["-wal", "-journal", WITNESS_SUFFIX].into_iter().find(|suffix| self.look(suffix).is_ok());
        match (self.look(""), remains) {
            (Err(error), None) if error.kind() == ErrorKind::NotFound => Ok(true),
            (Err(error), Some(suffix)) if error.kind() == ErrorKind::NotFound => {
                Err(LedgerError::Unfit(format!(
                    "{shown} is gone, and its {shown}{suffix} is still there: somebody has removed or moved a ledger that was \
                 in use, and a fresh one would repeat its IDs; put it back beside that file, or restore the backup and \
                 {RAISE}; if no ID of it is in use anywhere, remove {shown}{suffix} too",
                    shown = self.shown,
                )))
            }
            _ => Ok(false),
        }
    }

    /// Refuses a ledger without its WAL. SQLite makes the WAL before the shared memory and deletes it after, so the shared memory
    /// never stands alone. Checked in this order, so that a process that opens or closes meanwhile does not look like a loss.
    pub(super) fn refuse_lost_wal(&self) -> Result<(), LedgerError> {
        let is_there = |suffix| self.look(suffix).is_ok();
        if is_there("-wal") || !is_there("-shm") || is_there("-wal") {
            return Ok(());
        }
        Err(LedgerError::Unfit(format!(
            "{shown}-shm is there, and {shown}-wal is gone: somebody has removed it after a crash, and with it the last ranges; put \
             it back; or remove {shown}-shm and {shown}{WITNESS_SUFFIX}, and {RAISE}",
            shown = self.shown,
        )))
    }

    /// The file that the path leads to now.
    pub(super) fn identity(&self) -> Result<Identity, LedgerError> {
        let metadata = fs::metadata(&self.path).map_err(|error| self.lost(&self.shown, &error))?;
        if !metadata.is_file() {
            return Err(LedgerError::Unfit(format!(
                "{} is not a regular file: a ledger is one; give floe another path",
                self.shown
            )));
        }
        if metadata.len() < SHORTEST {
            return Err(LedgerError::Unfit(format!(
                "{shown} is not a ledger, it holds {len} bytes: it was cut off, or made by hand; restore the backup and {RAISE}; if \
                 no ID of it is in use anywhere, remove it, and floe makes a fresh one",
                shown = self.shown,
                len = metadata.len(),
            )));
        }
        Ok(Identity::of(&metadata))
    }

    /// Refuses a file that has a second name: under each of them SQLite has a WAL of its own. If a first start was
    /// killed, the name under which it made the file may be left; it is deleted.
    pub(super) fn refuse_second_name(&self) -> Result<(), LedgerError> {
        let metadata = || fs::metadata(&self.real).map_err(|error| self.lost(&self.shown, &error));
        let found = metadata()?;
        if found.nlink() < 2 {
            return Ok(());
        }
        let own = draft_path(&self.real, "");
        let own = own.file_name().unwrap_or_default().as_encoded_bytes();
        for entry in fs::read_dir(self.dir()).into_iter().flatten().flatten() {
            let is_draft = entry.file_name().as_encoded_bytes().starts_with(own);
            if is_draft && entry.metadata().is_ok_and(|other| Identity::of(&other) == Identity::of(&found)) {
                // Another process may be deleting it too.
                drop(fs::remove_file(entry.path()));
            }
        }
        if metadata()?.nlink() < 2 {
            return Ok(());
        }
        Err(LedgerError::Unfit(format!(
            "{shown} has a second name (a hard link, as by cp -l or ln): a process that opens it there has its own \
             WAL, and hands out the same ranges; find the other one (find / -xdev -samefile {shown}), and remove it",
            shown = self.shown,
        )))
    }

    /// Begins to watch the file and SQLite's files beside it.
    pub(super) fn watch(self, identity: Identity) -> Result<Watch, LedgerError> {
        let beside = |suffix: &str| {
            let path = self.beside(suffix);
            let metadata =
                fs::metadata(&path).map_err(|error| self.lost(&path.display().to_string(), &error))?;
            Ok((path, Identity::of(&metadata)))
        };
        let (wal, shm) = (beside("-wal")?, beside("-shm")?);
        Ok(Watch { place: self, identity, beside: [wal, shm] })
    }

    fn lost(&self, what: &str, error: &io::Error) -> LedgerError {
        let cause = match error.kind() {
            ErrorKind::NotFound => "was removed or moved".to_owned(),
            _ => format!("cannot be looked at any more ({error})"),
        };
        LedgerError::Unfit(format!(
            "{what} {cause}: other processes would not see new writes; stop every floe that uses {shown}, put the file \
             back, or restore the backup and {RAISE}",
            shown = self.shown,
        ))
    }

    /// The file holds less than was written to it.
    pub(super) fn was_put_back(&self) -> LedgerError {
        let shown = self.shown();
        LedgerError::Unfit(format!(
            "{shown} was put back: it holds less than was written to it, as after a backup was copied over it, or after {shown}-wal \
             was removed, cut off or damaged. What was reserved since would be reserved again: stop every floe that uses {shown}; \
             put back the last {shown} with its {shown}-wal, if you have them; if not, move {shown}-wal, {shown}-shm and \
             {shown}{WITNESS_SUFFIX} away, restore the backup and {RAISE}; then start again"
        ))
    }

    pub(super) fn was_replaced(&self) -> LedgerError {
        self.other_file(&self.shown)
    }

    fn other_file(&self, what: &str) -> LedgerError {
        LedgerError::Unfit(format!(
            "{what} was replaced: the file at its path is not the one that was opened; stop every floe that uses \
             {shown}, and find out which file is the right one; if it is a backup, {RAISE}; then start again",
            shown = self.shown,
        ))
    }

    /// Refuses a file or a directory that this user may not write, before SQLite tries. If SQLite fails half way, it
    /// leaves a `-wal` and a `-shm` as read-only as the file, and they remain after the file is repaired.
    pub(super) fn refuse_read_only(&self) -> Result<(), LedgerError> {
        use rustix::fs::{Access, access};

        for suffix in ["", "-wal", "-shm"] {
            match access(self.beside(suffix), Access::READ_OK | Access::WRITE_OK) {
                Ok(()) => (),
                // The last process that closes the ledger deletes these two.
                Err(rustix::io::Errno::NOENT) if !suffix.is_empty() => (),
                Err(denied) => {
                    return Err(LedgerError::Unfit(format!(
                        "{shown}{suffix} is read-only for this user ({denied}): a ledger is written before any ID is minted; give \
                         this user the right to read and write it (`ls -l`, `id`), and check whether its file system \
                         is mounted read-only",
                        shown = self.shown,
                    )));
                }
            }
        }
        self.refuse_read_only_dir()
    }

    fn refuse_read_only_dir(&self) -> Result<(), LedgerError> {
        use rustix::fs::{Access, access};

        let shown = &self.shown;
        access(self.dir(), Access::WRITE_OK | Access::EXEC_OK).map_err(|denied| {
            LedgerError::Unfit(format!(
                "the directory of {shown} is read-only for this user ({denied}): SQLite keeps {shown}-wal there; give this user \
                 the right to write the directory (`ls -ld`, `id`), and check whether its file system is mounted read-only"
            ))
        })
    }

    /// Why a file cannot be opened for writing, or made.
    pub(super) fn not_writable(&self, error: &dyn std::fmt::Display) -> LedgerError {
        let shown = &self.shown;
        let checked = if self.real.exists() { self.refuse_read_only() } else { self.refuse_read_only_dir() };
        checked.err().unwrap_or_else(|| {
            LedgerError::Unfit(format!(
                "{shown} cannot be opened for writing ({error}): look at the file, its directory and its file system"
            ))
        })
    }

    /// An error while the file is opened. If a person has to repair it, it is `Unfit`, because no later try will help.
    pub(super) fn at_open(&self, error: &rusqlite::Error) -> LedgerError {
        let shown = &self.shown;
        match error.sqlite_error_code() {
            Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
                self.not_writable(error)
            }
            Some(ErrorCode::NotADatabase) => LedgerError::Unfit(format!(
                "{shown} is not a ledger (SQLite: {error}): if it was one, it is damaged; restore it from the backup and \
                 {RAISE}; if it never was, give floe another path"
            )),
            _ => trouble::at_work(shown, Duration::ZERO, Trouble::from(trouble::sql(error))),
        }
    }

    /// Whether the file system may belong to several machines. Such a file system may renumber its files.
    pub(super) fn is_on_network(&self) -> bool {
        network_filesystem(self.dir()).is_some()
    }

    /// Refuses file systems that do not keep SQLite's locks between machines. `way_out` is of the file that is shown.
    pub(super) fn refuse_network_filesystem(&self, way_out: fn(&str) -> String) -> Result<(), LedgerError> {
        match network_filesystem(self.dir()) {
            None => Ok(()),
            Some(kind) => Err(LedgerError::Unfit(format!(
                "{shown} is on {kind}, which does not keep SQLite's locks between machines, so that IDs could repeat: {out}",
                shown = self.shown,
                out = way_out(&self.shown),
            ))),
        }
    }
}

#[cfg(target_os = "linux")]
fn network_filesystem(dir: &Path) -> Option<&'static str> {
    #[cfg(test)]
    if tests::is_of_another_machine(dir) {
        return Some("NFS");
    }
    let stat = rustix::fs::statfs(dir).ok()?;
    // The field's type differs between architectures; the numbers have 32 bits.
    kind_of(i128::from(stat.f_type) & 0xffff_ffff)
}

#[cfg(not(target_os = "linux"))]
fn network_filesystem(_: &Path) -> Option<&'static str> {
    None
}

/// The network file systems among the magic numbers of statfs(2), and FUSE, which may be one and does not say so.
#[cfg(any(target_os = "linux", test))]
fn kind_of(magic: i128) -> Option<&'static str> {
    Some(match magic {
        0x6969 => "NFS",
        0x517b => "SMB",
        0xff53_4d42 => "CIFS",
        0xfe53_4d42 => "SMB2",
        0x0102_1997 => "9p",
        0x6573_5546 => "FUSE (which may be a network file system)",
        0x5346_414f | 0x6b41_4653 => "AFS",
        0x7375_7245 => "Coda",
        0x564c => "NCP",
        0x00c3_6400 => "Ceph",
        0x0116_1970 => "GFS2",
        0x7461_636f => "OCFS2",
        0x0bd0_0bd0 => "Lustre",
        _ => return None,
    })
}

/// The files of an open ledger, as they were at its opening.
#[derive(Debug)]
pub(super) struct Watch {
    place: Place,
    identity: Identity,
    /// The WAL holds the last ranges, and the locks are on the shared memory: without either, two processes would each
    /// continue alone.
    beside: [(PathBuf, Identity); 2],
}

impl Watch {
    pub(super) fn place(&self) -> &Place {
        &self.place
    }

    pub(super) fn shown(&self) -> &str {
        self.place.shown()
    }

    /// Whether every path still leads to the file that was opened.
    pub(super) fn check(&self) -> Result<(), LedgerError> {
        if self.place.identity()? != self.identity {
            return Err(self.place.was_replaced());
        }
        for (path, identity) in &self.beside {
            match fs::metadata(path) {
                Ok(metadata) if Identity::of(&metadata) == *identity => (),
                Ok(_) => return Err(self.place.other_file(&path.display().to_string())),
                Err(error) => return Err(self.place.lost(&path.display().to_string(), &error)),
            }
        }
        Ok(())
    }

    /// The file holds less than was written to it.
    pub(super) fn was_put_back(&self) -> LedgerError {
        self.place.was_put_back()
    }

    /// The file is the same, but its content is not.
    pub(super) fn content_was_replaced(&self) -> LedgerError {
        damaged(self.shown(), &"the id of its realm is not the one that was there when it was opened")
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::collections::VecDeque;

    use tempfile::TempDir;

    use super::*;

    thread_local! {
        /// What other processes do before each of this thread's next looks: the suffixes of the files that they make
        /// (`true`) or remove, and where.
        static OTHERS: RefCell<(PathBuf, VecDeque<Steps>)> = RefCell::default();
        /// The directory that is on NFS, for this thread.
        #[cfg(target_os = "linux")]
        static ON_NFS: RefCell<Option<PathBuf>> = const { RefCell::new(None) };
    }

    #[cfg(target_os = "linux")]
    pub(super) fn is_of_another_machine(dir: &Path) -> bool {
        ON_NFS.with_borrow(|on_nfs| on_nfs.as_deref() == Some(dir))
    }

    type Steps = Vec<(&'static str, bool)>;

    pub(super) fn before_a_look() {
        OTHERS.with_borrow_mut(|(path, steps)| {
            for (suffix, makes) in steps.pop_front().unwrap_or_default() {
                let file = format!("{}{suffix}", path.display());
                if makes { fs::write(file, "") } else { fs::remove_file(file) }.unwrap();
            }
        });
    }

    /// The place of a ledger with these files, and with others who take these steps: the first so many of them before
    /// the first look, and so on.
    fn among(files: &[&str], steps: &Steps, cuts: [usize; 3]) -> (TempDir, Place) {
        let dir = TempDir::new().unwrap();
        let place = Place::new(&dir.path().join("ids.db")).unwrap();
        for suffix in files {
            fs::write(place.beside(suffix), "").unwrap();
        }
        let mut begin = 0;
        let parts = cuts.map(|cut| steps[std::mem::replace(&mut begin, cut)..cut].to_vec());
        OTHERS.set((place.real().to_owned(), parts.into()));
        (dir, place)
    }

    /// Every way in which so many steps come before the first, the second and the third look.
    fn cuts(steps: usize) -> impl Iterator<Item = [usize; 3]> {
        (0..=steps).flat_map(move |a| (a..=steps).flat_map(move |b| (b..=steps).map(move |c| [a, b, c])))
    }

    /// Each file system counts its inodes by itself.
    #[cfg(target_os = "linux")]
    #[test]
    fn files_of_two_disks_are_two_whatever_their_inodes() {
        let [one, other] = ["/proc", "/sys"].map(|root| fs::metadata(root).unwrap());
        assert_eq!(one.ino(), other.ino());
        assert_ne!(Identity::of(&one), Identity::of(&other));
    }

    #[test]
    fn who_comes_while_another_process_makes_the_ledger_or_opens_or_closes_it_sees_no_loss() {
        let made = vec![("", true), ("-wal", true), ("-shm", true)];
        for cuts in cuts(made.len()) {
            let (_dir, place) = among(&[], &made, cuts);
            assert!(place.is_vacant().is_ok(), "{cuts:?}");
        }
        let opened = vec![("-wal", true), ("-shm", true)];
        let closed = vec![("-shm", false), ("-wal", false)];
        let reopened = [closed.clone(), opened.clone()].concat();
        for (files, steps) in
            [(&[""][..], opened), (&["", "-wal", "-shm"], closed), (&["", "-wal", "-shm"], reopened)]
        {
            for cuts in cuts(steps.len()) {
                let (_dir, place) = among(files, &steps, cuts);
                assert_eq!(place.refuse_lost_wal(), Ok(()), "{steps:?} {cuts:?}");
            }
        }
    }

    #[test]
    fn network_file_systems_are_told_by_their_numbers() {
        // Numbers from statfs(2).
        for (magic, kind) in [
            (0x6969, "NFS"),
            (0x517b, "SMB"),
            (0xff53_4d42, "CIFS"),
            (0xfe53_4d42, "SMB2"),
            (0x0102_1997, "9p"),
            (0x6573_5546, "FUSE (which may be a network file system)"),
            (0x5346_414f, "AFS"),
            (0x6b41_4653, "AFS"),
            (0x7375_7245, "Coda"),
            (0x564c, "NCP"),
            (0x00c3_6400, "Ceph"),
            (0x0116_1970, "GFS2"),
            (0x7461_636f, "OCFS2"),
            (0x0bd0_0bd0, "Lustre"),
        ] {
            assert_eq!(kind_of(magic), Some(kind), "{magic:x}");
        }
        for local in [0xef53, 0x9123_683e, 0x5846_5342, 0x0102_1994, 0x794c_7630, 0x2fc1_2fc1, 0xf2f5_2010] {
            assert_eq!(kind_of(local), None, "{local:x}");
        }
    }

    /// Such a file system may renumber its files, so another inode shows no copy there.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_file_on_a_network_file_system_is_refused_unless_it_is_a_ledger_and_that_is_allowed() {
        use super::super::Sqlite;

        let dir = TempDir::new().unwrap();
        let on_nfs = fs::canonicalize(dir.path()).unwrap();
        ON_NFS.set(Some(on_nfs.clone()));
        let refused = |opened: Result<(), OpenError>, way_out: &str| match opened {
            Err(OpenError::Ledger(LedgerError::Unfit(text))) => {
                assert!(text.contains("is on NFS") && text.contains(way_out), "{text}");
                assert_eq!(fs::read_dir(&on_nfs).unwrap().count(), 0, "a file was made");
            }
            other => panic!("{other:?}"),
        };
        let path = on_nfs.join("ids.db");
        refused(Sqlite::builder().at(&path).map(drop), "network_filesystem=allow");
        #[cfg(feature = "cache")]
        {
            let cache = crate::Cache::builder(&on_nfs)
                .before_ledger("behind:", || Ok(Box::new(floe::ledger::Memory::default())));
            refused(cache.map(drop), "a cache is of one machine");
        }
        let allowed = || Sqlite::builder().network_filesystem(true).at(&path).map(drop);
        assert_eq!(allowed(), Ok(()));
        let inode = || fs::metadata(&path).unwrap().ino();
        let before = inode();
        // Made beside the first one, which has its inode meanwhile.
        fs::copy(&path, on_nfs.join("copy.db")).unwrap();
        fs::rename(on_nfs.join("copy.db"), &path).unwrap();
        assert_ne!(inode(), before);
        assert_eq!(allowed(), Ok(()));
    }

    /// SQLite puts its files beside the one that the link leads to.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_link_is_as_local_as_the_file_that_it_leads_to() {
        let dirs = [(); 2].map(|()| TempDir::new().unwrap());
        let [local, on_nfs] = dirs.each_ref().map(|dir| fs::canonicalize(dir.path()).unwrap());
        ON_NFS.set(Some(on_nfs.clone()));
        for (link, file, is_refused) in [(&local, &on_nfs, true), (&on_nfs, &local, false)] {
            fs::write(file.join("ids.db"), "").unwrap();
            std::os::unix::fs::symlink(file.join("ids.db"), link.join("link.db")).unwrap();
            let place = Place::new(&link.join("link.db")).unwrap();
            let checked = place.refuse_network_filesystem(|shown| format!("move {shown}"));
            assert_eq!(checked.is_err(), is_refused, "{checked:?}");
            assert_eq!(place.is_on_network(), is_refused);
        }
    }
}
