//! The ledger in a Redis or Valkey server, shared by all machines that reach it.
//!
//! # What it promises
//! A record is a field of its realm's hash, and a script writes it only if it is still the one that was read. When
//! `reserve` returns `Got`, the range is in the append-only file and that file is flushed, so it survives kill -9, a
//! crash and a loss of power. A reserve on a record that this process wrote last is one script and one round trip.
//! `scripts.rs` has the argument why that is linearizable and durable, and [`floe::store`] the argument above it. A
//! refused reserve writes nothing. Realms share only the database. Each write checks that its realm still exists: after
//! a `FLUSHALL` under a running ledger, the next write notices it.
//!
//! # On what that depends
//! - **`appendonly yes`, `appendfsync always`, `no-appendfsync-on-rewrite no`.** Every new connection checks this. It
//!   refuses anything else, and a server that does not let floe look, unless the URL says `unsafe=allow`.
//! - **`maxmemory-policy` is `noeviction` or `volatile-*`.** The others delete records to free memory, and are refused
//!   in the same way.
//! - **One master.** A replica is refused. Replication is asynchronous, and `WAIT` does not change that. After a
//!   failover to a replica that lacks the last writes, those ranges are handed out again, and no check can see it
//!   beforehand. After such a failover raise every mark before anything is minted.
//! - **The settings stay as they were.** The next connection notices a change by `CONFIG SET`.
//!
//! # How it behaves
//! The caller drives the connections, at most four. Calls may come from any thread, including threads of an async
//! runtime. Each round trip, with connecting and waiting for a free connection, ends within `max_wait` (5 s unless the
//! URL says otherwise), and otherwise the call returns [`LedgerError::Unavailable`]. After any error on a connection,
//! it is closed with the idle ones beside it. New ones are made after growing, jittered pauses of at most half a
//! second. A process that forks opens its ledger again in the child.
//!
//! On a Redis Cluster it uses the node that holds the realm's slot (all keys of a realm share one). Any other node
//! tells it which node that is.
//!
//! [`LedgerError::Unavailable`]: floe::ledger::LedgerError::Unavailable

use std::ops::Range;

use floe::UnixMillis;
use floe::ledger::LedgerError;
use floe::store::{Counting, Entry, Put, Store, Stored, Taken, Version};
use redis::{FromRedisValue, RedisError, cmd};

use self::connect::Server;
use self::keys::{Keys, REALM, REALMS, ahead_of, place_of};
use self::scripts::{ANOTHER, LAYOUT, Script};
use self::url::Settings;
use crate::options::environment;
use crate::remote::{self, Remote, realm as words, stored};
use crate::{DEFAULT_REALM, OpenError, Opening};

mod checks;
mod connect;
mod keys;
mod layout;
mod link;
mod scripts;
mod trouble;
mod url;

type Trouble = remote::Trouble<RedisError>;

/// The answer of a script: texts, some possibly missing.
type Texts = Vec<Option<String>>;

/// How many records one script reads, so that none makes other clients wait for long.
const PAGE: usize = 512;

/// A Redis or Valkey server that keeps a ledger's records. Threads may share the ledger on it; each process opens its own.
///
/// ```no_run
/// use floe::Floe;
/// use floe_ledger::Redis;
///
/// let url = "rediss://floe@redis.example:6380?password_file=/run/secrets/ids";
/// let orders = Floe::open(Redis::open(url)?)?.counter("orders")?;
/// let staging = Floe::open(Redis::open_in(url, "staging")?)?.counter("orders")?; // it counts by itself
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Redis {
    remote: Remote<Server>,
    /// The realm of this ledger.
    realm: String,
    /// The server without credentials, for errors.
    shown: String,
}

impl Redis {
    /// Blocks while it opens the ledger behind a URL `redis://user:password@host:port/database?option=value`, or
    /// `rediss://…` for TLS, in the default realm.
    ///
    /// Options: `max_wait=5s`, `connect_timeout=3` (seconds), `unsafe=allow`, `password_file=FILE`, and for `rediss://`
    /// `sslmode` (`require`, `verify-ca`, `verify-full`; the last is the default) and `sslrootcert` (`FILE`, or
    /// `system`, the default). If the URL has no password, it comes from `REDISCLI_AUTH`, as in Redis's own client.
    ///
    /// [`Redis`] has an example.
    ///
    /// # Errors
    /// `Asked` if the URL, the realm or a credential is wrong; `Unavailable` if the server does not answer, or is a
    /// replica; `Unfit` if it is not fit to keep marks, or holds something that no floe has written.
    pub fn open(url: &str) -> Result<Stored<Self>, OpenError> {
        Self::open_in(url, DEFAULT_REALM)
    }

    /// [`open`](Self::open) in the realm `realm`. [`Redis`] has an example.
    ///
    /// # Errors
    /// Those of [`open`](Self::open).
    pub fn open_in(url: &str, realm: &str) -> Result<Stored<Self>, OpenError> {
        open_url(url, &Opening::of(realm))
    }

