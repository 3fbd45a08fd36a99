//! The programs of docs/clients.md and the calls of docs/security.md, taken from the pages and run. Only the ports, the host
//! and one count differ from the page.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use floe_server::NewToken;
use floe_testbed::{Certificates, Home, clients, free_port};
use tempfile::TempDir;

use super::grpc::stubs;
use crate::process::{Server, floe, run};

/// Every ID has many digits, so that no other number of an output is mistaken for one.
const NAMES: &str = r#"
[[name]]
name = "orders"
kind = "snowflake"
layout = "twitter"

[[name]]
name = "visits"
kind = "counter"
first = 1000000000000000

[[name]]
name = "tickets"
kind = "segment"
first = 2000000000000000

[[name]]
name = "Tickets64"
kind = "segment"
first = 3000000000000000

[[name]]
name = "katsubushi"
kind = "snowflake"
layout = "katsubushi"

[[name]]
name = "snowflake"
kind = "snowflake"
layout = "twitter"
"#;

/// A block of code in a page, below the heading of its section.
struct Block {
    section: String,
    /// The word behind the three backticks; `indented` for a block without.
    fence: String,
    text: String,
}

fn blocks(page: &str) -> Vec<Block> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(page);
    let (mut blocks, mut section, mut fenced, mut indented) = (Vec::<Block>::new(), "", false, false);
    let page = std::fs::read_to_string(path).unwrap();
    for line in page.lines() {
        let opens = |fence: &str| Block { section: section.into(), fence: fence.into(), text: String::new() };
        if let Some(fence) = line.strip_prefix("```") {
            (fenced, indented) = (!fenced, false);
            blocks.extend(fenced.then(|| opens(fence)));
        } else if fenced {
            blocks.last_mut().unwrap().text += &format!("{line}\n");
        } else if let Some(code) = line.strip_prefix("    ") {
            blocks.extend((!indented).then(|| opens("indented")));
            indented = true;
            blocks.last_mut().unwrap().text += &format!("{code}\n");
        } else {
            indented = false;
            section = if line.starts_with('#') { line.trim_start_matches(['#', ' ']) } else { section };
        }
    }
    blocks
}

/// A server of those names with more settings, and a folder for programs.
struct Site {
    dir: TempDir,
    server: Server,
    mysql_port: u16,
}

impl Site {
    fn start(settings: &str) -> Self {
        let (dir, mysql_port) = (tempfile::tempdir().unwrap(), free_port());
        let config = dir.path().join("floe.toml");
        std::fs::write(&config, format!("realm = \"shop\"\n{settings}{NAMES}")).unwrap();
        let mysql = format!("127.0.0.1:{mysql_port}");
        let mut serve = floe(["serve", "--listen", "127.0.0.1:0", "--mysql", &mysql, "--config"]);
        let server = Server::spawn(serve.arg(&config).arg("--data-dir").arg(dir.path().join("data")));
        Self { dir, server, mysql_port }
    }

    /// A page's text, for this server.
    fn here(&self, text: &str) -> String {
        let port = self.server.url().rsplit(':').next().unwrap();
        // One port may contain the other's digits.
        let text =
            text.replace("7606", "MYSQL_PORT").replace("7600", port).replace("floe.example", "localhost");
        text.replace("MYSQL_PORT", &self.mysql_port.to_string())
    }

    fn write(&self, file: &str, text: &str) -> PathBuf {
        let path = self.dir.path().join(file);
        std::fs::write(&path, text).unwrap();
        path
    }

    /// Runs it in the folder; the IDs that it printed.
    fn ids(&self, command: &mut Command) -> Result<Vec<u64>, String> {
        let said = run(command.current_dir(self.dir.path()).stdin(Stdio::null()));
        let numbers = said.out.split(|c: char| !c.is_ascii_digit()).filter_map(|word| word.parse().ok());
        let ids = numbers.filter(|number| *number >= 1_000_000_000_000_000).collect();
        if said.code == Some(0) { Ok(ids) } else { Err(format!("{said:#?}")) }
    }
}

/// How a block becomes a program: its section, its language, the lines that a program of it has around those of the page,
/// and how many IDs it then prints.
type Program = (&'static str, Language, [&'static str; 2], usize);

#[derive(Clone, Copy)]
enum Language {
    Shell,
    Python,
    Node,
    Php,
    Perl,
    Ruby,
    Java,
}

use Language::{Java, Node, Perl, Php, Python, Ruby, Shell};

