use proptest::prelude::*;

use super::*;

const SALT: &[u8; 20] = b"0123456789abcdefghij";

fn salt() -> Salt {
    Salt::new(*SALT).unwrap()
}

fn framed(sequence: u8, payload: &[u8]) -> Vec<u8> {
    let [low, middle, high, _] = u32::try_from(payload.len()).unwrap().to_le_bytes();
    [&[low, middle, high, sequence][..], payload].concat()
}

fn command(payload: &[u8]) -> Command<'_> {
    Command::read(&Packet { sequence: 0, payload }, Capabilities::OFFERED).unwrap()
}

/// The packets that `write` writes in answer to packet 0. Their headers are checked and removed.
fn written(capabilities: Capabilities, write: impl FnOnce(&mut Replies<'_>)) -> Vec<Vec<u8>> {
    let mut out = b"before".to_vec();
    write(&mut Replies::new(&mut out, 0, capabilities));
    let mut rest = out.strip_prefix(b"before").unwrap();
    let mut payloads = Vec::new();
    while let Some((packet, consumed)) = packet(rest, 1 << 20).unwrap() {
        assert_eq!(usize::from(packet.sequence), payloads.len() + 1);
        payloads.push(packet.payload.to_vec());
        rest = &rest[consumed..];
    }
    assert_eq!(rest, b"");
    payloads
}

#[test]
fn a_packet_is_refused_as_soon_as_its_length_is_known() {
    for (length, limit, refused) in [
        (0_u32, 0, false),
        (1, 0, true),
        (100, 100, false),
        (101, 100, true),
        (0xff_fffe, usize::MAX, false),
        (0xff_ffff, usize::MAX, true),
    ] {
        let head = length.to_le_bytes();
        assert_eq!(packet(&head[..2], limit), Ok(None));
        for seen in [&head[..3], &head[..]] {
            let expected = if refused { Err(Error::TooLong(limit.min(0xff_fffe))) } else { Ok(None) };
            if length > 0 || seen.len() == 3 {
                assert_eq!(packet(seen, limit), expected, "{length} of {limit}");
            }
        }
    }
    let empty = Packet { sequence: 9, payload: b"" };
    assert_eq!(packet(b"\0\0\0\x09", 0), Ok(Some((empty, 4))));
}

#[test]
fn a_greeting_has_its_fields_where_clients_look_for_them() {
    let mut out = Vec::new();
    Greeting {
        version: "8.0.36-floe",
        connection: 0x0102_0304,
        salt: &salt(),
        capabilities: Capabilities::OFFERED.with(Capabilities::TLS),
        plugin: Plugin::NativePassword,
    }
    .encode(&mut out);
    let expected = b"\x0a8.0.36-floe\0\x04\x03\x02\x0101234567\0\x0f\xaf\x2d\x02\0\x3f\x01\x15\
        \0\0\0\0\0\0\0\0\0\089abcdefghij\0mysql_native_password\0";
    assert_eq!(out, framed(0, expected));
}

#[test]
fn a_salt_is_printable_whatever_it_is_drawn_from() {
    for byte in 0..=255 {
        let salt = Salt::from_random([byte; 20]);
        assert_eq!(Salt::new(*salt.as_bytes()), Some(salt));
    }
    for byte in [0, 1, b' ', 0x7f, 0xff] {
        let mut bytes = *SALT;
        bytes[19] = byte;
        assert_eq!(Salt::new(bytes), None);
    }
}

/// The start of a response: capabilities, longest packet, collation, and 23 zeros.
fn response(capabilities: u32, rest: &[u8]) -> Vec<u8> {
    [&capabilities.to_le_bytes()[..], b"\0\0\0\x01\x2d", &[0; 23], rest].concat()
}

#[test]
fn an_opening_is_tls_or_a_login() {
    let offered = Capabilities::OFFERED.with(Capabilities::TLS);
    let read = |payload: &[u8], sequence, after_tls| {
        let opening = Opening::read(&Packet { sequence, payload }, offered, after_tls);
        opening.map(|opening| match opening {
            Opening::Tls => "tls".to_owned(),
            Opening::Login(Login { user, proof, database, plugin, .. }) => {
                let shown = |text: &[u8]| str::from_utf8(text).unwrap().to_owned();
                format!("{} {} {:?} {:?}", shown(user), shown(proof), database.map(shown), plugin.map(shown))
            }
        })
    };
    let all = 0x0028_8a08; // CONNECT_WITH_DB, 4.1, TLS, SECURE_CONNECTION, PLUGIN_AUTH, LONG_PROOF
    for (payload, expected) in [
        (response(all, b"u\0\x02ppdb\0way\0attributes"), "u pp Some(\"db\") Some(\"way\")"),
        (response(all, b"u\0\xfc\x02\0ppdb\0way"), "u pp Some(\"db\") Some(\"way\")"),
        (response(all, b"u\0\0\0\0"), "u  Some(\"\") None"),
        (response(0x8200, b"u\0\x02pp"), "u pp None None"),
        (response(0x8208, b"\0\0db"), "  Some(\"db\") None"),
        (response(all, b""), "tls"),
    ] {
        assert_eq!(read(&payload, 1, false).unwrap(), expected);
        if expected != "tls" {
            assert_eq!(read(&payload, 2, true).unwrap(), expected);
        }
        assert_eq!(read(&payload, 2, false), Err(Error::OutOfOrder));
        assert_eq!(read(&payload, 1, true), Err(Error::OutOfOrder));
    }
    for (payload, expected) in [
        (b"".to_vec(), Error::Handshake),
        (response(all, b"")[..31].to_vec(), Error::Handshake),
        (response(all & !0x800, b""), Error::Handshake),
        (response(all, b"u"), Error::Handshake),
        (response(all, b"u\0"), Error::Handshake),
        (response(all, b"u\0\x05pp"), Error::Handshake),
        (response(all, b"u\0\xfbpp"), Error::Handshake),
        (response(all, b"u\0\xfe\xff\xff\xff\xff\xff\xff\xff\xffpp"), Error::Handshake),
        (response(all, b"u\0\xfe\0\0\0\0\0\0\0\x80pp"), Error::Handshake),
        (response(all & !0x200, b"u\0\0"), Error::TooOld),
        (response(all & !0x8000, b"u\0\0"), Error::TooOld),
        (response(all | 0x20, b"u\0\0\0\0"), Error::Compression),
        (response(all | 0x0400_0000, b"u\0\0\0\0"), Error::Compression),
    ] {
        assert_eq!(read(&payload, 1, false), Err(expected), "{payload:x?}");
    }
    assert_eq!(read(&response(all, b""), 2, true), Err(Error::Handshake), "TLS within TLS");
}

fn hex<const N: usize>(digits: &str) -> [u8; N] {
    std::array::from_fn(|at| u8::from_str_radix(&digits[2 * at..2 * at + 2], 16).unwrap())
}

/// Proofs and hashes of `secret`, made by PyMySQL and by Python's hashlib.
#[test]
fn only_a_proof_of_the_password_for_this_salt_is_right() {
    let stored: [u8; 20] = hex("14e65567abdb5135d0cfd9a70b3032c179a49ee7");
    let proof: [u8; 20] = hex("f5cac3f3b3df2133feb57db682c71e6ed433a988");
    let other = Salt::new(*b"0123456789abcdefghik").unwrap();
    assert!(native_password(&proof, &salt(), &stored));
    assert!(!native_password(&proof, &other, &stored));
    assert!(!native_password(&proof, &salt(), &[0; 20]));
    assert!(!native_password(&stored, &salt(), &stored));
    assert!(!native_password(b"", &salt(), &stored));
    assert!(!native_password(&proof[..19], &salt(), &stored));
    let stored: [u8; 32] = hex("3881219d087dd9c634373fd33dfa33a2cb6bfc6c520b64b8bb60ef2ceb534ae7");
    let proof: [u8; 32] = hex("7e4adda2f2d5ef09b4147518becb0cee2939376203650a8c2bb2815959364bd0");
    assert!(caching_sha2(&proof, &salt(), &stored));
    assert!(!caching_sha2(&proof, &other, &stored));
    assert!(!caching_sha2(&proof, &salt(), &[0; 32]));
    assert!(!caching_sha2(b"", &salt(), &stored));
    assert!(!caching_sha2(&[&proof[..], b"x"].concat(), &salt(), &stored));
}

#[test]
fn commands_are_read() {
    for (payload, expected) in [
        (&b"\x01"[..], Command::Quit),
        (b"\x02db", Command::InitDb(b"db")),
        (b"\x03", Command::Query(b"")),
        (b"\x03SELECT 1", Command::Query(b"SELECT 1")),
        (b"\x04t\0%", Command::FieldList { table: b"t" }),
        (b"\x04t", Command::FieldList { table: b"t" }),
        (b"\x09", Command::Statistics),
        (b"\x0e", Command::Ping),
        (b"\x16SELECT ?", Command::Prepare(b"SELECT ?")),
        (b"\x18\x01\0\0\0\0\0data", Command::SendLongData { statement: 1 }),
        (b"\x19\xff\xff\xff\xff", Command::Close(u32::MAX)),
        (b"\x1a\x02\0\0\0", Command::Reset(2)),
        (b"\x1b\0\0", Command::SetOption { multi_statements: true }),
        (b"\x1b\x01\0", Command::SetOption { multi_statements: false }),
        (b"\x1f", Command::ResetConnection),
        (b"", Command::Unknown(0)),
        (b"\xff", Command::Unknown(0xff)),
        (b"\x1b\x02\0", Command::Malformed(0x1b)),
        (b"\x1b\0", Command::Malformed(0x1b)),
        (b"\x17\x01\0\0\0\0\x01\0\0", Command::Malformed(0x17)),
        (b"\x18", Command::Malformed(0x18)),
        (b"\x19\0\0\0", Command::Malformed(0x19)),
        (b"\x11u", Command::Malformed(0x11)),
        (b"\x11u\0\x09pp", Command::Malformed(0x11)),
    ] {
        assert_eq!(command(payload), expected, "{payload:x?}");
    }
    let Command::ChangeUser(login) = command(b"\x11u\0\x02ppdb\0\x2d\0way\0rest") else { panic!() };
    assert_eq!(
        (login.user, login.proof, login.database, login.plugin),
        (&b"u"[..], &b"pp"[..], Some(&b"db"[..]), Some(&b"way"[..]))
    );
    assert_eq!(login.collation, 0x2d);
    let late = Packet { sequence: 1, payload: b"\x0e" };
    assert_eq!(Command::read(&late, Capabilities::OFFERED), Err(Error::OutOfOrder));
}

/// A statement's parameters, with `bound` after the packet's fixed fields.
fn bound(count: usize, types: &mut Vec<[u8; 2]>, bytes: &[u8]) -> Option<String> {
    let payload = [b"\x17\x01\0\0\0\0\x01\0\0\0", bytes].concat();
    let Command::Execute(execute) = command(&payload) else { panic!() };
    assert_eq!((execute.statement, execute.cursor), (1, false));
    let parameters = execute.parameters(count, types)?;
    Some(format!("{:?}", parameters.collect::<Vec<_>>()))
}

#[test]
fn parameters_are_read_by_their_types() {
    for (kind, bytes, expected) in [
        ([0x01, 0], &b"\xff"[..], "Signed(-1)"),
        ([0x01, 0x80], b"\xff", "Unsigned(255)"),
        ([0x02, 0], b"\0\x80", "Signed(-32768)"),
        ([0x0d, 0x80], b"\xea\x07", "Unsigned(2026)"),
        ([0x03, 0], b"\x2a\0\0\0", "Signed(42)"),
        ([0x09, 0], b"\xfe\xff\xff\xff", "Signed(-2)"),
        ([0x08, 0], b"\xff\xff\xff\xff\xff\xff\xff\x7f", "Signed(9223372036854775807)"),
        ([0x08, 0x80], b"\xff\xff\xff\xff\xff\xff\xff\xff", "Unsigned(18446744073709551615)"),
        ([0x04, 0], b"\0\0\x80\x3f", "Double(1.0)"),
        ([0x05, 0], b"\0\0\0\0\0\0\xf0\x3f", "Double(1.0)"),
        ([0x06, 0], b"", "Null"),
        ([0x0a, 0], b"\0", "Moment([])"),
        ([0x0c, 0], b"\x04\xea\x07\x0b\x15", "Moment([234, 7, 11, 21])"),
        ([0xfd, 0], b"\x01a", "Bytes([97])"),
        ([0xf6, 0], b"\x02\x31\x32", "Bytes([49, 50])"),
    ] {
        let sent = [&b"\0\x01"[..], &kind, bytes].concat();
        assert_eq!(bound(1, &mut Vec::new(), &sent).unwrap(), format!("[Ok({expected})]"), "{kind:x?}");
        let null = [&b"\x01\x01"[..], &kind].concat();
        assert_eq!(bound(1, &mut Vec::new(), &null).unwrap(), "[Ok(Null)]");
        if !bytes.is_empty() {
            let cut = &sent[..sent.len() - 1];
            assert_eq!(bound(1, &mut Vec::new(), cut).unwrap(), "[Err(Malformed)]", "{kind:x?}");
        }
    }
    for hostile in [&b"\xfb"[..], b"\xff", b"\xfc\xff\xff", b"\xfd\0\0\x80", b"\xfe\0\0\0\0\0\0\0\x80"] {
        let sent = [&b"\0\x01\xfe\0"[..], hostile].concat();
        assert_eq!(bound(1, &mut Vec::new(), &sent).unwrap(), "[Err(Malformed)]", "{hostile:x?}");
    }
    let unknown = b"\0\x01\x20\0\xfe\0\x01a";
    assert_eq!(bound(2, &mut Vec::new(), unknown).unwrap(), "[Err(Malformed)]", "and nothing after it");
}

/// The numbers of the types that are text, bytes or a moment: a driver binds a ticket's text as any of them.
#[test]
fn every_type_of_mysql_is_read() {
    for kind in 0..=u8::MAX {
        let sent = [&b"\0\x01"[..], &[kind, 0], b"\x01a\0\0\0\0\0\0"].concat();
        let read = bound(1, &mut Vec::new(), &sent).unwrap();
        let expected = match kind {
            0x01..=0x06 | 0x08 | 0x09 | 0x0d => continue,
            0x07 | 0x0a | 0x0b | 0x0c => "[Ok(Moment([97]))]",
            0x00 | 0x0f | 0x10 | 0xf5..=0xff => "[Ok(Bytes([97]))]",
            _ => "[Err(Malformed)]",
        };
        assert_eq!(read, expected, "{kind:#04x}");
    }
}

#[test]
fn a_client_that_wants_a_cursor_says_so() {
    for (flags, wanted) in [(0, false), (1, true), (4, true)] {
        let payload = [b"\x17\x02\0\0\0", &[flags][..], b"\x01\0\0\0"].concat();
        let Command::Execute(execute) = command(&payload) else { panic!() };
        assert_eq!((execute.statement, execute.cursor), (2, wanted));
    }
}

#[test]
fn types_are_kept_from_one_execution_to_the_next() {
    let mut types = Vec::new();
    assert_eq!(bound(1, &mut types, b"\0\0\x01a"), None, "no types yet");
    assert_eq!(bound(1, &mut types, b"\0\x01\xfe\0\x01a").unwrap(), "[Ok(Bytes([97]))]");
    assert_eq!(bound(1, &mut types, b"\0\0\x01b").unwrap(), "[Ok(Bytes([98]))]");
    assert_eq!(bound(2, &mut types, b"\0\0\x01b\x01c"), None, "another count");
    assert_eq!(bound(1, &mut types, b"\0\x01\xfe"), None, "half a type");
    assert_eq!(bound(usize::MAX, &mut Vec::new(), b"\0\x01"), None);
    assert_eq!(bound(0, &mut Vec::new(), b"").unwrap(), "[]");
    let nine = [&b"\0\x01\x01"[..], &b"\x01\0".repeat(9), &[7; 8]].concat();
    assert!(bound(9, &mut types, &nine).unwrap().ends_with("Ok(Signed(7)), Ok(Null)]"), "the ninth bit");
}

#[test]
fn answers_end_as_each_client_wants_it() {
    let modern = Capabilities::OFFERED;
    let plain = modern.without(Capabilities::DEPRECATE_EOF);
    let status = Status { more_results: true, in_transaction: true, autocommit: false };
    let columns = [Column { name: b"id", integer: true }, Column { name: b"n", integer: false }];
    let write = |replies: &mut Replies<'_>| {
        replies.columns(&columns, status);
        replies.text_row(&[Cell::Integer(u64::MAX), Cell::Text(b"x")]);
        replies.text_row(&[Cell::Integer(0), Cell::Null]);
        replies.eof(status);
    };
    let id = b"\x03def\0\0\0\x02id\0\x0c\x3f\0\x14\0\0\0\x08\xa1\0\0\0\0".to_vec();
    let text = b"\x03def\0\0\0\x01n\0\x0c\x2d\0\0\x04\0\0\xfd\0\0\0\0\0".to_vec();
    let rows = [b"\x1418446744073709551615\x01x".to_vec(), b"\x010\xfb".to_vec()];
    let eof = b"\xfe\0\0\x09\0".to_vec();
    let last = b"\xfe\0\0\x09\0\0\0".to_vec();
    let [first, second] = rows;
    let count = b"\x02".to_vec();
    assert_eq!(written(modern, write), [&count, &id, &text, &first, &second, &last].map(Clone::clone));
    assert_eq!(written(plain, write), [&count, &id, &text, &eof, &first, &second, &eof].map(Clone::clone));

    let write = |replies: &mut Replies<'_>| replies.prepared(7, 1, &columns[..1], Status::default());
    let head = b"\0\x07\0\0\0\x01\0\x01\0\0\0\0".to_vec();
    let parameter = b"\x03def\0\0\0\x01?\0\x0c\x2d\0\0\x04\0\0\xfd\0\0\0\0\0".to_vec();
    let eof = b"\xfe\0\0\x02\0".to_vec();
    assert_eq!(written(modern, write), [&head, &parameter, &id].map(Clone::clone));
    assert_eq!(written(plain, write), [&head, &parameter, &eof, &id, &eof].map(Clone::clone));
    let write = |replies: &mut Replies<'_>| replies.prepared(7, 0, &[], Status::default());
    assert_eq!(written(plain, write), [b"\0\x07\0\0\0\0\0\0\0\0\0\0"]);

    let write = |replies: &mut Replies<'_>| replies.fields(&columns[..1], Status::default());
    assert_eq!(written(plain, write), [[&id[..], b"\xfb"].concat(), eof]);
}

