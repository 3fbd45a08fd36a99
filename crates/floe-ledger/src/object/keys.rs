//! The object of a key.

use object_store::path::Path;

/// The longest part of a path: some stores keep objects as files.
const LONGEST: usize = 200;

/// Keeps letters, digits and `-_.`, and writes every other byte as `=` and two digits, also a dot at the start: a part
/// of a path must not be `.` or `..`. A part that is too long continues in the next one after a `=`.
fn escape(part: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    for (at, byte) in part.bytes().enumerate() {
        let stays = byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_') || (byte == b'.' && at > 0);
        let text = if stays { char::from(byte).to_string() } else { format!("={byte:02x}") };
        match parts.last_mut() {
            Some(last) if last.len() + text.len() < LONGEST => last.push_str(&text),
            last => {
                last.into_iter().for_each(|last| last.push('='));
                // A dot at the start of a part would be a part of its own.
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

/// The key of an object; `None` if floe did not make this object.
pub(super) fn key_of(prefix: &Path, path: &Path) -> Option<String> {
    let parts: Vec<_> = path.prefix_match(prefix)?.map(|part| part.as_ref().to_owned()).collect();
    let parts = parts.join("/").replace("=/", "");
    let key = parts.split('/').map(unescape).collect::<Option<Vec<String>>>()?.join("/");
    // floe would write this key in another way, so the object is not floe's.
    (path_of(prefix, &key) == *path).then_some(key)
}
