//! `floe mint` and the commands that look at what it left behind.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::Stdio;

use serde_json::Value;

use crate::client::{agent, get, mint, unique};
use crate::process::{PATIENCE, Said, Server, floe, run, until};

/// `floe` with these arguments on this data directory.
fn on(data: &Path, arguments: &[&str]) -> Said {
    run(floe(arguments).arg("--data-dir").arg(data))
}

fn json(said: &Said) -> Value {
    serde_json::from_str(&said.lines().join("\n")).expect("JSON")
}

#[test]
fn every_call_prints_new_ids_in_order() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    for kind in ["snowflake", "segment", "counter"] {
        let mut all = Vec::new();
        for n in ["1", "12345", "1"] {
            let said = on(dir.path(), &["mint", &format!("of-{kind}"), "--kind", kind, "-n", n]);
            let ids = said.numbers();
            assert_eq!(ids.len().to_string(), n);
            assert!(ids.is_sorted_by(|a, b| a < b), "{kind} is not in order");
            all.extend(ids);
        }
        assert!(all.is_sorted_by(|a, b| a < b), "{kind} went back from one call to the next");
        unique(kind, all);
    }
    let said =
        on(dir.path(), &["mint", "inv", "--kind", "dated", "--prefix", "INV", "--digits", "4", "-n", "3"]);
    let lines = said.lines();
    assert!(lines.iter().all(|line| line.starts_with("INV20") && line.len() == 15), "{lines:?}");
    assert!(lines.is_sorted_by(|a, b| a < b));

    let monthly = ["mint", "monthly", "--date", "yyMM", "--digits", "3", "-n", "2"];
    let said = on(dir.path(), &monthly);
    let ids = said.numbers();
    assert!(ids[0] + 1 == ids[1] || ids[1] % 1_000 == 1, "{ids:?}");
    assert!((2_611_001..9_912_999).contains(&ids[0]), "{ids:?}");
    let read = on(dir.path(), &["inspect", "2611042", "--name", "monthly"]);
    assert!(read.out.contains("2026-11 in UTC") && read.out.contains("42 of that month"), "{read:?}");
    let definition = on(dir.path(), &["names"]).out;
    assert!(definition.contains("date=yyMM zone=UTC digits=3 overflow=refuse prefix="), "{definition}");
    on(dir.path(), &["mint", "monthly", "--date", "yyyyMM"]).refuses(1, &["date=yyMM", "date=yyyyMM"]);
    on(dir.path(), &["mint", "other", "--date", "yyMMd"]).refuses(2, &["yyyyMMdd, yyyyMM"]);
    // Of the months to come, too.
    on(dir.path(), &["marks", "raise", "monthly", "--to", "9911500"]).lines();
    assert_eq!(on(dir.path(), &["mint", "monthly"]).numbers(), [9_911_500]);
}

#[test]
fn a_reader_that_has_had_enough_is_no_error_and_its_ids_are_not_minted_again() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let mut child = floe(["mint", "orders", "--kind", "segment", "-n", "5000000", "--data-dir"])
        .arg(dir.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("floe mint starts");
    let mut first = String::new();
    BufReader::new(child.stdout.take().expect("stdout is piped")).read_line(&mut first).expect("a line");
    let output = child.wait_with_output().expect("floe mint ends");
    let notes = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{notes}");
    assert!(!notes.contains("error"), "{notes}");
    let first: u64 = first.trim().parse().expect("a number");
    let next = on(dir.path(), &["mint", "orders"]).numbers();
    assert!(next[0] > first, "{next:?} after {first}");
}

#[test]
fn a_name_stays_what_it_is() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    on(dir.path(), &["mint", "tickets", "--kind", "segment", "--increment", "2"]).lines();
    // Without flags, and with flags that agree, it goes on as it is.
    assert_eq!(on(dir.path(), &["mint", "tickets", "-n", "2"]).numbers(), [3, 5]);
    assert_eq!(on(dir.path(), &["mint", "tickets", "--kind", "segment"]).numbers(), [7]);
    on(dir.path(), &["mint", "tickets", "--kind", "counter"])
        .refuses(1, &["segment increment=2 offset=1", "counter", "another name"]);
    on(dir.path(), &["mint", "tickets", "--increment", "3"])
        .refuses(1, &["segment increment=2 offset=1", "segment increment=3 offset=1"]);
    on(dir.path(), &["mint", "cuid"]).refuses(1, &["cuid", "reserved", "another name"]);
    on(dir.path(), &["mint", "tickets", "--digits", "3", "--kind", "segment"]).refuses(2, &["--digits"]);
}

