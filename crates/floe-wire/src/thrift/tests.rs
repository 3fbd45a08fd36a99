use proptest::prelude::*;

use super::*;

const LIMITS: Limits = Limits { message: 256, name: 16, depth: 4 };

/// A call in one of the four forms. The arguments come without the end of their struct.
fn call(framed: bool, strict: bool, kind: u8, name: &str, sequence: i32, fields: &[u8]) -> Vec<u8> {
    let mut message = Vec::new();
    let length = i32::try_from(name.len()).unwrap().to_be_bytes();
    if strict {
        message.extend([0x80, 1, 0, kind]);
    }
    message.extend(length);
    message.extend(name.as_bytes());
    if !strict {
        message.push(kind);
    }
    message.extend(sequence.to_be_bytes());
    message.extend(fields);
    message.push(0);
    if framed {
        let length = i32::try_from(message.len()).unwrap().to_be_bytes();
        message.splice(0..0, length);
    }
    message
}

const EVERY_WAY: [(bool, bool); 4] = [(false, false), (false, true), (true, false), (true, true)];

/// Field 1, a string.
const AGENT: &[u8] = b"\x0b\0\x01\0\0\0\x03app";

/// One value of each type, nested as deep as the limits allow, and then the agent.
const EVERY_TYPE: &[u8] =
    b"\x02\0\x09\x01\x03\0\x09\x01\x04\0\x09\0\0\0\0\0\0\0\0\x06\0\x09\0\0\x08\0\x09\0\0\0\0\
    \x0a\0\x09\0\0\0\0\0\0\0\0\x10\0\x090123456789abcdef\x0c\0\x09\x0c\0\x01\x0c\0\x01\0\0\0\
    \x0d\0\x09\x0b\x08\0\0\0\x02\0\0\0\x01a\0\0\0\x01\0\0\0\x01b\0\0\0\x02\
    \x0d\0\x09\x08\x03\0\0\0\x02\0\0\0\x01\x01\0\0\0\x02\x02\x0d\0\x09\0\0\0\0\0\0\
    \x0e\0\x09\x06\0\0\0\x02\0\x01\0\x02\x0f\0\x09\x0f\0\0\0\x01\x0f\0\0\0\x01\x03\0\0\0\x01\x07\
    \x0b\0\x01\0\0\0\x03app";

/// The requests and their lengths, and how reading ended, for bytes that arrive in pieces with these ends.
fn read(bytes: &[u8], ends: &[usize]) -> (Vec<String>, usize, Option<Fault>) {
    let mut decoder = Decoder::new(LIMITS);
    let (mut requests, mut at) = (Vec::new(), 0);
    for end in ends.iter().copied().filter(|end| *end < bytes.len()).chain([bytes.len()]) {
        loop {
            match decoder.decode(&bytes[at..end.max(at)]) {
                Ok(None) => break,
                Ok(Some((request, consumed))) => {
                    requests.push(format!("{request:?} in {consumed}"));
                    at += consumed;
                }
                Err(error) => return (requests, at, Some(error.fault)),
            }
        }
    }
    (requests, at, None)
}

#[test]
fn each_way_of_calling_is_told_apart_and_answered_in_kind() {
    for (framed, strict) in EVERY_WAY {
        for fields in [AGENT, EVERY_TYPE] {
            let bytes = call(framed, strict, 1, "get_id", -7, fields);
            let (request, consumed) = Decoder::new(LIMITS).decode(&bytes).unwrap().unwrap();
            let header = Header { framed, strict, kind: Kind::Call, name: b"get_id", sequence: -7 };
            assert_eq!((request.header, consumed), (header, bytes.len()));
            assert_eq!(request.arguments.unwrap().string(1), Some(&b"app"[..]));
            assert_eq!(request.arguments.unwrap().string(9), None, "no field 9 is a string");

            let mut reply = Vec::new();
            reply_i64(&mut reply, &header, -2);
            let body = b"\x0a\0\0\xff\xff\xff\xff\xff\xff\xff\xfe";
            assert_eq!(reply, call(framed, strict, 2, "get_id", -7, body));
            reply.clear();
            exception(&mut reply, &header, Exception::UnknownMethod, "no");
            let body = b"\x0b\0\x01\0\0\0\x02no\x08\0\x02\0\0\0\x01";
            assert_eq!(reply, call(framed, strict, 3, "get_id", -7, body));
        }
    }
}

