//! Cases about names, their definitions, the list of records, and realms.

use std::collections::BTreeMap;

use super::{Range, Realm, ask, done, equal, got, hold, mark, name, record, together};
use crate::ledger::{
    Key, Ledger, LedgerError, MAX_NOTE_BYTES, Record, Reserve, all_retired, retire, retired,
};
use crate::name::Name;
use crate::time::UnixMillis;

pub(super) fn bind_is_write_once(fresh: &dyn Fn() -> Realm) {
    const RULE: &str = "a name is bound once, and every bind returns the definition that is stored";
    let realm = fresh();
    let (ledger, other) = (realm.connect(), realm.connect());
    for (text, marked) in [("orders", false), ("tickets", true)] {
        let name = name(text);
        equal(done(other.definition(&name)), None, "an unbound name has no definition");
        equal(done(ledger.bind(&name, "kind=a", marked)), "kind=a".to_owned(), RULE);
        for definition in ["kind=b", "kind=a", "kind=A", ""] {
            equal(done(other.bind(&name, definition, marked)), "kind=a".to_owned(), RULE);
            equal(done(ledger.definition(&name)), Some("kind=a".to_owned()), RULE);
        }
    }
    equal(done(other.definition(&name("Orders"))), None, "names are compared byte by byte");
}

pub(super) fn concurrent_binds_agree(fresh: &dyn Fn() -> Realm) {
    const RULE: &str = "concurrent binds of one name all get the one definition that is stored";
    const CALLERS: usize = 8;
    const NAMES: usize = 10;
    let realm = fresh();
    let stored = together(CALLERS, |caller| {
        let ledger = realm.connect();
        (0..NAMES)
            .map(|number| {
                let name = name(&format!("orders-{number}"));
                done(ledger.bind(&name, &format!("kind=segment by={caller}"), true))
            })
            .collect::<Vec<_>>()
    });
    let ledger = realm.connect();
    for number in 0..NAMES {
        let definition = done(ledger.definition(&name(&format!("orders-{number}"))));
        hold(
            definition.as_deref().is_some_and(|text| text.starts_with("kind=segment by=")),
            RULE,
            &definition,
        );
        for own in &stored {
            equal(Some(own[number].clone()), definition.clone(), RULE);
        }
    }
    equal(
        done(ledger.list(Key::NAMES, "", usize::MAX)).len(),
        NAMES,
        "bind with marked makes one record for one name",
    );
}

pub(super) fn bind_makes_the_record_once(fresh: &dyn Fn() -> Realm) {
    let realm = fresh();
    let (ledger, other) = (realm.connect(), realm.connect());
    let (marked, bare) = (name("tickets"), name("orders"));
    done(ledger.bind(&marked, "kind=segment", true));
    equal(
        done(other.list("", "", usize::MAX)),
        vec![Record { key: "n/tickets".to_owned(), mark: 0, note: None }],
        "bind with marked makes the record, with mark 0",
    );
    let key = Key::name(&marked);
    equal(
        got(&*other, &Reserve { create: false, ..ask(&key, 10) }),
        Range { start: 0, end: 10, previous_mark: 0 },
        "a record that bind made serves",
    );
    done(ledger.bind(&marked, "kind=segment", true));
    equal(mark(&*other, &key), Some(10), "a second bind leaves the record as it is");
    done(ledger.bind(&bare, "kind=snowflake", false));
    equal(mark(&*other, &Key::name(&bare)), None, "bind without marked makes no record");
    // The name is known and its record is missing, as if it had been deleted. Only a person may repair that.
    done(ledger.bind(&bare, "kind=snowflake", true));
    done(other.bind(&bare, "kind=segment", true));
    equal(
        mark(&*other, &Key::name(&bare)),
        None,
        "a bind of a name that is bound makes no record, so that a deleted one stays missing",
    );
    equal(
        other.reserve(&Reserve { create: false, ..ask(&Key::name(&bare), 1) }),
        Err(LedgerError::Missing(Key::name(&bare))),
        "a record that is not there is Missing",
    );
    let early = name("early");
    got(&*ledger, &ask(&Key::name(&early), 30));
    done(ledger.bind(&early, "kind=segment", true));
    equal(
        mark(&*other, &Key::name(&early)),
        Some(30),
        "a bind leaves the mark of a record that is there already",
    );
}

