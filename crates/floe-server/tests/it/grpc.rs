//! gRPC by hand, frame by frame: what no well-made client sends.

use reqwest::{Body, Client, Response};
use tokio::time::timeout;

use crate::harness::{PATIENCE, Server, until};

const MINT: &str = "/floe.v1.Ids/Mint";

/// A message with its prefix.
fn frame(message: &[u8]) -> Vec<u8> {
    let length = u32::try_from(message.len()).unwrap().to_be_bytes();
    [&[0_u8][..], &length, message].concat()
}

/// A call to mint one ID under a name: the bytes of the answer's message, or the status and its text.
pub(crate) async fn mint(server: &Server, name: &str) -> Result<Vec<u8>, (String, String)> {
    let message = [&[0x0a, u8::try_from(name.len()).unwrap()], name.as_bytes()].concat();
    let response = call(server, MINT, frame(&message)).await;
    let code = code(&response).to_owned();
    if code != "0" {
        let text = response.headers()["grpc-message"].to_str().unwrap();
        let text = percent_encoding::percent_decode_str(text).decode_utf8().unwrap().into_owned();
        return Err((code, text));
    }
    Ok(response.bytes().await.unwrap()[5..].to_vec())
}

/// The message of a call to mint `orders`.
fn orders(field: u8, count: &[u8]) -> Vec<u8> {
    [&b"\x0a\x06orders"[..], &[field], count].concat()
}

async fn call(server: &Server, path: &str, body: impl Into<Body>) -> Response {
    let client = Client::builder().http2_prior_knowledge().timeout(PATIENCE).build().unwrap();
    let request = client.post(server.url(path)).header("content-type", "application/grpc");
    request.header("te", "trailers").body(body).send().await.unwrap()
}

