use proptest::prelude::*;

use super::*;

const LIMITS: Limits = Limits { request_bytes: 4_096, arguments: 64 };

type Words = Vec<Vec<u8>>;

/// Every request in bytes that arrive in pieces of these lengths (and then the rest), and how the stream ends.
fn decode(bytes: &[u8], pieces: &[usize], limits: Limits) -> (Vec<Words>, Result<usize, Error>) {
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
                    assert_eq!(request.len(), request.iter().len());
                    assert_eq!(request.command(), request.iter().next());
                    requests.push(request.iter().map(<[u8]>::to_vec).collect());
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

fn whole(bytes: &[u8]) -> (Vec<Words>, Result<usize, Error>) {
    decode(bytes, &[], LIMITS)
}

fn words(text: &[&str]) -> Words {
    text.iter().map(|word| word.as_bytes().to_vec()).collect()
}

fn command(words: &[Vec<u8>]) -> Vec<u8> {
    let mut output = Vec::new();
    let mut encoder = Encoder::new(&mut output, Version::Two);
    encoder.array(words.len());
    words.iter().for_each(|word| encoder.bulk(word));
    output
}

#[test]
fn a_pipeline_of_arrays_and_lines_is_read_in_order() {
    let bytes = b"*2\r\n$4\r\nINCR\r\n$1\r\nk\r\n*1\r\n$4\r\nPING\r\nGET a\r\nGET b\n*0\r\n\r\n*-1\r\n*1\r\n$0\r\n\r\n";
    let expected: Vec<Words> =
        [&["INCR", "k"][..], &["PING"], &["GET", "a"], &["GET", "b"], &[], &[], &[], &[""]]
            .map(words)
            .to_vec();
    assert_eq!(whole(bytes), (expected, Ok(bytes.len())));
}

#[test]
fn bytes_in_an_argument_are_only_bytes() {
    let argument = b"\r\n*1\r\n$-1\r\n\0\xff".to_vec();
    assert_eq!(whole(&command(std::slice::from_ref(&argument))).0, [[argument]]);
}

/// As `sdssplitargs` splits; redis-cli and a server's lines share it.
#[test]
fn lines_are_unquoted_as_redis_does() {
    for (line, expected) in [
        (r#"a  b	c "#, Ok(vec!["a", "b", "c"])),
        ("  a", Ok(vec!["a"])),
        (r#""a b" 'c d'"#, Ok(vec!["a b", "c d"])),
        (r#""" ''"#, Ok(vec!["", ""])),
        (r#"pre"fix ed""#, Ok(vec!["prefix ed"])),
        (r#"pre'fix ed'"#, Ok(vec!["prefix ed"])),
        (r#""\n\r\t\b\a\\\"\q""#, Ok(vec!["\n\r\t\u{8}\u{7}\\\"q"])),
        (r#""\x41\x4a\x4A\x4""#, Ok(vec!["AJJx4"])),
        (r#""\xg1""#, Ok(vec!["xg1"])),
        (r"'it\'s \n'", Ok(vec![r"it's \n"])),
        (r"a\n\x41", Ok(vec![r"a\n\x41"])),
        (r#""open"#, Err(Error::Quotes)),
        (r#""open\"#, Err(Error::Quotes)),
        (r#""open\""#, Err(Error::Quotes)),
        ("'open", Err(Error::Quotes)),
        (r"'open\'", Err(Error::Quotes)),
        (r#""a"b"#, Err(Error::Quotes)),
        ("'a'b", Err(Error::Quotes)),
        (r#""a""b""#, Err(Error::Quotes)),
    ] {
        let bytes = format!("{line}\r\n");
        let expected = match expected {
            Ok(expected) => (vec![words(&expected)], Ok(bytes.len())),
            Err(error) => (vec![], Err(error)),
        };
        assert_eq!(whole(bytes.as_bytes()), expected, "{line}");
    }
    assert_eq!(whole(b"\"\\xff\"\n").0, [[vec![0xff]]]);
}

#[test]
fn what_can_not_become_a_request_is_refused() {
    for (bytes, expected) in [
        (&b"*\r\n"[..], Error::ArrayLength),
        (b"*x\r\n", Error::ArrayLength),
        (b"*+1\r\n", Error::ArrayLength),
        (b"*01\r\n", Error::ArrayLength),
        (b"*-0\r\n", Error::ArrayLength),
        (b"*--1\r\n", Error::ArrayLength),
        (b"* 1\r\n", Error::ArrayLength),
        (b"*1\rx", Error::ArrayLength),
        (b"*1\n$4\r\nPING\r\n", Error::ArrayLength),
        (b"*000000000000000000000", Error::ArrayLength),
        (b"*1\r\n*1\r\n*1\r\n", Error::NotBulk(b'*')),
        (b"*1\r\n:1\r\n", Error::NotBulk(b':')),
        (b"*1\r\n\r\n", Error::NotBulk(b'\r')),
        (b"*1\r\n$\r\n", Error::BulkLength),
        (b"*1\r\n$-1\r\n", Error::BulkLength),
        (b"*1\r\n$4x\r\n", Error::BulkLength),
        (b"*1\r\n$3\r\nPING\r\n", Error::BulkEnd),
        (b"*1\r\n$4\r\nPING\n", Error::BulkEnd),
        (b"*1\r\n$4\r\nPING\rx", Error::BulkEnd),
    ] {
        assert_eq!(whole(bytes), (vec![], Err(expected)), "{}", bytes.escape_ascii());
    }
}

#[test]
fn hostile_lengths_are_refused_when_they_are_read() {
    for number in ["2147483648", "4294967296", "9223372036854775807"] {
        let array = format!("*{number}\r\n");
        assert_eq!(whole(array.as_bytes()).1, Err(Error::TooManyArguments(64)), "{array}");
        let bulk = format!("*1\r\n${number}\r\n");
        assert_eq!(whole(bulk.as_bytes()).1, Err(Error::TooLarge(4_096)), "{bulk}");
    }
    for number in
        ["9223372036854775808", "18446744073709551615", "18446744073709551616", "-9223372036854775809"]
    {
        assert_eq!(whole(format!("*{number}\r\n").as_bytes()).1, Err(Error::ArrayLength), "{number}");
        assert_eq!(whole(format!("*1\r\n${number}\r\n").as_bytes()).1, Err(Error::BulkLength), "{number}");
    }
    for number in ["-1", "-2147483648", "-9223372036854775808"] {
        let array = format!("*{number}\r\n");
        assert_eq!(whole(array.as_bytes()), (vec![vec![]], Ok(array.len())), "{number}");
        assert_eq!(whole(format!("*1\r\n${number}\r\n").as_bytes()).1, Err(Error::BulkLength), "{number}");
    }
}

#[test]
fn limits_hold_to_the_byte() {
    let limits = Limits { request_bytes: 23, arguments: 2 };
    let fits = b"*2\r\n$3\r\nGET\r\n$4\r\nkeys\r\n";
    assert_eq!(fits.len(), 23);
    assert_eq!(decode(fits, &[], limits), (vec![words(&["GET", "keys"])], Ok(23)));
    assert_eq!(decode(b"*2\r\n$3\r\nGET\r\n$5\r\n", &[], limits).1, Err(Error::TooLarge(23)));
    assert_eq!(decode(b"*3\r\n", &[], limits).1, Err(Error::TooManyArguments(2)));
    assert_eq!(decode(b"a b\r\n", &[], limits).0, [words(&["a", "b"])]);
    assert_eq!(decode(b"a b c\r\n", &[], limits).1, Err(Error::TooManyArguments(2)));

    let line = [b"x".repeat(22), b"\n".to_vec()].concat();
    assert_eq!(decode(&line, &[], limits).1, Ok(23));
    assert_eq!(decode(&line[..22], &[], limits), (vec![], Ok(0)));
    assert_eq!(decode(&b"x".repeat(23), &[], limits).1, Err(Error::TooLarge(23)));
    let line = [b"x".repeat(23), b"\n".to_vec()].concat();
    assert_eq!(decode(&line, &[], limits).1, Err(Error::TooLarge(23)));
}

#[test]
fn a_large_request_does_not_stay_in_memory() {
    let limits = Limits { request_bytes: 1 << 20, arguments: 1 << 16 };
    let mut decoder = Decoder::new(limits);
    let large = command(&vec![b"x".to_vec(); 10_000]);
    assert_eq!(decoder.decode(&large).unwrap().unwrap().0.len(), 10_000);
    let line = [b"x".repeat(100_000), b"\n".to_vec()].concat();
    assert_eq!(decoder.decode(&line).unwrap().unwrap().1, line.len());
    assert!(decoder.kept_bytes() > 100_000, "{}", decoder.kept_bytes());
    let mut other = Decoder::new(limits);
    assert!(other.decode(&line).unwrap().is_some());
    for (decoder, next) in [(&mut decoder, &b"PING\n"[..]), (&mut other, b"")] {
        assert_eq!(decoder.decode(next).unwrap().map(|(_, consumed)| consumed).unwrap_or(0), next.len());
        assert!(decoder.kept_bytes() < 4_096, "{}", decoder.kept_bytes());
    }
}

/// If each byte started the request again from its front, this would read a hundred million arguments.
#[test]
fn a_request_that_comes_byte_by_byte_is_read_once() {
    let limits = Limits { request_bytes: 1 << 20, arguments: 1 << 16 };
    let request = command(&vec![b"x".to_vec(); 20_000]);
    let mut decoder = Decoder::new(limits);
    for come in 1..request.len() {
        assert!(decoder.decode(&request[..come]).unwrap().is_none());
        assert!(decoder.unread(come) <= LONGEST_HEAD, "{come}");
    }
    assert_eq!(decoder.decode(&request).unwrap().unwrap().0.len(), 20_000);

    let line = [b"x".repeat(1_000), b"\n".to_vec()].concat();
    for come in 1..line.len() {
        assert!(decoder.decode(&line[..come]).unwrap().is_none());
        assert_eq!(decoder.unread(come), 0, "{come}");
    }
}

/// `*20000\r`: the most of that request that is read again when a byte arrives.
const LONGEST_HEAD: usize = 7;

#[test]
fn a_decoder_that_is_given_fewer_bytes_than_before_only_waits() {
    let mut decoder = Decoder::new(LIMITS);
    assert!(decoder.decode(b"*2\r\n$4\r\nINCR\r\n").unwrap().is_none());
    assert!(decoder.decode(b"*2\r\n").unwrap().is_none());
    assert!(decoder.decode(b"").unwrap().is_none());
}

#[test]
fn replies_are_written_in_both_versions() {
    type Write = fn(&mut Encoder<'_>);
    let rows: &[(Write, &str, &str)] = &[
        (|reply| reply.simple("OK"), "+OK\r\n", "+OK\r\n"),
        (|reply| reply.simple("a\r\nb"), "+a  b\r\n", "+a  b\r\n"),
        (|reply| reply.error("NOKEY", "no\nname"), "-NOKEY no name\r\n", "-NOKEY no name\r\n"),
        (|reply| reply.integer(0), ":0\r\n", ":0\r\n"),
        (|reply| reply.integer(i64::MAX), ":9223372036854775807\r\n", ":9223372036854775807\r\n"),
        (|reply| reply.integer(i64::MIN), ":-9223372036854775808\r\n", ":-9223372036854775808\r\n"),
        (|reply| reply.bulk(b""), "$0\r\n\r\n", "$0\r\n\r\n"),
        (|reply| reply.bulk(b"a\r\nb"), "$4\r\na\r\nb\r\n", "$4\r\na\r\nb\r\n"),
        (|reply| reply.bulk_number(-12), "$3\r\n-12\r\n", "$3\r\n-12\r\n"),
        (|reply| reply.null(), "$-1\r\n", "_\r\n"),
        (|reply| reply.array(0), "*0\r\n", "*0\r\n"),
        (|reply| reply.array(12), "*12\r\n", "*12\r\n"),
        (|reply| reply.map(0), "*0\r\n", "%0\r\n"),
        (|reply| reply.map(12), "*24\r\n", "%12\r\n"),
        (|reply| reply.double(1.5), "$3\r\n1.5\r\n", ",1.5\r\n"),
        (|reply| reply.double(-2.0), "$2\r\n-2\r\n", ",-2\r\n"),
        (|reply| reply.double(f64::INFINITY), "$3\r\ninf\r\n", ",inf\r\n"),
        (|reply| reply.double(f64::NEG_INFINITY), "$4\r\n-inf\r\n", ",-inf\r\n"),
        (|reply| reply.double(f64::NAN), "$3\r\nnan\r\n", ",nan\r\n"),
        (|reply| reply.verbatim("a\r\nb"), "$4\r\na\r\nb\r\n", "=8\r\ntxt:a\r\nb\r\n"),
    ];
    for (write, two, three) in rows {
        for (version, expected) in [(Version::Two, two), (Version::Three, three)] {
            let mut output = b"before".to_vec();
            write(&mut Encoder::new(&mut output, version));
            assert_eq!(String::from_utf8(output).unwrap(), format!("before{expected}"), "{version:?}");
        }
    }
}

#[test]
fn each_error_has_a_reply_of_one_line() {
    for (error, expected) in [
        (Error::ArrayLength, "-ERR Protocol error: invalid multibulk length\r\n"),
        (Error::BulkLength, "-ERR Protocol error: invalid bulk length\r\n"),
        (Error::NotBulk(b'\n'), "-ERR Protocol error: expected '$', got '\\n'\r\n"),
        (Error::NotBulk(b'x'), "-ERR Protocol error: expected '$', got 'x'\r\n"),
        (
            Error::BulkEnd,
            "-ERR Protocol error: no line end after a bulk string of the length that it named\r\n",
        ),
        (Error::TooManyArguments(7), "-ERR Protocol error: more than 7 arguments in a request\r\n"),
        (Error::TooLarge(9), "-ERR Protocol error: a request of more than 9 bytes\r\n"),
        (Error::Quotes, "-ERR Protocol error: unbalanced quotes in request\r\n"),
    ] {
        let mut output = Vec::new();
        error.encode(&mut output);
        assert_eq!(String::from_utf8(output).unwrap(), expected);
    }
}

fn quoted(word: &[u8]) -> Vec<u8> {
    let mut quoted = b"\"".to_vec();
    word.iter().for_each(|byte| quoted.extend_from_slice(format!("\\x{byte:02x}").as_bytes()));
    quoted.push(b'"');
    quoted
}

proptest! {
    #[test]
    fn what_is_written_is_read_however_it_comes(
        requests in prop::collection::vec(
            (prop::collection::vec(prop::collection::vec(any::<u8>(), 0..12), 1..5), any::<bool>()), 0..6),
        pieces in prop::collection::vec(1_usize..9, 0..60),
    ) {
        let mut bytes = Vec::new();
        for (words, as_line) in &requests {
            if *as_line {
                bytes.extend(words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(&b' '));
                bytes.extend_from_slice(b"\r\n");
            } else {
                bytes.extend(command(words));
            }
        }
        let expected: Vec<Words> = requests.into_iter().map(|(words, _)| words).collect();
        prop_assert_eq!(decode(&bytes, &pieces, LIMITS), (expected, Ok(bytes.len())));
    }

    #[test]
    fn pieces_do_not_matter(
        bytes in prop::collection::vec(
            prop::sample::select(&b"**$$$\r\n\r\n\r\n\r\n0123-aPING \"'\\x"[..]), 0..120),
        pieces in prop::collection::vec(1_usize..9, 0..60),
    ) {
        let limits = Limits { request_bytes: 40, arguments: 4 };
        let whole = decode(&bytes, &[], limits);
        prop_assert_eq!(&decode(&bytes, &pieces, limits), &whole);
        prop_assert_eq!(&decode(&bytes, &vec![1; bytes.len()], limits), &whole);
    }
}