pub(super) fn definitions_are_exact(fresh: &dyn Fn() -> Realm) {
    const RULE: &str = "a definition comes back byte for byte";
    let realm = fresh();
    let (ledger, other) = (realm.connect(), realm.connect());
    let definitions = [
        " leading and trailing ".to_owned(),
        "two\nlines\tand a tab\r\n".to_owned(),
        "quotes ' \" ` and \\ and % and _ and ; --".to_owned(),
        "订单 🎫 \u{301}".to_owned(),
        "123".to_owned(),
        "1e3".to_owned(),
        "NULL".to_owned(),
        "x".repeat(4_000),
    ];
    for (definition, number) in definitions.iter().zip(0..) {
        let name = name(&format!("name-{number}"));
        equal(&done(ledger.bind(&name, definition, false)), definition, RULE);
        equal(&done(other.bind(&name, "other", false)), definition, RULE);
        equal(done(other.definition(&name)).as_ref(), Some(definition), RULE);
    }
    for (definition, number) in definitions.iter().zip(0..) {
        let after = format!("name-{number}");
        let found = done(other.names("", usize::MAX)).into_iter().find(|(name, _)| *name == after);
        equal(found.map(|(_, definition)| definition).as_ref(), Some(definition), RULE);
    }
}

/// Names that a store may take for something else.
fn strange() -> Vec<Name> {
    let mut names: Vec<Name> = [
        "%",
        "%%",
        "a%b",
        "a_b",
        "axb",
        "_",
        "\\",
        "\\\\",
        "\\%",
        "'",
        "''",
        "\"",
        "`",
        "';--",
        "$1",
        "?1",
        ":a",
        "@a",
        "{a}",
        "[a]",
        "(a)",
        "a:b",
        "a.b",
        "a|b",
        "a&b",
        "a#b",
        "a,b",
        "a=b",
        "~",
        "!",
        "-",
        "--",
        "+",
        "0",
        "00",
        "1e3",
        "NULL",
        "null",
        "true",
        "ä",
        "Ä",
        "a\u{308}",
        "ß",
        "ss",
        "SS",
        "é",
        "É",
        "订单",
        "🎫",
        "\u{10ffff}",
        "İ",
        "i",
        "I",
        "ı",
        "ﬀ",
        "\u{e000}",
        "\u{1f9ca}",
        "..",
        ".",
        "s",
        "n",
    ]
    .into_iter()
    .map(name)
    .collect();
    names.push(name(&"x".repeat(Name::MAX_BYTES)));
    names.push(name(&"y".repeat(Name::MAX_BYTES - 1)));
    names.push(name(&"订".repeat(Name::MAX_BYTES / 3)));
    names.push(name(&"🎫".repeat(Name::MAX_BYTES / 4)));
    names
}

pub(super) fn strange_names(fresh: &dyn Fn() -> Realm) {
    const RULE: &str = "every name that Name accepts is a key of its own";
    let realm = fresh();
    let (ledger, other) = (realm.connect(), realm.connect());
    let names = strange();
    for (name, count) in names.iter().zip(1_u64..) {
        let definition = format!("definition of {name}");
        equal(done(ledger.bind(name, &definition, true)), definition, RULE);
        let request = Reserve { create: false, ..ask(&Key::name(name), count) };
        equal(got(&*ledger, &request), Range { start: 0, end: count, previous_mark: 0 }, RULE);
    }
    for (name, count) in names.iter().zip(1_u64..) {
        equal(done(other.definition(name)), Some(format!("definition of {name}")), RULE);
        equal(mark(&*other, &Key::name(name)), Some(count), RULE);
        equal(done(other.raise(&Key::name(name), count + 1)), count, RULE);
    }
    let mut in_order: Vec<_> = names.iter().map(|name| name.as_str().to_owned()).collect();
    in_order.sort();
    let listed: Vec<_> = done(other.names("", usize::MAX)).into_iter().map(|(name, _)| name).collect();
    equal(listed, in_order.clone(), "names come in byte order");
    let keys: Vec<_> = done(other.list("", "", usize::MAX)).into_iter().map(|record| record.key).collect();
    let in_order: Vec<_> = in_order.into_iter().map(|name| format!("n/{name}")).collect();
    equal(keys, in_order, "records come in byte order of their keys");
    retired_names(&*ledger, &*other, &names);
}

