//! URLs: `sqlite:PATH[?key=value[&key=value…]]`.

use std::time::Duration;

use super::{Builder, Sqlite};
use crate::options::{self, allows, takes};
use crate::{OpenError, Opening};

/// Opens the file that a URL names.
pub(crate) fn open_url(url: &str, opening: &Opening) -> Result<Sqlite, OpenError> {
    let (builder, path) = parse(url)?;
    builder.opening(opening).at(path)
}

/// Whether a URL can be read, options included. The file is not touched.
pub(crate) fn check_url(url: &str) -> Result<(), OpenError> {
    parse(url).map(drop)
}

pub(super) fn parse(url: &str) -> Result<(Builder, &str), OpenError> {
    let rest = url.split_once(':').map_or(url, |(_, rest)| rest);
    let (path, options) = rest.split_once('?').unwrap_or((rest, ""));
    let asked = |text: String| Err(OpenError::Asked(text));
    if path.is_empty() {
        return asked("`sqlite:` needs a path: write `sqlite:ids.db`".to_owned());
    }
    if path.starts_with(':') {
        return asked(format!("`sqlite:{path}` is no file: for a ledger in memory, write `memory:`"));
    }
    if let Some(host) = path.strip_prefix("//").filter(|rest| !rest.starts_with('/')) {
        return asked(format!(
            "`sqlite:{path}` names a host, and a SQLite ledger is a file of this machine: write `sqlite:{host}` or `sqlite:/{host}`"
        ));
    }
    let mut builder = Sqlite::builder();
    for option in options.split('&').filter(|option| !option.is_empty()) {
        let (key, value) = option.split_once('=').unwrap_or((option, ""));
        builder = match key {
            "network_filesystem" => builder.network_filesystem(allows(key, value)?),
            "max_wait" => match options::duration(value).filter(|time| *time <= Duration::from_secs(3_600)) {
                Some(max_wait) => builder.max_wait(max_wait),
                None => return Err(takes(key, value, "a time such as 500ms or 10s, at most 1h")),
            },
            "max_mib" => match value.parse::<u32>() {
                Ok(mib) if mib > 0 => builder.max_bytes(u64::from(mib) << 20),
                _ => return Err(takes(key, value, "a number of mebibytes from 1 on")),
            },
            _ => {
                return asked(format!(
                    "`sqlite:` has no option `{key}`: it has network_filesystem, max_wait and max_mib"
                ));
            }
        };
    }
    Ok((builder, path))
}
