//! The scripts, one for each call, and why each is linearizable and durable.
//!
//! **Linearizable.** A master runs one script at a time and nothing beside it, so a call takes place at one moment
//! between its request and its reply, and sees every call before it. (A call on a replica would not: replicas are
//! refused, and one that a master turns into denies the script with `READONLY`.)
//!
//! **Durable.** With `appendonly yes` and `appendfsync always` the server appends what a round of its event loop has
//! written to the append-only file, and flushes that file, before it sends any reply of that round (`beforeSleep` in
//! `server.c` calls `flushAppendOnlyFile` before `handleClientsWithPendingWrites`; where the flush fails, the server
//! exits). So whatever a reply rests on, the caller's own write or somebody else's that it has read, is on the disk.
//! A script's writes are appended as one transaction, of which a restart replays all or nothing. With
//! `no-appendfsync-on-rewrite yes` that flush is left out while a child process writes a file, with `everysec` it
//! comes up to two seconds after the reply: hence the checks at connect.
//!
//! **As a whole.** Redis asks before a script's first write whether there is memory, and whether this server may
//! write. Nothing undoes what a script wrote before an error, so every check comes before the first write, and that
//! is the write of the record, one command: a user whose rights end there has a record that no list shows, never
//! half of one. For the same reason the token is cleared by an empty text, not by a command of its own.
//!
//! **The right realm.** Each script begins by comparing the realm's id with the one that the connection was made for.
//!
//! **Exact numbers.** Lua's numbers are doubles, exact up to 2^53 only. Marks are kept as decimal text, and are
//! compared and added in two halves: the last nine digits and the up to ten before them.

use std::sync::LazyLock;

/// A script and the name by which a server knows it once it has run it.
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

/// What a script answers first, where it did not do what it was asked.
pub(super) mod status {
    /// The realm has another id, which follows, or none.
    pub(in crate::redis) const REALM: &str = "realm";
    /// There is no such record, and none was to be made; or it was made before.
    pub(in crate::redis) const MISSING: &str = "missing";
    /// There is no record for a name that is not bound, although the list of records has it.
    pub(in crate::redis) const EATEN: &str = "eaten";
    /// There is a record without numbers.
    pub(in crate::redis) const DAMAGED: &str = "damaged";
}

/// KEYS[1] is the realm and ARGV[1] its id, in every script but `ENTER`.
const REALM: &str = "
local id = redis.call('HGET', KEYS[1], 'id')
if id ~= ARGV[1] then return {'realm', id} end
";

/// `high, low = halves(text)`, so that `text = high * 10^9 + low`; `below(a, b)` is `a < b`; `sum(a, b)` is `a + b`.
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

/// The record in KEYS[2]: its five fields, each false where it is not there, and whether there is a record.
const RECORD: &str = "
local function sound(text)
  return text and #text <= 19 and string.find(text, '^%d+$')
end
local previous, start, mark, token, note =
  unpack(redis.call('HMGET', KEYS[2], 'previous', 'start', 'mark', 'token', 'note'))
local found = previous or start or mark or token or note
if found and not (sound(previous) and sound(start) and sound(mark)) then return {'damaged'} end
";

/// KEYS: realm, record, records. ARGV: id, key, floor, count, ceiling, token, whether a record may be made, and the
/// note where there is one. The ceiling is the smaller of `max_mark` and the highest mark that leaves room for
/// `count` below 2^63; empty where the request has no room at all. So `mark <= ceiling` is the whole condition beside
/// the token, and the sum cannot overflow.
pub(super) static RESERVE: LazyLock<Script> = LazyLock::new(|| {
    Script::of(&[
        REALM,
        NUMBERS,
        RECORD,
        "
local key, floor, count, ceiling, mine, make, text = unpack(ARGV, 2)
if not found then
  if make == '' or redis.call('ZSCORE', KEYS[3], key) then return {'missing'} end
  previous, start, mark = '0', '0', '0'
end
if token == mine then return {'got', previous, start, mark} end
if ceiling == '' or below(ceiling, mark) then return {'above', mark, note} end
start = below(mark, floor) and floor or mark
local to = sum(start, count)
redis.call('HSET', KEYS[2], 'previous', mark, 'start', start, 'mark', to, 'token', mine, unpack(text and {'note', text} or {}))
if not found then redis.call('ZADD', KEYS[3], 0, key) end
return {'got', mark, start, to}
",
    ])
});

/// KEYS: realm, record. ARGV: id, token, from.
pub(super) static GIVE_BACK: LazyLock<Script> = LazyLock::new(|| {
    Script::of(&[
        REALM,
        NUMBERS,
        RECORD,
        "
local mine, from = unpack(ARGV, 2)
if token ~= mine or below(from, start) or below(mark, from) then return {'kept'} end
redis.call('HSET', KEYS[2], 'mark', from, 'token', '')
return {'given'}
",
    ])
});

