//! `floe sim`: the same seeds say the same on every run, and a failure says how to see it again.

use crate::process::{floe, run};

/// The sixteen digits that change with everything that happened.
fn digest(out: &str) -> &str {
    let (_, digest) = out.trim_end().rsplit_once("digest ").expect("a digest");
    assert!(digest.len() == 16 && digest.bytes().all(|byte| byte.is_ascii_hexdigit()), "{out}");
    digest
}

#[test]
fn the_same_seeds_have_the_same_digest() {
    let twenty = |jobs| run(&mut floe(["sim", "--seeds", "20", "--seed", "1", "--jobs", jobs]));
    let (one, two) = (twenty("1"), twenty("2"));
    for said in [&one, &two] {
        assert_eq!(said.lines().len(), 1, "{said:#?}");
        assert!(said.out.starts_with("floe: 20 seeds from 1, 20m of virtual time: "), "{said:#?}");
    }
    assert_eq!(digest(&one.out), digest(&two.out));
    let others = run(&mut floe(["sim", "--seeds", "20", "--seed", "2"]));
    assert_ne!(digest(&one.out), digest(&others.out));
}

#[test]
fn a_first_seed_that_nobody_chose_is_printed_and_replays() {
    let fresh = run(&mut floe(["sim", "--seeds", "2", "--faults", "none"]));
    let (_, rest) = fresh.lines()[0].split_once("2 seeds from ").expect("the first seed");
    let (seed, _) = rest.split_once(',').expect("the first seed");
    let again = run(&mut floe(["sim", "--seeds", "2", "--faults", "none", "--seed", seed]));
    assert_eq!(digest(&fresh.out), digest(&again.out));
}

#[test]
fn an_algorithm_that_fails_is_told_with_its_seed() {
    let twins = ["sim", "--model", "twitter", "--faults", "twins"];
    let said = run(floe(twins).args(["--seeds", "5", "--seed", "1"]));
    said.refuses(1, &["twitter broke a promise", "--trace", "--svg"]);
    assert!(said.out.contains("an ID was handed out twice  1 "), "{said:#?}");

    let replay = "floe sim --seed 1 --model twitter --faults twins";
    let (_, story) = said
        .out
        .split_once(&format!(
            "Seed 1 (`{replay}` runs it again), cut to the shortest history that still goes wrong:\n\n"
        ))
        .expect("a story");
    assert!(!story.trim().is_empty(), "{said:#?}");
    let alone = run(&mut floe(replay.split(' ').skip(1)));
    alone.refuses(1, &["twitter broke a promise in seed 1"]);
    assert!(alone.out.ends_with(story), "the replay tells another story: {alone:#?}");
}

#[test]
fn the_failure_of_another_algorithm_beside_floe_is_what_was_asked_for() {
    let said = run(&mut floe(["sim", "--model", "all", "--faults", "twins", "--seeds", "2", "--seed", "1"]));
    let lines = said.lines();
    let row = |model: &str| -> Vec<&str> {
        let row = lines.iter().find(|line| line.starts_with(model)).expect("a row for each model");
        row.split_whitespace().collect()
    };
    assert_eq!(row("floe")[2..4], ["none", "-"]);
    assert_eq!(row("twitter")[3], "1");
}

#[test]
fn a_trace_is_the_same_on_every_run() {
    let trace = || run(&mut floe(["sim", "--seed", "7", "--seconds", "10", "--trace"]));
    let (first, second) = (trace(), trace());
    assert!(first.lines().len() > 100, "{first:#?}");
    assert_eq!(first.out, second.out);
}

#[test]
fn a_picture_is_drawn_of_a_failure_and_of_a_seed() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("floe.svg");
    let drawn = |arguments: &[&str], code| {
        let said = run(floe(["sim", "--svg"]).arg(&file).args(arguments));
        assert_eq!(said.code, Some(code), "{said:#?}");
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        let _ = std::fs::remove_file(&file);
        text
    };
    assert!(drawn(&["--model", "twitter", "--faults", "twins", "--seed", "1"], 1).starts_with("<svg"));
    assert!(drawn(&["--faults", "none", "--seed", "1"], 0).starts_with("<svg"));
    assert_eq!(drawn(&["--faults", "none", "--seed", "1", "--seeds", "2", "--model", "twitter"], 0), "");
}

