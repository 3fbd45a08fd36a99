//! Realms of version 1, which had a node for a mark and one for a definition, are taken over record by record, under a
//! floe of that version that runs on.
//!
//! The nodes and the requests here are what that floe wrote and asked.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Barrier;
use std::thread;

use floe::Name;
use floe::ledger::{Key, Ledger, LedgerError, Reply, Reserve, Token};
use floe_ledger::Opening;
use floe_testbed::Zookeeper;

use super::checks::refused;
use super::open;
use crate::real_servers::faults::disjoint;
use crate::{ask, got, says};

const ID: &str = "7a1512e18cf6f760a63cdaef68c62477";
const ROOT: &str = "/floe/test/7a1512e18cf6f760a63cdaef68c62477";
const TOKEN: &str = "4f6f0fc10795b1af82d9c47dbc5fe018";

/// A session of the former floe.
struct Former(TcpStream);

/// A request: its operation and its body.
type Request = (i32, Vec<u8>);

/// A node's text and its version.
type Seen = Option<(String, i32)>;

const NO_NODE: i32 = -101;
const BAD_VERSION: i32 = -103;
const NODE_EXISTS: i32 = -110;

fn int(number: i32) -> [u8; 4] {
    number.to_be_bytes()
}

fn text(text: &str) -> Vec<u8> {
    [&int(i32::try_from(text.len()).unwrap()), text.as_bytes()].concat()
}

fn create(path: &str, data: &str) -> Request {
    let access = [int(1), int(31)].concat();
    (15, [text(path), text(data), access, text("world"), text("anyone"), int(0).to_vec()].concat())
}

fn write(path: &str, data: &str, version: i32) -> Request {
    (5, [text(path), text(data), int(version).to_vec()].concat())
}

fn read(path: &str) -> Request {
    (4, [text(path), vec![0]].concat())
}

/// All in one transaction.
fn all(parts: &[Request]) -> Request {
    let header = |operation: i32, end: u8| [&int(operation)[..], &[end], &int(-1)].concat();
    let parts = parts.iter().flat_map(|(operation, body)| [header(*operation, 0), body.clone()].concat());
    (14, parts.chain(header(-1, 1)).collect())
}

/// The bucket of version 1, FNV-1a folded to a byte.
fn place(directory: &str, key: &str) -> (String, String) {
    let hash = key.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let bucket = hash.to_be_bytes().into_iter().fold(0, |folded, byte| folded ^ byte);
    let bucket = format!("{ROOT}/{directory}/{bucket:02x}");
    let path = format!("{bucket}/{}", key.replace('/', "%2F"));
    (bucket, path)
}

fn token() -> String {
    Token::random().unwrap().hex()
}

/// What the former floe came to.
#[derive(PartialEq, Eq, Debug)]
enum Outcome {
    Got(u64, u64),
    Missing,
    /// It finds what it did not write, and stops.
    Stops(String),
}

impl Former {
    fn connect(server: &Zookeeper) -> Self {
        let mut stream = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
        stream.set_nodelay(true).unwrap();
        let asked = [&[0; 12][..], &int(30_000), &[0; 8], &int(16), &[0; 17]].concat();
        stream.write_all(&[&int(i32::try_from(asked.len()).unwrap()), &*asked].concat()).unwrap();
        let mut former = Self(stream);
        former.frame();
        former
    }

    fn frame(&mut self) -> Vec<u8> {
        let mut length = [0; 4];
        self.0.read_exact(&mut length).unwrap();
        let mut content = vec![0; usize::try_from(i32::from_be_bytes(length)).unwrap()];
        self.0.read_exact(&mut content).unwrap();
        content
    }

    /// The code and the body of each reply.
    fn ask(&mut self, requests: &[Request]) -> Vec<(i32, Vec<u8>)> {
        for (operation, body) in requests {
            let content = [&int(7)[..], &int(*operation), body].concat();
            self.0.write_all(&[&int(i32::try_from(content.len()).unwrap()), &*content].concat()).unwrap();
        }
        let replies = requests.iter().map(|_| self.frame());
        replies
            .map(|frame| (i32::from_be_bytes(frame[12..16].try_into().unwrap()), frame[16..].to_vec()))
            .collect()
    }

