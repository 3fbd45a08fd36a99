//! Those who ask for IDs, and what they get.

use floe::MonoMillis;

use super::{Asked, Event, PATIENCE, SLACK, World, number, place};
use crate::history::{Happened, Mint, Wrong, rank};
use crate::model::{Ask, Life, Micros, Model, Order, Verdict};
use crate::scenario::Moment;

impl<M: Model> World<'_, M> {
    pub(super) fn some_load(&mut self, node: usize) {
        if self.load.chance(80) {
            let left = self.load.between(10, 30);
            self.burst(self.now, node, left);
        } else {
            self.ask(node, None);
        }
        let at = self.now + self.load.between(50_000, 2_500_000);
        self.schedule(at, Event::Load(node));
    }

    /// Many calls in quick succession.
    pub(super) fn burst(&mut self, at: Micros, node: usize, left: u64) {
        let name = self.load.chance(500).then(|| self.any_name());
        self.schedule(at, Event::Burst { node, left, name });
    }

    fn any_name(&mut self) -> usize {
        place(self.load.below(number(self.model.names().len())))
    }

    pub(super) fn ask(&mut self, node: usize, name: Option<usize>) {
        let name = name.unwrap_or_else(|| self.any_name());
        let count = self.load.spread(1, self.model.most_at_once(name));
        let this = &self.nodes[node];
        if this.process.is_none() {
            return;
        }
        let ask = Ask { id: number(self.asks.len()), name, count, asked_at: self.now };
        let above = match self.model.names()[name].order {
            Order::Life => this.top[name],
            Order::Fleet => self.history.top(name),
            Order::None => None,
        };
        let paused = this.paused_until(self.now);
        self.asks.push(Asked { ask, life: this.life, above, paused, open: true });
        self.history.counts.asked += 1;
        self.handle(Event::Ask(ask.id));
    }

    pub(super) fn mint(&mut self, ask: u64) {
        let Asked { ask, life, open, .. } = self.asks[place(ask)];
        let node = life.node;
        if !open || self.nodes[node].life != life {
            return;
        }
        let Some(verdict) = self.call(node, |model, process, machine| model.mint(process, &ask, machine))
        else {
            return;
        };
        let crash = self.nodes[node].crash;
        if let (Verdict::Minted(_), Some(crash)) =
            (&verdict, crash.filter(|it| it.moment == Moment::AfterMint))
        {
            return self.crash(node, crash, "killed after minting, before it answers");
        }
        self.answered(ask.id, verdict);
    }

    pub(super) fn leave(&mut self, ask: u64) {
        let Asked { life, open, .. } = &mut self.asks[place(ask)];
        let (life, was_open) = (*life, std::mem::take(open));
        if was_open && self.nodes[life.node].life == life {
            self.call(life.node, |model, process, machine| model.leave(process, ask, machine));
        }
    }

    pub(super) fn answered(&mut self, ask: u64, verdict: Verdict) {
        let index = place(ask);
        let Asked { ask, life, above, open, .. } = self.asks[index];
        // Its caller is gone with the process, or with the connection of a restored machine.
        if !open || self.nodes[life.node].life != life {
            return;
        }
        match verdict {
            Verdict::Later => {
                if self.load.chance(50) {
                    let at = self.now + self.load.spread(200, 300_000);
                    self.schedule(at, Event::Leave(ask.id));
                }
                return;
            }
            Verdict::Again(at) => {
                let at = MonoMillis::new(at.get().saturating_add(self.nodes[life.node].lag_ms));
                // Clocks are read in whole milliseconds, and a sleep never ends early.
                let host = &self.hosts[life.host];
                let due = host.when(at).map_or(self.now + 1_000, |due| due + host.begun(self.now));
                return self.schedule(due.max(self.now + 100), Event::Again(ask.id));
            }
            Verdict::Minted(ids) => self.minted(&ask, life, above, &ids),
            Verdict::Refused(why) => {
                self.history.counts.refused += 1;
                self.history.digest(2);
                self.tell(Some(life.node), || Happened::Refused(why));
            }
        }
        self.check_patience(index);
        self.asks[index].open = false;
    }

    fn check_patience(&mut self, index: usize) {
        let Asked { ask, life, paused, .. } = self.asks[index];
        let Some(patience) = self.model.patience_ms(ask.id) else { return };
        let waited = self.now - ask.asked_at - (self.nodes[life.node].paused_until(self.now) - paused);
        if waited > patience * 1000 + SLACK {
            let words = format!(
                "a caller waited for {} ms, and {patience} ms was the most that it had been promised",
                waited / 1000
            );
            self.violate(Wrong::Starved, Some(life.node), words, None);
        }
    }

    fn minted(&mut self, ask: &Ask, life: Life, mut above: Option<i128>, ids: &[u128]) {
        let info = self.model.names()[ask.name];
        let first = self.history.mints.len();
        let error_ms = self.hosts[life.host].error_ms(self.now);
        self.tell(Some(life.node), || Happened::Minted { first, count: ids.len(), error_ms });
        for &id in ids {
            let (place, rank) = (self.history.mints.len(), rank(id));
            let mint = Mint { at: self.now, life, name: ask.name, id };
            if let Some(earlier) = self.history.mint(mint, &info)
                && !self.model.may_repeat(ask.name, id)
            {
                let words = format!("{} handed out {rank} for a second time", info.label);
                self.violate(Wrong::Twice, Some(life.node), words, Some((earlier, place)));
            }
            if info.order != Order::None {
                if above.is_some_and(|above| rank <= above) && !self.model.may_repeat(ask.name, id) {
                    self.history.counts.disorder += 1;
                    let words = format!(
                        "{} handed out {rank} to a call that began after {} had been returned",
                        info.label,
                        above.unwrap_or(0)
                    );
                    let larger =
                        |mint: &Mint| mint.name == ask.name && Some(crate::history::rank(mint.id)) == above;
                    // Only a story needs to know which one that was, and finding it takes a search.
                    let earlier = &self.history.mints[..if self.outbox.noting { place } else { 0 }];
                    let mints = earlier.iter().rposition(larger).map(|earlier| (earlier, place));
                    self.violate(Wrong::Disorder, Some(life.node), words, mints);
                }
                above = above.max(Some(rank));
            }
            let top = &mut self.nodes[life.node].top[ask.name];
            *top = (*top).max(Some(rank));
        }
    }

    pub(super) fn count_unanswered(&mut self) {
        for index in 0..self.asks.len() {
            let Asked { ask, life, open, .. } = self.asks[index];
            if open && self.now >= ask.asked_at + PATIENCE {
                self.history.counts.unanswered += 1;
                if self.runs(life) {
                    self.check_patience(index);
                }
            }
        }
    }
}
