//! Redis' protocol over raw sockets: the recipes that set a key up, and what clients ask before they begin.

use std::net::SocketAddr;

use floe_server::NewToken;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::harness::{PATIENCE, Server, say, until};

const NAMES: &str = "[[name]]\nname = 'visits'\nkind = 'counter'\n[[name]]\nname = 'tickets'\nkind = 'segment'\nincrement = 2\noffset = 1\n\
    [[name]]\nname = 'orders'\nkind = 'snowflake'\nlayout = 'twitter'\n\
    [[name]]\nname = 'invoice'\nkind = 'dated'\ndigits = 6\nzone = 'UTC'\n[[name]]\nname = 'day-*'\nkind = 'counter'\n";

pub(crate) async fn answers(server: &Server, asked: &[&str]) -> Vec<String> {
    answers_at(server.address, asked).await
}

async fn answers_at(address: SocketAddr, asked: &[&str]) -> Vec<String> {
    // As clients send them.
    let array = |line: &str| {
        let words: Vec<_> = line.split(' ').collect();
        let bulks: String = words.iter().map(|word| format!("${}\r\n{word}\r\n", word.len())).collect();
        format!("*{}\r\n{bulks}", words.len())
    };
    let request: String = asked.iter().copied().chain(["QUIT"]).map(array).collect();
    let said = say(TcpStream::connect(address).await.unwrap(), request.as_bytes()).await;
    said.strip_suffix("+OK\r\n").unwrap().lines().map(str::to_owned).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_name_begins_behind_the_number_that_set_nx_gives() {
    let server = Server::of(NAMES).await;
    let asked = [
        ("EXISTS visits tickets day-1 visits", ":0"),
        ("SETNX visits 100", ":1"),
        ("EXISTS visits tickets day-1 visits", ":2"),
        ("SETNX visits 500", ":0"),
        ("SET visits 500 NX", "$-1"),
        ("INCR visits", ":101"),
        ("SET tickets 1000 NX EX 86400", "+OK"),
        ("INCR tickets", ":1001"),
        ("INCR tickets", ":1003"),
        ("SET tickets 5 nx", "$-1"),
        // A time to live deletes nothing, and 0 is behind no number.
        ("SET day-1 0 EX 10 NX", "+OK"),
        ("INCR day-1", ":1"),
        ("SET day-1 0 NX", "$-1"),
        ("SETNX invoice 0", ":1"),
    ];
    let said = answers(&server, &asked.map(|(asked, _)| asked)).await;
    assert_eq!(said, asked.map(|(_, answer)| answer));
    let asked = ["SETNX day-2 7", "GET day-2", "MULTI", "SETNX day-3 1", "INCR day-3", "EXEC"];
    let expected = [":1", "$1", "7", "+OK", "+QUEUED", "+QUEUED", "*2", ":1", ":2"];
    assert_eq!(answers(&server, &asked).await, expected);
    server.stop().await.unwrap();
}

/// Equal requests are gathered without being read: what looks alike, or asks for nothing, must not be counted.
#[tokio::test(flavor = "multi_thread")]
async fn each_request_of_a_pipeline_is_counted_once_whatever_stands_beside_it() {
    let server = Server::of("[limits]\nmax_batch = 7\n[[name]]\nname = '*'\nkind = 'counter'\n").await;
    let (a, b) = ("*2\r\n$4\r\nINCR\r\n$1\r\na\r\n", "*2\r\n$4\r\nINCR\r\n$1\r\nb\r\n");
    let by_one = "*3\r\n$6\r\nINCRBY\r\n$1\r\na\r\n$1\r\n1\r\n";
    let queued = format!("MULTI\r\n{a}{a}{b}{b}{b}EXEC\r\n");
    // What is sent, how often, and the counters that each of them counts up by one.
    let sent: [(&str, usize, &str); 16] = [
        (a, 20, "a"),
        ("\r\n", 3, ""),
        (a, 1, "a"),
        ("*0\r\n", 3, ""),
        (b, 1, "b"),
        ("\r\n", 4, ""),
        (b, 8, "b"),
        (by_one, 15, "a"),
        ("incr b\r\n", 9, "b"),
        ("INCR aa\r\n", 2, "aa"),
        (a, 2, "a"),
        (b, 2, "b"),
        (a, 1, "a"),
        (&queued, 2, "MaabbbE"),
        (by_one, 2, "a"),
        ("incr b\n", 8, "b"),
    ];
    let mut counted = std::collections::HashMap::<&str, u32>::new();
    let mut number = |name| {
        let last = counted.entry(name).or_default();
        *last += 1;
        format!(":{last}\r\n")
    };
    let mut expected = String::new();
    for (_, times, counts) in sent {
        for _ in 0..times {
            expected += &match counts {
                "" => String::new(),
                "MaabbbE" => {
                    let replies: String = ["a", "a", "b", "b", "b"].map(&mut number).concat();
                    format!("+OK\r\n{}*5\r\n{replies}", "+QUEUED\r\n".repeat(5))
                }
                name => number(name),
            };
        }
    }
    let request: String =
        sent.iter().map(|(text, times, _)| text.repeat(*times)).chain(["QUIT\r\n".into()]).collect();
    let said = say(TcpStream::connect(server.address).await.unwrap(), request.as_bytes()).await;
    assert_eq!(said, expected + "+OK\r\n");
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn names_that_differ_only_in_case_are_two_on_one_connection_as_well() {
    let server = Server::of("[[name]]\nname = '*'\nkind = 'counter'\n").await;
    let asked = ["INCR a", "INCR A", "INCR A", "INCR a", "MINT A", "MINT a"];
    assert_eq!(answers(&server, &asked).await, [":1", ":1", ":2", ":2", ":3", ":3"]);
    let said = say(TcpStream::connect(server.address).await.unwrap(), b"get a\r\nget A\r\nquit\r\n").await;
    assert_eq!(said, "VALUE a 0 1\r\n4\r\nEND\r\nVALUE A 0 1\r\n4\r\nEND\r\n");
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_connection_has_queued_counts_as_held() {
    const COMMANDS: usize = 30;
    let server = Server::of("[[name]]\nname = 'visits'\nkind = 'counter'\n").await;
    let before = server.held().await;
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    let command = format!("GET {}\r\n", "x".repeat(1_000));
    let queued = u64::try_from(COMMANDS * command.len()).unwrap();
    // One by one, so that nothing but the queue is large.
    for (asked, answer) in std::iter::once(("MULTI\r\n", "+OK\r\n"))
        .chain(std::iter::repeat_n((command.as_str(), "+QUEUED\r\n"), COMMANDS))
    {
        stream.write_all(asked.as_bytes()).await.unwrap();
        let mut said = vec![0; answer.len()];
        tokio::time::timeout(PATIENCE, stream.read_exact(&mut said)).await.unwrap().unwrap();
        assert_eq!(said, answer.as_bytes());
    }
    until("it counts", async || (server.held().await >= before + queued).then_some(())).await;
    drop(stream);
    until("it is given back", async || (server.held().await < before + queued).then_some(())).await;
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_refused_for_its_number_makes_no_name() {
    let names = "new_names = 'ask for first'\n\
        [[name]]\nname = 'f-*'\nkind = 'segment'\nfirst = 1000\n\
        [[name]]\nname = 'i-*'\nkind = 'segment'\nincrement = 10\noffset = 3\nfirst = 1003\n\
        [[name]]\nname = 't-*'\nkind = 'counter'\n[[name]]\nname = 's-*'\nkind = 'snowflake'\nlayout = 'twitter'\n\
        [[name]]\nname = 'd-*'\nkind = 'dated'\ndigits = 6\nzone = 'UTC'\n";
    let server = Server::of(names).await;
    for (asked, begins) in [
        // The recipe for a number of each day, on a name that is new.
        ("SET d-1 0 EX 86400 NX", "+OK"),
        ("SETNX d-2 5", "-WRONGTYPE"),
        ("EXISTS d-1 d-2", ":0"),
        ("SETNX f-1 9223372036854775807", "-OVERFLOW"),
        ("INCR f-1", ":1000"),
        // The name has no number that large, though others have.
        ("SETNX i-1 9223372036854775805", "-OVERFLOW"),
        ("INCR i-1", ":1003"),
        ("SET t-1 9223372036854775807 NX", "-OVERFLOW"),
        ("INCR t-1", "-NOKEY"),
        ("SETNX s-1 5", "-WRONGTYPE"),
        ("EXISTS f-1 i-1 t-1 s-1", ":2"),
    ] {
        let said = answers(&server, &[asked]).await.join(" ");
        assert!(said.starts_with(begins), "{asked}: {said}");
    }
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_that_set_a_name_at_once_one_does() {
    let server = Server::of(NAMES).await;
    let address = server.address;
    let mut setting = JoinSet::new();
    for turn in 1..=20 {
        setting.spawn(
            async move { answers_at(address, &[&format!("SETNX day-1 {turn}000"), "GET day-1"]).await },
        );
    }
    let all = setting.join_all().await;
    let first: Vec<_> = all.iter().filter(|said| said[0] == ":1").collect();
    assert_eq!(first.len(), 1, "{all:?}");
    let begun: u64 = first[0][2].parse().unwrap();
    assert_eq!(answers(&server, &["INCR day-1"]).await, [format!(":{}", begun + 1)]);
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_would_choose_or_repeat_a_number_is_refused_with_the_reason() {
    let server = Server::of(NAMES).await;
    for (asked, begins, says) in [
        ("SET visits 5", "-ERR", "SET name n NX"),
        ("SET visits 5 XX", "-ERR", "repeat IDs"),
        ("SET visits 5 NX GET", "-ERR", "SET name n NX"),
        ("SET visits 5 NX EX", "-ERR", "syntax error"),
        ("SET visits 5 NX EX 0", "-ERR", "invalid expire time"),
        ("SET visits 5 NX EX 1 PX 1", "-ERR", "syntax error"),
        ("SET visits five NX", "-ERR", "not an integer"),
        ("SETNX visits -1", "-ERR", "below 0"),
        ("SETNX visits 9223372036854775807", "-OVERFLOW", "2^63"),
        ("SETNX orders 5", "-WRONGTYPE", "nothing to raise"),
        ("SETNX nobody 5", "-NOKEY", "nobody"),
        ("SETNX visits", "-ERR", "wrong number of arguments for 'setnx' command"),
        ("EXISTS", "-ERR", "wrong number of arguments for 'exists' command"),
        ("DEL visits", "-ERR", "would repeat its IDs"),
        ("UNLINK visits", "-ERR", "would repeat its IDs"),
        ("FLUSHALL", "-ERR", "would repeat its IDs"),
        ("GETSET visits 5", "-ERR", "a client chose"),
        // Not NOSCRIPT, which asks for the script.
        ("EVALSHA 5 0", "-ERR", "runs no scripts"),
        ("SCRIPT LOAD x", "-ERR", "runs no scripts"),
        ("HELLO 4", "-NOPROTO", "unsupported protocol version"),
        ("HELLO x", "-ERR", "Protocol version is not an integer or out of range"),
        ("NOTHING", "-ERR", "unknown command 'NOTHING'"),
    ] {
        let said = answers(&server, &[asked]).await.join(" ");
        assert!(said.starts_with(begins) && said.contains(says), "{asked}: {said}");
    }
    assert_eq!(answers(&server, &["INCR visits", "EXISTS orders nobody"]).await, [":1", ":1"]);
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn without_tokens_a_login_is_answered_as_by_redis_without_a_password() {
    let server = Server::of(NAMES).await;
    // Word for word what Redis 7.0.15 says, since libraries compare all of it.
    const NO_PASSWORD: &str = "-ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?";
    const NO_USER: &str = "-WRONGPASS invalid username-password pair or user is disabled.";
    for (asked, answer) in [
        ("AUTH secret", NO_PASSWORD),
        ("AUTH default", NO_PASSWORD),
        ("AUTH default secret", "+OK"),
        ("AUTH other secret", NO_USER),
        ("AUTH DEFAULT secret", NO_USER),
        ("AUTH", "-ERR wrong number of arguments for 'auth' command"),
        ("HELLO 2 AUTH default secret", "*14"),
        ("HELLO 3 AUTH default secret", "%7"),
        ("HELLO 2 AUTH other secret", NO_USER),
        ("HELLO 3 AUTH default", "-ERR Syntax error in HELLO option 'AUTH'"),
        ("HELLO 2 AUTH", "-ERR Syntax error in HELLO option 'AUTH'"),
    ] {
        assert_eq!(answers(&server, &[asked]).await[0], answer, "{asked}");
    }
    let said = answers(&server, &["AUTH default secret", "INCR visits"]).await;
    assert_eq!(said, ["+OK", ":1"]);
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_has_no_first_number_is_not_made_by_setting_one() {
    let token = NewToken::random("app", "*").unwrap();
    let names = "[[name]]\nname = 's-*'\nkind = 'snowflake'\nlayout = 'twitter'\n[[name]]\nname = 'u-*'\nkind = 'ulid'\n";
    let server = Server::of(&format!("{names}{}", token.toml())).await;
    let auth = format!("AUTH {}", token.secret());
    for set in ["SETNX s-1 0", "SET s-1 0 NX", "SETNX u-1 0"] {
        let said = answers(&server, &[&auth, set, "EXISTS s-1 u-1"]).await;
        assert!(said[1].starts_with("-WRONGTYPE"), "{set}: {said:?}");
        assert_eq!(said[2], ":0", "{set} has made the name");
    }
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_names_the_name_and_never_the_ledgers_key() {
    let names = "[[name]]\nname = 'seg'\nkind = 'segment'\n[[name]]\nname = 'inc'\nkind = 'counter'\n";
    let server = Server::of(names).await;
    for name in ["seg", "inc"] {
        let set = format!("SETNX {name} 9223372036854775804");
        assert_eq!(answers(&server, &[&set]).await, [":1"]);
        let last = until("the name to be used up", || async {
            let said = answers(&server, &[&format!("INCR {name}")]).await;
            said[0].starts_with("-OVERFLOW").then(|| said[0].clone())
        })
        .await;
        assert!(last.contains(name) && !last.contains("n/"), "{last}");
    }
    // The record of a name that was minted from is deleted.
    let counter = "[[name]]\nname = 'gone'\nkind = 'counter'\n";
    let server = Server::of(counter).await;
    assert_eq!(answers(&server, &["INCR gone"]).await, [":1"]);
    let ledger = rusqlite::Connection::open(server.directory.path().join("data/floe.db")).unwrap();
    ledger.execute("DELETE FROM mark WHERE key = 'n/gone'", ()).unwrap();
    let said = answers(&server, &["INCR gone"]).await;
    assert!(said[0].contains("the record of `gone` is missing"), "{said:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_inspects_a_name_that_is_not_there_is_told_how_it_comes_to_be() {
    for (names, how) in [
        (
            "new_names = 'ask for first'\n[[name]]\nname = 'n*'\nkind = 'segment'\n",
            "first number is known: set first = N",
        ),
        (
            "new_names = 'ask for first'\n[[name]]\nname = 'n*'\nkind = 'counter'\n",
            "floe marks raise n8 --kind counter",
        ),
        (
            "new_names = 'ask for first'\n[[name]]\nname = 'n*'\nkind = 'counter'\nfirst = 7\n",
            "first minted from",
        ),
        ("new_names = 'refuse'\n[[name]]\nname = 'n*'\nkind = 'ulid'\n", "this server makes none"),
        ("[[name]]\nname = 'n*'\nkind = 'counter'\n", "first minted from"),
    ] {
        let server = Server::of(names).await;
        let said = answers(&server, &["INSPECT 5 n8"]).await.join(" ");
        assert!(said.starts_with("-NOKEY") && said.contains(how), "{names}: {said}");
        server.stop().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn info_has_the_sections_that_were_asked_for() {
    let server = Server::of(NAMES).await;
    let all = answers(&server, &["INFO"]).await;
    for line in ["# Server", "# Clients", "connected_clients:1", "loading:0", "role:master", "ready:1"] {
        assert!(all.iter().any(|found| found == line), "{line} is not in {all:?}");
    }
    let clients = answers(&server, &["INFO clients"]).await;
    assert!(
        clients.contains(&"# Clients".to_owned()) && !clients.contains(&"# Server".to_owned()),
        "{clients:?}"
    );
    assert_eq!(answers(&server, &["INFO nothing"]).await, ["$0", ""]);
    assert_eq!(answers(&server, &["INFO everything"]).await.len(), all.len());
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_of_memcached_that_begins_with_incr_hears_so_and_is_closed() {
    let ports = "resp = '127.0.0.1:0'\n";
    let server = Server::of(&format!("{ports}{NAMES}")).await;
    for line in ["incr visits 1\r\n", "decr visits 1\r\n", "incr visits 5 noreply\r\n"] {
        let said = say(TcpStream::connect(server.address).await.unwrap(), line.as_bytes()).await;
        assert!(
            said.starts_with("CLIENT_ERROR bad-request: ") && said.contains("serves get"),
            "{line}: {said}"
        );
    }
    // What Redis has under the name stays Redis', and so does everything on Redis' own port.
    let typed =
        say(TcpStream::connect(server.address).await.unwrap(), b"incr visits\r\nincr visits 1\r\nquit\r\n")
            .await;
    assert!(typed.starts_with(":1\r\n-ERR wrong number") && typed.ends_with("+OK\r\n"), "{typed}");
    let (_, own) = server.started.ports.iter().find(|(name, _)| *name == "Redis").unwrap();
    let typed = TcpStream::connect(crate::harness::tcp(own)).await.unwrap();
    let typed = say(typed, b"incr visits 1\r\nquit\r\n").await;
    assert!(typed.starts_with("-ERR wrong number") && typed.ends_with("+OK\r\n"), "{typed}");
    server.stop().await.unwrap();
}
