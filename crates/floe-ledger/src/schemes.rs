//! The one list of stores, by the schemes of their URLs.

use floe::ledger::{Ledger, Memory};
use floe::store::Place;

use crate::opening::Missing;
use crate::{OpenError, Opening, realm_name};

/// A store, by the schemes of its URLs.
struct Store {
    schemes: &'static [&'static str],
    /// The part after the scheme, for people.
    rest: &'static str,
    /// `None` if this build does not have the store.
    calls: Option<Calls>,
}

type Opened = Result<Box<dyn Ledger>, OpenError>;

/// What compares and swaps below a ledger, and the realm's place in it. `None` for a ledger that has no such store.
type Below = Option<(Box<dyn floe::store::Store>, Place)>;

struct Calls {
    check: fn(&str) -> Result<(), OpenError>,
    open: fn(&str, &Opening) -> Opened,
    below: fn(&str, &Opening) -> Result<Below, OpenError>,
}

macro_rules! store {
    ($feature:literal, $module:ident, $schemes:expr, $rest:literal) => {
        store!($feature, $module, $schemes, $rest, |url, opening| {
            let (store, place) = crate::$module::open_url(url, opening)?.into_parts();
            Ok(Some((Box::new(store), place)))
        })
    };
    ($feature:literal, $module:ident, $schemes:expr, $rest:literal, $below:expr) => {
        Store {
            schemes: &$schemes,
            rest: $rest,
            #[cfg(feature = $feature)]
            calls: Some(Calls {
                check: crate::$module::check_url,
                open: |url, opening| Ok(Box::new(crate::$module::open_url(url, opening)?)),
                below: $below,
            }),
            #[cfg(not(feature = $feature))]
            calls: None,
        }
    };
}

/// In the order in which errors list them.
const STORES: &[Store] = &[
    Store {
        schemes: &["memory"],
        rest: "",
        calls: Some(Calls { check: check_memory, open: open_memory, below: |_, _| Ok(None) }),
    },
    store!("sqlite", sqlite, ["sqlite"], "PATH", |_, _| Ok(None)),
    store!("mysql", mysql, ["mysql", "mariadb"], "//…"),
    store!("postgres-no-tls", postgres, ["postgres", "postgresql"], "//…"),
    store!("redis", redis, ["redis", "rediss"], "//…"),
    store!("etcd", etcd, ["etcd"], "//…"),
    store!("zookeeper", zookeeper, ["zookeeper"], "//…"),
    store!("object-store", object, ["s3", "gs", "az"], "//…"),
    store!("served", served, ["floe"], "//…", |_, _| Ok(None)),
    store!("dynamodb", dynamodb, ["dynamodb"], "//…"),
    store!("consul", consul, ["consul"], "//…"),
];

/// Checks whether this build can open URLs that begin like this one.
///
/// ```
/// floe_ledger::check_scheme("sqlite:ids.db")?;
/// let error = floe_ledger::check_scheme("sqllite:ids.db").unwrap_err();
/// assert!(error.to_string().contains("use one of memory:, sqlite:PATH"));
/// # Ok::<(), floe_ledger::OpenError>(())
/// ```
///
/// # Errors
/// `Asked`, with the beginnings that it can open.
pub fn check_scheme(url: &str) -> Result<(), OpenError> {
    calls(url).map(drop)
}

/// Checks what can be checked about `url` alone: its scheme, its parts, its options, and the files and variables that
/// it names for passwords. It makes no connection.
///
/// ```
/// floe_ledger::check_url("sqlite:ids.db?max_wait=1s")?;
/// let error = floe_ledger::check_url("sqlite:ids.db?max_wate=1s").unwrap_err();
/// assert!(error.to_string().contains("max_wate"));
/// # Ok::<(), floe_ledger::OpenError>(())
/// ```
///
/// # Errors
/// `Asked`, with the text of [`open`](crate::open).
pub fn check_url(url: &str) -> Result<(), OpenError> {
    (calls(url)?.check)(url)
}

