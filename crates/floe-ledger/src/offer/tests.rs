use std::sync::atomic::{AtomicUsize, Ordering};

use floe::ledger::Memory;

use super::*;
use crate::DEFAULT_REALM;

#[test]
fn a_key_has_one_writing() {
    for text in ["s/10/0", "s/10/1023", "s/63/9223372036854775807", "s/0/0", "n/orders", "n/*orders", "n/a:b"]
    {
        assert_eq!(Key::read(text).unwrap().as_str(), text);
    }
    let cache = Key::cache(&Token::from_bytes([7; 16]).unwrap());
    assert_eq!(Key::read(cache.as_str()).unwrap(), cache);
    for text in [
        "",
        "n/",
        "s/",
        "c/",
        "s/10",
        "s/010/1",
        "s/+10/1",
        "s/10/01",
        "s/10/-1",
        "n/a b",
        "n/a/b",
        "orders",
        "c/7",
        "c/07070707070707070707070707070707x",
        "c/0A070707070707070707070707070707",
        "c/00000000000000000000000000000000",
        "c/+7070707070707070707070707070707",
    ] {
        assert_eq!(Key::read(text), None, "{text}");
    }
}

#[test]
fn a_token_has_one_writing() {
    let text = "0a070707070707070707070707070707";
    assert_eq!(Token::read(text).unwrap().hex(), text);
    for other in [text.to_uppercase(), text[1..].to_owned(), format!("+{}", &text[1..]), format!("0{text}")] {
        assert_eq!(Token::read(&other), None, "{other}");
    }
}

/// The server counts them, and its operator reads them.
#[test]
fn every_call_and_every_outcome_has_its_word() {
    let (name, text) = (Name::new("orders").unwrap(), String::new);
    let (key, token) = (Key::name(&name), Token::from_bytes([7; 16]).unwrap());
    let wanted = || Wanted {
        key: Text(key.clone()),
        floor: 0,
        count: 1,
        max_mark: 9,
        token: Text(token),
        create: true,
        note: None,
    };
    for (call, word) in [
        (enter(false), "enter"),
        (Call::Reserve(wanted()), "reserve"),
        (Call::Count(wanted()), "count"),
        (Call::GiveBack { key: Text(key.clone()), token: Text(token), from: 0 }, "give_back"),
        (Call::Bind { name: Text(name.clone()), definition: text(), marked: true }, "bind"),
        (Call::Definition { name: Text(name.clone()) }, "definition"),
        (Call::Names { after: text(), limit: 1 }, "names"),
        (Call::Raise { key: Text(key.clone()), at_least: 1 }, "raise"),
        (Call::List { prefix: text(), after: text(), limit: 1 }, "list"),
        (Call::Clock {}, "clock"),
        (Call::InOtherRealms { name: Text(name.clone()) }, "in_other_realms"),
    ] {
        assert_eq!(call.word(), word);
        // It is the word of the protocol, too.
        assert!(serde_json::to_string(&call).unwrap().starts_with(&format!("{{\"{word}\":")));
    }
    for (answer, word) in [
        (Answer::Entered, "ok"),
        (Answer::Got { start: 0, end: 1, previous_mark: 0 }, "ok"),
        (Answer::GivenBack(false), "ok"),
        (Answer::Refused { mark: 9, note: None }, "refused"),
        (LedgerError::Unavailable(text()).into(), "unavailable"),
        (LedgerError::Unfit(text()).into(), "unfit"),
        (LedgerError::Missing(key.clone()).into(), "missing"),
        (LedgerError::Overflow { key: key.clone(), mark: 9 }.into(), "overflow"),
    ] {
        assert_eq!(answer.outcome(), word);
    }
}

