//! A program links one SQLite, so this crate and every other that brings it have to agree on `libsqlite3-sys`. Cargo
//! finds a version of rusqlite that does, as long as the range in `Cargo.toml` is wide enough.
//!
//! The applications in `examples/applications` that use these crates are a workspace of their own for the same reason.
//!
//! These tests use the registry, and most compile SQLite: `scripts/test --skip-crates` leaves them out.

use std::io::{self, Seek};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use std::{env, fs, thread};

#[cfg(unix)]
mod applications;

/// A crate that links SQLite, as programs depend on it.
struct Neighbour {
    dependency: &'static str,
    /// Opens a database with it, beside a ledger.
    open: &'static str,
}

/// sqlx and SeaORM in their current and former versions, which most programs have; the range begins at the former ones.
const SQLX: Neighbour = Neighbour {
    dependency: r#"sqlx = { version = "0.9", default-features = false, features = ["sqlite"] }"#,
    open: "let _ = sqlx::SqlitePool::connect_lazy(\"sqlite:app.db\");",
};
const SQLX_0_8: Neighbour = Neighbour {
    dependency: r#"sqlx = { version = "0.8", default-features = false, features = ["sqlite"] }"#,
    open: "let _ = sqlx::SqlitePool::connect_lazy(\"sqlite:app.db\");",
};
const DIESEL: Neighbour = Neighbour {
    dependency: r#"diesel = { version = "2.3", default-features = false, features = ["sqlite"] }"#,
    open: "let _ = <diesel::SqliteConnection as diesel::Connection>::establish(\"app.db\");",
};
const SEA_ORM: Neighbour = Neighbour {
    dependency: r#"sea-orm = { version = "2", features = ["sqlx-sqlite", "runtime-tokio"] }"#,
    open: "drop(sea_orm::Database::connect(\"sqlite:app.db\"));",
};
const SEA_ORM_1: Neighbour = Neighbour {
    dependency: r#"sea-orm = { version = "1.1", features = ["sqlx-sqlite", "runtime-tokio"] }"#,
    open: "drop(sea_orm::Database::connect(\"sqlite:app.db\"));",
};

/// A registry that does not answer, or a build that hangs, fails the test.
const MOST: Duration = Duration::from_secs(900);
const LOOK: Duration = Duration::from_millis(20);

/// A program in `dir` with a ledger in SQLite beside `neighbour`.
fn program(dir: &Path, neighbour: &Neighbour) {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let main = format!(
        "fn main() {{\n    let floe = floe::Floe::open(floe_ledger::Sqlite::open(\"ids.db\").unwrap()).unwrap();\n    \
         println!(\"{{}}\", floe.segment(\"orders\").unwrap().mint().unwrap());\n    {}\n}}\n",
        neighbour.open
    );
    let manifest = format!(
        "[package]\nname = \"program\"\nedition = \"2024\"\n[workspace]\n[dependencies]\n\
         floe = {{ path = {:?} }}\nfloe-ledger = {{ path = {:?} }}\n{}\n",
        crates.join("floe"),
        crates.join("floe-ledger"),
        neighbour.dependency,
    );
    fs::create_dir_all(dir.join("src")).unwrap();
    fs::write(dir.join("Cargo.toml"), manifest).unwrap();
    fs::write(dir.join("src/main.rs"), main).unwrap();
}

/// Runs cargo there. Returns its output if it failed.
fn cargo(dir: &Path, target: &Path, arguments: &[&str]) -> Result<(), String> {
    let mut said = tempfile::tempfile().unwrap();
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments).current_dir(dir).env("CARGO_TARGET_DIR", target).env("CARGO_TERM_COLOR", "never");
    // Nobody looks into these programs: symbols would only take time.
    command.env("CARGO_PROFILE_DEV_DEBUG", "0");
    // Users' code must compile without warnings.
    command.env("RUSTFLAGS", "-D warnings").env_remove("CARGO_ENCODED_RUSTFLAGS");
    command.stdin(Stdio::null()).stdout(said.try_clone().unwrap()).stderr(said.try_clone().unwrap());
    let mut cargo: Child = command.spawn().unwrap();
    for _ in 0..MOST.as_millis() / LOOK.as_millis() {
        match cargo.try_wait().unwrap() {
            Some(status) if status.success() => return Ok(()),
            Some(_) => {
                said.rewind().unwrap();
                return Err(io::read_to_string(said).unwrap());
            }
            None => thread::park_timeout(LOOK),
        }
    }
    cargo.kill().unwrap();
    cargo.wait().unwrap();
    Err(format!("cargo {arguments:?} takes longer than {MOST:?}"))
}

/// The folder of the program with its `Cargo.lock`, which has one `libsqlite3-sys`.
fn resolved(neighbour: &Neighbour) -> (tempfile::TempDir, String) {
    let dir = tempfile::tempdir().unwrap();
    program(dir.path(), neighbour);
    let target = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    if let Err(said) = cargo(dir.path(), &target, &["generate-lockfile"]) {
        panic!("no program can have floe-ledger and {}: {said}", neighbour.dependency);
    }
    let lock = fs::read_to_string(dir.path().join("Cargo.lock")).unwrap();
    let version = |name: &str| -> Vec<String> {
        let packages =
            lock.split("[[package]]").filter(|package| package.contains(&format!("name = \"{name}\"\n")));
        packages.filter_map(|package| package.split('"').nth(3).map(str::to_owned)).collect()
    };
    assert_eq!(version("libsqlite3-sys").len(), 1, "{}: {lock}", neighbour.dependency);
    let [rusqlite] = &version("rusqlite")[..] else { panic!("{}: {lock}", neighbour.dependency) };
    let rusqlite = rusqlite.clone();
    (dir, rusqlite)
}

#[test]
fn sqlx_diesel_and_sea_orm_find_a_version_of_sqlite_that_floe_has_too() {
    for neighbour in [SQLX, SQLX_0_8, DIESEL, SEA_ORM, SEA_ORM_1] {
        let (_, rusqlite) = resolved(&neighbour);
        assert!(rusqlite.starts_with("0."), "{}: {rusqlite}", neighbour.dependency);
    }
}

/// With the earliest version of the range and with a late one: between them rusqlite renamed features and dropped
/// conversions. The applications use a version between them.
#[test]
fn programs_with_sqlx_or_diesel_and_a_ledger_compile() {
    // Kept between runs, so that nothing is compiled twice.
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("beside");
    for neighbour in [SQLX_0_8, DIESEL] {
        let (dir, rusqlite) = resolved(&neighbour);
        if let Err(said) = cargo(dir.path(), &target, &["check", "--quiet"]) {
            panic!("floe-ledger with rusqlite {rusqlite}, beside {}: {said}", neighbour.dependency);
        }
    }
}
