//! The scripts, and why each is linearizable and durable.
//!
//! **Linearizable.** A master runs one script or command at a time, and nothing beside it. So a call takes place at one
//! moment between its request and its reply, and sees every call before it. (A call on a replica would not. Replicas
//! are refused, and if a master becomes one, it denies each write with `READONLY`, and so each range.)
//!
//! **Durable.** With `appendonly yes` and `appendfsync always` the server appends the writes of a round of its event
//! loop to the append-only file, and flushes that file, before it sends any reply of that round (`beforeSleep` in
//! `server.c` calls `flushAppendOnlyFile` before `handleClientsWithPendingWrites`; if the flush fails, the server
//! exits). So everything that a reply depends on, the caller's own write or another one that it has read, is on disk.
//! One thing may not be: what a killed server had appended and not flushed, which the next one reads from the system's
//! memory. So an answer that rests on a record that was only read comes after another write ([`SETTLE`]). A script's
//! writes are appended as one transaction, of which a restart replays all or nothing.
//! `no-appendfsync-on-rewrite yes` skips that flush while a child process writes a file, and `everysec` flushes up to
//! two seconds after the reply: hence the checks at connect.
//!
//! **As a whole.** Before a script's first write, Redis checks whether there is memory, and whether this server may
//! write. Nothing undoes what a script wrote before an error. So every check comes before the first write, and the
//! record is written last: if a user's rights end before that, the list has a field without a record.
//!
//! **The right layout, and the right realm.** Each write checks that the realm exists in the version that this floe
//! knows. Each write of a record checks that it is that record's realm. So after a `FLUSHALL` under a running ledger,
//! after the realm was made again, and after a newer floe has taken over, the next write notices it.
//!
//! # Counters
//! A counter's order belongs to the cluster, so many nodes write its record at once, and all but one would lose each round.
//! The field `ahead/…` beside the record, `USED UP_TO`, is the rest of the range that the record says was reserved last. A
//! count changes `USED`, in one script, whatever the others do (I2). It is written together with the record, or moved up.

use std::sync::LazyLock;

/// A script, and the name by which a server knows it after it has run it.
pub(super) struct Script {
    pub(super) text: String,
    pub(super) hash: String,
}

impl Script {
    fn of(parts: &[&str]) -> Self {
        let text = parts.concat();
        let hash = redis::Script::new(&text).get_hash().to_owned();
        Self { text, hash }
    }
}

/// The version of the layout of keys and fields. Version 2 compares and swaps records; version 1 had a hash for each.
pub(super) const VERSION: u32 = 2;

/// [`PUT`]'s answer if the realm is not the record's realm.
pub(super) const ANOTHER: &str = "another";

/// A script's first word if it did nothing: the layout has another version, which follows, or none.
pub(super) const LAYOUT: &str = "layout";

/// KEYS[1] is the realm and ARGV[1] the field, in every script that writes. A realm is made with its version.
const VERSIONED: &str = "
local version = redis.call('HGET', KEYS[1], 'version')
if version ~= '2' and (version or ARGV[1] ~= 'realm') then return {'layout', version} end
";

/// `high, low = halves(text)`, so that `text = high * 10^9 + low`; `below(a, b)` is `a < b`; `sum(a, b)` is `a + b`.
/// Lua's numbers are doubles, which are exact only up to 2^53.
const NUMBERS: &str = "
local function halves(text)
  return tonumber(string.sub(text, 1, -10)) or 0, tonumber(string.sub(text, -9))
end
local function below(a, b)
  local a_high, a_low = halves(a)
  local b_high, b_low = halves(b)
  return a_high < b_high or (a_high == b_high and a_low < b_low)
end
local function sum(a, b)
  local a_high, a_low = halves(a)
  local b_high, b_low = halves(b)
  local high, low = a_high + b_high, a_low + b_low
  if low >= 1000000000 then high, low = high + 1, low - 1000000000 end
  if high == 0 then return string.format('%.0f', low) end
  return string.format('%.0f%09.0f', high, low)
end
";

