//! TLS, with a certificate authority made for the test.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use floe_ledger::OpenError;

use super::{Etcd, open, prefix, refused, url};
use crate::{ask, got, says};

fn opens(server: &Etcd, mode: &str, root: Option<&Path>, more: &str) -> Result<(), OpenError> {
    let root = root.map_or(String::new(), |root| format!("&sslrootcert={}", root.display()));
    let url = url(server, "/floe", &format!("sslmode={mode}{root}{more}"));
    floe_ledger::open_in(&url, "test").map(|ledger| {
        got(&*ledger, &ask(1));
    })
}

#[test]
fn each_mode_checks_what_it_says() {
    let (server, files) = Etcd::start_with_tls("127.0.0.1", &[]);
    for (mode, root) in [
        ("require", None),
        ("require", Some(&*files.signer)),
        ("verify-ca", Some(&*files.signer)),
        ("verify-full", Some(&*files.signer)),
    ] {
        opens(&server, mode, root, "").unwrap();
    }
    for mode in ["require", "verify-ca", "verify-full"] {
        says(&opens(&server, mode, Some(&files.stranger), "").unwrap_err(), &["TLS", "certificate"]);
    }
    says(&opens(&server, "disable", None, "").unwrap_err(), &["whether it speaks TLS", "sslmode"]);
    says(&refused(&server.url()), &["whether it speaks TLS", "sslmode"]);
    let nowhere = Path::new("/nowhere.pem");
    says(&opens(&server, "verify-full", Some(nowhere), "").unwrap_err(), &["/nowhere.pem", "PEM"]);
}

#[test]
fn a_certificate_for_another_host_is_good_for_verify_ca_alone() {
    let (server, files) = Etcd::start_with_tls("etcd.example", &[]);
    opens(&server, "verify-ca", Some(&files.signer), "").unwrap();
    let refusal = opens(&server, "verify-full", Some(&files.signer), "").unwrap_err();
    says(&refusal, &["TLS", "certificate", "name"]);
}

#[test]
fn a_server_that_asks_for_a_certificate_gets_one() {
    let (server, files) =
        Etcd::start_with_tls("127.0.0.1", &["--client-cert-auth", "--trusted-ca-file=signer.pem"]);
    let refusal = opens(&server, "verify-full", Some(&files.signer), "").unwrap_err();
    says(&refusal, &["asks for a certificate (sslcert)"]);
    let own = format!("&sslcert={}&sslkey={}", files.server.display(), files.key.display());
    opens(&server, "verify-full", Some(&files.signer), &own).unwrap();
    let swapped = format!("&sslcert={}&sslkey={}", files.key.display(), files.key.display());
    says(&opens(&server, "require", None, &swapped).unwrap_err(), &["sslcert", "server.key"]);
    fs::set_permissions(&files.key, fs::Permissions::from_mode(0o640)).unwrap();
    opens(&server, "require", None, &own).unwrap();
    fs::set_permissions(&files.key, fs::Permissions::from_mode(0o644)).unwrap();
    says(&opens(&server, "require", None, &own).unwrap_err(), &["server.key", "chmod 600"]);
}

#[test]
fn a_server_without_tls_is_refused_where_tls_was_asked_for() {
    let prefix = prefix();
    drop(open(&url(Etcd::shared(), &prefix, "sslmode=disable")));
    let error = refused(&url(Etcd::shared(), &prefix, "sslmode=require&max_wait=500ms"));
    assert!(matches!(error, OpenError::Ledger(_)), "{error:?}");
}
