//! Compares models with their originals: the classes and packages that their projects publish in registries, with a
//! clock that a test sets.
//!
//! A script is a clock that is set, stands still, runs and steps, with calls and restarts in between, all drawn from a
//! seed. `testbed/originals` plays it to the original, and this file plays it to the model. Each ID, each refusal with
//! its text, and the clock after each run of calls (which shows how long the original waited) must be the same.
//!
//! `scripts/originals` installs the originals; `scripts/test --skip-originals` leaves them out.

use std::io::{BufRead as _, BufReader, BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::manual_host::{ManualHost, NOON};
use crate::peers::{bwmarrin, hutool, mybatis_plus, seata, shardingsphere, sonyflake, tsid, yitter};
use floe_sim::model::{Model, Verdict};
use floe_sim::random::Random;

const SCRIPTS: u64 = 1_000;

/// A longer wait is a sleep. A loop that looks at the clock is called again after 50 ms at the latest; here it looks
/// each millisecond.
const LONGEST_LOOK_MS: u64 = 50;

#[derive(Clone, Copy)]
enum Language {
    Java,
    Go,
}

/// An original, and what its scripts need to show its rules.
#[derive(Clone, Copy)]
struct Original {
    name: &'static str,
    language: Language,
    /// How many worker ids it accepts. Others are tried too, if a number can be one.
    workers: u64,
    most_worker: u64,
    epoch: i64,
    /// Some scripts begin up to this many years later, past the end of the time's bits. (Go's clock readings have no
    /// monotonic part from 2157 on.)
    years: u64,
    /// How many calls at once use up a millisecond, and in how many of a thousand scripts that happens.
    burst: (u64, u64),
    /// How many streams of random numbers the model may try for one ID: 1 if the original is given the numbers.
    tries: u64,
}

const PLAIN: Original = Original {
    name: "",
    language: Language::Java,
    workers: 1_024,
    most_worker: 1_100,
    epoch: 1_288_834_974_657,
    years: 120,
    burst: (9_000, 150),
    tries: 1,
};

enum Op {
    /// A new script begins at this time.
    At(i64),
    /// A process starts, with a worker id and a seed for its random numbers.
    Start(u64, u64),
    /// Both clocks advance.
    Pass(u64),
    /// The wall clock is set.
    Step(i64),
    /// The wall clock is set while the original next waits.
    During(i64),
    /// This many calls, with a seed for their random numbers.
    Ids(u64, u64),
}

impl Op {
    fn line(&self) -> String {
        match self {
            Self::At(time) => format!("at {time} 0"),
            Self::Start(worker, seed) => format!("start {worker} {}", Random::new(*seed).below(1 << 10)),
            Self::Pass(millis) => format!("pass {millis} 0"),
            Self::Step(millis) => format!("step {millis} 0"),
            Self::During(millis) => format!("during {millis} 0"),
            Self::Ids(count, seed) => format!("ids {count} {}", Random::new(*seed).below(1 << 12)),
        }
    }
}

fn millis(random: &mut Random, most: u64) -> i64 {
    i64::try_from(random.spread(1, most)).unwrap()
}

/// The steps back that MyBatis-Plus, ShardingSphere and Hutool tolerate, and a millisecond more and less.
const BORNE: [i64; 9] = [4, 5, 6, 9, 10, 11, 1_999, 2_000, 2_001];

/// The script of a seed.
fn script(original: &Original, seed: u64) -> Vec<Op> {
    let mut random = Random::new(seed);
    const YEAR_MS: u64 = 31_557_600_000;
    let begin = match random.below(40) {
        // On both sides of the epoch.
        0 => original.epoch - 3_000 + millis(&mut random, 6_000),
        1 => NOON + i64::try_from(random.below(original.years * YEAR_MS)).unwrap(),
        _ => NOON + millis(&mut random, 1_000_000),
    };
    let worker = match random.below(50) {
        0 => random.between(original.workers.min(original.most_worker), original.most_worker),
        _ => random.below(original.workers),
    };
    let mut ops = vec![Op::At(begin), Op::Start(worker, random.number())];
    let length = random.between(10, 40);
    let (burst, per_mille) = original.burst;
    let burst_at = if random.chance(per_mille) { random.below(length) } else { length };
    for place in 0..length {
        if place == burst_at {
            ops.push(Op::Ids(random.between(burst / 2, burst), random.number()));
        }
        ops.push(match random.below(100) {
            0..45 => Op::Ids(random.spread(1, 100), random.number()),
            45..65 => Op::Pass(random.spread(1, 3_000)),
            65..73 => Op::Step(-millis(&mut random, 5_000)),
            // By as much as some of them tolerate, and a millisecond more and less.
            73..80 => Op::Step(-BORNE[usize::try_from(random.below(9)).unwrap()]),
            80..85 => Op::Step(millis(&mut random, 5_000)),
            85..93 => Op::During(-millis(&mut random, 30)),
            _ => Op::Start(worker, random.number()),
        });
    }
    ops.push(Op::Ids(20, random.number()));
    ops
}

/// The place of something that `scripts/originals` installs. Panics with the way out if it has not run.
fn installed(path: &str) -> PathBuf {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from);
    let path = workspace.join(target).join("originals").join(path);
    assert!(
        path.exists(),
        "these tests need the originals, and {} is missing: run scripts/originals, or leave them out with scripts/test \
         --skip-originals",
        path.display()
    );
    path
}

