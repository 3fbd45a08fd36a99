//! The form of packets.
//!
//! A quiet `get` gets no answer for a miss. Here there are no misses, so it is answered like a plain `get`, with an
//! ID or an error. After such an error, the connection is closed: some clients give up a batch at its first error
//! without reading the other answers, and would take these for answers to their next requests.

use std::time::Duration;

use floe_wire::memcached::binary::{
    Decoder, Limits as WireLimits, Operation, Request, Status as WireStatus, reply,
};
use tokio::time::Instant;

use super::{Minter, Run, SERVED, VERSION};
use crate::access::Caller;
use crate::fronts::Backend;
use crate::session::{Next, Session, Taken};
use crate::status::{Refusal, Status};

/// One client's connection.
pub(crate) struct Binary {
    decoder: Decoder,
    state: State,
}

struct State {
    minter: Minter,
    run: Run<Get>,
    /// The last cas number: nothing is ever stored by one, but no two values share one.
    cas: u64,
    /// A quiet `get` came to an error, and nothing is said after it.
    broken: bool,
}

/// A request for an ID, but for its key.
struct Get {
    operation: Operation,
    opcode: u8,
    opaque: [u8; 4],
}

impl Binary {
    pub(crate) fn new(backend: &Backend, caller: Caller) -> Self {
        Self {
            decoder: Decoder::new(WireLimits { request_bytes: backend.limits.request_bytes() }),
            state: State { minter: Minter::new(backend, caller), run: Run::new(), cas: 0, broken: false },
        }
    }
}

impl Session for Binary {
    async fn take(&mut self, input: &[u8], output: &mut Vec<u8>, _: Instant) -> Option<Taken> {
        let Self { decoder, state } = self;
        match decoder.decode(input) {
            Ok(request) => {
                let (request, bytes) = request?;
                let goes_on = state.take(&request, output).await && !state.broken;
                let next = if goes_on { Next::Read } else { Next::Close };
                Some((bytes, next))
            }
            Err(error) => {
                state.flush(output).await;
                state.minter.metrics.refused(Status::BadRequest);
                error.encode(output);
                Some((input.len(), Next::Close))
            }
        }
    }

    async fn flush(&mut self, output: &mut Vec<u8>) -> bool {
        self.state.flush(output).await;
        !self.state.broken
    }

    fn busy(&mut self, refusal: Refusal, output: &mut Vec<u8>) {
        // Whose answer it is is not known yet; the connection is closed after it.
        let request = Request { operation: Operation::Noop, opcode: 0x0a, opaque: [0; 4], key: &[] };
        refuse(&self.state.minter, &request, &refusal, output);
    }

    fn took(&mut self, time: Duration) {
        self.state.minter.metrics.took(time);
    }
}

impl State {
    /// Takes one request; whether another may follow.
    async fn take(&mut self, request: &Request<'_>, output: &mut Vec<u8>) -> bool {
        let &Request { operation, opcode, opaque, key } = request;
        match operation {
            Operation::Get | Operation::GetQuietly | Operation::GetWithKey | Operation::GetWithKeyQuietly => {
                if self.run.is_in_the_way_of(key) {
                    self.flush(output).await;
                }
                if self.broken {
                    return false;
                }
                self.run.push(key, Get { operation, opcode, opaque });
                return true;
            }
            _ => self.flush(output).await,
        }
        if self.broken {
            return false;
        }
        match operation {
            Operation::Noop => reply::done(output, request),
            Operation::Version => reply::version(output, request, VERSION),
            Operation::Stat => match self.minter.stats() {
                Ok(stats) => {
                    // There are no figures of any other sort.
                    for (name, value) in stats.iter().filter(|_| key.is_empty()) {
                        reply::stat(output, request, name, value);
                    }
                    reply::done(output, request);
                }
                Err(refusal) => refuse(&self.minter, request, &refusal, output),
            },
            Operation::Quit => {
                reply::done(output, request);
                return false;
            }
            Operation::QuitQuietly => return false,
            Operation::Invalid => {
                let why = "a key has 1 to 250 bytes without control characters, and no extras or value belong to what floe serves";
                self.minter.metrics.refused(Status::BadRequest);
                reply::error(output, request, WireStatus::InvalidArguments, why);
                return true;
            }
            _ => {
                self.minter.metrics.refused(Status::BadRequest);
                reply::error(output, request, WireStatus::UnknownCommand, SERVED);
                return true;
            }
        }
        self.minter.metrics.answered(1);
        true
    }

    /// Mints for the `get`s that have been gathered.
    async fn flush(&mut self, output: &mut Vec<u8>) {
        let Self { minter, run, cas, broken } = self;
        let mut waiting = run.waiting.drain(..);
        let count = waiting.len();
        minter.called(count);
        minter
            .mint_each(&run.key, count, |minted| {
                let Some(Get { operation, opcode, opaque }) = waiting.next() else { return };
                if *broken {
                    return;
                }
                let request = Request { operation, opcode, opaque, key: &run.key };
                match minted {
                    Ok(id) => {
                        *cas += 1;
                        reply::value(output, &request, id.as_bytes(), *cas);
                        minter.metrics.answered(1);
                    }
                    Err(refusal) => {
                        refuse(minter, &request, refusal, output);
                        *broken = matches!(operation, Operation::GetQuietly | Operation::GetWithKeyQuietly);
                    }
                }
            })
            .await;
    }
}

fn refuse(minter: &Minter, request: &Request<'_>, refusal: &Refusal, output: &mut Vec<u8>) {
    minter.metrics.refused(refusal.status);
    reply::error(output, request, refusal.status.memcached_binary(), &refusal.text());
}
