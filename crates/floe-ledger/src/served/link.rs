//! A connection to a server, and the one request that each call makes.

use std::fmt::Display;
use std::sync::Arc;

use floe::ledger::{LedgerError, Token};
use http::{HeaderValue, Request, StatusCode, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use tokio_rustls::TlsConnector;

use super::url::Settings;
use crate::offer::{Answer, Call, Question, Said, short};
use crate::remote::endpoint::{self, Endpoint, Turn};
use crate::remote::url::Reach;
use crate::remote::{Connect, Connected, Trouble, Wanted, realm};
use crate::{OpenError, Opening};

/// The most bytes in an answer. A page of a list with the longest possible notes stays far below.
const LONGEST_ANSWER: usize = 4 << 20;

/// How to reach the servers of a URL.
pub(super) struct Servers {
    settings: Settings,
    tls: Option<TlsConnector>,
    /// `/v1/ledger/shop`.
    path: Arc<str>,
    realm: String,
    /// How many servers a question passes, including the one that is asked.
    count: u8,
    turn: Turn,
}

/// A connection to one server.
pub(super) struct Link {
    requests: SendRequest<Full<Bytes>>,
    server: Endpoint,
    authorization: HeaderValue,
    path: Arc<str>,
    count: u8,
    /// Whether there is another server to use if this one cannot reach its store.
    is_one_of_several: bool,
}

/// The reaction of a server, or of something in front of it, in place of an answer.
#[derive(Debug)]
pub(super) struct Fault {
    server: Endpoint,
    text: String,
    /// Whether this process's settings are wrong, as far as the server says.
    is_asked_for: bool,
}

impl Fault {
    fn new(server: &Endpoint, text: impl Display) -> Self {
        Self { server: server.clone(), text: text.to_string(), is_asked_for: false }
    }

    fn sentence(&self) -> String {
        format!("floe at {}: {}", self.server, self.text)
    }
}

impl From<Fault> for Trouble<Fault> {
    fn from(fault: Fault) -> Self {
        Self::Store(fault)
    }
}

impl Servers {
    pub(super) fn new(settings: Settings, opening: &Opening) -> Result<Self, OpenError> {
        let realm = opening.realm();
        let tls = settings.reach.tls.connector(&settings.servers, None)?;
        let path = format!("/v1/ledger/{}", utf8_percent_encode(realm, NON_ALPHANUMERIC)).into();
        let count = opening.servers + 1;
        Ok(Self { settings, tls, path, realm: realm.to_owned(), count, turn: Turn::anywhere() })
    }

    async fn enter(&self, server: &Endpoint, wanted: Wanted<'_>) -> Result<Connected<Link>, Trouble<Fault>> {
        let mut link = self.link(server).await?;
        let mut realm_id = None;
        if let Some(Opening { missing, pinned, sole, .. }) = wanted.first() {
            let call = Call::Enter { missing: *missing, realm_id: pinned.clone(), sole: *sole };
            let Said { realm_id: id, answer, .. } = link.ask(None, call).await?;
            match (answer.or_error()?, id) {
                (Answer::Entered, id @ Some(_)) => realm_id = id,
                _ => {
                    return Err(
                        Fault::new(server, format!("it did not enter the realm {}", self.realm)).into()
                    );
                }
            }
        }
        Ok(Connected { link, realm_id, remarks: Vec::new() })
    }

    async fn link(&self, server: &Endpoint) -> Result<Link, Fault> {
        let failed = |error: &dyn Display| {
            let text = error.to_string();
            let is_asked_for = text.contains("invalid peer certificate");
            let text = match text.starts_with("TLS: ") {
                true => format!("{text}: look at sslmode and sslrootcert, and at its certificate"),
                false => format!("{text}: check whether it runs, and whether it has TLS (sslmode)"),
            };
            Fault { is_asked_for, ..Fault::new(server, text) }
        };
        let socket = server.connect(self.tls.as_ref()).await.map_err(|error| failed(&error))?;
        let spoken = http1::handshake(TokioIo::new(socket)).await;
        let (requests, connection) = spoken.map_err(|error| failed(&error))?;
        // The task reads even while there is no call. The caller gets the error from its request.
        tokio::spawn(async move { drop(connection.await) });
        Ok(Link {
            requests,
            server: server.clone(),
            authorization: self.settings.authorization.clone(),
            path: Arc::clone(&self.path),
            count: self.count,
            is_one_of_several: self.settings.servers.len() > 1,
        })
    }
}

impl Link {
    /// The answer of the realm with this id to a call, including errors of the store.
    pub(super) async fn call(&mut self, realm_id: String, call: Call) -> Result<Answer, Trouble<Fault>> {
        let said = self.ask(Some(realm_id.clone()), call).await?;
        match (said.answer, said.realm_id) {
            (_, Some(id)) if id != realm_id => {
                Err(realm::is_another(&format!("floe://{}", self.server)).into())
            }
            (Answer::Unavailable(text), _) if self.is_one_of_several => {
                Err(LedgerError::Unavailable(short(&text)).into())
            }
            (answer @ (Answer::Unavailable(_) | Answer::Unfit(_)), None) | (answer, Some(_)) => Ok(answer),
            (_, None) => Err(self.is_no_floe("answers for no realm").into()),
        }
    }

    /// Sends one question, and returns a floe's answer.
    async fn ask(&mut self, realm_id: Option<String>, call: Call) -> Result<Said, Trouble<Fault>> {
        let nonce = Token::random()?.hex();
        let question = Question { nonce: nonce.clone(), realm_id, servers: self.count, call };
        let broken =
            |error: &dyn Display| Fault::new(&self.server, format!("the connection broke off ({error})"));
        let body = serde_json::to_vec(&question).map_err(|error| broken(&error))?;
        let request = Request::post(&*self.path)
            .header(header::HOST, self.server.to_string())
            .header(header::AUTHORIZATION, self.authorization.clone())
            .header(header::CONTENT_TYPE, "application/json")
            .body(Full::from(body))
            .map_err(|error| broken(&error))?;
        self.requests.ready().await.map_err(|error| broken(&error))?;
        let answer = self.requests.send_request(request).await.map_err(|error| broken(&error))?;
        let (head, body) = answer.into_parts();
        let body =
            Limited::new(body, LONGEST_ANSWER).collect().await.map_err(|error| broken(&error))?.to_bytes();
        if head.status != StatusCode::OK {
            return Err(self.refused(head.status, &body).into());
        }
        match serde_json::from_slice::<Said>(&body) {
            Ok(said) if said.nonce == nonce => Ok(said),
            Ok(_) => Err(self.is_no_floe("answers another question").into()),
            Err(_) => Err(self.is_no_floe("gives an answer that is not one of a ledger").into()),
        }
    }

    /// An error response. If floe wrote it, it gives the reason; any other says nothing.
    fn refused(&self, status: StatusCode, body: &[u8]) -> Fault {
        let problem: serde_json::Value = serde_json::from_slice(body).unwrap_or_default();
        let text = |key: &str| problem.get(key).and_then(serde_json::Value::as_str);
        match (text("type").and_then(|sort| sort.strip_prefix("/problems/")), text("detail")) {
            (Some(sort), Some(detail)) => Fault {
                is_asked_for: ["unauthenticated", "wrong-token", "forbidden"].contains(&sort),
                ..Fault::new(&self.server, short(detail))
            },
            _ => self.is_no_floe(&format!("answers HTTP {}", status.as_u16())),
        }
    }

    fn is_no_floe(&self, what: &str) -> Fault {
        Fault::new(
            &self.server,
            format!(
                "something there {what}: check whether that is a floe server that offers its ledger, and what stands \
                 before it. What the call did is not known"
            ),
        )
    }
}

impl Connect for Servers {
    type Link = Link;
    type Error = Fault;

    fn reach(&self) -> &Reach {
        &self.settings.reach
    }

    /// Tries each server once, each for at most its share of the time.
    async fn connect(&self, wanted: Wanted<'_>) -> Result<Connected<Link>, Trouble<Fault>> {
        let servers = &self.settings.servers;
        let bound = self.reach().bounds.connect;
        let mut last = Trouble::NoThread;
        for server in self.turn.through(servers) {
            let late = |text: &str| Fault::new(server, text.to_owned());
            let entered = endpoint::share(bound, servers.len(), self.enter(server, wanted), late).await;
            match entered {
                Err(trouble @ (Trouble::Store(_) | Trouble::Ledger(LedgerError::Unavailable(_)))) => {
                    last = trouble
                }
                outcome => return outcome,
            }
        }
        Err(last)
    }

    fn is_closed(link: &Link) -> bool {
        link.requests.is_closed()
    }

    fn at_work(&self, fault: Fault) -> LedgerError {
        LedgerError::Unavailable(fault.sentence())
    }

    fn at_open(&self, fault: Fault) -> OpenError {
        match fault.is_asked_for {
            true => OpenError::Asked(fault.sentence()),
            false => self.at_work(fault).into(),
        }
    }
}
