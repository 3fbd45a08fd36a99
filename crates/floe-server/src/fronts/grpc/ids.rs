//! floe's own calls: `floe.v1.Ids`.

use std::pin::Pin;
use std::sync::Arc;

use floe::{Definition, Minted, Overflow};
use futures_util::Stream;
use futures_util::stream::try_unfold;
use tonic::{Request, Response, Status};

use super::proto::floe::{
    Field, InspectRequest, InspectResponse, ListNamesRequest, ListNamesResponse, MintRequest, MintResponse,
    MintStreamRequest, MintStreamResponse, NameDefinition, NameReport, Reading,
};
use super::{caller, refused};
use crate::access::Caller;
use crate::clients::{Client, Full, Held, HeldMessage};
use crate::config::Limits;
use crate::service::call::NATIVE;
use crate::service::{self, Service};
use crate::status::Refusal;

/// The most IDs of one stream. For more, a client begins another stream.
pub(crate) const MAX_STREAM: u64 = 1 << 32;

/// How many IDs one message of a stream holds, and are minted at a time.
pub(crate) const CHUNK: u64 = 8_192;

/// What HTTP/2 buffers of a stream before its client reads: the send window, and the messages at its end.
const AHEAD: usize = 128 << 10;

/// A shorter message is covered by the memory that every request holds.
const SHORT: usize = 1 << 10;

/// The most that one page lists.
const MAX_PAGE: u32 = 1000;
const DEFAULT_PAGE: u32 = 100;

/// See the module.
pub(super) struct Ids {
    service: Arc<Service>,
    max_batch: u64,
}

impl Ids {
    pub(super) fn new(service: &Arc<Service>, limits: &Limits) -> Self {
        Self { service: Arc::clone(service), max_batch: limits.max_batch }
    }
}

/// Whether the IDs of a name are written as text, since not each of them is a number of at most 63 bits.
pub(super) fn as_text(definition: &Definition) -> bool {
    match definition {
        Definition::Snowflake { layout, .. } => layout.total_bits() > 63,
        Definition::Dated(shape) => !shape.prefix().is_empty() || shape.overflow() == Overflow::Widen,
        definition => definition.is_text(),
    }
}

/// IDs as a message holds them: numbers, or texts.
pub(super) fn written(minted: Minted, as_text: bool) -> (Vec<u64>, Vec<String>) {
    match minted {
        Minted::Numbers(ids) => (ids.map(floe::Id::get).collect(), Vec::new()),
        Minted::Wide(ids) => (Vec::new(), ids.map(|id| id.to_string()).collect()),
        Minted::Dated(ids) if as_text => (Vec::new(), ids.map(|id| id.to_string()).collect()),
        // A counter that keeps to its digits has a number of at most 63 bits: eight of the date and ten at most.
        Minted::Dated(ids) => (ids.filter_map(|id| id.number()).map(floe::Id::get).collect(), Vec::new()),
        Minted::Texts(ids) => (Vec::new(), ids.map(String::from).collect()),
    }
}

/// The memory of a number in a message until its client has it: as a number, and as bytes in a buffer that grows by doubling.
const NUMBER: usize = size_of::<u64>() + 3 * 10;

/// The same for a text. Most are shorter.
const TEXT: usize = size_of::<String>() + 4 * 40;

/// Holds the memory of a message with this many IDs before they are minted, so that nothing is minted for a client
/// that must be refused.
///
/// # Errors
/// A refusal if there is no memory for them.
pub(super) async fn hold(
    client: Option<&Arc<Client>>,
    count: u64,
    as_text: bool,
) -> Result<Option<Held>, Status> {
    let bytes =
        usize::try_from(count).unwrap_or(usize::MAX).saturating_mul(if as_text { TEXT } else { NUMBER });
    hold_bytes(client, bytes).await
}

async fn hold_bytes(client: Option<&Arc<Client>>, bytes: usize) -> Result<Option<Held>, Status> {
    match client.filter(|_| bytes > SHORT) {
        None => Ok(None),
        Some(client) => client.hold(bytes).await.map(Some).map_err(|full: Full| refused(full.into())),
    }
}

