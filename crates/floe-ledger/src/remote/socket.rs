//! Sockets to servers, encrypted or not.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::ServerName;
use socket2::{SockRef, TcpKeepalive};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::endpoint::Endpoint;
use super::ssl_mode::{Tls, Use};
use crate::OpenError;

/// When a silent connection is probed. A firewall in between may have forgotten it.
const KEEPALIVE: Duration = Duration::from_secs(30);

/// A socket, encrypted or not.
pub(crate) trait Socket: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Socket for S {}

impl Tls {
    /// Encrypts connections to these hosts, with a protocol that both sides name, if there is one; `None` without TLS.
    ///
    /// # Errors
    /// `Asked` if a file cannot be used, or if a certificate cannot name a host.
    pub(crate) fn connector(
        &self,
        hosts: &[Endpoint],
        protocol: Option<&str>,
    ) -> Result<Option<TlsConnector>, OpenError> {
        let certain = hosts.iter().filter(|_| self.wanted == Use::Always);
        for Endpoint { host, .. } in certain {
            ServerName::try_from(host.as_str()).map_err(|error| {
                OpenError::Asked(format!("`{host}` is no host that a certificate can name ({error})"))
            })?;
        }
        let mut config = self.client()?;
        config.alpn_protocols = protocol.into_iter().map(|protocol| protocol.as_bytes().to_vec()).collect();
        Ok((self.wanted != Use::Never).then(|| TlsConnector::from(Arc::new(config))))
    }
}

impl Endpoint {
    /// A connection, encrypted if there is a connector. The error of a TLS handshake begins with `TLS: `.
    pub(crate) async fn connect(&self, tls: Option<&TlsConnector>) -> io::Result<Box<dyn Socket>> {
        let socket = self.plain().await?;
        let Some(tls) = tls else { return Ok(Box::new(socket)) };
        match self.encrypt(tls, socket).await {
            Ok(socket) => Ok(Box::new(socket)),
            Err(error) => Err(io::Error::new(error.kind(), format!("TLS: {error}"))),
        }
    }

    /// A connection without TLS.
    pub(crate) async fn plain(&self) -> io::Result<TcpStream> {
        let socket = TcpStream::connect((self.host.as_str(), self.port)).await?;
        // Every request is waited for.
        socket.set_nodelay(true)?;
        let keepalive = TcpKeepalive::new().with_time(KEEPALIVE).with_interval(KEEPALIVE / 3);
        SockRef::from(&socket).set_tcp_keepalive(&keepalive)?;
        Ok(socket)
    }

    /// TLS on a connection.
    pub(crate) async fn encrypt<S: Socket>(&self, tls: &TlsConnector, socket: S) -> io::Result<TlsStream<S>> {
        let name = ServerName::try_from(self.host.clone()).map_err(io::Error::other)?;
        tls.connect(name, socket).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::remote::ssl_mode::Verify;

    #[cfg(unix)]
    #[tokio::test]
    async fn a_connection_sends_at_once_and_is_probed_while_it_is_silent() {
        let server = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = server.local_addr().unwrap().port();
        let socket = Endpoint::new("127.0.0.1", port).unwrap().plain().await.unwrap();
        assert!(socket.nodelay().unwrap());
        let socket = SockRef::from(&socket);
        assert!(socket.keepalive().unwrap());
        assert_eq!(socket.tcp_keepalive_time().unwrap(), KEEPALIVE);
        assert_eq!(socket.tcp_keepalive_interval().unwrap(), KEEPALIVE / 3);
    }

    #[test]
    fn a_host_that_no_certificate_can_name_is_refused_where_one_is_asked_for() {
        let hosts = ["db.example", "a_b..example"].map(|host| Endpoint::new(host, 1).unwrap());
        let connector =
            |wanted, hosts| Tls { wanted, verify: Verify::Nothing, own: None }.connector(hosts, None);
        let Err(OpenError::Asked(text)) = connector(Use::Always, &hosts).map(drop) else {
            panic!("a certificate names it")
        };
        assert!(text.contains("`a_b..example`"), "{text}");
        assert!(connector(Use::Always, &hosts[..1]).unwrap().is_some());
        // Where TLS is not asked for, the connection is made without it.
        assert!(connector(Use::WherePossible, &hosts).unwrap().is_some());
        assert!(connector(Use::Never, &hosts).unwrap().is_none());
    }
}
