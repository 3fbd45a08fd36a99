//! What the libraries offer stands in a file of each, so that a review sees what a change takes from users or gives them.
//! `PUBLIC_API=overwrite` writes the files anew. What takes an argument has an example.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;

use public_api::{PublicApi, PublicItem};
use serde_json::Value;

use crate::boundaries::features;

/// The libraries, read once for all tests.
static LIBRARIES: LazyLock<Vec<Library>> =
    LazyLock::new(|| ["floe-id", "floe", "floe-ledger"].map(Library::read).into());

/// A library as rustdoc describes it.
struct Library {
    package: &'static str,
    api: PublicApi,
    /// rustdoc's JSON.
    json: Value,
}

/// The public functions that take an argument and have no example, each with the reason.
const WITHOUT_EXAMPLE: &[(&str, &str)] = &[
    (
        "floe::ledger::Ledger::at_hand",
        "only a ledger in front of another one has an answer, and only a node asks",
    ),
    (
        "floe::ledger::Ledger::in_other_realms",
        "only a server asks, to say for which realm a new name may have been meant",
    ),
    ("floe::store::Counting::take", ATOMIC),
    ("floe::store::Counting::put_ahead", ATOMIC),
    ("floe::store::Counting::skip", ATOMIC),
];
const ATOMIC: &str =
    "an adapter implements it as one atomic step of its store, and nothing but floe calls it";

impl Library {
    fn read(package: &'static str) -> Self {
        let temporary = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let target = temporary.parent().unwrap();
        // With cargo nextest each test is a process of its own. Two must not write and read one file of JSON at a time.
        let turn = File::create(temporary.join("rustdoc.lock")).unwrap();
        turn.lock().unwrap();
        // Rust has rustdoc's JSON for the nightly compiler alone, unless it is told this. The compiler is not told: it would
        // compile every crate once more.
        let rustdoc = tempfile::Builder::new()
            .permissions(fs::Permissions::from_mode(0o700))
            .tempfile_in(temporary)
            .unwrap();
        let rustdoc = rustdoc.into_temp_path();
        fs::write(&rustdoc, "#!/bin/sh\nRUSTC_BOOTSTRAP=1 exec rustdoc \"$@\"\n").unwrap();
        // All but what breaks floe on purpose.
        let features = features(package)
            .into_iter()
            .filter(|feature| feature != "mutations")
            .collect::<Vec<_>>()
            .join(",");
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
        let text = fs::read(&json).unwrap();
        let api = public_api::Builder::from_rustdoc_json(json);
        let api = api.omit_blanket_impls(true).omit_auto_trait_impls(true).build().unwrap_or_else(|error| {
            panic!(
                "the crate public-api cannot read what this version of rustdoc writes ({error}): take its version for this one \
                 (cargo update -p public-api), or leave this out with scripts/test --skip-api"
            )
        });
        Self { package, api, json: serde_json::from_slice(&text).unwrap() }
    }

    /// Every item that a program can name.
    fn items(&self) -> impl Iterator<Item = (&PublicItem, String)> {
        // That a type has a trait says which functions it has.
        let items: Vec<_> = self.api.items().map(|item| (item, item.to_string())).collect();
        let is_of_trait = |text: &str| text.starts_with("impl") && text.contains(" for ");
        let traits: HashSet<_> =
            items.iter().filter(|(_, text)| is_of_trait(text)).map(|(item, _)| item.id()).collect();
        let is_said = move |item: &PublicItem, text: &str| {
            let function =
                ["pub fn ", "pub async fn ", "pub const fn "].iter().any(|begin| text.starts_with(begin));
            let of_trait = item.parent_id().is_some_and(|parent| traits.contains(&parent));
            function && of_trait || text.contains("core::marker::StructuralPartialEq")
        };
        items.into_iter().filter(move |(item, text)| !is_said(item, text))
    }

    /// The functions that take an argument beside `self`, each by the first of its paths.
    fn functions(&self) -> BTreeMap<String, &Value> {
        let mut seen = HashSet::new();
        let mut found = BTreeMap::new();
        for (item, text) in self.items() {
            let described = &self.json["index"][item.id().0.to_string()];
            let Some(inputs) = described["inner"]["function"]["sig"]["inputs"].as_array() else { continue };
            if inputs.iter().any(|input| input[0] != "self") && seen.insert(item.id()) {
                found.insert(path_of(&text), described);
            }
        }
        found
    }

    /// Whether an item has an example, or names another one of this library that has: "[`X`] has an example".
    fn has_example(&self, item: &Value) -> bool {
        let docs = item["docs"].as_str().unwrap_or_default();
        if runs_something(docs) {
            return true;
        }
        let text = docs.split_whitespace().collect::<Vec<_>>().join(" ");
        let Some((before, _)) = text.split_once(" has an example") else { return false };
        let sentence = before.rsplit(". ").next().unwrap_or(before);
        let is_named =
            |link: &str| sentence.contains(&format!("[{link}]")) || sentence.contains(&format!("({link})"));
        let links = item["links"].as_object().into_iter().flatten().filter(|(link, _)| is_named(link));
        let mut linked = links.map(|(_, id)| &self.json["index"][id.to_string()]["docs"]);
        linked.any(|docs| docs.as_str().is_some_and(runs_something))
    }
}

/// The path of a function, without its generics.
fn path_of(text: &str) -> String {
    let signature = text.split_once("fn ").map_or(text, |(_, signature)| signature);
    let (mut path, mut depth, mut last) = (String::new(), 0, ' ');
    for character in signature.chars() {
        match character {
            '<' => depth += 1,
            '>' if last != '-' => depth -= 1,
            '(' if depth == 0 => break,
            _ if depth == 0 => path.push(character),
            _ => (),
        }
        last = character;
    }
    path
}

/// Whether documentation has a block of Rust that at least compiles as a test.
fn runs_something(docs: &str) -> bool {
    let fences = docs.lines().filter_map(|line| line.trim_start().strip_prefix("```"));
    fences.step_by(2).any(|language| matches!(language, "" | "no_run" | "should_panic"))
}

#[test]
fn what_the_libraries_offer_stands_in_a_file() {
    let overwrite = std::env::var_os("PUBLIC_API").is_some_and(|value| value == "overwrite");
    let mut changes = String::new();
    for library in &*LIBRARIES {
        let package = library.package;
        let file = format!("crates/{package}/public-api.txt");
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(&file);
        let now: String = library.items().map(|(_, text)| format!("{text}\n")).collect();
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

#[test]
fn what_takes_an_argument_has_an_example() {
    let mut excepted: BTreeSet<&str> = WITHOUT_EXAMPLE.iter().map(|(path, _)| *path).collect();
    let (mut count, mut without) = (0, String::new());
    for library in &*LIBRARIES {
        let functions = library.functions();
        assert!(functions.len() > 40, "{} has next to no functions: {:?}", library.package, functions.keys());
        count += functions.len();
        for (path, item) in functions {
            if !library.has_example(item) && !excepted.remove(path.as_str()) {
                without += &format!("{path}\n");
            }
        }
    }
    assert!(
        without.is_empty(),
        "{} of {count} public functions that take an argument have no example:\n{without}Write one of a few lines, or link to \
         one with \"[`X`] has an example.\" Where neither helps a reader, give the reason in WITHOUT_EXAMPLE",
        without.lines().count()
    );
    assert!(
        excepted.is_empty(),
        "these have an example, or are gone: take them out of WITHOUT_EXAMPLE: {excepted:?}"
    );
}
