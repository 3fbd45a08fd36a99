//! SIGTERM: what is in flight completes, what is left goes back, and the next start takes over at once.

use std::io::Read as _;

use rustix::process::Signal;

use crate::client::{Clients, agent, check, mint, numbers};
use crate::kill::start;
use crate::process::{PATIENCE, configuration, now, until};

#[test]
fn a_terminated_server_answers_what_it_began_and_ends_well() {
    for signal in [Signal::TERM, Signal::INT, Signal::HUP, Signal::QUIT] {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let config = configuration(dir.path(), "realm = \"shop\"");
        let mut server = start(dir.path(), &config, &[]);
        let clients = Clients::start(4, &["orders", "tickets", "visits", "invoice"]);
        clients.aim(server.url());
        clients.answers(40);
        server.signal(signal);
        let (status, text) = server.ended();
        assert_eq!(status.code(), Some(0), "{text}");
        assert!(!text.contains("panicked"), "{text}");
        assert!(text.contains("a new one is made"), "a first start says so: {text}");
        assert_eq!(clients.cut(), 0, "answers were cut off: {text}");
        check(&clients.stop());
    }
}

/// An answer so long that the server is still writing it when it is told to stop: the client has read ten bytes.
#[test]
fn an_answer_in_flight_completes() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let config = configuration(dir.path(), "realm = \"shop\"\n[limits]\nmax_batch = 2_000_000");
    let mut server = start(dir.path(), &config, &[]);
    let url = format!("{}/v1/mint/visits?n=2000000", server.url());
    let mut answer = agent().get(url).header("Accept", "text/plain").call().expect("an answer begins");
    let mut body = answer.body_mut().with_config().limit(1 << 30).reader();
    let mut text = vec![0; 10];
    body.read_exact(&mut text).expect("the first bytes");
    server.signal(Signal::TERM);
    until(PATIENCE, "the server to drain", || server.text().contains("shutting down").then_some(()));
    body.read_to_end(&mut text).expect("the rest of the answer");
    let ids = numbers(std::str::from_utf8(&text).expect("text"));
    assert!(ids.iter().copied().eq(1..=2_000_000), "{} IDs, not all", ids.len());
    let (status, text) = server.ended();
    assert_eq!(status.code(), Some(0), "{text}");
}

/// With a window of a minute, a start that had to wait for the mark of the life before would take that long.
#[test]
fn a_fixed_worker_serves_at_once_after_a_drain_and_after_a_kill() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let config = configuration(dir.path(), "realm = \"shop\"\nwindow = \"60s\"\nworker = 7");
    let begun = now();
    let mut last = Vec::new();
    for life in 0..6 {
        let server = start(dir.path(), &config, &[]);
        let ids = mint(server.url(), "orders", 10);
        assert!(last.iter().all(|id| id < &ids[0]), "life {life} went back");
        last = ids;
        match life % 2 {
            0 => assert!(server.terminate().0.success()),
            _ => drop(server.kill()),
        }
    }
    let seconds = begun.elapsed().as_secs();
    assert!(seconds < 60, "six lives took {seconds} s: one of them waited for a window");
}

/// A segment's tail comes back too: the numbers go on without a gap.
#[test]
fn a_segment_goes_on_where_it_was_after_a_drain() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let config = configuration(dir.path(), "realm = \"shop\"");
    for life in 0..4 {
        let server = start(dir.path(), &config, &[]);
        let ids = mint(server.url(), "tickets", 5);
        assert_eq!(ids, (1 + 5 * life..1 + 5 * (life + 1)).collect::<Vec<_>>());
        let (status, text) = server.terminate();
        assert!(status.success(), "{text}");
    }
}
