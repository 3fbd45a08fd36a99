//! The ledger in a Redis or Valkey server, shared by as many machines as reach it.
//!
//! # What it promises
//! A record is a field of its realm's hash, and a script writes it only where it is still the one that was read. When `reserve`
//! returns `Got`, the range is in the append-only file and that file is flushed, so kill -9, a crash and a loss of power leave
//! it there. A reserve on a record that this process wrote last is one script and one round trip; the argument why that is
//! linearizable and durable stands beside the scripts, in `scripts.rs`, and the argument above them is that of
//! [`floe::store`]. A refused reserve writes nothing. Realms share the database and nothing else, and each write looks
//! whether its realm is still there: a `FLUSHALL` under a running ledger is noticed by the next one.
//!
//! # On what that depends
//! - **`appendonly yes`, `appendfsync always`, `no-appendfsync-on-rewrite no`.** Anything else, and a server that
//!   does not let floe look, is refused when a connection is made, unless the URL says `unsafe=allow`.
//! - **`maxmemory-policy` is `noeviction` or `volatile-*`.** The others remove records to make room, and are refused
//!   in the same way.
//! - **One master.** A replica is refused. Replication is asynchronous, and `WAIT` does not make it otherwise: after a
//!   failover to a replica that lacks the last writes, those ranges are handed out again, and no check can see it
//!   beforehand. Raise every mark after such a failover before anything is minted.
//! - **The settings stay as they were.** What somebody changes by `CONFIG SET` is seen on the next connection.
//!
//! # How it behaves
//! Whoever calls drives the connections, at most four; calls may come from any thread, an async runtime's included.
//! Each round trip, with connecting and waiting for a free connection, ends within `max_wait` (5 s unless the URL says
//! otherwise), and the call then says [`LedgerError::Unavailable`]. A connection on which anything went wrong is closed, and
//! so are the idle ones beside it; new ones are made at growing, jittered distances of at most half a second.
//! A process that forks opens its ledger again in the child.
//!
//! On a Redis Cluster it works on the node that holds the realm's slot (all keys of a realm share one), and is told
//! by any other node which one that is.
//!
//! [`LedgerError::Unavailable`]: floe::ledger::LedgerError::Unavailable

use std::ops::Range;

use floe::UnixMillis;
use floe::ledger::{Ledger, LedgerError, MAX_MARK};
use floe::store::{Counting, Entry, Put, Store, Stored, Taken, Version};
use redis::{FromRedisValue, RedisError, cmd};

use self::connect::Server;
use self::keys::{Keys, REALM, REALMS, ahead_of, place_of};
use self::scripts::{ANOTHER, LAYOUT, Script};
use self::url::Settings;
use crate::remote::{self, Remote, realm as words};
use crate::{DEFAULT_REALM, OpenError, Opening, realm_name};

mod checks;
mod connect;
mod keys;
mod layout;
mod scripts;
mod trouble;
mod url;

type Trouble = remote::Trouble<RedisError>;

/// What a script answers: texts, some of which may be missing.
type Texts = Vec<Option<String>>;

/// How many records one script reads, so that none keeps other clients waiting for long.
const PAGE: usize = 512;

/// A Redis or Valkey server that keeps a ledger's records. Threads may share the ledger on it; each process opens its own.
pub struct Redis {
    remote: Remote<Server>,
    /// The realm that was opened.
    realm: String,
    /// The server without credentials, for errors.
    shown: String,
}

impl Redis {
    /// Blocks while it opens the ledger behind a URL `redis://user:password@host:port/database?option=value`, or `rediss://…` for TLS, for
    /// the key space of those who name none.
    ///
    /// Options: `max_wait=5s`, `connect_timeout=3` (seconds), `unsafe=allow`, `password_file=FILE`, and for
    /// `rediss://` `sslmode` (`require`, `verify-ca`, `verify-full`; the last is the default) and `sslrootcert`
    /// (`FILE`, or `system`, the default). A password that the URL leaves out is taken from `REDISCLI_AUTH`, as
    /// Redis's own client does.
    ///
    /// # Errors
    /// `Asked` where the URL, the realm or a credential is not right; `Unavailable` where the server does not answer,
    /// or is a replica; `Unfit` where it is not fit to keep marks, or holds what no floe has written.
    pub fn open(url: &str) -> Result<Stored<Self>, OpenError> {
        Self::open_in(url, DEFAULT_REALM)
    }

