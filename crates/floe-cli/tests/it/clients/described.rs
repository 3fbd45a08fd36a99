//! What the server says of itself to machines, held to it by their own tools.

use std::io::Write as _;
use std::process::{Command, Stdio};

use floe_testbed::clients;

use super::Stand;
use crate::process::{Server, configuration, floe};

const PATIENT: &str = r#"
realm = "shop"
limits = { max_wait = "20s", request_timeout = "30s" }
[[name]]
name = "katsubushi"
kind = "snowflake"
layout = "katsubushi"

[[name]]
name = "receipts"
kind = "counter"
form = "base62 width=11"
"#;

/// No schema says which texts are names, or which IDs are a name's.
const NOT_SAID: &str = "positive_data_acceptance";

#[test]
fn schemathesis_finds_nothing_that_the_document_does_not_say() {
    schemathesis(&["--exclude-tag", "leaf", "--exclude-tag", "tinyid", "--exclude-checks", NOT_SAID]);
}

/// The originals answer a wrong request with 200 (tinyid) or 500 (Leaf), and methods that OpenAPI has no word for as any
/// other, and so does floe: what is held to the document are their statuses, media types and bodies.
#[test]
fn schemathesis_finds_leafs_and_tinyids_calls_described() {
    let checks = format!("{NOT_SAID},negative_data_rejection,not_a_server_error,unsupported_method");
    schemathesis(&["--include-tag", "leaf", "--include-tag", "tinyid", "--exclude-checks", &checks]);
}

/// Asks each call for what the document says and does not say. A fixed seed, and so many examples of each, keep it the same
/// from run to run.
#[track_caller]
fn schemathesis(arguments: &[&str]) {
    let dir = tempfile::tempdir().unwrap();
    // Names that nobody uses up, and calls that wait on a machine with more to do.
    let config = configuration(dir.path(), PATIENT);
    let mut serve = floe(["serve", "--listen", "127.0.0.1:0", "--mysql", "127.0.0.1:0", "--config"]);
    let server = Server::spawn(serve.arg(&config).arg("--data-dir").arg(dir.path().join("data")));
    let url = format!("{}/openapi.json", server.url());
    let mut command = Command::new(clients::installed("python/bin/schemathesis"));
    command.args(["run", &url, "--phases", "coverage,fuzzing", "--max-examples", "15", "--seed", "1"]);
    command.args(["--generation-database", "none", "--no-color", "--warnings", "off"]).args(arguments);
    let said = command.current_dir(dir.path()).stdin(Stdio::null()).output().unwrap();
    let text = String::from_utf8_lossy(&said.stdout);
    assert!(said.status.success(), "{text}{}", String::from_utf8_lossy(&said.stderr));
    assert!(text.contains("No issues found"), "{text}");
}

#[test]
fn promtool_has_nothing_to_say_of_the_metrics() {
    let stand = Stand::start();
    let curl = |arguments: &[&str], path: &str| {
        let url = format!("http://127.0.0.1:{}{path}", stand.port());
        let output =
            Command::new("curl").args(["-sSf", "-m", "20"]).args(arguments).arg(url).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        output.stdout
    };
    for name in ["orders", "tickets", "visits", "sessions"] {
        curl(&[], &format!("/v1/mint/{name}?n=3"));
    }
    let metrics = curl(&[], "/metrics");
    let mut promtool = Command::new("promtool");
    promtool.args(["check", "metrics"]).stdin(Stdio::piped());
    let mut promtool = promtool.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    promtool.stdin.take().unwrap().write_all(&metrics).unwrap();
    let said = promtool.wait_with_output().unwrap();
    assert!(said.status.success() && said.stdout.is_empty() && said.stderr.is_empty(), "{said:?}");
}
