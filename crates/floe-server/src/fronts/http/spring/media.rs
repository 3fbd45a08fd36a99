//! Media types as Spring 4.3 reads, orders and negotiates them.

use std::cmp::Ordering;

use axum::http::{HeaderMap, HeaderValue, header};

/// More ranges than this in `Accept` are not weighed: no client has them.
const MOST: usize = 50;

/// The client takes nothing that can be written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::fronts::http) struct NotAcceptable;

/// What an answer can be written as.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::fronts::http) enum Produces {
    /// A text: as any type.
    Text,
    /// An object: as JSON alone.
    Json,
}

/// How an answer in JSON is named where nothing else is asked for.
pub(in crate::fronts::http) const JSON: &str = "application/json;charset=UTF-8";

/// A media type or range.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct MediaType {
    kind: String,
    sub: String,
    /// How much it is wanted, 0 to 1.
    quality: f64,
    /// The others, `q` left out, and how many there are with it.
    parameters: Vec<(String, String)>,
    count: usize,
}

impl MediaType {
    fn new(kind: &str, sub: &str) -> Self {
        Self { kind: kind.to_owned(), sub: sub.to_owned(), quality: 1.0, parameters: Vec::new(), count: 0 }
    }

    fn parse(text: &str) -> Result<Self, NotAcceptable> {
        let mut parts = text.split(';').map(str::trim);
        let whole = parts.next().unwrap_or_default();
        // Java's own client says `*`.
        let (kind, sub) =
            if whole == "*" { ("*", "*") } else { whole.split_once('/').ok_or(NotAcceptable)? };
        if !is_token(kind) || !is_token(sub) || (kind == "*" && sub != "*") {
            return Err(NotAcceptable);
        }
        let mut media = Self::new(&kind.to_ascii_lowercase(), &sub.to_ascii_lowercase());
        for part in parts {
            let Some((name, value)) = part.split_once('=') else { continue };
            let bare = value.trim_matches(['"', '\'']);
            if !is_token(name) || !value.bytes().all(|byte| matches!(byte, b'!'..=b'~')) {
                return Err(NotAcceptable);
            }
            media.count += 1;
            if name.eq_ignore_ascii_case("q") {
                media.quality = bare.parse().ok().filter(|q| (0.0..=1.0).contains(q)).ok_or(NotAcceptable)?;
                continue;
            }
            if name.eq_ignore_ascii_case("charset") && !is_charset(bare) {
                return Err(NotAcceptable);
            }
            media.parameters.push((name.to_ascii_lowercase(), value.to_owned()));
        }
        Ok(media)
    }

    fn is_any(&self) -> bool {
        self.kind == "*"
    }

    fn is_any_sub(&self) -> bool {
        self.sub == "*" || self.sub.starts_with("*+")
    }

    fn fits(&self, other: &Self) -> bool {
        if self.is_any() || other.is_any() {
            return true;
        }
        if self.kind != other.kind {
            return false;
        }
        if self.sub == other.sub {
            return true;
        }
        if !self.is_any_sub() && !other.is_any_sub() {
            return false;
        }
        match (self.sub.split_once('+'), other.sub.split_once('+')) {
            (None, None) => true,
            (Some((a, suffix)), Some((b, of_other))) => suffix == of_other && (a == "*" || b == "*"),
            _ => false,
        }
    }

    /// The more specific of two matching types; this one if neither is more specific.
    fn narrowed_by(&self, other: &Self) -> Self {
        let other = Self { quality: self.quality, ..other.clone() };
        match special(self, &other) {
            Ordering::Greater => other,
            _ => self.clone(),
        }
    }

    fn written(&self) -> Option<HeaderValue> {
        use std::fmt::Write;
        let mut text = format!("{}/{}", self.kind, self.sub);
        let mut charset = "UTF-8";
        for (name, value) in &self.parameters {
            match name.as_str() {
                "charset" => charset = value,
                // Writing to a text does not fail.
                name => drop(write!(text, ";{name}={value}")),
            }
        }
        HeaderValue::from_str(&format!("{text};charset={charset}")).ok()
    }
}

fn is_token(text: &str) -> bool {
    !text.is_empty()
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
}

/// Those that write digits and ASCII as ASCII, which is all that is written.
fn is_charset(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    [
        "utf-8",
        "utf8",
        "us-ascii",
        "ascii",
        "gbk",
        "gb2312",
        "gb18030",
        "big5",
        "shift_jis",
        "euc-jp",
        "euc-kr",
        "koi8-r",
    ]
    .contains(&name.as_str())
        || ["iso-8859-", "windows-125"].iter().any(|begin| {
            name.strip_prefix(begin)
                .is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
        })
}