#[test]
fn a_command_mints_through_a_server_too() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    // A window that outlasts the test, so that the slot is still live when it is looked at.
    let server =
        Server::start(["--window".as_ref(), "60s".as_ref(), "--data-dir".as_ref(), dir.path().as_os_str()]);
    let through = |arguments: &[&str]| run(floe(arguments).args(["--server", server.url()]));
    let ids = through(&["mint", "orders", "-n", "25000"]).numbers();
    assert_eq!(ids.len(), 25_000);
    unique("orders", ids.into_iter().chain(on(dir.path(), &["mint", "orders", "-n", "100"]).numbers()));
    through(&["mint", "orders", "--kind", "counter"]).refuses(1, &["snowflake", "counter"]);
    through(&["mint", "visits", "--kind", "counter"]).refuses(1, &["visits", "--data-dir"]);
    through(&["mint", "cuid"]).refuses(1, &["cuid"]);
    assert!(through(&["names"]).out.contains("orders"));
    assert!(through(&["slots"]).out.contains("live"));
    let nowhere = ["mint", "orders", "--server", "http://127.0.0.1:9"];
    run(&mut floe(nowhere)).refuses(1, &["127.0.0.1:9", "floe serve"]);
    run(&mut floe(["names", "--server", "localhost"])).refuses(2, &["localhost", "http://"]);
}

/// The first line that a command says on stderr while it runs on. It is ended then.
fn said_while_it_waits(command: &mut std::process::Command) -> String {
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the command starts");
    let mut line = String::new();
    BufReader::new(child.stderr.take().expect("it is piped"))
        .read_line(&mut line)
        .expect("stderr can be read");
    child.kill().expect("it can be ended");
    child.wait().expect("it ends");
    line
}

#[test]
fn a_command_that_waits_says_what_for() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    // A full disk beside a server, by a limit on the size of files. SIGXFSZ would end the command.
    let server = Server::on(dir.path());
    on(dir.path(), &["mint", "visits", "--kind", "counter"]).lines();
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", "trap '' XFSZ; ulimit -f 0; exec \"$@\"", "sh", env!("CARGO_BIN_EXE_floe")]);
    shell.args(["mint", "visits", "--data-dir"]).arg(dir.path());
    let said = said_while_it_waits(&mut shell);
    assert!(said.starts_with("note: still waiting") && said.contains("ulimit -f"), "{said}");
    drop(server);
    // A server that has nothing to give.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("http://{}", listener.local_addr().expect("it is bound"));
    let answers = std::thread::spawn(move || {
        use std::io::Write as _;
        for stream in listener.incoming() {
            let mut stream = stream.expect("a connection");
            let mut asked = String::new();
            BufReader::new(&stream).read_line(&mut asked).expect("a request");
            if asked.contains("stop") {
                return;
            }
            let body = "{\"detail\":\"the ledger is out of reach\"}";
            let length = body.len();
            write!(stream, "HTTP/1.1 503 Busy\r\nRetry-After: 1\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}")
                .expect("it is read");
        }
    });
    let said = said_while_it_waits(&mut floe(["mint", "orders", "--server", &url]));
    assert!(said.starts_with("note: still waiting") && said.contains("the ledger is out of reach"), "{said}");
    assert!(get(&agent(), &format!("{url}/stop")).is_none());
    answers.join().expect("it ends");
}

