//! The hot paths of floe, for `scripts/instructions`, which counts their instructions with callgrind.
//!
//! No row on a ledger depends on the time or on other threads: the floe has no driver thread, its clock is a number,
//! and its ledger is in memory. Kinds that need no ledger and read the time are left out. They read the time that a
//! thread keeps ready, or, if that is late, the clock, which takes four times as many instructions.
//!
//! `floe-instructions` lists the rows. `floe-instructions ROW` does a row's work twice. The first time is not counted,
//! which leaves out work that happens only once. Then it prints how many IDs the second time made.
#![forbid(unsafe_code)]

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use floe::form::{Buffer, Form, Key, KeyId, Keys};
use floe::kind::{Mint, NanoIdGenerator, UuidV4Generator};
use floe::ledger::{Ledger, Memory};
use floe::manual::{self, Manual, Op, Surroundings};
use floe::{
    Definition, Floe, Generator, Id, Layout, MonoMillis, Name, NameOptions, Outcome, Owner, Reading, Segment,
    UnixMillis,
};
use floe_wire::{memcached, mysql, resp, thrift};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// IDs in one row: enough that the call around the cheapest row does not count.
const COUNT: u64 = 20_000;
/// IDs of one batch.
const BATCH: u64 = 1_000;
/// The start of the floe's clock.
const NOW: i64 = 1_767_225_600_000;
/// Longer than all ticks of all rows together.
const WINDOW: Duration = Duration::from_secs(3_600);

fn main() -> Result<()> {
    minting()?;
    ledgerless()?;
    texts()?;
    wires()
}

/// Counts the instructions of one ID.
fn row(name: &str, work: impl FnMut() -> Result<()>) -> Result<()> {
    row_of(name, COUNT, 1, work)
}

/// Does `work`, which makes `ids` IDs, `times` times, if this is the wanted row.
fn row_of(name: &str, times: u64, ids: u64, mut work: impl FnMut() -> Result<()>) -> Result<()> {
    let Some(wanted) = std::env::args().nth(1) else {
        println!("{name}");
        return Ok(());
    };
    if wanted == name {
        for _ in 0..times {
            work()?;
        }
        measured(&mut work, times)?;
        println!("{}", times * ids);
    }
    Ok(())
}

/// Callgrind counts inside this function: `scripts/instructions` names it.
#[inline(never)]
fn measured(work: &mut impl FnMut() -> Result<()>, times: u64) -> Result<()> {
    for _ in 0..times {
        work()?;
    }
    Ok(())
}

/// A floe without threads. If nothing is reserved for a mint, it fails after a second, because nobody answers it.
struct Rig {
    floe: Floe,
    manual: Manual,
    ledger: Memory,
    time: Arc<AtomicI64>,
}

impl Rig {
    fn new() -> Result<Self> {
        let time = Arc::new(AtomicI64::new(0));
        let (read, ledger, mut drawn) = (Arc::clone(&time), Memory::default(), 0_u8);
        let surroundings = Surroundings {
            clock: Box::new(move || {
                let passed = read.load(Ordering::Relaxed);
                let mono = u64::try_from(passed).unwrap_or_default();
                Reading { wall: UnixMillis::new(NOW + passed), mono: MonoMillis::new(mono) }
            }),
            entropy: Box::new(move || {
                drawn += 1;
                [drawn; 16]
            }),
            owner: Owner::this_process("here"),
            is_gone: Box::new(|_| false),
        };
        let (floe, manual) = manual::open(Floe::builder().window(WINDOW), ledger.clone(), surroundings)?;
        Ok(Self { floe, manual, ledger, time })
    }

    /// A millisecond passes, and the time is kept ready, as it is during fast minting.
    fn tick(&self) {
        self.time.fetch_add(1, Ordering::Relaxed);
        self.manual.tick();
    }

