//! One seed, one history; and many seeds on all cores.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::history::{Counts, History, Wrong};
use crate::model::Model;
use crate::peers;
use crate::scenario::{Class, Scenario};
use crate::subject::Subject;
use crate::world::World;

pub use crate::world::Mode;

/// An algorithm that can be run.
#[derive(Clone, Copy)]
pub struct Entrant {
    /// What it is called on a command line.
    pub name: &'static str,
    /// Where it is published.
    pub source: &'static str,
    /// How it is configured.
    pub setting: &'static str,
    run: fn(&Scenario, &mut History, Mode),
}

/// floe, and every published algorithm that has a model.
pub const ENTRANTS: &[Entrant] = &[
    Entrant {
        name: "floe",
        source: "this repository, crates/floe",
        setting: "its defaults, on a shared ledger",
        run: |s, h, m| go(Subject::new(s), s, h, m),
    },
    Entrant {
        name: "twitter",
        source: "twitter-archive/snowflake, IdWorker.scala",
        setting: "the class, copied; worker ids by hand",
        run: |s, h, m| go(peers::twitter::Twitter, s, h, m),
    },
    Entrant {
        name: "twitter-service",
        source: "twitter-archive/snowflake, SnowflakeServer.scala",
        setting: "the service: worker ids by host name, claimed in ZooKeeper, clocks compared, 10 s of sleep at a start",
        run: |s, h, m| go(peers::twitter_service::TwitterService::default(), s, h, m),
    },
    Entrant {
        name: "leaf-snowflake",
        source: "Meituan-Dianping/Leaf, SnowflakeIDGenImpl.java, SnowflakeZookeeperHolder.java",
        setting: "the default: worker ids by address and port from ZooKeeper, with the local file",
        run: |s, h, m| go(peers::leaf_snowflake::LeafSnowflake::default(), s, h, m),
    },
    Entrant {
        name: "notfound9",
        source: "NotFound9/Leaf, RecyclableZookeeperHolder.java",
        setting: "worker ids from ZooKeeper that are recycled after an hour",
        run: |s, h, m| go(peers::notfound9::NotFound9::default(), s, h, m),
    },
    Entrant {
        name: "shardingsphere",
        source: "apache/shardingsphere, SnowflakeKeyGenerateAlgorithm.java",
        setting: "cluster mode: worker ids from ZooKeeper",
        run: |s, h, m| go(peers::shardingsphere::ShardingSphere::cluster(), s, h, m),
    },
    Entrant {
        name: "shardingsphere-standalone",
        source: "apache/shardingsphere, StandaloneWorkerIdGenerator.java",
        setting: "outside of cluster mode: worker id 0, where no `worker-id` is configured",
        run: |s, h, m| go(peers::shardingsphere::ShardingSphere::standalone(), s, h, m),
    },
    Entrant {
        name: "shardingsphere-worker-id",
        source: "apache/shardingsphere, StandaloneWorkerIdGenerator.java",
        setting: "the same, with a `worker-id` in each node's configuration",
        run: |s, h, m| go(peers::shardingsphere::ShardingSphere::configured(), s, h, m),
    },
    Entrant {
        name: "cosid",
        source: "Ahoo-Wang/CosId, AbstractSnowflakeId.java",
        setting: "machine ids from Redis, `stable: true`: names that last, and a state file",
        run: |s, h, m| go(peers::cosid::CosId::new(true), s, h, m),
    },
    Entrant {
        name: "cosid-unstable",
        source: "Ahoo-Wang/CosId, AbstractSnowflakeId.java, CosIdMachineIdLifecycle.java",
        setting: "machine ids from Redis, the default: names that change at every start",
        run: |s, h, m| go(peers::cosid::CosId::new(false), s, h, m),
    },
    Entrant {
        name: "baidu",
        source: "baidu/uid-generator, CachedUidGenerator.java",
        setting: "the cached generator, with its README's bits",
        run: |s, h, m| go(peers::baidu::Baidu::new(true), s, h, m),
    },
    Entrant {
        name: "baidu-default",
        source: "baidu/uid-generator, DefaultUidGenerator.java",
        setting: "the default generator, with its README's bits",
        run: |s, h, m| go(peers::baidu::Baidu::new(false), s, h, m),
    },
    Entrant {
        name: "yitter",
        source: "yitter/IdGenerator, Go/source/idgen/SnowWorkerM1.go",
        setting: "method 1, the default; worker ids by hand",
        run: |s, h, m| go(peers::yitter::Yitter, s, h, m),
    },
    Entrant {
        name: "yitter-redis",
        source: "yitter/IdGenerator, Go/regworkerid/regworkerid/reghelper.go",
        setting: "worker ids from Redis by its own tool, for 15 s at a time",
        run: |s, h, m| go(peers::yitter_redis::YitterRedis::default(), s, h, m),
    },
    Entrant {
        name: "sonyflake",
        source: "sony/sonyflake, v2/sonyflake.go",
        setting: "the default: the machine id is the host's private address",
        run: |s, h, m| go(peers::sonyflake::Sonyflake::default(), s, h, m),
    },
    Entrant {
        name: "sonyflake-checked",
        source: "sony/sonyflake, v2/sonyflake.go (CheckMachineID)",
        setting: "the same with a `CheckMachineID` that holds an ephemeral record of 10 s",
        run: |s, h, m| go(peers::sonyflake::Sonyflake { checked: true }, s, h, m),
    },
    Entrant {
        name: "katsubushi-redis",
        source: "kayac/go-katsubushi, generator.go, cmd/katsubushi/main.go",
        setting: "`-redis`: worker ids from Redis, locked for 600 s at a time",
        run: |s, h, m| go(peers::katsubushi::Katsubushi::default(), s, h, m),
    },
    Entrant {
        name: "mybatis-plus",
        source: "com.baomidou:mybatis-plus-core, Sequence.java",
        setting: "the default: worker ids made of MAC address and process id",
        run: |s, h, m| go(peers::mybatis_plus::MybatisPlus::default(), s, h, m),
    },
    Entrant {
        name: "mybatis-plus-configured",
        source: "com.baomidou:mybatis-plus-core, Sequence.java",
        setting: "worker ids by hand",
        run: |s, h, m| go(peers::mybatis_plus::MybatisPlus { configured: true }, s, h, m),
    },
    Entrant {
        name: "hutool",
        source: "cn.hutool:hutool-core, Snowflake.java, IdUtil.java",
        setting: "the default: worker ids made of MAC address and process id",
        run: |s, h, m| go(peers::hutool::Hutool::default(), s, h, m),
    },
    Entrant {
        name: "hutool-configured",
        source: "cn.hutool:hutool-core, Snowflake.java",
        setting: "worker ids by hand",
        run: |s, h, m| go(peers::hutool::Hutool { configured: true }, s, h, m),
    },
    Entrant {
        name: "seata",
        source: "io.seata:seata-common, IdWorker.java",
        setting: "the default: worker ids made of MAC addresses",
        run: |s, h, m| go(peers::seata::Seata::default(), s, h, m),
    },
    Entrant {
        name: "seata-configured",
        source: "io.seata:seata-common, IdWorker.java",
        setting: "worker ids by hand",
        run: |s, h, m| go(peers::seata::Seata { configured: true }, s, h, m),
    },
    Entrant {
        name: "bwmarrin",
        source: "bwmarrin/snowflake, snowflake.go",
        setting: "worker ids by hand: there is no default",
        run: |s, h, m| go(peers::bwmarrin::Bwmarrin, s, h, m),
    },
    Entrant {
        name: "tsid",
        source: "com.github.f4b6a3:tsid-creator, TsidFactory.java",
        setting: "the default: a random worker id at each start",
        run: |s, h, m| go(peers::tsid::Tsid::default(), s, h, m),
    },
    Entrant {
        name: "tsid-configured",
        source: "com.github.f4b6a3:tsid-creator, TsidFactory.java",
        setting: "worker ids by hand",
        run: |s, h, m| go(peers::tsid::Tsid { configured: true }, s, h, m),
    },
    Entrant {
        name: "leaf-segment",
        source: "Meituan-Dianping/Leaf, SegmentIDGenImpl.java",
        setting: "the default, one database",
        run: |s, h, m| go(peers::leaf_segment::LeafSegment::default(), s, h, m),
    },
    Entrant {
        name: "tinyid",
        source: "didi/tinyid, CachedIdGenerator.java, DbSegmentIdServiceImpl.java",
        setting: "the server, one database",
        run: |s, h, m| go(peers::tinyid::TinyId::default(), s, h, m),
    },
    Entrant {
        name: "flickr",
        source: "Flickr, \"Ticket Servers: Distributed Unique Primary Keys on the Cheap\"",
        setting: "two ticket servers, odd and even",
        run: |s, h, m| go(peers::flickr::Flickr, s, h, m),
    },
    Entrant {
        name: "hibernate-pooled",
        source: "hibernate/hibernate-orm, PooledOptimizer.java",
        setting: "the default: a PostgreSQL sequence with `allocationSize` 50",
        run: |s, h, m| go(peers::sequence::Sequences::Pooled, s, h, m),
    },
    Entrant {
        name: "hibernate-pooled-lo",
        source: "hibernate/hibernate-orm, PooledLoOptimizer.java",
        setting: "the same with the optimizer `pooled-lo`",
        run: |s, h, m| go(peers::sequence::Sequences::PooledLo, s, h, m),
    },
    Entrant {
        name: "postgres-cache",
        source: "postgres/postgres, sequence.c (nextval_internal)",
        setting: "`nextval` of a sequence with `CACHE 50`",
        run: |s, h, m| go(peers::sequence::Sequences::Cache, s, h, m),
    },
    Entrant {
        name: "redis-incr",
        source: "redis/redis, t_string.c (incrDecrCommand)",
        setting: "the stock configuration: no append-only file",
        run: |s, h, m| go(peers::redis_incr::RedisIncr::default(), s, h, m),
    },
    Entrant {
        name: "redis-incr-aof",
        source: "redis/redis, aof.c (flushAppendOnlyFile)",
        setting: "`appendonly yes`, `appendfsync always`",
        run: |s, h, m| go(peers::redis_incr::RedisIncr { append_only: true }, s, h, m),
    },
    Entrant {
        name: "uuid-v7",
        source: "uuid-rs/uuid, src/v7.rs (now_v7)",
        setting: "the default: the kernel's randomness",
        run: |s, h, m| go(peers::random_ids::RandomIds::UuidV7 { fast: false }, s, h, m),
    },
    Entrant {
        name: "uuid-v7-fast",
        source: "uuid-rs/uuid, src/rng.rs",
        setting: "the feature `fast-rng`: a random generator in the process's memory",
        run: |s, h, m| go(peers::random_ids::RandomIds::UuidV7 { fast: true }, s, h, m),
    },
    Entrant {
        name: "ulid",
        source: "dylanhart/ulid-rs, src/generator.rs",
        setting: "`Generator`, which increases: a random generator in the process's memory",
        run: |s, h, m| go(peers::random_ids::RandomIds::Ulid, s, h, m),
    },
];

