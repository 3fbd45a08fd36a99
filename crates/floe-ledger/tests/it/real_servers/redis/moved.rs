//! Realms of the first version, which had a hash for each record, are moved under a floe that keeps running.
//!
//! The keys and the scripts here are those of that floe.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use floe::Name;
use floe::ledger::{Key, LedgerError, Reply, Reserve, Token};
use floe_ledger::{OpenError, Opening};
use floe_testbed::Redis;

use super::open;
use crate::{ask, got, says};

const ID: &str = "7a1512e18cf6f760a63cdaef68c62477";
const TOKEN: &str = "4f6f0fc10795b1af82d9c47dbc5fe018";

/// The keys of the realm `test`, as commands.
const FORMER: &[&[&str]] = &[
    &["SADD", "floe:realms", "test"],
    &["HSET", "floe:{test}", "version", "1", "id", ID],
    &["HSET", "floe:{test}:m:n/orders", "previous", "1", "start", "2", "mark", "3", "token", TOKEN],
    &["HSET", "floe:{test}:m:n/orders", "note", "a\\b\nc"],
    &["HSET", "floe:{test}:m:n/visits", "previous", "0", "start", "0", "mark", "165", "token", ""],
    &["HSET", "floe:{test}:m:n/unbound", "previous", "0", "start", "9007199254740993"],
    &["HSET", "floe:{test}:m:n/unbound", "mark", "18014398509481985", "token", ""],
    &["HSET", "floe:{test}:m:s/10/693", "previous", "0", "start", "1795462660753", "mark", "1795462660755"],
    &["HSET", "floe:{test}:m:s/10/693", "token", "", "note", "host=db-1 pid=11984 订单"],
    &["HSET", "floe:{test}:m:n/damaged", "previous", "0", "start", "0", "mark", "1e3", "token", ""],
    // An operator has set it by hand: a range above its end begins there.
    &["HSET", "floe:{test}:m:n/lowered", "previous", "7", "start", "9", "mark", "007", "token", ""],
    // Its numbers have another order as texts.
    &["HSET", "floe:{test}:m:n/tens", "previous", "8", "start", "9", "mark", "10", "token", TOKEN],
    &["ZADD", "floe:{test}:records", "0", "n/tens"],
    &["ZADD", "floe:{test}:records", "0", "n/orders", "0", "n/visits", "0", "n/unbound", "0", "n/eaten"],
    &["ZADD", "floe:{test}:records", "0", "s/10/693", "0", "s/10/1000", "0", "n/damaged", "0", "n/lowered"],
    &["ZADD", "floe:{test}:names", "0", "orders", "0", "visits", "0", "flakes", "0", "eaten"],
    &["HSET", "floe:{test}:definitions", "orders", "segment increment=1 offset=1", "visits", "counter"],
    &["HSET", "floe:{test}:definitions", "flakes", "snowflake\n\\layout", "eaten", "counter"],
];

/// How the former floe reserved. KEYS: realm, record, records. ARGV: id, key, floor, count, ceiling, token, make, note.
const FORMER_RESERVE: &str = include_str!("former_reserve.lua");

/// How it found the realm, and made it.
const FORMER_ENTER: &str = "
if ARGV[1] and redis.call('EXISTS', KEYS[1]) == 0 then
  redis.call('HSET', KEYS[1], 'version', ARGV[1], 'id', ARGV[2])
end
return redis.call('HMGET', KEYS[1], 'version', 'id')
";

fn former() -> Redis {
    let server = Redis::start(&[]);
    for command in FORMER {
        server.cli(command);
    }
    server
}

/// The former floe's answers, as lines.
fn reserves(server: &Redis, key: &str, token: &str) -> Vec<String> {
    let record = format!("floe:{{test}}:m:{key}");
    let keys = ["3", "floe:{test}", &record, "floe:{test}:records"];
    let arguments = [ID, key, "0", "1", "9223372036854775806", token, "1"];
    let command = [["EVAL", FORMER_RESERVE].as_slice(), &keys, &arguments].concat();
    server.cli(&command).lines().map(str::to_owned).collect()
}