#[test]
fn the_other_answers_are_as_the_protocol_has_them() {
    let all = Capabilities::OFFERED;
    let done = Done { affected: 251, last_insert_id: 1 << 40, status: Status::default() };
    assert_eq!(written(all, |replies| replies.ok(&done)), [b"\0\xfc\xfb\0\xfe\0\0\0\0\0\x01\0\0\x02\0\0\0"]);
    let done = Done { affected: 0x1_0000, last_insert_id: 0xfa, status: Status::default() };
    assert_eq!(written(all, |replies| replies.ok(&done)), [b"\0\xfd\0\0\x01\xfa\x02\0\0\0"]);
    let errors = written(all, |replies| replies.error(1064, b"42000", &"é".repeat(300)));
    assert_eq!(errors, [[&b"\xff\x28\x04#42000"[..], "é".repeat(256).as_bytes()].concat()]);
    assert_eq!(written(all, |replies| replies.statistics("Uptime: 1")), [b"Uptime: 1"]);
    assert_eq!(written(all, |replies| replies.fast()), [b"\x01\x03"]);
    let switch = written(all, |replies| replies.switch(Plugin::CachingSha2, &salt()));
    assert_eq!(switch, [b"\xfecaching_sha2_password\x000123456789abcdefghij\0"]);
    for (nulls, first, second) in [(0..0, 0, 0), (0..1, 4, 0), (5..7, 0x80, 1), (0..7, 0xfc, 1)] {
        let cells: Vec<_> =
            (0..7).map(|at| if nulls.contains(&at) { Cell::Null } else { Cell::Integer(1) }).collect();
        let [row] = &written(all, |replies| replies.binary_row(&cells))[..] else { panic!() };
        assert_eq!(row[..3], [0, first, second]);
        assert_eq!(row.len(), 3 + 8 * (7 - nulls.len()));
    }
    let row = written(all, |replies| replies.binary_row(&[Cell::Text(b"ab"), Cell::Integer(258)]));
    assert_eq!(row, [b"\0\0\x02ab\x02\x01\0\0\0\0\0\0"]);
}

proptest! {
    #[test]
    fn chunks_do_not_matter(
        payloads in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..70), 0..6),
        cut in any::<prop::sample::Index>(),
    ) {
        let bytes: Vec<u8> = payloads.iter().flat_map(|payload| framed(3, payload)).collect();
        let (mut at, mut read) = (0, Vec::new());
        for end in 0..=bytes.len() {
            while let Ok(Some((packet, consumed))) = packet(&bytes[at..end], 64) {
                read.push(packet.payload.to_vec());
                at += consumed;
            }
        }
        let fit = payloads.iter().take_while(|payload| payload.len() <= 64).count();
        prop_assert_eq!(&read[..], &payloads[..fit]);
        prop_assert_eq!(packet(&bytes[at..], 64).is_err(), fit < payloads.len());
        // No prefix of a packet is a packet.
        if let Some(payload) = payloads.first() {
            let whole = framed(0, payload);
            let cut = cut.index(whole.len());
            prop_assert!(!matches!(packet(&whole[..cut], 64), Ok(Some(_))));
        }
    }
}
