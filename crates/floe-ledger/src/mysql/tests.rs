//! URLs, the environment, and the bytes that are sent, without a server; and the checks of servers that are played,
//! because the server of the other tests is MariaDB.

use std::collections::HashMap;
use std::fs;
use std::io::{Read, Write};
use std::sync::Arc;
use std::thread;

use floe::ledger::LedgerError;
use floe::store::{Counting as _, Put, Store as _, Taken, Version};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::channel::Channel;
use super::connect::Database;
use super::link::Link;
use super::session::Session;
use super::statements::text;
use super::trouble::{Error, at_open, at_work};
use super::url::Settings;
use super::{Mysql, Trouble, schema};
use crate::remote::Remote;
use crate::remote::ssl_mode::{Use, Verify};
use crate::remote::tests::{golden, kind};
use crate::remote::url::Reach;
use crate::{OpenError, Opening};

fn parse(url: &str, environment: &[(&str, &str)]) -> Result<Settings, OpenError> {
    let environment: HashMap<_, _> = environment.iter().copied().collect();
    Settings::parse(url, &|variable| environment.get(variable).map(|value| (*value).to_owned()))
}

#[track_caller]
fn refused(url: &str, environment: &[(&str, &str)]) -> String {
    match parse(url, environment) {
        Err(error) => error.to_string(),
        Ok(settings) => panic!("{url} was taken as {}", settings.reach.shown),
    }
}

#[test]
fn what_is_shown_has_no_credentials() {
    for (url, shown) in [
        ("mysql://floe:secret@db/ids", "mysql://db:3306/ids"),
        ("mariadb://floe:s%40cret@db:6000/ids?unsafe=allow", "mariadb://db:6000/ids"),
        ("mysql://floe:sec?ret@db/ids?max_wait=1s", "mysql://db:3306/ids"),
        ("mysql://floe:secret@[::1]:7/ids", "mysql://[::1]:7/ids"),
        ("mysql://floe:secret@[::1]/ids", "mysql://[::1]:3306/ids"),
    ] {
        assert_eq!(parse(url, &[]).unwrap().reach.shown, shown);
    }
}

#[test]
fn what_cannot_be_right_is_refused_and_no_password_repeated() {
    for (url, part) in [
        ("mysql:floe", "no URL of a MySQL database"),
        ("mysql://floe:secret@db:port/ids", "no URL of a MySQL database"),
        ("mysql://floe:sec/ret@db/ids", "%2F for /"),
        ("mysql://floe:sec@ret@db/ids", "%40 for"),
        ("mysql://floe:sec%ff@db/ids", "no URL of a MySQL database"),
        ("mysql://floe:sec%00ret@db/ids", "no URL of a MySQL database"),
        ("mysql://floe:secret@a,b/ids", "no URL of a MySQL database"),
        ("mysql://floe:secret@db/ids/more", "no URL of a MySQL database"),
        ("mysql://floe:secret@db", "names no database"),
        ("mysql://db/ids", "names no user"),
        ("mysql://floe@/ids", "names no host"),
        ("mysql://floe:secret@db/ids?pool=5", "no option `pool`"),
        ("mysql://floe:secret@db/ids?pool=5", "max_wait, connect_timeout"),
        ("mysql://floe:secret@db/ids?password_file=/nowhere", "leave one out"),
        ("mysql://floe@db/ids?max_wait=soon", "500ms or 10s"),
        ("mysql://floe@db/ids?connect_timeout=0", "500ms or 10s"),
        ("mysql://floe@db/ids?unsafe=yes", "allow or refuse"),
        ("mysql://floe@db/ids?sslmode=verify_identity", "verify-full"),
        ("mysql://floe@db/ids?sslmode=verify-full", "sslrootcert=FILE"),
        ("mysql://floe@db/ids?password_file=/nowhere", "/nowhere cannot be read"),
    ] {
        let text = refused(url, &[]);
        assert!(text.contains(part), "`{part}` is not in: {text}");
        assert!(!text.contains("secret") && !text.contains("floe:sec") && !text.contains("ret@"), "{text}");
    }
    assert!(refused("mysql://floe@db/ids", &[("MYSQL_TCP_PORT", "high")]).contains("MYSQL_TCP_PORT"));
}

#[test]
fn the_environment_completes_the_url() {
    let environment =
        [("MYSQL_HOST", "elsewhere"), ("MYSQL_TCP_PORT", "7"), ("MYSQL_PWD", "secret"), ("USER", "me")];
    let settings = parse("mysql://floe@/ids", &environment).unwrap();
    assert_eq!(settings.reach.shown, "mysql://elsewhere:7/ids");
    assert_eq!(settings.account.password, "secret");
    let settings = parse("mysql://me:mi%3Ane@db:3/ids?sslmode=disable", &environment).unwrap();
    assert_eq!(settings.reach.shown, "mysql://db:3/ids");
    assert_eq!((&*settings.account.user, &*settings.account.password), ("me", "mi:ne"));
    assert_eq!(settings.reach.tls.wanted, Use::Never);
    let settings = parse("mysql://me:@db/ids?sslmode=require&sslrootcert=/ca.pem", &environment).unwrap();
    assert_eq!(settings.account.password, "");
    assert_eq!(
        (settings.reach.tls.wanted, settings.reach.tls.verify),
        (Use::Always, Verify::Chain("/ca.pem".into()))
    );
}

