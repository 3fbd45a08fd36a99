//! URLs, realms, and what is refused before anything is touched.

use floe_ledger::{DEFAULT_REALM, OpenError, Opening, Sqlite, check_scheme, open_in};
use tempfile::TempDir;

use crate::{ask, entries, got, says};

/// The error of a URL or a realm that cannot be right.
#[track_caller]
fn refused(url: &str, realm: &str) -> String {
    match open_in(url, realm) {
        Err(OpenError::Asked(text)) => text,
        Err(error) => panic!("{error:?}"),
        Ok(ledger) => panic!("{url} opened {}", ledger.describe()),
    }
}

/// The errors of a build without these features must name these.
const NOT_HERE: &[&str] = &[
    #[cfg(not(feature = "mysql"))]
    "mysql",
    #[cfg(not(feature = "redis"))]
    "rediss",
    #[cfg(not(feature = "etcd"))]
    "etcd",
    #[cfg(not(feature = "zookeeper"))]
    "zookeeper",
    #[cfg(not(feature = "consul"))]
    "consul",
];

/// Every spelling of a scheme that this build has.
const HERE: &[&str] = &[
    "memory",
    "sqlite",
    #[cfg(feature = "mysql")]
    "mysql",
    #[cfg(feature = "mysql")]
    "mariadb",
    #[cfg(feature = "postgres-no-tls")]
    "postgres",
    #[cfg(feature = "postgres-no-tls")]
    "postgresql",
    #[cfg(feature = "redis")]
    "redis",
    #[cfg(feature = "redis")]
    "rediss",
    #[cfg(feature = "etcd")]
    "etcd",
    #[cfg(feature = "zookeeper")]
    "zookeeper",
    #[cfg(feature = "object-store")]
    "s3",
    #[cfg(feature = "object-store")]
    "gs",
    #[cfg(feature = "object-store")]
    "az",
    #[cfg(feature = "served")]
    "floe",
    #[cfg(feature = "dynamodb")]
    "dynamodb",
    #[cfg(feature = "consul")]
    "consul",
];

#[test]
fn a_ledger_is_found_by_every_spelling_of_its_scheme() {
    for scheme in HERE {
        assert_eq!(check_scheme(&format!("{scheme}:")), Ok(()), "{scheme}");
    }
}

#[test]
fn a_scheme_that_is_not_here_gets_the_list_of_those_that_are() {
    for scheme in NOT_HERE {
        let text = refused(&format!("{scheme}://floe:secret@db/ids"), DEFAULT_REALM);
        says(&text, &[scheme, "this build of floe has no ledger on", "memory:", "sqlite:PATH"]);
        assert!(!text.contains("secret"), "{text}");
        let (_, usable) = text.split_once("use one of").unwrap();
        assert!(!usable.contains(scheme), "{text}");
    }
    for url in ["", "ids.db", "floe-data/floe.db", "oracle://floe:secret@db", "SQLITE:ids.db"] {
        let text = refused(url, DEFAULT_REALM);
        says(&text, &["is not the URL of a ledger", "memory:", "sqlite:PATH"]);
        assert!(!text.contains("secret"), "{text}");
        let shown = url.split_once(':').map_or_else(|| url.to_owned(), |(scheme, _)| format!("{scheme}:…"));
        says(&text, &[&format!("`{shown}` is not")]);
    }
}

#[test]
fn what_is_shown_of_a_url_has_no_part_of_a_password_that_is_not_escaped() {
    for (url, shown) in [
        ("postgres://floe:s3c@r3t@db/ids", "postgres://…@db/ids"),
        ("postgres://floe:s3c@r3t@db:5432/ids?max_wait=1s", "postgres://…@db:5432/ids"),
        ("redis://:@s3c@r3t@db", "redis://…@db"),
        ("postgres://floe:s3c?r3t@db/ids", "postgres:…"),
        ("sqlite:ids.db?max_wait=1s", "sqlite:ids.db"),
    ] {
        assert_eq!(floe_ledger::shown(url), shown);
    }
}

#[test]
fn a_ledger_that_a_restart_empties_is_never_the_existing_one() {
    for opening in [Opening::of("shop").existing(), Opening::of("shop").realm_id("0123456789abcdef")] {
        match opening.open("memory:") {
            Err(OpenError::Asked(text)) => says(&text, &["new ledger at every start", "realm_id out"]),
            Err(error) => panic!("{error:?}"),
            Ok(ledger) => panic!("{} opened", ledger.describe()),
        }
    }
    assert!(Opening::of("shop").to_look().open("memory:").is_ok());
}

