//! URLs, records and releases, without a server.

use std::collections::HashMap;
use std::fs;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use floe::ledger::LedgerError;
use prost::Message as _;
use tokio::task::spawn_blocking;

use super::connect::{Cluster, Verdict, judge};
use super::layout::{check_version, record};
use super::link::Link;
use super::link::tests::{Says, member};
use super::messages::{
    Call, Compare, Header, KeyValue, Outcome, RangeResponse, Request, Response, StatusRequest,
    StatusResponse, TxnRequest, TxnResponse,
};
use super::trouble::{Fault, at_open, at_work};
use super::url::{Endpoint, Settings};
use super::{Trouble, open_url};
use crate::remote::ssl_mode::Use;
use crate::remote::tests::{golden, kind};
use crate::remote::url::Reach;
use crate::remote::{Connect, Connected, Wanted};
use crate::{OpenError, Opening};

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

/// The user and the password.
#[track_caller]
fn login(url: &str, environment: &[(&str, &str)]) -> Option<(String, String)> {
    parse(url, environment).unwrap().login.map(|login| (login.name, login.password))
}

#[test]
fn what_is_shown_has_no_credentials() {
    for (url, shown) in [
        ("etcd://h", "etcd://h:2379/floe"),
        ("etcd://h1:2379,h2:1/shop/ids/?max_wait=1s", "etcd://h1:2379,h2:1/shop/ids"),
        ("etcd://floe:s%40cret@h1,h2/", "etcd://h1:2379,h2:2379/floe"),
        ("etcd://floe:se@cret@h1/a%2Db", "etcd://h1:2379/a-b"),
        ("etcd://[::1]:7,[fe80::1]/x", "etcd://[::1]:7,[fe80::1]:2379/x"),
        ("etcd://127.0.0.1:7/订单", "etcd://127.0.0.1:7/订单"),
    ] {
        assert_eq!(parse(url, &[]).unwrap().reach.shown, shown);
    }
}

#[test]
fn what_cannot_be_right_is_refused_and_no_password_repeated() {
    for (url, part) in [
        ("etcd:h", "no URL of an etcd cluster"),
        ("etcd://", "no URL of an etcd cluster"),
        ("etcd:///floe", "no URL of an etcd cluster"),
        ("etcd://h1,,h2", "no URL of an etcd cluster"),
        ("etcd://floe:secret", "no URL of an etcd cluster"),
        ("etcd://floe:sec/ret@h", "%2F for /"),
        ("etcd://floe:sec?ret@h", "%3F for ?"),
        ("etcd://h:70000", "no URL of an etcd cluster"),
        ("etcd://[::1/x", "no URL of an etcd cluster"),
        ("etcd://h/a%20b", "the prefix"),
        ("etcd://h/a%07b", "the prefix"),
        ("etcd://h?max_wait=soon", "500ms or 10s"),
        ("etcd://h?connect_timeout=1s", "whole seconds"),
        ("etcd://h?unsafe=yes", "allow or refuse"),
        ("etcd://h?schema=a", "it has max_wait, connect_timeout, unsafe, password_file"),
        ("etcd://h?sslmode=allow", "verify-full"),
        ("etcd://h?sslmode=prefer", "one of disable, require, verify-ca, verify-full"),
        ("etcd://h?sslmode=verify-full", "sslrootcert=FILE"),
        ("etcd://h?sslrootcert=ca.pem", "say sslmode=verify-full"),
        ("etcd://h?sslcert=a&sslkey=b", "say sslmode=verify-full"),
        ("etcd://h?sslcert=a&sslkey=b&sslmode=disable", "say sslmode=verify-full"),
        ("etcd://h?sslcert=a&sslmode=require", "need each other"),
        ("etcd://floe@h", "no password for the user floe"),
        ("etcd://floe:@h", "no password for the user floe"),
        ("etcd://floe:secret@h?password_file=a", "leave one out"),
        ("etcd://h?password_file=a", "needs a user"),
        ("etcd://floe@h?password_file=/nowhere", "/nowhere cannot be read"),
    ] {
        let text = refused(url, &[]);
        assert!(text.contains(part), "`{part}` is not in: {text}");
        assert!(!text.contains("secret") && !text.contains("ret@"), "{text}");
    }
}

