//! A floe server's offer of its own ledger to other processes: the calls of [`Ledger`] as JSON, for both sides.
//!
//! The server decides nothing. It opens each realm as the caller asks, executes the call there, and returns the store's
//! answer, errors included. The process that calls is [`served`](crate::served).
//!
//! A question has a `nonce`, which the answer repeats. So if something in between mixes up answers, the caller notices,
//! and takes no other caller's range. The question has the realm's id, which the server compares with its own, and so
//! has the answer. A question with more fields than this floe knows is refused as a whole.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use floe::ledger::{Key, Ledger, LedgerError, Reply, Reserve, Token};
use floe::{Name, UnixMillis};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::opening::{Missing, Sees};
use crate::{OpenError, Opening};

/// How many realms are open at once. One more replaces the one that has not been called for the longest time.
pub(crate) const OPEN: usize = 64;

/// The most items in one answer's list. A caller that wants more asks again.
pub(crate) const PAGE: usize = 250;

/// The longest text of an error, in characters. If servers are chained, each adds to it.
const LONGEST_TEXT: usize = 2_000;

/// A process's question to a server.
#[derive(Serialize, Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct Question {
    /// The question's identity, for the answer.
    pub(crate) nonce: String,
    /// The realm's id. A process that enters the realm does not know it yet.
    pub(crate) realm_id: Option<String>,
    /// How many servers the question passes, including this one: a server on another server's ledger asks for its callers.
    #[serde(default)]
    pub(crate) servers: u8,
    pub(crate) call: Call,
}

/// A call of [`Ledger`], by its name there.
#[derive(Serialize, Deserialize, Debug)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Call {
    /// Opens the realm as an [`Opening`] says. The answer has its id.
    Enter {
        missing: Missing,
        realm_id: Option<String>,
        sole: bool,
    },
    Reserve(Wanted),
    Count(Wanted),
    GiveBack {
        key: Text<Key>,
        token: Text<Token>,
        from: u64,
    },
    Bind {
        name: Text<Name>,
        definition: String,
        marked: bool,
    },
    Definition {
        name: Text<Name>,
    },
    Names {
        after: String,
        limit: usize,
    },
    Raise {
        key: Text<Key>,
        at_least: u64,
    },
    List {
        prefix: String,
        after: String,
        limit: usize,
    },
    Clock {},
    InOtherRealms {
        name: Text<Name>,
    },
}

/// A [`Reserve`].
#[derive(Serialize, Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wanted {
    key: Text<Key>,
    floor: u64,
    count: u64,
    max_mark: u64,
    token: Text<Token>,
    create: bool,
    note: Option<String>,
}

/// A server's answer.
#[derive(Serialize, Deserialize, Debug)]
pub(crate) struct Said {
    /// The question's nonce.
    pub(crate) nonce: String,
    /// The id of the realm that answers; `None` if no realm could be opened.
    pub(crate) realm_id: Option<String>,
    pub(crate) answer: Answer,
}

/// The result of a call.
#[derive(Serialize, Deserialize, Debug)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Answer {
    Entered,
    Got { start: u64, end: u64, previous_mark: u64 },
    Refused { mark: u64, note: Option<String> },
    GivenBack(bool),
    Bound(String),
    Definition(Option<String>),
    Names(Vec<(String, String)>),
    Raised(u64),
    Records(Vec<(String, u64, Option<String>)>),
    Clock(Option<i64>),
    Elsewhere(Vec<(String, String, u64)>),
    Unavailable(String),
    Unfit(String),
    Missing(Text<Key>),
    Overflow { key: Text<Key>, mark: u64 },
}

/// A value that is written as a text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Text<T>(pub(crate) T);

pub(crate) trait Written: Sized {
    fn text(&self) -> String;
    /// `None` if no floe has written it.
    fn read(text: &str) -> Option<Self>;
}

impl Written for Key {
    fn text(&self) -> String {
        self.as_str().to_owned()
    }