#[test]
fn all_of_a_realm_is_moved() {
    let server = former();
    let url = server.url();
    // An opening that only looks changes nothing, nor does one that wants another realm.
    says(&floe_ledger::open_existing(&url, "test").err().unwrap(), &["older floe (version 1)", "floe serve"]);
    let pinned = Opening::of("test").realm_id("00000000000000000000000000000000").open(&url);
    says(&pinned.err().unwrap(), &["has the id 7a15", "pins 0000"]);
    assert_eq!(server.cli(&["HGET", "floe:{test}", "version"]), "1");
    // If a realm's own hash is missing, the realm is not begun again.
    server.cli(&["ZADD", "floe:{lost}:records", "0", "n/orders"]);
    let lost = floe_ledger::open_in(&url, "lost").err().unwrap();
    assert!(matches!(lost, OpenError::Ledger(LedgerError::Unfit(_))), "{lost:?}");
    says(&lost, &["floe:{lost} is gone", "restore"]);

    thread::scope(|scope| (0..8).for_each(|_| drop(scope.spawn(|| drop(open(&url))))));
    let ledger = open(&url);
    assert_eq!(ledger.realm_id().unwrap(), ID);
    let bound = [
        ("flakes", "snowflake\n\\layout"),
        ("orders", "segment increment=1 offset=1"),
        ("visits", "counter"),
    ];
    let bound = bound.map(|(name, definition)| (name.to_owned(), definition.to_owned()));
    let damaged = ledger.list("n/damaged", "", 1);
    assert!(
        matches!(&damaged, Err(LedgerError::Unfit(text)) if text.contains("mark/test/n/damaged")),
        "{damaged:?}"
    );
    server.cli(&["HDEL", "floe:{test}", "mark/n/damaged"]);
    assert_eq!(ledger.names("", 10).unwrap(), bound);
    let list = ledger.list("", "", 10).unwrap();
    let list: Vec<_> =
        list.iter().map(|record| (record.key.as_str(), record.mark, record.note.as_deref())).collect();
    assert_eq!(
        list,
        [
            ("n/lowered", 7, None),
            ("n/orders", 3, Some("a\\b\nc")),
            ("n/tens", 10, None),
            ("n/unbound", 18_014_398_509_481_985, None),
            ("n/visits", 165, None),
            ("s/10/693", 1_795_462_660_755, Some("host=db-1 pid=11984 订单")),
        ]
    );
    let key = |name: &str| Key::name(&Name::new(name).unwrap());
    let of = |key: &Key| Reserve { key: key.clone(), ..ask(1) };
    // A call that had no answer before is answered now, with its range.
    let token = Token::from_bytes(u128::from_str_radix(TOKEN, 16).unwrap().to_be_bytes()).unwrap();
    for (name, start) in [("orders", 2), ("tens", 9)] {
        let again = ledger.reserve(&Reserve { token, ..of(&key(name)) });
        assert_eq!(again, Ok(Reply::Got { start, end: start + 1, previous_mark: start - 1 }), "{name}");
    }
    // The ranges continue.
    assert_eq!(got(&*ledger, &of(&key("orders"))), (3, 4));
    assert_eq!(
        ledger.count(&of(&key("visits"))),
        Ok(Reply::Got { start: 165, end: 166, previous_mark: 165 })
    );
    assert_eq!(got(&*ledger, &of(&key("unbound"))).0, 18_014_398_509_481_985);
    assert_eq!(got(&*ledger, &of(&Key::slot(10, 693))).0, 1_795_462_660_755);
    assert_eq!(got(&*ledger, &of(&key("lowered"))), (7, 8));
    // Deleted records stay deleted.
    for deleted in [key("eaten"), Key::slot(10, 1000)] {
        assert_eq!(ledger.reserve(&of(&deleted)), Err(LedgerError::Missing(deleted)));
    }
    assert_eq!(ledger.bind(&Name::new("flakes").unwrap(), "other", false).unwrap(), "snowflake\n\\layout");
}

