//! ZooKeeper, an ensemble of one or of three.

use std::fs::File;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use rustix::process::Signal;

use crate::{Certificates, Home, Proxy, Server, free_port, listens, output, program, text};

/// A ZooKeeper server.
pub struct Zookeeper(Server);

impl Zookeeper {
    /// A server with these lines added to its configuration, and these options for its Java.
    pub fn start(settings: &[&str], java: &[&str]) -> Self {
        Self::start_in(Home::new("zookeeper"), settings, java)
    }

    /// The same, in a home with its own files.
    pub fn start_in(home: Home, settings: &[&str], java: &[&str]) -> Self {
        Self::start_until(home, settings, java, serves)
    }

    fn start_until(
        home: Home,
        settings: &[&str],
        java: &[&str],
        ready: impl Fn(u16) -> bool + Send + Sync + 'static,
    ) -> Self {
        let (settings, java) =
            (settings.join("\n"), java.iter().map(ToString::to_string).collect::<Vec<_>>());
        let start = move |home: &Home, port: u16| {
            let text = format!(
                "tickTime=500\ndataDir={}\nclientPortAddress=127.0.0.1\nclientPort={port}\n\
                 admin.enableServer=false\n4lw.commands.whitelist=ruok,srvr\nmaxClientCnxns=0\n{settings}\n",
                home.path().join("data").display()
            );
            let file = home.write("zoo.cfg", &text);
            let mut command = home.command(&java_program());
            command.args(["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx128m"]).args(&java);
            command
                .args(["-cp", &class_path(), "org.apache.zookeeper.server.quorum.QuorumPeerMain"])
                .arg(file);
            command
        };
        Self(Server::new(home, Signal::TERM, start, ready))
    }

    /// A server for `host` that accepts TLS on a second port, which is returned. `client_auth` is its demand for
    /// clients' certificates: `none` or `need`.
    pub fn start_with_tls(host: &str, client_auth: &str) -> (Self, u16, Certificates) {
        let home = Home::new("zookeeper");
        let certificates = Certificates::for_host(host, &home);
        let pem =
            [&certificates.server, &certificates.key].map(|file| std::fs::read_to_string(file).unwrap());
        let (keys, port) = (home.write("keys.pem", &pem.concat()), free_port());
        let settings = [
            format!("secureClientPort={port}\nsecureClientPortAddress=127.0.0.1"),
            "serverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory".to_owned(),
            format!("ssl.keyStore.location={}\nssl.keyStore.type=PEM", text(&keys)),
            format!("ssl.trustStore.location={}\nssl.trustStore.type=PEM", text(&certificates.signer)),
            format!("ssl.clientAuth={client_auth}"),
        ];
        let settings = settings.each_ref().map(String::as_str);
        let server = Self::start_until(home, &settings, &[], move |plain| serves(plain) && listens(port));
        (server, port, certificates)
    }

    /// Three servers that decide by majority, as soon as two of them have found each other.
    pub fn ensemble(java: &[&str]) -> [Self; 3] {
        Self::members(java, &[1, 2, 3].map(|id| (id, free_port(), free_port())), &[])
    }

    /// The same, where the last one reaches the other two through these proxies.
    pub fn ensemble_behind_proxies() -> ([Self; 3], [Proxy; 2]) {
        let ports = [1, 2, 3].map(|id| (id, free_port(), free_port()));
        let proxies = [0, 1].map(|member: usize| Proxy::before(ports[member].1));
        (Self::members(&[], &ports, &proxies), proxies)
    }

    /// Each has a number, a port for what its leader tells, and one for elections.
    fn members(java: &[&str], ports: &[(u8, u16, u16); 3], proxies: &[Proxy]) -> [Self; 3] {
        [1, 2, 3].map(|id| {
            let members = ports.iter().enumerate().map(|(at, (member, told, elected))| {
                let told = proxies.get(at).filter(|_| id == 3).map_or(*told, Proxy::port);
                format!("server.{member}=127.0.0.1:{told}:{elected}")
            });
            let members: Vec<String> = members.collect();
            let home = Home::new("zookeeper");
            home.write_below("data", "myid", &id.to_string());
            let mut settings = vec!["initLimit=10", "syncLimit=4"];
            settings.extend(members.iter().map(String::as_str));
            // It serves nobody before it has found another one.
            Self::start_until(home, &settings, java, |port| {
                ask(port, "ruok").is_ok_and(|answer| answer == "imok")
            })
        })
    }