    fn read(text: &str) -> Option<Self> {
        let key = match Self::parse_slot(text) {
            Some((bits, worker)) => Self::slot(bits, worker),
            None => match (text.strip_prefix(Self::NAMES), text.strip_prefix(Self::CACHES)) {
                (Some(name), _) => Self::name(&Name::of_ledger(name).ok()?),
                (None, id) => Self::cache(&Token::read(id?)?),
            },
        };
        // `s/+10/07` is not another notation for a slot.
        (key.as_str() == text).then_some(key)
    }
}

impl Written for Token {
    fn text(&self) -> String {
        self.hex()
    }

    fn read(text: &str) -> Option<Self> {
        let token = Self::from_bytes(u128::from_str_radix(text, 16).ok()?.to_be_bytes())?;
        (token.hex() == text).then_some(token)
    }
}

impl Written for Name {
    fn text(&self) -> String {
        self.to_string()
    }

    fn read(text: &str) -> Option<Self> {
        Self::of_ledger(text).ok()
    }
}

impl<T: Written> Serialize for Text<T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&self.0.text())
    }
}

impl<'de, T: Written> Deserialize<'de> for Text<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        T::read(&text).map(Self).ok_or_else(|| D::Error::custom("a key, token or name that no floe writes"))
    }
}

impl From<&Reserve> for Wanted {
    fn from(request: &Reserve) -> Self {
        let Reserve { key, floor, count, max_mark, token, create, note } = request.clone();
        Self { key: Text(key), floor, count, max_mark, token: Text(token), create, note }
    }
}

impl From<Wanted> for Reserve {
    fn from(wanted: Wanted) -> Self {
        let Wanted { key: Text(key), floor, count, max_mark, token: Text(token), create, note } = wanted;
        Self { key, floor, count, max_mark, token, create, note }
    }
}

impl From<Reply> for Answer {
    fn from(reply: Reply) -> Self {
        match reply {
            Reply::Got { start, end, previous_mark } => Self::Got { start, end, previous_mark },
            Reply::Refused { mark, note } => Self::Refused { mark, note },
        }
    }
}

impl From<LedgerError> for Answer {
    fn from(error: LedgerError) -> Self {
        match error {
            LedgerError::Unavailable(text) => Self::Unavailable(short(&text)),
            LedgerError::Unfit(text) => Self::Unfit(short(&text)),
            LedgerError::Missing(key) => Self::Missing(Text(key)),
            LedgerError::Overflow { key, mark } => Self::Overflow { key: Text(key), mark },
        }
    }
}

impl Answer {
    /// The answer, or its error.
    ///
    /// # Errors
    /// The error of the store behind the server.
    #[cfg(feature = "served")]
    pub(crate) fn or_error(self) -> Result<Self, LedgerError> {
        Err(match self {
            Self::Unavailable(text) => LedgerError::Unavailable(short(&text)),
            Self::Unfit(text) => LedgerError::Unfit(short(&text)),
            Self::Missing(Text(key)) => LedgerError::Missing(key),
            Self::Overflow { key: Text(key), mark } => LedgerError::Overflow { key, mark },
            answer => return Ok(answer),
        })
    }

    fn outcome(&self) -> &'static str {
        match self {
            Self::Refused { .. } => "refused",
            Self::Unavailable(_) => "unavailable",
            Self::Unfit(_) => "unfit",
            Self::Missing(_) => "missing",
            Self::Overflow { .. } => "overflow",
            _ => "ok",
        }
    }
}

impl Call {
    fn word(&self) -> &'static str {
        match self {
            Self::Enter { .. } => "enter",
            Self::Reserve(_) => "reserve",
            Self::Count(_) => "count",
            Self::GiveBack { .. } => "give_back",
            Self::Bind { .. } => "bind",
            Self::Definition { .. } => "definition",
            Self::Names { .. } => "names",
            Self::Raise { .. } => "raise",
            Self::List { .. } => "list",
            Self::Clock {} => "clock",
            Self::InOtherRealms { .. } => "in_other_realms",
        }
    }
}

