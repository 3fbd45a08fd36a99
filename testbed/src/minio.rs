//! MinIO, a server with S3's protocol.

use std::io::Write;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, LazyLock};

use rustix::process::Signal;
use tempfile::NamedTempFile;

use crate::{Home, Server, output};

/// The name and the secret of its only user.
const USER: &str = "floe";
const SECRET: &str = "a-secret-of-eight-and-more";

/// A MinIO with the bucket `ids`.
pub struct Minio(Server);

impl Minio {
    /// A server with these environment variables added, `NAME=value` each.
    pub fn start(settings: &[&str]) -> Self {
        let home = Home::new("minio");
        let settings: Arc<[String]> = settings.iter().map(|setting| (*setting).to_owned()).collect();
        let start = move |home: &Home, port: u16| {
            let mut command = home.command(&program());
            command.args(["server", "data", "--quiet", "--address", &format!("127.0.0.1:{port}")]);
            command.args(["--console-address", "127.0.0.1:0"]);
            command.env("MINIO_ROOT_USER", USER).env("MINIO_ROOT_PASSWORD", SECRET);
            // It does not check for a newer version.
            command.env("MINIO_UPDATE", "off").env("HOME", home.path());
            command.envs(settings.iter().filter_map(|setting| setting.split_once('=')));
            command
        };
        let ready = |port: u16| {
            let mut asked = Command::new("curl");
            let url = format!("http://127.0.0.1:{port}/minio/health/cluster");
            asked.args(["-sf", "-m", "5", "-o", "/dev/null", &url]).status().unwrap().success()
        };
        let server = Self(Server::new(home, Signal::TERM, start, ready));
        server.curl("PUT", "");
        server
    }

    /// The server's answer to a request for a path in the bucket, for an operator's commands.
    #[track_caller]
    pub fn curl(&self, method: &str, path: &str) -> String {
        output(&mut self.request(method, path))
    }

    /// Lets callers without a key do this in the bucket, and nothing else: each an action of S3, and the name of what it is
    /// allowed on.
    #[track_caller]
    pub fn allow(&self, rights: &[(&str, &str)]) {
        let statement = |(action, on): &(&str, &str)| {
            format!(
                r#"{{"Effect":"Allow","Principal":{{"AWS":["*"]}},"Action":["{action}"],"Resource":["{on}"]}}"#
            )
        };
        let statements = rights.iter().map(statement).collect::<Vec<_>>().join(",");
        let policy = format!(r#"{{"Version":"2012-10-17","Statement":[{statements}]}}"#);
        let mut request = self.request("PUT", "?policy=");
        output(request.args(["-H", "x-amz-content-sha256: UNSIGNED-PAYLOAD", "--data", &policy]));
    }

    fn request(&self, method: &str, path: &str) -> Command {
        let mut curl = Command::new("curl");
        curl.args([
            "-sSf",
            "-m",
            "20",
            "--aws-sigv4",
            "aws:amz:us-east-1:s3",
            "-u",
            &format!("{USER}:{SECRET}"),
        ]);
        curl.args(["-X", method, &format!("http://127.0.0.1:{}/ids{path}", self.port())]);
        curl
    }

    /// The URL of the bucket's folder `floe` for floe, at a port (its own or a proxy's), with these options added.
    pub fn url_at(port: u16, options: &str) -> String {
        static FILE: LazyLock<PathBuf> = LazyLock::new(|| secret("minio", SECRET));
        url(port, &FILE, options)
    }

    /// The same with the secret in the server's own directory, for a floe that runs as the server's user.
    pub(crate) fn own_url(&self, options: &'static str) -> impl Fn(u16) -> String + use<> {
        let file = self.home().write("secret", SECRET);
        move |port| url(port, &file, options)
    }
}

fn url(port: u16, secret: &Path, options: &str) -> String {
    let secret = secret.display();
    format!("s3://ids/floe?endpoint=http://127.0.0.1:{port}&key_id={USER}&password_file={secret}&{options}")
}

impl Deref for Minio {
    type Target = Server;

    fn deref(&self) -> &Server {
        &self.0
    }
}

fn program() -> PathBuf {
    let path = stores().join("bin/minio");
    assert!(
        path.is_file(),
        "these tests need {}: ./scripts/stores builds it, and scripts/test --skip-stores leaves them out",
        path.display()
    );
    path
}

/// The folder in which `scripts/stores` installs.
pub(crate) fn stores() -> PathBuf {
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("target");
    std::env::var_os("CARGO_TARGET_DIR").map_or(target, PathBuf::from).join("stores")
}

/// A file with a secret, which only its owner can read. Each process replaces it by the same.
pub(crate) fn secret(whose: &str, text: &str) -> PathBuf {
    let path = stores().join(format!("{whose}-secret"));
    let mut file = NamedTempFile::new_in(stores()).unwrap();
    file.write_all(text.as_bytes()).unwrap();
    file.persist(&path).unwrap();
    path
}
