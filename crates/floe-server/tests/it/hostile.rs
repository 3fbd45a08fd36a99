//! Clients of HTTP that send or read as they should not. What every wire makes of hostile input is tested on the real
//! server, in floe-cli.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout};

use crate::harness::{PATIENCE, Server, until};

pub(crate) async fn connect(server: &Server) -> TcpStream {
    TcpStream::connect(server.address).await.unwrap()
}

/// Everything that the server sends until it closes the connection.
pub(crate) async fn rest(stream: &mut TcpStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    match timeout(PATIENCE, stream.read_to_end(&mut bytes)).await {
        Ok(_) => bytes,
        Err(_) => panic!("the connection stays open; so far: {}", String::from_utf8_lossy(&bytes)),
    }
}

pub(crate) async fn answer(server: &Server, request: &[u8]) -> String {
    let mut stream = connect(server).await;
    // The server may refuse before it has read all.
    let _ = stream.write_all(request).await;
    String::from_utf8_lossy(&rest(&mut stream).await).into_owned()
}

pub(crate) async fn is_well(server: &Server) {
    assert_eq!(server.text("/livez").await, "ok\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_header_without_end_is_refused() {
    let server = Server::standalone().await;
    let said =
        answer(&server, format!("GET / HTTP/1.1\r\nhost: a\r\nx: {}", "y".repeat(1 << 20)).as_bytes()).await;
    assert!(said.starts_with("HTTP/1.1 431 "), "{said}");
    let said =
        answer(&server, format!("GET /{} HTTP/1.1\r\nhost: a\r\n\r\n", "z".repeat(1 << 20)).as_bytes()).await;
    assert!(said.starts_with("HTTP/1.1 414 ") || said.starts_with("HTTP/1.1 431 "), "{said}");
    // Also where a path is routed as another one.
    let said = answer(
        &server,
        format!("GET /api/segment/get/{} HTTP/1.1\r\nhost: a\r\n\r\n", "z".repeat(9 << 10)).as_bytes(),
    )
    .await;
    assert!(said.starts_with("HTTP/1.1 414 ") && said.contains("\"status\":414"), "{said}");
    let many: String = (0..5000).map(|field| format!("x{field}: y\r\n")).collect();
    let said = answer(&server, format!("GET / HTTP/1.1\r\nhost: a\r\n{many}\r\n").as_bytes()).await;
    assert!(said.starts_with("HTTP/1.1 431 "), "{said}");
    is_well(&server).await;
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_header_that_trickles_in_is_cut_off_in_time() {
    let server = Server::of("limits = { header_timeout = \"300ms\", idle_timeout = \"1h\" }\n").await;
    let mut stream = connect(&server).await;
    let since = Instant::now();
    // One byte each time the clock moves on: bytes keep coming, and do not help.
    let trickle = async {
        let mut pace = tokio::time::interval(Duration::from_millis(20));
        for byte in b"GET /livez HTTP/1.1\r\nhost: a\r\nx: ".iter().chain(std::iter::repeat(&b'y')) {
            pace.tick().await;
            if stream.write_all(&[*byte]).await.is_err() {
                break;
            }
        }
    };
    timeout(PATIENCE, trickle).await.expect("the server reads on for ever");
    assert!(since.elapsed() >= Duration::from_millis(300), "it was cut off too early");
    // Half a request, then silence; also after a whole one on the same connection.
    let mut stream = connect(&server).await;
    stream.write_all(b"GET /livez HTTP/1.1\r\n").await.unwrap();
    rest(&mut stream).await;
    let mut stream = connect(&server).await;
    stream.write_all(b"GET /livez HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
    stream.read_exact(&mut [0; 1]).await.unwrap();
    stream.write_all(b"GET /liv").await.unwrap();
    let said = String::from_utf8_lossy(&rest(&mut stream).await).into_owned();
    assert_eq!(said.matches("TTP/1.1 200 OK").count(), 1, "{said}");
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_trickles_in_is_cut_off_in_time_without_hyper_as_well() {
    let server = Server::of("limits = { header_timeout = \"300ms\", idle_timeout = \"1h\" }\n").await;
    for begins in ["GET /v1/mint/some HTTP/1.1\r\nhost: ", "*2\r\n$4\r\nINCR\r\n$9999\r\n"] {
        let mut stream = connect(&server).await;
        let trickle = async {
            let mut pace = tokio::time::interval(Duration::from_millis(40));
            for byte in begins.bytes().chain(std::iter::repeat(b'a')) {
                pace.tick().await;
                if stream.write_all(&[byte]).await.is_err() {
                    break;
                }
            }
        };
        let ended = timeout(PATIENCE, trickle).await;
        assert!(ended.is_ok(), "the server reads on for ever: {begins}");
    }
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_trickles_in_is_cut_off_in_time() {
    let server = Server::of("limits = { header_timeout = \"1s\", idle_timeout = \"1h\" }\n").await;
    let mut stream = connect(&server).await;
    let head = "POST /api/segment/get/some HTTP/1.1\r\nhost: a\r\ncontent-length: 60000\r\n\r\n";
    stream.write_all(head.as_bytes()).await.unwrap();
    let trickle = async {
        let mut pace = tokio::time::interval(Duration::from_millis(20));
        while stream.write_all(b"y").await.is_ok() {
            pace.tick().await;
        }
    };
    timeout(PATIENCE, trickle).await.expect("the server reads on for ever");
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_header_has_its_time_once_also_where_a_connection_may_rest_sooner() {
    let server = Server::of("limits = { header_timeout = \"500ms\", idle_timeout = \"1h\" }\n").await;
    let mut stream = connect(&server).await;
    stream.write_all(b"GET /liv").await.unwrap();
    rest(&mut stream).await;
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_silent_connection_is_closed_when_it_has_been_idle() {
    let server = Server::of("limits = { idle_timeout = \"300ms\", header_timeout = \"1h\" }\n").await;
    let since = Instant::now();
    assert!(rest(&mut connect(&server).await).await.is_empty());
    assert!(since.elapsed() >= Duration::from_millis(300));
    // Also one that has asked, and one that began to speak HTTP/2 and no more.
    let mut stream = connect(&server).await;
    stream.write_all(b"GET /livez HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
    assert!(String::from_utf8_lossy(&rest(&mut stream).await).contains("200 OK"));
    let mut stream = connect(&server).await;
    stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00").await.unwrap();
    rest(&mut stream).await;
    server.stop().await.unwrap();
}

/// What a connection holds of `limits.memory` that hyper serves; every connection holds a third of that.
const HYPER: u64 = 16 << 10;

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_rests_holds_nothing_and_goes_on() {
    let server = Server::standalone().await;
    // Such a request is none of the plain ones.
    let request = b"GET /livez HTTP/1.1\r\nhost: a\r\n\r\n";
    let answered = async |stream: &mut TcpStream| {
        let mut said = Vec::new();
        while !said.ends_with(b"\r\n\r\nok\n") {
            assert_ne!(timeout(PATIENCE, stream.read_buf(&mut said)).await.unwrap().unwrap(), 0);
        }
        assert!(said.starts_with(b"HTTP/1.1 200 OK\r\n"), "{}", said.escape_ascii());
    };
    let mut streams = Vec::new();
    for at in 0..20 {
        let mut stream = connect(&server).await;
        // One has begun the next request.
        let begun = if at == 0 { &request[..9] } else { b"" };
        stream.write_all(&[request, begun].concat()).await.unwrap();
        answered(&mut stream).await;
        streams.push(stream);
    }
    for round in 0..2 {
        until("the others rest", || async { (server.held().await < 10 * HYPER).then_some(()) }).await;
        for (stream, at) in streams.iter_mut().zip(0..) {
            let rest = if (at, round) == (0, 0) { &request[9..] } else { &request[..] };
            let (one, other) = rest.split_at(at);
            stream.write_all(one).await.unwrap();
            stream.write_all(other).await.unwrap();
            answered(stream).await;
        }
    }
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_waited_once_is_served_without_hyper_while_it_asks_on() {
    // Two IDs a millisecond.
    let names = "[[name]]\nname = \"slow\"\nkind = \"snowflake\"\nlayout = \"time:41 worker:10 sequence:1\"\n\
                 tick = \"1ms\"\nepoch = \"2020-01-01T00:00:00Z\"\n[[name]]\nname = \"fast\"\nkind = \"uuid4\"\n";
    let server = Server::of(names).await;
    let request = |name: &str| format!("GET /v1/mint/{name} HTTP/1.1\r\nhost: localhost\r\n\r\n");
    let answered = async |stream: &mut TcpStream, answers: usize| {
        let mut said = Vec::new();
        while String::from_utf8_lossy(&said).matches('}').count() < answers {
            assert_ne!(timeout(PATIENCE, stream.read_buf(&mut said)).await.unwrap().unwrap(), 0);
        }
        let said = String::from_utf8_lossy(&said);
        assert_eq!(said.matches("HTTP/1.1 200 OK\r\n").count(), answers, "{said}");
    };
    let mut streams = Vec::new();
    for _ in 0..10 {
        let mut stream = connect(&server).await;
        stream.write_all(request("slow").repeat(40).as_bytes()).await.unwrap();
        answered(&mut stream, 40).await;
        streams.push(stream);
    }
    let streams = Mutex::new(streams);
    until("hyper has none of them", || async {
        let mut streams = streams.lock().await;
        for stream in &mut *streams {
            stream.write_all(request("fast").as_bytes()).await.unwrap();
            answered(stream, 1).await;
        }
        (server.held().await < 5 * HYPER).then_some(())
    })
    .await;
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_asks_for_nothing_keeps_no_connection() {
    let server = Server::of(
        "limits = { idle_timeout = \"300ms\", header_timeout = \"300ms\", stall_timeout = \"1h\" }\n",
    )
    .await;
    let http2 = [HTTP2, &frame(4, 0, &[])].concat();
    let ping = frame(6, 0, b"12345678");
    for (first, again) in [
        (&b"PING\r\n"[..], &b"\r\n"[..]),
        (b"PING\r\n", b"*0\r\n"),
        (b"PING\r\n*", b"0\r\n*"),
        (b"version\r\n", b"verbosity 1 noreply\r\n"),
        (&http2, &ping),
        (&[&http2, &ping[..9]].concat(), &[&ping[9..], &ping[..9]].concat()),
    ] {
        let mut stream = connect(&server).await;
        stream.write_all(first).await.unwrap();
        let mut pace = tokio::time::interval(Duration::from_millis(20));
        let trickle = async {
            while stream.write_all(again).await.is_ok() {
                pace.tick().await;
            }
        };
        let kept = timeout(PATIENCE, trickle).await;
        assert!(kept.is_ok(), "{} keeps its connection", again.escape_ascii());
    }
    // A request does.
    let mut stream = connect(&server).await;
    let mut pace = tokio::time::interval(Duration::from_millis(20));
    for _ in 0..40 {
        stream.write_all(b"PING\r\n").await.unwrap();
        stream.read_exact(&mut [0; 7]).await.unwrap();
        pace.tick().await;
    }
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_leaves_no_room_for_its_answer_is_cut_off() {
    let server = Server::of("limits = { idle_timeout = \"1h\", stall_timeout = \"300ms\" }\n").await;
    let mut stream = connect(&server).await;
    // A window of no bytes, and a GET of / by the static table of HPACK.
    let no_window = frame(4, 0, &[0, 4, 0, 0, 0, 0]);
    let mut get = frame(1, 5, &[0x82, 0x86, 0x84, 0x01, 1, b'a']);
    get[8] = 1;
    stream.write_all(&[HTTP2, &no_window, &get].concat()).await.unwrap();
    let said = rest(&mut stream).await;
    assert!(!String::from_utf8_lossy(&said).contains("floe"));
    server.stop().await.unwrap();
}

/// How a client of HTTP/2 begins.
const HTTP2: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// A frame of HTTP/2, of the connection.
fn frame(kind: u8, flags: u8, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length[1..], &[kind, flags, 0, 0, 0, 0], payload].concat()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_header_counts_while_its_body_is_awaited() {
    const REQUESTS: u8 = 50;
    const FIELD: usize = 15_000;
    for path in ["/api/segment/get/orders", "/tinyid/id/nextId"] {
        let server = Server::of("").await;
        let before = server.held().await;
        // POST and http by the static table of HPACK, then literals; 15,000 is 127 + 25 + 116 * 128.
        let head =
            [&[0x83, 0x86, 0x04, u8::try_from(path.len()).unwrap()], path.as_bytes(), &[0x01, 1, b'a']];
        let field = [&[0x00, 1, b'x', 127, 0x80 | 25, 116][..], &[b'y'; FIELD]];
        let begun = frame(1, 4, &[head.concat(), field.concat()].concat());
        let mut stream = connect(&server).await;
        stream.write_all(&[HTTP2, &frame(4, 0, &[])].concat()).await.unwrap();
        for request in 0..REQUESTS {
            let mut begun = begun.clone();
            begun[8] = 2 * request + 1;
            stream.write_all(&begun).await.unwrap();
        }
        until("the headers to count", || async {
            (server.held().await >= before + u64::from(REQUESTS) * FIELD as u64).then_some(())
        })
        .await;
        drop(stream);
        server.stop().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_wait_for_ids_is_not_idleness() {
    // The call waits longer than a connection may be idle.
    let server = Server::of(
        "limits = { idle_timeout = \"200ms\", header_timeout = \"200ms\" }\n[[name]]\nname = \"slow\"\nkind = \"snowflake\"\nlayout = \"time:41 worker:10 sequence:2\"\ntick = \"1ms\"\nepoch = \"2020-01-01T00:00:00Z\"\n",
    )
    .await;
    assert_eq!(server.mint("slow", 3200).await.len(), 3200);
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_stops_reading_is_cut_off() {
    let server = Server::of(
        "limits = { stall_timeout = \"300ms\", max_batch = 10000000 }\n[[name]]\nname = \"tickets\"\nkind = \"segment\"\nmin_step = 100000000\nmax_step = 100000000\n",
    )
    .await;
    let mut stream = connect(&server).await;
    stream.write_all(b"GET /v1/mint/tickets?n=10000000 HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
    let mut first = [0; 15];
    stream.read_exact(&mut first).await.unwrap();
    assert_eq!(&first, b"HTTP/1.1 200 OK");
    // It is the server that gives up: this client holds its end.
    until("the connection to be dropped", || async {
        let said = answer(&server, b"GET /metrics HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n").await;
        // The one that asks is left.
        said.contains("\nfloe_connections 1\n").then_some(())
    })
    .await;
    drop(stream);
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_requests_in_one_go_are_all_answered_in_order() {
    let server = Server::of("[[name]]\nname = \"tickets\"\nkind = \"segment\"\n").await;
    let mut stream = connect(&server).await;
    let (mut read, mut write) = stream.split();
    const REQUESTS: usize = 10_000;
    let send = async {
        let one = b"GET /v1/mint/tickets HTTP/1.1\r\nhost: a\r\naccept: text/plain\r\n\r\n";
        write.write_all(&one.repeat(REQUESTS - 1)).await.unwrap();
        write.write_all(b"GET /v1/mint/tickets HTTP/1.1\r\nhost: a\r\naccept: text/plain\r\nconnection: close\r\n\r\n").await.unwrap();
    };
    let receive = async {
        let mut bytes = Vec::new();
        read.read_to_end(&mut bytes).await.unwrap();
        String::from_utf8(bytes).unwrap()
    };
    let (said, ()) = timeout(PATIENCE * 3, async { tokio::join!(receive, send) }).await.expect("too slow");
    let ids: Vec<u64> = said.lines().filter_map(|line| line.parse().ok()).collect();
    assert_eq!(ids, (1..=REQUESTS as u64).collect::<Vec<_>>());
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_beyond_the_limit_are_told_so() {
    // Each of the five waits for many IDs, so that none of them is idle.
    let server = Server::of(
        "limits = { connections = 5, connections_per_address = 5, max_wait = \"20s\", request_timeout = \"30s\" }\n[[name]]\nname = \"slow\"\nkind = \"snowflake\"\nlayout = \"time:41 worker:10 sequence:2\"\ntick = \"1ms\"\nepoch = \"2020-01-01T00:00:00Z\"\n",
    )
    .await;
    let mut held = Vec::new();
    for _ in 0..5 {
        let mut stream = connect(&server).await;
        stream.write_all(b"GET /livez HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
        stream.read_exact(&mut [0; 15]).await.unwrap();
        stream.write_all(b"GET /v1/mint/slow?n=60000 HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
        held.push(stream);
    }
    let said = answer(&server, b"GET /livez HTTP/1.1\r\nhost: a\r\n\r\n").await;
    assert!(
        said.starts_with("HTTP/1.1 503 ")
            && said.contains("\r\ndate: ")
            && said.contains("limits.connections")
            && said.contains("retry-after"),
        "{said}"
    );
    drop(held);
    until("a place to be free", || async {
        let response = server.client.get(server.url("/livez")).send().await;
        response.is_ok_and(|response| response.status() == 200).then_some(())
    })
    .await;
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn idle_connections_make_place_for_new_ones() {
    let server = Server::of("limits = { connections = 8, connections_per_address = 4 }\n").await;
    // One that has said nothing, others that were answered, and one that goes on.
    let mut silent = connect(&server).await;
    let ask = async |stream: &mut TcpStream| {
        let mut said = [0; 7];
        stream.write_all(b"PING\r\n").await?;
        stream.read_exact(&mut said).await?;
        // Who gets no place hears of it.
        if said == *b"+PONG\r\n" { Ok(()) } else { Err(std::io::Error::other("turned away")) }
    };
    let mut idle = Vec::new();
    for _ in 0..2 {
        let mut stream = connect(&server).await;
        ask(&mut stream).await.unwrap();
        idle.push(stream);
    }
    let mut busy = connect(&server).await;
    let newcomers = async {
        let mut new = Vec::new();
        // Where all were answered just now, it is told to come again.
        while new.len() < 3 {
            let mut stream = connect(&server).await;
            if ask(&mut stream).await.is_ok() {
                new.push(stream);
            }
            ask(&mut busy).await.unwrap();
        }
        new
    };
    let new = timeout(PATIENCE, newcomers).await.expect("connections that are idle keep their places");
    assert!(rest(&mut silent).await.is_empty());
    for mut stream in idle {
        assert!(rest(&mut stream).await.is_empty());
    }
    ask(&mut busy).await.unwrap();
    drop(new);
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_is_not_taken_is_refused_at_its_first_byte() {
    let server = Server::standalone().await;
    for path in ["/v1/mint/orders", "/id"] {
        let head =
            format!("POST {path} HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-length: 60000\r\n\r\n");
        // The rest never comes.
        let said = answer(&server, format!("{head}x").as_bytes()).await;
        assert!(said.starts_with("HTTP/1.1 400") && said.contains("takes no body"), "{said}");
    }
    is_well(&server).await;
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_is_ready_does_not_wait_for_all_that_follow() {
    const COUNTERS: usize = 400;
    let server = Server::standalone().await;
    let pipeline: String = (0..COUNTERS).map(|counter| format!("INCR c{counter}\r\n")).collect();
    let mut stream = connect(&server).await;
    stream.write_all(pipeline.as_bytes()).await.unwrap();
    let mut first = vec![0; 4 * COUNTERS];
    let read = timeout(PATIENCE, stream.read(&mut first)).await.unwrap().unwrap();
    assert!((4..4 * COUNTERS).contains(&read), "each has a ledger's write of its own: {read} bytes at once");
    timeout(PATIENCE, stream.read_exact(&mut first[read..])).await.unwrap().unwrap();
    assert_eq!(first, b":1\r\n".repeat(COUNTERS));
    server.stop().await.unwrap();
}
