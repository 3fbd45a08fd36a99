//! Which words no text may contain, found without looking for each.

use alloc::{boxed::Box, collections::BTreeMap, string::String, vec::Vec};

/// The words by their first three characters. In small letters.
#[derive(Clone, Debug)]
pub(in super::super) struct Blocklist {
    words: BTreeMap<[u8; 3], Vec<String>>,
    /// A bit for each beginning that some word has, at [`place`] of it: what most texts need to be cleared.
    beginnings: Box<[u64; BEGINNINGS / 64]>,
}

const BEGINNINGS: usize = 1 << 14;

/// The default list.
pub(in super::super) fn default() -> impl Iterator<Item = &'static str> {
    let lines = include_str!("blocklist.txt").lines().filter(|line| !line.starts_with('#'));
    lines.flat_map(str::split_ascii_whitespace)
}

impl Blocklist {
    /// Of words of at least three characters of ASCII.
    pub(super) fn new(words: impl Iterator<Item = String>) -> Self {
        let mut list = Self { words: BTreeMap::new(), beginnings: Box::new([0; BEGINNINGS / 64]) };
        for word in words {
            if let Some(beginning) = word.as_bytes().first_chunk() {
                let place = place(*beginning);
                list.beginnings[place / 64] |= 1 << (place % 64);
                list.words.entry(*beginning).or_default().push(word);
            }
        }
        list
    }

    /// Whether a word stands in `text` where it may not: a word with a digit at the beginning or the end, one of three
    /// characters, or in a text of three, as the whole, any other anywhere.
    pub(super) fn forbids(&self, text: &[u8]) -> bool {
        text.windows(3).enumerate().any(|(at, beginning)| {
            let beginning: [u8; 3] =
                [beginning[0], beginning[1], beginning[2]].map(|byte| byte.to_ascii_lowercase());
            let place = place(beginning);
            self.beginnings[place / 64] >> (place % 64) & 1 == 1 && self.forbids_at(text, at, beginning)
        })
    }

    #[cold]
    fn forbids_at(&self, text: &[u8], at: usize, beginning: [u8; 3]) -> bool {
        let rest = &text[at..];
        self.words.get(&beginning).into_iter().flatten().any(|word| {
            let there = rest.get(..word.len()).is_some_and(|part| part.eq_ignore_ascii_case(word.as_bytes()));
            let (first, last) = (at == 0, word.len() == rest.len());
            there
                && if text.len() <= 3 || word.len() <= 3 {
                    first && last
                } else if word.bytes().any(|byte| byte.is_ascii_digit()) {
                    first || last
                } else {
                    true
                }
        })
    }
}

fn place(beginning: [u8; 3]) -> usize {
    let [first, second, third] = beginning.map(u32::from);
    let spread = (first | second << 8 | third << 16).wrapping_mul(0x9e37_79b1);
    (spread >> (u32::BITS - BEGINNINGS.ilog2())) as usize
}
