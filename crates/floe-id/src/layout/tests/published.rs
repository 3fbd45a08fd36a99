//! IDs that the original systems published, read by their presets.
//!
//! Each row names where its ID stands. The values of a row marked *computed* were worked out by hand from the
//! system's published algorithm, since no ID with its time could be found in its documentation or tests.

use super::*;

struct Row {
    preset: &'static str,
    source: &'static str,
    id: u128,
    /// Unix milliseconds.
    time: i64,
    /// Below the time, high to low.
    fields: &'static [(&'static str, u64)],
}

const ROWS: &[Row] = &[
    Row {
        preset: "twitter",
        source: "pypi.org/project/snowflake-id: Snowflake.parse(856165981072306191, 1288834974657), instance 363",
        id: 856_165_981_072_306_191,
        time: 1_492_960_851_339,
        fields: &[("datacenter", 363 >> 5), ("worker", 363 & 31), ("sequence", 15)],
    },
    Row {
        preset: "twitter",
        source: "en.wikipedia.org/wiki/Snowflake_ID: a post of @Wikipedia in June 2022, machine id 01 0111 1010",
        id: 1_541_815_603_606_036_480,
        time: 1_656_432_460_105,
        fields: &[("datacenter", 0b01011), ("worker", 0b11010), ("sequence", 0)],
    },
    Row {
        preset: "leaf",
        source: "README.md of Meituan-Dianping/Leaf at 14d0e078, `curl …/api/snowflake/get/test` of May 2020; the fields computed",
        id: 1_256_557_484_213_448_722,
        time: 1_588_421_624_602,
        fields: &[("worker", 619), ("sequence", 18)],
    },
    Row {
        preset: "shardingsphere",
        source: "SnowflakeKeyGenerateAlgorithmTest.assertGenerateKeyWithSingleThread: time EPOCH + 5, worker 0",
        id: 20_971_521,
        time: 1_477_958_400_000 + 5,
        fields: &[("worker", 0), ("sequence", 1)],
    },
    Row {
        preset: "discord",
        source: "discord.com/developers/docs/reference#snowflakes",
        id: 175_928_847_299_117_063,
        time: 1_462_015_105_796,
        fields: &[("worker", 1), ("process", 0), ("sequence", 7)],
    },
    Row {
        preset: "discord",
        source: "npmjs.com/package/discord-snowflake",
        id: 90_339_695_967_350_784,
        time: 1_441_609_061_949,
        fields: &[("worker", 0), ("process", 3), ("sequence", 0)],
    },
    Row {
        // The post gives the parts and the expression, `1387263000 << 23 | 1341 << 10 | 5001 % 1024`, and its prose
        // another epoch than its code; the number and the time are computed.
        preset: "instagram",
        source: "Sharding & IDs at Instagram",
        id: 11_637_205_501_278_089,
        time: 1_314_220_021_721 + 1_387_263_000,
        fields: &[("shard", 1_341), ("sequence", 5_001 % 1_024)],
    },
    Row {
        // `created_at` is 2019-12-05T11:34:47.196Z, taken by another clock 13 ms later.
        preset: "mastodon",
        source: "docs.joinmastodon.org/methods/statuses, the example of POST /api/v1/statuses",
        id: 103_254_962_155_278_888,
        time: 1_575_545_687_196 - 13,
        fields: &[("sequence", 53_800)],
    },
    Row {
        preset: "sonyflake",
        source: "computed: 2024-01-01T00:00Z, sequence 7, machine 18.52 (the low half of a private address)",
        id: 494_152_093_532_623_412,
        time: 1_704_067_200_000,
        fields: &[("sequence", 7), ("machine", 18 << 8 | 52)],
    },
    Row {
        preset: "sonyflake-v2",
        source: "composed by v2/sonyflake.go of sony/sonyflake v2.2.0: Compose(2026-01-01T00:00Z, 7, 0x1234)",
        id: 52_908_628_378_063_412,
        time: 1_767_225_600_000,
        fields: &[("sequence", 7), ("machine", 0x1234)],
    },
    Row {
        preset: "baidu-readme",
        source: "README.md of baidu/uid-generator: parsed as 2017-01-19 12:15:46 (in China), workerId 4, sequence 9",
        id: 180_363_646_902_239_241,
        time: 1_484_799_346_000,
        fields: &[("worker", 4), ("sequence", 9)],
    },
    Row {
        preset: "baidu",
        source: "computed: 2017-01-19 12:15:46 in China, worker 4, sequence 9 (README.md has these with other bits: above)",
        id: 725_875_105_388_855_305,
        time: 1_484_799_346_000,
        fields: &[("worker", 4), ("sequence", 9)],
    },
    Row {
        preset: "cosid",
        source: "SnowflakeLocalDateTimeConvertorTest: 20230317123456789-1-2 in UTC; the number computed",
        id: 427_203_690_135_293_954,
        time: 1_679_056_496_789,
        fields: &[("machine", 1), ("sequence", 2)],
    },
    Row {
        // Minted by a clock that was set one year after the base time, short of eight hours.
        preset: "yitter",
        source: "README.md of yitter/IdGenerator: after running for 1 year",
        id: 129_053_495_681_099,
        time: 1_582_136_402_000 + 365 * DAY - 8 * HOUR + 1_094,
        fields: &[("worker", 1), ("sequence", 11)],
    },
    Row {
        preset: "yitter",
        source: "README.md of yitter/IdGenerator: after running for 10 years (3 leap days)",
        id: 1_292_658_282_840_139,
        time: 1_582_136_402_000 + 3_653 * DAY - 8 * HOUR + 1_084,
        fields: &[("worker", 1), ("sequence", 11)],
    },
    Row {
        preset: "tsid",
        source: "README.md of f4b6a3/tsid-creator, Sequence of TSIDs, before `millisecond changed`; the fields computed",
        id: 38_352_658_567_418_874,
        time: 1_577_836_800_000 + 9_143_986_360,
        fields: &[("node", 421), ("sequence", 1_018)],
    },
    Row {
        preset: "tsid",
        source: "README.md of f4b6a3/tsid-creator, Sequence of TSIDs, after `millisecond changed`; the fields computed",
        id: 38_352_658_573_940_759,
        time: 1_577_836_800_000 + 9_143_986_361,
        fields: &[("node", 989), ("sequence", 2_071)],
    },
    Row {
        preset: "katsubushi",
        source: "converter_test.go of kayac/go-katsubushi, TestDump",
        id: 354_101_311_794_212_865,
        time: 1_504_494_731_615,
        fields: &[("worker", 999), ("sequence", 1)],
    },
    Row {
        preset: "katsubushi",
        source: "converter_test.go of kayac/go-katsubushi, TestDump",
        id: 354_103_658_909_954_052,
        time: 1_504_495_291_211,
        fields: &[("worker", 999), ("sequence", 4)],
    },
    Row {
        preset: "katsubushi",
        source: "converter_test.go of kayac/go-katsubushi, TestConvertFixedSub",
        id: 189_608_758_458_974_208,
        time: 1_465_276_650_777,
        fields: &[("worker", 0), ("sequence", 0)],
    },
    Row {
        preset: "javascript",
        source: "computed: 2024-01-01T00:00Z, worker 5, sequence 300",
        id: 519_634_944_002_860,
        time: 1_704_067_200_000,
        fields: &[("worker", 5), ("sequence", 300)],
    },
    Row {
        preset: "beyondfengyu",
        source: "computed: 2024-01-01T00:00Z, `new SnowFlake(2, 3)`, sequence 1",
        id: 939_107_745_767_108_609,
        time: 1_704_067_200_000,
        fields: &[("datacenter", 2), ("machine", 3), ("sequence", 1)],
    },
    Row {
        preset: "jsnowflake",
        source: "computed: 2024-01-01T00:00Z, machine 77, sequence 9",
        id: 529_569_467_597_115_401,
        time: 1_704_067_200_000,
        fields: &[("machine", 77), ("sequence", 9)],
    },
    Row {
        preset: "game",
        source: "computed: 2026-11-20T00:00Z, server 1000, sequence 65535",
        id: 1_917_768_181_166_964_801_535,
        time: 1_795_132_800_000,
        fields: &[("server", 1_000), ("sequence", 65_535)],
    },
];

