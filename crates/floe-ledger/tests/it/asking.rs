//! Requests for the tests, and the checks of their answers.

use floe::Name;
use floe::ledger::{Key, Ledger, Reply, Reserve, Token};

/// The mark that the tests move.
pub(crate) fn orders() -> Key {
    Key::name(&Name::new("orders").unwrap())
}

/// A reservation of `count` positions, never refused.
pub(crate) fn ask(count: u64) -> Reserve {
    Reserve {
        key: orders(),
        floor: 0,
        count,
        max_mark: u64::MAX,
        token: Token::random().unwrap(),
        create: true,
        note: None,
    }
}

/// The range of a request that must be served.
#[track_caller]
pub(crate) fn got(ledger: &dyn Ledger, request: &Reserve) -> (u64, u64) {
    match ledger.reserve(request).unwrap() {
        Reply::Got { start, end, .. } => (start, end),
        refused @ Reply::Refused { .. } => panic!("{refused:?}"),
    }
}

/// Asserts that `text` contains each of the `parts`: the cause and the way out.
#[track_caller]
pub(crate) fn says(text: &impl ToString, parts: &[&str]) {
    let text = text.to_string();
    for part in parts {
        assert!(text.contains(part), "`{part}` is not in: {text}");
    }
    assert!(!text.contains("is locked"), "{text}");
}
