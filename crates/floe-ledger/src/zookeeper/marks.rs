//! The calls of the contract.

use std::sync::Arc;

use floe::Name;
use floe::UnixMillis;
use floe::ledger::{Elsewhere, Key, Ledger, LedgerError, Mark, Record, Reply, Reserve, Token};

use super::change::{Step, change};
use super::jute::{self, Request, code};
use super::layout::{self, Layout, Place};
use super::link::{Link, both};
use super::trouble::Error;
use super::{Trouble, Zookeeper};
use crate::remote::realm::{self as words, LOOKED_AT, TOLD_OF};

/// How many nodes are read in one go: their data are about as much as a socket takes.
const AT_ONCE: usize = 128;

impl Ledger for Zookeeper {
    fn reserve(&self, request: &Reserve) -> Result<Reply, LedgerError> {
        let request = request.clone();
        self.change(&request.key.clone(), move |found| Mark::reserve(found, &request))
    }

    fn give_back(&self, key: &Key, token: Token, from: u64) -> Result<bool, LedgerError> {
        self.change(key, move |found| {
            let after = found.and_then(|record| record.give_back(token, from));
            Ok((after.is_some(), after))
        })
    }

    fn bind(&self, name: &Name, definition: &str, marked: bool) -> Result<String, LedgerError> {
        let (name, definition) = (name.clone(), definition.to_owned());
        self.remote.call(move |link| Box::pin(async move { bind(link, &name, definition, marked).await }))
    }

    fn definition(&self, name: &Name) -> Result<Option<String>, LedgerError> {
        let name = name.clone();
        self.remote.call(move |link| {
            Box::pin(async move {
                let place = Place::of(&link.layout.definitions, name.as_str());
                let root = link.layout.root.clone();
                let requests = [Link::barrier(&root), Request::Read { path: &place.path }];
                let replies = link.line.settle(&requests).await?;
                let [barrier, read] = both(&replies)?;
                link.passed(Some(barrier))?;
                definition_in(read, link, &place.path)
            })
        })
    }

    fn names(&self, after: &str, limit: usize) -> Result<Vec<(String, String)>, LedgerError> {
        let after = after.to_owned();
        self.remote.call(move |link| {
            Box::pin(async move {
                let directory = link.layout.definitions.clone();
                let names = children(link, &directory, |name| *name > *after, limit).await?;
                let mut found = Vec::with_capacity(names.len());
                read_each(link, &directory, names, |link, name, path, reply| {
                    found.extend(definition_in(reply, link, path)?.map(|definition| (name, definition)));
                    Ok(())
                })
                .await?;
                Ok(found)
            })
        })
    }

    fn raise(&self, key: &Key, at_least: u64) -> Result<u64, LedgerError> {
        let of = key.clone();
        self.change(key, move |found| {
            let record = found.ok_or_else(|| LedgerError::Missing(of.clone()))?;
            Ok((record.mark, record.raise(&of, at_least)?))
        })
    }

    fn list(&self, prefix: &str, after: &str, limit: usize) -> Result<Vec<Record>, LedgerError> {
        let (prefix, after) = (prefix.to_owned(), after.to_owned());
        self.remote.call(move |link| {
            Box::pin(async move {
                let directory = link.layout.marks.clone();
                let is_wanted = |key: &str| key.starts_with(&prefix) && *key > *after;
                let keys = children(link, &directory, is_wanted, limit).await?;
                let mut found = Vec::with_capacity(keys.len());
                read_each(link, &directory, keys, |link, key, path, reply| {
                    let seen = link.seen(Some(reply), path)?;
                    found.extend(seen.map(|seen| {
                        let Mark { mark, note, .. } = seen.record;
                        Record { key, mark, note }
                    }));
                    Ok(())
                })
                .await?;
                Ok(found)
            })
        })
    }

    /// The leader's, which a write shows: servers of ZooKeeper have no word for the time.
    fn clock(&self) -> Result<Option<UnixMillis>, LedgerError> {
        self.remote.call(|link| {
            Box::pin(async move {
                let path = link.layout.clock.clone();
                let replies =
                    link.line.settle(&[Request::Write { path: &path, data: b"", version: -1 }]).await?;
                let reply = replies.first().ok_or(Trouble::Store(Error::Garbled("no reply")))?;
                if reply.code == code::NO_NODE {
                    return Err(link.is_gone());
                }
                Ok(Some(UnixMillis::new(reply.written().map_err(Trouble::Store)?.written_ms)))
            })
        })
    }

