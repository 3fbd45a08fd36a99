//! `floe token`: secrets for clients, and what a server is to know of them.

use floe_server::NewToken;

use crate::failure::{Failure, Outcome};
use crate::table::print;

pub(crate) fn new(name: &str, names: &str) -> Outcome {
    let token = NewToken::random(name, names).map_err(Failure::usage)?;
    print(&format!(
        "{}\n\n# The line above is the secret. Give it only to the client; it is not shown again. The server's file gets this:\n{}",
        token.secret(),
        token.toml()
    ))
}
