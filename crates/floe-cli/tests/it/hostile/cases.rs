//! The table: what is sent, on which wire, and what has to come of it.

use super::wires::{
    APP, LONG_PROOF, PLUGIN_AUTH, PROTOCOL_41, SECURE_CONNECTION, command, frame, framed, get, grpc, headers,
    login, login_payload, numbered, packet, thrift,
};

/// One input.
pub(super) struct Case {
    pub(super) what: String,
    /// The name of the wire, on whose port it is sent.
    pub(super) wire: &'static str,
    /// Whether a good request has been answered on the connection before.
    pub(super) after: bool,
    pub(super) bytes: Vec<u8>,
    pub(super) outcome: Outcome,
}

/// What has to happen, with bytes that the answer has to hold.
#[derive(Clone, Copy)]
pub(super) enum Outcome {
    /// It is answered.
    Says(&'static [u8]),
    /// The server closes the connection at once, and nothing was minted.
    Ends(&'static [u8]),
    /// The server closes the connection at once. What it had answered by then was asked for.
    Closes(&'static [u8]),
    /// More has to come: the server waits for it, and closes the connection when the time is over.
    Waits(&'static [u8]),
}

use Outcome::{Closes, Ends, Says, Waits};

const NOT_BULK: &[u8] = b"-ERR Protocol error: expected '$', got '*'";

pub(super) fn cases() -> Vec<Case> {
    let by_wire: [fn() -> Vec<Case>; 10] = [
        garbage,
        http,
        http2,
        grpc_messages,
        resp,
        memcached_text,
        memcached_binary,
        thrift_calls,
        mysql_logins,
        mysql_commands,
    ];
    by_wire.into_iter().flat_map(|cases| cases()).collect()
}

/// Numbers as protocols write them in digits, with a word for each.
const DIGITS: [(&str, &str); 8] = [
    ("", "no digits"),
    ("-1", "-1"),
    ("-9223372036854775808", "-2^63"),
    ("2147483648", "2^31"),
    ("9223372036854775807", "2^63 - 1"),
    ("9223372036854775808", "2^63"),
    ("18446744073709551616", "2^64"),
    ("99999999999999999999999999999999", "32 digits"),
];

/// Lengths of 32 bits.
const WORDS: [u32; 5] = [0, 0x7fff_ffff, 0x8000_0000, 0x8000_0001, 0xffff_ffff];

/// Behind a good request on the same connection.
fn after(wire: &'static str, what: impl Into<String>, bytes: impl Into<Vec<u8>>, outcome: Outcome) -> Case {
    Case { what: what.into(), wire, after: true, bytes: bytes.into(), outcome }
}

/// The first that a connection carries.
fn first(wire: &'static str, what: impl Into<String>, bytes: impl Into<Vec<u8>>, outcome: Outcome) -> Case {
    Case { after: false, ..after(wire, what, bytes, outcome) }
}

/// What matches no protocol, or one that is not spoken on the port.
fn garbage() -> Vec<Case> {
    let hello = b"\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03";
    vec![
        first("RESP", "a TLS hello", [&hello[..], &[7; 512]].concat(), Ends(b"")),
        // A packet of 66 KiB, to MySQL.
        first("MySQL", "a TLS hello", [&hello[..], &[7; 512]].concat(), Waits(b"")),
        first("RESP", "ones", [0xff; 64], Ends(b"")),
        first("RESP", "a bulk string", b"$5\r\nhello\r\n", Ends(b"")),
        first("RESP", "JSON", b"{\"name\":\"visits\"}\n", Ends(b"")),
        first("RESP", "a login of MySQL's", login(b"\0", b""), Ends(b"")),
        first("RESP", "SSH", b"SSH-2.0-OpenSSH_9.2\r\n", Says(b"-ERR unknown command")),
        first("RESP", "letters without end", vec![b'a'; 1 << 20], Ends(b"-ERR Protocol error: ")),
        first("RESP", "a few letters", b"aaa", Waits(b"")),
        first("MySQL", "HTTP", b"GET / HTTP/1.1\r\nhost: a\r\n\r\n", Ends(b"a packet has at most")),
        first("MySQL", "RESP", b"*1\r\n$4\r\nPING\r\n", Ends(b"a packet has at most")),
        first("MySQL", "ones", [0xff; 64], Ends(b"a packet has at most")),
    ]
}

fn http() -> Vec<Case> {
    let case = |what: &str, bytes: &[u8], outcome| after("HTTP/1", what, bytes, outcome);
    let post =
        |fields: &str| format!("POST /v1/mint/visits HTTP/1.1\r\nhost: a\r\n{fields}\r\n\r\n").into_bytes();
    let length = |length: &str| post(&format!("content-length: {length}"));
    let chunked = |size: &str| [post("transfer-encoding: chunked"), format!("{size}\r\n").into()].concat();
    let mut cases = vec![
        case("an unknown version", b"GET / HTTP/9.9\r\n\r\n", Ends(b"HTTP/1.1 400 ")),
        case("binary", b"\0\x01\x02\x03\xff\xfe\r\n\r\n", Ends(b"HTTP/1.1 400 ")),
        case("a space before a colon", b"GET / HTTP/1.1\r\nhost : a\r\n\r\n", Ends(b"HTTP/1.1 400 ")),
        case(
            "a token where a name belongs",
            b"GET /v1/mint/floe_5ec7e7 HTTP/1.1\r\nhost: a\r\n\r\n",
            Says(b"HTTP/1.1 404 "),
        ),
        case(
            "a token where tinyid's name belongs",
            b"GET /id/nextIdSimple?bizType=floe_5ec7e7 HTTP/1.1\r\nhost: a\r\n\r\n",
            Says(b"HTTP/1.1 200 "),
        ),
        case("a body of nothing", &length("0"), Says(b"\"ids\":[\"")),
        case("a body of 2^31", &length("2147483648"), Ends(b"HTTP/1.1 413 ")),
        case("a body of 2^63 - 1", &length("9223372036854775807"), Ends(b"HTTP/1.1 413 ")),
        case("a body of 2^63", &length("9223372036854775808"), Ends(b"HTTP/1.1 413 ")),
        // More than hyper can count to.
        case("a body of 2^64 - 1", &length("18446744073709551615"), Ends(b"HTTP/1.1 431 ")),
        case("two lengths", &post("content-length: 1\r\ncontent-length: 2"), Ends(b"HTTP/1.1 400 ")),
        case("half a body", &[length("10"), b"12345".to_vec()].concat(), Waits(b"")),
        case("no chunks", &[chunked("0"), b"\r\n".to_vec()].concat(), Says(b"\"ids\":[\"")),
        case("a chunk of -1", &chunked("-1"), Ends(b"")),
        case("a chunk of 2^64", &chunked("10000000000000000"), Ends(b"")),
        case("a chunk of 2^31", &chunked("80000000"), Waits(b"")),
        case("a chunk of 2^63", &chunked("8000000000000000"), Waits(b"")),
        case(
            "more chunks than a body may have",
            &[chunked("fffff"), vec![b'x'; 0xf_ffff]].concat(),
            Ends(b"HTTP/1.1 400 "),
        ),
        case(
            "a longer form than a body may be",
            &[&b"POST /id/nextId HTTP/1.1\r\nhost: a\r\ncontent-type: application/x-www-form-urlencoded\r\ntransfer-encoding: chunked\r\n\r\nfffff\r\n"[..], &[b'x'; 0xf_ffff]].concat(),
            Ends(b"HTTP/1.1 413 "),
        ),
    ];
    for length in ["-1", "abc", "", "+1", "0x1", "18446744073709551616"] {
        let bytes = post(&format!("content-length: {length}"));
        cases.push(after("HTTP/1", format!("a body of \"{length}\""), bytes, Ends(b"HTTP/1.1 400 ")));
    }
    cases
}

/// The head of the frame that says why a connection ends (RFC 9113, section 6.8).
const GOAWAY: &[u8] = b"\0\0\x08\x07\0\0\0\0\0";

fn http2() -> Vec<Case> {
    let case = |what: &str, bytes: Vec<u8>, outcome| after("HTTP/2", what, bytes, outcome);
    let post = |length: &str| {
        headers(
            3,
            false,
            &[
                (":method", "POST"),
                (":scheme", "http"),
                (":authority", "a"),
                (":path", "/v1/mint/visits"),
                ("content-length", length),
            ],
        )
    };
    let reset: Vec<u8> = (1..=20_000)
        .flat_map(|stream| {
            [get(1 + 2 * stream, "/v1/mint/visits"), frame(3, 0, 1 + 2 * stream, &[0, 0, 0, 8])].concat()
        })
        .collect();
    let mut cases = vec![
        case("a header of nothing", frame(1, 5, 3, b""), Says(b"\0\0\x04\x03\0\0\0\0\x03\0\0\0\x01")),
        case("a frame of 2^24 - 1", b"\xff\xff\xff\0\0\0\0\0\x01".to_vec(), Ends(GOAWAY)),
        case("settings of 5 bytes", frame(4, 0, 0, b"12345"), Ends(GOAWAY)),
        case("a ping of nothing", frame(6, 0, 0, b""), Ends(GOAWAY)),
        case("a window of nothing more", frame(8, 0, 0, &[0; 4]), Ends(GOAWAY)),
        case("a window past 2^31", frame(8, 0, 0, &[0x7f, 0xff, 0xff, 0xff]), Ends(GOAWAY)),
        case("a header on no stream", get(0, "/"), Ends(GOAWAY)),
        case("a header on the server's stream", get(4, "/"), Ends(GOAWAY)),
        case("more padding than frame", frame(1, 0xd, 3, &[0xff, 0]), Ends(GOAWAY)),
        case("an index past every table", frame(1, 5, 3, b"\xff\xff\xff\xff\x07"), Ends(GOAWAY)),
        case("an index of 2^63", frame(1, 5, 3, b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f"), Ends(GOAWAY)),
        case("a field name of 2^31 bytes", frame(1, 5, 3, b"\0\x7f\x81\xff\xff\xff\x07"), Ends(GOAWAY)),
        case("a body of 2^31", post("2147483648"), Says(b"\"status\":413")),
        case("a body of 2^63 - 1", post("9223372036854775807"), Says(b"\"status\":413")),
        case("half a header", frame(1, 0, 3, b"\0\x01a\x01b"), Waits(b"")),
        case("half a frame", get(3, "/")[..20].to_vec(), Waits(b"")),
        case(
            "a header without end",
            [frame(1, 0, 3, b""), frame(9, 0, 3, b"").repeat(100_000)].concat(),
            Ends(b""),
        ),
        case(
            "a header of megabytes",
            [
                frame(1, 0, 3, b""),
                frame(9, 0, 3, &[b"\0\x01a\x7f\x80\x01", &[b'x'; 255][..]].concat().repeat(60)).repeat(100),
            ]
            .concat(),
            Ends(b""),
        ),
        case("requests that are taken back", reset, Closes(b"\0\0\0\x0b")),
    ];
    for length in ["-1", "abc", "18446744073709551616"] {
        cases.push(after(
            "HTTP/2",
            format!("a body of \"{length}\""),
            post(length),
            Says(b"\0\0\x04\x03\0\0\0\0\x03\0\0\0\x01"),
        ));
    }
    cases
}

fn grpc_messages() -> Vec<Case> {
    // A header that ends the stream: of the answer there is nothing but its status.
    const REFUSED: &[u8] = b"\x01\x05\0\0\0\x03";
    let case = |what: String, message: &[u8], outcome| after("gRPC", what, grpc(3, message), outcome);
    let word = |length: u32, message: &[u8]| [&[0][..], &length.to_be_bytes(), message].concat();
    let whole = |message: &[u8]| word(u32::try_from(message.len()).unwrap(), message);
    let mut cases = Vec::new();
    for length in WORDS {
        cases.push(case(format!("a message of {length}"), &word(length, b""), Says(REFUSED)));
    }
    for (what, message) in [
        ("a name of 2^31", &b"\x0a\x80\x80\x80\x80\x08"[..]),
        ("a name of 2^63", b"\x0a\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01"),
        ("a number without end", b"\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"),
        ("groups in groups", &b"\x1b".repeat(10_000)),
        ("a count of 2^63", b"\x0a\x06visits\x10\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01"),
        ("a name that is no text", b"\x0a\x02\xff\xff"),
    ] {
        cases.push(case(what.into(), &whole(message), Says(REFUSED)));
    }
    cases.push(case("a message that is compressed".into(), b"\x01\0\0\0\0", Says(REFUSED)));
    cases.push(case("a message of an unknown sort".into(), b"\x09\0\0\0\0", Says(REFUSED)));
    cases
}

fn resp() -> Vec<Case> {
    const REQUEST: &[u8] = b"*2\r\n$4\r\nINCR\r\n$6\r\nvisits\r\n";
    let case = |what: &str, bytes: &[u8], outcome| after("RESP", what, bytes, outcome);
    let mut cases = vec![
        // Redis takes these for nothing at all.
        case("an array of nothing", &[b"*0\r\n", REQUEST].concat(), Says(b":")),
        case("an array of -1", &[b"*-1\r\n", REQUEST].concat(), Says(b":")),
        case("an array of -2^63", &[b"*-9223372036854775808\r\n", REQUEST].concat(), Says(b":")),
        case("a command of nothing", b"*1\r\n$0\r\n\r\n", Says(b"-ERR unknown command ''")),
        case("a name of nothing", b"*2\r\n$4\r\nINCR\r\n$0\r\n\r\n", Says(b"-ERR ")),
        case("arrays in arrays", &b"*1\r\n".repeat(200_000), Ends(NOT_BULK)),
        case("an array in an array", b"*2\r\n$4\r\nINCR\r\n*1\r\n$1\r\na\r\n", Ends(NOT_BULK)),
        case("an integer for an argument", b"*1\r\n:5\r\n", Ends(b"-ERR Protocol error: ")),
        case(
            "an argument that is longer than it says",
            b"*1\r\n$4\r\nPINGPONG\r\n",
            Ends(b"-ERR Protocol error: "),
        ),
        case(
            "digits without end",
            &[&b"*"[..], &b"1".repeat(100_000)[..]].concat(),
            Ends(b"-ERR Protocol error: "),
        ),
        case("a line without end", &b"a".repeat(1 << 20), Ends(b"-ERR Protocol error: ")),
        case("an open quote", b"INCR \"visits\r\n", Ends(b"-ERR Protocol error: ")),
        case("half an array", b"*2\r\n$4\r\nINCR\r\n", Waits(b"")),
        case("half a line", b"INCR visi", Waits(b"")),
        case("INCRBY -2^63", b"INCRBY visits -9223372036854775808\r\n", Says(b"-ERR ")),
        case("INCRBY 2^63", b"INCRBY visits 9223372036854775808\r\n", Says(b"-ERR ")),
        case("MINT 2^64", b"MINT visits 18446744073709551616\r\n", Says(b"-ERR ")),
        case("MULTI in MULTI", b"MULTI\r\nMULTI\r\nEXEC\r\n", Says(b"-EXECABORT ")),
    ];
    for (length, what) in DIGITS {
        if !length.starts_with('-') {
            let bytes = format!("*{length}\r\n");
            cases.push(after("RESP", format!("an array of {what}"), bytes, Ends(b"-ERR Protocol error: ")));
        }
        let bytes = format!("*2\r\n$4\r\nINCR\r\n${length}\r\n");
        cases.push(after("RESP", format!("a string of {what}"), bytes, Ends(b"-ERR Protocol error: ")));
    }
    cases
}

fn memcached_text() -> Vec<Case> {
    let case = |what: &str, bytes: &[u8], outcome| after("memcached text", what, bytes, outcome);
    let mut cases = vec![
        case("a block of nothing", b"set visits 0 0 0\r\n\r\nget visits\r\n", Says(b"\r\nVALUE visits 0 ")),
        case("a block that is longer than it says", b"set visits 0 0 1\r\nhello\r\n", Ends(b"CLIENT_ERROR ")),
        case("a key of 251 bytes", &[b"get ", &[b'k'; 251][..], b"\r\n"].concat(), Says(b"CLIENT_ERROR ")),
        case("a control character", b"get \x01\r\n", Says(b"CLIENT_ERROR ")),
        case("keys without end", &[b"get ", &b"k ".repeat(1 << 20)[..]].concat(), Ends(b"SERVER_ERROR ")),
        case("a key without end", &[b"get ", &b"k".repeat(1 << 20)[..]].concat(), Ends(b"_ERROR ")),
        case("an unknown word", b"brew coffee\r\n", Says(b"ERROR\r\n")),
        case("a block over the limit", b"set visits 0 0 99999\r\n", Ends(b"SERVER_ERROR ")),
        case("half a line", b"get vis", Waits(b"")),
        case("half a block", b"set visits 0 0 10\r\n12345", Waits(b"")),
    ];
    for (length, what) in DIGITS {
        let bytes = format!("set visits 0 0 {length}\r\nget visits\r\n");
        cases.push(after("memcached text", format!("a block of {what}"), bytes, Ends(b"_ERROR ")));
    }
    cases
}

fn memcached_binary() -> Vec<Case> {
    let case = |what: String, bytes: Vec<u8>, outcome| after("memcached binary", what, bytes, outcome);
    let head = |key: u16, extras: u8, body: u32| {
        [&[0x80, 0][..], &key.to_be_bytes(), &[extras, 0, 0, 0], &body.to_be_bytes(), &[0; 12]].concat()
    };
    let mut cases = vec![
        case("a key past its body".into(), head(0xffff, 0, 1), Ends(b"\x81\0")),
        case("extras past their body".into(), head(0, 0xff, 1), Ends(b"\x81\0")),
        case("a key without a body".into(), head(1, 0, 0), Ends(b"\x81\0")),
        case("no key".into(), head(0, 0, 0), Says(b"\x81\0\0\0\0\0\0\x04")),
        case("a reply's magic".into(), [&[0x81][..], &packet(0, b"visits")[1..]].concat(), Ends(b"")),
        case("lines".into(), b"get visits\r\nget visits\r\nget visits\r\n".to_vec(), Ends(b"")),
        case("half a head".into(), packet(0, b"visits")[..12].to_vec(), Waits(b"")),
        case("half a key".into(), packet(0, b"visits")[..27].to_vec(), Waits(b"")),
    ];
    for length in WORDS.into_iter().filter(|length| *length > 0) {
        cases.push(case(format!("a body of {length}"), head(1, 0, length), Ends(b"\x81\0")));
    }
    for opcode in [0x01, 0x05, 0x1e, 0x21, 0x7f, 0x80, 0xff] {
        let known = packet(opcode, b"visits");
        cases.push(case(format!("the opcode {opcode:#x}"), known, Says(&[0x81])));
    }
    cases
}

fn thrift_calls() -> Vec<Case> {
    let mut cases = Vec::new();
    let string = |length: u32| [&[11, 0, 1][..], &length.to_be_bytes()].concat();
    let list = |length: u32| [&[15, 0, 1, 12][..], &length.to_be_bytes()].concat();
    let map = |length: u32| [&[13, 0, 1, 11, 11][..], &length.to_be_bytes()].concat();
    let name = |length: u32| [b"\x80\x01\0\x01", &length.to_be_bytes()[..]].concat();
    for length in WORDS {
        let huge = length > 0x7fff_ffff;
        let mut unframed = |what: String, bytes, outcome| cases.push(after("Thrift", what, bytes, outcome));
        // A name of nothing is a name.
        if length > 0 {
            unframed(format!("a method's name of {length}"), name(length), Ends(b""));
            for (what, value) in [("string", string(length)), ("list", list(length)), ("map", map(length))] {
                unframed(format!("a {what} of {length}"), thrift("get_id", &value), Ends(b""));
            }
        }
        for (what, value) in [("string", string(length)), ("list", list(length)), ("map", map(length))] {
            let call = framed(&thrift("get_id", &[value, vec![0]].concat()));
            let outcome = Says(b"\x80\x01\0\x03\0\0\0\x06get_id");
            cases.push(after("Thrift framed", format!("a {what} of {length}"), call, outcome));
        }
        // The top bit makes it the version of a call without a frame.
        let what = if huge { "a version of" } else { "a frame of" };
        let frame = length.to_be_bytes();
        cases.push(after(
            "Thrift framed",
            format!("{what} {length}"),
            [&frame[..], &[0x80; 8]].concat(),
            Ends(b""),
        ));
    }
    let structs = [12, 0, 1].repeat(5000);
    cases.extend([
        after("Thrift", "structs in structs", thrift("get_id", &structs), Ends(b"")),
        after(
            "Thrift framed",
            "structs in structs",
            framed(&thrift("get_id", &structs[..9000])),
            Says(b"\x80\x01\0\x03"),
        ),
        after(
            "Thrift framed",
            "a frame within which a call ends too late",
            framed(&thrift("get_id", APP)[..9]),
            Ends(b""),
        ),
        after(
            "Thrift framed",
            "a frame that ends in the method's name",
            framed(b"\x80\x01\0\x01\0"),
            Ends(b""),
        ),
        after("Thrift framed", "half a frame", framed(&thrift("get_id", APP))[..20].to_vec(), Waits(b"")),
        after("Thrift not strict", "half a name", b"\0\0\0\x06get".to_vec(), Waits(b"")),
    ]);
    cases
}

fn mysql_logins() -> Vec<Case> {
    let case = |what: &str, bytes: Vec<u8>, outcome| first("MySQL", what, bytes, outcome);
    let proof = |length: &[u8]| login(length, b"mysql_native_password");
    let ping = command(14, b"");
    const UNKNOWN: &[u8] = b"nobody_knows_this";
    const WANTED: u32 = PROTOCOL_41 | SECURE_CONNECTION | PLUGIN_AUTH | LONG_PROOF;
    let renumbered = |sequence| numbered(sequence, &login_payload(WANTED, b"\0", b"mysql_native_password"));
    let mut cases = vec![
        case("a packet of nothing", numbered(1, b""), Ends(b"no response to the greeting")),
        case("a packet of 2^24 - 1", b"\xff\xff\xff\x01".to_vec(), Ends(b"a packet has at most")),
        case("a proof of 2^16", proof(b"\xfd\0\0\x01"), Ends(b"no response to the greeting")),
        case("a proof of 2^31", proof(b"\xfe\0\0\0\x80\0\0\0\0"), Ends(b"no response to the greeting")),
        case("a proof of 2^63", proof(b"\xfe\0\0\0\0\0\0\0\x80"), Ends(b"no response to the greeting")),
        case(
            "a proof of 2^64 - 1",
            proof(&[&[0xfe][..], &[0xff; 8]].concat()),
            Ends(b"no response to the greeting"),
        ),
        case("a proof of no length", proof(b"\xff"), Ends(b"no response to the greeting")),
        case("a proof of NULL", proof(b"\xfb"), Ends(b"no response to the greeting")),
        case("MySQL 3.23", numbered(1, &login_payload(0, b"", b"")), Ends(b"MySQL 4.1 and later")),
        case(
            "an unknown plugin",
            [login(b"\0", UNKNOWN), numbered(3, b""), ping.clone()].concat(),
            Says(b"\0\0\x01\0\0"),
        ),
        case("an unknown plugin, and no more", login(b"\0", UNKNOWN), Waits(b"mysql_native_password")),
        case(
            "a proof out of order",
            [login(b"\0", UNKNOWN), numbered(2, b"")].concat(),
            Ends(b"out of order"),
        ),
        case(
            "a command instead of a proof",
            [login(b"\0", UNKNOWN), ping.clone()].concat(),
            Ends(b"out of order"),
        ),
        case("a command instead of a login", ping, Ends(b"out of order")),
        case(
            "the database's name without end",
            login(b"\0", &b"x".repeat(70_000)),
            Says(b"mysql_native_password"),
        ),
        case("silence", Vec::new(), Waits(b"mysql_native_password")),
    ];
    for sequence in [0, 2, 255] {
        cases.push(first(
            "MySQL",
            format!("a login of the number {sequence}"),
            renumbered(sequence),
            Ends(b"out of order"),
        ));
    }
    // A login that is cut off, each packet whole.
    let whole = login_payload(WANTED, b"\x03abc", b"mysql_native_password");
    let proof_ends = whole.len() - b"mysql_native_password\0".len();
    for cut in 0..proof_ends {
        let error: &[u8] = if cut < 4 { b"no response" } else { b"no response to the greeting" };
        cases.push(first(
            "MySQL",
            format!("a login of {cut} bytes"),
            numbered(1, &whole[..cut]),
            Ends(error),
        ));
    }
    cases
}

fn mysql_commands() -> Vec<Case> {
    const MALFORMED: &[u8] = b"malformed communication packet";
    const NO_STATEMENT: &[u8] = b"there is no prepared statement";
    let case = |what: &str, bytes: Vec<u8>, outcome| after("MySQL", what, bytes, outcome);
    let query = command(3, b"REPLACE INTO visits (stub) VALUES ('a')");
    let minted = Says(b"\0\0\x01\0\x02");
    let prepare = command(22, b"REPLACE INTO visits (stub) VALUES (?)");
    // Statement 1, no cursor, once.
    let execute =
        |bound: &[u8]| [prepare.clone(), command(23, &[b"\x01\0\0\0\0\x01\0\0\0", bound].concat())].concat();
    let text = |length: &[u8]| execute(&[b"\0\x01\xfd\0", length].concat());
    let known = [1, 2, 3, 4, 9, 14, 17, 22, 23, 24, 25, 26, 27, 31];
    let unknown: Vec<u8> =
        (0..=255).filter(|code| !known.contains(code)).flat_map(|code| command(code, b"x")).collect();
    let mut cases = vec![
        case("every unknown command", [unknown, query.clone()].concat(), minted),
        case("a packet of nothing", [numbered(0, b""), query.clone()].concat(), minted),
        case("a packet of 2^24 - 1", b"\xff\xff\xff\0".to_vec(), Ends(b"a packet has at most")),
        case(
            "a packet of 2^24 - 1 without its number",
            b"\xff\xff\xff".to_vec(),
            Ends(b"a packet has at most"),
        ),
        case("half a packet", query[..20].to_vec(), Waits(b"")),
        case("half a head", query[..2].to_vec(), Waits(b"")),
        case("a statement without an ID", command(23, b""), Ends(MALFORMED)),
        case("a parameter that is not there", execute(b""), Says(MALFORMED)),
        case("a parameter of no type", execute(b"\0\0"), Says(MALFORMED)),
        case("a parameter of an unknown type", execute(b"\0\x01\x77\0"), Says(MALFORMED)),
        case("a text that is not there", text(b""), Says(MALFORMED)),
        case("a text of 2^31", text(b"\xfe\0\0\0\x80\0\0\0\0"), Says(MALFORMED)),
        case("a text of 2^63", text(b"\xfe\0\0\0\0\0\0\0\x80"), Says(MALFORMED)),
        case("a text of 2^64 - 1", text(&[&[0xfe][..], &[0xff; 8]].concat()), Says(MALFORMED)),
        case("a text of no length", text(b"\xff"), Says(MALFORMED)),
        case("a time of 255 bytes", execute(b"\0\x01\x0b\0\xff"), Says(MALFORMED)),
        case(
            "pieces for no statement",
            [command(24, b"\xff\xff\xff\xff\0\0x"), query.clone()].concat(),
            minted,
        ),
        case("a close of no statement", [command(25, b"\xff\xff\xff\xff"), query.clone()].concat(), minted),
        case("a reset of no statement", command(26, b"\xff\xff\xff\xff"), Says(NO_STATEMENT)),
        case("a cut close", command(25, b"\xff"), Ends(MALFORMED)),
        case("an unknown option", command(27, b"\0\x80"), Ends(MALFORMED)),
        case("a change of user that is cut off", command(17, b"app\0\xff"), Ends(MALFORMED)),
        case(
            "brackets in brackets",
            command(3, &[b"REPLACE INTO visits ", &b"(".repeat(60_000)[..]].concat()),
            Says(b"floe mints IDs"),
        ),
        case(
            "a text without end",
            command(3, &[b"SELECT '", &b"x".repeat(60_000)[..]].concat()),
            Says(b"floe mints IDs"),
        ),
        case("a query of zeros", command(3, &b"\0".repeat(60_000)), Says(b"\xff")),
        case(
            "a number of 2^64",
            command(3, b"ALTER TABLE visits AUTO_INCREMENT = 18446744073709551616"),
            Says(b"\xff"),
        ),
    ];
    for id in WORDS {
        let bytes = command(23, &[&id.to_le_bytes()[..], b"\0\x01\0\0\0"].concat());
        cases.push(after("MySQL", format!("the statement {id}"), bytes, Says(NO_STATEMENT)));
    }
    for sequence in [1, 127, 255] {
        let bytes = numbered(sequence, b"\x0e");
        cases.push(after(
            "MySQL",
            format!("a command of the number {sequence}"),
            bytes,
            Ends(b"out of order"),
        ));
    }
    cases
}
