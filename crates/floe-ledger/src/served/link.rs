//! A connection to a server, and the one request that each call makes.

use std::fmt::Display;
use std::sync::Arc;

use floe::ledger::{LedgerError, Token};
use http::{HeaderValue, Request, StatusCode, header};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use super::url::Settings;
use crate::offer::{Answer, Call, Question, Said, short};
use crate::remote::http::{Fault, Http, Servers, Speaks};
use crate::remote::{Connected, LOOK, Trouble, Wanted, realm};
use crate::{OpenError, Opening};

/// The most bytes in an answer. A page of a list with the longest possible notes stays far below.
const LONGEST_ANSWER: usize = 4 << 20;

/// How to reach the servers of a URL.
pub(super) struct Floes {
    servers: Servers,
    authorization: HeaderValue,
    /// `/v1/ledger/shop`.
    path: Arc<str>,
    realm: String,
    /// How many servers a question passes, including the one that is asked.
    count: u8,
}

/// A connection to one server.
pub(super) struct Link {
    http: Http,
    authorization: HeaderValue,
    path: Arc<str>,
    count: u8,
    /// Whether there is another server to use if this one cannot reach its store.
    is_one_of_several: bool,
}

impl AsRef<Http> for Link {
    fn as_ref(&self) -> &Http {
        &self.http
    }
}

impl Floes {
    pub(super) fn new(settings: Settings, opening: &Opening) -> Result<Self, OpenError> {
        let realm = opening.realm();
        let Settings { servers, authorization, reach } = settings;
        let servers = Servers::new("floe", servers, reach)?;
        let path = format!("/v1/ledger/{}", utf8_percent_encode(realm, NON_ALPHANUMERIC)).into();
        Ok(Self { servers, authorization, path, realm: realm.to_owned(), count: opening.servers + 1 })
    }
}

impl Speaks for Floes {
    type Link = Link;

    fn servers(&self) -> &Servers {
        &self.servers
    }

    async fn enter(&self, http: Http, wanted: Wanted<'_>) -> Result<Connected<Link>, Trouble<Fault>> {
        let mut link = Link {
            http,
            authorization: self.authorization.clone(),
            path: Arc::clone(&self.path),
            count: self.count,
            is_one_of_several: self.servers.all.len() > 1,
        };
        let mut realm_id = None;
        if let Some(Opening { missing, pinned, sole, .. }) = wanted.first() {
            let call = Call::Enter { missing: *missing, realm_id: pinned.clone(), sole: *sole };
            let Said { realm_id: id, answer, .. } = link.ask(None, call).await?;
            match (answer.or_error()?, id) {
                (Answer::Entered, id @ Some(_)) => realm_id = id,
                _ => return Err(link.fault(format!("it did not enter the realm {}", self.realm)).into()),
            }
        }
        Ok(Connected { link, realm_id, remarks: Vec::new() })
    }
}

impl Link {
    /// The answer of the realm with this id to a call, including errors of the store.
    pub(super) async fn call(&mut self, realm_id: String, call: Call) -> Result<Answer, Trouble<Fault>> {
        let said = self.ask(Some(realm_id.clone()), call).await?;
        match (said.answer, said.realm_id) {
            (_, Some(id)) if id != realm_id => {
                Err(realm::is_another(&format!("floe://{}", self.http.server)).into())
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
        let body = serde_json::to_vec(&question).map_err(|error| self.fault(error))?;
        let request = Request::post(&*self.path)
            .header(header::AUTHORIZATION, self.authorization.clone())
            .header(header::CONTENT_TYPE, "application/json");
        let asked = self.http.ask(request, body, LONGEST_ANSWER).await;
        let (head, body) = asked.map_err(|fault| self.fault(format!("{}; {LOOK}", fault.text)))?;
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
                ..self.fault(short(detail))
            },
            _ => self.is_no_floe(&format!("answers HTTP {}", status.as_u16())),
        }
    }

    fn is_no_floe(&self, what: &str) -> Fault {
        self.fault(format!(
            "something there {what}: check whether that is a floe server that offers its ledger, and what stands \
             before it. What the call did is not known"
        ))
    }

    fn fault(&self, text: impl Display) -> Fault {
        Fault::new(&self.http.server, text)
    }
}
