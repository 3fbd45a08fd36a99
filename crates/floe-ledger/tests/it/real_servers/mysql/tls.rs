//! TLS, with a certificate authority made for the test.

use std::path::{Path, PathBuf};

use floe_ledger::OpenError;
use floe_testbed::{Certificates, Home};

use super::{Mariadb, open};
use crate::{ask, got, says};

/// A server with a certificate for `host`, its signer's certificate, and another signer's certificate.
fn server_for(host: &str) -> (Mariadb, PathBuf, PathBuf) {
    let home = Home::new("mariadb");
    let certificates = Certificates::for_host(host, &home);
    let file = |option: &str, path: &Path| format!("--{option}={}", path.display());
    let settings = [file("ssl-cert", &certificates.server), file("ssl-key", &certificates.key)];
    let server = Mariadb::start_in(home, &settings.each_ref().map(String::as_str));
    server.sql("CREATE USER encrypted IDENTIFIED BY 'right' REQUIRE SSL; GRANT ALL ON floe.* TO encrypted");
    (server, certificates.signer, certificates.stranger)
}

/// Opens as a user who must use TLS.
fn opens(server: &Mariadb, mode: &str, root: Option<&Path>) -> Result<(), OpenError> {
    let root = root.map_or(String::new(), |root| format!("&sslrootcert={}", root.display()));
    let url = format!("{}?sslmode={mode}{root}", server.url_of("encrypted:right"));
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
        says(&opens(&server, mode, Some(&stranger)).unwrap_err(), &["TLS", "certificate", "sslrootcert"]);
    }
    says(&opens(&server, "disable", None).unwrap_err(), &["Access denied", "encrypted"]);
    let nowhere = Path::new("/nowhere.pem");
    says(&opens(&server, "verify-full", Some(nowhere)).unwrap_err(), &["/nowhere.pem", "PEM"]);

    // Calls over TLS also notice that a server was restarted.
    let url =
        format!("{}?sslmode=verify-ca&sslrootcert={}", server.url_of("encrypted:right"), signer.display());
    let ledger = open(&url);
    assert_eq!(got(&*ledger, &ask(1)), (5, 6));
    server.stop();
    server.run();
    assert_eq!(got(&*ledger, &ask(1)), (6, 7));
}

#[test]
fn a_certificate_for_another_host_is_good_for_verify_ca_alone() {
    let (server, signer, _) = server_for("db.example");
    opens(&server, "verify-ca", Some(&signer)).unwrap();
    says(&opens(&server, "verify-full", Some(&signer)).unwrap_err(), &["TLS", "certificate", "name"]);
}

#[test]
fn a_server_without_tls_is_taken_by_prefer_alone() {
    let server = Mariadb::start(&[]);
    drop(open(&format!("{}?sslmode=prefer", server.url())));
    let Err(error) = floe_ledger::open_in(&format!("{}?sslmode=require", server.url()), "test") else {
        panic!("opened without TLS")
    };
    says(&error, &["takes no TLS", "sslmode=disable"]);
}