    fn seen((code, body): &(i32, Vec<u8>)) -> Seen {
        if *code == NO_NODE {
            return None;
        }
        assert_eq!(*code, 0);
        let length = usize::try_from(i32::from_be_bytes(body[..4].try_into().unwrap())).unwrap();
        let (data, stat) = body[4..].split_at(length);
        let version = i32::from_be_bytes(stat[32..36].try_into().unwrap());
        Some((String::from_utf8(data.to_vec()).unwrap(), version))
    }

    /// Where the first error of a transaction is, and which.
    fn failed((_, body): &(i32, Vec<u8>)) -> Option<(usize, i32)> {
        // The results of one that failed are errors alone: a header, and a code.
        let errors = body.chunks_exact(13).map(|result| {
            let [operation, code] =
                [0, 9].map(|at| i32::from_be_bytes(result[at..at + 4].try_into().unwrap()));
            (operation, code)
        });
        let mut errors = errors.take_while(|(operation, _)| *operation == -1).enumerate();
        errors.find(|(_, (_, code))| *code != 0).map(|(at, (_, code))| (at, code))
    }

    fn make_realm(&mut self) {
        let realm = format!("version=1 id={ID}");
        self.ask(&[create("/floe", "")]);
        let nodes = [("/floe/test", &*realm), (ROOT, "")].map(|(path, data)| create(path, data));
        let below =
            ["marks", "made", "definitions", "clock"].map(|name| create(&format!("{ROOT}/{name}"), ""));
        let made = self.ask(&[all(&[&nodes[..], &below].concat())]);
        assert_eq!(Self::failed(&made[0]), None);
    }

    /// Makes a node below a directory, as a part of what that floe wrote.
    fn put(&mut self, directory: &str, key: &str, data: &str) {
        let (bucket, path) = place(directory, key);
        let replies = self.ask(&[create(&bucket, ""), create(&path, data)]);
        assert_eq!(replies[1].0, 0, "{path}");
    }

    /// Reserves one, on what was seen before.
    fn reserve(&mut self, key: &str, seen: &mut Seen) -> Outcome {
        let ((bucket, path), (made_bucket, made)) = (place("marks", key), place("made", key));
        loop {
            let mark: u64 = match &seen {
                None => 0,
                Some((text, _)) => {
                    let mark = text.strip_prefix("mark=").and_then(|text| text.split(' ').next());
                    let Some(mark) = mark else { return Outcome::Stops(text.clone()) };
                    mark.parse().unwrap()
                }
            };
            let text = format!("mark={} start={mark} previous={mark} token={}", mark + 1, token());
            let replies = match &seen {
                Some((_, version)) => self.ask(&[write(&path, &text, *version), read(&path)]),
                None => {
                    let make = all(&[create(&made, ""), create(&path, &text)]);
                    self.ask(&[create(&made_bucket, ""), create(&bucket, ""), make, read(&path)]).split_off(2)
                }
            };
            let code = match &seen {
                Some(_) => replies[0].0,
                None => Self::failed(&replies[0]).map_or(0, |(_, code)| code),
            };
            let was_seen = seen.is_some();
            *seen = Self::seen(&replies[1]);
            match code {
                0 => return Outcome::Got(mark, mark + 1),
                NODE_EXISTS if seen.is_none() => return Outcome::Missing,
                BAD_VERSION | NO_NODE | NODE_EXISTS => assert!(was_seen || seen.is_some()),
                code => panic!("{code}"),
            }
        }
    }

    /// Binds a name, and makes its mark. What it is bound to.
    fn bind(&mut self, name: &str, definition: &str) -> String {
        let ((bucket, path), (marks, mark)) =
            (place("definitions", name), place("marks", &format!("n/{name}")));
        if let Some((found, _)) = Self::seen(&self.ask(&[read(&path)])[0]) {
            return found;
        }
        let mut needs_record = true;
        loop {
            let mut parts = vec![create(&path, definition)];
            if needs_record {
                parts.push(create(&mark, "mark=0 start=0 previous=0 token=-"));
            }
            let replies = self.ask(&[create(&bucket, ""), create(&marks, ""), all(&parts), read(&path)]);
            match Self::failed(&replies[2]) {
                None => return definition.to_owned(),
                Some((0, NODE_EXISTS)) => return Self::seen(&replies[3]).unwrap().0,
                Some((1, NODE_EXISTS)) => needs_record = false,
                failed => panic!("{failed:?}"),
            }
        }
    }
}