#[test]
fn names_and_slots_tell_what_is_there() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let id = on(dir.path(), &["mint", "orders"]).numbers()[0];
    on(dir.path(), &["mint", "Tickets64", "--kind", "segment", "--increment", "2"]).lines();
    let names = on(dir.path(), &["names"]);
    assert_eq!(names.lines().len(), 3, "{names:?}");
    let names = json(&on(dir.path(), &["names", "--json"]));
    assert_eq!(names[0]["name"], "Tickets64");
    assert_eq!(names[0]["definition"], "segment increment=2 offset=1");
    assert_eq!(names[1]["horizon"], "2080-07-10T17:30:30.209Z");

    let slots = on(dir.path(), &["slots"]);
    assert_eq!(slots.lines().len(), 2, "{slots:?}");
    let slots = json(&on(dir.path(), &["slots", "--json"]));
    assert_eq!(slots[0]["worker_bits"], 10);
    // The command has ended and given its window back.
    assert_eq!(slots[0]["live"], false);

    let inspected = json(&on(dir.path(), &["inspect", &id.to_string(), "--name", "orders", "--json"]));
    assert_eq!(inspected["readings"][0]["worker"], slots[0]["worker"]);
    on(dir.path(), &["inspect", "5", "--name", "nobody"]).refuses(1, &["nobody", "floe names"]);
}

#[test]
fn a_retired_name_is_closed_for_ever_and_shown_as_such() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let on = |arguments: &[&str]| on(dir.path(), arguments);
    on(&["mint", "orders", "--kind", "counter", "-n", "7"]).lines();
    on(&["mint", "others"]).lines();
    on(&["names", "retire", "ordres"]).refuses(1, &["ordres", "floe names"]);
    let retired = on(&["names", "retire", "orders"]);
    assert!(
        retired.out.contains("retired orders, a counter") && retired.out.contains("for ever"),
        "{retired:?}"
    );
    on(&["mint", "orders"]).refuses(1, &["orders", "retired at", "another name"]);
    on(&["mint", "orders", "--kind", "counter"]).refuses(1, &["retired at"]);
    on(&["mint", "others"]).lines();
    assert!(on(&["names", "retire", "orders"]).out.contains("already"));
    on(&["marks", "raise", "orders", "--to", "500"]).refuses(1, &["orders was retired at", "its mark stays"]);
    let names = json(&on(&["names", "--json"]));
    let since = names[0]["retired"].as_str().expect("when it was retired");
    assert!(since.starts_with("20") && names[1]["retired"].is_null(), "{names}");
    assert!(on(&["names"]).out.contains(since));
    // Its mark stays, so that a name of another realm or version cannot repeat below it.
    let marks = json(&on(&["marks", "list", "--json"]));
    assert_eq!((&marks[0]["name"], &marks[0]["mark"]), (&"orders".into(), &7.into()), "{marks}");
}

#[test]
fn marks_go_up_and_never_down() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let raise = |name: &str, more: &[&str]| on(dir.path(), &[&["marks", "raise", name], more].concat());
    on(dir.path(), &["mint", "orders"]).lines();
    raise("tickets", &["--to", "1000"]).refuses(1, &["floe marks raise tickets --kind segment --to 1000"]);
    raise("tickets", &["--to", "1000", "--kind", "segment", "--increment", "2", "--dry-run"]).lines();
    assert!(!on(dir.path(), &["names"]).out.contains("tickets"), "a dry run has made a name");
    raise("tickets", &["--to", "1000", "--kind", "segment", "--increment", "2"]).lines();
    // The first odd number that is at least 1000.
    assert_eq!(on(dir.path(), &["mint", "tickets", "-n", "2"]).numbers(), [1001, 1003]);
    raise("tickets", &["--to", "1000"]).refuses(1, &["1005", "never goes down"]);
    raise("tickets", &["--to", "2000", "--dry-run"]).lines();
    assert_eq!(on(dir.path(), &["mint", "tickets"]).numbers(), [1005]);
    raise("tickets", &["--to", "9223372036854775808"]).refuses(2, &["9223372036854775808"]);
    raise("tickets", &["--to", "-4"]).refuses(2, &["-4"]);
    // What would use a name up for ever.
    raise("tickets", &["--to", "9223372036854775807", "--dry-run"]).lines();
    let far = ["--to", "9223372036854775806", "--kind", "segment", "--increment", "10", "--offset", "3"];
    let few = ["--to", "2000000", "--kind", "segment", "--form", "base32 bits=20 width=4"];
    for more in [&far[..], &few[..]] {
        raise("far", more).refuses(2, &["has no number from", "smaller number"]);
        raise("far", &[more, &["--dry-run"]].concat()).refuses(2, &["has no number from"]);
    }
    assert!(!on(dir.path(), &["names"]).out.contains("far"), "a refused raise has made a name");
    raise("orders", &["--to", "5"]).refuses(1, &["snowflake", "time", "epoch"]);
    raise("tickets", &["--to", "abc"]).refuses(2, &["--to must be a number", "abc"]);

    raise("visits", &["--to", "500", "--kind", "counter"]).lines();
    assert_eq!(on(dir.path(), &["mint", "visits"]).numbers(), [500]);

    // A dated name's mark is a day and a number: both are in its IDs.
    raise("inv", &["--to", "INV29990101000500", "--kind", "dated", "--prefix", "INV"]).lines();
    assert_eq!(on(dir.path(), &["mint", "inv"]).lines(), ["INV29990101000500"]);
    raise("inv", &["--to", "500"]).refuses(2, &["yyyyMMdd"]);

    let marks = on(dir.path(), &["marks", "list"]);
    assert!(
        marks.out.contains("1007") && marks.out.contains("501") && marks.out.contains("INV29990101000501"),
        "{marks:?}"
    );
    assert!(!marks.out.contains("orders"), "{marks:?}");
    let marks = json(&on(dir.path(), &["marks", "list", "--json"]));
    assert_eq!(marks[1]["next"], "1007");
}

