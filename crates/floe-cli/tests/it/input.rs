//! Bad input as a user meets it: an error with its cause and its way out, and nothing lost.

use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use crate::client::{agent, get, mint};
use crate::process::{Said, Server, configuration, floe, run};

fn mint_on(data: &Path, arguments: &[&str]) -> Said {
    run(floe(["mint"]).args(arguments).arg("--data-dir").arg(data))
}

/// `floe serve` with a file of this text, which it must refuse.
fn serve_refuses(text: &str, code: i32, words: &[&str]) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let file = dir.path().join("floe.toml");
    std::fs::write(&file, text).expect("the temporary directory takes a file");
    let mut serve = floe(["serve", "--listen", "127.0.0.1:0", "--config"]);
    run(serve.arg(&file).arg("--data-dir").arg(dir.path().join("data"))).refuses(code, words);
}

#[test]
fn wrong_flags_are_usage() {
    let refuse = |arguments: &[&str], words: &[&str]| run(&mut floe(arguments)).refuses(2, words);
    refuse(&["srve"], &["srve", "serve"]);
    refuse(&["serve", "--windwo", "3s"], &["--windwo", "--window"]);
    refuse(&["serve", "--window", "3"], &["--window", "30s"]);
    refuse(&["serve", "--window", "400d"], &["window"]);
    for worker in ["-1", "{datacenter=3}"] {
        for command in ["serve", "mint orders"] {
            let command = format!("{command} --worker {worker}");
            refuse(&command.split(' ').collect::<Vec<_>>(), &["--worker: ", worker, "datacenter=3\""]);
        }
    }
    refuse(&["mint", "orders", "--offset", "-1"], &["--offset", "'-1'", "whole number"]);
    refuse(&["mint", "orders", "--increment", "-1"], &["--increment", "'-1'", "whole number"]);
    refuse(&["mint", "orders", "--digits", "-1"], &["--digits", "-1"]);
    refuse(&["mint", "orders", "--layout", "time:41 worker:10 sequence:12"], &["tick=1ms epoch=2020"]);
    refuse(&["serve", "--worker", "many"], &["worker", "auto"]);
    refuse(&["serve", "--listen", "7600"], &["7600", "127.0.0.1:7600"]);
    refuse(&["serve", "--ledger", "floe.db"], &["floe.db", "sqlite:"]);
    refuse(&["serve", "--data-dir", "a", "--ledger", "sqlite:b"], &["--data-dir", "--ledger"]);
    refuse(&["mint"], &["<NAME>"]);
    for n in ["0", "-1", "1000000000000000000", "99999999999999999999999", "x", "", "1.5"] {
        refuse(&["mint", "orders", "-n", n], &["--count"]);
    }
    refuse(&["mint", "orders", "--kind", "snowflak"], &["snowflak", "segment"]);
    refuse(&["mint", "orders", "--kind", "cuid"], &["cuid", "reserved"]);
    refuse(&["mint", &"n".repeat(300)], &["128", "300"]);
    refuse(&["mint", "two words"], &["' '", "byte 3"]);
    refuse(&["mint", "bell\u{7}"], &["byte 4"]);
    refuse(&["mint", ""], &["empty"]);
    refuse(&["inspect", "12a", "--layout", "twitter"], &["'a'", "byte 2"]);
    refuse(&["config"], &["--defaults", "--check"]);
    refuse(&["completions", "sh"], &["bash"]);
}

#[test]
fn the_game_layout_does_not_fit_and_what_fits_is_proposed() {
    let game = "time:37 server:20 sequence:16 tick=1ms epoch=2026-01-01T00:00:00Z";
    let dir = tempfile::tempdir().expect("a temporary directory");
    let said = mint_on(dir.path(), &["orders", "--layout", game]);
    said.refuses(2, &["73 bits", "63"]);
    assert!(!dir.path().join("floe.db").exists(), "a refused name has made a ledger");
    let text =
        format!("realm = \"shop\"\n[[name]]\nname = \"orders\"\nkind = \"snowflake\"\nlayout = \"{game}\"\n");
    serve_refuses(&text, 1, &["73 bits", "floe.toml:5"]);
    // At 128 bits it is minted as written.
    let wide = format!("{game} wide");
    let ids = mint_on(dir.path(), &["wide", "--layout", &wide, "-n", "3"]);
    assert_eq!(ids.lines().len(), 3);
}

