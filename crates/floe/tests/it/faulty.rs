//! A ledger whose faults the test decides on.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use floe::ledger::{AtHand, Key, Ledger, LedgerError, Memory, Reply, Reserve, Token};
use floe::{Name, UnixMillis};

/// What becomes of a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mode {
    Fine,
    /// So many calls take effect; then nothing arrives, as after the end of a process.
    Calls(u64),
    /// Nothing arrives.
    Gone,
    /// So many calls take effect. From then on nothing arrives, and it is known not to be the ledger that it was.
    Unfit(u64),
    /// Every call takes effect, and one reply in so many is lost.
    Losing(u64),
    /// Calls wait until the mode changes.
    Held,
    /// The adapter's own code panics.
    Panics,
    /// It panics once, where it names slots at hand, which the node asks for in the middle of its work.
    PanicsInside,
    /// It answers every reservation with this.
    Answers(u64, u64, u64),
}

/// [`Memory`] with faults. A clone is the same ledger.
#[derive(Clone)]
pub(crate) struct Faulty {
    store: Arc<Mutex<Memory>>,
    mode: Arc<(Mutex<Mode>, Condvar)>,
    calls: Arc<AtomicU64>,
    /// How many calls are in it.
    inside: Arc<AtomicU64>,
    /// How far its clock is ahead of this machine's, if it has one, and how often it was asked for it.
    clock: Arc<Mutex<(Option<i64>, u64)>>,
}

impl Faulty {
    pub(crate) fn new(mode: Mode) -> Self {
        Self {
            store: Arc::default(),
            mode: Arc::new((Mutex::new(mode), Condvar::new())),
            calls: Arc::default(),
            inside: Arc::default(),
            clock: Arc::default(),
        }
    }

    pub(crate) fn set(&self, mode: Mode) {
        *self.mode.0.lock().unwrap() = mode;
        self.mode.1.notify_all();
    }

    /// It has a clock, so many milliseconds ahead of this machine's.
    pub(crate) fn set_clock(&self, ahead: i64) {
        self.clock.lock().unwrap().0 = Some(ahead);
    }

    /// How many times it was asked for its clock.
    pub(crate) fn clock_calls(&self) -> u64 {
        self.clock.lock().unwrap().1
    }

    /// How many times it was asked to reserve.
    pub(crate) fn calls(&self) -> u64 {
        self.calls.load(Ordering::SeqCst)
    }

    /// Waits until it has been asked to reserve so often.
    pub(crate) fn wait_for_calls(&self, calls: u64) {
        within(Duration::from_secs(10), || self.calls() >= calls);
    }

    /// How many calls are in it now, held or on their way.
    pub(crate) fn inside(&self) -> u64 {
        self.inside.load(Ordering::SeqCst)
    }

    /// How many hold it, this one among them.
    pub(crate) fn users(&self) -> usize {
        Arc::strong_count(&self.calls)
    }

    fn store(&self) -> Memory {
        self.store.lock().unwrap().clone()
    }

    /// Another store with the same names and marks, `deleted` aside.
    pub(crate) fn copy(&self, deleted: Option<&Key>) -> Memory {
        let (old, new) = (self.store(), Memory::default());
        let deleted = deleted.map(Key::as_str);
        let records = old.list("", "", 100_000).unwrap();
        for (name, definition) in old.names("", 100_000).unwrap() {
            let name = Name::new(&name).unwrap();
            let key = Key::name(&name);
            let record = records.iter().find(|record| record.key == key.as_str());
            let record = record.filter(|_| deleted != Some(key.as_str()));
            new.bind(&name, &definition, record.is_some()).unwrap();
            if let Some(record) = record {
                new.raise(&key, record.mark).unwrap();
            }
        }
        for record in records {
            if let Some((bits, worker)) = Key::parse_slot(&record.key) {
                let request = Reserve {
                    key: Key::slot(bits, worker),
                    floor: record.mark,
                    count: 0,
                    max_mark: record.mark,
                    token: Token::random().unwrap(),
                    create: true,
                    note: record.note,
                };
                new.reserve(&request).unwrap();
            }
        }
        new
    }

    /// From here on calls go to `store`.
    pub(crate) fn put(&self, store: Memory) {
        *self.store.lock().unwrap() = store;
    }

    fn begin_call(&self) -> Result<Mode, LedgerError> {
        self.inside.fetch_add(1, Ordering::SeqCst);
        let mode = self.mode.0.lock().unwrap();
        let mut guard = self.mode.1.wait_while(mode, |mode| *mode == Mode::Held).unwrap();
        self.inside.fetch_sub(1, Ordering::SeqCst);
        let mode = *guard;
        if let Mode::Calls(left) | Mode::Unfit(left) = &mut *guard {
            *left = left.saturating_sub(1);
        }
        drop(guard);
        match mode {
            Mode::Gone | Mode::Calls(0) => Err(LedgerError::Unavailable("the test took it away".to_owned())),
            Mode::Unfit(0) => Err(LedgerError::Unfit("the test replaced it".to_owned())),
            // As a panic does, without the hook that would write a page for each.
            Mode::Panics => std::panic::resume_unwind(Box::new("the test broke the adapter")),
            mode => Ok(mode),
        }
    }

    fn store_after_call_began(&self) -> Result<Memory, LedgerError> {
        self.begin_call().map(|_| self.store())
    }
}

impl Ledger for Faulty {
    fn reserve(&self, request: &Reserve) -> Result<Reply, LedgerError> {
        let calls = self.calls.fetch_add(1, Ordering::SeqCst);
        let mode = self.begin_call()?;
        let reply = self.store().reserve(request);
        match mode {
            Mode::Answers(start, end, previous_mark) => Ok(Reply::Got { start, end, previous_mark }),
            Mode::Losing(one_in) if calls % one_in == one_in - 1 => {
                Err(LedgerError::Unavailable("the reply was lost".to_owned()))
            }
            _ => reply,
        }
    }

    floe::__hand_on!(self => self.store_after_call_began()?; give_back bind definition names raise list);
    floe::__hand_on!(self => self.store(); realm_id);

    fn clock(&self) -> Result<Option<UnixMillis>, LedgerError> {
        self.begin_call()?;
        let mut clock = self.clock.lock().unwrap();
        clock.1 += 1;
        let now = UnixMillis::new(jiff::Timestamp::now().as_millisecond());
        Ok(clock.0.map(|ahead| now.plus(ahead)))
    }

    fn describe(&self) -> String {
        "faulty:".to_owned()
    }

    fn at_hand(&self, _: u32) -> Vec<AtHand> {
        let mut mode = self.mode.0.lock().unwrap();
        if *mode == Mode::PanicsInside {
            *mode = Mode::Fine;
            drop(mode);
            std::panic::resume_unwind(Box::new("the test broke the node"));
        }
        Vec::new()
    }

    /// So that nothing is reserved before somebody mints.
    fn is_shared(&self) -> bool {
        false
    }
}

/// Looks at a condition until it holds.
pub(crate) fn within(limit: Duration, mut holds: impl FnMut() -> bool) {
    let mut left = limit.as_millis();
    while !holds() {
        assert!(left > 0, "it does not hold within {limit:?}");
        left -= 1;
        std::thread::park_timeout(Duration::from_millis(1));
    }
}

/// Polls a future once.
pub(crate) fn poll<F: Future>(future: std::pin::Pin<&mut F>) -> std::task::Poll<F::Output> {
    future.poll(&mut std::task::Context::from_waker(std::task::Waker::noop()))
}