/// `SPECIFICITY_COMPARATOR`.
fn special(a: &MediaType, b: &MediaType) -> Ordering {
    general(a, b, |a, b| by_quality(a, b).then_with(|| b.count.cmp(&a.count)))
}

/// `QUALITY_VALUE_COMPARATOR`.
fn wanted(a: &MediaType, b: &MediaType) -> Ordering {
    by_quality(a, b).then_with(|| general(a, b, |a, b| b.count.cmp(&a.count)))
}

fn by_quality(a: &MediaType, b: &MediaType) -> Ordering {
    b.quality.partial_cmp(&a.quality).unwrap_or(Ordering::Equal)
}

fn general(a: &MediaType, b: &MediaType, alike: impl Fn(&MediaType, &MediaType) -> Ordering) -> Ordering {
    match (a.is_any(), b.is_any()) {
        (true, false) => Ordering::Greater,
        (false, true) => Ordering::Less,
        _ if a.kind != b.kind => Ordering::Equal,
        _ => match (a.is_any_sub(), b.is_any_sub()) {
            (true, false) => Ordering::Greater,
            (false, true) => Ordering::Less,
            _ if a.sub != b.sub => Ordering::Equal,
            _ => alike(a, b),
        },
    }
}

/// Sorts as Java does with few: by binary insertion behind the run at the front. Rust's sort would not accept this
/// order: an element may compare equal to two others that differ.
fn sort(types: &mut [MediaType]) {
    let before = |a: &MediaType, b: &MediaType| special(a, b).then_with(|| wanted(a, b)) == Ordering::Less;
    let at = |types: &[MediaType], i: usize, j: usize| match (types.get(i), types.get(j)) {
        (Some(a), Some(b)) => before(a, b),
        _ => false,
    };
    let mut run = types.len().min(1);
    if types.len() > 1 {
        run = 2;
        if at(types, 1, 0) {
            while run < types.len() && at(types, run, run - 1) {
                run += 1;
            }
            if let Some(front) = types.get_mut(..run) {
                front.reverse();
            }
        } else {
            while run < types.len() && !at(types, run, run - 1) {
                run += 1;
            }
        }
    }
    for next in run..types.len() {
        let (mut low, mut high) = (0, next);
        while low < high {
            let middle = usize::midpoint(low, high);
            match at(types, next, middle) {
                true => high = middle,
                false => low = middle + 1,
            }
        }
        if let Some(moved) = types.get_mut(low..=next) {
            moved.rotate_right(1);
        }
    }
}

/// The types in `Accept`, in Spring's order; any type if there are none.
///
/// # Errors
/// Where it cannot be read.
pub(super) fn accepted(headers: &HeaderMap) -> Result<Vec<MediaType>, NotAcceptable> {
    let mut types = Vec::new();
    for value in headers.get_all(header::ACCEPT) {
        let value = value.to_str().map_err(|_| NotAcceptable)?;
        for part in value.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            if types.len() == MOST {
                return Err(NotAcceptable);
            }
            types.push(MediaType::parse(part)?);
        }
    }
    if types.is_empty() {
        types.push(MediaType::new("*", "*"));
    }
    sort(&mut types);
    Ok(types)
}

/// The type that an answer is written as.
///
/// # Errors
/// Where none of what is asked for can be.
pub(super) fn negotiate(asked: &[MediaType], produces: Produces) -> Result<HeaderValue, NotAcceptable> {
    let text = MediaType::new("text", "plain");
    let json = [MediaType::new("application", "json"), MediaType::new("application", "*+json")];
    let made: Vec<MediaType> = match produces {
        Produces::Text => [text.clone(), MediaType::new("*", "*")].into_iter().chain(json).collect(),
        Produces::Json => json.to_vec(),
    };
    let mut fitting: Vec<MediaType> = Vec::new();
    for asked in asked {
        for made in made.iter().filter(|made| asked.fits(made)) {
            let narrow = asked.narrowed_by(made);
            if !fitting.contains(&narrow) {
                fitting.push(narrow);
            }
        }
    }
    sort(&mut fitting);
    for media in fitting {
        let octets = media.kind == "application" && (media.sub == "octet-stream" || media.sub == "*");
        if octets || (media.is_any() && media.is_any_sub()) {
            // For bytes without a type, a converter's own first type is used.
            let own = if produces == Produces::Text { &text } else { made.first().unwrap_or(&text) };
            return own.written().ok_or(NotAcceptable);
        }
        if !media.is_any() && !media.is_any_sub() {
            return media.written().ok_or(NotAcceptable);
        }
    }
    Err(NotAcceptable)
}

