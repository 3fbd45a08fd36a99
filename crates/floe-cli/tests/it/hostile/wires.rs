//! One good request of each protocol: what hostile input is made from, and what shows that a wire still serves.

/// Where a protocol is spoken.
#[derive(Clone, Copy)]
pub(super) enum Port {
    Main,
    Mysql,
}

/// A protocol.
pub(super) struct Wire {
    pub(super) name: &'static str,
    pub(super) port: Port,
    /// What a client says once.
    pub(super) opening: Vec<u8>,
    /// Asks for an ID, for the time of this number on the connection.
    pub(super) request: fn(u32) -> Vec<u8>,
    /// Asks for much to read at little cost, likewise.
    pub(super) much: fn(u32) -> Vec<u8>,
    /// What the answer holds if it has an ID, and no error does.
    pub(super) answer: &'static [u8],
    /// After how many bytes of opening and request a client has begun nothing that it must end in time.
    pub(super) may_be_idle_at: Vec<usize>,
}

const HTTP: &[u8] = b"GET /v1/mint/visits HTTP/1.1\r\nhost: a\r\n\r\n";
const RESP: &[u8] = b"*3\r\n$4\r\nMINT\r\n$6\r\nvisits\r\n$1\r\n1\r\n";

pub(super) fn wires() -> Vec<Wire> {
    let main = |name, request, answer| Wire {
        name,
        port: Port::Main,
        opening: Vec::new(),
        request,
        much: request,
        answer,
        may_be_idle_at: vec![0],
    };
    let http2 = |name, request: fn(u32) -> Vec<u8>, answer| {
        let opening = [&b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"[..], &frame(4, 0, 0, b"")].concat();
        Wire { may_be_idle_at: vec![0, opening.len()], opening, ..main(name, request, answer) }
    };
    let grpc =
        http2("gRPC", |number| grpc(1 + 2 * number, b"\0\0\0\0\x08\x0a\x06visits"), b"\0\0\0\0\x0a\x0a\x08");
    // The header is whole then, and the body has as long as the request.
    let header = grpc.opening.len() + (grpc.request)(0).len() - DATA;
    vec![
        Wire {
            much: |_| b"GET /v1/mint/visits?n=100000 HTTP/1.1\r\nhost: a\r\n\r\n".to_vec(),
            ..main("HTTP/1", |_| HTTP.to_vec(), b"\"ids\":[\"")
        },
        http2("HTTP/2", |number| get(1 + 2 * number, "/v1/mint/visits"), b"\"ids\":[\""),
        Wire { may_be_idle_at: [grpc.may_be_idle_at, vec![header]].concat(), ..grpc },
        Wire { much: |_| b"MINT visits 100000\r\n".to_vec(), ..main("RESP", |_| RESP.to_vec(), b"*1\r\n:") },
        main("memcached text", |_| b"get visits\r\n".to_vec(), b"VALUE visits 0 "),
        main("memcached binary", |_| packet(0, b"visits"), b"\x81\0\0\0\x04\0\0\0"),
        main("Thrift framed", |_| framed(&thrift("get_id", APP)), b"\x80\x01\0\x02\0\0\0\x06get_id"),
        main("Thrift", |_| thrift("get_id", APP), b"\x80\x01\0\x02\0\0\0\x06get_id"),
        main(
            "Thrift not strict",
            |_| [b"\0\0\0\x06get_id\x01\0\0\0\x07", APP].concat(),
            b"\0\0\0\x06get_id\x02",
        ),
        Wire {
            port: Port::Mysql,
            opening: login(b"\0", b"mysql_native_password"),
            may_be_idle_at: vec![login(b"\0", b"mysql_native_password").len()],
            much: |_| command(3, b"SHOW VARIABLES"),
            // An OK with two rows, the first packet of an answer.
            ..main("MySQL", |_| command(3, b"REPLACE INTO visits (stub) VALUES ('a')"), b"\0\0\x01\0\x02")
        },
    ]
}

/// A frame of HTTP/2.
pub(super) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// HTTP/2's header of a request, which ends it or not.
pub(super) fn headers(stream: u32, end: bool, fields: &[(&str, &str)]) -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in fields {
        // As it stands, under a name that is not in any table.
        block.push(0);
        for text in [name, value] {
            block.push(u8::try_from(text.len()).unwrap());
            block.extend(text.bytes());
        }
    }
    frame(1, 4 | u8::from(end), stream, &block)
}

pub(super) fn get(stream: u32, path: &str) -> Vec<u8> {
    headers(stream, true, &[(":method", "GET"), (":scheme", "http"), (":authority", "a"), (":path", path)])
}

/// The frame of the one message of gRPC that the wire sends.
const DATA: usize = 9 + 5 + 8;

/// gRPC's `Mint` with this message, its length before it.
pub(super) fn grpc(stream: u32, message: &[u8]) -> Vec<u8> {
    let fields = [
        (":method", "POST"),
        (":scheme", "http"),
        (":authority", "a"),
        (":path", "/floe.v1.Ids/Mint"),
        ("content-type", "application/grpc"),
        ("te", "trailers"),
    ];
    [headers(stream, false, &fields), frame(0, 1, stream, message)].concat()
}

/// A packet of memcached's.
pub(super) fn packet(opcode: u8, key: &[u8]) -> Vec<u8> {
    let length = u8::try_from(key.len()).unwrap();
    [&[0x80, opcode, 0, length, 0, 0, 0, 0, 0, 0, 0, length][..], &[0; 12], key].concat()
}

/// The arguments of `get_id("app")`.
pub(super) const APP: &[u8] = b"\x0b\0\x01\0\0\0\x03app\0";

/// A strict call.
pub(super) fn thrift(method: &str, arguments: &[u8]) -> Vec<u8> {
    let length = u32::try_from(method.len()).unwrap().to_be_bytes();
    [b"\x80\x01\0\x01", &length[..], method.as_bytes(), b"\0\0\0\x07", arguments].concat()
}

pub(super) fn framed(message: &[u8]) -> Vec<u8> {
    [&u32::try_from(message.len()).unwrap().to_be_bytes(), message].concat()
}

/// A packet of MySQL's, its number in the exchange before it.
pub(super) fn numbered(sequence: u8, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_le_bytes();
    [&length[..3], &[sequence], payload].concat()
}

/// A command of MySQL's.
pub(super) fn command(code: u8, payload: &[u8]) -> Vec<u8> {
    numbered(0, &[&[code], payload].concat())
}

/// A login of MySQL's, with the proof, its length before it, and the name of the way in which it was made.
pub(super) fn login(proof: &[u8], plugin: &[u8]) -> Vec<u8> {
    numbered(1, &login_payload(PROTOCOL_41 | SECURE_CONNECTION | PLUGIN_AUTH | LONG_PROOF, proof, plugin))
}

pub(super) const PROTOCOL_41: u32 = 0x200;
pub(super) const SECURE_CONNECTION: u32 = 0x8000;
pub(super) const PLUGIN_AUTH: u32 = 0x8_0000;
pub(super) const LONG_PROOF: u32 = 0x20_0000;

pub(super) fn login_payload(capabilities: u32, proof: &[u8], plugin: &[u8]) -> Vec<u8> {
    [&capabilities.to_le_bytes()[..], b"\0\0\0\x01\x2d", &[0; 23], b"app\0", proof, plugin, b"\0"].concat()
}