    /// One server for all tests of a process that do not harm it.
    pub fn shared() -> &'static Self {
        static SHARED: OnceLock<Zookeeper> = OnceLock::new();
        SHARED.get_or_init(|| Self::start(&[], &[]))
    }

    /// Its URL for floe, with everything under `/floe`.
    pub fn url(&self) -> String {
        format!("zookeeper://127.0.0.1:{}/floe", self.port())
    }

    /// The output of a command in ZooKeeper's own client, for an operator's commands.
    #[track_caller]
    pub fn cli(&self, arguments: &[&str]) -> String {
        let mut command = self.client();
        command.args(arguments);
        // First it prints that it connected, and to which server.
        let said = output(&mut command);
        let (_, answer) = said.split_once("path:null").unwrap();
        answer.trim().to_owned()
    }

    /// Runs several commands in one session of ZooKeeper's own client.
    #[track_caller]
    pub fn cli_script(&self, commands: &str) {
        // Tests that share the server may each run one.
        static SCRIPTS: AtomicU32 = AtomicU32::new(0);
        let name = format!("commands-{}", SCRIPTS.fetch_add(1, Ordering::Relaxed));
        let file = self.home().write(&name, commands);
        let mut command = self.client();
        command.stdin(File::open(file).unwrap());
        output(&mut command);
    }

    fn client(&self) -> Command {
        let mut command = Command::new(java_program());
        command.env("LC_ALL", "C.UTF-8");
        command.args(["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", &class_path()]);
        command.arg("org.apache.zookeeper.ZooKeeperMain");
        // Without `-waitforconnection` a second thread reports the connection, sometimes after the answer.
        command.args(["-waitforconnection", "-server", &format!("127.0.0.1:{}", self.port())]);
        command
    }

    /// A figure that it reports about itself, such as `Received` or `Connections`.
    pub fn counts(&self, what: &str) -> u64 {
        let answer = ask(self.port(), "srvr").unwrap();
        let mut lines = answer.lines().filter_map(|line| line.split_once(": "));
        let (_, number) = lines.find(|(name, _)| *name == what).unwrap();
        let hexadecimal = number.strip_prefix("0x").map(|number| u64::from_str_radix(number, 16));
        hexadecimal.unwrap_or_else(|| number.parse()).unwrap()
    }

    /// Whether it leads an ensemble.
    pub fn is_leader(&self) -> bool {
        ask(self.port(), "srvr").is_ok_and(|answer| answer.contains("Mode: leader"))
    }
}

fn java_program() -> PathBuf {
    program("java", "FLOE_JAVA", &[], "default-jre-headless")
}

/// All jars that Debian has for it. Its own jar names only some of those that TLS needs.
fn class_path() -> String {
    assert!(
        Path::new("/usr/share/java/zookeeper.jar").is_file(),
        "these tests need ZooKeeper: install the Debian packages zookeeper and default-jre-headless, or leave them \
         out with scripts/test --skip-servers"
    );
    let jars =
        ["zookeeper", "netty-codec", "netty-resolver", "netty-transport-native-unix-common", "slf4j-nop"];
    jars.map(|jar| format!("/usr/share/java/{jar}.jar")).join(":")
}

/// Whether it answers clients. It answers `ruok` before that.
fn serves(port: u16) -> bool {
    ask(port, "srvr").is_ok_and(|answer| answer.contains("Mode: "))
}

/// Its answer to a four-letter word.
fn ask(port: u16, word: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(Duration::from_millis(500)))?;
    stream.write_all(word.as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

impl Deref for Zookeeper {
    type Target = Server;

    fn deref(&self) -> &Server {
        &self.0
    }
}
