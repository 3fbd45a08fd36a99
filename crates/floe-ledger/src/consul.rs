//! The ledger in the KV store of a Consul cluster, shared by as many machines as reach it.
//!
//! # What it promises
//! A record is a key, and each write of it is one transaction, with two conditions: the key's `ModifyIndex` is still the
//! one that was read, and so is the random number of its last write. A transaction that writes is an entry of the Raft
//! log. Consul answers it after a majority of the servers has flushed it and the leader has applied it. Reads are
//! `consistent`: the leader makes sure that it still leads before it reads. So when `reserve` returns `Got`, the range is
//! on stable storage, and no other caller gets it; [`floe::store`] has the argument. A reserve on a record that this
//! process wrote last is one request.
//!
//! The number is the name of a second key, which each write replaces. `ModifyIndex` alone would not do: a new cluster
//! that is restored from a snapshot counts from the snapshot's on, so another write may come to have the index that was
//! seen. The record's `Flags` say which number it is.
//!
//! # On what that depends
//! - **The servers keep their log on disk**: no `consul agent -dev`. An agent that says so is refused when a connection is
//!   made. An agent that forwards to such servers does not say so.
//! - **One datacenter.** Consul does not replicate keys between datacenters: each has a ledger of its own.
//! - **A cluster that goes back** (a lost disk, a snapshot in a new cluster) is noticed by a running floe that writes,
//!   since the index of its write is not above every index that it has seen. It then returns [`LedgerError::Unfit`].
//!   Another floe does not notice: raise the marks first.
//!
//! # How it behaves
//! The caller drives the connections, at most four. Each call ends within `max_wait` (5 s unless the URL says
//! otherwise), and otherwise returns [`LedgerError::Unavailable`]. After any error on a connection, it is closed, and
//! the next one goes to the next agent of the URL. A list takes one request for the names of all keys below its prefix,
//! and one for each 64 records. Calls may come from any thread, including threads of an async runtime.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use floe::ledger::LedgerError;
use floe::store::{Entry, Put, Store, Stored, Version};
use serde_json::json;

use self::link::{Agents, Kv};
use self::url::Settings;
use crate::options::environment;
use crate::remote::{Remote, realm, stored};
use crate::{OpenError, Opening};

mod link;
mod url;

/// How many records of a list one request reads. Consul takes 128 operations, and 64 of the longest records stay below
/// the longest answer.
const AT_ONCE: usize = 64;

/// The KV store of a cluster.
pub(crate) struct Consul {
    remote: Remote<Agents>,
    settings: Arc<Settings>,
    /// The highest `ModifyIndex` that the cluster has shown.
    seen: AtomicU64,
}

/// Opens a URL.
pub(crate) fn open_url(url: &str, opening: &Opening) -> Result<Stored<Consul>, OpenError> {
    let settings = Arc::new(Settings::parse(url, &environment)?);
    let realm = settings.name_of(&format!("realm/{}", opening.realm()));
    let agents = Agents { settings: Arc::clone(&settings), realm };
    let remote = Remote::open("floe-consul", agents, opening)?;
    stored::open(Consul { remote, settings, seen: AtomicU64::new(0) }, opening)
}

/// Whether a URL can be read, including its files. It makes no connection.
pub(crate) fn check_url(url: &str) -> Result<(), OpenError> {
    Settings::parse(url, &environment).map(drop)
}

impl Consul {
    /// The records under these keys, each `None` if there is none.
    fn read(&self, keys: &[String]) -> Result<Vec<Option<Entry>>, LedgerError> {
        let looks = keys.iter().map(|key| link::look(&self.settings.name_of(key))).collect();
        let found = self.remote.call(|link| Box::pin(link.transact(looks)))?;
        let found = found.ok_or_else(|| {
            LedgerError::Unavailable(format!(
                "{} refuses a read as a conflict",
                self.settings.agents.reach.shown
            ))
        })?;
        found.into_iter().map(|kv| self.entry(kv)).collect()
    }

