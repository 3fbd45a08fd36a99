//! Redis' protocol: `INCR` and `INCRBY` on names that count, `MINT` on every kind, and the other commands that clients send.
//!
//! `INCR`s of one name that stand next to each other in a pipeline are minted in one step. What is queued between `MULTI`
//! and `EXEC` runs as a batch, and is not atomic: every number is handed out once anyway.

use std::fmt::Write;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use floe::{Definition, Minted};
use floe_wire::resp::{Decoder, Encoder, Limits as WireLimits, PROTOCOL, Request, Version};
use futures_util::future::BoxFuture;
use tokio::time::Instant;

use super::{Conversation, Front, TurnedAway};
use crate::access::Caller;
use crate::config::Limits;
use crate::metrics::ProtocolMetrics;
use crate::service::call::{self, Call, NATIVE};
use crate::service::{OpenName, Service};
use crate::session::{FULL, KEPT, Next, Session, Taken};
use crate::status::{Refusal, Status};

mod about;
mod first;

#[cfg(test)]
pub(super) use first::SET_FIRST;

/// The most commands between `MULTI` and `EXEC`.
const MOST_QUEUED: usize = 10_000;

/// How long a word from a client may be in an error.
const SHOWN: usize = 40;

/// See the module.
pub(super) const FRONT: Front = Front { protocol: &PROTOCOL, serve, turn_away, counters: &[] };

/// `INCR`. Kinds with numbers of 63 bits answer.
pub(super) static INCR: Call =
    Call { natural: Definition::Counter, answers: |_| true, instead: "", for_texts: call::NO_TEXTS };

/// `INCRBY` by more than one. Kinds that count answer.
pub(super) static INCRBY: Call = Call {
    natural: Definition::Counter,
    answers: floe::Kind::is_counted,
    instead: "its IDs do not follow one another: use INCR for one, MINT name n for several",
    for_texts: call::NO_TEXTS,
};

/// One client's connection.
pub(crate) struct Resp {
    decoder: Decoder,
    state: State,
}

struct State {
    service: Arc<Service>,
    metrics: ProtocolMetrics,
    /// The caller at the start of the connection. `RESET` restores it.
    connected: Caller,
    caller: Caller,
    id: u64,
    /// Whether memcached's clients come to this port too.
    shared: bool,
    /// Nothing has been asked yet.
    fresh: bool,
    most_clients: usize,
    version: Version,
    name: String,
    request_bytes: usize,
    /// `INCR`s of one name that nothing has been minted for yet.
    run: Run,
    /// The name that the client counted under last: most clients stay with one.
    recent: Option<Arc<OpenName>>,
    /// A batch that is being written.
    writing: Option<Minted>,
    queue: Option<Queue>,
    /// What `EXEC` runs, before anything else that the client sent, and how many bytes of that it has run.
    replay: Vec<u8>,
    replayed: usize,
}

#[derive(Default)]
struct Run {
    name: Vec<u8>,
    count: u64,
}

/// The commands since `MULTI`.
#[derive(Default)]
struct Queue {
    commands: Vec<u8>,
    count: usize,
    /// A command was refused: `EXEC` refuses all of them.
    broken: bool,
}

/// The outcome of a command.
type Answer = Result<(), Refused>;

/// Why a command came to nothing, and the word that clients tell it by.
struct Refused {
    word: &'static str,
    refusal: Refusal,
}

impl From<Refusal> for Refused {
    fn from(refusal: Refusal) -> Self {
        Self { word: refusal.status.resp(), refusal }
    }
}

impl Resp {
    /// On a port that is for Redis' clients alone, or is `shared` with memcached's.
    pub(crate) fn new(
        service: &Arc<Service>,
        caller: Caller,
        limits: &Limits,
        id: u64,
        shared: bool,
    ) -> Self {
        let request_bytes = limits.request_bytes();
        Self {
            decoder: Decoder::new(WireLimits { request_bytes, arguments: limits.header_count }),
            state: State {
                service: Arc::clone(service),
                metrics: service.metrics().protocol(PROTOCOL.word),
                connected: caller.clone(),
                caller,
                id,
                shared,
                fresh: true,
                most_clients: limits.connections,
                version: Version::Two,
                name: String::new(),
                request_bytes,
                run: Run::default(),
                recent: None,
                writing: None,
                queue: None,
                replay: Vec::new(),
                replayed: 0,
            },
        }
    }
}

