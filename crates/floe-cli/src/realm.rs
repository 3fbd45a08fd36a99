//! `floe realm`: which realm a ledger holds, by the random id that tells it from any other.

use serde_json::json;

use crate::arguments;
use crate::failure::Outcome;
use crate::table::{print, print_json, table};

pub(crate) fn run(arguments: &arguments::Realm) -> Outcome {
    let realm = arguments.ledger.settings()?.realm;
    let ledger = arguments.ledger.existing()?;
    let (id, shown) = (ledger.realm_id()?, ledger.describe());
    if arguments.json {
        return print_json(&json!({ "realm": realm, "realm_id": id, "ledger": shown }));
    }
    print(&table(["REALM", "ID", "LEDGER"], [[realm, id, shown]]))
}
