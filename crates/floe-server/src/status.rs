//! The outcome of a call without IDs: the rows of the one table that maps each error to every protocol's answer.
//!
//! A front never decides how serious an error is. It declares its column, a method of [`Status`] in its folder, by a
//! match over all rows, so that a row without an answer in some protocol does not compile.

use std::time::Duration;

/// The outcome of a call without IDs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Status {
    /// No such name, and it may not be made.
    UnknownName,
    /// The request itself is wrong: a count out of its range, a text that is no ID.
    BadRequest,
    /// The name exists, and this wire or call cannot mint from its kind.
    WrongKind,
    /// The server asks for a token, and none was shown.
    Unauthenticated,
    /// The server does not know the token that was shown.
    WrongToken,
    /// The token is not for this name.
    Forbidden,
    /// A limit was met: the wait, memory, connections, names.
    Busy,
    /// The ledger is out of reach and nothing reserved is left.
    Unavailable,
    /// Bits, numbers, slots or names are used up.
    Exhausted,
    /// The name or the whole ledger is stopped: minting on could repeat an ID, or a clock is wrong.
    Stopped,
}

impl Status {
    /// All of them, in the order of the table.
    pub(crate) const ALL: [Self; 10] = [
        Self::UnknownName,
        Self::BadRequest,
        Self::WrongKind,
        Self::Unauthenticated,
        Self::WrongToken,
        Self::Forbidden,
        Self::Busy,
        Self::Unavailable,
        Self::Exhausted,
        Self::Stopped,
    ];

    /// Whether fewer IDs might have been minted. A pipeline for one step is then minted one by one.
    pub(crate) const fn may_be_of_the_count(self) -> bool {
        matches!(self, Self::BadRequest | Self::Exhausted)
    }

    /// The word for it, in URIs, logs and metrics.
    pub(crate) const fn slug(self) -> &'static str {
        match self {
            Self::UnknownName => "unknown-name",
            Self::BadRequest => "bad-request",
            Self::WrongKind => "wrong-kind",
            Self::Unauthenticated => "unauthenticated",
            Self::WrongToken => "wrong-token",
            Self::Forbidden => "forbidden",
            Self::Busy => "busy",
            Self::Unavailable => "unavailable",
            Self::Exhausted => "exhausted",
            Self::Stopped => "stopped",
        }
    }

    /// What it means, in a few words.
    pub(crate) const fn title(self) -> &'static str {
        match self {
            Self::UnknownName => "Unknown name",
            Self::BadRequest => "Bad request",
            Self::WrongKind => "Wrong kind for this call",
            Self::Unauthenticated => "No token",
            Self::WrongToken => "Wrong token",
            Self::Forbidden => "Not allowed",
            Self::Busy => "Busy",
            Self::Unavailable => "Ledger unavailable",
            Self::Exhausted => "Exhausted",
            Self::Stopped => "Stopped",
        }
    }

    /// What it means, and what to do about it, in general.
    pub(crate) const fn meaning(self) -> &'static str {
        match self {
            Self::UnknownName => {
                "No such name exists here. With a configuration file only the names and patterns that it lists exist: add a [[name]], or ask for one of those."
            }
            Self::BadRequest => {
                "The request is wrong and cannot be answered, now or later. The detail says which part is wrong and what is allowed."
            }
            Self::WrongKind => {
                "The name exists, and this call cannot mint from its kind. A name has one kind for ever: use a call that fits the kind, or another name."
            }
            Self::Unauthenticated => {
                "This server asks its callers for a token, and this call came without one. Over HTTP it is sent as `Authorization: Bearer <token>`, or as the password of Basic."
            }
            Self::WrongToken => {
                "This server does not know the token. `floe token new` makes one, and prints the lines for the server's configuration."
            }
            Self::Forbidden => {
                "This server knows the token, but the token is not for this name. A [[token]] lists its names and patterns in `names`."
            }
            Self::Busy => {
                "The call met a limit, which the detail names: the time to wait for IDs or for the ledger (limits.max_wait), memory, connections, or new names within an hour. Ask again after the time in Retry-After."
            }
            Self::Unavailable => {
                "The ledger is out of reach, and nothing that was reserved is left. Ask again after the time in Retry-After; minting resumes within a second of the ledger's return."
            }
            Self::Exhausted => {
                "The name needs something that is used up: the layout's time bits, the 63 bits of a number, the slots of the realm, or the names that a token may make (max_names). Or the name has ended: it was retired, or is long past the day in it. The detail says which, and the way out."
            }
            Self::Stopped => {
                "Minting on could repeat an ID (the name's definition is not the one in the ledger, its record is missing, or the ledger is not the one that it was), or a clock is wrong. The detail says which, and the way out."
            }
        }
    }
}

/// Why a call got no IDs: the row of the table, and the text for the caller.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Refusal {
    /// The row.
    pub status: Status,
    /// The cause and the way out, for anybody.
    pub detail: String,
    /// The same with details that strangers must not see: the ledger's own error, which shows where it is.
    inside: Option<String>,
    /// When asking again makes sense.
    pub retry: Option<Duration>,
}

impl Refusal {
    /// A refusal that a retry does not change.
    pub(crate) fn new(status: Status, detail: impl Into<String>) -> Self {
        Self { status, detail: detail.into(), inside: None, retry: None }
    }

    /// A refusal for now, with the time after which to retry.
    pub(crate) fn for_now(status: Status, detail: impl Into<String>, retry: Duration) -> Self {
        Self { retry: Some(retry), ..Self::new(status, detail) }
    }

    /// The same refusal, with more details for callers that may see them.
    pub(crate) fn with_inside(self, inside: impl Into<String>) -> Self {
        Self { inside: Some(inside.into()), ..self }
    }

    /// The refusal as this caller may read it.
    pub(crate) fn told(mut self, sees_inside: bool) -> Self {
        match self.inside.take().filter(|_| sees_inside) {
            Some(inside) => Self { detail: inside, ..self },
            None => self,
        }
    }

    /// All that is known, for the log.
    pub(crate) fn whole(&self) -> &str {
        self.inside.as_deref().unwrap_or(&self.detail)
    }

    /// The word for the row and the detail, on wires whose errors are one text.
    pub(crate) fn text(&self) -> String {
        format!("{}: {}", self.status.slug(), self.detail)
    }

    /// The request itself is wrong.
    pub(crate) fn bad(detail: impl Into<String>) -> Self {
        Self::new(Status::BadRequest, detail)
    }

    /// There is no such name.
    pub(crate) fn unknown_name(detail: impl Into<String>) -> Self {
        Self::new(Status::UnknownName, detail)
    }

    /// The call cannot mint from the kind of this name.
    pub(crate) fn wrong_kind(detail: impl Into<String>) -> Self {
        Self::new(Status::WrongKind, detail)
    }

    /// The token is not for this.
    pub(crate) fn forbidden(detail: impl Into<String>) -> Self {
        Self::new(Status::Forbidden, detail)
    }

    /// Nothing is left to mint from.
    pub(crate) fn exhausted(detail: impl Into<String>) -> Self {
        Self::new(Status::Exhausted, detail)
    }

    /// To mint on could repeat an ID.
    pub(crate) fn stopped(detail: impl Into<String>) -> Self {
        Self::new(Status::Stopped, detail)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_lists_every_status_once() {
        let mut slugs: Vec<_> = Status::ALL.iter().map(|status| status.slug()).collect();
        slugs.sort_unstable();
        slugs.dedup();
        assert_eq!(slugs.len(), Status::ALL.len());
    }
}