fn serve(conversation: Conversation) -> BoxFuture<'static, io::Result<()>> {
    let Conversation { backend, caller, id, shared, .. } = &conversation;
    let session = Resp::new(&backend.service, caller.clone(), &backend.limits, *id, *shared);
    conversation.run(session)
}

fn turn_away(why: &TurnedAway<'_>, _: &str) -> Vec<u8> {
    match why {
        TurnedAway::Busy(why) => format!("-TRYAGAIN {why}\r\n").into_bytes(),
        TurnedAway::NoTls(_) => b"-ERR this port takes TLS: connect with it\r\n".to_vec(),
    }
}

impl Session for Resp {
    async fn take(&mut self, input: &[u8], output: &mut Vec<u8>, _: Instant) -> Option<Taken> {
        let Self { decoder, state } = self;
        if state.writing.is_some() {
            // Many IDs do not wait in memory until the next command is answered too.
            if !state.write_on(output) || output.len() >= KEPT {
                return Some((0, Next::Again));
            }
        }
        let replay = std::mem::take(&mut state.replay);
        if replay.is_empty() {
            return state.decode(decoder, input, output).await;
        }
        let rest = replay.get(state.replayed..).unwrap_or_default();
        let (bytes, next) = state.decode(decoder, rest, output).await?;
        state.replayed += bytes;
        if state.replayed < replay.len() {
            state.replay = replay;
        }
        Some((0, next))
    }

    async fn flush(&mut self, output: &mut Vec<u8>) -> bool {
        self.state.flush(output).await;
        true
    }

    fn keeps(&self) -> usize {
        let State { queue, replay, name, run, .. } = &self.state;
        let queued = queue.as_ref().map_or(0, |queue| queue.commands.capacity());
        queued + replay.capacity() + name.capacity() + run.name.capacity()
    }

    fn busy(&mut self, refusal: Refusal, output: &mut Vec<u8>) {
        self.state.refuse(&refusal.into(), output);
    }

    fn took(&mut self, time: Duration) {
        self.state.metrics.took(time);
    }
}

impl State {
    /// Takes the command at the front of `input`, which is the client's or what `EXEC` runs.
    async fn decode(&mut self, decoder: &mut Decoder, input: &[u8], output: &mut Vec<u8>) -> Option<Taken> {
        match decoder.decode(input) {
            Ok(request) => {
                let (request, bytes) = request?;
                let (raw, rest) = input.split_at(bytes.min(input.len()));
                let next = self.take(&request, raw, output).await;
                let again = if incremented(&request).is_some() { self.gather_again(raw, rest) } else { 0 };
                Some((bytes + again, next))
            }
            Err(error) => {
                self.flush(output).await;
                self.metrics.refused(Status::BadRequest);
                error.encode(output);
                Some((input.len(), Next::Close))
            }
        }
    }

    /// Gathers what repeats the `INCR` that was just gathered, `raw`, without reading each anew: most pipelines consist of
    /// one command. Returns how many bytes of `rest` that is.
    fn gather_again(&mut self, raw: &[u8], rest: &[u8]) -> usize {
        // What is queued is not gathered.
        let most = if self.run.count == 0 { 0 } else { self.service.max_batch() - self.run.count };
        let again = (0..most).zip(rest.chunks_exact(raw.len())).take_while(|(_, next)| *next == raw);
        let (count, bytes) = again.fold((0, 0), |(count, bytes), (_, next)| (count + 1, bytes + next.len()));
        self.run.count += count;
        bytes
    }

