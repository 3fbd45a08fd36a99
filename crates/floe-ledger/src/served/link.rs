//! A connection to a server, and the one request that each call makes.

use std::fmt::Display;
use std::sync::Arc;

use floe::ledger::{LedgerError, Token};
use http::{HeaderValue, Request, StatusCode, header};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use super::url::Settings;
use crate::offer::{Answer, Call, Question, Said, short};
use crate::remote::http::{Fault, Http, Servers, Speaks};
use crate::remote::{Connected, LOOK, Trouble, Wanted, realm};
use crate::{OpenError, Opening};

/// The most bytes in an answer. A page of a list with the longest possible notes stays far below.
const LONGEST_ANSWER: usize = 4 << 20;

/// How to reach the servers of a URL.
pub(super) struct Floes {
    servers: Servers,
    authorization: HeaderValue,
    /// `/v1/ledger/shop`.
    path: Arc<str>,
    realm: String,
    /// How many servers a question passes, including the one that is asked.
    count: u8,
}

/// A connection to one server.
pub(super) struct Link {
    http: Http,
    authorization: HeaderValue,
    path: Arc<str>,
    count: u8,
    /// Whether there is another server to use if this one cannot reach its store.
    is_one_of_several: bool,
}

impl AsRef<Http> for Link {
    fn as_ref(&self) -> &Http {
        &self.http
    }
}

impl Floes {
    pub(super) fn new(settings: Settings, opening: &Opening) -> Result<Self, OpenError> {
        let realm = opening.realm();
        let Settings { servers, authorization, reach } = settings;
        let servers = Servers::new("floe", servers, reach)?;
        let path = format!("/v1/ledger/{}", utf8_percent_encode(realm, NON_ALPHANUMERIC)).into();
        Ok(Self { servers, authorization, path, realm: realm.to_owned(), count: opening.servers + 1 })
    }
}

impl Speaks for Floes {
    type Link = Link;

    fn servers(&self) -> &Servers {
        &self.servers
    }

    async fn enter(&self, http: Http, wanted: Wanted<'_>) -> Result<Connected<Link>, Trouble<Fault>> {
        let mut link = Link {
            http,
            authorization: self.authorization.clone(),
            path: Arc::clone(&self.path),
            count: self.count,
            is_one_of_several: self.servers.all.len() > 1,
        };
        let mut realm_id = None;
        if let Some(Opening { missing, pinned, sole, .. }) = wanted.first() {
            let call = Call::Enter { missing: *missing, realm_id: pinned.clone(), sole: *sole };
            let Said { realm_id: id, answer, .. } = link.ask(None, call).await?;
            match (answer.or_error()?, id) {
                (Answer::Entered, id @ Some(_)) => realm_id = id,
                _ => return Err(link.fault(format!("it did not enter the realm {}", self.realm)).into()),
            }
        }
        Ok(Connected { link, realm_id, remarks: Vec::new() })
    }
}

impl Link {
    /// The answer of the realm with this id to a call, including errors of the store.
    pub(super) async fn call(&mut self, realm_id: String, call: Call) -> Result<Answer, Trouble<Fault>> {
        let said = self.ask(Some(realm_id.clone()), call).await?;
        match (said.answer, said.realm_id) {
            (_, Some(id)) if id != realm_id => {
                Err(realm::is_another(&format!("floe://{}", self.http.server)).into())
            }
            (Answer::Unavailable(text), _) if self.is_one_of_several => {
                Err(LedgerError::Unavailable(short(&text)).into())
            }
            (answer @ (Answer::Unavailable(_) | Answer::Unfit(_)), None) | (answer, Some(_)) => Ok(answer),
            (_, None) => Err(self.is_no_floe("answers for no realm").into()),
        }
    }

    /// Sends one question, and returns a floe's answer.
    async fn ask(&mut self, realm_id: Option<String>, call: Call) -> Result<Said, Trouble<Fault>> {
        let nonce = Token::random()?.hex();
        let question = Question { nonce: nonce.clone(), realm_id, servers: self.count, call };
        let body = serde_json::to_vec(&question).map_err(|error| self.fault(error))?;
        let request = Request::post(&*self.path)
            .header(header::AUTHORIZATION, self.authorization.clone())
            .header(header::CONTENT_TYPE, "application/json");
        let asked = self.http.ask(request, body, LONGEST_ANSWER).await;
        let (head, body) = asked.map_err(|fault| self.fault(format!("{}; {LOOK}", fault.text)))?;
        if head.status != StatusCode::OK {
            return Err(self.refused(head.status, &body).into());
        }
        match serde_json::from_slice::<Said>(&body) {
            Ok(said) if said.nonce == nonce => Ok(said),
            Ok(_) => Err(self.is_no_floe("answers another question").into()),
            Err(_) => Err(self.is_no_floe("gives an answer that is not one of a ledger").into()),
        }
    }

