//! Records in the tree.

use std::collections::BTreeSet;

use floe::ledger::{Key, Token};
use floe::store::{Entry, Put, Version};

use super::Trouble;
use super::code;
use super::former::{self, STOP};
use super::jute::Request;
use super::layout::{self, DEFINITIONS, MADE, Place};
use super::link::{Found, Link};
use super::trouble::Error;
use crate::remote::stored::former_note;

/// How many nodes one batch reads: their data are about as much as a socket's buffer holds.
const AT_ONCE: usize = 128;

/// The place of one realm's records.
#[derive(Clone)]
pub(super) struct Realm {
    /// Its id, and the parent of everything in it.
    id: String,
    pub(super) root: String,
}

/// The nodes of a record, with those in which an older floe kept parts of it.
struct Record {
    at: Place,
    definition: Place,
    made: Place,
    is_name: bool,
    /// Whether it may be written more than once; a note is written once.
    is_replaced: bool,
}

impl Realm {
    pub(super) fn new(path: &str, id: &str) -> Self {
        Self { id: id.to_owned(), root: format!("{path}/{id}") }
    }

    fn record(&self, sort: &str, key: &str) -> Record {
        let of = |directory, text| Place::of(&self.root, directory, text);
        let (name, is_replaced) = (key.strip_prefix(Key::NAMES), sort != "made");
        Record {
            at: of(layout::directory(sort), key),
            definition: of(DEFINITIONS, name.unwrap_or(key)),
            made: of(MADE, key),
            is_name: is_replaced && name.is_some(),
            is_replaced,
        }
    }

    /// The record in its nodes, of this version or of version 1.
    fn entry(&self, record: &Record, at: Found, bound: &Found) -> Option<Entry> {
        let definition = definition(bound).filter(|_| record.is_name);
        let (found, version) = at.map_or((None, 0), |(text, version)| (Some(text), version));
        let text = match found.as_deref() {
            Some("") if !record.is_replaced => Some(former_note(&self.id)),
            Some(text) if !former::is_former(text) => None,
            None if definition.is_none() => None,
            text => former::record(text, definition, &self.id, None),
        };
        // A text that no floe wrote is returned unchanged.
        text.or(found).map(|text| entry((text, version)))
    }
}

/// The definition that a floe of version 1 left.
fn definition(bound: &Found) -> Option<&str> {
    bound.as_ref().map(|(text, _)| text.as_str()).filter(|text| *text != STOP)
}

/// The number of a record's last write. A note has none.
fn written(text: &str) -> &str {
    text.lines().find_map(|line| line.strip_prefix("written ")).unwrap_or("-")
}

/// A version is the number of the write and the version of the node. The second part shows writes by hand.
fn version(text: &str, version: i32) -> Version {
    Version::new(&format!("{} {version}", written(text)))
}

fn entry((text, at): (String, i32)) -> Entry {
    Entry { version: version(&text, at), text }
}

impl Link {
    /// Reads the record of a key. If it is of version 1, rewrites it first.
    pub(super) async fn find(
        &mut self,
        realm: &Realm,
        sort: &str,
        key: &str,
    ) -> Result<Option<Entry>, Trouble> {
        let record = realm.record(sort, key);
        loop {
            let paths = [&record.at, &record.definition, &record.made].map(|place| &*place.path);
            let Ok([at, bound, made]) = <[Found; 3]>::try_from(self.read(&realm.root, &paths).await?) else {
                return Err(Trouble::Store(Error::Garbled("no reply")));
            };
            let definition = definition(&bound);
            let (part, mark) = match &at {
                None if definition.is_none() || !record.is_name => return Ok(None),
                // Someone has deleted it.
                None if made.is_some() => return Ok(None),
                None => (None, None),
                Some((text, version)) if record.is_replaced && former::is_former(text) => {
                    (Some(*version), Some(text.as_str()))
                }
                Some(_) => return Ok(realm.entry(&record, at, &bound)),
            };
            let number = Token::random()?.hex();
            // The caller refuses a text that no floe wrote. No floe leaves a node at the version -1, which means any
            // version to ZooKeeper.
            let text =
                former::record(mark, definition, &realm.id, Some(&number)).filter(|_| part != Some(-1));
            let Some(text) = text else { return Ok(at.map(entry)) };
            let (path, data) = (&*record.at.path, text.as_bytes());
            let part = match part {
                Some(version) => Request::Write { path, data, version },
                None => self.create(path, data),
            };
            // If another floe was first, the next round reads its record.
            self.commit(realm, &record, vec![part], &text, Some(&bound)).await?;
        }
    }