    /// [`open`](Self::open) in the key space `realm`.
    ///
    /// # Errors
    /// Those of [`open`](Self::open).
    pub fn open_in(url: &str, realm: &str) -> Result<Stored<Self>, OpenError> {
        Self::enter(url, &Opening::of(realm))
    }

    fn enter(url: &str, opening: &Opening) -> Result<Stored<Self>, OpenError> {
        let realm = opening.realm().to_owned();
        realm_name(&realm)?;
        let settings = Settings::parse(url, &|variable| std::env::var(variable).ok())?;
        let shown = settings.shown.clone();
        let remote = Remote::open("floe-redis", Server::new(settings, Keys::of(&realm))?, opening)?;
        let redis = Self { remote, realm, shown };
        let place = remote::stored::enter(&redis, opening)?;
        Ok(Stored::new(redis, place))
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

    /// Runs a script that writes, unless the realm has another layout than this floe's.
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

    /// What the script says that compares and swaps.
    fn swap(&self, realm: &str, text: &str, arguments: &[&str]) -> Result<Put, LedgerError> {
        let answer = self.write(&scripts::PUT, realm, arguments)?;
        Ok(match answer.first() {
            Some(Some(word)) if word == "done" => Put::Done(Version::new(text)),
            Some(Some(word)) if word == ANOTHER => {
                return Err(words::is_another(&self.shown));
            }
            _ => Put::Found(answer.get(1).and_then(Option::as_deref).map(entry)),
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

    /// The realms of this database. On a cluster the list of them is likely another node's, and who may read one realm
    /// alone is told of no other.
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

    /// Lists a realm that is about to be made, so that there is none that is not listed.
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

/// The version of a record is its text.
fn entry(text: &str) -> Entry {
    Entry { version: Version::new(text), text: text.to_owned() }
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
                Ok(text.as_deref().map(entry))
            }
            // What is in another realm is that realm's trouble.
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

    /// Of the realms the names alone are told; other lists are those of one realm.
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
        // The byte 255 is in no text, so no field that begins with this is as great.
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
                // What somebody removed is no record.
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
        let Some(highest) = MAX_MARK.checked_sub(count).filter(|highest| floor <= *highest) else {
            return Ok(Taken::Left(None));
        };
        let (realm, ahead) = ahead_of(left);
        let [floor, count, highest] = [floor, count, highest.min(max_mark)].map(|number| number.to_string());
        let answer = self.write(&scripts::TAKE, realm, &[&ahead, &floor, &count, &highest])?;
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
        expected: Option<&Version>,
        left: &str,
        new: Range<u64>,
    ) -> Result<Put, LedgerError> {
        // A count makes no record.
        let Some(expected) = expected else { return Ok(Put::Conflict) };
        let ((realm, field), (_, ahead)) = (place_of(key), ahead_of(left));
        let (start, end) = (new.start.to_string(), new.end.to_string());
        self.swap(realm, text, &[&field, text, expected.as_str(), &ahead, &start, &end])
    }

    fn skip(&self, left: &str, at_least: u64) -> Result<(), LedgerError> {
        let (realm, ahead) = ahead_of(left);
        self.write(&scripts::SKIP, realm, &[&ahead, &at_least.to_string()]).map(drop)
    }
}

/// A field as `ZRANGEBYLEX` takes it.
fn bound(kind: u8, field: &str) -> Vec<u8> {
    [&[kind], field.as_bytes()].concat()
}

/// Opens a URL.
pub(crate) fn open_url(url: &str, opening: &Opening) -> Result<Box<dyn Ledger>, OpenError> {
    Ok(Box::new(Redis::enter(url, opening)?))
}

/// Whether a URL can be read, options included. Nobody is connected to.
pub(crate) fn check_url(url: &str) -> Result<(), OpenError> {
    Settings::parse(url, &|variable| std::env::var(variable).ok()).map(drop)
}

#[cfg(test)]
mod tests;
