//! URLs, paths, records and frames, without a server.

use std::collections::{BTreeSet, HashMap};

use floe::ledger::LedgerError;

use super::code;
use super::former;
use super::jute::{self, Access, Reply, Request};
use super::layout::{self, Place};
use super::trouble::{self, Error};
use super::url::Settings;
use crate::OpenError;
use crate::remote::ssl_mode::{Use, Verify};
use crate::remote::tests::golden;
use crate::remote::url::Reach;

fn parse(url: &str, environment: &[(&str, &str)]) -> Result<Settings, OpenError> {
    let environment: HashMap<_, _> = environment.iter().copied().collect();
    Settings::parse(url, &|variable| environment.get(variable).map(|value| (*value).to_owned()))
}

#[track_caller]
fn refused(url: &str, environment: &[(&str, &str)]) -> String {
    match parse(url, environment) {
        Err(error) => error.to_string(),
        Ok(settings) => panic!("{url} was taken as {}", settings.reach.shown),
    }
}

#[test]
fn what_is_shown_has_no_credentials() {
    for (url, shown) in [
        ("zookeeper://floe:secret@zk/ids", "zookeeper://zk:2181/ids"),
        ("zookeeper://floe:s%40cret@zk:6000/a/b/?max_wait=1s", "zookeeper://zk:6000/a/b"),
        ("zookeeper://floe:sec:ret@a:1,b,c:3/ids", "zookeeper://a:1,b:2181,c:3/ids"),
        ("zookeeper://floe:secret@[::1]:7,[fe80::1]", "zookeeper://[::1]:7,[fe80::1]:2181/floe"),
        ("zookeeper://zk", "zookeeper://zk:2181/floe"),
        ("zookeeper://zk/", "zookeeper://zk:2181/floe"),
    ] {
        assert_eq!(parse(url, &[]).unwrap().reach.shown, shown);
    }
}

#[test]
fn what_cannot_be_right_is_refused_and_no_password_repeated() {
    for (url, part) in [
        ("zookeeper:zk", "zookeeper://user:password@host"),
        ("zookeeper://", "no URL of a ZooKeeper ensemble"),
        ("zookeeper:///ids", "no URL of a ZooKeeper ensemble"),
        ("zookeeper://a,,b/ids", "no URL of a ZooKeeper ensemble"),
        ("zookeeper://floe:secret@zk:port/ids", "no URL of a ZooKeeper ensemble"),
        ("zookeeper://[::1/ids", "no URL of a ZooKeeper ensemble"),
        ("zookeeper://[::1]7/ids", "no URL of a ZooKeeper ensemble"),
        ("zookeeper://zk:66000/ids", "no URL of a ZooKeeper ensemble"),
        ("zookeeper://floe:sec/ret@zk/ids", "%2F for /"),
        ("zookeeper://floe:sec?ret@zk/ids", "%3F for ?"),
        ("zookeeper://floe:%ff@zk/ids", "%25 for %"),
        ("zookeeper://floe@zk/ids", "ZOOKEEPER_PASSWORD"),
        ("zookeeper://a%3Ab:secret@zk/ids", "cannot have a :"),
        ("zookeeper://zk/ids?max_wait=soon", "500ms or 10s"),
        ("zookeeper://zk/ids?max_wait=1ms", "from 100ms"),
        ("zookeeper://zk/ids?connect_timeout=0", "from 1 to 3600"),
        ("zookeeper://zk/ids?unsafe=yes", "allow or refuse"),
        ("zookeeper://zk/ids?chroot=/x", "has no option `chroot`: it has max_wait, connect_timeout"),
        ("zookeeper://zk/ids?password_file=/nowhere", "/nowhere cannot be read"),
        ("zookeeper://zk/ids?sslmode=allow", "verify-full"),
        ("zookeeper://zk/ids?sslmode=verify-full", "sslrootcert=FILE"),
        ("zookeeper://zk/ids?sslrootcert=ca.pem", "sslmode=verify-full"),
        ("zookeeper://zk/ids?sslmode=require&sslcert=me.pem", "need each other"),
        ("zookeeper://zk//ids", "/zookeeper"),
        ("zookeeper://zk/a/../b", "/zookeeper"),
        ("zookeeper://zk/订单", "/zookeeper"),
        ("zookeeper://zk/a%20b", "/zookeeper"),
        ("zookeeper://zk/zookeeper/floe", "ZooKeeper's own"),
    ] {
        let text = refused(url, &[]);
        assert!(text.contains(part), "`{part}` is not in: {text}");
        assert!(!text.contains("sec:") && !text.contains("floe:sec") && !text.contains("ret@"), "{text}");
    }
}

