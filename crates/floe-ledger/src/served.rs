//! The ledger that a floe server offers: a hundred thousand processes behind a few servers, and those behind one store.
//!
//! # What it promises
//! The promises of the store behind the server: each call is executed there, once requested, and the server returns the
//! store's answer. A call is one request, `POST /v1/ledger/REALM`. The caller chooses a reservation's token, so if it
//! asks again after a lost answer, it gets the same range, from any server on the same store.
//!
//! # On what that depends
//! - **Only floe's answer counts.** It repeats the random `nonce` of its question and has the realm's id. A page, a
//!   proxy's status, or the answer to another question is [`LedgerError::Unavailable`], and proves nothing.
//! - **The servers in a URL have one store.** Each answer's realm id is checked: another one is [`LedgerError::Unfit`].
//!   A store that lost ranges is noticed as without a server in between.
//! - **A right.** A caller with the token can use up each name and slot of the realm, and read its records.
//!
//! # How it behaves
//! The caller drives the connections, at most four. Each call ends within `max_wait` (5 s unless the URL says
//! otherwise), and otherwise returns [`LedgerError::Unavailable`]. After any error on a connection, it is closed, and
//! the next one goes to the next server of the URL. The same happens if a server cannot reach its store.

use floe::ledger::{Elsewhere, Key, Ledger, LedgerError, Record, Reply, Reserve, Token};
use floe::{Name, UnixMillis};

use self::link::Floes;
use self::url::Settings;
use crate::offer::{Answer, Call, PAGE, Text};
use crate::options::environment;
use crate::remote::Remote;
use crate::{OpenError, Opening};

mod link;
mod url;

/// How many servers a question may pass, one after the other.
pub(crate) const MOST_SERVERS: u8 = 4;

/// A ledger behind a floe server.
pub(crate) struct Served {
    remote: Remote<Floes>,
}

/// Opens what a URL names.
pub(crate) fn open_url(url: &str, opening: &Opening) -> Result<Served, OpenError> {
    let settings = Settings::parse(url, &environment)?;
    if opening.servers >= MOST_SERVERS {
        return Err(OpenError::Ledger(LedgerError::Unavailable(format!(
            "the call was passed from floe server to floe server, {MOST_SERVERS} times, and goes no further ({}): the \
             ledgers of these servers form a ring, so there is no store. Look at `ledger` of each server, and set it \
             to a store on one of them",
            settings.reach.shown
        ))));
    }
    let servers = Floes::new(settings, opening)?;
    Ok(Served { remote: Remote::open("floe-served", servers, opening)? })
}

/// Whether a URL can be read, including its files. It makes no connection.
pub(crate) fn check_url(url: &str) -> Result<(), OpenError> {
    Floes::new(Settings::parse(url, &environment)?, &Opening::of("")).map(drop)
}

impl Served {
    /// Sends a call, and has `read` take its value from the answer.
    fn ask<T>(&self, call: Call, read: impl FnOnce(Answer) -> Option<T>) -> Result<T, LedgerError> {
        let realm_id = self.remote.realm_id();
        let answer = self.remote.call(move |link| Box::pin(link.call(realm_id, call)))?;
        read(answer.or_error()?).ok_or_else(|| {
            LedgerError::Unavailable(format!(
                "{} answered something that was not asked: check whether it is a floe server of the same version",
                self.remote.describe()
            ))
        })
    }
}

/// Up to `limit` items of a list of the ledger that is `shown`, a page at a time. `page` requests the items after a
/// key, and `key` returns an item's key.
fn pages<T>(
    shown: &str,
    after: &str,
    limit: usize,
    page: impl Fn(String, usize) -> Result<Vec<T>, LedgerError>,
    key: impl Fn(&T) -> &str,
) -> Result<Vec<T>, LedgerError> {
    let mut all: Vec<T> = Vec::new();
    loop {
        let wanted = PAGE.min(limit - all.len());
        let behind = all.last().map_or(after, &key).to_owned();
        let found = page(behind.clone(), wanted)?;
        let keys = std::iter::once(behind.as_str()).chain(found.iter().map(&key));
        if found.len() > wanted || !keys.is_sorted_by(|one, next| one < next) {
            return Err(LedgerError::Unavailable(format!(
                "{shown} listed something that was not asked for: check whether it is a floe server of the same version"
            )));
        }
        let is_last = found.len() < wanted;
        all.extend(found);
        if is_last || all.len() == limit {
            return Ok(all);
        }
    }
}

fn reply(answer: Answer) -> Option<Reply> {
    match answer {
        Answer::Got { start, end, previous_mark } => Some(Reply::Got { start, end, previous_mark }),
        Answer::Refused { mark, note } => Some(Reply::Refused { mark, note }),
        _ => None,
    }
}

/// The value of one kind of answer.
macro_rules! only {
    ($answer:ident) => {
        |answer| match answer {
            Answer::$answer(value) => Some(value),
            _ => None,
        }
    };
}

impl Ledger for Served {
    fn reserve(&self, request: &Reserve) -> Result<Reply, LedgerError> {
        self.ask(Call::Reserve(request.into()), reply)
    }

