//! What a browser sends for web pages of other sites, over HTTP and to the ports of other protocols.

use floe_server::Config;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::harness::{Server, directory, tcp};
use crate::hostile::{answer, rest};

/// The status of a request with these headers, on a connection of its own.
async fn status(server: &Server, line: &str, headers: &str) -> u16 {
    let said =
        answer(server, format!("{line} HTTP/1.1\r\nConnection: close\r\n{headers}\r\n").as_bytes()).await;
    said.strip_prefix("HTTP/1.1 ")
        .and_then(|rest| rest[..3].parse().ok())
        .unwrap_or_else(|| panic!("{said:?}"))
}

async fn has(server: &Server, name: &str) -> bool {
    server.text("/v1/names").await.contains(&format!("\"{name}\""))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_web_page_of_another_site_mints_nothing() {
    let server = Server::standalone().await;
    let mint = "GET /v1/mint/stolen";
    for headers in [
        // An image, a form, a script, in today's browsers.
        "Host: localhost:7600\r\nSec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: no-cors\r\n",
        "Host: 127.0.0.1:7600\r\nSec-Fetch-Site: same-site\r\nSec-Fetch-Mode: cors\r\n",
        // No browser says it twice; of two the worse one counts.
        "Host: localhost:7600\r\nSec-Fetch-Site: same-origin\r\nSec-Fetch-Site: cross-site\r\n",
        "Host: localhost:7600\r\nSec-Fetch-Site: none\r\nSec-Fetch-Site: same-site\r\n",
        "Host: localhost:7600\r\nOrigin: http://localhost:7600\r\nOrigin: https://evil.example\r\n",
        // A link to a call that mints.
        "Host: localhost:7600\r\nSec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\n",
        // Older ones.
        "Host: localhost:7600\r\nOrigin: https://evil.example\r\n",
        "Host: localhost:7600\r\nOrigin: null\r\n",
        // A name of the page's own site that leads here: all that a browser sends then.
        "Host: evil.example:7600\r\n",
        "Host: evil.example\r\nUser-Agent: Mozilla/5.0\r\nAccept: */*\r\nReferer: http://evil.example/\r\n",
        "Host: 127.0.0.1.evil.example:7600\r\n",
        "Host: localhost:7600\r\nHost: evil.example\r\n",
    ] {
        let whole = status(&server, "GET http://evil.example/v1/mint/stolen", "Host: localhost\r\n").await;
        assert_eq!(whole, 403, "a whole URI");
        let refused = status(&server, mint, headers).await;
        assert!([400, 403].contains(&refused), "{refused}: {headers}");
        for call in ["POST /v1/mint/stolen", "GET /api/segment/get/stolen", "GET /id/nextId?bizType=stolen"] {
            let refused = status(&server, call, &format!("{headers}Content-Length: 0\r\n")).await;
            assert!([400, 403].contains(&refused), "{refused}: {call} {headers}");
        }
    }
    assert!(!has(&server, "stolen").await, "a name was made");
    server.stop().await.unwrap();
}

/// An ID that is at hand is answered without hyper.
#[tokio::test(flavor = "multi_thread")]
async fn a_web_page_of_another_site_gets_no_id_that_is_at_hand() {
    let server = Server::standalone().await;
    server.mint("orders", 1).await;
    let goodbye = "GET /livez HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    let ask = async |headers: &str| {
        answer(&server, format!("GET /v1/mint/orders HTTP/1.1\r\n{headers}\r\n{goodbye}").as_bytes()).await
    };
    let own = "Host: localhost\r\n";
    assert!(ask(own).await.starts_with("HTTP/1.1 200 "));
    for headers in [
        "Host: evil.example\r\n",
        "Host: localhost\r\nOrigin: https://evil.example\r\n",
        "Host: localhost\r\nSec-Fetch-Site: cross-site\r\n",
    ] {
        let said = ask(headers).await;
        assert!(said.starts_with("HTTP/1.1 403 "), "{headers}: {said}");
    }
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn programs_people_and_pages_of_the_server_itself_are_served() {
    let server = Server::standalone().await;
    for headers in [
        "Host: localhost:7600\r\n",
        "Host: 127.0.0.1\r\n",
        "Host: [::1]:7600\r\n",
        "Host: floe\r\n",
        "Host: host.docker.internal:7600\r\n",
        // Typed into the address line, and the page of /docs.
        "Host: localhost:7600\r\nSec-Fetch-Site: none\r\nSec-Fetch-Mode: navigate\r\n",
        "Host: localhost:7600\r\nSec-Fetch-Site: same-origin\r\nOrigin: http://localhost:7600\r\n",
        "Host: localhost:7600\r\nOrigin: http://localhost:7600\r\n",
    ] {
        assert_eq!(status(&server, "GET /v1/mint/orders", headers).await, 200, "{headers}");
    }
    // A link to a page that changes nothing.
    let linked = "Host: localhost:7600\r\nSec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\n";
    for page in ["GET /", "GET /docs/", "GET /problems/busy"] {
        assert_eq!(status(&server, page, linked).await, 200, "{page}");
    }
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_of_another_site_is_refused_over_http_2_as_well() {
    let server = Server::standalone().await;
    let client = reqwest::Client::builder()
        .http2_prior_knowledge()
        .resolve("evil.example", server.address)
        .build()
        .unwrap();
    let ask =
        |host: &str| client.get(format!("http://{host}:{}/v1/mint/stolen", server.address.port())).send();
    assert_eq!(ask("evil.example").await.unwrap().status(), 403);
    let leaf = format!("http://evil.example:{}/api/segment/get/stolen", server.address.port());
    assert_eq!(client.get(leaf).send().await.unwrap().status(), 403);
    assert!(!has(&server, "stolen").await);
    assert_eq!(ask("127.0.0.1").await.unwrap().status(), 200);
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_proxy_may_pass_on_the_hosts_that_are_listed() {
    let server = Server::of("hosts = [\"ids.example.com\"]\n").await;
    assert_eq!(status(&server, "GET /readyz", "Host: ids.example.com\r\n").await, 200);
    assert_eq!(status(&server, "GET /readyz", "Host: other.example.com\r\n").await, 403);
    // A browser's page of that host, by a proxy that writes another Host.
    let rewritten = b"GET /v1/mint/orders HTTP/1.1\r\nConnection: close\r\nHost: 127.0.0.1\r\nOrigin: https://ids.example.com\r\n\r\n";
    let said = answer(&server, rewritten).await;
    assert!(said.starts_with("HTTP/1.1 403 ") && said.contains("its client's Host"), "{said}");
    server.stop().await.unwrap();
    let Err(refused) = Config::parse("realm = \"r\"\nhosts = [\"https://a\"]\n", "floe.toml".as_ref()) else {
        panic!("a URL is no host")
    };
    assert!(refused.to_string().contains("without a scheme"), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_without_a_host_or_with_two_is_refused_and_one_with_bare_line_feeds_is_answered_at_once() {
    let server = Server::standalone().await;
    for path in ["/v1/mint/orders", "/livez", "/api/snowflake/get/a", "/nowhere"] {
        assert_eq!(status(&server, &format!("GET {path}"), "").await, 400, "{path}");
        assert_eq!(status(&server, &format!("GET {path}"), "Host: a\r\nHost: a\r\n").await, 400, "{path}");
        for host in ["[::1", "::1]", "[::1]7600", "[localhost]", "a:b", "a b", "a/b", "a@b", "a:99999", "ä"]
        {
            let said = status(&server, &format!("GET {path}"), &format!("Host: {host}\r\n")).await;
            assert_eq!(said, 400, "{path} of {host}");
        }
    }
    for request in [
        "GET /v1/mint/orders HTTP/1.1\nHost: a\nConnection: close\n\n",
        "GET /v1/mint/orders HTTP/1.1\r\nHost: a\nConnection: close\r\n\n",
        "GET /api/snowflake/get/a HTTP/1.1\nHost: a\nConnection: close\n\n",
    ] {
        let said = answer(&server, request.as_bytes()).await;
        assert!(said.starts_with("HTTP/1.1 200 "), "{request:?}: {said}");
    }
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn http_on_the_port_of_another_protocol_is_closed_and_runs_no_commands() {
    let mut config = Config::standalone();
    for protocol in ["memcached", "resp", "thrift"] {
        config.set(protocol, "127.0.0.1:0").unwrap();
    }
    let server = Server::start(config, directory()).await;
    let body = "get stolen\r\nincr stolen 1\r\nINCR stolen\r\n";
    // A web page chooses the method that a browser sends: any word, also on the port that all protocols share.
    for method in [
        "POST",
        "PUT",
        "X",
        "get",
        "gets",
        "gat",
        "set",
        "mg",
        "touch",
        "stats",
        "version",
        "verbosity",
        "flush_all",
        "incr",
        "INCR",
        "MINT",
        "ECHO",
    ] {
        let request = format!(
            "{method} / HTTP/1.1\r\nHost: evil.example\r\nOrigin: http://evil.example\r\nSec-Fetch-Site: same-origin\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        let shared = server.started.endpoints.iter().map(|endpoint| ("all", endpoint));
        let own = server.started.ports.iter().map(|(name, endpoint)| (*name, endpoint));
        for (name, endpoint) in shared.chain(own) {
            let mut stream = TcpStream::connect(tcp(endpoint)).await.unwrap();
            stream.write_all(request.as_bytes()).await.unwrap();
            let said = String::from_utf8_lossy(&rest(&mut stream).await).into_owned();
            assert!(!said.contains("VALUE") && !said.contains(":1\r\n"), "{method}, {endpoint}: {said}");
            if name == "memcached" && !["POST", "PUT"].contains(&method) {
                // One answer, to the first line.
                assert!(said.starts_with("CLIENT_ERROR ") && said.lines().count() == 1, "{method}: {said}");
            }
        }
    }
    assert!(!has(&server, "stolen").await);
    server.stop().await.unwrap();
}
