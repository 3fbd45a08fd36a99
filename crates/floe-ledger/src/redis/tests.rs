//! URLs and the environment, without a server.

use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::thread;
use std::time::Duration;

use floe::ledger::LedgerError;
use redis::{ErrorKind, ParsingError, RedisError};

use super::checks::{check_state, facts};
use super::keys::{Keys, ahead_of, place_of};
use super::trouble::{at_open, at_work};
use super::url::Settings;
use super::{Trouble, open_url};
use crate::remote::ssl_mode::{Use, Verify};
use crate::remote::tests::{golden, kind};
use crate::remote::url::Reach;
use crate::{OpenError, Opening};

fn parse(url: &str, auth: Option<&str>) -> Result<Settings, OpenError> {
    Settings::parse(url, &|variable| auth.filter(|_| variable == "REDISCLI_AUTH").map(str::to_owned))
}

#[track_caller]
fn refused(url: &str) -> String {
    match parse(url, None) {
        Err(error) => error.to_string(),
        Ok(settings) => panic!("{url} was taken as {}", settings.reach.shown),
    }
}

#[test]
fn what_is_shown_has_no_credentials() {
    for (url, shown) in [
        ("redis://floe:secret@db", "redis://db:6379/0"),
        ("redis://floe:s%40c%2Fr%3Fet@db:6000/3?max_wait=1s", "redis://db:6000/3"),
        ("rediss://:secret@db/?sslmode=require", "rediss://db:6379/0"),
        ("redis://secret@[::1]:7/15", "redis://[::1]:7/15"),
        ("redis://[::1]", "redis://[::1]:6379/0"),
    ] {
        assert_eq!(parse(url, None).unwrap().reach.shown, shown);
    }
}

#[test]
fn credentials_come_from_the_url_the_environment_or_a_file() {
    let of = |url: &str, auth| {
        let settings = parse(url, auth).unwrap();
        (settings.user, settings.password)
    };
    let some = |text: &str| Some(text.to_owned());
    assert_eq!(of("redis://floe:s%40c%3Aret@db", Some("no")), (some("floe"), some("s@c:ret")));
    assert_eq!(of("redis://:secret@db", None), (None, some("secret")));
    assert_eq!(of("redis://floe@db", Some("theirs")), (some("floe"), some("theirs")));
    assert_eq!(of("redis://floe@db", None), (some("floe"), None));
    assert_eq!(of("redis://db", Some("theirs")), (None, some("theirs")));

    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), "in a file\n").unwrap();
    let url = format!("redis://floe@db?password_file={}", file.path().display());
    assert_eq!(of(&url, Some("theirs")), (some("floe"), some("in a file")));
    let text = refused(&url.replace("floe@", "floe:secret@"));
    assert!(text.contains("leave one out") && !text.contains("secret"), "{text}");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(file.path(), fs::Permissions::from_mode(0o640)).unwrap();
        assert!(refused(&url).contains("chmod 600"));
    }
}

#[test]
fn options_bound_what_they_say() {
    let bounds = |options: &str| {
        let bounds = parse(&format!("redis://db?{options}"), None).unwrap().reach.bounds;
        (bounds.max_wait, bounds.connect)
    };
    assert_eq!(bounds(""), (Duration::from_secs(5), Duration::from_secs(3)));
    assert_eq!(bounds("max_wait=10s&connect_timeout=7"), (Duration::from_secs(10), Duration::from_secs(7)));
    assert_eq!(bounds("max_wait=500ms"), (Duration::from_millis(500), Duration::from_millis(500)));
    assert!(parse("redis://db?unsafe=allow", None).unwrap().reach.allows_unsafe);
    assert!(!parse("redis://db?unsafe=refuse", None).unwrap().reach.allows_unsafe);
}

#[test]
fn tls_checks_everything_unless_told_otherwise() {
    let verify = |url: &str| {
        let tls = parse(url, None).unwrap().reach.tls;
        (tls.wanted == Use::Always).then_some(tls.verify)
    };
    assert_eq!(verify("redis://db"), None);
    assert_eq!(verify("redis://db?sslmode=disable"), None);
    assert_eq!(verify("rediss://db"), Some(Verify::Full("system".into())));
    assert_eq!(verify("rediss://db?sslrootcert=/ca.pem"), Some(Verify::Full("/ca.pem".into())));
    assert_eq!(verify("rediss://db?sslmode=require"), Some(Verify::Nothing));
    assert_eq!(
        verify("rediss://db?sslmode=verify-ca&sslrootcert=/ca.pem"),
        Some(Verify::Chain("/ca.pem".into()))
    );
}

