//! Thrift's messages: nothing is read past the end, pieces do not matter, and an answer comes back as it went.
#![no_main]

use floe_wire::thrift::{
    Decoder, Exception, Fault, Header, Kind, Limits, exception, is_useragent, reply_i64,
};
use libfuzzer_sys::fuzz_target;

const LIMITS: Limits = Limits { message: 300, name: 40, depth: 5 };

fuzz_target!(|input: (u8, &[u8])| {
    let (piece, bytes) = input;
    let whole = read(bytes, bytes.len().max(1));
    assert_eq!(read(bytes, 1), whole);
    assert_eq!(read(bytes, usize::from(piece).max(1)), whole);
});

/// What was read when `piece` bytes came at a time, and how it ended.
fn read(bytes: &[u8], piece: usize) -> (Vec<String>, usize, Option<Fault>) {
    let mut decoder = Decoder::new(LIMITS);
    let (mut requests, mut at, mut end) = (Vec::new(), 0, 0);
    while end < bytes.len() {
        end = (end + piece).min(bytes.len());
        loop {
            match decoder.decode(&bytes[at..end]) {
                Ok(None) => {
                    assert!(end - at < 4 + LIMITS.message, "waits for more than a message may have");
                    break;
                }
                Ok(Some((request, consumed))) => {
                    assert!(0 < consumed && consumed <= end - at && consumed <= 4 + LIMITS.message);
                    let prefix = &bytes[at..at + consumed - 1];
                    assert!(!matches!(Decoder::new(LIMITS).decode(prefix), Ok(Some(_))), "half a message");
                    answer(&request.header);
                    let agent = request.arguments.map(|arguments| arguments.string(1).map(is_useragent));
                    requests.push(format!("{request:?} {agent:?}"));
                    at += consumed;
                }
                Err(error) => {
                    answer(&error.header);
                    return (requests, at, Some(error.fault));
                }
            }
        }
    }
    (requests, at, None)
}

/// What is answered is a message of the same way, name and number.
fn answer(header: &Header<'_>) {
    let write: [fn(&mut Vec<u8>, &Header<'_>); 2] = [
        |out, header| reply_i64(out, header, -1),
        |out, header| exception(out, header, Exception::Internal, "no"),
    ];
    for (kind, write) in [2, 3].into_iter().zip(write) {
        let mut reply = Vec::new();
        write(&mut reply, header);
        if header.kind == Kind::Oneway {
            assert!(reply.is_empty());
            continue;
        }
        // Without a frame and without strictness, only a name that begins with a letter shows how a message began.
        if header.framed || header.strict || header.name.first().is_some_and(u8::is_ascii_alphabetic) {
            let mut decoder = Decoder::new(LIMITS);
            let (read, consumed) = decoder.decode(&reply).expect("a message").expect("a whole message");
            assert_eq!((read.header, consumed), (Header { kind: Kind::Other(kind), ..*header }, reply.len()));
            assert!(read.arguments.is_ok());
        }
    }
}
