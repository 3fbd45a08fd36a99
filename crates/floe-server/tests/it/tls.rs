//! TLS on the port, certificates for tokens, and new certificates in a running server.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use floe_server::NewToken;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::harness::{Server, say, tcp, until};

const NAMES: &str =
    "[[name]]\nname = 'orders'\nkind = 'counter'\n[[name]]\nname = 'bills'\nkind = 'counter'\n";

/// Writes a key that its owner alone reads: a server refuses any other.
fn write_key(file: &Path, pem: impl AsRef<[u8]>) {
    std::fs::write(file, pem).unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o600)).unwrap();
    }
}

/// An authority, and certificates that it signs.
struct Authority {
    directory: TempDir,
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl Authority {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mut params = CertificateParams::new([]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        std::fs::write(directory.path().join("ca.pem"), issuer.pem()).unwrap();
        let new = Self { directory, issuer };
        new.sign("server", "localhost");
        new
    }

    fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Writes `<file>.pem` and `<file>.key`.
    fn sign(&self, file: &str, name: &str) {
        let mut params = CertificateParams::new([name.to_owned()]).unwrap();
        params.distinguished_name.push(DnType::CommonName, format!("{name}.cn"));
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        write_key(&self.file(&format!("{file}.key")), key.serialize_pem());
        std::fs::write(self.file(&format!("{file}.pem")), certificate.pem()).unwrap();
    }

    fn settings(&self, more: &str) -> String {
        let dir = self.directory.path().display();
        format!(
            "tls = {{ certificate = '{dir}/server.pem', key = '{dir}/server.key', client_ca = '{dir}/ca.pem'{more} }}\n"
        )
    }

    async fn connect(&self, server: &Server, client: Option<&str>, alpn: &[&[u8]]) -> TlsStream<TcpStream> {
        self.secure(TcpStream::connect(server.address).await.unwrap(), client, alpn).await
    }

    async fn secure(&self, stream: TcpStream, client: Option<&str>, alpn: &[&[u8]]) -> TlsStream<TcpStream> {
        let certificates = |file: &Path| {
            CertificateDer::pem_file_iter(file).unwrap().map(Result::unwrap).collect::<Vec<_>>()
        };
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(certificates(&self.file("ca.pem")));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder =
            ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
        let builder = builder.with_root_certificates(roots);
        let mut config = match client {
            None => builder.with_no_client_auth(),
            Some(file) => {
                let key = PrivateKeyDer::from_pem_file(self.file(&format!("{file}.key"))).unwrap();
                builder.with_client_auth_cert(certificates(&self.file(&format!("{file}.pem"))), key).unwrap()
            }
        };
        config.alpn_protocols = alpn.iter().map(|protocol| protocol.to_vec()).collect();
        TlsConnector::from(Arc::new(config)).connect("localhost".try_into().unwrap(), stream).await.unwrap()
    }
}

#[tokio::test]
async fn a_certificate_or_a_token_says_who_calls_over_tls() {
    let (authority, token) = (Authority::new(), NewToken::random("shop", "orders").unwrap());
    authority.sign("cache", "cache.example");
    authority.sign("bank", "bank.example");
    authority.sign("stranger", "stranger.example");
    // A name counts whole, whatever stands in it.
    authority.sign("longer", "cache.example.cn.stranger");
    authority.sign("shorter", "example");
    let by_certificate = "[[token]]\nname = 'cache'\nnames = ['bills']\ncertificate = 'cache.example.cn'\n\
                          [[token]]\nname = 'bank'\nnames = ['orders']\ncertificate = 'bank.example'\n";
    let text = format!("{}{NAMES}{}{by_certificate}", authority.settings(""), token.toml());
    let server = Server::of(&text).await;
    let asked = b"INCR bills\r\nINCR orders\r\nQUIT\r\n";
    for (client, expected) in [
        (Some("cache"), [":1", "-NOPERM"]),
        (Some("bank"), ["-NOPERM", ":1"]),
        (Some("stranger"), ["-NOAUTH"; 2]),
        (Some("longer"), ["-NOAUTH"; 2]),
        (Some("shorter"), ["-NOAUTH"; 2]),
        (None, ["-NOAUTH"; 2]),
    ] {
        let said = say(authority.connect(&server, client, &[]).await, asked).await;
        let heads: Vec<_> = said.lines().take(2).map(|line| line.split(' ').next().unwrap()).collect();
        assert_eq!(heads, expected, "{client:?}: {said}");
    }
    let stream = authority.connect(&server, None, &[b"http/1.1"]).await;
    let request = format!(
        "GET /v1/mint/orders HTTP/1.1\r\nhost: a\r\nauthorization: Bearer {}\r\nconnection: close\r\n\r\n",
        token.secret()
    );
    assert!(say(stream, request.as_bytes()).await.ends_with("{\"name\":\"orders\",\"ids\":[\"2\"]}\n"));
    let stream = authority.connect(&server, None, &[b"h2", b"http/1.1"]).await;
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
    // On loopback, plain is served as well.
    assert_eq!(server.get("/livez").await.status(), 200);
}

#[tokio::test]
async fn a_certificate_says_who_calls_over_mysql_too() {
    let authority = Authority::new();
    authority.sign("cache", "cache.example");
    authority.sign("stranger", "stranger.example");
    let token = "[[token]]\nname = 'cache'\nnames = ['bills']\ncertificate = 'cache.example'\n";
    let server = Server::of(&format!("{}{NAMES}{token}", authority.settings(""))).await;
    let (_, endpoint) = server.started.ports.iter().find(|(spoken, _)| *spoken == "MySQL").unwrap();
    let packet = |number: u8, payload: &[u8]| {
        [&[u8::try_from(payload.len()).unwrap(), 0, 0, number], payload].concat()
    };
    // PROTOCOL_41, TLS, SECURE_CONNECTION and PLUGIN_AUTH, with an empty proof.
    let hello = [&0x8_8a00_u32.to_le_bytes()[..], b"\0\0\0\x01\x2d", &[0; 23]].concat();
    let login = [&hello[..], b"app\0\0caching_sha2_password\0"].concat();
    let mint = |name: &str| packet(0, format!("\x03REPLACE INTO {name} (stub) VALUES ('a')").as_bytes());
    let asked = [packet(2, &login), mint("bills"), mint("orders"), packet(0, b"\x01")].concat();
    for (client, refused) in
        [("cache", "`cache` is not for the name \"orders\""), ("stranger", "asks for a token")]
    {
        let mut stream = TcpStream::connect(tcp(endpoint)).await.unwrap();
        let length = stream.read_u32_le().await.unwrap() & 0xff_ffff;
        stream.read_exact(&mut vec![0; length as usize]).await.unwrap();
        stream.write_all(&packet(1, &hello)).await.unwrap();
        let said = say(authority.secure(stream, Some(client), &[]).await, &asked).await;
        assert!(said.contains(refused) && !said.contains("bills"), "{client}: {said}");
    }
    server.stop().await.unwrap();
}

#[tokio::test]
async fn plain_and_tls_are_refused_where_they_are_not_served() {
    let (authority, token) = (Authority::new(), NewToken::random("shop", "*").unwrap());
    let exposed = "listen = ['0.0.0.0:0']\n";
    let server = Server::of(&format!("{exposed}{}{NAMES}{}", authority.settings(""), token.toml())).await;
    let connect = async |server: &Server| TcpStream::connect(server.address).await.unwrap();
    let said = say(connect(&server).await, b"GET /livez HTTP/1.1\r\nhost: a\r\n\r\n").await;
    assert!(said.starts_with("HTTP/1.1 400") && said.contains("takes TLS"), "{said}");
    assert!(say(connect(&server).await, b"PING\r\n").await.starts_with("-ERR this port takes TLS"));
    assert_eq!(say(connect(&server).await, &[0x80, 0x01, 0x00, 0x01, 0, 0, 0, 1]).await, "");
    let stream = authority.connect(&server, None, &[]).await;
    assert!(say(stream, b"GET /livez HTTP/1.0\r\n\r\n").await.starts_with("HTTP/1.0 200"));

    // MySQL's clients ask for TLS after the greeting. This one logs in without, as `a`, with no password.
    let mysql = "mysql = ['0.0.0.0:0']\n";
    let text = format!("{mysql}{}{NAMES}{}", authority.settings(""), token.toml());
    let tickets = Server::of(&text).await;
    let (_, endpoint) = &tickets.started.ports[0];
    let mut login = b"\x22\0\0\x01\x00\x82\0\0\0\0\0\x01\x21".to_vec();
    login.extend([0; 23]);
    login.extend(b"a\0\0");
    login[0] = u8::try_from(login.len() - 4).unwrap();
    let said = say(TcpStream::connect(tcp(endpoint)).await.unwrap(), &login).await;
    assert!(said.contains("#HY000this port takes TLS"), "{said}");

    let text = format!("{exposed}{}{NAMES}{}", authority.settings(", plain = true"), token.toml());
    let open = Server::of(&text).await;
    assert_eq!(open.get("/livez").await.status(), 200);

    let plain = Server::standalone().await;
    let mut stream = connect(&plain).await;
    stream.write_all(&[22, 3, 1, 2, 0, 1, 0]).await.unwrap();
    let mut alert = [0; 7];
    stream.read_exact(&mut alert).await.unwrap();
    assert_eq!(alert, [21, 3, 1, 0, 2, 2, 40]);
}

#[tokio::test]
async fn a_new_certificate_is_taken_up_and_a_broken_one_is_not() {
    let authority = Authority::new();
    let server = Server::of(&format!("{}{NAMES}", authority.settings(""))).await;
    let shown = async || {
        let stream = authority.connect(&server, None, &[]).await;
        stream.get_ref().1.peer_certificates().unwrap()[0].clone().into_owned()
    };
    let first = shown().await;
    // A certificate whose key has not been written yet.
    let key = std::fs::read(authority.file("server.key")).unwrap();
    authority.sign("server", "localhost");
    let new_key = std::fs::read(authority.file("server.key")).unwrap();
    write_key(&authority.file("server.key"), &key);
    assert_eq!(shown().await, first);
    write_key(&authority.file("server.key"), &new_key);
    let written = CertificateDer::from_pem_file(authority.file("server.pem")).unwrap();
    until("the new certificate", async || (shown().await == written).then_some(())).await;
    assert_ne!(first, written);
}

#[tokio::test]
async fn files_that_are_no_certificates_keep_a_server_from_starting() {
    let authority = Authority::new();
    for (file, content) in [("server.key", "x"), ("server.pem", "x"), ("ca.pem", "")] {
        let kept = std::fs::read(authority.file(file)).unwrap();
        std::fs::write(authority.file(file), content).unwrap();
        let config = crate::harness::file(&format!("{}{NAMES}", authority.settings("")));
        assert!(config.check_files().unwrap_err().to_string().contains(file));
        let error = Server::try_start(config, crate::harness::directory()).await.err().unwrap().to_string();
        assert!(error.contains(file) && error.starts_with("tls."), "{error}");
        std::fs::write(authority.file(file), kept).unwrap();
    }
}

#[tokio::test]
async fn curl_and_redis_cli_are_clients_over_tls() {
    let (authority, token) = (Authority::new(), NewToken::random("shop", "orders").unwrap());
    let server = Server::of(&format!("{}{NAMES}{}", authority.settings(""), token.toml())).await;
    let (port, ca, secret) = (server.address.port(), authority.file("ca.pem"), token.secret().to_owned());
    let said = tokio::task::spawn_blocking(move || {
        let run = |program: &str, arguments: &[&str]| {
            let output = Command::new(program).args(arguments).output().unwrap();
            String::from_utf8(output.stdout).unwrap().trim().to_owned()
        };
        let ca = ca.to_str().unwrap();
        let url = format!("https://localhost:{port}/v1/mint/orders");
        let (bearer, basic) = (format!("Authorization: Bearer {secret}"), format!("any:{secret}"));
        let shown = ["-s", "-S", "-w", " %{http_version} %{http_code}", "--cacert", ca];
        let curl = |more: &[&str]| run("curl", &[&shown, more, &[url.as_str()]].concat());
        let port = port.to_string();
        let redis = ["-h", "localhost", "-p", &port, "--tls", "--cacert", ca];
        let redis = |more: &[&str]| run("redis-cli", &[&redis, more, &["INCR", "orders"]].concat());
        vec![
            curl(&["--http1.1", "-H", &bearer]),
            curl(&["--http2", "-u", &basic]),
            curl(&["--http2"]),
            redis(&["--no-auth-warning", "-a", &secret]),
            redis(&["--no-auth-warning", "-3", "--user", "any", "--pass", &secret]),
            redis(&[]),
        ]
    });
    let said = said.await.unwrap();
    assert_eq!(said[0], "{\"name\":\"orders\",\"ids\":[\"1\"]}\n 1.1 200");
    assert_eq!(said[1], "{\"name\":\"orders\",\"ids\":[\"2\"]}\n 2 200");
    assert!(said[2].ends_with(" 2 401"), "{}", said[2]);
    assert_eq!(said[3..5], ["3", "4"]);
    assert!(said[5].contains("NOAUTH"), "{}", said[5]);
}