#[test]
fn what_cannot_be_right_is_refused_and_no_password_repeated() {
    for (url, part) in [
        ("redis:db", "no URL of a Redis server"),
        ("redis://floe:secret@db:port", "no URL of a Redis server"),
        ("redis://floe:sec/ret@db", "%2F for /"),
        ("redis://floe:sec?ret@db", "%3F for ?"),
        ("redis://floe:sec#ret@db", "%23 for #"),
        ("redis://floe:sec%ffret@db", "no URL of a Redis server"),
        ("redis://floe:secret@", "no URL of a Redis server"),
        ("redis:///0", "no URL of a Redis server"),
        ("redis://floe:secret@a:1,b:2/0", "names several hosts"),
        ("redis://floe:secret@db/ids", "write a number"),
        ("redis://floe:secret@db/-1", "write a number"),
        ("redis://floe:secret@db?timeout=1", "no option `timeout`: it has max_wait, connect_timeout"),
        ("redis://db?max_wait=soon", "500ms or 10s"),
        ("redis://db?connect_timeout=0", "from 1 to 3600"),
        ("redis://db?connect_timeout=3s", "whole seconds"),
        ("redis://db?unsafe=yes", "allow or refuse"),
        ("redis://db?sslmode=verify-full", "write rediss://"),
        ("redis://db?sslrootcert=/ca.pem", "write rediss://"),
        ("rediss://db?sslmode=disable", "one of verify-full, require, verify-ca"),
        ("rediss://db?sslmode=prefer", "one of verify-full, require, verify-ca"),
        ("rediss://db?sslmode=allow", "verify-full"),
        ("rediss://db?sslmode=verify-ca", "sslrootcert=FILE"),
        ("rediss://db?sslmode=verify-ca&sslrootcert=system", "sslmode=verify-full"),
    ] {
        let text = refused(url);
        assert!(text.contains(part), "`{part}` is not in: {text}");
        assert!(!text.contains("sec") || !url.contains("sec") || text.contains("seconds"), "{text}");
    }
}

#[test]
fn no_realm_meets_the_keys_of_another() {
    assert_eq!(Keys::of("shop").fields, "floe:{shop}:fields");
    for (key, place) in [
        ("realm/shop", ("shop", "realm")),
        ("mark/shop/n/a/b", ("shop", "mark/n/a/b")),
        ("made/shop/s/10/7", ("shop", "made/s/10/7")),
        ("mark/shop/", ("shop", "mark/")),
    ] {
        assert_eq!(place_of(key), (place.0, place.1.to_owned()));
    }
    assert_eq!(ahead_of("mark/mark/n/mark/"), ("mark", "ahead/n/mark/".to_owned()));
    // A cluster's slot comes from the text between the first brace and the next closing one.
    for realm in ["}", "a}:m:n", "{", "{}", "a%7D", "s"] {
        let key = Keys::of(realm).records;
        let tag = key.split_once('{').unwrap().1.split_once('}').unwrap();
        assert!(!tag.0.is_empty() && tag.1.is_empty(), "{key}");
    }
    assert_ne!(Keys::of("a}").records, Keys::of("a%7D").records);
    // By another key a realm that is there would not be found, and begin again.
    assert_eq!(Keys::of("a{b}%").records, "floe:{a%7Bb%7D%25}");
}

#[test]
fn a_server_that_cannot_be_right_or_is_not_ready_is_named() {
    let sound = "redis_version:7.0.15\r\nredis_mode:standalone\r\nloading:0\r\nrole:master\r\naof_enabled:1\r\n\
                 aof_last_write_status:ok\r\n";
    for (from, to, verdict) in [
        ("7.0.15", "6.2.0", None),
        ("7.0.15", "10.1.0", None),
        ("7.0.15", "6.0.16", Some(("unfit", "floe needs 6.2 or newer"))),
        ("redis_version:7.0.15", "", Some(("unfit", "floe needs 6.2 or newer"))),
        ("standalone", "sentinel", Some(("unfit", "name the master that it watches"))),
        ("loading:0", "loading:1", Some(("unavailable", "is still reading its files"))),
        ("role:master", "role:slave", Some(("unavailable", "is a replica"))),
        ("role:master", "", Some(("unavailable", "is a replica"))),
        ("status:ok", "status:err", Some(("unavailable", "make room on its disk"))),
        ("aof_last_write_status:ok", "", Some(("unavailable", "make room on its disk"))),
        // Where there is no such file, nothing was lost of it.
        ("aof_enabled:1\r\naof_last_write_status:ok", "aof_enabled:0\r\naof_last_write_status:err", None),
    ] {
        let outcome = check_state(&facts(&sound.replace(from, to)), "redis://db:6379/0");
        match (verdict, outcome) {
            (None, Ok(())) => {}
            (Some((expected, part)), Err(Trouble::Ledger(error))) => {
                let error = OpenError::from(error);
                assert_eq!(kind(&error), expected, "{to}: {error}");
                assert!(error.to_string().contains(part), "{to}: {error}");
            }
            (_, outcome) => panic!("{from} {to}: {outcome:?}"),
        }
    }
}

