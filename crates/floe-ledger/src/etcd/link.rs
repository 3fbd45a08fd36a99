//! A connection to one member, and gRPC's unary calls on it: a POST with one message each way, and a status after the
//! answer.
//!
//! It uses HTTP/2 by the `h2` crate directly. The channels of gRPC libraries connect again by themselves, and do not
//! show whether their connection is the one that was checked.

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

/// The longest answer that is read. floe's longest is a page of a list, which is far below.
const MAX_ANSWER: usize = 64 << 20;

/// A connection to one member.
pub(super) struct Link {
    requests: SendRequest<Bytes>,
    /// `http://host:port`; a call adds its path.
    base: String,
    /// The member, for errors.
    endpoint: Endpoint,
    login: Option<Login>,
    token: Option<HeaderValue>,
    history: Arc<History>,
    task: JoinHandle<()>,
}

impl Link {
    /// Connects. If there is a user, logs in.
    pub(super) async fn connect(
        endpoint: &Endpoint,
        tls: Option<&TlsConnector>,
        login: Option<&Login>,
        history: Arc<History>,
    ) -> Result<Self, Fault> {
        let broken = |error: &dyn std::fmt::Display| Fault::broken(endpoint, error);
        let socket = endpoint.connect(tls).await.map_err(|error| broken(&error))?;
        let (requests, connection) = h2::client::handshake(socket).await.map_err(|error| broken(&error))?;
        // TCP probes a silent connection, because etcd ends an idle connection on which HTTP/2 sends probes. The caller
        // gets an error from its stream.
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

    /// Runs a transaction. Its answer is linearizable: it shows the cluster at a moment inside this call.
    pub(super) async fn txn(&mut self, request: &TxnRequest) -> Result<TxnResponse, Trouble> {
        let before = self.history.revision();
        let answer = self.call(request).await?;
        self.history.follow(before, answer.header.as_ref(), &self.endpoint)?;
        Ok(answer)
    }

    /// Makes one call. A token ends after some time, and with the member's process. If the member no longer knows it, it
    /// has not run the request, so the link logs in and calls again.
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
            // Without authentication the cluster needs no login; etcdctl ignores the user, too.
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
            // Then a member without a leader returns an error at once, instead of waiting for one.
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
        // An answer without a message has its status in the head.
        status(trailers.as_ref().unwrap_or(&head.headers), &endpoint)?;
        let answer = unframe(message).and_then(|message| Q::Answer::decode(message).ok());
        answer.ok_or_else(|| broken(&"an answer that is not etcd's"))
    }
}