    /// Answers all requests to the ledger.
    fn settle(&self) {
        while self.manual.is_called() {
            for call in self.manual.turn().calls {
                match &call.op {
                    Op::Reserve(request) => self.manual.answer(call.id, self.ledger.reserve(request)),
                    Op::Count(request) => self.manual.answer(call.id, self.ledger.count(request)),
                    Op::Clock => self.manual.answer_clock(call.id, Ok(None)),
                    Op::GiveBack { .. } => self.manual.over(call.id),
                }
            }
        }
    }

    /// A generator with a window.
    fn generator(&self, layout: &Layout) -> Result<Generator> {
        let generator = self.floe.snowflake("orders", layout.clone())?;
        while !matches!(generator.try_mint()?, Outcome::Ready(_)) {
            self.settle();
            self.tick();
        }
        Ok(generator)
    }

    /// A segment with enough numbers for all its rows.
    fn segment(&self) -> Result<Segment> {
        let step = 100 * COUNT;
        let options = NameOptions { min_step: step, max_step: step, ..NameOptions::default() };
        let handle = self.floe.define(&Name::new("tickets")?, &Definition::SEGMENT, &options)?;
        let segment: &Segment = handle.get().ok_or("a segment is served as another kind")?;
        while segment.try_mint_many(1)?.is_none() {
            self.settle();
        }
        Ok(segment.clone())
    }
}

fn minting() -> Result<()> {
    let layout: Layout = "time:41 worker:2 sequence:20 tick=1ms epoch=2020-01-01T00:00:00.000Z".parse()?;
    let rig = Rig::new()?;
    let generator = rig.generator(&layout)?;
    rig.tick();
    row("shared generator", || {
        black_box(generator.mint()?);
        Ok(())
    })?;
    row("shared generator, a tick between two", || {
        rig.tick();
        black_box(generator.mint()?);
        Ok(())
    })?;
    row("a tick alone", || {
        rig.tick();
        Ok(())
    })?;
    let mut minter = generator.minter();
    rig.tick();
    row("minter", || {
        black_box(minter.mint()?);
        Ok(())
    })?;
    row("minter, a tick between two", || {
        rig.tick();
        black_box(minter.mint()?);
        Ok(())
    })?;
    row_of("batch of 1,000", COUNT / BATCH, BATCH, || {
        black_box(
            generator.try_mint_many(BATCH)?.ok_or("there was no batch")?.map(Id::get).fold(0, u64::max),
        );
        Ok(())
    })?;
    let mut ids = vec![Id::MAX; usize::try_from(BATCH)?];
    row_of("fill of 1,000", COUNT / BATCH, BATCH, || {
        generator.fill(black_box(&mut ids))?;
        Ok(())
    })?;
    let rig = Rig::new()?;
    let segment = rig.segment()?;
    rig.tick();
    row("segment", || {
        black_box(segment.mint()?);
        Ok(())
    })?;
    let mut minter = segment.minter();
    row("segment's minter", || {
        black_box(minter.mint()?);
        Ok(())
    })?;
    row_of("segment, batch of 1,000", COUNT / BATCH, BATCH, || {
        black_box(segment.mint_many(BATCH)?.map(Id::get).fold(0, u64::max));
        Ok(())
    })?;
    row_of("segment, fill of 1,000", COUNT / BATCH, BATCH, || {
        segment.fill(black_box(&mut ids))?;
        Ok(())
    })
}

fn ledgerless() -> Result<()> {
    fn kind<G: Mint>(name: &str, generator: &G) -> Result<()> {
        row(name, || {
            black_box(generator.mint()?);
            Ok(())
        })
    }
    kind("uuid4", &UuidV4Generator::new())?;
    kind("nanoid", &NanoIdGenerator::default())
}

const ID: u64 = 175_928_847_299_117_063;