/// The names that can be retired are, and stand among the names as notes that sort together.
fn retired_names(ledger: &dyn Ledger, other: &dyn Ledger, names: &[Name]) {
    const RULE: &str = "a retired name is retired for all, and keeps its definition and its mark";
    let at = UnixMillis::new(1_790_000_000_000);
    let marks = done(ledger.list("", "", usize::MAX));
    let mut in_order: Vec<_> = names
        .iter()
        .filter(|name| retire(ledger, name, at).is_ok())
        .map(|name| name.as_str().to_owned())
        .collect();
    in_order.sort();
    equal(names.len() - in_order.len(), 2, "names of 127 bytes can be retired");
    for name in names {
        equal(done(retired(other, name)).is_some(), in_order.iter().any(|text| text == name.as_str()), RULE);
        equal(done(other.definition(name)), Some(format!("definition of {name}")), RULE);
    }
    let found =
        paged(usize::MAX, 3, "a page holds at most limit names", |last: Option<&(String, String)>| {
            all_retired(other, last.map_or("", |(name, _)| name.as_str()), 3)
        });
    let found: Vec<_> = found.into_iter().map(|(name, _)| name).collect();
    equal(found, in_order, "retired names come in byte order, page by page");
    equal(done(other.list("", "", usize::MAX)), marks, RULE);
}

/// The rows of pages of at most `limit`, up to the first short one, or to `most` rows. `page` gets the last row so far.
fn paged<T>(
    most: usize,
    limit: usize,
    rule: &str,
    page: impl Fn(Option<&T>) -> Result<Vec<T>, LedgerError>,
) -> Vec<T> {
    let mut rows = Vec::new();
    while rows.len() < most {
        let next = done(page(rows.last()));
        hold(next.len() <= limit, rule, &next.len());
        let is_last = next.len() < limit;
        rows.extend(next);
        if is_last {
            break;
        }
    }
    rows
}

pub(super) fn many_names(fresh: &dyn Fn() -> Realm) {
    const CALLERS: usize = 4;
    let realm = fresh();
    let count = realm.names;
    // Numbers without leading zeros, upper and lower case and an accent: byte order is none of the orders that a
    // collation would give.
    let text = |number: usize| match number % 4 {
        0 => format!("tag-{number}"),
        1 => format!("TAG-{number}"),
        2 => format!("tag_{number}"),
        _ => format!("täg-{number}"),
    };
    together(CALLERS, |caller| {
        let ledger = realm.connect();
        for number in (caller..count).step_by(CALLERS) {
            // Every second one has a record, so that both lists have holes against each other.
            done(ledger.bind(&name(&text(number)), &format!("definition {number}"), number % 8 < 4));
        }
    });
    let ledger = realm.connect();
    let expected: BTreeMap<String, String> =
        (0..count).map(|number| (text(number), format!("definition {number}"))).collect();
    let marked: Vec<String> =
        (0..count).filter(|number| number % 8 < 4).map(|number| format!("n/{}", text(number))).collect();
    let mut marked_in_order = marked;
    marked_in_order.sort();
    for page in [999, 1, count - 1, usize::MAX] {
        // A page of one is tried on the first few only.
        let most = if page == 1 { 20 } else { count };
        let names =
            paged(most, page, "a page holds at most limit names", |last: Option<&(String, String)>| {
                ledger.names(last.map_or("", |(name, _)| name.as_str()), page)
            });
        let wanted: Vec<_> =
            expected.iter().take(most).map(|(name, text)| (name.clone(), text.clone())).collect();
        hold(
            names == wanted,
            "names come in byte order, each once, and only the last page is short",
            &(page, names.len()),
        );
        let records = paged(most, page, "a page holds at most limit records", |last: Option<&Record>| {
            ledger.list(Key::NAMES, last.map_or("", |record| record.key.as_str()), page)
        });
        let keys: Vec<_> = records.into_iter().map(|record| record.key).collect();
        let wanted: Vec<_> = marked_in_order.iter().take(most).cloned().collect();
        hold(
            keys == wanted,
            "records come in byte order, each once, and only the last page is short",
            &(page, keys.len()),
        );
    }
    equal(done(ledger.names("", 0)), Vec::new(), "a page of at most 0 rows is empty");
    equal(done(ledger.list("", "", 0)), Vec::new(), "a page of at most 0 rows is empty");
}

