//! The calls of the contract, each a transaction, and why each is linearizable and durable.
//!
//! Three properties of etcd carry the argument:
//!
//! 1. A transaction that may write is an entry of the Raft log. It is applied, as one and between all others, when a
//!    majority has flushed it, and is answered after that. What it wrote is durable when its answer comes, and what
//!    its branch read was true at the moment it was applied, which lies inside the call.
//! 2. A transaction or a range that only reads (and does not ask for `serializable`) is answered from a state that
//!    holds everything that was answered before the call began.
//! 3. `mod_revision` of a key is the revision that wrote it last, and grows with every write, 0 where there is no key.
//!
//! A mark is moved by a **versioned step**: what [`Mark`] says becomes of the record that was last seen is written
//! under the condition that this is still the record (its revision), and that the realm is still the realm (its id).
//! Where the condition holds, the step was taken from the newest record, as one with the write: nobody came in between
//! (I2). Where it does not hold, nothing is written, and the same transaction reads the record as it is: the next step
//! is taken from that one.
//!
//! A record is made together with a second key, which stays: so where that key is there and the record is not, somebody
//! deleted the record, and the condition that neither is there keeps it from being made anew.
//!
//! What was last seen may be of any age, so it is good for a guess alone. An answer that writes nothing (a refusal, the
//! same token again, an error) is given only from a record that was read inside the call; where the guess would lead
//! to one, the record is read first.
//!
//! The condition compares the record's **value** too. A cluster that was restored from a backup counts its revisions
//! from the backup's on, so that another record may come to have the revision that was seen. It cannot have the same
//! value as well and be another one: the value is the whole state that the step was taken from.
//!
//! A transaction whose answer was lost may be applied later, even after the caller has asked again. Then its condition
//! does not hold any more, unless nobody has written since: and then it is the first to be applied, and whoever asks
//! again with its token is answered from its record.

use std::ops::ControlFlow;
use std::sync::Arc;

use floe::Name;
use floe::ledger::{Elsewhere, Key, Ledger, LedgerError, Mark, Record, Reply, Reserve, Token};
use tokio::time::Instant;

use super::connect::Cluster;
use super::link::Link;
use super::messages::{Compare, KeyValue, Operation, RangeRequest, TxnRequest, TxnResponse};
use super::records::{self, Place, Span};
use super::seen::Seen;
use super::{Etcd, Trouble};
use crate::remote::realm::{LOOKED_AT, TOLD_OF};
use crate::remote::{Remote, realm};

/// How many keys a list asks for at once, so that no answer is longer than a connection takes.
const PAGE: u32 = 500;

/// What becomes of a record: an answer, and what is to be written first.
type Step<T> = Result<(T, Option<Mark>), LedgerError>;

impl Ledger for Etcd {
    fn reserve(&self, request: &Reserve) -> Result<Reply, LedgerError> {
        let (key, made, request) =
            (&request.key, request.create.then(|| self.place.made(&request.key)), request.clone());
        self.change(key, made, move |found| Mark::reserve(found, &request))
    }

    fn give_back(&self, key: &Key, token: Token, from: u64) -> Result<bool, LedgerError> {
        self.change(key, None, move |found| {
            let new = found.and_then(|mark| mark.give_back(token, from));
            Ok((new.is_some(), new))
        })
    }

    fn bind(&self, name: &Name, definition: &str, marked: bool) -> Result<String, LedgerError> {
        let (place, name, definition) = (Arc::clone(&self.place), name.clone(), definition.to_owned());
        self.remote
            .call(move |link| Box::pin(async move { bind(link, &place, &name, definition, marked).await }))
    }

    fn definition(&self, name: &Name) -> Result<Option<String>, LedgerError> {
        let key = self.place.definition(name);
        self.remote.call(|link| {
            Box::pin(async move {
                let found = link.range(&RangeRequest { key, ..RangeRequest::default() }).await?;
                found.kvs.into_iter().next().map(|found| text(link, found)).transpose()
            })
        })
    }

    fn names(&self, after: &str, limit: usize) -> Result<Vec<(String, String)>, LedgerError> {
        let mut span = self.place.definitions();
        span.after(after);
        pages(&self.remote, span, limit, |link, name, found| Ok((name, text(link, found)?)))
    }

    fn raise(&self, key: &Key, at_least: u64) -> Result<u64, LedgerError> {
        let name = key.clone();
        self.change(key, None, move |found| {
            let mark = found.ok_or_else(|| LedgerError::Missing(name.clone()))?;
            Ok((mark.mark, mark.raise(&name, at_least)?))
        })
    }

    fn list(&self, prefix: &str, after: &str, limit: usize) -> Result<Vec<Record>, LedgerError> {
        let mut span = self.place.marks(prefix);
        span.after(after);
        pages(&self.remote, span, limit, |link, key, found| {
            let Mark { mark, note, .. } = record(link, &found)?;
            Ok(Record { key, mark, note })
        })
    }