const RECORDS: &str = r#"require "active_record"
ActiveRecord::Base.establish_connection(adapter: "mysql2", host: "127.0.0.1", port: 7606, username: "app", database: "ids")
id = begin
"#;
const MAIN: &str = "import java.sql.*;
public class Page { public static void main(String[] arguments) throws Exception {
";
const ASYNC: &str = "(async () => {\n";

/// In the order of the page.
const PROGRAMS: [Program; 20] = [
    ("Redis", Shell, ["", ""], 101),
    ("Redis", Python, ["", "print(order)"], 1),
    ("Redis", Node, [ASYNC, "console.log(order); await client.close(); })();"], 1),
    ("Redis", Node, [ASYNC, "console.log(order); ids.disconnect(); })();"], 1),
    ("gRPC", Python, ["", "print(several, message.ids[-1])"], 11),
    ("katsubushi", Shell, ["", ""], 12),
    ("pymemcache", Python, ["", "print(order, ids)"], 3),
    ("python-memcached", Python, ["", "print(order)"], 1),
    ("pylibmc and other users of libmemcached", Python, ["", "print(order)"], 1),
    ("python-binary-memcached", Python, ["", "print(order, ids)"], 3),
    ("libmemcached's tools", Shell, ["", ""], 1),
    ("thrift (PyPI)", Python, ["", "print(order)"], 1),
    ("thriftpy2", Python, ["", "print(order)"], 1),
    ("PHP (mysqli, PDO)", Php, ["<?php\n", ""], 1),
    ("Perl (DBD::MariaDB)", Perl, ["", ""], 1),
    ("mariadb", Shell, ["", ""], 1),
    ("Node.js (mysql2)", Node, [ASYNC, "await db.end(); })();"], 1),
    ("Sequelize, Django, ActiveRecord", Ruby, [RECORDS, "end\nputs id"], 1),
    ("Java (MariaDB Connector/J)", Java, [MAIN, "System.out.println(keys.getLong(1)); } }"], 1),
    ("Python (PyMySQL)", Python, ["", ""], 1),
];

/// The blocks that are no program: patterns, settings of other programs, and the interface, which two programs read.
const OTHERS: [&str; 4] = [
    "floe marks raise order --to MAX_ID ",
    "floe marks raise order --to $((MAX_ID + 1)) ",
    "tinyid.server=",
    "service Snowflake {",
];

#[test]
fn the_programs_of_the_page_mint() {
    let (site, stubs) = (Site::start(""), stubs());
    let (others, programs): (Vec<_>, Vec<_>) = blocks("clients.md")
        .into_iter()
        .filter(|block| block.fence != "toml")
        .partition(|block| OTHERS.iter().any(|other| block.text.starts_with(other)));
    assert_eq!(others.len(), OTHERS.len());
    let interface = &others.last().unwrap().text;
    site.write("snowflake.thrift", interface);
    let mut compiler = Command::new("thrift");
    site.ids(compiler.args(["--gen", "py", "-out", ".", "snowflake.thrift"])).unwrap();

    let sections: Vec<_> = programs.iter().map(|block| block.section.as_str()).collect();
    let known: Vec<_> = PROGRAMS.iter().map(|program| program.0).collect();
    assert_eq!(sections, known, "each program of the page has a line in this test");
    let (mut seen, mut wrong) = (HashSet::new(), String::new());
    for (block, (section, language, [before, after], count)) in programs.iter().zip(PROGRAMS.iter()) {
        let text = site.here(&format!("{before}{}{after}\n", block.text));
        let in_file = |program: &str, file: &str| {
            let mut command = Command::new(program);
            command.arg(site.write(file, &text));
            command
        };
        let mut command = match language {
            Shell => {
                let mut shell = Command::new("sh");
                // curl's answers may end without a line's end.
                shell.args(["-ec", &text.replace('\n', "\necho\n")]);
                shell
            }
            Python => clients::python(&site.write("page.py", &text)),
            Node => clients::node(&site.write("page.cjs", &text)),
            Php => in_file("php", "page.php"),
            Perl => in_file("perl", "page.pl"),
            Ruby => in_file("ruby", "page.rb"),
            Java => {
                let mut java = Command::new("java");
                java.args(["-cp", "/usr/share/java/mariadb-java-client.jar"])
                    .arg(site.write("Page.java", &text));
                java
            }
        };
        match site.ids(command.env("PYTHONPATH", stubs.path())) {
            Ok(ids) if ids.len() == *count && ids.iter().all(|id| seen.insert(*id)) => {}
            other => wrong += &format!("{section}: not {count} new IDs but {other:?}, from\n{text}\n"),
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// The lines after `$ ` in the blocks of docs/security.md, except floe's own commands, which scripts/readme runs.
fn calls_with_a_token() -> Vec<String> {
    let console = blocks("security.md").into_iter().filter(|block| block.fence == "console");
    let lines = console.flat_map(|block| block.text.lines().map(str::to_owned).collect::<Vec<_>>());
    let calls = lines.filter_map(|line| line.strip_prefix("$ ").map(str::to_owned));
    calls.filter(|call| !call.starts_with("floe ")).collect()
}

#[test]
fn the_calls_of_the_page_show_a_token() {
    let home = Home::new("page");
    let certificates = Certificates::for_host("localhost", &home);
    let token = NewToken::random("shop", "orders").unwrap();
    let tls = format!("tls = {{ certificate = {:?}, key = {:?} }}\n", certificates.server, certificates.key);
    let (secure, plain): (Vec<_>, Vec<_>) =
        calls_with_a_token().into_iter().partition(|call| call.contains("ca.pem"));
    assert_eq!((plain.len(), secure.len()), (4, 2), "{plain:?} {secure:?}");
    for (settings, calls) in [("", plain), (tls.as_str(), secure)] {
        let site = Site::start(&format!("{settings}{}", token.toml()));
        std::fs::copy(&certificates.signer, site.dir.path().join("ca.pem")).unwrap();
        for call in calls {
            let shell = |secret: &str| {
                let mut shell = Command::new("sh");
                site.ids(shell.args(["-ec", &site.here(&call)]).env("TOKEN", secret))
            };
            assert_eq!(
                shell(token.secret()).unwrap_or_else(|said| panic!("{call}: {said}")).len(),
                1,
                "{call}"
            );
            assert_eq!(shell("floe_0").unwrap_or_default(), [0; 0], "{call}");
        }
    }
}