pub(super) fn list_is_exact_about_its_prefix(fresh: &dyn Fn() -> Realm) {
    const RULE: &str =
        "list returns the keys that start with the prefix, byte for byte, after `after`, and no other";
    let realm = fresh();
    let ledger = realm.connect();
    let mut keys: Vec<String> = Vec::new();
    let slots = [(1, 0), (1, 1), (10, 0), (10, 1), (10, 2), (10, 10), (10, 1023), (2, 0), (9, 3)];
    let names = ["a", "A", "ab", "a%", "a%b", "a_", "a_b", "a\\", "á", "b", "s", "\u{10ffff}", "\u{10ffff}a"];
    let all = slots
        .into_iter()
        .map(|(bits, worker)| Key::slot(bits, worker))
        .chain(names.into_iter().map(|text| Key::name(&name(text))));
    for key in all {
        got(&*ledger, &ask(&key, 1));
        keys.push(key.as_str().to_owned());
    }
    // A name that is bound without a mark has no record to list.
    done(ledger.bind(&name("unmarked"), "kind=snowflake", false));
    keys.sort();
    let prefixes = [
        "",
        "s",
        "s/",
        "s/1",
        "s/1/",
        "s/1/1",
        "s/10/",
        "s/10/1",
        "s/3/",
        "S/",
        "n/",
        "n/a",
        "n/A",
        "n/a%",
        "n/a_",
        "n/a\\",
        "n/\u{10ffff}",
        "n/zzz",
        "%",
        "_",
        "s/%",
        "n/unmarked",
    ];
    for prefix in prefixes {
        for after in ["", "n/a", "n/a%", "s/", "s/1/0", "s/1/1", "s/10/1", "n/\u{10ffff}", "zzz"] {
            for limit in [0, 1, 3, usize::MAX] {
                let expected: Vec<String> = keys
                    .iter()
                    .filter(|key| key.starts_with(prefix) && key.as_str() > after)
                    .take(limit)
                    .cloned()
                    .collect();
                let found = done(ledger.list(prefix, after, limit));
                hold(found.iter().all(|record| record.mark == 1 && record.note.is_none()), RULE, &found);
                let found: Vec<String> = found.into_iter().map(|record| record.key).collect();
                hold(found == expected, RULE, &(prefix, after, limit, found, expected));
            }
        }
    }
}

pub(super) fn notes(fresh: &dyn Fn() -> Realm) {
    const RULE: &str = "a note is stored as it is, and None keeps the one that is there";
    let realm = fresh();
    let (ledger, other) = (realm.connect(), realm.connect());
    let key = Key::slot(10, 42);
    let note = |ledger: &dyn Ledger| record(ledger, &key).and_then(|record| record.note);
    got(&*ledger, &ask(&key, 1));
    equal(note(&*other), None, RULE);
    let texts = [
        "host a, pid 7".to_owned(),
        "{\"host\":\"b\",\"why\":\"it's \\\\ 100%\"}\n".to_owned(),
        "主机 🎫".to_owned(),
        "x".repeat(MAX_NOTE_BYTES),
        "🎫".repeat(MAX_NOTE_BYTES / 4),
        "7".to_owned(),
    ];
    for text in texts {
        got(&*ledger, &Reserve { note: Some(text.clone()), ..ask(&key, 1) });
        equal(note(&*other), Some(text.clone()), RULE);
        let request = ask(&key, 10);
        let range = got(&*other, &request);
        equal(note(&*ledger), Some(text.clone()), RULE);
        equal(
            done(ledger.give_back(&key, request.token, range.start)),
            true,
            "give_back applies with the token",
        );
        equal(note(&*ledger), Some(text), RULE);
    }
    equal(note(&*realm.connect()), Some("7".to_owned()), RULE);
    equal(record(&*ledger, &Key::slot(10, 4)), None, "a note makes no other record");
}

