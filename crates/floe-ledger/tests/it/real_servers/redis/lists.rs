//! The lists: of a realm's records page by page, and of realms.

use floe::store::Store;
use floe_ledger::Opening;
use floe_testbed::{Proxy, Redis};

use super::rig;
use crate::real_servers::faults::Rig;
use crate::says;

fn keys(store: &dyn Store, prefix: &str, after: &str, limit: usize) -> Vec<String> {
    store.list(prefix, after, limit).unwrap().into_iter().map(|(key, _)| key).collect()
}

#[test]
fn a_list_has_up_to_its_limit_and_takes_a_round_trip_for_each_page() {
    const FIELDS: usize = 1_100;
    let Rig { server, url } = rig();
    let proxy = Proxy::before(server.port());
    let (store, _) = Opening::of("test").__open_store(&url(proxy.port(), "")).unwrap().unwrap();
    let fill = format!(
        "for i = 1, {FIELDS} do
           local field = string.format('mark/n/%04d', i)
           redis.call('ZADD', 'floe:{{test}}:fields', 0, field)
           redis.call('HSET', 'floe:{{test}}', field, 'record')
         end"
    );
    server.cli(&["EVAL", &fill, "0"]);
    // One that something ate is left out, and takes no other one's place.
    server.cli(&["HDEL", "floe:{test}", "mark/n/1000"]);
    let all: Vec<_> = (1..=FIELDS).filter(|i| *i != 1_000).map(|i| format!("mark/test/n/{i:04}")).collect();
    assert_eq!(keys(&*store, "mark/test/n/", "", FIELDS), all);
    for (limit, trips) in [
        (0, 0),
        (1, 1),
        (511, 1),
        (512, 1),
        (513, 2),
        (600, 2),
        (1_024, 3),
        (1_099, 3),
        (1_100, 3),
        (2_000, 3),
    ] {
        let before = proxy.round_trips();
        assert_eq!(keys(&*store, "mark/test/n/", "", limit), all[..limit.min(all.len())], "{limit}");
        assert_eq!(proxy.round_trips() - before, trips, "for {limit}");
    }
    assert_eq!(
        keys(&*store, "mark/test/n/", "mark/test/n/0999", 2),
        ["mark/test/n/1001", "mark/test/n/1002"]
    );
}

/// Where the next page would begin after the last record that is there, such a page would come again.
#[test]
fn a_list_goes_on_behind_a_page_of_fields_whose_records_are_gone() {
    let Rig { server, url } = rig();
    let proxy = Proxy::before(server.port());
    let (store, _) = Opening::of("test").__open_store(&url(proxy.port(), "")).unwrap().unwrap();
    let fill = "for i = 1, 1100 do
           local field = string.format('mark/n/%04d', i)
           redis.call('ZADD', 'floe:{test}:fields', 0, field)
           if i == 1 or i > 512 then redis.call('HSET', 'floe:{test}', field, 'record') end
         end";
    server.cli(&["EVAL", fill, "0"]);
    let all: Vec<_> = std::iter::once(1).chain(513..=1_100).map(|i| format!("mark/test/n/{i:04}")).collect();
    assert_eq!(keys(&*store, "mark/test/n/", "", 1), all[..1]);
    let before = proxy.round_trips();
    assert_eq!(keys(&*store, "mark/test/n/", "", 2_000), all);
    assert_eq!(proxy.round_trips() - before, 3);
}

#[test]
fn realms_are_listed_by_prefix_in_order_up_to_the_limit() {
    let server = Redis::start(&[]);
    let (store, _) = Opening::of("b").__open_store(&server.url()).unwrap().unwrap();
    for realm in ["d", "ab", "a", "c"] {
        drop(floe_ledger::open_in(&server.url(), realm).unwrap());
    }
    for (prefix, after, limit, listed) in [
        ("realm/", "", 9, ["realm/a", "realm/ab", "realm/b", "realm/c", "realm/d"].as_slice()),
        ("realm/", "", 2, &["realm/a", "realm/ab"]),
        ("realm/", "realm/b", 9, &["realm/c", "realm/d"]),
        ("realm/", "realm/b", 1, &["realm/c"]),
        ("realm/a", "", 9, &["realm/a", "realm/ab"]),
        ("realm/a", "realm/a", 9, &["realm/ab"]),
        ("realm/x", "", 9, &[]),
    ] {
        assert_eq!(keys(&*store, prefix, after, limit), listed, "{prefix} after `{after}`, {limit}");
    }
}

/// If it were not in the list, a caller that names no realm would begin a second one.
#[test]
fn a_realm_that_cannot_be_listed_is_not_made() {
    let server = Redis::start(&[]);
    server.cli(&["ACL", "SETUSER", "default", "-sadd"]);
    let Err(error) = floe_ledger::open_in(&server.url(), "test") else { panic!("it was made") };
    says(&error, &["docs/ledgers.md"]);
    assert_eq!(server.cli(&["DBSIZE"]), "0");
    server.cli(&["ACL", "SETUSER", "default", "+sadd"]);
    drop(floe_ledger::open_in(&server.url(), "test").unwrap());
    assert_eq!(server.cli(&["SMEMBERS", "floe:realms"]), "test");
}
