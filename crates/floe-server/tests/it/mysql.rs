//! MySQL's protocol over a raw socket: where a name begins, and what a client is told when none may.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::harness::{PATIENCE, Server, tcp};

/// A connection that has logged in.
pub(crate) struct Client(TcpStream);

impl Client {
    pub(crate) async fn of(server: &Server) -> Self {
        let (_, endpoint) = server.started.ports.iter().find(|(spoken, _)| *spoken == "MySQL").unwrap();
        let mut client = Self(TcpStream::connect(tcp(endpoint)).await.unwrap());
        assert_eq!(client.packet().await[0], 10, "a greeting");
        // PROTOCOL_41, SECURE_CONNECTION and PLUGIN_AUTH, with an empty proof.
        let capabilities = 0x8_8200_u32.to_le_bytes();
        let login =
            [&capabilities[..], b"\0\0\0\x01\x2d", &[0; 23], b"app\0", b"\0", b"mysql_native_password\0"];
        client.send(1, &login.concat()).await;
        assert_eq!(client.packet().await[0], 0, "the login");
        client
    }

    /// The `LAST_INSERT_ID` of a statement that returns no rows, or the error with its number.
    pub(crate) async fn run(&mut self, sql: &str) -> Result<u64, (u16, String)> {
        self.send(0, &[b"\x03", sql.as_bytes()].concat()).await;
        let said = self.packet().await;
        let (&kind, mut rest) = said.split_first().unwrap();
        if kind == 0xff {
            let code = u16::from_le_bytes([rest[0], rest[1]]);
            return Err((code, String::from_utf8(rest[8..].to_vec()).unwrap()));
        }
        assert_eq!(kind, 0, "{sql}: {}", said.escape_ascii());
        let mut number = || {
            let (&first, after) = rest.split_first().unwrap();
            let length = match first {
                0xfc => 2,
                0xfd => 3,
                0xfe => 8,
                small => {
                    rest = after;
                    return small.into();
                }
            };
            let (digits, after) = after.split_at(length);
            rest = after;
            digits.iter().rev().fold(0, |number: u64, digit| number << 8 | u64::from(*digit))
        };
        let _rows = number();
        Ok(number())
    }

    pub(crate) async fn mint(&mut self, name: &str) -> Result<u64, (u16, String)> {
        self.run(&format!("REPLACE INTO `{name}` (stub) VALUES ('a')")).await
    }

    /// What `SELECT LAST_INSERT_ID()` returns.
    async fn last_insert_id(&mut self) -> String {
        self.selected("LAST_INSERT_ID()").await
    }

    /// The one value of a `SELECT`.
    async fn selected(&mut self, what: &str) -> String {
        self.send(0, &[b"\x03SELECT ", what.as_bytes()].concat()).await;
        // How many columns there are, the column, and their end; then the row and its end.
        for _ in 0..3 {
            self.packet().await;
        }
        let row = self.packet().await;
        self.packet().await;
        String::from_utf8(row[1..].to_vec()).unwrap()
    }

    async fn send(&mut self, number: u8, payload: &[u8]) {
        let length = u32::try_from(payload.len()).unwrap().to_le_bytes();
        self.0.write_all(&[&length[..3], &[number], payload].concat()).await.unwrap();
    }

    async fn packet(&mut self) -> Vec<u8> {
        let mut header = [0; 4];
        timeout(PATIENCE, self.0.read_exact(&mut header)).await.expect("no answer").unwrap();
        let mut payload = vec![0; u32::from_le_bytes([header[0], header[1], header[2], 0]) as usize];
        timeout(PATIENCE, self.0.read_exact(&mut payload)).await.expect("half an answer").unwrap();
        payload
    }
}

