//! Copies of a cache's directory.

use std::fs;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Barrier};

use floe::ledger::{Key, Ledger, LedgerError, Reply};
use floe_ledger::Cache;
use tempfile::TempDir;

use super::{Behind, HOUR, NOW, bind, numbers, open, try_open, unfit, until, window};
use crate::{got, says};

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

/// Writes the copied bytes into the existing files: the inodes and times of birth stay.
fn put_back(from: &Path, to: &Path) {
    for suffix in ["-wal", "-shm"] {
        let _may_be_missing = fs::remove_file(to.join(format!("cache.db{suffix}")));
    }
    copy(from, to);
}

/// A directory whose cache was used and closed, and the ledger behind it.
fn used() -> (TempDir, Behind) {
    let (dir, behind) = (TempDir::new().unwrap(), Behind::default());
    let cache = open(dir.path(), &behind);
    bind(&cache, "orders");
    got(&cache, &window(7, NOW));
    got(&cache, &numbers("orders", 100));
    (dir, behind)
}

/// Such a directory, whose older state was put back after it was used once more.
fn older() -> (TempDir, Behind) {
    let (dir, behind) = used();
    let kept = TempDir::new().unwrap();
    copy(dir.path(), kept.path());
    got(&open(dir.path(), &behind), &numbers("orders", 100));
    put_back(kept.path(), dir.path());
    (dir, behind)
}