/// Only the first character of its name shows that such a message has no frame.
#[test]
fn an_unframed_message_that_is_not_strict_begins_with_any_letter_or_an_underscore() {
    for first in (b'a'..=b'z').chain(b'A'..=b'Z').chain([b'_']) {
        let name = format!("{}et_id", char::from(first));
        let bytes = call(false, false, 1, &name, 7, AGENT);
        let (request, consumed) = Decoder::new(LIMITS).decode(&bytes).unwrap().unwrap();
        let header =
            Header { framed: false, strict: false, kind: Kind::Call, name: name.as_bytes(), sequence: 7 };
        assert_eq!((request.header, consumed), (header, bytes.len()));
    }
}

#[test]
fn a_oneway_call_gets_no_reply_and_other_types_are_named() {
    for (framed, strict) in EVERY_WAY {
        let bytes = call(framed, strict, 4, "get_id", 1, AGENT);
        let (request, _) = Decoder::new(LIMITS).decode(&bytes).unwrap().unwrap();
        assert_eq!(request.header.kind, Kind::Oneway);
        let mut reply = Vec::new();
        reply_i64(&mut reply, &request.header, 1);
        exception(&mut reply, &request.header, Exception::Internal, "no");
        assert_eq!(reply, b"");
        let bytes = call(framed, strict, 3, "get_id", 1, b"");
        let (request, _) = Decoder::new(LIMITS).decode(&bytes).unwrap().unwrap();
        assert_eq!(request.header.kind, Kind::Other(3));
        exception(&mut reply, &request.header, Exception::InvalidMessageType, "");
        assert_ne!(reply, b"");
    }
}

#[test]
fn of_several_strings_of_a_number_the_last_counts() {
    let bytes = call(true, true, 1, "x", 0, b"\x0b\0\x01\0\0\0\x01a\x0b\0\x01\0\0\0\x01b\x08\0\x01\0\0\0\0");
    let (request, _) = Decoder::new(LIMITS).decode(&bytes).unwrap().unwrap();
    assert_eq!(request.arguments.unwrap().string(1), Some(&b"b"[..]));
}

#[test]
fn hostile_lengths_are_refused_once_they_are_known() {
    let hostile = [i32::MIN, -1, 0x7fff_ffff, 0x4000_0000, 4096];
    for length in hostile.map(i32::to_be_bytes) {
        for (before, after) in [
            (&b""[..], &b"a"[..]),
            (b"\x80\x01\0\x01", b""),
            (b"\x80\x01\0\x01\0\0\0\x01x\0\0\0\0\x0b\0\x01", b""),
            (b"\x80\x01\0\x01\0\0\0\x01x\0\0\0\0\x0f\0\x01\x03", b""),
            (b"\x80\x01\0\x01\0\0\0\x01x\0\0\0\0\x0f\0\x01\x0c", b""),
            (b"\x80\x01\0\x01\0\0\0\x01x\0\0\0\0\x0e\0\x01\x0a", b""),
            (b"\x80\x01\0\x01\0\0\0\x01x\0\0\0\0\x0d\0\x01\x08\x0a", b""),
            (b"\x80\x01\0\x01\0\0\0\x01x\0\0\0\0\x0d\0\x01\x0b\x0c", b""),
        ] {
            let bytes = [before, &length, after].concat();
            let (requests, _, fault) = read(&bytes, &[]);
            assert!(requests.is_empty() && fault.is_some(), "{bytes:x?}: {fault:?}");
            if before.len() > 4 {
                // Inside a frame the same is a request with a fault, and the next request is read.
                let mut bytes = [&i32::try_from(bytes.len()).unwrap().to_be_bytes()[..], &bytes].concat();
                bytes.extend(call(true, true, 1, "next", 5, AGENT));
                let (requests, at, fault) = read(&bytes, &[]);
                assert_eq!((requests.len(), at, fault), (2, bytes.len(), None));
                assert!(requests[0].contains("Err("), "{requests:?}");
            }
        }
    }
}