#[test]
fn what_a_ledger_holds_beyond_a_page_is_listed_too() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    on(dir.path(), &["mint", "orders", "--kind", "segment"]).lines();
    let tool = rusqlite::Connection::open(dir.path().join("floe.db")).expect("the database can be opened");
    tool.execute_batch(
        "CREATE TEMP TABLE more AS WITH RECURSIVE more (n) AS (SELECT 1001 UNION ALL SELECT n + 1 FROM more WHERE n < 3007) SELECT n FROM more;
         INSERT INTO definition SELECT realm, name || n, definition FROM definition, more;
         INSERT INTO mark SELECT realm, key || n, previous, start, mark, NULL, NULL FROM mark, more WHERE key = 'n/orders';",
    )
    .expect("so many names");
    drop(tool);
    let server = Server::on(dir.path());
    for (at, listed) in [
        on(dir.path(), &["names"]),
        on(dir.path(), &["marks", "list"]),
        run(&mut floe(["names", "--server", server.url()])),
    ]
    .iter()
    .enumerate()
    {
        let lines = listed.lines();
        assert_eq!(lines.len(), 1 + 1 + 2007, "list {at}");
        assert!(lines[2008].starts_with("orders3007 "), "list {at}: {}", lines[2008]);
    }
}

#[test]
fn commands_that_look_make_nothing() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    for command in [
        &["names"][..],
        &["slots"],
        &["marks", "list"],
        &["inspect", "5", "--name", "a"],
        &["marks", "raise", "a", "--to", "5"],
    ] {
        let nowhere = dir.path().join("nowhere");
        on(&nowhere, command).refuses(1, &["no ledger", "nowhere", "--data-dir"]);
        assert!(!nowhere.exists(), "{command:?} has made a data directory");
    }
}

#[test]
fn a_raise_can_make_the_ledger_of_a_system_that_moves_in() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let data = dir.path().join("data");
    let raise =
        |more: &[&str]| on(&data, &[&["marks", "raise", "orders", "--to", "50000000"], more].concat());
    raise(&[]).refuses(1, &["no ledger", "floe marks raise orders --kind segment --to 50000000"]);
    raise(&["--kind", "snowflake"]).refuses(1, &["snowflake"]);
    let dry = raise(&["--kind", "segment", "--dry-run"]);
    assert!(dry.lines()[0].contains("would be 50000000"), "{dry:?}");
    assert!(!data.exists(), "what raises nothing has made a ledger");
    let made = raise(&["--kind", "segment"]);
    assert_eq!(made.lines().len(), 1, "{made:?}");
    assert!(!made.err.contains("running"), "nobody holds a range of a new name: {made:?}");
    assert_eq!(on(&data, &["mint", "orders"]).numbers(), [50_000_000]);
}

