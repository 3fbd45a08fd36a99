//! The layouts of the systems that floe replaces or reads.
//!
//! Where a system fills 64 bits, its preset has one time bit less: IDs stay below `2^63` (an `i64` everywhere), and
//! are the same numbers until half of the original's time is over. Each such preset says when that is.

use alloc::borrow::ToOwned;

use super::{Layout, LayoutError, Width};
use crate::time::UnixMillis;

/// A layout with a name.
#[derive(Clone, Debug)]
pub struct Preset {
    /// Its name in configuration files and commands.
    pub name: &'static str,
    /// The layout.
    pub layout: Layout,
    /// A description of one sentence.
    pub about: &'static str,
    /// The source of its numbers.
    pub source: &'static str,
}

/// All presets, the default first.
pub static PRESETS: &[Preset] = &[
    Preset {
        name: "twitter",
        layout: Layout::TWITTER,
        about: "Twitter Snowflake of 2010, and the default",
        source: "github.com/twitter-archive/snowflake, tag snowflake-2010, IdWorker.scala",
    },
    Preset {
        name: "leaf",
        layout: Layout::LEAF,
        about: "Meituan Leaf's snowflake mode: Twitter's bits and epoch, one field of 10 bits for the worker",
        source: "github.com/Meituan-Dianping/Leaf, leaf-core/.../snowflake/SnowflakeIDGenImpl.java",
    },
    Preset {
        name: "shardingsphere",
        layout: Layout::SHARDINGSPHERE,
        about: "Apache ShardingSphere's SNOWFLAKE key generator in a JVM that runs in UTC",
        source: "github.com/apache/shardingsphere, SnowflakeKeyGenerateAlgorithm.java",
    },
    Preset {
        name: "discord",
        layout: Layout::DISCORD,
        about: "Discord's IDs, the same numbers until 2084",
        source: "discord.com/developers/docs/reference#snowflakes",
    },
    Preset {
        name: "instagram",
        layout: Layout::INSTAGRAM,
        about: "Instagram's PL/pgSQL IDs, the same numbers until 2046",
        source: "instagram-engineering.com, Sharding & IDs at Instagram",
    },
    Preset {
        name: "mastodon",
        layout: Layout::MASTODON,
        about: "Mastodon's timestamp_id: no worker, 65,536 IDs a millisecond",
        source: "github.com/mastodon/mastodon, lib/mastodon/snowflake.rb",
    },
    Preset {
        name: "sonyflake",
        layout: Layout::SONYFLAKE,
        about: "Sony's Sonyflake: ticks of 10 ms, the sequence above the machine",
        source: "github.com/sony/sonyflake, sonyflake.go",
    },
    Preset {
        name: "sonyflake-v2",
        layout: Layout::SONYFLAKE_V2,
        about: "Sony's Sonyflake, version 2: the bits of version 1, from 2025",
        source: "github.com/sony/sonyflake, v2/sonyflake.go",
    },
    Preset {
        name: "baidu",
        layout: Layout::BAIDU,
        about: "Baidu UidGenerator's default, which ran out in November 2024: for reading",
        source: "github.com/baidu/uid-generator, DefaultUidGenerator.java",
    },
    Preset {
        name: "baidu-readme",
        layout: Layout::BAIDU_README,
        about: "Baidu UidGenerator as both configurations of its README set it up, in a JVM that runs in China",
        source: "github.com/baidu/uid-generator, README.md, Step 3, and default-uid-spring.xml",
    },
    Preset {
        name: "cosid",
        layout: Layout::COSID,
        about: "CosId's MillisecondSnowflakeId",
        source: "github.com/Ahoo-Wang/CosId, CosId.java and MillisecondSnowflakeId.java",
    },
    Preset {
        name: "yitter",
        layout: Layout::YITTER,
        about: "yitter's drifting snowflake: short IDs, 64 workers",
        source: "github.com/yitter/IdGenerator, README.md and the Go, Java, C and Rust sources",
    },
    Preset {
        name: "tsid",
        layout: Layout::TSID,
        about: "f4b6a3's TSID with its default of 10 node bits, the same numbers until 2089",
        source: "github.com/f4b6a3/tsid-creator, README.md",
    },
    Preset {
        name: "katsubushi",
        layout: Layout::KATSUBUSHI,
        about: "kayac's katsubushi",
        source: "github.com/kayac/go-katsubushi, generator.go",
    },
    Preset {
        name: "javascript",
        layout: Layout::JAVASCRIPT,
        about: "53 bits, exact in a JavaScript number: CosId's split, 8 workers",
        source: "github.com/Ahoo-Wang/CosId, SafeJavaScriptSnowflakeId.java",
    },
    Preset {
        name: "beyondfengyu",
        layout: Layout::BEYONDFENGYU,
        about: "the Java SnowFlake class of beyondfengyu, copied into many projects",
        source: "github.com/beyondfengyu/SnowFlake, SnowFlake.java",
    },
    Preset {
        name: "jsnowflake",
        layout: Layout::JSNOWFLAKE,
        about: "jsnowflake, whose epoch is midnight of 2020 in China",
        source: "github.com/jeffcail/jsnowflake",
    },
    Preset {
        name: "game",
        layout: Layout::GAME,
        about: "the game server layout in circulation, 73 bits, as written: 4.35 years from 2026",
        source: "passed on in posts without a source of its own",
    },
];

