//! Which object a key is.

use object_store::path::Path;

/// How long a part of a path may be: some stores keep objects as files.
const LONGEST: usize = 200;

/// Letters, digits and `-_.` stay, and every other byte is written `=` and two digits. A dot at the beginning is written so,
/// too: a part of a path must not be `.` or `..`. What is too long for one part goes on in the next behind a `=`.
fn escape(part: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    for (at, byte) in part.bytes().enumerate() {
        let stays = byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_') || (byte == b'.' && at > 0);
        let text = if stays { char::from(byte).to_string() } else { format!("={byte:02x}") };
        match parts.last_mut() {
            Some(last) if last.len() + text.len() < LONGEST => last.push_str(&text),
            last => {
                last.into_iter().for_each(|last| last.push('='));
                // A dot that begins a part would be one of its own.
                parts.push(if text == "." { "=2e".to_owned() } else { text });
            }
        }
    }
    parts
}

fn unescape(part: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(part.len());
    let mut rest = part;
    while let Some((plain, escaped)) = rest.split_once('=') {
        bytes.extend_from_slice(plain.as_bytes());
        bytes.push(u8::from_str_radix(escaped.get(..2)?, 16).ok()?);
        rest = escaped.get(2..)?;
    }
    bytes.extend_from_slice(rest.as_bytes());
    String::from_utf8(bytes).ok()
}

/// The object of a key, below `prefix`.
pub(super) fn path_of(prefix: &Path, key: &str) -> Path {
    let parts = key.split('/').filter(|part| !part.is_empty());
    parts.flat_map(escape).fold(prefix.clone(), Path::join)
}

/// The key of an object; `None` where floe has made no such object.
pub(super) fn key_of(prefix: &Path, path: &Path) -> Option<String> {
    let parts: Vec<_> = path.prefix_match(prefix)?.map(|part| part.as_ref().to_owned()).collect();
    let parts = parts.join("/").replace("=/", "");
    let key = parts.split('/').map(unescape).collect::<Option<Vec<String>>>()?.join("/");
    // What is written in another way than floe writes it is somebody else's.
    (path_of(prefix, &key) == *path).then_some(key)
}