#[test]
fn waits_are_bounded_by_the_longest() {
    let bounds = |url: &str| parse(url, &[]).unwrap().reach.bounds;
    let found = bounds("mysql://floe@db/ids?max_wait=500ms");
    assert_eq!((found.max_wait.as_millis(), found.connect.as_millis()), (500, 500));
    let found = bounds("mysql://floe@db/ids?connect_timeout=2");
    assert_eq!((found.max_wait.as_millis(), found.connect.as_millis()), (5000, 2000));
    assert_eq!(bounds("mysql://floe@db/ids?connect_timeout=700ms").connect.as_millis(), 700);
}

#[cfg(unix)]
#[test]
fn a_password_may_stand_in_a_file_that_nobody_else_can_read() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("password");
    fs::write(&file, "se cret\n").unwrap();
    let url = format!("mysql://floe@db/ids?password_file={}", file.display());
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    assert_eq!(parse(&url, &[("MYSQL_PWD", "other")]).unwrap().account.password, "se cret");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    assert!(refused(&url, &[]).contains("chmod 600"));
}

#[test]
fn texts_are_never_read_as_sql() {
    assert_eq!(text("a'; --\\"), "_utf8mb4 x'61273b202d2d5c' COLLATE utf8mb4_bin");
    assert_eq!(text(""), "_utf8mb4 x'' COLLATE utf8mb4_bin");
    assert_eq!(text("订"), "_utf8mb4 x'e8aea2' COLLATE utf8mb4_bin");
}

#[test]
fn every_url_means_what_it_meant() {
    golden("mysql", |url, environment| {
        let Settings { at, account, reach } = Settings::parse(url, environment)?;
        let Reach { shown, bounds, tls, allows_unsafe } = reach;
        let rest = format!(
            "at={:?}:{} user={:?} password={:?} database={:?} tls={:?} {:?} wait={:?} connect={:?} \
             unsafe={allows_unsafe}",
            at.host,
            at.port,
            account.user,
            account.password,
            account.database,
            tls.wanted,
            tls.verify,
            bounds.max_wait,
            bounds.connect
        );
        Ok((shown, rest))
    });
}

/// A session, and the server's end of it.
async fn connected() -> (Session, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let socket = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    let (server, _) = listener.accept().await.unwrap();
    (Session::new(Channel::new(socket)), server)
}

/// A session with a server that says all this at once, and nothing more.
async fn played(says: &[u8]) -> (Session, TcpStream) {
    let (session, mut server) = connected().await;
    server.write_all(says).await.unwrap();
    server.shutdown().await.unwrap();
    (session, server)
}

/// How many rows a statement changed, by a server that says this.
fn changed(says: &[u8]) -> Result<u64, Error> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (mut session, _server) = played(says).await;
        session.query("UPDATE").await.map(|answers| answers[0].affected)
    })
}

/// One row was changed.
fn one_row(number: u8) -> [u8; 11] {
    [7, 0, 0, number, 0, 1, 0, 2, 0, 0, 0]
}

/// Whether a session is silent after all that its server did.
pub(super) async fn stays_silent(session: &Session) -> bool {
    for _ in 0..10_000 {
        tokio::task::yield_now().await;
        if !session.is_silent() {
            return false;
        }
    }
    true
}

/// An answer that nobody waits for would be taken for the next one, and a closed connection would fail the next call.
#[tokio::test]
async fn a_connection_is_not_used_again_once_the_server_said_more_or_closed_it() {
    let (mut session, mut server) = connected().await;
    server.write_all(&one_row(1)).await.unwrap();
    session.query("UPDATE").await.unwrap();
    assert!(stays_silent(&session).await);
    server.write_all(&one_row(1)).await.unwrap();
    assert!(!stays_silent(&session).await, "it said more");

    let (mut session, mut server) = connected().await;
    server.write_all(&[one_row(1), one_row(2)].concat()).await.unwrap();
    session.query("UPDATE").await.unwrap();
    assert!(!session.is_silent(), "it said more at once");

    let (session, server) = connected().await;
    assert!(stays_silent(&session).await);
    drop(server);
    assert!(!stays_silent(&session).await, "it closed");
}

#[tokio::test]
async fn a_statement_from_4_mib_on_is_not_sent() {
    // With the byte that says that it is a statement.
    for (length, is_sent) in [((4 << 20) - 2, true), ((4 << 20) - 1, false), (16 << 20, false)] {
        let (mut session, mut server) = connected().await;
        let asked = async {
            let outcome = session.query(&"x".repeat(length)).await;
            drop(session);
            outcome.map(drop)
        };
        let answered = async {
            let mut heard = vec![0; if is_sent { length + 5 } else { 0 }];
            server.read_exact(&mut heard).await.unwrap();
            server.write_all(&one_row(1)).await.unwrap();
            let mut more = Vec::new();
            drop(server.read_to_end(&mut more).await);
            more.len()
        };
        let (outcome, more) = tokio::join!(asked, answered);
        assert_eq!(more, 0, "{length}");
        match is_sent {
            true => outcome.unwrap(),
            false => assert!(matches!(outcome, Err(Error::TooLong)), "{length}: {outcome:?}"),
        }
    }
}

/// After a request that was cut off, it may be the answer to that one.
#[test]
fn a_packet_with_another_number_is_no_answer() {
    let answer = |number: u8| changed(&one_row(number));
    assert_eq!(answer(1).unwrap(), 1);
    for number in [0, 2, 7, 255] {
        assert!(matches!(answer(number), Err(Error::Protocol("a packet out of order"))), "{number}");
    }
}

