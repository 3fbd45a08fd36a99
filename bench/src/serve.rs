//! How soon `floe serve` answers on a fresh data directory, and how much memory it holds without requests.

use std::ffi::OsStr;
use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::Result;
use crate::measure::now;

const STARTS: usize = 5;
const PATIENCE: Duration = Duration::from_secs(10);

/// A server that ends with the benchmark.
pub(crate) struct Server(Child);

impl Server {
    /// Starts `floe serve` and waits until it is ready.
    ///
    /// # Errors
    /// A binary that does not start or is not ready within ten seconds.
    pub(crate) fn start(binary: &Path, port: u16, arguments: &[&OsStr]) -> Result<Self> {
        let address = format!("127.0.0.1:{port}");
        let start = now();
        let child = Command::new(binary)
            .args(["serve", "--listen", &address])
            .args(arguments)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("{}: {error}", binary.display()))?;
        let mut server = Self(child);
        while !answers(&address, "/readyz") {
            if let Some(status) = server.0.try_wait()? {
                return Err(format!("{} serve ended with {status}", binary.display()).into());
            }
            if start.elapsed() > PATIENCE {
                return Err("the server was not ready within ten seconds".into());
            }
            thread::park_timeout(Duration::from_micros(200));
        }
        Ok(server)
    }

    /// The process.
    pub(crate) fn id(&self) -> u32 {
        self.0.id()
    }
}

/// A server with a name of each kind that is compared with others, in its own directory.
pub(crate) struct Subject {
    pub(crate) server: Server,
    /// The port of every protocol but MySQL's.
    pub(crate) port: u16,
    pub(crate) mysql: u16,
    _dir: tempfile::TempDir,
}

const NAMES: &str = "
[[name]]
name = 'segment'
kind = 'segment'
[[name]]
name = 'Tickets64'
kind = 'segment'
[[name]]
name = 'counter'
kind = 'counter'
[[name]]
name = 'snowflake'
kind = 'snowflake'
layout = 'twitter'
";

impl Subject {
    /// Starts it. `limits` are lines for that section of its configuration.
    pub(crate) fn start(binary: &Path, limits: &str) -> Result<Self> {
        let dir = tempfile::tempdir()?;
        let config = dir.path().join("floe.toml");
        let free = || std::io::Result::Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port());
        let (port, mysql) = (free()?, free()?);
        fs::write(
            &config,
            format!("realm = 'bench'\nmysql = '127.0.0.1:{mysql}'\n[limits]\n{limits}\n{NAMES}"),
        )?;
        let arguments =
            ["--config".as_ref(), config.as_os_str(), "--data-dir".as_ref(), dir.path().as_os_str()];
        Ok(Self { server: Server::start(binary, port, &arguments)?, port, mysql, _dir: dir })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself; then there is nothing to do.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts the server five times and prints the median.
///
/// # Errors
/// A binary that does not start or does not answer within ten seconds.
pub(crate) fn report(binary: &Path) -> Result<()> {
    let mut ready = Vec::new();
    let mut resident = Vec::new();
    for _ in 0..STARTS {
        let dir = tempfile::tempdir()?;
        let address = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?;
        let start = now();
        let server = Server::start(binary, address.port(), &["--data-dir".as_ref(), dir.path().as_os_str()])?;
        ready.push(start.elapsed());
        let address = address.to_string();
        if !answers(&address, "/v1/mint/orders") {
            return Err("the server is ready and does not mint".into());
        }
        resident.push(resident_kib(server.id())?);
    }
    ready.sort_unstable();
    resident.sort_unstable();
    println!(
        "floe serve: ready after {:.1} ms (worst {:.1} ms), {:.1} MB resident after one mint",
        ready[STARTS / 2].as_secs_f64() * 1e3,
        ready[STARTS - 1].as_secs_f64() * 1e3,
        f64::from(resident[STARTS / 2]) / 1024.0
    );
    Ok(())
}

fn answers(address: &str, path: &str) -> bool {
    get(address, path).is_ok_and(|answer| answer.starts_with("HTTP/1.1 200"))
}

/// The whole answer to a `GET`.
pub(crate) fn get(address: &str, path: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

/// The memory that a process holds.
pub(crate) fn resident_kib(process: u32) -> Result<u32> {
    let status = fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB")).ok_or("no VmRSS in /proc")?;
    Ok(kib.trim().parse()?)
}
