//! What is looked at when a ledger is opened: the token, the rights, TLS, and what the agent is.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use floe::Name;
use floe::ledger::{Key, LedgerError, Reserve};
use floe_ledger::{DEFAULT_REALM, OpenError, Opening};
use floe_testbed::Consul;

use super::{apart, open, refused, url};
use crate::{ask, got, says, until};

/// A server that lets in nobody without a token, and the token of its operator.
fn with_tokens() -> (Consul, String) {
    let operator = "5f0a77c1-09be-3d92-a4b6-c8e0f2143658".to_owned();
    let acl = format!(
        r#""primary_datacenter":"dc1","acl":{{"enabled":true,"default_policy":"deny","tokens":{{"initial_management":"{operator}","agent":"{operator}"}}}}"#
    );
    let server = Consul::start(&[&acl]);
    // A new leader makes the first token after its election.
    until("the operator's token", || floe_ledger::open_in(&at(&server, &operator), "first").is_ok());
    (server, operator)
}

/// The secret of a fresh token with these rules.
fn token(server: &Consul, operator: &str, name: &str, rules: &str) -> String {
    let token = format!("-token={operator}");
    server.home().write("rules.hcl", rules);
    server.control(&["acl", "policy", "create", &token, "-name", name, "-rules", "@rules.hcl"]);
    let made = server.control(&["acl", "token", "create", &token, "-policy-name", name]);
    let secret = made.lines().find_map(|line| line.strip_prefix("SecretID:")).unwrap();
    secret.trim().to_owned()
}

/// The policies of docs/ledgers.md, for a whole ledger and for one realm.
fn policies() -> [String; 2] {
    let page = include_str!("../../../../../../docs/ledgers.md");
    let policies = page.split("```hcl\n").skip(1).map(|rest| rest.split("```").next().unwrap().to_owned());
    policies.collect::<Vec<_>>().try_into().unwrap()
}

fn at(server: &Consul, token: &str) -> String {
    format!("consul://:{token}@127.0.0.1:{}/floe", server.port())
}

#[test]
fn the_rights_that_the_docs_list_are_enough() {
    let (server, operator) = with_tokens();
    let [whole, realm] = policies();
    let ledger = open(&at(&server, &token(&server, &operator, "whole", &whole)));
    assert_eq!(got(&*ledger, &ask(5)), (0, 5));
    assert_eq!(ledger.list("", "", 9).unwrap().len(), 1);
    let orders = Name::new("orders").unwrap();
    floe_ledger::open_in(&at(&server, &operator), "bank").unwrap().bind(&orders, "segment", true).unwrap();
    let found = ledger.in_other_realms(&orders).unwrap();
    assert_eq!(found.iter().map(|found| &*found.realm).collect::<Vec<_>>(), ["bank"]);
    let told = Opening::of(DEFAULT_REALM).sole_realm().open(&at(&server, &operator)).map(drop).unwrap_err();
    says(&told, &["bank", "test"]);

    let secret = token(&server, &operator, "realm", &realm.replace("shop", "test"));
    let ledger = open(&at(&server, &secret));
    assert_eq!(got(&*ledger, &ask(5)), (5, 10));
    assert_eq!(got(&*ledger, &Reserve { key: Key::slot(10, 7), ..ask(5) }), (0, 5));
    assert_eq!(ledger.list("", "", 9).unwrap().len(), 2);
    assert_eq!(ledger.in_other_realms(&orders), Ok(Vec::new()));
    let Err(other) = floe_ledger::open_in(&at(&server, &secret), "bank") else { panic!("it may not") };
    says(&other, &["permission denied", "docs/ledgers.md"]);
}

#[test]
fn a_token_that_is_wrong_or_missing_is_told_and_not_shown() {
    let (server, operator) = with_tokens();
    drop(open(&at(&server, &operator)));
    for (url, words) in [
        (at(&server, "6f0a77c1-09be-3d92-a4b6-c8e0f2143658"), "ACL not found"),
        (url(server.port(), ""), "ermission denied"),
    ] {
        let error = refused(&url);
        assert!(matches!(error, OpenError::Asked(_)), "{error:?}");
        says(&error, &[words, "CONSUL_HTTP_TOKEN"]);
        assert!(!error.to_string().contains("6f0a77c1"), "{error}");
    }
}

