//! Logins to a server that the test plays. Not every server of the other tests has MySQL's own login method.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::{ABILITIES, CACHING, NATIVE, TLS, TlsConnector, log_in, proof};
use crate::mysql::channel::Channel;
use crate::mysql::trouble::Error;
use crate::mysql::url::Settings;

const NONCE: [u8; 20] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20];

fn settings(password: &str, mode: &str) -> (Settings, Option<TlsConnector>) {
    let url = format!("mysql://floe:{password}@127.0.0.1/ids?sslmode={mode}");
    let settings = Settings::parse(&url, &|_| None).unwrap();
    let tls = settings.reach.tls.connector(&[], None).unwrap();
    (settings, tls)
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// PyMySQL computed these proofs.
#[test]
fn proofs_are_those_of_another_client() {
    let proven = |way| hexadecimal(&proof(way, "secret", &NONCE).unwrap());
    assert_eq!(proven(NATIVE), "b32bb3a583e1340c0a1108d58b1be49781ad8c2f");
    assert_eq!(proven(CACHING), "746ebe205d56a0707acb3e796e834e0dd7b1d61743b26bd5202c7a623230c7c9");
    for way in [NATIVE, CACHING] {
        assert_eq!(proof(way, "", &NONCE).unwrap(), b"");
    }
    assert!(matches!(proof("dialog", "secret", &NONCE), Err(Error::UnknownWay(way)) if way == "dialog"));
}

fn greeting(way: &str, abilities: u32) -> Vec<u8> {
    let [a, b, c, d] = abilities.to_le_bytes();
    let (first, second) = NONCE.split_at(8);
    let parts: [&[u8]; 8] = [
        b"\x0a8.4.0\0\x01\0\0\0",
        first,
        &[0, a, b, 45, 2, 0, c, d, 21],
        &[0; 10],
        second,
        &[0],
        way.as_bytes(),
        &[0],
    ];
    parts.concat()
}

/// The result of a login to a server that says these things, and what the server hears.
fn meets(mode: &str, says: Vec<Vec<u8>>) -> (Result<(), Error>, Vec<Vec<u8>>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = tokio::spawn(async move {
            let (mut socket, _) = listener.accept().await.unwrap();
            let (mut heard, mut number) = (Vec::new(), 0);
            for packet in says {
                let length = u8::try_from(packet.len()).unwrap();
                socket.write_all(&[&[length, 0, 0, number], &*packet].concat()).await.unwrap();
                number += 1;
                if packet == KNOWN {
                    continue;
                }
                let mut head = [0; 4];
                if socket.read_exact(&mut head).await.is_err() {
                    break;
                }
                let mut payload = vec![0; head[0].into()];
                socket.read_exact(&mut payload).await.unwrap();
                heard.push(payload);
                number += 1;
            }
            heard
        });
        let socket = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        let (settings, tls) = settings("secret", mode);
        let outcome = log_in(Channel::new(socket), &settings, tls.as_ref()).await.map(drop);
        (outcome, server.await.unwrap())
    })
}

const OK: &[u8] = &[0, 0, 0, 2, 0, 0, 0];
/// The proof was right. The server waits for no answer.
const KNOWN: &[u8] = &[1, 3];

#[test]
fn a_server_that_knows_the_proof_lets_floe_in() {
    let says = vec![greeting(CACHING, ABILITIES), KNOWN.to_vec(), OK.to_vec()];
    let (outcome, heard) = meets("prefer", says);
    outcome.unwrap();
    let proof = proof(CACHING, "secret", &NONCE).unwrap();
    let said = [b"floe\0\x20", proof.as_slice(), b"ids\0caching_sha2_password\0\x12\x0cprogram_name\x04floe"];
    assert!(heard[0].ends_with(&said.concat()), "{:?}", heard[0]);
}

#[test]
fn another_way_may_be_asked_for() {
    let switch = [b"\xfemysql_native_password\0".as_slice(), &NONCE, &[0]].concat();
    let (outcome, heard) = meets("disable", vec![greeting("auth_gssapi", ABILITIES), switch, OK.to_vec()]);
    outcome.unwrap();
    assert_eq!(heard[1], proof(NATIVE, "secret", &NONCE).unwrap());

    let switch = b"\xfemysql_clear_password\0".to_vec();
    let (outcome, heard) = meets("disable", vec![greeting(CACHING, ABILITIES), switch]);
    assert!(matches!(outcome, Err(Error::UnknownWay(_))), "{outcome:?}");
    assert_eq!(heard.len(), 1);
}

#[test]
fn the_password_itself_is_never_sent_in_the_clear() {
    for mode in ["disable", "prefer"] {
        let (outcome, heard) = meets(mode, vec![greeting(CACHING, ABILITIES), vec![1, 4]]);
        assert!(matches!(outcome, Err(Error::PasswordInTheClear)), "{outcome:?}");
        assert!(heard.iter().all(|packet| !packet.windows(6).any(|part| part == b"secret")), "{heard:?}");
    }
    let (outcome, heard) = meets("require", vec![greeting(CACHING, ABILITIES)]);
    assert!(matches!(outcome, Err(Error::NoTls)) && heard.is_empty(), "{outcome:?} {heard:?}");
}

#[test]
fn what_is_sent_in_the_clear_before_tls_is_not_believed_under_it() {
    // The greeting, and in the same segment bytes that floe would later take for an answer.
    let mut both = greeting(CACHING, ABILITIES | TLS);
    let length = both.len();
    both.extend([7, 0, 0, 2].iter().chain(OK));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let outcome = runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let socket = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        let (mut server, _) = listener.accept().await.unwrap();
        let head = [u8::try_from(length).unwrap(), 0, 0, 0];
        server.write_all(&[&head, &*both].concat()).await.unwrap();
        let (settings, tls) = settings("", "require");
        log_in(Channel::new(socket), &settings, tls.as_ref()).await.map(drop)
    });
    assert!(matches!(outcome, Err(Error::Protocol(text)) if text.contains("before TLS")), "{outcome:?}");
}

#[test]
fn what_is_no_mysql_is_named() {
    for (says, part) in [
        (b"\xff\x10\x04Too many connections".to_vec(), "Too many connections (1040)"),
        (b"HTTP/1.1 400 Bad Request\r\n".to_vec(), "greeting that is not MySQL's"),
        (greeting(NATIVE, 0x0000_0200), "abilities"),
        (b"\x0a8.4.0\0".to_vec(), "cut short"),
    ] {
        let (outcome, _) = meets("disable", vec![says]);
        let text = outcome.unwrap_err().to_string();
        assert!(text.contains(part), "`{part}` is not in: {text}");
    }
}