#[test]
fn a_packet_from_4_mib_on_is_refused_by_its_length_alone() {
    for head in [[0, 0, 0x40, 1], [1, 0, 0x40, 1], [0xff, 0xff, 0xff, 1]] {
        let outcome = changed(&head);
        assert!(matches!(outcome, Err(Error::TooLong)), "{head:?}: {outcome:?}");
    }
    // The longest one is waited for.
    let outcome = changed(&[0xff, 0xff, 0x3f, 1]);
    assert!(matches!(outcome, Err(Error::Socket(_))), "{outcome:?}");
}

#[test]
fn a_number_is_read_in_each_of_its_lengths_and_nothing_else_is_one() {
    let answer = |affected: &[u8]| {
        let payload = [&[0], affected, &[0, 2, 0, 0, 0]].concat();
        changed(&[&[u8::try_from(payload.len()).unwrap(), 0, 0, 1], &*payload].concat())
    };
    for (bytes, number) in [
        ([250].as_slice(), 250),
        (&[0xfb], 0),
        (&[0xfc, 0x34, 0x12], 0x1234),
        (&[0xfd, 0x56, 0x34, 0x12], 0x12_3456),
        (&[0xfe, 1, 0, 0, 0, 0, 0, 0, 0x80], (1 << 63) + 1),
    ] {
        assert_eq!(answer(bytes).unwrap(), number, "{bytes:x?}");
    }
    let payload_of =
        |payload: &[u8]| changed(&[&[u8::try_from(payload.len()).unwrap(), 0, 0, 1], payload].concat());
    for (payload, part) in [
        ([0, 0xff].as_slice(), "an error where a number belongs"),
        (&[0, 0xfc, 1], "cut short"),
        (&[0, 0xfd, 1, 2], "cut short"),
        (&[0, 0xfe, 1, 2, 3, 4, 5, 6, 7], "cut short"),
        (&[0, 1, 0, 2], "cut short"),
        (&[0xff, 1], "an error without a number"),
        (&[], "has not sent"),
        // A request for a file of this machine.
        (b"\xfb/etc/passwd", "has not sent"),
    ] {
        let outcome = payload_of(payload);
        assert!(
            matches!(&outcome, Err(Error::Protocol(text)) if text.contains(part)),
            "{payload:x?}: {outcome:?}"
        );
    }
}

