//! The ledger of the simulated fleet.

use floe::ledger::{Key, Memory, Record, Reply, Reserve, Token};
use floe::{Ledger, LedgerError, Name};

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
    fn reserve(&self, request: &Reserve) -> Result<Reply, LedgerError> {
        self.reach()?.reserve(request)
    }

    fn give_back(&self, key: &Key, token: Token, from: u64) -> Result<bool, LedgerError> {
        self.reach()?.give_back(key, token, from)
    }

    fn bind(&self, name: &Name, definition: &str, marked: bool) -> Result<String, LedgerError> {
        self.reach()?.bind(name, definition, marked)
    }

    fn definition(&self, name: &Name) -> Result<Option<String>, LedgerError> {
        self.reach()?.definition(name)
    }

    fn names(&self, after: &str, limit: usize) -> Result<Vec<(String, String)>, LedgerError> {
        self.reach()?.names(after, limit)
    }

    fn raise(&self, key: &Key, at_least: u64) -> Result<u64, LedgerError> {
        self.reach()?.raise(key, at_least)
    }

    fn list(&self, prefix: &str, after: &str, limit: usize) -> Result<Vec<Record>, LedgerError> {
        self.reach()?.list(prefix, after, limit)
    }

    fn realm_id(&self) -> Result<String, LedgerError> {
        self.reach()?.realm_id()
    }

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