#[test]
fn a_raise_that_is_cut_off_leaves_no_name_that_begins_at_1() {
    // A write that the ledger does not do is what a kill before it leaves.
    for (lost, next) in [("INSERT ON mark WHEN NEW.mark > 0", 1), ("INSERT ON definition", 50_000_000)] {
        let dir = tempfile::tempdir().expect("a temporary directory");
        on(dir.path(), &["mint", "others"]).lines();
        let tool =
            rusqlite::Connection::open(dir.path().join("floe.db")).expect("the database can be opened");
        let cut = format!("CREATE TRIGGER cut BEFORE {lost} BEGIN SELECT RAISE(ABORT, 'cut off'); END");
        tool.execute_batch(&cut).expect("a trigger");
        let raise = ["marks", "raise", "orders", "--kind", "segment", "--to", "50000000"];
        on(dir.path(), &raise).refuses(1, &["cut off"]);
        tool.execute_batch("DROP TRIGGER cut").expect("there is a trigger");
        assert!(!on(dir.path(), &["names"]).out.contains("orders"), "{lost}: it is there without its mark");
        assert_eq!(on(dir.path(), &["mint", "orders", "--kind", "segment"]).numbers(), [next], "{lost}");
    }
}

#[test]
fn a_raise_names_the_servers_that_mint_on_below_it() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let server = Server::on(dir.path());
    on(dir.path(), &["mint", "tickets", "--kind", "segment"]).lines();
    // A server is known by its slot.
    let held = mint(server.url(), "tickets", 1)[0];
    mint(server.url(), "orders", 1);
    let pid = format!("pid {}", server.pid());
    let raise = |more: &[&str]| on(dir.path(), &[&["marks", "raise", "tickets"], more].concat());
    for more in [&["--to", "5000000", "--dry-run"][..], &["--to", "5000000"]] {
        let said = raise(more);
        assert_eq!(said.lines().len(), 1, "{said:?}");
        assert!(said.err.contains("restart them") && said.err.contains(&pid), "{said:?}");
    }
    // What the note says is so.
    assert_eq!(mint(server.url(), "tickets", 1), [held + 1]);
    let (status, text) = server.terminate();
    assert!(status.success(), "{text}");
    assert_eq!(on(dir.path(), &["mint", "tickets"]).numbers(), [5_000_000]);
    let said = raise(&["--to", "6000000"]);
    assert!(said.err.contains("restart them") && !said.err.contains(&pid), "{said:?}");
}

#[test]
fn a_raise_below_the_mark_reaches_what_a_counter_has_reserved_ahead() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let server = Server::on(dir.path());
    assert_eq!(on(dir.path(), &["mint", "visits", "--kind", "counter"]).numbers(), [1]);
    assert_eq!([2, 3, 4].map(|_| mint(server.url(), "visits", 1)[0]), [2, 3, 4]);
    let raise = |more: &[&str]| on(dir.path(), &[&["marks", "raise", "visits", "--to", "20"], more].concat());
    raise(&["--dry-run"]).refuses(1, &["already above 20", "its next ID is at most"]);
    assert_eq!(mint(server.url(), "visits", 1), [5]);
    raise(&[]).refuses(1, &["already above 20", "its next ID is at most"]);
    assert_eq!(mint(server.url(), "visits", 1), [20]);
}

#[test]
fn a_server_between_two_windows_is_idle_and_not_gone() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let server =
        Server::start(["--window".as_ref(), "100ms".as_ref(), "--data-dir".as_ref(), dir.path().as_os_str()]);
    mint(server.url(), "orders", 1);
    until(PATIENCE, "the window to pass", || on(dir.path(), &["slots"]).out.contains(" idle ").then_some(()));
    let slots = json(&on(dir.path(), &["slots", "--json"]));
    assert_eq!((&slots[0]["live"], &slots[0]["process"]), (&false.into(), &true.into()));
    server.kill();
    assert!(on(dir.path(), &["slots"]).out.contains(" no "));
    assert_eq!(json(&on(dir.path(), &["slots", "--json"]))[0]["process"], false);
}

#[test]
fn a_new_name_in_a_ledger_is_announced_once() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let mint = |name: &str, kind: &str| on(dir.path(), &["mint", name, "--kind", kind]);
    assert!(mint("orders", "segment").err.contains("a new ledger"));
    let said = mint("visits", "counter");
    assert_eq!(said.err, "note: visits is a new name, and its definition is for ever: counter\n");
    assert_eq!(said.numbers(), [1]);
    assert_eq!(mint("visits", "counter").err, "");
}

/// A file in `dir` with these names on the data directory `data`.
fn file(dir: &Path, text: &str) -> String {
    let path = dir.join("floe.toml");
    let data = dir.join("data");
    std::fs::write(&path, format!("data_dir = {data:?}\nlisten = \"127.0.0.1:0\"\nmysql = \"off\"\n{text}"))
        .expect("a file");
    path.to_str().expect("a path of UTF-8").to_owned()
}