/// What a server answers to a statement.
#[derive(Clone, Copy)]
enum Says<'a> {
    Changed(u8),
    Rows(&'a [&'a [&'a str]]),
}

/// The packets that answer one request, with an answer for each of its statements.
fn packets(statements: &[Says<'_>]) -> Vec<u8> {
    let (mut bytes, mut number) = (Vec::new(), 0);
    let mut say = |payload: &[u8]| {
        number += 1;
        bytes.extend([u8::try_from(payload.len()).unwrap(), 0, 0, number]);
        bytes.extend(payload);
    };
    for (index, statement) in (1..).zip(statements) {
        let status = if index < statements.len() { 8 } else { 0 };
        let rows = match *statement {
            Says::Changed(count) => {
                say(&[0, count, 0, status, 0, 0, 0]);
                continue;
            }
            Says::Rows(rows) => rows,
        };
        let columns = rows.first().map_or(2, |row| row.len());
        say(&[u8::try_from(columns).unwrap()]);
        (0..columns).for_each(|_| say(b"a column"));
        say(&[0xfe, 0, 0, 0, 0]);
        for row in rows {
            let cell = |text: &&str| [&[u8::try_from(text.len()).unwrap()], text.as_bytes()].concat();
            say(&row.iter().map(cell).collect::<Vec<_>>().concat());
        }
        say(&[0xfe, 0, 0, status, 0]);
    }
    bytes
}

/// The packets that answer one request: for each of its statements nothing, or rows of two columns.
fn answers(statements: &[Option<&[(&str, &str)]>]) -> Vec<u8> {
    let rows: Vec<Option<Vec<[&str; 2]>>> =
        statements.iter().map(|rows| rows.map(|rows| rows.iter().map(|(a, b)| [*a, *b]).collect())).collect();
    let rows: Vec<Option<Vec<&[&str]>>> =
        rows.iter().map(|rows| rows.as_ref().map(|rows| rows.iter().map(|row| &row[..]).collect())).collect();
    packets(&rows.iter().map(|rows| rows.as_deref().map_or(Says::Changed(0), Says::Rows)).collect::<Vec<_>>())
}

/// What a server shows that is fit.
const FIT: [(&str, &str); 3] =
    [("version", "8.4.0"), ("innodb_flush_log_at_trx_commit", "1"), ("innodb_doublewrite", "ON")];

/// The error of a call on a connection.
fn told(trouble: Trouble) -> LedgerError {
    match trouble {
        Trouble::Ledger(error) => error,
        Trouble::Store(error) => at_work(&error, "mysql:"),
        other => panic!("{other:?}"),
    }
}

/// A cell of 16 MiB, or one whose length merely takes as many bytes.
#[tokio::test]
async fn a_row_that_begins_as_the_end_of_rows_does_is_none() {
    let rows = [
        &[1, 0, 0, 1, 1][..],
        &[1, 0, 0, 2, b'a'],
        &[5, 0, 0, 3, 0xfe, 0, 0, 0, 0],
        &[9, 0, 0, 4, 0xfe, 0, 0, 0, 0, 0, 0, 0, 0],
        &[10, 0, 0, 5, 0xfe, 1, 0, 0, 0, 0, 0, 0, 0, b'b'],
        &[5, 0, 0, 6, 0xfe, 0, 0, 0, 0],
    ];
    let (mut session, _server) = played(&rows.concat()).await;
    let answers = session.query("SELECT").await.unwrap();
    let found: Vec<_> = answers[0].rows.iter().map(|row| row.text(0)).collect();
    assert_eq!((answers.len(), found), (1, vec![Some(""), Some("b")]));
}

/// A statement that somebody kills, or that takes too long: a record that comes after it would count as missing.
#[tokio::test]
async fn an_error_among_the_rows_is_no_end_of_them() {
    let killed = b"\xff\x25\x05#70100it was killed";
    let rows = [
        &[1, 0, 0, 1, 1][..],
        &[1, 0, 0, 2, b'a'],
        &[5, 0, 0, 3, 0xfe, 0, 0, 0, 0],
        &[2, 0, 0, 4, 1, b'b'],
        &[u8::try_from(killed.len()).unwrap(), 0, 0, 5],
        killed,
    ];
    let (mut session, _server) = played(&rows.concat()).await;
    let answers = session.query("SELECT").await.map(|answers| answers.len());
    assert!(matches!(answers, Err(Error::Server { code: 1317, .. })), "{answers:?}");
}

/// A ledger's store on a server that lets everybody in, is fit, and then answers each request with the next of these.
fn on_a_server(says: Vec<Vec<u8>>) -> Mysql {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    // It ends with its connection.
    drop(thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        let greeting = [
            b"\x0a8.4.0\0\x01\0\0\0".as_slice(),
            &[1; 8],
            &[0, 0xff, 0xff, 45, 2, 0, 0xff, 0xff, 21],
            &[0; 10],
            &[1; 12],
            b"\0mysql_native_password\0",
        ];
        let greeting = greeting.concat();
        socket.write_all(&[&[u8::try_from(greeting.len()).unwrap(), 0, 0, 0], &*greeting].concat()).unwrap();
        let let_in = vec![7, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0];
        let fit = [
            answers(&[None, Some(&FIT), Some(&[])]),
            answers(&[Some(&[])]),
            answers(&[None; 5]),
            answers(&[Some(&[]), Some(&[])]),
        ];
        for answer in [let_in].into_iter().chain(fit).chain(says) {
            let mut head = [0; 4];
            if socket.read_exact(&mut head).is_err() {
                return;
            }
            let mut request = vec![0; u32::from_le_bytes([head[0], head[1], head[2], 0]) as usize];
            socket.read_exact(&mut request).unwrap();
            socket.write_all(&answer).unwrap();
        }
    }));
    let settings =
        Arc::new(parse(&format!("mysql://floe@127.0.0.1:{port}/ids?sslmode=disable"), &[]).unwrap());
    Mysql {
        remote: Remote::open("floe-mysql", Database::new(settings).unwrap(), &Opening::of("test")).unwrap(),
    }
}

/// What was done is told by the count and the record together. Some servers count a record that was found and not changed.
#[test]
fn a_swap_is_done_only_if_the_count_and_the_record_agree() {
    const NONE: &[&[&str]] = &[];
    let kind = |put: Result<Put, LedgerError>| match put {
        Ok(Put::Done(version)) => format!("{} is written", version.as_str()),
        Ok(Put::Found(found)) => format!("found {}", found.map_or("none".to_owned(), |entry| entry.text)),
        Err(LedgerError::Unfit(text)) if text.contains("records instead of the one") => "unfit".to_owned(),
        other => panic!("{other:?}"),
    };
    let none = Says::Changed(0);
    let [own, theirs, old] = [["own"], ["theirs"], ["old"]];
    let (own, theirs, old) = ([own.as_slice()], [theirs.as_slice()], [old.as_slice()]);
    for (changed, shown, made, swapped, ahead) in [
        (1, own.as_slice(), "own is written", "own is written", "own is written"),
        // Another swap may come between a swap and the look after it, and not while a transaction lasts.
        (1, &theirs, "found theirs", "own is written", "own is written"),
        (1, NONE, "found none", "own is written", "own is written"),
        (0, &theirs, "found theirs", "found theirs", "found theirs"),
        (0, NONE, "found none", "found none", "found none"),
        (0, &old, "found old", "unfit", "unfit"),
        (2, &own, "unfit", "unfit", "unfit"),
    ] {
        let (count, found) = (Says::Changed(changed), Says::Rows(shown));
        let key = "mark/test/n/orders";
        let store = on_a_server(vec![packets(&[none, count, found, none])]);
        assert_eq!(kind(store.put(key, "own", None)), made, "made: {changed} {shown:?}");
        let expected = Version::new("old");
        let store = on_a_server(vec![packets(&[count, found])]);
        assert_eq!(kind(store.put(key, "own", Some(&expected))), swapped, "swapped: {changed} {shown:?}");
        let store = on_a_server(vec![packets(&[none, count, none, found, none])]);
        let put = store.put_ahead(key, "own", &expected, "mark/test/n/orders@id", 0..5);
        assert_eq!(kind(put), ahead, "reserved ahead: {changed} {shown:?}");
    }
}

