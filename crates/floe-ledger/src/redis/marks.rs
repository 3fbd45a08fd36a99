//! The calls of the contract, each a script and what its answer means.

use floe::ledger::{Elsewhere, Key, Ledger, LedgerError, MAX_MARK, Record, Reply, Reserve, Token};
use floe::{Name, UnixMillis};
use redis::cmd;

use super::connect::Link;
use super::keys::{Keys, REALMS};
use super::scripts::{self, status};
use super::{Redis, Trouble};
use crate::remote::realm::{LOOKED_AT, TOLD_OF};

/// How many records or definitions one script reads, so that none keeps other clients waiting for long.
const PAGE: usize = 512;

impl Ledger for Redis {
    fn reserve(&self, request: &Reserve) -> Result<Reply, LedgerError> {
        let request = request.clone();
        self.remote.call(|link| Box::pin(async move { reserve(link, &request).await }))
    }

    fn give_back(&self, key: &Key, token: Token, from: u64) -> Result<bool, LedgerError> {
        if from > MAX_MARK {
            return Ok(false);
        }
        let key = key.clone();
        self.remote.call(move |link| {
            Box::pin(async move {
                let record = link.keys.record(&key);
                let (token, from) = (token.hex(), from.to_string());
                let arguments = [token.as_bytes(), from.as_bytes()];
                let answer = link.run(&scripts::GIVE_BACK, &[&record], &arguments, key.as_str()).await?;
                match answer.word.as_str() {
                    "given" => Ok(true),
                    "kept" => Ok(false),
                    _ => Err(answer.unknown()),
                }
            })
        })
    }

    fn bind(&self, name: &Name, definition: &str, marked: bool) -> Result<String, LedgerError> {
        let (name, definition) = (name.clone(), definition.to_owned());
        self.remote.call(move |link| {
            Box::pin(async move {
                let key = Key::name(&name);
                let (keys, record) = (link.keys.clone(), link.keys.record(&key));
                let keys = [&*record, &keys.records, &keys.names, &keys.definitions];
                let marked = if marked { "1" } else { "" };
                let arguments = [key.as_str(), name.as_str(), &definition, marked].map(str::as_bytes);
                let answer = link.run(&scripts::BIND, &keys, &arguments, key.as_str()).await?;
                answer.text(0).ok_or_else(|| answer.unknown())
            })
        })
    }

    fn definition(&self, name: &Name) -> Result<Option<String>, LedgerError> {
        let name = name.clone();
        self.remote.call(move |link| {
            Box::pin(async move {
                let definitions = link.keys.definitions.clone();
                let arguments = [name.as_str().as_bytes()];
                Ok(link.run(&scripts::DEFINITION, &[&definitions], &arguments, "").await?.text(0))
            })
        })
    }

    fn names(&self, after: &str, limit: usize) -> Result<Vec<(String, String)>, LedgerError> {
        let after = after.to_owned();
        self.remote.call(move |link| {
            Box::pin(async move {
                let keys = link.keys.clone();
                let mut pages = Pages::of(&keys.names, "", &after, limit);
                let mut names = Vec::new();
                while let Some(page) = pages.next(link, names.len()).await? {
                    let asked: Vec<&[u8]> = page.iter().map(|name| name.as_bytes()).collect();
                    let answer = link.run(&scripts::DEFINITIONS, &[&keys.definitions], &asked, "").await?;
                    for (name, definition) in page.into_iter().zip(answer.fields.iter()) {
                        let Some(definition) = definition else {
                            return Err(answer.damaged(&format!("the name {name} without its definition")));
                        };
                        names.push((name, definition.clone()));
                    }
                }
                Ok(names)
            })
        })
    }

    fn raise(&self, key: &Key, at_least: u64) -> Result<u64, LedgerError> {
        let key = key.clone();
        self.remote.call(move |link| {
            Box::pin(async move {
                let fits = at_least <= MAX_MARK;
                let wanted = if fits { at_least.to_string() } else { String::new() };
                let record = link.keys.record(&key);
                let answer =
                    link.run(&scripts::RAISE, &[&record], &[wanted.as_bytes()], key.as_str()).await?;
                if answer.word == status::MISSING {
                    return Err(LedgerError::Missing(key).into());
                }
                let mark = answer.position(0)?;
                if fits { Ok(mark) } else { Err(LedgerError::Overflow { key, mark }.into()) }
            })
        })
    }

    fn list(&self, prefix: &str, after: &str, limit: usize) -> Result<Vec<Record>, LedgerError> {
        let (prefix, after) = (prefix.to_owned(), after.to_owned());
        self.remote.call(move |link| {
            Box::pin(async move {
                let here = link.keys.clone();
                let mut pages = Pages::of(&here.records, &prefix, &after, limit);
                let mut records = Vec::new();
                while let Some(page) = pages.next(link, records.len()).await? {
                    let keys: Vec<String> = page.iter().map(|key| here.record_of(key)).collect();
                    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
                    let answer = link.run(&scripts::RECORDS, &keys, &[], "").await?;
                    for (key, place) in page.into_iter().zip((0..).step_by(2)) {
                        // One that somebody removed is missed by the next reserve, and is no record.
                        if answer.text(place).is_some() {
                            let mark = answer.position(place)?;
                            records.push(Record { key, mark, note: answer.text(place + 1) });
                        }
                    }
                }
                Ok(records)
            })
        })
    }

