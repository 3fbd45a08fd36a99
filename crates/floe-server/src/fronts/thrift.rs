//! Twitter's Snowflake service of 2010 over Thrift: `get_id`, `get_worker_id`, `get_datacenter_id`, `get_timestamp`.
//!
//! Its calls name no name, so one name serves them all. Its interface declares no exceptions, so every error is a
//! TApplicationException. A oneway call is not answered, and nothing is minted for it.

use std::sync::Arc;
use std::time::Duration;

use floe::layout::Part;
use floe::{Definition, Minted};
use floe_wire::thrift::{
    Arguments, Decoder, Exception, Header, Kind, Limits as WireLimits, exception, is_useragent, reply_i64,
};
use tokio::time::Instant;

use crate::access::Caller;
use crate::metrics::WireMetrics;
use crate::service::{Service, Wire};
use crate::session::{Next, Served, Session, is_due};
use crate::status::{Refusal, Status};

/// How long a word from a client may be in an error.
const SHOWN: usize = 40;

/// One client's connection.
pub(crate) struct Thrift {
    decoder: Decoder,
    service: Arc<Service>,
    caller: Caller,
    metrics: WireMetrics,
}

impl Thrift {
    pub(crate) fn new(service: &Arc<Service>, caller: Caller) -> Self {
        Self {
            decoder: Decoder::new(WireLimits::default()),
            service: Arc::clone(service),
            caller,
            metrics: service.metrics().wire("thrift"),
        }
    }
}

impl Session for Thrift {
    async fn serve(&mut self, input: &[u8], output: &mut Vec<u8>, since: Instant) -> Served {
        let Self { decoder, service, caller, metrics } = self;
        let mut consumed = 0;
        let next = loop {
            if is_due(output, since) {
                break Next::Again;
            }
            match decoder.decode(input.get(consumed..).unwrap_or_default()) {
                Ok(None) => break Next::Read,
                Ok(Some((request, bytes))) => {
                    consumed += bytes;
                    let header = &request.header;
                    let answer = match (header.kind, &request.arguments) {
                        (_, Err(fault)) => Err(Failure::protocol(Exception::Protocol, fault.to_string())),
                        (Kind::Other(kind), _) => Err(Failure::protocol(
                            Exception::InvalidMessageType,
                            format!("a message of type {kind} is no call"),
                        )),
                        // Nobody would get the ID.
                        (Kind::Oneway, _) => Ok(0),
                        (Kind::Call, Ok(arguments)) => call(service, caller, header, arguments).await,
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
                }
                Err(error) => {
                    metrics.refused(Status::BadRequest);
                    exception(output, &error.header, Exception::Protocol, &error.to_string());
                    consumed = input.len();
                    break Next::Close;
                }
            }
        };
        Served { consumed, next }
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
    /// What has no row in the table: the message, not what it asks for, is wrong.
    fn protocol(exception: Exception, text: String) -> Self {
        Self { status: Status::BadRequest, exception, text }
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self { status: refusal.status, exception: refusal.status.thrift(), text: refusal.text() }
    }
}

async fn call(
    service: &Arc<Service>,
    caller: &Caller,
    header: &Header<'_>,
    arguments: &Arguments<'_>,
) -> Result<i64, Failure> {
    caller.check()?;
    match header.name {
        b"get_id" => {
            let useragent = arguments.string(1).unwrap_or_default();
            if !is_useragent(useragent) {
                service.metrics().useragents_refused.inc();
                return Err(Refusal::bad(format!(
                    "the user agent \"{}\" is none: a letter, then letters, digits and hyphens, such as `get_id(\"my-app2\")`",
                    shown(useragent)
                ))
                .into());
            }
            Ok(mint(service, caller).await?)
        }
        b"get_timestamp" => Ok(service.steady_time().get()),
        b"get_worker_id" => Ok(node(service, caller, "worker").await?),
        b"get_datacenter_id" => Ok(node(service, caller, "datacenter").await?),
        other => Err(Failure::protocol(
            Exception::UnknownMethod,
            format!(
                "there is no method `{}`: floe serves get_id, get_timestamp, get_worker_id and get_datacenter_id",
                shown(other)
            ),
        )),
    }
}

async fn mint(service: &Arc<Service>, caller: &Caller) -> Result<i64, Refusal> {
    let name = service.thrift_name();
    match service.mint(caller, Wire::Thrift, name, 1).await? {
        Minted::Numbers(mut ids) => {
            let id = ids
                .next()
                .ok_or_else(|| Refusal::new(Status::Stopped, "one ID was minted, and is not there"))?;
            Ok(id.get().cast_signed())
        }
        Minted::Wide(_) | Minted::Dated(_) | Minted::Texts(_) => Err(Refusal::new(
            Status::WrongKind,
            format!(
                "`{name}` mints IDs that no i64 holds: set default_names.thrift to another name, or ask at /v1/mint/{name}"
            ),
        )),
    }
}

/// A node field of the worker that mints: it is read off an ID, so it is the one that clients' IDs carry.
async fn node(service: &Arc<Service>, caller: &Caller, field: &str) -> Result<i64, Refusal> {
    let name = service.thrift_name();
    let missing = |layout: &dyn std::fmt::Display| {
        Refusal::new(Status::WrongKind, format!("the layout of `{name}`, {layout}, has no field `{field}`"))
    };
    let definition = service.definition(caller, Wire::Thrift, name).await?;
    let id = mint(service, caller).await?;
    let Definition::Snowflake { layout, .. } = definition else { return Err(missing(&definition)) };
    let parts = layout
        .split(u128::from(id.cast_unsigned()))
        .map_err(|error| Refusal::new(Status::Stopped, error.to_string()))?;
    let named = |part: &&Part| part.field.name() == field;
    let value = parts.fields.iter().find(named).ok_or_else(|| missing(&layout))?.value;
    i64::try_from(value).map_err(|_| missing(&layout))
}

fn shown(bytes: &[u8]) -> String {
    bytes.escape_ascii().take(SHOWN).map(char::from).collect()
}
