//! The few statements that users of a ticket server, and the libraries under them, send.
//!
//! Anything else is [`Statement::Other`]: this is no parser of SQL. Names and texts are given as they stand in the
//! query, without their quotes; one that has an escape in it makes its statement `Other`.
//!
//! # Example
//! ```
//! use floe_wire::mysql::sql::{Statement, statements};
//!
//! let mut read = statements(b"REPLACE INTO Tickets64 (stub) VALUES ('a'); SELECT LAST_INSERT_ID()");
//! let Some(Statement::Insert { table, rows, .. }) = read.next().map(|parsed| parsed.statement) else { panic!() };
//! assert_eq!((table.name, rows), (&b"Tickets64"[..], 1));
//! assert!(matches!(read.next().map(|parsed| parsed.statement), Some(Statement::Select { .. })));
//! assert!(read.next().is_none());
//! ```

use self::words::{Word, Words};

mod words;

/// A statement, and how many `?` stand in it for parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parsed<'a> {
    /// What it asks for.
    pub statement: Statement<'a>,
    /// Its parameters. Zero for `Other`.
    pub parameters: usize,
}

/// What a statement asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Statement<'a> {
    /// `INSERT INTO t (stub) VALUES ('a'), ('b')`, `REPLACE …`, and the forms without columns or with `SET stub = 'a'`.
    /// No row gives a number: who wants a certain ID is not served (`0` stands for the next one, as in MySQL).
    Insert {
        /// The table.
        table: Table<'a>,
        /// How many rows, at least one.
        rows: usize,
        /// Whether it is a `REPLACE`, which counts two rows for each that it replaced.
        replace: bool,
    },
    /// `SELECT` of a list without a table, or `FROM DUAL`.
    Select {
        /// What is asked for, at least one and at most [`MOST`].
        items: Vec<Item<'a>>,
        /// At most so many rows; a list without a table has one.
        limit: Option<u64>,
    },
    /// `SET` of a session's variables, names, character sets, or a transaction's properties; not of passwords, roles,
    /// global variables, and those that decide which IDs come next.
    Set {
        /// What it says of `autocommit`, if anything.
        autocommit: Option<bool>,
    },
    /// `USE database`.
    Use(&'a [u8]),
    /// `BEGIN` or `START TRANSACTION`.
    Begin,
    /// `COMMIT`.
    Commit,
    /// `ROLLBACK` of the whole transaction.
    Rollback,
    /// `SHOW VARIABLES`.
    ShowVariables(Which<'a>),
    /// `SHOW WARNINGS`.
    ShowWarnings,
    /// `SHOW FIELDS FROM t` or `SHOW COLUMNS`, and `DESCRIBE t`.
    ShowFields {
        /// The table.
        table: Table<'a>,
        /// `SHOW FULL FIELDS`, which has three columns more.
        full: bool,
    },
    /// Which tables there are, as ActiveRecord asks `information_schema` for it.
    Tables {
        /// Only the table of this name.
        named: Option<&'a [u8]>,
    },
    /// The columns of a table's primary key, as ActiveRecord asks `information_schema` for them.
    PrimaryKey(&'a [u8]),
    /// `ALTER TABLE t AUTO_INCREMENT = n`.
    Raise {
        /// The table.
        table: Table<'a>,
        /// The next ID is to be at least this.
        next: u64,
    },
    /// Nothing but comments: error 1065 in MySQL.
    Empty,
    /// Anything else: error 1064. It holds the query from the word on at which the statement became so.
    Other(&'a [u8]),
}

/// A table's name, and its database's where that was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Table<'a> {
    /// `db` of `db.table`.
    pub database: Option<&'a [u8]>,
    /// `table`.
    pub name: &'a [u8],
}

/// One item of a `SELECT`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Item<'a> {
    /// What is asked for.
    pub value: Expression<'a>,
    /// Whether only that is asked for: `IS NULL` (true), `IS NOT NULL` (false).
    pub is_null: Option<bool>,
    /// What the column is called: the alias, or the item as it stands in the query.
    pub name: &'a [u8],
}

/// What an item of a `SELECT` asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expression<'a> {
    /// `@@name`, `@@session.name`, `@@global.name`: the name as it stands there, in capitals or not.
    Variable(&'a [u8]),
    /// `name()`, without arguments: `LAST_INSERT_ID`, `DATABASE`, …
    Function(&'a [u8]),
    /// A number without a sign, or a sum of them.
    Integer(u64),
    /// A text.
    Text(&'a [u8]),
    /// NULL, and `CONVERT_TZ` of three texts, which is NULL where no time zones are loaded.
    Null,
    /// `?`.
    Parameter,
}

/// Which variables are shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Which<'a> {
    /// All.
    All,
    /// `LIKE 'pattern'`.
    Like(&'a [u8]),
    /// `WHERE Variable_name = 'a' OR Variable_name IN ('b', 'c')`, at most [`MOST`] of them; `LIKE` is taken for `=`
    /// only where its pattern is plain.
    Named(Vec<&'a [u8]>),
}

/// The most items that a `SELECT` or a `SHOW VARIABLES` names. A statement with more is `Other`.
pub const MOST: usize = 64;

/// The statements of a query, which `;` divides. What it costs is bounded by the query's length.
#[must_use]
pub fn statements(query: &[u8]) -> Statements<'_> {
    Statements { words: Words::new(query), began: false }
}

/// The statements of the same query that follow a [`Place`] in it.
#[must_use]
pub fn statements_from(query: &[u8], place: Place) -> Statements<'_> {
    Statements { words: Words::resume(query, place.at, place.executable), began: place.began }
}

/// A place between two statements of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    at: usize,
    executable: bool,
    began: bool,
}

/// The statements of a query.
#[derive(Clone, Debug)]
pub struct Statements<'a> {
    words: Words<'a>,
    began: bool,
}

