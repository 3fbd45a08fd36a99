//! Which call a path is: as Tomcat 8.5 decodes and normalises it, and as Spring 4.3 matches it.

use std::borrow::Cow;

use axum::http::Uri;

/// The target of a path.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Target {
    /// A call.
    Call {
        /// Its route here.
        route: &'static str,
        mints: bool,
        /// The key in the path; empty where the call has none.
        key: String,
        /// The key with its extension, where what it ends in may be one.
        whole: Option<String>,
        /// What stands behind the last dot.
        extension: Option<String>,
        /// Whether the path is no UTF-8 under its percent-encoding: then its key is no name.
        garbled: bool,
    },
    /// A path of the original's under which there is nothing.
    NotFound,
    /// tinyid's context without its slash.
    Context,
    /// No path at all.
    Bad,
}

/// The calls with a key: how their paths begin, and their routes.
const KEYED: [(&str, &str); 2] =
    [("/api/segment/get/", "/api/segment/get/key"), ("/api/snowflake/get/", "/api/snowflake/get/key")];

/// The others of Leaf, which mint nothing.
const PAGES: [&str; 3] = ["/decodeSnowflakeId", "/cache", "/db"];

/// tinyid's, without and with its context.
const TINYID: [(&str, &str); 4] = [
    ("/id/nextId", "/tinyid/id/nextId"),
    ("/id/nextIdSimple", "/tinyid/id/nextIdSimple"),
    ("/id/nextSegmentId", "/tinyid/id/nextSegmentId"),
    ("/id/nextSegmentIdSimple", "/tinyid/id/nextSegmentIdSimple"),
];

/// tinyid's context.
const CONTEXT: &str = "/tinyid";

/// The target of a request's path; `None` if it is neither Leaf's nor tinyid's.
pub(super) fn target(uri: &Uri) -> Option<Target> {
    let raw = uri.path();
    if !may_be_theirs(raw) {
        return None;
    }
    let found = decoded(raw).and_then(|decoded| Some((normal(&decoded.0)?, decoded)));
    let Some((normal, (path, is_garbled))) = found else {
        // Only its beginning shows which call it may have been.
        return (is_theirs(&lenient(raw)) || leaves_root(raw)).then_some(Target::Bad);
    };
    let path = without_doubled(&path);
    let below = normal.strip_prefix(CONTEXT).filter(|rest| rest.starts_with('/'));
    let found = match below {
        _ if normal == CONTEXT => Some(Target::Context),
        Some(normal) => tinyid(&looked_up(path.strip_prefix(CONTEXT).unwrap_or(normal), normal), true),
        None => {
            let path = looked_up(&path, &normal);
            leaf(&path).or_else(|| tinyid(&path, false))
        }
    };
    let target = match found {
        Some(mut found) => {
            if let Target::Call { garbled, .. } = &mut found {
                *garbled = is_garbled;
            }
            found
        }
        None if is_theirs(&normal) => Target::NotFound,
        None => return None,
    };
    // Tomcat reads neither raw letters of other alphabets nor these, before it looks at what is asked for.
    let allowed = |byte: u8| matches!(byte, 0x21..=0x7e) && !b"\"#<>\\^`{|}".contains(&byte);
    let whole = uri.path_and_query().map_or(raw, |whole| whole.as_str());
    Some(if whole.bytes().all(allowed) { target } else { Target::Bad })
}

/// Whether a path needs a full check. Most do not.
fn may_be_theirs(raw: &str) -> bool {
    let begins = ["/api", CONTEXT, "/id/", "/decodeSnowflakeId", "/cache", "/db"];
    begins.iter().any(|begin| raw.starts_with(begin))
        || raw.contains("//")
        || raw.contains("/.")
        || raw.bytes().any(|byte| matches!(byte, b'%' | b';' | b'\\'))
}