#[test]
fn a_configuration_is_checked_before_anything_listens() {
    let name = |more: &str| format!("realm = \"shop\"\n[[name]]\nname = \"orders\"\n{more}");
    serve_refuses("realm = \"shop\"\nwindwo = \"3s\"\n", 1, &["floe.toml:2:1", "windwo", "`window`"]);
    serve_refuses("realm = \"shop\"\nwindow = \n", 1, &["floe.toml:2"]);
    serve_refuses(&name("kind = \"snowflak\"\n"), 1, &["snowflak"]);
    serve_refuses(&name("kind = \"cuid\"\n"), 1, &["cuid", "reserved"]);
    run(&mut floe(["serve", "--listen", "0.0.0.0:0", "--data-dir", "/nowhere"]))
        .refuses(1, &["0.0.0.0:0", "--insecure"]);

    let dir = tempfile::tempdir().expect("a temporary directory");
    let file = configuration(dir.path(), "realm = \"shop\"");
    let said = run(floe(["config", "--check"]).arg(&file));
    assert!(said.lines()[0].contains("4 names"), "{said:?}");
    std::fs::write(&file, "realm = \"shop\"\nwindwo = \"3s\"\n").expect("the file can be written");
    run(floe(["config", "--check"]).arg(&file)).refuses(1, &["windwo", "`window`"]);
    // What is printed as the defaults is itself a configuration without a fault.
    let defaults = run(&mut floe(["config", "--defaults"]));
    std::fs::write(&file, &defaults.out).expect("the file can be written");
    let said = run(floe(["config", "--check"]).arg(&file));
    assert!(said.lines()[0].contains("no name yet"), "{said:?}");
    std::fs::write(&file, "realm = \"shop\"\nledger = \"redis://db/0?max_wiat=1s\"\n")
        .expect("the file can be written");
    run(floe(["config", "--check"]).arg(&file)).refuses(1, &["max_wiat", "max_wait"]);
    serve_refuses("realm = \"shop\"\n", 1, &["lists no name", "[[name]]"]);
}

#[test]
fn an_epoch_in_the_future_mints_nothing() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let layout = "time:41 worker:10 sequence:12 tick=1ms epoch=2999-01-01T00:00:00Z";
    mint_on(dir.path(), &["orders", "--layout", layout]).refuses(1, &["2999-01-01", "epoch"]);
}

#[test]
fn a_port_in_use_is_named() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("its address").to_string();
    run(floe(["serve", "--listen", &address, "--data-dir"]).arg(dir.path()))
        .refuses(1, &[&address, "in use", "--listen"]);
}

#[test]
fn a_worker_id_out_of_range_is_never_cut() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let both = ["1024", "1023"];
    let text = "realm = \"shop\"\nworker = 1024\n[[name]]\nname = \"orders\"\nkind = \"snowflake\"\nlayout = \"twitter\"\n";
    serve_refuses(text, 1, &both);
    mint_on(dir.path(), &["orders", "--worker", "1024"]).refuses(1, &both);
    // Without a file, names are made with the layout twitter: known at the start.
    run(floe(["serve", "--listen", "127.0.0.1:0", "--worker", "1024", "--data-dir"]).arg(dir.path()))
        .refuses(1, &both);
}

#[test]
fn a_definition_that_changed_is_shown_beside_the_stored_one() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let data = dir.path().join("data");
    let file = dir.path().join("floe.toml");
    let name = |increment: &str| {
        format!(
            "realm = \"default\"\n[[name]]\nname = \"tickets\"\nkind = \"segment\"\nincrement = {increment}\n"
        )
    };
    mint_on(&data, &["tickets", "--kind", "segment", "--increment", "2"]).lines();
    std::fs::write(&file, name("3")).expect("the file can be written");
    let both = ["segment increment=2 offset=1", "segment increment=3 offset=1"];
    run(floe(["mint", "tickets", "--config"]).arg(&file).arg("--data-dir").arg(&data)).refuses(1, &both);
    let server = Server::spawn(
        floe(["serve", "--listen", "127.0.0.1:0", "--config"]).arg(&file).arg("--data-dir").arg(&data),
    );
    let (status, body) = get(&agent(), &format!("{}/v1/mint/tickets", server.url())).expect("an answer");
    assert_eq!(status, 500, "{body}");
    assert!(both.iter().all(|definition| body.contains(definition)), "{body}");
    drop(server);
    std::fs::write(&file, name("2")).expect("the file can be written");
    let said = run(floe(["mint", "tickets", "--config"]).arg(&file).arg("--data-dir").arg(&data));
    assert_eq!(said.numbers(), [3]);
}

#[test]
fn a_corrupt_ledger_is_refused_and_left_as_it_is() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    mint_on(dir.path(), &["orders"]).lines();
    let database = dir.path().join("floe.db");
    let mut bytes = std::fs::read(&database).expect("the database can be read");
    // Behind the header, so that it is still a database, and a broken one.
    for byte in bytes.iter_mut().skip(100).step_by(3) {
        *byte ^= 0x5a;
    }
    std::fs::write(&database, &bytes).expect("the database can be written");
    mint_on(dir.path(), &["orders"]).refuses(1, &["floe.db", "backup"]);
    let serve = run(floe(["serve", "--listen", "127.0.0.1:0", "--data-dir"]).arg(dir.path()));
    serve.refuses(1, &["floe.db", "backup"]);
    assert!(
        std::fs::read(&database).expect("the database can be read") == bytes,
        "a corrupt ledger was written to"
    );
}

