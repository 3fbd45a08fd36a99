//! gRPC's client in Python, with the stubs that its own compiler makes of floe's .proto files.

use std::path::Path;
use std::process::Command;

use floe_testbed::clients;
use tempfile::TempDir;

use super::{Stand, python};

/// What gRPC's own compiler makes of floe's .proto files.
pub(crate) fn stubs() -> TempDir {
    let stubs = tempfile::tempdir().unwrap();
    let protos = Path::new(env!("CARGO_MANIFEST_DIR")).join("../floe-server/proto");
    let mut compiler = Command::new(clients::installed("python/bin/python"));
    compiler.args(["-m", "grpc_tools.protoc", "-I"]).arg(&protos);
    for option in ["--python_out", "--grpc_python_out"] {
        compiler.arg(format!("{option}={}", stubs.path().display()));
    }
    let made = compiler.args(["floe/v1/ids.proto", "katsubushi/generator.proto"]).output().unwrap();
    assert!(made.status.success(), "{made:?}");
    stubs
}

#[test]
fn grpcio_mints_streams_meets_errors_and_reconnects() {
    let stubs = stubs();
    let mut client = python("grpcio.py");
    client.env("PYTHONPATH", stubs.path());
    let given = Stand::start().serve(client);
    for name in ["visits", "tickets", "orders", "katsubushi", "wide"] {
        assert!(given[name].len() > 50, "{name}: {}", given[name].len());
    }
    for name in ["visits", "orders"] {
        let ids: Vec<u64> = given[name].iter().map(|id| id.parse().unwrap()).collect();
        assert!(ids.is_sorted(), "{name} went back");
    }
}

#[test]
fn curl_as_a_client_of_katsubushi_and_tinyid() {
    let stand = Stand::start();
    let curl = |arguments: &[&str], path: &str| {
        let url = format!("http://127.0.0.1:{}{path}", stand.port());
        let output =
            Command::new("curl").args(["-sS", "-m", "20"]).args(arguments).arg(url).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    for protocol in ["--http1.1", "--http2-prior-knowledge"] {
        let many: Vec<u64> =
            curl(&[protocol], "/ids?n=3").lines().map(|line| line.parse().unwrap()).collect();
        assert!(many.len() == 3 && many.is_sorted(), "{many:?}");
        let one: u64 = curl(&[protocol], "/id").parse().unwrap();
        assert!(one > many[2]);
        let json = curl(&[protocol, "-H", "Accept: application/json"], "/id");
        assert!(json.starts_with("{\"id\":\"1"), "{json}");
        assert!(curl(&[protocol], "/stats").contains("\"cmd_get\":"));
        let form = ["-d", "bizType=tickets&batchSize=2&token=secret", protocol];
        assert!(curl(&form, "/tinyid/id/nextId").ends_with("],\"code\":200,\"message\":\"\"}"));
    }
    assert_eq!(curl(&[], "/tinyid/id/nextIdSimple?bizType=visits"), "", "no counter's number is in a range");
}
