//! The settings of a cache, and what it refuses.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, mpsc};
use std::thread;
use std::time::Duration;

use floe::UnixMillis;
use floe::ledger::{Ledger, LedgerError, Memory};
use floe_ledger::{Cache, OpenError, Opening, Sqlite, cache};
use tempfile::TempDir;

use super::{Behind, HOUR, NOW, cut_off, open, try_open, unfit, until, window};
use crate::{entries, got, says};

#[track_caller]
fn asked(opened: Result<Cache, OpenError>) -> String {
    match opened {
        Err(OpenError::Asked(text)) => text,
        Err(error) => panic!("{error:?}"),
        Ok(cache) => panic!("it opened: {}", cache.describe()),
    }
}

fn builder(dir: &TempDir) -> cache::Builder {
    Cache::builder(dir.path().join("cache"))
}

#[test]
fn what_cannot_be_right_is_refused_before_anything_is_made() {
    let dir = TempDir::new().unwrap();
    for url in ["sqlite:ids.db", "memory:"] {
        says(&asked(builder(&dir).before(url)), &["needs no cache", "leave the cache out"]);
    }
    let asked_of =
        |builder: cache::Builder| asked(builder.before_ledger("behind:", || Err(cut_off().into())));
    for window in [Duration::ZERO, Duration::from_millis(999), Duration::from_secs(31 * 24 * 3600)] {
        says(&asked_of(builder(&dir).window(window)), &["1 s to 30 days"]);
    }
    says(&asked_of(builder(&dir).realm("two words")), &["cannot be a realm"]);
    assert_eq!(entries(dir.path()), Vec::<String>::new());
}

#[test]
fn a_window_of_a_second_and_one_of_thirty_days_are_allowed() {
    for window in [Duration::from_secs(1), Duration::from_secs(30 * 24 * 3600)] {
        let (dir, behind) = (TempDir::new().unwrap(), Behind::default());
        let builder = builder(&dir).window(window);
        assert!(builder.before_ledger("behind:", move || Ok(Box::new(behind.clone()))).is_ok(), "{window:?}");
    }
}

#[test]
fn a_realm_that_is_pinned_is_looked_for_in_the_directory_too() {
    let (dir, behind) = (TempDir::new().unwrap(), Behind::default());
    got(&open(dir.path(), &behind), &window(7, NOW));
    behind.cut();
    let opened = |id: &str| {
        let (upstream, opening) = (behind.clone(), Opening::of("default").realm_id(id));
        Cache::builder(dir.path()).opening(&opening).before_ledger("behind:", move || {
            upstream.realm_id()?;
            Ok(Box::new(upstream.clone()))
        })
    };
    says(&unfit(opened("00000000000000000000000000000000")), &["pins 0000"]);
    let id = behind.store.realm_id().unwrap();
    got(&opened(&id).unwrap(), &window(7, NOW + 30_000));
}

#[test]
fn a_realm_that_is_named_after_an_opening_is_pinned_as_the_opening_says() {
    let (dir, behind) = (TempDir::new().unwrap(), Behind::default());
    got(&open(dir.path(), &behind), &window(7, NOW));
    let pinned = Opening::of("shop").realm_id("00000000000000000000000000000000");
    let cache = Cache::builder(dir.path()).opening(&pinned).realm("default");
    says(&unfit(cache.before_ledger("behind:", || Err(cut_off().into()))), &["pins 0000"]);
}

/// Otherwise, all IDs would begin again in a store that was emptied.
#[cfg(all(feature = "offer", feature = "served"))]
#[test]
fn nothing_is_made_behind_a_cache_that_may_make_nothing() {
    let (dir, store) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let url = format!("sqlite:{}", store.path().join("ids.db").display());
    let offer = floe_ledger::offer::Offer::new(move |opening| opening.open(&url));
    let port = floe_testbed::http_stub(move |_, question| {
        let body = offer.answer("default", |_| true, question).unwrap().body;
        let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len());
        [head.as_bytes(), &body].concat()
    });
    let before = |opening: &Opening| {
        builder(&dir).opening(opening).before(&format!("floe://:floe_1@127.0.0.1:{port}"))
    };
    let opening = Opening::of("default");
    says(&unfit(before(&opening.clone().existing())), &["no ledger at", "nothing may be made"]);
    says(&unfit(before(&opening.clone().realm_id("0123"))), &["no ledger at", "realm_id pins 0123"]);
    assert_eq!(entries(store.path()), [""; 0]);
    got(&before(&opening).unwrap(), &window(7, NOW));
    got(&before(&opening.existing()).unwrap(), &window(7, NOW + 30_000));
}

