//! IDs in bulk from a segment: octets over HTTP, the stream of gRPC, and `MINT` over Redis' protocol.
//!
//! While the clock runs, a client only stores and counts what arrives. Afterwards every ID is read and checked. The
//! clients share the processors with the server.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::thread;
use std::time::Duration;

use bytes::Bytes;
use tokio::runtime::Builder;

use crate::Result;
use crate::measure::now;
use crate::serve::Subject;

const ROUNDS: usize = 5;

/// How many IDs each round has: a whole number of requests, for each way.
const IDS: usize = 12_800_000;

/// The IDs of one HTTP request, and of one `MINT`.
const IN_OCTETS: usize = 100_000;
const IN_MINT: usize = 1_000;

/// How many `MINT`s a client sends before it reads the answers.
const PIPELINED: usize = 16;

/// The result of a round: its time and its IDs.
type Round = (Duration, Vec<u64>);

/// Measures each way in turn and prints the medians. Returns whether all IDs of each were different, and there were enough.
pub(crate) fn report(binary: &Path) -> Result<bool> {
    type Run = fn(u16) -> Result<Round>;
    let subject = Subject::start(binary, "")?;
    let ways: [(&str, f64, Run); 4] = [
        ("HTTP, octets, 100,000 at a time, one client", 100e6, |port| octets(port, 1)),
        ("HTTP, octets, 100,000 at a time, two clients", 100e6, |port| octets(port, 2)),
        ("gRPC, one stream", 20e6, stream),
        ("MINT segment 1000, two clients", 20e6, mint),
    ];
    let mut rates = ways.each_ref().map(|_| Vec::new());
    let mut all = Vec::new();
    for _ in 0..ROUNDS {
        for ((_, _, run), rates) in ways.iter().zip(&mut rates) {
            let (time, ids) = run(subject.port)?;
            if ids.len() != IDS {
                return Err(format!("{} IDs came instead of {IDS}", ids.len()).into());
            }
            rates.push(ids.len() as f64 / time.as_secs_f64());
            all.extend(ranges(ids));
        }
    }
    println!("{:<46} {:>16} {:>10}", "from a segment", "IDs a second", "wanted");
    let mut enough = true;
    for ((name, wanted, _), mut rates) in ways.into_iter().zip(rates) {
        rates.sort_by(f64::total_cmp);
        let median = rates[rates.len() / 2];
        enough &= median >= wanted;
        println!("{name:<46} {median:>16.0} {wanted:>10.0}");
    }
    all.sort_unstable();
    let apart = all.windows(2).all(|pair| pair[0].1 < pair[1].0);
    println!("{}", if apart { "no ID came twice" } else { "IDs CAME TWICE" });
    Ok(apart && enough)
}

/// The IDs as ranges, first and last. Adjacent ranges are merged. An ID that occurs twice is in two ranges.
fn ranges(ids: Vec<u64>) -> Vec<(u64, u64)> {
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    for id in ids {
        match ranges.last_mut() {
            Some((_, last)) if id.checked_sub(1) == Some(*last) => *last = id,
            _ => ranges.push((id, id)),
        }
    }
    ranges
}

fn connect(port: u16) -> Result<TcpStream> {
    let stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    Ok(stream)
}

/// Runs this many clients at once, each with its own connection. Their memory is touched before the clock runs.
fn together(
    port: u16,
    clients: usize,
    bytes: usize,
    client: impl Fn(TcpStream, Vec<u8>) -> Result<Vec<u8>> + Sync,
) -> Result<(Duration, Vec<Vec<u8>>)> {
    let ready = (0..clients).map(|_| Ok((connect(port)?, vec![1; bytes]))).collect::<Result<Vec<_>>>()?;
    let start = now();
    let read: Vec<_> = thread::scope(|scope| {
        let client = &client;
        let clients: Vec<_> =
            ready.into_iter().map(|(stream, memory)| scope.spawn(move || client(stream, memory))).collect();
        clients
            .into_iter()
            .map(|client| client.join().unwrap_or_else(|_| Err("a client panicked".into())))
            .collect()
    });
    let time = start.elapsed();
    Ok((time, read.into_iter().collect::<Result<_>>()?))
}

fn octets(port: u16, clients: usize) -> Result<Round> {
    let requests = IDS / IN_OCTETS / clients;
    let (time, read) = together(port, clients, requests * IN_OCTETS * 8, |mut stream, mut words| {
        let request = format!(
            "GET /v1/mint/segment?n={IN_OCTETS} HTTP/1.1\r\nhost: x\r\naccept: application/octet-stream\r\n\r\n"
        );
        for answer in words.chunks_exact_mut(IN_OCTETS * 8) {
            stream.write_all(request.as_bytes())?;
            // The head, and the first IDs after it.
            let mut head = Vec::new();
            let body = loop {
                let mut piece = [0; 4096];
                let count = stream.read(&mut piece)?;
                head.extend_from_slice(&piece[..count]);
                if let Some(end) = head.windows(4).position(|four| four == b"\r\n\r\n") {
                    break end + 4;
                }
                if count == 0 {
                    return Err("the server closed the connection".into());
                }
            };
            if !head.starts_with(b"HTTP/1.1 200 ") {
                return Err(format!("the server says {}", head.escape_ascii()).into());
            }
            let first = &head[body..];
            answer[..first.len()].copy_from_slice(first);
            stream.read_exact(&mut answer[first.len()..])?;
        }
        Ok(words)
    })?;
    Ok((time, words(read.iter().map(Vec::as_slice))))
}

