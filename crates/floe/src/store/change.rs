//! One call on one record, as a state machine without I/O.

use std::ops::Range;
use std::time::Duration;

use super::content::{self, Body, Content, Header};
use super::{Entry, Place, Put, Version};
use crate::ledger::{Key, LedgerError, Mark, Reply, Reserve, Token};
use crate::mutation::mutate;
use crate::name::Name;

/// A call's answer, and the record to write first.
type Step<T> = Result<(T, Option<Body>), LedgerError>;
type Steps<T> = Box<dyn Fn(Option<&Body>) -> Step<T> + Send>;

/// Draws the number of a write.
type Draw = Box<dyn FnMut() -> Result<Token, LedgerError> + Send>;

/// How many times a call tries again at once if the store returns what others have written. Of the callers that write
/// one record, one wins each time, so a few hundred tries are enough for each. If the store only reports a conflict,
/// the call tries again once at once: the first conflict means no more than that its guess was old.
const AT_ONCE: u32 = 256;

/// The longest wait before another try if others have written meanwhile: at first, and at last.
const FIRST_WAIT: Duration = Duration::from_millis(4);
const LONGEST_WAIT: Duration = Duration::from_millis(96);

/// After this many waits, a call waits less, so that later calls do not overtake it.
const YOUNG: u32 = 10;
const OLD_WAIT: Duration = Duration::from_millis(16);

/// A call that has waited this many times fails.
const MOST_WAITS: u32 = 256;

/// One call on one record. It does no I/O: [`next`](Self::next) takes the store's answer and returns the next request.
///
/// ```
/// # use std::{collections::BTreeMap, sync::Mutex};
/// # use floe::{LedgerError, store::{Entry, Put, Version}};
/// # #[derive(Default)]
/// # struct Map(Mutex<BTreeMap<String, String>>);
/// # impl Store for Map {
/// #     fn get(&self, key: &str) -> Result<Option<Entry>, LedgerError> {
/// #         let found = self.0.lock().unwrap().get(key).cloned();
/// #         Ok(found.map(|text| Entry { version: Version::new(&text), text }))
/// #     }
/// #     fn put(&self, key: &str, text: &str, expected: Option<&Version>) -> Result<Put, LedgerError> {
/// #         let mut map = self.0.lock().unwrap();
/// #         if map.get(key).map(String::as_str) != expected.map(Version::as_str) {
/// #             return Ok(Put::Conflict);
/// #         }
/// #         map.insert(key.to_owned(), text.to_owned());
/// #         Ok(Put::Done(Version::new(text)))
/// #     }
/// #     fn list(&self, _: &str, _: &str, _: usize) -> Result<Vec<(String, String)>, LedgerError> {
/// #         Ok(Vec::new())
/// #     }
/// #     fn describe(&self) -> String {
/// #         "a map".to_owned()
/// #     }
/// # }
/// # let store = Map::default();
/// use floe::ledger::{Key, Reply, Reserve, Token};
/// use floe::store::{Change, Heard, Next, Place, Seen, Store};
///
/// // `store` is the map of the example of `Store`.
/// let place = Place::make(&store, "default")?;
/// let (key, token) = (Key::slot(10, 7), Token::random()?);
/// let request = Reserve { key, floor: 0, count: 5, max_mark: 0, token, create: true, note: None };
/// let mut change = Change::reserve(place, Seen::default(), &request).drawing(Token::random);
/// let mut heard = Heard::Nothing;
/// let answer = loop {
///     heard = match change.next(heard) {
///         Next::Get(key) => Heard::Entry(store.get(&key)?),
///         Next::Put { key, text, expected } => Heard::Put(store.put(&key, &text, expected.as_ref())?),
///         Next::Wait(time) => {
///             std::thread::sleep(time);
///             Heard::Nothing
///         }
///         Next::Done(answer) => break answer?,
///     };
/// };
/// assert_eq!(answer, Reply::Got { start: 0, end: 5, previous_mark: 0 });
/// assert!(!change.rests_on_what_was_read(&answer)); // it has written the record itself
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Change<T> {
    place: Place,
    key: Key,
    step: Steps<T>,
    draw: Draw,
    seen: Seen,
    asked: Asked<T>,
    /// This call's last write: its number, and the call's answer if it took effect.
    mine: Option<(Token, T)>,
    conflicts: u32,
    waits: u32,
    /// Whether the record was read, and this call has written nothing since.
    is_read: bool,
    /// Whether an answer hands something out.
    hands_out: fn(&T) -> bool,
    /// Whether the store has noted that the record was made.
    was_made: bool,
}