/// A trigger or a proxy may change what a statement changes.
#[test]
fn a_count_is_handed_out_only_if_its_row_and_its_numbers_agree() {
    let taken = |changed, rows: &[&[&str]]| {
        let none = Says::Changed(0);
        let store = on_a_server(vec![packets(&[none, Says::Changed(changed), Says::Rows(rows), none])]);
        store.take("mark/test/n/orders@id", 0, 5, u64::MAX >> 1)
    };
    assert_eq!(taken(1, &[&["3", "8", "90"]]), Ok(Taken::Numbers { previous: 3, end: 8 }));
    assert_eq!(taken(0, &[&["3", "8", "90"]]), Ok(Taken::Left(Some(8..90))));
    assert_eq!(taken(0, &[]), Ok(Taken::Left(None)));
    for (changed, row) in [
        (2, ["3", "8", "90"]),
        (1, ["x", "8", "90"]),
        (1, ["3", "", "90"]),
        (1, ["-3", "8", "90"]),
        (0, ["3", "x", "90"]),
        (0, ["3", "8", "-1"]),
    ] {
        let outcome = taken(changed, &[&row]);
        let Err(LedgerError::Unfit(text)) = outcome else { panic!("{changed} {row:?}: {outcome:?}") };
        assert!(text.contains("a count that is no number"), "{text}");
    }
}

#[test]
fn a_record_that_is_no_text_is_damage() {
    // One row of these cells, the last one the record.
    let row = |cells: &[&[u8]]| {
        let columns = u8::try_from(cells.len()).unwrap();
        let payloads = [vec![columns]].into_iter().chain(cells.iter().map(|_| vec![b'a'])).chain([
            vec![0xfe, 0, 0, 0, 0],
            cells.concat(),
            vec![0xfe, 0, 0, 0, 0],
        ]);
        let packet = |(number, payload): (u8, Vec<u8>)| {
            [&[u8::try_from(payload.len()).unwrap(), 0, 0, number], &*payload].concat()
        };
        on_a_server(vec![(1..).zip(payloads).map(packet).collect::<Vec<_>>().concat()])
    };
    let (key, mark) = (b"\x01k".as_slice(), b"\x01r".as_slice());
    assert_eq!(row(&[mark]).get("k").unwrap().unwrap().text, "r");
    assert_eq!(row(&[key, mark]).list("", "", 9), Ok(vec![("k".to_owned(), "r".to_owned())]));
    // Not UTF-8, and NULL.
    for odd in [b"\x01\xff".as_slice(), b"\xfb"] {
        for outcome in [
            row(&[odd]).get("k").map(drop),
            row(&[key, odd]).list("", "", 9).map(drop),
            row(&[odd, mark]).list("", "", 9).map(drop),
        ] {
            let Err(LedgerError::Unfit(text)) = outcome else { panic!("{odd:x?}: {outcome:?}") };
            assert!(text.contains("that is no text") && text.contains("no floe has written"), "{text}");
        }
    }
}

/// The result of an opening on a server that says this, and what it hears.
fn enters(options: &str, says: &[Vec<u8>]) -> (Result<(), LedgerError>, String) {
    let settings = parse(&format!("mysql://floe@db/ids?{options}"), &[]).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (session, mut server) = played(&says.concat()).await;
        let mut link = Link { session, shown: settings.reach.shown.as_str().into() };
        let outcome = schema::enter(&mut link, &settings, &Opening::of("test")).await.map_err(told);
        drop(link);
        let mut heard = Vec::new();
        drop(server.read_to_end(&mut heard).await);
        (outcome, String::from_utf8_lossy(&heard).into_owned())
    })
}

/// A server's answers to the look for the tables and their version.
fn has_version(version: &str) -> Vec<u8> {
    let tables = packets(&[Says::Rows(&[&["floe_version", "InnoDB"]]), Says::Rows(&[])]);
    [tables, packets(&[Says::Rows(&[&[version]])])].concat()
}

#[test]
fn records_are_moved_if_max_wait_is_long_enough_and_at_least_a_second_is() {
    for (max_wait, records, instead) in [
        ("1s", 4_000, None),
        ("1s", 4_001, Some("max_wait=2s")),
        ("2500ms", 8_000, None),
        ("2500ms", 8_001, Some("max_wait=3s")),
        ("100ms", 0, None),
        ("100ms", 4_000, None),
        ("100ms", 4_001, Some("max_wait=2s")),
    ] {
        let former = packets(&[Says::Rows(&[&["1", &records.to_string(), "id"]])]);
        let (outcome, heard) = enters(&format!("max_wait={max_wait}"), &[has_version("2"), former]);
        match (instead, outcome) {
            (None, Err(LedgerError::Unavailable(_))) => {
                assert!(heard.contains("CREATE TABLE"), "{max_wait} {records}: {heard}");
            }
            (Some(instead), Err(LedgerError::Unfit(text))) => {
                assert!(text.contains(instead) && !heard.contains("CREATE TABLE"), "{text}: {heard}");
            }
            (_, outcome) => panic!("{max_wait} {records}: {outcome:?}"),
        }
    }
}

/// Another tool may have tables of the same names.
#[test]
fn tables_of_a_version_that_no_floe_has_written_are_left_alone() {
    for version in ["0", "-1"] {
        let (outcome, heard) = enters("", &[has_version(version)]);
        let Err(LedgerError::Unfit(text)) = outcome else { panic!("{version}: {outcome:?}") };
        assert!(text.contains("no version in the table floe_version"), "{text}");
        assert!(!heard.contains("CREATE TABLE") && !heard.contains("ALTER TABLE"), "{version}: {heard}");
    }
}

