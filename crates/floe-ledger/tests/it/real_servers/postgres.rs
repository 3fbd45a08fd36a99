//! The PostgreSQL ledger on a real PostgreSQL.

mod checks;
mod conformance;
mod faults;
mod tls;

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock};

use floe::ledger::Ledger;
use rustix::process::{Pid, Signal, kill_process};

use super::{Home, free_port};

/// Passwords for the user `careful`, none for anybody else on loopback; `encrypted` has to use TLS.
const ACCESS: &str = "
host all careful 127.0.0.1/32 scram-sha-256
hostnossl all encrypted 127.0.0.1/32 reject
host all all 127.0.0.1/32 trust
";

pub(crate) struct Server {
    home: Home,
    pub(crate) port: u16,
    settings: Vec<String>,
    postmaster: Mutex<Option<Child>>,
}

impl Server {
    /// A server with these settings beside its defaults, `name=value` each.
    pub(crate) fn start(settings: &[&str]) -> Self {
        Self::start_with(settings, |_| {})
    }

    /// The same, once `prepare` has put files into its home.
    pub(crate) fn start_with(settings: &[&str], prepare: impl FnOnce(&Home)) -> Self {
        let home = Home::new("postgres");
        prepare(&home);
        let made = home
            .command(&programs().join("initdb"))
            .args(["-D", "data", "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync"])
            .status()
            .unwrap();
        assert!(made.success(), "{}", home.log());
        fs::write(home.path().join("data/pg_hba.conf"), ACCESS).unwrap();
        let settings = settings.iter().map(|setting| (*setting).to_owned()).collect();
        let server = Self { home, port: free_port(), settings, postmaster: Mutex::new(None) };
        server.run();
        server
    }

    /// One server for all tests of a process that do it no harm.
    pub(crate) fn shared() -> &'static Self {
        static SHARED: OnceLock<Server> = OnceLock::new();
        SHARED.get_or_init(|| Self::start(&[]))
    }

    /// Starts it on its files and its port, and waits until it answers.
    pub(crate) fn run(&self) {
        let mut command = self.home.command(&programs().join("postgres"));
        command.args(["-D", "data", "-p", &self.port.to_string()]);
        let port_only = ["listen_addresses=127.0.0.1", "unix_socket_directories="];
        let small = ["max_connections=200", "shared_buffers=16MB"];
        for setting in port_only.into_iter().chain(small).chain(self.settings.iter().map(String::as_str)) {
            command.args(["-c", setting]);
        }
        let mut postmaster = command.spawn().unwrap();
        let port = self.port.to_string();
        let ready = || {
            let asked = Command::new(programs().join("pg_isready"))
                .args(["-q", "-h", "127.0.0.1", "-p", &port])
                .status();
            asked.unwrap().success()
        };
        while !ready() {
            assert_eq!(postmaster.try_wait().unwrap(), None, "{}", self.home.log());
        }
        *self.postmaster.lock().unwrap() = Some(postmaster);
    }

    /// kill -9 for the postmaster and every backend, and waits until all are gone.
    pub(crate) fn kill(&self) {
        while !self.home.processes().is_empty() {
            self.home.signal(Signal::KILL);
            self.reap();
        }
    }

    /// A fast shutdown: sessions are ended, and everything is written down.
    pub(crate) fn stop(&self) {
        let mut postmaster = self.postmaster.lock().unwrap();
        if let Some(child) = postmaster.as_mut() {
            kill_process(Pid::from_child(child), Signal::INT).unwrap();
            child.wait().unwrap();
        }
        *postmaster = None;
    }

    pub(crate) fn freeze(&self) {
        self.home.signal(Signal::STOP);
    }

    pub(crate) fn thaw(&self) {
        self.home.signal(Signal::CONT);
    }

    /// A schema that no other test uses.
    pub(crate) fn schema() -> String {
        static SCHEMAS: AtomicU32 = AtomicU32::new(0);
        format!("test_{}", SCHEMAS.fetch_add(1, Ordering::Relaxed))
    }

    /// The URL of its only database, in the schema `floe`.
    pub(crate) fn url(&self) -> String {
        self.url_of("postgres")
    }

    pub(crate) fn url_of(&self, user: &str) -> String {
        format!("postgres://{user}@127.0.0.1:{}/postgres", self.port)
    }

    /// What PostgreSQL's own client says to a statement, as an operator would ask.
    #[track_caller]
    pub(crate) fn psql(&self, sql: &str) -> String {
        let output = Command::new(programs().join("psql"))
            .args([
                "-X",
                "-q",
                "-A",
                "-t",
                "-v",
                "ON_ERROR_STOP=1",
                "-U",
                "postgres",
                "-h",
                "127.0.0.1",
                "-p",
            ])
            .args([&self.port.to_string(), "-d", "postgres", "-c", sql])
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    fn reap(&self) {
        if let Some(mut child) = self.postmaster.lock().unwrap().take() {
            drop(child.wait());
        }
    }
}

/// Opens a URL in the realm `test`.
#[track_caller]
fn open(url: &str) -> Box<dyn Ledger> {
    floe_ledger::open(url, "test").unwrap()
}

/// The folder of PostgreSQL's programs.
fn programs() -> &'static PathBuf {
    static PROGRAMS: OnceLock<PathBuf> = OnceLock::new();
    PROGRAMS.get_or_init(|| {
        let is_whole = |folder: &PathBuf| {
            ["initdb", "postgres", "pg_isready", "psql"].iter().all(|program| folder.join(program).is_file())
        };
        let mut folders: Vec<PathBuf> = std::env::var_os("FLOE_POSTGRES").map(PathBuf::from).into_iter().collect();
        // Debian's, the newest first; then Fedora's, Arch's and a build from source.
        if let Ok(versions) = fs::read_dir("/usr/lib/postgresql") {
            let mut versions: Vec<_> = versions.filter_map(|entry| Some(entry.ok()?.path().join("bin"))).collect();
            versions.sort();
            folders.extend(versions.into_iter().rev());
        }
        folders.extend(["/usr/bin", "/usr/local/bin", "/usr/local/pgsql/bin"].map(PathBuf::from));
        folders.into_iter().find(is_whole).expect(
            "these tests need a PostgreSQL server: install the Debian package postgresql, set FLOE_POSTGRES to the \
             folder of initdb and postgres, or leave them out with scripts/test --skip-servers",
        )
    })
}