/// Whether a path is below what the originals alone have.
fn is_theirs(path: &str) -> bool {
    ["/api", CONTEXT]
        .iter()
        .any(|begin| path.strip_prefix(begin).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')))
        || PAGES.contains(&path)
}

/// Without the parameters of each part, and with what cannot be decoded left as it is.
fn lenient(raw: &str) -> String {
    let bytes = percent_encoding::percent_decode_str(raw).collect::<Vec<u8>>();
    let text = String::from_utf8_lossy(&bytes);
    without_doubled(&without_parameters(&text)).into_owned()
}

/// Whether a path has more steps up than down.
fn leaves_root(raw: &str) -> bool {
    normal(&lenient(raw)).is_none()
}

/// Tomcat's first steps: parameters cut, the rest decoded; and whether that lost something.
fn decoded(raw: &str) -> Option<(String, bool)> {
    let path = without_parameters(raw);
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        rest = after;
        if first != b'%' {
            bytes.push(first);
            continue;
        }
        let (digits, after) = rest.split_at_checked(2)?;
        let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
        let byte = digit(*digits.first()?)? << 4 | digit(*digits.get(1)?)?;
        if byte == b'/' {
            return None;
        }
        bytes.push(byte);
        rest = after;
    }
    if !bytes.starts_with(b"/") || bytes.iter().any(|byte| matches!(byte, 0 | b'\\')) {
        return None;
    }
    let text = String::from_utf8_lossy(&bytes);
    let is_garbled = matches!(text, Cow::Owned(_));
    Some((text.into_owned(), is_garbled))
}

/// The text from a `;` to the next slash is a parameter of that part of the path.
fn without_parameters(path: &str) -> Cow<'_, str> {
    if !path.contains(';') {
        return Cow::Borrowed(path);
    }
    let parts: Vec<&str> = path.split('/').map(|part| part.split(';').next().unwrap_or_default()).collect();
    Cow::Owned(parts.join("/"))
}

fn without_doubled(path: &str) -> Cow<'_, str> {
    if !path.contains("//") {
        return Cow::Borrowed(path);
    }
    let mut single = String::with_capacity(path.len());
    for c in path.chars() {
        if c != '/' || !single.ends_with('/') {
            single.push(c);
        }
    }
    Cow::Owned(single)
}

