//! Packets: how the protocol frames them on a socket.
//!
//! Source: MySQL source code documentation, "Client/Server Protocol": "MySQL Packets" and "Protocol Basics". No byte
//! from a server is trusted: every length is checked.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::trouble::Error;
use crate::remote::endpoint::Endpoint;

/// No packet that floe sends or expects is this long. From 16 MiB on the protocol would split it.
const LONGEST: usize = 4 << 20;

/// A socket, encrypted or not.
trait Socket: AsyncRead + AsyncWrite + Unpin + Send {
    /// Whether the peer has neither sent anything since, nor closed.
    fn is_silent(&self) -> bool;
}

impl Socket for TcpStream {
    fn is_silent(&self) -> bool {
        matches!(self.try_read(&mut [0]), Err(error) if error.kind() == io::ErrorKind::WouldBlock)
    }
}

impl Socket for TlsStream<Box<dyn Socket>> {
    fn is_silent(&self) -> bool {
        self.get_ref().0.is_silent()
    }
}

impl Socket for Box<dyn Socket> {
    fn is_silent(&self) -> bool {
        (**self).is_silent()
    }
}

#[cfg(fuzzing)]
impl Socket for tokio::io::Join<io::Cursor<Vec<u8>>, tokio::io::Sink> {
    fn is_silent(&self) -> bool {
        true
    }
}

/// Packets on a socket.
pub(super) struct Channel {
    socket: BufReader<Box<dyn Socket>>,
    /// The number of the next packet of this exchange, in either direction.
    next: u8,
    is_encrypted: bool,
}

impl Channel {
    pub(super) fn new(socket: TcpStream) -> Self {
        Self { socket: BufReader::new(Box::new(socket)), next: 0, is_encrypted: false }
    }

    /// A server that says `bytes`, whatever it receives.
    #[cfg(fuzzing)]
    pub(super) fn played(bytes: Vec<u8>) -> Self {
        let socket = tokio::io::join(io::Cursor::new(bytes), tokio::io::sink());
        Self { socket: BufReader::new(Box::new(socket)), next: 0, is_encrypted: false }
    }

    /// The same channel, encrypted. Bytes that arrived before in plain text must not count later: unread ones are an
    /// error.
    pub(super) async fn encrypt(self, tls: &TlsConnector, at: &Endpoint) -> Result<Self, Error> {
        if !self.socket.buffer().is_empty() {
            return Err(Error::Protocol("more than a greeting before TLS"));
        }
        let socket = at.encrypt(tls, self.socket.into_inner()).await;
        let socket = Box::new(socket.map_err(Error::Tls)?);
        Ok(Self { socket: BufReader::new(socket), next: self.next, is_encrypted: true })
    }

    pub(super) fn is_encrypted(&self) -> bool {
        self.is_encrypted
    }

    /// Whether nothing has arrived since the last exchange. A server sends an error before it closes, or just closes.
    pub(super) fn is_silent(&self) -> bool {
        self.socket.buffer().is_empty() && self.socket.get_ref().is_silent()
    }

    /// Begins a new exchange. The client always begins.
    pub(super) async fn ask(&mut self, command: u8, text: &[u8]) -> Result<(), Error> {
        self.next = 0;
        self.send(&[&[command], text].concat()).await
    }

    pub(super) async fn send(&mut self, payload: &[u8]) -> Result<(), Error> {
        let length = u32::try_from(payload.len()).ok().filter(|_| payload.len() < LONGEST);
        let [low, middle, high, _] = length.ok_or(Error::TooLong)?.to_le_bytes();
        let head = [low, middle, high, self.next];
        self.next = self.next.wrapping_add(1);
        self.socket.write_all(&[&head, payload].concat()).await?;
        self.socket.flush().await?;
        Ok(())
    }

    pub(super) async fn receive(&mut self) -> Result<Vec<u8>, Error> {
        let mut head = [0; 4];
        self.socket.read_exact(&mut head).await?;
        let [low, middle, high, number] = head;
        let length = u32::from_le_bytes([low, middle, high, 0]) as usize;
        if length >= LONGEST {
            return Err(Error::TooLong);
        }
        if number != self.next {
            return Err(Error::Protocol("a packet out of order"));
        }
        self.next = self.next.wrapping_add(1);
        let mut payload = vec![0; length];
        self.socket.read_exact(&mut payload).await?;
        Ok(payload)
    }

    /// Sends everything, then closes the socket.
    pub(super) async fn close(mut self) -> Result<(), Error> {
        Ok(self.socket.shutdown().await?)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{BufWriter, DuplexStream, duplex};

    use super::*;

    /// A socket that keeps what is written until it is flushed, as TLS may.
    impl Socket for BufWriter<DuplexStream> {
        fn is_silent(&self) -> bool {
            true
        }
    }

    /// Otherwise floe would wait for the answer to what the server has not heard.
    #[tokio::test]
    async fn no_part_of_a_packet_is_kept_back() {
        let (ours, mut theirs) = duplex(64);
        let socket = BufReader::new(Box::new(BufWriter::new(ours)) as Box<dyn Socket>);
        let mut channel = Channel { socket, next: 0, is_encrypted: false };
        channel.ask(3, b"SELECT 1").await.unwrap();
        drop(channel);
        let mut heard = Vec::new();
        theirs.read_to_end(&mut heard).await.unwrap();
        assert_eq!(heard, b"\x09\0\0\0\x03SELECT 1");
    }
}