/// The code of an answer that is an error from its beginning.
fn code(response: &Response) -> &str {
    response.headers().get("grpc-status").map_or("0", |code| code.to_str().unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn lengths_that_lie_and_garbage_are_refused_and_others_are_served() {
    let server =
        Server::of("limits = { body_bytes = 1000 }\n[[name]]\nname = \"orders\"\nkind = \"segment\"\n").await;
    let announced = |length: u32| [&[0_u8][..], &length.to_be_bytes(), b"\x0a\x06orders"].concat();
    let cases: [(&str, Vec<u8>); 10] = [
        ("no message", Vec::new()),
        ("a length of 2^31", announced(1 << 31)),
        ("a length of 2^32 - 1", announced(u32::MAX)),
        ("half a message", announced(100)),
        ("half a prefix", vec![0, 0]),
        ("a compressed message, which no one announced", [&[1_u8][..], &frame(b"")[1..]].concat()),
        ("garbage", vec![0xff; 64]),
        ("a field of 2^63 bytes", frame(b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\x7f")),
        ("more than body_bytes", frame(&[0x0a; 2000])),
        ("an empty name", frame(b"")),
    ];
    for (what, body) in cases {
        let response = call(&server, MINT, body).await;
        assert_eq!(response.status(), 200, "{what}");
        assert_eq!(code(&response), "3", "{what}: {:?}", response.headers());
        let minted = call(&server, MINT, frame(&orders(0x10, &[1]))).await;
        assert_eq!(code(&minted), "0", "after {what}");
        assert!(minted.bytes().await.unwrap().len() > 8);
    }
    let client = Client::builder().http2_prior_knowledge().timeout(PATIENCE).build().unwrap();
    let crowded = client.post(server.url(MINT)).header("content-type", "application/grpc");
    let crowded = crowded.header("x", "y".repeat(20_000)).body(frame(&orders(0x10, &[1])));
    assert_eq!(code(&crowded.send().await.unwrap()), "3");
    assert_eq!(code(&call(&server, "/floe.v1.Ids/Nothing", frame(b"")).await), "12");
    assert_eq!(code(&call(&server, "/no.Such/Call", frame(b"")).await), "12");
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_stays_silent_ends_in_time() {
    let limits = "limits = { request_timeout = \"400ms\", max_wait = \"200ms\", idle_timeout = \"300ms\" }\n";
    let server = Server::of(limits).await;
    let silent = Body::wrap_stream(futures_util::stream::pending::<Result<Vec<u8>, std::io::Error>>());
    let answer = timeout(PATIENCE, call(&server, MINT, silent)).await.unwrap();
    assert_eq!(code(&answer), "14", "{:?}", answer.headers());
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_is_minted_no_faster_than_it_is_read_and_ends_with_its_client() {
    let server = Server::of("[[name]]\nname = \"orders\"\nkind = \"segment\"\n").await;
    // 2^32 numbers, which nobody waits for.
    let all = orders(0x10, &[0x80, 0x80, 0x80, 0x80, 0x10]);
    let minted = || async { server.json("/v1/names/orders").await["minted"].as_u64().unwrap() };
    let mut stream = call(&server, "/floe.v1.Ids/MintStream", frame(&all)).await;
    let first = stream.chunk().await.unwrap().unwrap();
    assert!(first.len() > 1000);
    // What HTTP/2 lets the server send unread is a few megabytes: then it mints no more.
    let stand_still = || async {
        let (mut last, mut same) = (0, 0);
        while same < 50 {
            let now = minted().await;
            same = if now == last { same + 1 } else { 0 };
            last = now;
        }
        last
    };
    let stopped = timeout(PATIENCE, stand_still()).await.expect("it is minted on while nobody reads");
    assert!((8_192..4_000_000).contains(&stopped), "{stopped}");
    // It goes on where the client does, and a client that goes away is the end of it.
    let mut read = first.len();
    while read < 16 << 20 {
        read += stream.chunk().await.unwrap().unwrap().len();
    }
    assert!(minted().await > stopped);
    drop(stream);
    let left = timeout(PATIENCE, stand_still()).await.expect("it is minted on for a client that has gone");
    assert_eq!(server.mint("orders", 1).await.len(), 1);
    assert_eq!(minted().await, left + 1);
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_that_clients_do_not_read_are_held_no_more_than_all_may() {
    let server = Server::of(
        "default_names = { katsubushi = 'tickets' }\nlimits = { memory = '128MB', max_wait = '20s', request_timeout = '30s' }\n[[name]]\nname = 'tickets'\nkind = 'segment'\n",
    )
    .await;
    // A client that takes little of what it does not read.
    let small = 65_535;
    let client = Client::builder().http2_prior_knowledge().timeout(PATIENCE);
    let client = client.http2_initial_stream_window_size(small).http2_initial_connection_window_size(small);
    let client = client.build().unwrap();
    let call = async |path: &str, message: &[u8]| {
        let request = client.post(server.url(path)).header("content-type", "application/grpc");
        request.header("te", "trailers").body(frame(message)).send().await.unwrap()
    };
    // n = 100000; and the name, with the same count.
    let calls: [(&str, &[u8]); 2] = [
        ("/katsubushi.Generator/FetchMulti", b"\x08\xa0\x8d\x06"),
        (MINT, b"\x0a\x07tickets\x10\xa0\x8d\x06"),
    ];
    for (path, message) in calls {
        let (mut silent, mut refused) = (Vec::new(), 0);
        // Under 4 MB each, also in what HTTP/2 takes of a few.
        for _ in 0..40 {
            let response = call(path, message).await;
            match code(&response) {
                "0" => silent.push(response),
                "14" => refused += 1,
                other => panic!("{path}: {other}"),
            }
        }
        assert!(refused >= 10 && silent.len() >= 10, "{path}: {refused} refused, {} not", silent.len());
        assert_eq!(code(&call(path, &[&message[..message.len() - 3], b"\x05"].concat()).await), "0");
        drop(silent);
        until("room for lists", || async { (code(&call(path, message).await) == "0").then_some(()) }).await;
    }
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_has_more_than_a_call_may_have() {
    let names = "limits = { max_batch = 1000 }\n[[name]]\nname = \"orders\"\nkind = \"segment\"\n";
    let server = Server::of(names).await;
    // 2,500 numbers.
    let many = orders(0x10, &[0xc4, 0x13]);
    assert_eq!(code(&call(&server, MINT, frame(&many)).await), "3");
    let stream = call(&server, "/floe.v1.Ids/MintStream", frame(&many)).await;
    assert_eq!(code(&stream), "0", "{:?}", stream.headers());
    assert!(stream.bytes().await.unwrap().len() > 2_500 * 8);
    server.stop().await.unwrap();
}

/// RFC 9110, section 6.6.1: a server with a clock sends one in every answer of 2xx to 4xx, gRPC's among them.
#[tokio::test(flavor = "multi_thread")]
async fn every_answer_has_a_date() {
    let server = Server::of("[[name]]\nname = \"orders\"\nkind = \"segment\"\n").await;
    for (path, body, wanted) in [
        (MINT, frame(&orders(0x10, &[1])), "0"),
        ("/floe.v1.Ids/MintStream", frame(&orders(0x10, &[1])), "0"),
        ("/grpc.health.v1.Health/Check", frame(b""), "0"),
        (MINT, frame(b"\x0a\x05other"), "5"),
        ("/no.Such/Call", frame(b""), "12"),
    ] {
        let answer = call(&server, path, body).await;
        assert_eq!(code(&answer), wanted, "{path}: {:?}", answer.headers());
        let dates: Vec<_> = answer.headers().get_all("date").iter().collect();
        assert!(matches!(dates[..], [date] if date.to_str().unwrap().ends_with(" GMT")), "{path}: {dates:?}");
    }
    server.stop().await.unwrap();
}