    fn in_other_realms(&self, name: &Name) -> Result<Vec<Elsewhere>, LedgerError> {
        let (place, name) = (Arc::clone(&self.place), name.clone());
        self.remote.call(move |link| {
            Box::pin(async move {
                match elsewhere(link, &place, &name).await {
                    // A user may have a right to one realm alone.
                    Err(Trouble::Store(fault)) if fault.is_denied() => Ok(Vec::new()),
                    found => found,
                }
            })
        })
    }

    fn realm_id(&self) -> Result<String, LedgerError> {
        Ok(self.remote.realm_id())
    }

    fn describe(&self) -> String {
        self.remote.describe()
    }
}

impl Etcd {
    /// Takes a step, when it is this call's turn on the key. Where the step may make the record, `made` remembers it.
    fn change<T: Send + 'static>(
        &self,
        key: &Key,
        made: Option<Vec<u8>>,
        step: impl Fn(Option<&Mark>) -> Step<T> + Send + Sync + 'static,
    ) -> Result<T, LedgerError> {
        let (place, key_of_mark, eaten) =
            (Arc::clone(&self.place), self.place.mark(key), LedgerError::Missing(key.clone()));
        self.remote.call_in_turn(self.keys.turn(key), move |link, turn| {
            Box::pin(async move {
                let (begin, knew, mut looks) = (Instant::now(), turn.seen.mark.is_some(), 0_u32);
                loop {
                    let is_current = looks > 0;
                    if is_current && made.is_some() && turn.seen.is_eaten {
                        return Err(eaten.into());
                    }
                    let keys = Keys { mark: &key_of_mark, made: made.as_deref() };
                    match attempt(link, &place, keys, &mut turn.seen, is_current, &step).await? {
                        ControlFlow::Continue(()) => looks += 1,
                        ControlFlow::Break(answer) => {
                            // The first look at a key that was not known says nothing of others.
                            turn.ends(begin, looks > u32::from(!knew));
                            return Ok(answer);
                        }
                    }
                }
            })
        })
    }
}

/// Where a record is, and where it is remembered that it was made, if the call may make it.
#[derive(Clone, Copy)]
struct Keys<'a> {
    mark: &'a [u8],
    made: Option<&'a [u8]>,
}

/// One transaction: the step from what was seen, with its condition, or a look where the guess leads to no write.
async fn attempt<T>(
    link: &mut Link,
    place: &Place,
    Keys { mark: key, made }: Keys<'_>,
    seen: &mut Seen,
    is_current: bool,
    step: &(impl Fn(Option<&Mark>) -> Step<T> + Sync),
) -> Result<ControlFlow<T>, Trouble> {
    let step = match step(seen.mark.as_ref()) {
        Ok((answer, Some(new))) => Some((answer, new)),
        Ok((answer, None)) if is_current => return Ok(ControlFlow::Break(answer)),
        Err(error) if is_current => return Err(error.into()),
        _ => None,
    };
    let mut look = vec![Operation::get(key), Operation::get(&place.realm)];
    look.extend(made.map(Operation::get));
    let Some((answer, new)) = step else {
        let found = link.txn(&TxnRequest { success: look, ..TxnRequest::default() }).await?;
        *seen = as_it_is(link, found)?;
        return Ok(ControlFlow::Continue(()));
    };
    let value = records::write(&new);
    let mut compare =
        vec![Compare::value(&place.realm, link.realm_id()), Compare::revision(key, seen.revision)];
    match (&seen.mark, made) {
        (Some(_), _) => compare.push(Compare::value(key, &seen.value)),
        // A record that was made once is not made again.
        (None, Some(made)) => compare.push(Compare::revision(made, 0)),
        (None, None) => {}
    }
    let mut success = vec![Operation::put(key, &value)];
    success.extend(made.map(|made| Operation::put(made, b"")));
    let outcome = link.txn(&TxnRequest { compare, success, failure: look }).await?;
    if !outcome.succeeded {
        *seen = as_it_is(link, outcome)?;
        return Ok(ControlFlow::Continue(()));
    }
    let revision = outcome.header.map_or(0, |header| header.revision);
    *seen = Seen { revision, value, mark: Some(new), is_eaten: false };
    Ok(ControlFlow::Break(answer))
}

/// A record as a transaction has read it, with the realm's id behind it, and whether it was made, if that was asked.
fn as_it_is(link: &Link, outcome: TxnResponse) -> Result<Seen, Trouble> {
    let mut found = outcome.found();
    let (Some(mark), Some(realm)) = (found.next(), found.next()) else { return Err(link.nonsense().into()) };
    let was_made = found.next().flatten().is_some();
    check_realm(link, realm)?;
    let Some(mark) = mark else { return Ok(Seen { is_eaten: was_made, ..Seen::default() }) };
    let read = Some(record(link, &mark)?);
    Ok(Seen { revision: mark.mod_revision, value: mark.value, mark: read, is_eaten: false })
}

fn check_realm(link: &Link, found: Option<KeyValue>) -> Result<(), LedgerError> {
    match found {
        None => Err(realm::is_gone(&link.shown(), "the realm")),
        Some(found) if found.value != link.realm_id() => Err(realm::is_another(&link.shown())),
        Some(_) => Ok(()),
    }
}

