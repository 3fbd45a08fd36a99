//! Logins to a server that the test plays. Not every server of the other tests has MySQL's own login method.

use std::io;
use std::sync::Arc;

use floe_testbed::{Certificates, Home};
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use super::{ABILITIES, CACHING, Greeting, NATIVE, TLS, TlsConnector, log_in, proof};
use crate::mysql::channel::Channel;
use crate::mysql::tests::stays_silent;
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

async fn hear(socket: &mut (impl AsyncRead + Unpin)) -> io::Result<Vec<u8>> {
    let mut head = [0; 4];
    socket.read_exact(&mut head).await?;
    let mut payload = vec![0; head[0].into()];
    socket.read_exact(&mut payload).await.map(|_| payload)
}

async fn say(socket: &mut (impl AsyncWrite + Unpin), number: u8, packet: &[u8]) -> io::Result<()> {
    let length = u8::try_from(packet.len()).unwrap();
    socket.write_all(&[&[length, 0, 0, number], packet].concat()).await?;
    socket.flush().await
}

/// Says each packet and hears the answer to it, until the client has left. It does not wait for the password, but says
/// what would follow.
async fn converse(
    socket: &mut (impl AsyncRead + AsyncWrite + Unpin),
    mut number: u8,
    says: Vec<Vec<u8>>,
) -> Vec<Vec<u8>> {
    let mut heard = Vec::new();
    for packet in says {
        if say(socket, number, &packet).await.is_err() {
            break;
        }
        number += if packet == KNOWN { 1 } else { 2 };
        if packet != KNOWN && packet != UNKNOWN {
            let Ok(payload) = hear(socket).await else { break };
            heard.push(payload);
        }
    }
    while let Ok(payload) = hear(socket).await {
        heard.push(payload);
    }
    heard
}

/// The result of a login to a server that says these things, and what the server hears. If it takes TLS, it says all
/// but the greeting under it.
fn meets_with(
    mode: &str,
    tls: Option<TlsAcceptor>,
    mut says: Vec<Vec<u8>>,
) -> (Result<(), Error>, Vec<Vec<u8>>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = tokio::spawn(async move {
            let (mut socket, _) = listener.accept().await.unwrap();
            let Some(tls) = tls else { return converse(&mut socket, 0, says).await };
            say(&mut socket, 0, &says.remove(0)).await.unwrap();
            let wish = hear(&mut socket).await.unwrap();
            let mut socket = tls.accept(socket).await.unwrap();
            let response = hear(&mut socket).await.unwrap();
            [vec![wish, response], converse(&mut socket, 3, says).await].concat()
        });
        let socket = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        let (settings, tls) = settings("secret", mode);
        let outcome = log_in(Channel::new(socket), &settings, tls.as_ref()).await.map(drop);
        (outcome, server.await.unwrap())
    })
}

fn meets(mode: &str, says: Vec<Vec<u8>>) -> (Result<(), Error>, Vec<Vec<u8>>) {
    meets_with(mode, None, says)
}

fn acceptor() -> TlsAcceptor {
    let home = Home::new("mysql-login");
    let certificates = Certificates::for_host("127.0.0.1", &home);
    let chain = vec![CertificateDer::from_pem_file(certificates.server).unwrap()];
    let key = PrivateKeyDer::from_pem_file(certificates.key).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .unwrap();
    TlsAcceptor::from(Arc::new(config))
}

fn meets_under_tls(says: Vec<Vec<u8>>) -> (Result<(), Error>, Vec<Vec<u8>>) {
    meets_with("require", Some(acceptor()), says)
}

const OK: &[u8] = &[0, 0, 0, 2, 0, 0, 0];
/// The proof was right. The server waits for no answer.
const KNOWN: &[u8] = &[1, 3];
/// The server asks for the password itself.
const UNKNOWN: &[u8] = &[1, 4];

fn is_told_the_password(heard: &[Vec<u8>]) -> bool {
    heard.iter().any(|packet| packet.windows(6).any(|part| part == b"secret"))
}

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

    let (outcome, heard) = meets("disable", vec![greeting(NATIVE, ABILITIES), OK.to_vec()]);
    outcome.unwrap();
    let native = proof(NATIVE, "secret", &NONCE).unwrap();
    let said = [b"floe\0\x14", native.as_slice(), b"ids\0mysql_native_password\0"].concat();
    assert!(heard[0].windows(said.len()).any(|part| part == said), "{:?}", heard[0]);

    let switch = b"\xfemysql_clear_password\0".to_vec();
    let (outcome, heard) = meets("disable", vec![greeting(CACHING, ABILITIES), switch]);
    assert!(matches!(outcome, Err(Error::UnknownWay(_))), "{outcome:?}");
    assert_eq!(heard.len(), 1);
}

