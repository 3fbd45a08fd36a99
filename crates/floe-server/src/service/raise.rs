//! Raising a name for a client.

use std::sync::Arc;

use floe::ledger::{Beginning, Key, MAX_MARK, Reply, Reserve, Token};
use floe::{Definition, Kind, Name, NoPosition};

use super::Service;
use super::call::Call;
use super::names::Rule;
use crate::access::Caller;
use crate::config::NameSettings;
use crate::status::Refusal;

impl Service {
    /// Makes the next ID of a name that counts at least `next`; a mark never goes down, so a lower one changes nothing.
    ///
    /// # Errors
    /// A [`Refusal`], also if the raise cannot be promised: running servers, this one included, may hold numbers of a
    /// used segment, and these lie below the raised mark.
    pub(crate) async fn raise(
        self: &Arc<Self>,
        caller: &Caller,
        call: &'static Call,
        name: &str,
        next: u64,
    ) -> Result<(), Refusal> {
        caller.check_raise(name)?;
        self.check_above_first(name, next)?;
        let (open, begun) = self.opened_from(caller, call, name, Some(next)).await?;
        if matches!(begun, Some(Beginning::Here | Beginning::Unclaimed)) {
            // This call made the name, at `next`.
            return Ok(());
        }
        let (caller, name, definition) =
            (caller.clone(), open.handle.name().clone(), open.handle.definition().clone());
        self.within_wait(move |service| service.raise_blocking(&caller, &name, &definition, next)).await
    }

    /// Sets the number after which a counted name begins: its next ID is above `number`. Returns whether it did; a
    /// name that has minted is not changed.
    ///
    /// # Errors
    /// A [`Refusal`], as for [`raise`](Self::raise), but never for a segment in use.
    pub(crate) async fn begin_behind(
        self: &Arc<Self>,
        caller: &Caller,
        call: &'static Call,
        name: &str,
        number: u64,
    ) -> Result<bool, Refusal> {
        // Every name begins after 0.
        if number == 0 { caller.check_name(name) } else { caller.check_raise(name) }?;
        // If the caller may raise the name, the number is also the first one of a new name.
        let first = caller.check_raise(name).is_ok().then(|| number.saturating_add(1));
        let (open, begun) = self.opened_from(caller, call, name, first).await?;
        let definition = open.handle.definition().clone();
        call.admits(name, &definition)?;
        let (caller, name) = (caller.clone(), open.handle.name().clone());
        // If this call made the name, it begins after `number`.
        let set = match begun.filter(|_| number > 0) {
            Some(begun) => begun == Beginning::Here,
            None => {
                self.within_wait(move |service| {
                    service.begin_behind_blocking(&caller, &name, &definition, number)
                })
                .await?
            }
        };
        if set && number > 0 {
            open.note_last(i64::try_from(number).unwrap_or(i64::MAX));
        }
        Ok(set)
    }

    /// Refuses to raise a segment to a number below the configured first one.
    fn check_above_first(&self, name: &str, next: u64) -> Result<(), Refusal> {
        let Some((name, rule)) =
            Name::new(name).ok().and_then(|name| Some((name.clone(), self.rules.of(&name).ok()?)))
        else {
            // Opening the name refuses that.
            return Ok(());
        };
        match rule {
            Rule::Listed(NameSettings { first: Some(first), definition, .. })
            | Rule::FirstUse(Some(NameSettings { first: Some(first), definition, .. }))
                if next < *first && definition.kind() == Kind::SEGMENT =>
            {
                Err(Refusal::bad(format!(
                    "`{name}` begins at {first} (first in its [[name]]), and {next} is below that: name a number from {first} on"
                )))
            }
            _ => Ok(()),
        }
    }

    /// Whether a name exists. A counted name exists from its first ID on, or once it was raised.
    ///
    /// # Errors
    /// A [`Refusal`] if the caller may not know, or the ledger cannot say.
    pub(crate) async fn exists(self: &Arc<Self>, caller: &Caller, name: &str) -> Result<bool, Refusal> {
        caller.check_name(name)?;
        let name = Name::new(name).map_err(|error| Refusal::bad(format!("{error}.")))?;
        self.within_wait(move |service| {
            let stored = service.floe.stored(&name).map_err(|error| service.refuse_to_open(&name, error))?;
            match stored.map(|definition| definition.kind()) {
                None => Ok(false),
                Some(kind) if kind.is_counted() => Ok(service.mark(&Key::name(&name))? > 0),
                Some(_) => Ok(true),
            }
        })
        .await
    }