    /// Runs a script on a realm.
    fn run<T: FromRedisValue + Send + 'static>(
        &self,
        script: &'static Script,
        keys: Keys,
        arguments: Vec<Vec<u8>>,
    ) -> Result<T, LedgerError> {
        self.remote.call(move |link| {
            Box::pin(async move {
                let arguments: Vec<&[u8]> = arguments.iter().map(Vec::as_slice).collect();
                link.evaluate(script, &[&keys.records, &keys.fields], &arguments).await
            })
        })
    }

    /// Runs a script that writes, unless the realm's layout is not the one of this floe.
    fn write(&self, script: &'static Script, realm: &str, arguments: &[&str]) -> Result<Texts, LedgerError> {
        let keys = Keys::of(realm);
        let arguments = arguments.iter().map(|text| text.as_bytes().to_vec()).collect();
        let answer: Texts = self.run(script, keys.clone(), arguments)?;
        match answer.first() {
            Some(Some(word)) if word == LAYOUT => {
                Err(self.is_not_there(&keys, realm, answer.get(1).and_then(Option::as_deref)))
            }
            _ => Ok(answer),
        }
    }

    /// The result of the script that compares and swaps.
    fn swap(&self, realm: &str, text: &str, arguments: &[&str]) -> Result<Put, LedgerError> {
        let answer = self.write(&scripts::PUT, realm, arguments)?;
        Ok(match answer.first() {
            Some(Some(word)) if word == "done" => Put::Done(Version::new(text)),
            Some(Some(word)) if word == ANOTHER => {
                return Err(words::is_another(&self.shown));
            }
            _ => Put::Found(answer.get(1).and_then(Option::as_deref).map(stored::entry)),
        })
    }

    /// Why a realm cannot be written or read.
    fn is_not_there(&self, keys: &Keys, realm: &str, version: Option<&str>) -> LedgerError {
        match version {
            None => words::is_gone(&self.shown, &format!("the realm {realm}")),
            Some(version) => match layout::known(Some(version), keys, &self.shown) {
                Err(error) => error,
                Ok(older) => LedgerError::Unfit(format!(
                    "the realm {realm} at {} has the keys of an older floe (version {older}). If an older floe has \
                     just made it, start again; if it had newer keys before, stop, restore the right one, and {}",
                    self.shown,
                    words::RAISE
                )),
            },
        }
    }

    /// The realms of this database. On a cluster their list is likely on another node. A user that may read only one
    /// realm is told of no other.
    fn realms(&self) -> Result<Vec<String>, LedgerError> {
        self.remote.call(|link| {
            Box::pin(async move {
                if link.is_in_a_cluster {
                    return Ok(Vec::new());
                }
                match link.ask(cmd("SMEMBERS").arg(REALMS)).await {
                    Err(error) if trouble::is_denied(&trouble::cause(&error)) => Ok(Vec::new()),
                    found => found.map_err(Trouble::Store),
                }
            })
        })
    }

    /// Lists a realm before it is made, so that every realm is listed.
    fn note_realm(&self, realm: &str) -> Result<(), LedgerError> {
        let realm = realm.to_owned();
        self.remote.call(move |link| {
            Box::pin(async move {
                match link.is_in_a_cluster {
                    true => Ok(()),
                    false => link.ask(cmd("SADD").arg(REALMS).arg(&realm)).await.map_err(Trouble::Store),
                }
            })
        })
    }
}

impl Store for Redis {
    fn get(&self, key: &str) -> Result<Option<Entry>, LedgerError> {
        let (realm, field) = place_of(key);
        let (keys, is_of_realm) = (Keys::of(realm), field == REALM);
        let records = keys.records.clone();
        let found: (Option<String>, Option<String>) = self.remote.call(move |link| {
            Box::pin(async move {
                link.ask(cmd("HMGET").arg(&records).arg("version").arg(&field)).await.map_err(Trouble::Store)
            })
        })?;
        match found {
            (Some(version), text) if version == scripts::VERSION.to_string() => {
                Ok(text.as_deref().map(stored::entry))
            }
            // A record in another realm is that realm's problem.
            (None, _) if is_of_realm => Ok(None),
            _ if realm != self.realm => Ok(None),
            (version, _) => Err(self.is_not_there(&keys, realm, version.as_deref())),
        }
    }

    fn put(&self, key: &str, text: &str, expected: Option<&Version>) -> Result<Put, LedgerError> {
        let (realm, field) = place_of(key);
        if field == REALM && expected.is_none() {
            self.note_realm(realm)?;
        }
        let arguments = [Some(field.as_str()), Some(text), expected.map(Version::as_str)];
        self.swap(realm, text, &arguments.into_iter().flatten().collect::<Vec<_>>())
    }