/// Tomcat's last step: no empty parts, no `.`, no `..`; `None` if that leads out of the root.
fn normal(path: &str) -> Option<String> {
    let mut parts = Vec::new();
    let mut is_folder = false;
    for part in path.split('/').skip(1) {
        is_folder = matches!(part, "" | "." | "..");
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    let end = if is_folder && !parts.is_empty() { "/" } else { "" };
    Some(format!("/{}{end}", parts.join("/")))
}

/// The path that Spring matches. If the requested path begins with the normal one, it is the rest of it; otherwise it
/// is the normal one.
fn looked_up(path: &str, normal: &str) -> String {
    match path.strip_prefix(normal) {
        Some("") | None => normal.to_owned(),
        Some(rest) => rest.to_owned(),
    }
}

fn leaf(path: &str) -> Option<Target> {
    for (begin, route) in KEYED {
        if let Some(rest) = path.strip_prefix(begin) {
            return Some(keyed(route, rest));
        }
    }
    PAGES.iter().find_map(|&page| fixed(path, page, page, false))
}

fn tinyid(path: &str, below: bool) -> Option<Target> {
    TINYID.iter().find_map(|(call, route)| fixed(path, call, if below { route } else { call }, true))
}

/// What `{key}.*`, `{key}` and `{key}/` match, in that order.
fn keyed(route: &'static str, rest: &str) -> Target {
    // No `.` of a pattern in Java stands for these.
    let is_line = |rest: &str| !rest.contains(['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}']);
    let (name, folder) = rest.strip_suffix('/').map_or((rest, false), |name| (name, true));
    if name.is_empty() || name.contains('/') || !is_line(name) {
        return Target::NotFound;
    }
    let (key, extension) = match name.rsplit_once('.') {
        Some((key, extension)) if !folder => (key, Some(extension.to_owned())),
        _ => (name, None),
    };
    let whole = extension.is_some().then(|| name.to_owned());
    Target::Call { route, mints: true, key: key.to_owned(), whole, extension, garbled: false }
}

/// What `call`, `call.*` and `call/` match.
fn fixed(path: &str, call: &str, route: &'static str, mints: bool) -> Option<Target> {
    let rest = path.strip_prefix(call)?;
    let extension = match rest {
        "" | "/" => None,
        rest => Some(rest.strip_prefix('.').filter(|rest| !rest.contains('/'))?),
    };
    let extension = extension.map(|all| all.rsplit('.').next().unwrap_or(all).to_owned());
    Some(Target::Call { route, mints, key: String::new(), whole: None, extension, garbled: false })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(path: &str) -> Option<Target> {
        target(&path.parse().unwrap())
    }

    fn key(path: &str) -> Option<(String, Option<String>)> {
        match of(path)? {
            Target::Call { key, extension, .. } => Some((key, extension)),
            _ => None,
        }
    }

    #[test]
    fn a_key_is_what_tomcat_and_spring_leave_of_it() {
        for (path, found, extension) in [
            ("orders", "orders", None),
            ("orders/", "orders", None),
            ("orders;x=1", "orders", None),
            ("orders;jsessionid=1/", "orders", None),
            ("a%3Bb", "a;b", None),
            ("a%25b", "a%b", None),
            ("a+b", "a+b", None),
            ("%20", " ", None),
            ("%FF", "\u{fffd}", None),
            ("%E7%94%A8", "\u{7528}", None),
            ("orders.json", "orders", Some("json")),
            ("orders.", "orders", Some("")),
            ("a.b.json", "a.b", Some("json")),
            ("a.b/", "a.b", None),
            ("./orders", "orders", None),
            ("x/../orders", "orders", None),
            ("/orders", "orders", None),
            (".json", "", Some("json")),
        ] {
            let path = format!("/api/segment/get/{path}");
            assert_eq!(key(&path), Some((found.to_owned(), extension.map(str::to_owned))), "{path}");
        }
        for path in ["", "x/y", "..", ".", "orders/.", "a%0Ab", "%2e", "orders/x/..", ";x=1"] {
            assert_eq!(of(&format!("/api/segment/get/{path}")), Some(Target::NotFound), "{path}");
        }
        for path in ["%00", "a%2Fb", "a%", "a%zz", "a%5Cb", "%", "{x}", "../../../.."] {
            assert_eq!(of(&format!("/api/segment/get/{path}")), Some(Target::Bad), "{path}");
        }
    }

    #[test]
    fn paths_of_others_are_theirs() {
        for path in [
            "/",
            "/v1/mint/a;x",
            "/v1/mint/a%2Fb",
            "/id",
            "/ids",
            "/nix",
            "/metrics",
            "/apis",
            "/floe.v1.Ids/Mint",
        ] {
            assert_eq!(of(path), None, "{path}");
        }
        for path in [
            "/api",
            "/api/",
            "/api/segment",
            "/tinyid/",
            "/tinyid/id/",
            "/tinyid/id/nope",
            "/api/segment/get",
        ] {
            assert_eq!(of(path), Some(Target::NotFound), "{path}");
        }
        assert_eq!(of("/tinyid"), Some(Target::Context));
        assert_eq!(of("/../cache"), Some(Target::Bad));
        for path in [
            "/tinyid/id/nextId",
            "/tinyid//id/nextId",
            "/tinyid/id/nextId/",
            "/tinyid/id/nextId.json",
            "/tinyid/id/nextId;jsessionid=1",
            "/v1/../tinyid/id/nextId",
        ] {
            assert!(matches!(of(path), Some(Target::Call { route: "/tinyid/id/nextId", .. })), "{path}");
        }
        for path in ["/id/nextId", "/id//nextId", "/v1/../id/nextId.json"] {
            assert!(matches!(of(path), Some(Target::Call { route: "/id/nextId", .. })), "{path}");
        }
        for path in ["/cache", "/%63ache", "/cache.json", "/cache/", "//cache"] {
            assert!(matches!(of(path), Some(Target::Call { route: "/cache", mints: false, .. })), "{path}");
        }
    }
}
