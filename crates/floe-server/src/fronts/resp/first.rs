//! `SET name n NX` and `SETNX name n`. The usual recipes use them to set where a key begins: the next `INCR` gives n + 1.
//!
//! No other form of `SET` is served. A client that could choose the number of a name in use could repeat IDs.

use floe::Definition;
use floe_wire::resp::{Encoder, Request};

use super::{Answer, State, argument_text, arguments};
use crate::service::call::{self, Call};
use crate::status::Refusal;

/// `SET name n NX`. Kinds that count answer: others begin behind no number.
pub(in crate::fronts) static SET_FIRST: Call = Call {
    natural: Definition::Counter,
    answers: floe::Kind::is_counted,
    instead: "its IDs are not counted, so there is nothing to raise",
    for_texts: call::NO_TEXTS,
};

impl State {
    pub(super) async fn set_first(
        &mut self,
        word: &[u8],
        request: &Request<'_>,
        output: &mut Vec<u8>,
    ) -> Answer {
        let plain = word == b"SET";
        arguments(word, request, if plain { 2..=usize::MAX } else { 2..=2 })?;
        if plain {
            options(request)?;
        }
        let (name, number) = (argument_text(request, 1)?, argument_text(request, 2)?);
        let signed: i64 =
            number.parse().map_err(|_| Refusal::bad("value is not an integer or out of range"))?;
        let number = u64::try_from(signed).map_err(|_| {
            Refusal::bad(format!("no ID is below 0, so no name can begin after {signed}: use 0 or more"))
        })?;
        let set = self.service.begin_behind(&self.caller, &SET_FIRST, name, number).await?;
        let mut encoder = Encoder::new(output, self.version);
        match (plain, set) {
            (true, true) => encoder.simple("OK"),
            (true, false) => encoder.null(),
            (false, set) => encoder.integer(set.into()),
        }
        Ok(())
    }
}

/// Refuses every form of `SET` but that with `NX`. A time to live changes nothing, as with `EXPIRE`: nothing is deleted.
fn options(request: &Request<'_>) -> Result<(), Refusal> {
    let (mut only_new, mut lives) = (false, false);
    let mut options = request.iter().skip(3);
    while let Some(option) = options.next() {
        match option.to_ascii_uppercase().as_slice() {
            b"NX" => only_new = true,
            b"KEEPTTL" if !lives => lives = true,
            b"EX" | b"PX" | b"EXAT" | b"PXAT" if !lives => {
                let time = options.next().ok_or_else(|| Refusal::bad("syntax error"))?;
                let time = std::str::from_utf8(time).ok().and_then(|time| time.parse::<i64>().ok());
                match time {
                    Some(1..) => lives = true,
                    Some(_) => return Err(Refusal::bad("invalid expire time in 'set' command")),
                    None => return Err(Refusal::bad("value is not an integer or out of range")),
                }
            }
            b"XX" | b"GET" => return Err(chosen()),
            _ => return Err(Refusal::bad("syntax error")),
        }
    }
    if only_new { Ok(()) } else { Err(chosen()) }
}

fn chosen() -> Refusal {
    Refusal::bad(
        "SET is served only as SET name n NX: a number that a client chose for a name in use would repeat IDs. To raise a name, use floe marks raise",
    )
}