/// What the move writes takes several commands then: Lua passes no more than 8,000 values to one.
#[test]
fn a_realm_of_many_records_is_moved_whole() {
    const MANY: u64 = 2_500;
    let server = Redis::start(&[]);
    for command in &FORMER[..2] {
        server.cli(command);
    }
    let fill = format!(
        "for i = 0, {MANY} - 1 do
           local name = string.format('name-%04d', i)
           redis.call('HSET', 'floe:{{test}}:m:n/' .. name, 'previous', '0', 'start', '0', 'mark', i, 'token', '')
           redis.call('ZADD', 'floe:{{test}}:records', 0, 'n/' .. name)
           redis.call('ZADD', 'floe:{{test}}:names', 0, name)
           redis.call('HSET', 'floe:{{test}}:definitions', name, 'segment increment=' .. i + 1)
         end"
    );
    server.cli(&["EVAL", &fill, "0"]);
    let ledger = open(&server.url());
    let name = |number: u64| format!("name-{number:04}");
    let definitions = (0..MANY).map(|number| (name(number), format!("segment increment={}", number + 1)));
    assert!(ledger.names("", usize::MAX).unwrap().into_iter().eq(definitions));
    let list = ledger.list("", "", usize::MAX).unwrap();
    let marks = (0..MANY).map(|number| (format!("n/{}", name(number)), number));
    assert!(list.into_iter().map(|record| (record.key, record.mark)).eq(marks));
    // The realm, and of each name the record and the note that it was made; beside them the version and the former id.
    let fields = 1 + 2 * MANY;
    assert_eq!(server.cli(&["ZCARD", "floe:{test}:fields"]), fields.to_string());
    assert_eq!(server.cli(&["HLEN", "floe:{test}"]), (fields + 2).to_string());
}

/// The former floe is stopped by what it knows: another id in the realm while it runs, and a newer version when it connects.
#[test]
fn a_former_floe_that_runs_on_reserves_nothing_beside_the_records() {
    let server = former();
    let (moved, tried) = (AtomicBool::new(false), AtomicUsize::new(0));
    let (before, after) = thread::scope(|scope| {
        let (server, moved, tried) = (&server, &moved, &tried);
        let keys = ["n/orders", "s/10/693", "s/10/5"];
        let writers = keys.map(|key| {
            scope.spawn(move || {
                // The range in the record, and the ranges that this floe got.
                let (mut got, mut refused) = (Vec::new(), 0);
                while refused < 20 {
                    let was_moved = moved.load(Ordering::SeqCst);
                    let answer = reserves(server, key, &Token::random().unwrap().hex());
                    match answer.first().map(String::as_str) {
                        Some("got") => {
                            assert!(!was_moved, "{key}: {answer:?}");
                            assert_eq!(refused, 0, "{key}: {answer:?} after it was refused");
                            got.push((answer[2].parse::<u64>().unwrap(), answer[3].parse::<u64>().unwrap()));
                        }
                        _ => {
                            assert_eq!(answer[0], "realm", "{answer:?}");
                            says(&answer[1], &["a newer floe keeps this realm now: run the newer floe"]);
                            refused += 1;
                        }
                    }
                    tried.fetch_add(1, Ordering::SeqCst);
                }
                got
            })
        });
        while tried.load(Ordering::SeqCst) < 60 {
            thread::yield_now();
        }
        let ledger = open(&server.url());
        moved.store(true, Ordering::SeqCst);
        let of = |key: Key| got(&*ledger, &Reserve { key, ..ask(1) });
        let orders = Key::name(&Name::new("orders").unwrap());
        let after: Vec<Vec<_>> = [orders, Key::slot(10, 693), Key::slot(10, 5)]
            .map(|key| (0..20).map(|_| of(key.clone())).collect())
            .into();
        (writers.map(|writer| writer.join().unwrap()), after)
    });
    for (before, after) in before.iter().zip(&after) {
        assert!(before.len() >= 5, "{before:?}");
        // None is lost, and none comes twice.
        let all: Vec<_> = before.iter().chain(after).collect();
        assert!(all.windows(2).all(|pair| pair[0].1 == pair[1].0), "{all:?}");
    }
    let enter = ["EVAL", FORMER_ENTER, "1", "floe:{test}", "1", "00000000000000000000000000000000"];
    says(&server.cli(&enter), &["2\na newer floe"]);
    // The same for a realm that the newer floe has made.
    drop(floe_ledger::open_in(&server.url(), "fresh").unwrap());
    let enter = ["EVAL", FORMER_ENTER, "1", "floe:{fresh}", "1", "00000000000000000000000000000000"];
    assert_eq!(server.cli(&enter), "2");
}