/// During an outage. Another schema of the same database is another ledger.
#[cfg(feature = "postgres-no-tls")]
#[test]
fn a_directory_is_of_the_place_in_the_store_that_its_url_names() {
    let (dir, behind) = (TempDir::new().unwrap(), Behind::default());
    let name = "postgres://…@127.0.0.1:1/ids?schema=a";
    drop(builder(&dir).before_ledger(name, move || Ok(Box::new(behind.clone()))).unwrap());
    // Nobody listens there.
    let url = "postgres://floe:secret@127.0.0.1:1/ids?max_wait=1s";
    let before = |options: &str| builder(&dir).before(&format!("{url}{options}"));
    assert!(before("&schema=a").is_ok());
    for other in ["&schema=b", ""] {
        let text = unfit(before(other));
        says(&text, &["was made for", "ids?schema=a", "does not answer"]);
        assert!(!text.contains("secret"), "{text}");
    }
}

/// As a password, a certificate or a role may be, until somebody puts it right where the ledger is.
#[test]
fn a_setting_that_the_ledger_behind_refuses_ends_nothing_that_is_held() {
    // It refuses it at the start, or later.
    for refused_from in [0, 1] {
        let (dir, behind) = (TempDir::new().unwrap(), Behind::default());
        got(&open(dir.path(), &behind), &window(7, NOW));
        behind.cut();
        let (upstream, calls) = (behind.clone(), AtomicU64::new(0));
        let opened = Cache::builder(dir.path()).before_ledger("behind:", move || {
            let call = calls.fetch_add(1, Ordering::SeqCst);
            match upstream.reach() {
                Err(_) if call >= refused_from => Err(OpenError::Asked("no such role".to_owned())),
                Err(error) => Err(error.into()),
                Ok(_) => Ok(Box::new(upstream.clone())),
            }
        });
        let cache = opened.unwrap();
        let refused = LedgerError::Unavailable("no such role".to_owned());
        until("it to be told", || cache.names("", 1) == Err(refused.clone()));
        got(&cache, &window(7, NOW + 30_000));
        behind.heal();
        // To ask for the time reaches nobody: the cache's own thread does, without a call that needs the ledger behind.
        until("the ledger behind to be reached", || cache.clock() == Ok(Some(UnixMillis::new(7))));
        assert!(cache.names("", 1).is_ok());
    }
}

#[test]
fn a_setting_that_the_ledger_behind_refuses_is_told_at_once_where_nothing_is_held() {
    let dir = TempDir::new().unwrap();
    let opened = builder(&dir).before_ledger("behind:", || Err(OpenError::Asked("no such role".to_owned())));
    assert_eq!(asked(opened), "no such role");
}

#[test]
fn a_url_that_cannot_be_right_is_refused_also_where_the_directory_would_do() {
    let (dir, behind) = (TempDir::new().unwrap(), Behind::default());
    got(&open(dir.path(), &behind), &window(7, NOW));
    let text = asked(Cache::builder(dir.path()).before("oracle://floe:secret@db/ids"));
    says(&text, &["is not the URL of a ledger"]);
    assert!(!text.contains("secret"), "{text}");
    #[cfg(feature = "postgres-no-tls")]
    says(&asked(Cache::builder(dir.path()).before("postgres://db/ids?max_wate=1s")), &["max_wate"]);
}

#[test]
fn a_ledger_behind_that_is_unfit_stops_everything() {
    let (dir, behind) = (TempDir::new().unwrap(), Behind::default());
    got(&open(dir.path(), &behind), &window(7, NOW));
    let unfit_ledger = || Err(LedgerError::Unfit("it keeps nothing".to_owned()).into());
    let opened = Cache::builder(dir.path()).before_ledger("behind:", unfit_ledger);
    assert_eq!(unfit(opened), "it keeps nothing");
}

#[test]
fn the_directory_is_made_for_its_user_alone_and_holds_one_file() {
    let (parent, behind) = (TempDir::new().unwrap(), Behind::default());
    let dir = parent.path().join("cache");
    got(&open(&dir, &behind), &window(7, NOW));
    assert_eq!(fs::metadata(&dir).unwrap().permissions().mode() & 0o777, 0o700);
    let nowhere = parent.path().join("no/such");
    says(&unfit(try_open(&nowhere, &behind)), &["cannot be made", "its parent"]);
}

