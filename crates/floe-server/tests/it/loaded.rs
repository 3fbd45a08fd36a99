//! How many names are in memory, and how many may be made.

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::harness::{Server, directory, file, problem, until};
use crate::hostile::connect;

const NAMES: &str = "[[name]]\nname = \"listed\"\nkind = \"counter\"\n[[name]]\nname = \"user-*\"\nkind = \"counter\"\n\
    [[name]]\nname = \"seg-*\"\nkind = \"segment\"\n";

#[tokio::test(flavor = "multi_thread")]
async fn names_beyond_the_bound_take_the_place_of_idle_ones_and_come_back() {
    let directory = directory();
    let text = format!("limits = {{ max_names = 3, metric_names = 2 }}\n{NAMES}");
    let first = Server::start(file(&text), directory.clone()).await;
    assert_eq!(first.mint("listed", 1).await, ["1"]);
    let names: Vec<_> = (0..5).flat_map(|n| [format!("user-{n}"), format!("seg-{n}")]).collect();
    let mut last = std::collections::HashMap::new();
    for round in 0..4 {
        for name in &names {
            let id: u64 = first.mint(name, 1).await[0].parse().unwrap();
            let before = last.insert(name, id).unwrap_or(0);
            // What a segment had left went back, so it goes on where it was.
            assert_eq!(id, before + 1, "{name} in round {round}");
        }
        assert!(first.metric("floe_names").await <= 4);
    }
    assert_eq!(first.metric("floe_names_limit").await, 4, "three, and the one that is listed");
    assert_eq!(first.metric("floe_names_created_total").await, 11);
    // A round asks for ten names, of which three at most are in memory, and each of the others takes the place of one.
    // Which one it is, chance decides too: a segment that reserves ahead stays.
    let unloaded = first.metric("floe_names_unloaded_total").await;
    assert!((28..=37).contains(&unloaded), "{unloaded}");
    assert_eq!(first.mint("listed", 1).await, ["2"]);
    let all = first.json("/v1/names").await;
    assert_eq!(all["names"].as_array().unwrap().len(), 11, "the ledger knows them all");
    first.stop().await.unwrap();
    // A restart serves each of them, whatever its bound.
    let second = Server::start(file(&text.replace("max_names = 3", "max_names = 1")), directory).await;
    for name in &names {
        assert_eq!(second.mint(name, 1).await, [(last[name] + 1).to_string()], "{name}");
    }
    second.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_an_open_connection_mints_from_stays() {
    let server = Server::start(file(&format!("limits = {{ max_names = 2 }}\n{NAMES}")), directory()).await;
    let mut holders = Vec::new();
    for name in ["user-1", "user-2"] {
        let mut stream = connect(&server).await;
        stream.write_all(format!("INCR {name}\r\n").as_bytes()).await.unwrap();
        let mut said = [0; 4];
        stream.read_exact(&mut said).await.unwrap();
        assert_eq!(&said, b":1\r\n");
        holders.push(stream);
    }
    let refused = problem(server.get("/v1/mint/user-3").await, 503).await;
    assert!(refused["detail"].as_str().unwrap().contains("limits.max_names"), "{refused}");
    assert_eq!(server.metric("floe_names_refused_total").await, 1);
    for stream in &mut holders {
        stream.write_all(b"INCR user-1\r\n").await.unwrap();
    }
    drop(holders);
    until("a name is free when its connection has gone", async || {
        (server.get("/v1/mint/user-3").await.status() == 200).then_some(())
    })
    .await;
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn so_many_names_may_come_into_being_in_an_hour() {
    let server = Server::of(&format!("limits = {{ new_names_per_hour = 3 }}\n{NAMES}")).await;
    for name in ["user-1", "user-2", "user-3"] {
        assert_eq!(server.mint(name, 1).await, ["1"]);
    }
    let answer = server.get("/v1/mint/user-4").await;
    let wait: u64 = answer.headers()["retry-after"].to_str().unwrap().parse().unwrap();
    assert!((1_000..=1_201).contains(&wait), "a third of an hour: {wait}");
    let refused = problem(answer, 503).await;
    assert!(refused["detail"].as_str().unwrap().contains("limits.new_names_per_hour"), "{refused}");
    assert_eq!(server.mint("user-1", 1).await, ["2"], "what exists goes on");
    assert_eq!(server.mint("listed", 1).await, ["1"], "what is listed does not count");
    server.stop().await.unwrap();
}