impl Statements<'_> {
    /// Where the next statement begins.
    #[must_use]
    pub fn place(&self) -> Place {
        Place { at: self.words.position(), executable: self.words.is_executable(), began: self.began }
    }

    /// Whether another statement follows.
    #[must_use]
    pub fn has_more(&self) -> bool {
        let mut words = self.words;
        !(self.began && words.peek() == Word::End)
    }
}

impl<'a> Iterator for Statements<'a> {
    type Item = Parsed<'a>;

    fn next(&mut self) -> Option<Parsed<'a>> {
        // Behind the last `;` nothing need stand; a query without any word is one empty statement.
        if self.words.peek() == Word::End && std::mem::replace(&mut self.began, true) {
            return None;
        }
        self.began = true;
        let mut reader = Reader { words: self.words, parameters: 0 };
        let statement = reader.statement();
        let parsed = match statement {
            Some(statement) if reader.at_end() => {
                self.words = reader.words;
                Parsed { statement, parameters: reader.parameters }
            }
            _ => Parsed { statement: Statement::Other(reader.words.left()), parameters: 0 },
        };
        while !matches!(self.words.next(), Word::End | Word::Sign(b';')) {}
        Some(parsed)
    }
}

/// What a client can not set: which IDs come next, and what holds for others.
const SETTLED: [&str; 8] = [
    "AUTO_INCREMENT_INCREMENT",
    "AUTO_INCREMENT_OFFSET",
    "INSERT_ID",
    "LAST_INSERT_ID",
    "IDENTITY",
    "GLOBAL",
    "PERSIST",
    "PERSIST_ONLY",
];

/// Reads one statement. `None` is what floe does not know.
struct Reader<'a> {
    words: Words<'a>,
    parameters: usize,
}

