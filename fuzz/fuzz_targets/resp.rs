//! Redis' commands: nothing is read past the end, pieces do not matter, limits hold, and what was read is written the
//! same again; and no text makes a reply of more than one line.
#![no_main]

use floe_wire::resp::{Decoder, Encoder, Error, Limits, Version};
use libfuzzer_sys::fuzz_target;

const LIMITS: Limits = Limits { request_bytes: 200, arguments: 6 };
const NO_LIMITS: Limits = Limits { request_bytes: usize::MAX, arguments: usize::MAX };

type Words = Vec<Vec<u8>>;

fuzz_target!(|input: (u8, &[u8])| {
    let (piece, bytes) = input;
    let whole = read(bytes, bytes.len().max(1));
    assert_eq!(read(bytes, 1), whole);
    assert_eq!(read(bytes, usize::from(piece).max(1)), whole);
    reply(bytes);
});

/// What was read when `piece` bytes came at a time, and how it ended.
fn read(bytes: &[u8], piece: usize) -> (Vec<Words>, usize, Option<Error>) {
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
                    assert!(request.len() <= LIMITS.arguments);
                    let words: Words = request.iter().map(<[u8]>::to_vec).collect();
                    assert!((0..words.len()).all(|index| request.get(index) == Some(&words[index])));
                    assert_eq!(request.get(words.len()), None);
                    again(&bytes[at..at + consumed], &words);
                    requests.push(words);
                    at += consumed;
                }
                Err(error) => {
                    let mut reply = Vec::new();
                    error.encode(&mut reply);
                    assert!(reply.starts_with(b"-ERR Protocol error: ") && one_line(&reply));
                    return (requests, at, Some(error));
                }
            }
        }
    }
    (requests, at, None)
}

/// Half a request is none; and a request that is written as an array is read as itself.
fn again(request: &[u8], words: &Words) {
    let half = Decoder::new(LIMITS).decode(&request[..request.len() - 1]).map(|read| read.is_none());
    assert_eq!(half, Ok(true));
    let mut array = Vec::new();
    let mut encoder = Encoder::new(&mut array, Version::Two);
    encoder.array(words.len());
    words.iter().for_each(|word| encoder.bulk(word));
    if request.starts_with(b"*") && !words.is_empty() {
        assert_eq!(array, request, "there is one way to write an array");
    }
    let mut decoder = Decoder::new(NO_LIMITS);
    let (read, consumed) = decoder.decode(&array).unwrap().unwrap();
    assert_eq!(consumed, array.len());
    assert!(read.iter().eq(words));
}

fn reply(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let mut output = Vec::new();
    Encoder::new(&mut output, Version::Three).error("ERR", &text);
    assert!(one_line(&output));
    output.clear();
    Encoder::new(&mut output, Version::Three).simple(&text);
    assert!(one_line(&output));
}

fn one_line(reply: &[u8]) -> bool {
    let text = reply.strip_suffix(b"\r\n");
    text.is_some_and(|text| !text.iter().any(|byte| matches!(byte, b'\r' | b'\n')))
}
