//! The form of lines.

use std::time::Duration;

use floe_wire::http;
use floe_wire::memcached::text::{Decoder, Keys, Limits as WireLimits, Request, reply};
use tokio::time::Instant;

use super::{Minter, Run, SERVED, VERSION};
use crate::access::Caller;
use crate::fronts::Backend;
use crate::session::{Next, Session, Taken};
use crate::status::{Refusal, Status};

/// One client's connection.
pub(crate) struct Text {
    decoder: Decoder,
    state: State,
    /// Whether the first request has come.
    begun: bool,
}

struct State {
    minter: Minter,
    /// Whether each wants a cas number.
    run: Run<bool>,
    /// The last cas number: nothing is ever stored by one, but no two values share one.
    cas: u64,
}

impl Text {
    pub(crate) fn new(backend: &Backend, caller: Caller) -> Self {
        Self {
            decoder: Decoder::new(WireLimits { request_bytes: backend.limits.request_bytes() }),
            state: State { minter: Minter::new(backend, caller), run: Run::new(), cas: 0 },
            begun: false,
        }
    }
}

impl Session for Text {
    async fn take(&mut self, input: &[u8], output: &mut Vec<u8>, _: Instant) -> Option<Taken> {
        let Self { decoder, state, begun } = self;
        match decoder.decode(input) {
            Ok(request) => {
                let (request, bytes) = request?;
                if !std::mem::replace(begun, true) && http::is_request_line(input) {
                    // A browser, sent by a web page, which chose a command for the method. What follows is not a command.
                    refuse(&state.minter, &Refusal::bad("this is memcached's protocol, and no HTTP"), output);
                    return Some((input.len(), Next::Close));
                }
                let next = if state.take(request, output).await { Next::Read } else { Next::Close };
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
        true
    }

    fn busy(&mut self, refusal: Refusal, output: &mut Vec<u8>) {
        refuse(&self.state.minter, &refusal, output);
    }

    fn took(&mut self, time: Duration) {
        self.state.minter.metrics.took(time);
    }
}

impl State {
    /// Takes one request; whether another may follow.
    async fn take(&mut self, request: Request<'_>, output: &mut Vec<u8>) -> bool {
        if let Request::Get { keys, cas } = &request
            && let Some(key) = single(keys)
        {
            if self.run.is_in_the_way_of(key) {
                self.flush(output).await;
            }
            self.run.push(key, *cas);
            return true;
        }
        self.flush(output).await;
        let said = match request {
            Request::Get { keys, cas } => self.get_all(&keys, cas, output).await,
            Request::Stats(of) => self.minter.stats().map(|stats| {
                // There are no figures of any other sort.
                for (name, value) in stats.iter().filter(|_| of.is_none()) {
                    reply::stat(output, name, value);
                }
                reply::end(output);
            }),
            Request::Version => {
                reply::version(output, VERSION);
                Ok(())
            }
            Request::Verbosity { noreply } => {
                if !noreply {
                    reply::ok(output);
                }
                Ok(())
            }
            Request::Quit => return false,
            Request::Refused { noreply: true } => {
                self.minter.metrics.refused(Status::BadRequest);
                return true;
            }
            Request::Refused { noreply: false } => Err(Refusal::bad(SERVED)),
            Request::Invalid(why) => Err(Refusal::bad(why.to_string())),
            Request::Unknown => {
                self.minter.metrics.refused(Status::BadRequest);
                reply::error(output);
                return true;
            }
        };
        match said {
            Ok(()) => self.minter.metrics.answered(1),
            Err(refusal) => refuse(&self.minter, &refusal, output),
        }
        true
    }

    /// Mints for the `get`s that have been gathered.
    async fn flush(&mut self, output: &mut Vec<u8>) {
        let Self { minter, run, cas } = self;
        let mut waiting = run.waiting.drain(..);
        let count = waiting.len();
        minter.called(count);
        minter
            .mint_each(&run.key, count, |minted| {
                let wants_cas = waiting.next().unwrap_or_default();
                match minted {
                    Ok(id) => {
                        reply::value(output, &run.key, id.as_bytes(), next_cas(cas, wants_cas));
                        reply::end(output);
                        minter.metrics.answered(1);
                    }
                    Err(refusal) => refuse(minter, refusal, output),
                }
            })
            .await;
    }

    /// One ID for each key, or nothing but the error.
    async fn get_all(&mut self, keys: &Keys<'_>, cas: bool, output: &mut Vec<u8>) -> Result<(), Refusal> {
        self.minter.service.count(&keys.clone().count().to_string())?;
        self.minter.called(1);
        let start = output.len();
        let mut keys = keys.clone().peekable();
        while let Some(key) = keys.next() {
            let mut count = 1;
            while keys.next_if_eq(&key).is_some() {
                count += 1;
            }
            let mut refused = None;
            let last_cas = &mut self.cas;
            self.minter
                .mint_each(key, count, |minted| match minted {
                    Ok(id) => reply::value(output, key, id.as_bytes(), next_cas(last_cas, cas)),
                    Err(refusal) => refused = Some(refusal.clone()),
                })
                .await;
            if let Some(refusal) = refused {
                output.truncate(start);
                return Err(refusal);
            }
        }
        reply::end(output);
        Ok(())
    }
}

/// The key of a request for one.
fn single<'a>(keys: &Keys<'a>) -> Option<&'a [u8]> {
    let mut keys = keys.clone();
    let first = keys.next()?;
    keys.next().is_none().then_some(first)
}

fn next_cas(last: &mut u64, wanted: bool) -> Option<u64> {
    *last += u64::from(wanted);
    wanted.then_some(*last)
}

fn refuse(minter: &Minter, refusal: &Refusal, output: &mut Vec<u8>) {
    minter.metrics.refused(refusal.status);
    match refusal.status.is_memcached_client_error() {
        true => reply::client_error(output, &refusal.text()),
        false => reply::server_error(output, &refusal.text()),
    }
}
