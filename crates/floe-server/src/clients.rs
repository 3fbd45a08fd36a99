//! Everyone who is connected: how many places each client takes, and how much memory it holds.
//!
//! **Memory.** `limits.memory` bounds what the server holds for all clients together: requests that are not served
//! yet, answers that are not read yet, and the cost of each connection. A connection is a [`Client`]; it asks
//! for [`Held`] bytes before it takes them. If the bound is reached, the server closes the connection whose oldest part has
//! waited longest for its client, and then the next one, until there is room. A request that finds none is refused as busy.
//! Only three eighths of the bound are handed out, because the process takes more memory from the system than it holds. An
//! answer that fits no other way is [forced](Held::force), and counted; only a few connections are at work at a time.
//!
//! **Places.** `limits.connections` bounds all connections, `limits.connections_per_address` those of one address, and
//! `limits.connections_per_token` those that show one token. At a bound, a new connection takes the place of an idle one
//! among those that the bound counts: of the address with the most connections, the one that has been idle longest. A
//! connection is idle if the server works on nothing for it.
//!
//! **Time.** A client that has sent many requests waits for a [turn](turns) after the first of them.

use std::cmp::Reverse;
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

use crate::config::Limits;
use crate::metrics::Metrics;
use crate::status::{Refusal, Status};

mod turns;

use turns::Turns;
pub(crate) use turns::{A_TURN, LITTLE, SHARE, Turn};

tokio::task_local! {
    /// The client whose connection or request the task serves.
    pub(crate) static CLIENT: Arc<Client>;
}

/// What every connection costs, in bytes: its task, its timers and its small buffers.
const CONNECTION: usize = 4 << 10;

/// How much of `limits.memory` is handed out. The allocator needs the rest for gaps and for reuse: under
/// `scripts/attack` it took twice what was handed out, and takes the more the faster connections come and go.
pub(crate) const fn handed_out(memory: usize) -> usize {
    memory / 8 * 3
}

/// The largest request that may use the last eighth of `limits.memory`, so that large requests do not shut out small
/// ones.
const SMALL: usize = 20 << 10;

/// How long a part must wait for its client before the connection may be closed to make room for others.
const STUCK: Duration = Duration::from_millis(250);

/// How long a connection must be idle before another one may take its place.
pub(crate) const IDLE: Duration = Duration::from_secs(1);

/// How long a request waits for memory.
pub(crate) const WAIT: Duration = Duration::from_secs(2);

/// How long it waits if there is no connection to close.
const WAIT_IN_VAIN: Duration = Duration::from_millis(50);

/// How much of a connection is read at once, before there is room for it.
pub(crate) const READ: usize = 16 << 10;

/// How many requests of one connection wait for memory at once. Others are refused without a wait.
const MOST_WAITING: usize = 4;

/// The same for the requests of all connections. What each has already read is not counted yet, so together they hold
/// at most a sixteenth of `limits.memory`.
const fn most_waiting_of_all(memory: usize) -> usize {
    memory / 16 / READ
}

/// How often connections are closed to make room for others.
const PAUSE: Duration = Duration::from_millis(20);

/// How many closing connections there may be besides the open ones.
const LEAVING: usize = 256;

/// How soon asking again makes sense.
const RETRY: Duration = Duration::from_secs(1);

/// See the module.
pub(crate) struct Clients {
    began: Instant,
    connections: usize,
    per_address: usize,
    per_token: usize,
    memory: usize,
    most_waiting: usize,
    /// The bytes that are held.
    used: AtomicUsize,
    /// How many wait for bytes, and what tells them that some are free.
    waiting: AtomicUsize,
    freed: Notify,
    crowd: Mutex<Crowd>,
    turns: Turns,
    metrics: Arc<Metrics>,
}

#[derive(Default)]
struct Crowd {
    last: u64,
    all: HashMap<u64, Arc<Client>>,
    /// How many of them have not been told to end.
    open: usize,
    /// The same, by address and by token.
    addresses: HashMap<Address, usize>,
    tokens: HashMap<Arc<str>, usize>,
    /// When connections were last closed to make room, in milliseconds.
    made_room: Option<u64>,
}

/// Where a connection comes from, to tell clients apart.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Address {
    /// A unix socket of this machine.
    Local,
    /// An address. Of IPv6, only the first 64 bits: one machine can have all addresses within them.
    Ip(IpAddr),
}