#[test]
fn faults_are_named() {
    let strict = |fields: &[u8]| call(false, true, 1, "x", 0, fields);
    let framed =
        |message: &[u8]| [&u32::try_from(message.len()).unwrap().to_be_bytes()[..], message].concat();
    let lists = |depth| [&b"\x0f\0\x01"[..], &b"\x0f\0\0\0\x01".repeat(depth), b"\x03\0\0\0\0"].concat();
    for (bytes, expected) in [
        (b"\0\0\0\0".to_vec(), Fault::Short),
        (b"\0\0\0\0g\x80\x01\0\x01\0".to_vec(), Fault::Short),
        (b"\0\0\x01\x01".to_vec(), Fault::TooLong(256)),
        (b"GET / HTTP/1.1\r\n".to_vec(), Fault::TooLong(256)),
        (b"\x80\x02\0\x01".to_vec(), Fault::Version),
        (b"\x81\x01\0\x01".to_vec(), Fault::Version),
        (b"\x80\x01\0\x01\0\0\0\x11".to_vec(), Fault::NameTooLong(16)),
        (b"\x80\x01\0\x01\xff\xff\xff\xff".to_vec(), Fault::Negative),
        (b"\0\0\0\x11a".to_vec(), Fault::NameTooLong(16)),
        (framed(b"\x80\x01\0\x01\0\0"), Fault::Short),
        (strict(b"\x07\0\x01"), Fault::Type(7)),
        (strict(b"\x0f\0\x01\x07\0\0\0\x01"), Fault::Type(7)),
        (strict(&lists(4)), Fault::TooDeep(4)),
        (strict(&b"\x0c\0\x01".repeat(100)), Fault::TooDeep(4)),
        (strict(&[b"\x0b\0\x01\0\0\0\xf0".as_slice(), &[b'a'; 240]].concat()), Fault::TooLong(256)),
        (strict(&b"\x03\0\x01\0".repeat(80)), Fault::TooLong(256)),
    ] {
        assert_eq!(read(&bytes, &[]).2, Some(expected), "{bytes:x?}");
    }
    assert_eq!(read(&strict(&lists(3)), &[]).0.len(), 1, "as deep as is allowed");
    for (bytes, expected) in [
        (framed(&strict(b"\x07\0\x01")), "Err(Type(7))"),
        (framed(&strict(&lists(4))), "Err(TooDeep(4))"),
        (framed(&[strict(b""), strict(b"")].concat()), "Err(Trailing)"),
        (framed(b"\x80\x01\0\x01\0\0\0\x01x\0\0\0\0"), "Err(Short)"),
        (framed(b"\x80\x01\0\x01\0\0\0\x01x\0\0\0\0\x0a\0\x01\0\0\0\0\0\0\0\0"), "Err(Short)"),
    ] {
        let (requests, at, fault) = read(&bytes, &[]);
        assert_eq!((at, fault), (bytes.len(), None));
        assert!(requests[0].contains(expected), "{requests:?}");
    }
}

#[test]
fn a_message_may_be_as_long_as_the_limit_and_no_longer() {
    for (framed, strict) in EVERY_WAY {
        let bytes = call(framed, strict, 1, "get_id", 1, AGENT);
        let length = bytes.len() - if framed { 4 } else { 0 };
        let read =
            |message| Decoder::new(Limits { message, ..LIMITS }).decode(&bytes).map_err(|error| error.fault);
        assert_eq!(read(length).unwrap().unwrap().1, bytes.len());
        assert_eq!(read(length - 1), Err(Fault::TooLong(length - 1)));
    }
}

