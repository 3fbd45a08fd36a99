//! A boundary is a forbidden dependency: what each crate of the workspace may use, held against Cargo's own
//! view of it; and that modules import each other in no circle, and those of `floe` in the order of ARCHITECTURE.md.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// Which crates of the workspace each one may use. One that is not listed fails the test: give it its line here.
const MAY_USE: &[(&str, &[&str])] = &[
    ("floe-id", &[]),
    ("floe", &["floe-id"]),
    ("floe-ledger", &["floe", TESTS]),
    ("floe-wire", &["floe"]),
    ("floe-sim", &["floe"]),
    ("floe-peers", &["floe", "floe-sim"]),
    ("floe-server", &["floe", "floe-ledger", "floe-wire"]),
    ("floe-cli", &["floe", "floe-ledger", "floe-peers", "floe-server", "floe-sim", TESTS]),
    ("floe-bench", &["floe", "floe-ledger", TESTS]),
    ("floe-instructions", &["floe", "floe-wire"]),
    (TESTS, &[]),
];

/// Real servers for tests and benchmarks; [`ledgers_know_no_server_and_no_wire`] holds it out of what is built.
const TESTS: &str = "floe-testbed";

/// What makes a runtime, a socket or a database client, and so has no place in the library.
const NOT_IN_THE_LIBRARY: &[&str] = &[
    "async-io",
    "async-std",
    "axum",
    "clap",
    "hyper",
    "libsqlite3-sys",
    "mio",
    "reqwest",
    "rusqlite",
    "rustls",
    "smol",
    "socket2",
    "tokio",
    "tracing",
    "ureq",
];

/// What belongs to the server and the command. A bucket is asked by a client of HTTP (hyper), and nothing answers one.
const NOT_IN_LEDGERS: &[&str] = &["axum", "clap", "reqwest", "tonic", "tracing-subscriber", "ureq"];

fn cargo(arguments: &[&str]) -> String {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(arguments).args([
        "--offline",
        "--manifest-path",
        concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"),
    ]);
    let output = command.output().expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("cargo writes UTF-8")
}

fn metadata() -> Value {
    serde_json::from_str(&cargo(&["metadata", "--no-deps", "--format-version", "1"]))
        .expect("cargo writes JSON")
}

/// What can be switched on in `package`.
pub(crate) fn features(package: &str) -> Vec<String> {
    let metadata = metadata();
    let mut packages = metadata["packages"].as_array().expect("packages").iter();
    let found = packages.find(|found| found["name"] == package).expect("the package");
    found["features"].as_object().expect("features").keys().cloned().collect()
}

/// Every crate of the workspace with those of the workspace that it names, for whatever purpose.
fn edges() -> BTreeMap<String, BTreeSet<String>> {
    let metadata = metadata();
    let packages = metadata["packages"].as_array().expect("packages");
    let name = |value: &Value| value["name"].as_str().expect("a name").to_owned();
    let members: BTreeSet<String> = packages.iter().map(name).collect();
    packages
        .iter()
        .map(|package| {
            let used = package["dependencies"].as_array().expect("dependencies").iter().map(name);
            (name(package), used.filter(|used| members.contains(used)).collect())
        })
        .collect()
}

/// All crates that end up in a build of `package` with every feature, without those of its tests.
fn tree(package: &str) -> BTreeSet<String> {
    tree_with(package, &["--all-features"])
}

fn tree_with(package: &str, features: &[&str]) -> BTreeSet<String> {
    let arguments = ["tree", "-p", package, "--edges", "normal,build", "--prefix", "none", "--format", "{p}"];
    let text = cargo(&[&arguments, features].concat());
    text.lines().filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
}

/// The numbers in a text.
fn numbers(text: &str) -> Vec<usize> {
    text.split(|c: char| !c.is_ascii_digit()).filter_map(|digits| digits.parse().ok()).collect()
}