#[test]
fn the_environment_completes_the_url() {
    let environment = [("ZOOKEEPER_USER", "floe"), ("ZOOKEEPER_PASSWORD", "secret")];
    let credentials = |url: &str| parse(url, &environment).unwrap().credentials;
    assert_eq!(credentials("zookeeper://zk/ids").as_deref(), Some("floe:secret"));
    assert_eq!(credentials("zookeeper://me@zk/ids").as_deref(), Some("me:secret"));
    assert_eq!(credentials("zookeeper://me:m%69ne%25@zk/ids").as_deref(), Some("me:mine%"));
    assert_eq!(parse("zookeeper://zk/ids", &[]).unwrap().credentials, None);
    assert!(refused("zookeeper://zk/ids", &environment[1..]).contains("ZOOKEEPER_USER"));
    assert!(refused("zookeeper://zk/ids", &environment[..1]).contains("ZOOKEEPER_PASSWORD"));
}

#[test]
fn tls_is_asked_for_in_words() {
    let tls = |query: &str| {
        let settings = parse(&format!("zookeeper://zk/ids{query}"), &[]).unwrap();
        (settings.reach.tls.wanted, settings.reach.tls.verify)
    };
    assert_eq!(tls(""), (Use::Never, Verify::Nothing));
    assert_eq!(tls("?sslmode=prefer"), (Use::WherePossible, Verify::Nothing));
    let full = (Use::Always, Verify::Full("/ca.pem".into()));
    assert_eq!(tls("?sslmode=verify-full&sslrootcert=/ca.pem"), full);
}

#[test]
fn no_two_names_are_one_node_and_every_node_is_a_name_that_zookeeper_takes() {
    let texts = [
        "n/orders",
        "n/Orders",
        "s/10/7",
        "n/%2F",
        "n/a%b",
        "n/a%25b",
        "n/.",
        "n/..",
        ".",
        "..",
        ".a",
        "a.b",
        "%2E",
        "n/订单",
        "n/🎫",
        "n/\u{e000}",
        "n/\u{10ffff}",
        "n/a\u{308}",
        "n/ä",
        "zookeeper",
    ];
    let mut names = BTreeSet::new();
    for text in texts {
        let name = layout::escaped(text);
        assert!(name.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'/'), "{name}");
        assert!(!name.starts_with('.'), "{name}");
        assert_eq!(layout::unescaped(&name).as_deref(), Some(text));
        assert!(names.insert(name));
    }
    for stray in ["a/b", "%2f", "%41", "a b", "%", "%FF", "订单", "..", ".a"] {
        assert_eq!(layout::unescaped(stray), None, "{stray}");
    }
}

#[test]
fn the_bucket_of_a_key_is_for_ever() {
    for (key, path) in [
        ("n/orders", "/r/d/c4/n%2Forders"),
        ("s/10/0", "/r/d/e0/s%2F10%2F0"),
        ("s/10/1023", "/r/d/e1/s%2F10%2F1023"),
        ("n/v1.2", "/r/d/33/n%2Fv1.2"),
    ] {
        assert_eq!(Place::of("/r", "d", key).path, path);
    }
    let slots = (0..1024).map(|worker| layout::bucket(&format!("s/10/{worker}")));
    let mut counts = HashMap::new();
    slots.for_each(|bucket| *counts.entry(bucket).or_insert(0_usize) += 1);
    assert!(counts.len() > 200 && counts.values().max() < Some(&24), "{counts:?}");
}