/// The client of a call, if the gate of HTTP has set it.
pub(super) fn client<T>(request: &Request<T>) -> Option<Arc<Client>> {
    request.extensions().get().map(Arc::clone)
}

/// A message that is held until the client has it, which the gate of HTTP sees to.
pub(super) fn holding<T>(message: T, held: Option<Held>) -> Response<T> {
    let mut response = Response::new(message);
    if let Some(held) = held {
        response.extensions_mut().insert(HeldMessage(Arc::new(held)));
    }
    response
}

/// The same for a message with a length that is known only once it is made.
async fn holding_all<T: prost::Message>(
    client: Option<&Arc<Client>>,
    message: T,
) -> Result<Response<T>, Status> {
    let held = hold_bytes(client, 4 * message.encoded_len()).await?;
    Ok(holding(message, held))
}

fn described(definition: &Definition) -> NameDefinition {
    NameDefinition {
        kind: definition.kind_name().to_owned(),
        definition: definition.to_string(),
        layout: match definition.unformed() {
            Definition::Snowflake { layout, .. } => Some(layout.to_string()),
            _ => None,
        },
    }
}

/// What is left of a stream, and how to mint it.
struct Rest {
    service: Arc<Service>,
    client: Option<Arc<Client>>,
    caller: Caller,
    name: String,
    chunk: u64,
    left: u64,
    as_text: bool,
    first: Option<MintStreamResponse>,
    /// For the message that the client is to take.
    held: Option<Held>,
}

impl Rest {
    /// The next message. Each is a mint of its own, made when the client has taken the one before.
    async fn next(&mut self) -> Result<Option<MintStreamResponse>, Status> {
        if let Some(first) = self.first.take() {
            return Ok(Some(first));
        }
        if self.left == 0 {
            return Ok(None);
        }
        self.mint(None).await.map(Some)
    }

    async fn mint(&mut self, definition: Option<NameDefinition>) -> Result<MintStreamResponse, Status> {
        let n = self.left.min(self.chunk);
        // The message before has been taken.
        self.held = None;
        self.held = hold(self.client.as_ref(), n, self.as_text).await?;
        let minted = self.service.mint(&self.caller, &NATIVE, &self.name, n).await.map_err(refused)?;
        self.left -= n;
        let (ids, texts) = written(minted, self.as_text);
        Ok(MintStreamResponse { definition, ids, texts })
    }
}

/// The messages of a stream.
type Messages = Pin<Box<dyn Stream<Item = Result<MintStreamResponse, Status>> + Send>>;

impl Ids {
    pub(super) async fn mint(
        self: Arc<Self>,
        request: Request<MintRequest>,
    ) -> Result<Response<MintResponse>, Status> {
        let (caller, client) = (caller(&request), client(&request));
        let MintRequest { name, count } = request.into_inner();
        let definition = self.service.definition(&caller, &NATIVE, &name).await.map_err(refused)?;
        let count = count.unwrap_or(1);
        // A message is held whole until its client takes it, and each text in it by itself.
        if definition.is_text() && count > CHUNK {
            return Err(refused(Refusal::bad(format!(
                "the IDs of `{name}` are texts, and one message holds {CHUNK} of them: ask MintStream for more"
            ))));
        }
        let as_text = as_text(&definition);
        let counted = count.min(self.max_batch);
        let held = hold(client.as_ref(), counted, as_text).await?;
        let minted = self.service.mint(&caller, &NATIVE, &name, count).await.map_err(refused)?;
        let (ids, texts) = written(minted, as_text);
        Ok(holding(MintResponse { ids, texts }, held))
    }

