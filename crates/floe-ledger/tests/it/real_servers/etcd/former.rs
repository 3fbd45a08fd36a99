//! Realms of the first version, which kept marks and definitions apart, are moved under a floe that runs on.
//!
//! The keys and the transactions here are what that floe wrote and made.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use floe::Name;
use floe::ledger::{Key, Ledger, LedgerError, Reply, Reserve, Token};
use floe_ledger::{OpenError, Opening};
use floe_testbed::Proxy;

use super::checks::{let_in, url_of_one};
use super::{Etcd, open, prefix, refused, url};
use crate::real_servers::faults::at_last;
use crate::{ask, got, says};

const ID: &str = "7a1512e18cf6f760a63cdaef68c62477";
const TOKEN: &str = "4f6f0fc10795b1af82d9c47dbc5fe018";

/// The keys below the prefix, with the realm `test`.
const FORMER: &[(&str, &str)] = &[
    ("version", "1"),
    ("realm/test", ID),
    (
        "mark/test/n/orders",
        "mark=3 start=2 previous=1 token=4f6f0fc10795b1af82d9c47dbc5fe018 note=a\\b\nc note=d",
    ),
    ("definition/test/orders", "segment increment=1 offset=1"),
    ("mark/test/n/visits", "mark=165 start=0 previous=0"),
    ("definition/test/visits", "counter"),
    // It was given its first number, and its floe ended before it was bound.
    ("mark/test/n/unbound", "mark=18014398509481985 start=9007199254740993 previous=0"),
    ("made/test/n/unbound", ""),
    ("definition/test/flakes", "snowflake\n\\layout"),
    // Somebody deleted the record.
    ("definition/test/eaten", "counter form base62"),
    ("mark/test/n/damaged", "mark=1e3 start=0 previous=0"),
    ("mark/test/s/10/693", "mark=1795462660755 start=1795462660753 previous=0 note=host=db-1 pid=11984 订单"),
    ("made/test/s/10/693", ""),
    ("made/test/s/10/1000", ""),
    ("mark/test/c/0f", "mark=4 start=3 previous=3 token=4F6F0FC10795B1AF82D9C47DBC5FE018"),
    ("made/test/c/0f", ""),
];

/// Operations that write these keys below the prefix.
fn puts(prefix: &str, keys: &[(&str, &str)]) -> Vec<String> {
    keys.iter().map(|(key, value)| format!("put {prefix}/{key} {value:?}")).collect()
}

fn former(server: &Etcd, prefix: &str) {
    assert!(server.transact(&[], &puts(prefix, FORMER)));
}

/// What stands behind `name` in each key's fields, as etcdctl quotes it.
fn fields(server: &Etcd, key: &str, name: &str) -> Vec<String> {
    let text = server.control(&["get", key, "--prefix", "-w", "fields"]);
    let start = format!("\"{name}\" : ");
    text.lines().filter_map(|line| Some(line.strip_prefix(&start)?.to_owned())).collect()
}

/// A reservation of one, as the floe of before made it. `None` once it has found another realm: then it stopped.
fn reserves(server: &Etcd, prefix: &str, key: &str) -> Option<(u64, u64)> {
    let (mark, realm) = (format!("{prefix}/mark/test/{key}"), format!("{prefix}/realm/test"));
    let made = format!("{prefix}/made/test/{key}");
    loop {
        let found = server.control(&["get", &mark, "-w", "fields"]);
        let field = |name: &str| found.lines().find_map(|line| line.strip_prefix(&format!("\"{name}\" : ")));
        let (old, revision) = (field("Value"), field("ModRevision").unwrap_or("0"));
        let before: u64 = match old {
            None => 0,
            Some(old) => match old.strip_prefix("\"mark=") {
                Some(rest) => rest.split(' ').next().unwrap().parse().unwrap(),
                // The floe of before refuses this as damaged, and writes nothing.
                None => return None,
            },
        };
        let mut conditions =
            vec![format!("value(\"{realm}\") = \"{ID}\""), format!("mod(\"{mark}\") = \"{revision}\"")];
        conditions.push(match old {
            Some(old) => format!("value(\"{mark}\") = {old}"),
            None => format!("mod(\"{made}\") = \"0\""),
        });
        let token = Token::random().unwrap().hex();
        let new = format!("mark={} start={before} previous={before} token={token}", before + 1);
        if server.transact(&conditions, &[format!("put {mark} \"{new}\""), format!("put {made} \"\"")]) {
            return Some((before, before + 1));
        }
        if server.control(&["get", &realm, "--print-value-only"]) != ID {
            return None;
        }
    }
}