/// docs/library.md says how many crates a feature adds, on Linux.
#[test]
fn a_feature_adds_as_many_crates_as_the_page_says() {
    let count = |package: &str, feature: &str| {
        let arguments =
            ["tree", "-p", package, "--no-default-features", "--features", feature, "--edges", "normal"];
        let text = cargo(&[&arguments, &["--no-dedupe", "--prefix", "none"][..]].concat());
        text.lines().collect::<BTreeSet<_>>().len()
    };
    let page =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/library.md")).unwrap();
    let (_, section) = page.split_once("## Features\n").expect("the section");
    let (_, table) = section.split_once("\n| crate |").expect("the table");
    let alone = [("floe", count("floe", "")), ("floe-ledger", count("floe-ledger", ""))];
    let said = section.lines().next().map(numbers).expect("the first line");
    assert_eq!(said, alone.map(|(_, crates)| crates));
    let (mut package, mut rows) = (alone[0], BTreeSet::new());
    for row in table.lines().skip(2).take_while(|line| line.starts_with('|')) {
        let [_, crates, features, _, counts, _] = row.split('|').collect::<Vec<_>>()[..] else {
            panic!("a row has four cells: {row}");
        };
        if crates.contains("floe-ledger") {
            package = alone[1];
        }
        let features: Vec<_> = features.split('`').skip(1).step_by(2).collect();
        let added: Vec<_> = features.iter().map(|feature| count(package.0, feature) - package.1).collect();
        let said = numbers(counts);
        let said = if said.len() == 1 { said.repeat(added.len()) } else { said };
        assert_eq!(said, added, "{row}");
        rows.extend(features);
    }
    assert!(rows.len() > 20, "{rows:?}");
    // Those that other features share are nobody's choice.
    let shared = ["default", "remote", "tls"];
    let wanted = features("floe-ledger").into_iter().filter(|feature| !shared.contains(&feature.as_str()));
    let missing: Vec<_> = wanted.filter(|feature| !rows.contains(feature.as_str())).collect();
    assert!(missing.is_empty(), "docs/library.md does not list {missing:?}");
}

#[test]
fn crates_use_only_what_their_boundary_allows() {
    let edges = edges();
    assert!(edges.len() >= 4, "the workspace has lost its crates: {edges:?}");
    for (package, used) in edges {
        let Some((_, allowed)) = MAY_USE.iter().find(|(name, _)| *name == package) else {
            panic!("{package} has no line in MAY_USE: decide what it may use");
        };
        let forbidden: Vec<_> = used.iter().filter(|used| !allowed.contains(&used.as_str())).collect();
        assert!(forbidden.is_empty(), "{package} must not use {forbidden:?}");
    }
}

#[test]
fn the_library_has_no_runtime_no_socket_and_no_sibling() {
    let tree = tree("floe");
    assert!(tree.contains("jiff"), "that is not the tree of the library: {tree:?}");
    // The traits of sqlx and of SeaORM come with `tracing`, and with nothing else of these. Nobody has them who has not got those.
    assert!(tree.contains("sqlx-core") && tree.contains("sea-orm"), "every feature is on: {tree:?}");
    let found: Vec<_> = tree.iter().filter(|name| NOT_IN_THE_LIBRARY.contains(&name.as_str())).collect();
    assert_eq!(found, ["tracing"], "floe must not depend on these");
    let with_tracing = |feature: &String| feature.starts_with("sqlx") || feature == "sea-orm";
    let others: Vec<_> = features("floe").into_iter().filter(|feature| !with_tracing(feature)).collect();
    assert!(others.iter().any(|feature| feature == "serde"), "those are not the features: {others:?}");
    let without = tree_with("floe", &["--features", &others.join(",")]);
    let found: Vec<_> = without.iter().filter(|name| NOT_IN_THE_LIBRARY.contains(&name.as_str())).collect();
    assert!(found.is_empty(), "floe must not depend on {found:?}");
    let siblings: Vec<_> = tree.iter().filter(|name| name.starts_with("floe-")).collect();
    assert_eq!(siblings, ["floe-id"], "floe must not depend on another crate of floe's");
}

