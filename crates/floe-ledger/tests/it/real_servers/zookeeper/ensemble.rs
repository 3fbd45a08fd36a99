//! Three servers: whichever is asked, whichever leads, whichever dies.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use floe::Name;
use floe::ledger::{Key, Ledger, LedgerError, Reply, Reserve};
use floe_ledger::OpenError;
use floe_testbed::Zookeeper;

use super::checks::refused;
use crate::real_servers::faults::{at_last, disjoint, range};
use crate::{ask, got, orders, says};

/// A ledger on servers that may still be looking for a leader.
fn open(url: &str) -> Box<dyn Ledger> {
    loop {
        match floe_ledger::open_in(url, "test") {
            Ok(ledger) => return ledger,
            Err(OpenError::Ledger(LedgerError::Unavailable(_))) => {}
            Err(error) => panic!("{error:?}"),
        }
    }
}

#[test]
fn what_one_server_was_told_every_other_one_says_and_nothing_is_lost_with_the_leader() {
    let servers = Zookeeper::ensemble(&[]);
    let ledgers = servers.each_ref().map(|server| open(&server.url()));
    for round in 0..50 {
        let (writer, reader) = (&*ledgers[round % 3], &*ledgers[(round + 1) % 3]);
        let request = ask(1);
        let (start, end) = got(writer, &request);
        let refusal = reader.reserve(&Reserve { max_mark: start, ..ask(1) });
        assert_eq!(refusal, Ok(Reply::Refused { mark: end, note: None }));
        assert_eq!(got(reader, &request), (start, end));
        let name = Name::new(&format!("name-{round}")).unwrap();
        writer.bind(&name, "definition", false).unwrap();
        assert_eq!(reader.definition(&name).unwrap().as_deref(), Some("definition"));
        assert_eq!(reader.names("", 100).unwrap().len(), round + 1);
    }
    let all: Vec<String> = servers.iter().map(|server| format!("127.0.0.1:{}", server.port())).collect();
    let url = format!("zookeeper://{}/floe?max_wait=2s", all.join(","));
    let (stop, done, failures) = (AtomicBool::new(false), AtomicUsize::new(0), AtomicUsize::new(0));
    let ranges: Vec<(u64, u64)> = thread::scope(|scope| {
        let caller = || {
            let (ledger, mut ranges) = (open(&url), Vec::new());
            while !stop.load(Ordering::Relaxed) {
                ranges.push(range(&*ledger, &ask(10), &failures));
                done.fetch_add(1, Ordering::Relaxed);
            }
            ranges
        };
        let callers: Vec<_> = (0..4).map(|_| scope.spawn(caller)).collect();
        for round in 1..=2 {
            while done.load(Ordering::Relaxed) < round * 100 {
                thread::yield_now();
            }
            let leader = loop {
                if let Some(leader) = servers.iter().find(|server| server.is_leader()) {
                    break leader;
                }
            };
            leader.kill();
            let before = done.load(Ordering::Relaxed);
            while done.load(Ordering::Relaxed) < before + 50 {
                thread::yield_now();
            }
            leader.run();
        }
        stop.store(true, Ordering::Relaxed);
        callers.into_iter().flat_map(|caller| caller.join().unwrap()).collect()
    });
    assert!(failures.load(Ordering::Relaxed) > 0, "no call was cut off");
    let end = disjoint(ranges);
    let mark = at_last(&failures, || ledgers[0].list(orders().as_str(), "", 1))[0].mark;
    assert_eq!(mark, end);
}

/// It does not hear what the others agree on, and does not know that yet.
#[test]
fn a_server_that_lags_behind_shows_nothing_old() {
    let (servers, proxies) = Zookeeper::ensemble_behind_proxies();
    let [writer, _, reader] = servers.each_ref().map(|server| open(&server.url()));
    while servers[2].is_leader() {
        servers[2].stop();
        servers[2].run();
    }
    let (failures, mut cut_off) = (AtomicUsize::new(0), 0);
    while cut_off < 5 {
        range(&*reader, &ask(1), &failures);
        let before = failures.load(Ordering::Relaxed);
        proxies.iter().for_each(|proxy| proxy.cut(true));
        let (start, end) = range(&*writer, &ask(1), &failures);
        // By the old record, too, so that nothing is written.
        let refused = Reserve { max_mark: start - 1, ..ask(1) };
        let refusal = thread::scope(|scope| {
            let asked = scope.spawn(|| at_last(&failures, || reader.reserve(&refused)));
            // Meanwhile the question comes to the server.
            for _ in 0..5 {
                range(&*writer, &Reserve { key: Key::slot(10, 1), ..ask(1) }, &failures);
            }
            proxies.iter().for_each(|proxy| proxy.cut(false));
            asked.join().unwrap()
        });
        assert_eq!(refusal, Reply::Refused { mark: end, note: None });
        // If this took so long that its leader gave it up, it has just heard everything.
        cut_off += usize::from(failures.load(Ordering::Relaxed) == before);
    }
}

#[test]
fn a_server_that_has_lost_its_quorum_is_unavailable() {
    // With readonlymode it would answer those who only want to read.
    let servers = Zookeeper::ensemble(&["-Dreadonlymode.enabled=true"]);
    let ledger = open(&servers[0].url());
    got(&*ledger, &ask(5));
    servers[1].stop();
    servers[2].stop();
    let request = ask(5);
    let outcome = ledger.reserve(&request);
    assert!(matches!(outcome, Err(LedgerError::Unavailable(_))), "{outcome:?}");
    let error = refused(&servers[0].url());
    assert!(matches!(error, OpenError::Ledger(LedgerError::Unavailable(_))), "{error:?}");
    says(&error, &["quorum"]);
    servers[1].run();
    let (start, end) = range(&*ledger, &request, &AtomicUsize::new(0));
    assert_eq!((start, end), (5, 10));
}
