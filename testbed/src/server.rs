//! One server process on its files and its port, and what it can be made to suffer.

use std::process::{Child, Command};
use std::sync::Mutex;

use rustix::process::{Pid, Signal, kill_process};

use crate::{Home, free_port};

type Start = Box<dyn Fn(&Home, u16) -> Command + Send + Sync>;
type Ready = Box<dyn Fn(u16) -> bool + Send + Sync>;

/// A server: its home, its port, and how it is started and asked whether it is there.
pub struct Server {
    home: Home,
    port: u16,
    start: Start,
    ready: Ready,
    farewell: Signal,
    child: Mutex<Option<Child>>,
}

impl Server {
    /// Starts what `start` says on a free port, and waits until `ready` says that it answers. `farewell` ends it in
    /// order.
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

    /// Where it works.
    pub fn home(&self) -> &Home {
        &self.home
    }

    /// Starts it on its files and its port, and waits until it answers.
    pub fn run(&self) {
        let mut child = (self.start)(&self.home, self.port).spawn().unwrap();
        while !(self.ready)(self.port) {
            assert_eq!(child.try_wait().unwrap(), None, "{}", self.home.log());
        }
        *self.child.lock().unwrap() = Some(child);
    }

    /// kill -9 for it and its children, and waits until all are gone.
    pub fn kill(&self) {
        while !self.home.processes().is_empty() {
            self.home.signal(Signal::KILL);
            self.reap();
        }
    }

    /// Ends it in order, so that everything is written down.
    pub fn stop(&self) {
        if let Some(child) = self.child.lock().unwrap().as_ref() {
            kill_process(Pid::from_child(child), self.farewell).unwrap();
        }
        self.reap();
    }

    /// SIGSTOP for it and its children, and waits until all stand still.
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
