//! IDs over HTTP, one by one, with wrk: floe beside nginx, which answers with a constant.

use std::fs;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::Result;
use crate::measure::now;
use crate::serve::Subject;

const ROUNDS: usize = 5;
const PATIENCE: Duration = Duration::from_secs(10);

/// The request to both.
const PATH: &str = "/api/snowflake/get/snowflake";

/// Measures both in turn and prints medians and the ratio.
///
/// # Errors
/// `nginx` or `wrk` is not installed.
pub(crate) fn report(binary: &Path) -> Result<bool> {
    for (tool, package) in [("wrk", "wrk"), ("nginx", "nginx-light")] {
        let found = Command::new(tool).arg("-v").stdout(Stdio::null()).stderr(Stdio::null()).status();
        if found.is_err() {
            return Err(
                format!("there is no {tool}: install it (on Debian, apt-get install {package})").into()
            );
        }
    }
    let floe = Subject::start(binary, "")?;
    let nginx = Nginx::start()?;
    let mut rows =
        [("nginx, a constant", nginx.port, Vec::new()), ("floe, snowflake", floe.port, Vec::new())];
    for _ in 0..ROUNDS {
        for (_, port, rates) in &mut rows {
            rates.push(measure(*port)?);
        }
    }
    println!("{:<22} {:>12} {:>8}", "GET, 50 connections", "a second", "ratio");
    let mut first = None;
    for (name, _, rates) in &mut rows {
        rates.sort_by(f64::total_cmp);
        let median = rates[rates.len() / 2];
        println!("{name:<22} {median:>12.0} {:>8.2}", median / *first.get_or_insert(median));
    }
    Ok(true)
}

fn measure(port: u16) -> Result<f64> {
    let output = Command::new("wrk")
        .args(["-t2", "-c50", "-d3", &format!("http://127.0.0.1:{port}{PATH}")])
        .output()?;
    let text = String::from_utf8(output.stdout)?;
    if text.contains("Non-2xx") || text.contains("Socket errors") {
        return Err(format!("wrk met errors: {text}").into());
    }
    let rate = text.lines().find_map(|line| line.strip_prefix("Requests/sec:")?.trim().parse().ok());
    rate.ok_or_else(|| format!("wrk said no rate: {text}").into())
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
