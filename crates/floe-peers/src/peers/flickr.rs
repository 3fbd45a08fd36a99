//! Flickr's ticket servers.
//!
//! They promise numbers that are unique over all of Flickr. Two MySQL servers know nothing of each other. Both have
//! `auto_increment_increment` 2; `auto_increment_offset` is 1 on one and 2 on the other, so one makes odd and one even
//! numbers. A client uses them in turn, and the other one when one is down. A ticket is
//! `REPLACE INTO Tickets64 (stub) VALUES ('a'); SELECT LAST_INSERT_ID();`: the single row is deleted and inserted again
//! with the server's next number, which the connection then reads. Here both statements are one request.
//!
//! No order is promised: the two servers are not used equally often, so they drift apart. Each server keeps only its
//! counter, so a server that is put back to an earlier state repeats tickets.
//!
//! Read in: "Ticket Servers: Distributed Unique Primary Keys on the Cheap", Flickr's engineering blog, 8 February 2010.

use std::collections::BTreeMap;

use floe_sim::model::{
    Ask, Fleet, Life, Machine, Micros, Model, NameInfo, Order, Pace, Setup, Silence, Verdict,
};

const NAMES: &[NameInfo] = &[NameInfo { label: "Tickets64", domain: 0, order: Order::None }];

/// `auto_increment_increment`; and as many servers, with the offsets 1 and 2.
const INCREMENT: u64 = 2;

/// Clients of two ticket servers.
#[derive(Clone, Copy, Debug, Default)]
pub struct Flickr;

/// A ticket server: the table's last auto-increment value, and its offset.
#[derive(Clone, Copy, Debug)]
struct TicketServer {
    offset: u64,
    last: Option<u64>,
}

/// Both ticket servers.
#[derive(Clone, Debug)]
pub struct TicketServers([TicketServer; 2]);

/// One ticket from that server.
#[derive(Clone, Copy, Debug)]
pub struct Replace {
    server: usize,
}

/// A ticket that a client waits for.
#[derive(Clone, Copy, Debug)]
struct Call {
    ask: u64,
    server: usize,
    last_try: bool,
}

/// A client: the server whose turn it is, and its open calls.
#[derive(Clone, Debug, Default)]
pub struct Client {
    turn: usize,
    calls: BTreeMap<u64, Call>,
}

impl Model for Flickr {
    const PACE: Pace = Pace::NATIVE;

    // The reply: `LAST_INSERT_ID()`.
    keeps!(TicketServers, (), Replace, u64);

    type Process = Client;

    fn names(&self) -> &[NameInfo] {
        NAMES
    }

    fn store(&mut self, _fleet: &Fleet) -> TicketServers {
        TicketServers([1, 2].map(|offset| TicketServer { offset, last: None }))
    }

    /// The servers share nothing, so a fault sets back only one of them.
    fn forget(&mut self, store: &mut TicketServers, copy: &TicketServers) {
        store.0[0] = copy.0[0];
    }

    fn execute(&mut self, store: &mut TicketServers, _from: Life, request: &Replace, _now: Micros) -> u64 {
        let server = &mut store.0[request.server];
        let next = server.last.map_or(server.offset, |last| last + INCREMENT);
        server.last = Some(next);
        next
    }

    fn start(
        &mut self,
        _setup: &Setup,
        _store: Option<&mut TicketServers>,
        _machine: &mut Machine<'_, Self>,
    ) -> Client {
        Client::default()
    }

    fn answer(
        &mut self,
        process: &mut Client,
        number: u64,
        answer: Result<u64, Silence>,
        machine: &mut Machine<'_, Self>,
    ) {
        // The answer to a request that was given up came on a closed connection.
        let Some(call) = process.calls.remove(&number) else { return };
        match answer {
            Ok(ticket) => machine.deliver(call.ask, Verdict::Minted(vec![u128::from(ticket)])),
            Err(Silence) if call.last_try => {
                machine.deliver(call.ask, Verdict::Refused("no ticket server answers".into()));
            }
            Err(Silence) => {
                let server = 1 - call.server;
                let number = machine.send(Replace { server });
                process.calls.insert(number, Call { server, last_try: true, ..call });
            }
        }
    }

    fn mint(&mut self, process: &mut Client, ask: &Ask, machine: &mut Machine<'_, Self>) -> Verdict {
        let server = process.turn;
        process.turn = 1 - process.turn;
        let number = machine.send(Replace { server });
        process.calls.insert(number, Call { ask: ask.id, server, last_try: false });
        Verdict::Later
    }
}

#[cfg(test)]
mod tests {
    use super::Flickr;
    use crate::peers::tests::manual_fleet::ManualFleet;

    #[test]
    fn one_server_is_odd_and_the_other_even() {
        let mut fleet = ManualFleet::new(Flickr, 1);
        let ids: Vec<_> = (0..6).map(|_| fleet.minted(0)).collect();
        assert_eq!(ids, [1, 2, 3, 4, 5, 6]);
    }

    #[test]
    fn two_clients_share_no_ticket() {
        let mut fleet = ManualFleet::new(Flickr, 2);
        let mut ids: Vec<_> = (0..20).map(|turn| fleet.minted(turn % 2)).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), 20);
    }

    #[test]
    fn a_silent_server_wastes_a_ticket_and_the_other_takes_over() {
        let mut fleet = ManualFleet::new(Flickr, 1);
        fleet.lose_replies = 1;
        assert_eq!(fleet.minted(0), 2, "the odd server's 1 was lost on its way");
        assert_eq!(fleet.minted(0), 4);
        assert_eq!(fleet.minted(0), 3);
        fleet.lose_replies = 2;
        assert_eq!(fleet.refused(0), "no ticket server answers");
    }

    #[test]
    fn a_restored_server_repeats_its_tickets_and_the_other_does_not() {
        let mut fleet = ManualFleet::new(Flickr, 1);
        let backup = fleet.copy();
        assert_eq!([fleet.minted(0), fleet.minted(0)], [1, 2]);
        fleet.forget(&backup);
        assert_eq!([fleet.minted(0), fleet.minted(0)], [1, 4]);
    }
}
