//! Completions and man pages by those who read them: zsh, fish and mandoc.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use super::script;
use crate::process::run;

fn completions(shell: &str) -> String {
    let said = run(Command::new(env!("CARGO_BIN_EXE_floe")).args(["completions", shell]));
    said.lines().join("\n") + "\n"
}

/// All values with a name that `floe sim` has for a flag, as its help lists them.
fn values_of_sim(flag: &str) -> BTreeSet<String> {
    let help = run(Command::new(env!("CARGO_BIN_EXE_floe")).args(["sim", "--help"]));
    let lines = help.lines();
    let of = lines.iter().skip_while(|line| !line.trim().starts_with(flag)).skip(1);
    let of = of
        .take_while(|line| !line.trim().starts_with("--"))
        .filter_map(|line| line.trim().strip_prefix("- "));
    of.map(|value| value.split(':').next().unwrap().to_owned()).collect()
}

/// What each shell has to offer for a line, whole or among others, and what it must not.
fn cases() -> Vec<(&'static str, BTreeSet<String>)> {
    let set = |words: &str| words.split(' ').map(str::to_owned).collect::<BTreeSet<_>>();
    let models = values_of_sim("--model");
    assert!(models.contains("flickr") && models.len() > 10, "{models:?}");
    vec![
        (
            "floe ",
            set(
                "completions config form inspect layout ledger man marks mint names realm serve sim slots token",
            ),
        ),
        ("floe completions ", set("bash elvish fish powershell zsh")),
        ("floe marks ", set("list raise")),
        ("floe sim --model ", models),
        ("floe mint --kind ", floe::Kind::ALL.iter().map(ToString::to_string).collect()),
        ("floe mint --date ", set("yyyyMMdd yyyyMM yyyy yyMMdd yyMM yy")),
        ("floe serve --log-format ", set("text json")),
    ]
}

/// A folder with the completions for a shell, and two files that a path may be.
fn folder(shell: &str, file: &str) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join(file), completions(shell)).unwrap();
    for name in FILES {
        fs::write(dir.path().join(name), "").unwrap();
    }
    dir
}

const FILES: [&str; 2] = ["a-file", "a-second"];

/// Asks a shell for all that it offers for a line; it must not complain.
fn ask(shell: &mut Command, line: &str, dir: &TempDir) -> String {
    let said = run(shell.current_dir(dir.path()).env("HOME", dir.path()));
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""), "{line}: {said:#?}");
    said.out
}

/// What every shell has to offer, which says so in `text`, of which `words` are what it would write.
fn offers(text: impl Fn(&str) -> String, words: impl Fn(&str) -> BTreeSet<String>) {
    for (line, wanted) in cases() {
        assert_eq!(words(line), wanted, "{line}");
    }
    let flags = text("floe inspect --");
    for flag in ["--layout", "--name", "--explain", "--json", "--config"] {
        assert!(flags.contains(flag), "{flags}");
    }
    let layouts = text("floe mint --layout ");
    assert!(layouts.contains("sonyflake-v2") && layouts.contains("Twitter Snowflake of 2010"), "{layouts}");
    // A value that is a path is completed as one, and no other.
    let files = BTreeSet::from(FILES.map(str::to_owned));
    assert_eq!(words("floe serve --config a-"), files);
    assert!(words("floe serve --worker a-").is_disjoint(&files), "a worker id is no file");
}

#[test]
fn zsh_offers_commands_flags_and_values() {
    let dir = folder("zsh", "_floe");
    let text = |line: &str| {
        let mut zsh = Command::new("zsh");
        zsh.arg("-f").arg(script("offers.zsh")).arg(dir.path()).arg(line).env("TERM", "xterm");
        ask(&mut zsh, line, &dir)
    };
    offers(text, |line| {
        // The first word of a line with a description; all words of one without.
        let out = text(line);
        let lines = out.lines().skip(1).map(|line| line.split("  -- ").next().unwrap());
        lines.flat_map(str::split_whitespace).map(str::to_owned).collect()
    });
}

#[test]
fn fish_offers_commands_flags_and_values() {
    let dir = folder("fish", "floe.fish");
    let text = |line: &str| {
        let mut fish = Command::new("fish");
        fish.args(["--no-config", "-c", "source floe.fish; and complete -C$argv[1]", line]);
        fish.env("TERM", "dumb").env("XDG_CONFIG_HOME", dir.path());
        ask(&mut fish, line, &dir)
    };
    let words = |line: &str| -> BTreeSet<String> {
        text(line).lines().map(|line| line.split('\t').next().unwrap().to_owned()).collect()
    };
    offers(text, words);
    let flickr = text("floe sim --model flickr");
    assert!(flickr.contains("'Ticket Servers: Distributed Unique Primary Keys on the Cheap'"), "{flickr}");
    for line in ["floe serve --worker a-", "floe mint a-"] {
        assert_eq!(words(line), BTreeSet::new(), "{line}: no file");
    }
}

#[test]
fn bash_reads_its_completions() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("floe.bash"), completions("bash")).unwrap();
    let mut bash = Command::new("bash");
    let asks = "source ./floe.bash; COMP_WORDS=(floe completions ''); COMP_CWORD=2; _floe floe '' completions; \
                printf '%s\\n' \"${COMPREPLY[@]}\"";
    let said = run(bash.args(["--norc", "-c", asks]).current_dir(dir.path()));
    assert_eq!(said.err, "");
    assert!(said.lines().contains(&"zsh"), "{said:#?}");
}

#[test]
fn mandoc_finds_nothing_in_the_man_pages() {
    let dir = tempfile::tempdir().unwrap();
    let man = |arguments: &[&str], date: Option<&str>| {
        let mut floe = Command::new(env!("CARGO_BIN_EXE_floe"));
        floe.arg("man").args(arguments).env_remove("SOURCE_DATE_EPOCH");
        run(floe.envs(date.map(|date| ("SOURCE_DATE_EPOCH", date))))
    };
    man(&["--dir", &dir.path().display().to_string()], None).lines();
    let alone = man(&[], Some("1795305600"));
    assert!(alone.out.contains(".TH FLOE 1 2026-11-22 "), "{alone:#?}");
    fs::write(dir.path().join("alone.1"), &alone.out).unwrap();
    let mut pages: Vec<_> = fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
    pages.sort();
    let names: Vec<_> = pages.iter().filter_map(|page| page.file_name()?.to_str()).collect();
    assert!(
        names.contains(&"floe-marks-raise.1") && names.contains(&"floe.1") && names.len() > 20,
        "{names:?}"
    );
    let lint = run(Command::new("mandoc").args(["-T", "lint"]).args(&pages));
    assert_eq!((lint.code, lint.out.as_str(), lint.err.as_str()), (Some(0), "", ""));
    let shown =
        |page: &Path| run(Command::new("mandoc").args(["-T", "utf8", "-O", "width=200"]).arg(page)).out;
    let inspect = shown(&dir.path().join("floe-inspect.1"));
    assert!(
        inspect.contains("a UUID of any version") && inspect.contains("floe inspect 1541815603606036480"),
        "{inspect}"
    );
}
