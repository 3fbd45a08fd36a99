//! Writes replies as lines. Each function appends one reply to a connection's output.

use crate::one_line;

/// `VALUE <key> 0 <length> [<cas>]` and the value: one for each key of a `get` that has a value, then [`end`].
pub fn value(output: &mut Vec<u8>, key: &[u8], value: &[u8], cas: Option<u64>) {
    output.extend_from_slice(b"VALUE ");
    output.extend_from_slice(key);
    output.extend_from_slice(b" 0 ");
    output.extend_from_slice(itoa::Buffer::new().format(value.len()).as_bytes());
    if let Some(cas) = cas {
        output.push(b' ');
        output.extend_from_slice(itoa::Buffer::new().format(cas).as_bytes());
    }
    output.extend_from_slice(b"\r\n");
    output.extend_from_slice(value);
    output.extend_from_slice(b"\r\n");
}

/// `STAT <name> <value>`: one for each figure of `stats`, then [`end`]. A line end in the value is written as a space.
pub fn stat(output: &mut Vec<u8>, name: &str, value: &str) {
    output.extend_from_slice(b"STAT ");
    one_line::extend(output, name);
    output.push(b' ');
    ended(output, value);
}

/// `END`, after values and figures.
pub fn end(output: &mut Vec<u8>) {
    output.extend_from_slice(b"END\r\n");
}

/// `OK`, to `verbosity`.
pub fn ok(output: &mut Vec<u8>) {
    output.extend_from_slice(b"OK\r\n");
}

/// `VERSION <version>`.
pub fn version(output: &mut Vec<u8>, version: &str) {
    output.extend_from_slice(b"VERSION ");
    ended(output, version);
}

/// `ERROR`: no such command.
pub fn error(output: &mut Vec<u8>) {
    output.extend_from_slice(b"ERROR\r\n");
}

/// `CLIENT_ERROR <message>`: the client must change its request. A line end in the message is written as a space.
pub fn client_error(output: &mut Vec<u8>, message: &str) {
    output.extend_from_slice(b"CLIENT_ERROR ");
    ended(output, message);
}

/// `SERVER_ERROR <message>`: the same request may succeed later. A line end in the message is written as a space.
pub fn server_error(output: &mut Vec<u8>, message: &str) {
    output.extend_from_slice(b"SERVER_ERROR ");
    ended(output, message);
}

fn ended(output: &mut Vec<u8>, text: &str) {
    one_line::extend(output, text);
    output.extend_from_slice(b"\r\n");
}
