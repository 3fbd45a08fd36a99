//! The few statements that a ticket server's users and their libraries send.
//!
//! Everything else is [`Statement::Other`]: this is no SQL parser. Names and texts are given as in the query, without
//! their quotes. An escape in one makes its statement `Other`.
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

/// A statement, and how many `?` parameters it has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parsed<'a> {
    /// The statement.
    pub statement: Statement<'a>,
    /// How many parameters it has. Zero for `Other`.
    pub parameters: usize,
}

/// A statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Statement<'a> {
    /// `INSERT INTO t (stub) VALUES ('a'), ('b')`, `REPLACE …`, and the forms without columns or with `SET stub = 'a'`.
    /// No row gives a number: a request for a certain ID is not served (`0` means the next one, as in MySQL).
    Insert {
        /// The table.
        table: Table<'a>,
        /// How many rows, at least one.
        rows: usize,
        /// Whether it is a `REPLACE`, which counts two rows for each row that it replaced.
        replace: bool,
    },
    /// `SELECT` of a list without a table, or `FROM DUAL`.
    Select {
        /// The items, at least one and at most [`MOST`].
        items: Vec<Item<'a>>,
        /// The row limit. A list without a table has one row.
        limit: Option<u64>,
    },
    /// `SET` of a session's variables, names, character sets, or a transaction's properties. Not of passwords, roles,
    /// global variables, or variables that decide which IDs come next.
    Set {
        /// The new value of `autocommit`, if it is set.
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
    /// The list of tables, as ActiveRecord asks `information_schema` for it.
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
    /// Only comments: error 1065 in MySQL.
    Empty,
    /// Any other statement: error 1064. It holds the query from the first word that floe does not understand.
    Other(&'a [u8]),
}

/// A table's name, and its database's name if given.
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
    /// The item's value.
    pub value: Expression<'a>,
    /// Whether the item only asks for `IS NULL` (true) or `IS NOT NULL` (false).
    pub is_null: Option<bool>,
    /// The column's name: the alias, or the item as written in the query.
    pub name: &'a [u8],
}

/// The value of a `SELECT` item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expression<'a> {
    /// `@@name`, `@@session.name`, `@@global.name`: the name as the query writes it, in either case.
    Variable(&'a [u8]),
    /// `name()`, without arguments: `LAST_INSERT_ID`, `DATABASE`, …
    Function(&'a [u8]),
    /// A number without a sign, or a sum of them.
    Integer(u64),
    /// A text.
    Text(&'a [u8]),
    /// NULL; and `CONVERT_TZ` of three texts, which is NULL if no time zones are loaded.
    Null,
    /// `?`.
    Parameter,
}

/// The variables to show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Which<'a> {
    /// All.
    All,
    /// `LIKE 'pattern'`.
    Like(&'a [u8]),
    /// `WHERE Variable_name = 'a' OR Variable_name IN ('b', 'c')`, at most [`MOST`] of them. `LIKE` counts as `=` only
    /// if its pattern is plain.
    Named(Vec<&'a [u8]>),
}

/// The most items that one `SELECT` or `SHOW VARIABLES` may name. A statement with more is `Other`.
pub const MOST: usize = 64;

/// A query's statements, separated by `;`. The query's length bounds the cost.
#[must_use]
pub fn statements(query: &[u8]) -> Statements<'_> {
    Statements { words: Words::new(query), began: false }
}

/// The statements after a [`Place`] in the same query.
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

/// A query's statements.
#[derive(Clone, Debug)]
pub struct Statements<'a> {
    words: Words<'a>,
    began: bool,
}

impl Statements<'_> {
    /// The start of the next statement.
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
        // Nothing needs to follow the last `;`. A query without any word is one empty statement.
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

/// Settings that a client cannot change: they decide which IDs come next, or they affect other clients.
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

/// Reads one statement. `None` means that floe does not know it.
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

    /// The rest of a list after its `(`: its length, possibly zero.
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

    /// A value in a row. It must not be an ID.
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

    /// The rest of ActiveRecord's query for tables.
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

    /// The rest of ActiveRecord's query for a primary key.
    fn primary_key(&mut self) -> Option<Statement<'a>> {
        self.phrase("FROM information_schema.statistics WHERE index_name = 'PRIMARY'").then_some(())?;
        self.phrase("AND table_schema = database() AND table_name =").then_some(())?;
        let table = self.text()?;
        self.phrase("ORDER BY seq_in_index").then_some(Statement::PrimaryKey(table))
    }

    /// These words and signs, in this order.
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

    /// The rest of a `SET` up to the statement's end, without settings that it would be a lie to accept.
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
                // `_` matches any character, also itself. `%` would match more than one variable.
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

/// A number of at most 64 bits; `None` if it is larger.
fn integer(digits: &[u8]) -> Option<u64> {
    str::from_utf8(digits).ok()?.parse().ok()
}

#[cfg(test)]
mod tests;
