//! What a name is must never change (I4): its definition's text is stored in ledgers, and one that reads otherwise is
//! refused. So the texts in `tests/data/fingerprints.txt` stay as they are, whatever becomes of the code. Lines may be added.

use crate::harness::Server;

const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/fingerprints.txt");

#[tokio::test(flavor = "multi_thread")]
async fn settings_mean_the_definitions_that_they_always_meant() {
    let golden = std::fs::read_to_string(GOLDEN).unwrap();
    let lines: Vec<_> = golden.lines().filter(|line| !line.starts_with('#')).collect();
    let pairs: Vec<_> = lines.iter().map(|line| line.split_once(" => ").unwrap()).collect();
    assert!(pairs.len() >= 60, "only {} lines", pairs.len());
    let mut config = String::from("limits = { max_names = 1000 }\n");
    for (at, (settings, _)) in pairs.iter().enumerate() {
        config += &format!("[[name]]\nname = \"n{at}\"\n{}\n", settings.replace("; ", "\n"));
    }
    let server = Server::of(&config).await;
    let mut wrong = Vec::new();
    for (at, (settings, definition)) in pairs.iter().enumerate() {
        let report = server.json(&format!("/v1/names/n{at}")).await;
        if report["definition"] != *definition {
            wrong.push(format!("{settings} => {}", report["definition"].as_str().unwrap_or("?")));
        }
    }
    assert!(wrong.is_empty(), "these differ:\n{}", wrong.join("\n"));
    server.stop().await.unwrap();
}
