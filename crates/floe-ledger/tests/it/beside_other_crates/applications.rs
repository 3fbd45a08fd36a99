//! The applications in `examples/applications`, built as their users build them, on real databases and over HTTP.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::applications::{ascending, run};

/// The workspace, and where it is built. The build is kept between runs, and all tests share it.
fn workspace() -> (PathBuf, PathBuf) {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("applications");
    (crates.parent().unwrap().join("examples/applications"), target)
}

/// The program of an application. All are built at once: one by one, they would choose other features of what they share.
fn application(name: &str) -> PathBuf {
    let (dir, target) = workspace();
    if let Err(said) =
        super::cargo(&dir, &target, &["build", "--workspace", "--all-targets", "--locked", "--quiet"])
    {
        panic!("examples/applications does not build: {said}");
    }
    target.join("debug").join(name)
}

#[test]
fn their_own_tests_pass() {
    let (dir, target) = workspace();
    if let Err(said) = super::cargo(&dir, &target, &["test", "--workspace", "--locked", "--quiet"]) {
        panic!("{said}");
    }
}

#[test]
fn diesel_keeps_orders_in_sqlite() {
    let program = application("diesel-sqlite");
    let dir = tempfile::tempdir().unwrap();
    let place = |items: &str| -> Vec<(u64, String)> {
        let mut command = Command::new(&program);
        command.arg("shop.db").current_dir(dir.path()).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(items.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success());
        let order = |line: &str| {
            let (id, item) = line.split_once(' ').unwrap();
            (id.parse().unwrap(), item.to_owned())
        };
        String::from_utf8(output.stdout).unwrap().lines().map(order).collect()
    };
    let first = place("tea\nrice\n");
    assert_eq!(first.iter().map(|(_, item)| item.as_str()).collect::<Vec<_>>(), ["tea", "rice"]);
    let all = place(&"nuts\n".repeat(200));
    assert_eq!(all[..2], first);
    assert_eq!(ascending(all.iter().map(|(id, _)| *id)), 202);
    // The shop's database is lost, and the ledger is not: no ID comes back.
    fs::remove_file(dir.path().join("shop.db")).unwrap();
    let after = place("salt\n");
    assert!(after[0].0 > all[201].0, "{after:?}");
}

#[test]
fn sea_orm_keeps_orders_and_their_lines_in_sqlite() {
    let program = application("sea-orm-sqlite");
    let dir = tempfile::tempdir().unwrap();
    for _ in 0..3 {
        run(dir.path(), &program, &["shop.db", "tea", "rice"]);
    }
    let (out, _) = run(dir.path(), &program, &["shop.db", "tea", "rice"]);
    let rows: Vec<Vec<&str>> = out.lines().map(|row| row.split(' ').collect()).collect();
    assert_eq!(ascending(rows.iter().map(|row| row[1].parse().unwrap())), 8, "{out}");
    for order in rows.chunks(2) {
        assert_eq!((order[0][0], order[0][2]), (order[1][0], "tea"), "{out}");
    }
    assert_eq!(ascending(rows.iter().step_by(2).map(|row| row[0].parse().unwrap())), 4, "{out}");
}

/// `scripts/test --skip-servers` leaves this out too.
mod real_servers {
    use std::collections::BTreeSet;
    use std::io::{self, BufRead, BufReader, Read};
    use std::net::TcpStream;
    use std::process::Child;
    use std::sync::Mutex;
    use std::thread;
    use std::time::Duration;

    use floe_testbed::Postgres;
    use rustix::process::{Pid, Signal, kill_process};

    use super::*;

    /// The web service, as a process.
    struct Web {
        process: Child,
        address: String,
    }

    impl Web {
        fn start(database: &str) -> Self {
            let mut command = Command::new(application("axum-sqlx"));
            command.env("DATABASE_URL", database).env("LISTEN", "127.0.0.1:0");
            command.env("ORDER_KEY", "000102030405060708090a0b0c0d0e0f");
            let mut process = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
            let mut line = String::new();
            BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
            let address = line.trim().strip_prefix("listening on ").unwrap().to_owned();
            Self { process, address }
        }

