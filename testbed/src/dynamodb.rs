//! Two servers of DynamoDB's protocol, and Amazon's own command line for an operator's commands.
//!
//! Dynalite keeps its tables on disk, but checks neither signatures nor rights. Moto checks both, but loses everything
//! when it ends.

use std::fmt::Write as _;
use std::io::{Read, Write as _};
use std::net::TcpStream;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use rustix::process::Signal;

use crate::{Home, Server, listens, minio, output};

/// The clients' key if nobody checks it.
const KEY: &str = "floe";
const SECRET: &str = "a-secret-of-eight-and-more";

/// A Dynalite, which makes no table on its own.
pub struct Dynalite(Server);

impl Dynalite {
    /// A server with these options added, in which making a table takes a moment.
    pub fn start(options: &[&str]) -> Self {
        let options: Vec<String> = options.iter().map(ToString::to_string).collect();
        let start = move |home: &Home, port: u16| {
            let mut command = home.command(Path::new("/usr/bin/env"));
            command.arg("node").arg(installed("node/node_modules/dynalite/cli.js"));
            command.args(["--host", "127.0.0.1", "--port", &port.to_string(), "--path", "data"]);
            command.args(["--createTableMs", "50"]).args(&options);
            command
        };
        Self(Server::new(Home::new("dynalite"), Signal::TERM, start, listens))
    }

    /// The URL of the table `ids` for floe, at a port (its own or a proxy's), with these options added.
    pub fn url_at(port: u16, options: &str) -> String {
        static FILE: LazyLock<PathBuf> = LazyLock::new(|| minio::secret("dynamodb", SECRET));
        url(port, KEY, &FILE, options)
    }

    /// The same with the secret in the server's own directory, for a floe that runs as the server's user.
    pub(crate) fn own_url(&self, options: &'static str) -> impl Fn(u16) -> String + use<> {
        let file = self.home().write("secret", SECRET);
        move |port| url(port, KEY, &file, options)
    }

    /// The output of an `aws dynamodb` command.
    #[track_caller]
    pub fn aws(&self, command: &str) -> String {
        output(&mut aws(self.port(), [KEY, SECRET], &format!("dynamodb {command}")))
    }

    /// Sends a request to the server at `port`, and returns the whole answer: `HTTP/1.1 200 OK` and so on.
    pub fn ask(port: u16, operation: &str, body: &str) -> String {
        let heads = [
            "Content-Type: application/x-amz-json-1.0".to_owned(),
            format!("X-Amz-Target: DynamoDB_20120810.{operation}"),
            "X-Amz-Date: 20260101T000000Z".to_owned(),
            "Authorization: AWS4-HMAC-SHA256 Credential=floe/20260101/us-east-1/dynamodb/aws4_request, \
             SignedHeaders=host, Signature=0"
                .to_owned(),
        ];
        post(port, "/", &heads, body)
    }
}

impl Deref for Dynalite {
    type Target = Server;

    fn deref(&self) -> &Server {
        &self.0
    }
}

/// A Moto that checks signatures, and gives its users the rights of their policy.
pub struct Moto {
    server: Server,
    keys: [String; 2],
}

impl Moto {
    /// A server with the single user `floe`, who has the rights in this IAM policy.
    ///
    /// These `aws dynamodb` commands run before rights are checked.
    pub fn start(policy: &str, before: &[&str]) -> Self {
        let start = |home: &Home, port: u16| {
            let mut command = home.command(&installed("python/bin/python"));
            command.args(["-m", "moto.server", "-H", "127.0.0.1", "-p", &port.to_string()]);
            // It asks no cloud for things that it does not have.
            command.env("MOTO_DISABLE_GLOBAL_CORS", "true");
            command
        };
        let server = Server::new(Home::new("moto"), Signal::TERM, start, listens);
        let moto = Self { server, keys: [KEY, SECRET].map(str::to_owned) };
        moto.iam("create-user", &[]);
        moto.iam("put-user-policy", &["--policy-name", "ids", "--policy-document", policy]);
        let made = moto.iam("create-access-key", &["--query", "AccessKey.[AccessKeyId,SecretAccessKey]"]);
        let mut words = made.split_whitespace().map(str::to_owned);
        let keys = [words.next().unwrap(), words.next().unwrap()];
        for command in before {
            moto.aws(command);
        }
        // From the next request on, keys and rights are checked.
        let answer = post(moto.server.port(), "/moto-api/reset-auth", &[], "0");
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        Self { keys, ..moto }
    }

    fn iam(&self, command: &str, arguments: &[&str]) -> String {
        let mut aws = aws(self.server.port(), self.keys.each_ref().map(String::as_str), "iam");
        output(aws.args([command, "--user-name", "floe", "--output", "text"]).args(arguments))
    }

    /// The URL of the table `ids` for floe as that user, at a port (its own or a proxy's), with these options added.
    pub fn url_at(&self, port: u16, options: &str) -> String {
        let file = self.server.home().write("secret", &self.keys[1]);
        url(port, &self.keys[0], &file, options)
    }

    /// The output of an `aws dynamodb` command of that user.
    #[track_caller]
    pub fn aws(&self, command: &str) -> String {
        let keys = self.keys.each_ref().map(String::as_str);
        output(&mut aws(self.server.port(), keys, &format!("dynamodb {command}")))
    }
}

impl Deref for Moto {
    type Target = Server;

    fn deref(&self) -> &Server {
        &self.server
    }
}

fn url(port: u16, key: &str, secret: &Path, options: &str) -> String {
    let secret = secret.display();
    format!("dynamodb://ids?endpoint=http://127.0.0.1:{port}&key_id={key}&password_file={secret}&{options}")
}

/// A command of Amazon's command line. Its words must have no spaces.
fn aws(port: u16, [key, secret]: [&str; 2], command: &str) -> Command {
    let mut aws = Command::new(installed("python/bin/aws"));
    aws.args(["--endpoint-url", &format!("http://127.0.0.1:{port}"), "--region", "us-east-1"]);
    aws.env("AWS_ACCESS_KEY_ID", key).env("AWS_SECRET_ACCESS_KEY", secret).env("AWS_PAGER", "");
    aws.args(command.split_whitespace());
    aws
}

fn post(port: u16, path: &str, heads: &[String], body: &str) -> String {
    let mut request = format!("POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n");
    for head in heads {
        write!(request, "{head}\r\n").unwrap();
    }
    write!(request, "Content-Length: {}\r\n\r\n{body}", body.len()).unwrap();
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

fn installed(path: &str) -> PathBuf {
    let path = minio::stores().join(path);
    assert!(
        path.exists(),
        "these tests need {}: ./scripts/stores installs it, and scripts/test --skip-stores leaves them out",
        path.display()
    );
    path
}
