//! The sockets that are listened on, of TCP and in the file system.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::task::Poll;

use tokio::net::{TcpListener, TcpSocket, TcpStream};
#[cfg(unix)]
use tokio::net::{UnixListener, UnixSocket, UnixStream};
use tokio_util::either::Either;

use floe_wire::Protocol;

use crate::config::Endpoint;

/// How many connections the system keeps until they are accepted. If a fleet of clients reconnects at once, dropped
/// connections would have to wait for a second try.
const BACKLOG: u32 = 1024;

/// What to listen on.
#[derive(Clone, Debug)]
pub(crate) struct Port {
    pub endpoint: Endpoint,
    /// The only protocol there; `None` is every protocol in which the client speaks first.
    pub protocol: Option<&'static Protocol>,
    /// Whether the server starts even if another program has the port.
    pub optional: bool,
}

/// The way that a connection came.
#[derive(Clone, Copy)]
pub(super) struct Door {
    /// See [`Port::protocol`].
    pub protocol: Option<&'static Protocol>,
    /// Whether other machines can reach it.
    pub exposed: bool,
}

/// A connection.
pub(super) type Stream = Either<TcpStream, Local>;

#[cfg(unix)]
type Local = UnixStream;
/// There are none.
#[cfg(not(unix))]
type Local = TcpStream;

/// One that listens. Its file goes when it is dropped.
pub(super) struct Socket {
    listener: Listener,
    door: Door,
}

enum Listener {
    Tcp(TcpListener),
    #[cfg(unix)]
    Unix(UnixListener, File),
}

/// The file of a unix socket.
struct File {
    path: PathBuf,
    /// Which file it is: another process may have put its own there since.
    inode: u64,
}

impl Socket {
    /// # Errors
    /// A text that says why not, and the way out, with the kind of the system's error.
    pub(super) async fn bind(port: &Port) -> Result<Self, (io::ErrorKind, String)> {
        let door = Door { protocol: port.protocol, exposed: port.endpoint.is_exposed() };
        let listener = match &port.endpoint {
            Endpoint::Tcp(address) => bind_tcp(*address).map(Listener::Tcp),
            Endpoint::Unix(path) => bind_unix(path).await,
        };
        match listener {
            Ok(listener) => Ok(Self { listener, door }),
            Err(error) => Err((error.kind(), why(port, &error))),
        }
    }

    /// Where it listens, with the actual port, and its only protocol, if it has one.
    pub(super) fn endpoint(&self) -> io::Result<(Endpoint, Option<&'static Protocol>)> {
        let endpoint = match &self.listener {
            Listener::Tcp(listener) => Endpoint::Tcp(listener.local_addr()?),
            #[cfg(unix)]
            Listener::Unix(_, file) => Endpoint::Unix(file.path.clone()),
        };
        Ok((endpoint, self.door.protocol))
    }
}

/// The next connection of any of them, and the way that it came.
pub(super) async fn accept_any(sockets: &[Socket]) -> io::Result<(Stream, Door)> {
    std::future::poll_fn(|context| {
        for Socket { listener, door } in sockets {
            let accepted = match listener {
                Listener::Tcp(listener) => {
                    listener.poll_accept(context).map_ok(|(stream, _)| Either::Left(stream))
                }
                #[cfg(unix)]
                Listener::Unix(listener, _) => {
                    listener.poll_accept(context).map_ok(|(stream, _)| Either::Right(stream))
                }
            };
            if let Poll::Ready(accepted) = accepted {
                return Poll::Ready(accepted.map(|stream| (stream, *door)));
            }
        }
        Poll::Pending
    })
    .await
}

/// Whether the client is on this machine.
pub(super) fn is_local(stream: &Stream) -> bool {
    match stream {
        Either::Left(stream) => stream.peer_addr().is_ok_and(|peer| peer.ip().to_canonical().is_loopback()),
        Either::Right(_) => cfg!(unix),
    }
}

