//! The conformance suite, and the contract's arithmetic against the scripts'.

use std::cell::Cell;

use floe::ledger::conformance::{self, Realm};
use floe::ledger::{Key, Ledger, LedgerError, MAX_MARK, Mark, Record, Reply, Reserve, Token};

use super::{Redis, open};

/// One test, since a runner that starts a process for each would start a server for each.
#[test]
fn realms_in_the_same_database() {
    let (server, realms) = (Redis::start(&[]), Cell::new(0));
    conformance::run(&|| {
        realms.set(realms.get() + 1);
        let (url, realm) = (server.url(), format!("test_{}", realms.get()));
        Realm::new(move || floe_ledger::open_in(&url, &realm).unwrap())
    });
}

/// Numbers on both sides of where halves of nine digits, doubles and 63 bits end.
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

/// Random steps, each also taken by `Mark`: the answers and the records have to be the same.
#[test]
fn the_scripts_count_as_the_contract_does() {
    let server = Redis::start(&[]);
    let ledger = open(&server.url());
    let seed = Token::random().unwrap();
    let mut dice = Dice(u64::from_le_bytes(seed.as_bytes()[..8].try_into().unwrap()) | 1);
    println!("seed {}", dice.0);
    let tokens = [(); 3].map(|()| Token::random().unwrap());
    let (mut got, mut other) = (0, 0);
    for round in 0..150 {
        let key = Key::slot(10, round);
        let mut record: Option<Mark> = None;
        for _ in 0..12 {
            let token = tokens[dice.below(3)];
            match dice.below(6) {
                0 => {
                    let from = dice.edge(record.as_ref());
                    let new = record.as_ref().and_then(|mark| mark.give_back(token, from));
                    assert_eq!(ledger.give_back(&key, token, from), Ok(new.is_some()), "{record:?} {from}");
                    record = new.or(record);
                }
                1 => {
                    let at_least = dice.edge(record.as_ref());
                    let expected = match &record {
                        None => Err(LedgerError::Missing(key.clone())),
                        Some(mark) => mark.raise(&key, at_least).map(|new| (mark.mark, new)),
                    };
                    let was = expected.as_ref().map(|(was, _)| *was).map_err(Clone::clone);
                    assert_eq!(ledger.raise(&key, at_least), was, "{record:?} {at_least}");
                    record = expected.ok().and_then(|(_, new)| new).or(record);
                }
                _ => {
                    let request = Reserve {
                        key: key.clone(),
                        floor: dice.edge(record.as_ref()),
                        count: dice.edge(record.as_ref()),
                        max_mark: if dice.below(2) == 0 { u64::MAX } else { dice.edge(record.as_ref()) },
                        token,
                        create: dice.below(8) > 0,
                        note: (dice.below(3) == 0).then(|| format!("note {round}")),
                    };
                    let expected = Mark::reserve(record.as_ref(), &request);
                    let reply = expected.as_ref().map(|(reply, _)| reply.clone()).map_err(Clone::clone);
                    *if matches!(reply, Ok(Reply::Got { .. })) { &mut got } else { &mut other } += 1;
                    assert_eq!(ledger.reserve(&request), reply, "{record:?} {request:?}");
                    record = expected.ok().and_then(|(_, new)| new).or(record);
                }
            }
            let listed = ledger.list(key.as_str(), "", usize::MAX).unwrap();
            let listed = listed.into_iter().find(|found| found.key == key.as_str());
            let kept = record.as_ref();
            let kept =
                kept.map(|mark| Record { key: key.to_string(), mark: mark.mark, note: mark.note.clone() });
            assert_eq!(listed, kept);
        }
    }
    assert!(got > 150 && other > 150, "{got} {other}");
}

/// Xorshift: the steps need no better randomness.
struct Dice(u64);

impl Dice {
    fn below(&mut self, sides: u64) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % sides).unwrap()
    }

    /// A number at an edge, or at one of the record's.
    fn edge(&mut self, record: Option<&Mark>) -> u64 {
        match (self.below(3), record) {
            (0, Some(mark)) => {
                let near = [mark.start, mark.mark, mark.previous, MAX_MARK - mark.mark];
                (near[self.below(4)] + 1).saturating_sub(u64::try_from(self.below(3)).unwrap())
            }
            _ => EDGES[self.below(20)],
        }
    }
}
