//! `floe://` before a store that knows of its other realms.

use floe::Name;

use crate::offered::{OTHER, Offering, TOKEN};

#[test]
fn a_caller_hears_of_no_realm_that_its_token_is_not_for() {
    let rig = super::Rig::redis();
    let server = Offering::start(&format!("ledger = '{}'", (rig.url)(rig.server.port())));
    let open = |token: &str, realm: &str| {
        floe_ledger::open_in(&format!("floe://:{token}@127.0.0.1:{}", server.port()), realm).unwrap()
    };
    let name = Name::new("orders").unwrap();
    for realm in ["bank", "shop-2"] {
        open(TOKEN, realm).bind(&name, "counter", true).unwrap();
    }
    let heard = |token: &str| {
        let mut realms: Vec<_> = open(token, "shop")
            .in_other_realms(&name)
            .unwrap()
            .into_iter()
            .map(|other| other.realm)
            .collect();
        realms.sort();
        realms
    };
    assert_eq!(heard(TOKEN), ["bank", "shop-2"]);
    assert_eq!(heard(OTHER), ["shop-2"]);
    assert!(open(TOKEN, "shop").clock().unwrap().is_some(), "that of the store");
}
