//! A server that answers as Google's documentation of the XML API says ("PUT Object", "List objects", "Request
//! preconditions"), as far as floe uses it. It holds what floe sends and how it reads the answers. What Google's cloud
//! does, it does not show.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use floe::ledger::conformance::{Realm, run};
use floe::ledger::{Ledger, LedgerError};
use floe::store::Put;
use floe::store::conformance::{StoreRealm, run_store};
use floe_testbed::http_stub;
use tempfile::NamedTempFile;

use crate::{OpenError, Opening};

/// Fewer than a case lists, so that pages follow each other.
const PAGE: usize = 50;

/// A bucket, `ids`: the generation and the content of each object.
struct Bucket {
    objects: BTreeMap<String, (u64, Vec<u8>)>,
    generation: u64,
    ignores_conditions: bool,
    /// What it answers to a write over an object that is gone.
    gone: (&'static str, &'static str),
    /// What somebody deletes right after the next list.
    deleted: Vec<&'static str>,
}

const GONE: (&str, &str) = ("412 Precondition Failed", "PreconditionFailed");

impl Default for Bucket {
    /// Google's generations are microseconds. No object has the generation 1, which floe expects in a trial.
    fn default() -> Self {
        let generation = 1_772_362_800_000_000;
        Self {
            objects: BTreeMap::new(),
            generation,
            ignores_conditions: false,
            gone: GONE,
            deleted: Vec::new(),
        }
    }
}

struct Answer {
    status: &'static str,
    generation: Option<u64>,
    body: Vec<u8>,
}

impl Answer {
    fn refused(status: &'static str, code: &str) -> Self {
        Self { status, generation: None, body: format!("<Error><Code>{code}</Code></Error>").into_bytes() }
    }

    fn text(&self) -> Vec<u8> {
        let Self { status, generation, body } = self;
        let generation = generation.map_or(String::new(), |generation| {
            format!("etag: \"{generation}\"\r\nx-goog-generation: {generation}\r\n")
        });
        let head = format!(
            "HTTP/1.1 {status}\r\n{generation}last-modified: Sun, 01 Mar 2026 12:00:00 GMT\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        [head.as_bytes(), body].concat()
    }
}

impl Bucket {
    fn put(&mut self, name: &str, condition: Option<u64>, body: Vec<u8>) -> Answer {
        let found = self.objects.get(name).map_or(0, |(generation, _)| *generation);
        let expected = condition.expect("floe writes on a condition alone");
        if found != expected && !self.ignores_conditions {
            let (status, code) = if found == 0 { self.gone } else { GONE };
            return Answer::refused(status, code);
        }
        self.generation += 1;
        self.objects.insert(name.to_owned(), (self.generation, body));
        Answer { status: "200 OK", generation: Some(self.generation), body: Vec::new() }
    }

    fn get(&self, name: &str) -> Answer {
        match self.objects.get(name) {
            Some((generation, body)) => {
                Answer { status: "200 OK", generation: Some(*generation), body: body.clone() }
            }
            None => Answer::refused("404 Not Found", "NoSuchKey"),
        }
    }

    fn list(&self, query: &str) -> Answer {
        let asked: BTreeMap<_, _> = url::form_urlencoded::parse(query.as_bytes()).into_owned().collect();
        let [prefix, after] =
            ["prefix", "continuation-token"].map(|key| asked.get(key).map_or("", String::as_str));
        let mut names: Vec<_> =
            self.objects.keys().filter(|name| name.starts_with(prefix) && name.as_str() > after).collect();
        let is_last = names.len() <= PAGE;
        names.truncate(PAGE);
        let mut page = String::from("<ListBucketResult>");
        if let (Some(last), false) = (names.last(), is_last) {
            page += &format!("<NextContinuationToken>{last}</NextContinuationToken>");
        }
        for name in names {
            page += &format!(
                "<Contents><Key>{name}</Key><LastModified>2026-03-01T12:00:00.000Z</LastModified><Size>1</Size></Contents>"
            );
        }
        page += "</ListBucketResult>";
        Answer { status: "200 OK", generation: None, body: page.into_bytes() }
    }

