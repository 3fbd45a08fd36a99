//! Several processes on one ledger, some of them killed, some without the right to write.

use std::collections::BTreeMap;
use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::io::{BufRead, BufReader, Lines};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Output, Stdio};

use floe::ledger::Ledger;
use floe_ledger::Sqlite;
use rusqlite::Connection;
use tempfile::TempDir;

use crate::{ask, entries, got, orders, says};

/// An example of this crate, which cargo builds beside the tests.
pub(crate) fn program(name: &str) -> PathBuf {
    let deps = std::env::current_exe().unwrap();
    let path = deps.parent().unwrap().parent().unwrap().join("examples").join(name);
    assert!(path.is_file(), "build it first: cargo build -p floe-ledger --examples");
    path
}

/// Starts `reserve` on the ledger in the file at `path`. It waits for its turn as long as a test may take: if each
/// flush of the disk takes a tenth of a second, processes that never rest overtake one that waits, for seconds.
pub(crate) fn start(path: &Path, count: u64, times: u64) -> Child {
    Command::new(program("reserve"))
        .args([
            &format!("sqlite:{}?max_wait=5m", path.display()),
            "orders",
            &count.to_string(),
            &times.to_string(),
        ])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

pub(crate) fn lines(child: &mut Child) -> Lines<BufReader<ChildStdout>> {
    BufReader::new(child.stdout.take().unwrap()).lines()
}

/// A number below `end`. The tests that use it hold for any number.
fn random(end: u64) -> u64 {
    RandomState::new().hash_one(0) % end
}

/// A line `START END`, whole or cut off by a kill.
pub(crate) fn range(line: &str) -> Option<(u64, u64)> {
    let (start, end) = line.split_once(' ')?;
    Some((start.parse().ok()?, end.parse().ok()?))
}

/// Asserts that no two ranges overlap, and returns the last end.
#[track_caller]
pub(crate) fn disjoint(ranges: impl IntoIterator<Item = (u64, u64)>) -> u64 {
    let mut by_start = BTreeMap::new();
    for (start, end) in ranges {
        assert_eq!(by_start.insert(start, end), None, "two ranges start at {start}");
    }
    let mut last = 0;
    for (start, end) in by_start {
        assert!(start >= last && end > start, "{start}..{end} overlaps what ends at {last}");
        last = end;
    }
    last
}

#[test]
fn processes_that_are_killed_at_random_moments_leave_no_overlap() {
    const WORKERS: u64 = 4;
    const LIVES: u64 = 8;
    let dir = TempDir::new().unwrap();
    let ranges: Vec<(u64, u64)> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..WORKERS)
            .map(|worker| {
                let dir = dir.path();
                scope.spawn(move || {
                    let mut ranges = Vec::new();
                    for life in 0..LIVES {
                        let mut child = start(&dir.join("floe.db"), 1 + worker, u64::MAX);
                        let mut lines = lines(&mut child);
                        lines.next().unwrap().unwrap();
                        for _ in 0..random(100) {
                            ranges.push(range(&lines.next().unwrap().unwrap()).unwrap());
                        }
                        child.kill().unwrap();
                        // Lines that it printed between the decision and its end count too; its last line may be cut
                        // off.
                        for line in lines.map_while(Result::ok) {
                            ranges.extend(range(&line));
                        }
                        let output = child.wait_with_output().unwrap();
                        let errors = String::from_utf8(output.stderr).unwrap();
                        assert_eq!(errors, "", "life {life} of {worker}");
                    }
                    ranges
                })
            })
            .collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    assert!(ranges.len() > 100, "{}", ranges.len());
    let last = disjoint(ranges);
    let ledger = Sqlite::builder().in_dir(dir.path()).unwrap();
    let mark = ledger.list(orders().as_str(), "", 1).unwrap()[0].mark;
    assert!(mark >= last, "the mark {mark} is below {last}, which was handed out");
}