/// The name of a realm, and what is in it, may be nobody else's business.
#[cfg(feature = "sqlite")]
#[test]
fn a_caller_is_told_of_the_other_realms_that_it_sees_alone() {
    let (dir, name) = (tempfile::TempDir::new().unwrap(), Name::new("orders").unwrap());
    let url = format!("sqlite:{}", dir.path().join("ids.db").display());
    for realm in ["games", "office"] {
        Opening::of(realm).open(&url).unwrap().bind(&name, "uuid4", false).unwrap();
    }
    let offer = Offer::new(move |opening| opening.open(&url));
    let ask = |realm: &str, realm_id: Option<String>, sees: fn(&str) -> bool, call| {
        let question = Question { nonce: "7".to_owned(), realm_id, servers: 1, call };
        let answered = offer.answer(realm, sees, &serde_json::to_vec(&question).unwrap()).unwrap();
        serde_json::from_slice::<Said>(&answered.body).unwrap().answer
    };
    let refused = |sees| {
        // A realm that is missing, and one of several where none was named.
        let existing = Call::Enter { missing: Missing::Refuse, realm_id: None, sole: false };
        [("shpo", existing), (DEFAULT_REALM, enter(true))].map(|(realm, call)| {
            match ask(realm, None, sees, call) {
                Answer::Unfit(text) => {
                    (text.contains("games"), text.contains("office"), text.contains("not shown"))
                }
                answer => panic!("{answer:?}"),
            }
        })
    };
    let [all, one, none]: [fn(&str) -> bool; 3] = [|_| true, |realm| realm == "games", |_| false];
    for round in 0..2 {
        assert_eq!(refused(all), [(true, true, false); 2], "{round}");
        assert_eq!(refused(one), [(true, false, true); 2], "{round}");
        assert_eq!(refused(none), [(false, false, true); 2], "{round}");
        // The second time, the realm is there, and is one of several.
        say(&offer, DEFAULT_REALM, None, enter(false));
    }
    let realm_id = say(&offer, "shop", None, enter(false)).realm_id;
    let told = |sees| {
        let call = Call::InOtherRealms { name: Text(name.clone()) };
        match ask("shop", realm_id.clone(), sees, call) {
            Answer::Elsewhere(found) => found.into_iter().map(|(realm, ..)| realm).collect::<Vec<_>>(),
            answer => panic!("{answer:?}"),
        }
    };
    assert_eq!(told(all), ["games", "office"]);
    assert_eq!(told(one), ["games"]);
    assert!(told(none).is_empty());
}