#[test]
fn a_move_that_others_were_in_the_way_of_is_made_again() {
    let is_there = |code: u16| {
        let [low, high] = code.to_le_bytes();
        [&[9 + 9, 0, 0, 1, 0xff, low, high][..], b"#42000its words"].concat()
    };
    let steps = include_str!("from_2.sql").split_terminator(";\n").count();
    for (code, is_repeated) in [(1205, true), (1213, true), (1146, false)] {
        let done = || packets(&[Says::Changed(0)]);
        let former = packets(&[Says::Rows(&[&["1", "9", "id"]])]);
        let mut says = vec![has_version("2"), former, packets(&[Says::Changed(0); 4])];
        says.extend([done(), is_there(code), done()]);
        says.extend((0..steps).map(|_| done()));
        says.push(has_version("3"));
        let (outcome, heard) = enters("", &says);
        assert_eq!(outcome.is_ok(), is_repeated, "{code}: {outcome:?}");
        assert_eq!(heard.matches("ROLLBACK").count(), usize::from(is_repeated), "{code}: {heard}");
    }
}

/// What the checks of a new connection say to a server that shows these and is fit but for them, and what it hears.
fn meets(
    options: &str,
    variables: &[(&str, &str)],
    status: &[(&str, &str)],
) -> (Result<String, LedgerError>, String) {
    // It replicates from none.
    meets_where(options, variables, status, &answers(&[Some(&[])]))
}

/// The same, and `replication` is what it says of that.
fn meets_where(
    options: &str,
    variables: &[(&str, &str)],
    status: &[(&str, &str)],
    replication: &[u8],
) -> (Result<String, LedgerError>, String) {
    let settings = parse(&format!("mysql://floe@db/ids?{options}"), &[]).unwrap();
    let variables = [&FIT[..], variables].concat();
    let says = [&answers(&[None, Some(&variables), Some(status)]), replication, &answers(&[None; 5])];
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (session, mut server) = played(&says.concat()).await;
        let mut link = Link { session, shown: settings.reach.shown.as_str().into() };
        let mut remarks = Vec::new();
        let outcome = schema::check_server(&mut link, &settings, &mut remarks).await;
        let outcome = outcome.map(|()| remarks.join("; ")).map_err(told);
        drop(link);
        let mut heard = Vec::new();
        // What follows a refusal is not read, and that cuts the connection.
        drop(server.read_to_end(&mut heard).await);
        (outcome, String::from_utf8_lossy(&heard).into_owned())
    })
}

fn checked(
    options: &str,
    variables: &[(&str, &str)],
    status: &[(&str, &str)],
) -> Result<String, LedgerError> {
    meets(options, variables, status).0
}

/// MySQL before 8.0.22 does not know the statement.
#[test]
fn who_may_not_ask_for_the_replication_is_let_in_and_any_other_error_is_told() {
    let checked = |code: u16| {
        let [low, high] = code.to_le_bytes();
        let error = [9 + 9, 0, 0, 1, 0xff, low, high];
        meets_where("", &[], &[], &[&error[..], b"#42000its words"].concat()).0
    };
    for code in [1227, 1064] {
        assert_eq!(checked(code), Ok(String::new()), "{code}");
    }
    for code in [1226, 1228, 1063, 1065, 1317] {
        let outcome = checked(code);
        let Err(LedgerError::Unavailable(text)) = outcome else { panic!("{code}: {outcome:?}") };
        assert!(text.contains(&format!("its words ({code})")), "{text}");
    }
}

/// One thread fetches what another server writes, and the other carries it out. A thread that has stopped can be started
/// again.
#[test]
fn a_replica_is_let_in_only_if_both_of_its_threads_have_ended() {
    for (threads, is_let_in) in [
        (["No", "No"], true),
        (["Yes", "Yes"], false),
        (["Yes", "No"], false),
        (["Connecting", "No"], false),
        (["No", "Yes"], false),
    ] {
        let mut row = [""; 12];
        row[1] = "db-1";
        row[10..].copy_from_slice(&threads);
        match meets_where("", &[], &[], &packets(&[Says::Rows(&[&row])])).0 {
            Ok(_) => assert!(is_let_in, "{threads:?}"),
            Err(LedgerError::Unfit(text)) => {
                assert!(!is_let_in && text.contains("replicates from db-1"), "{threads:?}: {text}");
            }
            Err(error) => panic!("{threads:?}: {error:?}"),
        }
    }
}

/// Each has a row.
#[test]
fn one_channel_that_replicates_is_enough_to_be_refused() {
    let row = |source: &'static str, running: &'static str, before: usize| {
        let mut row = vec![""; before + 12];
        row[before + 1] = source;
        row[before + 10..].fill(running);
        row
    };
    for (version, before) in [("8.4.0", 0), ("10.11.6-MariaDB", 2)] {
        let [ended, running] = [row("db-1", "No", before), row("db-2", "Yes", before)];
        let refused =
            meets_where("", &[("version", version)], &[], &packets(&[Says::Rows(&[&ended, &running])])).0;
        let Err(LedgerError::Unfit(text)) = refused else { panic!("{version}: {refused:?}") };
        assert!(text.contains("replicates from db-2"), "{version}: {text}");
        assert!(
            meets_where("", &[("version", version)], &[], &packets(&[Says::Rows(&[&ended, &ended])]))
                .0
                .is_ok()
        );
    }
}

