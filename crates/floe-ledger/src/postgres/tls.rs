//! TLS for tokio-postgres.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio_rustls::TlsConnector;

use crate::OpenError;

use super::url::Settings;

#[derive(Clone)]
pub(super) struct Tls(Arc<ClientConfig>);

pub(super) fn tls(settings: &Settings) -> Result<Tls, OpenError> {
    let mut config = settings.reach.tls.client()?;
    config.alpn_protocols = vec![b"postgresql".to_vec()];
    Ok(Tls(Arc::new(config)))
}

pub(super) struct Connect {
    connector: TlsConnector,
    host: ServerName<'static>,
}

pub(super) struct Stream<S>(Box<tokio_rustls::client::TlsStream<S>>);

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> MakeTlsConnect<S> for Tls {
    type Stream = Stream<S>;
    type TlsConnect = Connect;
    type Error = rustls::pki_types::InvalidDnsNameError;

    fn make_tls_connect(&mut self, domain: &str) -> Result<Connect, Self::Error> {
        let host = ServerName::try_from(domain.to_owned())?;
        Ok(Connect { connector: TlsConnector::from(Arc::clone(&self.0)), host })
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> TlsConnect<S> for Connect {
    type Stream = Stream<S>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Stream<S>>> + Send>>;

    fn connect(self, stream: S) -> Self::Future {
        Box::pin(async move { Ok(Stream(Box::new(self.connector.connect(self.host, stream).await?))) })
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> TlsStream for Stream<S> {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Stream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.0).poll_read(context, buffer)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Stream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut *self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.0).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// PostgreSQL closes a connection that begins with TLS (`sslnegotiation=direct`) and does not say so.
    #[test]
    fn the_greeting_of_tls_says_what_follows() {
        let settings = Settings::parse("postgres://db/ids?sslmode=require", &|_| None).unwrap();
        assert_eq!(tls(&settings).unwrap().0.alpn_protocols, [b"postgresql"]);
    }
}
