//! A ledger that is not there looks like a first start: who says that it has to be there gets none made.

use std::path::Path;

use crate::client::mint;
use crate::process::{Server, configuration, floe, run};

/// What is in a directory.
fn entries(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir).expect("the directory can be listed");
    entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect()
}

#[test]
fn a_server_that_is_to_find_its_ledger_makes_none() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let data = dir.path().join("data");
    let serve = || floe(["serve", "--listen", "127.0.0.1:0", "--mysql", "off"]);
    let url = format!("sqlite:{}", dir.path().join("ids.db").display());
    run(serve().args(["--existing", "--data-dir"]).arg(&data))
        .refuses(1, &["data", "--existing", "volume not mounted", "restore"]);
    run(serve().args(["--existing", "--ledger", &url])).refuses(1, &["ids.db", "--existing", "volume"]);
    for ledger in [
        format!("{{ url = \"{url}\", create = false }}"),
        format!("{{ url = \"{url}\", realm_id = \"{}\" }}", "0".repeat(32)),
    ] {
        let file = dir.path().join("floe.toml");
        let names = "[[name]]\nname = \"tickets\"\nkind = \"segment\"\n";
        std::fs::write(&file, format!("realm = \"shop\"\nledger = {ledger}\n{names}"))
            .expect("it is written");
        run(serve().arg("--config").arg(&file)).refuses(1, &["there is no ledger at", "ids.db", "volume"]);
        std::fs::remove_file(file).expect("it can be removed");
    }
    assert_eq!(entries(dir.path()), Vec::<String>::new());

    let first = run(floe(["mint", "tickets", "--kind", "segment", "--data-dir"]).arg(&data));
    assert_eq!(first.numbers(), [1]);
    let server = Server::start(["--existing".as_ref(), "--data-dir".as_ref(), data.as_os_str()]);
    assert_eq!(mint(server.url(), "tickets", 1), [2]);
}

#[test]
fn a_command_that_only_looks_makes_no_file() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let url = format!("sqlite:{}", dir.path().join("ids.db").display());
    for command in [
        &["names"][..],
        &["slots"],
        &["realm"],
        &["marks", "list"],
        &["marks", "raise", "orders", "--to", "5"],
        &["inspect", "42", "--name", "orders"],
    ] {
        run(floe(command).args(["--ledger", &url])).refuses(1, &["there is no ledger at", "ids.db"]);
        assert_eq!(entries(dir.path()), Vec::<String>::new(), "{command:?}");
    }
}

/// As where the user may not enter the directory.
#[test]
fn a_ledger_that_cannot_be_looked_for_is_not_called_missing() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let file = dir.path().join("file");
    std::fs::write(&file, "").expect("it is written");
    run(floe(["names", "--data-dir"]).arg(&file)).refuses(1, &["is not a directory"]);
    let url = format!("sqlite:{}", file.join("ids.db").display());
    run(&mut floe(["names", "--ledger", &url])).refuses(1, &["Not a directory"]);
}

#[test]
fn the_id_of_a_realm_is_printed_and_pinned() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let data = dir.path().join("data");
    let settings = |ledger: &str| {
        let data = data.display();
        configuration(dir.path(), &format!("realm = \"shop\"\ndata_dir = \"{data}\"\n{ledger}\n"))
    };
    let file = settings("");
    run(floe(["mint", "tickets", "--config"]).arg(&file)).numbers();
    let said = run(floe(["realm", "--json", "--config"]).arg(&file));
    let said: serde_json::Value = serde_json::from_str(&said.out).expect("JSON");
    let id = said["realm_id"].as_str().expect("an id").to_owned();
    assert_eq!((said["realm"].as_str(), id.len()), (Some("shop"), 32));
    let table = run(floe(["realm", "--config"]).arg(&file));
    let words: Vec<&str> = table.lines()[1].split_whitespace().collect();
    assert_eq!(words[..2], ["shop", &id]);

    let file = settings(&format!("ledger = {{ realm_id = \"{id}\" }}"));
    let mut serve = floe(["serve", "--listen", "127.0.0.1:0", "--mysql", "off", "--config"]);
    let server = Server::spawn(serve.arg(&file));
    assert_eq!(mint(server.url(), "tickets", 1), [2]);
    let (status, text) = server.terminate();
    assert!(status.success() && text.contains(&format!("the id {id}")), "{text}");
    // Another ledger at the same place.
    std::fs::remove_dir_all(&data).expect("it can be removed");
    for command in [&["serve", "--listen", "127.0.0.1:0"][..], &["mint", "tickets"], &["names"]] {
        run(floe(command).arg("--config").arg(&file))
            .refuses(1, &["there is no directory", "realm_id pins", &id]);
    }
    run(floe(["mint", "tickets", "--realm", "shop", "--kind", "segment", "--data-dir"]).arg(&data)).numbers();
    for command in [&["serve", "--listen", "127.0.0.1:0"][..], &["mint", "tickets"], &["names"]] {
        run(floe(command).arg("--config").arg(&file)).refuses(1, &["has the id", "realm_id pins", &id]);
    }
}

#[test]
fn a_caller_that_names_no_realm_is_told_of_several() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let data = dir.path().join("data");
    let mint = |flags: &[&str]| run(floe(["mint", "orders", "--data-dir"]).arg(&data).args(flags));
    mint(&[]).numbers();
    mint(&["--realm", "shop"]).numbers();
    mint(&[]).refuses(1, &["several realms", "default and shop", "--realm default"]);
    for command in [&["names"][..], &["slots"], &["realm"], &["marks", "list"]] {
        run(floe(command).arg("--data-dir").arg(&data)).refuses(1, &["several realms", "default and shop"]);
    }
    mint(&["--realm", "default"]).numbers();
    run(floe(["names", "--realm", "default", "--data-dir"]).arg(&data)).lines();
    // A restart does not hang on what others made there: the server names them.
    let server = Server::on(&data);
    assert!(server.text().contains("other realms, too: shop"), "{}", server.text());
}

/// After a restore, marks are raised before anything is minted. A server would mint from the backup's marks.
#[test]
fn marks_of_an_older_floes_backup_are_raised_before_a_server_updates_it() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let first = run(floe(["mint", "tickets", "--kind", "segment", "--data-dir"]).arg(dir.path()));
    assert_eq!(first.numbers(), [1]);
    let file = dir.path().join("floe.db");
    let tool = rusqlite::Connection::open(&file).expect("the database can be opened");
    // An older floe has left no turn in the file.
    tool.execute_batch("PRAGMA secure_delete = ON; DROP TABLE turn").expect("there is a table of turns");
    drop(tool);
    std::fs::remove_file(dir.path().join("floe.db-witness")).expect("there is a witness");
    let of = |command: &[&str]| run(floe(command).arg("--data-dir").arg(dir.path()));
    for looks in [&["marks", "list"][..], &["marks", "raise", "tickets", "--to", "500", "--dry-run"]] {
        of(looks).refuses(1, &["older floe", "does not change"]);
    }
    of(&["marks", "raise", "tickets", "--to", "500"]).lines();
    assert_eq!(of(&["mint", "tickets"]).numbers(), [500]);
}