/// One connection.
pub(crate) struct Client {
    id: u64,
    clients: Arc<Clients>,
    address: Address,
    token: OnceLock<Arc<str>>,
    /// The bytes that are held for it.
    used: AtomicUsize,
    /// When it was last answered, in milliseconds.
    touched: AtomicU64,
    /// How many of its requests wait for memory.
    waiting: AtomicUsize,
    /// How many of its requests the server works on.
    at_work: AtomicUsize,
    /// What is held for it, and since when each part waits for the client. Part 0 is as old as the last answer.
    parts: Mutex<BTreeMap<u64, u64>>,
    last_part: AtomicU64,
    ended: AtomicBool,
    end: Notify,
}

/// A connection's place, from its beginning to its end.
pub(crate) struct Place(Arc<Client>);

/// Why a connection gets no place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NoPlace {
    /// All are taken, and none is idle.
    All,
    /// The client's address has its share, and none of it is idle.
    Address,
}

/// Bytes that are held for a client; free when it is dropped.
pub(crate) struct Held {
    client: Arc<Client>,
    part: u64,
    bytes: usize,
}

/// What an answer has been counted for already, until its client has read it.
#[derive(Clone)]
pub(crate) struct HeldMessage(#[expect(dead_code, reason = "it is dropped")] pub(crate) Arc<Held>);

/// There is no memory for a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Full {
    bytes: usize,
    limit: usize,
}

/// The server works on a request of the client.
pub(crate) struct AtWork<'c>(&'c Client);

impl Clients {
    /// `threads` serve the clients.
    pub(crate) fn new(limits: &Limits, threads: usize, metrics: Arc<Metrics>) -> Arc<Self> {
        let share = |set: Option<usize>| set.unwrap_or(limits.connections / 2).clamp(1, limits.connections);
        Arc::new(Self {
            began: Instant::now(),
            connections: limits.connections,
            per_address: share(limits.connections_per_address),
            per_token: share(limits.connections_per_token),
            memory: handed_out(limits.memory),
            most_waiting: most_waiting_of_all(limits.memory),
            used: AtomicUsize::new(0),
            waiting: AtomicUsize::new(0),
            freed: Notify::new(),
            crowd: Mutex::default(),
            turns: Turns::new(threads),
            metrics,
        })
    }