/// MariaDB's other statement shows one channel.
#[test]
fn each_server_is_asked_for_all_its_channels() {
    for (version, statement) in
        [("8.4.0", "SHOW REPLICA STATUS"), ("10.11.6-MariaDB", "SHOW ALL REPLICAS STATUS")]
    {
        let (outcome, heard) = meets("", &[("version", version)], &[]);
        assert!(outcome.is_ok() && heard.contains(statement), "{version}: {outcome:?} {heard}");
    }
}

/// A server says nothing of a setting that it was not asked for, and that counts as one that it does not have.
#[test]
fn every_setting_that_is_judged_is_asked_for() {
    let (_, heard) = meets("", &[], &[]);
    for setting in [
        "version",
        "read_only",
        "super_read_only",
        "log_bin",
        "sync_binlog",
        "binlog_format",
        "innodb_flush_log_at_trx_commit",
        "innodb_doublewrite",
        "wsrep_on",
        "Innodb_redo_log_enabled",
    ] {
        assert!(heard.contains(&format!("'{setting}'")), "{setting}: {heard}");
    }
}

#[test]
fn a_setting_may_be_a_number_or_missing() {
    let flush = "innodb_flush_log_at_trx_commit";
    for (variables, finding) in [
        ([(flush, "")].as_slice(), "has innodb_flush_log_at_trx_commit = "),
        (&[("log_bin", "ON"), ("sync_binlog", "")], "has a binary log and sync_binlog = "),
        (&[("log_bin", "ON")], "has a binary log and sync_binlog = "),
        (&[("log_bin", "1"), ("sync_binlog", "0")], "has a binary log and sync_binlog = 0"),
        (&[("innodb_doublewrite", "0")], "has innodb_doublewrite = 0"),
    ] {
        let refused = checked("", variables, &[]);
        let Err(LedgerError::Unfit(text)) = refused else { panic!("{variables:?}: {refused:?}") };
        assert!(text.contains(finding), "{text}");
    }
    for setting in ["read_only", "super_read_only"] {
        assert_eq!(checked("", &[(setting, "0")], &[]), Ok(String::new()));
        for on in ["1", "NO_LOCK"] {
            let refused = checked("unsafe=allow", &[(setting, on)], &[]);
            let Err(LedgerError::Unavailable(text)) = refused else { panic!("{setting} {on}: {refused:?}") };
            assert!(text.contains(&format!("has {setting} = {on}")), "{text}");
        }
    }
}

#[test]
fn what_a_binary_log_must_be_like_matters_if_there_is_one() {
    let settings = |log| [("log_bin", log), ("binlog_format", "STATEMENT"), ("sync_binlog", "1")];
    assert_eq!(checked("", &settings("OFF"), &[]), Ok(String::new()));
    assert_eq!(checked("", &[("log_bin", "OFF"), ("sync_binlog", "0")], &[]), Ok(String::new()));
    // No write would succeed.
    for (options, on) in [("", "ON"), ("unsafe=allow", "ON"), ("", "1")] {
        let refused = checked(options, &settings(on), &[]);
        let Err(LedgerError::Unfit(text)) = refused else { panic!("{refused:?}") };
        assert!(text.contains("binlog_format = STATEMENT") && text.contains("ROW or MIXED"), "{text}");
    }
}

#[test]
fn on_a_cluster_a_read_waits_for_what_other_nodes_have_written() {
    let is_said = |variables: &[(&str, &str)]| {
        let (outcome, heard) = meets("", variables, &[]);
        assert!(outcome.is_ok() && heard.contains("READ COMMITTED"), "{outcome:?} {heard}");
        heard.contains("wsrep_sync_wait = 7")
    };
    for on in ["ON", "1"] {
        assert!(is_said(&[("wsrep_on", on)]), "{on}");
    }
    // MySQL has no such variable.
    assert!(!is_said(&[("wsrep_on", "OFF")]) && !is_said(&[]));
}

/// A server's sessions may begin with any others. In the zone of one whose clocks are put back, an hour comes twice a year.
#[test]
fn a_session_has_the_settings_on_which_the_statements_rely() {
    let (outcome, heard) = meets("", &[], &[]);
    assert!(outcome.is_ok(), "{outcome:?}");
    for setting in [
        "ISOLATION LEVEL READ COMMITTED",
        "TRANSACTION READ WRITE",
        "SET NAMES utf8mb4",
        "autocommit = 1",
        "completion_type = 0",
        "sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION'",
        "time_zone = '+00:00'",
        "innodb_lock_wait_timeout = 1",
    ] {
        assert!(heard.contains(setting), "{setting}: {heard}");
    }
}

#[test]
fn a_lock_of_a_table_is_waited_for_in_whole_seconds_and_never_for_none() {
    for (max_wait, seconds) in [("100ms", 1), ("999ms", 1), ("2500ms", 2), ("7s", 7)] {
        let (outcome, heard) = meets(&format!("max_wait={max_wait}"), &[], &[]);
        let wait = format!("lock_wait_timeout = {seconds}");
        assert!(outcome.is_ok() && heard.ends_with(&format!(", {wait}")), "{max_wait}: {heard}");
    }
}