    fn clock(&self) -> Result<Option<UnixMillis>, LedgerError> {
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

    fn in_other_realms(&self, name: &Name) -> Result<Vec<Elsewhere>, LedgerError> {
        let name = name.clone();
        self.remote.call(move |link| {
            Box::pin(async move {
                match elsewhere(link, &name).await {
                    // On a cluster other realms are on other nodes, and a user may have a right to one realm alone.
                    Err(Trouble::Store(error)) if error.code().is_some() => Ok(Vec::new()),
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

/// Two trips, and one where there is no other realm. What is damaged in another realm is that realm's trouble.
async fn elsewhere(link: &mut Link, name: &Name) -> Result<Vec<Elsewhere>, Trouble> {
    let most = (LOOKED_AT + 1).to_string();
    let answer = link.run(&scripts::REALMS, &[REALMS], &[most.as_bytes()], "").await?;
    let own = link.keys.name.clone();
    let others = answer.fields.into_iter().flatten().filter(|realm| *realm != own).take(LOOKED_AT);
    let others: Vec<Keys> = others.map(|realm| Keys::of(&realm)).collect();
    if others.is_empty() {
        return Ok(Vec::new());
    }
    let key = Key::name(name);
    let keys: Vec<String> =
        others.iter().flat_map(|other| [other.definitions.clone(), other.record(&key)]).collect();
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    let answer = link.run(&scripts::ELSEWHERE, &keys, &[name.as_str().as_bytes()], "").await?;
    let found = others.into_iter().zip((0..).step_by(2)).filter_map(|(other, place)| {
        let definition = answer.text(place)?;
        let mark = answer.text(place + 1).map_or(Ok(0), |_| answer.position(place + 1)).ok()?;
        Some(Elsewhere { realm: other.name, definition, mark })
    });
    Ok(found.take(TOLD_OF).collect())
}

/// See `scripts.rs` for why this is right.
async fn reserve(link: &mut Link, request: &Reserve) -> Result<Reply, Trouble> {
    // The highest mark and floor that leave room for the count.
    let room = MAX_MARK.checked_sub(request.count).filter(|highest| request.floor <= *highest);
    let ceiling = room.map_or(String::new(), |highest| highest.min(request.max_mark).to_string());
    // Without room neither is looked at.
    let (floor, count) = (request.floor.to_string(), request.count.to_string());
    let (key, token) = (request.key.as_str(), request.token.hex());
    let make = if request.create { "1" } else { "" };
    let arguments = [key, &floor, &count, &ceiling, &token, make].into_iter().chain(request.note.as_deref());
    let arguments: Vec<&[u8]> = arguments.map(str::as_bytes).collect();
    let (keys, record) = (link.keys.clone(), link.keys.record(&request.key));
    let answer = link.run(&scripts::RESERVE, &[&record, &keys.records], &arguments, key).await?;
    match answer.word.as_str() {
        "got" => Ok(Reply::Got {
            previous_mark: answer.position(0)?,
            start: answer.position(1)?,
            end: answer.position(2)?,
        }),
        "above" => match answer.position(0)? {
            mark if mark > request.max_mark => Ok(Reply::Refused { mark, note: answer.text(1) }),
            mark => Err(LedgerError::Overflow { key: request.key.clone(), mark }.into()),
        },
        status::MISSING => Err(LedgerError::Missing(request.key.clone()).into()),
        _ => Err(answer.unknown()),
    }
}

/// A sorted set, page by page.
struct Pages<'a> {
    set: &'a str,
    /// The least member of the next page and the greatest of the last, as `ZRANGEBYLEX` takes them.
    from: Vec<u8>,
    to: Vec<u8>,
    limit: usize,
    is_last: bool,
}

impl<'a> Pages<'a> {
    fn of(set: &'a str, prefix: &str, after: &str, limit: usize) -> Self {
        let from = if prefix > after { bound(b'[', prefix) } else { bound(b'(', after) };
        // The byte 255 is in no text, so no member that begins with the prefix is as great as this.
        let to = if prefix.is_empty() { b"+".to_vec() } else { [b"[", prefix.as_bytes(), &[255]].concat() };
        Self { set, from, to, limit, is_last: false }
    }

    /// The next members, where there are any and `found` is not yet the limit.
    async fn next(&mut self, link: &mut Link, found: usize) -> Result<Option<Vec<String>>, Trouble> {
        let wanted = PAGE.min(self.limit.saturating_sub(found));
        if self.is_last || wanted == 0 {
            return Ok(None);
        }
        let limit = wanted.to_string();
        let arguments: [&[u8]; 3] = [&self.from, &self.to, limit.as_bytes()];
        let answer = link.run(&scripts::MEMBERS, &[self.set], &arguments, "").await?;
        let members: Vec<String> = answer.fields.into_iter().flatten().collect();
        self.is_last = members.len() < wanted;
        let Some(last) = members.last() else { return Ok(None) };
        self.from = bound(b'(', last);
        Ok(Some(members))
    }
}

fn bound(kind: u8, text: &str) -> Vec<u8> {
    [&[kind], text.as_bytes()].concat()
}