/// The state of a record that a process knows from its earlier calls. It may have changed since.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    record: Option<Found>,
    /// The number of the making that the store has noted.
    made: Option<Token>,
}

/// A record as it was read or written.
#[derive(Clone, Debug)]
struct Found {
    content: Content,
    version: Version,
}

/// What the store is asked next.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Next<T> {
    /// [`Store::get`](super::Store::get) of this key.
    Get(String),
    /// [`Store::put`](super::Store::put).
    Put {
        /// The key.
        key: String,
        /// The record.
        text: String,
        /// The version that must be there.
        expected: Option<Version>,
    },
    /// Make no request for this long: others write the same record.
    Wait(Duration),
    /// The call has ended with this answer.
    Done(Result<T, LedgerError>),
}

/// The store's answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Heard {
    /// No answer yet, or the time to wait is over.
    Nothing,
    /// The answer to [`Next::Get`].
    Entry(Option<Entry>),
    /// The answer to [`Next::Put`].
    Put(Put),
    /// The store did not answer, or its answer is invalid.
    Failed(LedgerError),
}

/// What was asked last.
enum Asked<T> {
    Nothing,
    /// To wait.
    Wait,
    Record,
    /// Whether the missing record was made before; if not, this call makes it.
    MadeBefore(Body, T),
    /// Whether the record that was found is the one that was made.
    Made(Found),
    Write(Content, T),
    /// Whether the realm, in which a record was made, is still there.
    Realm(Found, Then<T>),
    /// The note that the record was made.
    Note(Found, Then<T>),
    /// The note that another process has written.
    Noted(Found, Then<T>),
}

/// What follows once it is certain that the realm of a new record still exists. The realm is checked before the
/// making is noted, and again after, so that no record stays that only looks valid.
struct Then<T> {
    is_noted: bool,
    goal: Goal<T>,
}

/// What the call was about.
enum Goal<T> {
    Answer(T),
    Decide,
}

impl<T> Then<T> {
    fn note(goal: Goal<T>) -> Self {
        Self { is_noted: false, goal }
    }

    fn noted(self) -> Self {
        Self { is_noted: true, ..self }
    }
}

impl Change<Reply> {
    /// Makes the change of [`Ledger::reserve`](crate::Ledger::reserve). [`Change`] has an example.
    pub fn reserve(place: Place, seen: Seen, request: &Reserve) -> Self {
        let (key, request) = (request.key.clone(), request.clone());
        Self::new(place, seen, key, is_got, move |found| {
            let (reply, mark) = Mark::reserve(found.and_then(|body| body.mark.as_ref()), &request)?;
            let definition = found.and_then(|body| body.definition.clone());
            Ok((reply, mark.map(|mark| Body { definition, mark: Some(mark) })))
        })
    }
}

impl Change<Reply> {
    /// Reserves ahead for a counter, after [`Counting::take`](super::Counting::take) found too few numbers, or none
    /// that can be used: `left`. The reply is the new part of the range, or an empty range if another process has
    /// reserved since. If it is refused and `left` is `None`, take once more before you believe it: another process
    /// may have reserved all that there is since. [`Change`] has an example.
    pub fn reserve_ahead(place: Place, seen: Seen, request: &Reserve, left: Option<Range<u64>>) -> Self {
        let (key, request) = (request.key.clone(), request.clone());
        Self::new(place, seen, key, is_got, move |found| {
            let Some((body, old)) = found.and_then(|body| Some((body, body.mark.as_ref()?))) else {
                return Err(LedgerError::Missing(request.key.clone()));
            };
            let used = match &left {
                Some(left) if left.end != old.mark => {
                    return Ok((
                        Reply::Got { start: old.mark, end: old.mark, previous_mark: old.mark },
                        None,
                    ));
                }
                Some(left) => left.start,
                None => old.mark,
            };
            let (reply, new) = old.reserve_ahead(used, &request, Mark::AHEAD)?;
            let Some(new) = new else { return Ok((reply, None)) };
            let reply = Reply::Got { start: new.start, end: new.mark, previous_mark: old.mark };
            Ok((reply, (new.mark > old.mark).then(|| body.with(new))))
        })
    }
}

impl Change<bool> {
    /// Makes the change of [`Ledger::give_back`](crate::Ledger::give_back). [`Change`] has an example.
    pub fn give_back(place: Place, seen: Seen, key: &Key, token: Token, from: u64) -> Self {
        Self::new(
            place,
            seen,
            key.clone(),
            |is_shorter| *is_shorter,
            move |found| {
                let shorter =
                    found.and_then(|body| Some(body.with(body.mark.as_ref()?.give_back(token, from)?)));
                Ok((shorter.is_some(), shorter))
            },
        )
    }
}

