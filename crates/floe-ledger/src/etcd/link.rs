//! A connection to one member, and gRPC's unary calls on it: a POST with one message each way, and a status behind
//! the answer.
//!
//! This is HTTP/2 by the `h2` crate and nothing above it. A channel that connects again by itself, as gRPC libraries
//! have it, could not say whether its connection is the one that was checked.

use std::future::poll_fn;
use std::sync::Arc;

use h2::RecvStream;
use h2::client::SendRequest;
use http::{HeaderMap, HeaderValue, Request, header};
use prost::Message;
use prost::bytes::{Buf, BufMut, Bytes, BytesMut};
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;

use super::Trouble;
use super::history::History;
use super::messages::{AuthenticateRequest, Call, TxnRequest, TxnResponse};
use super::trouble::Fault;
use super::url::{Endpoint, Login};

/// The longest answer that is read. A page of a list is the longest that floe asks for, and far below.
const MAX_ANSWER: usize = 64 << 20;

/// A connection to one member.
pub(super) struct Link {
    requests: SendRequest<Bytes>,
    /// `http://host:port`, to which the path of a call is added.
    base: String,
    /// Its parts of the URL, for errors.
    endpoint: Endpoint,
    login: Option<Login>,
    token: Option<HeaderValue>,
    history: Arc<History>,
    task: JoinHandle<()>,
}

impl Link {
    /// Connects, and logs in where there is somebody to log in.
    pub(super) async fn connect(
        endpoint: &Endpoint,
        tls: Option<&TlsConnector>,
        login: Option<&Login>,
        history: Arc<History>,
    ) -> Result<Self, Fault> {
        let broken = |error: &dyn std::fmt::Display| Fault::broken(endpoint, error);
        let socket = endpoint.connect(tls).await.map_err(|error| broken(&error))?;
        let (requests, connection) = h2::client::handshake(socket).await.map_err(|error| broken(&error))?;
        // TCP probes a silent connection: etcd answers HTTP/2's probes with an end of the connection where no call is under
        // way. An error reaches the caller by its stream.
        let task = tokio::spawn(async move { drop(connection.await) });
        let scheme = if tls.is_some() { "https" } else { "http" };
        let (base, endpoint) = (format!("{scheme}://{endpoint}"), endpoint.clone());
        let login = login.cloned();
        let mut link = Self { requests, base, endpoint, login, token: None, history, task };
        link.log_in().await?;
        Ok(link)
    }

    pub(super) fn is_closed(&self) -> bool {
        self.task.is_finished()
    }

    pub(super) async fn goodbye(self) {
        drop(self.requests);
        drop(self.task.await);
    }

    /// A transaction, whose answer the cluster gives from what it is when this call is under way.
    pub(super) async fn txn(&mut self, request: &TxnRequest) -> Result<TxnResponse, Trouble> {
        let before = self.history.revision();
        let answer = self.call(request).await?;
        self.history.follow(before, answer.header.as_ref(), &self.endpoint)?;
        Ok(answer)
    }

    /// One call. Where the member has forgotten who this is (tokens end with their time, and with the member's
    /// process), it has not looked at the request: after another login the call is made again.
    pub(super) async fn call<Q: Call>(&mut self, request: &Q) -> Result<Q::Answer, Fault> {
        match self.unary(request).await {
            Err(fault) if fault.asks_for_a_login() && self.login.is_some() => {
                self.log_in().await?;
                self.unary(request).await
            }
            outcome => outcome,
        }
    }

    async fn log_in(&mut self) -> Result<(), Fault> {
        let Some(Login { name, password }) = self.login.clone() else { return Ok(()) };
        self.token = None;
        let token = match self.unary(&AuthenticateRequest { name, password }).await {
            // A cluster that asks nobody who they are is entered by anybody, as etcdctl has it.
            Err(fault) if fault.says("authentication is not enabled") => return Ok(()),
            answer => answer?.token,
        };
        let mut token =
            HeaderValue::from_str(&token).map_err(|error| Fault::broken(&self.endpoint, &error))?;
        token.set_sensitive(true);
        self.token = Some(token);
        Ok(())
    }

    async fn unary<Q: Call>(&mut self, request: &Q) -> Result<Q::Answer, Fault> {
        let endpoint = self.endpoint.clone();
        let broken = |error: &dyn std::fmt::Display| Fault::broken(&endpoint, error);
        let mut head = Request::post(format!("{}{}", self.base, Q::PATH))
            .header(header::CONTENT_TYPE, "application/grpc")
            .header(header::TE, "trailers")
            // A member that knows no leader says so at once, instead of waiting for one.
            .header("hasleader", "true");
        if let Some(token) = &self.token {
            head = head.header("token", token);
        }
        let head = head.body(()).map_err(|error| broken(&error))?;
        poll_fn(|context| self.requests.poll_ready(context)).await.map_err(|error| broken(&error))?;
        let (answer, mut body) = self.requests.send_request(head, false).map_err(|error| broken(&error))?;
        body.send_data(frame(request), true).map_err(|error| broken(&error))?;
        let (head, mut body) = answer.await.map_err(|error| broken(&error))?.into_parts();
        if head.status != http::StatusCode::OK {
            return Err(broken(&format!("HTTP {}: the server there does not speak gRPC", head.status)));
        }
        let message = read(&mut body).await.map_err(|error| broken(&error))?;
        let trailers = body.trailers().await.map_err(|error| broken(&error))?;
        // Where there is nothing but a status, it stands in the head.
        status(trailers.as_ref().unwrap_or(&head.headers), &endpoint)?;
        let answer = unframe(message).and_then(|message| Q::Answer::decode(message).ok());
        answer.ok_or_else(|| broken(&"an answer that is not etcd's"))
    }
}

/// The message behind a flag (not compressed) and its length.
fn frame(message: &impl Message) -> Bytes {
    let length = message.encoded_len();
    let mut frame = BytesMut::with_capacity(5 + length);
    frame.put_u8(0);
    // What floe asks is bounded far below 4 GiB, and a length that is cut makes etcd refuse the request.
    frame.put_u32(u32::try_from(length).unwrap_or(u32::MAX));
    frame.put(message.encode_to_vec().as_slice());
    frame.freeze()
}

fn unframe(mut frame: Bytes) -> Option<Bytes> {
    if frame.len() < 5 || frame.get_u8() != 0 {
        return None;
    }
    let length = usize::try_from(frame.get_u32()).ok()?;
    (frame.len() == length).then_some(frame)
}

async fn read(body: &mut RecvStream) -> Result<Bytes, String> {
    let mut whole = BytesMut::new();
    while let Some(part) = body.data().await {
        let part = part.map_err(|error| error.to_string())?;
        body.flow_control().release_capacity(part.len()).map_err(|error| error.to_string())?;
        if whole.len() + part.len() > MAX_ANSWER {
            return Err(format!("an answer of more than {MAX_ANSWER} bytes"));
        }
        whole.put(part);
    }
    Ok(whole.freeze())
}

/// gRPC's status: 0 is well.
fn status(headers: &HeaderMap, endpoint: &Endpoint) -> Result<(), Fault> {
    let text = |name| headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()));
    match text("grpc-status").and_then(|code| code.parse().ok()) {
        Some(0) => Ok(()),
        Some(code) => {
            let message = text("grpc-message").unwrap_or_default();
            let message = percent_encoding::percent_decode_str(&message).decode_utf8_lossy();
            Err(Fault::refused(endpoint, code, &message))
        }
        None => Err(Fault::broken(endpoint, &"an answer without a status")),
    }
}