    fn now(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn crowd(&self) -> MutexGuard<'_, Crowd> {
        self.crowd.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Admits a connection. At a bound, it replaces an idle one.
    ///
    /// # Errors
    /// [`NoPlace`] where none is idle.
    pub(crate) fn admit(self: &Arc<Self>, address: Address) -> Result<Place, NoPlace> {
        self.admit_at(address, self.now())
    }

    fn admit_at(self: &Arc<Self>, address: Address, now: u64) -> Result<Place, NoPlace> {
        let mut crowd = self.crowd();
        if crowd.all.len() >= self.connections.saturating_add(LEAVING) {
            return Err(NoPlace::All);
        }
        if crowd.addresses.get(&address).is_some_and(|open| *open >= self.per_address) {
            let idle = crowd.idle_longest(now, |client| client.address == address);
            let idle = idle.ok_or(NoPlace::Address)?;
            self.close(&mut crowd, &idle);
        } else if crowd.open >= self.connections {
            let idle = crowd.idle_longest(now, |_| true);
            let idle = idle.ok_or(NoPlace::All)?;
            self.close(&mut crowd, &idle);
        }
        crowd.last += 1;
        let client = Arc::new(Client {
            id: crowd.last,
            clients: Arc::clone(self),
            address,
            token: OnceLock::new(),
            used: AtomicUsize::new(0),
            touched: AtomicU64::new(now),
            waiting: AtomicUsize::new(0),
            at_work: AtomicUsize::new(0),
            parts: Mutex::default(),
            last_part: AtomicU64::new(0),
            ended: AtomicBool::new(false),
            end: Notify::new(),
        });
        crowd.open += 1;
        *crowd.addresses.entry(address).or_default() += 1;
        crowd.all.insert(client.id, Arc::clone(&client));
        client.take(CONNECTION);
        Ok(Place(client))
    }

    /// Tells a connection to end. Its place is free at once.
    fn close(&self, crowd: &mut Crowd, client: &Client) {
        if !client.ended.swap(true, Ordering::AcqRel) {
            crowd.leave(client);
            self.metrics.closed_for_others.inc();
            client.end.notify_one();
        }
    }

    /// The part of the memory that a request of so many bytes may use.
    fn bound(&self, bytes: usize) -> usize {
        if bytes <= SMALL { self.memory } else { self.memory - self.memory / 8 }
    }

    /// Closes connections of clients that do not read or do not continue sending, until enough memory is free or
    /// about to be. Returns whether any is.
    fn make_room(&self, bytes: usize, asks: &Client) -> bool {
        let now = self.now();
        let mut crowd = self.crowd();
        let pause = u64::try_from(PAUSE.as_millis()).unwrap_or(u64::MAX);
        if crowd.made_room.is_some_and(|last| now.saturating_sub(last) < pause) {
            return true;
        }
        crowd.made_room = Some(now);
        let held = |client: &Client| client.used.load(Ordering::Relaxed);
        let missing = (self.used.load(Ordering::Relaxed) + bytes).saturating_sub(self.bound(bytes));
        let mut coming: usize =
            crowd.all.values().filter(|client| client.is_ended()).map(|client| held(client)).sum();
        let mut waiting: Vec<_> = crowd
            .all
            .values()
            .filter(|client| !client.is_ended() && client.id != asks.id)
            .filter_map(|client| Some((client.waits_since()?, Arc::clone(client))))
            .collect();
        waiting.sort_unstable_by_key(|(since, _)| *since);
        let in_sight = coming > 0 || !waiting.is_empty();
        let stuck = u64::try_from(STUCK.as_millis()).unwrap_or(u64::MAX);
        for (_, client) in waiting.iter().take_while(|(since, _)| now.saturating_sub(*since) >= stuck) {
            if coming >= missing {
                break;
            }
            coming += held(client);
            self.close(&mut crowd, client);
        }
        in_sight
    }
}

impl Crowd {
    /// The connection of those that has been idle longest, and for long enough. While the server is slow, those that wait
    /// for it look idle, too: whoever makes it slow has many connections, and loses one of them first.
    fn idle_longest(&self, now: u64, of: impl Fn(&Client) -> bool) -> Option<Arc<Client>> {
        let idle = u64::try_from(IDLE.as_millis()).unwrap_or(u64::MAX);
        self.all
            .values()
            .filter(|client| !client.is_ended() && client.at_work.load(Ordering::Acquire) == 0)
            .filter(|client| now.saturating_sub(client.touched.load(Ordering::Relaxed)) >= idle)
            .filter(|client| of(client))
            .min_by_key(|client| {
                let of_address = self.addresses.get(&client.address).copied();
                (Reverse(of_address), client.touched.load(Ordering::Relaxed), client.id)
            })
            .cloned()
    }

    /// A connection is open no more.
    fn leave(&mut self, client: &Client) {
        self.open -= 1;
        count_down(self.addresses.entry(client.address));
        if let Some(token) = client.token.get() {
            count_down(self.tokens.entry(Arc::clone(token)));
        }
    }
}

fn count_down<K>(entry: Entry<'_, K, usize>) {
    if let Entry::Occupied(mut entry) = entry {
        *entry.get_mut() -= 1;
        if *entry.get() == 0 {
            entry.remove();
        }
    }
}

impl Address {
    pub(crate) fn of(address: Option<IpAddr>) -> Self {
        match address.map(|address| address.to_canonical()) {
            None => Self::Local,
            Some(IpAddr::V6(address)) if !address.is_loopback() => {
                let network = u128::from(address) >> 64 << 64;
                Self::Ip(Ipv6Addr::from(network).into())
            }
            Some(address) => Self::Ip(address),
        }
    }
}

impl Place {
    pub(crate) fn client(&self) -> &Arc<Client> {
        &self.0
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let Self(client) = self;
        let mut crowd = client.clients.crowd();
        crowd.all.remove(&client.id);
        if !client.ended.swap(true, Ordering::AcqRel) {
            crowd.leave(client);
        }
        drop(crowd);
        client.release(CONNECTION);
    }
}

impl Client {
    fn is_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }

    /// Waits until the connection must end to make room for others.
    pub(crate) async fn has_to_end(&self) {
        while !self.is_ended() {
            self.end.notified().await;
        }
    }