fn key(name: &str) -> Key {
    Key::name(&Name::new(name).unwrap())
}

fn of(key: &Key) -> Reserve {
    Reserve { key: key.clone(), ..ask(1) }
}

/// That all of [`FORMER`] is in the records.
#[track_caller]
fn is_moved(server: &Etcd, prefix: &str) -> Box<dyn Ledger> {
    let ledger = open(&url(server, prefix, ""));
    assert_eq!(ledger.realm_id().unwrap(), ID);
    let damaged = ledger.reserve(&of(&key("damaged")));
    let Err(LedgerError::Unfit(text)) = damaged else { panic!("{damaged:?}") };
    says(&text, &["a record mark/test/n/damaged that no floe has written"]);
    server.control(&["del", &format!("{prefix}/mark/test/n/damaged")]);
    let bound = [
        ("flakes", "snowflake\n\\layout"),
        ("orders", "segment increment=1 offset=1"),
        ("visits", "counter"),
    ];
    let bound = bound.map(|(name, definition)| (name.to_owned(), definition.to_owned()));
    assert_eq!(ledger.names("", 10).unwrap(), bound);
    let list = ledger.list("", "", 10).unwrap();
    let list: Vec<_> =
        list.iter().map(|record| (record.key.as_str(), record.mark, record.note.as_deref())).collect();
    assert_eq!(
        list,
        [
            ("c/0f", 4, None),
            ("n/orders", 3, Some("a\\b\nc note=d")),
            ("n/unbound", 18_014_398_509_481_985, None),
            ("n/visits", 165, None),
            ("s/10/693", 1_795_462_660_755, Some("host=db-1 pid=11984 订单")),
        ]
    );
    // A call that was not answered before is answered now, with the range that it had.
    let token = Token::from_bytes(u128::from_str_radix(TOKEN, 16).unwrap().to_be_bytes()).unwrap();
    let again = ledger.reserve(&Reserve { token, ..of(&key("orders")) });
    assert_eq!(again, Ok(Reply::Got { start: 2, end: 3, previous_mark: 1 }));
    // The ranges go on.
    assert_eq!(got(&*ledger, &of(&key("orders"))), (3, 4));
    assert_eq!(got(&*ledger, &of(&key("visits"))), (165, 166));
    assert_eq!(got(&*ledger, &of(&key("unbound"))).0, 18_014_398_509_481_985);
    assert_eq!(got(&*ledger, &of(&Key::slot(10, 693))).0, 1_795_462_660_755);
    // What was deleted stays deleted.
    for deleted in [key("eaten"), Key::slot(10, 1000), key("damaged")] {
        assert_eq!(ledger.reserve(&of(&deleted)), Err(LedgerError::Missing(deleted)));
    }
    assert_eq!(ledger.bind(&Name::new("flakes").unwrap(), "other", false).unwrap(), "snowflake\n\\layout");
    ledger
}