fn texts() -> Result<()> {
    let keys = Keys::new().with(KeyId::new(1), Key::from(*b"sixteen bytes ok"))?;
    for text in [
        "decimal",
        "base62 width=11",
        "typeid type=order",
        "hashids salt=pepper",
        "sqids",
        "sealed key=1 base62 width=11",
    ] {
        let form = text.parse::<Form>()?.with_keys(&keys)?;
        let written = form.to_text(ID)?;
        let mut buffer = Buffer::new();
        row(&format!("write {text}"), || {
            black_box(form.encode(black_box(ID), &mut buffer)?);
            Ok(())
        })?;
        row(&format!("read {text}"), || {
            black_box(form.decode(black_box(&written))?);
            Ok(())
        })?;
    }
    row("inspect by a layout", || {
        black_box(Layout::TWITTER.split(black_box(u128::from(ID)))?);
        Ok(())
    })
}

/// Reads one request of each protocol, and writes its answer.
fn wires() -> Result<()> {
    let id = i64::try_from(ID)?;
    let mut out = Vec::with_capacity(1 << 10);
    let mut decoder = resp::Decoder::new(resp::Limits { request_bytes: 1 << 16, arguments: 1 << 10 });
    row("resp INCR", || {
        let read = decoder.decode(black_box(b"*2\r\n$4\r\nINCR\r\n$6\r\norders\r\n"))?;
        let (request, _) = read.ok_or("half a request")?;
        black_box((request.command(), request.get(1)));
        out.clear();
        resp::Encoder::new(&mut out, resp::Version::Two).integer(black_box(id));
        Ok(())
    })?;
    let mut decoder = memcached::text::Decoder::new(memcached::text::Limits { request_bytes: 1 << 16 });
    row("memcached get, text", || {
        let read = decoder.decode(black_box(b"get orders\r\n"))?;
        black_box(read.ok_or("half a request")?);
        out.clear();
        memcached::text::reply::value(&mut out, b"orders", black_box(b"175928847299117063"), None);
        memcached::text::reply::end(&mut out);
        Ok(())
    })?;
    let decoder = memcached::binary::Decoder::new(memcached::binary::Limits { request_bytes: 1 << 16 });
    let get = b"\x80\0\0\x06\0\0\0\0\0\0\0\x06\0\0\0\x01\0\0\0\0\0\0\0\0orders";
    row("memcached get, binary", || {
        let (request, _) = decoder.decode(black_box(get))?.ok_or("half a request")?;
        out.clear();
        memcached::binary::reply::value(&mut out, &request, black_box(b"175928847299117063"), 0);
        Ok(())
    })?;
    let mut decoder = thrift::Decoder::new(thrift::Limits { message: 1 << 12, name: 1 << 8, depth: 8 });
    let get_id = b"\0\0\0\x25\x80\x01\0\x01\0\0\0\x06get_id\0\0\0\0\x0b\0\x01\0\0\0\x0btweet-store\0";
    row("thrift get_id", || {
        let read = decoder.decode(black_box(get_id)).map_err(|error| format!("{error:?}"))?;
        let (request, _) = read.ok_or("half a message")?;
        black_box(request.arguments.map_err(|fault| format!("{fault:?}"))?.string(1));
        out.clear();
        thrift::reply_i64(&mut out, &request.header, black_box(id));
        Ok(())
    })?;
    let text = b"REPLACE INTO Tickets64 (stub) VALUES ('a'); SELECT LAST_INSERT_ID()";
    let mut query = vec![u8::try_from(text.len() + 1)?, 0, 0, 0, 3];
    query.extend_from_slice(text);
    let capabilities = mysql::Capabilities::PROTOCOL_41.with(mysql::Capabilities::MULTI_STATEMENTS);
    let status = mysql::Status { autocommit: true, in_transaction: false, more_results: false };
    row("mysql ticket", || {
        let (packet, _) = mysql::packet(black_box(&query), 1 << 16)?.ok_or("half a packet")?;
        let mysql::Command::Query(sql) = mysql::Command::read(&packet, capabilities)? else {
            return Err("a query was read as another command".into());
        };
        for parsed in mysql::sql::statements(sql) {
            black_box(parsed);
        }
        out.clear();
        let done = mysql::Done { affected: 2, last_insert_id: black_box(ID), status };
        mysql::Replies::new(&mut out, 1, capabilities).ok(&done);
        Ok(())
    })
}