#[test]
fn a_record_of_version_1_is_read_to_the_letter() {
    let record =
        |text: &str, definition: Option<&str>| former::record(Some(text), definition, "0f", Some("77"));
    let begin = "floe 1\nrealm 0f\nwritten 77\nmade 00000000000000000000000000000001\n";
    for (text, definition, lines) in [
        ("mark=0 start=0 previous=0 token=-", None, "mark 0 start 0 previous 0\n"),
        (
            "mark=9223372036854775807 start=9007199254740993 previous=1 token=000000000000000000000000000001ab\n",
            Some("a\\b\nc\r"),
            "mark 9223372036854775807 start 9007199254740993 previous 1\ntoken 000000000000000000000000000001ab\n\
             definition a\\\\b\\nc\\r\nnote \n",
        ),
        ("mark=3 start=2 previous=1 token=-\na\nb\n", None, "mark 3 start 2 previous 1\nnote a\\nb\\n\n"),
        // Somebody has set the mark.
        ("mark=5 start=7 previous=6 token=-", None, "mark 5 start 5 previous 5\n"),
    ] {
        assert_eq!(record(text, definition), Some(format!("{begin}{lines}end\n")));
    }
    for text in [
        "",
        "mark=0",
        "mark=0 start=0 previous=0 token=- ",
        "mark=0  start=0 previous=0 token=-",
        "mark=00 start=0 previous=0 token=-",
        "mark=-1 start=0 previous=0 token=-",
        "mark=9223372036854775808 start=0 previous=0 token=-",
        "start=0 mark=0 previous=0 token=-",
        "mark=0 start=0 previous=0 token=1ab",
        "mark=0 start=0 previous=0 token=00000000000000000000000000000000",
        "mark=0 start=0 previous=0 token=000000000000000000000000000001AB",
        "floe 1\nrealm 0f\n",
    ] {
        assert_eq!(record(text, None), None, "{text}");
    }
    assert_eq!(
        former::record(None, Some("uuid4"), "0f", Some("77")),
        Some(format!("{begin}definition uuid4\nend\n"))
    );
}

#[test]
fn a_frame_is_what_the_protocol_says() {
    let mut frames = Vec::new();
    let create = Request::Create { path: "/a", data: b"x", access: Access::World };
    assert_eq!(create.write(7, &mut frames), Ok(7));
    let wanted = b"\0\0\0\x32\0\0\0\x07\0\0\0\x0f\0\0\0\x02/a\0\0\0\x01x\0\0\0\x01\0\0\0\x1f\0\0\0\x05world\0\0\0\x06anyone\0\0\0\0";
    assert_eq!(frames, wanted);
    frames.clear();
    assert_eq!(Request::Digest("a:b").write(8, &mut frames), Ok(-4), "has a number of its own");
    let session =
        [&45_i32.to_be_bytes()[..], &[0; 12], &10_000_i32.to_be_bytes(), &[0; 8], &16_i32.to_be_bytes()];
    // Its last byte says that no server will do that is read-only.
    assert_eq!(jute::ask_for_session(10_000), Ok([&session.concat()[..], &[0; 17]].concat()));
}

/// The content of a frame with this error's code.
fn reply(code: i32, body: &[u8]) -> Reply {
    Reply::parse(&[&[0; 12][..], &code.to_be_bytes(), body].concat()).unwrap()
}

#[test]
fn an_error_that_was_not_expected_is_one() {
    for (code, expected, is_fine) in [
        (0, &[][..], true),
        (code::NODE_EXISTS, &[code::NODE_EXISTS], true),
        (code::NO_AUTH, &[code::NODE_EXISTS, code::NO_NODE], false),
        (code::AUTH_FAILED, &[], false),
    ] {
        assert_eq!(reply(code, &[]).is_done_or(expected).is_ok(), is_fine, "{code}");
    }
}

