//! Recorded sessions. `>` is what the client sent, `<` what the server sent, `=` a request in the client's line above,
//! `#` where it was recorded. Bytes are escaped as in Rust's byte strings.

/// The bytes that a client sent at once, the requests in them, and the server's answer.
#[derive(Debug, Default)]
pub(crate) struct Turn {
    pub(crate) sent: Vec<u8>,
    pub(crate) requests: Vec<String>,
    pub(crate) answered: Vec<u8>,
}

/// The turns of a session. If the server speaks first, that is the answer of a turn in which nothing was sent.
pub(crate) fn turns(text: &str) -> Vec<Turn> {
    let mut turns: Vec<Turn> = Vec::new();
    for line in text.lines() {
        let (mark, rest) = line.split_once(' ').expect("a mark and a space");
        if mark == ">" || turns.is_empty() && mark == "<" {
            turns.push(Turn::default());
        }
        if mark == "#" {
            continue;
        }
        let turn = turns.last_mut().expect("something was sent");
        match mark {
            ">" => turn.sent = bytes(rest),
            "<" => turn.answered.extend(bytes(rest)),
            _ => turn.requests.push(rest.to_owned()),
        }
    }
    turns
}

fn bytes(escaped: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = escaped.as_bytes();
    while let [first, after @ ..] = rest {
        let (byte, length) = match (first, after) {
            (b'\\', [b'n', ..]) => (b'\n', 2),
            (b'\\', [b'r', ..]) => (b'\r', 2),
            (b'\\', [b'x', high, low, ..]) => {
                let digits = [*high, *low];
                let digits = str::from_utf8(&digits).expect("two digits");
                (u8::from_str_radix(digits, 16).expect("two digits"), 4)
            }
            (b'\\', [other, ..]) => (*other, 2),
            (byte, _) => (*byte, 1),
        };
        bytes.push(byte);
        rest = &rest[length..];
    }
    bytes
}