    fn answer(&mut self, head: &str, body: Vec<u8>) -> Answer {
        let condition = head.lines().find_map(|line| line.strip_prefix("x-goog-if-generation-match: "));
        let [method, target] = head.split(' ').take(2).collect::<Vec<_>>().try_into().unwrap();
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let path = percent_encoding::percent_decode_str(path).decode_utf8().unwrap();
        match (method, path.strip_prefix("/ids").unwrap()) {
            ("GET", "") => {
                let listed = self.list(query);
                self.deleted.drain(..).for_each(|name| drop(self.objects.remove(name)));
                listed
            }
            ("GET", name) => self.get(&name[1..]),
            ("PUT", name) => self.put(&name[1..], condition.map(|number| number.parse().unwrap()), body),
            (other, _) => panic!("floe has no need of {other}"),
        }
    }
}

/// A bucket on a server that listens until the test ends, its URL, and the service account that the URL names.
fn start() -> (Arc<Mutex<Bucket>>, String, NamedTempFile) {
    let bucket = Arc::new(Mutex::new(Bucket::default()));
    let served = Arc::clone(&bucket);
    let port = http_stub(move |head, body| served.lock().unwrap().answer(head, body.to_vec()).text());
    let mut account = NamedTempFile::new().unwrap();
    account
        .write_all(br#"{"client_email": "floe@example", "private_key": "-", "private_key_id": "-", "disable_oauth": true}"#)
        .unwrap();
    let path = account.path().display();
    let url = format!("gs://ids/floe?endpoint=http://127.0.0.1:{port}&max_wait=60s&password_file={path}");
    (bucket, url, account)
}

#[test]
fn the_store_and_its_ledger_conform() {
    let (bucket, url, _account) = start();
    let realms = AtomicU32::new(0);
    let opening = || Opening::of(&format!("realm-{}", realms.fetch_add(1, Ordering::Relaxed)));
    run_store(&|| {
        let (opening, url) = (opening(), url.clone());
        StoreRealm::new(move || opening.__open_store(&url).unwrap().unwrap())
    });
    run(&|| {
        let (opening, url) = (opening(), url.clone());
        let connect = move || -> Box<dyn Ledger> { opening.open(&url).unwrap() };
        Realm::new(connect).with_names(4 * PAGE)
    });
    let names: Vec<_> = bucket.lock().unwrap().objects.keys().cloned().collect();
    assert!(names.contains(&"floe/realm/realm-0".to_owned()), "{names:?}");
}

#[test]
fn a_store_that_ignores_generations_is_refused() {
    let (bucket, url, _account) = start();
    let test = Opening::of("test");
    let id = test.open(&url).unwrap().realm_id().unwrap();
    bucket.lock().unwrap().ignores_conditions = true;
    let ways = [test.clone(), test.clone().existing(), test.clone().to_look(), test.realm_id(&id)];
    for opening in ways.into_iter().chain([Opening::of("new")]) {
        let Err(error) = opening.open(&url) else { panic!("{opening:?}: it was opened") };
        assert!(
            matches!(&error, OpenError::Ledger(LedgerError::Unfit(text)) if text.contains("gs://ids/floe ignores the condition of a write (x-goog-if-generation-match)")),
            "{opening:?}: {error}"
        );
    }
}

/// Whether the store checks the condition first, or looks for the object.
#[test]
fn a_write_over_an_object_that_is_gone_is_a_conflict_and_any_other_404_proves_nothing() {
    let (bucket, url, _account) = start();
    let (store, _) = Opening::of("test").__open_store(&url.replace("60s", "2s")).unwrap().unwrap();
    let Put::Done(version) = store.put("mark/test/n/orders", "floe 1\nfirst", None).unwrap() else {
        panic!("it was there")
    };
    bucket.lock().unwrap().objects.remove("floe/mark/test/n/orders").unwrap();
    for gone in [GONE, ("404 Not Found", "NoSuchKey")] {
        bucket.lock().unwrap().gone = gone;
        let outcome = store.put("mark/test/n/orders", "floe 1\nsecond", Some(&version));
        assert!(matches!(outcome, Ok(Put::Conflict)), "{gone:?}: {outcome:?}");
    }
    for code in ["NoSuchBucket", "a page of a portal"] {
        bucket.lock().unwrap().gone = ("404 Not Found", code);
        let outcome = store.put("mark/test/n/orders", "floe 1\nsecond", Some(&version));
        assert!(matches!(outcome, Err(LedgerError::Unavailable(_))), "{code}: {outcome:?}");
    }
    assert_eq!(store.get("mark/test/n/orders"), Ok(None));
}

#[test]
fn others_take_the_place_in_a_list_of_objects_that_are_deleted_meanwhile() {
    let (bucket, url, _account) = start();
    let (store, _) = Opening::of("test").__open_store(&url).unwrap().unwrap();
    for name in ["a", "b", "c", "d", "e"] {
        assert!(matches!(store.put(&format!("mark/test/n/{name}"), "floe 1", None), Ok(Put::Done(_))));
    }
    bucket.lock().unwrap().deleted = vec!["floe/mark/test/n/a", "floe/mark/test/n/c"];
    let listed = store.list("mark/test/n/", "", 2).unwrap();
    let keys: Vec<_> = listed.iter().map(|(key, _)| key.as_str()).collect();
    assert_eq!(keys, ["mark/test/n/b", "mark/test/n/d"]);
}
