//! What the libraries offer stands in a file of each, so that a review sees what a change takes from users or gives them.
//! `PUBLIC_API=overwrite` writes the files anew.

use std::collections::{BTreeSet, HashSet};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use public_api::PublicItem;

use crate::boundaries::features;

/// Every item that a program can name, one a line.
fn items(package: &str) -> String {
    let temporary = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let target = temporary.parent().unwrap();
    // Rust has rustdoc's JSON for the nightly compiler alone, unless it is told this. The compiler is not told: it would compile
    // every crate once more.
    let rustdoc = tempfile::Builder::new()
        .permissions(fs::Permissions::from_mode(0o700))
        .tempfile_in(temporary)
        .unwrap();
    let rustdoc = rustdoc.into_temp_path();
    fs::write(&rustdoc, "#!/bin/sh\nRUSTC_BOOTSTRAP=1 exec rustdoc \"$@\"\n").unwrap();
    // All but what breaks floe on purpose.
    let features =
        features(package).into_iter().filter(|feature| feature != "mutations").collect::<Vec<_>>().join(",");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.env("RUSTDOC", &rustdoc).env("CARGO_TARGET_DIR", target);
    command.args([
        "rustdoc",
        "--quiet",
        "--locked",
        "--offline",
        "--lib",
        "-p",
        package,
        "--features",
        &features,
    ]);
    command.args(["--manifest-path", concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.toml")]);
    command.args(["--", "-Z", "unstable-options", "--output-format", "json"]);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));

    let json = target.join("doc").join(package.replace('-', "_")).with_extension("json");
    let api =
        public_api::Builder::from_rustdoc_json(json).omit_blanket_impls(true).omit_auto_trait_impls(true);
    let api = api.build().unwrap_or_else(|error| {
        panic!(
            "the crate public-api cannot read what this version of rustdoc writes ({error}): take its version for this one \
             (cargo update -p public-api), or leave this out with scripts/test --skip-api"
        )
    });
    // That a type has a trait says which functions it has.
    let items: Vec<_> = api.items().map(|item| (item, item.to_string())).collect();
    let is_of_trait = |text: &str| text.starts_with("impl") && text.contains(" for ");
    let traits: HashSet<_> =
        items.iter().filter(|(_, text)| is_of_trait(text)).map(|(item, _)| item.id()).collect();
    let is_said = |item: &PublicItem, text: &str| {
        let function =
            ["pub fn ", "pub async fn ", "pub const fn "].iter().any(|begin| text.starts_with(begin));
        let of_trait = item.parent_id().is_some_and(|parent| traits.contains(&parent));
        function && of_trait || text.contains("core::marker::StructuralPartialEq")
    };
    let kept = items.iter().filter(|(item, text)| !is_said(item, text));
    kept.map(|(_, text)| format!("{text}\n")).collect()
}

#[test]
fn what_the_libraries_offer_stands_in_a_file() {
    let overwrite = std::env::var_os("PUBLIC_API").is_some_and(|value| value == "overwrite");
    let mut changes = String::new();
    for package in ["floe-id", "floe", "floe-ledger"] {
        let file = format!("crates/{package}/public-api.txt");
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(&file);
        let now = items(package);
        assert!(now.lines().count() > 100, "{package} offers next to nothing:\n{now}");
        if overwrite {
            fs::write(path, now).unwrap();
            continue;
        }
        let before = fs::read_to_string(path).unwrap();
        let (was, is) = (before.lines().collect::<BTreeSet<_>>(), now.lines().collect::<BTreeSet<_>>());
        changes.extend(was.difference(&is).map(|line| format!("{file}: -{line}\n")));
        changes.extend(is.difference(&was).map(|line| format!("{file}: +{line}\n")));
    }
    assert!(
        changes.is_empty(),
        "the libraries offer something else than their files say:\n{changes}If that is meant, accept it with\n    \
         PUBLIC_API=overwrite cargo test -p floe-cli --all-features --test it public_api\n\
         and commit the files. A line with a - is taken from users: tell them in CHANGELOG.md"
    );
}
