//! ZooKeeper, an ensemble of one.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::ops::Deref;
use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;

use rustix::process::Signal;

use crate::{Home, Server, program};

/// A ZooKeeper on its own.
pub struct Zookeeper(Server);

impl Zookeeper {
    /// A server with these lines in its configuration beside what it needs, and these options for its Java.
    pub fn start(settings: &[&str], java: &[&str]) -> Self {
        Self::start_in(Home::new("zookeeper"), settings, java)
    }

    /// The same, in a home with files of its own.
    pub fn start_in(home: Home, settings: &[&str], java: &[&str]) -> Self {
        let jar = "/usr/share/java/zookeeper.jar";
        assert!(
            Path::new(jar).is_file(),
            "these tests need ZooKeeper: install the Debian packages zookeeper and default-jre-headless, or leave \
             them out with scripts/test --skip-servers"
        );
        let (settings, java) =
            (settings.join("\n"), java.iter().map(ToString::to_string).collect::<Vec<_>>());
        let start = move |home: &Home, port: u16| {
            let data = home.path().join("data");
            let text = format!(
                "tickTime=500\ndataDir={}\nclientPortAddress=127.0.0.1\nclientPort={port}\n\
                 admin.enableServer=false\n4lw.commands.whitelist=ruok,srvr\nmaxClientCnxns=0\n{settings}\n",
                data.display()
            );
            let file = home.write("zoo.cfg", &text);
            let mut command = home.command(&program("java", "FLOE_JAVA", &[], "default-jre-headless"));
            command.args(["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx128m"]).args(&java);
            command.args(["-cp", &format!("{jar}:/usr/share/java/slf4j-nop.jar")]);
            command.arg("org.apache.zookeeper.server.ZooKeeperServerMain").arg(file);
            command
        };
        Self(Server::new(home, Signal::TERM, start, is_ready))
    }

    /// One server for all tests of a process that do it no harm.
    pub fn shared() -> &'static Self {
        static SHARED: OnceLock<Zookeeper> = OnceLock::new();
        SHARED.get_or_init(|| Self::start(&[], &[]))
    }

    /// Its URL for floe, with everything under `/floe`.
    pub fn url(&self) -> String {
        format!("zookeeper://127.0.0.1:{}/floe", self.port())
    }
}

/// Whether it answers `ruok`.
fn is_ready(port: u16) -> bool {
    let ask = || {
        let mut stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_read_timeout(Some(Duration::from_millis(500)))?;
        stream.write_all(b"ruok")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        std::io::Result::Ok(answer)
    };
    ask().is_ok_and(|answer| answer == "imok")
}

impl Deref for Zookeeper {
    type Target = Server;

    fn deref(&self) -> &Server {
        &self.0
    }
}
