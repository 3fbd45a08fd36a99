//! UUIDs of every version, by RFC 9562.

use alloc::{
    borrow::ToOwned,
    format,
    string::{String, ToString},
    vec::Vec,
};

use crate::kind::Uuid;
use crate::time::UnixMillis;

use super::reading::{BitField, Moment, Reading, fields};

/// What the UUID says, written as `form`.
pub(super) fn uuid(id: Uuid, form: &str) -> Reading {
    let (number, version) = (id.get(), id.version());
    let kind = version.map_or_else(|| "uuid".to_owned(), |version| format!("uuid{version}"));
    let reading = Reading::new(&kind, title(id), form, id.to_string()).with("variant", variant(number));
    let reading = match version {
        Some(version) => reading.with("version", version),
        None => reading.fact("variant", variant(number)),
    };
    match version {
        Some(1) => version_1(reading, number),
        Some(2) => version_2(reading, number),
        Some(version @ (3 | 5)) => {
            let (hash, names) = match version {
                3 => ("MD5", ["md5_high", "md5_mid", "md5_low"]),
                _ => ("SHA-1", ["sha1_high", "sha1_mid", "sha1_low"]),
            };
            reading
                .fact(
                    "made of",
                    format!("the {hash} of a namespace and a name, which cannot be read from it"),
                )
                .bits(unequal(number, names), &[])
        }
        Some(4) => reading
            .fact("made of", "122 random bits: no time, no order, no machine")
            .bits(unequal(number, ["random_a", "random_b", "random_c"]), &[]),
        Some(6) => version_6(reading, number),
        Some(7) => version_7(reading, number),
        Some(8) => reading
            .fact("made of", "122 bits that its minter chose")
            .bits(unequal(number, ["custom_a", "custom_b", "custom_c"]), &[]),
        Some(_) => reading
            .note("RFC 9562 defines the versions 1 to 8: it was not minted as a UUID, or is damaged")
            .bits(unequal(number, ["bits_a", "bits_b", "bits_c"]), &[]),
        None => reading.bits(
            fields([("bits_high", 64, number >> 64), ("bits_low", 64, number & u128::from(u64::MAX))]),
            &[],
        ),
    }
}

fn title(id: Uuid) -> String {
    match id.version() {
        _ if id == Uuid::NIL => "the nil UUID (RFC 9562, section 5.9): no ID".to_owned(),
        _ if id == Uuid::MAX => "the max UUID (RFC 9562, section 5.10): no ID".to_owned(),
        Some(1) => "UUID version 1: a time, and a node".to_owned(),
        Some(2) => "UUID version 2 (DCE security): a user or group, and a node".to_owned(),
        Some(3) => "UUID version 3: the hash of a name".to_owned(),
        Some(4) => "UUID version 4: random".to_owned(),
        Some(5) => "UUID version 5: the hash of a name".to_owned(),
        Some(6) => "UUID version 6: a time in order, and a node".to_owned(),
        Some(7) => "UUID version 7: a time in order, and random bits".to_owned(),
        Some(8) => "UUID version 8: a custom format".to_owned(),
        Some(version) => format!("UUID of version {version}, which does not exist"),
        None => "UUID of another variant".to_owned(),
    }
}

/// The word of RFC 9562, section 4.1, table 1.
fn variant(number: u128) -> &'static str {
    match field(number, 61, 3) {
        _ if number == 0 => "none (nil)",
        _ if number == u128::MAX => "none (max)",
        0..=3 => "NCS (reserved)",
        4 | 5 => "RFC 9562",
        6 => "Microsoft (reserved)",
        _ => "reserved",
    }
}

/// The `bits` of `number` from `shift` on.
fn field(number: u128, shift: u32, bits: u32) -> u128 {
    number >> shift & (u128::MAX >> (u128::BITS - bits))
}

fn narrow(number: u128, shift: u32, bits: u32) -> u64 {
    u64::try_from(field(number, shift, bits)).unwrap_or(u64::MAX)
}

/// 48, 12 and 62 bits between the version and the variant: versions 3, 4, 5, 7 and 8.
fn unequal(number: u128, [high, middle, low]: [&str; 3]) -> Vec<BitField> {
    fields([
        (high, 48, field(number, 80, 48)),
        ("ver", 4, field(number, 76, 4)),
        (middle, 12, field(number, 64, 12)),
        ("var", 2, field(number, 62, 2)),
        (low, 62, field(number, 0, 62)),
    ])
}

