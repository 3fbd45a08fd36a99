//! Worker slots on a shared ledger: too few of them, lives that end by kill -9, and one worker id for two nodes.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::Rig;
use crate::client::{agent, get, numbers, unique};
use crate::process::{PATIENCE, Server, floe, now, run, until};

/// A configuration with one snowflake name of this layout, on the rig's ledger.
fn configuration(dir: &Path, rig: &Rig, settings: &str, layout: &str) -> PathBuf {
    let path = dir.join("floe.toml");
    let ledger = (rig.url)(rig.server.port());
    let name = format!("[[name]]\nname = \"orders\"\nkind = \"snowflake\"\n{layout}\n");
    let text = format!("realm = \"shop\"\nledger = \"{ledger}\"\n{settings}\n{name}");
    std::fs::write(&path, text).unwrap();
    path
}

fn serve(config: &Path, flags: &[&str]) -> Server {
    let mut command = floe(["serve", "--listen", "127.0.0.1:0", "--config"]);
    Server::spawn(command.arg(config).args(flags))
}

fn ask(node: &Server) -> Option<(u16, String)> {
    get(&agent(), &format!("{}/v1/mint/orders?n=10", node.url()))
}

/// Mints for as long as it is told to wait.
fn minted(node: &Server, within: Duration) -> Vec<u64> {
    until(within, "a node to mint", || {
        let (status, body) = ask(node)?;
        (status == 200).then(|| numbers(&body))
    })
}

/// Five worker bits are 32 slots.
fn forty_nodes_on_thirty_two_slots(rig: Rig) {
    let dir = tempfile::tempdir().unwrap();
    let layout =
        "layout = \"time:41 worker:5 sequence:12\"\ntick = \"1ms\"\nepoch = \"2020-01-01T00:00:00Z\"";
    let config = configuration(dir.path(), &rig, "window = \"3s\"\nthreads = 1", layout);
    let mut nodes: Vec<Server> = std::thread::scope(|scope| {
        let starts: Vec<_> = (0..40).map(|_| scope.spawn(|| serve(&config, &[]))).collect();
        starts.into_iter().map(|start| start.join().unwrap()).collect()
    });
    // Whoever serves is asked first, so that the counting below asks each node only once.
    let begun = now();
    let mut ids = Vec::new();
    let mut serving = Vec::new();
    let mut refused = Vec::new();
    until(Duration::from_secs(5), "32 nodes to serve", || {
        for node in std::mem::take(&mut nodes) {
            match ask(&node) {
                Some((200, body)) => {
                    ids.extend(numbers(&body));
                    serving.push(node);
                }
                _ => nodes.push(node),
            }
        }
        (serving.len() == 32).then_some(())
    });
    println!("32 of 40 served {:?} after all had started", begun.elapsed());
    for node in nodes {
        let body = until(PATIENCE, "a node to say that slots are out", || {
            let (status, body) = ask(&node)?;
            assert_ne!(status, 200, "a 33rd node served: {body}");
            (status == 507).then_some(body)
        });
        for words in ["worker slots", "taken", "Stop nodes that are not needed"] {
            assert!(body.contains(words), "{body}");
        }
        refused.push(node);
    }
    assert_eq!(refused.len(), 8);
    // The others have to be left alone until they stop; then every one of the eight finds a slot.
    for node in serving.drain(..8) {
        let (status, text) = node.terminate();
        assert!(status.success(), "{text}");
    }
    let (stopped, window) = (now(), Duration::from_secs(3));
    for node in &refused {
        let left = (window + Duration::from_secs(2)).saturating_sub(stopped.elapsed());
        ids.extend(minted(node, left));
    }
    for node in &serving {
        ids.extend(minted(node, PATIENCE));
    }
    unique("orders", ids);
}

/// The default window on a shared ledger.
const WINDOW: Duration = Duration::from_secs(30);

/// No life waits for an earlier one: that would take it a window.
fn two_hundred_lives_never_wait(rig: Rig) {
    let dir = tempfile::tempdir().unwrap();
    let config = configuration(dir.path(), &rig, "", "layout = \"twitter\"");
    let (mut ids, mut slowest) = (Vec::new(), Duration::ZERO);
    for _ in 0..200 {
        let node = serve(&config, &[]);
        let begun = now();
        let (status, body) = ask(&node).expect("an answer");
        slowest = slowest.max(begun.elapsed());
        assert_eq!(status, 200, "{body}");
        ids.extend(numbers(&body));
        node.kill();
    }
    unique("orders", ids);
    println!("the slowest first answer took {slowest:?}");
    assert!(slowest < WINDOW / 2, "{slowest:?}");
    let said = run(floe(["slots", "--config"]).arg(&config));
    assert!(said.lines().len() > 100, "a slot for each of most lives: {said:#?}");
}

fn two_nodes_with_one_worker_id(rig: Rig) {
    let dir = tempfile::tempdir().unwrap();
    let config = configuration(dir.path(), &rig, "window = \"5s\"", "layout = \"twitter\"");
    let first = serve(&config, &["--worker", "7"]);
    let mut ids = minted(&first, PATIENCE);
    let second = serve(&config, &["--worker", "7"]);
    let begun = now();
    let (status, body) = ask(&second).expect("an answer");
    assert_eq!(status, 507, "{body}");
    assert!(begun.elapsed() < Duration::from_secs(5), "no window passed: {:?}", begun.elapsed());
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    for words in ["worker 7 is held until", "another node", host.trim(), &format!("pid={}", first.pid())] {
        assert!(body.contains(words), "{words} is not in {body}");
    }
    // The first notices nothing, through two of its renewals and under the second's attempts.
    until(PATIENCE, "two windows to pass", || {
        let (status, body) = ask(&first).expect("an answer");
        assert_eq!(status, 200, "{body}");
        ids.extend(numbers(&body));
        let (status, body) = ask(&second).expect("an answer");
        assert_eq!(status, 507, "{body}");
        (begun.elapsed() > Duration::from_secs(10)).then_some(())
    });
    let said = run(floe(["slots", "--config"]).arg(&config));
    let lines = said.lines();
    assert_eq!(lines.len(), 2, "one slot, and the heading: {said:#?}");
    for heading in ["WORKER", "MARK", "FROM NOW", "LIVE", "HOST", "PID", "SINCE"] {
        assert!(lines[0].contains(heading), "{said:#?}");
    }
    // The mark as a time, how far it is from now, and whose it is.
    let cells: Vec<&str> = lines[1].split_whitespace().collect();
    let pid = first.pid().to_string();
    let [bits, worker, mark, _, _, side, live, owner, process, since] = cells[..] else {
        panic!("{said:#?}")
    };
    assert_eq!([bits, worker, side, live, owner, process], ["10", "7", "ahead", "live", host.trim(), &pid]);
    assert!(since < mark && mark.starts_with("20") && mark.ends_with('Z'), "{said:#?}");
    first.kill();
    // It was on this machine and runs no more: the second goes on from its mark, and nothing waits.
    ids.extend(minted(&second, Duration::from_secs(3)));
    unique("orders", ids);
}

mod forty_nodes_on_thirty_two_slots_of {
    super::super::on_every_server!(super::forty_nodes_on_thirty_two_slots);
}

mod two_hundred_lives_never_wait_on {
    super::super::on_every_server!(super::two_hundred_lives_never_wait: postgres redis);
}

mod two_nodes_with_one_worker_id_on {
    super::super::on_every_server!(super::two_nodes_with_one_worker_id);
}
