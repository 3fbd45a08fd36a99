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
        store: "",
        rule: "The operator gives each process its worker id. It counts within a millisecond, waits for the next one when \
               4,096 are used up, and refuses while its clock is behind its last ID. It writes nothing down: a new process \
               knows nothing of the last ID.",
        read: "twitter-archive/snowflake a8cb075: IdWorker.scala (nextId, tilNextMillis)",
        play: |s, h, m| play(peers::twitter::Twitter, s, h, m),
    },
    Entrant {
        name: "twitter-service",
        source: "twitter-archive/snowflake, SnowflakeServer.scala",
        setting: "the service: worker ids by host name, claimed in ZooKeeper, clocks compared, 10 s of sleep at a start",
        store: "ZooKeeper",
        rule: "A map from host names gives the worker id, which a server holds in ZooKeeper while its session \
               of 3 s lasts. A start fails if its clock is over 10 s from the mean of the other servers' clocks. \
               A server sleeps 10 s before it serves, and writes no time down. A server that has lost its session \
               is not told to stop.",
        read: "twitter-archive/snowflake a8cb075: SnowflakeServer.scala (start, sanityCheckPeers, registerWorkerId), \
               SnowflakeConfig.scala; twitter-archive/scala-zookeeper-client 72dc4a1 (3.0.6): ZooKeeperClient.scala (sessionEvent)",
        play: |s, h, m| play(peers::twitter_service::TwitterService::default(), s, h, m),
    },
    Entrant {
        name: "leaf-snowflake",
        source: "Meituan-Dianping/Leaf, SnowflakeIDGenImpl.java, SnowflakeZookeeperHolder.java",
        setting: "the default: worker ids by address and port from ZooKeeper, with the local file",
        store: "ZooKeeper",
        rule: "An address and port has one worker id in ZooKeeper for ever, and a copy in a local file. A process \
               reports its clock to ZooKeeper every 3 s. A start refuses if its clock is behind that report, and \
               compares nothing if ZooKeeper does not answer. The sequence begins at a random number below 100.",
        read: "Meituan-Dianping/Leaf 86a6441: SnowflakeIDGenImpl.java (get), SnowflakeZookeeperHolder.java (init, createNode, \
               updateNewData, checkInitTimeStamp, updateLocalWorkerID)",
        play: |s, h, m| play(peers::leaf_snowflake::LeafSnowflake::default(), s, h, m),
    },
    Entrant {
        name: "notfound9",
        source: "NotFound9/Leaf, RecyclableZookeeperHolder.java",
        setting: "worker ids from ZooKeeper that are recycled after an hour",
        store: "ZooKeeper",
        rule: "A start takes the first free worker id of a pool in ZooKeeper. It fails if that id's last report \
               is ahead of its clock. A process reports its clock every 3 s. An id without a report for an hour \
               goes back into the pool; a process whose reports fail for an hour stops.",
        read: "NotFound9/Leaf 896882e: RecyclableZookeeperHolder.java (init, initAllNode, updateNewData, \
               checkWorkIdUploadStatus), SnowflakeIDGenImpl.java (get)",
        play: |s, h, m| play(peers::notfound9::NotFound9::default(), s, h, m),
    },
    Entrant {
        name: "shardingsphere",
        source: "apache/shardingsphere, SnowflakeKeyGenerateAlgorithm.java",
        setting: "cluster mode: worker ids from ZooKeeper",
        store: "ZooKeeper",
        rule: "A process claims the lowest free worker id in ZooKeeper, by an ephemeral record with a session of 60 \
               s. A process that lost its session keeps minting until its client has noticed. Nothing is written \
               about the time, so the next owner of an id begins at its own clock. A process waits for a clock that \
               is up to 10 ms behind.",
        read: "apache/shardingsphere 07ef827: SnowflakeKeyGenerateAlgorithm.java (generateKey), ClusterWorkerIdGenerator.java, \
               ZookeeperRepository.java (buildCuratorClient, waitForCacheClose), SessionConnectionReconnectListener.java",
        play: |s, h, m| play(peers::shardingsphere::ShardingSphere::cluster(), s, h, m),
    },
    Entrant {
        name: "shardingsphere-standalone",
        source: "apache/shardingsphere, StandaloneWorkerIdGenerator.java",
        setting: "outside of cluster mode: worker id 0, where no `worker-id` is configured",
        store: "",
        rule: "Outside of cluster mode each node is worker 0 unless its configuration says otherwise. Two of them \
               can mint the same ID in one millisecond. The documentation recommends cluster mode for production.",
        read: "apache/shardingsphere 07ef827: StandaloneWorkerIdGenerator.java (generate)",
        play: |s, h, m| play(peers::shardingsphere::ShardingSphere::standalone(), s, h, m),
    },
    Entrant {
        name: "shardingsphere-worker-id",
        source: "apache/shardingsphere, StandaloneWorkerIdGenerator.java",
        setting: "the same, with a `worker-id` in each node's configuration",
        store: "",
        rule: "Outside of cluster mode a node is the worker that its configuration names. It writes nothing down. It \
               waits for a clock that is up to 10 ms behind; further behind is an error.",
        read: "apache/shardingsphere 4a454a0: StandaloneWorkerIdGenerator.java (generate); 07ef827: SnowflakeKeyGenerateAlgorithm.java \
               (generateKey)",
        play: |s, h, m| play(peers::shardingsphere::ShardingSphere::configured(), s, h, m),
    },
    Entrant {
        name: "cosid",
        source: "Ahoo-Wang/CosId, AbstractSnowflakeId.java",
        setting: "machine ids from Redis, `stable: true`: names that last, and a state file",
        store: "Redis",
        rule: "An address and port keeps its machine id in Redis and in a state file. A guardian writes the clock into both every \
               minute, and a stop writes it once more. A start waits for that time or refuses. If the guardian fails, \
               the process logs it and keeps minting.",
        read: "Ahoo-Wang/CosId fc29da0: AbstractSnowflakeId.java, ClockSyncSnowflakeId.java, \
               DefaultClockBackwardsSynchronizer.java (sync), AbstractMachineIdDistributor.java (distribute, revert), \
               machine_id_*.lua",
        play: |s, h, m| play(peers::cosid::CosId::new(true), s, h, m),
    },
    Entrant {
        name: "cosid-unstable",
        source: "Ahoo-Wang/CosId, AbstractSnowflakeId.java, CosIdMachineIdLifecycle.java",
        setting: "machine ids from Redis, the default: names that change at every start",
        store: "Redis",
        rule: "A process gets a machine id from Redis: a new one, or one that was given back or not guarded for \
               five minutes. A guardian writes the clock there every minute. A stop gives the id back in Spring's first \
               phase of stopping, while the web server still mints.",
        read: "Ahoo-Wang/CosId fc29da0: AbstractSnowflakeId.java, AbstractMachineIdDistributor.java (distribute, revert), \
               CosIdMachineAutoConfiguration.java, CosIdMachineIdLifecycle.java",
        play: |s, h, m| play(peers::cosid::CosId::new(false), s, h, m),
    },
    Entrant {
        name: "baidu",
        source: "baidu/uid-generator, CachedUidGenerator.java",
        setting: "the cached generator, with its README's bits",
        store: "the database",
        rule: "Each start inserts a row into a table: its number is a worker id that was never used before. A ring \
               is filled with IDs in advance, second after second; the clock is read only at the start.",
        read: "baidu/uid-generator 2fcbc13: CachedUidGenerator.java (nextIdsForOneSecond), BufferPaddingExecutor.java \
               (paddingBuffer), RingBuffer.java (put, take), DisposableWorkerIdAssigner.java",
        play: |s, h, m| play(peers::baidu::Baidu::new(true), s, h, m),
    },
    Entrant {
        name: "baidu-default",
        source: "baidu/uid-generator, DefaultUidGenerator.java",
        setting: "the default generator, with its README's bits",
        store: "the database",
        rule: "Worker ids are as in `baidu`. The clock is read for each ID, and while it is behind the last ID's \
               second the generator refuses.",
        read: "baidu/uid-generator 2fcbc13: DefaultUidGenerator.java (nextId, getCurrentSecond), \
               DisposableWorkerIdAssigner.java",
        play: |s, h, m| play(peers::baidu::Baidu::new(false), s, h, m),
    },
    Entrant {
        name: "yitter",
        source: "yitter/IdGenerator, Go/source/idgen/SnowWorkerM1.go",
        setting: "method 1, the default; worker ids by hand",
        store: "",
        rule: "The operator gives each process its worker id. While the clock is behind, each ID has an \
               earlier millisecond than the last, and one of four reserved sequence numbers. If a millisecond is used up, \
               the generator goes ahead of the clock. It writes nothing down.",
        read: "yitter/IdGenerator 942ba6a: Go/source/idgen/SnowWorkerM1.go (NextNormalId, NextOverCostId)",
        play: |s, h, m| play(peers::yitter::Yitter, s, h, m),
    },
    Entrant {
        name: "yitter-after-stop",
        source: "yitter/IdGenerator, README.md",
        setting: "the same, started again only with a clock that is past its last stop, as its README asks",
        store: "",
        rule: "As `yitter`, and the operator makes sure that a process starts only if its clock is past the last stop's \
               time. The generator does not check this.",
        read: "yitter/IdGenerator 942ba6a: README.md (the rules of integration, 9), Go/source/idgen/SnowWorkerM1.go \
               (NextNormalId, NextOverCostId)",
        play: |s, h, m| play(peers::yitter::AfterStop::default(), s, h, m),
    },
    Entrant {
        name: "yitter-redis",
        source: "yitter/IdGenerator, Go/regworkerid/regworkerid/reghelper.go",
        setting: "worker ids from Redis by its own tool, for 15 s at a time",
        store: "Redis",
        rule: "Its own tool hands out worker ids in a circle: each start gets the next of 64 that nobody has, so that an id comes \
               back only after all the others. An id's key lasts 15 s and is prolonged every 5 s; a process is not told \
               when its key has run out. No time is written down.",
        read: "yitter/IdGenerator 942ba6a: Go/regworkerid/regworkerid/reghelper.go (getNextWorkerId, isAvailable, extendLifeTime, \
               canReset)",
        play: |s, h, m| play(peers::yitter_redis::YitterRedis::default(), s, h, m),
    },
    Entrant {
        name: "sonyflake",
        source: "sony/sonyflake, v2/sonyflake.go",
        setting: "the default: the machine id is the host's private address",
        store: "",
        rule: "The lower 16 bits of a host's private address are its machine id. The generator ignores a clock that \
               goes back: it stays at the last 10 ms that it had and sleeps when those are used up. It writes nothing down.",
        read: "sony/sonyflake f167a9d: v2/sonyflake.go (New, NextID, lower16BitPrivateIP)",
        play: |s, h, m| play(peers::sonyflake::Sonyflake::default(), s, h, m),
    },
    Entrant {
        name: "sonyflake-checked",
        source: "sony/sonyflake, v2/sonyflake.go (CheckMachineID)",
        setting: "the same with a `CheckMachineID` that holds an ephemeral record of 10 s",
        store: "the machine id's registry",
        rule: "As `sonyflake`, and a start asks the operator's `CheckMachineID`, which here claims the machine id for a session \
               of 10 s. Nobody asks again later, and no time is written down.",
        read: "sony/sonyflake f167a9d: v2/sonyflake.go (New, CheckMachineID)",
        play: |s, h, m| play(peers::sonyflake::Sonyflake { checked: true }, s, h, m),
    },
    Entrant {
        name: "katsubushi-redis",
        source: "kayac/go-katsubushi, generator.go, cmd/katsubushi/main.go",
        setting: "`-redis`: worker ids from Redis, locked for 600 s at a time",
        store: "Redis",
        rule: "A start takes one of the ten lowest worker ids that no server announces in Redis, and locks it for 600 s. \
               It renews the lock every second. A server ends if it finds another's name in its lock. The wall clock is \
               read only at the start, and no time is written down. A stop deletes the lock.",
        read: "kayac/go-katsubushi 357220b: generator.go (NextID, timestamp), cmd/katsubushi/main.go (assignWorkerID); fujiwara/raus \
               66192d4 (v0.1.0): raus.go (subscribe, publish, holdLock)",
        play: |s, h, m| play(peers::katsubushi::Katsubushi::default(), s, h, m),
    },
    Entrant {
        name: "mybatis-plus",
        source: "com.baomidou:mybatis-plus-core, Sequence.java",
        setting: "the default: worker ids made of MAC address and process id",
        store: "",
        rule: "The worker id is five bits of the network card's address, and five of a hash of them and the \
               process id: nothing makes two processes differ. The generator waits for a clock that is up \
               to 5 ms behind; further behind is an error. It writes nothing down.",
        read: "baomidou/mybatis-plus 0707918 (3.5.7): Sequence.java (nextId, tilNextMillis, getDatacenterId, \
               getMaxWorkerId)",
        play: |s, h, m| play(peers::mybatis_plus::MybatisPlus::default(), s, h, m),
    },
    Entrant {
        name: "mybatis-plus-configured",
        source: "com.baomidou:mybatis-plus-core, Sequence.java",
        setting: "worker ids by hand",
        store: "",
        rule: "The operator gives each process its worker id. The rest is as in `mybatis-plus`.",
        read: "baomidou/mybatis-plus 0707918 (3.5.7): Sequence.java (nextId, tilNextMillis)",
        play: |s, h, m| play(peers::mybatis_plus::MybatisPlus { configured: true }, s, h, m),
    },
    Entrant {
        name: "hutool",
        source: "cn.hutool:hutool-core, Snowflake.java, IdUtil.java",
        setting: "the default: worker ids made of MAC address and process id",
        store: "",
        rule: "As in `mybatis-plus`, the network card's address and the process id make the worker id. A generator \
               whose clock is less than 2 s behind counts on in the last ID's millisecond, up to 4,096 IDs. After \
               that, or further behind, it refuses. It writes nothing down.",
        read: "dromara/hutool 95a363c (5.8.29): Snowflake.java (nextId, tilNextMillis), IdUtil.java (getSnowflake, \
               getDataCenterId, getWorkerId)",
        play: |s, h, m| play(peers::hutool::Hutool::default(), s, h, m),
    },
    Entrant {
        name: "hutool-configured",
        source: "cn.hutool:hutool-core, Snowflake.java",
        setting: "worker ids by hand",
        store: "",
        rule: "The operator gives each process its worker id. The rest is as in `hutool`.",
        read: "dromara/hutool 95a363c (5.8.29): Snowflake.java (nextId, tilNextMillis)",
        play: |s, h, m| play(peers::hutool::Hutool { configured: true }, s, h, m),
    },
    Entrant {
        name: "seata",
        source: "io.seata:seata-common, IdWorker.java",
        setting: "the default: worker ids made of MAC addresses",
        store: "",
        rule: "The lower ten bits of the network card's address are the worker id. Time and sequence are one counter \
               that begins at the clock's time when the process starts and then only counts; it waits when it is ahead of \
               the clock. It writes nothing down.",
        read: "apache/incubator-seata f43e2a9 (2.0.0): IdWorker.java (nextId, waitIfNecessary, generateWorkerIdBaseOnMac)",
        play: |s, h, m| play(peers::seata::Seata::default(), s, h, m),
    },
    Entrant {
        name: "seata-configured",
        source: "io.seata:seata-common, IdWorker.java",
        setting: "worker ids by hand",
        store: "",
        rule: "The operator gives each process its worker id. The rest is as in `seata`.",
        read: "apache/incubator-seata f43e2a9 (2.0.0): IdWorker.java (nextId, waitIfNecessary)",
        play: |s, h, m| play(peers::seata::Seata { configured: true }, s, h, m),
    },
    Entrant {
        name: "bwmarrin",
        source: "bwmarrin/snowflake, snowflake.go",
        setting: "worker ids by hand: there is no default",
        store: "",
        rule: "The operator's code gives each process its node number. The wall clock is read only at the start; \
               from there the monotonic clock counts. Nothing is refused. It writes nothing down.",
        read: "bwmarrin/snowflake cdbb8ee (v0.3.0): snowflake.go (NewNode, Generate)",
        play: |s, h, m| play(peers::bwmarrin::Bwmarrin, s, h, m),
    },
    Entrant {
        name: "tsid",
        source: "com.github.f4b6a3:tsid-creator, TsidFactory.java",
        setting: "the default: a random worker id at each start",
        store: "",
        rule: "A random number of ten bits is the node at each start. The counter begins at random in each \
               millisecond. While the clock is not past the last ID, the counter goes on, even into the next \
               millisecond. Nothing is refused. It writes nothing down.",
        read: "f4b6a3/tsid-creator c5e0282 (5.2.6): TsidFactory.java (create, getTime, getRandomCounter, \
               Builder.getNode)",
        play: |s, h, m| play(peers::tsid::Tsid::default(), s, h, m),
    },
    Entrant {
        name: "tsid-configured",
        source: "com.github.f4b6a3:tsid-creator, TsidFactory.java",
        setting: "worker ids by hand",
        store: "",
        rule: "The operator gives each process its node. The rest is as in `tsid`.",
        read: "f4b6a3/tsid-creator c5e0282 (5.2.6): TsidFactory.java (create, getTime, getRandomCounter)",
        play: |s, h, m| play(peers::tsid::Tsid { configured: true }, s, h, m),
    },
    Entrant {
        name: "leaf-segment",
        source: "Meituan-Dianping/Leaf, SegmentIDGenImpl.java",
        setting: "the default, one database",
        store: "the database",
        rule: "A transaction raises `max_id` of a row by a step: the range between belongs to the server, in its \
               memory, and the next range is loaded before the first is used up.",
        read: "Meituan-Dianping/Leaf 86a6441: SegmentIDGenImpl.java, IDAllocMapper.java",
        play: |s, h, m| play(peers::leaf_segment::LeafSegment::default(), s, h, m),
    },
    Entrant {
        name: "tinyid",
        source: "didi/tinyid, CachedIdGenerator.java, DbSegmentIdServiceImpl.java",
        setting: "the server, one database",
        store: "the database",
        rule: "A server reads a row and raises its `max_id` by a step if the row's version is unchanged: the \
               range between belongs to the server, in its memory, and the next is loaded when a fifth is used.",
        read: "didi/tinyid 49976d3: CachedIdGenerator.java, DbSegmentIdServiceImpl.java (getNextSegmentId)",
        play: |s, h, m| play(peers::tinyid::TinyId::default(), s, h, m),
    },
    Entrant {
        name: "tinyid-databases",
        source: "didi/tinyid, DynamicDataSource.java, db.sql",
        setting: "the server, two databases: `delta` 2, `remainder` 0 and 1",
        store: "the database",
        rule: "As `tinyid`, with two databases that know nothing of each other: one row has the even IDs, the other one the odd \
               ones. Each load picks one of the two at random, even one that is gone.",
        read: "didi/tinyid 49976d3: DynamicDataSource.java (determineCurrentLookupKey), DataSourceConfig.java, \
               DbSegmentIdServiceImpl.java (getNextSegmentId), SegmentId.java (init), db.sql",
        play: |s, h, m| play(peers::tinyid::TinyId::on(2), s, h, m),
    },
    Entrant {
        name: "flickr",
        source: "Flickr, \"Ticket Servers: Distributed Unique Primary Keys on the Cheap\"",
        setting: "two ticket servers, odd and even",
        store: "the ticket server",
        rule: "Two databases count for themselves, one odd and one even. Each ticket is a `REPLACE` of one row on one of them.",
        read: "Flickr, \"Ticket Servers: Distributed Unique Primary Keys on the Cheap\", 2010",
        play: |s, h, m| play(peers::flickr::Flickr, s, h, m),
    },
    Entrant {
        name: "hibernate-pooled",
        source: "hibernate/hibernate-orm, PooledOptimizer.java",
        setting: "the default: a PostgreSQL sequence with `allocationSize` 50",
        store: "the database",
        rule: "A process takes one number of a sequence that counts by 50, and makes 50 IDs of it in its memory: that \
               number is the last of them. After a crash PostgreSQL skips up to 32 numbers, which it has logged ahead.",
        read: "hibernate/hibernate-orm 0029172: PooledOptimizer.java (generate); postgres/postgres 0076f26: sequence.c \
               (nextval_internal)",
        play: |s, h, m| play(peers::sequence::Sequences::Pooled, s, h, m),
    },
    Entrant {
        name: "hibernate-pooled-lo",
        source: "hibernate/hibernate-orm, PooledLoOptimizer.java",
        setting: "the same with the optimizer `pooled-lo`",
        store: "the database",
        rule: "As `hibernate-pooled`, and the number is the first of its 50 IDs.",
        read: "hibernate/hibernate-orm 0029172: PooledLoOptimizer.java (generate); postgres/postgres 0076f26: sequence.c \
               (nextval_internal)",
        play: |s, h, m| play(peers::sequence::Sequences::PooledLo, s, h, m),
    },
    Entrant {
        name: "postgres-cache",
        source: "postgres/postgres, sequence.c (nextval_internal)",
        setting: "`nextval` of a sequence with `CACHE 50`",
        store: "the database",
        rule: "Each ID is one `nextval`. A connection takes 50 numbers at once; the server keeps them in memory. \
               After a crash PostgreSQL goes on from what it has logged ahead.",
        read: "postgres/postgres 0076f26: sequence.c (nextval_internal, SEQ_LOG_VALS)",
        play: |s, h, m| play(peers::sequence::Sequences::Cache, s, h, m),
    },
    Entrant {
        name: "redis-incr",
        source: "redis/redis, t_string.c (incrDecrCommand)",
        setting: "the stock configuration: no append-only file",
        store: "Redis",
        rule: "Each number is one `INCR`. The stock Redis writes its memory to disk after an hour with one change, five minutes \
               with 100 or a minute with 10,000: later numbers are lost in a crash, and counted again.",
        read: "redis/redis 74b289a (7.4.1): t_string.c (incrDecrCommand), server.c (initServerConfig, serverCron), config.c \
               (appendonly)",
        play: |s, h, m| play(peers::redis_incr::RedisIncr::default(), s, h, m),
    },
    Entrant {
        name: "redis-incr-aof",
        source: "redis/redis, aof.c (flushAppendOnlyFile)",
        setting: "`appendonly yes`, `appendfsync always`",
        store: "Redis",
        rule: "Each number is one `INCR`, which is in the append-only file on disk before its reply leaves. A replica may lack \
               the last ones.",
        read: "redis/redis 74b289a (7.4.1): t_string.c (incrDecrCommand), aof.c (flushAppendOnlyFile)",
        play: |s, h, m| play(peers::redis_incr::RedisIncr { append_only: true }, s, h, m),
    },
    Entrant {
        name: "uuid-v7",
        source: "uuid-rs/uuid, src/v7.rs (now_v7)",
        setting: "the default: the kernel's randomness",
        store: "",
        rule: "48 bits of milliseconds, a counter of 42 bits that begins at random in each millisecond, and 32 bits of the kernel's \
               randomness for each ID. It ignores a clock that is behind.",
        read: "uuid-rs/uuid 0fe2dab (1.29.1): src/v7.rs (now_v7, new_v7), src/timestamp.rs (ContextV7), src/rng.rs",
        play: |s, h, m| play(peers::random_ids::RandomIds::UuidV7 { fast: false }, s, h, m),
    },
    Entrant {
        name: "uuid-v7-fast",
        source: "uuid-rs/uuid, src/rng.rs",
        setting: "the feature `fast-rng`: a random generator in the process's memory",
        store: "",
        rule: "As `uuid-v7`, with randomness from a generator in the process's memory, which is seeded again after 64 KiB. A copy of the \
               process draws the same numbers until then.",
        read: "uuid-rs/uuid 0fe2dab (1.29.1): src/rng.rs; rust-random/rand 9e7d328 (0.10.3): src/rngs/thread.rs",
        play: |s, h, m| play(peers::random_ids::RandomIds::UuidV7 { fast: true }, s, h, m),
    },
    Entrant {
        name: "ulid",
        source: "dylanhart/ulid-rs, src/generator.rs",
        setting: "`Generator`, which increases: a random generator in the process's memory",
        store: "",
        rule: "48 bits of milliseconds and 80 random ones from a generator in the process's memory, or the last ID \
               plus 1 if the clock has not moved on. A copy of the process draws the same numbers until its generator is seeded again.",
        read: "dylanhart/ulid-rs 90992f5 (3.0.0): src/generator.rs (generate_from_datetime_with_source); rust-random/rand 9e7d328 \
               (0.10.3): src/rngs/thread.rs",
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

#[cfg(test)]
mod tests {
    use super::ENTRANTS;

    /// A version's tag can be moved; a commit cannot.
    #[test]
    fn every_source_is_named_with_its_commit_and_its_files() {
        let is_commit =
            |word: &str| word.len() == 7 && word.bytes().all(|byte| b"0123456789abcdef".contains(&byte));
        // Flickr has published how its servers work, but no source.
        for entrant in ENTRANTS.iter().filter(|entrant| !["floe", "flickr"].contains(&entrant.name)) {
            for source in entrant.read.split("; ") {
                let (from, files) = source.split_once(": ").unwrap_or((source, ""));
                // Another commit of the same repository needs no name.
                let named = from.split_once(' ').is_some_and(|(repository, version)| {
                    repository.contains('/') && version.split(' ').next().is_some_and(is_commit)
                });
                assert!(named || is_commit(from), "{}: no commit in {from:?}", entrant.name);
                assert!(files.contains('.'), "{}: no file in {source:?}", entrant.name);
            }
        }
    }

    #[test]
    fn every_peer_has_a_section_with_its_rule_its_source_and_a_command() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/peers.md");
        let page = std::fs::read_to_string(page).unwrap();
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let mut wrong = Vec::new();
        for entrant in ENTRANTS.iter().filter(|entrant| !entrant.is_floe()) {
            let section = page.split("\n### ").find(|it| it.starts_with(&format!("{}\n", entrant.name)));
            let has = |text: &str| section.is_some_and(|section| words(section).contains(&words(text)));
            let command = format!("floe sim --explain {} ", entrant.name);
            let parts =
                [entrant.rule, entrant.read, "- Safe against:", "- Not against:", "- Safer:", &command];
            if !parts.into_iter().all(has) {
                wrong.push(entrant.name);
            }
        }
        assert!(wrong.is_empty(), "docs/peers.md lacks the rule, the source or a command of {wrong:?}");
    }
}