    pub(super) fn mark(&self, key: &Key) -> Result<u64, Refusal> {
        let records = self.records(key.as_str(), 1)?;
        Ok(records.iter().find(|record| record.key == key.as_str()).map_or(0, |record| record.mark))
    }

    fn begin_behind_blocking(
        &self,
        caller: &Caller,
        name: &Name,
        definition: &Definition,
        number: u64,
    ) -> Result<bool, Refusal> {
        let key = Key::name(name);
        let last = match number {
            // The time comes before its counter, which begins behind 0.
            0 if definition.kind() == Kind::DATED => None,
            _ => position(name, definition, number.saturating_add(1))?.checked_sub(1),
        };
        let Some(last) = last else { return Ok(self.mark(&key)? == 0) };
        let token = Token::random().map_err(|error| Refusal::stopped(error.to_string()))?;
        // One reservation, of the number itself, and only where nothing was reserved before: of two callers one is the first.
        let request = Reserve { key, floor: last, count: 1, max_mark: 0, token, create: false, note: None };
        match self.floe.ledger().reserve(&request).map_err(|error| self.unreadable(&error))? {
            Reply::Got { .. } => {
                tracing::warn!(%caller, %name, number, "a client set the number after which the name begins");
                Ok(true)
            }
            Reply::Refused { .. } => Ok(false),
        }
    }

    fn raise_blocking(
        &self,
        caller: &Caller,
        name: &Name,
        definition: &Definition,
        next: u64,
    ) -> Result<(), Refusal> {
        let position = position(name, definition, next)?;
        if position == 0 {
            return Ok(());
        }
        let held = |mark| {
            Refusal::bad(match definition.number_at(mark).filter(|_| position <= mark) {
                Some(reserved) => format!(
                    "`{name}` is in use, and servers hold numbers of it below {reserved}: if a number above {next} was already minted, there is nothing to do, because a name never goes back. Otherwise stop them, raise it with floe marks raise {name} --to {next}, and start them again; or use a number above {reserved}"
                ),
                None => format!(
                    "`{name}` is in use, and running servers keep minting the numbers that they hold, below {next}: stop them, raise it with floe marks raise {name} --to {next}, and start them again"
                ),
            })
        };
        let key = Key::name(name);
        let mark = self.mark(&key)?;
        let segment = definition.kind() == Kind::SEGMENT;
        if segment && mark > 0 {
            return Err(held(mark));
        }
        let before = self.floe.ledger().raise(&key, position).map_err(|error| self.unreadable(&error))?;
        match segment && before > 0 {
            // Somebody was faster.
            true => Err(held(before)),
            false => {
                tracing::warn!(%caller, %name, next, "a client raised the name");
                Ok(())
            }
        }
    }
}

/// The position of the first ID of a name that is `next` or more.
///
/// # Errors
/// A [`Refusal`] if the name has none.
pub(super) fn position(name: &Name, definition: &Definition, next: u64) -> Result<u64, Refusal> {
    if next > MAX_MARK {
        return Err(Refusal::exhausted(format!(
            "{next} is past 2^63 - 1, which no ID is: name a smaller number"
        )));
    }
    let used_up = |why: &str| {
        Refusal::exhausted(format!("`{name}` has no number from {next} on{why}: name a smaller number"))
    };
    definition.begin_position(next).map_err(|error| match error {
        NoPosition::UsedUp(_) => used_up(""),
        NoPosition::Form { .. } => used_up(&format!(", for {error}")),
        NoPosition::Uncounted(kind) => Refusal::wrong_kind(format!(
            "the IDs of `{name}` {}, so there is nothing to raise",
            match kind.has_time() && kind.is_number() {
                true => "begin with the time",
                false => "are not counted",
            }
        )),
    })
}