#[test]
fn a_raise_says_in_which_realm_and_ledger_it_was() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let raise = |more: &[&str]| {
        on(dir.path(), &[&["marks", "raise", "orders", "--kind", "segment", "--to", "500"], more].concat())
    };
    let data = dir.path().display().to_string();
    for (more, realm) in [
        (&["--dry-run"][..], "realm default of a new ledger"),
        (&[], "realm default of sqlite:"),
        (&["--realm", "shop", "--dry-run"], "realm shop"),
    ] {
        let said = raise(more);
        assert!(said.code != Some(0) || said.lines()[0].contains(realm), "{said:?}");
    }
    let said = on(dir.path(), &["marks", "raise", "orders", "--to", "600"]);
    assert!(said.lines()[0].contains("realm default of sqlite:") && said.out.contains(&data), "{said:?}");
}

#[test]
fn a_name_that_is_bound_otherwise_is_told_before_it_is_served() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let config = file(
        dir.path(),
        "realm = \"default\"\n[[name]]\nname = \"tickets\"\nkind = \"segment\"\nincrement = 4\n[[name]]\nname = \"t-*\"\nkind = \"counter\"\n",
    );
    let check = || run(&mut floe(["config", "--check", &config]));
    let raise = |more: &[&str]| {
        run(floe(["marks", "raise", "tickets", "--to", "1000", "--config", &config]).args(more))
    };
    assert!(check().lines()[0].contains("is valid"), "there is no ledger yet");
    let data = dir.path().join("data");
    for name in ["tickets", "t-1"] {
        on(&data, &["marks", "raise", name, "--kind", "segment", "--increment", "2", "--to", "500"]).lines();
    }
    let both = ["segment increment=2 offset=1", "segment increment=4 offset=1"];
    check().refuses(1, &[both[0], both[1], "name `tickets`", "name `t-1`", "counter"]);
    // The rehearsal is refused as the raise is.
    let (dry, real) = (raise(&["--dry-run"]), raise(&[]));
    real.refuses(1, &both);
    assert_eq!((dry.code, &dry.err, &dry.out), (real.code, &real.err, &real.out));
    // And where nothing differs, nothing is said of the ledger.
    std::fs::write(
        &config,
        std::fs::read_to_string(&config)
            .expect("a file")
            .replace("= 4", "= 2")
            .replace("counter", "segment\"\nincrement = 2\n#"),
    )
    .expect("a file");
    assert_eq!(check().err, "");
    assert!(raise(&["--dry-run"]).lines()[0].contains("would be 1001"));
    let elsewhere = dir.path().join("elsewhere.toml");
    std::fs::write(&elsewhere, "realm = \"r\"\nledger = \"redis://127.0.0.1:9/0?max_wait=100ms\"\n[[name]]\nname = \"a\"\nkind = \"counter\"\n")
        .expect("a file");
    let said = run(&mut floe(["config".as_ref(), "--check".as_ref(), elsewhere.as_os_str()]));
    assert!(said.lines()[0].contains("is valid") && said.err.contains("were not compared"), "{said:?}");
}

#[test]
fn a_first_number_above_what_was_minted_is_told_by_the_check_too() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let config = |first: u64| {
        file(
            dir.path(),
            &format!(
                "realm = \"default\"\n[[name]]\nname = \"t-*\"\nkind = \"segment\"\nfirst = {first}\n[[name]]\nname = \"new\"\nkind = \"counter\"\nfirst = 9\n"
            ),
        )
    };
    let check = |config: &str| run(&mut floe(["config", "--check", config]));
    assert_eq!(run(&mut floe(["mint", "t-1", "--config", &config(5)])).numbers(), [5]);
    assert_eq!(check(&config(5)).err, "");
    let said = check(&config(700));
    assert!(said.lines()[0].contains("is valid"), "{said:?}");
    assert!(said.err.contains("note: t-1 began below its first number 700 and continues at 6"), "{said:?}");
    assert_eq!(said.err.lines().count(), 1, "{said:?}");
}