impl Opening {
    /// Opens the ledger at a URL, as [`open`](crate::open) does. [`Opening`] has an example.
    ///
    /// # Errors
    /// [`OpenError`]. `Unfit` if something is missing that must not be made, or the realm is not the pinned one.
    pub fn open(&self, url: &str) -> Result<Box<dyn Ledger>, OpenError> {
        (calls(url)?.open)(url, self)
    }

    /// Opens what is below the ledger at a URL, for the cases of the conformance suite about stores; `None` for a ledger
    /// that has no such store.
    #[doc(hidden)]
    pub fn __open_store(&self, url: &str) -> Result<Below, OpenError> {
        (calls(url)?.below)(url, self)
    }

    /// Opens the embedded ledger of a data directory, as [`open_dir`](crate::open_dir) does.
    /// [`open_dir`](crate::open_dir) has an example.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    #[cfg(feature = "sqlite")]
    pub fn open_dir(&self, dir: impl AsRef<std::path::Path>) -> Result<Box<dyn Ledger>, OpenError> {
        Ok(Box::new(crate::Sqlite::builder().opening(self).in_dir(dir)?))
    }
}

/// The store that a URL means.
fn calls(url: &str) -> Result<&'static Calls, OpenError> {
    let (scheme, rest) = url.split_once(':').unwrap_or_default();
    let store = STORES.iter().find(|store| store.schemes.contains(&scheme));
    if let Some(calls) = store.and_then(|store| store.calls.as_ref()) {
        return Ok(calls);
    }
    let here = STORES.iter().filter(|store| store.calls.is_some());
    let here = here.flat_map(|store| store.schemes.iter().map(|scheme| format!("{scheme}:{}", store.rest)));
    let here = here.collect::<Vec<_>>().join(", ");
    Err(OpenError::Asked(match store {
        Some(_) => format!("this build of floe has no ledger on {scheme}: use one of {here}"),
        None => {
            // The rest may hold a password.
            let shown = if rest.is_empty() { url.to_owned() } else { format!("{scheme}:…") };
            format!("`{shown}` is not the URL of a ledger: use one of {here} (a file is written sqlite:PATH)")
        }
    }))
}

fn check_memory(url: &str) -> Result<(), OpenError> {
    match url {
        "memory:" => Ok(()),
        _ => Err(OpenError::Asked(format!("`{url}`: memory: takes no path; write `memory:`"))),
    }
}

fn open_memory(url: &str, opening: &Opening) -> Opened {
    check_memory(url)?;
    realm_name(opening.realm())?;
    if opening.missing == Missing::Refuse || opening.pinned.is_some() {
        return Err(OpenError::Asked(
            "`memory:` is a new ledger at every start, so it never exists already: leave create = false, \
             --existing and realm_id out, or name a ledger that lasts"
                .to_owned(),
        ));
    }
    Ok(Box::new(Memory::default()))
}

#[cfg(test)]
mod tests {
    use super::STORES;

    #[test]
    fn every_store_that_lasts_has_a_section_of_the_same_form() {
        const FORM: [&str; 6] = [
            "What it promises, and on which settings that depends",
            "URL",
            "Rights",
            "What a day costs",
            "Records",
            "Backup and restore",
        ];
        let page = include_str!("../../../docs/ledgers.md");
        let (_, rest) = page.split_once("\n## Worked numbers\n").unwrap();
        let (of_stores, _) = rest.split_once("\n## The cache\n").unwrap();
        let sections: Vec<_> = of_stores.split("\n## ").skip(1).collect();
        assert_eq!(sections.len() + 1, STORES.len(), "all but memory");
        for section in sections {
            let headings = section.lines().filter_map(|line| line.strip_prefix("### "));
            let headings: Vec<_> = headings.filter(|heading| FORM.contains(heading)).collect();
            assert_eq!(headings, FORM, "{}", section.lines().next().unwrap_or_default());
        }
    }
}