    /// Writes a record if it is still the `expected` one, or, without one, if it does not exist.
    pub(super) async fn replace(
        &mut self,
        realm: &Realm,
        (sort, key): (&str, &str),
        text: &str,
        expected: Option<&str>,
    ) -> Result<Put, Trouble> {
        let record = realm.record(sort, key);
        let (path, data) = (&*record.at.path, text.as_bytes());
        let (old, bound);
        let (parts, bound) = if let Some(expected) = expected {
            let Some((number, version)) = expected.split_once(' ') else { return Ok(Put::Conflict) };
            let Ok(version) = version.parse() else { return Ok(Put::Conflict) };
            old = format!("{path}/{number}");
            (vec![Request::Delete { path: &old }, Request::Write { path, data, version }], None)
        } else {
            bound = match record.is_name {
                true => self.read(&realm.root, &[&record.definition.path]).await?.pop().flatten(),
                false => None,
            };
            // A floe of version 1 has bound the name; the caller's next read shows it.
            if definition(&bound).is_some() {
                return Ok(Put::Conflict);
            }
            (vec![self.create(path, data)], Some(&bound))
        };
        Ok(match self.commit(realm, &record, parts, text, bound).await? {
            (Some(at), _) => Put::Done(version(text, at)),
            (None, Some(found)) if !former::is_former(&found.0) => Put::Found(Some(entry(found))),
            (None, _) => Put::Conflict,
        })
    }

    /// Writes a record by `parts` of a transaction, and its number with them. If it is made, or is of version 1, `bound` is
    /// the name's former definition. Then the transaction also writes [`STOP`] there.
    async fn commit(
        &mut self,
        realm: &Realm,
        record: &Record,
        mut parts: Vec<Request<'_>>,
        text: &str,
        bound: Option<&Found>,
    ) -> Result<(Option<i32>, Found), Trouble> {
        let number = format!("{}/{}", record.at.path, written(text));
        if record.is_replaced {
            parts.push(self.create(&number, b""));
        }
        let mut buckets = Vec::new();
        if let Some(bound) = bound {
            buckets.push(&*record.at.bucket);
            if record.is_name {
                buckets.push(&record.definition.bucket);
                let (path, data) = (&*record.definition.path, STOP.as_bytes());
                parts.push(match bound {
                    None => self.create(path, data),
                    Some((text, _)) if text == STOP => Request::Exists { path },
                    Some((_, version)) => Request::Write { path, data, version: *version },
                });
            }
        }
        self.write(&realm.root, &buckets, parts, &record.at.path).await
    }

    /// The first `limit` records whose keys begin with `prefix` and come after `after`, in byte order. With a `realm` they are
    /// its records, and `base` is the common beginning of their keys (`mark/shop/`). Else they are the realms below `path`.
    pub(super) async fn list(
        &mut self,
        (path, realm): (&str, Option<&Realm>),
        base: &str,
        (prefix, after, limit): (&str, &str, usize),
    ) -> Result<Vec<(String, String)>, Trouble> {
        let (mut all, mut after) = (Vec::new(), after.to_owned());
        while all.len() < limit {
            let parents = match realm {
                Some(realm) => self.buckets(realm, base, prefix).await?,
                None => vec![(path.to_owned(), base.to_owned())],
            };
            let wanted = limit - all.len();
            let keys = self.keys(&parents, |key| key.starts_with(prefix) && *key > *after, wanted).await?;
            let is_over = keys.len() < wanted;
            let keys: Vec<String> = keys.into_iter().collect();
            for keys in keys.chunks(AT_ONCE) {
                let rests: Vec<&str> = keys.iter().filter_map(|key| key.strip_prefix(base)).collect();
                let found = match realm {
                    Some(realm) => self.look(realm, layout::split(base).0, &rests).await?,
                    None => self.realms(path, &rests).await?,
                };
                let found = keys.iter().zip(found);
                all.extend(found.filter_map(|(key, entry)| Some((key.clone(), entry?.text))));
            }
            match keys.into_iter().last() {
                Some(last) if !is_over => after = last,
                _ => break,
            }
        }
        Ok(all)
    }