fn version_1(reading: Reading, number: u128) -> Reading {
    let [low, mid, high] = [(96, 32), (80, 16), (64, 12)].map(|(shift, bits)| narrow(number, shift, bits));
    let ticks = high << 48 | mid << 32 | low;
    let time = Moment::gregorian(ticks);
    let sums = gregorian("time_high << 48 | time_mid << 32 | time_low", ticks, &time);
    origin(reading.at(time), number).bits(
        fields([
            ("time_low", 32, low.into()),
            ("time_mid", 16, mid.into()),
            ("ver", 4, 1),
            ("time_high", 12, high.into()),
            ("var", 2, field(number, 62, 2)),
            ("clock_seq", 14, field(number, 48, 14)),
            ("node", 48, field(number, 0, 48)),
        ]),
        &sums,
    )
}

/// The number of a user or group stands where version 1 has the lowest bits of its time, the domain where it has those of
/// its clock sequence (DCE 1.1: Authentication and Security Services, section 11.5.1.1).
fn version_2(reading: Reading, number: u128) -> Reading {
    let [local, mid, high] = [(96, 32), (80, 16), (64, 12)].map(|(shift, bits)| narrow(number, shift, bits));
    let domain = narrow(number, 48, 8);
    let whose = match domain {
        0 => "person (user id)",
        1 => "group (group id)",
        2 => "organization",
        _ => "of a site's own",
    };
    let time = Moment::gregorian(high << 48 | mid << 32);
    let reading = reading
        .at(time)
        .note("its time is that of the last step of about seven minutes")
        .fact("local id", local.to_string())
        .fact("domain", format!("{domain}, {whose}"))
        .fact("node", node(number))
        .with("local_id", local)
        .with("domain", domain)
        .with("node", address(number));
    reading.bits(
        fields([
            ("local_id", 32, local.into()),
            ("time_mid", 16, mid.into()),
            ("ver", 4, 2),
            ("time_high", 12, high.into()),
            ("var", 2, field(number, 62, 2)),
            ("clock_seq", 6, field(number, 56, 6)),
            ("domain", 8, domain.into()),
            ("node", 48, field(number, 0, 48)),
        ]),
        &[],
    )
}

fn version_6(reading: Reading, number: u128) -> Reading {
    let [high, mid, low] = [(96, 32), (80, 16), (64, 12)].map(|(shift, bits)| narrow(number, shift, bits));
    let ticks = high << 28 | mid << 12 | low;
    let time = Moment::gregorian(ticks);
    let sums = gregorian("time_high << 28 | time_mid << 12 | time_low", ticks, &time);
    origin(reading.at(time), number).bits(
        fields([
            ("time_high", 32, high.into()),
            ("time_mid", 16, mid.into()),
            ("ver", 4, 6),
            ("time_low", 12, low.into()),
            ("var", 2, field(number, 62, 2)),
            ("clock_seq", 14, field(number, 48, 14)),
            ("node", 48, field(number, 0, 48)),
        ]),
        &sums,
    )
}

fn version_7(reading: Reading, number: u128) -> Reading {
    let millis = narrow(number, 80, 48);
    let time = UnixMillis::from_position(millis);
    let reading = reading
        .at(time)
        .fact("rand_a", format!("{:#05x}", field(number, 64, 12)))
        .fact("rand_b", format!("{:#018x}", field(number, 0, 62)));
    let sums = [("unix_ts_ms".to_owned(), format!("{millis}  ms since 1970: {time}"))];
    reading.bits(unequal(number, ["unix_ts_ms", "rand_a", "rand_b"]), &sums)
}

/// The clock sequence and the node of versions 1 and 6.
fn origin(reading: Reading, number: u128) -> Reading {
    let sequence = narrow(number, 48, 14);
    reading
        .fact("clock seq", sequence.to_string())
        .fact("node", node(number))
        .with("clock_sequence", sequence)
        .with("node", address(number))
}

fn address(number: u128) -> String {
    let octets: Vec<String> =
        (0..6).rev().map(|octet| format!("{:02x}", field(number, octet * 8, 8))).collect();
    octets.join(":")
}

/// The node, and whether it is that of a network card: a random one has the multicast bit set, which none of those has
/// (RFC 9562, section 6.10).
fn node(number: u128) -> String {
    let kind = match field(number, 40, 1) {
        1 => "random: its multicast bit is set",
        _ => "the address of a network card, unless it was made up",
    };
    format!("{} ({kind})", address(number))
}

fn gregorian(sum: &str, ticks: u64, time: &Moment) -> [(String, String); 2] {
    [
        (sum.to_owned(), format!("{ticks}  intervals of 100 ns since 1582-10-15T00:00:00Z")),
        (
            format!("({ticks} - 122192928000000000) / 10000"),
            format!("{}  ms since 1970: {}", time.millis.get(), time.millis),
        ),
    ]
}
