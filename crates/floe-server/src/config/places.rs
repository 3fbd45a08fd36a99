//! Where each setting is in its file, for complaints about several settings together.

use std::collections::BTreeMap;
use std::fmt;

use toml::de::{DeTable, DeValue};

use super::reader::Document;

/// See the module. The place of a setting is not a part of its value, so all `Places` are equal.
#[derive(Clone, Default)]
pub struct Places {
    /// By the setting's path, such as `limits.max_wait`.
    settings: BTreeMap<String, String>,
    /// Of each `[[name]]`, in their order.
    names: Vec<String>,
}

impl Places {
    pub(super) fn of(document: &Document<'_>, root: &DeTable<'_>, names: Vec<usize>) -> Self {
        let mut settings = BTreeMap::new();
        note(document, root, "", &mut settings);
        Self { settings, names: names.into_iter().map(|at| document.place(at)).collect() }
    }

    /// Where a setting stands, or the table that it may stand in.
    pub(super) fn setting(&self, path: &str) -> Option<&str> {
        let table = || self.settings.get(path.split_once('.')?.0);
        self.settings.get(path).or_else(table).map(String::as_str)
    }

    /// Where a `[[name]]` stands.
    pub(super) fn name(&self, index: usize) -> Option<&str> {
        self.names.get(index).map(String::as_str)
    }

    /// The setting was given elsewhere since.
    pub(super) fn forget(&mut self, setting: &str) {
        self.settings.remove(setting);
    }
}

fn note(document: &Document<'_>, table: &DeTable<'_>, before: &str, settings: &mut BTreeMap<String, String>) {
    for (key, value) in table.iter() {
        let path = format!("{before}{}", key.get_ref());
        if let DeValue::Table(inner) = value.get_ref()
            && before.is_empty()
        {
            note(document, inner, &format!("{path}."), settings);
        }
        settings.insert(path, document.place(value.span().start));
    }
}

impl PartialEq for Places {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl fmt::Debug for Places {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Places")
    }
}