const HOUR: i64 = 3_600_000;
const DAY: i64 = 24 * HOUR;

fn check(layout: &Layout, row: &Row) {
    let parts = layout.split(row.id).unwrap();
    assert_eq!(parts.time, UnixMillis::new(row.time), "{}", row.source);
    let below: Vec<_> = parts.fields.iter().skip(1).map(|part| (part.field.name(), part.value)).collect();
    assert_eq!(below, row.fields, "{}", row.source);
    let tick = layout.tick_at(parts.time).unwrap();
    assert_eq!(layout.compose(tick, parts.worker, parts.sequence), Ok(row.id), "{}", row.source);
}

#[test]
fn every_preset_reads_the_ids_of_its_system() {
    for row in ROWS {
        check(&Layout::preset(row.preset).unwrap(), row);
    }
    for preset in PRESETS {
        assert!(ROWS.iter().any(|row| row.preset == preset.name), "{} has no row", preset.name);
    }
}

#[test]
fn systems_with_other_settings_read_with_a_layout_of_their_own() {
    // A game server's variant of Twitter's layout, from 2020-08-01 in China.
    let game =
        "time:41 datacenter:5 worker:5 sequence:12 tick=1ms epoch=2020-07-31T16:00:00Z".parse().unwrap();
    for (id, time) in [(3_125_927_076_831_231, 1_596_956_479_092), (3_248_473_482_862_591, 1_596_985_696_432)]
    {
        let source = "the game server variant of epoch 1596211200000";
        let fields = &[("datacenter", 1), ("worker", 1), ("sequence", 4_095)];
        check(&game, &Row { preset: "", source, id, time, fields });
    }
}

#[test]
fn horizons_are_where_the_originals_say() {
    let horizon = |layout: Layout| layout.horizon().to_string();
    // DefaultUidGenerator.java: "until to 2024-11-20 21:24:16", in China.
    assert_eq!(horizon(Layout::BAIDU), "2024-11-20T13:24:16.000Z");
    assert_eq!(horizon(Layout::DISCORD), "2084-09-06T15:47:35.552Z");
    assert_eq!(horizon(Layout::INSTAGRAM), "2046-06-27T17:00:49.497Z");
    assert_eq!(horizon(Layout::MASTODON), "6429-10-17T02:45:55.328Z");
    assert_eq!(horizon(Layout::TSID), "2089-09-06T15:47:35.552Z");
    assert_eq!(horizon(Layout::GAME), "2030-05-10T17:29:13.472Z");
}