    /// An error response. If floe wrote it, it gives the reason; any other says nothing.
    fn refused(&self, status: StatusCode, body: &[u8]) -> Fault {
        let problem: serde_json::Value = serde_json::from_slice(body).unwrap_or_default();
        let text = |key: &str| problem.get(key).and_then(serde_json::Value::as_str);
        match (text("type").and_then(|sort| sort.strip_prefix("/problems/")), text("detail")) {
            (Some(sort), Some(detail)) => Fault {
                is_asked_for: ["unauthenticated", "wrong-token", "forbidden"].contains(&sort),
                ..self.fault(short(detail))
            },
            _ => self.is_no_floe(&format!("answers HTTP {}", status.as_u16())),
        }
    }

    fn is_no_floe(&self, what: &str) -> Fault {
        self.fault(format!(
            "something there {what}: check whether that is a floe server that offers its ledger, and what stands \
             before it. What the call did is not known"
        ))
    }

    fn fault(&self, text: impl Display) -> Fault {
        Fault::new(&self.http.server, text)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::sync::Mutex;
    use std::thread;

    use floe::ledger::conformance::{Realm, run};
    use floe::ledger::{Key, Ledger, MAX_MARK, Memory, Reply, Reserve};
    use floe_testbed::http_stub;

    use crate::offer::Offer;
    use crate::served::{Served, open_url};

    use super::*;

    /// Listens for a floe server on this store. `change` makes of its answers what the caller gets.
    fn server(store: &Memory, change: impl Fn(Said) -> Said + Send + Sync + 'static) -> u16 {
        let store = store.clone();
        offering(Offer::new(move |_| Ok(Box::new(store.clone()))), change)
    }

    fn offering(offer: Offer, change: impl Fn(Said) -> Said + Send + Sync + 'static) -> u16 {
        seen(offer, |_, _| {}, change)
    }

    /// `see` gets the head and the body of each question.
    fn seen(
        offer: Offer,
        see: impl Fn(&str, &[u8]) + Send + Sync + 'static,
        change: impl Fn(Said) -> Said + Send + Sync + 'static,
    ) -> u16 {
        http_stub(move |head, question| {
            see(head, question);
            let answered = offer.answer("shop", |_| true, question).unwrap();
            let said = change(serde_json::from_slice(&answered.body).unwrap());
            let body = serde_json::to_vec(&said).unwrap();
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len());
            [head.as_bytes(), &body].concat()
        })
    }

    fn open(servers: &[u16]) -> Result<Served, OpenError> {
        open_as(servers, &Opening::of("shop"))
    }

    fn open_as(servers: &[u16], opening: &Opening) -> Result<Served, OpenError> {
        let servers: Vec<_> = servers.iter().map(|port| format!("127.0.0.1:{port}")).collect();
        open_url(&format!("floe://:floe_1@{}", servers.join(",")), opening)
    }

    fn request() -> Reserve {
        let (key, token) = (Key::slot(10, 7), Token::random().unwrap());
        Reserve { key, floor: 0, count: 5, max_mark: MAX_MARK, token, create: true, note: None }
    }

    #[test]
    fn an_answer_of_another_realm_of_none_or_to_another_question_is_not_taken() {
        let honest: fn(Said) -> Said = |said| said;
        let change = Arc::new(Mutex::new(honest));
        let by = Arc::clone(&change);
        let ledger = open(&[server(&Memory::default(), move |said| by.lock().unwrap()(said))]).unwrap();
        let request = request();
        let told = |by: fn(Said) -> Said| {
            *change.lock().unwrap() = by;
            ledger.reserve(&request)
        };
        let outcome = told(|said| Said { realm_id: Some("another".to_owned()), ..said });
        assert!(
            matches!(&outcome, Err(LedgerError::Unfit(text)) if text.contains("is not the one that it was")),
            "{outcome:?}"
        );
        let outcome = told(|said| Said { realm_id: None, ..said });
        assert!(
            matches!(&outcome, Err(LedgerError::Unavailable(text)) if text.contains("answers for no realm")),
            "{outcome:?}"
        );
        let outcome = told(|said| Said { nonce: Token::random().unwrap().hex(), ..said });
        assert!(
            matches!(&outcome, Err(LedgerError::Unavailable(text)) if text.contains("answers another question")),
            "{outcome:?}"
        );
        let outcome = told(|said| Said { answer: Answer::Clock(None), ..said });
        assert!(
            matches!(&outcome, Err(LedgerError::Unavailable(text)) if text.contains("something that was not asked")),
            "{outcome:?}"
        );
        // A server that cannot open the realm answers for none, and says why.
        let outcome =
            told(|said| Said { realm_id: None, answer: Answer::Unavailable("down".to_owned()), ..said });
        assert_eq!(outcome, Err(LedgerError::Unavailable("down".to_owned())));
        let outcome =
            told(|said| Said { realm_id: None, answer: Answer::Unfit("emptied".to_owned()), ..said });
        assert_eq!(outcome, Err(LedgerError::Unfit("emptied".to_owned())));
        assert_eq!(told(honest), Ok(Reply::Got { start: 0, end: 5, previous_mark: 0 }));
    }

