use std::collections::BTreeSet;

use super::{draw_run, shrink, tell, trace};
use crate::picture::{MarkKind, draw};
use crate::{ENTRANTS, named};
use floe_sim::history::{History, Wrong};
use floe_sim::run::{Entrant, Mode};
use floe_sim::scenario::{Class, Scenario};

const ROLLBACK_AND_CRASH: &[Class] = &[Class::Rollback, Class::Crash];

fn entrant(name: &str) -> &'static Entrant {
    named(name).unwrap()
}

fn first_wrong(entrant: &Entrant, scenario: &Scenario) -> Option<Wrong> {
    let mut history = History::default();
    entrant.run(scenario, &mut history, Mode { noting: false, until_wrong: true, only: None });
    history.violations.first().map(|violation| violation.wrong)
}

/// The first scenario that goes wrong in this way.
fn wrong(entrant: &Entrant, wrong: Wrong, classes: &[Class], seconds: u64) -> Scenario {
    let mut scenarios = (0..400).map(|seed| Scenario::new(seed, 5, seconds, classes, true));
    scenarios.find(|scenario| first_wrong(entrant, scenario) == Some(wrong)).unwrap()
}

/// For each kind of algorithm, a scenario that repeats an ID.
fn repeats() -> Vec<(&'static Entrant, Scenario)> {
    let cases: [(_, &[Class]); 5] = [
        ("twitter", ROLLBACK_AND_CRASH),
        ("twitter", &[Class::Twins, Class::Outage]),
        ("twitter", &[Class::Clone]),
        ("leaf-segment", &[Class::Snapshot]),
        ("leaf-segment", &[Class::Restore, Class::Pause]),
    ];
    let cases = cases.into_iter().map(|(name, classes)| (entrant(name), classes));
    cases.map(|(entrant, classes)| (entrant, wrong(entrant, Wrong::Twice, classes, 60))).collect()
}

#[test]
fn what_is_shrunk_goes_wrong_in_the_same_way() {
    for (entrant, scenario) in repeats() {
        let small = shrink(entrant, &scenario);
        assert_eq!(first_wrong(entrant, &small), Some(Wrong::Twice), "{}", entrant.name);
        assert!(small.faults.len() <= scenario.faults.len());
        assert!(small.faults.iter().all(|fault| fault.at <= small.until));
        assert!(small.until < scenario.until && small.heal <= small.until);
        assert!(small.starts.iter().flatten().count() > 0);
        assert_eq!(shrink(entrant, &scenario), small, "the same again");
        let again = shrink(entrant, &small);
        assert!(again.faults.len() <= small.faults.len() && again.until <= small.until);
    }
}

#[test]
fn a_clock_step_and_a_restart_are_all_that_twitter_needs() {
    let twitter = entrant("twitter");
    let scenario = wrong(twitter, Wrong::Twice, ROLLBACK_AND_CRASH, 60);
    assert!(shrink(twitter, &scenario).faults.len() <= 2);
}

#[test]
fn a_scenario_that_is_well_shrinks_to_itself_and_has_no_story() {
    let scenario = Scenario::new(1, 3, 20, &[], true);
    for name in ["twitter", "leaf-segment", "floe"] {
        assert_eq!(shrink(entrant(name), &scenario), scenario);
        assert_eq!(tell(entrant(name), &scenario), None);
    }
}

#[test]
fn a_story_tells_both_mints() {
    for (entrant, scenario) in repeats() {
        let story = tell(entrant, &shrink(entrant, &scenario)).unwrap();
        assert_eq!(story.violation.wrong, Wrong::Twice);
        let collision = story.picture.collision.as_ref().unwrap();
        let words = &story.words;
        assert!(words.starts_with(&collision.words), "{words}");
        assert_eq!(words.matches(&format!("hands out {}", collision.id)).count(), 2, "{words}");
        assert_eq!(words.matches(" again under ").count(), 1, "{words}");
        assert!(words.lines().count() <= 26, "{words}");
        assert_eq!(collision.mints.len(), 2);
        for &(lane, at) in &collision.mints {
            let marks = &story.picture.lanes[lane].marks;
            assert!(marks.iter().any(|mark| mark.kind == MarkKind::Mint && mark.at_us.abs_diff(at) < 50_000));
            assert!((story.picture.from_us..=story.picture.until_us).contains(&at));
        }
        assert_eq!(collision.stamp_us.is_some(), words.contains("Both are worker"), "{words}");
        assert!(draw(&story.picture).contains(&collision.id));
    }
}

#[test]
fn what_two_nodes_share_is_told() {
    let twitter = entrant("twitter");
    let story = tell(twitter, &wrong(twitter, Wrong::Twice, &[Class::Twins], 20)).unwrap();
    assert!(story.words.contains("are both configured to be worker 0"), "{}", story.words);
    let covers = |lane: usize| story.picture.lanes[lane].bars[0].covers[0];
    assert_eq!(story.picture.lanes.len(), 2);
    assert!(covers(0).from_us < covers(1).until_us && covers(1).from_us < covers(0).until_us);
}

#[test]
fn a_disorder_is_told_with_both_ids() {
    let yitter = entrant("yitter");
    let scenario = wrong(yitter, Wrong::Disorder, &[Class::Rollback], 20);
    let story = tell(yitter, &shrink(yitter, &scenario)).unwrap();
    assert!(story.violation.mints.is_some());
    assert_eq!(story.words.matches("  hands out ").count(), 2, "{}", story.words);
    assert!(story.words.contains("to a call that began after"), "{}", story.words);
}

