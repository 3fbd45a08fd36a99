//! The entrants: floe, and the published algorithms.

use floe_sim::run::{Entrant, FLOE, play};

use crate::peers;

/// floe, and every published algorithm that has a model, in the order of the table.
pub const ENTRANTS: &[Entrant] = &[
    FLOE,
    Entrant {
        name: "twitter",
        source: "twitter-archive/snowflake, IdWorker.scala",
        setting: "the class, copied; worker ids by hand",
        play: |s, h, m| play(peers::twitter::Twitter, s, h, m),
    },
    Entrant {
        name: "twitter-service",
        source: "twitter-archive/snowflake, SnowflakeServer.scala",
        setting: "the service: worker ids by host name, claimed in ZooKeeper, clocks compared, 10 s of sleep at a start",
        play: |s, h, m| play(peers::twitter_service::TwitterService::default(), s, h, m),
    },
    Entrant {
        name: "leaf-snowflake",
        source: "Meituan-Dianping/Leaf, SnowflakeIDGenImpl.java, SnowflakeZookeeperHolder.java",
        setting: "the default: worker ids by address and port from ZooKeeper, with the local file",
        play: |s, h, m| play(peers::leaf_snowflake::LeafSnowflake::default(), s, h, m),
    },
    Entrant {
        name: "notfound9",
        source: "NotFound9/Leaf, RecyclableZookeeperHolder.java",
        setting: "worker ids from ZooKeeper that are recycled after an hour",
        play: |s, h, m| play(peers::notfound9::NotFound9::default(), s, h, m),
    },
    Entrant {
        name: "shardingsphere",
        source: "apache/shardingsphere, SnowflakeKeyGenerateAlgorithm.java",
        setting: "cluster mode: worker ids from ZooKeeper",
        play: |s, h, m| play(peers::shardingsphere::ShardingSphere::cluster(), s, h, m),
    },
    Entrant {
        name: "shardingsphere-standalone",
        source: "apache/shardingsphere, StandaloneWorkerIdGenerator.java",
        setting: "outside of cluster mode: worker id 0, where no `worker-id` is configured",
        play: |s, h, m| play(peers::shardingsphere::ShardingSphere::standalone(), s, h, m),
    },
    Entrant {
        name: "shardingsphere-worker-id",
        source: "apache/shardingsphere, StandaloneWorkerIdGenerator.java",
        setting: "the same, with a `worker-id` in each node's configuration",
        play: |s, h, m| play(peers::shardingsphere::ShardingSphere::configured(), s, h, m),
    },
    Entrant {
        name: "cosid",
        source: "Ahoo-Wang/CosId, AbstractSnowflakeId.java",
        setting: "machine ids from Redis, `stable: true`: names that last, and a state file",
        play: |s, h, m| play(peers::cosid::CosId::new(true), s, h, m),
    },
    Entrant {
        name: "cosid-unstable",
        source: "Ahoo-Wang/CosId, AbstractSnowflakeId.java, CosIdMachineIdLifecycle.java",
        setting: "machine ids from Redis, the default: names that change at every start",
        play: |s, h, m| play(peers::cosid::CosId::new(false), s, h, m),
    },
    Entrant {
        name: "baidu",
        source: "baidu/uid-generator, CachedUidGenerator.java",
        setting: "the cached generator, with its README's bits",
        play: |s, h, m| play(peers::baidu::Baidu::new(true), s, h, m),
    },
    Entrant {
        name: "baidu-default",
        source: "baidu/uid-generator, DefaultUidGenerator.java",
        setting: "the default generator, with its README's bits",
        play: |s, h, m| play(peers::baidu::Baidu::new(false), s, h, m),
    },
    Entrant {
        name: "yitter",
        source: "yitter/IdGenerator, Go/source/idgen/SnowWorkerM1.go",
        setting: "method 1, the default; worker ids by hand",
        play: |s, h, m| play(peers::yitter::Yitter, s, h, m),
    },
    Entrant {
        name: "yitter-after-stop",
        source: "yitter/IdGenerator, README.md",
        setting: "the same, started again only with a clock that is past its last stop, as its README asks",
        play: |s, h, m| play(peers::yitter::AfterStop::default(), s, h, m),
    },
    Entrant {
        name: "yitter-redis",
        source: "yitter/IdGenerator, Go/regworkerid/regworkerid/reghelper.go",
        setting: "worker ids from Redis by its own tool, for 15 s at a time",
        play: |s, h, m| play(peers::yitter_redis::YitterRedis::default(), s, h, m),
    },
    Entrant {
        name: "sonyflake",
        source: "sony/sonyflake, v2/sonyflake.go",
        setting: "the default: the machine id is the host's private address",
        play: |s, h, m| play(peers::sonyflake::Sonyflake::default(), s, h, m),
    },
    Entrant {
        name: "sonyflake-checked",
        source: "sony/sonyflake, v2/sonyflake.go (CheckMachineID)",
        setting: "the same with a `CheckMachineID` that holds an ephemeral record of 10 s",
        play: |s, h, m| play(peers::sonyflake::Sonyflake { checked: true }, s, h, m),
    },
    Entrant {
        name: "katsubushi-redis",
        source: "kayac/go-katsubushi, generator.go, cmd/katsubushi/main.go",
        setting: "`-redis`: worker ids from Redis, locked for 600 s at a time",
        play: |s, h, m| play(peers::katsubushi::Katsubushi::default(), s, h, m),
    },
    Entrant {
        name: "mybatis-plus",
        source: "com.baomidou:mybatis-plus-core, Sequence.java",
        setting: "the default: worker ids made of MAC address and process id",
        play: |s, h, m| play(peers::mybatis_plus::MybatisPlus::default(), s, h, m),
    },
    Entrant {
        name: "mybatis-plus-configured",
        source: "com.baomidou:mybatis-plus-core, Sequence.java",
        setting: "worker ids by hand",
        play: |s, h, m| play(peers::mybatis_plus::MybatisPlus { configured: true }, s, h, m),
    },
    Entrant {
        name: "hutool",
        source: "cn.hutool:hutool-core, Snowflake.java, IdUtil.java",
        setting: "the default: worker ids made of MAC address and process id",
        play: |s, h, m| play(peers::hutool::Hutool::default(), s, h, m),
    },
    Entrant {
        name: "hutool-configured",
        source: "cn.hutool:hutool-core, Snowflake.java",
        setting: "worker ids by hand",
        play: |s, h, m| play(peers::hutool::Hutool { configured: true }, s, h, m),
    },
    Entrant {
        name: "seata",
        source: "io.seata:seata-common, IdWorker.java",
        setting: "the default: worker ids made of MAC addresses",
        play: |s, h, m| play(peers::seata::Seata::default(), s, h, m),
    },
    Entrant {
        name: "seata-configured",
        source: "io.seata:seata-common, IdWorker.java",
        setting: "worker ids by hand",
        play: |s, h, m| play(peers::seata::Seata { configured: true }, s, h, m),
    },
    Entrant {
        name: "bwmarrin",
        source: "bwmarrin/snowflake, snowflake.go",
        setting: "worker ids by hand: there is no default",
        play: |s, h, m| play(peers::bwmarrin::Bwmarrin, s, h, m),
    },
    Entrant {
        name: "tsid",
        source: "com.github.f4b6a3:tsid-creator, TsidFactory.java",
        setting: "the default: a random worker id at each start",
        play: |s, h, m| play(peers::tsid::Tsid::default(), s, h, m),
    },
    Entrant {
        name: "tsid-configured",
        source: "com.github.f4b6a3:tsid-creator, TsidFactory.java",
        setting: "worker ids by hand",
        play: |s, h, m| play(peers::tsid::Tsid { configured: true }, s, h, m),
    },
    Entrant {
        name: "leaf-segment",
        source: "Meituan-Dianping/Leaf, SegmentIDGenImpl.java",
        setting: "the default, one database",
        play: |s, h, m| play(peers::leaf_segment::LeafSegment::default(), s, h, m),
    },
    Entrant {
        name: "tinyid",
        source: "didi/tinyid, CachedIdGenerator.java, DbSegmentIdServiceImpl.java",
        setting: "the server, one database",
        play: |s, h, m| play(peers::tinyid::TinyId::default(), s, h, m),
    },
    Entrant {
        name: "tinyid-databases",
        source: "didi/tinyid, DynamicDataSource.java, db.sql",
        setting: "the server, two databases: `delta` 2, `remainder` 0 and 1",
        play: |s, h, m| play(peers::tinyid::TinyId::on(2), s, h, m),
    },
    Entrant {
        name: "flickr",
        source: "Flickr, \"Ticket Servers: Distributed Unique Primary Keys on the Cheap\"",
        setting: "two ticket servers, odd and even",
        play: |s, h, m| play(peers::flickr::Flickr, s, h, m),
    },
    Entrant {
        name: "hibernate-pooled",
        source: "hibernate/hibernate-orm, PooledOptimizer.java",
        setting: "the default: a PostgreSQL sequence with `allocationSize` 50",
        play: |s, h, m| play(peers::sequence::Sequences::Pooled, s, h, m),
    },
    Entrant {
        name: "hibernate-pooled-lo",
        source: "hibernate/hibernate-orm, PooledLoOptimizer.java",
        setting: "the same with the optimizer `pooled-lo`",
        play: |s, h, m| play(peers::sequence::Sequences::PooledLo, s, h, m),
    },
    Entrant {
        name: "postgres-cache",
        source: "postgres/postgres, sequence.c (nextval_internal)",
        setting: "`nextval` of a sequence with `CACHE 50`",
        play: |s, h, m| play(peers::sequence::Sequences::Cache, s, h, m),
    },
    Entrant {
        name: "redis-incr",
        source: "redis/redis, t_string.c (incrDecrCommand)",
        setting: "the stock configuration: no append-only file",
        play: |s, h, m| play(peers::redis_incr::RedisIncr::default(), s, h, m),
    },
    Entrant {
        name: "redis-incr-aof",
        source: "redis/redis, aof.c (flushAppendOnlyFile)",
        setting: "`appendonly yes`, `appendfsync always`",
        play: |s, h, m| play(peers::redis_incr::RedisIncr { append_only: true }, s, h, m),
    },
    Entrant {
        name: "uuid-v7",
        source: "uuid-rs/uuid, src/v7.rs (now_v7)",
        setting: "the default: the kernel's randomness",
        play: |s, h, m| play(peers::random_ids::RandomIds::UuidV7 { fast: false }, s, h, m),
    },
    Entrant {
        name: "uuid-v7-fast",
        source: "uuid-rs/uuid, src/rng.rs",
        setting: "the feature `fast-rng`: a random generator in the process's memory",
        play: |s, h, m| play(peers::random_ids::RandomIds::UuidV7 { fast: true }, s, h, m),
    },
    Entrant {
        name: "ulid",
        source: "dylanhart/ulid-rs, src/generator.rs",
        setting: "`Generator`, which increases: a random generator in the process's memory",
        play: |s, h, m| play(peers::random_ids::RandomIds::Ulid, s, h, m),
    },
];

/// The entrant of this name.
pub fn named(name: &str) -> Option<&'static Entrant> {
    ENTRANTS.iter().find(|entrant| entrant.name == name)
}

/// The entrant of this name, as a table of one row.
pub fn row(name: &str) -> Option<&'static [Entrant]> {
    ENTRANTS.chunks(1).find(|row| row.iter().any(|entrant| entrant.name == name))
}
