//! The faults of a scenario, and their ends.

use super::{Crash, Event, NOTICED_MS, Node, PATIENCE, World, place, silence};
use crate::history::Happened;
use crate::model::{Life, Micros, Model};
use crate::scenario::{Fault, Moment, What};

impl<M: Model> World<'_, M> {
    pub(super) fn fault(&mut self, index: usize) {
        let Fault { what, at } = &self.scenario.faults[index];
        let (now, at) = (self.now, *at);
        let over = |world: &mut Self, lasts: Micros| world.schedule(at + lasts, Event::Over(index));
        match what.clone() {
            What::Step { host, by_ms } => {
                self.hosts[host].step(now, by_ms);
                self.tell_of_clock(host, by_ms);
            }
            What::Slew { host, ppm, lasts } => {
                self.hosts[host].slew(now, ppm);
                self.tell_host(host, || Happened::Fault(format!("its clock is slewed by {ppm} ppm")));
                over(self, lasts);
            }
            What::Freeze { host, lasts } => {
                self.hosts[host].slew(now, -crate::host::RIGHT);
                self.tell_host(host, || Happened::Fault("its clock stands still".to_owned()));
                over(self, lasts);
            }
            What::Wild { host, says_ms, lasts } => {
                let before = self.hosts[host].read(now).wall.get();
                self.hosts[host].set(now, says_ms);
                self.tell_of_clock(host, says_ms - before);
                over(self, lasts);
            }
            What::Crash { node, moment, back_in, elsewhere, times } => {
                let crash = Crash { moment, back_in, elsewhere, times };
                match moment {
                    Moment::Now if self.nodes[node].process.is_some() => {
                        self.crash(node, crash, "killed (SIGKILL)");
                    }
                    Moment::Now => {}
                    Moment::AfterWrite | Moment::AfterMint => self.nodes[node].crash = Some(crash),
                }
            }
            What::Stop { node, back_in, elsewhere } => {
                self.tell(Some(node), || Happened::Stopping);
                if self.call(node, |model, process, machine| model.stop(process, machine)).is_some() {
                    let life = self.nodes[node].life;
                    let at = now + self.model.pace().stop + self.network.between(1_000, 300_000);
                    self.schedule(at, Event::Exit { life, back_in, elsewhere });
                }
            }
            What::Pause { node, lasts } => {
                self.pause(node, index);
                over(self, lasts);
            }
            What::Sleep { node, lasts } => {
                let host = self.nodes[node].life.host;
                let alone = |other: &Node<M>| other.life.host != host || other.life.node == node;
                if self.asleep[host] == 0 && self.nodes.iter().all(alone) {
                    self.asleep[host] = now + lasts;
                    self.hosts[host].sleep(now);
                    self.pause(node, index);
                    over(self, lasts);
                }
            }
            What::Cut { node, lasts } => {
                self.nodes[node].cut += 1;
                self.tell(Some(node), || Happened::Cut(true));
                over(self, lasts);
            }
            What::Slow { node, lasts, up_to } => {
                self.nodes[node].slow = Some(up_to);
                self.tell_fault(
                    Some(node),
                    format!("its messages to the store take up to {} ms", up_to / 1000),
                );
                over(self, lasts);
            }
            What::Lossy { node, lasts } => {
                self.nodes[node].lossy = true;
                self.tell_fault(Some(node), "its requests and replies get lost or doubled");
                over(self, lasts);
            }
            What::Outage { lasts } => {
                self.set_down(true);
                over(self, lasts);
            }
            What::Forget { lasts, backup } => {
                self.copies.push((index, self.model.copy(&self.store)));
                let words = if backup { "a backup is taken" } else { "the replica has seen all up to here" };
                self.tell_fault(None, words);
                over(self, lasts);
            }
            What::DeleteRecord => {
                let deleted = self.model.delete_record(&mut self.store, &mut self.network);
                let words =
                    deleted.map_or("no record to delete".to_owned(), |record| format!("{record} is deleted"));
                self.tell_fault(None, words);
            }
            What::Snapshot { node, lasts } => {
                let then = self.reading(node);
                let Some(memory) = self.memory(node) else { return };
                let this = &mut self.nodes[node];
                this.snapshot = Some((memory, this.open.clone(), then));
                self.tell(Some(node), || Happened::Snapshot);
                over(self, lasts);
            }
            What::Invalidate { node } => {
                self.tell_fault(Some(node), "it is told to drop the ranges that it holds");
                self.burst(now, node, 20);
                self.schedule(now + 4_000, Event::Invalidate(node));
            }
            What::Clone { node } => self.clone_machine(node),
        }
    }

    fn memory(&mut self, node: usize) -> Option<M::Process> {
        let this = &self.nodes[node];
        if !this.pauses.is_empty() {
            return None;
        }
        let fresh = this.random.fork(self.now);
        self.model.memory(this.process.as_ref()?, fresh)
    }

    pub(super) fn over(&mut self, index: usize) {
        let now = self.now;
        match self.scenario.faults[index].what {
            What::Slew { host, .. } => {
                self.hosts[host].slew(now, 0);
                self.tell_host(host, || Happened::Fault("its clock runs right again".to_owned()));
            }
            What::Freeze { host, .. } | What::Wild { host, .. } => self.set_right(host),
            What::Pause { node, .. } => self.resume(node, index),
            What::Sleep { node, .. } => {
                if let Some(host) = self.asleep.iter().position(|until| *until == now) {
                    self.asleep[host] = 0;
                    self.hosts[host].awake(now);
                }
                self.schedule_alarm(node);
                self.resume(node, index);
            }
            What::Cut { node, .. } => {
                self.nodes[node].cut = self.nodes[node].cut.saturating_sub(1);
                self.tell(Some(node), || Happened::Cut(false));
            }
            What::Slow { node, .. } => self.nodes[node].slow = None,
            What::Lossy { node, .. } => self.nodes[node].lossy = false,
            What::Outage { .. } => self.set_down(false),
            What::Forget { backup, .. } => {
                let Some(at) = self.copies.iter().position(|(copy, _)| *copy == index) else { return };
                let (_, copy) = self.copies.swap_remove(at);
                self.model.forget(&mut self.store, &copy);
                self.model.store_starts(&mut self.store, now);
                let words = match backup {
                    true => "the store is restored from the backup",
                    false => "the store fails over to the replica",
                };
                self.tell_fault(None, words);
            }
            What::Snapshot { node, .. } => self.restore(node),
            What::Step { .. }
            | What::Crash { .. }
            | What::Stop { .. }
            | What::DeleteRecord
            | What::Invalidate { .. }
            | What::Clone { .. } => {}
        }
    }

    fn restore(&mut self, node: usize) {
        let this = &mut self.nodes[node];
        let Some((memory, open, then)) = this.snapshot.take() else { return };
        if this.process.is_none() || !this.pauses.is_empty() {
            return;
        }
        let host = this.life.host;
        self.set_right(host);
        let shown = self.hosts[host].read(self.now);
        if shown.wall.since(then.wall).abs() < NOTICED_MS {
            // It looks like a copy whose clock was copied too, which is a fault of its own.
            return;
        }
        let this = &mut self.nodes[node];
        this.lag_ms = shown.mono.since(then.mono);
        this.process = Some(memory);
        this.life.number += 1;
        (this.open, this.alarm, this.crash) = (open.clone(), None, None);
        this.top.iter_mut().for_each(|top| *top = None);
        let life = this.life;
        self.tell(Some(node), || Happened::Restored);
        for number in open {
            self.schedule(self.now + 1, silence(life, number));
        }
        self.call(node, |model, process, machine| model.wake(process, machine));
    }

    fn clone_machine(&mut self, node: usize) {
        let Some(memory) = self.memory(node) else { return };
        let (index, host) = (self.nodes.len(), self.hosts.len());
        let original = &self.nodes[node];
        let random = original.random.fork(self.now ^ 1);
        let mut clone = Node::new(index, original.setup.clone(), &random, self.model.names().len());
        clone.life = Life { node: index, number: 1, host };
        (clone.lag_ms, clone.last_request) = (original.lag_ms, original.last_request);
        clone.open.clone_from(&original.open);
        clone.process = Some(memory);
        self.hosts.push(self.hosts[original.life.host]);
        self.asleep.push(0);
        if let Some(disk) = self.disks.get(&(original.life.host, node)).cloned() {
            self.disks.insert((host, index), disk);
        }
        let (life, open) = (clone.life, clone.open.clone());
        self.nodes.push(clone);
        self.tell(Some(index), || Happened::CloneOf(node));
        for number in open {
            self.schedule(self.now + 1, silence(life, number));
        }
        self.schedule(self.now, Event::Load(index));
        self.call(index, |model, process, machine| model.wake(process, machine));
    }

    fn pause(&mut self, node: usize, fault: usize) {
        let now = self.now;
        let this = &mut self.nodes[node];
        if this.pauses.is_empty() {
            this.paused_since = now;
        }
        this.pauses.push(fault);
        self.tell(Some(node), || Happened::Paused(true));
    }

    /// This fault is over. If the process has died meanwhile, nothing is left to resume.
    fn resume(&mut self, node: usize, fault: usize) {
        let now = self.now;
        let this = &mut self.nodes[node];
        let Some(at) = this.pauses.iter().position(|&pause| pause == fault) else { return };
        this.pauses.swap_remove(at);
        if !this.pauses.is_empty() {
            return;
        }
        this.paused += now - this.paused_since;
        let backlog = std::mem::take(&mut this.backlog);
        self.tell(Some(node), || Happened::Paused(false));
        for event in backlog {
            if let Event::Ask(ask) = event
                && now > self.asks[place(ask)].ask.asked_at + PATIENCE
            {
                // Its caller has given up meanwhile.
                self.asks[place(ask)].open = false;
                self.history.counts.unanswered += 1;
                continue;
            }
            // The process finds these events in any order when it continues.
            let at = now + self.network.spread(1, 5_000);
            self.schedule(at, event);
        }
    }

    fn set_down(&mut self, down: bool) {
        match (self.down, down) {
            (false, true) => self.model.store_dies(&mut self.store, self.now),
            (true, false) => self.model.store_starts(&mut self.store, self.now),
            _ => {}
        }
        self.down = down;
        self.tell(None, || Happened::Down(down));
    }

    fn set_right(&mut self, host: usize) {
        let error_ms = self.hosts[host].error_ms(self.now);
        self.hosts[host].set_right(self.now);
        self.tell_of_clock(host, -error_ms);
    }

    fn tell_of_clock(&mut self, host: usize, by_ms: i64) {
        let error_ms = self.hosts[host].error_ms(self.now);
        self.tell_host(host, || Happened::ClockSet { by_ms, error_ms });
    }

    /// Records an event for every node on a host.
    fn tell_host(&mut self, host: usize, what: impl Fn() -> Happened) {
        for node in 0..self.nodes.len() {
            if self.nodes[node].life.host == host {
                self.tell(Some(node), &what);
            }
        }
    }

    /// No faults happen from here on.
    pub(super) fn heal(&mut self) {
        self.copies.clear();
        for host in 0..self.hosts.len() {
            self.asleep[host] = 0;
            self.hosts[host].awake(self.now);
            self.set_right(host);
        }
        if self.down {
            self.set_down(false);
        }
        for node in 0..self.nodes.len() {
            let this = &mut self.nodes[node];
            (this.cut, this.slow, this.lossy, this.crash, this.snapshot) = (0, None, false, None, None);
            if let Some(&last) = this.pauses.last() {
                this.pauses.retain(|&pause| pause == last);
                self.resume(node, last);
            }
            self.schedule_alarm(node);
        }
        self.tell(None, || Happened::Healed);
    }
}
