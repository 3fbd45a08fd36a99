//! HTTP/1.1 on a connection, for the stores that speak it.

use std::fmt::Display;

use floe::ledger::LedgerError;
use http::header;
use http::request::Builder;
use http::response::Parts;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use tokio_rustls::TlsConnector;

use super::endpoint::{Endpoint, Turn, share};
use super::url::Reach;
use super::{Connect, Connected, LOOK, Trouble, Wanted};
use crate::OpenError;

/// A connection to a server. It carries one request at a time.
pub(crate) struct Http {
    requests: SendRequest<Full<Bytes>>,
    pub(crate) server: Endpoint,
}

/// Why there is no connection, or no answer.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) server: Endpoint,
    pub(crate) text: String,
    /// Whether this process's settings are wrong, as far as the server says.
    pub(crate) is_asked_for: bool,
}

impl Fault {
    pub(crate) fn new(server: &Endpoint, text: impl Display) -> Self {
        Self { server: server.clone(), text: text.to_string(), is_asked_for: false }
    }

    /// `what` the server is, where it is, and what happened there.
    fn sentence(&self, what: &str) -> String {
        format!("{what} at {}: {}", self.server, self.text)
    }
}

impl From<Fault> for Trouble<Fault> {
    fn from(fault: Fault) -> Self {
        Self::Store(fault)
    }
}

impl Http {
    /// Connects, with TLS if there is a connector.
    async fn connect(server: &Endpoint, tls: Option<&TlsConnector>) -> Result<Self, Fault> {
        let failed = |error: &dyn Display| {
            let text = error.to_string();
            let is_asked_for = text.contains("invalid peer certificate");
            let text = match text.starts_with("TLS: ") {
                true => format!("{text}: look at sslmode and sslrootcert, and at its certificate"),
                false => format!("{text}; {LOOK}, and whether it has TLS (sslmode)"),
            };
            Fault { is_asked_for, ..Fault::new(server, text) }
        };
        let socket = server.connect(tls).await.map_err(|error| failed(&error))?;
        let spoken = http1::handshake(TokioIo::new(socket)).await;
        let (requests, connection) = spoken.map_err(|error| failed(&error))?;
        // The task reads even while there is no call. The caller gets the error from its request.
        tokio::spawn(async move { drop(connection.await) });
        Ok(Self { requests, server: server.clone() })
    }

    /// Sends a request, whose headers need no `Host`, and returns the answer with its body of at most `longest` bytes.
    ///
    /// # Errors
    /// The connection broke off: whether the request was executed is not known.
    pub(crate) async fn ask(
        &mut self,
        request: Builder,
        body: Vec<u8>,
        longest: usize,
    ) -> Result<(Parts, Bytes), Fault> {
        let server = self.server.clone();
        let broken = |error: &dyn Display| Fault::new(&server, format!("the connection broke off ({error})"));
        let request = request.header(header::HOST, server.to_string()).body(Full::from(body));
        let request = request.map_err(|error| broken(&error))?;
        self.requests.ready().await.map_err(|error| broken(&error))?;
        let answer = self.requests.send_request(request).await.map_err(|error| broken(&error))?;
        let (head, body) = answer.into_parts();
        let body = Limited::new(body, longest).collect().await.map_err(|error| broken(&error))?;
        Ok((head, body.to_bytes()))
    }
}

/// The servers of a URL.
pub(crate) struct Servers {
    /// What they are, for errors.
    what: &'static str,
    pub(crate) all: Vec<Endpoint>,
    pub(crate) reach: Reach,
    tls: Option<TlsConnector>,
    turn: Turn,
}

impl Servers {
    /// # Errors
    /// `Asked` if a file for TLS cannot be used, or a certificate cannot name a server.
    pub(crate) fn new(what: &'static str, all: Vec<Endpoint>, reach: Reach) -> Result<Self, OpenError> {
        let tls = reach.tls.connector(&all, None)?;
        Ok(Self { what, all, reach, tls, turn: Turn::anywhere() })
    }
}

/// A store behind servers that speak HTTP.
pub(crate) trait Speaks: Send + Sync + 'static {
    type Link: AsRef<Http> + Send + 'static;

    fn servers(&self) -> &Servers;

    /// What is done on a new connection first.
    fn enter(
        &self,
        http: Http,
        wanted: Wanted<'_>,
    ) -> impl Future<Output = Result<Connected<Self::Link>, Trouble<Fault>>> + Send;
}

impl<S: Speaks> Connect for S {
    type Link = S::Link;
    type Error = Fault;

    fn reach(&self) -> &Reach {
        &self.servers().reach
    }

    /// Tries each server once, each for at most its share of the time.
    async fn connect(&self, wanted: Wanted<'_>) -> Result<Connected<S::Link>, Trouble<Fault>> {
        let Servers { all, reach, tls, turn, .. } = self.servers();
        let mut last = Trouble::NoThread;
        for server in turn.through(all) {
            let entering = async { self.enter(Http::connect(server, tls.as_ref()).await?, wanted).await };
            let late = |text: &str| Fault::new(server, text);
            match share(reach.bounds.connect, all.len(), entering, late).await {
                Err(trouble @ (Trouble::Store(_) | Trouble::Ledger(LedgerError::Unavailable(_)))) => {
                    last = trouble;
                }
                outcome => return outcome,
            }
        }
        Err(last)
    }

    fn is_closed(link: &S::Link) -> bool {
        link.as_ref().requests.is_closed()
    }

    fn at_work(&self, fault: Fault) -> LedgerError {
        LedgerError::Unavailable(fault.sentence(self.servers().what))
    }

