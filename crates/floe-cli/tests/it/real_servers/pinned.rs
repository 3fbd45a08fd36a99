//! A shared ledger that was emptied is a fresh one: who pins the realm's id is told so at the next start.

use std::path::{Path, PathBuf};
use std::time::Duration;

use floe_testbed::{Postgres, Redis};

use crate::client::{agent, get, mint};
use crate::process::{Server, floe, run, until};

fn configuration(dir: &Path, ledger: &str) -> PathBuf {
    let path = dir.join("floe.toml");
    let name = "[[name]]\nname = \"tickets\"\nkind = \"segment\"\n";
    std::fs::write(&path, format!("realm = \"shop\"\nledger = {ledger}\n{name}")).unwrap();
    path
}

fn an_emptied_store_is_refused(url: &str, empty: impl Fn()) {
    let dir = tempfile::tempdir().unwrap();
    let config = |ledger: &str| configuration(dir.path(), ledger);
    let serve = ["serve", "--listen", "127.0.0.1:0", "--mysql", "off", "--config"];
    let start = |file: &Path| {
        let server = Server::spawn(floe(serve).arg(file));
        let ready =
            || get(&agent(), &format!("{}/readyz", server.url())).filter(|(status, _)| *status == 200);
        until(Duration::from_secs(60), "the server to be ready", ready);
        server
    };
    let stop = |server: Server| assert!(server.terminate().0.success());
    let plain = format!("\"{url}\"");
    // Before the first start nothing is there, and nothing comes of looking for it.
    for _ in 0..2 {
        let file = config(&format!("{{ url = {plain}, create = false }}"));
        run(floe(serve).arg(&file)).refuses(1, &["has no realm shop", "create = false", "restore"]);
        let file = config(&plain);
        run(floe(serve).arg(&file).arg("--existing")).refuses(1, &["has no realm shop", "--existing"]);
    }
    let server = start(&config(&plain));
    assert_eq!(mint(server.url(), "tickets", 1), [1]);
    stop(server);
    let said = run(floe(["realm", "--json", "--config"]).arg(config(&plain)));
    let said: serde_json::Value = serde_json::from_str(&said.out).unwrap();
    let id = said["realm_id"].as_str().unwrap().to_owned();
    let pinned = format!("{{ url = {plain}, realm_id = \"{id}\" }}");
    let server = start(&config(&pinned));
    assert_eq!(mint(server.url(), "tickets", 1), [2]);
    stop(server);

    empty();
    for command in [&serve[..], &["mint", "tickets", "--config"], &["names", "--config"]] {
        let file = config(&pinned);
        run(floe(command).arg(&file)).refuses(1, &["is missing", &format!("realm_id pins {id}"), "restore"]);
    }
    // Somebody without the pin begins anew, as ever; with it, that realm is another one.
    let server = start(&config(&plain));
    assert_eq!(mint(server.url(), "tickets", 1), [1]);
    stop(server);
    let file = config(&pinned);
    run(floe(serve).arg(&file)).refuses(1, &["has the id", &format!("realm_id pins {id}"), "raise"]);
}

#[test]
fn an_emptied_redis_is_refused() {
    let redis = Redis::start(&[]);
    an_emptied_store_is_refused(&redis.url(), || {
        redis.cli(&["FLUSHALL"]);
    });
}

#[test]
fn an_emptied_postgres_is_refused() {
    let postgres = Postgres::start(&[]);
    an_emptied_store_is_refused(&postgres.url(), || {
        postgres.psql("DROP SCHEMA floe CASCADE");
    });
}