/// The other end of a connection; a unix socket has no address there.
pub(super) fn peer_of(stream: &Stream) -> Option<SocketAddr> {
    match stream {
        Either::Left(stream) => stream.peer_addr().ok(),
        Either::Right(_) => None,
    }
}

fn bind_tcp(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    // A server that starts again has its port at once.
    #[cfg(unix)]
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Replaces a socket of a killed process, and nothing else.
#[cfg(unix)]
async fn bind_unix(path: &Path) -> io::Result<Listener> {
    use std::os::unix::fs::MetadataExt;

    let bind = || {
        let socket = UnixSocket::new_stream()?;
        socket.bind(path)?;
        socket.listen(BACKLOG)
    };
    let listener = match bind() {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse && is_abandoned(path).await => {
            std::fs::remove_file(path)?;
            bind()?
        }
        other => other?,
    };
    let inode = std::fs::symlink_metadata(path)?.ino();
    Ok(Listener::Unix(listener, File { path: path.to_owned(), inode }))
}

#[cfg(not(unix))]
async fn bind_unix(_: &Path) -> io::Result<Listener> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "this system has no unix sockets"))
}

#[cfg(unix)]
async fn is_abandoned(path: &Path) -> bool {
    use std::os::unix::fs::FileTypeExt;

    std::fs::symlink_metadata(path).is_ok_and(|file| file.file_type().is_socket())
        && UnixStream::connect(path)
            .await
            .is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
}

impl Drop for File {
    fn drop(&mut self) {
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt;

            let own = |file: std::fs::Metadata| file.ino() == self.inode;
            if std::fs::symlink_metadata(&self.path).is_ok_and(own) {
                // If the file stays, the next server treats it as abandoned.
                let _ = std::fs::remove_file(&self.path);
            }
        }
    }
}

fn why(port: &Port, error: &io::Error) -> String {
    let endpoint = &port.endpoint;
    let setting = match port.protocol.map(|protocol| protocol.word) {
        None => "listen, --listen",
        Some("mysql") => "mysql, --mysql",
        Some(word) => word,
    };
    let way_out = match (endpoint, error.kind()) {
        (Endpoint::Tcp(address), io::ErrorKind::AddrInUse) => format!(
            "the port {} is in use, perhaps by another floe: stop that, or listen on another port ({setting}; {}:0 takes a free one)",
            address.port(),
            address.ip()
        ),
        (Endpoint::Unix(_), io::ErrorKind::AddrInUse) => format!(
            "a running server has that socket, or the file is not a socket: stop that server, or name another path ({setting})"
        ),
        (Endpoint::Tcp(_), io::ErrorKind::PermissionDenied) => format!(
            "the system allows ports below 1024 to privileged users only: take a higher one ({setting})"
        ),
        (Endpoint::Tcp(_), io::ErrorKind::AddrNotAvailable) => {
            format!("this machine has no such address: listen on one of its own ({setting})")
        }
        (Endpoint::Unix(_), _) => format!(
            "{error}: name a path of at most 100 bytes in a directory that exists and that floe may write to ({setting})"
        ),
        _ => format!("{error}: choose another address ({setting})"),
    };
    format!("cannot listen on {endpoint}: {way_out}")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn many_may_connect_before_the_first_is_accepted() {
        let endpoint = Endpoint::Tcp(SocketAddr::from(([127, 0, 0, 1], 0)));
        let socket = Socket::bind(&Port { endpoint, protocol: None, optional: false }).await;
        let socket = socket.map_err(|(_, why)| why).unwrap();
        let Ok((Endpoint::Tcp(address), _)) = socket.endpoint() else { panic!("no address") };
        let connect = |_| std::net::TcpStream::connect_timeout(&address, Duration::from_millis(500));
        let connected: Result<Vec<_>, _> = (0..400).map(connect).collect();
        assert_eq!(connected.unwrap().len(), 400);
    }
}
