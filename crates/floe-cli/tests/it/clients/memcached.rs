//! memcached's clients.

use super::outlives_its_server;

#[test]
fn memcached_clients_outlive_their_server() {
    let clients = ["pymemcache", "python-memcached", "pylibmc-text", "pylibmc-binary", "bmemcached"];
    outlives_its_server("memcached_clients.py", &clients);
}