#[test]
fn options_are_read() {
    let settings = parse("etcd://h?max_wait=2s&unsafe=allow&connect_timeout=9", &[]).unwrap();
    assert!(settings.reach.allows_unsafe && settings.reach.tls.wanted == Use::Never);
    assert_eq!(settings.reach.bounds.max_wait, Duration::from_secs(2));
    assert_eq!(settings.reach.bounds.connect, Duration::from_secs(2), "no longer than a call");
    let settings = parse("etcd://h?sslmode=require", &[]).unwrap();
    assert!(settings.reach.tls.wanted == Use::Always && !settings.reach.allows_unsafe);
    assert_eq!(settings.reach.bounds.connect, Duration::from_secs(3));
}

#[test]
fn a_login_comes_from_the_url_then_a_file_then_the_environment() {
    let pair = |name: &str, password: &str| Some((name.to_owned(), password.to_owned()));
    let whole = [("ETCDCTL_USER", "root:pass:word"), ("ETCDCTL_PASSWORD", "other")];
    assert_eq!(login("etcd://h", &[]), None);
    assert_eq!(login("etcd://h", &whole), pair("root", "pass:word"));
    assert_eq!(login("etcd://floe:a%3Ab@h", &whole), pair("floe", "a:b"));
    assert_eq!(login("etcd://floe@h", &whole), pair("floe", "other"));
    assert_eq!(login("etcd://h", &[("ETCDCTL_USER", "root"), ("ETCDCTL_PASSWORD", "p")]), pair("root", "p"));
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("password");
    fs::write(&file, "from the file\n").unwrap();
    let url = |user: &str| format!("etcd://{user}h?password_file={}", file.display());
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
        assert!(refused(&url("floe@"), &[]).contains("chmod 600"));
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    }
    assert_eq!(login(&url("floe@"), &[]), pair("floe", "from the file"));
    assert_eq!(login(&url(""), &whole), pair("root", "from the file"));
}

#[test]
fn a_certificate_that_cannot_be_used_is_named() {
    let url = "etcd://h?sslmode=require&sslcert=/nowhere.pem&sslkey=/nowhere.key";
    let tls = parse(url, &[]).unwrap().reach.tls;
    let text = tls.client().unwrap_err().to_string();
    assert!(text.contains("sslcert: /nowhere.pem cannot be used"), "{text}");
}

#[test]
fn a_record_of_version_1_becomes_one_that_floe_reads() {
    let number = "00000000000000000000000000000001";
    let first = format!("floe 1\nrealm 5f\nwritten {number}\nmade {number}\n");
    let moved = |mark: Option<&str>, definition: Option<&str>| {
        let text = record("5f", mark.map(str::to_owned).as_ref(), definition.map(str::to_owned).as_ref())?;
        Some(text.strip_prefix(&first).unwrap().strip_suffix("end\n").unwrap().to_owned())
    };
    let text = "mark=9223372036854775807 start=2 previous=1 token=ABABABABabababababababababababab note=a note=b\n\r\\ 订单";
    let mark = "mark 9223372036854775807 start 2 previous 1\ntoken abababababababababababababababab\n";
    let note = "note a note=b\\n\\r\\\\ 订单\n";
    assert_eq!(moved(Some(text), None), Some(format!("{mark}{note}")));
    assert_eq!(moved(Some(text), Some("segment")), Some(format!("{mark}definition segment\n{note}")));
    let bare = "mark 5 start 0 previous 0\n";
    assert_eq!(moved(Some("mark=5 start=0 previous=0"), None).as_deref(), Some(bare));
    assert_eq!(moved(None, Some("uuid7\n")).as_deref(), Some("definition uuid7\\n\n"));
    for deleted in [None, Some("segment"), Some("counter form base62"), Some("dated by=day")] {
        assert_eq!(moved(None, deleted), None, "{deleted:?}");
    }
}