fn go<M: Model>(mut model: M, scenario: &Scenario, history: &mut History, mode: Mode) {
    World::new(&mut model, scenario, history, mode).run(mode.until_wrong);
}

impl Entrant {
    /// The one of this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        ENTRANTS.iter().find(|entrant| entrant.name == name)
    }

    /// Runs it through a scenario.
    pub fn run(&self, scenario: &Scenario, history: &mut History, mode: Mode) {
        (self.run)(scenario, history, mode);
    }

    /// What a story of a scenario is about: of an algorithm that repeats an ID there, that.
    pub(crate) fn worst(&self, scenario: &Scenario, history: &mut History) -> Option<Wrong> {
        let twice = Some(Wrong::Twice);
        self.run(scenario, history, Mode { noting: false, until_wrong: true, only: twice });
        twice.filter(|_| !history.violations.is_empty())
    }

    /// Whether it is floe, of which every violation is a bug.
    pub fn is_floe(&self) -> bool {
        self.name == "floe"
    }
}

/// Which scenarios are drawn from seeds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Plan {
    /// The first seed.
    pub first: u64,
    /// How many.
    pub seeds: u64,
    /// Nodes of the fleet.
    pub nodes: usize,
    /// Virtual seconds of one history.
    pub seconds: u64,
    /// The classes of faults that a seed may pick from.
    pub classes: Vec<Class>,
    /// Whether it takes all of them.
    pub every: bool,
}