pub(super) fn connections_see_each_other_at_once(fresh: &dyn Fn() -> Realm) {
    const RULE: &str = "when one connection gets its answer, every other connection sees the change";
    let realm = fresh();
    let connections: Vec<_> = (0..3).map(|_| realm.connect()).collect();
    let key = Key::name(&name("orders"));
    for round in 0..30 {
        let (writer, reader) = (&*connections[round % 3], &*connections[(round + 1) % 3]);
        let start = round as u64;
        let range = got(writer, &ask(&key, 1));
        equal(range, Range { start, end: start + 1, previous_mark: start }, RULE);
        equal(mark(reader, &key), Some(start + 1), RULE);
        let fresh_name = name(&format!("name-{round:03}"));
        equal(done(reader.definition(&fresh_name)), None, RULE);
        done(writer.bind(&fresh_name, "d", false));
        equal(done(reader.definition(&fresh_name)), Some("d".to_owned()), RULE);
        equal(done(reader.names("", usize::MAX)).len(), round + 1, RULE);
    }
}

pub(super) fn outlives_its_connections(fresh: &dyn Fn() -> Realm) {
    const RULE: &str = "a store keeps everything while nobody is connected to it";
    let realm = fresh();
    let key = Key::slot(10, 3);
    let request = Reserve { floor: 70, note: Some("host a".to_owned()), ..ask(&key, 30) };
    let range = got(&*realm.connect(), &request);
    done(realm.connect().bind(&name("orders"), "kind=segment", true));
    equal(got(&*realm.connect(), &request), range, RULE);
    equal(done(realm.connect().definition(&name("orders"))), Some("kind=segment".to_owned()), RULE);
    equal(
        done(realm.connect().list("", "", usize::MAX)),
        vec![
            Record { key: "n/orders".to_owned(), mark: 0, note: None },
            Record { key: "s/10/3".to_owned(), mark: 100, note: Some("host a".to_owned()) },
        ],
        RULE,
    );
    equal(done(realm.connect().give_back(&key, request.token, 80)), true, RULE);
    equal(mark(&*realm.connect(), &key), Some(80), RULE);
}

pub(super) fn realm_id_is_one_per_realm(fresh: &dyn Fn() -> Realm) {
    const RULE: &str = "every connection to a realm reads the same realm id";
    let (realm, elsewhere) = (fresh(), fresh());
    let ids = together(8, |_| done(realm.connect().realm_id()));
    let id = done(realm.connect().realm_id());
    for other in ids {
        equal(other, id.clone(), RULE);
    }
    hold(
        id.len() >= 16 && id.chars().all(|c| c.is_ascii_graphic()),
        "a realm id is printable, and has room for 64 random bits",
        &id,
    );
    let other = done(elsewhere.connect().realm_id());
    hold(other != id, "a fresh realm has a fresh id", &(id, other));
}

pub(super) fn realms_are_apart(fresh: &dyn Fn() -> Realm) {
    const RULE: &str = "realms share nothing";
    let realms = [fresh(), fresh(), fresh()];
    let ledgers: Vec<_> = realms.iter().map(Realm::connect).collect();
    let (name, key) = (name("orders"), Key::name(&name("orders")));
    let request = ask(&key, 10);
    for (ledger, number) in ledgers.iter().zip(1..) {
        equal(done(ledger.list("", "", usize::MAX)), Vec::new(), RULE);
        equal(done(ledger.names("", usize::MAX)), Vec::new(), RULE);
        let definition = format!("definition {number}");
        equal(done(ledger.bind(&name, &definition, true)), definition, RULE);
        equal(got(&**ledger, &request), Range { start: 0, end: 10, previous_mark: 0 }, RULE);
        equal(done(ledger.raise(&key, number * 100)), 10, RULE);
    }
    for (ledger, number) in ledgers.iter().zip(1..) {
        equal(mark(&**ledger, &key), Some(number * 100), RULE);
        equal(done(ledger.definition(&name)), Some(format!("definition {number}")), RULE);
        equal(done(ledger.names("", usize::MAX)).len(), 1, RULE);
        equal(done(ledger.list("", "", usize::MAX)).len(), 1, RULE);
    }
}
