//! A session in a realm, and what the sessions of one ledger know together.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};

use floe::ledger::{LedgerError, Mark};
use tokio::sync::{Mutex, OwnedMutexGuard};

use super::Trouble;
use super::jute::{Access, Reply, Request, Stat, code};
use super::layout::{self, BUCKETS, Layout, Place};
use super::session::Session;
use super::trouble::Error;
use crate::remote::realm as words;

/// How many records of one bucket are remembered; beyond that they are forgotten, and read again.
const REMEMBERED: usize = 64;

/// A session, and what it owes to the others of its ledger.
pub(super) struct Line {
    pub(super) session: Session,
    pub(super) known: Arc<Known>,
    /// For the nodes that are made.
    pub(super) access: Access,
    /// The ensemble without credentials.
    pub(super) shown: Arc<str>,
}

/// A session in a realm.
pub(super) struct Link {
    pub(super) line: Line,
    /// See [`Known::births`].
    pub(super) birth: u64,
    pub(super) realm: Arc<str>,
    pub(super) layout: Layout,
}

/// What the sessions of one ledger know together.
pub(super) struct Known {
    /// The last transaction that any answer has told of.
    zxid: AtomicI64,
    /// How many sessions there have been. A session's birth is its number, taken once it stood.
    births: AtomicU64,
    /// The records of each bucket as they were last written here. Changes of one bucket take turns, in the order in
    /// which they came: a conflict costs a round trip, and within one process there need be none.
    records: Vec<Arc<Mutex<Records>>>,
    /// Which buckets are there.
    pub(super) marks: Buckets,
    pub(super) made: Buckets,
    pub(super) definitions: Buckets,
}

/// As long as a call has it, no other changes a record of this bucket.
pub(super) type Turn = OwnedMutexGuard<Records>;

/// Which buckets of a directory are known to be there.
pub(super) struct Buckets(Vec<AtomicBool>);

/// The records of one bucket as they were last written here.
#[derive(Default)]
pub(super) struct Records(HashMap<String, (Seen, u64)>);

/// A record and the state of its node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Seen {
    pub(super) record: Mark,
    pub(super) version: i32,
    /// The transaction that made the node.
    pub(super) made: i64,
}

/// What became of a write.
pub(super) enum Put {
    /// The record as it was written, and its node where that is known.
    Done(Option<Seen>),
    /// The record is another one, this one, read after the write had failed.
    Lost(Option<Seen>),
    /// There is no record, although it was made.
    Eaten,
}

impl Default for Known {
    fn default() -> Self {
        let buckets = || Buckets((0..BUCKETS).map(|_| AtomicBool::default()).collect());
        Self {
            zxid: AtomicI64::new(0),
            births: AtomicU64::new(0),
            records: (0..BUCKETS).map(|_| Arc::default()).collect(),
            marks: buckets(),
            made: buckets(),
            definitions: buckets(),
        }
    }
}

impl Known {
    /// The turn of a call that changes a record of a bucket. There is always such a bucket.
    pub(super) fn turn(&self, bucket: usize) -> impl Future<Output = Turn> + Send + 'static {
        let records = self.records.get(bucket).map(Arc::clone).unwrap_or_default();
        records.lock_owned()
    }

    /// The birth of a session that stands.
    pub(super) fn is_born(&self) -> u64 {
        self.births.fetch_add(1, Ordering::SeqCst) + 1
    }

    /// Everyone born so far stands now.
    pub(super) fn births(&self) -> u64 {
        self.births.load(Ordering::SeqCst)
    }
}

impl Records {
    /// Takes out what was last written, where `link` stood already when that was asked for; see `change.rs` for why
    /// it is worth nothing otherwise.
    pub(super) fn take(&mut self, key: &str, link: &Link) -> Option<Seen> {
        self.0.remove(key).filter(|(_, stood)| *stood >= link.birth).map(|(seen, _)| seen)
    }

    /// Remembers what was written when everyone up to the birth `stood` stood.
    pub(super) fn remember(&mut self, key: &str, seen: Seen, stood: u64) {
        if self.0.len() >= REMEMBERED {
            self.0.clear();
        }
        self.0.insert(key.to_owned(), (seen, stood));
    }
}

