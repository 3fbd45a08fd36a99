//! Queries: every key is known, and comes once.

use percent_encoding::percent_decode_str;

use crate::status::Refusal;

/// The value of each of `keys` in a query, decoded.
///
/// # Errors
/// A [`Refusal`] for a key that is unknown or comes twice, and for bytes that are not UTF-8.
pub(super) fn read<const N: usize>(
    query: Option<&str>,
    keys: [&str; N],
) -> Result<[Option<String>; N], Refusal> {
    let mut values = [const { None }; N];
    for pair in query.unwrap_or_default().split('&').filter(|pair| !pair.is_empty()) {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        let key = decode(key)?;
        let Some(slot) = keys.iter().position(|known| *known == key).and_then(|at| values.get_mut(at)) else {
            let key: String = key.chars().take(40).collect();
            let known = match keys.is_empty() {
                true => "this call takes none".to_owned(),
                false => format!("this call takes {}", keys.join(", ")),
            };
            return Err(Refusal::bad(format!("the query has the unknown key {key:?}: {known}")));
        };
        if slot.is_some() {
            return Err(Refusal::bad(format!("the query has the key {key:?} twice: give it once")));
        }
        *slot = Some(decode(value)?);
    }
    Ok(values)
}

/// The value of each of `keys` in a query and a form. Other keys are ignored.
///
/// # Errors
/// A [`Refusal`] for one of the keys that comes twice, and for bytes that are not UTF-8.
pub(super) fn pick<const M: usize, const N: usize>(
    sources: [&str; M],
    keys: [&str; N],
) -> Result<[Option<String>; N], Refusal> {
    let mut values = [const { None }; N];
    for pair in sources.into_iter().flat_map(|source| source.split('&')) {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        let Some(slot) = keys.iter().position(|known| *known == key).and_then(|at| values.get_mut(at)) else {
            continue;
        };
        if slot.is_some() {
            return Err(Refusal::bad(format!("{key} is given twice: give it once")));
        }
        *slot = Some(decode(value)?);
    }
    Ok(values)
}

/// `true` or `false`.
///
/// # Errors
/// A [`Refusal`] for anything else.
pub(super) fn boolean(key: &str, value: Option<&str>) -> Result<bool, Refusal> {
    match value {
        None | Some("false") => Ok(false),
        Some("true") => Ok(true),
        Some(other) => {
            Err(Refusal::bad(format!("{key} = {other:?} is neither true nor false: write one of the two")))
        }
    }
}

/// A whole number from 1 to `max`, or `default`.
///
/// # Errors
/// A [`Refusal`] for anything else.
pub(super) fn limit(value: Option<&str>, default: usize, max: usize) -> Result<usize, Refusal> {
    let Some(text) = value else { return Ok(default) };
    text.parse().ok().filter(|limit| (1..=max).contains(limit)).ok_or_else(|| {
        Refusal::bad(format!(
            "limit = {text:?} is not a whole number from 1 to {max}: write one, and page on with `after`"
        ))
    })
}

/// Percent-decoded, `+` being a space as in forms.
fn decode(text: &str) -> Result<String, Refusal> {
    let text = text.replace('+', " ");
    percent_decode_str(&text)
        .decode_utf8()
        .map(std::borrow::Cow::into_owned)
        .map_err(|_| Refusal::bad("the percent-decoded query is not UTF-8: encode it as UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_known_and_come_once() {
        assert_eq!(
            read(Some("n=1&name=a%2Fb"), ["n", "name"]).unwrap(),
            [Some("1".to_owned()), Some("a/b".to_owned())]
        );
        assert_eq!(read(None, ["n"]).unwrap(), [None]);
        assert_eq!(read(Some("n"), ["n"]).unwrap(), [Some(String::new())]);
        for wrong in ["m=1", "n=1&n=2", "n=%FF", "=1"] {
            assert!(read(Some(wrong), ["n"]).is_err(), "{wrong}");
        }
    }
}
