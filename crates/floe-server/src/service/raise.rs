//! Moving a name on for a client.

use std::sync::Arc;

use floe::ledger::{Key, MAX_MARK};
use floe::{Definition, Name};
use tokio::time::timeout;

use super::report::unreadable;
use super::{RETRY, Service, Wire};
use crate::access::Caller;
use crate::status::{Refusal, Status};

impl Service {
    /// Makes the next ID of a name that counts at least `next`; a mark never goes down, so a lower one changes nothing.
    ///
    /// # Errors
    /// A [`Refusal`], also where it cannot be promised: a segment that was minted from may be held in part by servers
    /// that are running, this one among them, and what they hold lies below the raised mark.
    pub(crate) async fn raise(
        self: &Arc<Self>,
        caller: &Caller,
        wire: Wire,
        name: &str,
        next: u64,
    ) -> Result<(), Refusal> {
        caller.check_raise(name)?;
        let open = self.opened_from(caller, wire, name, Some(next)).await?;
        let (service, definition) = (Arc::clone(self), open.handle.definition().clone());
        let caller = caller.clone();
        let name = open.handle.name().clone();
        let task =
            tokio::task::spawn_blocking(move || service.raise_blocking(&caller, &name, &definition, next));
        let late = |_| {
            Refusal::for_now(
                Status::Busy,
                "the ledger is slow to answer, so whether the name was raised is not known yet: ask again",
                RETRY,
            )
        };
        timeout(self.max_wait, task).await.map_err(late)?.unwrap_or_else(|error| {
            Err(Refusal::new(Status::Stopped, format!("raising the name failed: {error}")))
        })
    }

    fn raise_blocking(
        &self,
        caller: &Caller,
        name: &Name,
        definition: &Definition,
        next: u64,
    ) -> Result<(), Refusal> {
        if next > MAX_MARK {
            return Err(Refusal::new(
                Status::Exhausted,
                format!("{next} is past 2^63 - 1, which no ID is: name a smaller number"),
            ));
        }
        let position = match (definition.position_of(next), definition.unformed()) {
            (Some(position), _) => position,
            (None, Definition::Snowflake { .. } | Definition::Dated(_)) => {
                return Err(Refusal::new(
                    Status::WrongKind,
                    format!("the IDs of `{name}` begin with the time, so there is nothing to raise"),
                ));
            }
            (None, _) => {
                return Err(Refusal::new(
                    Status::WrongKind,
                    format!("the IDs of `{name}` are not counted, so there is nothing to raise"),
                ));
            }
        };
        if position == 0 {
            return Ok(());
        }
        let held = || {
            Refusal::bad(format!(
                "`{name}` is in use, and servers that are running mint on from the numbers that they hold, below {next}: stop them, raise it with floe marks raise {name} --to {next}, and start them again"
            ))
        };
        let key = Key::name(name);
        let records = self.records(key.as_str(), 1)?;
        let mark = records.iter().find(|record| record.key == key.as_str()).map_or(0, |record| record.mark);
        let segment = definition.kind() == floe::Kind::Segment;
        if segment && mark > 0 {
            return Err(held());
        }
        let before = self.floe.ledger().raise(&key, position).map_err(|error| unreadable(&error))?;
        match segment && before > 0 {
            // Somebody was faster.
            true => Err(held()),
            false => {
                tracing::warn!(%caller, %name, next, "a client moved the name on");
                Ok(())
            }
        }
    }
}
