//! A name is raised in the realm that a command was told, and a server has another: its log says where the name is. And a
//! raise that is cut off makes no name.

use floe_testbed::Postgres;

use super::Rig;
use crate::process::{Server, floe, run};

fn a_name_that_was_raised_in_another_realm_is_told(rig: Rig) {
    let dir = tempfile::tempdir().unwrap();
    let (path, url) = (dir.path().join("floe.toml"), (rig.url)(rig.server.port()));
    // Without --config, so in the realm that commands have.
    let raise = ["marks", "raise", "orders", "--kind", "segment", "--to", "50000001", "--ledger"];
    run(floe(raise).arg(&url)).lines();
    let text = format!(
        "realm = \"shop\"\nledger = \"{url}\"\nnew_names = \"ask for first\"\n[[name]]\nname = \"orders\"\nkind = \"segment\"\n\
         [[name]]\nname = \"other\"\nkind = \"counter\"\nfirst = 1\n"
    );
    std::fs::write(&path, text).unwrap();
    let serve = ["serve", "--listen", "127.0.0.1:0", "--mysql", "off", "--config"];
    let (status, log) = Server::spawn(floe(serve).arg(&path)).terminate();
    assert!(status.success(), "{log}");
    let told = |name: &str| {
        let mut lines = log.lines().filter(|line| line.contains(&format!("name={name} ")));
        lines.next().unwrap_or_else(|| panic!("{name} is not told of: {log}")).to_owned()
    };
    let line = told("orders");
    assert!(line.contains("was refused") && line.contains("elsewhere=\"default (next 50000001)\""), "{line}");
    let line = told("other");
    assert!(line.contains("a new name") && !line.contains("elsewhere"), "{line}");
}

mod a_name_that_was_raised_in_another_realm_is_told_on {
    super::super::on_every_server!(super::a_name_that_was_raised_in_another_realm_is_told);
}

/// The user may make rows, and change none. A name that was bound before it is raised would stay as it was bound.
#[test]
fn a_raise_that_is_cut_off_makes_no_name_that_begins_at_1() {
    let postgres = Postgres::start(&[]);
    let (url, careful) = (postgres.url(), postgres.url_of("careful:right"));
    run(&mut floe(["mint", "seed", "--kind", "counter", "--ledger", &url])).lines();
    postgres.psql(
        "CREATE ROLE careful LOGIN PASSWORD 'right'; GRANT USAGE ON SCHEMA floe TO careful; \
         GRANT SELECT, INSERT ON ALL TABLES IN SCHEMA floe TO careful",
    );
    let raise = |url: &str| {
        run(&mut floe(["marks", "raise", "orders", "--kind", "segment", "--to", "501", "--ledger", url]))
    };
    raise(&careful).refuses(1, &["permission denied"]);
    let names = || run(&mut floe(["names", "--ledger", &url])).out;
    assert!(names().contains("seed") && !names().contains("orders"), "{}", names());
    postgres.psql("GRANT UPDATE ON ALL TABLES IN SCHEMA floe TO careful");
    let said = raise(&careful);
    assert!(said.out.contains("its next ID was 1, and is 501"), "{said:?}");
    assert_eq!(run(&mut floe(["mint", "orders", "--ledger", &url])).numbers(), [501]);
}
