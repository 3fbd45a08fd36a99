//! Each server starts, answers its own client, survives a kill, and is gone with its home.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::net::TcpStream;

use floe_testbed::{Etcd, Mariadb, Postgres, Redis, Server, Zookeeper};

/// Kills it, runs it again, stops it, and checks that nothing is left of it.
fn lives_and_dies(server: &Server) {
    server.kill();
    assert!(TcpStream::connect(("127.0.0.1", server.port())).is_err());
    server.run();
    TcpStream::connect(("127.0.0.1", server.port())).unwrap();
    server.stop();
    assert_eq!(server.home().processes(), [], "{}", server.home().log());
}

#[test]
fn real_servers_postgres() {
    let server = Postgres::start(&[]);
    assert_eq!(server.psql("SELECT 1 + 1"), "2");
    lives_and_dies(&server);
}

#[test]
fn real_servers_mariadb() {
    let server = Mariadb::start(&[]);
    assert_eq!(server.sql("SELECT 1 + 1"), "2");
    lives_and_dies(&server);
}

#[test]
fn real_servers_redis() {
    let server = Redis::start(&[]);
    assert_eq!(server.cli(&["SET", "a", "2"]), "OK");
    lives_and_dies(&server);
    server.run();
    assert_eq!(server.cli(&["GET", "a"]), "2");
    let (server, _certificates) = Redis::start_with_tls("127.0.0.1", &[]);
    lives_and_dies(&server);
}

#[test]
fn real_servers_etcd() {
    let server = Etcd::start(&[]);
    assert_eq!(server.control(&["put", "a", "2"]), "OK");
    lives_and_dies(&server);
    let (server, _certificates) = Etcd::start_with_tls("127.0.0.1", &[]);
    lives_and_dies(&server);
    let first = Etcd::start(&[]);
    let (_second, _learner) = (first.join(), first.join_as_learner());
    assert_eq!(first.control(&["member", "list"]).lines().count(), 3);
}

#[test]
fn real_servers_zookeeper() {
    let server = Zookeeper::start(&[], &[]);
    assert!(server.url().starts_with("zookeeper://127.0.0.1:"));
    server.cli(&["create", "/a", "2"]);
    assert_eq!(server.cli(&["get", "/a"]), "2");
    lives_and_dies(&server);
    let (server, port, _certificates) = Zookeeper::start_with_tls("127.0.0.1", "none");
    TcpStream::connect(("127.0.0.1", port)).unwrap();
    lives_and_dies(&server);
    let servers = Zookeeper::ensemble(&[]);
    while !servers.iter().any(Zookeeper::is_leader) {}
    lives_and_dies(&servers[0]);
}