/// Who adds `floe-id` to read and write IDs gets two crates with it, and no operating system.
#[test]
fn what_an_id_is_needs_next_to_nothing() {
    let run_time = |features: &[&str]| {
        let arguments =
            ["tree", "-p", "floe-id", "--edges", "normal,build", "--prefix", "none", "--format", "{p}"];
        let text = cargo(&[&arguments, features].concat());
        let names = text.lines().filter_map(|line| line.split_whitespace().next()).map(str::to_owned);
        names.collect::<BTreeSet<_>>()
    };
    for features in [&["--no-default-features"][..], &[]] {
        let found: Vec<_> = run_time(features).into_iter().collect();
        assert_eq!(found, ["floe-id", "jiff", "jiff-core"], "{features:?}");
    }
    let source = include_str!("../../../floe-id/src/lib.rs");
    assert!(source.contains("\n#![cfg_attr(not(test), no_std)]\n"), "floe-id needs no operating system");
}

#[test]
fn ledgers_know_no_server_and_no_wire() {
    let tree = tree("floe-ledger");
    assert!(tree.contains("floe"), "that is not the tree of the ledgers: {tree:?}");
    let found: Vec<_> = tree
        .iter()
        .filter(|name| {
            NOT_IN_LEDGERS.contains(&name.as_str())
                || (name.starts_with("floe-") && !["floe-id", "floe-ledger"].contains(&name.as_str()))
        })
        .collect();
    assert!(found.is_empty(), "floe-ledger must not depend on {found:?}");
}

/// What may be on in no build that ships: it breaks floe on purpose. The conformance suite ships, as `floe ledger check`.
const TEST_HOOKS: &[&str] = &["mutations"];

/// The crates of the workspace in a release build of the command, each with a feature that is on there.
fn features_that_ship() -> BTreeSet<(String, String)> {
    let text = cargo(&[
        "tree",
        "-p",
        "floe-cli",
        "--edges",
        "normal,build",
        "--prefix",
        "none",
        "--format",
        "{p}|{f}",
    ]);
    let mut found = BTreeSet::new();
    for line in text.lines() {
        let (package, features) =
            line.trim_end_matches(" (*)").split_once('|').expect("a crate and its features");
        let name = package.split_whitespace().next().expect("a name");
        if name == "floe" || name.starts_with("floe-") {
            let features = features.split(',').filter(|feature| !feature.is_empty());
            found.extend(features.map(|feature| (name.to_owned(), feature.to_owned())));
        }
    }
    found
}

#[test]
fn what_ships_has_no_test_hook() {
    let on = features_that_ship();
    assert!(
        on.contains(&("floe-ledger".to_owned(), "redis".to_owned())),
        "those are not the features: {on:?}"
    );
    let hooks: Vec<_> = on.iter().filter(|(_, feature)| TEST_HOOKS.contains(&feature.as_str())).collect();
    assert!(hooks.is_empty(), "a release build of floe has {hooks:?} on");
    // A hook that was given another name would not be found.
    for hook in TEST_HOOKS {
        assert!(features("floe").iter().any(|feature| feature == hook), "floe has no feature {hook}");
    }
}

/// What made a first build long, and what does the same in a fraction of the time.
const LEFT_OUT: &[(&str, &str)] = &[
    ("icu_provider", "idna_adapter 1.1: cargo update -p idna_adapter --precise 1.1.0"),
    ("matchers", "tracing_subscriber::filter::Targets"),
    ("protox", "crates/floe-server/src/fronts/grpc/generated"),
    ("x509-parser", "x509-cert"),
];

#[test]
fn a_first_build_is_without_what_made_it_long() {
    let tree = tree("floe-cli");
    assert!(tree.contains("idna_adapter"), "that is not the tree of the binary: {tree:?}");
    let found: Vec<_> = LEFT_OUT.iter().filter(|(name, _)| tree.contains(*name)).collect();
    assert!(found.is_empty(), "these have better ones beside them: {found:?}");
}