impl Change<u64> {
    /// Makes the change of [`Ledger::raise`](crate::Ledger::raise). [`Change`] has an example.
    pub fn raise(place: Place, seen: Seen, key: &Key, at_least: u64) -> Self {
        let of = key.clone();
        Self::new(
            place,
            seen,
            key.clone(),
            |_| true,
            move |found| {
                let Some((body, mark)) = found.and_then(|body| Some((body, body.mark.as_ref()?))) else {
                    return Err(LedgerError::Missing(of.clone()));
                };
                Ok((mark.mark, mark.raise(&of, at_least)?.map(|raised| body.with(raised))))
            },
        )
    }
}

impl Change<String> {
    /// Makes the change of [`Ledger::bind`](crate::Ledger::bind). [`Change`] has an example.
    pub fn bind(place: Place, seen: Seen, name: &Name, definition: &str, marked: bool) -> Self {
        let definition = definition.to_owned();
        Self::new(
            place,
            seen,
            Key::name(name),
            |_| true,
            move |found| {
                if let Some(stored) = found.and_then(|body| body.definition.clone()) {
                    return Ok((stored, None));
                }
                let mark = found.and_then(|body| body.mark.clone()).or_else(|| marked.then(Mark::default));
                Ok((definition.clone(), Some(Body { definition: Some(definition.clone()), mark })))
            },
        )
    }
}

fn is_got(reply: &Reply) -> bool {
    matches!(reply, Reply::Got { start, end, .. } if start < end)
}

impl Body {
    fn with(&self, mark: Mark) -> Self {
        Self { definition: self.definition.clone(), mark: Some(mark) }
    }
}

impl<T: Clone> Change<T> {
    fn new(
        place: Place,
        seen: Seen,
        key: Key,
        hands_out: fn(&T) -> bool,
        step: impl Fn(Option<&Body>) -> Step<T> + Send + 'static,
    ) -> Self {
        let (step, draw) = (Box::new(step), Box::new(Token::random));
        Self {
            place,
            key,
            step,
            draw,
            seen,
            asked: Asked::Nothing,
            mine: None,
            conflicts: 0,
            waits: 0,
            is_read: false,
            hands_out,
            was_made: false,
        }
    }

    /// Takes the random numbers of its writes from `draw` instead of the operating system, for simulators, whose runs
    /// must be repeatable. [`Change`] has an example.
    #[must_use]
    pub fn drawing(self, draw: impl FnMut() -> Result<Token, LedgerError> + Send + 'static) -> Self {
        Self { draw: Box::new(draw), ..self }
    }

    /// Takes the store's answer, and returns the next request. Begin with [`Heard::Nothing`]; it ends with
    /// [`Next::Done`]. [`Change`] has an example.
    pub fn next(&mut self, heard: Heard) -> Next<T> {
        self.follow(heard).unwrap_or_else(|error| Next::Done(Err(error)))
    }

    /// Returns whether `answer` hands out a range from a record that the call has only read. Then call
    /// [`Store::settle`](super::Store::settle) before you give the answer. [`Change`] has an example.
    pub fn rests_on_what_was_read(&self, answer: &T) -> bool {
        self.is_read && (self.hands_out)(answer)
    }

    /// Returns the state with which the next call on this record begins.
    pub fn into_seen(self) -> Seen {
        self.seen
    }

