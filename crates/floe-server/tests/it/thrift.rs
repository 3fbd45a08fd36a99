//! Twitter's service over raw sockets: framed and not, strict and not.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::harness::{PATIENCE, Server};
use crate::hostile::connect;

const CALL: u8 = 1;
const ONEWAY: u8 = 4;

/// `get_id("app")`'s arguments.
const APP: &[u8] = b"\x0b\0\x01\0\0\0\x03app\0";

fn message(framed: bool, strict: bool, kind: u8, name: &str, sequence: i32, arguments: &[u8]) -> Vec<u8> {
    let length = i32::try_from(name.len()).unwrap().to_be_bytes();
    let mut bytes = Vec::new();
    if strict {
        bytes.extend([0x80, 1, 0, kind]);
    }
    bytes.extend(length);
    bytes.extend(name.bytes());
    if !strict {
        bytes.push(kind);
    }
    bytes.extend(sequence.to_be_bytes());
    bytes.extend(arguments);
    if framed {
        let length = i32::try_from(bytes.len()).unwrap();
        bytes.splice(0..0, length.to_be_bytes());
    }
    bytes
}

/// Reads the reply to a call and takes it apart: it has to be framed, strict, named and numbered as the call was.
async fn reply(
    stream: &mut TcpStream,
    framed: bool,
    strict: bool,
    name: &str,
    sequence: i32,
) -> Result<i64, (i32, String)> {
    let mut take = async |count: usize| {
        let mut bytes = vec![0; count];
        timeout(PATIENCE, stream.read_exact(&mut bytes)).await.expect("no answer").unwrap();
        bytes
    };
    let int = |bytes: &[u8]| i32::from_be_bytes(bytes.try_into().unwrap());
    if framed {
        let length = int(&take(4).await);
        assert!(length > 0);
    }
    let header = message(false, strict, 2, name, sequence, &[]);
    let mut found = take(header.len()).await;
    let at = if strict { 3 } else { 4 + name.len() };
    let kind = std::mem::replace(&mut found[at], 2);
    assert_eq!(found, header, "{}", found.escape_ascii());
    if kind == 2 {
        assert_eq!(take(3).await, [10, 0, 0]);
        let value = i64::from_be_bytes(take(8).await.try_into().unwrap());
        assert_eq!(take(1).await, [0]);
        return Ok(value);
    }
    assert_eq!(kind, 3);
    assert_eq!(take(3).await, [11, 0, 1]);
    let length = int(&take(4).await);
    let text = String::from_utf8(take(usize::try_from(length).unwrap()).await).unwrap();
    assert_eq!(take(3).await, [8, 0, 2]);
    let exception = int(&take(4).await);
    assert_eq!(take(1).await, [0]);
    Err((exception, text))
}

/// One ID, or the exception.
pub(crate) async fn get_id(stream: &mut TcpStream) -> Result<i64, (i32, String)> {
    call(stream, "get_id", APP).await
}

