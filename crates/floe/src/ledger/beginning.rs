//! A name's first mark, which the ledger stores before the name is bound.

use super::{Key, Ledger, LedgerError, Reply, Reserve, Token};
use crate::name::Name;

/// The result of [`begin`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Beginning {
    /// This call gave the name its first mark. Of several calls at the same time, one gets this answer.
    Here,
    /// Nothing has been minted from the name. Another call gave it a mark, and either has not bound it yet or ended
    /// before it could. The mark is now at least the requested one.
    Unclaimed,
    /// The name had begun before this call.
    Earlier {
        /// The mark that this call found.
        mark: u64,
    },
}

/// Gives a name that is **not bound yet** its first mark. [`Ledger::bind`] then keeps this mark.
///
/// The order matters. If the name were bound first and raised then, it would begin at its first position if the process
/// ended in between, or if another node minted in between. In this order, a process that ends in between leaves a
/// record without a name, from which nothing is minted.
///
/// `token` must be drawn for this call. For position 0 the call does not ask the ledger, since [`Ledger::bind`] makes
/// that mark.
///
/// ```
/// use floe::{Floe, Name, ledger::{Beginning, Memory, Token, begin}};
/// let (ledger, tickets) = (Memory::default(), Name::new("tickets")?);
/// assert_eq!(begin(&ledger, &tickets, 500, Token::random()?)?, Beginning::Here);
/// assert_eq!(Floe::open(ledger)?.segment("tickets")?.mint()?.get(), 501);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Any [`LedgerError`] of [`Ledger::reserve`] and [`Ledger::raise`].
pub fn begin(
    ledger: &dyn Ledger,
    name: &Name,
    position: u64,
    token: Token,
) -> Result<Beginning, LedgerError> {
    if position == 0 {
        return Ok(Beginning::Here);
    }
    let key = Key::name(name);
    let mark = match ledger.reserve(&Reserve::beginning(key.clone(), position, token, true))? {
        Reply::Got { .. } => return Ok(Beginning::Here),
        Reply::Refused { mark, .. } => mark,
    };
    // A node binds a name before it mints from it. So if the name is not bound now, and its mark is unchanged at the
    // raise, every ID that is ever minted lies above the raised mark.
    if ledger.definition(name)?.is_some() {
        return Ok(Beginning::Earlier { mark });
    }
    match ledger.raise(&key, position)? {
        before if before == mark => Ok(Beginning::Unclaimed),
        before => Ok(Beginning::Earlier { mark: before }),
    }
}

impl Reserve {
    /// An empty range at `position`, if the mark is 0: the ledger moves the mark there, or refuses since it was moved
    /// before (I1). `create` is for a name that is not bound.
    pub(crate) fn beginning(key: Key, position: u64, token: Token, create: bool) -> Self {
        Self { key, floor: position, count: 0, max_mark: 0, token, create, note: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::Memory;

    fn begun(ledger: &Memory, name: &Name, position: u64) -> Beginning {
        begin(ledger, name, position, Token::random().unwrap()).unwrap()
    }

    fn mark(ledger: &Memory, name: &Name) -> Option<u64> {
        let key = Key::name(name);
        let records = ledger.list(key.as_str(), "", 10).unwrap();
        records.iter().find(|record| record.key == key.as_str()).map(|record| record.mark)
    }

    #[test]
    fn a_bound_name_keeps_the_mark_that_it_was_given_before() {
        let (ledger, name) = (Memory::default(), Name::new("orders").unwrap());
        assert_eq!(begun(&ledger, &name, 500), Beginning::Here);
        ledger.bind(&name, "counter", true).unwrap();
        assert_eq!(mark(&ledger, &name), Some(500));
        assert_eq!(begun(&ledger, &name, 900), Beginning::Earlier { mark: 500 });
        assert_eq!(mark(&ledger, &name), Some(500));
    }

    #[test]
    fn a_name_from_which_one_id_was_minted_has_begun() {
        let (ledger, name) = (Memory::default(), Name::new("orders").unwrap());
        ledger.bind(&name, "counter", true).unwrap();
        let first =
            Reserve { count: 1, ..Reserve::beginning(Key::name(&name), 0, Token::random().unwrap(), false) };
        assert!(matches!(ledger.reserve(&first), Ok(Reply::Got { start: 0, end: 1, .. })));
        assert_eq!(begun(&ledger, &name, 900), Beginning::Earlier { mark: 1 });
        assert_eq!(mark(&ledger, &name), Some(1));
    }

    /// A ledger on which another process begins the name, binds it and mints while this one asks whether it is bound.
    struct Meanwhile(Memory);

    impl Ledger for Meanwhile {
        crate::__hand_on!(self => self.0; reserve give_back bind names raise list realm_id describe);
        fn definition(&self, name: &Name) -> Result<Option<String>, LedgerError> {
            let found = self.0.definition(name);
            self.0.bind(name, "segment", true)?;
            let beginning = Reserve::beginning(Key::name(name), 0, Token::random().unwrap(), false);
            let request = Reserve { max_mark: 900, count: 5, ..beginning };
            assert!(matches!(self.0.reserve(&request)?, Reply::Got { start: 500, .. }));
            found
        }
    }

    #[test]
    fn a_name_from_which_somebody_minted_between_the_two_calls_is_no_new_one() {
        // Its own first number lies below what was minted, or above that.
        for (position, left) in [(100, 505), (900, 900)] {
            let (ledger, name) = (Memory::default(), Name::new("orders").unwrap());
            assert_eq!(begun(&ledger, &name, 500), Beginning::Here);
            let found = begin(&Meanwhile(ledger.clone()), &name, position, Token::random().unwrap());
            assert_eq!(found, Ok(Beginning::Earlier { mark: 505 }), "what was minted lies below 505");
            assert_eq!(mark(&ledger, &name), Some(left));
        }
    }

    #[test]
    fn what_was_left_by_who_ended_is_gone_on_with() {
        let (ledger, name) = (Memory::default(), Name::new("orders").unwrap());
        assert_eq!(begun(&ledger, &name, 500), Beginning::Here);
        for (position, left) in [(100, 500), (900, 900)] {
            assert_eq!(begun(&ledger, &name, position), Beginning::Unclaimed);
            assert_eq!(mark(&ledger, &name), Some(left), "after {position}");
        }
        assert_eq!(begun(&ledger, &Name::new("other").unwrap(), 0), Beginning::Here);
        assert_eq!(mark(&ledger, &Name::new("other").unwrap()), None);
    }
}