/// A text, shortened to an error's longest length.
pub(crate) fn short(text: &str) -> String {
    match text.char_indices().nth(LONGEST_TEXT) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// The ledger of a server, for other processes. Threads may share it.
///
/// ```
/// use floe_ledger::offer::Offer;
///
/// # let dir = tempfile::tempdir()?;
/// # let url = format!("sqlite:{}", dir.path().join("ids.db").display());
/// // url = "sqlite:ids.db"
/// let offer = Offer::new(move |opening| opening.open(&url));
/// let question = br#"{"nonce":"1","call":{"enter":{"missing":"make","sole":false}}}"#;
/// let answered = offer.answer("shop", |_| true, question)?;
/// assert_eq!((answered.call, answered.outcome), ("enter", "ok"));
/// assert!(answered.body.starts_with(br#"{"nonce":"1","realm_id":""#));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Offer {
    open: Box<Open>,
    /// The open realms, the most recently called first.
    realms: Mutex<Vec<Arc<Realm>>>,
}

type Open = dyn Fn(&Opening) -> Result<Box<dyn Ledger>, OpenError> + Send + Sync;

struct Realm {
    name: String,
    id: String,
    /// The number in its [`Opening`], which its ledger also sends to other servers.
    servers: u8,
    ledger: Box<dyn Ledger>,
}

/// The answer to a question.
#[derive(Debug)]
pub struct Answered {
    /// The answer, in JSON.
    pub body: Vec<u8>,
    /// The call of [`Ledger`], in snake case, or `enter`.
    pub call: &'static str,
    /// Its result: `ok`, `refused` (the mark is too high), `unavailable`, `unfit`, `missing` or `overflow`.
    pub outcome: &'static str,
}

impl fmt::Debug for Offer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Offer").finish_non_exhaustive()
    }
}

impl Offer {
    /// An offer of a store. `open` opens one realm of it. [`Offer`] has an example.
    pub fn new(
        open: impl Fn(&Opening) -> Result<Box<dyn Ledger>, OpenError> + Send + Sync + 'static,
    ) -> Self {
        Self { open: Box::new(open), realms: Mutex::default() }
    }

    /// Answers a question in `realm`. Blocks as long as the store does. It names other realms only if the caller `sees`
    /// them. [`Offer`] has an example.
    ///
    /// # Errors
    /// Why this is no question; nothing was done. An error of the store is an answer.
    pub fn answer(
        &self,
        realm: &str,
        sees: impl Fn(&str) -> bool + Send + Sync + 'static,
        question: &[u8],
    ) -> Result<Answered, String> {
        let sees = Sees(Arc::new(sees));
        let Question { nonce, realm_id, servers, call } = serde_json::from_slice(question).map_err(|error| {
            format!(
                "this is not a call of a ledger ({}): a process of another version may send calls that this floe does not know",
                short(&error.to_string())
            )
        })?;
        let word = call.word();
        let asked = match (call, &realm_id) {
            (Call::Enter { missing, realm_id, sole }, None) => {
                let (realm, sees) = (realm.to_owned(), Some(sees));
                let opening = Opening { realm, missing, pinned: realm_id, sole, servers, sees };
                self.enter(&opening).map(|realm| (realm, Ok(Answer::Entered)))
            }
            (Call::Enter { .. }, Some(_)) | (_, None) => {
                return Err("every call but `enter` has the realm's id, and `enter` has none".to_owned());
            }
            (Call::Names { limit, .. } | Call::List { limit, .. }, _) if limit > PAGE => {
                return Err(format!("one call lists {PAGE} at most: ask again after the last one"));
            }
            (call, Some(id)) => self.realm(realm, id, servers).map(|realm| {
                let answer = carry_out(&*realm.ledger, call, &sees);
                (realm, answer)
            }),
        };
        let (realm_id, answer) = match asked {
            Ok((realm, answer)) => {
                if let Err(LedgerError::Unfit(_)) = &answer {
                    // Close it, so that a store put in its place is opened again.
                    self.realms().retain(|open| !Arc::ptr_eq(open, &realm));
                }
                (Some(realm.id.clone()), answer)
            }
            Err(error) => (None, Err(error)),
        };
        let answer = answer.unwrap_or_else(Answer::from);
        let outcome = answer.outcome();
        let body =
            serde_json::to_vec(&Said { nonce, realm_id, answer }).map_err(|error| error.to_string())?;
        Ok(Answered { body, call: word, outcome })
    }