impl Plan {
    /// The scenario of one seed.
    pub fn scenario(&self, seed: u64) -> Scenario {
        Scenario::new(seed, self.nodes, self.seconds, &self.classes, self.every)
    }
}

/// What came of many seeds.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Outcome {
    /// Histories.
    pub seeds: u64,
    /// Sums over all of them.
    pub counts: Counts,
    /// How many had a violation of any kind.
    pub bad: u64,
    /// In how many of them an ID was handed out twice.
    pub repeating: u64,
    /// The smallest seeds of those in which that was wrong.
    pub repeats: Vec<u64>,
    /// The smallest seed with each kind of wrong, by [`Wrong`] in the order of its variants, with the first words.
    pub first: [Option<(u64, String)>; 4],
    /// Changes with everything that happened in any of them.
    pub digest: u64,
}

/// So many seeds are remembered, of which the one is told in which it goes wrong the soonest.
const MOST_REPEATS: usize = 5;

impl Outcome {
    /// The smallest seed that shows this.
    pub fn first(&self, wrong: Wrong) -> Option<&(u64, String)> {
        self.first[wrong as usize].as_ref()
    }

    /// The smallest seed with any violation.
    pub fn smallest(&self) -> Option<u64> {
        self.first.iter().flatten().map(|(seed, _)| *seed).min()
    }