    pub(super) async fn mint_stream(
        self: Arc<Self>,
        request: Request<MintStreamRequest>,
    ) -> Result<Response<Messages>, Status> {
        let (caller, client) = (caller(&request), client(&request));
        let MintStreamRequest { name, count } = request.into_inner();
        if !(1..=MAX_STREAM).contains(&count) {
            return Err(refused(Refusal::bad(format!(
                "count = {count} is outside 1 to {MAX_STREAM}: ask for at most that many IDs in one stream, and begin another one for more"
            ))));
        }
        let definition = self.service.definition(&caller, &NATIVE, &name).await.map_err(refused)?;
        let chunk = self.service.max_at_once(&name).min(CHUNK).min(self.max_batch);
        let as_text = as_text(&definition);
        let mut rest = Rest {
            service: Arc::clone(&self.service),
            client,
            caller,
            name,
            chunk,
            left: count,
            as_text,
            first: None,
            held: None,
        };
        let ahead = rest.client.clone();
        // If the call is refused, it is refused before the stream begins.
        rest.first = Some(rest.mint(Some(described(&definition))).await?);
        let messages = try_unfold(rest, |mut rest| async move {
            let message = rest.next().await?;
            Ok(message.map(|message| (message, rest)))
        });
        // In addition to its messages, what HTTP/2 buffers of them.
        let held = hold_bytes(ahead.as_ref(), AHEAD).await?;
        let messages: Messages = Box::pin(messages);
        Ok(holding(messages, held))
    }

    pub(super) async fn inspect(
        self: Arc<Self>,
        request: Request<InspectRequest>,
    ) -> Result<Response<InspectResponse>, Status> {
        let (caller, client) = (caller(&request), client(&request));
        let InspectRequest { id, name, layout, after } = request.into_inner();
        let found = self.service.blocking(move |service| {
            service.inspect(&caller, &id, name.as_deref(), layout.as_deref(), after.as_deref())
        });
        let found = found.await.map_err(refused)?;
        let readings = found.readings.into_iter().map(reading).collect();
        holding_all(client.as_ref(), InspectResponse { id: found.id, readings, next: found.next }).await
    }

    pub(super) async fn list_names(
        self: Arc<Self>,
        request: Request<ListNamesRequest>,
    ) -> Result<Response<ListNamesResponse>, Status> {
        let (caller, client) = (caller(&request), client(&request));
        let ListNamesRequest { after, limit } = request.into_inner();
        let limit = limit.unwrap_or(DEFAULT_PAGE);
        let page =
            usize::try_from(limit).ok().filter(|_| (1..=MAX_PAGE).contains(&limit)).ok_or_else(|| {
                refused(Refusal::bad(format!(
                    "limit = {limit} is outside 1 to {MAX_PAGE}: ask for that many, and page on with `after`"
                )))
            })?;
        let found = self.service.blocking(move |service| service.names(&caller, &after, page));
        let found = found.await.map_err(refused)?;
        let names = found.names.into_iter().map(report).collect();
        let (patterns, next, ledger_trouble) = (found.patterns, found.next, found.ledger_trouble);
        holding_all(client.as_ref(), ListNamesResponse { names, patterns, next, ledger_trouble }).await
    }
}

fn reading(read: service::Reading) -> Reading {
    let field = |field: service::Field| Field {
        name: field.name,
        bits: field.bits,
        shift: field.shift,
        value: field.value,
    };
    Reading {
        name: read.name,
        preset: read.preset,
        kind: read.kind,
        form: read.form,
        layout: read.layout,
        time: read.time,
        time_ms: read.time_ms,
        worker: read.worker,
        sequence: read.sequence,
        position: read.position,
        fields: read.fields.into_iter().map(field).collect(),
    }
}

fn report(name: service::NameReport) -> NameReport {
    NameReport {
        name: name.name,
        definition: Some(NameDefinition {
            kind: name.kind,
            definition: name.definition,
            layout: name.layout,
        }),
        form: name.form,
        horizon: name.horizon,
        minted: name.minted,
        state: name.state.to_owned(),
        trouble: name.trouble,
        window_left_ms: name.window_left_ms,
        segment_left: name.segment_left,
        ahead_ms: name.ahead_ms,
    }
}
