//! URLs, the environment, and the bytes that are sent, without a server.

use std::collections::HashMap;
use std::fs;

use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};

use super::channel::Channel;
use super::session::Session;
use super::statements::text;
use super::trouble::Error;
use super::url::Settings;
use crate::OpenError;
use crate::remote::ssl_mode::{Use, Verify};
use crate::remote::tests::golden;
use crate::remote::url::Reach;

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

/// After a request that was cut off, it may be the answer to that one.
#[test]
fn a_packet_with_another_number_is_no_answer() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let answer = |number: u8| {
        runtime.block_on(async move {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let socket = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
            let (mut server, _) = listener.accept().await.unwrap();
            // One row was changed.
            server.write_all(&[7, 0, 0, number, 0, 1, 0, 2, 0, 0, 0]).await.unwrap();
            Session::new(Channel::new(socket)).query("UPDATE").await.map(|answers| answers[0].affected)
        })
    };
    assert_eq!(answer(1).unwrap(), 1);
    for number in [0, 2, 7, 255] {
        assert!(matches!(answer(number), Err(Error::Protocol("a packet out of order"))), "{number}");
    }
}