#[test]
fn a_node_is_open_to_all_if_everyone_may_read_it() {
    let bytes = |text: &str| [&i32::try_from(text.len()).unwrap().to_be_bytes(), text.as_bytes()].concat();
    let entry = |rights: i32, scheme: &str, who: &str| {
        [&rights.to_be_bytes()[..], &bytes(scheme), &bytes(who)].concat()
    };
    let list = |entries: &[Vec<u8>]| {
        let count = i32::try_from(entries.len()).unwrap().to_be_bytes();
        reply(0, &[&count[..], &entries.concat()].concat()).is_open_to_all()
    };
    let own = entry(31, "digest", "careful:hash");
    assert_eq!(list(&[own.clone(), entry(1, "world", "anyone")]), Ok(true));
    assert_eq!(list(&[entry(31, "world", "anyone"), own.clone()]), Ok(true));
    assert_eq!(list(&[entry(30, "world", "anyone"), own.clone()]), Ok(false), "all rights but to read it");
    assert_eq!(list(&[own]), Ok(false));
}

/// Clients in Java may make nodes without any.
#[test]
fn data_that_is_null_is_empty() {
    let data = [&(-1_i32).to_be_bytes()[..], &[0; 68]].concat();
    assert_eq!(reply(0, &data).data(), Ok(Some((Vec::new(), 0))));
}

#[test]
fn whatever_comes_in_is_bounded_and_never_a_panic() {
    assert_eq!(jute::next_frame(b"\0\0\0"), Ok(None));
    assert_eq!(jute::next_frame(b"\0\0\0\x02a"), Ok(None));
    assert_eq!(jute::next_frame(b"\0\0\0\x01abc"), Ok(Some((b"a".as_slice(), b"bc".as_slice()))));
    for length in [-1, i32::MIN, i32::MAX, (16 << 20) + 1] {
        assert!(matches!(jute::next_frame(&length.to_be_bytes()), Err(Error::Garbled(_))), "{length}");
    }
    assert_eq!(jute::next_frame(&(16_i32 << 20).to_be_bytes()), Ok(None), "the longest one");
    // Every beginning of every reply, and lengths that lie.
    let mut whole = vec![0; 16];
    for length in [0, 1, 5, -1, i32::MAX] {
        whole.truncate(16);
        whole.extend(i32::to_be_bytes(length));
        whole.extend([0; 96]);
        for end in 0..whole.len() {
            let Ok(reply) = Reply::parse(&whole[..end]) else { continue };
            drop((reply.is_open_to_all(), reply.written(), reply.data(), reply.children(), reply.outcome()));
        }
    }
    assert!(jute::session_timeout_ms(&[0; 8]).is_err(), "a session of no time");
    assert!(jute::session_timeout_ms(&[0; 3]).is_err());
}

/// The numbers are those of ZooKeeper's `KeeperException`.
#[test]
fn an_error_of_a_server_has_its_name_its_kind_and_its_way_out() {
    for (code, name, way_out) in [
        (-6, "Unimplemented", "3.5 or newer"),
        (-101, "NoNode", "whether the server runs"),
        (-102, "NoAuth", "getAcl"),
        (-103, "BadVersion", "whether the server runs"),
        (-110, "NodeExists", "whether the server runs"),
        (-114, "InvalidACL", "getAcl"),
        (-115, "AuthFailed", "getAcl"),
        (-119, "NotReadOnly", "start the other servers"),
        (-124, "SessionClosedRequireAuth", "getAcl"),
        (-125, "QuotaExceeded", "setquota"),
        (-127, "ThrottledOp", "more requests"),
        (-4, "an error", "whether the server runs"),
    ] {
        let error = Error::Code(code);
        let (opening, working) = (trouble::at_open(&error, "zk:"), trouble::at_work(&error, "zk:"));
        for text in [opening.to_string(), working.to_string()] {
            let wanted = format!("zk:: ZooKeeper answered {name} ({code}); ");
            assert!(text.contains(&wanted) && text.contains(way_out), "{text}");
        }
        let is_unfit = matches!(working, LedgerError::Unfit(_));
        assert_eq!(is_unfit, code == code::UNIMPLEMENTED, "{working:?}");
        // A password can be put right while a process runs, and has to be before it starts.
        match opening {
            OpenError::Asked(_) => assert!([-102, -115, -124].contains(&code), "{code}"),
            OpenError::Ledger(error) => assert_eq!(error, working),
        }
        assert!(![-102, -115, -124].contains(&code) || !is_unfit);
    }
    let garbled = trouble::at_work(&Error::Garbled("a short reply"), "zk:");
    assert!(garbled.to_string().contains("needs sslmode=verify-full"), "{garbled}");
}