#[test]
fn processes_that_start_at_once_make_one_ledger() {
    const PROCESSES: usize = 8;
    const TIMES: u64 = 20;
    for _ in 0..3 {
        let parent = TempDir::new().unwrap();
        let dir = parent.path().join("floe-data");
        let children: Vec<Child> = (0..PROCESSES).map(|_| start(&dir.join("floe.db"), 3, TIMES)).collect();
        let (mut realms, mut ranges) = (Vec::new(), Vec::new());
        for child in children {
            let output = child.wait_with_output().unwrap();
            assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
            let text = String::from_utf8(output.stdout).unwrap();
            let mut lines = text.lines();
            realms.push(lines.next().unwrap().to_owned());
            ranges.extend(lines.map(|line| range(line).unwrap()));
        }
        realms.dedup();
        assert_eq!(realms.len(), 1, "{realms:?}");
        assert_eq!(ranges.len() as u64, TIMES * PROCESSES as u64);
        assert_eq!(disjoint(ranges), TIMES * PROCESSES as u64 * 3, "and no gap");
    }
}

/// How far a first start has come, shown by the files in the directory.
fn stage(dir: &Path) -> usize {
    let is_there = |start: &str| entries(dir).iter().any(|name| name.starts_with(start));
    match dir.exists() {
        false => 0,
        true if is_there("realm") => 5,
        true if is_there(".realm.new-") => 4,
        true if is_there("floe.db") => 3,
        true if is_there(".floe.db.new-") => 2,
        true => 1,
    }
}

#[test]
fn a_first_start_that_is_killed_at_any_moment_leaves_a_directory_that_starts() {
    const ROUNDS: usize = 5;
    for until in (0..=5).flat_map(|stage| [stage; ROUNDS]) {
        let parent = TempDir::new().unwrap();
        let dir = parent.path().join("floe-data");
        let mut child = start(&dir.join("floe.db"), 1, u64::MAX);
        // It may have gone further before it is killed. Whatever the moment, the rest has to hold.
        let reached = (0..10_000_000).any(|_| stage(&dir) >= until);
        assert!(reached, "it never came to stage {until}");
        child.kill().unwrap();
        let output = child.wait_with_output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let ranges: Vec<_> = text.lines().skip(1).filter_map(range).collect();
        let ledger = Sqlite::builder().in_dir(&dir).unwrap();
        disjoint(ranges.into_iter().chain([got(&ledger, &ask(1))]));
        assert!(dir.join("floe.db").exists() && dir.join("realm").exists());
    }
}

/// The user `nobody`, for tests that run as root: no permission stops root.
const NOBODY: u32 = 65_534;

fn is_root() -> bool {
    fs::metadata("/proc/self").map(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0).unwrap()
}

