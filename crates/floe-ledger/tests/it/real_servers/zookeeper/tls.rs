//! TLS, with a certificate authority made for the test.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use floe_ledger::OpenError;
use floe_testbed::Zookeeper;

use super::open;
use crate::{ask, got, says};

fn opens(port: u16, options: &str) -> Result<(), OpenError> {
    // The first handshake of a fresh Java on a busy machine takes its time.
    let patience = "max_wait=30s&connect_timeout=30";
    let url = format!("zookeeper://127.0.0.1:{port}/floe?{patience}&{options}");
    floe_ledger::open_in(&url, "test").map(|ledger| {
        got(&*ledger, &ask(1));
    })
}

fn root(file: &Path) -> String {
    format!("sslrootcert={}", file.display())
}

#[test]
fn each_mode_checks_what_it_says() {
    let (_server, port, certificates) = Zookeeper::start_with_tls("127.0.0.1", "none");
    let (signer, stranger) = (root(&certificates.signer), root(&certificates.stranger));
    for options in [
        "sslmode=prefer",
        "sslmode=require",
        &format!("sslmode=require&{signer}"),
        &format!("sslmode=verify-ca&{signer}"),
        &format!("sslmode=verify-full&{signer}"),
    ] {
        opens(port, options).unwrap();
    }
    for mode in ["require", "verify-ca", "verify-full"] {
        says(&opens(port, &format!("sslmode={mode}&{stranger}")).unwrap_err(), &["TLS", "certificate"]);
    }
    // ZooKeeper hangs up on who does not speak TLS.
    says(&opens(port, "").unwrap_err(), &["closed the connection", "TLS"]);
    says(&opens(port, "sslmode=verify-full&sslrootcert=/nowhere.pem").unwrap_err(), &["/nowhere.pem", "PEM"]);
}

#[test]
fn a_certificate_for_another_host_is_good_for_verify_ca_alone() {
    let (_server, port, certificates) = Zookeeper::start_with_tls("db.example", "none");
    let signer = root(&certificates.signer);
    opens(port, &format!("sslmode=verify-ca&{signer}")).unwrap();
    let error = opens(port, &format!("sslmode=verify-full&{signer}")).unwrap_err();
    says(&error, &["TLS", "certificate", "name"]);
}

#[test]
fn a_server_that_wants_a_certificate_gets_one() {
    let (_server, port, certificates) = Zookeeper::start_with_tls("127.0.0.1", "need");
    let verified = format!("sslmode=verify-full&{}", root(&certificates.signer));
    let shown = |certificate: &Path| {
        format!("{verified}&sslcert={}&sslkey={}", certificate.display(), certificates.key.display())
    };
    opens(port, &shown(&certificates.server)).unwrap();
    let error = opens(port, &verified).unwrap_err();
    says(&error, &["TLS", "BadCertificate", "sslcert"]);
    says(&opens(port, &shown(&certificates.key)).unwrap_err(), &["sslcert", "server.key", "PEM"]);
    fs::set_permissions(&certificates.key, fs::Permissions::from_mode(0o644)).unwrap();
    says(&opens(port, &shown(&certificates.server)).unwrap_err(), &["server.key", "chmod 600"]);
}

#[test]
fn a_server_without_tls_is_taken_by_prefer_alone() {
    let (url, _) = super::fresh_url();
    drop(open(&format!("{url}?sslmode=prefer")));
    let Err(error) = floe_ledger::open_in(&format!("{url}?sslmode=require"), "test") else {
        panic!("opened without TLS")
    };
    says(&error, &["TLS"]);
}