#[test]
fn all_of_a_realm_is_moved() {
    let (server, prefix) = (Etcd::shared(), prefix());
    let url = url(server, &prefix, "");
    former(server, &prefix);
    // Who only looks changes nothing, nor does who wants another realm.
    let looked = floe_ledger::open_existing(&url, "test").err().unwrap();
    says(&looked, &["the realm test", "older floe (version 1)", "floe serve"]);
    let pinned = Opening::of("test").realm_id("00000000000000000000000000000000").open(&url);
    says(&pinned.err().unwrap(), &["has the id 7a15", "pins 0000"]);
    assert_eq!(fields(server, &prefix, "Value").len(), FORMER.len());
    assert_eq!(fields(server, &format!("{prefix}/version"), "Value"), ["\"1\""]);
    // A realm whose own key was gone is not begun anew.
    for kept in ["mark/lost/n/orders", "definition/gone/orders"] {
        server.control(&["put", &format!("{prefix}/{kept}"), "mark=5 start=0 previous=0"]);
        let realm = kept.split('/').nth(1).unwrap();
        let lost = floe_ledger::open_in(&url, realm).err().unwrap();
        assert!(matches!(lost, OpenError::Ledger(LedgerError::Unfit(_))), "{lost:?}");
        says(&lost, &[&format!("{prefix}/realm/{realm}"), "is gone", "restore"]);
    }
    thread::scope(|scope| (0..8).for_each(|_| drop(scope.spawn(|| drop(open(&url))))));
    // Nobody could connect as a former floe, and take what stood in the place of the realm's id for the id.
    let raised = &fields(server, &format!("{prefix}/version"), "ModRevision")[0];
    let then = ["get", &format!("{prefix}/realm/test"), "--print-value-only", "--rev", raised];
    assert_eq!(server.control(&then), format!("moving {ID}"));
    // Of eight, one has taken each step: the realm's key was written by the former floe, and twice since.
    assert_eq!(fields(server, &format!("{prefix}/realm/test"), "Version"), ["3"]);
    drop(is_moved(server, &prefix));
    // A former floe that was about to make a realm, when another one was moved, has made it so.
    server.control(&["put", &format!("{prefix}/realm/late"), ID]);
    let late = floe_ledger::open_in(&url, "late").unwrap();
    assert_eq!((late.realm_id().unwrap(), got(&*late, &ask(5))), (ID.to_owned(), (0, 5)));
    // A floe that connects finds the version, in a prefix where nothing was moved, too.
    let fresh = super::prefix();
    drop(open(&super::url(server, &fresh, "")));
    for prefix in [prefix, fresh] {
        assert_eq!(fields(server, &format!("{prefix}/version"), "Value"), ["\"2\""]);
    }
}

#[test]
fn a_former_floe_that_runs_on_reserves_nothing_beside_the_records() {
    let (server, prefix) = (Etcd::start(&[]), "/floe");
    former(&server, prefix);
    let (moved, tried) = (AtomicBool::new(false), AtomicUsize::new(0));
    let (before, after) = thread::scope(|scope| {
        let (server, moved, tried) = (&server, &moved, &tried);
        let writers = ["n/orders", "s/10/693", "s/10/5"].map(|key| {
            scope.spawn(move || {
                let (mut ranges, mut refused) = (Vec::new(), 0);
                for _ in 0..1_000 {
                    if refused == 5 {
                        break;
                    }
                    let was_moved = moved.load(Ordering::SeqCst);
                    match reserves(server, prefix, key) {
                        Some(range) => {
                            assert!(
                                !was_moved && refused == 0,
                                "{key}: {range:?}, refused {refused} times before"
                            );
                            ranges.push(range);
                        }
                        None => refused += 1,
                    }
                    tried.fetch_add(1, Ordering::SeqCst);
                }
                assert_eq!(refused, 5, "nothing stopped it");
                ranges
            })
        });
        while tried.load(Ordering::SeqCst) < 30 {
            thread::yield_now();
        }
        let ledger = open(&server.url());
        moved.store(true, Ordering::SeqCst);
        let after = [key("orders"), Key::slot(10, 693), Key::slot(10, 5)];
        let after = after.map(|key| (0..20).map(|_| got(&*ledger, &of(&key))).collect::<Vec<_>>());
        (writers.map(|writer| writer.join().unwrap()), after)
    });
    for (before, after) in before.iter().zip(&after) {
        assert!(before.len() >= 3, "{before:?}");
        // Not one is lost, and not one comes twice.
        let all: Vec<_> = before.iter().chain(after).collect();
        assert!(all.windows(2).all(|pair| pair[0].1 == pair[1].0), "{all:?}");
    }
}