/// Runs `reserve` as a user who owns nothing of `dir` except what was given to them.
fn as_another_user(dir: &Path) -> Output {
    // Other users may not be able to read the build directory.
    let copy = TempDir::new().unwrap();
    fs::set_permissions(copy.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let program = {
        let to = copy.path().join("reserve");
        // In another process: a file that this one has open for writing cannot be run, and another test's fork may
        // inherit it at that moment.
        assert!(Command::new("cp").arg(program("reserve")).arg(&to).status().unwrap().success());
        to
    };
    let mut command = Command::new(program);
    command.args([&format!("sqlite:{}/ids.db", dir.display()), "orders", "1", "1"]).current_dir("/");
    if is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    command.output().unwrap()
}

/// The errors of `reserve` there.
fn errors_without_rights(dir: &Path) -> String {
    let output = as_another_user(dir);
    assert!(!output.status.success(), "{output:?}");
    String::from_utf8(output.stderr).unwrap()
}

/// A directory with a used ledger.
fn used() -> TempDir {
    let dir = TempDir::new().unwrap();
    got(&Sqlite::open(dir.path().join("ids.db")).unwrap(), &ask(100));
    dir
}

pub(crate) fn allow(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// A file of that other user's.
pub(crate) fn give_away(path: &Path) {
    if is_root() {
        chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
    }
}

#[test]
fn a_file_that_is_read_only_is_refused() {
    let dir = used();
    give_away(dir.path());
    allow(&dir.path().join("ids.db"), 0o444);
    says(&errors_without_rights(dir.path()), &["ids.db is read-only for this user", "ls -l"]);
    assert_eq!(entries(dir.path()), ["ids.db", "ids.db-witness"], "nothing was left");
    assert_eq!(got(&reopened(&dir), &ask(1)), (100, 101), "nothing was changed");
}

/// Nobody but root can give a file away.
#[test]
fn the_witness_of_a_ledger_of_another_user_is_the_one_of_who_makes_it() {
    let dir = used();
    give_away(dir.path());
    allow(&dir.path().join("ids.db"), 0o666);
    // As beside a ledger of an older floe.
    fs::remove_file(dir.path().join("ids.db-witness")).unwrap();
    let output = as_another_user(dir.path());
    assert!(output.status.success(), "{output:?}");
    assert_eq!(entries(dir.path()), ["ids.db", "ids.db-witness"]);
}

#[test]
fn a_wal_or_its_shared_memory_that_is_read_only_is_refused() {
    let dir = used();
    give_away(dir.path());
    give_away(&dir.path().join("ids.db"));
    let files = ["-wal", "-shm"].map(|suffix| dir.path().join(format!("ids.db{suffix}")));
    for (read_only, suffix) in files.iter().zip(["-wal", "-shm"]) {
        for file in &files {
            fs::write(file, "").unwrap();
            allow(file, if file == read_only { 0o444 } else { 0o666 });
        }
        let text = format!("ids.db{suffix} is read-only for this user");
        says(&errors_without_rights(dir.path()), &[&text, "ls -l"]);
        files.iter().for_each(|file| fs::remove_file(file).unwrap());
    }
    assert_eq!(got(&reopened(&dir), &ask(1)), (100, 101), "nothing was changed");
}

#[test]
fn a_directory_that_is_read_only_is_refused() {
    let dir = used();
    give_away(&dir.path().join("ids.db"));
    allow(dir.path(), 0o555);
    says(&errors_without_rights(dir.path()), &["the directory of", "is read-only for this user", "ls -ld"]);
    fs::remove_file(dir.path().join("ids.db")).ok();
    allow(dir.path(), 0o755);
}

#[test]
fn a_directory_in_which_nothing_can_be_made_is_refused() {
    let dir = TempDir::new().unwrap();
    allow(dir.path(), 0o555);
    says(&errors_without_rights(dir.path()), &["the directory of", "is read-only for this user", "ls -ld"]);
    allow(dir.path(), 0o755);
}

/// The names in it cannot be made durable.
#[test]
fn a_directory_that_may_not_be_read_is_refused() {
    let dir = TempDir::new().unwrap();
    give_away(dir.path());
    allow(dir.path(), 0o300);
    for text in ["a ledger cannot be made at", "ids.db-witness cannot be written"] {
        says(&errors_without_rights(dir.path()), &[text, "Permission denied", "look at the permissions"]);
    }
    allow(dir.path(), 0o700);
}

#[test]
fn a_file_that_may_not_be_read_is_refused() {
    let dir = used();
    give_away(dir.path());
    allow(&dir.path().join("ids.db"), 0o000);
    says(&errors_without_rights(dir.path()), &["ids.db is read-only for this user", "ls -l"]);
    allow(dir.path(), 0o700);
    allow(&dir.path().join("ids.db"), 0o644);
    assert_eq!(got(&reopened(&dir), &ask(1)), (100, 101), "nothing was changed");
}

fn reopened(dir: &TempDir) -> Sqlite {
    allow(&dir.path().join("ids.db"), 0o644);
    Sqlite::open(dir.path().join("ids.db")).unwrap()
}

/// What `reserve` prints, and its errors, in the data directory `dir` where no file may grow beyond so many blocks of 512
/// or 1024 bytes, depending on the shell.
fn limited(dir: &Path, blocks: u64) -> (String, String) {
    let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$@\"");
    let output = Command::new("sh")
        .args(["-c", &script, "sh"])
        .arg(program("reserve"))
        .args([&format!("sqlite:{}/floe.db", dir.display()), "orders", "1", "5000"])
        .output()
        .unwrap();
    assert!(!output.status.success());
    (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn a_first_start_without_room_leaves_nothing() {
    let dir = TempDir::new().unwrap();
    for blocks in [0, 4, 16] {
        says(&limited(dir.path(), blocks).1, &["the disk under", "failed", "ulimit -f"]);
        assert_eq!(entries(dir.path()), Vec::<String>::new(), "{blocks} blocks");
    }
}

/// The next try may find some: a file that is full is not damaged.
#[test]
fn a_file_of_an_older_floe_without_room_is_unavailable_and_goes_on_later() {
    for older in ["DROP TABLE made; PRAGMA user_version = 1", "DROP TABLE turn"] {
        let dir = TempDir::new().unwrap();
        drop(Sqlite::builder().in_dir(dir.path()).unwrap());
        // While it is open, its WAL and the WAL's index are there, and need no room.
        let tool = Connection::open(dir.path().join("floe.db")).unwrap();
        tool.execute_batch(older).unwrap();
        says(&limited(dir.path(), 0).1, &["the disk under", "failed", "ulimit -f"]);
        assert_eq!(got(&Sqlite::builder().in_dir(dir.path()).unwrap(), &ask(1)), (0, 1));
    }
}

#[test]
fn a_witness_without_room_is_said_and_leaves_nothing() {
    let dir = TempDir::new().unwrap();
    // The files of SQLite are there, so they need no room.
    let _open = Sqlite::builder().in_dir(dir.path()).unwrap();
    for name in ["floe.db-witness", "realm"] {
        let witness = dir.path().join(name);
        let whole = fs::read(&witness).unwrap();
        fs::remove_file(&witness).unwrap();
        let before = entries(dir.path());
        says(
            &limited(dir.path(), 0).1,
            &[&format!("{name} cannot be written"), "the room on its file system"],
        );
        assert_eq!(entries(dir.path()), before);
        fs::write(&witness, whole).unwrap();
    }
}

#[test]
fn the_ledger_of_the_working_directory_needs_no_other_path() {
    let dir = TempDir::new().unwrap();
    let mut reserve = Command::new(program("reserve"));
    let output =
        reserve.args(["sqlite:floe.db", "orders", "5", "1"]).current_dir(dir.path()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(entries(dir.path()), ["floe.db", "floe.db-witness", "realm"]);
    assert_eq!(got(&Sqlite::builder().in_dir(dir.path()).unwrap(), &ask(1)), (5, 6));
}

/// Runs itself, as a process that changes its directory: that is the process's.
#[test]
fn a_process_that_changes_its_directory_goes_on_with_its_ledgers() {
    const ASKED: &str = "FLOE_TEST_CHANGES_ITS_DIRECTORY";
    if std::env::var_os(ASKED).is_some() {
        let open = |url| floe_ledger::open_in(url, "default").unwrap();
        let ledgers = ["sqlite:ids.db", "sqlite:floe-data/floe.db"].map(open);
        std::env::set_current_dir("/").unwrap();
        ledgers.iter().for_each(|ledger| assert_eq!(got(&**ledger, &ask(5)), (0, 5)));
        return;
    }
    let dir = TempDir::new().unwrap();
    let (_, module) = module_path!().split_once("::").unwrap();
    let name = format!("{module}::a_process_that_changes_its_directory_goes_on_with_its_ledgers");
    let mut itself = Command::new(std::env::current_exe().unwrap());
    itself.args(["--exact", &name, "--nocapture"]).env(ASKED, "1").current_dir(dir.path());
    let output = itself.output().unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"), "{output:?}");
    for path in ["ids.db", "floe-data/floe.db"] {
        assert_eq!(got(&Sqlite::open(dir.path().join(path)).unwrap(), &ask(1)), (5, 6), "{path}");
    }
}

#[test]
fn a_limit_on_file_sizes_is_unavailable_and_loses_nothing() {
    let dir = TempDir::new().unwrap();
    drop(Sqlite::builder().in_dir(dir.path()).unwrap());
    // The WAL reaches the limit with either size of a block.
    let (text, errors) = limited(dir.path(), 128);
    says(&errors, &["the disk under", "failed", "ulimit -f"]);
    let last = disjoint(text.lines().skip(1).map(|line| range(line).unwrap()));
    assert!(last > 5, "{last}");
    let ledger = Sqlite::builder().in_dir(dir.path()).unwrap();
    let (start, _) = got(&ledger, &ask(1));
    assert!(start >= last, "{start} was handed out, up to {last}");
}