    /// Takes one command; `Read` where the next one may follow.
    async fn take(&mut self, request: &Request<'_>, raw: &[u8], output: &mut Vec<u8>) -> Next {
        let Some(command) = request.command() else { return Next::Read };
        if [&b"POST"[..], b"Host:"].iter().any(|word| command.eq_ignore_ascii_case(word)) {
            // A browser, sent by a web page to a port of this protocol. What follows is not a command.
            self.flush(output).await;
            self.refuse(&Refusal::bad("this is Redis' protocol, and no HTTP").into(), output);
            return Next::Close;
        }
        let line = !raw.starts_with(b"*");
        let fresh = std::mem::replace(&mut self.fresh, false) && self.shared && line;
        #[cfg(feature = "protocol-memcached")]
        if fresh && is_memcacheds(command, request) {
            // Its first word alone does not distinguish it from a line that a person types to Redis.
            self.metrics.refused(Status::BadRequest);
            floe_wire::memcached::text::reply::client_error(
                output,
                &Refusal::bad(super::memcached::SERVED).text(),
            );
            return Next::Close;
        }
        if let Some(name) = incremented(request).filter(|_| self.queue.is_none()) {
            if self.run.count > 0 && (self.run.name != name || self.run.count >= self.service.max_batch()) {
                self.flush(output).await;
            }
            if self.run.count == 0 {
                self.run.name.clear();
                self.run.name.extend_from_slice(name);
            }
            self.run.count += 1;
            return Next::Read;
        }
        self.flush(output).await;
        let word = command.to_ascii_uppercase();
        if self.queue.is_some() && !matches!(&*word, b"EXEC" | b"DISCARD" | b"RESET" | b"QUIT") {
            self.enqueue(&word, raw, output);
            return Next::Read;
        }
        match self.run_command(&word, request, output).await {
            Ok(next) => {
                self.metrics.answered(1);
                next
            }
            Err(refused) => {
                self.refuse(&refused, output);
                Next::Read
            }
        }
    }

    fn refuse(&self, refused: &Refused, output: &mut Vec<u8>) {
        self.metrics.refused(refused.refusal.status);
        let refusal = refused.refusal.clone().told(self.caller.sees_inside());
        Encoder::new(output, self.version).error(refused.word, &refusal.detail);
    }

    /// Mints for the `INCR`s that have been gathered.
    async fn flush(&mut self, output: &mut Vec<u8>) {
        let mut left = std::mem::take(&mut self.run.count);
        let mut at_once = left;
        while left > 0 {
            let step = at_once.min(left);
            match self.mint_numbers(&INCR, step).await {
                Ok(numbers) => {
                    let mut encoder = Encoder::new(output, self.version);
                    let mut last = None;
                    for number in numbers {
                        encoder.integer(number);
                        last = Some(number);
                    }
                    self.metrics.answered(step);
                    self.note(last);
                    left -= step;
                }
                // Too many for one step may still be possible as single calls.
                Err(refusal) if step > 1 && refusal.status.may_be_of_the_count() => at_once = 1,
                Err(refusal) => {
                    let refused = refusal.into();
                    (0..left).for_each(|_| self.refuse(&refused, output));
                    left = 0;
                }
            }
        }
    }

    /// Numbers under the name of the run.
    async fn mint_numbers(
        &mut self,
        call: &'static Call,
        count: u64,
    ) -> Result<impl Iterator<Item = i64> + use<>, Refusal> {
        let Self { service, caller, run, recent, .. } = self;
        let name = text(&run.name)?;
        let minted = service.mint_again(caller, recent, call, name, count).await?;
        numbers(name, minted)
    }

    /// Remembers the last number under the name of the run, for `GET`.
    fn note(&self, last: Option<i64>) {
        if let (Some(open), Some(last)) = (&self.recent, last) {
            open.note_last(last);
        }
    }

    fn enqueue(&mut self, word: &[u8], raw: &[u8], output: &mut Vec<u8>) {
        let request_bytes = self.request_bytes;
        let Some(queue) = &mut self.queue else { return };
        let refusal = match word {
            b"MULTI" => Some(Refusal::bad("MULTI calls can not be nested")),
            _ if !about::KNOWN.iter().any(|known| known.as_bytes() == word) => Some(unknown(word)),
            _ if queue.count >= MOST_QUEUED || queue.commands.len() + raw.len() > request_bytes => {
                Some(Refusal::bad(format!(
                    "more than {MOST_QUEUED} commands or {request_bytes} bytes between MULTI and EXEC: send them in smaller batches"
                )))
            }
            _ => None,
        };
        match refusal {
            None => {
                queue.commands.extend_from_slice(raw);
                queue.count += 1;
                Encoder::new(output, self.version).simple("QUEUED");
            }
            Some(refusal) => {
                queue.broken = true;
                self.refuse(&refusal.into(), output);
            }
        }
    }

