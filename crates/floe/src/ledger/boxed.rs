//! Ledgers that hand calls on to another one. A ledger behind a pointer is one: adapters are opened by URL, as a
//! `Box<dyn Ledger>`.

use std::sync::Arc;

use super::Ledger;

/// Writes the named calls of an `impl Ledger`, or all of them, each of which the ledger `$to` answers. If there is a
/// `$hook`, a method of `$self`, it takes the result of each call that can fail, and returns what the caller gets.
#[doc(hidden)]
#[macro_export]
macro_rules! __hand_on {
    ($self:ident => $to:expr $(, $hook:ident)?; all) => {
        $crate::__hand_on!($self => $to $(, $hook)?; reserve count count_at_once give_back bind definition names raise
            list clock in_other_realms realm_id describe at_hand is_shared);
    };
    ($self:ident => $to:expr; $($call:ident)+) => {
        $($crate::__hand_on!(@$call $self, $to);)+
    };
    ($self:ident => $to:expr, $hook:ident; $($call:ident)+) => {
        $($crate::__hand_on!(@$call $self, $to, $hook);)+
    };
    (@reserve $($on:tt)+) => {
        $crate::__hand_on!(@fallible reserve(request: &$crate::ledger::Reserve) -> $crate::ledger::Reply, $($on)+);
    };
    (@count $($on:tt)+) => {
        $crate::__hand_on!(@fallible count(request: &$crate::ledger::Reserve) -> $crate::ledger::Reply, $($on)+);
    };
    (@count_at_once $($on:tt)+) => {
        $crate::__hand_on!(
            @fn count_at_once(request: &$crate::ledger::Reserve) -> Option<$crate::ledger::Reply>, $($on)+
        );
    };
    (@give_back $($on:tt)+) => {
        $crate::__hand_on!(
            @fallible give_back(key: &$crate::ledger::Key, token: $crate::ledger::Token, from: u64) -> bool, $($on)+
        );
    };
    (@bind $($on:tt)+) => {
        $crate::__hand_on!(@fallible bind(name: &$crate::Name, definition: &str, marked: bool) -> String, $($on)+);
    };
    (@definition $($on:tt)+) => {
        $crate::__hand_on!(@fallible definition(name: &$crate::Name) -> Option<String>, $($on)+);
    };
    (@names $($on:tt)+) => {
        $crate::__hand_on!(@fallible names(after: &str, limit: usize) -> Vec<(String, String)>, $($on)+);
    };
    (@raise $($on:tt)+) => {
        $crate::__hand_on!(@fallible raise(key: &$crate::ledger::Key, at_least: u64) -> u64, $($on)+);
    };
    (@list $($on:tt)+) => {
        $crate::__hand_on!(
            @fallible list(prefix: &str, after: &str, limit: usize) -> Vec<$crate::ledger::Record>, $($on)+
        );
    };
    (@clock $($on:tt)+) => {
        $crate::__hand_on!(@fallible clock() -> Option<$crate::UnixMillis>, $($on)+);
    };
    (@in_other_realms $($on:tt)+) => {
        $crate::__hand_on!(@fallible in_other_realms(name: &$crate::Name) -> Vec<$crate::ledger::Elsewhere>, $($on)+);
    };
    (@realm_id $($on:tt)+) => { $crate::__hand_on!(@fallible realm_id() -> String, $($on)+); };
    (@describe $($on:tt)+) => { $crate::__hand_on!(@fn describe() -> String, $($on)+); };
    (@at_hand $($on:tt)+) => {
        $crate::__hand_on!(@fn at_hand(worker_bits: u32) -> Vec<$crate::ledger::AtHand>, $($on)+);
    };
    (@is_shared $($on:tt)+) => { $crate::__hand_on!(@fn is_shared() -> bool, $($on)+); };
    (@fallible $call:ident($($given:ident: $type:ty),*) -> $answer:ty, $self:ident, $to:expr, $hook:ident) => {
        fn $call(&$self, $($given: $type),*) -> Result<$answer, $crate::LedgerError> {
            $self.$hook($to.$call($($given),*))
        }
    };
    (@fallible $call:ident($($given:tt)*) -> $answer:ty, $($on:tt)+) => {
        $crate::__hand_on!(@fn $call($($given)*) -> Result<$answer, $crate::LedgerError>, $($on)+);
    };
    (@fn $call:ident($($given:ident: $type:ty),*) -> $answer:ty, $self:ident, $to:expr $(, $hook:ident)?) => {
        fn $call(&$self, $($given: $type),*) -> $answer {
            $to.$call($($given),*)
        }
    };
}

macro_rules! behind {
    ($($pointer:ident)+) => {$(
        impl<L: Ledger + ?Sized> Ledger for $pointer<L> {
            // Those with a default included.
            crate::__hand_on!(self => **self; all);
        }
    )+};
}

behind!(Box Arc);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::conformance::{Realm, run};
    use crate::ledger::{AtHand, Elsewhere, Key, LedgerError, Memory, Reply, Reserve, Token};
    use crate::name::Name;
    use crate::time::UnixMillis;

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
        impl Ledger for Clocked {
            crate::__hand_on!(self => self.0; reserve give_back bind definition names raise list realm_id);
            fn count(&self, _request: &Reserve) -> Result<Reply, LedgerError> {
                Err(LedgerError::Unavailable("one".to_owned()))
            }
            fn count_at_once(&self, _request: &Reserve) -> Option<Reply> {
                Some(Reply::Refused { mark: 3, note: None })
            }
            fn clock(&self) -> Result<Option<UnixMillis>, LedgerError> {
                Ok(Some(UnixMillis::new(7)))
            }
            fn in_other_realms(&self, name: &Name) -> Result<Vec<Elsewhere>, LedgerError> {
                Ok(vec![Elsewhere { realm: name.to_string(), definition: "counter".to_owned(), mark: 1 }])
            }
            fn describe(&self) -> String {
                "clocked:".to_owned()
            }
            fn at_hand(&self, worker_bits: u32) -> Vec<AtHand> {
                vec![AtHand { worker: worker_bits.into(), mark: 1, end: 2 }]
            }
            fn is_shared(&self) -> bool {
                false
            }
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
        assert_eq!(face.count_at_once(&request), Some(Reply::Refused { mark: 3, note: None }));
        let elsewhere = face.in_other_realms(&Name::new("orders").unwrap()).unwrap();
        assert_eq!(elsewhere[0].realm, "orders");
        assert_eq!(face.at_hand(5), [AtHand { worker: 5, mark: 1, end: 2 }]);
        assert_eq!((face.describe().as_str(), face.is_shared()), ("clocked:", false));
    }
}
