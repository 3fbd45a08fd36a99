//! Clients that have to say who they are, over TLS.

use std::path::Path;

use floe_server::NewToken;
use floe_testbed::{Certificates, Home};

use super::grpc::stubs;
use super::{Stand, python};
use crate::process::{floe, run};

#[test]
fn every_wire_takes_tls_and_a_token_or_a_certificate() {
    let home = Home::new("access");
    let certificates = Certificates::for_host("localhost", &home);
    let token = NewToken::random("shop", "tickets,visits").unwrap();
    let settings = format!(
        "tls = {{ certificate = {:?}, key = {:?}, client_ca = {:?} }}
[[token]]
name = 'machine'
names = ['visits', 'snow*']
certificate = 'client.example'
",
        certificates.server, certificates.key, certificates.signer
    );
    let settings = format!("{settings}{}", token.toml().replace("# mysql_native", "mysql_native"));
    let mut stand = Stand::with(&settings);
    let stubs = stubs();
    let mut client = python("access.py");
    client.env("PYTHONPATH", stubs.path());
    client.env("MYSQL_PORT", stand.mysql_port().to_string()).env("TOKEN", token.secret());
    client.env("CA", &certificates.signer);
    client.env("CERTIFICATE", &certificates.client).env("KEY", &certificates.client_key);
    let given = stand.serve(client);
    assert_eq!(given["visits"].len(), 3, "{given:?}");
    assert_eq!(given["tickets"].len(), 5, "{given:?}");
    assert_eq!(given["snowflake"].len(), 1, "{given:?}");

    let url = format!("https://localhost:{}", stand.port());
    let mint = |authority: &Path, token: &str| {
        let mut command = floe(["mint", "visits", "--server", &url]);
        run(command.env("SSL_CERT_FILE", authority).env("FLOE_TOKEN", token))
    };
    assert_eq!(mint(&certificates.signer, token.secret()).numbers(), [4]);
    mint(&certificates.signer, "").refuses(1, &["asks for a token", "FLOE_TOKEN"]);
    mint(&certificates.signer, "floe_0").refuses(1, &["does not know this token", "FLOE_TOKEN"]);
    mint(&certificates.signer, "two words").refuses(2, &["FLOE_TOKEN holds no token"]);
    mint(&certificates.stranger, token.secret()).refuses(1, &["SSL_CERT_FILE"]);
}