    /// Writes on what is being written; whether all of it is.
    fn write_on(&mut self, output: &mut Vec<u8>) -> bool {
        let Some(minted) = &mut self.writing else { return true };
        let mut encoder = Encoder::new(output, self.version);
        let mut shown = String::new();
        // A chunk at a time: the encoder's own length is not at hand.
        for _ in 0..FULL / 32 {
            let written = match minted {
                Minted::Numbers(ids) => ids.next().map(|id| encoder.integer(id.get().cast_signed())),
                Minted::Wide(ids) => ids.next().map(|id| bulk(&mut encoder, &mut shown, &id)),
                Minted::Dated(ids) => {
                    ids.next().map(|id| match id.number().filter(|_| id.prefix().is_empty()) {
                        Some(number) => encoder.integer(number.get().cast_signed()),
                        None => bulk(&mut encoder, &mut shown, &id),
                    })
                }
                Minted::Texts(ids) => ids.next_text().map(|id| encoder.bulk(id.as_bytes())),
            };
            if written.is_none() {
                self.writing = None;
                return true;
            }
        }
        false
    }

    async fn run_command(
        &mut self,
        word: &[u8],
        request: &Request<'_>,
        output: &mut Vec<u8>,
    ) -> Result<Next, Refused> {
        // As in Redis, a client must log in first.
        if !matches!(word, b"AUTH" | b"HELLO" | b"RESET" | b"QUIT") {
            self.caller.check()?;
        }
        match word {
            b"INCR" => {
                // With one argument it has been gathered before.
                arguments(word, request, 1..=1)?;
            }
            b"INCRBY" => {
                arguments(word, request, 2..=2)?;
                self.increment_by(request, output).await?;
            }
            b"DECR" | b"DECRBY" => {
                return Err(Refusal::bad(
                    "a counter never goes back: IDs would repeat. floe mints upwards only, with INCR, INCRBY and MINT",
                )
                .into());
            }
            b"MINT" => {
                arguments(word, request, 1..=2)?;
                self.mint(request, output).await?;
            }
            b"EXEC" => {
                arguments(word, request, 0..=0)?;
                let Some(queue) = self.queue.take() else {
                    return Err(Refusal::bad("EXEC without MULTI").into());
                };
                if queue.broken {
                    self.metrics.refused(Status::BadRequest);
                    Encoder::new(output, self.version)
                        .error("EXECABORT", "Transaction discarded because of previous errors.");
                    return Ok(Next::Read);
                }
                Encoder::new(output, self.version).array(queue.count);
                (self.replay, self.replayed) = (queue.commands, 0);
            }
            b"MULTI" => {
                arguments(word, request, 0..=0)?;
                self.queue = Some(Queue::default());
                Encoder::new(output, self.version).simple("OK");
            }
            b"DISCARD" => {
                arguments(word, request, 0..=0)?;
                self.queue.take().ok_or_else(|| Refusal::bad("DISCARD without MULTI"))?;
                Encoder::new(output, self.version).simple("OK");
            }
            b"QUIT" => {
                Encoder::new(output, self.version).simple("OK");
                return Ok(Next::Close);
            }
            b"RESET" => {
                (self.queue, self.version, self.name) = (None, Version::Two, String::new());
                self.caller = self.connected.clone();
                Encoder::new(output, self.version).simple("RESET");
            }
            b"GET" => {
                arguments(word, request, 1..=1)?;
                let last = self.service.last(&self.caller, argument_text(request, 1)?).await?;
                let mut encoder = Encoder::new(output, self.version);
                match last {
                    Some(last) => encoder.bulk_number(last),
                    None => encoder.null(),
                }
            }
            b"SET" | b"SETNX" => self.set_first(word, request, output).await?,
            b"EXISTS" => {
                arguments(word, request, 1..=usize::MAX)?;
                let mut count = 0;
                for name in request.iter().skip(1) {
                    count += i64::from(self.service.exists(&self.caller, text(name)?).await?);
                }
                Encoder::new(output, self.version).integer(count);
            }
            b"INSPECT" => {
                arguments(word, request, 1..=3)?;
                self.inspect(request, output).await?;
            }
            _ => about::answer(self, word, request, output)?,
        }
        Ok(Next::Read)
    }

