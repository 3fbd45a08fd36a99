use floe_wire::memcached::binary::{self, Operation};
use floe_wire::memcached::text::{self, Request};

use crate::sessions::{replay_all, written};
use crate::transcript::Turn;

const REQUEST_BYTES: usize = 4_096;

#[test]
fn sessions_in_text_are_read_and_answered_alike() {
    replay_all("memcached/text", 4, |name, turns| {
        for Turn { sent, requests, answered } in turns {
            for piece in [1, sent.len()] {
                assert_eq!(read_text(sent, piece), meant(requests), "{name}, {piece} bytes at a time");
            }
            assert_eq!(
                text_again(answered).escape_ascii().to_string(),
                answered.escape_ascii().to_string(),
                "{name}"
            );
        }
    });
}

#[test]
fn sessions_in_binary_are_read_and_answered_alike() {
    replay_all("memcached/binary", 3, |name, turns| {
        for Turn { sent, requests, answered } in turns {
            let read = read_binary(sent);
            let named: Vec<String> = read.iter().map(|request| written(&named(request))).collect();
            assert_eq!(&named, requests, "{name}");
            let mut rest = &answered[..];
            while !rest.is_empty() {
                let body_bytes = u32::from_be_bytes(rest[8..12].try_into().unwrap());
                let (packet, after) = rest.split_at(24 + usize::try_from(body_bytes).unwrap());
                rest = after;
                if let Some(again) = packet_again(packet, &read) {
                    assert_eq!(again.escape_ascii().to_string(), packet.escape_ascii().to_string(), "{name}");
                }
            }
        }
    });
}

fn read_text(sent: &[u8], piece: usize) -> Vec<String> {
    let mut decoder = text::Decoder::new(text::Limits { request_bytes: REQUEST_BYTES });
    let mut requests = Vec::new();
    let mut at = 0;
    for come in (piece..=sent.len()).step_by(piece) {
        while let Some((request, consumed)) = decoder.decode(&sent[at..come]).unwrap() {
            requests.push(shown(request));
            at += consumed;
        }
    }
    assert_eq!(at, sent.len(), "what a client sent is whole requests");
    requests
}

fn shown(request: Request<'_>) -> String {
    match request {
        Request::Get { keys, cas } => {
            let keys: Vec<_> = keys.map(String::from_utf8_lossy).collect();
            format!("{} {}", if cas { "gets" } else { "get" }, keys.join(" "))
        }
        Request::Stats(None) => "stats".to_owned(),
        Request::Stats(Some(of)) => format!("stats {}", String::from_utf8_lossy(of)),
        Request::Version => "version".to_owned(),
        Request::Verbosity { noreply } => format!("verbosity, noreply {noreply}"),
        Request::Quit => "quit".to_owned(),
        Request::Refused { noreply } => format!("refused, noreply {noreply}"),
        Request::Invalid(_) | Request::Unknown => panic!("no client sends {request:?}"),
    }
}

/// The recorded requests, in the form that [`shown`] writes.
fn meant(requests: &[String]) -> Vec<String> {
    let meant = |request: &String| {
        let noreply = request.ends_with(" noreply");
        match request.split(' ').next().unwrap() {
            "get" | "gets" | "stats" | "version" | "quit" => request.clone(),
            "verbosity" => format!("verbosity, noreply {noreply}"),
            _ => format!("refused, noreply {noreply}"),
        }
    };
    requests.iter().map(meant).collect()
}