/// The paths in a file that begin at its crate (`crate`) or at its module (`self`, `super`).
fn paths(text: &str) -> Vec<Vec<String>> {
    let mut lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    let mut code = String::new();
    while let Some(line) = lines.next() {
        // Tests may import what they like. Those that stand in the file are its end, and others are one line.
        if line.trim_start() != "#[cfg(test)]" {
            code.extend([line, "\n"]);
        } else if lines.find(|line| !line.starts_with("#[")).is_some_and(|item| item.ends_with('{')) {
            break;
        }
    }
    let mut found = Vec::new();
    for root in ["crate::", "self::", "super::"] {
        for (at, _) in code.match_indices(root) {
            let before = code[..at].chars().next_back();
            if before.is_none_or(|c| !c.is_alphanumeric() && !":$_".contains(c)) {
                read_path(&code[at..], &[], &mut found);
            }
        }
    }
    found
}

/// Reads the path at the front of a text, below another path. A list in braces is many. Returns the rest.
fn read_path<'t>(text: &'t str, below: &[String], found: &mut Vec<Vec<String>>) -> &'t str {
    if let Some(mut list) = text.strip_prefix('{') {
        loop {
            list = read_path(list.trim_start(), below, found);
            match list.find([',', '}']).map(|at| list.split_at(at)) {
                Some((_, rest)) if rest.starts_with(',') => list = &rest[1..],
                Some((_, rest)) => return &rest[1..],
                None => return "",
            }
        }
    }
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    let path = [below, &[text[..end].to_owned()]].concat();
    match text[end..].strip_prefix("::") {
        Some(rest) => read_path(rest, &path, found),
        None => {
            found.push(path);
            &text[end..]
        }
    }
}

type Graph = BTreeMap<String, BTreeSet<String>>;

/// What the modules of each folder of a crate import of each other; the crate's own folder is "".
fn modules(src: &Path) -> BTreeMap<String, Graph> {
    fn files(dir: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(dir).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() { files(&path, found) } else { found.push(path) }
        }
    }
    let (mut all, mut texts) = (Vec::new(), BTreeMap::new());
    files(src, &mut all);
    for file in all.iter().filter(|file| file.extension().is_some_and(|extension| extension == "rs")) {
        let inside = file.strip_prefix(src).expect("a file of the crate").with_extension("");
        let module: Vec<_> = inside.iter().map(|part| part.to_string_lossy().into_owned()).collect();
        if !module.iter().any(|part| ["tests", "models", "lib", "main"].contains(&part.as_str())) {
            texts.insert(module, std::fs::read_to_string(file).expect("text"));
        }
    }
    let mut found: BTreeMap<String, Graph> = BTreeMap::new();
    for (module, text) in &texts {
        let (name, folder) = module.split_last().expect("a name");
        found.entry(folder.join("/")).or_default().entry(name.clone()).or_default();
        for path in paths(text) {
            let is_root = |part: &&String| ["crate", "self", "super"].contains(&part.as_str());
            let roots = path.iter().take_while(is_root).count();
            let up = path[..roots].iter().filter(|part| *part == "super").count();
            let base = if path[0] == "crate" { 0 } else { module.len().saturating_sub(up) };
            let target = [&module[..base], &path[roots..]].concat();
            // Where the two ways part, both modules are in one folder.
            let shared = module.iter().zip(&target).take_while(|(one, other)| one == other).count();
            if let (Some(one), Some(other)) = (module.get(shared), target.get(shared))
                && texts.contains_key(&target[..=shared])
            {
                let graph = found.entry(module[..shared].join("/")).or_default();
                graph.entry(one.clone()).or_default().insert(other.clone());
            }
        }
    }
    found
}

/// The modules that reach each other, each such circle once.
fn circles(graph: &Graph) -> BTreeSet<Vec<String>> {
    let reached = |from: &String| {
        let (mut seen, mut next) = (BTreeSet::new(), vec![from.clone()]);
        while let Some(module) = next.pop() {
            next.extend(graph[&module].iter().filter(|other| seen.insert((*other).clone())).cloned());
        }
        seen
    };
    let reach: BTreeMap<_, _> = graph.keys().map(|module| (module, reached(module))).collect();
    let in_circle = graph.keys().filter(|module| reach[module].contains(*module));
    in_circle
        .map(|module| {
            graph.keys().filter(|other| reach[module].contains(*other) && reach[other].contains(module))
        })
        .map(|circle| circle.cloned().collect())
        .collect()
}

