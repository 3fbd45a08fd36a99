//! A table's own type, in a program that names none of floe's libraries.

#![deny(missing_docs, unused_qualifications, unreachable_pub)]

use std::collections::{BTreeSet, HashSet};

use floe_id::form::{Buffer, Form};
use floe_id::kind::{NanoId, Uuid};
use floe_id::{Id, IdError, WideId};

floe_id::id! {
    /// The key of `orders`.
    #[must_use]
    pub(crate) struct OrderId;
    pub(crate) struct EventId(WideId);
    pub(crate) struct RequestId(Uuid);
    struct CodeId(NanoId);
}

#[test]
fn a_tables_own_type_is_as_the_id_in_it() {
    const FIRST: OrderId = OrderId::new(Id::new(1).unwrap());
    let order: OrderId = "7".parse().unwrap();
    assert!(FIRST < order);
    assert_eq!((order.get(), order.id(), order.to_string()), (7, Id::from(7_u8), "7".to_owned()));
    assert_eq!(format!("{order:?} {order:>3}"), "OrderId(7)   7");
    assert_eq!((u64::from(order), i64::from(order), u128::from(order)), (7, 7, 7));
    assert_eq!(Id::from(OrderId::from(Id::MAX)), Id::MAX);
    assert_eq!(OrderId::try_from(7_u64), Ok(order));
    assert_eq!(OrderId::try_from(-7_i64), Err(IdError::Negative(-7)));
    assert_eq!("".parse::<OrderId>(), Err(IdError::Empty));
    assert_eq!(BTreeSet::from([order, FIRST, order]).len(), 2);
    assert_eq!(HashSet::from([order, FIRST, order]).len(), 2);
    let form: Form = "base62 width=11".parse().unwrap();
    assert_eq!(form.encode(order, &mut Buffer::new()).unwrap(), "00000000007");

    let event = EventId::new(WideId::MAX);
    assert_eq!(event.to_string().parse::<EventId>(), Ok(event));
    let request = RequestId::new(Uuid::MAX);
    assert_eq!(request.to_string().parse::<RequestId>(), Ok(request));
    assert_eq!(format!("{:?}", "abc".parse::<CodeId>().unwrap()), "CodeId(abc)");
}