/// Without a call, the cache learns that it is an older copy, and that it was used.
fn is_found_out(cache: &Cache) {
    until("it to be found out", || cache.realm_id().is_err());
    match cache.reserve(&numbers("orders", 100)) {
        Err(LedgerError::Unfit(text)) => says(&text, &["older copy", "minted again", "start again"]),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_copied_directory_is_refused_with_or_without_the_ledger_behind() {
    let (dir, behind) = used();
    let elsewhere = TempDir::new().unwrap();
    let copied = elsewhere.path().join("copy");
    copy(dir.path(), &copied);
    for (reachable, witnessed) in [(true, true), (true, false), (false, false)] {
        if !reachable {
            behind.cut();
        }
        if !witnessed {
            // The cache itself remembers where it was made, too.
            fs::remove_file(copied.join("cache.db-witness")).unwrap();
        }
        let text = unfit(try_open(&copied, &behind));
        says(&text, &["it is a copy", "inode", "remove it", "wasted, and nothing else is lost"]);
    }
    // The original continues.
    got(&open(dir.path(), &behind), &window(7, NOW + 30_000));
}

/// As an editor does it, or a tool that restores single files: the directory is still the one that it was.
#[test]
fn a_copy_that_was_moved_over_the_original_is_refused() {
    let (dir, behind) = used();
    let [file, copied, witness] =
        ["cache.db", "cache.db.copy", "cache.db-witness"].map(|name| dir.path().join(name));
    fs::copy(&file, &copied).unwrap();
    fs::rename(&copied, &file).unwrap();
    fs::remove_file(witness).unwrap();
    behind.cut();
    says(&unfit(try_open(dir.path(), &behind)), &["it is a copy", "inode", "handed out twice", "remove it"]);
}

#[test]
fn an_older_state_put_back_in_place_drops_what_it_held_where_the_ledger_behind_answers() {
    let (dir, behind) = used();
    let kept = TempDir::new().unwrap();
    copy(dir.path(), kept.path());
    // The original continues for a while.
    let ours = {
        let cache = open(dir.path(), &behind);
        (got(&cache, &window(7, NOW + 30_000)), got(&cache, &numbers("orders", 100)))
    };
    assert_eq!(ours.1, (100, 200));
    put_back(kept.path(), dir.path());
    let cache = open(dir.path(), &behind);
    // A process that used it while the ledger was down may have ended before anybody could tell.
    says(&cache.describe(), &["older copy", "dropped", "look for duplicates"]);
    assert_eq!(cache.at_hand(10), []);
    assert_eq!(got(&cache, &numbers("orders", 100)), (400, 500), "above all that was reserved");
    assert!(
        matches!(cache.reserve(&window(7, NOW + 60_000)), Ok(Reply::Refused { mark, .. }) if mark == NOW + HOUR)
    );
    // From here on it is a cache like any other, with an id of its own: the original may come back, and has its ranges.
    drop(cache);
    let cache = open(dir.path(), &behind);
    assert_eq!(behind.store.list("c/", "", 10).unwrap().len(), 2);
    assert!(!cache.describe().contains("copy"), "{}", cache.describe());
    assert_eq!(got(&cache, &numbers("orders", 100)), (500, 600));
}

#[test]
fn nothing_that_an_older_state_held_is_had_or_given_back_under_the_token_that_it_was_had_with() {
    let (dir, kept, behind) = (TempDir::new().unwrap(), TempDir::new().unwrap(), Behind::default());
    let (slot, orders) = (window(7, NOW), numbers("orders", 100));
    let cache = open(dir.path(), &behind);
    bind(&cache, "orders");
    got(&cache, &slot);
    assert_eq!(got(&cache, &orders), (0, 100));
    drop(cache);
    copy(dir.path(), kept.path());
    drop(open(dir.path(), &behind));
    put_back(kept.path(), dir.path());
    let cache = open(dir.path(), &behind);
    says(&cache.describe(), &["older copy", "dropped"]);
    // The original has all of it, and may have handed it on.
    assert_eq!(cache.give_back(&slot.key, slot.token, NOW + 1_000), Ok(false));
    assert_eq!(got(&cache, &orders), (400, 500));
    let refused = Reply::Refused { mark: NOW + HOUR, note: Some("node of 7".to_owned()) };
    assert_eq!(cache.reserve(&window(7, NOW + 10_000)), Ok(refused), "not what was remembered here");
}

#[test]
fn an_older_state_that_is_found_out_after_it_was_used_ends_everything() {
    let (dir, behind) = older();
    behind.cut();
    let cache = open(dir.path(), &behind);
    // The repetition that, as the documentation says, cannot be noticed.
    assert_eq!(got(&cache, &numbers("orders", 100)), (100, 200));
    behind.heal();
    is_found_out(&cache);
    drop(cache);
    let cache = open(dir.path(), &behind);
    assert_eq!(got(&cache, &numbers("orders", 100)), (400, 500), "what it held is gone");
}

/// One of them is first to count the opening of their directory.
#[test]
fn every_process_that_used_an_older_state_is_told_and_one_that_did_not_goes_on() {
    let (dir, behind) = older();
    behind.cut();
    let [first, second, unused] = [(); 3].map(|()| open(dir.path(), &behind));
    assert_eq!(got(&first, &numbers("orders", 50)), (100, 150));
    assert_eq!(got(&second, &numbers("orders", 50)), (150, 200));
    assert_eq!(unused.at_hand(10).len(), 1, "as it was found");
    behind.heal();
    is_found_out(&first);
    is_found_out(&second);
    until("it to be found out", || unused.describe().contains("older copy"));
    assert_eq!(unused.at_hand(10), []);
    assert_eq!(got(&unused, &numbers("orders", 100)), (400, 500), "what it held is gone");
}

/// The directory has a new id by then, and new ranges.
#[test]
fn a_process_that_finds_out_later_drops_nothing_that_another_one_has_got_since() {
    let (dir, behind) = older();
    let away = Behind { gone: Arc::default(), ..behind.clone() };
    away.cut();
    let (late, cache) = (open(dir.path(), &away), open(dir.path(), &behind));
    says(&cache.describe(), &["older copy"]);
    assert_eq!(got(&cache, &numbers("orders", 100)), (400, 500));
    away.heal();
    until("it to be found out", || late.describe().contains("older copy"));
    assert_eq!(got(&cache, &numbers("orders", 100)), (500, 600), "it has them still");
    assert_eq!(got(&late, &numbers("orders", 100)), (600, 700));
}

/// Until the opening has ended, whatever the ledger behind has answered by then.
#[test]
fn an_older_state_that_is_used_while_the_ledger_behind_counts_its_opening_ends_everything() {
    let (dir, behind) = older();
    let others = Arc::new(Barrier::new(2));
    *behind.openings_meet.lock().unwrap() = vec![Arc::clone(&others)];
    let cache = open(dir.path(), &behind);
    assert_eq!(got(&cache, &numbers("orders", 100)), (100, 200));
    others.wait();
    is_found_out(&cache);
}

/// The original goes on with the opening that the older state has begun as well, under one token.
#[test]
fn an_older_state_in_the_middle_of_an_opening_is_found_out() {
    let (dir, behind) = used();
    let kept = TempDir::new().unwrap();
    behind.lose_openings.store(u64::MAX, Ordering::SeqCst);
    drop(open(dir.path(), &behind));
    copy(dir.path(), kept.path());
    behind.lose_openings.store(0, Ordering::SeqCst);
    let original = open(dir.path(), &behind);
    until("it to be opened", || original.list("s/", "", 1).is_ok());
    assert_eq!(got(&original, &numbers("orders", 100)), (100, 200));
    drop(original);
    put_back(kept.path(), dir.path());
    let cache = open(dir.path(), &behind);
    until("it to be found out", || cache.describe().contains("older copy"));
    assert_eq!(got(&cache, &numbers("orders", 100)), (400, 500), "above all that was reserved");
}

#[test]
fn a_directory_that_was_removed_costs_what_it_held() {
    let (dir, behind) = used();
    fs::remove_dir_all(dir.path()).unwrap();
    let cache = open(dir.path(), &behind);
    bind(&cache, "orders");
    assert_eq!(got(&cache, &numbers("orders", 100)), (400, 500));
}

#[test]
fn the_openings_are_counted_behind_and_shown_to_nobody() {
    let (dir, behind) = used();
    drop(open(dir.path(), &behind));
    let counted = behind.store.list("c/", "", 10).unwrap();
    assert_eq!(counted.iter().map(|record| record.mark).collect::<Vec<_>>(), [2]);
    let cache = open(dir.path(), &behind);
    for limit in [1, 2, 10] {
        let keys: Vec<_> = cache.list("", "", limit).unwrap().into_iter().map(|record| record.key).collect();
        assert_eq!(keys, ["n/orders", "s/10/7"][..limit.min(2)]);
    }
}

#[test]
fn a_ledger_behind_that_has_forgotten_openings_went_backwards() {
    let (dir, behind) = used();
    let backup = behind.store.backup();
    drop(open(dir.path(), &behind));
    behind.store.restore(&backup);
    says(&unfit(try_open(dir.path(), &behind)), &["went backwards", "remove it", "floe marks raise"]);
    // Its way out leads out.
    fs::remove_dir_all(dir.path()).unwrap();
    got(&open(dir.path(), &behind), &window(7, NOW + 2 * HOUR));
}

/// It cannot tell any more whether the directory is an older copy.
#[test]
fn a_ledger_behind_from_which_the_count_of_openings_was_deleted_is_told_with_the_way_out() {
    let (dir, behind) = used();
    let backup = behind.store.backup();
    let is_of_cache = |key: &&Key| key.as_str().starts_with(Key::CACHES);
    let keys: Vec<Key> = behind.reserves.lock().unwrap().iter().map(|request| request.key.clone()).collect();
    let key = keys.iter().find(is_of_cache).unwrap();
    assert!(behind.store.lose(key));
    let words = [key.as_str(), "was deleted", "older copy", "Put that record back", "remove it"];
    says(&unfit(try_open(dir.path(), &behind)), &words);
    // Either way out leads out.
    let without = behind.store.backup();
    behind.store.restore(&backup);
    assert_eq!(got(&open(dir.path(), &behind), &numbers("orders", 100)), (100, 200));
    behind.store.restore(&without);
    says(&unfit(try_open(dir.path(), &behind)), &words);
    fs::remove_dir_all(dir.path()).unwrap();
    let cache = open(dir.path(), &behind);
    bind(&cache, "orders");
    assert_eq!(got(&cache, &numbers("orders", 100)), (400, 500), "above all that was reserved");
}

/// As behind a floe server that has a cache of its own: if it counted ahead, it could not tell the other's copies.
#[test]
fn the_openings_of_a_cache_behind_another_one_are_counted_in_the_shared_ledger() {
    let (dirs, behind) = ([TempDir::new().unwrap(), TempDir::new().unwrap()], Behind::default());
    let [first, second] = &dirs;
    let between = Arc::new(open(first.path(), &behind));
    let cache = Cache::builder(second.path())
        .before_ledger("between:", move || Ok(Box::new(Arc::clone(&between))))
        .unwrap();
    got(&cache, &window(7, NOW));
    let counted = behind.store.list("c/", "", 10).unwrap();
    assert_eq!(counted.iter().map(|record| record.mark).collect::<Vec<_>>(), [1, 1]);
}
