//! Options that mean the same in the URL of every ledger.

use std::fs;
use std::path::Path;
use std::time::Duration;

use floe::ledger::LedgerError;

use crate::OpenError;

/// How long a call may take, unless the URL says otherwise.
pub(crate) const MAX_WAIT: Duration = Duration::from_secs(5);

/// How long connecting may take, with TLS and checks, unless the URL says otherwise.
pub(crate) const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);

/// Reads an environment variable.
pub(crate) type Environment<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The process's own environment.
pub(crate) fn environment(variable: &str) -> Option<String> {
    std::env::var(variable).ok()
}

/// `max_wait=5s`.
pub(crate) fn max_wait(key: &str, value: &str) -> Result<Duration, OpenError> {
    let bounds = Duration::from_millis(100)..=Duration::from_secs(3_600);
    let time = duration(value).filter(|time| bounds.contains(time));
    time.ok_or_else(|| takes(key, value, "a time such as 500ms or 10s, from 100ms to 1h"))
}

/// `connect_timeout=3`: in whole seconds, as in libpq.
pub(crate) fn connect_timeout(key: &str, value: &str) -> Result<Duration, OpenError> {
    let seconds = value.parse().ok().filter(|seconds| (1..=3_600).contains(seconds));
    seconds.map(Duration::from_secs).ok_or_else(|| takes(key, value, "whole seconds from 1 to 3600"))
}

/// `unsafe=allow`: whether to accept what may lose marks.
pub(crate) fn allows(key: &str, value: &str) -> Result<bool, OpenError> {
    match value {
        "allow" => Ok(true),
        "refuse" => Ok(false),
        _ => Err(takes(key, value, "allow or refuse")),
    }
}

/// Refuses a server with a `finding` that endangers marks, or returns a remark if the URL says `unsafe=allow`.
///
/// # Errors
/// `Unfit`, with the finding's effect and the way out.
pub(crate) fn let_be(
    allows_unsafe: bool,
    shown: &str,
    remarks: &mut Vec<String>,
    [finding, what, way_out]: [&str; 3],
) -> Result<(), LedgerError> {
    if allows_unsafe {
        remarks.push(format!("unsafe: it {finding}"));
        return Ok(());
    }
    Err(LedgerError::Unfit(format!(
        "{shown} {finding}: {what}. {way_out}, or accept the loss with unsafe=allow in the URL"
    )))
}

/// An option's value is wrong.
pub(crate) fn takes(key: &str, value: &str, expected: &str) -> OpenError {
    OpenError::Asked(format!("`{key}={value}`: the option takes {expected}"))
}

/// Users other than the owner of a file, as bits of its mode: all of them, or those outside its group.
pub(crate) const OTHERS: u32 = 0o077;
pub(crate) const STRANGERS: u32 = 0o007;

/// Whether these users may read or change a secret file.
#[cfg(unix)]
pub(crate) fn is_open_to(whom: u32, file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(file).is_ok_and(|found| found.permissions().mode() & whom != 0)
}

/// Whether these users may read or change a secret file: unknown on this system.
#[cfg(not(unix))]
pub(crate) fn is_open_to(_whom: u32, _file: &Path) -> bool {
    false
}

fn asked_of_file(file: &Path, what: &str) -> OpenError {
    OpenError::Asked(format!("the password file {} {what}", file.display()))
}

/// Checks that nobody but its owner may read or change a password file.
///
/// # Errors
/// `Asked` if others may.
pub(crate) fn check_private(file: &Path) -> Result<(), OpenError> {
    match is_open_to(OTHERS, file) {
        true => Err(asked_of_file(file, "can be read by others: chmod 600 it")),
        false => Ok(()),
    }
}

/// The password in a file: its first line.
///
/// # Errors
/// `Asked` if the file cannot be read, is empty, or other users can read it.
pub(crate) fn password_from(file: &Path) -> Result<String, OpenError> {
    let text = fs::read_to_string(file).map_err(|error| {
        asked_of_file(
            file,
            &format!("cannot be read ({error}): name a file with the password in its first line"),
        )
    })?;
    check_private(file)?;
    match text.lines().next() {
        Some(password) if !password.is_empty() => Ok(password.to_owned()),
        _ => Err(asked_of_file(file, "is empty: write the password into its first line")),
    }
}

/// A whole number of milliseconds, seconds, minutes or hours.
pub(crate) fn duration(text: &str) -> Option<Duration> {
    let (number, unit_ms) = [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000)]
        .into_iter()
        .find_map(|(unit, ms)| text.strip_suffix(unit).map(|number| (number, ms)))?;
    number.parse::<u64>().ok()?.checked_mul(unit_ms).map(Duration::from_millis)
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn the_first_line_of_a_password_file_is_the_password_and_is_not_empty() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("password");
        for (text, password) in [
            ("first\nsecond\n", Some("first")),
            ("first", Some("first")),
            ("", None),
            ("\n", None),
            ("\nsecond\n", None),
        ] {
            fs::write(&file, text).unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
            match (password_from(&file), password) {
                (Ok(found), Some(password)) => assert_eq!(found, password),
                (Err(OpenError::Asked(error)), None) => {
                    assert!(error.contains("is empty"), "{text:?}: {error}");
                }
                (found, _) => panic!("{text:?}: {found:?}"),
            }
        }
    }
}