    fn at_open(&self, fault: Fault) -> OpenError {
        match fault.is_asked_for {
            true => OpenError::Asked(fault.sentence(self.servers().what)),
            false => self.at_work(fault).into(),
        }
    }
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::path::PathBuf;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;
    use std::{slice, thread};

    use floe_testbed::{Certificates, Home};
    use rustls::crypto::ring;
    use rustls::pki_types::pem::PemObject;
    use rustls::pki_types::{CertificateDer, PrivateKeyDer};
    use rustls::{ServerConfig, ServerConnection, StreamOwned};

    use super::*;
    use crate::Opening;
    use crate::remote::Bounds;
    use crate::remote::ssl_mode::{Tls, Use, Verify};

    /// Listens with this certificate, or without TLS, and answers every request with `ok`.
    fn server(certificate: Option<&Certificates>) -> u16 {
        let config = certificate.map(|made| {
            let chain = vec![CertificateDer::from_pem_file(&made.server).unwrap()];
            let key = PrivateKeyDer::from_pem_file(&made.key).unwrap();
            let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
            let builder = builder.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
            Arc::new(builder.with_single_cert(chain, key).unwrap())
        });
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        thread::spawn(move || {
            for mut socket in listener.incoming().map_while(Result::ok) {
                let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
                match &config {
                    Some(config) => {
                        let session = ServerConnection::new(Arc::clone(config)).unwrap();
                        let mut socket = StreamOwned::new(session, socket);
                        // A client that does not trust it goes.
                        if socket.read(&mut [0; 1 << 10]).is_ok() {
                            drop(socket.write_all(answer).and_then(|()| socket.flush()));
                        }
                    }
                    None => drop(socket.write_all(answer)),
                }
            }
        });
        port
    }

    /// The answer of a server at this host whose certificate is checked so.
    async fn answer(host: &str, port: u16, verify: Verify) -> Result<Bytes, Fault> {
        let server = Endpoint::new(host, port).unwrap();
        let tls = Tls { wanted: Use::Always, verify, own: None };
        let connector = tls.connector(slice::from_ref(&server), None).unwrap();
        let mut http = Http::connect(&server, connector.as_ref()).await?;
        http.ask(http::Request::get("/"), Vec::new(), 10).await.map(|(_, body)| body)
    }

    /// Whoever opens a ledger can name the right roots. What else goes wrong may be over by the next call.
    #[tokio::test]
    async fn a_certificate_that_is_not_trusted_is_the_fault_of_the_settings() {
        let home = Home::new("http");
        let made = Certificates::for_host("localhost", &home);
        let (port, roots) = (server(Some(&made)), |file: &PathBuf| Verify::Full(file.clone()));
        assert_eq!(answer("localhost", port, roots(&made.signer)).await.unwrap(), "ok");
        for (host, roots) in [("localhost", roots(&made.stranger)), ("127.0.0.1", roots(&made.signer))] {
            let fault = answer(host, port, roots).await.unwrap_err();
            assert!(
                fault.is_asked_for && fault.text.contains("look at sslmode and sslrootcert"),
                "{fault:?}"
            );
        }
        let fault = answer("localhost", server(None), roots(&made.signer)).await.unwrap_err();
        assert!(!fault.is_asked_for && fault.text.starts_with("TLS: "), "{fault:?}");
    }

    /// Two servers, of which the one that is entered first refuses. It counts how many are entered.
    struct Refusing {
        servers: Servers,
        entered: AtomicUsize,
        refusal: Refusal,
    }

    type Refusal = fn(&Endpoint) -> Trouble<Fault>;

    struct Link(Http);

    impl AsRef<Http> for Link {
        fn as_ref(&self) -> &Http {
            &self.0
        }
    }

    impl Speaks for Refusing {
        type Link = Link;

        fn servers(&self) -> &Servers {
            &self.servers
        }

        async fn enter(&self, http: Http, _: Wanted<'_>) -> Result<Connected<Link>, Trouble<Fault>> {
            match self.entered.fetch_add(1, Ordering::SeqCst) {
                0 => Err((self.refusal)(&http.server)),
                _ => Ok(Connected { link: Link(http), realm_id: None, remarks: Vec::new() }),
            }
        }
    }

    /// What the next server says does not make the store fit.
    #[tokio::test]
    async fn the_next_server_is_tried_only_if_the_one_before_may_be_back() {
        let port = server(None);
        let refusals: [(Refusal, usize); 3] = [
            (|server| Fault::new(server, "gone").into(), 2),
            (|_| LedgerError::Unavailable("no leader".to_owned()).into(), 2),
            (|_| LedgerError::Unfit("another realm".to_owned()).into(), 1),
        ];
        for (refusal, entered) in refusals {
            let bounds = Bounds { max_wait: Duration::from_secs(60), connect: Duration::from_secs(60) };
            let tls = Tls { wanted: Use::Never, verify: Verify::Nothing, own: None };
            let reach = Reach { shown: "two".to_owned(), bounds, tls, allows_unsafe: false };
            let all = vec![Endpoint::new("127.0.0.1", port).unwrap(); 2];
            let servers = Servers::new("A server", all, reach).unwrap();
            let servers = Refusing { servers, entered: AtomicUsize::new(0), refusal };
            let outcome = servers.connect(Wanted::at_open(&Opening::of("test"))).await.map(drop);
            assert_eq!(servers.entered.load(Ordering::SeqCst), entered, "{outcome:?}");
            match outcome {
                Ok(()) => assert_eq!(entered, 2),
                Err(Trouble::Ledger(LedgerError::Unfit(_))) => assert_eq!(entered, 1),
                other => panic!("{other:?}"),
            }
        }
    }
}