/// A folder that may not be read is not an empty one: what is in it would stay behind.
#[test]
fn a_realm_of_which_a_part_may_not_be_read_is_not_moved() {
    let server = Etcd::start(&[]);
    former(&server, "/floe");
    let keys =
        ["/floe/version", "/floe/realm/test", "--prefix /floe/mark/test/", "--prefix /floe/made/test/"];
    let_in(&server, "one", &keys);
    says(&refused(&url_of_one(&server)), &["permission denied", "docs/ledgers.md"]);
    server.control(&["--user=root:root", "auth", "disable"]);
    drop(is_moved(&server, "/floe"));
}

/// Wherever a process that moves a realm ends, no former floe can reserve, and the next process goes on.
#[test]
fn a_move_that_was_cut_off_is_made_good_by_the_next_process() {
    let (server, whole) = (Etcd::shared(), prefix());
    former(server, &whole);
    drop(open(&url(server, &whole, "")));
    let [keys, values] = ["Key", "Value"].map(|name| fields(server, &whole, name));
    let all: Vec<(String, String)> = keys.into_iter().zip(values).collect();
    let records: Vec<&str> = all.iter().filter_map(|(key, _)| key.split("/made/test/").nth(1)).collect();
    assert_eq!(records.len(), 9, "{all:?}");
    for cut in 0..=records.len() {
        let prefix = prefix();
        former(server, &prefix);
        let moving = [("version", "2"), ("realm/test", &*format!("moving {ID}"))];
        let mut done = puts(&prefix, &moving);
        for record in &records[..cut] {
            let of_it = all.iter().filter(|(key, _)| {
                key.ends_with(&format!("/made/test/{record}"))
                    || key.ends_with(&format!("/mark/test/{record}"))
            });
            done.extend(of_it.map(|(key, value)| format!("put {} {value}", key.replace(&whole, &prefix))));
        }
        assert!(server.transact(&[], &done));
        for key in ["n/visits", "s/10/5"] {
            assert_eq!(reserves(server, &prefix, key), None, "{key} at {cut}");
        }
        let looked = floe_ledger::open_existing(&url(server, &prefix, ""), "test").err().unwrap();
        says(&looked, &["older floe (version 1)"]);
        drop(is_moved(server, &prefix));
    }
}

/// What is moved at once has to fit into one request to etcd, of 1.5 MiB.
#[test]
fn a_realm_with_records_of_the_longest_is_moved() {
    let (server, prefix) = (Etcd::shared(), prefix());
    former(server, &prefix);
    let text = "x".repeat(65_000);
    let bound: Vec<_> =
        (0..40).map(|number| (format!("long-{number:02}"), format!("uuid7 {text}"))).collect();
    for chunk in bound.chunks(10) {
        let keys: Vec<_> =
            chunk.iter().map(|(name, text)| (format!("definition/test/{name}"), text)).collect();
        let keys: Vec<_> = keys.iter().map(|(key, text)| (&**key, text.as_str())).collect();
        assert!(server.transact(&[], &puts(&prefix, &keys)));
    }
    let ledger = open(&url(server, &prefix, ""));
    assert!(ledger.names("long-", 40).unwrap() == bound);
}

/// How many names a large realm has: more than fit into one transaction, and into one page of a list.
const MANY: u64 = 2_000;

fn name(number: u64) -> String {
    format!("name-{number:04}")
}