/// KEYS: realm, record. ARGV: id, at least (empty where the record is only read).
pub(super) static RAISE: LazyLock<Script> = LazyLock::new(|| {
    Script::of(&[
        REALM,
        NUMBERS,
        RECORD,
        "
if not found then return {'missing'} end
if ARGV[2] ~= '' and below(mark, ARGV[2]) then
  redis.call('HSET', KEYS[2], 'mark', ARGV[2], 'token', '')
end
return {'was', mark}
",
    ])
});

/// KEYS: realm, record, records, names, definitions. ARGV: id, key, name, definition, whether it has a record.
pub(super) static BIND: LazyLock<Script> = LazyLock::new(|| {
    Script::of(&[
        REALM,
        "
local key, name, definition, marked = unpack(ARGV, 2)
local stored = redis.call('HGET', KEYS[5], name)
if stored then return {'bound', stored} end
local make = marked ~= '' and redis.call('EXISTS', KEYS[2]) == 0
if make and redis.call('ZSCORE', KEYS[3], key) then return {'eaten'} end
if make then redis.call('HSET', KEYS[2], 'previous', '0', 'start', '0', 'mark', '0', 'token', '') end
redis.call('HSET', KEYS[5], name, definition)
redis.call('ZADD', KEYS[4], 0, name)
if make then redis.call('ZADD', KEYS[3], 0, key) end
return {'bound', definition}
",
    ])
});

/// KEYS: realm, definitions. ARGV: id, name.
pub(super) static DEFINITION: LazyLock<Script> =
    LazyLock::new(|| Script::of(&[REALM, "return {'found', redis.call('HGET', KEYS[2], ARGV[2])}"]));

/// KEYS: realm, a sorted set. ARGV: id, the least and the greatest member as `ZRANGEBYLEX` takes them, limit.
pub(super) static MEMBERS: LazyLock<Script> = LazyLock::new(|| {
    Script::of(&[
        REALM,
        "
local members = redis.call('ZRANGEBYLEX', KEYS[2], ARGV[2], ARGV[3], 'LIMIT', 0, ARGV[4])
table.insert(members, 1, 'found')
return members
",
    ])
});

/// KEYS: realm, definitions. ARGV: id, names.
pub(super) static DEFINITIONS: LazyLock<Script> = LazyLock::new(|| {
    Script::of(&[
        REALM,
        "
local definitions = redis.call('HMGET', KEYS[2], unpack(ARGV, 2))
table.insert(definitions, 1, 'found')
return definitions
",
    ])
});

/// KEYS: realm, records. ARGV: id. A mark and a note for each record.
pub(super) static RECORDS: LazyLock<Script> = LazyLock::new(|| {
    Script::of(&[
        REALM,
        "
local found = {'found'}
for number = 2, #KEYS do
  local record = redis.call('HMGET', KEYS[number], 'mark', 'note')
  found[2 * number - 2], found[2 * number - 1] = record[1], record[2]
end
return found
",
    ])
});

/// KEYS: realm, the realms. ARGV: id, how many.
pub(super) static REALMS: LazyLock<Script> = LazyLock::new(|| {
    Script::of(&[
        REALM,
        "
local realms = redis.call('SMEMBERS', KEYS[2])
table.sort(realms)
return {'found', unpack(realms, 1, math.min(#realms, tonumber(ARGV[2])))}
",
    ])
});

/// KEYS: realm, and for each other realm its definitions and its record of the name. ARGV: id, name. A definition and a mark
/// for each realm.
pub(super) static ELSEWHERE: LazyLock<Script> = LazyLock::new(|| {
    Script::of(&[
        REALM,
        "
local found = {'found'}
for number = 2, #KEYS, 2 do
  local definition = redis.call('HGET', KEYS[number], ARGV[2])
  found[number] = definition
  found[number + 1] = definition and redis.call('HGET', KEYS[number + 1], 'mark')
end
return found
",
    ])
});

/// KEYS: realm. ARGV: the version of the layout and the id of a realm that is to be made where there is none; nothing
/// where it is only looked for.
pub(super) static ENTER: LazyLock<Script> = LazyLock::new(|| {
    Script::of(&["
if ARGV[1] and redis.call('EXISTS', KEYS[1]) == 0 then
  redis.call('HSET', KEYS[1], 'version', ARGV[1], 'id', ARGV[2])
end
return redis.call('HMGET', KEYS[1], 'version', 'id')
"])
});
