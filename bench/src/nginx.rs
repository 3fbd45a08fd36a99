//! IDs over HTTP, one by one, with wrk: floe beside nginx, which answers with a constant.

use std::fs;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::Result;
use crate::compare::Line;
use crate::measure::{Outcome, now};
use crate::serve::Subject;
use crate::servers::{self, Row, Witness};

const ROUNDS: usize = 5;
const PATIENCE: Duration = Duration::from_secs(10);

/// The request to both.
const PATH: &str = "/api/snowflake/get/snowflake";

/// Measures both in turn.
///
/// # Errors
/// `nginx` or `wrk` is not installed.
pub(crate) fn rows(binary: &Path, quick: bool) -> Result<Vec<Line>> {
    servers::need("wrk", "wrk")?;
    servers::need("nginx", "nginx-light")?;
    let floe = Subject::start(binary, "")?;
    let nginx = Nginx::start()?;
    let seconds = if quick { 1 } else { 3 };
    let url = |port: u16| format!("http://127.0.0.1:{port}{PATH}");
    let mut witness = Witness::new(url(floe.port), servers::snowflake);
    let rows = vec![
        Row::new("GET by wrk, 50 connections: nginx, a constant", 0, || {
            let (answers, elapsed) = measure(&url(nginx.port), seconds)?;
            Ok(Outcome::of_server(answers, elapsed, None))
        }),
        Row::new("GET by wrk, 50 connections: floe, snowflake", 0, || {
            witness.during(|| measure(&url(floe.port), seconds))
        }),
    ];
    servers::in_turn(ROUNDS, rows)
}

/// How many answers came, in what time.
fn measure(url: &str, seconds: u32) -> Result<(u64, Duration)> {
    let output = Command::new("wrk").args(["-t2", "-c50", &format!("-d{seconds}"), url]).output()?;
    let text = String::from_utf8(output.stdout)?;
    if text.contains("Non-2xx") || text.contains("Socket errors") {
        return Err(format!("wrk met errors: {text}").into());
    }
    let answers = text.lines().find_map(|line| line.split_once(" requests in ")?.0.trim().parse().ok());
    let rate = text.lines().find_map(|line| line.strip_prefix("Requests/sec:")?.trim().parse().ok());
    let (answers, rate): (u32, f64) =
        answers.zip(rate).ok_or_else(|| format!("wrk said no count and rate: {text}"))?;
    Ok((answers.into(), Duration::from_secs_f64(f64::from(answers) / rate)))
}

/// An nginx with a worker for each of floe's threads, that ends with the benchmark.
struct Nginx {
    process: Child,
    port: u16,
    _dir: tempfile::TempDir,
}

impl Nginx {
    fn start() -> Result<Self> {
        let dir = tempfile::tempdir()?;
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port();
        let (path, config) = (dir.path().display(), dir.path().join("nginx.conf"));
        fs::write(
            &config,
            format!(
                "worker_processes auto; daemon off; pid {path}/pid; error_log {path}/log;\n\
                 events {{ worker_connections 1024; }}\n\
                 http {{\n  access_log off; keepalive_requests 1000000000; client_body_temp_path {path}/body;\n\
                 proxy_temp_path {path}/proxy; fastcgi_temp_path {path}/fastcgi; uwsgi_temp_path {path}/uwsgi;\n\
                 scgi_temp_path {path}/scgi;\n\
                 server {{ listen 127.0.0.1:{port}; location / {{ default_type text/plain; return 200 '2124212356296575259'; }} }}\n}}\n"
            ),
        )?;
        let process = Command::new("nginx")
            .args(["-p".as_ref(), dir.path().as_os_str(), "-c".as_ref(), config.as_os_str()])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let nginx = Self { process, port, _dir: dir };
        let start = now();
        while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
            if start.elapsed() > PATIENCE {
                return Err("nginx did not listen within ten seconds".into());
            }
            thread::park_timeout(Duration::from_millis(10));
        }
        Ok(nginx)
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        // End the master, so that it ends its workers.
        let _ = Command::new("kill").arg(self.process.id().to_string()).status();
        let _ = self.process.wait();
    }
}
