use floe_wire::resp::{Decoder, Encoder, Limits, Version};

use crate::sessions::{replay_all, written};
use crate::transcript::Turn;

const LIMITS: Limits = Limits { request_bytes: 4_096, arguments: 64 };

#[test]
fn sessions_with_redis_are_read_and_answered_alike() {
    replay_all("resp", 8, |name, turns| {
        let mut version = Version::Two;
        for Turn { sent, requests, answered } in turns {
            assert_eq!(&read(sent, sent.len()), requests, "{name}");
            assert_eq!(&read(sent, 1), requests, "{name}, a byte at a time");
            if requests.iter().any(|request| request.eq_ignore_ascii_case("hello 3")) {
                version = Version::Three;
            }
            let again = written_again(answered, version).escape_ascii().to_string();
            assert_eq!(again, answered.escape_ascii().to_string(), "{name}");
        }
    });
}

fn read(sent: &[u8], piece: usize) -> Vec<String> {
    let mut decoder = Decoder::new(LIMITS);
    let mut requests = Vec::new();
    let mut at = 0;
    for come in (piece..=sent.len()).step_by(piece) {
        while let Some((request, consumed)) = decoder.decode(&sent[at..come]).unwrap() {
            requests.push(written(&request.iter().map(<[u8]>::to_vec).collect::<Vec<_>>()));
            at += consumed;
        }
    }
    assert_eq!(at, sent.len(), "what a client sent is whole requests");
    requests
}

/// Redis' answer, taken apart and written again by the encoder.
fn written_again(answered: &[u8], version: Version) -> Vec<u8> {
    let mut output = Vec::new();
    let mut encoder = Encoder::new(&mut output, version);
    let mut rest = answered;
    while !rest.is_empty() {
        let end = rest.windows(2).position(|pair| pair == b"\r\n").unwrap();
        let line = std::str::from_utf8(&rest[1..end]).unwrap();
        let kind = rest[0];
        rest = &rest[end + 2..];
        match kind {
            b'+' => encoder.simple(line),
            b'-' => {
                let (code, message) = line.split_once(' ').unwrap();
                encoder.error(code, message);
            }
            b':' => encoder.integer(line.parse().unwrap()),
            b'$' if line == "-1" => encoder.null(),
            b'_' => encoder.null(),
            b'$' => {
                let length = line.parse().unwrap();
                encoder.bulk(&rest[..length]);
                rest = &rest[length + 2..];
            }
            b'*' => encoder.array(line.parse().unwrap()),
            b'%' => encoder.map(line.parse().unwrap()),
            b'=' => {
                let length: usize = line.parse().unwrap();
                encoder.verbatim(std::str::from_utf8(&rest[4..length]).unwrap());
                rest = &rest[length + 2..];
            }
            other => panic!("a reply that no test expects: {}", other.escape_ascii()),
        }
    }
    output
}