#[test]
fn what_no_floe_of_version_1_has_written_is_not_moved() {
    for text in [
        "",
        "5",
        "mark=5",
        "mark=5 start=0",
        "mark=-5 start=0 previous=0",
        "mark=5 start=0 previous=0 ",
        "mark=5 start=0 previous=0 owner=me",
        "mark=5 start=0 previous=0 token=ab",
        "mark=5 start=0 previous=0 token=abababababababababababababababab owner=me",
        "mark=5 start=0 previous=0 token=+bababababababababababababababab",
        "mark=5 start=6 previous=0",
        "mark=5 start=4 previous=5",
        "mark=9223372036854775808 start=0 previous=0",
        "start=0 mark=5 previous=0",
        "floe 1\nrealm 5f\n",
    ] {
        assert_eq!(record("5f", Some(&text.to_owned()), Some(&"segment".to_owned())), None, "{text}");
    }
}

#[test]
fn releases_that_lose_what_they_acknowledged_are_known() {
    for version in ["3.4.22", "3.4.23", "3.5.6", "3.5.16+gitab12", "3.6.0", "3.6.0-rc.1", "4.0.0"] {
        assert_eq!(judge(version), Verdict::Fit, "{version}");
    }
    for version in ["3.4.0", "3.4.21", "3.5.0", "3.5.0-alpha.0", "3.5.5"] {
        assert!(matches!(judge(version), Verdict::Unsafe(_)), "{version}");
    }
    for version in ["3.3.27", "2.3.8", "0.4.9", "", "3.5", "x"] {
        assert!(matches!(judge(version), Verdict::Unfit(_)), "{version}");
    }
}

const HEADER: Header = Header { cluster_id: 7, revision: 1 };

/// The answer to a read of one key.
fn found(text: Option<&str>) -> Outcome {
    let range = RangeResponse { kvs: text.into_iter().map(KeyValue::holding).collect() };
    Outcome { response: Some(Response::Range(range)) }
}

/// A member that says this of itself, and has this version of the layout.
async fn voter(status: StatusResponse, layout: Option<&str>) -> Endpoint {
    let (header, responses) = (Some(HEADER), vec![found(layout)]);
    let found = TxnResponse { header, responses, ..TxnResponse::default() };
    member(move |path, _| match path {
        StatusRequest::PATH => Says::message(&status),
        _ => Says::message(&found),
    })
    .await
}

fn release(version: &str) -> StatusResponse {
    StatusResponse { version: version.to_owned(), is_learner: false }
}

/// Connects to the cluster of these members.
async fn connect(members: &[Endpoint], options: &str) -> Result<Connected<Link>, Trouble> {
    let members: Vec<_> = members.iter().map(Endpoint::to_string).collect();
    let settings = parse(&format!("etcd://{}?{options}", members.join(",")), &[]).unwrap();
    let cluster = Cluster::new(Arc::new(settings), "shop").unwrap();
    cluster.connect(Wanted::at_open(&Opening::of("shop"))).await
}

/// On every connection: the member, or what another floe has written there, may have changed since the first.
#[tokio::test]
async fn no_connection_is_made_to_a_learner_or_to_what_a_newer_floe_has_written() {
    for layout in [None, Some("1"), Some("2")] {
        assert!(connect(&[voter(release("3.5.6"), layout).await], "").await.is_ok(), "{layout:?}");
    }
    match connect(&[voter(release("3.5.6"), Some("3")).await], "").await.map(drop) {
        Err(Trouble::Ledger(LedgerError::Unfit(text))) => assert!(text.contains("newer floe"), "{text}"),
        outcome => panic!("{outcome:?}"),
    }
    let learner = StatusResponse { is_learner: true, ..release("3.5.6") };
    match connect(&[voter(learner, None).await], "").await.map(drop) {
        Err(Trouble::Store(fault)) => assert!(fault.says("is a learner"), "{fault:?}"),
        outcome => panic!("{outcome:?}"),
    }
}