#[test]
fn a_trace_is_the_same_for_two_runs() {
    for name in ["floe", "cosid"] {
        let scenario = Scenario::new(7, 4, 8, Class::CONTRACT, true);
        let lines: Vec<_> = trace(entrant(name), &scenario).collect();
        assert!(lines.iter().any(|line| line.contains("  hands out ")));
        assert!(lines.iter().all(|line| line.contains(" s  node ")
            || line.contains(" s  store")
            || line.contains(" s  fleet")));
        assert!(lines.iter().all(|line| !line.contains('\n')));
        assert_eq!(lines, trace(entrant(name), &scenario).collect::<Vec<_>>());
    }
}

#[test]
fn a_good_run_is_drawn_within_bounds() {
    let scenario = Scenario::new(3, 14, 20, &[Class::Crash, Class::Pause], true);
    for name in ["floe", "leaf-segment", "twitter"] {
        let picture = draw_run(entrant(name), &scenario);
        assert_eq!((picture.from_us, picture.until_us), (0, scenario.until));
        assert_eq!(picture.lanes.len(), 12);
        assert!(picture.collision.is_none());
        assert!(picture.lanes.iter().any(|lane| !lane.bars.is_empty()), "{name}");
        assert!(draw(&picture).len() < 600_000, "{name}");
    }
}

#[test]
fn a_story_is_told_in_one_sentence_in_its_users_words() {
    let brief = |name: &str, classes: &[Class]| {
        let entrant = entrant(name);
        let scenario = wrong(entrant, Wrong::Twice, classes, 60);
        tell(entrant, &shrink(entrant, &scenario)).unwrap().brief
    };
    let twitter = brief("twitter", ROLLBACK_AND_CRASH);
    let in_order =
        ["hands out an ID; ", "has its clock set back by ", "it starts again", "hands out the same ID."];
    let places: Vec<_> = in_order.iter().map(|words| twitter.find(words)).collect();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{twitter}");
    assert!(twitter.starts_with("Node ") && !twitter.contains("the store"), "{twitter}");
    let segment = brief("leaf-segment", &[Class::Restore]);
    assert!(segment.contains("later the database is restored from the backup; "), "{segment}");
    for words in [twitter, segment] {
        assert!(words.split("; ").count() <= 12, "{words}");
    }
}

#[test]
fn the_soonest_of_several_is_told() {
    let twitter = entrant("twitter");
    let scenarios: Vec<_> = (1..8).map(|seed| Scenario::new(seed, 5, 60, &[Class::Twins], true)).collect();
    let first = |scenario: &Scenario| {
        let mut history = History::default();
        let mode = Mode { noting: false, until_wrong: true, only: Some(Wrong::Twice) };
        twitter.run(scenario, &mut history, mode);
        history.violations.first().map(|violation| violation.at)
    };
    let (seed, story) = super::soonest(twitter, scenarios.clone()).unwrap();
    let soonest = scenarios.iter().filter_map(|scenario| Some((first(scenario)?, scenario.seed))).min();
    assert_eq!(soonest.map(|(_, seed)| seed), Some(seed));
    assert_eq!(story.violation.wrong, Wrong::Twice);
    assert!(super::soonest(entrant("floe"), scenarios).is_none());
}

#[test]
fn snowflakes_are_read_as_they_were_made() {
    let scenario = Scenario::new(1, 3, 30, &[], true);
    let mut read = BTreeSet::new();
    for entrant in ENTRANTS {
        let mut history = History::default();
        entrant.run(&scenario, &mut history, Mode { noting: true, until_wrong: false, only: None });
        assert_eq!(history.parts.len(), history.mints.len());
        for (mint, parts) in history.mints.iter().zip(&history.parts) {
            let Some(parts) = parts else { continue };
            read.insert(entrant.name);
            let most = match entrant.name {
                // Its time begins at the clock's time, and then counts IDs.
                "seata" | "seata-configured" => 40_000,
                // A ring that is filled ahead, or whose seconds the demand has not used up.
                "baidu" => 40_000,
                // Its ticks are seconds.
                "baidu-default" => 1_100,
                // A batch is handed out when its last ID is due, and may have waited for a window.
                "floe" => 1_000,
                _ => 100,
            };
            let off = parts.time.get() - scenario.begin_ms - i64::try_from(mint.at / 1_000).unwrap();
            assert!(off.abs() <= most, "{}: {parts}, {off} ms", entrant.name);
            assert!(parts.worker < 1_024 && parts.sequence < 8_192, "{}: {parts}", entrant.name);
        }
    }
    let snowflakes = [
        "baidu",
        "baidu-default",
        "bwmarrin",
        "cosid",
        "cosid-unstable",
        "floe",
        "hutool",
        "hutool-configured",
        "katsubushi-redis",
        "leaf-snowflake",
        "mybatis-plus",
        "mybatis-plus-configured",
        "notfound9",
        "seata",
        "seata-configured",
        "shardingsphere",
        "shardingsphere-standalone",
        "shardingsphere-worker-id",
        "sonyflake",
        "sonyflake-checked",
        "tsid",
        "tsid-configured",
        "twitter",
        "twitter-service",
        "yitter",
        "yitter-after-stop",
        "yitter-redis",
    ];
    assert_eq!(read, snowflakes.into());
}
