//! `floe slots`: who mints under which worker id, and until when.

use floe::ledger::{Key, Ledger, Record};
use floe::{Owner, UnixMillis};
use serde_json::{Value, json};

use crate::arguments;
use crate::failure::Outcome;
use crate::place::{all, now};
use crate::remote::Remote;
use crate::table::{print, print_json, table};

/// A slot's record as people read it.
struct Slot {
    worker_bits: u32,
    worker: u64,
    mark: UnixMillis,
    /// Mark minus now, in milliseconds. Above 0, the owner's window is open.
    ahead_ms: i64,
    /// The last owner, if its note can be read.
    owner: Option<Owner>,
    /// Whether the owner's process runs, if this machine can tell.
    process: Option<bool>,
}

pub(crate) fn run(arguments: &arguments::Slots) -> Outcome {
    let mut slots = match &arguments.place.server {
        Some(server) => served(&Remote::at(server)?, now())?,
        None => stored(&*arguments.place.ledger.existing()?, now())?,
    };
    // The ledger's order is that of texts, in which 10 comes before 9.
    slots.sort_by_key(|slot| (slot.worker_bits, slot.worker));
    if arguments.json {
        return print_json(&slots.iter().map(Slot::json).collect());
    }
    let headings = ["BITS", "WORKER", "MARK", "FROM NOW", "LIVE", "HOST", "PID", "SINCE"];
    print(&table(headings, slots.iter().map(Slot::cells)))
}

fn stored(ledger: &dyn Ledger, now: UnixMillis) -> Outcome<Vec<Slot>> {
    let records = all(|after, limit| ledger.list(Key::SLOTS, after, limit), |record| &record.key)?;
    Ok(records.iter().filter_map(|record| Slot::of(record, now)).collect())
}

/// The processes that hold slots of `ledger` and run, as far as can be told: on this machine by the process, on
/// others by an open window.
pub(crate) fn running(ledger: &dyn Ledger) -> Outcome<Vec<String>> {
    let slots = stored(ledger, now())?.into_iter();
    let running = slots.filter(|slot| slot.process.unwrap_or_else(|| slot.live()));
    let mut running: Vec<String> = running
        .filter_map(|slot| slot.owner.map(|owner| format!("host {}, pid {}", owner.host, owner.pid)))
        .collect();
    running.sort_unstable();
    running.dedup();
    Ok(running)
}

fn served(server: &Remote, now: UnixMillis) -> Outcome<Vec<Slot>> {
    let slots = server.list("/v1/slots", "slots")?;
    let slots =
        slots.iter().map(|slot| Slot::told(slot, now).ok_or_else(|| server.foreign(format_args!("{slot}"))));
    slots.collect()
}

impl Slot {
    fn of(record: &Record, now: UnixMillis) -> Option<Self> {
        let (worker_bits, worker) = Key::parse_slot(&record.key)?;
        let mark = UnixMillis::from_position(record.mark);
        let owner: Option<Owner> = record.note.as_ref().and_then(|note| note.parse().ok());
        let process = owner.as_ref().and_then(Owner::is_alive);
        Some(Self { worker_bits, worker, mark, ahead_ms: mark.since(now), owner, process })
    }

    /// A server's report of a slot.
    fn told(slot: &Value, now: UnixMillis) -> Option<Self> {
        let mark = UnixMillis::new(slot.get("mark_ms")?.as_i64()?);
        let owner: Option<Owner> = slot.get("owner").and_then(|owner| owner.as_str()?.parse().ok());
        Some(Self {
            worker_bits: u32::try_from(slot.get("worker_bits")?.as_u64()?).ok()?,
            worker: slot.get("worker")?.as_u64()?,
            mark,
            ahead_ms: mark.since(now),
            process: owner.as_ref().and_then(Owner::is_alive),
            owner,
        })
    }

    fn live(&self) -> bool {
        self.ahead_ms > 0
    }

    /// Whether somebody mints here, or may at any time.
    fn state(&self) -> &'static str {
        match (self.live(), self.process) {
            (true, _) => "live",
            // Its window has passed without a call, and it opens the next when one comes.
            (false, Some(true)) => "idle",
            (false, _) => "no",
        }
    }

    fn cells(&self) -> [String; 8] {
        let owner = |show: fn(&Owner) -> String| self.owner.as_ref().map_or_else(|| "-".to_owned(), show);
        [
            self.worker_bits.to_string(),
            self.worker.to_string(),
            self.mark.to_string(),
            span(self.ahead_ms),
            self.state().to_owned(),
            owner(|owner| owner.host.clone()),
            owner(|owner| owner.pid.to_string()),
            owner(|owner| owner.since.map_or_else(|| "-".to_owned(), |since| since.to_string())),
        ]
    }

    fn json(&self) -> Value {
        json!({
            "worker_bits": self.worker_bits,
            "worker": self.worker,
            "mark": self.mark.to_string(),
            "mark_ms": self.mark.get(),
            "ahead_ms": self.ahead_ms,
            "live": self.live(),
            "process": self.process,
            "owner": self.owner.as_ref().map(|owner| json!({
                "host": owner.host,
                "pid": owner.pid,
                "version": owner.version,
                "since": owner.since.map(|since| since.to_string()),
                "instance": owner.instance,
            })),
        })
    }
}

/// `2.5 s ahead`, `3 h behind`: one number with the unit that suits it.
fn span(ahead_ms: i64) -> String {
    let millis = ahead_ms.unsigned_abs();
    let side = if ahead_ms > 0 { "ahead" } else { "behind" };
    let length = match millis {
        0..1_000 => format!("{millis} ms"),
        1_000..120_000 => format!("{}.{} s", millis / 1_000, millis % 1_000 / 100),
        120_000..7_200_000 => format!("{} min", millis / 60_000),
        7_200_000..172_800_000 => format!("{} h", millis / 3_600_000),
        _ => format!("{} d", millis / 86_400_000),
    };
    format!("{length} {side}")
}

#[cfg(test)]
mod tests {
    use super::span;

    #[test]
    fn a_span_has_the_unit_that_suits_it() {
        assert_eq!(span(0), "0 ms behind");
        assert_eq!(span(2_560), "2.5 s ahead");
        assert_eq!(span(-119_999), "119.9 s behind");
        assert_eq!(span(3_600_000), "60 min ahead");
        assert_eq!(span(-86_400_000 * 3), "3 d behind");
    }
}