    fn count(&self, request: &Reserve) -> Result<Reply, LedgerError> {
        self.ask(Call::Count(request.into()), reply)
    }

    fn give_back(&self, key: &Key, token: Token, from: u64) -> Result<bool, LedgerError> {
        self.ask(Call::GiveBack { key: Text(key.clone()), token: Text(token), from }, only!(GivenBack))
    }

    fn bind(&self, name: &Name, definition: &str, marked: bool) -> Result<String, LedgerError> {
        let (name, definition) = (Text(name.clone()), definition.to_owned());
        self.ask(Call::Bind { name, definition, marked }, only!(Bound))
    }

    fn definition(&self, name: &Name) -> Result<Option<String>, LedgerError> {
        self.ask(Call::Definition { name: Text(name.clone()) }, only!(Definition))
    }

    fn names(&self, after: &str, limit: usize) -> Result<Vec<(String, String)>, LedgerError> {
        let page = |after, limit| self.ask(Call::Names { after, limit }, only!(Names));
        pages(&self.describe(), after, limit, page, |(name, _)| name)
    }

    fn raise(&self, key: &Key, at_least: u64) -> Result<u64, LedgerError> {
        self.ask(Call::Raise { key: Text(key.clone()), at_least }, only!(Raised))
    }

    fn list(&self, prefix: &str, after: &str, limit: usize) -> Result<Vec<Record>, LedgerError> {
        let page = |after, limit| {
            let call = Call::List { prefix: prefix.to_owned(), after, limit };
            let found = self.ask(call, only!(Records))?.into_iter();
            Ok(found.map(|(key, mark, note)| Record { key, mark, note }).collect())
        };
        pages(&self.describe(), after, limit, page, |record| &record.key)
    }

    fn clock(&self) -> Result<Option<UnixMillis>, LedgerError> {
        Ok(self.ask(Call::Clock {}, only!(Clock))?.map(UnixMillis::new))
    }

    fn in_other_realms(&self, name: &Name) -> Result<Vec<Elsewhere>, LedgerError> {
        let found = self.ask(Call::InOtherRealms { name: Text(name.clone()) }, only!(Elsewhere))?.into_iter();
        Ok(found.map(|(realm, definition, mark)| Elsewhere { realm, definition, mark }).collect())
    }

    fn realm_id(&self) -> Result<String, LedgerError> {
        Ok(self.remote.realm_id())
    }

    fn describe(&self) -> String {
        self.remote.describe()
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    #[test]
    fn a_page_is_in_order_and_behind_what_was_asked_for() {
        let listed = |page: &[&str]| {
            let page: Vec<String> = page.iter().map(|name| (*name).to_owned()).collect();
            pages("floe", "b", 3, |_, _| Ok(page.clone()), String::as_str)
        };
        assert_eq!(listed(&["c", "d"]), Ok(vec!["c".to_owned(), "d".to_owned()]));
        for page in [&["b"][..], &["a", "c"], &["d", "c"], &["c", "c"], &["c", "d", "e", "f"]] {
            let refused = listed(page).unwrap_err().to_string();
            assert!(refused.contains("listed something that was not asked for"), "{page:?}: {refused}");
        }
    }

    #[test]
    fn a_list_of_many_pages_has_every_item_once_up_to_its_limit() {
        let all: Vec<String> = (0..3 * PAGE).map(|number| format!("{number:05}")).collect();
        for (limit, requests) in [
            (0, 1),
            (1, 1),
            (PAGE - 1, 1),
            (PAGE, 1),
            (PAGE + 1, 2),
            (2 * PAGE, 2),
            (3 * PAGE - 1, 3),
            (3 * PAGE, 3),
            // Only an empty page tells that this was all.
            (3 * PAGE + 1, 4),
            (usize::MAX, 4),
        ] {
            let wanted = RefCell::new(Vec::new());
            let page = |after: String, limit: usize| {
                wanted.borrow_mut().push(limit);
                assert!(wanted.borrow().len() <= requests, "{limit}: {wanted:?}");
                Ok(all.iter().filter(|item| **item > after).take(limit).cloned().collect())
            };
            let found = pages("floe", "", limit, page, String::as_str).unwrap();
            assert_eq!(found, all[..limit.min(all.len())]);
            let wanted = wanted.into_inner();
            assert_eq!(wanted.len(), requests, "{limit}");
            assert!(wanted.iter().all(|wanted| *wanted <= PAGE), "the server refuses more: {wanted:?}");
        }
    }

    #[test]
    fn a_question_goes_from_server_to_server_four_times() {
        let own = Opening::of("shop");
        let opening = |passed| Opening { servers: own.servers + passed, ..own.clone() };
        let url = "floe://:floe_1@127.0.0.1:1?max_wait=1s";
        let Err(error) = open_url(url, &opening(3)) else { panic!("nobody listens there") };
        assert!(error.to_string().contains("whether the server runs"), "{error}");
        let Err(error) = open_url(url, &opening(4)) else { panic!("the fourth server asks a fifth") };
        assert!(error.to_string().contains("form a ring"), "{error}");
        assert!(!error.to_string().contains("floe_1"), "{error}");
    }
}
