//! Real servers and real commands: started, watched, stopped, with a deadline on every wait.

use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// Long enough for a loaded machine with two cores, short enough that a hang is a failure.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) fn now() -> Instant {
    #[expect(clippy::disallowed_methods, reason = "a deadline of a test is real time")]
    Instant::now()
}

/// Polls `check` until it gives a value; a test that waits longer than `patience` fails and says for what.
pub(crate) fn until<T>(patience: Duration, what: &str, mut check: impl FnMut() -> Option<T>) -> T {
    let deadline = now() + patience;
    loop {
        if let Some(value) = check() {
            return value;
        }
        assert!(now() < deadline, "waited {patience:?} in vain for {what}");
        std::thread::park_timeout(Duration::from_millis(5));
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// `floe` with these arguments, in an environment that does not depend on who runs the tests.
pub(crate) fn floe<A: AsRef<OsStr>>(arguments: impl IntoIterator<Item = A>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_floe"));
    command
        .args(arguments)
        .env_remove("RUST_LOG")
        .env_remove("FLOE_TOKEN")
        .env_remove("RUST_BACKTRACE")
        .env("NO_COLOR", "1");
    command.stdin(Stdio::null());
    command
}

/// What a command that ended has said.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Said {
    /// The error that a user sees: its cause and its way out, on stderr alone, without a trace of the program's
    /// inside.
    #[track_caller]
    pub(crate) fn refuses(&self, code: i32, words: &[&str]) {
        assert_eq!(self.code, Some(code), "{self:#?}");
        assert!(self.err.contains("error: "), "no `error:` line: {self:#?}");
        for word in words {
            assert!(self.err.contains(word), "stderr does not say {word:?}: {}", self.err);
        }
        for inside in ["panicked at", "stack backtrace", "RUST_BACKTRACE", ".rs:"] {
            assert!(!self.err.contains(inside), "{}", self.err);
        }
    }

    /// The lines on stdout of a command that went well.
    #[track_caller]
    pub(crate) fn lines(&self) -> Vec<&str> {
        assert_eq!(self.code, Some(0), "{self:#?}");
        self.out.lines().collect()
    }

    /// The numbers on stdout of a command that went well.
    #[track_caller]
    pub(crate) fn numbers(&self) -> Vec<u64> {
        self.lines().iter().map(|line| line.parse().expect("one number a line")).collect()
    }
}

/// Runs a command to its end, which has to come within [`PATIENCE`].
#[track_caller]
pub(crate) fn run(command: &mut Command) -> Said {
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the command starts");
    let id = Pid::from_child(&child);
    let (done, ended) = std::sync::mpsc::channel();
    let waiter = std::thread::spawn(move || done.send(child.wait_with_output()));
    let output: Output = match ended.recv_timeout(PATIENCE) {
        Ok(output) => output.expect("its output can be read"),
        Err(_) => {
            kill_process(id, Signal::KILL).expect("it can be killed");
            panic!("{command:?} did not end within {PATIENCE:?}");
        }
    };
    waiter.join().expect("the waiting thread ends").expect("its answer was taken");
    Said {
        code: output.status.code(),
        out: String::from_utf8(output.stdout).expect("stdout is UTF-8"),
        err: String::from_utf8(output.stderr).expect("stderr is UTF-8"),
    }
}

#[derive(Default)]
struct Heard {
    text: Mutex<String>,
    more: Condvar,
}

impl Heard {
    fn listen(self: &Arc<Self>, stream: impl Read + Send + 'static) {
        let heard = Arc::clone(self);
        std::thread::spawn(move || {
            for line in BufReader::new(stream).lines().map_while(Result::ok) {
                let mut text = lock(&heard.text);
                text.push_str(&line);
                text.push('\n');
                heard.more.notify_all();
            }
        });
    }
}

/// A running `floe serve`. Dropped, it is killed.
pub(crate) struct Server {
    child: Child,
    heard: Arc<Heard>,
    url: String,
}

impl Server {
    /// Starts `floe serve` on a free port and waits until it is ready.
    #[track_caller]
    pub(crate) fn start<A: AsRef<OsStr>>(arguments: impl IntoIterator<Item = A>) -> Self {
        let mut command = floe(["serve", "--listen", "127.0.0.1:0"]);
        command.args(arguments);
        Self::spawn(&mut command)
    }

    /// Starts one on this data directory.
    #[track_caller]
    pub(crate) fn on(data_dir: &Path) -> Self {
        Self::start([OsStr::new("--data-dir"), data_dir.as_os_str()])
    }

    /// Starts the command and waits until it says where it listens.
    #[track_caller]
    pub(crate) fn spawn(command: &mut Command) -> Self {
        let mut child =
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("floe serve starts");
        let heard = Arc::new(Heard::default());
        heard.listen(child.stdout.take().expect("stdout is piped"));
        heard.listen(child.stderr.take().expect("stderr is piped"));
        let mut server = Self { child, heard, url: String::new() };
        server.url = until(PATIENCE, "the server to say where it listens", || {
            let text = server.text();
            if let Some(status) = server.child.try_wait().expect("its state can be read") {
                panic!("the server ended with {status} before it listened:\n{text}");
            }
            text.lines().find_map(address)
        });
        server
    }

    /// `http://127.0.0.1:port`, or `https://…`.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// All that it has said so far, stdout and stderr.
    pub(crate) fn text(&self) -> String {
        lock(&self.heard.text).clone()
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("the server takes the signal");
    }

    /// `kill -9`, and waits until it is gone.
    pub(crate) fn kill(mut self) -> String {
        self.signal(Signal::KILL);
        self.child.wait().expect("a killed process ends");
        self.text()
    }

    /// SIGTERM, and waits until it has drained.
    #[track_caller]
    pub(crate) fn terminate(mut self) -> (ExitStatus, String) {
        self.signal(Signal::TERM);
        self.ended()
    }

    /// Waits until it ends by itself.
    #[track_caller]
    pub(crate) fn ended(&mut self) -> (ExitStatus, String) {
        let heard = Arc::clone(&self.heard);
        let child = &mut self.child;
        let status =
            until(PATIENCE, "the server to end", || child.try_wait().expect("its state can be read"));
        // The pipes' last lines may still be on their way to the listening threads.
        until(PATIENCE, "the server's last words", || (Arc::strong_count(&heard) == 2).then_some(()));
        (status, self.text())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Ok(None) = self.child.try_wait() {
            // A stopped process has to go on before it can be waited for; SIGKILL does that by itself.
            self.child.kill().expect("a child can be killed");
            self.child.wait().expect("a killed process ends");
        }
    }
}

/// The loopback address in a line that the server printed at its start.
fn address(line: &str) -> Option<String> {
    let rest = line.get(line.find("http")?..)?;
    let (scheme, rest) = rest.split_once("://127.0.0.1:")?;
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let port: u16 = rest.get(..digits)?.parse().ok()?;
    (port != 0).then(|| format!("{scheme}://127.0.0.1:{port}"))
}

/// A configuration file in `dir`, with names of every kind.
pub(crate) fn configuration(dir: &Path, extra: &str) -> PathBuf {
    let path = dir.join("floe.toml");
    let text = format!(
        r#"{extra}
[[name]]
name = "orders"
kind = "snowflake"
layout = "twitter"

[[name]]
name = "tickets"
kind = "segment"

[[name]]
name = "visits"
kind = "counter"

[[name]]
name = "invoice"
kind = "dated"
zone = "UTC"
digits = 9
"#
    );
    std::fs::write(&path, text).expect("the temporary directory takes a file");
    path
}