impl<'a> Reader<'a> {
    fn statement(&mut self) -> Option<Statement<'a>> {
        let first = match self.words.peek() {
            Word::End | Word::Sign(b';') => return Some(Statement::Empty),
            Word::Plain(word) => word,
            _ => return None,
        };
        self.words.next();
        let is = |keyword: &str| first.eq_ignore_ascii_case(keyword.as_bytes());
        if is("REPLACE") || is("INSERT") {
            self.insert(is("REPLACE"))
        } else if is("SELECT") {
            self.select()
        } else if is("SET") {
            self.set()
        } else if is("USE") {
            self.name().map(Statement::Use)
        } else if is("BEGIN") {
            self.any(&["WORK"]);
            Some(Statement::Begin)
        } else if is("START") {
            self.keyword("TRANSACTION").then_some(())?;
            while self.any(&["READ", "WRITE", "ONLY", "WITH", "CONSISTENT", "SNAPSHOT"]) || self.sign(b',') {}
            Some(Statement::Begin)
        } else if is("COMMIT") {
            self.any(&["WORK"]);
            Some(Statement::Commit)
        } else if is("ROLLBACK") {
            self.any(&["WORK"]);
            Some(Statement::Rollback)
        } else if is("SHOW") {
            self.show()
        } else if is("DESCRIBE") || is("DESC") {
            Some(Statement::ShowFields { table: self.table()?, full: false })
        } else if is("ALTER") {
            self.keyword("TABLE").then_some(())?;
            let table = self.table()?;
            self.keyword("AUTO_INCREMENT").then_some(())?;
            self.sign(b'=');
            Some(Statement::Raise { table, next: self.number()? })
        } else {
            None
        }
    }

    fn insert(&mut self, replace: bool) -> Option<Statement<'a>> {
        while self.any(&["LOW_PRIORITY", "DELAYED", "HIGH_PRIORITY", "IGNORE"]) {}
        self.keyword("INTO");
        let table = self.table()?;
        if self.keyword("SET") {
            loop {
                self.name()?;
                self.sign(b'=').then_some(())?;
                self.cell()?;
                if !self.sign(b',') {
                    return Some(Statement::Insert { table, rows: 1, replace });
                }
            }
        }
        let columns =
            if self.sign(b'(') { Some(self.list(|reader| reader.name().map(|_| ()))?) } else { None };
        self.any(&["VALUES", "VALUE"]).then_some(())?;
        let mut rows = 0_usize;
        loop {
            self.sign(b'(').then_some(())?;
            let cells = self.list(Self::cell)?;
            if columns.is_some_and(|columns| columns != cells) {
                return None;
            }
            rows = rows.checked_add(1)?;
            if !self.sign(b',') {
                return Some(Statement::Insert { table, rows, replace });
            }
        }
    }

    /// What is left of a list behind its `(`: how many there are, none included.
    fn list(&mut self, one: impl Fn(&mut Self) -> Option<()>) -> Option<usize> {
        if self.sign(b')') {
            return Some(0);
        }
        let mut count = 0_usize;
        loop {
            one(self)?;
            count = count.checked_add(1)?;
            if self.sign(b')') {
                return Some(count);
            }
            self.sign(b',').then_some(())?;
        }
    }

    /// A value in a row, which must not be an ID.
    fn cell(&mut self) -> Option<()> {
        match self.words.next() {
            Word::Text(_) => Some(()),
            Word::Sign(b'?') => {
                self.parameters = self.parameters.checked_add(1)?;
                Some(())
            }
            Word::Number(digits) => digits.iter().all(|digit| *digit == b'0').then_some(()),
            Word::Plain(word) => (equal(word, "NULL") || equal(word, "DEFAULT")).then_some(()),
            _ => None,
        }
    }

    fn select(&mut self) -> Option<Statement<'a>> {
        if self.keyword("TABLE_NAME") {
            return self.tables();
        }
        if self.keyword("COLUMN_NAME") {
            return self.primary_key();
        }
        let mut items = Vec::new();
        loop {
            if items.len() == MOST {
                return None;
            }
            items.push(self.item()?);
            if !self.sign(b',') {
                break;
            }
        }
        if self.keyword("FROM") && !self.keyword("DUAL") {
            return None;
        }
        let limit = if self.keyword("LIMIT") { Some(self.number()?) } else { None };
        Some(Statement::Select { items, limit })
    }

    fn item(&mut self) -> Option<Item<'a>> {
        let start = self.words.begin();
        let value = match self.words.next() {
            Word::Sign(b'@') => {
                self.sign(b'@').then_some(())?;
                let first = self.name()?;
                let scope = ["SESSION", "GLOBAL", "LOCAL"].iter().any(|scope| equal(first, scope));
                let scoped = scope && self.sign(b'.');
                Expression::Variable(if scoped { self.name()? } else { first })
            }
            Word::Number(digits) => {
                let mut sum = integer(digits)?;
                while self.sign(b'+') {
                    sum = sum.checked_add(self.number()?)?;
                }
                Expression::Integer(sum)
            }
            Word::Text(text) => Expression::Text(text),
            Word::Sign(b'?') => {
                self.parameters = self.parameters.checked_add(1)?;
                Expression::Parameter
            }
            Word::Plain(word) if equal(word, "NULL") => Expression::Null,
            Word::Plain(word) => {
                self.sign(b'(').then_some(())?;
                if equal(word, "CONVERT_TZ") {
                    (self.list(|reader| reader.text().map(|_| ()))? == 3).then_some(Expression::Null)?
                } else {
                    self.sign(b')').then_some(Expression::Function(word))?
                }
            }
            _ => return None,
        };
        let is_null = if self.keyword("IS") {
            let not = self.keyword("NOT");
            self.keyword("NULL").then_some(Some(!not))?
        } else {
            None
        };
        let written = self.words.between(start, self.words.position());
        let explicit = self.keyword("AS");
        let alias = match self.words.peek() {
            Word::Quoted(name) | Word::Text(name) => Some(name),
            Word::Plain(name) if explicit || !(equal(name, "FROM") || equal(name, "LIMIT")) => Some(name),
            _ => None,
        };
        if alias.is_some() {
            self.words.next();
        } else if explicit {
            return None;
        }
        let plain = if let Expression::Text(text) = value { text } else { written };
        let plain = if is_null.is_some() { written } else { plain };
        Some(Item { value, is_null, name: alias.unwrap_or(plain) })
    }

    /// What is left of ActiveRecord's question for tables.
    fn tables(&mut self) -> Option<Statement<'a>> {
        self.phrase("FROM (SELECT table_name, table_type FROM information_schema.tables").then_some(())?;
        self.phrase("WHERE table_schema = database()) _subquery").then_some(())?;
        let mut named = None;
        if self.keyword("WHERE") {
            loop {
                self.phrase("_subquery.").then_some(())?;
                if self.keyword("TABLE_TYPE") {
                    self.phrase("= 'BASE TABLE'").then_some(())?;
                } else {
                    self.phrase("table_name =").then_some(())?;
                    named = Some(self.text()?);
                }
                if !self.keyword("AND") {
                    break;
                }
            }
        }
        Some(Statement::Tables { named })
    }

    /// What is left of ActiveRecord's question for a primary key.
    fn primary_key(&mut self) -> Option<Statement<'a>> {
        self.phrase("FROM information_schema.statistics WHERE index_name = 'PRIMARY'").then_some(())?;
        self.phrase("AND table_schema = database() AND table_name =").then_some(())?;
        let table = self.text()?;
        self.phrase("ORDER BY seq_in_index").then_some(Statement::PrimaryKey(table))
    }

    /// These words and signs, one after the other.
    fn phrase(&mut self, phrase: &str) -> bool {
        let mut wanted = Words::new(phrase.as_bytes());
        loop {
            let same = match (wanted.next(), self.words.peek()) {
                (Word::End, _) => return true,
                (Word::Plain(wanted), Word::Plain(found)) => wanted.eq_ignore_ascii_case(found),
                (wanted, found) => wanted == found,
            };
            if !same {
                return false;
            }
            self.words.next();
        }
    }

    /// Everything up to the statement's end, save what would be a lie to accept.
    fn set(&mut self) -> Option<Statement<'a>> {
        let mut autocommit = None;
        if self.any(&["PASSWORD", "ROLE", "DEFAULT", "RESOURCE"]) {
            return None;
        }
        let mut words = 0_usize;
        while !self.at_end() {
            words += 1;
            match self.words.next() {
                Word::Plain(word) | Word::Quoted(word) if equal(word, "AUTOCOMMIT") => {
                    self.sign(b':');
                    if self.sign(b'=') {
                        autocommit = Some(self.switch()?);
                    }
                }
                Word::Sign(b'?') => self.parameters = self.parameters.checked_add(1)?,
                Word::Plain(word) | Word::Quoted(word) if SETTLED.iter().any(|name| equal(word, name)) => {
                    return None;
                }
                Word::Bad => return None,
                _ => {}
            }
        }
        (words > 0).then_some(Statement::Set { autocommit })
    }

    fn switch(&mut self) -> Option<bool> {
        match self.words.next() {
            Word::Number(b"1") => Some(true),
            Word::Number(b"0") => Some(false),
            Word::Plain(word) | Word::Text(word) if equal(word, "ON") || equal(word, "TRUE") => Some(true),
            Word::Plain(word) | Word::Text(word) if equal(word, "OFF") || equal(word, "FALSE") => Some(false),
            _ => None,
        }
    }

    fn show(&mut self) -> Option<Statement<'a>> {
        if self.keyword("WARNINGS") {
            if self.keyword("LIMIT") {
                self.number()?;
            }
            return Some(Statement::ShowWarnings);
        }
        let full = self.keyword("FULL");
        if self.any(&["FIELDS", "COLUMNS"]) {
            self.any(&["FROM", "IN"]).then_some(())?;
            return Some(Statement::ShowFields { table: self.table()?, full });
        }
        if full {
            return None;
        }
        self.any(&["SESSION", "GLOBAL", "LOCAL"]);
        self.keyword("VARIABLES").then_some(())?;
        if self.keyword("LIKE") {
            return Some(Statement::ShowVariables(Which::Like(self.text()?)));
        }
        if !self.keyword("WHERE") {
            return Some(Statement::ShowVariables(Which::All));
        }
        let mut names = Vec::new();
        loop {
            equal(self.name()?, "Variable_name").then_some(())?;
            if self.keyword("IN") {
                self.sign(b'(').then_some(())?;
                loop {
                    names.push(self.text()?);
                    if !self.sign(b',') {
                        break;
                    }
                }
                self.sign(b')').then_some(())?;
            } else if self.keyword("LIKE") {
                // `_` stands for any character, itself included; `%` would name more than one variable.
                names.push(self.text().filter(|pattern| !pattern.contains(&b'%'))?);
            } else {
                self.sign(b'=').then_some(())?;
                names.push(self.text()?);
            }
            if names.len() > MOST {
                return None;
            }
            if !self.keyword("OR") {
                return Some(Statement::ShowVariables(Which::Named(names)));
            }
        }
    }

    fn table(&mut self) -> Option<Table<'a>> {
        let first = self.name()?;
        Some(if self.sign(b'.') {
            Table { database: Some(first), name: self.name()? }
        } else {
            Table { database: None, name: first }
        })
    }

    fn name(&mut self) -> Option<&'a [u8]> {
        match self.words.next() {
            Word::Plain(name) => Some(name),
            Word::Quoted(name) => Some(name).filter(|name| !name.is_empty()),
            _ => None,
        }
    }

    fn text(&mut self) -> Option<&'a [u8]> {
        if let Word::Text(text) = self.words.next() { Some(text) } else { None }
    }

    fn number(&mut self) -> Option<u64> {
        if let Word::Number(digits) = self.words.next() { integer(digits) } else { None }
    }

    fn sign(&mut self, sign: u8) -> bool {
        let next = self.words.peek() == Word::Sign(sign);
        if next {
            self.words.next();
        }
        next
    }

    fn any(&mut self, keywords: &[&str]) -> bool {
        let next =
            matches!(self.words.peek(), Word::Plain(word) if keywords.iter().any(|key| equal(word, key)));
        if next {
            self.words.next();
        }
        next
    }

    fn keyword(&mut self, keyword: &str) -> bool {
        self.any(&[keyword])
    }

    fn at_end(&mut self) -> bool {
        matches!(self.words.peek(), Word::End | Word::Sign(b';'))
    }
}

fn equal(word: &[u8], keyword: &str) -> bool {
    word.eq_ignore_ascii_case(keyword.as_bytes())
}

/// A number of at most 64 bits; `None` beyond.
fn integer(digits: &[u8]) -> Option<u64> {
    str::from_utf8(digits).ok()?.parse().ok()
}

#[cfg(test)]
mod tests;