    /// The parents of a realm's records, each with the beginning of its children's keys.
    async fn buckets(
        &mut self,
        realm: &Realm,
        base: &str,
        prefix: &str,
    ) -> Result<Vec<(String, String)>, Trouble> {
        let sort = layout::split(base).0;
        let mut directories = vec![(format!("{}/{}", realm.root, layout::directory(sort)), base.to_owned())];
        let names = format!("{base}{}", Key::NAMES);
        // A name that version 1 bound, and that needs no mark, has a node only here.
        if sort == "mark" && (names.starts_with(prefix) || prefix.starts_with(&names)) {
            directories.push((format!("{}/{DEFINITIONS}", realm.root), names));
        }
        let requests: Vec<_> = directories.iter().map(|(path, _)| Request::Children { path }).collect();
        let replies = self.settled(&realm.root, &requests).await?.ok_or_else(|| self.is_gone(&realm.root))?;
        let mut buckets = Vec::new();
        for ((path, start), reply) in directories.iter().zip(replies) {
            let children = reply.children().map_err(Trouble::Store)?.ok_or_else(|| self.is_gone(path))?;
            buckets.extend(children.iter().map(|bucket| (format!("{path}/{bucket}"), start.clone())));
        }
        Ok(buckets)
    }

    /// The first `limit` keys of the children of `parents`, without names that are not keys.
    async fn keys(
        &mut self,
        parents: &[(String, String)],
        is_wanted: impl Fn(&str) -> bool,
        limit: usize,
    ) -> Result<BTreeSet<String>, Trouble> {
        let mut keys = BTreeSet::new();
        for parents in parents.chunks(AT_ONCE) {
            let requests: Vec<_> = parents.iter().map(|(path, _)| Request::Children { path }).collect();
            for ((_, start), reply) in parents.iter().zip(self.ask(&requests).await?) {
                let children = reply.children().map_err(Trouble::Store)?.unwrap_or_default();
                let found =
                    children.iter().filter_map(|node| Some(format!("{start}{}", layout::unescaped(node)?)));
                keys.extend(found.filter(|key| is_wanted(key)));
                while keys.len() > limit {
                    keys.pop_last();
                }
            }
        }
        Ok(keys)
    }

    /// Reads records from the session's server, which may lag behind.
    async fn look(
        &mut self,
        realm: &Realm,
        sort: &str,
        keys: &[&str],
    ) -> Result<Vec<Option<Entry>>, Trouble> {
        let records: Vec<_> = keys.iter().map(|key| realm.record(sort, key)).collect();
        let places = records.iter().flat_map(|record| [&record.at, &record.definition]);
        let requests: Vec<_> = places.map(|place| Request::Read { path: &place.path }).collect();
        let replies = self.ask(&requests).await?;
        let mut found = replies.iter().map(|reply| self.text(reply, &realm.root));
        let mut next = || found.next().transpose().map(Option::flatten);
        records.iter().map(|record| Ok(realm.entry(record, next()?, &next()?))).collect()
    }

    /// Reads realms from the session's server, which may lag behind. `None` if the node is not a realm, or if the user may
    /// not read it.
    async fn realms(&mut self, path: &str, names: &[&str]) -> Result<Vec<Option<Entry>>, Trouble> {
        let paths: Vec<_> = names.iter().map(|name| layout::realm_path(path, name)).collect();
        let requests: Vec<_> = paths.iter().map(|path| Request::Read { path }).collect();
        let replies = self.ask(&requests).await?;
        let found = replies.iter().map(|reply| {
            let (data, version) = reply.data().ok()??;
            let (_, record) = layout::parse_realm(std::str::from_utf8(&data).ok()?)?;
            Some(entry((record.unwrap_or_default(), version)))
        });
        Ok(found.collect())
    }

    /// Reads a record of another realm.
    pub(super) async fn elsewhere(
        &mut self,
        path: &str,
        name: &str,
        (sort, key): (&str, &str),
    ) -> Result<Option<Entry>, Trouble> {
        let found = self.realms(path, &[name]).await?.pop().flatten();
        let Some(id) = found.as_ref().and_then(|entry| layout::id_in(&entry.text)) else { return Ok(None) };
        let realm = Realm::new(&layout::realm_path(path, name), id);
        Ok(self.look(&realm, sort, &[key]).await?.pop().flatten())
    }