/// memcached's answer, taken apart and written again by floe's functions. Parts that floe never writes stay as they are.
fn text_again(answered: &[u8]) -> Vec<u8> {
    let mut output = Vec::new();
    let mut rest = answered;
    while !rest.is_empty() {
        let end = rest.windows(2).position(|pair| pair == b"\r\n").unwrap();
        let line = std::str::from_utf8(&rest[..end]).unwrap();
        rest = &rest[end + 2..];
        match &*line.split(' ').collect::<Vec<_>>() {
            ["VALUE", key, "0", length, cas @ ..] => {
                let length = length.parse().unwrap();
                let cas = cas.first().map(|cas| cas.parse().unwrap());
                text::reply::value(&mut output, key.as_bytes(), &rest[..length], cas);
                rest = &rest[length + 2..];
            }
            ["STAT", name, value @ ..] => text::reply::stat(&mut output, name, &value.join(" ")),
            ["END"] => text::reply::end(&mut output),
            ["OK"] => text::reply::ok(&mut output),
            ["VERSION", version] => text::reply::version(&mut output, version),
            ["STORED" | "NOT_STORED" | "DELETED" | "NOT_FOUND" | "TOUCHED"] => {
                output.extend_from_slice(line.as_bytes());
                output.extend_from_slice(b"\r\n");
            }
            _ => panic!("a reply that no test expects: {line}"),
        }
    }
    output
}

fn read_binary(sent: &[u8]) -> Vec<binary::Request<'_>> {
    let decoder = binary::Decoder::new(binary::Limits { request_bytes: REQUEST_BYTES });
    let mut requests = Vec::new();
    let mut rest = sent;
    while let Some((request, consumed)) = decoder.decode(rest).unwrap() {
        requests.push(request);
        rest = &rest[consumed..];
    }
    assert_eq!(rest, b"", "what a client sent is whole requests");
    requests
}

fn named(request: &binary::Request<'_>) -> Vec<Vec<u8>> {
    let name = match request.operation {
        Operation::Get => "get",
        Operation::GetQuietly => "getq",
        Operation::GetWithKey => "getk",
        Operation::GetWithKeyQuietly => "getkq",
        Operation::Noop => "noop",
        Operation::Version => "version",
        Operation::Stat => "stat",
        Operation::Quit => "quit",
        Operation::QuitQuietly => "quitq",
        Operation::Unknown => "unknown",
        Operation::Invalid => panic!("no client sends {request:?}"),
    };
    let mut words = vec![name.as_bytes().to_vec(), request.opcode.to_string().into_bytes()];
    words.extend((!request.key.is_empty()).then(|| request.key.to_vec()));
    words
}

/// One packet of memcached's answer, written again by floe's functions; `None` if floe never writes it.
fn packet_again(packet: &[u8], requests: &[binary::Request<'_>]) -> Option<Vec<u8>> {
    let key_bytes = usize::from(u16::from_be_bytes([packet[2], packet[3]]));
    let (key, value) = packet[24 + usize::from(packet[4])..].split_at(key_bytes);
    let cas = u64::from_be_bytes(packet[16..24].try_into().unwrap());
    let request = requests.iter().find(|request| {
        let names_its_key = matches!(request.operation, Operation::GetWithKey | Operation::GetWithKeyQuietly);
        [request.opcode] == packet[1..2]
            && request.opaque == packet[12..16]
            && (!names_its_key || request.key == key)
    });
    let request = request.unwrap();
    let text = |bytes| std::str::from_utf8(bytes).unwrap();
    let mut output = Vec::new();
    let status = u16::from_be_bytes([packet[6], packet[7]]);
    match (request.operation, status) {
        (Operation::Unknown, _) => return None,
        (Operation::Get | Operation::GetWithKey, 1) => binary::reply::not_found(&mut output, request),
        (_, 1..) => panic!("an error that no test expects: {}", packet.escape_ascii()),
        (Operation::Version, 0) => binary::reply::version(&mut output, request, text(value)),
        (Operation::Stat, 0) if !key.is_empty() => {
            binary::reply::stat(&mut output, request, text(key), text(value));
        }
        (Operation::Noop | Operation::Quit | Operation::Stat, 0) => {
            binary::reply::done(&mut output, request);
        }
        _ => binary::reply::value(&mut output, request, value, cas),
    }
    Some(output)
}
