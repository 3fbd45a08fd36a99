//! The protocols that clients speak, one front each. A front turns requests into calls of the one [`Service`], which
//! decides, and turns the results into bytes.
//!
//! The list of them is [`protocols`](crate::protocols). The listener finds a client's front by its first bytes or its port, and hands
//! it the [`Conversation`]. A protocol with one request after another is a [`Session`]: one loop reads, bounds and
//! writes for it. Only HTTP, which hyper reads, and MySQL, which starts TLS itself, do more.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use floe_wire::Protocol;
use futures_util::future::BoxFuture;
use tokio::sync::watch;

use crate::access::Caller;
use crate::clients::{Client, Full};
use crate::config::{Config, DefaultNames, Limits};
use crate::protocols::protocols;
use crate::service::Service;
use crate::session::{self, Session, Stream};
use crate::tls::Tls;

#[cfg_attr(not(feature = "protocol-grpc"), path = "fronts/no_grpc.rs")]
mod grpc;
pub(crate) mod http;
mod katsubushi;
#[cfg(test)]
#[path = "../../../examples/protocol/lines.rs"]
pub(crate) mod lines;
#[cfg(feature = "protocol-memcached")]
mod memcached;
#[cfg(feature = "protocol-mysql")]
mod mysql;
#[cfg(feature = "protocol-resp")]
mod resp;
#[cfg(feature = "protocol-thrift")]
mod thrift;

use katsubushi::Katsubushi;