    fn follow(&mut self, heard: Heard) -> Result<Next<T>, LedgerError> {
        let asked = std::mem::replace(&mut self.asked, Asked::Nothing);
        self.is_read &= !matches!(heard, Heard::Put(Put::Done(_)));
        match (asked, heard) {
            (_, Heard::Failed(error)) => Err(error),
            (Asked::Nothing, Heard::Nothing) => self.guess(),
            (Asked::Wait, Heard::Nothing) => Ok(self.look()),
            (Asked::Record, Heard::Entry(entry)) => self.looked(entry),
            (Asked::MadeBefore(body, answer), Heard::Entry(entry)) => {
                if entry.is_some() {
                    // It may have been made since the first read. If it is still missing, it was deleted.
                    self.was_made = true;
                    return Ok(self.look());
                }
                self.write(None, body, answer)
            }
            (Asked::Made(found), Heard::Entry(entry)) => match entry {
                Some(entry) => {
                    self.compare(&found, &entry)?;
                    self.decide(found)
                }
                // The call that made the record has not noted it yet, and may never do so.
                None => Ok(self.look_at_realm(found, Then::note(Goal::Decide))),
            },
            (Asked::Write(content, answer), Heard::Put(put)) => self.wrote(content, answer, put),
            (Asked::Realm(found, then), Heard::Entry(entry)) => {
                self.check_realm_record(entry.as_ref())?;
                self.go_on(found, then)
            }
            (Asked::Note(found, then), Heard::Put(put)) => match put {
                Put::Done(_) => Ok(self.look_at_realm(found, then.noted())),
                Put::Conflict | Put::Found(_) => {
                    Ok(self.get(self.place.made(&self.key), Asked::Noted(found, then)))
                }
            },
            (Asked::Noted(found, then), Heard::Entry(entry)) => {
                // This call's own write came before the other process's note, on which this call now relies.
                self.is_read = true;
                let entry = entry.ok_or_else(|| LedgerError::Missing(self.key.clone()))?;
                self.compare(&found, &entry)?;
                Ok(self.look_at_realm(found, then.noted()))
            }
            (..) => Err(LedgerError::Unavailable(format!(
                "the store's answer about {} does not fit the question",
                self.key
            ))),
        }
    }

    /// The step from the remembered state, if it writes: the store's answer then proves that this state is current. A
    /// call that fails leaves no state: it is not known whether its write took effect, so the next call reads first.
    fn guess(&mut self) -> Result<Next<T>, LedgerError> {
        if let Some(found) = mutate!(self.seen.record.take(), VersionIgnored => None) {
            match (self.step)(Some(&found.content.body)) {
                Ok((answer, Some(body))) => return self.write(Some(&found), body, answer),
                Ok((answer, None)) if mutate!(false, AnsweredFromMemory => true) => {
                    return Ok(Next::Done(Ok(answer)));
                }
                _ => {}
            }
        }
        Ok(self.look())
    }

    fn look(&mut self) -> Next<T> {
        self.get(self.place.mark(&self.key), Asked::Record)
    }

    /// What the store has now.
    fn looked(&mut self, entry: Option<Entry>) -> Result<Next<T>, LedgerError> {
        let Some(entry) = entry else {
            return match (self.step)(None)? {
                (answer, None) => Ok(Next::Done(Ok(answer))),
                (_, Some(_)) if self.was_made || self.seen.made.is_some() => {
                    Err(LedgerError::Missing(self.key.clone()))
                }
                (answer, Some(body)) => {
                    Ok(self.get(self.place.made(&self.key), Asked::MadeBefore(body, answer)))
                }
            };
        };
        let content = Content::read(&entry.text)
            .map_err(|fault| fault.at(&self.place.mark(&self.key), self.place.store()))?;
        self.check_realm(&content.realm)?;
        let found = Found {
            content: mutate!(content, VersionIgnored => self.seen.record.take().map_or(content, |old| old.content)),
            version: entry.version,
        };
        self.is_read = true;
        let is_mine = |written: &Token| mutate!(*written == found.content.written, OwnWriteNotKnown => false);
        if let Some((_, answer)) = self.mine.take_if(|(written, _)| is_mine(written)) {
            // The write that seemed lost, or another process's, was this call's own.
            return Ok(self.written(found, answer));
        }
        match self.seen.made {
            Some(made) if made == found.content.made => self.decide(found),
            Some(_) if mutate!(true, MakingsNotCompared => false) => {
                Err(LedgerError::Missing(self.key.clone()))
            }
            _ => Ok(self.get(self.place.made(&self.key), Asked::Made(found))),
        }
    }

    /// The step from what the store has now.
    fn decide(&mut self, found: Found) -> Result<Next<T>, LedgerError> {
        self.seen.made = Some(found.content.made);
        let (answer, body) = (self.step)(Some(&found.content.body))?;
        match body {
            Some(body) => self.write(Some(&found), body, answer),
            None => {
                self.seen.record = Some(found);
                Ok(Next::Done(Ok(answer)))
            }
        }
    }

    fn write(&mut self, from: Option<&Found>, body: Body, answer: T) -> Result<Next<T>, LedgerError> {
        let written = mutate!((self.draw)()?, SameNumberWritten => match from {
            Some(from) => from.content.written,
            None => (self.draw)()?,
        });
        let made = match from {
            Some(from) => from.content.made,
            None => (self.draw)()?,
        };
        let content = Content { realm: self.place.id().to_owned(), written, made, body };
        let (text, expected) = (content.write(), from.map(|from| from.version.clone()));
        self.mine = Some((written, answer.clone()));
        self.asked = Asked::Write(content, answer);
        Ok(Next::Put { key: self.place.mark(&self.key), text, expected })
    }

