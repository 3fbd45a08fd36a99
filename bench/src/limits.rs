//! The limits that no generator can beat, in the same loop and the same run: the first rows, to which all others are compared.

use std::cell::{Cell, RefCell};
use std::hint::black_box;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::Result;
use crate::measure::{Outcome, fill_with, run, run_without_ids};
use crate::rows::{BATCH, MANY, Row, THREADS};

/// The rows to which all others are compared.
pub(crate) const COUNTER: &str = "plain counter, one a thread";
pub(crate) const ATOMIC_ADD: &str = "atomic add, shared";
pub(crate) const ROUND_TRIP: &str = "send and recv of 8 bytes over loopback";

/// The rows of this group.
pub(crate) fn rows() -> Vec<Row> {
    let row = |name, count, run| Row { group: "Limits", name, threads: THREADS, count, run };
    vec![
        row(COUNTER, MANY, counters),
        row(ATOMIC_ADD, MANY, atomic_add),
        row("memset of 8 bytes an ID, 1,000 IDs at a time", MANY, memset),
        row(ROUND_TRIP, 100_000, round_trips),
    ]
}

/// Numbers of a thread's own, from a value that no other thread reaches.
fn counters(threads: usize, count: usize) -> Result<Outcome> {
    let begin = Cell::new(0_u64);
    run(threads, count, || {
        let mut next = begin.replace(begin.get() + (1 << 40));
        move |ids: &mut [u64]| {
            fill_with(ids, || {
                next += 1;
                // One by one, as IDs are made. Without this, the loop makes several in one instruction.
                black_box(next)
            })
        }
    })
}

fn atomic_add(threads: usize, count: usize) -> Result<Outcome> {
    let next = Arc::new(AtomicU64::new(0));
    run(threads, count, || {
        let next = Arc::clone(&next);
        move |ids: &mut [u64]| fill_with(ids, || next.fetch_add(1, Ordering::Relaxed))
    })
}

fn memset(threads: usize, count: usize) -> Result<Outcome> {
    run_without_ids(threads, count, || {
        |ids: &mut [u64]| {
            for batch in ids.chunks_mut(BATCH) {
                black_box(&mut *batch).fill(0);
            }
            Ok(())
        }
    })
}

/// A number sent and received by the same thread: two system calls, and no thread to wake.
fn round_trips(threads: usize, count: usize) -> Result<Outcome> {
    let pairs = (0..threads).map(|_| connect()).collect::<Result<Vec<_>>>()?;
    let pairs = RefCell::new(pairs.into_iter().zip(0_u64..));
    run(threads, count, || {
        let pair = pairs.borrow_mut().next();
        let mut sent = 0;
        move |ids: &mut [u64]| {
            let Some(((client, server), thread)) = &pair else {
                return Err("a thread has no connection".into());
            };
            let (mut client, mut server) = (client, server);
            for id in ids {
                client.write_all(&(sent + (*thread << 40)).to_le_bytes())?;
                sent += 1;
                let mut bytes = [0; 8];
                server.read_exact(&mut bytes)?;
                *id = u64::from_le_bytes(bytes);
            }
            Ok(())
        }
    })
}

fn connect() -> Result<(TcpStream, TcpStream)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let client = TcpStream::connect(listener.local_addr()?)?;
    client.set_nodelay(true)?;
    Ok((client, listener.accept()?.0))
}