impl Layout {
    /// Twitter Snowflake of 2010, and floe's default: 69 years from 2010-11-04, 32 data centres of 32 workers,
    /// 4,096 IDs a millisecond each.
    pub const TWITTER: Self =
        narrow(&[("time", 41), ("datacenter", 5), ("worker", 5), ("sequence", 12)], 1, 1_288_834_974_657);

    /// Meituan Leaf: Twitter's bits and epoch with one field for the worker.
    pub const LEAF: Self = narrow(&[("time", 41), ("worker", 10), ("sequence", 12)], 1, 1_288_834_974_657);

    /// Apache ShardingSphere's `SNOWFLAKE`, from 2016-11-01T00:00Z. The original takes midnight of that day in the
    /// time zone of its JVM; see [`shardingsphere_in`](Self::shardingsphere_in).
    pub const SHARDINGSPHERE: Self = narrow(SHARDINGSPHERE, 1, 1_477_958_400_000);

    /// Discord: 64 bits in the original. The same IDs until 2084-09-06, where the original reaches the sign bit.
    pub const DISCORD: Self =
        narrow(&[("time", 41), ("worker", 5), ("process", 5), ("sequence", 12)], 1, 1_420_070_400_000);

    /// Instagram: 41 + 13 + 10 bits in the original. The same IDs until 2046-06-27, where the original reaches the
    /// sign bit.
    pub const INSTAGRAM: Self =
        narrow(&[("time", 40), ("shard", 13), ("sequence", 10)], 1, 1_314_220_021_721);

    /// Mastodon: 48 bits of Unix milliseconds and 16 of a table's sequence, offset by a hash. The same IDs until
    /// the year 6429. There is no node field, so one worker at a time mints.
    pub const MASTODON: Self = narrow(&[("time", 47), ("sequence", 16)], 1, 0);

    /// Sonyflake, version 1: 174 years of 10 ms ticks from 2014-09-01, 65,536 machines *below* the sequence, 256
    /// IDs a tick each.
    pub const SONYFLAKE: Self =
        narrow(&[("time", 39), ("sequence", 8), ("machine", 16)], 10, 1_409_529_600_000);

    /// Sonyflake, version 2, with its defaults: the bits of version 1, from 2025-01-01. A service that sets
    /// `StartTime` has another epoch: `sonyflake-v2 epoch=…`.
    pub const SONYFLAKE_V2: Self =
        narrow(&[("time", 39), ("sequence", 8), ("machine", 16)], 10, 1_735_689_600_000);

    /// Baidu UidGenerator's default: 28 bits of seconds from 2016-05-20 in China. Its horizon was
    /// 2024-11-20T13:24:16Z, and later IDs are negative. floe reads its IDs and mints none.
    pub const BAIDU: Self =
        narrow(&[("time", 28), ("worker", 22), ("sequence", 13)], 1000, 1_463_673_600_000);

    /// Baidu UidGenerator with the bits and the epoch of both configurations in its README: 29 bits of seconds from
    /// 2016-09-20, up to 2033. The original takes midnight of that day in the time zone of its JVM; this is China's.
    /// Elsewhere it is `baidu-readme epoch=2016-09-20T00:00:00Z`.
    pub const BAIDU_README: Self =
        narrow(&[("time", 29), ("worker", 21), ("sequence", 13)], 1000, 1_474_300_800_000);

    /// CosId, from 2019-12-24T16:00Z.
    pub const COSID: Self = narrow(&[("time", 41), ("machine", 10), ("sequence", 12)], 1, COSID_EPOCH);

    /// yitter's IdGenerator with its defaults, 6 and 6 bits. Its time field takes whatever bits are left, 51. The
    /// epoch is that of the Go, Java, C and Rust versions; the C# version's is eight hours later,
    /// 2020-02-20T02:20:02.020Z. The original keeps sequence numbers 0 to 4 for manual use and rollbacks.
    pub const YITTER: Self = narrow(&[("time", 51), ("worker", 6), ("sequence", 6)], 1, 1_582_136_402_000);

