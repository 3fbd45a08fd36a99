//! The other kinds that tell themselves by their text: ULID, TypeID, ObjectId, KSUID, NanoID.

use alloc::{borrow::ToOwned, format, string::ToString};

use crate::form::read_type_id;
use crate::kind::{Ksuid, NanoIdFormat, ObjectId, Ulid, Uuid};

use super::reading::{Likelihood, Reading, fields};
use super::uuid::uuid;

impl From<Uuid> for Reading {
    fn from(id: Uuid) -> Self {
        uuid(id, "hyphens")
    }
}

impl From<Ulid> for Reading {
    fn from(id: Ulid) -> Self {
        ulid(id)
    }
}

/// By its format of today.
impl From<ObjectId> for Reading {
    fn from(id: ObjectId) -> Self {
        let [today, _] = object_id(id);
        today
    }
}

impl From<Ksuid> for Reading {
    fn from(id: Ksuid) -> Self {
        ksuid(id)
    }
}

pub(super) fn ulid(id: Ulid) -> Reading {
    let (time, random) = (id.time(), id.random());
    let same = Uuid::from(id).to_string();
    let sums = [("time".to_owned(), format!("{}  ms since 1970: {time}", time.get()))];
    Reading::new("ulid", "ULID: a time in order, and random bits", "base32", id.to_string())
        .at(time)
        .fact("random", format!("{random:#022x}"))
        .fact("as UUID", same.clone())
        .with("uuid", same)
        .bits(fields([("time", 48, id.get() >> 80), ("random", 80, random)]), &sums)
}

/// A TypeID of any type, or of none.
pub(super) fn type_id(text: &str) -> Option<Reading> {
    let (kind, number) = read_type_id(text).ok()?;
    let inside = uuid(Uuid::from_u128(number), "base32");
    // The specification asks for version 7, and allows any 128 bits.
    let version_7 = inside.kind == "uuid7";
    let title = match kind {
        "" => "TypeID of no type".to_owned(),
        kind => format!("TypeID of the type {kind}"),
    };
    let mut reading = inside
        .of_kind("typeid")
        .titled(title)
        .written("base32", text)
        .fact("UUID", Uuid::from_u128(number).to_string())
        .with("type", kind)
        .with("uuid", Uuid::from_u128(number).to_string());
    if !version_7 {
        reading = reading.note("the UUID in it is not of version 7, as the specification of TypeID asks");
    }
    let likelihood = match (kind.is_empty(), version_7) {
        (false, _) => Likelihood::Certain,
        // 26 symbols alone are a ULID's too. One in 64 has the bits of a version 7 by chance.
        (true, true) => Likelihood::Certain,
        (true, false) => Likelihood::Unlikely,
    };
    Some(reading.that_is(likelihood))
}

/// By its format of today, and by that of MongoDB's drivers until 2018.
pub(super) fn object_id(id: ObjectId) -> [Reading; 2] {
    let (time, counter) = (id.time(), id.counter());
    let seconds = u128::from(time.get().unsigned_abs() / 1_000);
    let sums = [("time * 1000".to_owned(), format!("{}  ms since 1970: {time}", time.get()))];
    let reading = |title: &str| Reading::new("objectid", title, "hex", id.to_string()).at(time);
    let (machine, process) = (id.machine(), id.process());
    [
        reading("ObjectId: a time, a random process, a counter")
            .fact("random", format!("{:#012x} (once per process)", id.random()))
            .fact("counter", counter.to_string())
            .bits(
                fields([
                    ("time", 32, seconds),
                    ("random", 40, id.random().into()),
                    ("counter", 24, counter.into()),
                ]),
                &sums,
            ),
        reading("ObjectId of before 2018: machine and process")
            .fact("machine", format!("{machine:#08x} (of the hash of its name)"))
            .fact("process", process.to_string())
            .fact("counter", counter.to_string())
            .that_is(Likelihood::Possible)
            .bits(
                fields([
                    ("time", 32, seconds),
                    ("machine", 24, machine.into()),
                    ("process", 16, process.into()),
                    ("counter", 24, counter.into()),
                ]),
                &sums,
            ),
    ]
}

pub(super) fn ksuid(id: Ksuid) -> Reading {
    const EPOCH_SECONDS: u64 = 1_400_000_000;
    let time = id.time();
    let seconds = (time.get().unsigned_abs() / 1_000).saturating_sub(EPOCH_SECONDS);
    let sums =
        [(format!("(time + {EPOCH_SECONDS}) * 1000"), format!("{}  ms since 1970: {time}", time.get()))];
    Reading::new("ksuid", "KSUID: a time in order, and random bits", "base62", id.to_string())
        .at(time)
        .fact("payload", format!("{:032x}", id.payload()))
        .bits(fields([("time", 32, seconds.into()), ("payload", 128, id.payload())]), &sums)
        .that_is(Likelihood::Likely)
}

/// A NanoID as the library makes it unless told otherwise: 21 characters, and nothing in them to be read.
pub(super) fn nano_id(text: &str) -> Option<Reading> {
    NanoIdFormat::default().read(text).ok()?;
    Some(
        Reading::new("nanoid", "NanoID: random", "nanoid", text)
            .fact("made of", "21 characters of 6 random bits each: no time, no order, no machine")
            .note("nothing in a NanoID shows that it is one: any 21 characters of its alphabet look like one")
            .that_is(Likelihood::Possible),
    )
}