/// What a server that is fit says of itself.
const INFO: &str = "redis_version:7.0.15\r\nrole:master\r\naof_enabled:1\r\naof_last_write_status:ok\r\n\
                    maxmemory_policy:noeviction\r\n";

/// The answer to a command that is a text.
fn bulk(text: &str) -> String {
    format!("${}\r\n{text}\r\n", text.len())
}

/// Why a server that says this of itself is not opened, and the commands that it hears. It answers those that begin with
/// the first text of a pair with the second one, and knows none of floe's scripts.
fn meets(rest: &str, says: &[(&str, &str)]) -> (OpenError, Vec<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("redis://127.0.0.1:{}{rest}", listener.local_addr().unwrap().port());
    let info = bulk(INFO);
    let file = "*4\r\n$11\r\nappendfsync\r\n$6\r\nalways\r\n$25\r\nno-appendfsync-on-rewrite\r\n$2\r\nno\r\n";
    let fit = [
        ("CLIENT", "+OK\r\n"),
        ("SELECT", "+OK\r\n"),
        ("INFO", &info),
        ("CONFIG", file),
        ("EVALSHA", "-ERR no script\r\n"),
    ];
    thread::scope(|scope| {
        let heard = scope.spawn(|| {
            let mut socket = BufReader::new(listener.accept().unwrap().0);
            let mut heard = Vec::new();
            let line = |socket: &mut BufReader<_>| {
                let mut line = String::new();
                let _length = socket.read_line(&mut line).unwrap_or_default();
                line.get(1..).and_then(|number| number.trim_end().parse::<usize>().ok())
            };
            while let Some(words) = line(&mut socket) {
                let word = |_| {
                    let mut word = vec![0; line(&mut socket).unwrap() + 2];
                    socket.read_exact(&mut word).unwrap();
                    String::from_utf8_lossy(&word).trim_end().to_owned()
                };
                let command = (0..words).map(word).collect::<Vec<_>>().join(" ");
                let answer = says.iter().chain(&fit).find(|(begin, _)| command.starts_with(begin)).unwrap();
                heard.push(command);
                socket.get_mut().write_all(answer.1.as_bytes()).unwrap();
            }
            heard
        });
        let error = open_url(&url, &Opening::of("test")).err().unwrap();
        (error, heard.join().unwrap())
    })
}

#[test]
fn a_user_without_a_right_that_floe_does_not_need_is_let_in() {
    let is_let_in = |says: &[(&str, &str)]| {
        let (error, heard) = meets("", says);
        // Past all checks of the server.
        assert!(error.to_string().contains("no script"), "{says:?}: {error}");
        heard
    };
    let heard = is_let_in(&[]);
    assert!(heard.last().unwrap().starts_with("EVALSHA "), "{heard:?}");
    // Neither SELECT nor CLIENT SETINFO, which a user may lack as well.
    assert_eq!(heard[..heard.len() - 1], ["CLIENT SETNAME floe", "INFO", "CONFIG GET *append*"]);
    for refusal in [
        "-NOPERM this user has no permissions to run the 'client|setname' command\r\n",
        "-ERR unknown command 'CLIENT', with args beginning with: 'SETNAME' 'floe'\r\n",
        "-ERR Unknown subcommand or wrong number of arguments for 'SETNAME'. Try CLIENT HELP.\r\n",
        "-ERR unknown subcommand 'SETNAME'. Try CLIENT HELP.\r\n",
    ] {
        is_let_in(&[("CLIENT", refusal)]);
    }
    let (_, heard) = meets("/3", &[]);
    assert_eq!(heard[0], "SELECT 3");
}

/// As of a work-alike that has no such settings, and may flush whenever it likes.
#[test]
fn a_setting_that_a_server_does_not_tell_is_not_taken_for_the_right_one() {
    let always = "*2\r\n$11\r\nappendfsync\r\n$6\r\nalways\r\n";
    let info = |left_out| bulk(&INFO.replace(left_out, ""));
    for (command, says, words) in [
        ("CONFIG", "*0\r\n", "has appendfsync = (unknown)"),
        ("CONFIG", always, "has no-appendfsync-on-rewrite = (unknown)"),
        ("INFO", &info("aof_enabled:1\r\n"), "has appendonly = no"),
        ("INFO", &info("maxmemory_policy:noeviction\r\n"), "has maxmemory-policy = (unknown)"),
    ] {
        let (error, _) = meets("", &[(command, says)]);
        assert!(matches!(error, OpenError::Ledger(LedgerError::Unfit(_))), "{error:?}");
        assert!(error.to_string().contains(words), "{error}");
    }
}

