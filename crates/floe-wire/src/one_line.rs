//! Text in a reply that a line end ends. An error may quote a client's bytes, which must not begin another reply.

/// Appends the text with each line end written as a space, as Redis writes its errors.
pub(crate) fn extend(output: &mut Vec<u8>, text: &str) {
    output.extend(text.bytes().map(|byte| if matches!(byte, b'\r' | b'\n') { b' ' } else { byte }));
}
