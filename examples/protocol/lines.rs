//! The example's front: requests to the one service, and their results to bytes. It would be a module below `fronts` in
//! `floe-server`, whose tests build it and run the tests at its end.
//!
//! ```text
//! @mint orders
//! 1
//! @mint nobody
//! unknown-name: there is no name `nobody`: …
//! ```

use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::time::Instant;

use super::{Conversation, Front, TurnedAway};
use crate::access::Caller;
use crate::lines_codec as codec;
use crate::metrics::ProtocolMetrics;
use crate::service::Service;
use crate::service::call::NATIVE;
use crate::session::{Next, Session, Taken};
use crate::status::{Refusal, Status};

/// The description for the listener.
pub(crate) const FRONT: Front = Front {
    protocol: &codec::PROTOCOL,
    serve,
    turn_away: |why, _| match why {
        TurnedAway::Busy(why) => format!("busy: {why}\n").into_bytes(),
        TurnedAway::NoTls(_) => b"this port takes TLS\n".to_vec(),
    },
    counters: &[("lines_unknown", "Lines that are no request")],
};

/// One client's connection.
struct Lines {
    service: Arc<Service>,
    caller: Caller,
    metrics: ProtocolMetrics,
}

fn serve(conversation: Conversation) -> BoxFuture<'static, io::Result<()>> {
    let service = Arc::clone(&conversation.backend.service);
    let metrics = service.metrics().protocol(codec::PROTOCOL.word);
    let session = Lines { service, caller: conversation.caller.clone(), metrics };
    conversation.run(session)
}

impl Session for Lines {
    async fn take(&mut self, input: &[u8], output: &mut Vec<u8>, _: Instant) -> Option<Taken> {
        let (name, bytes) = match codec::decode(input) {
            Ok(request) => request?,
            Err(error) => {
                self.service.metrics().count("lines_unknown");
                self.refuse(&Refusal::bad(format!("{error:?}: write @mint and a name")), output);
                return Some((input.len(), Next::Close));
            }
        };
        match self.service.mint(&self.caller, &NATIVE, name, 1).await {
            Ok(minted) => {
                for id in minted {
                    // Writing to memory does not fail.
                    let _ = writeln!(output, "{id}");
                }
                self.metrics.answered(1);
            }
            Err(refusal) => self.refuse(&refusal, output),
        }
        Some((bytes, Next::Read))
    }

    fn busy(&mut self, refusal: Refusal, output: &mut Vec<u8>) {
        self.refuse(&refusal, output);
    }

    fn took(&mut self, time: Duration) {
        self.metrics.took(time);
    }
}

impl Lines {
    fn refuse(&self, refusal: &Refusal, output: &mut Vec<u8>) {
        self.metrics.refused(refusal.status);
        // If the protocol had codes, a column of the table of errors would be here.
        let _ = match refusal.status {
            Status::Busy | Status::Unavailable => writeln!(output, "again: {}", refusal.text()),
            _ => writeln!(output, "{}", refusal.text()),
        };
    }
}

mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpStream;
    use tokio::sync::oneshot;

    use crate::config::{Config, Endpoint};

    async fn say(endpoint: &Endpoint, words: &str) -> String {
        let Endpoint::Tcp(address) = endpoint else { panic!("{endpoint}") };
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(words.as_bytes()).await.unwrap();
        // This protocol's client says when it is done. An HTTP client that does so would count as gone.
        if words.starts_with('@') {
            stream.shutdown().await.unwrap();
        }
        let mut said = String::new();
        let read = stream.read_to_string(&mut said).await;
        // Closing with unread bytes resets the connection.
        assert!(read.is_ok() || said.is_empty(), "{read:?} {said}");
        said
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_protocol_is_a_folder_a_codec_and_a_line_of_the_list() {
        let dir = tempfile::tempdir().unwrap();
        let text = format!(
            "realm = 'r'\ndata_dir = {:?}\nlisten = '127.0.0.1:0'\nlines = '127.0.0.1:0'\nmysql = 'off'\n\
             [[name]]\nname = 'orders'\nkind = 'counter'\n",
            dir.path()
        );
        let config = Config::parse(&text, "floe.toml".as_ref()).unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let (ready, started) = oneshot::channel();
        let running = tokio::spawn(async move {
            let stopped = async { drop(stopped.await) };
            crate::run(config, stopped, |started| ready.send(started.clone()).unwrap()).await
        });
        let started = started.await.unwrap();
        // On the port of all protocols, and on its own, which the configuration names by the protocol's word.
        assert_eq!(say(&started.endpoints[0], "@mint orders\n@mint orders\n").await, "1\n2\n");
        let (name, own) = &started.ports[0];
        assert_eq!(*name, "lines");
        assert_eq!(say(own, "@mint orders\n").await, "3\n");
        assert!(say(own, "@mint nobody\n").await.starts_with("unknown-name: there is no name `nobody`"));
        assert!(say(own, "@what\n").await.starts_with("bad-request: Unknown"));
        assert!(say(own, &"@".repeat(300)).await.starts_with("bad-request: TooLong"));
        // Its own port answers no web pages, and its counters are shown.
        assert_eq!(say(own, "GET / HTTP/1.1\r\nhost: localhost\r\n\r\n").await, "");
        let page = say(
            &started.endpoints[0],
            "GET /metrics HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n",
        );
        let page = page.await;
        for line in [
            "floe_commands_total{protocol=\"lines\",outcome=\"ok\"} 3",
            "floe_commands_total{protocol=\"lines\",outcome=\"unknown-name\"} 1",
            "floe_lines_unknown_total 2",
        ] {
            assert!(page.contains(line), "{line}: {page}");
        }
        stop.send(()).unwrap();
        running.await.unwrap().unwrap();
    }
}
