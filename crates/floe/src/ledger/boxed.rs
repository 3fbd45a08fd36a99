//! A ledger behind a pointer is a ledger: adapters are opened by URL, as a `Box<dyn Ledger>`.

use std::sync::Arc;

use super::{AtHand, Elsewhere, Key, Ledger, LedgerError, Record, Reply, Reserve, Token};
use crate::name::Name;
use crate::time::UnixMillis;

/// Passes every operation on, those with a default included.
macro_rules! pass_on {
    ($pointer:ident) => {
        impl<L: Ledger + ?Sized> Ledger for $pointer<L> {
            fn reserve(&self, request: &Reserve) -> Result<Reply, LedgerError> {
                (**self).reserve(request)
            }

            fn count(&self, request: &Reserve) -> Result<Reply, LedgerError> {
                (**self).count(request)
            }

            fn count_at_once(&self, request: &Reserve) -> Option<Reply> {
                (**self).count_at_once(request)
            }

            fn give_back(&self, key: &Key, token: Token, from: u64) -> Result<bool, LedgerError> {
                (**self).give_back(key, token, from)
            }

            fn bind(&self, name: &Name, definition: &str, marked: bool) -> Result<String, LedgerError> {
                (**self).bind(name, definition, marked)
            }

            fn definition(&self, name: &Name) -> Result<Option<String>, LedgerError> {
                (**self).definition(name)
            }

            fn names(&self, after: &str, limit: usize) -> Result<Vec<(String, String)>, LedgerError> {
                (**self).names(after, limit)
            }

            fn raise(&self, key: &Key, at_least: u64) -> Result<u64, LedgerError> {
                (**self).raise(key, at_least)
            }

            fn list(&self, prefix: &str, after: &str, limit: usize) -> Result<Vec<Record>, LedgerError> {
                (**self).list(prefix, after, limit)
            }

            fn clock(&self) -> Result<Option<UnixMillis>, LedgerError> {
                (**self).clock()
            }

            fn in_other_realms(&self, name: &Name) -> Result<Vec<Elsewhere>, LedgerError> {
                (**self).in_other_realms(name)
            }

            fn realm_id(&self) -> Result<String, LedgerError> {
                (**self).realm_id()
            }

            fn describe(&self) -> String {
                (**self).describe()
            }

            fn at_hand(&self, worker_bits: u32) -> Vec<AtHand> {
                (**self).at_hand(worker_bits)
            }

            fn is_shared(&self) -> bool {
                (**self).is_shared()
            }
        }
    };
}

pass_on!(Box);
pass_on!(Arc);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::Memory;
    use crate::ledger::conformance::{Realm, run};

    #[test]
    fn a_ledger_behind_pointers_conforms() {
        run(&|| {
            let store: Arc<dyn Ledger> = Arc::new(Memory::default());
            Realm::new(move || Box::new(Box::new(Arc::clone(&store))))
        });
    }

    #[test]
    fn what_has_a_default_is_passed_on_too() {
        struct Clocked(Memory);
        #[rustfmt::skip]
        impl Ledger for Clocked {
            fn reserve(&self, request: &Reserve) -> Result<Reply, LedgerError> { self.0.reserve(request) }
            fn count(&self, _request: &Reserve) -> Result<Reply, LedgerError> { Err(LedgerError::Unavailable("one".to_owned())) }
            fn give_back(&self, key: &Key, token: Token, from: u64) -> Result<bool, LedgerError> { self.0.give_back(key, token, from) }
            fn bind(&self, name: &Name, definition: &str, marked: bool) -> Result<String, LedgerError> { self.0.bind(name, definition, marked) }
            fn definition(&self, name: &Name) -> Result<Option<String>, LedgerError> { self.0.definition(name) }
            fn names(&self, after: &str, limit: usize) -> Result<Vec<(String, String)>, LedgerError> { self.0.names(after, limit) }
            fn raise(&self, key: &Key, at_least: u64) -> Result<u64, LedgerError> { self.0.raise(key, at_least) }
            fn list(&self, prefix: &str, after: &str, limit: usize) -> Result<Vec<Record>, LedgerError> { self.0.list(prefix, after, limit) }
            fn clock(&self) -> Result<Option<UnixMillis>, LedgerError> { Ok(Some(UnixMillis::new(7))) }
            fn realm_id(&self) -> Result<String, LedgerError> { self.0.realm_id() }
            fn describe(&self) -> String { "clocked:".to_owned() }
            fn at_hand(&self, worker_bits: u32) -> Vec<AtHand> { vec![AtHand { worker: worker_bits.into(), mark: 1, end: 2 }] }
            fn is_shared(&self) -> bool { false }
        }
        let boxed: Box<dyn Ledger> = Box::new(Arc::new(Clocked(Memory::default())));
        let face: &dyn Ledger = &boxed;
        assert_eq!(face.clock(), Ok(Some(UnixMillis::new(7))));
        let request = Reserve {
            key: Key::slot(10, 7),
            floor: 0,
            count: 1,
            max_mark: 0,
            token: Token::random().unwrap(),
            create: true,
            note: None,
        };
        assert_eq!(face.count(&request), Err(LedgerError::Unavailable("one".to_owned())));
        assert_eq!(face.at_hand(5), [AtHand { worker: 5, mark: 1, end: 2 }]);
        assert_eq!((face.describe().as_str(), face.is_shared()), ("clocked:", false));
    }
}
