//! IDs over HTTP, one by one, with wrk: floe beside nginx, which answers with a constant.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use floe_testbed::{Home, Server, Signal, listens};

use crate::Result;
use crate::compare::Line;
use crate::measure::Outcome;
use crate::serve::Subject;
use crate::servers::{self, Row, Witness};

const ROUNDS: usize = 5;

/// The request to both.
const PATH: &str = "/api/snowflake/get/snowflake";

/// Measures nginx, the least that a server can do, and floe in turn.
///
/// # Errors
/// `nginx`, `wrk` or `cc` is not installed.
pub(crate) fn rows(binary: &Path, quick: bool) -> Result<Vec<Line>> {
    servers::need("wrk", "wrk")?;
    servers::need("nginx", "nginx-light")?;
    let floe = Subject::start(binary, "")?;
    let (nginx, least) = (start_nginx(), servers::least()?);
    let seconds = if quick { 1 } else { 3 };
    let url = |port: u16| format!("http://127.0.0.1:{port}{PATH}");
    let mut witness = Witness::new(url(floe.port), servers::snowflake);
    let constant = |server: &str, port: u16| {
        Row::new(format!("GET by wrk, 50 connections: {server}, a constant"), 0, move || {
            let (answers, elapsed) = measure(&url(port), seconds)?;
            Ok(Outcome::of_server(answers, elapsed, None))
        })
    };
    let rows = vec![
        constant("nginx", nginx.port()),
        constant("the loop in C", least.port()),
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

/// An nginx with a worker for each of floe's threads.
fn start_nginx() -> Server {
    let start = |home: &Home, port: u16| {
        let path = home.path().display();
        let config = format!(
            "worker_processes auto; daemon off; pid {path}/pid; error_log stderr;\n\
             events {{ worker_connections 1024; }}\n\
             http {{\n  access_log off; keepalive_requests 1000000000; client_body_temp_path {path}/body;\n\
             proxy_temp_path {path}/proxy; fastcgi_temp_path {path}/fastcgi; uwsgi_temp_path {path}/uwsgi;\n\
             scgi_temp_path {path}/scgi;\n\
             server {{ listen 127.0.0.1:{port}; location / {{ default_type text/plain; return 200 '2124212356296575259'; }} }}\n}}\n"
        );
        let config = home.write("nginx.conf", &config);
        let mut command = home.command("nginx".as_ref());
        command.arg("-p").arg(home.path()).arg("-c").arg(config);
        command
    };
    Server::new(Home::new("nginx"), Signal::TERM, start, listens)
}
