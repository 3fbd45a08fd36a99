//! Every default as commented TOML.

use floe_wire::Protocol;

/// A setting with a default that depends on something else is written as a comment. All others are written as they are.
/// A test reads the text, and finds the defaults of the code.
pub(super) fn text() -> String {
    include_str!("defaults.toml").replace("# {ports}\n", &ports())
}

/// Where to listen for single protocols.
fn ports() -> String {
    let (needed, others): (Vec<&Protocol>, Vec<_>) =
        crate::protocols::PROTOCOLS.iter().copied().partition(|protocol| protocol.server_begins);
    let mut text = String::new();
    let line = |protocol: &Protocol| format!("# {} = \"127.0.0.1:{}\"\n", protocol.word, protocol.port);
    for protocol in needed {
        text += &format!(
            "# Where to listen for clients of {}, or \"off\". If another program has the default's port, floe goes without it; an\n# address that is set must be free.\n{}\n",
            protocol.name,
            line(protocol)
        );
    }
    text += "# Where to listen for this protocol only. The default is nowhere.\n";
    text.extend(others.into_iter().map(line));
    text
}