#[test]
fn the_password_itself_is_never_sent_in_the_clear() {
    for mode in ["disable", "prefer"] {
        let (outcome, heard) = meets(mode, vec![greeting(CACHING, ABILITIES), UNKNOWN.to_vec()]);
        assert!(matches!(outcome, Err(Error::PasswordInTheClear)), "{outcome:?}");
        assert!(!is_told_the_password(&heard), "{heard:?}");
    }
    let (outcome, heard) = meets("require", vec![greeting(CACHING, ABILITIES)]);
    assert!(matches!(outcome, Err(Error::NoTls)) && heard.is_empty(), "{outcome:?} {heard:?}");
}

#[test]
fn under_tls_a_server_that_does_not_know_the_proof_is_told_the_password() {
    let says = vec![greeting(CACHING, ABILITIES | TLS), UNKNOWN.to_vec(), OK.to_vec()];
    let (outcome, heard) = meets_under_tls(says);
    outcome.unwrap();
    let [wish, response, password] = heard.as_slice() else { panic!("{heard:?}") };
    assert_eq!(password, b"secret\0");
    // Abilities, the longest packet, and utf8mb4; MariaDB's own abilities would follow in the last zeros.
    let abilities = (ABILITIES | TLS | 1).to_le_bytes();
    assert_eq!(*wish, [&abilities, &[0, 0, 0x40, 0, 45][..], &[0; 23]].concat());
    assert!(response.starts_with(wish));
    assert!(!is_told_the_password(std::slice::from_ref(response)), "it was told before it asked");
}

/// Nothing but `caching_sha2_password` has such questions.
#[test]
fn who_logs_in_by_another_way_answers_no_question_about_the_password() {
    let says = |question: &[u8], abilities| vec![greeting(NATIVE, abilities), question.to_vec(), OK.to_vec()];
    for (outcome, heard) in [
        meets("disable", says(KNOWN, ABILITIES)),
        meets("disable", says(UNKNOWN, ABILITIES)),
        meets_under_tls(says(UNKNOWN, ABILITIES | TLS)),
    ] {
        let Err(Error::Protocol(text)) = outcome else { panic!("{outcome:?}") };
        assert_eq!(text, "a question at login that floe does not know");
        assert!(!is_told_the_password(&heard), "{heard:?}");
    }
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

#[test]
fn a_server_that_asks_again_and_again_is_left() {
    let switch = [b"\xfemysql_native_password\0".as_slice(), &NONCE, &[0]].concat();
    let says = [vec![greeting(NATIVE, ABILITIES)], vec![switch; 9]].concat();
    let (outcome, heard) = meets("disable", says);
    assert!(matches!(outcome, Err(Error::Protocol("too many questions at login"))), "{outcome:?}");
    assert_eq!(heard.len(), 1 + 4);
}

/// Some servers tell no length, or less than there is.
#[test]
fn a_nonce_has_at_least_two_parts_of_8_and_13_bytes() {
    let whole = greeting(CACHING, ABILITIES);
    let at = whole.len() - CACHING.len() - 1 - 13 - 10 - 1;
    for (told, longer) in [(0, 0), (8, 0), (20, 0), (21, 0), (22, 1), (29, 8)] {
        let mut packet = whole.clone();
        packet[at] = told;
        let more = vec![7; longer];
        packet.splice(at + 23..at + 23, more.iter().copied());
        let Greeting { way, nonce, .. } = Greeting::from_packet(&packet).unwrap();
        assert_eq!((way.as_str(), nonce), (CACHING, [&NONCE[..], &more].concat()), "{told}");
    }
}

#[tokio::test]
async fn under_tls_a_connection_is_not_used_again_once_the_server_closed_it() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let socket = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    let (settings, tls) = settings("", "require");
    let server = async {
        let (mut socket, _) = listener.accept().await.unwrap();
        say(&mut socket, 0, &greeting(NATIVE, ABILITIES | TLS)).await.unwrap();
        hear(&mut socket).await.unwrap();
        let mut socket = acceptor().accept(socket).await.unwrap();
        hear(&mut socket).await.unwrap();
        say(&mut socket, 3, OK).await.unwrap();
        socket
    };
    let (session, server) = tokio::join!(log_in(Channel::new(socket), &settings, tls.as_ref()), server);
    let session = session.unwrap();
    assert!(stays_silent(&session).await);
    drop(server);
    assert!(!stays_silent(&session).await);
}