        /// The status line and headers of an answer, and its body.
        fn ask(&self, method: &str, path: &str, body: &str) -> io::Result<(String, String)> {
            let mut stream = TcpStream::connect(&self.address)?;
            stream.set_read_timeout(Some(Duration::from_secs(30)))?;
            let length = body.len();
            write!(
                stream,
                "{method} {path} HTTP/1.1\r\nhost: shop\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}"
            )?;
            let mut answer = String::new();
            stream.read_to_string(&mut answer)?;
            let parts = answer.split_once("\r\n\r\n");
            // A killed service may have sent only a part.
            let whole =
                |(head, body): &(&str, &str)| head.contains(&format!("content-length: {}", body.len()));
            let (head, body) = parts.filter(whole).ok_or(io::ErrorKind::UnexpectedEof)?;
            Ok((head.to_owned(), body.to_owned()))
        }

        /// Places an order, and returns its ID.
        fn place(&self, item: &str) -> io::Result<String> {
            let (head, body) = self.ask("POST", "/orders", item)?;
            assert!(head.starts_with("HTTP/1.1 201"), "{head} {body}");
            let (id, rest) = body.strip_prefix("{\"id\":\"").unwrap().split_once('"').unwrap();
            assert_eq!(rest, format!(",\"item\":\"{item}\"}}"));
            Ok(id.to_owned())
        }
    }

    impl Drop for Web {
        fn drop(&mut self) {
            self.process.kill().ok();
            self.process.wait().unwrap();
        }
    }

    #[test]
    fn axum_and_sqlx_keep_orders_in_postgresql() {
        let postgres = Postgres::start(&[]);
        let mut web = Web::start(&postgres.url());

        // The ledger hangs before the first ID: the client is told when to retry, and is served then.
        postgres.freeze();
        let (head, body) = web.ask("POST", "/orders", "tea").unwrap();
        assert!(head.starts_with("HTTP/1.1 503"), "{head} {body}");
        assert!(head.contains("retry-after: 1\r\n"), "{head}");
        postgres.thaw();

        // Four clients, while the service is killed and started again.
        let ids = Mutex::new(Vec::new());
        for life in 0..3 {
            thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| {
                        for _ in 0..1_000 {
                            let Ok(id) = web.place("rice") else { return };
                            ids.lock().unwrap().push(id);
                        }
                    });
                }
                // Once each life has placed some.
                while ids.lock().unwrap().len() < (life + 1) * 100 {
                    thread::yield_now();
                }
                let pid = Pid::from_child(&web.process);
                kill_process(pid, Signal::KILL).unwrap();
            });
            web = Web::start(&postgres.url());
        }
        let last = web.place("salt").unwrap();
        let mut ids = ids.into_inner().unwrap();
        ids.push(last.clone());
        assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len(), "an ID was handed out twice");
        let rows: usize = postgres.psql("SELECT count(DISTINCT id) FROM orders").trim().parse().unwrap();
        assert!(rows >= ids.len(), "{rows} rows, {} answers", ids.len());

        // Each stored order is found by its text, and nothing else is.
        for id in ids.iter().step_by(20) {
            let (head, _) = web.ask("GET", &format!("/orders/{id}"), "").unwrap();
            assert!(head.starts_with("HTTP/1.1 200"), "{head}");
        }
        let (head, body) = web.ask("GET", &format!("/orders/{last}0"), "").unwrap();
        assert!(head.starts_with("HTTP/1.1 400"), "{head} {body}");
        assert!(body.starts_with("this is not the ID of an order: "), "{body}");
        postgres.psql("DELETE FROM orders WHERE item = 'salt'");
        let (head, body) = web.ask("GET", &format!("/orders/{last}"), "").unwrap();
        assert!(head.starts_with("HTTP/1.1 404"), "{head} {body}");

        // It ends when told to, after it has given back its reserved ranges.
        kill_process(Pid::from_child(&web.process), Signal::TERM).unwrap();
        assert!(web.process.wait().unwrap().success());
    }
}
