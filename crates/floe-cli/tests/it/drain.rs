//! SIGTERM: what is in flight completes, what is left goes back, and the next start takes over at once.

use rustix::process::Signal;

use crate::client::{Clients, check, mint};
use crate::kill::start;
use crate::process::{configuration, now};

#[test]
fn a_terminated_server_answers_what_it_began_and_ends_well() {
    for signal in [Signal::TERM, Signal::INT] {
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
        check(&clients.stop());
    }
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