    /// As of a cache in between, which takes one question for another.
    #[test]
    fn an_answer_that_was_given_before_is_not_taken_again() {
        let given = Mutex::new(None);
        let again = move |said: Said| match said.answer {
            Answer::Got { start, end, previous_mark } => {
                let nonce = given.lock().unwrap().get_or_insert(said.nonce).clone();
                Said { nonce, answer: Answer::Got { start, end, previous_mark }, ..said }
            }
            _ => said,
        };
        let ledger = open(&[server(&Memory::default(), again)]).unwrap();
        assert_eq!(ledger.reserve(&request()), Ok(Reply::Got { start: 0, end: 5, previous_mark: 0 }));
        let outcome = ledger.reserve(&Reserve { key: Key::slot(10, 8), ..request() });
        assert!(
            matches!(&outcome, Err(LedgerError::Unavailable(text)) if text.contains("answers another question")),
            "{outcome:?}"
        );
    }

    /// Each realm has a server, and each process its own connections to it.
    #[test]
    fn what_a_ledger_promises_a_server_in_between_keeps() {
        run(&|| {
            let port = server(&Memory::default(), |said| said);
            Realm::new(move || Box::new(open(&[port]).unwrap())).with_names(2_000)
        });
    }

    #[test]
    fn a_server_that_does_not_enter_the_realm_opens_none() {
        for change in [
            |said: Said| Said { answer: Answer::Clock(None), ..said },
            |said: Said| Said { realm_id: None, ..said },
        ] {
            let Err(error) = open(&[server(&Memory::default(), change)]) else { panic!("it is open") };
            assert!(error.to_string().contains("did not enter the realm shop"), "{error}");
        }
    }