    async fn increment_by(&mut self, request: &Request<'_>, output: &mut Vec<u8>) -> Answer {
        let by = argument_text(request, 2)?;
        let count = match by.parse::<i64>() {
            Ok(count) if count >= 1 => self.service.count(by)?,
            Ok(_) => {
                return Err(Refusal::bad(format!(
                    "INCRBY {by} would not mint: floe mints upwards only, by 1 to {}",
                    self.service.max_batch()
                ))
                .into());
            }
            Err(_) => return Err(Refusal::bad("value is not an integer or out of range").into()),
        };
        self.run.name = request.get(1).unwrap_or_default().to_vec();
        let last = self.mint_numbers(&INCRBY, count).await?.last();
        self.note(last);
        Encoder::new(output, self.version).integer(last.unwrap_or_default());
        Ok(())
    }

    async fn mint(&mut self, request: &Request<'_>, output: &mut Vec<u8>) -> Answer {
        let name = argument_text(request, 1)?;
        let many = request.get(2).map(text).transpose()?;
        let count = many.map_or(Ok(1), |many| self.service.count(many))?;
        let Self { service, caller, recent, .. } = self;
        let minted = service.mint_again(caller, recent, &NATIVE, name, count).await?;
        if many.is_some() {
            Encoder::new(output, self.version).array(usize::try_from(count).unwrap_or(usize::MAX));
        }
        self.writing = Some(minted);
        Ok(())
    }

    async fn inspect(&self, request: &Request<'_>, output: &mut Vec<u8>) -> Answer {
        let id = argument_text(request, 1)?.to_owned();
        let word = request.get(2).map(text).transpose()?.map(str::to_owned);
        let (name, after) = match (word, request.get(3)) {
            (Some(word), Some(place)) if word.eq_ignore_ascii_case("AFTER") => {
                (None, Some(text(place)?.to_owned()))
            }
            (Some(_), Some(_)) => {
                return Err(Refusal::bad(
                    "INSPECT takes an id, then a name or nothing, or AFTER and the `next` of the last answer",
                )
                .into());
            }
            (word, _) => (word, None),
        };
        let caller = self.caller.clone();
        let found = self.service.within_wait(move |service| {
            service.inspect(&caller, &id, name.as_deref(), None, after.as_deref())
        });
        let json = serde_json::to_value(found.await?).unwrap_or_default();
        about::write_json(&mut Encoder::new(output, self.version), &json);
        Ok(())
    }
}

/// The name of an `INCR`, or of an `INCRBY` by one, which some clients send for it.
fn incremented<'a>(request: &Request<'a>) -> Option<&'a [u8]> {
    let command = request.command()?;
    let plain = command.eq_ignore_ascii_case(b"INCR") && request.len() == 2;
    let by_one =
        command.eq_ignore_ascii_case(b"INCRBY") && request.len() == 3 && request.get(2) == Some(b"1");
    request.get(1).filter(|_| plain || by_one)
}

/// The minted IDs, as Redis' integers.
fn numbers(name: &str, minted: Minted) -> Result<impl Iterator<Item = i64> + use<>, Refusal> {
    let too_wide = |what: &str| {
        Refusal::wrong_kind(format!("`{name}` mints {what}, which no integer of Redis holds: use MINT"))
    };
    let mut numbers = Vec::new();
    let single = match minted {
        Minted::Wide(_) => return Err(too_wide("IDs of more than 63 bits")),
        Minted::Texts(_) => return Err(too_wide("texts")),
        Minted::Numbers(ids) => Some(ids),
        Minted::Dated(ids) => {
            for id in ids {
                let number = id.number().ok_or_else(|| {
                    Refusal::exhausted(format!(
                        "{id} is past 63 bits as a number: use MINT, or another name with fewer digits"
                    ))
                })?;
                numbers.push(number.get().cast_signed());
            }
            None
        }
    };
    Ok(single.into_iter().flatten().map(|id| id.get().cast_signed()).chain(numbers))
}

