//! Which of the media types that IDs can be written in a client wants (RFC 9110, section 12.5.1).

use axum::http::{HeaderMap, header};

/// A media type for IDs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Media {
    /// `application/json`.
    Json,
    /// `text/plain`: one ID a line.
    Text,
    /// `application/octet-stream`: 64-bit little-endian integers.
    Octets,
}

impl Media {
    /// In the order of preference where a client has none.
    const ALL: [Self; 3] = [Self::Json, Self::Text, Self::Octets];

    /// Its name.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Text => "text/plain",
            Self::Octets => "application/octet-stream",
        }
    }

    /// How it is named in an answer.
    pub(super) const fn content_type(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Text => "text/plain; charset=utf-8",
            Self::Octets => "application/octet-stream",
        }
    }
}

/// The media type that the client prefers; JSON if it does not say.
///
/// # Errors
/// What it asked for, if it is not one of the three.
pub(super) fn negotiate(headers: &HeaderMap) -> Result<Media, String> {
    if !headers.contains_key(header::ACCEPT) {
        return Ok(Media::Json);
    }
    let wanted = wanted(headers);
    let weights = Media::ALL.map(|media| (weight(&wanted, media.name()).1, media));
    // The first of the heaviest: `max_by_key` would take the last.
    let heaviest = weights.iter().map(|(weight, _)| *weight).max().unwrap_or(0);
    let chosen = weights.iter().find(|(weight, _)| *weight == heaviest && heaviest > 0);
    chosen.map(|(_, media)| *media).ok_or_else(|| wanted.chars().take(100).collect())
}

/// Whether the client names a media type, and wants it no less than the `usual` one.
pub(super) fn wants(headers: &HeaderMap, media: &str, usual: &str) -> bool {
    let wanted = wanted(headers);
    let (closeness, quality) = weight(&wanted, media);
    closeness == EXACT && quality > 0 && quality >= weight(&wanted, usual).1
}

/// All that stands under Accept.
fn wanted(headers: &HeaderMap) -> String {
    let given = headers.get_all(header::ACCEPT).iter();
    let wanted: Vec<String> =
        given.map(|value| String::from_utf8_lossy(value.as_bytes()).to_ascii_lowercase()).collect();
    wanted.join(",")
}

/// How closely a range matches that is the media type itself.
const EXACT: u32 = 3;

/// How closely the closest range matches a media type, and how much the client wants it by that, in thousandths.
fn weight(wanted: &str, media: &str) -> (u32, u32) {
    let (kind, _) = media.split_once('/').unwrap_or((media, ""));
    let mut best = (0, 0);
    for part in wanted.split(',') {
        let mut words = part.split(';').map(str::trim);
        let range = words.next().unwrap_or_default();
        let closeness = match range {
            "" => continue,
            exact if exact == media => EXACT,
            "*/*" => 1,
            range if range.strip_suffix("/*") == Some(kind) => 2,
            _ => continue,
        };
        let quality = words.find_map(|word| word.strip_prefix("q=")).map_or(1000, thousandths);
        if closeness > best.0 {
            best = (closeness, quality);
        }
    }
    best
}

/// `1`, `0.5`, `0.125`; anything else is not wanted.
fn thousandths(quality: &str) -> u32 {
    match quality.split_once('.').unwrap_or((quality, "")) {
        ("1", _) => 1000,
        ("0", digits) if digits.len() <= 3 && digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            format!("{digits:0<3}").parse().unwrap_or(0)
        }
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(accept: &str) -> Result<Media, String> {
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT, accept.parse().unwrap());
        negotiate(&headers)
    }

    #[test]
    fn a_media_type_beside_the_usual_one_has_to_be_named() {
        const MEDIA: &str = "application/openmetrics-text";
        let named = |accept: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT, accept.parse().unwrap());
            wants(&headers, MEDIA, "text/plain")
        };
        // Prometheus' own, which weighs them.
        assert!(named(
            "application/openmetrics-text;version=1.0.0;q=0.5,application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2"
        ));
        assert!(named("application/openmetrics-text"));
        for other in [
            "*/*",
            "application/*",
            "text/html,*/*;q=0.8",
            "text/plain;version=0.0.4;q=0.5,application/openmetrics-text;q=0.4",
            "application/openmetrics-text;q=0",
        ] {
            assert!(!named(other), "{other}");
        }
        assert!(!wants(&HeaderMap::new(), MEDIA, "text/plain"));
    }

    #[test]
    fn the_closest_and_heaviest_range_wins() {
        assert_eq!(negotiate(&HeaderMap::new()), Ok(Media::Json));
        for (accept, media) in [
            ("*/*", Media::Json),
            ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", Media::Json),
            ("text/plain", Media::Text),
            ("Text/Plain; charset=utf-8", Media::Text),
            ("text/*", Media::Text),
            ("application/*", Media::Json),
            ("application/octet-stream", Media::Octets),
            ("application/json;q=0.5, text/plain;q=0.7", Media::Text),
            ("application/json;q=0, */*", Media::Text),
            ("application/octet-stream, */*;q=0.1", Media::Octets),
        ] {
            assert_eq!(wanted(accept), Ok(media), "{accept}");
        }
        for accept in ["image/png", "application/xml", "*/*;q=0", "text/plain;q=2", ""] {
            assert!(wanted(accept).is_err(), "{accept}");
        }
    }
}