/// The mark of each name is its number.
fn large() -> Etcd {
    let server = Etcd::start(&[]);
    former(&server, "/floe");
    for chunk in (0..MANY).collect::<Vec<_>>().chunks(50) {
        let operations = chunk.iter().flat_map(|&number| {
            let name = name(number);
            [
                format!("put /floe/mark/test/n/{name} \"mark={number} start=0 previous=0\""),
                format!("put /floe/definition/test/{name} \"segment increment={}\"", number + 1),
            ]
        });
        assert!(server.transact(&[], &operations.collect::<Vec<_>>()));
    }
    server
}

fn noted(server: &Etcd) -> u64 {
    fields(server, "/floe/made/test/n/name-", "Key").len() as u64
}

#[test]
fn a_slow_floe_moves_nothing_once_another_one_has_moved_all() {
    let server = large();
    let proxy = Proxy::before(server.port());
    let slow = format!("etcd://127.0.0.1:{}/floe?max_wait=60s", proxy.port());
    let last = of(&key(&name(MANY - 1)));
    let again = || Reserve { token: Token::random().unwrap(), ..last.clone() };
    thread::scope(|scope| {
        let slow = scope.spawn(|| open(&slow));
        // It has read all, and has moved some.
        while proxy.round_trips() < 60 {
            thread::yield_now();
        }
        proxy.cut(true);
        let moved = noted(&server);
        assert!((1..MANY).contains(&moved), "{moved}");
        let unmoved = format!("n/{}", name(MANY - 1));
        assert_eq!(reserves(&server, "/floe", &unmoved), None, "a former floe");
        let ledger = open(&server.url());
        assert_eq!(got(&*ledger, &again()), (MANY - 1, MANY));
        proxy.cut(false);
        let slow = slow.join().unwrap();
        assert_eq!(got(&*ledger, &again()), (MANY, MANY + 1));
        assert_eq!(got(&*slow, &again()), (MANY + 1, MANY + 2));
    });
}

#[test]
fn several_floes_move_a_large_realm_while_the_server_is_killed() {
    let server = large();
    thread::scope(|scope| {
        let mover = || {
            let opened = || match floe_ledger::open_in(&server.url(), "test") {
                Err(OpenError::Ledger(error)) => Err(error),
                opened => Ok(opened.unwrap()),
            };
            let failures = AtomicUsize::new(0);
            let ledger = at_last(&failures, opened);
            // It may reserve: all that were there before are moved.
            for number in [0, MANY / 2, MANY - 1] {
                let at = at_last(&failures, || ledger.reserve(&of(&key(&name(number)))));
                assert!(matches!(at, Reply::Got { start, .. } if start >= number), "{at:?}");
            }
            failures.into_inner()
        };
        let movers: Vec<_> = (0..4).map(|_| scope.spawn(mover)).collect();
        while fields(&server, "/floe/realm/test", "Value") == [format!("{ID:?}")] {
            thread::yield_now();
        }
        server.kill();
        server.run();
        let failures: Vec<_> = movers.into_iter().map(|mover| mover.join().unwrap()).collect();
        assert!(failures.iter().sum::<usize>() > 0, "no mover was cut off");
    });
    assert_eq!(noted(&server), MANY);
    let ledger = open(&server.url());
    let definitions = (0..MANY).map(|number| (name(number), format!("segment increment={}", number + 1)));
    let names = ledger.names("name-", usize::try_from(MANY).unwrap()).unwrap();
    assert!(names.into_iter().eq(definitions));
    let list = ledger.list("n/name-", "", usize::MAX).unwrap();
    assert_eq!(list.len() as u64, MANY);
    for (number, record) in (0..).zip(list) {
        // The four movers have reserved one on each of three.
        let more = if [0, MANY / 2, MANY - 1].contains(&number) { 4 } else { 0 };
        assert_eq!((record.key, record.mark), (format!("n/{}", name(number)), number + more));
    }
}
