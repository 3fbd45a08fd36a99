//! Twitter's Snowflake service of 2010 over Thrift: `get_id`, `get_worker_id`, `get_datacenter_id`, `get_timestamp`.
//!
//! Its calls have no name in them, so one name serves them all. Its interface declares no exceptions, so every error is a
//! TApplicationException. A oneway call is not answered, and nothing is minted for it.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use floe::layout::Part;
use floe::{Definition, Minted};
use floe_wire::thrift::{
    Arguments, Decoder, Exception, Header, Kind, Limits as WireLimits, PROTOCOL, exception, is_useragent,
    reply_i64,
};
use futures_util::future::BoxFuture;
use tokio::time::Instant;

use super::{Backend, Conversation, Front};
use crate::access::Caller;
use crate::metrics::ProtocolMetrics;
use crate::service::Service;
use crate::service::call::{self, Call};
use crate::session::{Next, Session, Taken};
use crate::status::{Refusal, Status};

/// See the module.
pub(super) const FRONT: Front = Front {
    protocol: &PROTOCOL,
    serve,
    // Its errors name the call that they answer.
    turn_away: |_, _| Vec::new(),
    counters: &[(USERAGENTS_REFUSED, "Calls of Thrift's get_id that were refused for their user agent")],
};

const USERAGENTS_REFUSED: &str = "thrift_useragents_refused";

/// `get_id`. Snowflake names answer.
pub(super) static MINT: Call = Call {
    natural: call::SNOWFLAKE,
    answers: |kind| kind == floe::Kind::SNOWFLAKE,
    instead: "ask at /v1/mint/{name}",
    for_texts: call::NO_TEXTS,
};

/// How long a word from a client may be in an error.
const SHOWN: usize = 40;

/// One client's connection.
pub(crate) struct Thrift {
    decoder: Decoder,
    metrics: ProtocolMetrics,
    minter: Minter,
}

struct Minter {
    service: Arc<Service>,
    caller: Caller,
    /// The name that serves the calls, which name none.
    name: String,
}

impl Thrift {
    pub(crate) fn new(backend: &Backend, caller: Caller) -> Self {
        let service = Arc::clone(&backend.service);
        Self {
            decoder: Decoder::new(WireLimits::default()),
            metrics: service.metrics().protocol(PROTOCOL.word),
            minter: Minter { service, caller, name: backend.default_names.thrift.clone() },
        }
    }
}

fn serve(conversation: Conversation) -> BoxFuture<'static, io::Result<()>> {
    let session = Thrift::new(&conversation.backend, conversation.caller.clone());
    conversation.run(session)
}

impl Session for Thrift {
    async fn take(&mut self, input: &[u8], output: &mut Vec<u8>, _: Instant) -> Option<Taken> {
        let Self { decoder, metrics, .. } = self;
        let (request, bytes) = match decoder.decode(input) {
            Ok(request) => request?,
            Err(error) => {
                metrics.refused(Status::BadRequest);
                exception(output, &error.header, Exception::Protocol, &error.to_string());
                return Some((input.len(), Next::Close));
            }
        };
        let header = &request.header;
        let answer = match (header.kind, &request.arguments) {
            (_, Err(fault)) => Err(Failure::protocol(Exception::Protocol, fault.to_string())),
            (Kind::Other(kind), _) => Err(Failure::protocol(
                Exception::InvalidMessageType,
                format!("a message of type {kind} is not a call"),
            )),
            // Nobody would get the ID.
            (Kind::Oneway, _) => Ok(0),
            (Kind::Call, Ok(arguments)) => self.minter.call(header, arguments).await,
        };
        match answer {
            Ok(value) => {
                metrics.answered(1);
                reply_i64(output, header, value);
            }
            Err(failure) => {
                metrics.refused(failure.status);
                exception(output, header, failure.exception, &failure.text);
            }
        }
        Some((bytes, Next::Read))
    }

    fn took(&mut self, time: Duration) {
        self.metrics.took(time);
    }
}

/// What a TApplicationException says.
struct Failure {
    status: Status,
    exception: Exception,
    text: String,
}

impl Failure {
    /// An error without a row in the table: the message itself is wrong.
    fn protocol(exception: Exception, text: String) -> Self {
        Self { status: Status::BadRequest, exception, text }
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self { status: refusal.status, exception: refusal.status.thrift(), text: refusal.text() }
    }
}

impl Minter {
    async fn call(&self, header: &Header<'_>, arguments: &Arguments<'_>) -> Result<i64, Failure> {
        self.caller.check()?;
        match header.name {
            b"get_id" => {
                let useragent = arguments.string(1).unwrap_or_default();
                if !is_useragent(useragent) {
                    self.service.metrics().count(USERAGENTS_REFUSED);
                    return Err(Refusal::bad(format!(
                    "the user agent \"{}\" is not valid: write a letter, then letters, digits and hyphens, such as `get_id(\"my-app2\")`",
                    shown(useragent)
                ))
                .into());
                }
                Ok(self.mint().await?)
            }
            b"get_timestamp" => Ok(self.service.steady_time().get()),
            b"get_worker_id" => Ok(self.node("worker").await?),
            b"get_datacenter_id" => Ok(self.node("datacenter").await?),
            other => Err(Failure::protocol(
                Exception::UnknownMethod,
                format!(
                    "there is no method `{}`: floe serves get_id, get_timestamp, get_worker_id and get_datacenter_id",
                    shown(other)
                ),
            )),
        }
    }

    async fn mint(&self) -> Result<i64, Refusal> {
        let Self { service, caller, name } = self;
        match service.mint(caller, &MINT, name, 1).await? {
            Minted::Numbers(mut ids) => {
                let id = ids.next().ok_or_else(|| Refusal::stopped("one ID was minted, and is not there"))?;
                Ok(id.get().cast_signed())
            }
            Minted::Wide(_) | Minted::Dated(_) | Minted::Texts(_) => Err(Refusal::wrong_kind(format!(
                "`{name}` mints IDs that do not fit an i64: set default_names.thrift to another name, or ask at /v1/mint/{name}"
            ))),
        }
    }

    /// A node field of the minting worker. It is read from a minted ID, so it is the one in clients' IDs.
    async fn node(&self, field: &str) -> Result<i64, Refusal> {
        let Self { service, caller, name } = self;
        let missing = |layout: &dyn std::fmt::Display| {
            Refusal::wrong_kind(format!("the layout of `{name}`, {layout}, has no field `{field}`"))
        };
        let definition = service.definition(caller, &MINT, name).await?;
        let id = self.mint().await?;
        let Definition::Snowflake { layout, .. } = definition else { return Err(missing(&definition)) };
        let parts = layout
            .split(u128::from(id.cast_unsigned()))
            .map_err(|error| Refusal::stopped(error.to_string()))?;
        let named = |part: &&Part| part.field.name() == field;
        let value = parts.fields.iter().find(named).ok_or_else(|| missing(&layout))?.value;
        i64::try_from(value).map_err(|_| missing(&layout))
    }
}

fn shown(bytes: &[u8]) -> String {
    bytes.escape_ascii().take(SHOWN).map(char::from).collect()
}

/// The column of the table of errors.
impl Status {
    /// The type of a TApplicationException. Thrift has none for the rows: the message begins with the word for it.
    pub(crate) const fn thrift(self) -> Exception {
        match self {
            Self::UnknownName
            | Self::BadRequest
            | Self::WrongKind
            | Self::Unauthenticated
            | Self::WrongToken
            | Self::Forbidden
            | Self::Busy
            | Self::Unavailable
            | Self::Exhausted
            | Self::Stopped => Exception::Internal,
        }
    }
}
