//! `floe ledger check` on a store that holds, and where there is none.

use crate::process::floe;

#[test]
fn a_store_that_holds_every_rule_is_said_to() {
    let dir = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", dir.path().join("ids.db").display());
    let output = floe(["ledger", "check", &url]).output().unwrap();
    let (said, failed) =
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert!(output.status.success(), "{said}{failed}");
    assert!(said.contains("ids.db, in scratch realms *check-"), "{said}");
    let held = said.lines().filter(|line| line.starts_with("ok      ")).count();
    assert!(held > 30, "{said}");
    assert!(
        said.contains("a reservation takes ") && said.ends_with(&format!("{held} cases, all held\n")),
        "{said}"
    );
}

#[test]
fn a_store_that_cannot_be_opened_is_told_before_any_case() {
    for (url, words) in [
        ("memory:", "there is nothing to check"),
        ("redis://127.0.0.1:1?max_wait=200ms", "127.0.0.1:1"),
        ("ftp://a", "is not the URL of a ledger"),
    ] {
        let output = floe(["ledger", "check", url, "--json"]).output().unwrap();
        let failed = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && output.stdout.is_empty(), "{url}");
        assert!(failed.starts_with("error: ") && failed.contains(words), "{url}: {failed}");
    }
}