    fn wrote(&mut self, content: Content, answer: T, put: Put) -> Result<Next<T>, LedgerError> {
        match put {
            Put::Done(version) => Ok(self.written(Found { content, version }, answer)),
            Put::Conflict | Put::Found(_) => {
                mutate!(ConflictIgnored => { return Ok(Next::Done(Ok(answer))); });
                self.conflicts += 1;
                match put {
                    Put::Found(entry) if self.conflicts <= AT_ONCE => self.looked(entry),
                    Put::Conflict if self.conflicts == 1 => Ok(self.look()),
                    _ => self.wait(&content.written),
                }
            }
        }
    }

    /// Waits for a random part of the longest pause. The part is taken from the number of its last write.
    fn wait(&mut self, written: &Token) -> Result<Next<T>, LedgerError> {
        if self.waits == MOST_WAITS {
            return Err(LedgerError::Unavailable(format!(
                "others wrote the record of {} at {} {} times while this call tried to: try again, reserve more at once, or give \
                 the fleet more names",
                self.key.subject(),
                self.place.store(),
                self.conflicts
            )));
        }
        let longest = longest_wait(self.waits);
        self.waits += 1;
        let [.., share] = *written.as_bytes();
        self.asked = Asked::Wait;
        Ok(Next::Wait(longest * u32::from(share) / u32::from(u8::MAX)))
    }

    fn written(&mut self, found: Found, answer: T) -> Next<T> {
        let is_known = self.seen.made == Some(found.content.made);
        if mutate!(is_known, HandedOutBeforeNoted => true) {
            self.seen.record = Some(found);
            return Next::Done(Ok(answer));
        }
        self.look_at_realm(found, Then::note(Goal::Answer(answer)))
    }

    fn note(&mut self, found: Found, then: Then<T>) -> Next<T> {
        let text = content::write_made(self.place.id(), &found.content.made);
        self.asked = Asked::Note(found, then);
        Next::Put { key: self.place.made(&self.key), text, expected: None }
    }

    /// Whether the record is the one whose making was noted.
    fn compare(&self, found: &Found, noted: &Entry) -> Result<(), LedgerError> {
        let noted = self.header(&self.place.made(&self.key), noted)?;
        self.check_realm(&noted.realm)?;
        match noted.made == Some(found.content.made) {
            true => Ok(()),
            false => {
                mutate!(MakingsNotCompared => { return Ok(()); });
                Err(LedgerError::Missing(self.key.clone()))
            }
        }
    }

    fn look_at_realm(&mut self, found: Found, then: Then<T>) -> Next<T> {
        self.get(self.place.id_key(), Asked::Realm(found, then))
    }

    /// The realm exists: continue with the next step.
    fn go_on(&mut self, found: Found, then: Then<T>) -> Result<Next<T>, LedgerError> {
        match then {
            Then { is_noted: false, .. } => Ok(self.note(found, then)),
            Then { goal: Goal::Decide, .. } => self.decide(found),
            Then { goal: Goal::Answer(answer), .. } => {
                self.seen = Seen { made: Some(found.content.made), record: Some(found) };
                Ok(Next::Done(Ok(answer)))
            }
        }
    }

    fn get(&mut self, key: String, asked: Asked<T>) -> Next<T> {
        self.asked = asked;
        Next::Get(key)
    }

    fn header(&self, key: &str, entry: &Entry) -> Result<Header, LedgerError> {
        content::header(&entry.text).map_err(|fault| fault.at(key, self.place.store()))
    }

    fn check_realm_record(&self, entry: Option<&Entry>) -> Result<(), LedgerError> {
        mutate!(RealmNotLookedAt => { return Ok(()); });
        let Some(entry) = entry else { return Err(self.place.is("gone")) };
        self.check_realm(&self.header(&self.place.id_key(), entry)?.realm)
    }

    fn check_realm(&self, id: &str) -> Result<(), LedgerError> {
        mutate!(OtherRealmTaken => { return Ok(()); });
        self.place.check(id)
    }
}

/// The longest wait of a call that has already waited this many times.
fn longest_wait(waits: u32) -> Duration {
    if waits < YOUNG { FIRST_WAIT.saturating_mul(1 << waits).min(LONGEST_WAIT) } else { OLD_WAIT }
}
