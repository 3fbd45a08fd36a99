//! How processes start, are called, and end.

use floe::{MonoMillis, Reading};

use super::{BUSY, Crash, Event, Node, RESTART, World};
use crate::history::{Happened, Wrong};
use crate::model::{Life, Machine, Micros, Model, Setup};
use crate::scenario::Moment;

impl<M: Model> World<'_, M> {
    pub(super) fn reading(&self, node: usize) -> Reading {
        let Node { life, lag_ms, .. } = &self.nodes[node];
        let Reading { wall, mono } = self.hosts[life.host].read(self.now);
        Reading { wall, mono: MonoMillis::new(mono.get().saturating_sub(*lag_ms)) }
    }

    /// Calls a process, and handles its effects.
    pub(super) fn call<T>(
        &mut self,
        node: usize,
        act: impl FnOnce(&mut M, &mut M::Process, &mut Machine<'_, M>) -> T,
    ) -> Option<T> {
        self.nodes[node].process.as_ref()?;
        self.on_machine(node, |model, _, _, process, machine| Some(act(model, process.as_mut()?, machine)))
    }

    /// Lets a node's process act on its machine, and handles the effects.
    fn on_machine<T>(
        &mut self,
        node: usize,
        act: impl FnOnce(&mut M, &mut M::Store, &Setup, &mut Option<M::Process>, &mut Machine<'_, M>) -> T,
    ) -> T {
        let now = self.reading(node);
        let this = &mut self.nodes[node];
        let (life, ran) = (this.life, self.now - this.paused_until(self.now));
        let (disk, random) = (self.disks.entry((life.host, node)).or_default(), &mut this.random);
        self.outbox.last_request = this.last_request;
        let mut machine = Machine { now, life, disk, random, outbox: &mut self.outbox, ran, at: self.now };
        let result = act(self.model, &mut self.store, &this.setup, &mut this.process, &mut machine);
        this.last_request = self.outbox.last_request;
        self.collect(node);
        result
    }

    fn collect(&mut self, node: usize) {
        let mut requests = std::mem::take(&mut self.outbox.requests);
        for (number, request) in requests.drain(..) {
            self.send(node, number, request);
        }
        self.outbox.requests = requests;
        if let Some(at) = self.outbox.wake.take() {
            self.set_alarm(node, at);
        }
        if self.outbox.noting {
            for note in std::mem::take(&mut self.outbox.notes) {
                self.tell(Some(node), || Happened::Note(note));
            }
        }
        for words in std::mem::take(&mut self.outbox.violations) {
            self.violate(Wrong::Rule, Some(node), words, None);
        }
        let mut delivered = std::mem::take(&mut self.outbox.delivered);
        for (ask, verdict) in delivered.drain(..) {
            self.answered(ask, verdict);
        }
        self.outbox.delivered = delivered;
        if let Some(why) = self.outbox.died.take() {
            self.end(node, &why);
            self.start_again(node, RESTART, false);
        }
    }

    pub(super) fn start(&mut self, node: usize, host: usize) {
        if self.nodes[node].process.is_some() {
            return;
        }
        if self.asleep[host] > self.now {
            return self.schedule(self.asleep[host] + 1, Event::Start { node, host });
        }
        let names = self.model.names().len();
        let reachable = !self.down && self.nodes[node].cut == 0;
        let this = &mut self.nodes[node];
        this.life = Life { node, number: this.life.number + 1, host };
        (this.open, this.alarm, this.lag_ms, this.snapshot) = (Vec::new(), None, 0, None);
        this.top.clear();
        this.top.resize(names, None);
        let life = this.life;
        let error_ms = self.hosts[host].error_ms(self.now);
        self.history.digest(self.now ^ u64::from(life.number));
        self.tell(Some(node), || Happened::Started { life, error_ms });
        self.on_machine(node, |model, store, setup, process, machine| {
            *process = Some(model.start(setup, reachable.then_some(store), machine));
        });
        self.burst(self.now + 1_000, node, BUSY);
    }

    /// The process ends.
    pub(super) fn end(&mut self, node: usize, why: &str) {
        if self.nodes[node].process.take().is_none() {
            return;
        }
        let wall = self.reading(node).wall;
        self.model.ended(self.nodes[node].life, wall);
        let this = &mut self.nodes[node];
        this.open.clear();
        this.backlog.clear();
        if !this.pauses.is_empty() {
            this.paused += self.now - this.paused_since;
        }
        this.pauses.clear();
        (this.alarm, this.crash) = (None, None);
        self.tell(Some(node), || Happened::Died(why.to_owned()));
    }

    pub(super) fn start_again(&mut self, node: usize, after: Micros, elsewhere: bool) {
        let after = after.max(self.model.pace().start);
        let (here, nodes) = (self.nodes[node].life.host, self.scenario.fleet.nodes);
        // From its own host to its other one, and back. A clone has only one host.
        let host = match elsewhere && node < nodes {
            true if here == node => nodes + node,
            true => node,
            false => here,
        };
        self.schedule(self.now + after, Event::Start { node, host });
    }

    pub(super) fn crash(&mut self, node: usize, crash: Crash, why: &str) {
        self.end(node, why);
        self.start_again(node, crash.back_in, crash.elsewhere);
        if crash.times > 1 {
            let back_in = crash.back_in.max(self.model.pace().start);
            let at = self.now + back_in + self.network.spread(1, 400_000);
            if !crash.elsewhere {
                // Repeatedly, soon after each start.
                let last = self.nodes[node].life;
                let life = Life { number: last.number + 1, ..last };
                let crash = Crash { times: crash.times - 1, moment: Moment::Now, ..crash };
                self.schedule(at, Event::Crash { life, crash });
            }
        }
    }

    fn set_alarm(&mut self, node: usize, at: MonoMillis) {
        self.scheduled += 1;
        let number = self.scheduled;
        self.nodes[node].alarm = Some((at, number));
        self.schedule_alarm(node);
    }

    pub(super) fn schedule_alarm(&mut self, node: usize) {
        let this = &self.nodes[node];
        let Some((at, number)) = this.alarm else { return };
        let at = MonoMillis::new(at.get().saturating_add(this.lag_ms));
        // While the machine sleeps, its clock stands still. The alarm is set again when the machine wakes.
        if let Some(at) = self.hosts[this.life.host].when(at) {
            self.schedule(at.max(self.now), Event::Alarm { node, number });
        }
    }

    pub(super) fn alarm(&mut self, node: usize, number: u64) {
        let Some((at, _)) = self.nodes[node].alarm.filter(|&(_, alarm)| alarm == number) else { return };
        if self.reading(node).mono < at {
            return self.schedule_alarm(node);
        }
        self.nodes[node].alarm = None;
        self.call(node, |model, process, machine| model.wake(process, machine));
    }
}
