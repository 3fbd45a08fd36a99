//! Files that are made whole under another name, and then linked into place.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// The name under which a file is made before it is linked into place.
pub(super) fn draft_path(path: &Path, id: &str) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".new-{id}"));
    path.with_file_name(name)
}

/// Gives a complete file its name, durably, unless the name is taken. Returns whether it did.
pub(super) fn link_into_place(draft: &Path, path: &Path) -> io::Result<bool> {
    let linked = match fs::hard_link(draft, path) {
        Ok(()) => true,
        Err(error) if error.kind() == ErrorKind::AlreadyExists => false,
        Err(error) => return Err(error),
    };
    remove_draft(draft)?;
    flush_dir(path.parent().unwrap_or(Path::new("/")))?;
    Ok(linked)
}

/// Whoever finds the draft as a second name of the file removes it too (`Place::refuse_second_name`).
pub(super) fn remove_draft(draft: &Path) -> io::Result<()> {
    match fs::remove_file(draft) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// Makes the names in a directory durable.
pub(super) fn flush_dir(dir: &Path) -> io::Result<()> {
    #[cfg(test)]
    tests::FLUSHED.with_borrow_mut(|flushed| flushed.push(dir.to_owned()));
    File::open(dir)?.sync_all()
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use tempfile::TempDir;

    use super::*;

    thread_local! {
        /// The directories that this thread has flushed.
        pub(super) static FLUSHED: RefCell<Vec<PathBuf>> = RefCell::default();
    }

    /// The one that was first may have been killed, or not have come so far yet. The other relies on its file, which
    /// would be gone after a loss of power.
    #[test]
    fn of_two_that_give_a_name_both_flush_it() {
        let dir = TempDir::new().unwrap();
        for is_first in [true, false] {
            let draft = draft_path(&dir.path().join("ids.db"), "0");
            fs::write(&draft, "a ledger").unwrap();
            FLUSHED.take();
            assert_eq!(link_into_place(&draft, &dir.path().join("ids.db")).unwrap(), is_first);
            assert_eq!(FLUSHED.take(), [dir.path()]);
        }
    }
}