/// A realm as the former floe left it.
fn former() -> Zookeeper {
    let server = Zookeeper::start(&[], &[]);
    let mut session = Former::connect(&server);
    session.make_realm();
    for (key, data) in [
        ("n/orders", &*format!("mark=3 start=2 previous=1 token={TOKEN}\na\\b\nc")),
        ("n/unbound", "mark=18014398509481985 start=9007199254740993 previous=0 token=-"),
        ("n/visits", "mark=165 start=0 previous=0 token=-"),
        // An operator has set it by hand: what begins above its end begins there.
        ("n/lowered", "mark=7 start=9 previous=8 token=-"),
        ("s/10/693", "mark=1795462660755 start=1795462660753 previous=0 token=-\nhost=db-1 pid=11984 订单"),
    ] {
        session.put("marks", key, data);
    }
    for key in ["n/unbound", "s/10/693", "s/10/1000", "n/eaten"] {
        session.put("made", key, "");
    }
    for (name, definition) in [
        ("orders", "segment increment=1 offset=1"),
        ("visits", "counter"),
        ("flakes", "snowflake\n\\layout"),
        ("eaten", "counter"),
        ("gone", "counter"),
    ] {
        session.put("definitions", name, definition);
    }
    server
}

/// On a machine that is so busy that a session takes longer than the default, too.
fn patient(server: &Zookeeper) -> String {
    format!("{}?connect_timeout=30&max_wait=30s", server.url())
}

fn name(name: &str) -> Name {
    Name::new(name).unwrap()
}

fn of(key: &Key) -> Reserve {
    Reserve { key: key.clone(), ..ask(1) }
}