fn bulk(encoder: &mut Encoder<'_>, shown: &mut String, id: &dyn std::fmt::Display) {
    shown.clear();
    // Writing to memory does not fail.
    let _ = write!(shown, "{id}");
    encoder.bulk(shown.as_bytes());
}

/// Refuses a command with another number of arguments.
fn arguments(
    word: &[u8],
    request: &Request<'_>,
    allowed: std::ops::RangeInclusive<usize>,
) -> Result<(), Refusal> {
    match allowed.contains(&(request.len() - 1)) {
        true => Ok(()),
        false => Err(Refusal::bad(format!(
            "wrong number of arguments for '{}' command",
            String::from_utf8_lossy(word).to_lowercase()
        ))),
    }
}

fn argument_text<'a>(request: &Request<'a>, index: usize) -> Result<&'a str, Refusal> {
    text(request.get(index).unwrap_or_default())
}

fn text(bytes: &[u8]) -> Result<&str, Refusal> {
    std::str::from_utf8(bytes).map_err(|_| Refusal::bad("a name or a number has to be UTF-8"))
}

/// A line that memcached's clients send: `incr key value` or `decr key value`, with `noreply` or without. Redis' commands of
/// that name take a key alone.
fn is_memcacheds(command: &[u8], request: &Request<'_>) -> bool {
    let counts = command.eq_ignore_ascii_case(b"INCR") || command.eq_ignore_ascii_case(b"DECR");
    counts && matches!((request.len(), request.get(3)), (3, _) | (4, Some(b"noreply")))
}

/// Commands that would have a name begin again.
const BEGIN_AGAIN: [&str; 9] =
    ["DEL", "UNLINK", "GETDEL", "FLUSHDB", "FLUSHALL", "RENAME", "RENAMENX", "RESTORE", "MOVE"];

/// Commands that would store what a client chose.
const STORE: [&str; 11] = [
    "APPEND",
    "COPY",
    "GETEX",
    "GETSET",
    "INCRBYFLOAT",
    "MSET",
    "MSETNX",
    "PSETEX",
    "SETBIT",
    "SETEX",
    "SETRANGE",
];

/// Commands that would run a script. They are not refused with `NOSCRIPT`: that asks the client to send the script, which
/// would be refused as well.
const SCRIPTS: [&str; 8] =
    ["EVAL", "EVALSHA", "EVALSHA_RO", "EVAL_RO", "FCALL", "FCALL_RO", "FUNCTION", "SCRIPT"];

fn unknown(word: &[u8]) -> Refusal {
    let shown: String = String::from_utf8_lossy(word).chars().take(SHOWN).collect();
    let is = |words: &[&str]| words.iter().any(|known| known.as_bytes() == word);
    Refusal::bad(if is(&BEGIN_AGAIN) {
        format!(
            "{shown} is refused: a name that began again would repeat its IDs. Use another name, such as one with the date in it, or a name of the kind `dated`"
        )
    } else if is(&STORE) {
        format!(
            "{shown} is refused: floe mints numbers and stores none that a client chose. SET name n NX sets the number after which a new name begins"
        )
    } else if is(&SCRIPTS) {
        format!(
            "{shown} is refused: floe runs no scripts. INCR, INCRBY and MINT mint in one step, and a name of the kind `dated` restarts its count each day"
        )
    } else {
        format!(
            "unknown command '{shown}': floe mints with INCR, INCRBY and MINT name [n], and knows INSPECT and GET"
        )
    })
}

/// The column of the table of errors.
impl Status {
    /// The word that Redis' clients tell errors apart by.
    pub(crate) const fn resp(self) -> &'static str {
        match self {
            Self::UnknownName => "NOKEY",
            Self::BadRequest | Self::Stopped => "ERR",
            Self::WrongKind => "WRONGTYPE",
            Self::Unauthenticated => "NOAUTH",
            Self::WrongToken => "WRONGPASS",
            Self::Forbidden => "NOPERM",
            Self::Busy | Self::Unavailable => "TRYAGAIN",
            Self::Exhausted => "OVERFLOW",
        }
    }
}
