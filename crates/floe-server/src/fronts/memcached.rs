//! memcached's protocol, as katsubushi's clients speak it: a key is a name, and `get` mints one ID for each key.
//!
//! `get`s of one key that stand next to each other in a pipeline are minted in one step. A `get` that asks for several
//! keys comes to all of its IDs or to one error: what had been minted before the error is wasted, never half told. No
//! answer is ever a miss, since clients take one for "no value".

use std::fmt::Write;
use std::sync::Arc;

use crate::access::Caller;
use crate::metrics::WireMetrics;
use crate::service::{Service, Wire};
use crate::status::Refusal;

mod binary;
mod text;

pub(crate) use binary::Binary;
pub(crate) use text::Text;

/// What is said to whoever wants something stored.
pub(crate) const SERVED: &str = "floe mints IDs and stores nothing: it serves get and gets, whose keys are names, stats, version and quit";

/// memcached's version comes first: libmemcached refuses a server whose version begins with 0.
const VERSION: &str = concat!("1.6.0-floe-", env!("CARGO_PKG_VERSION"));

/// The most `get`s of a pipeline that are minted in one step.
const MOST_IN_A_RUN: usize = 1024;

/// What both forms of the protocol mint and count with.
struct Minter {
    service: Arc<Service>,
    caller: Caller,
    metrics: WireMetrics,
}

/// `get`s of one key that nothing has been minted for yet, with what the answer to each needs.
struct Run<R> {
    key: Vec<u8>,
    waiting: Vec<R>,
}

impl Minter {
    fn new(service: &Arc<Service>, caller: Caller) -> Self {
        Self { service: Arc::clone(service), caller, metrics: service.metrics().wire("memcached") }
    }

    /// Counts calls for IDs, which come to any number of them.
    fn called(&self, calls: usize) {
        self.service.katsubushi_called(u64::try_from(calls).unwrap_or(u64::MAX));
    }

    /// Hands `answer` an ID, or why there is none, `count` times.
    async fn mint_each(
        &self,
        key: &[u8],
        count: usize,
        mut answer: impl FnMut(Result<&str, &Refusal>) + Send,
    ) {
        let mut left = u64::try_from(count).unwrap_or(u64::MAX);
        let mut at_once = left.min(self.service.max_batch());
        let mut shown = String::new();
        while left > 0 {
            let step = at_once.min(left);
            match self.mint(key, step).await {
                Ok(minted) => {
                    left -= step;
                    self.service.katsubushi_hit(step);
                    for id in minted {
                        shown.clear();
                        // Writing to memory does not fail.
                        let _ = write!(shown, "{id}");
                        answer(Ok(&shown));
                    }
                }
                // Too many for one step are not too many for so many clients' calls.
                Err(refusal) if step > 1 && refusal.status.may_be_of_the_count() => at_once = 1,
                Err(refusal) => {
                    self.service.katsubushi_missed(left);
                    (0..left).for_each(|_| answer(Err(&refusal)));
                    left = 0;
                }
            }
        }
    }

    async fn mint(&self, key: &[u8], count: u64) -> Result<floe::Minted, Refusal> {
        let name = std::str::from_utf8(key)
            .map_err(|_| Refusal::bad("a key is a name, and this one is not UTF-8"))?;
        self.service.mint(&self.caller, Wire::Katsubushi, name, count).await
    }

    /// What `stats` tells, as katsubushi names it: of its calls over every wire, as `/stats` does.
    ///
    /// # Errors
    /// A [`Refusal`] of who has to say who he is, and does not.
    fn stats(&self) -> Result<[(&'static str, String); 9], Refusal> {
        let stats = self.service.katsubushi_stats(&self.caller)?;
        Ok([
            ("pid", stats.pid.to_string()),
            ("uptime", stats.uptime.to_string()),
            ("time", stats.time.to_string()),
            ("version", VERSION.to_owned()),
            ("curr_connections", stats.curr_connections.to_string()),
            ("total_connections", stats.total_connections.to_string()),
            ("cmd_get", stats.cmd_get.to_string()),
            ("get_hits", stats.get_hits.to_string()),
            ("get_misses", stats.get_misses.to_string()),
        ])
    }
}

impl<R> Run<R> {
    fn new() -> Self {
        Self { key: Vec::new(), waiting: Vec::new() }
    }

    /// Whether a `get` of this key has to wait until what is gathered has been minted.
    fn is_in_the_way_of(&self, key: &[u8]) -> bool {
        !self.waiting.is_empty() && (self.key != key || self.waiting.len() >= MOST_IN_A_RUN)
    }

    fn push(&mut self, key: &[u8], request: R) {
        if self.waiting.is_empty() {
            self.key.clear();
            self.key.extend_from_slice(key);
        }
        self.waiting.push(request);
    }
}