#[test]
fn the_table_is_the_same_on_any_number_of_threads() {
    let table = |jobs| {
        let arguments = ["sim", "--table", "--seeds", "2", "--seed", "1", "--seconds", "20", "--jobs", jobs];
        let said = run(&mut floe(arguments));
        assert_eq!(said.code, Some(0), "{said:#?}");
        said.out
    };
    let (one, two) = (table("1"), table("2"));
    assert_eq!(one, two);
    assert!(one.contains("| floe | none |"), "{one}");
    assert!(one.contains("| flickr | not promised |"), "{one}");
}

#[test]
fn a_row_of_the_table_alone_is_that_of_the_whole_table() {
    let table = |more: &[&str]| {
        let arguments = ["sim", "--table", "--seeds", "1", "--seed", "3", "--seconds", "20"];
        let said = run(floe(arguments).args(more));
        assert_eq!((said.code, said.err.as_str()), (Some(0), ""), "no terminal, no progress: {said:#?}");
        said.out
    };
    let rows = |table: &str, model: &str| -> Vec<String> {
        let start = format!("| {model} | ");
        table.lines().filter(|line| line.starts_with(&start)).map(str::to_owned).collect()
    };
    let (whole, alone) = (table(&["--model", "all"]), table(&["--model", "tinyid-databases"]));
    let row = rows(&alone, "tinyid-databases");
    assert_eq!(row, rows(&whole, "tinyid-databases"));
    assert_eq!(row.len(), 4, "its configuration and three parts: {alone}");
    assert!(rows(&alone, "tinyid").is_empty() && rows(&alone, "floe").is_empty(), "{alone}");
    let begins = "Seeds 3 to 3 in each cell, 5 nodes, 20 virtual seconds each (unless its column says more): 12 histories, ";
    assert!(alone.starts_with(begins), "{alone}");
    assert_eq!(whole, table(&[]));
}

#[test]
fn a_cell_is_explained_with_its_rule_its_figures_and_a_story_that_replays() {
    let said = run(&mut floe(["sim", "--explain", "twitter", "crash+rollback", "--seconds", "120"]));
    assert_eq!(said.code, Some(0), "{said:#?}");
    let expected = [
        "twitter under crash + rollback\n",
        "the class, copied; worker ids by hand",
        "refuses while its clock is behind its last ID",
        "twitter-archive/snowflake a8cb075: IdWorker.scala (nextId, tilNextMillis)",
        "of 100 histories (",
        "; floe promises none here.",
        "its clock set back by ",
        "hands out the same ID.\n",
    ];
    for words in expected {
        assert!(said.out.contains(words), "{words}: {}", said.out);
    }
    let line = said.out.lines().last().expect("the command that replays it").trim();
    assert!(line.starts_with("floe sim --seed ") && line.ends_with("--seconds 120 --trace"), "{line}");
    let again = run(&mut floe(line.split(' ').skip(1)));
    again.refuses(1, &["twitter broke a promise in seed "]);
    assert!(again.out.contains(" WRONG: id handed out "), "{again:#?}");
}

#[test]
fn a_cell_in_which_nothing_is_repeated_says_so() {
    for (model, faults, expected) in [
        ("baidu", "twins", "none twice, as floe promises here."),
        ("floe", "crash", "none twice."),
        ("twitter", "restore", "none twice; floe may repeat IDs here (docs/guarantees.md)."),
    ] {
        let said = run(&mut floe(["sim", "--explain", model, faults, "--seeds", "2", "--seconds", "30"]));
        assert_eq!(said.code, Some(0), "{said:#?}");
        assert!(said.out.contains(expected) && !said.out.contains("story"), "{said:#?}");
    }
}

#[test]
fn a_cell_that_there_is_not_is_refused_with_those_there_are() {
    let refused = |model, faults, words: &[&str]| {
        run(&mut floe(["sim", "--explain", model, faults])).refuses(2, words);
    };
    refused("twiter", "crash", &["there is no model \"twiter\"", "leaf-snowflake", "redis-incr-aof"]);
    refused(
        "twitter",
        "crahs",
        &["there are no faults \"crahs\"", "crash+rollback, ", "store-forgets", "deleted"],
    );
    run(&mut floe(["sim", "--explain", "twitter"])).refuses(2, &["--explain"]);
    run(&mut floe(["sim", "--explain", "twitter", "crash", "--trace"])).refuses(2, &["--trace"]);
}
