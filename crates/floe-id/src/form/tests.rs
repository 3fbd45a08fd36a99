//! Forms against their specifications, the libraries that others use, and texts that nobody should send.

mod digits;
mod hashids;
mod hostile;
mod sealed;
mod sqids;
mod text;
mod type_id;

use super::*;

fn form(text: &str) -> Form {
    text.parse::<Form>().unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// What `form` writes for `number`, which has to be what it reads back.
fn encode(form: &Form, number: u128) -> String {
    let mut buffer = Buffer::new();
    let text = form.encode(number, &mut buffer).unwrap().to_owned();
    assert!(text.len() <= form.max_bytes(), "{form}: {text}");
    assert_eq!(form.decode(&text), Ok(number), "{form}: {text}");
    text
}

/// Keys 0 to 3, which differ in every byte.
fn keys() -> Keys {
    (0..4_u8).fold(Keys::new(), |keys, id| {
        let key = [0; 16].map(|_: u8| 0x11 * (id + 1));
        keys.with(KeyId::new(id.into()), Key::from(key)).unwrap()
    })
}