    /// It has been answered.
    pub(crate) fn touch(&self) {
        self.touched.store(self.clients.now(), Ordering::Relaxed);
    }

    /// The server works on a request of it until that is dropped.
    pub(crate) fn at_work(&self) -> AtWork<'_> {
        self.at_work.fetch_add(1, Ordering::AcqRel);
        AtWork(self)
    }

    /// Notes that the client has shown a token.
    ///
    /// # Errors
    /// A [`Refusal`] if the token already has as many connections as it may, and none of them is idle.
    pub(crate) fn shows(&self, token: &str) -> Result<(), Refusal> {
        if self.token.get().is_some() {
            return Ok(());
        }
        let clients = &self.clients;
        let mut crowd = clients.crowd();
        if self.is_ended() {
            return Ok(());
        }
        if crowd.tokens.get(token).is_some_and(|open| *open >= clients.per_token) {
            let of = |client: &Client| client.token.get().is_some_and(|other| **other == *token);
            let Some(idle) = crowd.idle_longest(clients.now(), of) else {
                return Err(Refusal::for_now(
                    Status::Busy,
                    format!(
                        "the token `{token}` is shown on {} connections, and may be on no more (limits.connections_per_token): use them for several requests, or try again",
                        clients.per_token
                    ),
                    RETRY,
                ));
            };
            clients.close(&mut crowd, &idle);
        }
        let token: Arc<str> = token.into();
        if self.token.set(Arc::clone(&token)).is_ok() {
            *crowd.tokens.entry(token).or_default() += 1;
        }
        Ok(())
    }

    /// Since when the oldest of what is held has waited for the client.
    fn waits_since(&self) -> Option<u64> {
        let parts = self.parts.lock().unwrap_or_else(PoisonError::into_inner);
        parts
            .iter()
            .map(|(part, since)| if *part == 0 { self.touched.load(Ordering::Relaxed) } else { *since })
            .min()
    }

    fn take(&self, bytes: usize) {
        self.used.fetch_add(bytes, Ordering::Relaxed);
        self.clients.used.fetch_add(bytes, Ordering::AcqRel);
        self.clients.metrics.memory_held.inc_by(i64::try_from(bytes).unwrap_or(i64::MAX));
    }

    fn try_take(&self, bytes: usize) -> bool {
        let clients = &self.clients;
        let bound = clients.bound(bytes);
        let more = |used: usize| used.checked_add(bytes).filter(|used| *used <= bound);
        let taken = clients.used.fetch_update(Ordering::AcqRel, Ordering::Acquire, more).is_ok();
        if taken {
            self.used.fetch_add(bytes, Ordering::Relaxed);
            clients.metrics.memory_held.inc_by(i64::try_from(bytes).unwrap_or(i64::MAX));
        }
        taken
    }

    fn release(&self, bytes: usize) {
        let clients = &self.clients;
        self.used.fetch_sub(bytes, Ordering::Relaxed);
        clients.used.fetch_sub(bytes, Ordering::AcqRel);
        clients.metrics.memory_held.dec_by(i64::try_from(bytes).unwrap_or(i64::MAX));
        if clients.waiting.load(Ordering::Acquire) > 0 {
            clients.freed.notify_waiters();
        }
    }

    /// Waits a little for so many bytes.
    async fn take_soon(&self, bytes: usize) -> Result<(), Full> {
        let clients = &self.clients;
        let full = Full { bytes, limit: clients.bound(bytes) };
        if self.try_take(bytes) {
            return Ok(());
        }
        if bytes > full.limit {
            return Err(full);
        }
        struct Waiting<'c>(&'c Client);
        impl Drop for Waiting<'_> {
            fn drop(&mut self) {
                self.0.waiting.fetch_sub(1, Ordering::AcqRel);
                self.0.clients.waiting.fetch_sub(1, Ordering::AcqRel);
            }
        }
        let others = self.waiting.fetch_add(1, Ordering::AcqRel);
        let all = clients.waiting.fetch_add(1, Ordering::AcqRel);
        let _waiting = Waiting(self);
        if others >= MOST_WAITING || all >= clients.most_waiting {
            clients.make_room(bytes, self);
            return Err(full);
        }
        let begun = Instant::now();
        loop {
            let mut freed = std::pin::pin!(clients.freed.notified());
            freed.as_mut().enable();
            if self.try_take(bytes) {
                return Ok(());
            }
            let wait = if clients.make_room(bytes, self) { WAIT } else { WAIT_IN_VAIN };
            let now = Instant::now();
            if now >= begun + wait {
                return Err(full);
            }
            // Others become old enough meanwhile.
            let look_again = (now + STUCK / 4).min(begun + wait);
            let _ = timeout_at(look_again, freed).await;
        }
    }

    /// Nothing is held yet.
    pub(crate) fn nothing(self: &Arc<Self>) -> Held {
        Held { client: Arc::clone(self), part: self.last_part.fetch_add(1, Ordering::Relaxed) + 1, bytes: 0 }
    }

    /// Bytes that the connection costs until they are dropped. They wait for the client since the last answer.
    ///
    /// # Errors
    /// [`Full`].
    pub(crate) async fn hold_to_the_end(self: &Arc<Self>, bytes: usize) -> Result<Held, Full> {
        let mut held = Held { client: Arc::clone(self), part: 0, bytes: 0 };
        held.resize(bytes).await.map(|()| held)
    }

    /// Holds this many bytes. It may wait a little until other connections are closed.
    ///
    /// # Errors
    /// [`Full`].
    pub(crate) async fn hold(self: &Arc<Self>, bytes: usize) -> Result<Held, Full> {
        let mut held = self.nothing();
        held.resize(bytes).await.map(|()| held)
    }
}