const NAMES: &str = "new_names = 'ask for first'\n\
    [[name]]\nname = 'f-*'\nkind = 'segment'\nfirst = 1000\n[[name]]\nname = 'c-*'\nkind = 'counter'\nfirst = 1000\n\
    [[name]]\nname = 's-*'\nkind = 'segment'\n[[name]]\nname = 't-*'\nkind = 'counter'\n\
    [[name]]\nname = 'i-*'\nkind = 'segment'\nincrement = 10\noffset = 3\n";

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_alter_table_makes_begins_at_its_number() {
    let server = Server::of(NAMES).await;
    let mut client = Client::of(&server).await;
    for (name, next, begins) in [
        ("s-1", 501, 501),
        ("t-1", 501, 501),
        ("i-1", 501, 503),
        // A name can be told to begin at 1.
        ("s-2", 1, 1),
        ("t-2", 1, 1),
        // The larger of what a file and a call say.
        ("f-1", 5_000, 5_000),
        ("c-1", 5_000, 5_000),
        ("c-2", 5, 1_000),
    ] {
        let altered = client.run(&format!("ALTER TABLE `{name}` AUTO_INCREMENT = {next}")).await;
        assert_eq!(altered, Ok(0), "{name}");
        assert_eq!(client.mint(name).await, Ok(begins), "{name}");
    }
    // A counter in use is moved on, and never back; a segment is held in part by servers.
    assert_eq!(client.run("ALTER TABLE `t-1` AUTO_INCREMENT = 7").await, Ok(0));
    assert_eq!(client.mint("t-1").await, Ok(502));
    assert_eq!(client.run("ALTER TABLE `t-1` AUTO_INCREMENT = 700").await, Ok(0));
    assert_eq!(client.mint("t-1").await, Ok(700));
    let (code, text) = client.run("ALTER TABLE `s-1` AUTO_INCREMENT = 700").await.unwrap_err();
    assert!(code == 1064 && text.contains("is in use"), "{code} {text}");
    // Only a number that nobody holds can be promised by a raise: 501 was minted, and the rest of a step is held.
    for (next, may_be_past) in [(7, true), (700, true), (1_000_000, false)] {
        let refused = client.run(&format!("ALTER TABLE `s-1` AUTO_INCREMENT = {next}")).await;
        let (code, text) = refused.unwrap_err();
        assert!(code == 1064 && text.contains(&format!("floe marks raise s-1 --to {next}")), "{code} {text}");
        assert_eq!(text.contains("never goes back"), may_be_past, "{text}");
    }
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_number_that_a_name_cannot_begin_at_makes_no_name() {
    let server = Server::of(NAMES).await;
    let mut client = Client::of(&server).await;
    for (name, next, expected, says) in [
        ("f-22", 5, 1064, "`f-22` begins at 1000 (first in its [[name]]), and 5 is below that"),
        ("s-3", 9_223_372_036_854_775_808_u64, 1467, "2^63"),
        ("i-2", 9_223_372_036_854_775_807, 1467, "has no number from 9223372036854775807 on"),
    ] {
        let refused = client.run(&format!("ALTER TABLE `{name}` AUTO_INCREMENT = {next}")).await;
        let (code, text) = refused.unwrap_err();
        assert!(code == expected && text.contains(says), "{name}: {code} {text}");
        server.problem(&format!("/v1/names/{name}"), 404).await;
    }
    // Whoever goes on without gets what the file says, or is asked.
    assert_eq!(client.mint("f-22").await, Ok(1_000));
    let (code, text) = client.mint("s-3").await.unwrap_err();
    assert!(code == 1146 && text.contains("first = N") && text.contains("--to N"), "{code} {text}");
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn who_takes_over_a_connection_gets_no_number_of_its_last_user() {
    let server = Server::of("[[name]]\nname = 'tickets'\nkind = 'segment'\n").await;
    let mut client = Client::of(&server).await;
    let (reset, change_user) = (&b"\x1f"[..], &b"\x11app\0\0\0\x2d\0mysql_native_password\0"[..]);
    for command in [reset, change_user] {
        let minted = client.mint("tickets").await.unwrap();
        assert_eq!(client.last_insert_id().await, minted.to_string());
        client.send(0, command).await;
        let said = client.packet().await;
        assert_eq!(said[0], 0, "{}", said.escape_ascii());
        assert_eq!(client.last_insert_id().await, "0", "{}", command.escape_ascii());
    }
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn who_did_not_see_a_refusal_gets_no_number_a_second_time() {
    let server =
        Server::of("limits = { max_batch = 2 }\n[[name]]\nname = 'tickets'\nkind = 'segment'\n").await;
    let mut client = Client::of(&server).await;
    for refused in [
        "INSERT INTO tickets (stub) VALUES ('a'), ('b'), ('c')",
        "INSERT INTO `no name` (stub) VALUES ('a')",
        "INSERT INTO tickets (stub) VALUES (?)",
        "INSERT INTO tickets (stub) VALUES (1 + 1",
    ] {
        let minted = client.mint("tickets").await.unwrap();
        assert_eq!(client.selected("@@identity").await, minted.to_string());
        client.run(refused).await.unwrap_err();
        for last in ["LAST_INSERT_ID()", "@@identity", "@@last_insert_id"] {
            let (code, text) = client.run(&format!("SELECT {last}")).await.unwrap_err();
            assert!(code == 1105 && text.contains("was refused"), "{refused}: {code} {text}");
        }
    }
    let minted = client.mint("tickets").await.unwrap();
    assert_eq!(client.last_insert_id().await, minted.to_string());
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_statement_has_no_more_rows_than_a_call_may_ask_for_ids() {
    let server = Server::of("[limits]\nmax_batch = 3\n[[name]]\nname = 'tickets'\nkind = 'segment'\n").await;
    let mut client = Client::of(&server).await;
    assert_eq!(client.run("INSERT INTO tickets () VALUES (), (), ()").await, Ok(1));
    let (code, text) = client.run("INSERT INTO tickets () VALUES (), (), (), ()").await.unwrap_err();
    assert!(code == 1064 && text.contains("limits.max_batch"), "{code} {text}");
    assert_eq!(client.mint("tickets").await, Ok(4), "nothing was minted for it");
    server.stop().await.unwrap();
}

/// A client counts on from the first number by one.
#[tokio::test(flavor = "multi_thread")]
async fn several_rows_get_numbers_that_follow_one_another_by_one_or_none() {
    let server = Server::of(NAMES.trim_start_matches("new_names = 'ask for first'\n")).await;
    let mut client = Client::of(&server).await;
    assert_eq!(client.run("INSERT INTO `s-1` () VALUES (), ()").await, Ok(1));
    assert_eq!(client.run("INSERT INTO `i-1` () VALUES ()").await, Ok(3));
    let (code, text) = client.run("INSERT INTO `i-1` () VALUES (), ()").await.unwrap_err();
    assert!(code == 1366 && text.contains("one row at a time"), "{code} {text}");
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_connection_prepares_is_bounded_in_bytes_and_counts_no_more_once_it_is_closed() {
    const MOST: usize = 64;
    let server = Server::of("[[name]]\nname = 'tickets'\nkind = 'segment'\n").await;
    let mut client = Client::of(&server).await;
    let text = format!("\x16REPLACE INTO tickets (stub) VALUES ('{}')", "x".repeat(16 << 10));
    let prepare = async |client: &mut Client| {
        client.send(0, text.as_bytes()).await;
        client.packet().await
    };
    for _ in 0..MOST {
        let said = prepare(&mut client).await;
        assert_eq!(said[0], 0, "{}", said.escape_ascii());
        // Which is not answered.
        client.send(0, &[b"\x19", &said[1..5]].concat()).await;
    }
    for prepared in 0..MOST {
        let said = prepare(&mut client).await;
        if said[0] == 0xff {
            // They count among what is held for clients.
            let held = server.held().await;
            assert!(held >= 2 * (prepared * text.len()) as u64, "{held} for {prepared}");
            assert_eq!(u16::from_le_bytes([said[1], said[2]]), 1461, "{}", said.escape_ascii());
            server.stop().await.unwrap();
            return;
        }
    }
    panic!("it may prepare as much as it wants");
}
