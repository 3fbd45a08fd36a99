//! A call that asks for IDs, as its protocol declares it.

use floe::{Definition, Kind, Layout};

use crate::status::Refusal;

/// A call that asks for IDs: which kinds can answer it, and which kind a new name gets if it is not configured.
pub(crate) struct Call {
    /// The definition of an unconfigured name that this call asks for first. It answers the call.
    pub natural: Definition,
    /// Whether names of a kind answer.
    pub answers: fn(Kind) -> bool,
    /// What to do if they do not answer, or why they cannot.
    pub instead: &'static str,
    /// What to do if the IDs are texts; `None` if the answer can hold them.
    pub for_texts: Option<&'static str>,
}

/// floe's own calls, in every protocol that has some. Every kind answers.
pub(crate) static NATIVE: Call = Call { natural: SNOWFLAKE, answers: |_| true, instead: "", for_texts: None };

/// The definition of new names for calls that want IDs ordered by time.
pub(crate) const SNOWFLAKE: Definition = Definition::Snowflake { layout: Layout::TWITTER, own: false };

/// What to do if the answer can only have numbers.
pub(crate) const NO_TEXTS: Option<&str> =
    Some("ask at /v1/mint/{name}, with MINT of Redis' protocol, or with memcached's get");

impl Call {
    /// Refuses a kind, or a form, that does not answer this call.
    pub(crate) fn admits(&self, name: &str, definition: &Definition) -> Result<(), Refusal> {
        let refused = |detail| Err(Refusal::wrong_kind(detail));
        if let Some(instead) = self.for_texts.filter(|_| definition.is_text()) {
            return refused(format!(
                "the IDs of `{name}` are texts, and this call answers with numbers: {instead}"
            ));
        }
        let (kind, instead) = (definition.kind(), self.instead);
        if (self.answers)(kind) {
            return Ok(());
        }
        refused(format!(
            "`{name}` is a {kind} name, and this call does not mint from that kind: {instead}, or use another name (a name has one kind for ever)"
        ))
    }
}
