//! memcached's protocol, as katsubushi's clients speak it: a key is a name, and `get` mints one ID for each key.
//!
//! `get`s of one key that stand next to each other in a pipeline are minted in one step. A `get` with several keys
//! gets all of its IDs or one error. IDs that were minted before the error are wasted, so that no answer is half
//! complete. No answer is a miss, because clients read a miss as "no value".

use std::fmt::Write;
use std::io;
use std::sync::Arc;

use floe_wire::memcached::binary::Status as WireStatus;
use floe_wire::memcached::{MAGIC, PROTOCOL};
use futures_util::future::BoxFuture;

use super::katsubushi::{self, Katsubushi};
use super::{Backend, Conversation, Front, TurnedAway};
use crate::access::Caller;
use crate::metrics::ProtocolMetrics;
use crate::service::Service;
use crate::status::{Refusal, Status};

mod binary;
mod text;

pub(crate) use binary::Binary;
pub(crate) use text::Text;

/// The error for commands that store a value.
pub(crate) const SERVED: &str = "floe mints IDs and stores nothing: it serves get and gets (their keys are names), stats, version and quit";

/// memcached's version comes first: libmemcached refuses a server whose version begins with 0.
const VERSION: &str = concat!("1.6.0-floe-", env!("CARGO_PKG_VERSION"));

/// The most `get`s of a pipeline that are minted in one step.
const MOST_IN_A_RUN: usize = 1024;

/// See the module.
pub(super) const FRONT: Front = Front { protocol: &PROTOCOL, serve, turn_away, counters: &[] };

/// What both forms of the protocol use to mint and to count.
struct Minter {
    katsubushi: Arc<Katsubushi>,
    service: Arc<Service>,
    caller: Caller,
    metrics: ProtocolMetrics,
}

/// `get`s of one key that nothing has been minted for yet, with what the answer to each needs.
struct Run<R> {
    key: Vec<u8>,
    waiting: Vec<R>,
}

fn serve(conversation: Conversation) -> BoxFuture<'static, io::Result<()>> {
    let Conversation { backend, caller, .. } = &conversation;
    if conversation.first == Some(MAGIC) {
        let session = Binary::new(backend, caller.clone());
        return conversation.run(session);
    }
    let session = Text::new(backend, caller.clone());
    conversation.run(session)
}

/// In lines; a client of the other form is not told.
fn turn_away(why: &TurnedAway<'_>, _: &str) -> Vec<u8> {
    match why {
        TurnedAway::Busy(why) => format!("SERVER_ERROR busy: {why}\r\n").into_bytes(),
        TurnedAway::NoTls(Some(MAGIC)) => Vec::new(),
        TurnedAway::NoTls(_) => b"SERVER_ERROR this port takes TLS: connect with it\r\n".to_vec(),
    }
}

impl Minter {
    fn new(backend: &Backend, caller: Caller) -> Self {
        let (katsubushi, service) = (Arc::clone(&backend.katsubushi), Arc::clone(&backend.service));
        let metrics = service.metrics().protocol(PROTOCOL.word);
        Self { katsubushi, service, caller, metrics }
    }

    /// Counts calls for IDs, which come to any number of them.
    fn called(&self, calls: usize) {
        self.katsubushi.called(u64::try_from(calls).unwrap_or(u64::MAX));
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
                    self.katsubushi.hit(step);
                    for id in minted {
                        shown.clear();
                        // Writing to memory does not fail.
                        let _ = write!(shown, "{id}");
                        answer(Ok(&shown));
                    }
                }
                // Too many for one step may still be possible as single calls.
                Err(refusal) if step > 1 && refusal.status.may_be_of_the_count() => at_once = 1,
                Err(refusal) => {
                    self.katsubushi.missed(left);
                    (0..left).for_each(|_| answer(Err(&refusal)));
                    left = 0;
                }
            }
        }
    }

    async fn mint(&self, key: &[u8], count: u64) -> Result<floe::Minted, Refusal> {
        let name = std::str::from_utf8(key)
            .map_err(|_| Refusal::bad("a key is a name, and this one is not UTF-8"))?;
        self.service.mint(&self.caller, &katsubushi::CALL, name, count).await
    }

    /// The figures of `stats`, with katsubushi's names: of its calls over every wire, as in `/stats`.
    ///
    /// # Errors
    /// A [`Refusal`] if the caller must authenticate and does not.
    fn stats(&self) -> Result<[(&'static str, String); 9], Refusal> {
        let stats = self.katsubushi.stats(&self.caller)?;
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

/// The column of the table of errors.
impl Status {
    /// Whether memcached's text protocol says `CLIENT_ERROR`, since asking again does not help; else `SERVER_ERROR`.
    pub(crate) const fn is_memcached_client_error(self) -> bool {
        match self {
            Self::UnknownName
            | Self::BadRequest
            | Self::WrongKind
            | Self::Unauthenticated
            | Self::WrongToken
            | Self::Forbidden => true,
            Self::Busy | Self::Unavailable | Self::Exhausted | Self::Stopped => false,
        }
    }

    /// The status of memcached's binary protocol. None of them is a miss: a client would take that for "no value".
    pub(crate) const fn memcached_binary(self) -> WireStatus {
        match self {
            Self::UnknownName | Self::BadRequest | Self::WrongKind => WireStatus::InvalidArguments,
            Self::Unauthenticated | Self::WrongToken | Self::Forbidden => WireStatus::Authentication,
            Self::Busy => WireStatus::Busy,
            Self::Unavailable => WireStatus::Temporary,
            Self::Exhausted | Self::Stopped => WireStatus::Internal,
        }
    }
}
