use proptest::prelude::*;

use super::*;

const LIMITS: Limits = Limits { request_bytes: 1_024 };

/// Decodes bytes that arrive in pieces of these lengths, and then the rest. The result is each request in its debug
/// form, and how the stream ends.
fn decode(bytes: &[u8], pieces: &[usize], limits: Limits) -> (Vec<String>, Result<usize, Error>) {
    let mut decoder = Decoder::new(limits);
    let mut requests = Vec::new();
    let (mut at, mut come) = (0, 0);
    let mut pieces = pieces.iter();
    loop {
        come = pieces.next().map_or(bytes.len(), |piece| bytes.len().min(come + piece));
        loop {
            match decoder.decode(&bytes[at..come]) {
                Ok(Some((request, consumed))) => {
                    assert!(consumed > 0 && consumed <= come - at);
                    requests.push(format!("{request:?}"));
                    at += consumed;
                }
                Ok(None) => break,
                Err(error) => return (requests, Err(error)),
            }
        }
        if come == bytes.len() {
            return (requests, Ok(at));
        }
    }
}

#[test]
fn every_line_is_the_request_that_it_means() {
    let long = "k".repeat(250);
    let rows: &[(&str, String)] = &[
        ("get orders", r#"Get { keys: ["orders"], cas: false }"#.into()),
        ("GET orders", r#"Get { keys: ["orders"], cas: false }"#.into()),
        ("gets a  b c ", r#"Get { keys: ["a", "b", "c"], cas: true }"#.into()),
        (" get a", r#"Get { keys: ["a"], cas: false }"#.into()),
        (&format!("get {long}"), format!(r#"Get {{ keys: ["{long}"], cas: false }}"#)),
        (&format!("get a {long}k"), "Invalid(KeyTooLong)".into()),
        ("get a\tb", "Invalid(KeyControl)".into()),
        ("get a\x7f", "Invalid(KeyControl)".into()),
        ("get a\rb", "Invalid(KeyControl)".into()),
        ("get größe", r#"Get { keys: ["gr\\xc3\\xb6\\xc3\\x9fe"], cas: false }"#.into()),
        ("get", "Unknown".into()),
        ("stats", "Stats(None)".into()),
        ("STATS settings", format!("Stats(Some({:?}))", b"settings")),
        ("version", "Version".into()),
        ("Quit", "Quit".into()),
        ("verbosity 1", "Verbosity { noreply: false }".into()),
        ("verbosity 1 noreply", "Verbosity { noreply: true }".into()),
        ("verbosity", "Unknown".into()),
        ("incr k 1", "Refused { noreply: false }".into()),
        ("incr k 1 noreply", "Refused { noreply: true }".into()),
        ("DECR k 1", "Refused { noreply: false }".into()),
        ("delete k", "Refused { noreply: false }".into()),
        ("delete k noreply", "Refused { noreply: true }".into()),
        ("touch k 0 noreply", "Refused { noreply: true }".into()),
        ("flush_all", "Refused { noreply: false }".into()),
        ("flush_all noreply", "Refused { noreply: true }".into()),
        ("flush_all 10 noreply", "Refused { noreply: true }".into()),
        ("set k 0 0 0\r\n", "Refused { noreply: false }".into()),
        ("set k 0 0 5\r\nhello", "Refused { noreply: false }".into()),
        ("SET k 0 0 5 noreply\r\nhello", "Refused { noreply: true }".into()),
        ("add k 0 0 5\r\n\r\n\r\n\r", "Refused { noreply: false }".into()),
        ("replace k 0 0 1\r\n\n", "Refused { noreply: false }".into()),
        ("append k 0 0 1\r\n ", "Refused { noreply: false }".into()),
        ("prepend k 0 -1 1\nx", "Refused { noreply: false }".into()),
        ("cas k 0 0 1 7\r\nx", "Refused { noreply: false }".into()),
        ("cas k 0 0 1 7 noreply\r\nx", "Refused { noreply: true }".into()),
        ("", "Unknown".into()),
        ("  ", "Unknown".into()),
        ("frobnicate", "Unknown".into()),
        ("flush_allx", "Unknown".into()),
        ("mg k v", "Unknown".into()),
        ("\0", "Unknown".into()),
    ];
    for (text, expected) in rows {
        let bytes = format!("{text}\r\n");
        assert_eq!(
            decode(bytes.as_bytes(), &[], LIMITS),
            (vec![expected.clone()], Ok(bytes.len())),
            "{text}"
        );
    }
    let all: String = rows.iter().map(|(text, _)| format!("{text}\r\n")).collect();
    let expected: Vec<String> = rows.iter().map(|(_, expected)| expected.clone()).collect();
    assert_eq!(decode(all.as_bytes(), &vec![1; all.len()], LIMITS), (expected, Ok(all.len())));
}

#[test]
fn a_line_may_end_without_a_carriage_return() {
    assert_eq!(decode(b"version\nquit\n", &[], LIMITS).0, ["Version", "Quit"]);
}

#[test]
fn what_can_not_become_a_request_is_refused() {
    for (bytes, expected) in [
        (&b"set k 0 0 5\r\nhello!\r\n"[..], Error::Data),
        (b"set k 0 0 5\r\nhello\n", Error::Data),
        (b"set k 0 0 5\r\nhello\rx", Error::Data),
        (b"set k 0 0\r\n", Error::Storage),
        (b"set k\r\n", Error::Storage),
        (b"set\r\n", Error::Storage),
        (b"set k 0 0 -1\r\n", Error::Storage),
        (b"set k 0 0 +1\r\n", Error::Storage),
        (b"set k 0 0 1x\r\n", Error::Storage),
        (b"set k 0 0 5 reply\r\nhello\r\n", Error::Storage),
        (b"set k 0 0 5 noreply 1\r\nhello\r\n", Error::Storage),
        (b"cas k 0 0 5\r\nhello\r\n", Error::Storage),
        (b"cas k 0 0 5 7 8\r\nhello\r\n", Error::Storage),
    ] {
        assert_eq!(decode(bytes, &[], LIMITS), (vec![], Err(expected)), "{}", bytes.escape_ascii());
    }
}

#[test]
fn hostile_lengths_are_refused_when_they_are_read() {
    for (number, expected) in [
        ("2147483648", Error::TooLarge(1_024)),
        ("9223372036854775808", Error::TooLarge(1_024)),
        ("18446744073709551615", Error::TooLarge(1_024)),
        ("18446744073709551616", Error::Storage),
        ("-2147483648", Error::Storage),
        ("-9223372036854775808", Error::Storage),
    ] {
        let bytes = format!("set k 0 0 {number}\r\n");
        assert_eq!(decode(bytes.as_bytes(), &[], LIMITS).1, Err(expected), "{number}");
    }
}

#[test]
fn limits_hold_to_the_byte() {
    let limits = Limits { request_bytes: 20 };
    assert_eq!(decode(b"set k 0 0 5\r\nhello\r\n", &[], limits).1, Ok(20));
    assert_eq!(decode(b"set k 0 0 6\r\n", &[], limits).1, Err(Error::TooLarge(20)));
    assert_eq!(decode(b"set k 0 0 5\r\nhello\r", &[], limits).1, Ok(0));
    let line = |length: usize| [b"x".repeat(length), b"\n".to_vec()].concat();
    assert_eq!(decode(&line(19), &[], limits), (vec!["Unknown".to_owned()], Ok(20)));
    assert_eq!(decode(&line(20), &[], limits).1, Err(Error::TooLarge(20)));
    assert_eq!(decode(&b"x".repeat(19), &[], limits).1, Ok(0));
    assert_eq!(decode(&b"x".repeat(20), &[], limits).1, Err(Error::TooLarge(20)));
}

#[test]
fn replies_are_written() {
    let mut output = Vec::new();
    reply::value(&mut output, b"orders", b"12", None);
    reply::value(&mut output, b"orders", b"", Some(u64::MAX));
    reply::stat(&mut output, "pid", "1\r\n2");
    reply::end(&mut output);
    reply::ok(&mut output);
    reply::version(&mut output, "0.1.0");
    reply::error(&mut output);
    reply::client_error(&mut output, "a\nb");
    reply::server_error(&mut output, "c\rd");
    let expected = "VALUE orders 0 2\r\n12\r\nVALUE orders 0 0 18446744073709551615\r\n\r\nSTAT pid 1  2\r\nEND\r\nOK\r\n\
                    VERSION 0.1.0\r\nERROR\r\nCLIENT_ERROR a b\r\nSERVER_ERROR c d\r\n";
    assert_eq!(String::from_utf8(output).unwrap(), expected);
}

#[test]
fn each_error_has_a_reply_of_one_line() {
    for (error, expected) in [
        (Error::TooLarge(9), "SERVER_ERROR a request of more than 9 bytes\r\n"),
        (Error::Storage, "CLIENT_ERROR bad command line format\r\n"),
        (Error::Data, "CLIENT_ERROR bad data chunk\r\n"),
    ] {
        let mut output = Vec::new();
        error.encode(&mut output);
        assert_eq!(String::from_utf8(output).unwrap(), expected);
    }
    assert_eq!(Invalid::KeyTooLong.to_string(), "a key has at most 250 bytes");
    assert_eq!(Invalid::KeyControl.to_string(), "a key has no control characters");
}

proptest! {
    #[test]
    fn keys_and_data_are_read_however_they_come(
        keys in prop::collection::vec("[!-~]{1,20}", 1..5),
        data in prop::collection::vec(any::<u8>(), 0..30),
        pieces in prop::collection::vec(1_usize..9, 0..60),
    ) {
        let mut bytes = format!("get {}\r\nset {} 0 0 {}\r\n", keys.join(" "), keys[0], data.len()).into_bytes();
        bytes.extend(data);
        bytes.extend_from_slice(b"\r\nversion\r\n");
        let shown: Vec<String> = keys.iter().map(|key| key.as_bytes().escape_ascii().to_string()).collect();
        let expected = vec![
            format!("Get {{ keys: {shown:?}, cas: false }}"),
            "Refused { noreply: false }".to_owned(),
            "Version".to_owned(),
        ];
        prop_assert_eq!(decode(&bytes, &pieces, LIMITS), (expected, Ok(bytes.len())));
    }

    #[test]
    fn pieces_do_not_matter(
        words in prop::collection::vec(prop::sample::select(
            &["get", "set", "cas", " ", " ", " ", "\r\n", "\r\n", "\n", "0", "1", "5", "-1", "k", "noreply", "\r", "\x01"][..]), 0..40),
        pieces in prop::collection::vec(1_usize..9, 0..60),
    ) {
        let bytes = words.concat().into_bytes();
        let limits = Limits { request_bytes: 30 };
        let whole = decode(&bytes, &[], limits);
        prop_assert_eq!(&decode(&bytes, &pieces, limits), &whole);
        prop_assert_eq!(&decode(&bytes, &vec![1; bytes.len()], limits), &whole);
    }
}
