//! Distinguishes a copy of a file from the original: by the machine, and by the file itself.
//!
//! A copied file has another inode or another time of birth, wherever the copy is. A disk that was cloned with its file
//! system has neither; only the machine's id shows it. The device number is not used: systems number their disks, and
//! containers their layers, again at each start.

use std::fmt;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::UNIX_EPOCH;

use floe::Owner;
use floe::ledger::LedgerError;

/// Facts about a file and its machine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Origin {
    inode: u64,
    /// In nanoseconds since 1970, if the file system keeps it.
    born: Option<u128>,
    /// If the system has one.
    machine: Option<String>,
}

impl Origin {
    pub(crate) fn of(file: &Path) -> Result<Self, LedgerError> {
        let metadata = fs::metadata(file).map_err(|error| {
            LedgerError::Unavailable(format!("{} cannot be looked at ({error}): try again", file.display()))
        })?;
        let born = metadata.created().ok().and_then(|born| born.duration_since(UNIX_EPOCH).ok());
        let machine = Owner::this_process("").machine;
        Ok(Self {
            inode: metadata.ino(),
            born: born.map(|born| born.as_nanos()),
            machine: (!machine.is_empty()).then_some(machine),
        })
    }

    /// The difference between this place and the one where `text` was written, if any. A fact that only one of them
    /// knows counts for nothing.
    pub(crate) fn differs_from(&self, text: &str) -> Option<String> {
        let here = self.to_string();
        let value = |text: &str, key: &str| {
            let word = text.split(' ').find_map(|word| word.strip_prefix(key)?.strip_prefix('='));
            word.map(ToOwned::to_owned)
        };
        let differs = |(key, shown): (&str, &str)| {
            let (then, now) = (value(text, key)?, value(&here, key)?);
            (then != now).then(|| format!("{shown} was {then} where it was made, and is {now} here"))
        };
        let parts = [
            ("machine", "the machine's id"),
            ("inode", "its file's inode"),
            ("born", "the birth of its file (ns since 1970)"),
        ];
        parts.into_iter().find_map(differs)
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "inode={}", self.inode)?;
        self.born.map_or(Ok(()), |born| write!(f, " born={born}"))?;
        self.machine.as_ref().map_or(Ok(()), |machine| write!(f, " machine={machine}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_differs_by_what_both_know() {
        let made = Origin { inode: 7, born: Some(5), machine: Some("a".to_owned()) };
        let text = made.to_string();
        assert_eq!(made.differs_from(&text), None);
        let other = |change: fn(&mut Origin)| {
            let mut other = made.clone();
            change(&mut other);
            other.differs_from(&text)
        };
        assert!(other(|place| place.inode = 8).is_some_and(|text| text.contains("inode was 7")));
        assert!(other(|place| place.born = Some(6)).is_some_and(|text| text.contains("birth")));
        assert!(
            other(|place| place.machine = Some("b".to_owned())).is_some_and(|text| text.contains("machine"))
        );
        assert_eq!(other(|place| (place.machine, place.born) = (None, None)), None);
        // A container without a machine's id has an inode all the same.
        assert!(other(|place| (place.machine, place.inode) = (None, 8)).is_some());
        assert!(other(|place| (place.machine, place.born) = (None, Some(6))).is_some());
    }
}
