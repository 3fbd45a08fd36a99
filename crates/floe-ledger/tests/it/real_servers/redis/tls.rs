//! TLS, with a certificate authority made for the test.

use std::path::Path;

use floe::ledger::LedgerError;
use floe_ledger::OpenError;
use floe_testbed::Redis;

use crate::{ask, got, says};

/// Opens by TLS, with these options.
fn opens(server: &Redis, mode: &str, root: Option<&Path>) -> Result<(), OpenError> {
    let root = root.map_or(String::new(), |root| format!("&sslrootcert={}", root.display()));
    let url = format!("rediss://127.0.0.1:{}/0?sslmode={mode}{root}", server.port());
    floe_ledger::open_in(&url, "test").map(|ledger| {
        got(&*ledger, &ask(1));
        assert!(ledger.describe().starts_with("rediss://127.0.0.1:"), "{}", ledger.describe());
    })
}

#[test]
fn each_mode_checks_what_it_says() {
    let (server, certificates) = Redis::start_with_tls("127.0.0.1", &[]);
    let (signer, stranger) = (certificates.signer.as_path(), certificates.stranger.as_path());
    for (mode, root) in [
        ("require", None),
        ("require", Some(signer)),
        ("verify-ca", Some(signer)),
        ("verify-full", Some(signer)),
    ] {
        opens(&server, mode, root).unwrap();
    }
    for mode in ["require", "verify-ca", "verify-full"] {
        says(&opens(&server, mode, Some(stranger)).unwrap_err(), &["TLS", "certificate"]);
    }
    // By default the system's certificates are trusted, and the signer is none of them.
    says(&opens(&server, "verify-full", None).unwrap_err(), &["certificate"]);
    let nowhere = Path::new("/nowhere.pem");
    says(&opens(&server, "verify-full", Some(nowhere)).unwrap_err(), &["/nowhere.pem", "PEM"]);
}

#[test]
fn a_certificate_for_another_host_is_good_for_verify_ca_alone() {
    let (server, certificates) = Redis::start_with_tls("db.example", &[]);
    opens(&server, "verify-ca", Some(&certificates.signer)).unwrap();
    let error = opens(&server, "verify-full", Some(&certificates.signer)).unwrap_err();
    says(&error, &["TLS", "certificate", "name"]);
}

#[test]
fn neither_side_takes_the_other_without_tls() {
    let (server, _certificates) = Redis::start_with_tls("127.0.0.1", &[]);
    let plain = format!("redis://127.0.0.1:{}?connect_timeout=1", server.port());
    let Err(error) = floe_ledger::open_in(&plain, "test") else { panic!("opened without TLS") };
    assert!(matches!(error, OpenError::Ledger(LedgerError::Unavailable(_))), "{error:?}");
    // Redis waits for the end of what looks like a command.
    let bare = Redis::start(&[]);
    let error = opens(&bare, "require&connect_timeout=1", None).unwrap_err();
    assert!(matches!(error, OpenError::Ledger(LedgerError::Unavailable(_))), "{error:?}");
}
