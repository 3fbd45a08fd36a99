//! memcached's lines: nothing is read past the end, pieces do not matter, limits hold, a request ends where its line or
//! its data does, and a key that is passed on is one that a reply can carry.
#![no_main]

use floe_wire::memcached::KEY_BYTES;
use floe_wire::memcached::text::{Decoder, Error, Limits, Request};
use libfuzzer_sys::fuzz_target;

const LIMITS: Limits = Limits { request_bytes: 600 };

fuzz_target!(|input: (u8, &[u8])| {
    let (piece, bytes) = input;
    let whole = read(bytes, bytes.len().max(1));
    assert_eq!(read(bytes, 1), whole);
    assert_eq!(read(bytes, usize::from(piece).max(1)), whole);
});

/// What was read when `piece` bytes came at a time, and how it ended.
fn read(bytes: &[u8], piece: usize) -> (Vec<String>, usize, Option<Error>) {
    let mut decoder = Decoder::new(LIMITS);
    let (mut requests, mut at, mut end) = (Vec::new(), 0, 0);
    while end < bytes.len() {
        end = (end + piece).min(bytes.len());
        loop {
            match decoder.decode(&bytes[at..end]) {
                Ok(None) => {
                    assert!(end - at < LIMITS.request_bytes, "waits for more than a request may have");
                    break;
                }
                Ok(Some((request, consumed))) => {
                    assert!(0 < consumed && consumed <= end - at && consumed <= LIMITS.request_bytes);
                    check(&request, &bytes[at..at + consumed]);
                    requests.push(format!("{request:?}"));
                    at += consumed;
                }
                Err(error) => {
                    let mut reply = Vec::new();
                    error.encode(&mut reply);
                    assert_eq!(reply.iter().position(|&byte| byte == b'\n'), Some(reply.len() - 1));
                    return (requests, at, Some(error));
                }
            }
        }
    }
    (requests, at, None)
}

fn check(request: &Request<'_>, bytes: &[u8]) {
    let half = Decoder::new(LIMITS).decode(&bytes[..bytes.len() - 1]).map(|read| read.is_none());
    assert_eq!(half, Ok(true));
    let line = bytes.iter().position(|&byte| byte == b'\n').unwrap();
    let text = bytes[..line].strip_suffix(b"\r").unwrap_or(&bytes[..line]);
    let words: Vec<&[u8]> = text.split(|&byte| byte == b' ').filter(|word| !word.is_empty()).collect();
    if line + 1 < bytes.len() {
        assert!(matches!(request, Request::Refused { .. }), "only a storage command has data");
        let data = bytes[line + 1..].strip_suffix(b"\r\n").expect("data ends with a line end");
        let length: usize = std::str::from_utf8(words[4]).unwrap().parse().unwrap();
        assert_eq!(data.len(), length);
    }
    if let Request::Get { keys, .. } = request {
        let keys: Vec<&[u8]> = keys.clone().collect();
        assert_eq!(keys, words[1..]);
        let carried =
            |key: &&[u8]| key.len() <= KEY_BYTES && !key.iter().any(|&byte| byte <= b' ' || byte == 0x7f);
        assert!(!keys.is_empty() && keys.iter().all(carried));
    }
}