/// Without the part that it does not know, a floe would do what nobody asked for.
#[test]
fn a_question_with_a_field_that_is_not_known_is_refused_as_a_whole() {
    let (offer, _) = offer();
    let id = say(&offer, "shop", None, enter(false)).realm_id.unwrap();
    let outcome =
        |question: &str| offer.answer("shop", |_| true, question.as_bytes()).map(|answered| answered.outcome);
    let mut taken = Vec::new();
    let wanted = r#""key":"s/10/7","floor":0,"count":5,"max_mark":0,"token":"07070707070707070707070707070707","create":true,"note":null"#;
    for (call, first) in [
        (r#"{"names":{"after":"","limit":1}}"#.to_owned(), r#""after""#),
        (format!(r#"{{"reserve":{{{wanted}}}}}"#), r#""key""#),
        (format!(r#"{{"count":{{{wanted}}}}}"#), r#""key""#),
    ] {
        let question = format!(r#"{{"nonce":"7","realm_id":"{id}","servers":1,"call":{call}}}"#);
        for field in [r#""nonce""#, first] {
            let more = question.replacen(field, &format!(r#""only_if":7,{field}"#), 1);
            taken.extend(outcome(&more).is_ok().then_some(more));
        }
        assert_eq!(outcome(&question), Ok("ok"), "{question}");
    }
    assert_eq!(taken, [""; 0]);
}

/// A longer one could grow beyond what a caller reads of an answer.
#[test]
fn one_call_lists_a_page_and_no_more() {
    let (offer, _) = offer();
    let id = say(&offer, "shop", None, enter(false)).realm_id;
    let outcome = |limit| {
        let text = String::new;
        let calls =
            [Call::Names { after: text(), limit }, Call::List { prefix: text(), after: text(), limit }];
        calls.map(|call| {
            let question = Question { nonce: text(), realm_id: id.clone(), servers: 1, call };
            let answered = offer.answer("shop", |_| true, &serde_json::to_vec(&question).unwrap());
            answered.map(|answered| answered.outcome)
        })
    };
    assert_eq!(outcome(PAGE), [Ok("ok"), Ok("ok")]);
    for refused in outcome(PAGE + 1) {
        assert!(
            refused.as_ref().is_err_and(|text| text.contains("ask again after the last one")),
            "{refused:?}"
        );
    }
}

/// A store whose realms are each in memory, and a count of how often one is opened.
fn offer() -> (Offer, Arc<AtomicUsize>) {
    let opened = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&opened);
    let open = move |_: &Opening| {
        count.fetch_add(1, Ordering::Relaxed);
        Ok(Box::new(Memory::default()) as Box<dyn Ledger>)
    };
    (Offer::new(open), opened)
}

fn say(offer: &Offer, realm: &str, realm_id: Option<&str>, call: Call) -> Said {
    let question =
        Question { nonce: "7".to_owned(), realm_id: realm_id.map(str::to_owned), servers: 1, call };
    let answered = offer.answer(realm, |_| true, &serde_json::to_vec(&question).unwrap()).unwrap();
    serde_json::from_slice(&answered.body).unwrap()
}

fn enter(sole: bool) -> Call {
    Call::Enter { missing: Missing::Make, realm_id: None, sole }
}

#[test]
fn a_realm_is_opened_once_and_the_one_that_rested_longest_makes_room() {
    let (offer, opened) = offer();
    let id = say(&offer, "first", None, enter(false)).realm_id.unwrap();
    for realm in 0..OPEN - 1 {
        say(&offer, &format!("r{realm}"), None, enter(false));
    }
    let said = say(&offer, "first", Some(&id), Call::Clock {});
    assert!(matches!(said.answer, Answer::Clock(_)) && said.nonce == "7", "{said:?}");
    assert_eq!(opened.load(Ordering::Relaxed), OPEN);
    say(&offer, "one more", None, enter(false));
    assert_eq!(offer.realms().len(), OPEN);
    assert!(offer.realms().iter().all(|realm| realm.name != "r0"), "it rested longest");
    assert_eq!(say(&offer, "first", None, enter(false)).realm_id, Some(id));
    assert_eq!(opened.load(Ordering::Relaxed), OPEN + 1);
    // If a caller names no realm, the store answers. It knows whether there are others.
    say(&offer, DEFAULT_REALM, None, enter(true));
    say(&offer, DEFAULT_REALM, None, enter(true));
    assert_eq!(opened.load(Ordering::Relaxed), OPEN + 3);
}

/// Otherwise each server of a ring would call the next one as if it were the first, for ever.
#[test]
fn a_question_that_comes_to_more_servers_opens_the_realm_anew() {
    let (store, opened) = (Memory::default(), Arc::new(Mutex::new(Vec::new())));
    let (id, known) = (store.realm_id().unwrap(), Arc::clone(&opened));
    let offer = Offer::new(move |opening| {
        known.lock().unwrap().push(opening.servers);
        Ok(Box::new(store.clone()))
    });
    let ask = |realm_id: Option<&str>, servers: &str| {
        let (id, call) = match realm_id {
            Some(id) => (format!("\"{id}\""), "{\"clock\":{}}"),
            None => {
                ("null".to_owned(), "{\"enter\":{\"missing\":\"make\",\"realm_id\":null,\"sole\":false}}")
            }
        };
        let question = format!("{{\"nonce\":\"7\",\"realm_id\":{id},{servers}\"call\":{call}}}");
        assert_eq!(offer.answer("shop", |_| true, question.as_bytes()).unwrap().outcome, "ok");
        opened.lock().unwrap().clone()
    };
    // A floe of an earlier version does not send it.
    assert_eq!(ask(None, ""), [0]);
    assert_eq!(ask(Some(&id), "\"servers\":1,"), [0, 1]);
    assert_eq!(ask(None, "\"servers\":1,"), [0, 1]);
    assert_eq!(ask(None, "\"servers\":3,"), [0, 1, 3]);
    assert_eq!(ask(Some(&id), "\"servers\":2,"), [0, 1, 3], "it is open for more than that");
    assert_eq!(offer.realms().len(), 1);
}

/// Of two stores at one address, or of one that was emptied, a process may know the other one.
#[test]
fn a_call_is_carried_out_in_the_realm_that_the_caller_knows_or_nowhere() {
    let (store, opened) = (Memory::default(), Arc::new(AtomicUsize::new(0)));
    let (id, known, count) = (store.realm_id().unwrap(), store.clone(), Arc::clone(&opened));
    let offer = Offer::new(move |opening| {
        count.fetch_add(1, Ordering::Relaxed);
        opening.check_id(&known.realm_id()?, "memory:")?;
        Ok(Box::new(known.clone()))
    });
    let enter = |missing, pinned: Option<&str>| Call::Enter {
        missing,
        realm_id: pinned.map(str::to_owned),
        sole: false,
    };
    let is_unfit = |said: Said| matches!(said.answer, Answer::Unfit(_)) && said.realm_id.is_none();
    // Who only looks may have opened what cannot be written to.
    say(&offer, "shop", None, enter(Missing::Look, None));
    assert!(offer.realms().is_empty());
    say(&offer, "shop", None, enter(Missing::Make, Some(&id)));
    assert!(is_unfit(say(&offer, "shop", None, enter(Missing::Make, Some("another")))));
    let bind = || Call::Bind {
        name: Text(Name::new("orders").unwrap()),
        definition: "counter".to_owned(),
        marked: true,
    };
    assert!(is_unfit(say(&offer, "shop", Some("another"), bind())));
    assert_eq!(store.names("", 1), Ok(Vec::new()));
    assert_eq!(opened.load(Ordering::Relaxed), 3, "the other one was looked for");
    assert!(matches!(say(&offer, "shop", Some(&id), bind()).answer, Answer::Bound(_)));
}

/// Somebody can put the server's settings, or its ledger, right while its callers wait.
#[cfg(feature = "sqlite")]
#[test]
fn what_can_be_put_right_on_the_server_is_looked_at_anew() {
    let dir = tempfile::TempDir::new().unwrap();
    let path = dir.path().join("ledger");
    let url = format!("sqlite:{}", path.join("ids.db").display());
    let offer = Offer::new(move |opening| match path.exists() {
        true => opening.open(&url),
        false => Err(OpenError::Asked("no such directory".to_owned())),
    });
    let path = dir.path().join("ledger");
    assert!(matches!(say(&offer, "shop", None, enter(false)).answer, Answer::Unavailable(_)));
    for round in 0..2 {
        std::fs::create_dir(&path).unwrap();
        let said = say(&offer, "shop", None, enter(false));
        assert!(matches!(said.answer, Answer::Entered), "{said:?}");
        let names = || Call::Names { after: String::new(), limit: 1 };
        let listed = say(&offer, "shop", said.realm_id.as_deref(), names()).answer;
        assert!(matches!(listed, Answer::Names(_)), "{listed:?}");
        std::fs::rename(&path, dir.path().join(format!("moved-{round}"))).unwrap();
        let said = say(&offer, "shop", said.realm_id.as_deref(), names());
        assert!(matches!(said.answer, Answer::Unfit(_)), "{said:?}");
    }
}

/// A count that reserved instead would take numbers behind those that are reserved ahead.
#[cfg(feature = "sqlite")]
#[test]
fn a_count_takes_the_next_number_whoever_counts() {
    let dir = tempfile::TempDir::new().unwrap();
    let url = format!("sqlite:{}", dir.path().join("ids.db").display());
    let (store, name) = (Opening::of("shop").open(&url).unwrap(), Name::new("visits").unwrap());
    store.bind(&name, "counter", true).unwrap();
    let offer = Offer::new(move |opening| opening.open(&url));
    let id = say(&offer, "shop", None, enter(false)).realm_id;
    let request = || Reserve {
        key: Key::name(&name),
        floor: 0,
        count: 1,
        max_mark: u64::MAX,
        token: Token::random().unwrap(),
        create: false,
        note: None,
    };
    // The store reserves ahead once somebody counts again and again.
    for number in 0..64 {
        let start = match number % 8 {
            7 => match say(&offer, "shop", id.as_deref(), Call::Count(Wanted::from(&request()))).answer {
                Answer::Got { start, .. } => start,
                answer => panic!("{answer:?}"),
            },
            _ => match store.count(&request()).unwrap() {
                Reply::Got { start, .. } => start,
                reply @ Reply::Refused { .. } => panic!("{reply:?}"),
            },
        };
        assert_eq!(start, number);
    }
}

#[cfg(feature = "sqlite")]
#[test]
fn of_several_realms_the_unfit_one_alone_is_closed() {
    let (dir, opened) = (tempfile::TempDir::new().unwrap(), Arc::new(AtomicUsize::new(0)));
    let (place, count) = (dir.path().to_owned(), Arc::clone(&opened));
    let offer = Offer::new(move |opening| {
        count.fetch_add(1, Ordering::Relaxed);
        opening.open(&format!("sqlite:{}/{}.db", place.display(), opening.realm()))
    });
    let [shop, office] =
        ["shop", "office"].map(|realm| say(&offer, realm, None, enter(false)).realm_id.unwrap());
    let names =
        |realm, id: &str| say(&offer, realm, Some(id), Call::Names { after: String::new(), limit: 1 }).answer;
    std::fs::rename(dir.path().join("shop.db"), dir.path().join("moved.db")).unwrap();
    assert!(matches!(names("shop", &shop), Answer::Unfit(_)));
    assert!(matches!(names("office", &office), Answer::Names(_)));
    assert_eq!((opened.load(Ordering::Relaxed), offer.realms().len()), (2, 1));
}

#[test]
fn a_text_is_bounded_and_cut_between_characters() {
    assert_eq!(short("ü".repeat(LONGEST_TEXT).as_str()).chars().count(), LONGEST_TEXT);
    let cut = short("ü".repeat(LONGEST_TEXT + 1).as_str());
    assert!(cut.ends_with('…') && cut.chars().count() == LONGEST_TEXT + 1);
}