fn mint(port: u16) -> Result<Round> {
    const CLIENTS: usize = 2;
    let batches = IDS / IN_MINT / PIPELINED / CLIENTS;
    let (time, read) =
        together(port, CLIENTS, batches * PIPELINED * IN_MINT * 16, |mut stream, mut text| {
            text.clear();
            let command =
                format!("*3\r\n$4\r\nMINT\r\n$7\r\nsegment\r\n$4\r\n{IN_MINT}\r\n").repeat(PIPELINED);
            let mut piece = vec![0; 256 << 10];
            for _ in 0..batches {
                stream.write_all(command.as_bytes())?;
                // One line for each ID, and one before each batch.
                let mut lines = PIPELINED * (IN_MINT + 1);
                while lines > 0 {
                    let count = stream.read(&mut piece)?;
                    if count == 0 {
                        return Err("the server closed the connection".into());
                    }
                    let ends = piece[..count].iter().filter(|byte| **byte == b'\n').count();
                    lines = lines.checked_sub(ends).ok_or("more came than was asked for")?;
                    text.extend_from_slice(&piece[..count]);
                }
            }
            Ok(text)
        })?;
    let mut ids = Vec::with_capacity(IDS);
    for line in read.iter().flat_map(|text| text.split(|byte| *byte == b'\n')) {
        let line = std::str::from_utf8(line)?.trim_end();
        match line.strip_prefix(':') {
            Some(id) => ids.push(id.parse()?),
            None if line.is_empty() || line.starts_with('*') => {}
            None => return Err(format!("the server says {line}").into()),
        }
    }
    Ok((time, ids))
}

fn words<'a>(read: impl Iterator<Item = &'a [u8]>) -> Vec<u64> {
    let whole = |word: &[u8]| word.try_into().map_or(0, u64::from_le_bytes);
    read.flat_map(|bytes| bytes.chunks_exact(8).map(whole)).collect()
}

/// One `MintStream` on a connection with windows of some megabytes, as bulk readers use them.
fn stream(port: u16) -> Result<Round> {
    const WINDOW: u32 = 8 << 20;
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let (time, pieces) = runtime.block_on(async {
        let socket = tokio::net::TcpStream::connect(("127.0.0.1", port)).await?;
        socket.set_nodelay(true)?;
        let mut builder = h2::client::Builder::new();
        builder.initial_window_size(WINDOW).initial_connection_window_size(WINDOW).max_frame_size(1 << 20);
        let (mut client, connection) = builder.handshake::<_, Bytes>(socket).await?;
        let connection = tokio::spawn(connection);
        let mut message = b"\x0a\x07segment\x10".to_vec();
        varint(&mut message, u64::try_from(IDS)?);
        let mut body = vec![0];
        body.extend(u32::try_from(message.len())?.to_be_bytes());
        body.extend(message);
        let request = http::Request::post(format!("http://127.0.0.1:{port}/floe.v1.Ids/MintStream"))
            .header("content-type", "application/grpc")
            .header("te", "trailers")
            .body(())?;
        let start = now();
        let (response, mut send) = client.send_request(request, false)?;
        send.send_data(body.into(), true)?;
        let mut body = response.await?.into_body();
        let mut pieces = Vec::new();
        while let Some(piece) = body.data().await {
            let piece = piece?;
            body.flow_control().release_capacity(piece.len())?;
            pieces.push(piece);
        }
        let time = start.elapsed();
        let trailers = body.trailers().await?.unwrap_or_default();
        if trailers.get("grpc-status").is_none_or(|status| status != "0") {
            return Err(format!("the stream ended with {trailers:?}").into());
        }
        connection.abort();
        Result::Ok((time, pieces))
    })?;
    let read = pieces.concat();
    let mut ids = Vec::with_capacity(IDS);
    let mut rest = read.as_slice();
    while let Some((head, tail)) = rest.split_at_checked(5) {
        let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]);
        let (mut message, tail) = tail.split_at_checked(usize::try_from(length)?).ok_or("half a message")?;
        rest = tail;
        while !message.is_empty() {
            // Every field of the message has a length; the second holds the IDs.
            let field = take_varint(&mut message)?;
            let length = usize::try_from(take_varint(&mut message)?)?;
            let (value, after) = message.split_at_checked(length).ok_or("half a field")?;
            message = after;
            if field == (2 << 3 | 2) {
                ids.extend(words([value].into_iter()));
            }
        }
    }
    Ok((time, ids))
}

fn varint(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value.to_le_bytes()[0] | 0x80);
        value >>= 7;
    }
    bytes.push(value.to_le_bytes()[0]);
}

fn take_varint(bytes: &mut &[u8]) -> Result<u64> {
    let mut value = 0;
    for shift in (0..63).step_by(7) {
        let (byte, rest) = bytes.split_first().ok_or("half a number")?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err("a number of too many bytes".into())
}