    /// Of realms, this lists only the names. Other lists are those of one realm.
    fn list(&self, prefix: &str, after: &str, limit: usize) -> Result<Vec<(String, String)>, LedgerError> {
        if let Some(start) = prefix.strip_prefix("realm/") {
            let mut realms = self.realms()?;
            realms.retain(|realm| realm.starts_with(start));
            let mut realms: Vec<_> =
                realms.iter().map(|realm| (format!("realm/{realm}"), String::new())).collect();
            realms.retain(|(key, _)| key.as_str() > after);
            realms.sort();
            realms.truncate(limit);
            return Ok(realms);
        }
        let (realm, start) = place_of(prefix);
        let keys = Keys::of(realm);
        let mut from = match after {
            after if after >= prefix => bound(b'(', &place_of(after).1),
            _ => bound(b'[', &start),
        };
        // No text contains the byte 255, so every field with this prefix is below it.
        let to = [b"[", start.as_bytes(), &[255]].concat();
        let mut all = Vec::new();
        while all.len() < limit {
            let wanted = PAGE.min(limit - all.len());
            let arguments = vec![from, to.clone(), wanted.to_string().into_bytes()];
            let answer: Texts = self.run(&scripts::LIST, keys.clone(), arguments)?;
            let Some([Some(last), _]) = answer.last_chunk() else { break };
            from = bound(b'(', last);
            let is_last = answer.len() < 2 * wanted;
            for pair in answer.chunks_exact(2) {
                // A deleted record is left out.
                if let [Some(field), Some(text)] = pair
                    && let Some((sort, rest)) = field.split_once('/')
                {
                    all.push((format!("{sort}/{realm}/{rest}"), text.clone()));
                }
            }
            if is_last {
                break;
            }
        }
        Ok(all)
    }

    fn counting(&self) -> Option<&dyn Counting> {
        Some(self)
    }

    fn settle(&self) -> Result<(), LedgerError> {
        self.write(&scripts::SETTLE, &self.realm, &["settled", &stored::settled()?]).map(drop)
    }

    fn time(&self) -> Result<Option<UnixMillis>, LedgerError> {
        self.remote.call(|link| {
            Box::pin(async move {
                let (seconds, micros): (i64, i64) = link.ask(&cmd("TIME")).await.map_err(Trouble::Store)?;
                let millis = seconds.checked_mul(1_000).and_then(|millis| millis.checked_add(micros / 1_000));
                let millis = millis.ok_or_else(|| {
                    LedgerError::Unavailable(format!("the clock of Redis says {seconds} s: set it right"))
                })?;
                Ok(Some(UnixMillis::new(millis)))
            })
        })
    }

    fn describe(&self) -> String {
        self.remote.describe()
    }
}

impl Counting for Redis {
    fn take(&self, left: &str, floor: u64, count: u64, max_mark: u64) -> Result<Taken, LedgerError> {
        let (realm, ahead) = ahead_of(left);
        let [floor, count, max_mark] = [floor, count, max_mark].map(|number| number.to_string());
        let answer = self.write(&scripts::TAKE, realm, &[&ahead, &floor, &count, &max_mark])?;
        let number = |index: usize| answer.get(index)?.as_deref()?.parse().ok();
        match (answer.first().and_then(Option::as_deref), number(1), number(2)) {
            (Some("taken"), Some(previous), Some(end)) => Ok(Taken::Numbers { previous, end }),
            (_, Some(used), Some(end)) => Ok(Taken::Left(Some(used..end))),
            _ => Ok(Taken::Left(None)),
        }
    }

    fn put_ahead(
        &self,
        key: &str,
        text: &str,
        expected: &Version,
        left: &str,
        new: Range<u64>,
    ) -> Result<Put, LedgerError> {
        let ((realm, field), (_, ahead)) = (place_of(key), ahead_of(left));
        let (start, end) = (new.start.to_string(), new.end.to_string());
        self.swap(realm, text, &[&field, text, expected.as_str(), &ahead, &start, &end])
    }

    fn skip(&self, left: &str, at_least: u64) -> Result<(), LedgerError> {
        let (realm, ahead) = ahead_of(left);
        self.write(&scripts::SKIP, realm, &[&ahead, &at_least.to_string()]).map(drop)
    }
}

/// A field in the form that `ZRANGEBYLEX` takes.
fn bound(kind: u8, field: &str) -> Vec<u8> {
    [&[kind], field.as_bytes()].concat()
}

/// Opens a URL.
pub(crate) fn open_url(url: &str, opening: &Opening) -> Result<Stored<Redis>, OpenError> {
    let realm = opening.realm().to_owned();
    let settings = Settings::parse(url, &environment)?;
    let shown = settings.reach.shown.clone();
    let remote = Remote::open("floe-redis", Server::new(settings, Keys::of(&realm))?, opening)?;
    stored::open(Redis { remote, realm, shown }, opening)
}

/// Whether a URL can be read, options included. It makes no connection.
pub(crate) fn check_url(url: &str) -> Result<(), OpenError> {
    Settings::parse(url, &environment).map(drop)
}

#[cfg(test)]
mod tests;
