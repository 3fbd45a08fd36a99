use proptest::prelude::*;

use super::*;

const LIMITS: Limits = Limits { request_bytes: 1_024 };
const OPAQUE: [u8; 4] = *b"abcd";

fn packet(opcode: u8, extras: &[u8], key: &[u8], value: &[u8]) -> Vec<u8> {
    let body = [extras, key, value].concat();
    let mut packet = header(opcode, extras.len(), key.len(), u32::try_from(body.len()).unwrap());
    packet.extend(body);
    packet
}

fn header(opcode: u8, extras_bytes: usize, key_bytes: usize, body_bytes: u32) -> Vec<u8> {
    let mut header = vec![0x80, opcode];
    header.extend(u16::try_from(key_bytes).unwrap().to_be_bytes());
    header.extend([u8::try_from(extras_bytes).unwrap(), 0, 0, 0]);
    header.extend(body_bytes.to_be_bytes());
    header.extend(OPAQUE);
    header.extend([0; 8]);
    header
}

fn one(bytes: &[u8]) -> Result<Option<(Request<'_>, usize)>, Error> {
    Decoder::new(LIMITS).decode(bytes)
}

#[test]
fn every_operation_has_its_number_and_its_parts() {
    use Operation::*;
    let long = [b'k'; 251];
    for (opcode, extras, key, value, expected) in [
        (0x00, &b""[..], &b"orders"[..], &b""[..], Get),
        (0x00, b"", &long[..250], b"", Get),
        (0x00, b"", &long, b"", Invalid),
        (0x00, b"", b"", b"", Invalid),
        (0x00, b"", b"a\n", b"", Invalid),
        (0x00, b"", b"a\x7f", b"", Invalid),
        (0x00, b"abcd", b"k", b"", Invalid),
        (0x00, b"", b"k", b"v", Invalid),
        (0x09, b"", b"k", b"", GetQuietly),
        (0x09, b"", b"", b"", Invalid),
        (0x0c, b"", b"k", b"", GetWithKey),
        (0x0c, b"", b"", b"", Invalid),
        (0x0d, b"", b"k", b"", GetWithKeyQuietly),
        (0x0d, b"", b"", b"", Invalid),
        (0x0a, b"", b"", b"", Noop),
        (0x0a, b"", b"k", b"", Invalid),
        (0x0b, b"", b"", b"", Version),
        (0x0b, b"", b"", b"v", Invalid),
        (0x10, b"", b"", b"", Stat),
        (0x10, b"", b"settings", b"", Stat),
        (0x10, b"", &long, b"", Invalid),
        (0x10, b"", b"a\0", b"", Invalid),
        (0x10, b"", b"", b"v", Invalid),
        (0x07, b"", b"", b"", Quit),
        (0x07, b"e", b"", b"", Invalid),
        (0x17, b"", b"", b"", QuitQuietly),
        (0x01, b"flagstim", b"k", b"value", Unknown),
        (0x05, b"", b"k", b"", Unknown),
        (0x11, b"flagstim", b"k", b"value", Unknown),
        (0x20, b"", b"", b"", Unknown),
        (0xff, b"", b"", b"", Unknown),
    ] {
        let bytes = packet(opcode, extras, key, value);
        let request = Request { operation: expected, opcode, opaque: OPAQUE, key };
        assert_eq!(
            one(&bytes),
            Ok(Some((request, bytes.len()))),
            "{opcode:#04x} {extras:?} {key:?} {value:?}"
        );
    }
}

#[test]
fn lengths_in_a_header_are_checked_against_each_other_and_the_limit() {
    let (opcode, opaque) = (0, OPAQUE);
    let (lies, large) = (Error::Header { opcode, opaque }, Error::TooLarge { opcode, opaque, limit: 1_024 });
    for (extras_bytes, key_bytes, body_bytes, expected) in [
        (0, 1, 0, Err(lies)),
        (1, 0, 0, Err(lies)),
        (4, 4, 7, Err(lies)),
        (255, 65_535, 65_789, Err(lies)),
        (255, 65_535, 65_790, Err(large)),
        (0, 0, 1_001, Err(large)),
        (0, 0, 1 << 31, Err(large)),
        (0, 0, u32::MAX, Err(large)),
        (0, 0, 1_000, Ok(None)),
        (4, 4, 8, Ok(None)),
    ] {
        let bytes = header(opcode, extras_bytes, key_bytes, body_bytes);
        assert_eq!(one(&bytes), expected, "{extras_bytes} {key_bytes} {body_bytes}");
        assert_eq!(one(&bytes[..23]), Ok(None));
    }
    let largest = packet(0x01, b"", b"", &[0; 1_000]);
    assert_eq!(one(&largest).unwrap().unwrap().1, 1_024);
    assert_eq!(one(&largest[..1_023]), Ok(None));
}