/// The definition and the record that may belong to it are made as one; a record that is there stays as it is.
async fn bind(
    link: &mut Link,
    place: &Place,
    name: &Name,
    definition: String,
    marked: bool,
) -> Result<String, Trouble> {
    let key = place.definition(name);
    let compare = vec![Compare::value(&place.realm, link.realm_id()), Compare::revision(&key, 0)];
    let mut success = vec![Operation::put(&key, definition.as_bytes())];
    if marked {
        let mark = place.mark(&Key::name(name));
        success.push(Operation::txn(TxnRequest {
            compare: vec![Compare::revision(&mark, 0)],
            success: vec![Operation::put(&mark, &records::write(&Mark::default()))],
            failure: Vec::new(),
        }));
    }
    let failure = vec![Operation::get(&key), Operation::get(&place.realm)];
    let outcome = link.txn(&TxnRequest { compare, success, failure }).await?;
    if outcome.succeeded {
        return Ok(definition);
    }
    let mut found = outcome.found();
    let (Some(stored), Some(realm)) = (found.next(), found.next()) else {
        return Err(link.nonsense().into());
    };
    check_realm(link, realm)?;
    match stored {
        Some(stored) => text(link, stored),
        None => Err(link.nonsense().into()),
    }
}

/// One trip where there is no other realm, and one more each for definitions and for marks. A transaction has at most 128
/// operations unless the member is told otherwise. Damage in another realm concerns only that realm.
async fn elsewhere(link: &mut Link, place: &Place, name: &Name) -> Result<Vec<Elsewhere>, Trouble> {
    let span = Span::below(&place.realms, "");
    let (key, range_end) = (span.start.clone(), span.end.clone());
    // The own one is among them.
    let limit = i64::try_from(LOOKED_AT + 1).unwrap_or(i64::MAX);
    let realms = link.range(&RangeRequest { key, range_end, limit, keys_only: true }).await?;
    let others = realms.kvs.into_iter().filter(|found| found.key != place.realm);
    let others = others.filter_map(|found| span.rest(&found.key)).take(LOOKED_AT);
    let others: Vec<(Place, String)> = others.map(|realm| (place.beside(&realm), realm)).collect();
    let read = |keys: Vec<Vec<u8>>| TxnRequest {
        success: keys.iter().map(|key| Operation::get(key)).collect(),
        ..TxnRequest::default()
    };
    if others.is_empty() {
        return Ok(Vec::new());
    }
    let asked = others.iter().map(|(other, _)| other.definition(name)).collect();
    let definitions = link.txn(&read(asked)).await?;
    let bound = others.into_iter().zip(definitions.found());
    let bound: Vec<(Place, String, String)> = bound
        .filter_map(|((other, realm), found)| Some((other, realm, String::from_utf8(found?.value).ok()?)))
        .take(TOLD_OF)
        .collect();
    if bound.is_empty() {
        return Ok(Vec::new());
    }
    let key = Key::name(name);
    let marks = link.txn(&read(bound.iter().map(|(other, ..)| other.mark(&key)).collect())).await?;
    let found = bound.into_iter().zip(marks.found()).filter_map(|((_, realm, definition), found)| {
        let mark = match found {
            Some(found) => records::read(&found.value)?.mark,
            None => 0,
        };
        Some(Elsewhere { realm, definition, mark })
    });
    Ok(found.collect())
}

/// Up to `limit` keys of a span, each read by `read`, which is given what stands behind the span's base.
fn pages<T: Send + 'static>(
    remote: &Remote<Cluster>,
    mut span: Span,
    limit: usize,
    read: impl Fn(&Link, String, KeyValue) -> Result<T, Trouble> + Send + Sync + 'static,
) -> Result<Vec<T>, LedgerError> {
    remote.call(move |link| {
        Box::pin(async move {
            let mut all = Vec::new();
            while all.len() < limit && span.start < span.end {
                // What does not fit is more than a page.
                let page = u32::try_from(limit - all.len()).unwrap_or(PAGE).min(PAGE);
                let (key, range_end) = (span.start.clone(), span.end.clone());
                let request = RangeRequest { key, range_end, limit: page.into(), keys_only: false };
                let found = link.range(&request).await?;
                for found in found.kvs {
                    let Some(name) = span.rest(&found.key) else { return Err(damaged(link, &found).into()) };
                    span.after(&name);
                    all.push(read(link, name, found)?);
                }
                if !found.more {
                    break;
                }
            }
            Ok(all)
        })
    })
}

fn record(link: &Link, found: &KeyValue) -> Result<Mark, LedgerError> {
    records::read(&found.value).ok_or_else(|| damaged(link, found))
}

fn text(link: &Link, found: KeyValue) -> Result<String, Trouble> {
    match String::from_utf8(found.value) {
        Ok(text) => Ok(text),
        Err(error) => Err(damaged(link, &KeyValue { value: error.into_bytes(), ..found }).into()),
    }
}

fn damaged(link: &Link, found: &KeyValue) -> LedgerError {
    let shown = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    realm::is_damaged(
        &link.shown(),
        &format!("`{}` under the key {}", shown(&found.value), shown(&found.key)),
    )
}