async fn call(stream: &mut TcpStream, name: &str, arguments: &[u8]) -> Result<i64, (i32, String)> {
    stream.write_all(&message(true, true, CALL, name, 7, arguments)).await.unwrap();
    reply(stream, true, true, name, 7).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reply_is_written_as_its_call_was() {
    let server = Server::standalone().await;
    let mut last = 0;
    // Also one after another on one connection.
    let mut shared = connect(&server).await;
    for (framed, strict) in [(true, true), (true, false), (false, true), (false, false)] {
        let mut own = connect(&server).await;
        for (sequence, stream) in [(0, &mut own), (-5, &mut shared)] {
            // Unknown fields are skipped.
            let arguments = [b"\x0c\0\x09\x08\0\x01\0\0\0\x01\0", APP].concat();
            let request = message(framed, strict, CALL, "get_id", sequence, &arguments);
            stream.write_all(&request).await.unwrap();
            let id = reply(stream, framed, strict, "get_id", sequence).await.unwrap();
            assert!(id > last, "{id} after {last}");
            last = id;
        }
    }
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn worker_datacenter_and_time_are_those_of_the_ids() {
    let mut config = floe_server::Config::standalone();
    config.worker = floe::WorkerChoice::Fixed(3 * 32 + 9);
    let server = Server::start(config, crate::harness::directory()).await;
    let mut stream = connect(&server).await;
    assert_eq!(call(&mut stream, "get_worker_id", b"\0").await, Ok(9));
    assert_eq!(call(&mut stream, "get_datacenter_id", b"\0").await, Ok(3));
    let id = call(&mut stream, "get_id", APP).await.unwrap();
    let now = call(&mut stream, "get_timestamp", b"\0").await.unwrap();
    assert_eq!((id >> 17 & 31, id >> 12 & 31), (3, 9));
    let minted = (id >> 22) + 1_288_834_974_657;
    assert!((0..20_000).contains(&(now - minted)), "{now} {minted}");
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn every_error_is_an_exception_and_the_connection_goes_on() {
    let server = Server::standalone().await;
    let mut stream = connect(&server).await;
    for useragent in ["", "2nd", "a b", "app\n", "ünder", "-a"] {
        let mut arguments = vec![11, 0, 1];
        arguments.extend(i32::try_from(useragent.len()).unwrap().to_be_bytes());
        arguments.extend(useragent.bytes());
        arguments.push(0);
        let (exception, text) = call(&mut stream, "get_id", &arguments).await.unwrap_err();
        assert_eq!(exception, 6);
        assert!(text.starts_with("bad-request: the user agent "), "{text}");
    }
    // None at all; and a number in its place.
    assert_eq!(call(&mut stream, "get_id", b"\0").await.unwrap_err().0, 6);
    assert_eq!(call(&mut stream, "get_id", b"\x08\0\x01\0\0\0\x01\0").await.unwrap_err().0, 6);
    let metrics = server.text("/metrics").await;
    assert!(metrics.contains("\nfloe_thrift_useragents_refused_total 8\n"), "{metrics}");
    let (exception, text) = call(&mut stream, "get_ids", b"\0").await.unwrap_err();
    assert!(exception == 1 && text.contains("`get_ids`"), "{exception} {text}");
    stream.write_all(&message(true, true, 2, "get_id", 1, APP)).await.unwrap();
    assert_eq!(reply(&mut stream, true, true, "get_id", 1).await.unwrap_err().0, 2);
    // A frame whose arguments make no sense, and one with more than a message.
    assert_eq!(call(&mut stream, "get_id", b"\x0b\0\x01\x7f\xff\xff\xffapp\0").await.unwrap_err().0, 7);
    assert_eq!(call(&mut stream, "get_id", &[APP, b"\0"].concat()).await.unwrap_err().0, 7);
    assert!(call(&mut stream, "get_id", APP).await.is_ok());
    server.stop().await.unwrap();
    for (config, word) in [
        ("[[name]]\nname = \"other\"\nkind = \"counter\"\n", "unknown-name: "),
        ("[[name]]\nname = \"snowflake\"\nkind = \"counter\"\n", "wrong-kind: "),
    ] {
        let server = Server::of(config).await;
        let mut stream = connect(&server).await;
        for (method, arguments) in [("get_id", APP), ("get_worker_id", b"\0"), ("get_datacenter_id", b"\0")] {
            let (exception, text) = call(&mut stream, method, arguments).await.unwrap_err();
            assert!(exception == 6 && text.starts_with(word), "{method}: {exception} {text}");
        }
        server.stop().await.unwrap();
    }
    let layout = "[[name]]\nname = \"snowflake\"\nkind = \"snowflake\"\nlayout = \"katsubushi\"\n";
    let server = Server::of(layout).await;
    let mut stream = connect(&server).await;
    assert!(call(&mut stream, "get_worker_id", b"\0").await.is_ok());
    let (_, text) = call(&mut stream, "get_datacenter_id", b"\0").await.unwrap_err();
    assert!(text.contains("has no field `datacenter`"), "{text}");
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_oneway_call_has_no_reply_and_mints_nothing() {
    let server = Server::standalone().await;
    let mut stream = connect(&server).await;
    call(&mut stream, "get_id", APP).await.unwrap();
    for (method, arguments) in [("get_id", APP), ("get_ids", b"\0"), ("get_id", b"\0")] {
        stream.write_all(&message(true, true, ONEWAY, method, 8, arguments)).await.unwrap();
    }
    // The next reply is the next call's.
    call(&mut stream, "get_timestamp", b"\0").await.unwrap();
    assert_eq!(server.json("/v1/names/snowflake").await["minted"], 1);
    server.stop().await.unwrap();
}
