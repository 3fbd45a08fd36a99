//! A directory in which servers run and keep their files. It never outlives its test.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;

use rustix::process::{Pid, Signal, geteuid, kill_process};
use tempfile::TempDir;

/// `nobody` and `nogroup`: servers refuse to run as root, so they run as a user who owns nothing.
const NOBODY: u32 = 65534;

/// Survives the test process, however that ends: it kills every process in the directory, and deletes the directory.
const WATCHDOG: &str = r#"
trap '' HUP INT TERM
cat >/dev/null
for process in /proc/[0-9]*; do
    case "$(readlink "$process/cwd" 2>/dev/null)/" in
    "$1"/*) kill -9 "${process#/proc/}" 2>/dev/null ;;
    esac
done
for try in 1 2 3 4 5; do rm -rf "$1" 2>/dev/null && break; done
"#;

/// A directory in which servers run and keep their files.
pub struct Home {
    path: PathBuf,
    /// The test holds its standard input open. When that closes, the watchdog deletes the directory.
    watchdog: Child,
}

impl Home {
    /// A fresh directory, with `what` in its name.
    pub fn new(what: &str) -> Self {
        let dir = TempDir::with_prefix(format!("floe-{what}-")).unwrap();
        let path = fs::canonicalize(dir.keep()).unwrap();
        let watchdog = Command::new("sh")
            .args(["-c", WATCHDOG, "watchdog"])
            .arg(&path)
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        let home = Self { path, watchdog };
        home.own(home.path());
        home
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a file that only the server may read.
    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let file = self.path.join(name);
        fs::write(&file, text).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        self.own(&file);
        file
    }

    /// The same in a folder, which is made, and to which the server may write.
    pub fn write_below(&self, folder: &str, name: &str, text: &str) -> PathBuf {
        let folder_path = self.path.join(folder);
        fs::create_dir_all(&folder_path).unwrap();
        self.own(&folder_path);
        self.write(&format!("{folder}/{name}"), text)
    }

    /// A command that runs in here, as an ordinary user, with its output in the file `log`.
    pub fn command(&self, program: &Path) -> Command {
        let log = fs::File::options().create(true).append(true).open(self.path.join("log")).unwrap();
        let mut command = Command::new(program);
        command
            .current_dir(&self.path)
            .env_clear()
            .env("PATH", "/usr/bin:/bin:/usr/sbin")
            .env("LC_ALL", "C.UTF-8")
            .env("HOME", &self.path)
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .process_group(0);
        if geteuid().is_root() {
            command.uid(NOBODY).gid(NOBODY);
        }
        command
    }

    /// The servers' output.
    pub fn log(&self) -> String {
        fs::read_to_string(self.path.join("log")).unwrap_or_default()
    }

    /// Sends a signal to every process in here, including servers' children.
    pub fn signal(&self, signal: Signal) {
        for process in self.processes() {
            // It may have ended meanwhile.
            let _ended = kill_process(process, signal);
        }
    }

    /// SIGSTOP for every process in here; waits until all their threads stand still. A thread on another processor
    /// continues until the kernel reaches it.
    pub fn freeze(&self) {
        loop {
            self.signal(Signal::STOP);
            if self.processes().iter().all(|process| stands_still(*process)) {
                return;
            }
            thread::yield_now();
        }
    }

    /// Every process whose working directory is in here.
    pub fn processes(&self) -> Vec<Pid> {
        let works_here = |process: &PathBuf| {
            fs::read_link(process.join("cwd")).is_ok_and(|directory| directory.starts_with(&self.path))
        };
        fs::read_dir("/proc")
            .unwrap()
            .filter_map(|entry| Some(entry.ok()?.path()).filter(works_here))
            .filter_map(|process| Pid::from_raw(process.file_name()?.to_str()?.parse().ok()?))
            .collect()
    }

    fn own(&self, path: &Path) {
        if geteuid().is_root() {
            chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
        }
    }
}

/// Whether every thread of a process is stopped (`T`, or `t` under a debugger) or has ended (`Z`, `X`): the state in
/// proc_pid_stat(5) after the name, which is in parentheses and may hold any characters.
fn stands_still(process: Pid) -> bool {
    let Ok(threads) = fs::read_dir(format!("/proc/{}/task", process.as_raw_nonzero())) else { return true };
    threads.flatten().all(|thread| {
        let Ok(stat) = fs::read_to_string(thread.path().join("stat")) else { return true };
        stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with(['T', 't', 'Z', 'X']))
    })
}

impl Drop for Home {
    fn drop(&mut self) {
        drop(self.watchdog.stdin.take());
        drop(self.watchdog.wait());
    }
}