#[test]
fn mysql_is_used_from_8_0_on_and_mariadb_from_10_5() {
    for version in
        ["8.0.11", "8.0.36-0ubuntu0.22.04.1", "8.4.0", "9.1.0", "10.5.1-MariaDB", "11.4.2-MariaDB-log"]
    {
        assert_eq!(checked("", &[("version", version)], &[]), Ok(String::new()), "{version}");
    }
    for (version, oldest) in [
        ("5.7.44-log", "MySQL 5.7.44-log, and floe needs 8.0 or newer"),
        ("10.4.34-MariaDB", "MariaDB 10.4.34-MariaDB, and floe needs 10.5 or newer"),
        ("5.5.68-MariaDB", "floe needs 10.5 or newer"),
    ] {
        let refused = checked("unsafe=allow", &[("version", version)], &[]);
        let Err(LedgerError::Unfit(text)) = refused else { panic!("{version}: {refused:?}") };
        assert!(text.contains(oldest), "{text}");
    }
}

#[test]
fn what_only_mysql_can_lose_ranges_by_is_refused_unless_told_otherwise() {
    for (variables, status, finding, way_out) in [
        (
            [].as_slice(),
            [("Innodb_redo_log_enabled", "OFF")].as_slice(),
            "has its redo log disabled",
            "ENABLE INNODB REDO_LOG",
        ),
        (
            &[("innodb_doublewrite", "DETECT_ONLY")],
            &[],
            "innodb_doublewrite = DETECT_ONLY",
            "Turn innodb_doublewrite on",
        ),
    ] {
        let refused = checked("", variables, status);
        let Err(LedgerError::Unfit(text)) = refused else { panic!("{finding}: {refused:?}") };
        assert!(text.contains(finding) && text.contains(way_out), "{text}");
        let remark = checked("unsafe=allow", variables, status).unwrap();
        assert!(remark.starts_with("unsafe: it ") && remark.contains(finding), "{remark}");
    }
    let fit = [("innodb_doublewrite", "DETECT_AND_RECOVER"), ("log_bin", "ON"), ("sync_binlog", "1")];
    assert_eq!(checked("", &fit, &[("Innodb_redo_log_enabled", "ON")]), Ok(String::new()));
    // A replica, or a primary that was stepped down: later it may be the primary.
    let refused = checked("unsafe=allow", &[("read_only", "OFF"), ("super_read_only", "ON")], &[]);
    assert!(
        matches!(&refused, Err(LedgerError::Unavailable(text)) if text.contains("super_read_only = ON")),
        "{refused:?}"
    );
}

#[test]
fn each_error_has_its_kind_and_its_way_out() {
    let look = "whether the server runs";
    let (rights, connections) = ("docs/ledgers.md", "max_connections");
    let of_servers = [
        (1045, "asked", "MYSQL_PWD"),
        (1698, "asked", "MYSQL_PWD"),
        (1862, "asked", "MYSQL_PWD"),
        (3118, "asked", "MYSQL_PWD"),
        (4151, "asked", "MYSQL_PWD"),
        (1130, "asked", "CREATE USER 'name'@'host'"),
        (3159, "asked", "sslmode=require"),
        (1044, "asked", rights),
        (1142, "asked", rights),
        (1143, "asked", rights),
        (1227, "asked", rights),
        (1205, "unavailable", "SHOW PROCESSLIST"),
        (1290, "unavailable", "name the primary"),
        (1792, "unavailable", "name the primary"),
        (1836, "unavailable", "name the primary"),
        (1040, "unavailable", connections),
        (1203, "unavailable", connections),
        (1226, "unavailable", connections),
        (1021, "unavailable", "make room"),
        (1114, "unavailable", "make room"),
        (1129, "unavailable", "FLUSH HOSTS"),
        (1665, "unavailable", "ROW or MIXED"),
        (1213, "unavailable", look),
        (1064, "unavailable", look),
    ]
    .map(|(code, kind, way_out)| (Error::Server { code, message: "its words".to_owned() }, kind, way_out));
    let refused = || std::io::Error::other("its words");
    let of_floe = [
        (Error::Socket(refused()), "unavailable", look),
        (Error::Tls(refused()), "unavailable", "sslrootcert"),
        (Error::NoTls, "asked", "sslmode=disable"),
        (Error::PasswordInTheClear, "asked", "do not say sslmode=disable"),
        (Error::UnknownWay("dialog".to_owned()), "asked", "caching_sha2_password"),
        (Error::Protocol("its words"), "unavailable", "the port in the URL"),
        (Error::TooLong, "unavailable", "the port in the URL"),
    ];
    for (error, expected, way_out) in of_servers.into_iter().chain(of_floe) {
        let opened = at_open(&error, "mysql:");
        assert_eq!(kind(&opened), expected, "{opened}");
        // Later, a password, a right or a setting may be changed back.
        let worked = at_work(&error, "mysql:");
        assert!(matches!(worked, LedgerError::Unavailable(_)), "{worked:?}");
        for text in [opened.to_string(), worked.to_string()] {
            assert!(
                text.contains(way_out) && text.contains(&error.to_string()),
                "`{way_out}` is not in: {text}"
            );
        }
    }
    for (code, at_first) in [(1046, "unfit"), (1049, "asked"), (1054, "unfit"), (1146, "unfit")] {
        let gone = Error::Server { code, message: "its words".to_owned() };
        assert_eq!(kind(&at_open(&gone, "mysql:")), at_first, "{code}");
        let worked = at_work(&gone, "mysql:");
        assert!(
            matches!(&worked, LedgerError::Unfit(text) if text.contains("restore")),
            "{code}: {worked:?}"
        );
    }
}
