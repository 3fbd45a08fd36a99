//! Thrift's clients, with Twitter's interface.

use super::outlives_its_server;

#[test]
fn thrift_clients_outlive_their_server() {
    let clients =
        ["thrift-framed-strict", "thrift-framed", "thrift-unframed-strict", "thrift-unframed", "thriftpy2"];
    outlives_its_server("thrift_clients.py", &clients);
}
