//! Requests over hyper, with the same TLS as all other ledgers.
//!
//! Not over reqwest: if it has TLS without a provider of its own, so has every reqwest client in the same program, and
//! panics.

use std::error::Error;
use std::io;

use http::Method;
use http_body_util::{BodyExt, Limited};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector as Tcp;
use hyper_util::rt::TokioExecutor;
use object_store::client::{
    ClientOptions, HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpRequestBody,
    HttpResponse, HttpResponseBody, HttpService,
};
use rustls::ClientConfig;

/// The most bytes in an answer: a page of a list, with a thousand long names.
const LONGEST_ANSWER: usize = 4 << 20;

/// The lifetime of a token from a machine's metadata service ("Use IMDSv2" in Amazon's documentation of EC2).
const TOKEN_FOR: &str = "x-aws-ec2-metadata-token-ttl-seconds";

/// Makes a bucket's client.
#[derive(Debug)]
pub(crate) struct Connector(pub(crate) ClientConfig);

impl HttpConnector for Connector {
    /// Ignores object_store's options: the URL's `endpoint` says whether there is TLS, and the ledger bounds each call.
    fn connect(&self, _options: &ClientOptions) -> object_store::Result<HttpClient> {
        let connector =
            HttpsConnectorBuilder::new().with_tls_config(self.0.clone()).https_or_http().enable_http1();
        Ok(HttpClient::new(Requests(Client::builder(TokioExecutor::new()).build(connector.build()))))
    }
}

#[derive(Debug)]
struct Requests(Client<HttpsConnector<Tcp>, HttpRequestBody>);

#[async_trait::async_trait]
impl HttpService for Requests {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        // An Amazon machine also gets a PUT, for the token that gives access to its role's credentials.
        let is_write = request.method() == Method::PUT && !request.headers().contains_key(TOKEN_FOR);
        let answer = self.0.request(request).await.map_err(|error| {
            let kind = if error.is_connect() { HttpErrorKind::Connect } else { kind(&error) };
            HttpError::new(kind, error)
        })?;
        let (parts, body) = answer.into_parts();
        // The other side decides its length.
        let body = Limited::new(body, LONGEST_ANSWER).map_err(|error| {
            let kind = kind(&*error);
            HttpError::new(kind, io::Error::other(error))
        });
        let mut body = HttpResponseBody::new(body);
        if is_write && parts.status.is_success() {
            // A store confirms a write with the response head alone. A page (from a portal or a proxy) proves no write.
            let page = body.bytes().await?;
            if !page.is_empty() {
                let error = io::Error::other(
                    "the answer to a write has a web page in it: this is not an object store, or a proxy stands before it",
                );
                return Err(HttpError::new(HttpErrorKind::Decode, error));
            }
            body = HttpResponseBody::from(page);
        }
        Ok(HttpResponse::from_parts(parts, body))
    }
}

/// Whether a request may be repeated automatically: one that was cut off may.
pub(super) fn kind(error: &(dyn Error + 'static)) -> HttpErrorKind {
    let mut cause = Some(error);
    while let Some(error) = cause {
        let is_cut = error
            .downcast_ref::<hyper::Error>()
            .is_some_and(|error| error.is_closed() || error.is_incomplete_message() || error.is_canceled());
        if is_cut {
            return HttpErrorKind::Request;
        }
        if let Some(error) = error.downcast_ref::<io::Error>() {
            return match error.kind() {
                io::ErrorKind::TimedOut => HttpErrorKind::Timeout,
                // As by a server that closes an idle connection just when a request comes on it.
                io::ErrorKind::ConnectionReset
                | io::ErrorKind::ConnectionAborted
                | io::ErrorKind::BrokenPipe
                | io::ErrorKind::UnexpectedEof => HttpErrorKind::Request,
                _ => HttpErrorKind::Interrupted,
            };
        }
        cause = error.source();
    }
    HttpErrorKind::Unknown
}
