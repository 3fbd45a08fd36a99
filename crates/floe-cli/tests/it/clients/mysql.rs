//! MySQL's clients, which users of ticket servers have.

use std::process::Command;

use super::{Stand, node, python, script};

fn check(given: &std::collections::BTreeMap<String, Vec<String>>) {
    for name in ["tickets", "visits", "orders"] {
        assert!(given[name].len() >= 40, "{name}: {}", given[name].len());
    }
}

/// A client that is told MySQL's own port.
fn at(stand: &Stand, mut command: Command) -> Command {
    command.env("MYSQL_PORT", stand.mysql_port().to_string());
    command
}

#[test]
fn pymysql_and_mysql_connector_python() {
    for script in ["pymysql_tickets.py", "mysql_connector.py"] {
        let mut stand = Stand::start();
        let client = at(&stand, python(script));
        check(&stand.serve(client));
    }
}

#[test]
fn mysql2() {
    let mut stand = Stand::start();
    let client = at(&stand, node("mysql2.cjs"));
    check(&stand.serve(client));
}

#[test]
fn sequelize_django_and_active_record() {
    let mut ruby = Command::new("ruby");
    ruby.arg(script("active_record.rb"));
    for client in [node("sequelize.cjs"), python("django_tickets.py"), ruby] {
        let mut stand = Stand::start();
        let client = at(&stand, client);
        let given = stand.serve(client);
        assert!(given["tickets"].len() >= 20 && given["visits"].len() == 20, "{given:?}");
    }
}

#[test]
fn a_login_that_asks_for_compression_hears_why_not() {
    let mut stand = Stand::start();
    let client = at(&stand, python("compressed.py"));
    stand.serve(client);
}

#[test]
fn mysqli_and_pdo_of_php() {
    for driver in ["mysqli", "pdo"] {
        let mut stand = Stand::start();
        let mut client = Command::new("php");
        client.arg(script("tickets.php")).arg(driver);
        let client = at(&stand, client);
        check(&stand.serve(client));
    }
}

#[test]
fn connector_j() {
    let mut stand = Stand::start();
    let mut client = Command::new("java");
    client.args(["-cp", "/usr/share/java/mariadb-java-client.jar"]).arg(script("Tickets.java"));
    let client = at(&stand, client);
    check(&stand.serve(client));
}

#[test]
fn the_mariadb_command_line() {
    let stand = Stand::start();
    let run = |sql: &str| {
        let port = stand.mysql_port().to_string();
        let mut command = Command::new("mariadb");
        command.args(["--no-defaults", "-h", "127.0.0.1", "-P", &port, "-u", "app", "-N", "-B", "-e", sql]);
        let output = command.output().unwrap();
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    let first = run("REPLACE INTO tickets (stub) VALUES ('a'); SELECT LAST_INSERT_ID()");
    let first: u64 = first.0.trim().parse().unwrap_or_else(|_| panic!("{first:?}"));
    let three = run("INSERT INTO tickets (stub) VALUES ('a'), ('b'), ('c'); SELECT LAST_INSERT_ID()").0;
    assert_eq!(three.trim(), (first + 1).to_string(), "the first of three");
    let next = run("REPLACE INTO tickets (stub) VALUES ('a'); SELECT LAST_INSERT_ID()").0;
    assert_eq!(next.trim(), (first + 4).to_string());
    for (sql, error) in [
        ("REPLACE INTO nobody (stub) VALUES ('a')", "ERROR 1146"),
        ("SELECT * FROM tickets", "ERROR 1064"),
        ("INSERT INTO orders (stub) VALUES ('a'), ('b')", "ERROR 1366"),
    ] {
        let (_, said) = run(sql);
        assert!(said.contains(error), "{sql}: {said}");
    }
}
