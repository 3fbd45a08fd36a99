//! The frames of HTTP/2 that clients of the attack write: those who read nothing, and an honest one over gRPC.

/// Types of frames.
pub(crate) const DATA: u8 = 0;
pub(crate) const HEADERS: u8 = 1;
pub(crate) const RESET: u8 = 3;
pub(crate) const SETTINGS: u8 = 4;
pub(crate) const PING: u8 = 6;
pub(crate) const GOAWAY: u8 = 7;

/// Flags of frames.
pub(crate) const ACK: u8 = 1;
pub(crate) const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

/// The beginning of a connection whose client reads this many bytes of each answer, and no more unless it says so.
pub(crate) fn preface(window: u32) -> Vec<u8> {
    let mut says = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    says.extend(frame(SETTINGS, 0, 0, &[&[0, 4][..], &window.to_be_bytes()].concat()));
    says
}

/// One frame.
pub(crate) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap_or_default().to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// A call of gRPC with one message.
pub(crate) fn call(stream: u32, path: &str, token: Option<&str>, message: &[u8]) -> Vec<u8> {
    // :method POST and :scheme http of the static table, then literals.
    let mut header = [&[0x83, 0x86][..], &[0x04], &text(path), &[0x01], &text("x")].concat();
    header.extend([&[0x0f, 0x10][..], &text("application/grpc")].concat());
    header.extend([&[0x00][..], &text("te"), &text("trailers")].concat());
    if let Some(token) = token {
        header.extend([&[0x00][..], &text("authorization"), &text(&format!("Bearer {token}"))].concat());
    }
    let length = u32::try_from(message.len()).unwrap_or_default().to_be_bytes();
    let body = [&[0][..], &length, message].concat();
    [frame(HEADERS, END_HEADERS, stream, &header), frame(DATA, END_STREAM, stream, &body)].concat()
}

/// A `GET`.
pub(crate) fn get(stream: u32, path: &str) -> Vec<u8> {
    // :method GET and :scheme http of the static table, then literals.
    let header = [&[0x82, 0x86][..], &[0x04], &text(path), &[0x01], &text("x")].concat();
    frame(HEADERS, END_HEADERS | END_STREAM, stream, &header)
}

/// A `POST` whose header has a field of so many bytes, and whose body never comes.
pub(crate) fn begin(stream: u32, path: &str, bytes: usize) -> Vec<u8> {
    // :method POST and :scheme http of the static table, then literals.
    let header = [&[0x83, 0x86][..], &[0x04], &text(path), &[0x01], &text("x"), &[0x00], &text("x")].concat();
    // A length over 126 goes on with seven bits in each byte (RFC 7541, section 5.1).
    let mut left = bytes.saturating_sub(127);
    let mut field = vec![127];
    while left > 127 {
        field.push(0x80 | u8::try_from(left % 128).unwrap_or_default());
        left /= 128;
    }
    field.push(u8::try_from(left).unwrap_or_default());
    field.resize(field.len() + bytes, b'y');
    frame(HEADERS, END_HEADERS, stream, &[header, field].concat())
}

/// A literal of HPACK, at most 126 bytes long.
fn text(text: &str) -> Vec<u8> {
    [&[u8::try_from(text.len()).unwrap_or_default()], text.as_bytes()].concat()
}
