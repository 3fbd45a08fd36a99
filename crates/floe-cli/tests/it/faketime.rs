//! Clocks that step between lives, by libfaketime. `scripts/test --skip-faketime` leaves these out, and says so.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::PathBuf;

use crate::client::{agent, get};
use crate::kill::ten_lives;
use crate::process::{PATIENCE, Server, configuration, floe, until};

/// Seconds from the true time: an hour ahead, back, two ahead, an hour behind, …, as an operator or a broken time
/// server does.
const STEPS: [&str; 10] = ["+0", "+3600", "+0", "-3600", "+3600", "+7200", "+3590", "-10", "+0", "-7200"];

/// Steps within `max_hold` (an hour), through which a fixed worker goes on from its own mark.
const HELD: [&str; 10] = ["+0", "+3500", "+0", "+3400", "+100", "+0", "+3500", "+1", "+3300", "+0"];

#[test]
fn faketime_steps_of_an_hour_between_lives_repeat_nothing() {
    lives(&STEPS, &[]);
}

#[test]
fn faketime_steps_under_a_fixed_worker_repeat_nothing() {
    lives(&HELD, &["--worker", "7"]);
}

fn lives(steps: &[&str; 10], flags: &[&str]) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let config = configuration(dir.path(), "realm = \"shop\"");
    let library = library();
    ten_lives(|life| {
        let mut command = floe(["serve", "--listen", "127.0.0.1:0", "--config"]);
        command.arg(&config).arg("--data-dir").arg(dir.path().join("data")).args(flags);
        command.env("LD_PRELOAD", &library).env("FAKETIME", steps[life % steps.len()]);
        // The monotonic clock runs on through a step of the wall clock.
        command.env("FAKETIME_DONT_FAKE_MONOTONIC", "1").env("DONT_FAKE_MONOTONIC", "1");
        command.env("FAKETIME_NO_CACHE", "1");
        Server::spawn(&mut command)
    });
}

/// Before 1970, at which formats of dates and certificates begin: a machine without a battery may start there.
const BEFORE_1970: &str = "-2000000000";

#[test]
fn faketime_before_1970_leaves_no_request_without_an_answer() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let others = ["uuid4", "nanoid", "uuid7", "ulid"]
        .map(|kind| format!("[[name]]\nname = \"{kind}\"\nkind = \"{kind}\"\n"))
        .concat();
    let config = configuration(dir.path(), "realm = \"shop\"");
    let text = std::fs::read_to_string(&config).expect("the file was written");
    std::fs::write(&config, text + &others).expect("the temporary directory takes a file");
    let clock = dir.path().join("clock");
    let set = |offset: &str| {
        let new = dir.path().join("clock.new");
        std::fs::write(&new, format!("{offset}\n")).expect("the temporary directory takes a file");
        std::fs::rename(&new, &clock).expect("a file can be replaced");
    };
    let status = |server: &Server, path: &str| {
        let answer = get(&agent(), &format!("{}{path}", server.url()));
        answer.unwrap_or_else(|| panic!("{path} gets no answer:\n{}", server.text()))
    };
    let all_answer = |server: &Server, started_there: bool| {
        for path in [
            "/",
            "/livez",
            "/readyz",
            "/metrics",
            "/docs/swagger-initializer.js",
            "/openapi.json",
            "/problems/busy",
            "/v1/names",
            "/v1/names/orders",
            "/v1/slots",
            "/v1/inspect/175928847299117063",
            "/api/segment/get/tickets",
            "/api/snowflake/get/orders",
            "/id/nextId?bizType=tickets",
            "/nothing",
            "/v1/mint/no%20name",
        ] {
            let (code, said) = status(server, path);
            assert!((200..600).contains(&code), "{path}: {code} {said}");
            assert!(path != "/livez" || code == 200, "{path}: {code} {said}");
        }
        // More at once than before, so that the server begins threads to wait for its ledger.
        std::thread::scope(|scope| {
            (0..32).for_each(|_| drop(scope.spawn(|| status(server, "/v1/names"))));
        });
        for name in ["tickets", "visits", "uuid4", "nanoid"] {
            let (code, said) = status(server, &format!("/v1/mint/{name}?n=3"));
            if started_there {
                // What hyper answers, it answers when the clock is right. Others mint on, below.
                assert!(code == 200 || said.contains("before 1970"), "{name}: {code} {said}");
            } else {
                assert_eq!(code, 200, "{name} needs no time: {said}");
                assert_eq!(said.lines().count(), 3, "{said}");
            }
        }
        let address = server.url().strip_prefix("http://").expect("plain HTTP");
        let mut stream = TcpStream::connect(address).expect("it listens");
        stream.write_all(b"INCR visits\r\nINCR tickets\r\nMINT uuid4\r\nQUIT\r\n").expect("it reads");
        let mut said = String::new();
        stream.read_to_string(&mut said).expect("it answers");
        let lines: Vec<_> = said.lines().collect();
        let [visits, tickets, "$36", _, "+OK"] = lines[..] else { panic!("no time is needed: {said}") };
        assert!(visits.starts_with(':') && tickets.starts_with(':'), "{said}");
        for name in ["orders", "invoice", "uuid7", "ulid"] {
            let (code, said) = status(server, &format!("/v1/mint/{name}"));
            assert!(code >= 500 && said.contains("clock"), "{name} at a time before 1970: {code} {said}");
        }
    };
    // Stepped while it runs, and started there.
    for starts_at in ["+0", BEFORE_1970] {
        set(starts_at);
        let mut command = floe(["serve", "--listen", "127.0.0.1:0", "--config"]);
        command.arg(&config).arg("--data-dir").arg(dir.path().join("data"));
        command.env("LD_PRELOAD", library()).env("FAKETIME_TIMESTAMP_FILE", &clock);
        command.env("FAKETIME_DONT_FAKE_MONOTONIC", "1").env("DONT_FAKE_MONOTONIC", "1");
        command.env("FAKETIME_NO_CACHE", "1");
        let server = Server::spawn(&mut command);
        let mints = |expected: bool| {
            until(PATIENCE, "the step to be seen", || {
                ((status(&server, "/v1/mint/orders").0 == 200) == expected).then_some(())
            });
        };
        if starts_at == "+0" {
            mints(true);
            set(BEFORE_1970);
            mints(false);
        }
        all_answer(&server, starts_at == BEFORE_1970);
        set("+0");
        mints(true);
        let (_, said) = server.terminate();
        assert!(!said.contains("panicked"), "{said}");
    }
}

/// The library that steps a clock.
pub(crate) fn library() -> PathBuf {
    floe_testbed::faketime().expect(
        "libfaketime is not installed: install the Debian package libfaketime (scripts/test does), \
         or run scripts/test --skip-faketime",
    )
}