#[test]
fn a_command_takes_the_first_number_and_the_longest_pattern_of_the_file() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let config = file(
        dir.path(),
        "realm = \"r\"\n[[name]]\nname = \"t*\"\nkind = \"snowflake\"\nlayout = \"twitter\"\n[[name]]\nname = \"tickets-*\"\nkind = \"segment\"\nfirst = 700\n[[name]]\nname = \"sealed\"\nkind = \"counter\"\nform = \"sealed key=1 base62\"\nkeys = { 1 = \"env:FLOE_NO_SUCH_KEY\" }\n",
    );
    let mint = |name: &str| run(&mut floe(["mint", name, "--config", &config]));
    assert_eq!(mint("tickets-1").numbers(), [700]);
    assert_eq!(mint("tickets-1").numbers(), [701]);
    assert!(mint("ticket").numbers()[0] > 1 << 40);
    mint("sealed").refuses(1, &["FLOE_NO_SUCH_KEY"]);
    for command in [&["names"][..], &["marks", "list"], &["slots"]] {
        run(floe(command).args(["--config", &config])).lines();
    }
}

#[test]
fn a_file_to_begin_with_is_written_once_and_serves() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let new = |more: &[&str]| run(floe(["config", "--new"]).args(more).current_dir(dir.path()));
    assert!(new(&[]).lines()[0].contains("floe.toml"));
    let path = dir.path().join("floe.toml");
    let text = std::fs::read_to_string(&path).expect("the file");
    new(&[]).refuses(1, &["floe.toml exists already"]);
    assert_eq!(std::fs::read_to_string(&path).expect("the file"), text);
    new(&["other.toml"]).lines();
    let check = run(floe(["config", "--check", "floe.toml"]).current_dir(dir.path()));
    assert!(check.lines()[0].contains("2 names"), "{check:?}");
    let mut serve = floe(["serve", "--config", "floe.toml", "--listen", "127.0.0.1:0", "--mysql", "off"]);
    let server = Server::spawn(serve.current_dir(dir.path()));
    assert_eq!(mint(server.url(), "tickets", 1), [1]);
    mint(server.url(), "orders", 1);
}

#[test]
fn the_log_says_which_name_was_born_by_whom_and_at_which_number() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let config = file(
        dir.path(),
        "realm = \"r\"\nnew_names = \"ask for first\"\n[[name]]\nname = \"Tickets64\"\nkind = \"segment\"\nfirst = 4001\n[[name]]\nname = \"user-*\"\nkind = \"counter\"\nfirst = 12\n[[name]]\nname = \"t*\"\nkind = \"segment\"\n",
    );
    let mut serve = floe(["serve", "--config", &config]);
    let server = Server::spawn(&mut serve);
    assert_eq!(mint(server.url(), "user-1", 1), [12]);
    let line = |words: &[&str]| {
        until(PATIENCE, "a line in the log", || {
            let text = server.text();
            let found = text.lines().find(|line| words.iter().all(|word| line.contains(word)));
            found.map(str::to_owned)
        })
    };
    line(&["a new name", "name=Tickets64", "first=4001", "the configuration, at the start"]);
    line(&["a new name", "name=user-1", "first=12", "over HTTP from 127.0.0.1:"]);
    // A name that differs in case alone is refused, and the log says of which one.
    for _ in 0..2 {
        let url = format!("{}/v1/mint/tickets64", server.url());
        let (status, refused) = get(&agent(), &url).expect("a full answer");
        assert_eq!(status, 404);
        assert!(refused.contains("first = N") && !refused.contains("Tickets64"), "{refused}");
    }
    line(&["WARN", "name=tickets64", "near=\"Tickets64\"", "refused"]);
    let (status, text) = server.terminate();
    assert!(status.success(), "{text}");
    assert_eq!(text.matches("name=tickets64").count(), 1, "{text}");
    assert_eq!(text.matches("name=user-1").count(), 1, "{text}");
}

