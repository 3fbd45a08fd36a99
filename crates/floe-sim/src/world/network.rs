//! Requests on their way to the store, and replies on their way back.

use super::{Event, Node, TIMEOUT, World, silence};
use crate::history::Wrong;
use crate::model::{Life, Micros, Model, Silence};
use crate::random::Random;
use crate::scenario::Moment;

impl<M: Model> World<'_, M> {
    pub(super) fn send(&mut self, node: usize, number: u64, request: M::Request) {
        let Node { life, slow, lossy, cut, .. } = self.nodes[node];
        self.nodes[node].open.push(number);
        let network = &mut self.network;
        let mut way = || {
            let usual = network.spread(60, 2_000);
            slow.map_or(usual, |up_to| usual + network.below(up_to))
        };
        let (there, back) = (way(), way());
        let lost = |network: &mut Random| lossy && network.chance(150);
        let (never_there, never_back) = (cut > 0 || lost(network), lost(network));
        let twice = lossy && network.chance(150);
        let later = network.spread(1_000, 3_000_000);
        let sent = self.now;
        if twice {
            let request = Box::new(request.clone());
            let event = Event::Request { life, number, request, sent, back: Some(back) };
            self.schedule(sent + there + later, event);
        }
        if never_there || there > TIMEOUT {
            self.schedule(sent + TIMEOUT, silence(life, number));
        }
        if !never_there {
            let (back, request) = ((!never_back).then_some(back), Box::new(request));
            self.schedule(sent + there, Event::Request { life, number, request, sent, back });
        }
    }

    pub(super) fn request(
        &mut self,
        life: Life,
        number: u64,
        request: &M::Request,
        sent: Micros,
        back: Option<Micros>,
    ) {
        if self.down {
            // The connection is refused, or reset.
            return self.schedule(self.now + 500, silence(life, number));
        }
        let timeout = (sent + TIMEOUT).max(self.now);
        let reply = self.model.execute(&mut self.store, life, request, self.now);
        self.history.digest(number ^ self.now.rotate_left(20) ^ 1);
        for words in self.model.broken() {
            self.violate(Wrong::Rule, Some(life.node), words, None);
        }
        match back {
            Some(back) => {
                if self.now + back > timeout {
                    self.schedule(timeout, silence(life, number));
                }
                self.schedule(self.now + back, Event::Reply { life, number, reply: Ok(Box::new(reply)) });
            }
            None => self.schedule(timeout, silence(life, number)),
        }
        let this = &self.nodes[life.node];
        if let Some(crash) = this.crash.filter(|it| it.moment == Moment::AfterWrite)
            && this.life == life
        {
            self.crash(life.node, crash, "killed between the store's write and the reply");
        }
    }

    pub(super) fn reply(&mut self, life: Life, number: u64, reply: Result<Box<M::Reply>, Silence>) {
        if !self.runs(life) {
            return;
        }
        let this = &mut self.nodes[life.node];
        let cut = reply.is_ok() && (self.down || this.cut > 0);
        let open = this.open.iter().position(|&open| open == number);
        if cut {
            if open.is_some() {
                self.schedule(self.now + TIMEOUT, silence(life, number));
            }
            return;
        }
        match open {
            Some(open) => drop(this.open.swap_remove(open)),
            None if reply.is_err() => return,
            None => {}
        }
        self.history.digest(number << 1 | u64::from(reply.is_ok()));
        let reply = reply.map(|reply| *reply);
        self.call(life.node, |model, process, machine| model.answer(process, number, reply, machine));
    }
}
