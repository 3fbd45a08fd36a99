//! What a cache asks of the ledger behind it. Pure.

use floe::ledger::{Key, Reserve};

use super::store::Short;

/// So many requests' worth of a segment is reserved at once.
const REQUESTS: u64 = 4;

/// How much the ledger behind is asked for at once, for requests of this size: a slot's time for as long as the cache is
/// to last, and never less than two windows, of which one may be in use; a few times a segment's numbers.
pub(super) fn portion(key: &Key, count: u64, window_ms: u64) -> u64 {
    match is_slot(key) {
        true => window_ms.max(count.saturating_mul(2)),
        false => count.saturating_mul(REQUESTS).max(1),
    }
}

/// What to ask for `request`, where what is held is short: first for a portion, then for what is needed.
pub(super) fn for_request(request: &Reserve, short: &Short, window_ms: u64) -> [Reserve; 2] {
    let start = short.from.max(request.floor);
    let end = start.saturating_add(request.count);
    // What begins in a range that is held ends in one that continues it, if that can be had.
    let needed = if start <= short.end { end.saturating_sub(short.end) } else { request.count };
    let exact = Reserve {
        key: request.key.clone(),
        // Never below the last end held, whatever the ledger behind remembers.
        floor: request.floor.max(short.end),
        count: needed,
        // Whoever may not see a mark above this sees the end of what is held here in any case.
        max_mark: request.max_mark.max(short.end),
        token: short.token.unwrap_or(request.token),
        create: request.create,
        note: request.note.clone().or_else(|| short.note.clone()),
    };
    let count = portion(&request.key, request.count, window_ms);
    let more = if is_slot(&request.key) {
        Reserve { count: count.max(needed), ..exact.clone() }
    } else {
        // The caller's last number lies below this: so does the portion's.
        let limit = request.max_mark.saturating_add(request.count);
        within(&exact, count, limit).filter(|portion| portion.count > needed).unwrap_or_else(|| exact.clone())
    };
    [more, exact]
}

/// What to ask for to add to what is held of a key: of a slot, time that follows it, or none; of a segment, the next
/// numbers, none of them at `limit` or above.
pub(super) fn to_add(key: &Key, short: &Short, count: u64, limit: u64) -> Option<Reserve> {
    let next = Reserve {
        key: key.clone(),
        floor: short.end,
        count,
        max_mark: short.end,
        token: short.token?,
        create: false,
        note: short.note.clone(),
    };
    if is_slot(key) { Some(next) } else { within(&next, count, limit) }
}

/// The request for up to `count` positions, all below `limit`.
fn within(request: &Reserve, count: u64, limit: u64) -> Option<Reserve> {
    let count = count.min(limit.saturating_sub(request.floor));
    (count > 0).then(|| Reserve { count, max_mark: limit - count, ..request.clone() })
}

fn is_slot(key: &Key) -> bool {
    key.as_str().starts_with(Key::SLOTS)
}