/// The others would say the same. Where members disagree on what they hold, another one may hold less.
#[tokio::test]
async fn a_member_that_refuses_for_good_is_not_passed_over() {
    for (told, count) in [
        ("3; etcdserver: authentication failed, invalid user ID or password", 1),
        ("3; etcdserver: user name is empty", 1),
        ("7; etcdserver: permission denied", 1),
        ("15; etcdserver: corrupt cluster", 1),
        ("14; etcdserver: no leader", 2),
    ] {
        let asked = Arc::new(AtomicUsize::new(0));
        let refuses = || {
            let asked = Arc::clone(&asked);
            member(move |_, _| {
                asked.fetch_add(1, Ordering::SeqCst);
                Says::refusal(told)
            })
        };
        match connect(&[refuses().await, refuses().await], "").await.map(drop) {
            Err(Trouble::Store(fault)) => {
                assert!(told.split("; ").nth(1).is_some_and(|words| fault.says(words)), "{fault:?}")
            }
            outcome => panic!("{told}: {outcome:?}"),
        }
        assert_eq!(asked.load(Ordering::SeqCst), count, "{told}");
    }
    // A cluster that is being updated: what an old member confirms, the cluster may lose.
    for version in ["3.3.27", "3.5.5"] {
        let asked = Arc::new(AtomicUsize::new(0));
        let is_old = || {
            let asked = Arc::clone(&asked);
            member(move |_, _| {
                asked.fetch_add(1, Ordering::SeqCst);
                Says::message(&release(version))
            })
        };
        match connect(&[is_old().await, is_old().await], "").await.map(drop) {
            Err(Trouble::Ledger(LedgerError::Unfit(text))) => assert!(text.contains(version), "{text}"),
            outcome => panic!("{version}: {outcome:?}"),
        }
        assert_eq!(asked.load(Ordering::SeqCst), 1, "{version}");
    }
}

/// In version 1, too, where nothing is written yet or a process has begun to move the records.
#[tokio::test]
async fn what_a_newer_floe_takes_over_after_the_look_at_the_version_stays_its_own() {
    let former: [&[(&str, &str)]; 3] =
        [&[], &[("version", "1"), ("realm/shop", "5f")], &[("version", "2"), ("realm/shop", "moving 5f")]];
    let path = |key: &str| format!("/floe/{key}").into_bytes();
    for former in former {
        let keys: HashMap<_, _> = former.iter().map(|(key, text)| (path(key), (*text).to_owned())).collect();
        let (mut newer, keys) = (keys.clone(), Arc::new(Mutex::new(keys)));
        newer.insert(path("version"), "3".to_owned());
        let (held, version, is_newer) = (Arc::clone(&keys), path("version"), AtomicBool::new(false));
        let at = member(move |path, request| {
            if path == StatusRequest::PATH {
                return Says::message(&release("3.5.6"));
            }
            let mut keys = held.lock().unwrap();
            let TxnRequest { compare, success, failure } = TxnRequest::decode(&request.body()[5..]).unwrap();
            if !compare.is_empty() && !is_newer.swap(true, Ordering::SeqCst) {
                keys.insert(version.clone(), "3".to_owned());
            }
            let succeeded = compare.iter().all(|compare| {
                *compare == Compare::new(&compare.key, keys.get(&compare.key).map(String::as_str))
            });
            let mut responses = Vec::new();
            for operation in if succeeded { success } else { failure } {
                match operation.request.unwrap() {
                    // None of its lists has a key.
                    Request::Range(range) => responses.push(found(keys.get(&range.key).map(String::as_str))),
                    Request::Put(put) => {
                        keys.insert(put.key, String::from_utf8(put.value).unwrap());
                    }
                }
            }
            Says::message(&TxnResponse { header: Some(HEADER), succeeded, responses })
        });
        let url = format!("etcd://{}", at.await);
        let opened = spawn_blocking(move || open_url(&url, &Opening::of("shop")).map(drop)).await.unwrap();
        let Err(OpenError::Ledger(LedgerError::Unfit(text))) = opened else {
            panic!("{former:?}: {opened:?}")
        };
        assert!(text.contains("newer floe"), "{former:?}: {text}");
        assert_eq!(*keys.lock().unwrap(), newer, "{former:?}");
    }
}

#[test]
fn a_version_of_the_layout_is_known_or_a_newer_floes_or_damaged() {
    for known in [None, Some("1"), Some("2")] {
        assert_eq!(check_version(known, "etcd:"), Ok(()));
    }
    for (version, words) in [
        ("3", "newer floe"),
        ("0", "no floe has written"),
        ("-1", "no floe has written"),
        ("", "no floe has written"),
    ] {
        let text = check_version(Some(version), "etcd:").unwrap_err().to_string();
        assert!(text.contains(words), "{text}");
    }
}