impl Held {
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    fn note(&self, since: u64) {
        let mut parts = self.client.parts.lock().unwrap_or_else(PoisonError::into_inner);
        match self.bytes {
            0 => drop(parts.remove(&self.part)),
            _ => drop(parts.entry(self.part).or_insert(since)),
        }
    }

    fn shrink(&mut self, bytes: usize) {
        let less = self.bytes.saturating_sub(bytes);
        self.bytes -= less;
        self.client.release(less);
        if self.bytes == 0 {
            self.note(0);
        }
    }

    fn grown(&mut self, bytes: usize) {
        let begins = self.bytes == 0;
        self.bytes = bytes;
        if begins {
            self.note(self.client.clients.now());
        }
    }

    /// Holds this many bytes from now on. It may wait for them.
    ///
    /// # Errors
    /// [`Full`]; then as many are held as before.
    pub(crate) async fn resize(&mut self, bytes: usize) -> Result<(), Full> {
        if bytes > self.bytes {
            self.client.take_soon(bytes - self.bytes).await?;
            self.grown(bytes);
        } else if bytes < self.bytes {
            self.shrink(bytes);
        }
        Ok(())
    }

    /// Holds so many bytes more, if there is room at once.
    pub(crate) fn try_grow(&mut self, bytes: usize) -> bool {
        if bytes == 0 {
            return true;
        }
        let taken = self.client.try_take(bytes);
        match taken {
            true => self.grown(self.bytes + bytes),
            // Makes room for later requests.
            false => drop(self.client.clients.make_room(bytes, &self.client)),
        }
        taken
    }

    /// Counts bytes that exist already, even if there is no room.
    pub(crate) fn force(&mut self, bytes: usize) {
        if bytes > self.bytes {
            self.client.take(bytes - self.bytes);
            self.grown(bytes);
        } else if bytes < self.bytes {
            self.shrink(bytes);
        }
    }

    /// Notes that the client has taken a part, so that the wait for the rest begins now.
    pub(crate) fn goes_on(&self) {
        if self.bytes == 0 {
            return;
        }
        let mut parts = self.client.parts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(since) = parts.get_mut(&self.part) {
            *since = self.client.clients.now();
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if self.bytes > 0 {
            self.shrink(0);
        }
    }
}

impl Drop for AtWork<'_> {
    fn drop(&mut self) {
        self.0.at_work.fetch_sub(1, Ordering::AcqRel);
    }
}

impl From<Full> for Refusal {
    fn from(full: Full) -> Self {
        let Full { bytes, limit } = full;
        if bytes > limit {
            return Self::bad(format!(
                "the answer takes {bytes} bytes of memory until it is read, and this server has {limit} for that (limits.memory): ask for fewer IDs in one call, or for a stream"
            ));
        }
        Self::for_now(
            Status::Busy,
            "all the memory for unread answers is in use (limits.memory): ask again, or for fewer IDs",
            RETRY,
        )
    }
}

#[cfg(test)]
mod tests;