#[test]
fn a_directory_of_another_realm_or_another_ledger_is_refused() {
    let (dir, behind) = (TempDir::new().unwrap(), Behind::default());
    got(&open(dir.path(), &behind), &window(7, NOW));
    let before = |realm: &str, name: &str, behind: &Behind| {
        let upstream = behind.clone();
        let open = move || {
            upstream.realm_id()?;
            Ok(Box::new(upstream.clone()) as Box<dyn Ledger>)
        };
        Cache::builder(dir.path()).realm(realm).before_ledger(name, open)
    };
    // A name as long as its own.
    says(&unfit(before("another", "behind:", &behind)), &["belongs to the realm default", "remove it"]);
    let another = Behind::default();
    says(&unfit(before("default", "behind:", &another)), &["another ledger", "realm id", "remove it"]);
    assert_eq!(another.store.list("", "", 10), Ok(Vec::new()), "nothing is written there");
    // The same ledger may have another name, if it can be asked.
    behind.cut();
    let text = unfit(before("default", "other:", &behind));
    says(&text, &["was made for behind:", "other: does not answer", "remove"]);
    behind.heal();
    got(&before("default", "other:", &behind).unwrap(), &window(7, NOW + 30_000));
    behind.cut();
    got(&before("default", "other:", &behind).unwrap(), &window(7, NOW + 60_000));
}

#[test]
fn a_first_start_that_failed_binds_the_directory_to_no_realm() {
    let (dir, behind) = (TempDir::new().unwrap(), Behind::default());
    let of_realm = |realm: &str| {
        let upstream = behind.clone();
        Cache::builder(dir.path()).realm(realm).before_ledger("behind:", move || {
            upstream.realm_id()?;
            Ok(Box::new(upstream.clone()))
        })
    };
    behind.cut();
    for realm in ["defualt", "default", "shop"] {
        let failed = of_realm(realm).map(drop);
        let is_gone = |error: &OpenError| matches!(error, OpenError::Ledger(LedgerError::Unavailable(_)));
        assert!(failed.as_ref().is_err_and(is_gone), "{failed:?}");
    }
    behind.heal();
    got(&of_realm("default").unwrap(), &window(7, NOW));
    behind.cut();
    says(&unfit(of_realm("shop")), &["belongs to the realm default", "remove it"]);
    got(&of_realm("default").unwrap(), &window(7, NOW + 30_000));
}

/// Otherwise a start during an outage could hand out one realm's ranges in another.
#[test]
fn of_two_first_starts_the_realm_that_is_reached_first_has_the_directory() {
    let (dir, [shop, default]) = (TempDir::new().unwrap(), [(); 2].map(|()| Behind::default()));
    let of_realm = |realm: &str, behind: &Behind, begins: Box<dyn Fn() + Send + Sync>| {
        let upstream = behind.clone();
        Cache::builder(dir.path()).realm(realm).before_ledger("behind:", move || {
            begins();
            upstream.realm_id()?;
            Ok(Box::new(upstream.clone()))
        })
    };
    let at_once = || Box::new(|| ());
    let ((began, has_begun), (goes_on, may_go_on)) = (mpsc::channel(), mpsc::channel::<()>());
    thread::scope(|scope| {
        let (goes_on, may_go_on) = (goes_on, Mutex::new(may_go_on));
        let waits = Box::new(move || {
            began.send(()).unwrap();
            assert!(may_go_on.lock().unwrap().recv().is_err());
        });
        let late = scope.spawn(|| of_realm("shop", &shop, waits));
        has_begun.recv().unwrap();
        got(&of_realm("default", &default, at_once()).unwrap(), &window(7, NOW));
        drop(goes_on);
        says(&unfit(late.join().unwrap()), &["another ledger", "realm id"]);
    });
    shop.cut();
    default.cut();
    says(&unfit(of_realm("shop", &shop, at_once())), &["belongs to the realm default"]);
    got(&of_realm("default", &default, at_once()).unwrap(), &window(7, NOW + 30_000));
}

/// It may be another ledger, which a call would notice only after this cache has handed out ranges of its own.
#[test]
fn a_changed_ledger_that_says_nothing_is_refused_as_one_that_is_down() {
    let (dir, behind) = (TempDir::new().unwrap(), Behind::default());
    got(&open(dir.path(), &behind), &window(7, NOW));
    let (ends, end) = mpsc::channel::<()>();
    let end = Mutex::new(end);
    let opened = Cache::builder(dir.path()).before_ledger("other:", move || {
        let _ = end.lock().unwrap().recv();
        Err(cut_off().into())
    });
    let words = ["was made for behind:", "other: does not answer", "has not answered yet"];
    says(&unfit(opened), &words);
    drop(ends);
}