/// The program that plays scripts to an original.
fn program(original: &Original) -> Command {
    let Language::Java = original.language else {
        let mut command = Command::new(installed("go/play"));
        command.arg(original.name);
        return command;
    };
    let classes = format!("{}:{}/*", installed("java").display(), installed("jars").display());
    let mut command = Command::new("java");
    // Without this, it would print warnings about the methods that are replaced.
    command.args(["-Xlog:disable", "-Xlog:all=error:stderr"]);
    // Without this, compiled code would read the clock itself and not call the method.
    command.args(["-XX:+UnlockDiagnosticVMOptions", "-XX:DisableIntrinsic=_currentTimeMillis"]);
    command.args(["-Duser.timezone=UTC", "-cp", &classes, "Play"]);
    command.arg(installed("java/libtold.so")).arg(original.name);
    command
}

/// Plays lines to an original, and has `hear` read its output.
fn play(
    original: &Original,
    lines: impl Iterator<Item = String> + Send,
    hear: impl FnOnce(&mut dyn FnMut() -> String),
) {
    let mut child = program(original).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = BufWriter::new(child.stdin.take().unwrap());
    let output = child.stdout.take().unwrap();
    std::thread::scope(|scope| {
        // The output ends with this closure. So a test that fails here does not wait for an original that continues.
        let mut output = BufReader::new(output).lines();
        scope.spawn(move || {
            for line in lines {
                // If the original ends early, its output says why.
                if writeln!(input, "{line}").is_err() {
                    break;
                }
            }
        });
        hear(&mut || output.next().expect("the original goes on").unwrap());
    });
    assert!(child.wait().unwrap().success(), "{}", original.name);
}

/// A model that plays a script.
struct Player<M: Model> {
    host: ManualHost<M>,
    process: Option<M::Process>,
    during: i64,
}

impl<M: Model> Player<M>
where
    M::Process: Clone,
{
    /// One call, which should end as `said`. Returns how it ended.
    fn call(&mut self, seed: u64, tries: u64, said: &str) -> String {
        let mut first = true;
        loop {
            let before = self.process.clone().expect("a process");
            let mut verdict = Verdict::Later;
            for more in 0..tries {
                let mut process = before.clone();
                self.host.random = Random::new(seed.wrapping_add(more));
                verdict = if first && more == 0 {
                    self.host.mint(&mut process)
                } else {
                    self.host.again(&mut process)
                };
                self.process = Some(process);
                let Verdict::Minted(ids) = &verdict else { break };
                if text(ids[0]) == said {
                    break;
                }
            }
            first = false;
            match verdict {
                Verdict::Minted(ids) => return text(ids[0]),
                Verdict::Refused(why) => return format!("!{why}"),
                Verdict::Again(at) => {
                    let lacks = at.since(self.host.now.mono);
                    self.host.step(std::mem::take(&mut self.during));
                    self.host.pass(if lacks > LONGEST_LOOK_MS { lacks } else { 1 });
                }
                Verdict::Later => unreachable!("none of these asks anybody"),
            }
        }
    }
}

/// An ID as the original's language prints it.
fn text(id: u128) -> String {
    u64::try_from(id).unwrap().cast_signed().to_string()
}

/// Whether the original said the same, possibly with a class name before it.
fn same(original: &str, model: &str) -> bool {
    match (original.strip_prefix('!'), model.strip_prefix('!')) {
        (Some(original), Some(model)) => original.contains(model),
        _ => original == model,
    }
}

