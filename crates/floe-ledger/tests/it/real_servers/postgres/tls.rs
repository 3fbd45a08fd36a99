//! TLS, with a certificate authority made for the test.

use std::path::{Path, PathBuf};

use floe_ledger::OpenError;
use floe_testbed::{Certificates, Home};

use super::{Postgres, open, schema};
use crate::{ask, got, says};

/// A server with a certificate for `host`, its signer's certificate, and another signer's certificate.
fn server_for(host: &str) -> (Postgres, PathBuf, PathBuf) {
    let home = Home::new("postgres");
    let certificates = Certificates::for_host(host, &home);
    let settings = ["ssl=on", "ssl_cert_file=../server.pem", "ssl_key_file=../server.key"];
    let server = Postgres::start_in(home, &settings);
    server.psql("CREATE USER encrypted SUPERUSER");
    (server, certificates.signer, certificates.stranger)
}

/// Opens as a user who must use TLS.
fn opens(server: &Postgres, mode: &str, root: Option<&Path>) -> Result<(), OpenError> {
    let root = root.map_or(String::new(), |root| format!("&sslrootcert={}", root.display()));
    let url = format!("{}?sslmode={mode}{root}", server.url_of("encrypted"));
    floe_ledger::open_in(&url, "test").map(|ledger| {
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
    let url = |mode: &str| format!("{}?schema={}&sslmode={mode}", Postgres::shared().url(), schema());
    drop(open(&url("prefer")));
    let Err(error) = floe_ledger::open_in(&url("require"), "test") else { panic!("opened without TLS") };
    says(&error, &["TLS", "sslmode=disable"]);
}