    fn take(&mut self, seed: u64, history: &History) {
        self.counts.add(&history.counts);
        self.seeds += 1;
        self.bad += u64::from(!history.violations.is_empty());
        self.repeating += u64::from(history.counts.twice > 0);
        if history.violations.iter().any(|it| it.wrong == Wrong::Twice) {
            self.remember(&[seed]);
        }
        // A sum, so that it does not hang on the order in which threads finish.
        self.digest = self.digest.wrapping_add(history.digest ^ seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        for violation in &history.violations {
            let first = &mut self.first[violation.wrong as usize];
            if first.as_ref().is_none_or(|(earlier, _)| seed < *earlier) {
                *first = Some((seed, violation.words.clone()));
            }
        }
    }

    fn remember(&mut self, seeds: &[u64]) {
        self.repeats.extend_from_slice(seeds);
        self.repeats.sort_unstable();
        self.repeats.truncate(MOST_REPEATS);
    }

    fn merge(&mut self, other: Self) {
        self.counts.add(&other.counts);
        self.seeds += other.seeds;
        self.bad += other.bad;
        self.repeating += other.repeating;
        self.remember(&other.repeats);
        self.digest = self.digest.wrapping_add(other.digest);
        for (mine, theirs) in self.first.iter_mut().zip(other.first) {
            let earlier = |(seed, _): &(u64, String)| mine.as_ref().is_none_or(|(first, _)| seed < first);
            if theirs.as_ref().is_some_and(earlier) {
                *mine = theirs;
            }
        }
    }
}

/// Runs all seeds of a plan on `threads` threads. `progress` hears how many are done, now and then.
pub fn seeds(entrant: &Entrant, plan: &Plan, threads: usize, progress: &(dyn Fn(u64) + Sync)) -> Outcome {
    let next = AtomicU64::new(0);
    let total = Mutex::new(Outcome::default());
    std::thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            scope.spawn(|| {
                let (mut outcome, mut history) = (Outcome::default(), History::default());
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    if index >= plan.seeds {
                        break;
                    }
                    let seed = plan.first + index;
                    let mode = Mode { until_wrong: entrant.is_floe(), ..Mode::default() };
                    entrant.run(&plan.scenario(seed), &mut history, mode);
                    outcome.take(seed, &history);
                    progress(index + 1);
                }
                total.lock().unwrap_or_else(PoisonError::into_inner).merge(outcome);
            });
        }
    });
    total.into_inner().unwrap_or_else(PoisonError::into_inner)
}
