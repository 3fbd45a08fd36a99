//! The ledger of the simulated fleet.

use floe::ledger::Memory;
use floe::{Ledger, LedgerError};

/// One process's connection to the fleet's ledger: the library's ledger in memory, which may be out of reach.
///
/// It passes the conformance suite that every other ledger passes. The world makes the faults on the way to it: calls
/// to reserve and to give back travel as requests that may be late, lost, or executed twice.
#[derive(Clone, Debug, Default)]
pub struct SimLedger {
    memory: Memory,
    unreachable: bool,
}

impl SimLedger {
    /// A connection to `memory`.
    pub fn to(memory: &Memory, reachable: bool) -> Self {
        Self { memory: memory.clone(), unreachable: !reachable }
    }

    fn reach(&self) -> Result<&Memory, LedgerError> {
        match self.unreachable {
            true => Err(LedgerError::Unavailable("the simulated ledger is out of reach".to_owned())),
            false => Ok(&self.memory),
        }
    }
}

impl Ledger for SimLedger {
    floe::__hand_on!(self => self.reach()?; reserve give_back bind definition names raise list realm_id);

    fn describe(&self) -> String {
        "the simulated ledger".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use floe::ledger::conformance::Realm;

    fn fresh() -> Realm {
        let ledger = SimLedger::default();
        Realm::new(move || Box::new(ledger.clone()))
    }

    floe::ledger_conformance!(fresh);
}
