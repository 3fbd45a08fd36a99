//! What people read: help, errors, inspected IDs. `TRYCMD=overwrite` writes the files anew, to be read before they
//! are kept.

#[test]
fn what_commands_say() {
    trycmd::TestCases::new().case("tests/cmd/*.md").case("../../docs/inspect.md").env("NO_COLOR", "1").run();
}