    /// TSID with 10 node bits: 42 bits of time in the original. The same IDs until 2089-09-06, where the original
    /// reaches the sign bit.
    pub const TSID: Self = narrow(&[("time", 41), ("node", 10), ("sequence", 12)], 1, 1_577_836_800_000);

    /// katsubushi, from 2015-01-01.
    pub const KATSUBUSHI: Self =
        narrow(&[("time", 41), ("worker", 10), ("sequence", 12)], 1, 1_420_070_400_000);

    /// 53 bits, so that every ID is exact in a JavaScript number (at most `2^53 - 1`).
    ///
    /// The split is that of CosId's `SafeJavaScriptSnowflakeId.ofMillisecond`: the time keeps its 41 bits (69 years,
    /// and order to the millisecond), since running out of time is what cannot be undone later; the worker gets 3
    /// bits and the sequence 9, so 8 nodes mint 512 IDs a millisecond each.
    pub const JAVASCRIPT: Self = narrow(&[("time", 41), ("worker", 3), ("sequence", 9)], 1, COSID_EPOCH);

    /// beyondfengyu's SnowFlake, from 2016-11-26T13:21:05.631Z, the moment it was written.
    pub const BEYONDFENGYU: Self =
        narrow(&[("time", 41), ("datacenter", 5), ("machine", 5), ("sequence", 12)], 1, 1_480_166_465_631);

    /// jsnowflake, from 2020-01-01T00:00+08:00. Its README takes one machine id and names no bits: 10 for the
    /// machine and 12 for the sequence are the usual ones, so compare an ID of your own before you trust them.
    pub const JSNOWFLAKE: Self =
        narrow(&[("time", 41), ("machine", 10), ("sequence", 12)], 1, 1_577_808_000_000);

    /// The game server layout in circulation, `time:37 server:20 sequence:16`, as written: 73 bits, and so
    /// [`Width::Wide`].
    ///
    /// Its descriptions say "for 93 years", but 2^37 ms are 4.35 years. They give no epoch, so this one begins in 2026
    /// and ends on 2030-05-10. Use it to mint IDs of the described format, not for a new system.
    pub const GAME: Self = Self::assemble(
        &[("time", 37), ("server", 20), ("sequence", 16)],
        1,
        UnixMillis::new(1_767_225_600_000),
        Width::Wide,
    );

    /// Returns the preset of this name.
    ///
    /// ```
    /// use floe_id::Layout;
    /// assert_eq!(Layout::preset("twitter"), Some(Layout::TWITTER));
    /// assert_eq!(Layout::preset("Twitter"), None);
    /// ```
    pub fn preset(name: &str) -> Option<Self> {
        PRESETS.iter().find(|preset| preset.name == name).map(|preset| preset.layout.clone())
    }

    /// [`SHARDINGSPHERE`](Self::SHARDINGSPHERE) as a JVM in the time zone `zone` (an IANA name, such as
    /// `Asia/Shanghai`) mints it: its epoch is that zone's midnight.
    ///
    /// ```
    /// use floe_id::Layout;
    /// let china = Layout::shardingsphere_in("Asia/Shanghai")?;
    /// assert_eq!(china.epoch().to_string(), "2016-10-31T16:00:00.000Z");
    /// # Ok::<(), floe_id::LayoutError>(())
    /// ```
    ///
    /// # Errors
    /// [`LayoutError::Zone`] if there is no such time zone.
    pub fn shardingsphere_in(zone: &str) -> Result<Self, LayoutError> {
        let midnight = jiff::civil::date(2016, 11, 1).in_tz(zone);
        let midnight = midnight.map_err(|_| LayoutError::Zone { zone: zone.to_owned() })?;
        let epoch = UnixMillis::new(midnight.timestamp().as_millisecond());
        Ok(Self::assemble(SHARDINGSPHERE, 1, epoch, Width::Narrow))
    }
}

const SHARDINGSPHERE: &[(&str, u32)] = &[("time", 41), ("worker", 10), ("sequence", 12)];

/// `CosId.COSID_EPOCH`, 2019-12-25T00:00+08:00.
const COSID_EPOCH: i64 = 1_577_203_200_000;

/// A preset of at most 63 bits. What breaks a rule does not compile.
const fn narrow(fields: &[(&str, u32)], tick_millis: u64, epoch: i64) -> Layout {
    Layout::assemble(fields, tick_millis, UnixMillis::new(epoch), Width::Narrow)
}