#[test]
fn all_of_a_realm_is_taken_over() {
    let server = former();
    let url = patient(&server);
    // Commands that only look change nothing, nor does a floe that wants another realm.
    says(&floe_ledger::open_existing(&url, "test").err().unwrap(), &["older floe (version 1)", "floe serve"]);
    let pinned = Opening::of("test").realm_id("00000000000000000000000000000000").open(&url);
    says(&pinned.err().unwrap(), &["has the id 7a15", "pins 0000"]);
    // Nor one with credentials, by which everybody else would be shut out of what is open to everybody.
    let with = url.replace("//", "//careful:secret@");
    says(&floe_ledger::open_in(&with, "test").err().unwrap(), &["open to everybody", "setAcl -R"]);
    assert_eq!(server.cli(&["get", "/floe/test"]), format!("version=1 id={ID}"));
    // A realm that is not taken over yet is one of the other realms.
    let beside = floe_ledger::open_in(&url, "beside").unwrap();
    let elsewhere = beside.in_other_realms(&name("orders")).unwrap();
    let told =
        elsewhere.iter().map(|found| (&*found.realm, &*found.definition, found.mark)).collect::<Vec<_>>();
    assert_eq!(told, [("test", "segment increment=1 offset=1", 3)]);

    thread::scope(|scope| (0..8).for_each(|_| drop(scope.spawn(|| drop(open(&url))))));
    let ledger = open(&url);
    assert_eq!(ledger.realm_id().unwrap(), ID);
    let list = |ledger: &dyn Ledger| {
        let list = ledger.list("", "", 10).unwrap();
        list.into_iter().map(|record| (record.key, record.mark, record.note)).collect::<Vec<_>>()
    };
    let told = [
        ("n/lowered", 7, None),
        ("n/orders", 3, Some("a\\b\nc")),
        ("n/unbound", 18_014_398_509_481_985, None),
        ("n/visits", 165, None),
        ("s/10/693", 1_795_462_660_755, Some("host=db-1 pid=11984 订单")),
    ];
    let told = told.map(|(key, mark, note)| (key.to_owned(), mark, note.map(str::to_owned)));
    let names = |ledger: &dyn Ledger| {
        let names = ledger.names("", 10).unwrap().into_iter();
        names.map(|(name, definition)| format!("{name}: {definition}")).collect::<Vec<_>>()
    };
    let bound = [
        "eaten: counter",
        "flakes: snowflake\n\\layout",
        "gone: counter",
        "orders: segment increment=1 offset=1",
        "visits: counter",
    ];
    // What is only read, page by page too, is not rewritten.
    assert_eq!((list(&*ledger), names(&*ledger)), (told.to_vec(), bound.map(str::to_owned).to_vec()));
    assert_eq!(ledger.names("flakes", 2).unwrap()[1].0, "orders");
    // One that has no mark is a record like any other.
    let (store, _) = Opening::of("test").__open_store(&url).unwrap().unwrap();
    for prefix in ["mark/test/", "mark/test/n", "mark/test/n/fl"] {
        let listed = store.list(prefix, "", 99).unwrap();
        assert!(listed.iter().any(|(key, _)| key == "mark/test/n/flakes"), "{prefix}: {listed:?}");
    }
    assert_eq!(server.cli(&["get", &place("marks", "n/visits").1]), "mark=165 start=0 previous=0 token=-");
    for (name, definition) in ledger.names("", 10).unwrap() {
        let bound = ledger.bind(&Name::new(&name).unwrap(), "other", true);
        // What was deleted stays so.
        let is_there = if name == "eaten" { None } else { Some(definition) };
        assert_eq!(bound.ok(), is_there, "{name}");
    }
    // They are this version's now.
    let visits = server.cli(&["get", &place("marks", "n/visits").1]);
    let written = visits.strip_prefix(&format!("floe 1\nrealm {ID}\nwritten ")).unwrap();
    // Each write has a number of its own; what a former floe wrote has none.
    assert!(!written.starts_with("0000000000000000"), "{visits}");
    assert_eq!(list(&*ledger), told);
    assert_eq!(names(&*ledger), bound);
    let key = |of: &str| Key::name(&name(of));
    // A call that was not answered before is answered now, with the range that it had.
    let token = Token::from_bytes(u128::from_str_radix(TOKEN, 16).unwrap().to_be_bytes()).unwrap();
    let again = ledger.reserve(&Reserve { token, ..of(&key("orders")) });
    assert_eq!(again, Ok(Reply::Got { start: 2, end: 3, previous_mark: 1 }));
    // The ranges go on.
    assert_eq!(got(&*ledger, &of(&key("orders"))), (3, 4));
    assert_eq!(got(&*ledger, &of(&key("visits"))), (165, 166));
    assert_eq!(got(&*ledger, &of(&key("unbound"))).0, 18_014_398_509_481_985);
    assert_eq!(got(&*ledger, &of(&Key::slot(10, 693))).0, 1_795_462_660_755);
    assert_eq!(got(&*ledger, &of(&key("lowered"))), (7, 8));
    for deleted in [key("eaten"), Key::slot(10, 1000)] {
        assert_eq!(ledger.reserve(&of(&deleted)), Err(LedgerError::Missing(deleted)));
    }
    let missing = ledger.reserve(&Reserve { create: false, ..of(&key("gone")) });
    assert_eq!(missing, Err(LedgerError::Missing(key("gone"))));
    // What the former floe finds where it looks: the realm when it connects, a definition, a record.
    assert_eq!(server.cli(&["get", "/floe/test"]), format!("version=2 floe 1\nrealm {ID}"));
    let mut former = Former::connect(&server);
    says(&former.bind("flakes", "snowflake"), &["run the newer floe"]);
    assert!(
        matches!(former.reserve("n/orders", &mut None), Outcome::Stops(text) if text.contains("mark 4 "))
    );
}