#[test]
fn another_first_byte_is_refused_at_once() {
    for first in [b'g', 0x81, 0] {
        assert_eq!(one(&[first]), Err(Error::Magic(first)));
    }
    assert_eq!(one(b""), Ok(None));
}

#[test]
fn replies_are_written() {
    let request = |operation, opcode, key| Request { operation, opcode, opaque: OPAQUE, key };
    let get = request(Operation::Get, 0x00, b"k");
    let get_with_key = request(Operation::GetWithKeyQuietly, 0x0d, b"key");
    let stat = request(Operation::Stat, 0x10, b"");
    type Write<'a> = &'a dyn Fn(&mut Vec<u8>);
    let rows: &[(Write<'_>, &[u8])] = &[
        (
            &|output| reply::value(output, &get, b"12", 7),
            b"\x81\0\0\0\x04\0\0\0\0\0\0\x06abcd\0\0\0\0\0\0\0\x07\0\0\0\x0012",
        ),
        (
            &|output| reply::value(output, &get_with_key, b"1", 0),
            b"\x81\x0d\0\x03\x04\0\0\0\0\0\0\x08abcd\0\0\0\0\0\0\0\0\0\0\0\0key1",
        ),
        (
            &|output| reply::not_found(output, &get_with_key),
            b"\x81\x0d\0\x03\0\0\0\x01\0\0\0\x03abcd\0\0\0\0\0\0\0\0key",
        ),
        (
            &|output| reply::not_found(output, &get),
            b"\x81\0\0\0\0\0\0\x01\0\0\0\x09abcd\0\0\0\0\0\0\0\0Not found",
        ),
        (&|output| reply::done(output, &stat), b"\x81\x10\0\0\0\0\0\0\0\0\0\0abcd\0\0\0\0\0\0\0\0"),
        (
            &|output| reply::stat(output, &stat, "pid", "1"),
            b"\x81\x10\0\x03\0\0\0\0\0\0\0\x04abcd\0\0\0\0\0\0\0\0pid1",
        ),
        (
            &|output| reply::version(output, &request(Operation::Version, 0x0b, b""), "0.1"),
            b"\x81\x0b\0\0\0\0\0\0\0\0\0\x03abcd\0\0\0\0\0\0\0\x000.1",
        ),
        (
            &|output| reply::error(output, &get, Status::UnknownCommand, "no"),
            b"\x81\0\0\0\0\0\0\x81\0\0\0\x02abcd\0\0\0\0\0\0\0\0no",
        ),
        (
            &|output| Error::TooLarge { opcode: 1, opaque: OPAQUE, limit: 9 }.encode(output),
            b"\x81\x01\0\0\0\0\0\x03\0\0\0\x1eabcd\0\0\0\0\0\0\0\0a request of more than 9 bytes",
        ),
        (&|output| Error::Magic(0).encode(output), b""),
    ];
    for (write, expected) in rows {
        let mut output = b"before".to_vec();
        write(&mut output);
        assert_eq!(
            output.strip_prefix(b"before").unwrap().escape_ascii().to_string(),
            expected.escape_ascii().to_string()
        );
    }
}

#[test]
fn each_status_has_its_number() {
    let numbers = [
        Status::TooLarge,
        Status::InvalidArguments,
        Status::Authentication,
        Status::UnknownCommand,
        Status::Internal,
        Status::Busy,
        Status::Temporary,
    ]
    .map(|status| status as u16);
    assert_eq!(numbers, [0x03, 0x04, 0x20, 0x81, 0x84, 0x85, 0x86]);
}

proptest! {
    #[test]
    fn a_packet_is_read_when_its_last_byte_has_come(
        opcode in any::<u8>(),
        extras in prop::collection::vec(any::<u8>(), 0..10),
        key in prop::collection::vec(any::<u8>(), 0..300),
        value in prop::collection::vec(any::<u8>(), 0..30),
    ) {
        let bytes = packet(opcode, &extras, &key, &value);
        for come in 0..bytes.len() {
            prop_assert_eq!(one(&bytes[..come]), Ok(None));
        }
        let more = [&bytes[..], b"\x80\0"].concat();
        let (request, consumed) = one(&more).unwrap().unwrap();
        prop_assert_eq!((request.opcode, request.opaque, request.key), (opcode, OPAQUE, &key[..]));
        prop_assert_eq!(consumed, bytes.len());
    }
}