/// Whether an error is a page: what comes first of `text/html`, or a range with it, and of `*/*`.
pub(super) fn prefers_html(accept: &[MediaType]) -> bool {
    let html = |media: &&MediaType| media.kind == "text" && (media.sub == "html" || media.sub == "*");
    accept.iter().find(|media| html(media) || media.is_any()).is_some_and(|media| html(&media))
}

/// The type of files with this extension, as Tomcat and Spring know it.
pub(super) fn of_extension(extension: &str) -> Option<MediaType> {
    let (kind, sub) = match extension.to_ascii_lowercase().as_str() {
        "json" => ("application", "json"),
        "xml" | "xsl" | "xsd" => ("application", "xml"),
        "html" | "htm" => ("text", "html"),
        "txt" | "text" => ("text", "plain"),
        "csv" => ("text", "csv"),
        "css" => ("text", "css"),
        "js" => ("application", "javascript"),
        "xhtml" | "xht" => ("application", "xhtml+xml"),
        "atom" => ("application", "atom+xml"),
        "pdf" => ("application", "pdf"),
        "zip" => ("application", "zip"),
        "png" => ("image", "png"),
        "gif" => ("image", "gif"),
        "jpg" | "jpeg" | "jpe" => ("image", "jpeg"),
        "bmp" => ("image", "bmp"),
        "svg" => ("image", "svg+xml"),
        "ico" => ("image", "x-icon"),
        "rtf" => ("application", "rtf"),
        "doc" => ("application", "msword"),
        "xls" => ("application", "vnd.ms-excel"),
        "gz" => ("application", "x-gzip"),
        "tar" => ("application", "x-tar"),
        "bin" | "exe" | "class" => ("application", "octet-stream"),
        "mp3" => ("audio", "mpeg"),
        "mp4" => ("video", "mp4"),
        _ => return None,
    };
    Some(MediaType::new(kind, sub))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accept(text: &str) -> Result<Vec<MediaType>, NotAcceptable> {
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT, text.parse().unwrap());
        accepted(&headers)
    }

    fn text(asked: &str, produces: Produces) -> Option<String> {
        let value = accept(asked).and_then(|asked| negotiate(&asked, produces)).ok()?;
        Some(value.to_str().unwrap().to_owned())
    }

    #[test]
    fn a_text_takes_the_type_that_is_asked_for() {
        for (asked, answered) in [
            ("", "text/plain;charset=UTF-8"),
            ("*/*", "text/plain;charset=UTF-8"),
            ("*; q=.2", "text/plain;charset=UTF-8"),
            ("text/*", "text/plain;charset=UTF-8"),
            ("application/json", "application/json;charset=UTF-8"),
            ("application/json, application/*+json", "application/json;charset=UTF-8"),
            ("application/*", "application/json;charset=UTF-8"),
            ("text/plain, application/json, application/*+json, */*", "text/plain;charset=UTF-8"),
            ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", "text/html;charset=UTF-8"),
            ("text/plain;q=0.5, application/json", "application/json;charset=UTF-8"),
            ("application/octet-stream", "text/plain;charset=UTF-8"),
            ("Image/PNG", "image/png;charset=UTF-8"),
            ("text/plain;charset=ISO-8859-1", "text/plain;charset=ISO-8859-1"),
            ("text/html;level=1", "text/html;level=1;charset=UTF-8"),
        ] {
            assert_eq!(text(asked, Produces::Text).as_deref(), Some(answered), "{asked}");
        }
        for asked in [
            "foo",
            "*/plain",
            "text/plain;q=2",
            "text/plain;charset=nix",
            "image/*",
            "application/*+json",
            "a/b;c=d e",
        ] {
            assert_eq!(text(asked, Produces::Text), None, "{asked}");
        }
        assert_eq!(text(&"a/b,".repeat(MOST + 1), Produces::Text), None);
    }

    #[test]
    fn an_object_is_json_or_nothing() {
        for asked in ["*/*", "application/json", "application/*", "text/html, *; q=.2, */*; q=.2"] {
            assert_eq!(text(asked, Produces::Json).as_deref(), Some(JSON), "{asked}");
        }
        assert_eq!(
            text("application/vnd.x+json", Produces::Json).as_deref(),
            Some("application/vnd.x+json;charset=UTF-8")
        );
        for asked in ["text/plain", "application/xml", "image/png", "application/octet-stream"] {
            assert_eq!(text(asked, Produces::Json), None, "{asked}");
        }
        for (asked, page) in [
            ("text/html", true),
            ("text/*", true),
            ("*/*", false),
            ("text/html,application/xml;q=0.9,*/*;q=0.8", true),
            ("application/json, text/plain, */*", false),
            ("application/json, text/html", true),
        ] {
            assert_eq!(prefers_html(&accept(asked).unwrap()), page, "{asked}");
        }
    }
}