    fn realms(&self) -> MutexGuard<'_, Vec<Arc<Realm>>> {
        self.realms.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The open realm of that name, if it was opened for this many servers or more; it becomes the most recently called. A
    /// question that passes more servers opens the realm again: in a ring of servers the number then grows until it is refused.
    fn open_one(&self, name: &str, servers: u8) -> Option<Arc<Realm>> {
        let mut realms = self.realms();
        let at = realms.iter().position(|realm| realm.name == name && realm.servers >= servers)?;
        let realm = realms.remove(at);
        realms.insert(0, Arc::clone(&realm));
        Some(realm)
    }

    /// The realm, as its opening asks for it.
    fn enter(&self, opening: &Opening) -> Result<Arc<Realm>, LedgerError> {
        let found = self.open_one(opening.realm(), opening.servers);
        match found.filter(|_| !opening.asks_for_others()) {
            Some(realm) => {
                opening.check_id(&realm.id, &realm.ledger.describe())?;
                Ok(realm)
            }
            None => self.open(opening),
        }
    }

    /// The realm with this id. Nothing is made.
    fn realm(&self, name: &str, id: &str, servers: u8) -> Result<Arc<Realm>, LedgerError> {
        match self.open_one(name, servers).filter(|realm| realm.id == id) {
            Some(realm) => Ok(realm),
            None => self.open(&Opening { servers, ..Opening::of(name).existing().realm_id(id) }),
        }
    }

    fn open(&self, opening: &Opening) -> Result<Arc<Realm>, LedgerError> {
        let ledger = (self.open)(opening).map_err(|error| match error {
            OpenError::Ledger(error) => error,
            // The server's own settings are wrong. An operator may correct them while others wait.
            OpenError::Asked(text) => {
                LedgerError::Unavailable(format!("the server cannot open its ledger: {text}"))
            }
        })?;
        let (name, servers) = (opening.realm().to_owned(), opening.servers);
        let realm = Arc::new(Realm { name, id: ledger.realm_id()?, servers, ledger });
        // Do not keep a realm that was opened only to look: it may not be fit for writing.
        if opening.missing != Missing::Look {
            let mut realms = self.realms();
            realms.retain(|open| open.name != realm.name);
            realms.insert(0, Arc::clone(&realm));
            realms.truncate(OPEN);
        }
        Ok(realm)
    }
}

fn carry_out(ledger: &dyn Ledger, call: Call, sees: &Sees) -> Result<Answer, LedgerError> {
    Ok(match call {
        Call::Enter { .. } => Answer::Entered,
        Call::Reserve(wanted) => ledger.reserve(&wanted.into())?.into(),
        Call::Count(wanted) => ledger.count(&wanted.into())?.into(),
        Call::GiveBack { key, token, from } => Answer::GivenBack(ledger.give_back(&key.0, token.0, from)?),
        Call::Bind { name, definition, marked } => {
            Answer::Bound(ledger.bind(&name.0, &definition, marked)?)
        }
        Call::Definition { name } => Answer::Definition(ledger.definition(&name.0)?),
        Call::Names { after, limit } => Answer::Names(ledger.names(&after, limit)?),
        Call::Raise { key, at_least } => Answer::Raised(ledger.raise(&key.0, at_least)?),
        Call::List { prefix, after, limit } => {
            let records = ledger.list(&prefix, &after, limit)?;
            Answer::Records(
                records.into_iter().map(|record| (record.key, record.mark, record.note)).collect(),
            )
        }
        Call::Clock {} => Answer::Clock(ledger.clock()?.map(UnixMillis::get)),
        Call::InOtherRealms { name } => {
            let found = ledger.in_other_realms(&name.0)?.into_iter().filter(|found| (sees.0)(&found.realm));
            Answer::Elsewhere(found.map(|found| (found.realm, found.definition, found.mark)).collect())
        }
    })
}

#[cfg(test)]
mod tests;