/// A server may answer a creation with the node's path alone, or with its `Stat` behind it.
#[test]
fn the_outcome_of_a_transaction_is_read_past_the_nodes_that_it_made() {
    let stat = |version: i32| [&[0; 32][..], &version.to_be_bytes(), &[0; 32]].concat();
    let result = |operation: i32, rest: &[u8]| [&operation.to_be_bytes(), &[0; 5][..], rest].concat();
    let (path, end) = (b"\0\0\0\x02/a".as_slice(), b"\xff\xff\xff\xff\x01\xff\xff\xff\xff".to_vec());
    let outcome = |results: &[Vec<u8>]| {
        let content = [vec![0; 16], results.concat(), end.clone()].concat();
        Reply::parse(&content).unwrap().outcome()
    };
    let made = [result(1, path), result(15, &[path, &stat(0)].concat())];
    for made in made {
        assert_eq!(outcome(&[result(13, b""), made.clone()]), Ok(Ok(None)));
        assert_eq!(outcome(&[made.clone(), result(5, &stat(7)), result(2, b"")]), Ok(Ok(Some(7))));
        let undone = result(-1, &[0; 4]);
        let failed = result(-1, &code::NODE_EXISTS.to_be_bytes());
        assert_eq!(outcome(&[made, undone, failed]), Ok(Err((2, code::NODE_EXISTS))));
    }
    assert!(outcome(&[result(9, b"")]).is_err());
}

#[test]
fn an_old_server_is_named_as_one() {
    let error = trouble::at_open(&Error::Code(code::UNIMPLEMENTED), "zookeeper://zk:2181/ids");
    assert!(error.to_string().contains("3.5 or newer"), "{error}");
    assert!(matches!(error, OpenError::Ledger(LedgerError::Unfit(_))), "{error:?}");
}

#[test]
fn a_realm_has_an_id_or_none_that_this_version_knows() {
    let record = "floe 1\nrealm 0f\n";
    let read = layout::parse_realm;
    assert_eq!(read("version=1 id=0f"), Some((1, Some(record.to_owned()))));
    assert_eq!(read(&layout::realm_text(record)), Some((2, Some(record.to_owned()))));
    for (no_id, version) in [
        ("version=1 id=", 1),
        ("version=1 id=0g", 1),
        ("version=1 id=0f ", 1),
        ("version=1 name=0f", 1),
        ("version=2 id=0f", 2),
        ("version=2 floe 1\nrealm \n", 2),
        ("version=2 floe 1\nrealm a/b\n", 2),
        ("version=3 floe 2\nrealm 0f\n", 3),
    ] {
        assert_eq!(read(no_id), Some((version, None)), "{no_id}");
    }
    for nothing in ["", "version=1", "version=one id=0f", "id=0f version=1"] {
        assert_eq!(read(nothing), None, "{nothing}");
    }
}

#[test]
fn every_url_means_what_it_meant() {
    golden("zookeeper", |url, environment| {
        let Settings { hosts, path, credentials, reach } = Settings::parse(url, environment)?;
        let Reach { shown, bounds, tls, .. } = reach;
        let hosts: Vec<_> = hosts.into_iter().map(|host| (host.host, host.port)).collect();
        let rest = format!(
            "at={hosts:?} path={path:?} login={credentials:?} tls={:?} {:?} {:?} wait={:?} connect={:?}",
            tls.wanted, tls.verify, tls.own, bounds.max_wait, bounds.connect
        );
        Ok((shown, rest))
    });
}