macro_rules! served {
    ($($(#[$when:meta])* $front:ident: $($codec:ident)::+,)+) => {
        &[$($(#[$when])* &$front::FRONT),+]
    };
}

/// Every protocol that is served.
pub(crate) const FRONTS: &[&Front] = protocols!(served);

/// A protocol, as the server serves it.
pub(crate) struct Front {
    pub protocol: &'static Protocol,
    /// Serves a connection to its end.
    pub serve: fn(Conversation) -> BoxFuture<'static, io::Result<()>>,
    /// The answer to a client that is not served, with the header that has the date; empty if the protocol has no
    /// error before a request.
    pub turn_away: fn(&TurnedAway<'_>, date: &str) -> Vec<u8>,
    /// Counters in addition to those of every protocol: the metric's name and its help.
    pub counters: &'static [(&'static str, &'static str)],
}

/// Why a client is not served.
pub(crate) enum TurnedAway<'w> {
    /// There is no place for it, or no memory: the words for it.
    Busy(&'w str),
    /// It came without TLS, and began with this byte.
    NoTls(Option<u8>),
}

/// The parts that all protocols need to serve clients.
pub(crate) struct Backend {
    pub service: Arc<Service>,
    pub limits: Limits,
    pub default_names: DefaultNames,
    pub katsubushi: Arc<Katsubushi>,
    router: Router,
}

/// A connection of a known protocol.
pub(crate) struct Conversation {
    pub stream: Stream,
    /// The caller, as far as the connection shows it.
    pub caller: Caller,
    pub client: Arc<Client>,
    pub backend: Arc<Backend>,
    /// Changes when the server stops.
    pub draining: watch::Receiver<bool>,
    /// Its number among the connections of this server.
    pub id: u64,
    /// Its first byte; `None` if the server speaks first.
    pub first: Option<u8>,
    /// Whether clients of other protocols come to the same port.
    pub shared: bool,
    /// For a protocol that begins TLS by itself.
    pub tls: Offer,
}

/// The TLS options of a protocol that starts TLS itself.
#[derive(Clone)]
pub(crate) enum Offer {
    /// This server has none, or it has begun.
    None,
    /// The client may ask for it.
    May(Arc<Tls>),
    /// A client that does not ask for it is refused.
    Must(Arc<Tls>),
}

impl Backend {
    pub(crate) fn new(config: &Config, service: &Arc<Service>) -> Arc<Self> {
        let katsubushi = Katsubushi::new(service, &config.default_names);
        let router = http::router(service, &config.limits, &katsubushi);
        Arc::new(Self {
            service: Arc::clone(service),
            limits: config.limits.clone(),
            default_names: config.default_names.clone(),
            katsubushi,
            router,
        })
    }

    /// The routes of HTTP.
    pub(crate) fn router(&self) -> Router {
        self.router.clone()
    }
}

impl PartialEq for Front {
    fn eq(&self, other: &Self) -> bool {
        self.protocol == other.protocol
    }
}

impl fmt::Debug for Front {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.protocol.name)
    }
}

impl Front {
    /// The front of a protocol.
    pub(crate) fn of(protocol: &Protocol) -> Option<&'static Self> {
        FRONTS.iter().copied().find(|front| front.protocol == protocol)
    }
}

impl Conversation {
    /// Serves it in a protocol of requests that follow one another.
    pub(crate) fn run(mut self, mut session: impl Session + 'static) -> BoxFuture<'static, io::Result<()>> {
        Box::pin(async move {
            let Self { stream, client, backend, draining, .. } = &mut self;
            session::to_its_end(stream, &mut session, client, &backend.limits, draining.clone())
                .await
                .map(drop)
        })
    }
}

/// Sends one answer to a client that is not served, and closes.
pub(crate) async fn part(stream: &mut Stream, word: &[u8], stall: Duration) -> io::Result<()> {
    use tokio::io::AsyncWriteExt;

    let late = |_| io::Error::new(io::ErrorKind::TimedOut, "the client stopped reading");
    tokio::time::timeout(stall, stream.write_all(word)).await.map_err(late)??;
    session::farewell(stream).await;
    Ok(())
}

/// The error that ends a connection if there is no memory for it.
pub(crate) const FULL: &str = "all the memory for clients is in use (limits.memory): try again";

/// See [`FULL`].
pub(crate) fn no_memory(_: Full) -> io::Error {
    io::Error::new(io::ErrorKind::OutOfMemory, FULL)
}

#[cfg(test)]
mod tests {
    mod book;

    use floe::{Definition, Kind};

    use super::http::{leaf, tinyid};
    use super::*;
    use crate::service::call::NATIVE;
    use crate::status::Status;

    #[test]
    fn each_kind_answers_its_calls_and_is_made_by_one_that_fits() {
        let definition = |text: &str| text.parse::<Definition>().unwrap();
        let numbers = [
            leaf::SNOWFLAKE.natural.clone(),
            Definition::SEGMENT,
            Definition::Counter,
            definition("dated zone=UTC digits=6 overflow=refuse prefix="),
        ];
        let others = ["registered type=mine", "counter form base62", "uuid7 form typeid type=user"];
        let texts: Vec<_> = Kind::ALL
            .iter()
            .filter_map(|kind| Definition::called(kind.as_str()))
            .chain(others.map(definition))
            .collect();
        for (at, (call, answers, text, natural)) in [
            (&NATIVE, [true, true, true, true], true, Kind::SNOWFLAKE),
            (&leaf::SEGMENT, [false, true, true, true], false, Kind::SEGMENT),
            (&leaf::SNOWFLAKE, [true, false, false, false], false, Kind::SNOWFLAKE),
            (&tinyid::CALL, [false, true, false, false], false, Kind::SEGMENT),
            (&katsubushi::CALL, [true, true, true, true], true, Kind::SNOWFLAKE),
            (&resp::INCR, [true, true, true, true], false, Kind::COUNTER),
            (&resp::INCRBY, [false, true, true, true], false, Kind::COUNTER),
            (&resp::SET_FIRST, [false, true, true, true], false, Kind::COUNTER),
            (&thrift::MINT, [true, false, false, false], false, Kind::SNOWFLAKE),
            (&mysql::ROW, [true, true, true, true], false, Kind::SEGMENT),
            (&mysql::ROWS, [false, true, true, true], false, Kind::SEGMENT),
        ]
        .into_iter()
        .enumerate()
        {
            let answered = |definition: &Definition, answers: bool| {
                let refusal = call.admits("orders", definition).err();
                let expected = if answers { None } else { Some(Status::WrongKind) };
                assert_eq!(refusal.map(|refusal| refusal.status), expected, "{at} {definition}");
            };
            for (definition, answers) in numbers.iter().zip(answers) {
                answered(definition, answers);
            }
            for definition in &texts {
                answered(definition, text);
            }
            assert_eq!(call.natural.kind(), natural, "{at}");
            call.admits("orders", &call.natural).unwrap();
        }
        let natural = &katsubushi::CALL.natural;
        assert!(matches!(natural, Definition::Snowflake { layout: floe::Layout::KATSUBUSHI, own: false }));
    }

    #[test]
    fn no_refusal_is_a_success() {
        assert!(Status::ALL.iter().all(|status| (400..600).contains(&status.http())));
        assert!(Status::ALL.iter().all(|status| status.grpc() != tonic::Code::Ok));
    }
}