/// Consul leaves out of an answer what the token may not read, as if it were not there.
#[test]
fn what_a_token_may_not_read_is_not_taken_for_missing() {
    let (server, operator) = with_tokens();
    let ledger = open(&at(&server, &operator));
    got(&*ledger, &ask(5));
    let rules = |of_marks: &str| {
        format!(
            r#"key_prefix "floe/" {{ policy = "write" }}
               key_prefix "floe/mark/" {{ policy = "{of_marks}" }}"#
        )
    };
    let blind = open(&at(&server, &token(&server, &operator, "blind", &rules("deny"))));
    for outcome in [
        blind.reserve(&ask(5)).map(drop),
        blind.definition(&Name::new("orders").unwrap()).map(drop),
        blind.list("", "", 9).map(drop),
    ] {
        let Err(LedgerError::Unavailable(text)) = outcome else { panic!("{outcome:?}") };
        says(&text, &["permission denied", "docs/ledgers.md"]);
    }
    let reader = open(&at(&server, &token(&server, &operator, "reader", &rules("read"))));
    let Err(LedgerError::Unavailable(text)) = reader.reserve(&ask(5)) else { panic!("it may not") };
    says(&text, &["ermission denied", "key:write", "docs/ledgers.md"]);
    assert_eq!(got(&*ledger, &ask(5)), (5, 10));
}

#[test]
fn an_agent_that_keeps_nothing_is_refused() {
    let server = Consul::start_dev();
    let error = refused(&url(server.port(), ""));
    assert!(matches!(error, OpenError::Ledger(LedgerError::Unfit(_))), "{error:?}");
    says(&error, &["runs with -dev", "-data-dir", "unsafe=allow"]);
    let ledger = open(&url(server.port(), "unsafe=allow"));
    assert_eq!(got(&*ledger, &ask(5)), (0, 5));
    says(&ledger.describe(), &["unsafe: it runs with -dev"]);
}

#[test]
fn another_datacenter_is_told() {
    let port = Consul::shared().port();
    says(&refused(&url(port, "datacenter=dc2")), &["No path to datacenter", "look at datacenter"]);
    drop(open(&format!("{}?datacenter=dc1", apart(port))));
}

#[test]
fn a_value_that_is_too_large_is_told() {
    let server = Consul::start(&[r#""limits":{"kv_max_value_size":2000,"txn_max_req_len":2000}"#]);
    let ledger = open(&url(server.port(), ""));
    assert_eq!(got(&*ledger, &ask(5)), (0, 5));
    let outcome = ledger.bind(&Name::new("long").unwrap(), &"x".repeat(3_000), false);
    let Err(LedgerError::Unavailable(text)) = outcome else { panic!("{outcome:?}") };
    says(&text, &["too large", "limits.kv_max_value_size"]);
}

fn opens(server: &Consul, options: &str, root: Option<&Path>) -> Result<(), OpenError> {
    let root = root.map_or(String::new(), |root| format!("&sslrootcert={}", root.display()));
    floe_ledger::open_in(&url(server.port(), &format!("{options}{root}")), "test").map(|ledger| {
        got(&*ledger, &ask(1));
    })
}

#[test]
fn each_mode_of_tls_checks_what_it_says() {
    let (server, files) = Consul::start_with_tls("127.0.0.1", false);
    for mode in ["require", "verify-ca", "verify-full"] {
        opens(&server, &format!("sslmode={mode}"), Some(&files.signer)).unwrap();
        let error = opens(&server, &format!("sslmode={mode}"), Some(&files.stranger)).unwrap_err();
        assert!(matches!(error, OpenError::Asked(_)), "{error:?}");
        says(&error, &["TLS", "certificate", "sslrootcert"]);
    }
    opens(&server, "sslmode=require", None).unwrap();
    says(&opens(&server, "", None).unwrap_err(), &["HTTPS server", "sslmode=verify-full"]);
    let plain = opens(Consul::shared(), "sslmode=require", None).unwrap_err();
    says(&plain, &["TLS", "sslmode"]);

    let (server, files) = Consul::start_with_tls("consul.example", false);
    opens(&server, "sslmode=verify-ca", Some(&files.signer)).unwrap();
    says(
        &opens(&server, "sslmode=verify-full", Some(&files.signer)).unwrap_err(),
        &["TLS", "certificate", "name"],
    );
}

#[test]
fn a_server_that_asks_for_a_certificate_gets_one() {
    let (server, files) = Consul::start_with_tls("127.0.0.1", true);
    let own = |key: &Path| format!("&sslcert={}&sslkey={}", files.client.display(), key.display());
    let opens = |own: &str| opens(&server, &format!("sslmode=verify-full{own}"), Some(&files.signer));
    let refusal = opens("").unwrap_err();
    says(&refusal, &["127.0.0.1", "whether it asks for a certificate (sslcert, sslkey)"]);
    opens(&own(&files.client_key)).unwrap();
    says(&opens(&own(&files.key)).unwrap_err(), &["sslcert", "cannot be used"]);
    fs::set_permissions(&files.client_key, fs::Permissions::from_mode(0o644)).unwrap();
    says(&opens(&own(&files.client_key)).unwrap_err(), &["client.key", "chmod 600"]);
}
