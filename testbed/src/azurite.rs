//! Azurite, Microsoft's test server for Azure's blobs.

use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use rustix::process::Signal;

use crate::{Home, Server, listens, minio, output};

/// The account that every Azurite has, and its key: both are in its documentation.
const ACCOUNT: &str = "devstoreaccount1";
const KEY: &str = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";

/// Makes the container `ids`, which takes a signed request.
const CONTAINER: &str = r#"
const [port, account, key] = process.argv.slice(1), { createHmac } = require("node:crypto");
const date = new Date().toUTCString(), version = "2021-08-06";
const text = `PUT${"\n".repeat(12)}x-ms-date:${date}\nx-ms-version:${version}\n/${account}/${account}/ids\nrestype:container`;
const signature = createHmac("sha256", Buffer.from(key, "base64")).update(text).digest("base64");
const headers = { "x-ms-date": date, "x-ms-version": version, Authorization: `SharedKey ${account}:${signature}` };
fetch(`http://127.0.0.1:${port}/${account}/ids?restype=container`, { method: "PUT", headers }).then(async (answer) => {
    if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`);
});
"#;

/// An Azurite with the container `ids`.
pub struct Azurite(Server);

impl Azurite {
    /// A server that keeps its data on disk.
    pub fn start() -> Self {
        let start = move |home: &Home, port: u16| {
            let mut command = home.command(Path::new("/usr/bin/env"));
            command.arg("node").arg(minio::stores().join("node/node_modules/azurite/dist/src/blob/main.js"));
            command.args(["--silent", "--skipApiVersionCheck", "--disableTelemetry", "--location", "data"]);
            command.args(["--blobHost", "127.0.0.1", "--blobPort", &port.to_string()]);
            command
        };
        let server = Self(Server::new(Home::new("azurite"), Signal::TERM, start, listens));
        output(Command::new("node").args(["-e", CONTAINER, &server.port().to_string(), ACCOUNT, KEY]));
        server
    }

    /// The URL of the container's folder `floe` for floe, at a port (its own or a proxy's), with these options added.
    pub fn url_at(port: u16, options: &str) -> String {
        static FILE: LazyLock<PathBuf> = LazyLock::new(|| minio::secret("azurite", KEY));
        let (endpoint, key) = (format!("http://127.0.0.1:{port}/{ACCOUNT}"), FILE.display());
        format!("az://ids/floe?endpoint={endpoint}&account={ACCOUNT}&password_file={key}&{options}")
    }
}

impl Deref for Azurite {
    type Target = Server;

    fn deref(&self) -> &Server {
        &self.0
    }
}