    #[test]
    fn an_answer_is_read_no_further_than_the_longest_one() {
        let (store, length) = (Memory::default(), Arc::new(Mutex::new(0)));
        let (offer, wanted) = (Offer::new(move |_| Ok(Box::new(store.clone()))), Arc::clone(&length));
        let server = http_stub(move |_, question| {
            // Blanks around it belong to an answer.
            let mut body = offer.answer("shop", |_| true, question).unwrap().body;
            body.resize(body.len().max(*wanted.lock().unwrap()), b' ');
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len());
            [head.as_bytes(), &body].concat()
        });
        let ledger = open(&[server]).unwrap();
        for (long, is_read) in [(LONGEST_ANSWER, true), (LONGEST_ANSWER + 1, false)] {
            *length.lock().unwrap() = long;
            let outcome = ledger.clock();
            assert_eq!(outcome.is_ok(), is_read, "{outcome:?}");
            assert!(matches!(outcome, Ok(_) | Err(LedgerError::Unavailable(_))), "{outcome:?}");
        }
    }

    #[test]
    fn a_question_has_its_token_and_the_number_of_servers_that_it_passes() {
        let (store, questions) = (Memory::default(), Arc::new(Mutex::new(Vec::new())));
        let noted = Arc::clone(&questions);
        let see = move |head: &str, question: &[u8]| {
            let question: Question = serde_json::from_slice(question).unwrap();
            noted.lock().unwrap().push((head.to_owned(), question.servers));
        };
        let server = seen(Offer::new(move |_| Ok(Box::new(store.clone()))), see, |said| said);
        // Two servers have asked, one after the other, before this one does.
        let ledger = open_as(&[server], &Opening { servers: 2, ..Opening::of("shop") }).unwrap();
        assert!(ledger.clock().is_ok());
        let questions = questions.lock().unwrap();
        assert_eq!(questions.len(), 2, "it enters, and asks for the time");
        for (head, servers) in &*questions {
            for part in [
                "POST /v1/ledger/shop ",
                "\r\nauthorization: Bearer floe_1\r\n",
                "\r\ncontent-type: application/json\r\n",
            ] {
                assert!(head.contains(part), "`{part}` is not in: {head}");
            }
            assert_eq!(*servers, 3);
        }
    }

    /// A name may hold what has a meaning in a path.
    #[test]
    fn the_realm_is_one_part_of_the_path_whatever_its_name() {
        for (realm, path) in [("50%25?a=b#c", "50%2525%3Fa%3Db%23c"), ("*ü", "%2A%C3%BC")] {
            let (store, heads) = (Memory::default(), Arc::new(Mutex::new(Vec::new())));
            let noted = Arc::clone(&heads);
            let see = move |head: &str, _: &[u8]| noted.lock().unwrap().push(head.to_owned());
            let server = seen(Offer::new(move |_| Ok(Box::new(store.clone()))), see, |said| said);
            drop(open_as(&[server], &Opening::of(realm)).unwrap());
            let heads = heads.lock().unwrap();
            assert!(heads[0].starts_with(&format!("POST /v1/ledger/{path} HTTP/")), "{realm}: {heads:?}");
        }
    }

    /// A number above the mark would come before those that the store has left of what was reserved ahead.
    #[test]
    fn a_count_and_a_reserve_are_asked_for_as_what_they_are() {
        let (store, calls) = (Memory::default(), Arc::new(Mutex::new(Vec::new())));
        let noted = Arc::clone(&calls);
        let see = move |_: &str, question: &[u8]| {
            let question: Question = serde_json::from_slice(question).unwrap();
            noted.lock().unwrap().push(match question.call {
                Call::Count(_) => "count",
                Call::Reserve(_) => "reserve",
                _ => "another",
            });
        };
        let server = seen(Offer::new(move |_| Ok(Box::new(store.clone()))), see, |said| said);
        let ledger = open(&[server]).unwrap();
        assert!(ledger.count(&request()).is_ok() && ledger.reserve(&request()).is_ok());
        assert_eq!(calls.lock().unwrap()[1..], ["count", "reserve"], "once it has entered");
    }

    /// What the server says of the caller is the caller's to put right; what something before it says proves nothing.
    #[test]
    fn an_answer_that_is_an_error_is_told_by_who_wrote_it() {
        let (store, told) = (Memory::default(), Arc::new(Mutex::new(None)));
        let (offer, tell) = (Offer::new(move |_| Ok(Box::new(store.clone()))), Arc::clone(&told));
        let server = http_stub(move |_, question| {
            let (status, body) = match tell.lock().unwrap().clone() {
                Some((status, body)) => (status, body),
                None => (200, offer.answer("shop", |_| true, question).unwrap().body),
            };
            let head = format!("HTTP/1.1 {status} X\r\ncontent-length: {}\r\n\r\n", body.len());
            [head.as_bytes(), &body].concat()
        });
        let ledger = open(&[server]).unwrap();
        let problem = |sort: &str| format!(r#"{{"type":"{sort}","title":"No","detail":"so says floe"}}"#);
        for (status, body, is_asked, words) in [
            (401, problem("/problems/unauthenticated"), true, "so says floe"),
            (401, problem("/problems/wrong-token"), true, "so says floe"),
            (403, problem("/problems/forbidden"), true, "so says floe"),
            (404, problem("/problems/not-found"), false, "so says floe"),
            (503, problem("/problems/busy"), false, "so says floe"),
            (403, problem("about:blank"), false, "answers HTTP 403"),
            (403, r#"{"type":"/problems/forbidden"}"#.to_owned(), false, "answers HTTP 403"),
            (401, problem("forbidden"), false, "answers HTTP 401"),
            (502, "<html>Bad Gateway</html>".to_owned(), false, "answers HTTP 502"),
        ] {
            *told.lock().unwrap() = Some((status, body.clone().into_bytes()));
            let Err(at_open) = open(&[server]) else { panic!("{status} {body} opened it") };
            assert_eq!(matches!(at_open, OpenError::Asked(_)), is_asked, "{status} {body}: {at_open:?}");
            // A token may be let in again while a process runs.
            let at_work = ledger.clock();
            assert!(matches!(at_work, Err(LedgerError::Unavailable(_))), "{status} {body}: {at_work:?}");
            for text in [at_open.to_string(), at_work.unwrap_err().to_string()] {
                assert!(text.contains(words), "{status} {body}: {text}");
                assert_eq!(
                    text.contains("What the call did is not known"),
                    words != "so says floe",
                    "{text}"
                );
            }
            *told.lock().unwrap() = None;
            assert!(ledger.clock().is_ok());
        }
    }

    #[test]
    fn what_the_store_refuses_is_refused_with_its_mark_and_note() {
        let ledger = open(&[server(&Memory::default(), |said| said)]).unwrap();
        let request = Reserve { note: Some("host-1".to_owned()), ..request() };
        assert!(matches!(ledger.reserve(&request), Ok(Reply::Got { end: 5, .. })));
        let next = Reserve { token: Token::random().unwrap(), max_mark: 4, ..request };
        let refused = Reply::Refused { mark: 5, note: Some("host-1".to_owned()) };
        assert_eq!(ledger.reserve(&next), Ok(refused.clone()));
        assert_eq!(ledger.count(&next), Ok(refused));
    }

    /// There is no other one to go to, so a new connection would find nothing else.
    #[test]
    fn a_server_alone_keeps_its_connection_while_it_cannot_reach_its_store() {
        let (store, connections) = (Memory::default(), Arc::new(Mutex::new(HashSet::new())));
        let noted = Arc::clone(&connections);
        // Each connection to the stub has its thread.
        let see = move |_: &str, _: &[u8]| {
            noted.lock().unwrap().insert(thread::current().id());
        };
        let cut = |said: Said| match said.answer {
            Answer::Entered => said,
            _ => Said { answer: Answer::Unavailable("cut off".to_owned()), ..said },
        };
        let server = seen(Offer::new(move |_| Ok(Box::new(store.clone()))), see, cut);
        let ledger = open(&[server]).unwrap();
        for _ in 0..3 {
            assert_eq!(ledger.clock(), Err(LedgerError::Unavailable("cut off".to_owned())));
        }
        assert_eq!(connections.lock().unwrap().len(), 1);
    }

    /// Where the pinned one was lost, it would make another, and find out only then. Where there are several and none was
    /// named, it would take the default one.
    #[test]
    fn a_server_knows_the_pinned_realm_and_whether_one_was_named_before_it_opens_one() {
        let store = Memory::default();
        let id = store.realm_id().unwrap();
        for opening in
            [Opening::of("shop"), Opening::of("shop").realm_id(&id), Opening::of("shop").sole_realm()]
        {
            let (store, asked) = (store.clone(), Arc::new(Mutex::new(Vec::new())));
            let noted = Arc::clone(&asked);
            let told = |opening: &Opening| (opening.pinned.clone(), opening.may_make(), opening.sole);
            let offer = Offer::new(move |opening| {
                noted.lock().unwrap().push(told(opening));
                Ok(Box::new(store.clone()))
            });
            open_as(&[offering(offer, |said| said)], &opening).unwrap();
            assert_eq!(*asked.lock().unwrap(), [told(&opening)]);
        }
    }

    /// Two servers on one store, which number `cut` of them cannot reach, and the number of the last one that was asked.
    #[derive(Clone, Default)]
    struct Two {
        cut: Arc<Mutex<Option<usize>>>,
        asked: Arc<Mutex<usize>>,
    }

    impl Two {
        fn start(&self) -> [u16; 2] {
            let store = Memory::default();
            [0, 1].map(|number| {
                let two = self.clone();
                server(&store, move |said| {
                    *two.asked.lock().unwrap() = number;
                    match *two.cut.lock().unwrap() == Some(number) {
                        true => Said { answer: Answer::Unavailable("cut off".to_owned()), ..said },
                        false => said,
                    }
                })
            })
        }
    }

    #[test]
    fn a_server_that_cannot_reach_its_store_any_more_is_left_for_the_other_one() {
        let two = Two::default();
        let ledger = open(&two.start()).unwrap();
        for _ in 0..4 {
            let asked = *two.asked.lock().unwrap();
            *two.cut.lock().unwrap() = Some(asked);
            let outcome = ledger.clock();
            assert!(
                matches!(&outcome, Err(LedgerError::Unavailable(text)) if text == "cut off"),
                "{outcome:?}"
            );
            assert!(ledger.clock().is_ok(), "the other one works");
            assert_ne!(*two.asked.lock().unwrap(), asked);
        }
    }

    /// The first server is a random one.
    #[test]
    fn an_opening_passes_over_a_server_that_cannot_reach_its_store() {
        let two = Two { cut: Arc::new(Mutex::new(Some(0))), ..Two::default() };
        let servers = two.start();
        for _ in 0..12 {
            assert!(open(&servers).is_ok());
        }
        assert!(open(&servers[..1]).is_err());
    }
}