    fn in_other_realms(&self, name: &Name) -> Result<Vec<Elsewhere>, LedgerError> {
        let name = name.clone();
        self.remote.call(move |link| Box::pin(async move { elsewhere(link, &name).await }))
    }

    fn realm_id(&self) -> Result<String, LedgerError> {
        Ok(self.remote.realm_id())
    }

    fn describe(&self) -> String {
        self.remote.describe()
    }
}

impl Zookeeper {
    fn change<T: Send + 'static>(
        &self,
        key: &Key,
        step: impl Fn(Option<&Mark>) -> Step<T> + Send + Sync + 'static,
    ) -> Result<T, LedgerError> {
        let (turn, key) = (self.known.turn(layout::bucket(key.as_str())), key.clone());
        self.remote.call_in_turn(turn, move |link, turn| {
            Box::pin(async move { change(link, turn, &key, step).await })
        })
    }
}

/// A definition is made once and never changed or removed, so one that any server shows is the answer. Where there is
/// none, the making of it decides, in one transaction with its record; and where that fails, the read behind it shows
/// what was first (see `change.rs`).
async fn bind(link: &mut Link, name: &Name, definition: String, marked: bool) -> Result<String, Trouble> {
    let place = Place::of(&link.layout.definitions, name.as_str());
    let record_place = Place::of(&link.layout.marks, Key::name(name).as_str());
    let read = Request::Read { path: &place.path };
    let replies = link.line.session.ask(std::slice::from_ref(&read)).await.map_err(Trouble::Store)?;
    if let Some(reply) = replies.first()
        && let Some(found) = definition_in(reply, link, &place.path)?
    {
        return Ok(found);
    }
    let (known, access) = (Arc::clone(&link.line.known), link.line.access);
    let empty = layout::record_text(&Mark::default());
    let mut needs_record = marked;
    loop {
        let mut parts = vec![Request::Create { path: &place.path, data: definition.as_bytes(), access }];
        if needs_record {
            make_bucket(link, &record_place).await?;
            parts.push(Request::Create { path: &record_place.path, data: empty.as_bytes(), access });
        }
        let replies =
            link.with_buckets(&[(&known.definitions, &place)], Request::All(parts), read.clone()).await?;
        let [made, read] = both(&replies)?;
        match made.outcome().map_err(Trouble::Store)? {
            Ok(_) => return Ok(definition),
            Err((0, code::NODE_EXISTS)) => {
                if let Some(found) = definition_in(read, link, &place.path)? {
                    return Ok(found);
                }
            }
            // The record is there already, and keeps its mark.
            Err((1, code::NODE_EXISTS)) => needs_record = false,
            // Somebody has removed a bucket, or the realm: the next round finds out.
            Err((0, code::NO_NODE)) => known.definitions.set(&place, false),
            Err((1, code::NO_NODE)) => known.marks.set(&record_place, false),
            Err((_, code)) => return Err(Trouble::Store(Error::Code(code))),
        }
    }
}

async fn make_bucket(link: &mut Link, place: &Place) -> Result<(), Trouble> {
    let known = Arc::clone(&link.line.known);
    if known.marks.has(place) {
        return Ok(());
    }
    let root = link.layout.root.clone();
    let read = Request::Read { path: &place.parent };
    link.with_buckets(&[(&known.marks, place)], Link::barrier(&root), read).await?;
    Ok(())
}

fn definition_in(reply: &jute::Reply, link: &Link, path: &str) -> Result<Option<String>, Trouble> {
    let Some((data, _)) = reply.data().map_err(Trouble::Store)? else { return Ok(None) };
    let text = String::from_utf8(data);
    Ok(Some(text.map_err(|_| words::is_damaged(&link.line.shown, &format!("the definition {path}")))?))
}

