//! memcached's protocol over raw sockets, in lines and in packets.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;

use crate::harness::{PATIENCE, Server, directory, file, until};
use crate::hostile::{answer, connect, rest};

const COUNTERS: &str =
    "[[name]]\nname = \"a\"\nkind = \"counter\"\n[[name]]\nname = \"b\"\nkind = \"counter\"\n";

const VERSION: &str = concat!("1.6.0-floe-", env!("CARGO_PKG_VERSION"));

/// A request of the binary protocol, with `opaque` as the client's number for it.
fn packet(opcode: u8, key: &[u8], opaque: u32) -> Vec<u8> {
    let length = u8::try_from(key.len()).unwrap();
    let mut bytes = vec![0x80, opcode, 0, length, 0, 0, 0, 0, 0, 0, 0, length];
    bytes.extend(opaque.to_be_bytes());
    bytes.extend([0; 8]);
    bytes.extend(key);
    bytes
}

/// Opcode, status, opaque, key and value of each reply.
fn replies(mut bytes: &[u8]) -> Vec<(u8, u16, u32, String, String)> {
    let mut found = Vec::new();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    while !bytes.is_empty() {
        let (head, rest) = bytes.split_at(24);
        assert_eq!(head[0], 0x81);
        let number = |range: std::ops::Range<usize>| {
            head[range].iter().fold(0_u32, |number, byte| number << 8 | u32::from(*byte))
        };
        let (key, extras, body) = (number(2..4) as usize, usize::from(head[4]), number(8..12) as usize);
        let status = u16::try_from(number(6..8)).unwrap();
        let (body, rest) = rest.split_at(body);
        let value = text(&body[extras + key..]);
        found.push((head[1], status, number(12..16), text(&body[extras..extras + key]), value));
        bytes = rest;
    }
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_of_lines() {
    let server = Server::of(COUNTERS).await;
    let said = answer(
        &server,
        b"get a\r\nGETS a b\r\nget a a\nget b\r\nversion\r\nverbosity 1\r\nset a 0 0 5\r\nget a\r\nset a 0 0 1 noreply\r\nx\r\nincr a 1\r\ndelete a\r\ngat 1 a\r\nstats items\r\nget\r\nquit\r\nget a\r\n",
    )
    .await;
    let stores = "CLIENT_ERROR bad-request: floe mints IDs and stores nothing: it serves get and gets (their keys are names), stats, version and quit\r\n";
    let expected = format!(
        "VALUE a 0 1\r\n1\r\nEND\r\nVALUE a 0 1 1\r\n2\r\nVALUE b 0 1 2\r\n1\r\nEND\r\nVALUE a 0 1\r\n3\r\nVALUE a 0 1\r\n4\r\nEND\r\nVALUE b 0 1\r\n2\r\nEND\r\nVERSION {}\r\nOK\r\n{stores}{stores}{stores}ERROR\r\nEND\r\nERROR\r\n",
        VERSION
    );
    assert_eq!(said, expected);
    let said = answer(&server, b"stats\r\nquit\r\n").await;
    let figures: Vec<_> =
        said.lines().filter_map(|line| line.strip_prefix("STAT ")?.split_once(' ')).collect();
    let names: Vec<_> = figures.iter().map(|(name, _)| *name).collect();
    assert_eq!(
        names.join("|"),
        "pid|uptime|time|version|curr_connections|total_connections|cmd_get|get_hits|get_misses"
    );
    // Four calls of six keys; and one of HTTP's, which is counted with them.
    assert_eq!(figures[6..], [("cmd_get", "4"), ("get_hits", "6"), ("get_misses", "0")]);
    server.problem("/id", 404).await;
    let stats = server.json("/stats").await;
    let counts = ["cmd_get", "get_hits", "get_misses"].map(|name| stats[name].as_u64().unwrap());
    assert_eq!(counts, [5, 6, 1], "{stats}");
    assert!(said.ends_with("\r\nEND\r\n"), "{said}");
    let metrics = server.text("/metrics").await;
    assert!(metrics.contains("floe_commands_total{protocol=\"memcached\",outcome=\"ok\"}"), "{metrics}");
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_of_packets() {
    let server = Server::of(COUNTERS).await;
    let requests = [
        packet(0x00, b"a", 1),
        packet(0x09, b"a", 2),
        packet(0x0c, b"a", 3),
        packet(0x0d, b"b", 4),
        packet(0x0c, b"nope", 5),
        packet(0x0d, b"b", 6),
        packet(0x0a, b"", 7),
        packet(0x0b, b"", 8),
        packet(0x05, b"a", 9),
        packet(0x00, b"", 10),
        packet(0x10, b"", 11),
        packet(0x10, b"items", 12),
        packet(0x07, b"", 13),
    ];
    let mut stream = connect(&server).await;
    stream.write_all(&requests.concat()).await.unwrap();
    let replies = replies(&rest(&mut stream).await);
    let short: Vec<_> = replies
        .iter()
        .filter(|(opcode, ..)| *opcode != 0x10)
        .map(|(opcode, status, opaque, key, value)| (*opcode, *status, *opaque, key.as_str(), value.as_str()))
        .collect();
    assert_eq!(
        short[..4],
        [(0, 0, 1, "", "1"), (9, 0, 2, "", "2"), (0x0c, 0, 3, "a", "3"), (0x0d, 0, 4, "b", "1")]
    );
    assert_eq!((short[4].1, short[4].2), (0x04, 5));
    assert!(short[4].4.starts_with("unknown-name: there is no name `nope`"), "{}", short[4].4);
    assert_eq!(short[5], (0x0d, 0, 6, "b", "2"));
    assert_eq!(short[6..8], [(0x0a, 0, 7, "", ""), (0x0b, 0, 8, "", VERSION)]);
    assert_eq!((short[8].1, short[9].1), (0x81, 0x04));
    assert!(short[8].4.contains("stores nothing"), "{}", short[8].4);
    assert_eq!(short[10..], [(0x07, 0, 13, "", "")]);
    let stats: Vec<_> = replies.iter().filter(|(opcode, ..)| *opcode == 0x10).collect();
    assert_eq!(stats.len(), 9 + 1 + 1, "nine figures and their end, and an end");
    assert!(stats.iter().any(|(_, _, opaque, key, value)| (*opaque, key.as_str(), value.as_str()) == (11, "cmd_get", "6")));
    assert!(stats[9].3.is_empty() && stats[10].3.is_empty());
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_quiet_get_that_fails_is_the_last_to_be_answered() {
    let server = Server::of(COUNTERS).await;
    for (opcode, answered) in [(0x09, 2), (0x0d, 2), (0x00, 4), (0x0c, 4)] {
        let requests = [
            packet(0x0d, b"a", 1),
            packet(opcode, b"nope", 2),
            packet(0x0d, b"b", 3),
            packet(0x0a, b"", 4),
            packet(0x17, b"", 5),
        ];
        let mut stream = connect(&server).await;
        stream.write_all(&requests.concat()).await.unwrap();
        let replies = replies(&rest(&mut stream).await);
        let opaques: Vec<_> = replies.iter().map(|(_, status, opaque, ..)| (*opaque, *status == 0)).collect();
        let all = [(1, true), (2, false), (3, true), (4, true)];
        // Neither a miss, nor answers that a client which has given up the batch would take for later ones.
        assert_eq!(opaques, all[..answered], "{opcode}");
    }
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_get_of_several_comes_to_all_of_its_ids_or_to_one_error() {
    let server = Server::of(&format!("limits = {{ max_batch = 3 }}\n{COUNTERS}")).await;
    let said = answer(&server, b"get a b\r\nget a nope b\r\nget a a a a\r\nget a\r\nquit\r\n").await;
    let lines: Vec<_> = said.lines().collect();
    assert_eq!(lines[..5], ["VALUE a 0 1", "1", "VALUE b 0 1", "1", "END"]);
    assert!(lines[5].starts_with("CLIENT_ERROR unknown-name: "), "{said}");
    assert!(lines[6].starts_with("CLIENT_ERROR bad-request: n = 4 is outside 1 to 3"), "{said}");
    // What was minted before the error is wasted.
    assert_eq!(lines[7..], ["VALUE a 0 1", "3", "END"]);
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pipeline_of_gets_is_answered_in_order_and_minted_in_few_steps() {
    let server = Server::of(&format!("limits = {{ max_batch = 1000 }}\n{COUNTERS}")).await;
    let mut stream = connect(&server).await;
    let (mut read, mut write) = stream.split();
    const GETS: usize = 20_000;
    let send = async {
        write.write_all(&b"get a\r\n".repeat(GETS)).await.unwrap();
        write.write_all(b"get b\r\nget a\r\nquit\r\n").await.unwrap();
    };
    let receive = async {
        let mut said = String::new();
        read.read_to_string(&mut said).await.unwrap();
        said
    };
    let (said, ()) = timeout(PATIENCE, async { tokio::join!(receive, send) }).await.expect("too slow");
    let ids: Vec<usize> = said.lines().filter_map(|line| line.parse().ok()).collect();
    let expected: Vec<usize> = (1..=GETS).chain([1, GETS + 1]).collect();
    assert_eq!(ids, expected);
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn every_row_of_the_table_is_an_error_in_both_forms_and_never_a_miss() {
    let directory = directory();
    let first =
        Server::start(file("[[name]]\nname = \"bound\"\nkind = \"counter\"\n"), directory.clone()).await;
    first.mint("bound", 1).await;
    first.stop().await.unwrap();
    let text = format!(
        "limits = {{ max_wait = \"300ms\" }}\n{COUNTERS}[[name]]\nname = \"bound\"\nkind = \"segment\"\n[[name]]\nname = \"few\"\nkind = \"dated\"\ndigits = 1\nzone = \"UTC\"\n"
    );
    let server = Server::start(file(&text), directory).await;
    answer(&server, &[&b"get few\r\n".repeat(20)[..], b"get a\r\nquit\r\n"].concat()).await;
    let lock = rusqlite::Connection::open(server.directory.path().join("data/floe.db")).unwrap();
    for (key, word, status) in [
        ("nope", "CLIENT_ERROR unknown-name: ", 0x04),
        ("no/name", "CLIENT_ERROR bad-request: ", 0x04),
        ("few", "SERVER_ERROR exhausted: ", 0x84),
        ("bound", "SERVER_ERROR stopped: ", 0x84),
        ("a", "SERVER_ERROR ", 0x85),
    ] {
        if key == "a" {
            lock.execute_batch("BEGIN EXCLUSIVE").unwrap();
        }
        let said = answer(&server, format!("get {key}\r\nquit\r\n").as_bytes()).await;
        assert!(said.starts_with(word) && said.lines().count() == 1, "{key}: {said}");
        let mut stream = connect(&server).await;
        stream.write_all(&[packet(0x0d, key.as_bytes(), 5), packet(0x17, b"", 0)].concat()).await.unwrap();
        let replies = replies(&rest(&mut stream).await);
        let [(opcode, found, opaque, ..)] = replies[..] else { panic!("{key}: {replies:?}") };
        // A ledger that is locked is busy, and then unavailable.
        let found = if found == 0x86 { 0x85 } else { found };
        assert_eq!((opcode, found, opaque), (0x0d, status, 5), "{key}: {replies:?}");
    }
    lock.execute_batch("ROLLBACK").unwrap();
    until("minting again", || async {
        answer(&server, b"get a\r\nquit\r\n").await.starts_with("VALUE a 0 ").then_some(())
    })
    .await;
    server.stop().await.unwrap();
}
