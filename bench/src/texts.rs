//! Numbers written as texts, each beside the crate that is used today. The texts are checked for repetitions, so the
//! numbers are consecutive, with many digits.

use std::cell::Cell;
use std::sync::Arc;

use floe::form::{Buffer, Form};

use crate::Result;
use crate::measure::{Outcome, fill_with, run};
use crate::rows::{Row, THREADS};

/// Texts of all threads in one round.
const COUNT: usize = 100_000;
const SALT: &str = "pepper";

/// No text here is longer.
type Text = [u8; 24];

/// The rows of this group, floe before its peer.
pub(crate) fn rows() -> Vec<Row> {
    let row = |name, run| Row { group: "Numbers as texts", name, threads: THREADS, count: COUNT, run };
    vec![
        row("floe base62 width=11", |threads, count| form("base62 width=11", threads, count)),
        row("floe hashids", |threads, count| form(&format!("hashids salt={SALT}"), threads, count)),
        row("harsh (hashids)", |threads, count| {
            let harsh = harsh::Harsh::builder().salt(SALT).build()?;
            written(threads, count, || {
                let harsh = harsh.clone();
                move |number| text(harsh.encode(&[number]).as_bytes())
            })
        }),
        row("floe sqids", |threads, count| form("sqids", threads, count)),
        row("sqids", |threads, count| {
            let sqids = Arc::new(sqids::Sqids::default());
            written(threads, count, || {
                let sqids = Arc::clone(&sqids);
                move |number| text(sqids.encode(&[number]).unwrap_or_default().as_bytes())
            })
        }),
    ]
}

fn form(form: &str, threads: usize, count: usize) -> Result<Outcome> {
    let form = Arc::new(form.parse::<Form>()?);
    written(threads, count, || {
        let (form, mut buffer) = (Arc::clone(&form), Buffer::new());
        move |number| text(form.encode(number, &mut buffer).unwrap_or_default().as_bytes())
    })
}

/// Texts of one thread's own numbers. A text that was not written is empty, and so counts as repeated.
fn written<W>(threads: usize, count: usize, writer: impl Fn() -> W) -> Result<Outcome>
where
    W: FnMut(u64) -> Text + Send + 'static,
{
    let begin = Cell::new(1_u64 << 58);
    run(threads, count, || {
        let mut next = begin.replace(begin.get() + (1 << 40));
        let mut write = writer();
        move |texts: &mut [Text]| {
            fill_with(texts, || {
                next += 1;
                write(next)
            })
        }
    })
}

/// In the form in which it is compared.
fn text(bytes: &[u8]) -> Text {
    let mut text = [0; 24];
    text[..bytes.len()].copy_from_slice(bytes);
    text
}