/// The message after a flag (not compressed) and its length.
fn frame(message: &impl Message) -> Bytes {
    let length = message.encoded_len();
    let mut frame = BytesMut::with_capacity(5 + length);
    frame.put_u8(0);
    // floe's requests are far below 4 GiB. If a length were cut, etcd would refuse the request.
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

/// Checks gRPC's status: 0 is success.
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

#[cfg(test)]
pub(super) mod tests {
    use std::sync::Mutex;
    use std::time::Duration;

    use floe::ledger::LedgerError;
    use h2::server;
    use http::{HeaderName, Response, StatusCode};
    use tokio::net::TcpListener;

    use super::super::connect::Cluster;
    use super::super::messages::{AuthenticateResponse, Header, StatusRequest, StatusResponse};
    use super::super::trouble::at_work;
    use super::*;
    use crate::remote::Connect;

    /// What stands at a member's address says this: HTTP's status, the parts of the body, and gRPC's status.
    pub(in crate::etcd) struct Says(u16, Vec<Bytes>, Option<&'static str>);

    impl Says {
        /// gRPC's code and the message of a refusal.
        pub(in crate::etcd) fn refusal(told: &'static str) -> Self {
            Self(200, vec![], Some(told))
        }

        pub(in crate::etcd) fn message(message: &impl Message) -> Self {
            Self(200, vec![frame(message)], Some("0"))
        }
    }

    /// Listens as a member. `answer` gets the path and the whole request of each call.
    pub(in crate::etcd) async fn member(
        answer: impl Fn(&str, &Request<Bytes>) -> Says + Send + Sync + 'static,
    ) -> Endpoint {
        let answer = Arc::new(answer);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                socket.set_nodelay(true).unwrap();
                let mut connection = server::handshake(socket).await.unwrap();
                while let Some(Ok((request, mut respond))) = connection.accept().await {
                    assert_eq!(request.uri().scheme_str(), Some("http"));
                    let answer = Arc::clone(&answer);
                    // Something that stands before a member may wait for the whole request.
                    tokio::spawn(async move {
                        let (head, mut asked) = request.into_parts();
                        let mut body = BytesMut::new();
                        while let Some(part) = asked.data().await {
                            body.put(part.unwrap());
                        }
                        let request = Request::from_parts(head, body.freeze());
                        let Says(status, parts, code) = answer(request.uri().path(), &request);
                        let mut head = Response::new(());
                        *head.status_mut() = StatusCode::from_u16(status).unwrap();
                        let mut body = respond.send_response(head, false).unwrap();
                        for part in parts {
                            body.send_data(part, false).unwrap();
                        }
                        // `code; message`
                        let told = code.into_iter().flat_map(|code| code.split("; "));
                        let names = ["grpc-status", "grpc-message"].map(HeaderName::from_static).into_iter();
                        let trailers = names.zip(told.map(HeaderValue::from_static)).collect();
                        body.send_trailers(trailers).unwrap();
                    });
                }
            }
        });
        Endpoint::new("127.0.0.1", port).unwrap()
    }

    /// The release of a member that says this.
    async fn release(says: Says) -> Result<String, String> {
        let says = Mutex::new(Some(says));
        let at = member(move |_, _| says.lock().unwrap().take().unwrap()).await;
        let mut link = Link::connect(&at, None, None, Arc::default()).await.unwrap();
        let status = link.call(&StatusRequest {}).await;
        status.map(|status| status.version).map_err(|fault| at_work(&fault).to_string())
    }

    #[tokio::test]
    async fn only_a_whole_message_of_grpc_is_an_answer() {
        let status = StatusResponse { version: "3.5.6".to_owned(), is_learner: false };
        let whole = frame(&status);
        assert_eq!(release(Says::message(&status)).await, Ok("3.5.6".to_owned()));
        let halves = vec![whole.slice(..3), whole.slice(3..)];
        assert_eq!(release(Says(200, halves, Some("0"))).await, Ok("3.5.6".to_owned()));
        let is_compressed = [&[1], &whole[1..]].concat().into();
        // A field that nobody knows would be passed over.
        let begins_another = [&whole[..], &[0x78, 0]].concat().into();
        for (parts, code) in [
            (vec![], Some("0")),
            (vec![whole.slice(..4)], Some("0")),
            (vec![whole.slice(..whole.len() - 1)], Some("0")),
            (vec![is_compressed], Some("0")),
            (vec![begins_another], Some("0")),
            (vec![Bytes::from_static(b"\0\0\0\0\x01\xff")], Some("0")),
            (vec![Bytes::from_static(b"\0\0\0\0\x01")], Some("0")),
            (vec![whole.clone()], None),
        ] {
            let told = format!("{parts:?} {code:?}");
            assert!(release(Says(200, parts, code)).await.is_err(), "{told}");
        }
    }

    fn login() -> Login {
        Login { name: "floe".to_owned(), password: "s3cr3t".to_owned() }
    }

    /// What was refused in other words may have been done, and whoever has no login can get no other token.
    #[tokio::test]
    async fn a_call_is_made_again_only_where_the_member_no_longer_knows_the_token() {
        for (told, has_login, count) in [
            ("16; etcdserver: invalid auth token", true, 2),
            ("3; etcdserver: revision of auth store is old", true, 2),
            ("16; etcdserver: invalid auth token", false, 1),
            ("14; etcdserver: request timed out", true, 1),
            ("14; etcdserver: request timed out", false, 1),
        ] {
            let calls = Arc::new(Mutex::new(0));
            let counted = Arc::clone(&calls);
            let at = member(move |path, _| match path {
                AuthenticateRequest::PATH => {
                    Says::message(&AuthenticateResponse { token: "token".to_owned() })
                }
                _ => {
                    *counted.lock().unwrap() += 1;
                    Says::refusal(told)
                }
            });
            let login = has_login.then(login);
            let mut link = Link::connect(&at.await, None, login.as_ref(), Arc::default()).await.unwrap();
            assert!(link.call(&StatusRequest {}).await.is_err());
            assert_eq!(*calls.lock().unwrap(), count, "{told}, with a login: {has_login}");
        }
    }

    /// Another connection is asked later, and hears its answer first.
    #[tokio::test]
    async fn a_revision_is_compared_with_what_was_heard_before_it_was_asked_for() {
        let (history, elsewhere) = (Arc::new(History::default()), Endpoint::new("member", 2379).unwrap());
        let heard = Arc::clone(&history);
        let of = |revision| Some(Header { cluster_id: 7, revision });
        let at = member(move |_, _| {
            heard.follow(0, of(9).as_ref(), &elsewhere).unwrap();
            Says::message(&TxnResponse { header: of(8), ..TxnResponse::default() })
        });
        let mut link = Link::connect(&at.await, None, None, history).await.unwrap();
        let answer = link.txn(&TxnRequest::default()).await;
        assert!(answer.is_ok(), "{answer:?}");
        let answer = link.txn(&TxnRequest::default()).await;
        assert!(
            matches!(answer, Err(Trouble::Ledger(LedgerError::Unfit(_)))),
            "9 was heard by then: {answer:?}"
        );
    }

    #[tokio::test]
    async fn a_goodbye_waits_until_the_connection_has_ended() {
        let at = member(|_, _| Says::message(&StatusResponse::default())).await;
        let mut link = Link::connect(&at, None, None, Arc::default()).await.unwrap();
        assert!(link.call(&StatusRequest {}).await.is_ok());
        assert!(!Cluster::is_closed(&link));
        let connection = link.task.abort_handle();
        let goodbye = tokio::time::timeout(Duration::from_secs(20), Cluster::goodbye(link));
        goodbye.await.expect("it waits for itself");
        assert!(connection.is_finished());
    }

    #[tokio::test]
    async fn a_connection_that_has_ended_is_known_as_one() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = Endpoint::new("127.0.0.1", listener.local_addr().unwrap().port()).unwrap();
        let link = Link::connect(&at, None, None, Arc::default()).await.unwrap();
        assert!(!Cluster::is_closed(&link));
        drop(listener.accept().await.unwrap());
        let known = async {
            while !Cluster::is_closed(&link) {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), known).await.expect("it would serve the next call");
    }

    #[tokio::test]
    async fn a_call_says_that_it_is_one_of_grpc_and_waits_for_no_leader_and_has_the_token_after_a_login() {
        let calls = Arc::new(Mutex::new(Vec::new()));
        let noted = Arc::clone(&calls);
        let at = member(move |path, request| {
            let mut calls = noted.lock().unwrap();
            calls.push((path.to_owned(), request.headers().clone()));
            match (path, calls.len()) {
                (AuthenticateRequest::PATH, number) => {
                    Says::message(&AuthenticateResponse { token: format!("token.{number}") })
                }
                // It has forgotten the first token.
                (_, 2) => Says::refusal("16; etcdserver: invalid auth token"),
                _ => Says::message(&StatusResponse::default()),
            }
        });
        let mut link = Link::connect(&at.await, None, Some(&login()), Arc::default()).await.unwrap();
        assert!(link.call(&StatusRequest {}).await.is_ok());
        assert!(
            link.token.as_ref().is_some_and(HeaderValue::is_sensitive),
            "HTTP/2 may keep it in its tables"
        );
        let calls = calls.lock().unwrap();
        let tokens =
            calls.iter().map(|(_, headers)| headers.get("token").map(|token| token.to_str().unwrap()));
        assert_eq!(tokens.collect::<Vec<_>>(), [None, Some("token.1"), None, Some("token.3")]);
        for (path, headers) in &*calls {
            for (name, value) in
                [("content-type", "application/grpc"), ("te", "trailers"), ("hasleader", "true")]
            {
                assert_eq!(headers.get(name).unwrap(), value, "{path}");
            }
        }
    }

    /// Something that stands before the member, such as a load balancer, may answer in its place.
    #[tokio::test]
    async fn an_answer_with_another_status_of_http_is_not_the_members() {
        let status = StatusResponse { version: "3.5.6".to_owned(), is_learner: false };
        for (says, told) in [
            (Says(502, vec!["Bad Gateway".into()], None), "HTTP 502"),
            (Says(503, vec![frame(&status)], Some("0")), "HTTP 503"),
        ] {
            let text = release(says).await.unwrap_err();
            assert!(text.contains(told) && text.contains("does not speak gRPC"), "{text}");
        }
    }

    /// Otherwise whatever answers there could take all of this process's memory.
    #[tokio::test]
    async fn an_answer_is_read_no_further_than_the_longest_one() {
        let part = Bytes::from_static(&[0; 1 << 16]);
        let mut parts = vec![part; MAX_ANSWER / (1 << 16)];
        parts.push(Bytes::from_static(&[0]));
        let text = release(Says(200, parts, Some("0"))).await.unwrap_err();
        assert!(text.contains("an answer of more than"), "{text}");
    }

    /// A connection may be cut, or something stand before the member, when the message has come and the status has not.
    #[test]
    fn only_an_answer_with_its_status_is_one() {
        let at = Endpoint::new("member", 2379).unwrap();
        let told = |code: Option<&'static str>| {
            let headers =
                code.map(|code| (HeaderName::from_static("grpc-status"), HeaderValue::from_static(code)));
            status(&headers.into_iter().collect(), &at).is_ok()
        };
        assert!(told(Some("0")));
        for code in [None, Some("7"), Some(""), Some("ok")] {
            assert!(!told(code), "{code:?}");
        }
    }
}