/// It and the newer floes write the same node, so none reserves beside another.
#[test]
fn a_former_floe_that_runs_on_reserves_nothing_beside_the_records() {
    let server = former();
    let keys = ["n/orders", "s/10/693", "s/10/5"];
    let url = patient(&server);
    let begun = Barrier::new(keys.len() + 1);
    let (before, after) = thread::scope(|scope| {
        let writers = keys.map(|key| {
            let mut former = Former::connect(&server);
            let begun = &begun;
            scope.spawn(move || {
                let (mut got, mut seen) = (Vec::new(), None);
                loop {
                    assert!(got.len() < 100_000, "{key}: nothing has stopped it");
                    match former.reserve(key, &mut seen) {
                        Outcome::Got(start, end) => got.push((start, end)),
                        Outcome::Stops(text) => break says(&text, &["floe 1\nrealm"]),
                        Outcome::Missing => panic!("{key} is missing"),
                    }
                    if got.len() == 20 {
                        begun.wait();
                    }
                }
                // It stays so.
                assert!(matches!(former.reserve(key, &mut None), Outcome::Stops(_)));
                got
            })
        });
        begun.wait();
        let keys = [Key::name(&name("orders")), Key::slot(10, 693), Key::slot(10, 5)];
        let ledgers: Vec<_> = (0..4).map(|_| open(&url)).collect();
        let reserve = |ledger: &dyn Ledger, key| (0..10).map(|_| got(ledger, &of(key))).collect::<Vec<_>>();
        let after = keys.each_ref().map(|key| {
            thread::scope(|scope| {
                let calls = ledgers.iter().map(|ledger| scope.spawn(|| reserve(&**ledger, key)));
                let callers: Vec<_> = calls.collect();
                callers.into_iter().flat_map(|caller| caller.join().unwrap()).collect::<Vec<_>>()
            })
        });
        (writers.map(|writer| writer.join().unwrap()), after)
    });
    for (before, after) in before.into_iter().zip(after) {
        assert!(before.len() >= 20, "{before:?}");
        // Not one is lost, and not one comes twice.
        let mut all = [before, after].concat();
        all.sort_unstable();
        assert!(all.windows(2).all(|pair| pair[0].1 == pair[1].0), "{all:?}");
    }
}

#[test]
fn of_two_floes_that_make_a_record_at_once_one_makes_it() {
    const SLOTS: u16 = 60;
    let server = former();
    let (begin, ledger) = (Barrier::new(2), open(&patient(&server)));
    let (older, newer) = thread::scope(|scope| {
        let older = scope.spawn(|| {
            let mut former = Former::connect(&server);
            let each = (0..SLOTS).map(|slot| {
                begin.wait();
                // A call of the newer floe takes more trips, each about as long as a write.
                for _ in 0..slot % 6 {
                    former.ask(&[write(&format!("{ROOT}/clock"), "", -1)]);
                }
                let bound = former.bind(&format!("raced-{slot}"), "older");
                (former.reserve(&format!("s/11/{slot}"), &mut None), bound)
            });
            each.collect::<Vec<_>>()
        });
        let newer = (0..SLOTS).map(|slot| {
            begin.wait();
            let bound = ledger.bind(&name(&format!("raced-{slot}")), "newer", true).unwrap();
            (got(&*ledger, &of(&Key::slot(11, slot.into()))), bound)
        });
        let newer: Vec<_> = newer.collect();
        (older.join().unwrap(), newer)
    });
    let (mut ranges, mut firsts) = (Vec::new(), [0; 2]);
    for ((older, older_bound), (newer, newer_bound)) in older.into_iter().zip(newer) {
        ranges.clear();
        ranges.push(newer);
        match older {
            Outcome::Got(start, end) => ranges.push((start, end)),
            outcome => assert!(matches!(outcome, Outcome::Stops(_)), "{outcome:?}"),
        }
        disjoint(ranges.clone());
        // One definition, of which the older floe knows as far as it is its own.
        match &*newer_bound {
            "older" => assert_eq!(older_bound, "older"),
            _ => says(&older_bound, &["run the newer floe"]),
        }
        firsts[usize::from(newer_bound == "newer")] += 1;
    }
    println!("bound by the older and the newer floe first: {firsts:?}");
    // Both are first at times, else nothing was raced for.
    assert!(firsts.iter().all(|first| *first > 0), "{firsts:?}");
    let bound = ledger.names("raced-", 100).unwrap();
    assert_eq!(bound.iter().filter(|(_, definition)| definition == "newer").count(), firsts[1]);
}

#[test]
fn a_realm_of_a_floe_that_is_newer_still_is_refused() {
    let server = former();
    drop(open(&server.url()));
    server.cli(&["set", "/floe/test", "version=3 floe 2"]);
    says(&refused(&server.url()), &["newer floe", "version 3"]);
}
