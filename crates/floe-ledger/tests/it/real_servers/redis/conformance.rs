//! The conformance suite, and a comparison of the contract's arithmetic with the scripts'.

use std::cell::Cell;

use floe::Name;
use floe::ledger::conformance;
use floe::ledger::{Key, MAX_MARK, Reply, Reserve};

use super::{Redis, open};
use crate::ask;
use crate::real_servers::realm_of;

/// One test: a runner with a process per test would start a server for each.
#[test]
fn realms_in_the_same_database() {
    let (server, realms) = (Redis::start(&[]), Cell::new(0));
    conformance::run(&|| {
        realms.set(realms.get() + 1);
        let (url, realm) = (server.url(), format!("test_{}", realms.get()));
        realm_of(move || floe_ledger::open_in(&url, &realm).unwrap())
    });
}

/// Numbers on both sides of the limits of nine-digit halves, doubles and 63 bits.
const EDGES: [u64; 20] = [
    0,
    1,
    2,
    999_999_998,
    999_999_999,
    1_000_000_000,
    1_000_000_001,
    1_999_999_999,
    (1 << 53) - 1,
    1 << 53,
    (1 << 53) + 1,
    999_999_999_999_999_999,
    1_000_000_000_000_000_000,
    MAX_MARK / 2,
    MAX_MARK - 1_000_000_000,
    MAX_MARK - 999_999_999,
    MAX_MARK - 1,
    MAX_MARK,
    MAX_MARK + 1,
    u64::MAX,
];

/// Lua counts the rest of a range, and its numbers are doubles.
#[test]
fn the_scripts_count_as_the_contract_does() {
    let server = Redis::start(&[]);
    let ledger = open(&server.url());
    let mut counted = 0;
    for (index, at) in EDGES.into_iter().enumerate() {
        for count in EDGES {
            // Room for one number before, and one after.
            let Some(end) = at.checked_add(count).and_then(|end| end.checked_add(2)) else { continue };
            if end > MAX_MARK || count == 0 {
                continue;
            }
            let name = Name::new(&format!("edge_{index}_{count}")).unwrap();
            let key = Key::name(&name);
            ledger.bind(&name, "a counter", true).unwrap();
            assert_eq!(ledger.raise(&key, at), Ok(0));
            let of = |count, max_mark| Reserve { key: key.clone(), max_mark, create: false, ..ask(count) };
            let takes = |count, start| {
                let end = start + count;
                let got = Reply::Got { start, end, previous_mark: start };
                assert_eq!(ledger.count(&of(count, u64::MAX)), Ok(got), "{count} from {start}");
            };
            takes(1, at);
            takes(count, at + 1);
            let used = at + 1 + count;
            let refused = ledger.count(&of(1, used - 1));
            assert!(matches!(refused, Ok(Reply::Refused { .. })), "{count} from {at}: {refused:?}");
            takes(1, used);
            // Numbers below a raised mark are not handed out, whether or not they were reserved ahead.
            for raised in [used + 3, ledger.list(key.as_str(), "", 1).unwrap()[0].mark + 9] {
                if raised < MAX_MARK {
                    ledger.raise(&key, raised).unwrap();
                    assert!(
                        matches!(ledger.count(&of(1, u64::MAX)), Ok(Reply::Got { start, .. }) if start == raised)
                    );
                }
            }
            counted += 1;
        }
    }
    assert!(counted > 150, "{counted}");
}