/// One trip where there is no other realm, and else one more each for the realms, their definitions and their marks. It may be
/// a server that lags behind which answers. What is no realm, damaged, or closed to this user is left out.
async fn elsewhere(link: &mut Link, name: &Name) -> Result<Vec<Elsewhere>, Trouble> {
    let root = link.layout.root.clone();
    let mut parts = root.rsplitn(3, '/').skip(1);
    let (Some(own), Some(path)) = (parts.next(), parts.next()) else { return Ok(Vec::new()) };
    let replies = link.line.session.ask(&[Request::Children { path }]).await.map_err(Trouble::Store)?;
    let children = replies.first().and_then(|reply| reply.children().ok().flatten());
    let mut nodes = children.unwrap_or_default();
    nodes.retain(|node| node != own);
    nodes.sort_unstable();
    nodes.truncate(LOOKED_AT);
    let paths: Vec<String> = nodes.iter().map(|node| format!("{path}/{node}")).collect();
    let realms = read_all(link, &paths).await?;
    let realms = nodes.iter().zip(&paths).zip(realms).filter_map(|((node, path), data)| {
        let data = data?;
        match layout::parse_realm(&data) {
            Some((layout::VERSION, Some(id))) => Some((layout::unescaped(node)?, Layout::new(path, id))),
            _ => None,
        }
    });
    let realms: Vec<(String, Layout)> = realms.collect();
    let of = |directory: &str, text: &str| Place::of(directory, text).path;
    let paths: Vec<String> =
        realms.iter().map(|(_, layout)| of(&layout.definitions, name.as_str())).collect();
    let definitions = read_all(link, &paths).await?;
    let bound = realms.into_iter().zip(definitions);
    let bound: Vec<(String, Layout, String)> = bound
        .filter_map(|((realm, layout), data)| Some((realm, layout, String::from_utf8(data?).ok()?)))
        .take(TOLD_OF)
        .collect();
    let key = Key::name(name);
    let paths: Vec<String> = bound.iter().map(|(_, layout, _)| of(&layout.marks, key.as_str())).collect();
    let marks = read_all(link, &paths).await?;
    let found = bound.into_iter().zip(marks).filter_map(|((realm, _, definition), data)| {
        let mark = match data {
            Some(data) => layout::parse_record(&data)?.mark,
            None => 0,
        };
        Some(Elsewhere { realm, definition, mark })
    });
    Ok(found.collect())
}

/// What the nodes hold that are there and may be read, in one trip.
async fn read_all(link: &mut Link, paths: &[String]) -> Result<Vec<Option<Vec<u8>>>, Trouble> {
    if paths.is_empty() {
        return Ok(Vec::new());
    }
    let requests: Vec<_> = paths.iter().map(|path| Request::Read { path }).collect();
    let replies = link.line.session.ask(&requests).await.map_err(Trouble::Store)?;
    Ok(replies.iter().map(|reply| reply.data().ok().flatten().map(|(data, _)| data)).collect())
}

/// The first `limit` of what `directory` holds in its buckets and `is_wanted`, in byte order, as it is now.
async fn children(
    link: &mut Link,
    directory: &str,
    is_wanted: impl Fn(&str) -> bool,
    limit: usize,
) -> Result<Vec<String>, Trouble> {
    let root = link.layout.root.clone();
    let replies = link.line.settle(&[Link::barrier(&root), Request::Children { path: directory }]).await?;
    let [barrier, buckets] = both(&replies)?;
    link.passed(Some(barrier))?;
    let buckets = buckets.children().map_err(Trouble::Store)?.ok_or_else(|| link.is_gone())?;
    let buckets: Vec<String> = buckets.iter().map(|bucket| format!("{directory}/{bucket}")).collect();
    let mut found = Vec::new();
    for buckets in buckets.chunks(AT_ONCE) {
        let requests: Vec<_> = buckets.iter().map(|path| Request::Children { path }).collect();
        for reply in link.line.session.ask(&requests).await.map_err(Trouble::Store)? {
            for name in reply.children().map_err(Trouble::Store)?.unwrap_or_default() {
                let text = layout::unescaped(&name).ok_or_else(|| {
                    words::is_damaged(&link.line.shown, &format!("a node {name} below {directory}"))
                })?;
                if is_wanted(&text) {
                    found.push(text);
                }
            }
        }
    }
    found.sort_unstable();
    found.truncate(limit);
    Ok(found)
}

/// Reads the node of each of the `texts`, on a connection that has just passed a barrier.
async fn read_each(
    link: &mut Link,
    directory: &str,
    texts: Vec<String>,
    mut take: impl FnMut(&Link, String, &str, &jute::Reply) -> Result<(), Trouble>,
) -> Result<(), Trouble> {
    let mut texts = texts.into_iter().peekable();
    while texts.peek().is_some() {
        let part: Vec<(String, String)> =
            texts.by_ref().take(AT_ONCE).map(|text| (Place::of(directory, &text).path, text)).collect();
        let requests: Vec<_> = part.iter().map(|(path, _)| Request::Read { path }).collect();
        let replies = link.line.session.ask(&requests).await.map_err(Trouble::Store)?;
        for ((path, text), reply) in part.into_iter().zip(&replies) {
            take(link, text, &path, reply)?;
        }
    }
    Ok(())
}