#[test]
fn nothing_is_waited_for_behind_the_limit() {
    // A map whose start crosses the limit, or ends at it.
    for length in 227..=236_u8 {
        let text = vec![b'a'; length.into()];
        let fields = [&[11, 0, 1, 0, 0, 0, length], &text[..], b"\x0d\0\x02\x07\x07\0\0\0\x01"].concat();
        let bytes = call(false, true, 1, "x", 0, &fields);
        for ends in [&[][..], &[256], &[255, 256, 257]] {
            assert_eq!(read(&bytes, ends).2, Some(Fault::TooLong(256)), "{length}");
        }
        assert_eq!(read(&bytes[..LIMITS.message], &[]).2, Some(Fault::TooLong(256)), "{length}");
    }
}

#[test]
fn an_error_keeps_what_was_read_for_the_reply() {
    let bytes = b"\x80\x01\0\x01\0\0\0\x06get_id\0\0\0\x09\x07\0\x01";
    let error = Decoder::new(LIMITS).decode(bytes).unwrap_err();
    assert_eq!((error.header.name, error.header.sequence), (&b"get_id"[..], 9));
    let mut reply = Vec::new();
    exception(&mut reply, &error.header, Exception::Protocol, &error.to_string());
    assert!(reply.starts_with(b"\x80\x01\0\x03\0\0\0\x06get_id\0\0\0\x09"), "{reply:x?}");
}

#[test]
fn an_unframed_message_of_many_values_is_read_once() {
    // One byte at a time, with a list of 60,000 empty structs: rereading it from its start each time would take minutes.
    let count = 60_000_u32;
    let fields = [&b"\x0f\0\x01\x0c"[..], &count.to_be_bytes(), &vec![0; count as usize]].concat();
    let bytes = call(false, true, 1, "x", 0, &fields);
    let mut decoder = Decoder::new(Limits { message: 1 << 20, ..LIMITS });
    for end in 0..bytes.len() {
        assert_eq!(decoder.decode(&bytes[..end]), Ok(None));
    }
    assert_eq!(decoder.decode(&bytes).unwrap().unwrap().1, bytes.len());
}

#[test]
fn a_long_explanation_is_cut_between_characters() {
    let header = Header { framed: true, strict: true, kind: Kind::Call, name: b"x", sequence: 0 };
    let mut reply = Vec::new();
    exception(&mut reply, &header, Exception::Internal, &format!("a{}", "é".repeat(4000)));
    // The fields and the header around 4,095 bytes.
    assert_eq!(reply.len(), 4 + 13 + 7 + 4095 + 7 + 1);
}

#[test]
fn a_useragent_is_what_twitter_takes_for_one() {
    for good in ["a", "Z", "app-9", "a-"] {
        assert!(is_useragent(good.as_bytes()), "{good}");
    }
    for bad in ["", "-", "9a", "a_b", "a b", "a\n", "é"] {
        assert!(!is_useragent(bad.as_bytes()), "{bad}");
    }
}

proptest! {
    #[test]
    fn chunks_do_not_matter(
        ways in prop::collection::vec((0..4_usize, prop::bool::ANY, any::<i32>(), "[a-z_]{0,16}"), 1..5),
        broken in prop::option::of((any::<prop::sample::Index>(), any::<u8>())),
        mut ends in prop::collection::vec(0..600_usize, 0..40),
    ) {
        let mut bytes = Vec::new();
        for (way, large, sequence, name) in ways {
            let (framed, strict) = EVERY_WAY[way];
            // A name must begin with a letter if only that shows the message's form.
            let name = format!("a{}", &name[..name.len().min(15)]);
            bytes.extend(call(framed, strict, 1, &name, sequence, if large { EVERY_TYPE } else { AGENT }));
        }
        let whole = read(&bytes, &[]);
        prop_assert_eq!((whole.1, whole.2), (bytes.len(), None));
        if let Some((at, byte)) = broken {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let whole = read(&bytes, &[]);
        ends.sort_unstable();
        prop_assert_eq!(&read(&bytes, &ends), &whole);
        prop_assert_eq!(&read(&bytes, &(0..bytes.len()).collect::<Vec<_>>()), &whole);
    }
}