/// The rest of the range that a counter has reserved ahead, in the field ARGV[1].
const LEFT: &str = "
local used, up_to = string.match(redis.call('HGET', KEYS[1], ARGV[1]) or '', '^(%d+) (%d+)$')
if not used then return {'left'} end
";

/// KEYS: realm, fields. ARGV: field, record, the expected record if there is one; and optionally the field of what is
/// reserved ahead, and the start and end of its new range.
pub(super) static PUT: LazyLock<Script> = LazyLock::new(|| {
    Script::of(&[
        VERSIONED,
        "
local field, text, expected, ahead, from, up_to = unpack(ARGV)
local found = redis.call('HGET', KEYS[1], field)
if found ~= (expected or false) then return {'found', found} end
local realm = redis.call('HGET', KEYS[1], 'realm')
if realm and string.sub(text, 1, #realm) ~= realm then return {'another'} end
if not expected then redis.call('ZADD', KEYS[2], 0, field) end
local left = {}
if ahead then
  local used = string.match(redis.call('HGET', KEYS[1], ahead) or '', '^(%d+) ' .. from .. '$')
  left = {ahead, (used or from) .. ' ' .. up_to}
end
redis.call('HSET', KEYS[1], field, text, 'version', '2', unpack(left))
return {'done'}
",
    ])
});

/// KEYS: realm, fields. ARGV: a field that is in no list, its text. Appends something to the file, and so flushes all that
/// is in it.
pub(super) static SETTLE: LazyLock<Script> = LazyLock::new(|| {
    Script::of(&[
        VERSIONED,
        "
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
return {'done'}
",
    ])
});

/// KEYS: realm, fields. ARGV: the field of what is reserved ahead, floor, count, the highest allowed `used`.
pub(super) static TAKE: LazyLock<Script> = LazyLock::new(|| {
    Script::of(&[
        VERSIONED,
        NUMBERS,
        LEFT,
        "
local floor, count, highest = unpack(ARGV, 2)
local to = sum(below(used, floor) and floor or used, count)
if below(highest, used) or below(up_to, to) then return {'left', used, up_to} end
redis.call('HSET', KEYS[1], ARGV[1], to .. ' ' .. up_to)
return {'taken', used, to}
",
    ])
});

/// KEYS: realm, fields. ARGV: the field of what is reserved ahead, at least.
pub(super) static SKIP: LazyLock<Script> = LazyLock::new(|| {
    Script::of(&[
        VERSIONED,
        NUMBERS,
        LEFT,
        "
if below(used, ARGV[2]) then redis.call('HSET', KEYS[1], ARGV[1], ARGV[2] .. ' ' .. up_to) end
return {'left'}
",
    ])
});

/// KEYS: realm, fields. ARGV: the lowest and the highest field as `ZRANGEBYLEX` takes them, limit. Returns each field,
/// with its record if that still exists.
pub(super) static LIST: LazyLock<Script> = LazyLock::new(|| {
    Script::of(&["
local found = {}
for _, field in ipairs(redis.call('ZRANGEBYLEX', KEYS[2], ARGV[1], ARGV[2], 'LIMIT', 0, ARGV[3])) do
  found[#found + 1] = field
  found[#found + 1] = redis.call('HGET', KEYS[1], field)
end
return found
"])
});

/// KEYS: realm, fields, and the sorted set `records` of version 1. Returns the version, the id that version 1 kept beside it, and
/// whether the realm has records. (An operator may put back the realm's own record first, before the list of the others is of use.)
pub(super) static LOOK: LazyLock<Script> = LazyLock::new(|| {
    Script::of(&["
local version, id = unpack(redis.call('HMGET', KEYS[1], 'version', 'id'))
local left = #redis.call('ZRANGEBYLEX', KEYS[2], '-', '(realm', 'LIMIT', 0, 1) + redis.call('EXISTS', KEYS[3])
return {version, id, left > 0 and 'left'}
"])
});

/// KEYS: realm, fields, and the sorted sets `records` and `names` and the hash `definitions` of version 1. The step to
/// version 2. The former keys stay. A floe that still runs on them finds another id in the realm, and hands out nothing.
pub(super) static FROM_1: LazyLock<Script> = LazyLock::new(|| Script::of(&[include_str!("from_1.lua")]));
