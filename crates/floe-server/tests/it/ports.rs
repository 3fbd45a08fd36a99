//! Ports of a single protocol, and unix sockets.

use std::os::unix::net::UnixListener as AnyListener;
use std::path::Path;

use floe_server::{Endpoint, ServeError};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};

use crate::harness::{Server, directory, file, say, tcp};

const COUNTER: &str = "[[name]]\nname = \"a\"\nkind = \"counter\"\n";

fn on(path: &Path) -> floe_server::Config {
    let mut config = file(COUNTER);
    config.listen = vec![Endpoint::Unix(path.to_owned())];
    config
}

#[tokio::test(flavor = "multi_thread")]
async fn each_protocol_may_have_a_port_of_its_own() {
    let ports =
        "http = '127.0.0.1:0'\nresp = '127.0.0.1:0'\nmemcached = '127.0.0.1:0'\nthrift = '127.0.0.1:0'\n";
    let server = Server::of(&format!("{ports}{COUNTER}")).await;
    let port = |protocol: &str| {
        let (_, endpoint) = server.started.ports.iter().find(|(spoken, _)| *spoken == protocol).unwrap();
        TcpStream::connect(tcp(endpoint))
    };
    let request = b"GET /v1/mint/a HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n";
    assert!(say(port("HTTP").await.unwrap(), request).await.ends_with("\"ids\":[\"1\"]}\n"));
    // On the port for all, these words are memcached's.
    assert_eq!(
        say(port("Redis").await.unwrap(), b"get a\r\nincr a\r\nquit\r\n").await,
        "$1\r\n1\r\n:2\r\n+OK\r\n"
    );
    let said = say(port("memcached").await.unwrap(), b"get a\r\nquit\r\n").await;
    assert_eq!(said, "VALUE a 0 1\r\n3\r\nEND\r\n");
    let version = b"\x80\x0b\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x80\x07\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
    assert!(say(port("memcached").await.unwrap(), version).await.contains("1.6.0-floe"));
    let mut thrift = port("Thrift").await.unwrap();
    thrift.write_all(b"\x80\x01\0\x01\0\0\0\x0dget_timestamp\0\0\0\x07\0").await.unwrap();
    let mut reply = [0; 4];
    thrift.read_exact(&mut reply).await.unwrap();
    assert_eq!(reply, *b"\x80\x01\0\x02");
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_unix_socket_is_served_like_an_address_and_gone_afterwards() {
    let directory = directory();
    let path = directory.path().join("floe.sock");
    // What a server leaves that is killed.
    drop(AnyListener::bind(&path).unwrap());
    assert!(path.exists());
    let mut config = on(&path);
    config.own_ports.insert("http", vec!["127.0.0.1:0".parse().unwrap()]);
    let server = Server::start(config, directory.clone()).await;
    assert_eq!(server.started.endpoints, [Endpoint::Unix(path.clone())]);
    assert_eq!(say(UnixStream::connect(&path).await.unwrap(), b"incr a\r\nquit\r\n").await, ":1\r\n+OK\r\n");
    let request = b"GET /metrics HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n";
    assert!(say(UnixStream::connect(&path).await.unwrap(), request).await.contains("floe_"));
    let refused = Server::try_start(on(&path), crate::harness::directory()).await.err().unwrap();
    assert!(matches!(&refused, ServeError::Listen(why) if why.contains("a running server")), "{refused}");
    assert_eq!(say(UnixStream::connect(&path).await.unwrap(), b"incr a\r\nquit\r\n").await, ":2\r\n+OK\r\n");
    server.stop().await.unwrap();
    assert!(!path.exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_no_socket_is_left_alone() {
    let directory = directory();
    let path = directory.path().join("floe.sock");
    std::fs::write(&path, "a letter").unwrap();
    let refused = Server::try_start(on(&path), directory.clone()).await.err().unwrap();
    assert!(refused.to_string().contains("not a socket"), "{refused}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "a letter");
    let long = directory.path().join("x".repeat(200));
    let refused = Server::try_start(on(&long), directory).await.err().unwrap();
    assert!(refused.to_string().contains("at most 100 bytes"), "{refused}");
}
