//! The alarms of futures: when each is woken, and by whom.

use std::collections::BTreeMap;
use std::task::Waker;

use super::Shared;
use crate::sync::lock_std as lock;
use crate::time::MonoMillis;
use crate::wait::{Alarm, Alarms};
use crate::wakes;

/// The futures to wake, the earliest first.
#[derive(Default)]
pub(super) struct Timers {
    alarms: BTreeMap<Alarm, Waker>,
    last: u64,
}

impl Shared {
    pub(super) fn wake_alarms(&self, now: MonoMillis) -> Option<MonoMillis> {
        let mut timers = lock(&self.timers);
        let later = match now.get().checked_add(1) {
            Some(next) => timers.alarms.split_off(&Alarm(MonoMillis::new(next), 0)),
            None => BTreeMap::new(),
        };
        let next = later.first_key_value().map(|(alarm, _)| alarm.0);
        let due = std::mem::replace(&mut timers.alarms, later);
        drop(timers);
        wakes::wake(due.into_values());
        next
    }
}

impl Alarms for Shared {
    fn mono(&self) -> MonoMillis {
        self.clock.mono()
    }

    fn wake_at(&self, at: MonoMillis, waker: &Waker, earlier: Option<Alarm>) -> Alarm {
        let waker = waker.clone();
        let mut timers = lock(&self.timers);
        let earlier = earlier.and_then(|earlier| timers.alarms.remove(&earlier));
        timers.last += 1;
        let alarm = Alarm(at, timers.last);
        let first = timers.alarms.first_key_value().is_none_or(|(earliest, _)| at < earliest.0);
        timers.alarms.insert(alarm, waker);
        drop(timers);
        // What its waker does when it is dropped is the executor's.
        drop(earlier);
        if first {
            self.signal.raise();
        }
        alarm
    }

    fn cancel(&self, alarm: Alarm) {
        let waker = lock(&self.timers).alarms.remove(&alarm);
        drop(waker);
    }
}