#[test]
fn a_url_that_cannot_be_right_is_refused() {
    for (url, part) in [
        ("sqlite:", "needs a path"),
        ("sqlite:?max_wait=1s", "needs a path"),
        ("sqlite::memory:", "write `memory:`"),
        ("sqlite://db/ids.db", "names a host"),
        ("memory:x", "takes no path"),
        ("sqlite:ids.db?mode=ro", "has network_filesystem, max_wait and max_mib"),
        ("sqlite:ids.db?max_wait=soon", "500ms or 10s"),
        ("sqlite:ids.db?max_wait=-1s", "500ms or 10s"),
        ("sqlite:ids.db?max_wait=2000h", "at most 1h"),
        ("sqlite:ids.db?max_wait=3601s", "at most 1h"),
        ("sqlite:ids.db?max_wait=99999999999999999999s", "at most 1h"),
        ("sqlite:ids.db?max_mib=0", "from 1 on"),
        ("sqlite:ids.db?network_filesystem=yes", "allow or refuse"),
    ] {
        says(&refused(url, DEFAULT_REALM), &[part]);
    }
}

/// Ledgers behind a network.
const REMOTE: &[&str] = &[
    #[cfg(feature = "postgres-no-tls")]
    "postgres://floe@127.0.0.1:1/ids",
    #[cfg(feature = "redis")]
    "redis://127.0.0.1:1",
    #[cfg(feature = "served")]
    "floe://:floe_1@127.0.0.1:1",
    #[cfg(feature = "object-store")]
    "s3://ids?endpoint=http://127.0.0.1:1&region=x&max_wait=1s",
    #[cfg(feature = "dynamodb")]
    "dynamodb://ids?endpoint=http://127.0.0.1:1&region=x&max_wait=1s",
];

#[test]
fn a_realm_follows_the_rules_for_names() {
    let dir = TempDir::new().unwrap();
    let url = format!("sqlite:{}", dir.path().join("ids.db").display());
    for realm in ["", "two words", "a/b", "new\nline", &"x".repeat(300), "a*b", "*", "**a", "*two words"] {
        says(&refused(&url, realm), &["cannot be a realm"]);
        says(&refused("memory:", realm), &["cannot be a realm"]);
        // Nobody listens there, and nobody is asked.
        for url in REMOTE {
            says(&refused(url, realm), &["cannot be a realm"]);
        }
    }
    assert_eq!(entries(dir.path()), Vec::<String>::new());
}

#[test]
fn who_names_no_realm_does_not_begin_a_second_one() {
    let dir = TempDir::new().unwrap();
    let url = format!("sqlite:{}", dir.path().join("ids.db").display());
    drop(open_in(&url, "shop").unwrap());
    match open_in(&url, DEFAULT_REALM) {
        Err(OpenError::Ledger(error)) => {
            says(&error.to_string(), &["has no realm default", "it has: shop", "--realm"])
        }
        Err(error) => panic!("{error:?}"),
        Ok(ledger) => panic!("{} began a second realm", ledger.describe()),
    }
    drop(open_in(&url, "games").unwrap());
    drop(open_in(&url, "shop").unwrap());
}

#[test]
fn options_in_the_url_and_absolute_paths_work() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("ids.db");
    let url = format!("sqlite://{}?network_filesystem=allow&max_wait=2s&max_mib=16", path.display());
    let ledger = open_in(&url, "shop").unwrap();
    assert_eq!(got(&*ledger, &ask(10)), (0, 10));
    says(&ledger.describe(), &["sqlite:", "ids.db"]);
    assert!(!ledger.is_shared());
    assert_eq!(ledger.clock(), Ok(None));
    let same = Sqlite::builder().realm("shop").at(&path).unwrap();
    assert_eq!(got(&same, &ask(10)), (10, 20));
    let other = Sqlite::builder().realm("games").at(&path).unwrap();
    assert_eq!(got(&other, &ask(10)), (0, 10), "another realm");
    assert_eq!(open_in("memory:", "shop").unwrap().describe(), "memory:");
}

#[test]
fn a_realm_that_is_named_after_an_opening_is_made_and_pinned_as_the_opening_says() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("ids.db");
    let opening = Opening::of("games");
    let at = |opening: &Opening| Sqlite::builder().opening(opening).realm("shop").at(&path);
    let refused = |opening: &Opening| at(opening).map(drop).unwrap_err().to_string();
    says(&refused(&opening.clone().existing()), &["no ledger at", "nothing may be made"]);
    assert_eq!(entries(dir.path()), Vec::<String>::new());
    got(&at(&opening).unwrap(), &ask(10));
    assert_eq!(got(&at(&opening.clone().existing()).unwrap(), &ask(10)), (10, 20));
    says(&refused(&opening.realm_id("0123")), &["the realm shop at", "realm_id pins 0123"]);
}

#[test]
fn odd_file_names_are_taken_literally() {
    let dir = TempDir::new().unwrap();
    for name in ["a b.db", "100%.db", "订单.db", "file:x.db", "a&b=c", "-x"] {
        let ledger = open_in(&format!("sqlite:{}", dir.path().join(name).display()), DEFAULT_REALM).unwrap();
        got(&*ledger, &ask(1));
        assert!(dir.path().join(name).is_file(), "{name}");
    }
}
