//! TLS, with a certificate authority made for the test.

use std::path::{Path, PathBuf};

use floe_ledger::OpenError;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};

use super::{Home, Server, open};
use crate::{ask, got, says};

/// A server whose certificate is for `host`, the certificate of who signed it, and that of somebody else.
fn server_for(host: &str) -> (Server, PathBuf, PathBuf) {
    let authority = |name: &str| {
        let mut params = CertificateParams::new([]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, name);
        CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
    };
    let (signer, stranger) = (authority("signer"), authority("stranger"));
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new([host.to_owned()]).unwrap().signed_by(&key, &signer).unwrap();
    let put = |home: &Home| {
        home.write("server.pem", &certificate.pem());
        home.write("server.key", &key.serialize_pem());
        home.write("signer.pem", &signer.pem());
        home.write("stranger.pem", &stranger.pem());
    };
    let settings = ["ssl=on", "ssl_cert_file=../server.pem", "ssl_key_file=../server.key"];
    let server = Server::start_with(&settings, put);
    server.psql("CREATE USER encrypted SUPERUSER");
    let file = |name: &str| server.home.path().join(name);
    let (signer, stranger) = (file("signer.pem"), file("stranger.pem"));
    (server, signer, stranger)
}

/// Opens as a user who may only come by TLS.
fn opens(server: &Server, mode: &str, root: Option<&Path>) -> Result<(), OpenError> {
    let root = root.map_or(String::new(), |root| format!("&sslrootcert={}", root.display()));
    let url = format!("{}?sslmode={mode}{root}", server.url_of("encrypted"));
    floe_ledger::open(&url, "test").map(|ledger| {
        got(&*ledger, &ask(1));
    })
}

#[test]
fn each_mode_checks_what_it_says() {
    let (server, signer, stranger) = server_for("127.0.0.1");
    for (mode, root) in [
        ("prefer", None),
        ("require", None),
        ("require", Some(&*signer)),
        ("verify-ca", Some(&*signer)),
        ("verify-full", Some(&*signer)),
    ] {
        opens(&server, mode, root).unwrap();
    }
    for mode in ["require", "verify-ca", "verify-full"] {
        says(&opens(&server, mode, Some(&stranger)).unwrap_err(), &["TLS", "certificate"]);
    }
    says(&opens(&server, "disable", None).unwrap_err(), &["encrypted", "pg_hba.conf"]);
    let nowhere = Path::new("/nowhere.pem");
    says(&opens(&server, "verify-full", Some(nowhere)).unwrap_err(), &["/nowhere.pem", "PEM"]);
}

#[test]
fn a_certificate_for_another_host_is_good_for_verify_ca_alone() {
    let (server, signer, _) = server_for("db.example");
    opens(&server, "verify-ca", Some(&signer)).unwrap();
    says(&opens(&server, "verify-full", Some(&signer)).unwrap_err(), &["TLS", "certificate", "name"]);
}

#[test]
fn a_server_without_tls_is_taken_by_prefer_alone() {
    let url = |mode: &str| format!("{}?schema={}&sslmode={mode}", Server::shared().url(), Server::schema());
    drop(open(&url("prefer")));
    let Err(error) = floe_ledger::open(&url("require"), "test") else { panic!("opened without TLS") };
    says(&error, &["TLS"]);
}
