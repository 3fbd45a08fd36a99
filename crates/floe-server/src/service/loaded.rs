//! The names in memory: how many there are, and which ones are unloaded for others.
//!
//! The ledger may hold millions of names. A server keeps those in memory that it lists, and up to `limits.max_names` of the
//! others; one more replaces some unused ones, which are loaded from the ledger again when they are asked for.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use floe::Name;

use super::{Known, OpenName, RETRY, Service};
use crate::status::{Refusal, Status};

impl Service {
    /// Makes room for one more name that is not listed.
    ///
    /// # Errors
    /// `Busy` if each of them is in use.
    pub(super) fn make_room(&self, name: &Name) -> Result<(), Refusal> {
        let loaded = self.open.read().unwrap_or_else(PoisonError::into_inner).len();
        let most = self.most_loaded();
        // An eighth at once: looking for them goes through all.
        if loaded < most || self.unload(self.max_names.div_ceil(8)) > 0 {
            return Ok(());
        }
        self.metrics.names_refused.inc();
        Err(Refusal::for_now(
            Status::Busy,
            format!(
                "the name `{name}` cannot be loaded: this server has {} names in memory beside those that its file lists, which is the limit, and each of them is in use: ask again, or raise limits.max_names",
                self.max_names
            ),
            RETRY,
        ))
    }

    /// The most names in memory: `limits.max_names`, and those that are listed.
    pub(super) fn most_loaded(&self) -> usize {
        self.max_names.saturating_add(self.rules.listed().count())
    }

    /// Unloads up to `most` names, first those without a mint since the last time. Returns how many.
    fn unload(&self, most: usize) -> usize {
        let mut known = self.open.write().unwrap_or_else(PoisonError::into_inner);
        let mut gone: Vec<Box<str>> = Vec::new();
        for idle_alone in [true, false] {
            let names = known.iter().filter(|(_, known)| match known {
                // The lock is held, so no call can get the name and mint from it meanwhile.
                Known::Open(open) => {
                    let is_held = open.listed || Arc::strong_count(open) > 1;
                    !is_held && (open.is_idle() || !idle_alone) && self.floe.unload(open.handle.name())
                }
                Known::Mismatch(_) => true,
            });
            gone.extend(names.take(most).map(|(name, _)| name.clone()));
            if !gone.is_empty() {
                break;
            }
        }
        for name in &gone {
            known.remove(name);
            self.metrics.forget(name);
        }
        self.metrics.names_unloaded.inc_by(u64::try_from(gone.len()).unwrap_or(u64::MAX));
        gone.len()
    }
}

impl OpenName {
    /// Whether nothing was minted from it since this was last asked.
    fn is_idle(&self) -> bool {
        let minted = self.metrics.own();
        self.seen.swap(minted, Ordering::Relaxed) == minted
    }
}

#[cfg(test)]
mod tests {
    use floe::ledger::Memory;

    use crate::service::call::NATIVE;
    use crate::service::tests::{ANY, on};

    #[tokio::test(flavor = "multi_thread")]
    async fn nothing_is_counted_for_a_name_that_is_in_memory_no_more() {
        let service = on(&format!("limits = {{ max_names = 1 }}\n{ANY}"), Memory::default());
        let caller = service.access().unknown();
        let minted = async |name| {
            service.mint(&caller, &NATIVE, name, 3).await.unwrap();
            ["a", "b"].map(|name| service.metrics().minted_by(name))
        };
        assert_eq!([minted("a").await, minted("b").await, minted("a").await], [[3, 0], [0, 3], [3, 0]]);
    }
}
