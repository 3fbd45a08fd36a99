//! What a floe server offers of its own ledger to other processes: the calls of [`Ledger`] as JSON, for both sides.
//!
//! The server decides nothing. It opens each realm as the caller asks, carries out the call there, and says what the store
//! said, errors included. The process that calls is [`served`](crate::served).
//!
//! A question has a `nonce`, which the answer repeats: something between that mixes up answers is found out, and no range
//! is taken for another caller's. It has the id of the realm, which the server holds against that of its own, and so does
//! the answer. A question that says more than this floe knows is refused as a whole.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use floe::ledger::{Key, Ledger, LedgerError, Reply, Reserve, Token};
use floe::{Name, UnixMillis};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::opening::Missing;
use crate::{OpenError, Opening};

/// How many realms are open at once. One more takes the place of that which nobody has called for longest.
const OPEN: usize = 64;

/// The most that one answer lists. A caller who wants more asks again.
pub(crate) const PAGE: usize = 250;

/// How long the text of an error is at most, in characters: of servers that stand before each other, each adds to it.
const LONGEST_TEXT: usize = 2_000;

/// What a process asks a server.
#[derive(Serialize, Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct Question {
    /// Which question it is, for the answer.
    pub(crate) nonce: String,
    /// The realm's id; unknown to a process that enters.
    pub(crate) realm_id: Option<String>,
    /// How many servers it comes to, with this one: a server whose ledger is another's asks on behalf of its callers.
    #[serde(default)]
    pub(crate) servers: u8,
    pub(crate) call: Call,
}

/// A call of [`Ledger`], by its name there.
#[derive(Serialize, Deserialize, Debug)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Call {
    /// Opens the realm as an [`Opening`] says, and answers with its id.
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

/// What a server says.
#[derive(Serialize, Deserialize, Debug)]
pub(crate) struct Said {
    /// That of the question.
    pub(crate) nonce: String,
    /// The id of the realm that answers; none where no realm could be opened.
    pub(crate) realm_id: Option<String>,
    pub(crate) answer: Answer,
}

/// What came of a call.
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

/// What is written as a text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Text<T>(pub(crate) T);

pub(crate) trait Written: Sized {
    fn text(&self) -> String;
    /// `None` where no floe has written it.
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
        // `s/+10/07` is no other writing of a slot.
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
    /// The answer, or the error that it is.
    ///
    /// # Errors
    /// That of the store behind the server.
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

/// A text that is no longer than an error may be.
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
/// let answered = offer.answer("shop", &|_| true, question)?;
/// assert_eq!((answered.call, answered.outcome), ("enter", "ok"));
/// assert!(answered.body.starts_with(br#"{"nonce":"1","realm_id":""#));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Offer {
    open: Box<Open>,
    /// The realms that are open, the one that was called last before the others.
    realms: Mutex<Vec<Arc<Realm>>>,
}

type Open = dyn Fn(&Opening) -> Result<Box<dyn Ledger>, OpenError> + Send + Sync;

struct Realm {
    name: String,
    id: String,
    /// That of its [`Opening`], and so what its ledger says to other servers.
    servers: u8,
    ledger: Box<dyn Ledger>,
}

/// What a question was answered with.
#[derive(Debug)]
pub struct Answered {
    /// The answer, in JSON.
    pub body: Vec<u8>,
    /// Which call of [`Ledger`] it was, in snake case, or `enter`.
    pub call: &'static str,
    /// What came of it: `ok`, `refused` (the mark is too high), `unavailable`, `unfit`, `missing` or `overflow`.
    pub outcome: &'static str,
}

impl fmt::Debug for Offer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Offer").finish_non_exhaustive()
    }
}

impl Offer {
    /// A store, of which `open` opens a realm.
    pub fn new(
        open: impl Fn(&Opening) -> Result<Box<dyn Ledger>, OpenError> + Send + Sync + 'static,
    ) -> Self {
        Self { open: Box::new(open), realms: Mutex::default() }
    }

    /// Answers a question in `realm`. Blocks as long as the store does. The names of other realms are told as far as the
    /// caller `sees` them.
    ///
    /// # Errors
    /// Why it is no question; nothing was done. An error of the store is an answer.
    pub fn answer(
        &self,
        realm: &str,
        sees: &dyn Fn(&str) -> bool,
        question: &[u8],
    ) -> Result<Answered, String> {
        let Question { nonce, realm_id, servers, call } = serde_json::from_slice(question).map_err(|error| {
            format!(
                "this is not a call of a ledger ({}): a process of another version may send calls that this floe does not know",
                short(&error.to_string())
            )
        })?;
        let word = call.word();
        let asked = match (call, &realm_id) {
            (Call::Enter { missing, realm_id, sole }, None) => {
                let opening = Opening { realm: realm.to_owned(), missing, pinned: realm_id, sole, servers };
                self.enter(&opening).map(|realm| (realm, Ok(Answer::Entered)))
            }
            (Call::Enter { .. }, Some(_)) | (_, None) => {
                return Err("every call but `enter` has the realm's id, and `enter` has none".to_owned());
            }
            (Call::Names { limit, .. } | Call::List { limit, .. }, _) if limit > PAGE => {
                return Err(format!("one call lists {PAGE} at most: ask again after the last one"));
            }
            (call, Some(id)) => self.realm(realm, id, servers).map(|realm| {
                let answer = carry_out(&*realm.ledger, call, sees);
                (realm, answer)
            }),
        };
        let (realm_id, answer) = match asked {
            Ok((realm, answer)) => {
                if let Err(LedgerError::Unfit(_)) = &answer {
                    // Another one may be put in its place, which is opened anew.
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

    /// The realm of that name, where it is open for a question that comes to so many servers; it is the last one now that was
    /// called. For one that comes to more it is opened anew: in a ring of servers the number grows that way until it is refused.
    fn open_one(&self, name: &str, servers: u8) -> Option<Arc<Realm>> {
        let mut realms = self.realms();
        let at = realms.iter().position(|realm| realm.name == name && realm.servers >= servers)?;
        let realm = realms.remove(at);
        realms.insert(0, Arc::clone(&realm));
        Some(realm)
    }

    /// The realm as its opening wants it.
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
            // The server's own settings, which somebody may put right while others wait.
            OpenError::Asked(text) => {
                LedgerError::Unavailable(format!("the server cannot open its ledger: {text}"))
            }
        })?;
        let (name, servers) = (opening.realm().to_owned(), opening.servers);
        let realm = Arc::new(Realm { name, id: ledger.realm_id()?, servers, ledger });
        // One that only looks is not kept: it may not be one to write to.
        if opening.missing != Missing::Look {
            let mut realms = self.realms();
            realms.retain(|open| open.name != realm.name);
            realms.insert(0, Arc::clone(&realm));
            realms.truncate(OPEN);
        }
        Ok(realm)
    }
}

fn carry_out(ledger: &dyn Ledger, call: Call, sees: &dyn Fn(&str) -> bool) -> Result<Answer, LedgerError> {
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
            let found = ledger.in_other_realms(&name.0)?.into_iter().filter(|found| sees(&found.realm));
            Answer::Elsewhere(found.map(|found| (found.realm, found.definition, found.mark)).collect())
        }
    })
}

#[cfg(test)]
mod tests;
