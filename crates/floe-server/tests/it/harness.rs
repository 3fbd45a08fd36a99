//! A server to ask, and ways to ask it.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use floe_server::{Config, Endpoint, ServeError, Started};
use reqwest::{Client, Response};
use serde_json::Value;
use tempfile::TempDir;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// How long a test waits for what has to happen.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// A running server.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    pub(crate) started: Started,
    pub(crate) client: Client,
    pub(crate) directory: Arc<TempDir>,
    stop: Option<oneshot::Sender<()>>,
    task: JoinHandle<Result<(), ServeError>>,
}

/// An empty data directory.
pub(crate) fn directory() -> Arc<TempDir> {
    Arc::new(tempfile::tempdir().unwrap())
}

/// The configuration of a file, which names its realm already.
pub(crate) fn file(text: &str) -> Config {
    Config::parse(&format!("realm = \"test\"\n{text}"), Path::new("floe.toml")).unwrap()
}

impl Server {
    /// Without a file: names are made on first use.
    pub(crate) async fn standalone() -> Self {
        Self::start(Config::standalone(), directory()).await
    }

    /// With a file. One that lists no name gets one, since there has to be something to mint.
    pub(crate) async fn of(text: &str) -> Self {
        let name =
            if text.contains("[[name]]") { "" } else { "\n[[name]]\nname = \"some\"\nkind = \"counter\"\n" };
        Self::start(file(&format!("{text}{name}")), directory()).await
    }

    /// On a data directory, at a free port.
    pub(crate) async fn start(config: Config, directory: Arc<TempDir>) -> Self {
        match Self::try_start(config, directory).await {
            Ok(server) => server,
            Err(error) => panic!("the server does not start: {error}"),
        }
    }

    /// The same, or why it does not start.
    pub(crate) async fn try_start(mut config: Config, directory: Arc<TempDir>) -> Result<Self, ServeError> {
        // A test that listens elsewhere takes a free port there.
        let free = |host: [u8; 4]| Endpoint::Tcp((host, 0).into());
        if config.listen == Config::standalone().listen {
            config.listen = vec![free([127, 0, 0, 1])];
        }
        // The default port belongs to one server at a time.
        config.own_ports.entry("mysql").or_insert_with(|| vec![free([127, 0, 0, 1])]);
        config.data_dir = directory.path().join("data");
        let (stop, stopped) = oneshot::channel::<()>();
        let (ready, is_ready) = oneshot::channel();
        let stopped = async {
            // A sender that is dropped is a test that has ended.
            let _ = stopped.await;
        };
        let ready = move |started: &Started| ready.send(started.clone()).unwrap();
        let task = tokio::spawn(floe_server::run(config, stopped, ready));
        // A server that does not start drops its end of the channel.
        let Ok(started) = is_ready.await else { return Err(task.await.unwrap().unwrap_err()) };
        let client = Client::builder().timeout(PATIENCE).build().unwrap();
        let mut endpoints =
            started.endpoints.iter().chain(started.ports.iter().map(|(_, endpoint)| endpoint));
        let address = tcp(endpoints.find(|endpoint| matches!(endpoint, Endpoint::Tcp(_))).unwrap());
        Ok(Self { address, started, client, directory, stop: Some(stop), task })
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(crate) async fn get(&self, path: &str) -> Response {
        self.client.get(self.url(path)).send().await.unwrap()
    }

    pub(crate) async fn accept(&self, path: &str, media: &str) -> Response {
        self.client.get(self.url(path)).header("accept", media).send().await.unwrap()
    }

    /// The JSON of a path that answers 200.
    pub(crate) async fn json(&self, path: &str) -> Value {
        let response = self.get(path).await;
        let (status, text) = (response.status(), response.text().await.unwrap());
        assert_eq!(status, 200, "{path}: {text}");
        serde_json::from_str(&text).unwrap()
    }

    /// The text of a path that answers 200.
    pub(crate) async fn text(&self, path: &str) -> String {
        let response = self.get(path).await;
        assert_eq!(response.status(), 200, "{path}");
        response.text().await.unwrap()
    }

    /// The value of a metric without labels.
    pub(crate) async fn metric(&self, name: &str) -> u64 {
        let text = self.text("/metrics").await;
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.unwrap_or_else(|| panic!("{name} is not in {text}")).parse().unwrap()
    }

    /// What the server's clients hold of `limits.memory`.
    pub(crate) async fn held(&self) -> u64 {
        self.metric("floe_memory_held_bytes").await
    }

    /// The error of a path: its body is checked to be a whole problem of that status.
    pub(crate) async fn problem(&self, path: &str, status: u16) -> Value {
        problem(self.get(path).await, status).await
    }

    /// The IDs of a call.
    pub(crate) async fn mint(&self, name: &str, n: u64) -> Vec<String> {
        let answer = self.json(&format!("/v1/mint/{name}?n={n}")).await;
        answer["ids"].as_array().unwrap().iter().map(|id| id.as_str().unwrap().to_owned()).collect()
    }

    /// Tells the server to stop, and waits until it has.
    pub(crate) async fn stop(mut self) -> Result<(), ServeError> {
        self.tell_to_stop();
        self.ended().await
    }

    pub(crate) fn tell_to_stop(&mut self) {
        self.stop.take().unwrap().send(()).unwrap();
    }

    /// Waits until the server ends.
    pub(crate) async fn ended(self) -> Result<(), ServeError> {
        tokio::time::timeout(PATIENCE, self.task).await.expect("the server did not end").unwrap()
    }
}

/// All that a server says to this until it closes.
pub(crate) async fn say(mut stream: impl AsyncRead + AsyncWrite + Unpin, words: &[u8]) -> String {
    stream.write_all(words).await.unwrap();
    let mut said = Vec::new();
    tokio::time::timeout(PATIENCE, stream.read_to_end(&mut said)).await.expect("it closes").unwrap();
    String::from_utf8_lossy(&said).into_owned()
}

/// The address of an endpoint of TCP.
pub(crate) fn tcp(endpoint: &Endpoint) -> SocketAddr {
    match endpoint {
        Endpoint::Tcp(address) => *address,
        Endpoint::Unix(path) => panic!("{} is no address", path.display()),
    }
}

/// Checks that a response is a whole RFC 9457 problem of this status.
pub(crate) async fn problem(response: Response, status: u16) -> Value {
    let path = response.url().path().to_owned();
    assert_eq!(response.status(), status, "{path}");
    assert_eq!(response.headers()["content-type"], "application/problem+json");
    assert_eq!(response.headers()["cache-control"], "no-store");
    assert!(response.headers()["date"].to_str().unwrap().ends_with(" GMT"));
    if status == 503 {
        assert!(response.headers()["retry-after"].to_str().unwrap().parse::<u64>().unwrap() >= 1);
    }
    let body: Value = response.json().await.unwrap();
    assert_eq!(body["status"], status);
    assert_eq!(body["instance"].as_str().unwrap(), path);
    assert!(body["type"].as_str().unwrap().starts_with("/problems/"), "{body}");
    assert!(!body["title"].as_str().unwrap().is_empty());
    // Some cause and some way out: no detail is a mere word.
    assert!(body["detail"].as_str().unwrap().len() > 30, "{body}");
    body
}

/// Asks until the answer is as it should be.
pub(crate) async fn until<T, F: Future<Output = Option<T>>>(what: &str, mut ask: impl FnMut() -> F) -> T {
    let asking = async {
        loop {
            if let Some(found) = ask().await {
                return found;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, asking).await.unwrap_or_else(|_| panic!("in vain: {what}"))
}
