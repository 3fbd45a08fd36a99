//! Clients of MySQL that log in, or read, as they should not. Real clients of it are tested in floe-cli.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;

use crate::harness::{PATIENCE, Server, tcp};

/// The columns of an answer with as many as floe takes in one `SELECT`, each as long as a user name may be.
const USERS: usize = 64;
const USER_BYTES: usize = 512;

fn packet(sequence: u8, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_le_bytes();
    [&length[..3], &[sequence], payload].concat()
}

async fn read(stream: &mut TcpStream) -> Vec<u8> {
    let mut head = [0; 4];
    timeout(PATIENCE, stream.read_exact(&mut head)).await.unwrap().unwrap();
    let mut payload = vec![0; usize::from(head[0]) | usize::from(head[1]) << 8 | usize::from(head[2]) << 16];
    timeout(PATIENCE, stream.read_exact(&mut payload)).await.unwrap().unwrap();
    payload
}

/// A connection without a password that may send several statements in one query, and the answer to its login.
async fn log_in(server: &Server, user: &[u8], database: &[u8]) -> (TcpStream, Vec<u8>) {
    let (_, endpoint) = &server.started.ports[0];
    let socket = TcpSocket::new_v4().unwrap();
    // What it does not read waits in the server.
    socket.set_recv_buffer_size(8 << 10).unwrap();
    let mut stream = socket.connect(tcp(endpoint)).await.unwrap();
    read(&mut stream).await;
    // CLIENT_CONNECT_WITH_DB, PROTOCOL_41, SECURE_CONNECTION, MULTI_STATEMENTS.
    let capabilities: u32 = 0x8 | 0x200 | 0x8000 | 0x1_0000;
    let head = [&capabilities.to_le_bytes()[..], b"\0\0\0\x01\x2d", &[0; 23]].concat();
    let login = [&head[..], user, b"\0\0", database, b"\0"].concat();
    stream.write_all(&packet(1, &login)).await.unwrap();
    let said = read(&mut stream).await;
    (stream, said)
}

#[tokio::test(flavor = "multi_thread")]
async fn names_of_users_and_databases_are_bounded() {
    let server = Server::standalone().await;
    let error = |said: &[u8]| (said[0] == 0xff).then(|| u16::from_le_bytes([said[1], said[2]]));
    let (longest, longest_database) = (vec![b'u'; USER_BYTES], vec![b'd'; 256]);
    let (mut stream, said) = log_in(&server, &longest, &longest_database).await;
    assert_eq!(error(&said), None, "{}", said.escape_ascii());
    for user in [USER_BYTES + 1, 78_000] {
        let (mut refused, said) = log_in(&server, &vec![b'u'; user], b"").await;
        assert_eq!(error(&said), Some(1470), "{}", said.escape_ascii());
        assert_eq!(timeout(PATIENCE, refused.read(&mut [0; 1])).await.unwrap().unwrap(), 0);
    }
    let longer = vec![b'd'; 257];
    let (_, said) = log_in(&server, b"app", &longer).await;
    assert_eq!(error(&said), Some(1059), "{}", said.escape_ascii());
    // A connection that has logged in stays.
    for command in [[&b"\x02"[..], &longer].concat(), [&b"\x03use "[..], &longer].concat()] {
        stream.write_all(&packet(0, &command)).await.unwrap();
        assert_eq!(error(&read(&mut stream).await), Some(1059));
    }
    stream.write_all(&packet(0, b"\x0e")).await.unwrap();
    assert_eq!(error(&read(&mut stream).await), None);
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn statements_whose_answers_nobody_reads_are_not_run() {
    let server = Server::of("[[name]]\nname = \"tickets\"\nkind = \"segment\"\n").await;
    let (mut stream, said) = log_in(&server, &[b'u'; USER_BYTES], b"db").await;
    assert_eq!(said[0], 0, "{}", said.escape_ascii());
    let pair = format!("select {};replace into tickets (stub) values ('a');", ["user()"; USERS].join(","));
    let pairs = (80 << 10) / pair.len();
    stream.write_all(&packet(0, &[&b"\x03"[..], pair.repeat(pairs).as_bytes()].concat())).await.unwrap();
    let minted = || async { server.json("/v1/names/tickets").await["minted"].as_u64().unwrap() };
    let stand_still = async {
        let (mut last, mut same) = (0, 0);
        while same < 50 {
            let now = minted().await;
            same = if now == last && now > 0 { same + 1 } else { 0 };
            last = now;
        }
        last
    };
    let stopped = timeout(PATIENCE, stand_still).await.expect("nothing is answered, or all the time");
    let all = pairs as u64;
    assert!(stopped < all, "{stopped} of {all} were run, and nothing was read");
    // Each `SELECT` comes to its columns, one row and two ends, and its ticket to one packet: the numbers follow one another.
    for number in 1..=all {
        for _ in 0..1 + USERS + 3 {
            read(&mut stream).await;
        }
        let ok = read(&mut stream).await;
        assert_eq!(ok[0], 0, "{}", ok.escape_ascii());
        let (length, id) = match ok[2] {
            small @ ..=250 => (1, u64::from(small)),
            _ => (3, u64::from(u16::from_le_bytes([ok[3], ok[4]]))),
        };
        assert_eq!(id, number);
        // More follow, but after the last one.
        assert_eq!(ok[2 + length] & 8 != 0, number < all);
    }
    assert_eq!(minted().await, all);
    server.stop().await.unwrap();
}