/// The circles that stay: the folder and its modules.
const CIRCLES: &[(&str, &[&str])] = &[
    // A row has the rules of its kind, and what these rules make and read is a definition, which names its kind.
    ("floe/definition", &["ledgerless", "row"]),
];

#[test]
fn modules_do_not_import_each_other_in_a_circle() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the folder of all crates");
    let mut found = BTreeSet::new();
    let mut looked_at = 0;
    for entry in std::fs::read_dir(crates).expect("the crates") {
        let entry = entry.expect("a crate");
        for (folder, graph) in modules(&entry.path().join("src")) {
            looked_at += graph.values().map(BTreeSet::len).sum::<usize>();
            let folder = format!("{}/{folder}", entry.file_name().to_string_lossy());
            found.extend(circles(&graph).into_iter().map(|circle| (folder.clone(), circle)));
        }
    }
    assert!(looked_at > 600, "only {looked_at} imports were found");
    let known = |(folder, circle): &(&str, &[&str])| {
        ((*folder).to_owned(), circle.iter().map(|&module| module.to_owned()).collect())
    };
    let known: BTreeSet<(String, Vec<String>)> = CIRCLES.iter().map(known).collect();
    assert_eq!(
        found, known,
        "these modules import each other in a circle, and those that are known to; move what two of them need to one that neither looks back from"
    );
}

/// ARCHITECTURE.md has the modules of `floe` in an order.
#[test]
fn modules_of_floe_import_only_what_stands_above_them() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = std::fs::read_to_string(root.join("ARCHITECTURE.md")).expect("the page");
    let (_, table) = page.split_once("| line | holds | modules |\n").expect("the table");
    let rows = table.lines().skip(1).take_while(|line| line.starts_with('|'));
    let lines = rows.enumerate().flat_map(|(at, row)| {
        let modules = row.rsplit('|').nth(1).expect("a cell of modules");
        modules.split('`').skip(1).step_by(2).map(move |module| (module, at))
    });
    let lines: BTreeMap<_, _> = lines.collect();
    let graph = modules(&root.join("crates/floe/src")).remove("").expect("the modules of the crate");
    assert!(graph.keys().eq(lines.keys()), "the table has {:?}, the crate {:?}", lines.keys(), graph.keys());
    for (module, used) in &graph {
        let below: Vec<_> =
            used.iter().filter(|&other| lines[other.as_str()] > lines[module.as_str()]).collect();
        assert!(below.is_empty(), "{module} must not import {below:?}: they stand below it");
    }
}

#[test]
fn a_circle_of_modules_is_seen() {
    let graph = |edges: &[(&str, &str)]| {
        let mut graph = Graph::new();
        for (from, to) in edges {
            graph.entry((*from).to_owned()).or_default().insert((*to).to_owned());
            graph.entry((*to).to_owned()).or_default();
        }
        graph
    };
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    assert!(circles(&graph(&[("a", "b"), ("b", "c"), ("a", "c")])).is_empty());
    assert_eq!(
        circles(&graph(&[("a", "b"), ("b", "c"), ("c", "a"), ("c", "d")])),
        BTreeSet::from([names(&["a", "b", "c"])])
    );
    let text = "use crate::{a::B, c::{d as e, self}, f};\nuse super::super::g;\nfn h() { crate::i::j() }\n// crate::k\nuse other::crate_::l;\n#[cfg(test)]\nuse crate::m;\nuse self::n;\n#[cfg(test)]\nmod tests {\nuse crate::o;";
    let found: Vec<_> = paths(text).into_iter().map(|path| path.join("::")).collect();
    assert_eq!(
        found,
        [
            "crate::a::B",
            "crate::c::d",
            "crate::c::self",
            "crate::f",
            "crate::i::j",
            "self::n",
            "super::super::g"
        ]
    );
}