#[tokio::test]
async fn a_release_that_loses_writes_is_used_only_where_the_url_accepts_it() {
    let remarks = async |version: &str, options: &str| {
        let connected = connect(&[voter(release(version), None).await], options).await;
        connected.map(|connected| connected.remarks)
    };
    for options in ["", "unsafe=allow"] {
        assert_eq!(remarks("3.5.6", options).await.unwrap(), Vec::<String>::new());
        match remarks("3.3.27", options).await {
            Err(Trouble::Ledger(LedgerError::Unfit(text))) => {
                assert!(text.contains("3.3.27") && text.contains("3.4 or newer"), "{text}");
            }
            outcome => panic!("no option makes it fit: {outcome:?}"),
        }
    }
    match remarks("3.5.5", "").await {
        Err(Trouble::Ledger(LedgerError::Unfit(text))) => {
            assert!(text.contains("3.5.5, which can lose") && text.contains("unsafe=allow"), "{text}");
        }
        outcome => panic!("it loses what it confirmed: {outcome:?}"),
    }
    let accepted = remarks("3.5.5", "unsafe=allow").await.unwrap();
    assert!(matches!(&*accepted, [remark] if remark.starts_with("unsafe: it is etcd 3.5.5")), "{accepted:?}");
}

/// etcd's code 15 is the loss of data.
#[test]
fn members_that_have_lost_data_stop_the_ledger() {
    let fault = Fault::refused(&Endpoint::new("member", 2379).unwrap(), 15, "etcdserver: corrupt cluster");
    for told in [at_work(&fault).into(), at_open(&fault)] {
        let OpenError::Ledger(LedgerError::Unfit(text)) = told else { panic!("{told:?}") };
        assert!(text.contains("etcd at member:2379: etcdserver: corrupt cluster; its members"), "{text}");
    }
}

#[test]
fn each_error_has_its_kind_and_its_way_out() {
    for (code, text, expected, way_out) in [
        (Some(3), "authentication failed, invalid user ID or password", "asked", "ETCDCTL_PASSWORD or"),
        (Some(3), "user name is empty", "asked", "name a user"),
        (Some(7), "permission denied", "asked", "docs/ledgers.md"),
        (Some(8), "mvcc: database space exceeded", "unavailable", "defragment"),
        (Some(14), "no leader", "unavailable", "no majority"),
        (None, "it is a learner, which cannot vote in the cluster yet", "unavailable", "member promote"),
        (Some(8), "too many requests", "unavailable", "is overloaded"),
        (Some(3), "request is too large", "unavailable", "--max-request-bytes"),
        (None, "TLS: invalid peer certificate", "unavailable", "sslrootcert"),
        (Some(14), "request timed out", "unavailable", "whether the server runs"),
    ] {
        let at = Endpoint::new("member", 2379).unwrap();
        let fault = match code {
            Some(code) => Fault::refused(&at, code, text),
            None => Fault::broken(&at, &text),
        };
        let opened = at_open(&fault);
        assert_eq!(kind(&opened), expected, "{opened}");
        // Later, a password or a right may be changed back.
        let worked = at_work(&fault);
        assert!(matches!(worked, LedgerError::Unavailable(_)), "{worked:?}");
        for told in [opened.to_string(), worked.to_string()] {
            assert!(told.contains(way_out) && told.contains(text), "`{way_out}` is not in: {told}");
        }
    }
}

#[test]
fn every_url_means_what_it_meant() {
    golden("etcd", |url, environment| {
        let Settings { endpoints, prefix, login, reach } = Settings::parse(url, environment)?;
        let Reach { shown, bounds, tls, allows_unsafe } = reach;
        let login = login.map(|login| (login.name, login.password));
        let rest = format!(
            "at={endpoints:?} prefix={prefix:?} login={login:?} tls={} wait={:?} connect={:?} unsafe={allows_unsafe}",
            match tls.wanted {
                Use::Always => format!("Some(Tls {{ verify: {:?}, own: {:?} }})", tls.verify, tls.own),
                _ => "None".to_owned(),
            },
            bounds.max_wait,
            bounds.connect
        );
        Ok((shown, rest))
    });
}
