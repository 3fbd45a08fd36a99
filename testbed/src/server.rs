//! One server process with its files and its port, and the faults for it.

use std::process::{Child, Command};
use std::sync::Mutex;

use rustix::process::{Pid, Signal, kill_process};

use crate::{Home, free_port};

type Start = Box<dyn Fn(&Home, u16) -> Command + Send + Sync>;
type Ready = Box<dyn Fn(u16) -> bool + Send + Sync>;

/// A server: its home, its port, how to start it, and how to tell that it is ready.
pub struct Server {
    home: Home,
    port: u16,
    start: Start,
    ready: Ready,
    farewell: Signal,
    child: Mutex<Option<Child>>,
}

impl Server {
    /// Starts the command of `start` on a free port, and waits until `ready` returns `true`. The signal `farewell` ends
    /// it in order.
    pub fn new(
        home: Home,
        farewell: Signal,
        start: impl Fn(&Home, u16) -> Command + Send + Sync + 'static,
        ready: impl Fn(u16) -> bool + Send + Sync + 'static,
    ) -> Self {
        let (start, ready, child) = (Box::new(start), Box::new(ready), Mutex::new(None));
        let server = Self { home, port: free_port(), start, ready, farewell, child };
        server.run();
        server
    }

    /// The port on loopback.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Its directory.
    pub fn home(&self) -> &Home {
        &self.home
    }

    /// Starts it with its files and its port, and waits until it is ready.
    pub fn run(&self) {
        let mut child = (self.start)(&self.home, self.port).spawn().unwrap();
        while !(self.ready)(self.port) {
            assert_eq!(child.try_wait().unwrap(), None, "{}", self.home.log());
        }
        *self.child.lock().unwrap() = Some(child);
    }

    /// kill -9 for it and its children; waits until all are gone.
    pub fn kill(&self) {
        while !self.home.processes().is_empty() {
            self.home.signal(Signal::KILL);
            self.reap();
        }
    }

    /// Ends it in order, so that it writes everything to disk.
    pub fn stop(&self) {
        if let Some(child) = self.child.lock().unwrap().as_ref() {
            kill_process(Pid::from_child(child), self.farewell).unwrap();
        }
        self.reap();
    }

    /// SIGSTOP for it and its children; waits until all stand still.
    pub fn freeze(&self) {
        self.home.freeze();
    }

    /// SIGCONT.
    pub fn thaw(&self) {
        self.home.signal(Signal::CONT);
    }

    fn reap(&self) {
        if let Some(mut child) = self.child.lock().unwrap().take() {
            drop(child.wait());
        }
    }
}
