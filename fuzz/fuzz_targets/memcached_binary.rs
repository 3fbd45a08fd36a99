//! memcached's packets: nothing is read past the end, limits hold, the parts of a packet are those that its header
//! announces, and replies carry what they answer.
#![no_main]

use floe_wire::memcached::KEY_BYTES;
use floe_wire::memcached::binary::{Decoder, Error, Limits, Operation, Request, Status, reply};
use libfuzzer_sys::fuzz_target;

const LIMITS: Limits = Limits { request_bytes: 300 };

fuzz_target!(|bytes: &[u8]| {
    let decoder = Decoder::new(LIMITS);
    let mut rest = bytes;
    loop {
        match decoder.decode(rest) {
            Ok(Some((request, consumed))) => {
                assert!(consumed <= rest.len() && consumed <= LIMITS.request_bytes);
                let (packet, after) = rest.split_at(consumed);
                check(&request, packet);
                rest = after;
            }
            Ok(None) => {
                assert!(rest.len() < LIMITS.request_bytes, "waits for more than a request may have");
                break;
            }
            Err(error) => {
                let mut output = Vec::new();
                error.encode(&mut output);
                assert_eq!(output.is_empty(), matches!(error, Error::Magic(_)));
                assert!(output.is_empty() || output[1] == rest[1] && output[12..16] == rest[12..16]);
                break;
            }
        }
    }
});

fn check(request: &Request<'_>, packet: &[u8]) {
    let decoder = Decoder::new(LIMITS);
    assert!(
        (0..packet.len()).all(|come| decoder.decode(&packet[..come]) == Ok(None)),
        "a part of a packet is none"
    );
    let key_bytes = usize::from(u16::from_be_bytes([packet[2], packet[3]]));
    let extras_bytes = usize::from(packet[4]);
    let body_bytes = u32::from_be_bytes([packet[8], packet[9], packet[10], packet[11]]);
    assert_eq!(packet.len(), 24 + body_bytes as usize);
    assert_eq!(request.key, &packet[24 + extras_bytes..][..key_bytes]);
    assert_eq!(([request.opcode], request.opaque), ([packet[1]], packet[12..16].try_into().unwrap()));

    let gets = [
        (0x00, Operation::Get),
        (0x09, Operation::GetQuietly),
        (0x0c, Operation::GetWithKey),
        (0x0d, Operation::GetWithKeyQuietly),
    ];
    let get = gets.contains(&(request.opcode, request.operation));
    assert_eq!(get, gets.iter().any(|&(_, operation)| operation == request.operation));
    if get {
        assert!((1..=KEY_BYTES).contains(&request.key.len()) && request.key.len() + 24 == packet.len());
    }
    let writes: [fn(&mut Vec<u8>, &Request<'_>); 4] = [
        |output, request| reply::value(output, request, b"1", 0),
        |output, request| reply::not_found(output, request),
        |output, request| reply::done(output, request),
        |output, request| reply::error(output, request, Status::Busy, "later"),
    ];
    for write in writes {
        let mut output = Vec::new();
        write(&mut output, request);
        assert_eq!(output.len(), 24 + u32::from_be_bytes(output[8..12].try_into().unwrap()) as usize);
        assert_eq!((output[0], output[1], &output[12..16]), (0x81, request.opcode, &request.opaque[..]));
    }
}