impl Buckets {
    pub(super) fn has(&self, place: &Place) -> bool {
        self.0.get(place.bucket).is_some_and(|is_there| is_there.load(Ordering::Relaxed))
    }

    pub(super) fn set(&self, place: &Place, to: bool) {
        if let Some(is_there) = self.0.get(place.bucket) {
            is_there.store(to, Ordering::Relaxed);
        }
    }
}

impl Line {
    /// Asks for writes, or for reads of which the first request is a write.
    ///
    /// # Errors
    /// `Unfit` where the ensemble has forgotten what it once said: a write is agreed on by a quorum, so its number is
    /// above every number of which anybody had heard when it was sent.
    pub(super) async fn settle(&mut self, requests: &[Request<'_>]) -> Result<Vec<Reply>, Trouble> {
        let heard = self.known.zxid.load(Ordering::SeqCst);
        let replies = self.session.ask(requests).await.map_err(Trouble::Store)?;
        if replies.first().is_none_or(|reply| reply.zxid < heard) {
            return Err(LedgerError::Unfit(format!(
                "{} has lost transactions that it had reported before (it is at {:#x} and was at {heard:#x}): it was restored \
                 from an older backup, or lost its disks. {}, then start floe again",
                self.shown,
                replies.first().map_or(0, |reply| reply.zxid),
                capitalised(words::RAISE)
            ))
            .into());
        }
        if let Some(last) = replies.last() {
            self.known.zxid.fetch_max(last.zxid, Ordering::SeqCst);
        }
        Ok(replies)
    }
}

impl Link {
    /// A write that changes nothing: what is read behind it is what was there when it was agreed on, or later.
    pub(super) fn barrier(root: &str) -> Request<'_> {
        Request::All(vec![Request::Exists { path: root }])
    }

    /// # Errors
    /// `Unfit` where the realm is gone.
    pub(super) fn passed(&self, barrier: Option<&Reply>) -> Result<(), Trouble> {
        match barrier.map(Reply::outcome).transpose().map_err(Trouble::Store)? {
            Some(Ok(_)) => Ok(()),
            Some(Err((_, code::NO_NODE))) => Err(self.is_gone()),
            Some(Err((_, code))) => Err(Trouble::Store(Error::Code(code))),
            None => Err(Trouble::Store(Error::Garbled("no reply"))),
        }
    }

    /// The record as it is now, whichever server is asked.
    pub(super) async fn read(&mut self, place: &Place) -> Result<Option<Seen>, Trouble> {
        let root = self.layout.root.clone();
        let replies = self.line.settle(&[Self::barrier(&root), Request::Read { path: &place.path }]).await?;
        self.passed(replies.first())?;
        self.seen(replies.last(), &place.path)
    }

    /// Writes a record where it still is what was `seen`, and reads it where it is not. A record is made together with
    /// its node among those that were `made`, which stays: where that one is there, it is not made again.
    pub(super) async fn put(
        &mut self,
        place: &Place,
        made: &Place,
        seen: Option<&Seen>,
        record: &Mark,
    ) -> Result<Put, Trouble> {
        let text = layout::record_text(record);
        let (path, data) = (place.path.as_str(), text.as_bytes());
        let read = Request::Read { path };
        let Some(seen) = seen else {
            let access = self.line.access;
            let list = Request::Create { path: &made.path, data: b"", access };
            let create = Request::All(vec![list, Request::Create { path, data, access }]);
            let known = Arc::clone(&self.line.known);
            let buckets = [(&known.made, made), (&known.marks, place)];
            let replies = self.with_buckets(&buckets, create, read).await?;
            let [create, read] = both(&replies)?;
            return match create.outcome().map_err(Trouble::Store)? {
                // The answer tells nothing of the node. Where nobody has written since, the read behind it does.
                Ok(_) => Ok(Put::Done(self.seen(Some(read), path)?.filter(|seen| seen.record == *record))),
                Err((at, code::NODE_EXISTS)) => Ok(match self.seen(Some(read), path)? {
                    None if at == 0 => Put::Eaten,
                    found => Put::Lost(found),
                }),
                // Somebody has removed a bucket, or the realm: the next round finds out.
                Err((at, code::NO_NODE)) => {
                    if let Some((buckets, place)) = buckets.get(at) {
                        buckets.set(place, false);
                    }
                    Ok(Put::Lost(None))
                }
                Err((_, code)) => Err(Trouble::Store(Error::Code(code))),
            };
        };
        let write = write_over(seen.version, path, data).ok_or_else(|| {
            LedgerError::Unfit(format!(
                "the node {path} at {} has the version -1, at which ZooKeeper cannot tell who writes first, so floe \
                 does not write it: write its data once more, unchanged (`set` in zkCli.sh)",
                self.line.shown
            ))
        })?;
        let is_all = matches!(write, Request::All(_));
        let replies = self.line.settle(&[write, read]).await?;
        let [write, read] = both(&replies)?;
        let stat = if is_all {
            match write.outcome().map_err(Trouble::Store)? {
                Ok(stat) => Ok(stat.ok_or(Trouble::Store(Error::Garbled("no Stat")))?),
                Err((_, code)) => Err(code),
            }
        } else if write.code == 0 {
            Ok(write.written().map_err(Trouble::Store)?)
        } else {
            Err(write.code)
        };
        match stat {
            Ok(stat) => Ok(Put::Done(Some(written(record, stat)))),
            Err(code::BAD_VERSION | code::NO_NODE) => Ok(Put::Lost(self.seen(Some(read), path)?)),
            Err(code) => Err(Trouble::Store(Error::Code(code))),
        }
    }