#[test]
fn the_log_says_which_name_is_like_one_that_a_command_made_and_which_began_below_its_first_number() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let data = dir.path().join("data");
    assert_eq!(on(&data, &["mint", "late", "--kind", "segment", "-n", "3"]).numbers(), [1, 2, 3]);
    let config = file(
        dir.path(),
        "realm = \"default\"\n[[name]]\nname = \"late\"\nkind = \"segment\"\nfirst = 4001\n[[name]]\nname = \"*\"\nkind = \"segment\"\n",
    );
    let server = Server::spawn(&mut floe(["serve", "--config", &config]));
    assert_eq!(mint(server.url(), "other", 1), [1]);
    on(&data, &["marks", "raise", "tickets", "--kind", "segment", "--to", "50000001"]).lines();
    assert_eq!(mint(server.url(), "Tickets", 1), [1]);
    assert_eq!(mint(server.url(), "late", 1), [4]);
    let (_, text) = server.terminate();
    let line = |words: &[&str]| {
        assert!(
            text.lines().any(|line| words.iter().all(|word| line.contains(word))),
            "no {words:?}: {text}"
        );
    };
    line(&["WARN", "a new name", "name=Tickets", "near=\"tickets\""]);
    line(&["WARN", "name=late", "first=4001", "next=4", "floe marks raise late --to 4001"]);
    let said = run(&mut floe(["mint", "late", "--config", &config]));
    assert!(said.err.contains("note: late began below its first number 4001"), "{said:?}");
}

#[test]
fn paths_in_a_file_begin_where_the_command_is_started() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let (start, conf) = (dir.path(), dir.path().join("conf"));
    std::fs::create_dir(&conf).expect("a directory");
    let text = "realm = \"r\"\ndata_dir = \"data\"\n[[name]]\nname = \"orders\"\nkind = \"segment\"\n";
    std::fs::write(conf.join("floe.toml"), text).expect("a file");
    let text = text.replace("orders", "other");
    let sealed = format!("{text}form = \"sealed key=1 base62\"\nkeys = {{ 1 = \"file:key\" }}\n");
    std::fs::write(conf.join("sealed.toml"), sealed).expect("a file");
    std::fs::write(start.join("key"), "00".repeat(16)).expect("a file");
    let tls = format!("tls = {{ certificate = \"server.pem\", key = \"server.key\" }}\n{text}");
    std::fs::write(conf.join("tls.toml"), tls).expect("a file");
    std::fs::write(conf.join("server.pem"), "no certificate").expect("a file");
    assert_eq!(run(floe(["mint", "orders", "--config", "conf/floe.toml"]).current_dir(start)).numbers(), [1]);
    assert!(start.join("data/floe.db").exists() && !conf.join("data").exists());
    let check = |file: &str, at: &Path| run(floe(["config", "--check", file]).current_dir(at));
    assert_eq!(check("conf/sealed.toml", start).code, Some(0));
    check("sealed.toml", &conf).refuses(1, &["key cannot be read"]);
    check("conf/tls.toml", start).refuses(1, &["tls.certificate: server.pem cannot be read"]);
    check("tls.toml", &conf).refuses(1, &["tls.key: server.key cannot be read"]);
}

#[test]
fn a_name_that_was_raised_in_another_realm_is_told_when_it_begins_or_is_refused() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let data = dir.path().join("data");
    // Without --config, so in the realm that commands have.
    on(&data, &["marks", "raise", "orders", "--kind", "segment", "--to", "50000001"]).lines();
    let begun = |new_names: &str, word: &str| {
        let text = format!(
            "realm = \"shop-{word}\"\nnew_names = \"{new_names}\"\n[[name]]\nname = \"orders\"\nkind = \"segment\"\n[[name]]\nname = \"other\"\nkind = \"uuid4\"\n"
        );
        let server = Server::spawn(&mut floe(["serve", "--config", &file(dir.path(), &text)]));
        server.terminate().1
    };
    let told = |text: &str, words: [&str; 2]| {
        let warns = |line: &&str| {
            line.contains("orders") && ["WARN", "ERROR"].iter().any(|level| line.contains(level))
        };
        let lines: Vec<_> = text.lines().filter(warns).collect();
        let [line] = lines[..] else { panic!("not told in one line: {text}") };
        assert!(line.contains("name=orders") && words.iter().all(|word| line.contains(word)), "{line}");
        assert!(line.contains("elsewhere=\"default (next 50000001)"), "{line}");
    };
    told(&begun("from 1", "one"), ["WARN", "a raise there does not raise it here"]);
    told(
        &begun("ask for first", "two"),
        ["ERROR", "was refused (logged once): there is no name `orders` yet"],
    );
    assert!(!begun("from 1", "one").contains("elsewhere"), "it is not new any more");
}