    /// Makes the nodes above a realm, and the realm with its directories. `false` if another process was first.
    pub(super) async fn make(&mut self, path: &str, realm_path: &str, record: &str) -> Result<bool, Trouble> {
        let parents = path.match_indices('/').skip(1).map(|(end, _)| end).chain([path.len()]);
        for parent in parents.filter_map(|end| path.get(..end)) {
            // floe may have no right to make a node whose parent belongs to others, so it makes only missing ones.
            let replies = self.ask(&[Request::Read { path: parent }]).await?;
            if replies.first().is_some_and(|reply| reply.code != code::NO_NODE) {
                continue;
            }
            let reply = self.settle_one(self.create(parent, b"")).await?;
            reply.is_done_or(&[code::NODE_EXISTS]).map_err(Trouble::Store)?;
        }
        let text = layout::realm_text(record);
        let id = layout::id_in(record).ok_or(Trouble::Store(Error::Garbled("a realm without an id")))?;
        let Realm { root, .. } = Realm::new(realm_path, id);
        let directories =
            [layout::MARKS, MADE, DEFINITIONS, layout::CLOCK].map(|name| format!("{root}/{name}"));
        let mut parts = vec![self.create(realm_path, text.as_bytes()), self.create(&root, b"")];
        parts.extend(directories.iter().map(|path| self.create(path, b"")));
        match self.settle_one(Request::All(parts)).await?.outcome().map_err(Trouble::Store)? {
            Ok(_) => Ok(true),
            Err((0, code::NODE_EXISTS)) => Ok(false),
            Err((_, code)) => Err(Trouble::Store(Error::Code(code))),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::sync::Arc;

    use super::super::link::tests::{done, failed, link, node, reply};
    use super::super::session::tests::frame;
    use super::*;

    const FORMER: &str = "mark=5 start=3 previous=1 token=-";
    const CURRENT: &str = "floe 1\nrealm 0f\nwritten 77\nmade 1\nmark 5 start 3 previous 1\nend\n";

    /// What `call` comes to on a server that gives these replies and no more.
    async fn played<T>(
        call: impl AsyncFnOnce(&mut Link, &Realm) -> Result<T, Trouble>,
        replies: &[(i32, Vec<u8>)],
    ) -> T {
        let (mut link, mut server) = link(&Arc::default()).await;
        let realm = Realm::new("/floe/shop", "0f");
        let serve = async {
            for (code, body) in replies {
                reply(&mut server, 1, *code, body).await;
            }
            while frame(&mut server).await.0 < 1 {}
        };
        let serve = pin!(serve);
        tokio::select! {
            biased;
            outcome = call(&mut link, &realm) => outcome.unwrap(),
            () = serve => panic!("it asks for more"),
        }
    }

    const NONE: (i32, Vec<u8>) = (code::NO_NODE, Vec::new());

    /// What a floe of version 1 has written is read again, which rewrites it first.
    #[tokio::test]
    async fn a_write_that_is_refused_returns_the_record_if_it_is_of_this_version() {
        for (text, is_shown) in [(CURRENT, true), (FORMER, false)] {
            let replies = [(0, failed(code::BAD_VERSION)), (0, node(text, 4))];
            let write = async |link: &mut Link, realm: &Realm| {
                link.replace(realm, ("mark", "s/10/7"), CURRENT, Some("66 3")).await
            };
            let outcome = played(write, &replies).await;
            let shown = Put::Found(Some(Entry { text: text.to_owned(), version: Version::new("77 4") }));
            assert_eq!(outcome, if is_shown { shown } else { Put::Conflict }, "{text}");
        }
    }

    /// Former floes bind names alone.
    #[tokio::test]
    async fn a_slot_or_a_note_is_made_without_a_look_at_what_former_floes_have_bound() {
        for (sort, key) in [("mark", "s/10/7"), ("made", "n/orders")] {
            let make =
                async |link: &mut Link, realm: &Realm| link.replace(realm, (sort, key), CURRENT, None).await;
            let made = played(make, &[(0, Vec::new()), (0, done()), (0, node(CURRENT, 0))]).await;
            assert_eq!(made, Put::Done(Version::new("77 0")), "{sort}/{key}");
        }
    }

    /// It would have another definition for the floe that bound it.
    #[tokio::test]
    async fn the_record_of_a_name_that_a_former_floe_has_just_bound_is_not_made() {
        let make = async |link: &mut Link, realm: &Realm| {
            link.replace(realm, ("mark", "n/orders"), CURRENT, None).await
        };
        assert_eq!(played(make, &[(0, done()), (0, node("counter", 0))]).await, Put::Conflict);
    }

    /// A write of a node at that version has no condition.
    #[tokio::test]
    async fn a_former_record_at_the_version_that_means_any_is_not_rewritten() {
        let find = async |link: &mut Link, realm: &Realm| link.find(realm, "mark", "s/10/7").await;
        let found = played(find, &[(0, done()), (0, node(FORMER, -1)), NONE, NONE]).await;
        assert_eq!(found.map(|entry| entry.text).as_deref(), Some(FORMER));
    }
}