    fn entry(&self, kv: Kv) -> Result<Option<Entry>, LedgerError> {
        if kv.modify_index == 0 {
            return Ok(None);
        }
        self.seen.fetch_max(kv.modify_index, Ordering::AcqRel);
        let text = kv.text().ok_or_else(|| {
            realm::is_damaged(
                &self.settings.agents.reach.shown,
                &format!("a value that is not text ({})", kv.key),
            )
        })?;
        Ok(Some(Entry { version: version(kv.modify_index, kv.flags), text }))
    }
}

/// The index and the number of a write.
fn version(index: u64, number: u64) -> Version {
    Version::new(&format!("{index} {number}"))
}

fn numbers(version: &Version) -> Option<(u64, u64)> {
    let (index, number) = version.as_str().split_once(' ')?;
    Some((index.parse().ok()?, number.parse().ok()?))
}

impl Store for Consul {
    fn get(&self, key: &str) -> Result<Option<Entry>, LedgerError> {
        Ok(self.read(&[key.to_owned()])?.pop().flatten())
    }

    fn put(&self, key: &str, text: &str, expected: Option<&Version>) -> Result<Put, LedgerError> {
        let (index, last) = expected.and_then(numbers).unwrap_or_default();
        // Consul's own page shows it, and reads numbers of more than 53 bits wrong.
        let drawn = getrandom::u64().map_err(|error| {
            LedgerError::Unavailable(format!("the operating system gives no random numbers ({error})"))
        })?;
        let number = (drawn >> 11).max(1);
        let witness = |number| self.settings.name_of(&format!("last/{key}/{number}"));
        let mut steps = Vec::new();
        // A record that somebody has put there by hand has no number.
        if last > 0 {
            steps.push(json!({ "KV": { "Verb": "get", "Key": witness(last) } }));
            steps.push(json!({ "KV": { "Verb": "delete", "Key": witness(last) } }));
        }
        steps.push(json!({ "KV": { "Verb": "set", "Key": witness(number), "Value": "" } }));
        steps.push(json!({ "KV": {
            "Verb": "cas", "Key": self.settings.name_of(key), "Index": index, "Flags": number, "Value": link::encoded(text),
        } }));
        let before = self.seen.load(Ordering::Acquire);
        let Some(done) = self.remote.call(|link| Box::pin(link.transact(steps)))? else {
            return Ok(Put::Conflict);
        };
        let index = done.last().map_or(0, |kv| kv.modify_index);
        if index <= before {
            return Err(LedgerError::Unfit(format!(
                "{} is at index {index}, and was at {before} before: it lost writes, or a snapshot was restored in a new \
                 cluster. Stop every floe, and {}",
                self.settings.agents.reach.shown,
                realm::RAISE
            )));
        }
        self.seen.fetch_max(index, Ordering::AcqRel);
        Ok(Put::Done(version(index, number)))
    }

    fn list(&self, prefix: &str, after: &str, limit: usize) -> Result<Vec<(String, String)>, LedgerError> {
        let (settings, below) = (Arc::clone(&self.settings), self.settings.name_of(prefix));
        let is_of_realms = prefix == "realm/";
        let names =
            self.remote.call(move |link| Box::pin(async move { link.names(&below, is_of_realms).await }))?;
        let mut keys: Vec<String> = names.iter().filter_map(|name| settings.key_of(name)).collect();
        keys.retain(|key| key.starts_with(prefix) && key.as_str() > after);
        keys.sort_unstable();
        let (mut all, mut keys) = (Vec::new(), keys.into_iter().peekable());
        while all.len() < limit && keys.peek().is_some() {
            let lot: Vec<String> = keys.by_ref().take(AT_ONCE.min(limit - all.len())).collect();
            let found = self.read(&lot)?;
            // Leaves out keys that were deleted since.
            all.extend(lot.into_iter().zip(found).filter_map(|(key, entry)| Some((key, entry?.text))));
        }
        Ok(all)
    }

    fn describe(&self) -> String {
        self.remote.describe()
    }
}

#[cfg(test)]
mod tests;