#[test]
fn a_ledger_is_no_cache_and_a_cache_is_no_ledger() {
    let (dir, behind) = (TempDir::new().unwrap(), Behind::default());
    drop(Sqlite::open(dir.path().join("cache.db")).unwrap());
    says(&unfit(try_open(dir.path(), &behind)), &["is a ledger", "directory of its own"]);
    let dir = TempDir::new().unwrap();
    drop(open(dir.path(), &behind));
    match Sqlite::open(dir.path().join("cache.db")) {
        Err(OpenError::Ledger(LedgerError::Unfit(text))) => {
            says(&text, &["belongs to a cache", "is not a ledger"])
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_damaged_file_needs_no_backup() {
    let (dir, behind) = (TempDir::new().unwrap(), Behind::default());
    got(&open(dir.path(), &behind), &window(7, NOW));
    fs::write(dir.path().join("cache.db"), "not a database at all, ".repeat(100)).unwrap();
    says(&unfit(try_open(dir.path(), &behind)), &["the cache", "cannot be used", "remove it"]);
}

#[test]
fn a_directory_of_another_user_is_refused() {
    let (parent, behind) = (TempDir::new().unwrap(), Behind::default());
    let dir = parent.path().join("cache");
    drop(open(&dir, &behind));
    if chown(&dir, Some(65_534), Some(65_534)).is_err() {
        // Only root may give a directory away. Any other user needs a directory that belongs to someone else, such as this one.
        says(&unfit(try_open("/".as_ref(), &behind)), &["belongs to the user 0"]);
        return;
    }
    let entries_before = entries(&dir);
    says(&unfit(try_open(&dir, &behind)), &["belongs to the user 65534", "runs as the user 0"]);
    assert_eq!(entries(&dir), entries_before, "what this user makes there, the owner cannot write");
    // Also where there is nothing yet.
    let empty = parent.path().join("empty");
    fs::create_dir(&empty).unwrap();
    chown(&empty, Some(65_534), Some(65_534)).unwrap();
    says(&unfit(try_open(&empty, &behind)), &["belongs to the user 65534"]);
    assert_eq!(entries(&empty), [""; 0]);
}

#[test]
fn a_file_that_somebody_holds_is_unavailable_and_that_passes() {
    let (dir, behind) = (TempDir::new().unwrap(), Behind::default());
    let cache = open(dir.path(), &behind);
    got(&cache, &window(7, NOW));
    let holder = rusqlite::Connection::open(dir.path().join("cache.db")).unwrap();
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    let waiting = Cache::builder(dir.path()).max_wait(Duration::from_millis(50));
    let opened = waiting.before_ledger("behind:", || Ok(Box::new(Memory::default())));
    match opened.map(drop) {
        Err(OpenError::Ledger(LedgerError::Unavailable(text))) => {
            says(&text, &["other processes held", "cache.db", "for 50ms"])
        }
        other => panic!("{other:?}"),
    }
    holder.execute_batch("ROLLBACK").unwrap();
    got(&cache, &window(7, NOW + 30_000));
}

#[test]
fn a_cache_lasts_for_an_hour_and_waits_for_ten_seconds_unless_it_is_told_otherwise() {
    let (dir, behind) = (TempDir::new().unwrap(), Behind::default());
    says(&format!("{:?}", builder(&dir)), &["window: 3600s", "max_wait: 10s"]);
    let upstream = behind.clone();
    got(
        &builder(&dir).before_ledger("behind:", move || Ok(Box::new(upstream.clone()))).unwrap(),
        &window(7, NOW),
    );
    assert_eq!(behind.store.list("s/", "", 1).unwrap()[0].mark, NOW + HOUR);
}

/// The ledger behind is opened by it.
#[test]
fn the_thread_of_a_cache_is_called_so_where_an_operator_looks() {
    let (dir, behind) = (TempDir::new().unwrap(), Behind::default());
    let opened = builder(&dir).before_ledger("behind:", move || match thread::current().name() {
        Some("floe-cache") => Ok(Box::new(behind.clone())),
        other => Err(OpenError::Asked(format!("{other:?}"))),
    });
    got(&opened.unwrap(), &window(7, NOW));
}

/// A newer floe that called it otherwise would refuse the directories that exist.
#[test]
fn the_realm_in_the_file_is_the_one_of_earlier_versions() {
    let (dir, behind) = (TempDir::new().unwrap(), Behind::default());
    drop(open(dir.path(), &behind));
    let file = rusqlite::Connection::open(dir.path().join("cache.db")).unwrap();
    let realms = file.query_row("SELECT group_concat(name) FROM realm", [], |row| row.get::<_, String>(0));
    assert_eq!(realms, Ok("cache".to_owned()));
}
