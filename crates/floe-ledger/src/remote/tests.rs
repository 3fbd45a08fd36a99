//! Holds what each store reads in its URLs.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use floe::ledger::LedgerError;

use crate::OpenError;
use crate::options::Environment;

/// What is shown of a URL, and everything else that a store reads in it.
pub(crate) type Told = (String, String);

/// Compares what a store reads with its file of URLs. A line is `VARIABLE=value URL => what is read`, or `=> refused`.
/// `{file}` is a file that holds a password, `{open}` one that others can read. `GENERATED=overwrite` writes the lines
/// again. No error and nothing that is shown has a part of a password: those are made of `s3c` and `r3t`.
#[track_caller]
pub(crate) fn golden(store: &str, read: impl Fn(&str, Environment<'_>) -> Result<Told, OpenError>) {
    let dir = tempfile::tempdir().unwrap();
    let [file, open] = [("file", 0o600), ("open", 0o644)].map(|(name, mode)| {
        let file = dir.path().join(name);
        fs::write(&file, "s3c from a file\nanother line\n").unwrap();
        set_mode(&file, mode);
        file.display().to_string()
    });
    // The folder's random name may have such a part as well.
    let tells = |text: &str| tells(&text.replace(&*dir.path().to_string_lossy(), ""));
    let list = Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(store).join("urls.txt");
    let expected = fs::read_to_string(&list).unwrap();
    let mut found = String::new();
    for line in expected.lines() {
        let written = line.split(" => ").next().unwrap();
        let asked = written.replace("{file}", &file).replace("{open}", &open);
        let mut words = asked.split(' ');
        let url = words.next_back().unwrap();
        let environment: HashMap<_, _> = words.filter_map(|word| word.split_once('=')).collect();
        let told = match read(url, &|name| environment.get(name).map(|value| (*value).to_owned())) {
            Ok((shown, _)) if tells(&shown) => format!("TOLD {shown}"),
            Ok((shown, rest)) => format!("{shown} {rest}"),
            Err(error) if tells(&error.to_string()) => format!("TOLD {error}"),
            Err(_) => "refused".to_owned(),
        };
        found.push_str(&format!("{written} => {told}\n"));
    }
    let told: Vec<_> = found.lines().filter(|line| line.contains("=> TOLD")).collect();
    assert!(told.is_empty(), "a part of a password is shown: {told:#?}");
    if std::env::var("GENERATED").is_ok_and(|how| how == "overwrite") {
        fs::write(&list, &found).unwrap();
    }
    for (expected, found) in expected.lines().zip(found.lines()) {
        assert_eq!(found, expected);
    }
}

/// Whose fault an error is: the caller's who opens a ledger, the store's for good, or the store's for now.
pub(crate) fn kind(error: &OpenError) -> &'static str {
    match error {
        OpenError::Asked(_) => "asked",
        OpenError::Ledger(LedgerError::Unfit(_)) => "unfit",
        OpenError::Ledger(LedgerError::Unavailable(_)) => "unavailable",
        other => panic!("{other:?}"),
    }
}

/// Whether a text has a part of a password.
fn tells(text: &str) -> bool {
    text.contains("s3c") || text.contains("r3t")
}

#[cfg(unix)]
fn set_mode(file: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(file, fs::Permissions::from_mode(mode)).unwrap();
}

#[cfg(not(unix))]
fn set_mode(_file: &Path, _mode: u32) {}