/// It may be let look a moment later, and `unsafe=allow` does not say that it need not.
#[test]
fn a_server_that_cannot_tell_its_settings_now_is_not_taken_for_one_that_hides_them() {
    for options in ["", "?unsafe=allow"] {
        for command in ["INFO", "CONFIG"] {
            let (error, _) =
                meets(options, &[(command, "-LOADING Redis is loading the dataset in memory\r\n")]);
            let told = error.to_string();
            assert!(matches!(error, OpenError::Ledger(LedgerError::Unavailable(_))), "{command}: {told}");
            assert!(told.contains("LOADING") && !told.contains("does not let floe"), "{command}: {told}");
            let hides = "-ERR unknown subcommand 'GET'. Try CONFIG HELP.\r\n";
            let (error, _) = meets(options, &[(command, hides)]);
            let part = if options.is_empty() { "does not let floe read its settings" } else { "no script" };
            assert!(error.to_string().contains(part), "{command}: {error}");
        }
    }
}

/// A later try finds all keys of a slot on one node.
#[test]
fn a_realm_that_a_cluster_moves_is_unavailable_and_one_on_another_node_is_the_callers_error() {
    let other = "name it in the URL";
    let moves = "wait until it has";
    for (says, expected, part) in [
        ("-MOVED 3999 10.0.0.7:6381\r\n", "asked", other),
        ("-ASK 3999 10.0.0.7:6381\r\n", "unavailable", moves),
        ("-TRYAGAIN Multiple keys request during rehashing of slot\r\n", "unavailable", moves),
        ("-CLUSTERDOWN The cluster is down\r\n", "unavailable", "whether the server runs"),
    ] {
        let (error, _) = meets("", &[("EVALSHA", says)]);
        assert_eq!(kind(&error), expected, "{error}");
        assert!(error.to_string().contains(part), "{error}");
    }
}

#[test]
fn a_server_that_is_full_or_busy_is_unavailable_and_has_its_way_out() {
    let in_script = "-ERR Error running script (call to f_0): @user_script: 12: -OOM command not allowed";
    for (command, says, part) in [
        ("EVALSHA", "-MISCONF Errors writing to the AOF file: No space left on device", "and make room"),
        ("EVALSHA", "-BUSY Redis is busy running a script.", "wait, or use SCRIPT KILL"),
        ("EVALSHA", in_script, "raise maxmemory"),
        ("CLIENT", "-ERR max number of clients reached", "raise maxclients"),
    ] {
        let (error, _) = meets("", &[(command, &format!("{says}\r\n"))]);
        assert_eq!(kind(&error), "unavailable", "{error}");
        assert!(error.to_string().contains(part), "{error}");
    }
    let settings = parse("redis://db", None).unwrap();
    for (broken, may_be_full) in [
        (io::ErrorKind::BrokenPipe, true),
        (io::ErrorKind::ConnectionReset, true),
        (io::ErrorKind::ConnectionRefused, false),
    ] {
        let told = at_open(&io::Error::from(broken).into(), &settings).to_string();
        assert!(told.contains("whether the server runs"), "{told}");
        assert_eq!(told.contains("raise maxclients"), may_be_full, "{told}");
    }
}

#[test]
fn an_answer_that_no_script_of_floes_gives_is_damage_and_not_an_outage() {
    let settings = parse("redis://db", None).unwrap();
    let no_text = String::from_utf8(vec![0xff]).unwrap_err();
    for (error, is_damage) in [
        (RedisError::from((ErrorKind::UnexpectedReturnType, "odd")), true),
        (ParsingError::from(no_text.utf8_error()).into(), true),
        (ParsingError::from(no_text).into(), true),
        (ParsingError::from("unexpected end of input").into(), false),
        (RedisError::from((ErrorKind::Io, "odd")), false),
    ] {
        for told in [at_work(&error, &settings).into(), at_open(&error, &settings)] {
            let OpenError::Ledger(told) = told else { panic!("{told:?}") };
            assert_eq!(matches!(told, LedgerError::Unfit(_)), is_damage, "{told:?}");
            assert_eq!(told.to_string().contains("no floe has written"), is_damage, "{told}");
        }
    }
}

#[test]
fn every_url_means_what_it_meant() {
    golden("redis", |url, environment| {
        let Settings { at, database, user, password, reach } = Settings::parse(url, environment)?;
        let Reach { shown, bounds, tls, allows_unsafe } = reach;
        let rest = format!(
            "at={:?}:{} database={database} user={user:?} password={password:?} tls={:?} wait={:?} connect={:?} \
             unsafe={allows_unsafe}",
            at.host,
            at.port,
            (tls.wanted == Use::Always).then_some(tls.verify),
            bounds.max_wait,
            bounds.connect
        );
        Ok((shown, rest))
    });
}