/// Compares a model with its original, and reports how much was compared.
fn compare<M: Model>(original: &Original, model: impl Fn() -> M)
where
    M::Process: Clone,
{
    let (mut ids, mut refusals) = (0_u64, 0_u64);
    let lines = (0..SCRIPTS).flat_map(|seed| script(original, seed)).map(|op| op.line());
    play(original, lines, |hear| {
        for seed in 0..SCRIPTS {
            let mut player = Player { host: ManualHost::new(model()), process: None, during: 0 };
            let ops = script(original, seed);
            for (place, op) in ops.iter().enumerate() {
                let so_far = || ops[..=place].iter().map(Op::line).collect::<Vec<_>>().join("\n");
                let check = |said: &str, model: &str| {
                    assert!(
                        same(said, model),
                        "{}, script {seed}: the original says {said}, the model {model}, at the end of\n{}",
                        original.name,
                        so_far()
                    );
                };
                match op {
                    Op::At(time) => player.host.step(time - player.host.now.wall.get()),
                    Op::Pass(millis) => player.host.pass(*millis),
                    Op::Step(millis) => player.host.step(*millis),
                    Op::During(millis) => player.during = *millis,
                    Op::Start(worker, seed) => {
                        player.host.random = Random::new(*seed);
                        player.host.setup.worker = *worker;
                        let process = player.host.start();
                        let died = player.host.died().map(|why| format!("!{why}"));
                        player.process = died.is_none().then_some(process);
                        refusals += u64::from(died.is_some());
                        check(&hear(), died.as_deref().unwrap_or("started"));
                    }
                    Op::Ids(count, seed) => {
                        let said = hear();
                        let mut said = said.split('\t');
                        for _ in 0..if player.process.is_some() { *count } else { 0 } {
                            let said = said.next().unwrap();
                            let model = player.call(*seed, original.tries, said);
                            check(said, &model);
                            *if model.starts_with('!') { &mut refusals } else { &mut ids } += 1;
                        }
                        check(said.next().unwrap(), &player.host.now.wall.get().to_string());
                    }
                }
            }
        }
    });
    println!("{}: {SCRIPTS} scripts, {ids} IDs and {refusals} refusals are the original's", original.name);
    assert!(ids > 100 * SCRIPTS, "{ids} IDs show little");
}

#[test]
fn mybatis_plus_is_the_original() {
    // Its random numbers belong to its thread.
    let original = Original { name: "mybatis-plus", tries: 64, ..PLAIN };
    compare(&original, || mybatis_plus::MybatisPlus { configured: true });
}

#[test]
fn hutool_is_the_original() {
    compare(&Original { name: "hutool", ..PLAIN }, || hutool::Hutool { configured: true });
}

#[test]
fn seata_is_the_original() {
    let original = Original { name: "seata", epoch: 1_588_435_200_000, ..PLAIN };
    compare(&original, || seata::Seata { configured: true });
}

#[test]
fn shardingsphere_is_the_original() {
    let original = Original { name: "shardingsphere", epoch: 1_477_958_400_000, ..PLAIN };
    compare(&original, shardingsphere::ShardingSphere::standalone);
}

/// 59 IDs a millisecond, and 2,000 milliseconds of drift.
#[test]
fn yitter_is_the_original() {
    let original = Original {
        name: "yitter",
        workers: 64,
        most_worker: 100,
        epoch: 1_582_136_402_000,
        burst: (130_000, 20),
        ..PLAIN
    };
    compare(&original, || yitter::Yitter);
}

#[test]
fn tsid_is_the_original() {
    let original = Original { name: "tsid", epoch: 1_577_836_800_000, ..PLAIN };
    compare(&original, tsid::Tsid::default);
}

#[test]
fn bwmarrin_is_the_original() {
    compare(&Original { name: "bwmarrin", language: Language::Go, ..PLAIN }, || bwmarrin::Bwmarrin);
}

#[test]
fn sonyflake_is_the_original() {
    let original = Original {
        name: "sonyflake",
        language: Language::Go,
        workers: 1 << 16,
        most_worker: (1 << 16) - 1,
        epoch: 1_735_689_600_000,
        years: 190,
        burst: (3_000, 150),
        ..PLAIN
    };
    compare(&original, sonyflake::Sonyflake::default);
}

/// `getMaxWorkerId` and `IdUtil.getWorkerId`, in a process whose id the test cannot choose.
#[test]
fn worker_ids_of_mybatis_plus_and_hutool_are_the_originals() {
    let original = Original { name: "mybatis-plus", ..PLAIN };
    play(&original, (0..32).map(|datacenter| format!("worker {datacenter} 0")), |hear| {
        for datacenter in 0..32 {
            let said = hear();
            let numbers: Vec<u64> = said.split('\t').map(|number| number.parse().unwrap()).collect();
            let worker = mybatis_plus::worker(datacenter, numbers[0]);
            assert_eq!(numbers[1..], [worker; 2], "datacenter {datacenter}, process {}", numbers[0]);
        }
    });
}
