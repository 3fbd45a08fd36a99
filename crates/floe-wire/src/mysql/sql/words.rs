//! Cuts SQL into words: names, texts, numbers and signs, without spaces and comments.

/// A piece of SQL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word<'a> {
    /// A name or a keyword.
    Plain(&'a [u8]),
    /// A name in backquotes, without them.
    Quoted(&'a [u8]),
    /// A text, without its quotes.
    Text(&'a [u8]),
    /// Digits.
    Number(&'a [u8]),
    /// Any other character.
    Sign(u8),
    /// SQL that floe does not read: an open quote or comment, an escape in a text, a number that continues as a name.
    Bad,
    /// The end.
    End,
}

/// SQL, and how far it has been read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Words<'a> {
    text: &'a [u8],
    at: usize,
    /// The start of the last word taken.
    last: usize,
    /// Inside a comment that MySQL executes.
    executable: bool,
    /// The next word if it was peeked, with the position and the comment state after it.
    ahead: Option<(Word<'a>, usize, bool)>,
}

impl<'a> Words<'a> {
    pub(super) fn new(text: &'a [u8]) -> Self {
        Self { text, at: 0, last: 0, executable: false, ahead: None }
    }

    /// The same text, from a position at which no word was peeked.
    pub(super) fn resume(text: &'a [u8], at: usize, executable: bool) -> Self {
        Self { at, last: at, executable, ..Self::new(text) }
    }

    pub(super) fn is_executable(&self) -> bool {
        self.executable
    }

    pub(super) fn position(&self) -> usize {
        self.at
    }

    /// The bytes between two positions.
    pub(super) fn between(&self, start: usize, end: usize) -> &'a [u8] {
        self.text.get(start..end).unwrap_or_default().trim_ascii()
    }

    /// Skips spaces and comments. The next word begins at the result.
    pub(super) fn begin(&mut self) -> usize {
        self.blanks();
        self.at
    }

    /// The rest from the next word if it was peeked, else from the last word taken.
    pub(super) fn left(&self) -> &'a [u8] {
        let at = if self.ahead.is_some() { self.at } else { self.last };
        // Spaces and comments before the word are understood, so they are left out.
        let start = Self { at, ahead: None, ..*self }.begin();
        self.between(start, self.text.len())
    }

    fn rest(&self) -> &'a [u8] {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// The next word. After `Bad`, the rest counts as read.
    pub(super) fn next(&mut self) -> Word<'a> {
        self.last = self.at;
        let Some((word, at, executable)) = self.ahead.take() else { return self.read() };
        self.at = at;
        self.executable = executable;
        word
    }

    /// The next word, without taking it.
    pub(super) fn peek(&mut self) -> Word<'a> {
        if let Some((word, ..)) = self.ahead {
            return word;
        }
        let mut behind = *self;
        let word = behind.read();
        self.ahead = Some((word, behind.at, behind.executable));
        word
    }

    fn read(&mut self) -> Word<'a> {
        if !self.blanks() {
            return self.bad();
        }
        let rest = self.rest();
        let Some(first) = rest.first() else {
            return if self.executable { self.bad() } else { Word::End };
        };
        match first {
            b'\'' | b'"' => self.quoted(*first).map_or(Word::Bad, Word::Text),
            b'`' => self.quoted(b'`').map_or(Word::Bad, Word::Quoted),
            b'0'..=b'9' => {
                let digits = self.run(u8::is_ascii_digit);
                if self.rest().first().is_some_and(in_name) { self.bad() } else { Word::Number(digits) }
            }
            byte if in_name(byte) => Word::Plain(self.run(in_name)),
            sign => {
                self.at += 1;
                Word::Sign(*sign)
            }
        }
    }

    fn bad(&mut self) -> Word<'a> {
        self.at = self.text.len();
        self.executable = false;
        Word::Bad
    }

    fn run(&mut self, of: impl Fn(&u8) -> bool) -> &'a [u8] {
        let rest = self.rest();
        let length = rest.iter().position(|byte| !of(byte)).unwrap_or(rest.len());
        self.at += length;
        rest.get(..length).unwrap_or_default()
    }

    /// The bytes between quotes. A text with an escape or a quote in it would need decoding, and no ticket has one.
    fn quoted(&mut self, quote: u8) -> Option<&'a [u8]> {
        let inside = self.rest().get(1..).unwrap_or_default();
        let end = inside.iter().position(|byte| *byte == quote || (*byte == b'\\' && quote != b'`'));
        let text = end.and_then(|end| inside.split_at_checked(end));
        match text {
            Some((text, [close, after @ ..])) if *close == quote && after.first() != Some(&quote) => {
                self.at += text.len() + 2;
                Some(text)
            }
            _ => {
                self.bad();
                None
            }
        }
    }

    /// Skips spaces and comments; `false` if a comment has no end.
    fn blanks(&mut self) -> bool {
        loop {
            match self.rest() {
                [blank, ..] if blank.is_ascii_whitespace() || *blank == 0x0b => self.at += 1,
                [b'#', ..] => self.line(),
                [b'-', b'-'] => self.line(),
                [b'-', b'-', after, ..] if *after <= b' ' => self.line(),
                [b'/', b'*', b'!', ..] | [b'/', b'*', b'M', b'!', ..] if !self.executable => {
                    self.executable = true;
                    self.at += 3;
                    self.run(|byte| *byte == b'!' || byte.is_ascii_digit());
                }
                [b'/', b'*', comment @ ..] => {
                    let Some(length) = comment.windows(2).position(|pair| pair == b"*/") else {
                        return false;
                    };
                    self.at += length + 4;
                }
                [b'*', b'/', ..] if self.executable => {
                    self.executable = false;
                    self.at += 2;
                }
                _ => return true,
            }
        }
    }

    fn line(&mut self) {
        self.run(|byte| *byte != b'\n');
    }
}

fn in_name(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | 0x80..)
}