#[test]
fn a_ledger_of_a_newer_version_is_refused() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    mint_on(dir.path(), &["orders"]).lines();
    // SQLite keeps `PRAGMA user_version` in the four bytes at offset 60 of the file's header.
    let database = dir.path().join("floe.db");
    let mut bytes = std::fs::read(&database).expect("the database can be read");
    bytes[60..64].copy_from_slice(&9_999_u32.to_be_bytes());
    std::fs::write(&database, &bytes).expect("the database can be written");
    mint_on(dir.path(), &["orders"]).refuses(1, &["newer", "9999"]);
}

#[test]
fn a_read_only_directory_is_named() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let data = dir.path().join("data");
    std::fs::create_dir(&data).expect("a directory");
    let permit = |path: &Path, mode: u32| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode))
            .expect("permissions can be set");
    };
    permit(dir.path(), 0o755);
    permit(&data, 0o555);
    let command = || {
        let mut command = floe(["mint", "orders", "--data-dir"]);
        command.arg(&data);
        if rustix::process::geteuid().is_root() {
            // Nothing is read-only to root, so the command runs as somebody else, from where they may run it.
            let copy = dir.path().join("floe");
            // By another process: a child that another test starts meanwhile would inherit the open copy, and a file that
            // somebody may write cannot be run.
            let copied = Command::new("cp").arg(env!("CARGO_BIN_EXE_floe")).arg(&copy).status();
            assert!(copied.expect("cp starts").success());
            permit(&copy, 0o755);
            let mut other = Command::new(copy);
            other.args(command.get_args()).uid(65_534).gid(65_534).env("NO_COLOR", "1").current_dir("/");
            command = other;
        }
        command
    };
    run(&mut command()).refuses(1, &["floe.db", "read-only"]);
    permit(&data, 0o777);
    assert_eq!(run(&mut command()).lines().len(), 1);
    // A ledger that was writable once and is not any more.
    for entry in std::fs::read_dir(&data).expect("the directory can be listed") {
        permit(&entry.expect("an entry").path(), 0o444);
    }
    permit(&data, 0o555);
    run(&mut command()).refuses(1, &["floe.db", "read-only"]);
    permit(&data, 0o755);
}

/// A full disk, by the limit on the size of files that a shell can set (`ulimit -f`): it needs no root and no
/// mount, and the system refuses the write in the same place.
#[test]
fn a_full_disk_loses_nothing() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let full = |blocks: &str, arguments: &[&str]| {
        // SIGXFSZ would end the process before it can say why.
        let mut shell = Command::new("bash");
        shell.args(["-c", "trap '' XFSZ; ulimit -f \"$0\"; exec \"$@\"", blocks, env!("CARGO_BIN_EXE_floe")]);
        run(shell.args(arguments).arg("--data-dir").arg(dir.path()).env("NO_COLOR", "1"))
    };
    // No room even to make a ledger.
    full("1", &["mint", "tickets", "--kind", "segment"]).refuses(1, &["floe.db"]);
    let first = mint_on(dir.path(), &["tickets", "--kind", "segment", "-n", "3"]).numbers();
    assert_eq!(first, [1, 2, 3]);
    // Room for what is there, and none for another mark.
    full("0", &["mint", "tickets"]).refuses(1, &["floe.db"]);
    // With room again it goes on, above all that was printed.
    let next = mint_on(dir.path(), &["tickets", "-n", "3"]).numbers();
    assert!(next[0] > 3, "{next:?}");
}

#[test]
fn a_server_answers_bad_requests_with_what_to_do() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let server = Server::on(dir.path());
    let refuse = |path: &str, status: u16, words: &[&str]| {
        let (found, body) = get(&agent(), &format!("{}{path}", server.url())).expect("an answer");
        assert_eq!(found, status, "{path}: {body}");
        for word in words {
            assert!(body.contains(word), "{path} does not say {word:?}: {body}");
        }
    };
    assert_eq!(mint(server.url(), "orders", 1).len(), 1);
    for n in ["0", "-1", "1000000000000000000", "x", "100001"] {
        refuse(&format!("/v1/mint/orders?n={n}"), 400, &["100000"]);
    }
    refuse(&format!("/v1/mint/{}", "n".repeat(300)), 400, &["128"]);
    refuse("/v1/mint/bell%07", 400, &["byte 4"]);
    refuse("/v1/mint/cuid", 404, &["another name"]);
    // This client asks for text, which Leaf has for IDs alone.
    refuse("/api/segment/get/orders", 406, &[]);
    assert_eq!(mint(server.url(), "orders", 1).len(), 1);
}