    /// Two requests, and before them the making of their buckets where they are not known to be there.
    pub(super) async fn with_buckets(
        &mut self,
        buckets: &[(&Buckets, &Place)],
        first: Request<'_>,
        second: Request<'_>,
    ) -> Result<Vec<Reply>, Trouble> {
        let access = self.line.access;
        let missing: Vec<_> = buckets.iter().filter(|(buckets, place)| !buckets.has(place)).collect();
        let make =
            missing.iter().map(|(_, place)| Request::Create { path: &place.parent, data: b"", access });
        let mut requests: Vec<_> = make.collect();
        requests.extend([first, second]);
        let mut replies = self.line.settle(&requests).await?;
        for ((buckets, place), bucket) in missing.into_iter().zip(replies.drain(..requests.len() - 2)) {
            if bucket.code == code::NO_NODE {
                return Err(self.is_gone());
            }
            bucket.is_done_or(&[code::NODE_EXISTS]).map_err(Trouble::Store)?;
            buckets.set(place, true);
        }
        Ok(replies)
    }

    pub(super) fn seen(&self, reply: Option<&Reply>, path: &str) -> Result<Option<Seen>, Trouble> {
        let reply = reply.ok_or(Trouble::Store(Error::Garbled("no reply")))?;
        let Some((data, stat)) = reply.data().map_err(Trouble::Store)? else { return Ok(None) };
        let Some(record) = layout::parse_record(&data) else {
            return Err(words::is_damaged(&self.line.shown, &format!("the record {path}")).into());
        };
        Ok(Some(Seen { record, version: stat.version, made: stat.made }))
    }

    pub(super) fn is_gone(&self) -> Trouble {
        words::is_gone(&self.line.shown, &format!("the realm {}", self.realm)).into()
    }
}

/// The write of a node that has this version.
///
/// ZooKeeper counts to 2^31 - 1, then on from -2^31, and takes -1 for "any": a node at that version could not be
/// guarded. So nobody leaves one there: the write that would is done twice in one transaction (servers from 3.10 on
/// leave -1 out by themselves; there the second write changes nothing either).
pub(super) fn write_over<'a>(version: i32, path: &'a str, data: &'a [u8]) -> Option<Request<'a>> {
    let write = |version| Request::Write { path, data, version };
    match version {
        -1 => None,
        -2 => Some(Request::All(vec![write(-2), write(-1)])),
        _ => Some(write(version)),
    }
}

fn written(record: &Mark, stat: Stat) -> Seen {
    Seen { record: record.clone(), version: stat.version, made: stat.made }
}

pub(super) fn both(replies: &[Reply]) -> Result<[&Reply; 2], Trouble> {
    match replies {
        [first, second] => Ok([first, second]),
        _ => Err(Trouble::Store(Error::Garbled("replies that nobody asked for"))),
    }
}

fn capitalised(text: &str) -> String {
    let mut characters = text.chars();
    characters.next().map_or(String::new(), |first| first.to_uppercase().chain(characters).collect())
}
