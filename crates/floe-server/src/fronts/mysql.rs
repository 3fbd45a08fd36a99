//! MySQL's protocol, for users of ticket servers: `REPLACE INTO Tickets64 (stub) VALUES ('a')`, then
//! `SELECT LAST_INSERT_ID()`. The table is the name; whichever database a client uses, the names are the same.
//!
//! `INSERT` and `REPLACE` of n rows mint n consecutive numbers and return the first. Nothing is stored, so nothing
//! can be read back. As in MySQL, a `ROLLBACK` takes no number back.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use floe::Definition;
use floe_wire::mysql::sql::{self, Item, Statement, Table};
use floe_wire::mysql::{
    Capabilities, Command, Done, Error, Execute, Greeting, Login, Opening, PROTOCOL, Packet, Plugin, Replies,
    Salt, Status as Standing, caching_sha2, native_password, packet,
};
use futures_util::future::BoxFuture;
use tokio::time::Instant;

use super::{Conversation, Front, Offer, TurnedAway, no_memory};
use crate::access::Caller;
use crate::config::{Limits, TokenSettings};
use crate::metrics::ProtocolMetrics;
use crate::rewound::Rewound;
use crate::service::Service;
use crate::service::call::{self, Call};
use crate::session::{self, Next, Session, Taken, is_due};
use crate::status::{Refusal, Status};
use crate::tls;

mod about;
mod answer;
mod first;

use about::About;
use answer::{Answer, Format, Value};

/// The server's version in the greeting. Clients read from its beginning which features they may use.
const VERSION: &str = concat!("8.0.40-floe-", env!("CARGO_PKG_VERSION"));

/// The most statements that a connection has prepared.
const MOST_PREPARED: usize = 1_000;

/// The memory of a prepared statement without its text, in bytes.
const PREPARED_BYTES: usize = 128;

/// The longest user name, in bytes. MySQL's has 32 characters and MariaDB's 128, of at most four bytes.
pub(super) const USER_BYTES: usize = 4 * 128;

/// The longest name of a database, in bytes: MySQL's 64 characters (`NAME_CHAR_LEN`), of at most four.
pub(super) const DATABASE_BYTES: usize = 4 * 64;

/// The most tables that are listed at once. Clients ask for others by name.
const MOST_TABLES: usize = 1_000;

/// The error for other SQL.
const SERVED: &str = "floe mints IDs, and stores no rows: REPLACE INTO name (stub) VALUES ('a') or INSERT INTO name () VALUES (), without numbers in the rows, since they would be IDs that the client chose; then SELECT LAST_INSERT_ID(). ALTER TABLE name AUTO_INCREMENT = n raises a name. It knows SET, USE, SHOW VARIABLES, SHOW FIELDS, SELECT of variables, and transactions, which do nothing";

/// One row. Kinds with numbers of 63 bits answer.
pub(super) static ROW: Call =
    Call { natural: Definition::SEGMENT, answers: |_| true, instead: "", for_texts: call::NO_TEXTS };

/// Several rows at once. Kinds that count answer.
pub(super) static ROWS: Call = Call {
    natural: Definition::SEGMENT,
    answers: floe::Kind::is_counted,
    instead: "its IDs do not follow one another: insert one row at a time",
    for_texts: call::NO_TEXTS,
};

/// One client's connection.
pub(crate) struct Mysql {
    service: Arc<Service>,
    tls: Tls,
    /// The caller from the client's certificate, or an unknown caller.
    connected: Caller,
    caller: Caller,
    metrics: ProtocolMetrics,
    packet_bytes: usize,
    salt: Salt,
    /// The client's authentication plugin.
    plugin: Plugin,
    phase: Phase,
    capabilities: Capabilities,
    multi_statements: bool,
    about: About,
    prepared: Prepared,
    /// How far the query at the front of the input has been answered.
    paused: Option<Paused>,
}

/// A query with some answered statements. The others wait until the client has read the answers.
#[derive(Clone, Copy)]
struct Paused {
    next: sql::Place,
    /// The number of the next packet of the answer.
    sequence: u8,
}

/// What TLS is to a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Tls {
    /// This server has none.
    None,
    /// The client may ask for it.
    Offered,
    /// A client that does not ask for it is refused.
    Required,
    /// It has begun.
    Begun,
}

/// What the next packet is.
#[derive(Clone, Copy)]
enum Phase {
    /// The client's answer to the greeting.
    Opening,
    /// A proof made in the way that was asked for, in the packet of this number.
    Proof(u8),
    /// A command.
    Commands,
}

#[derive(Default)]
struct Prepared {
    statements: HashMap<u32, PreparedStatement>,
    last: u32,
    /// The length of all their texts.
    bytes: usize,
}

struct PreparedStatement {
    text: Arc<[u8]>,
    parameters: usize,
    types: Vec<[u8; 2]>,
    /// A parameter came in pieces, which are not kept.
    in_pieces: bool,
}

/// Why a command came to nothing: the error's number, its SQLSTATE and its text.
struct Failure {
    code: u16,
    state: &'static [u8; 5],
    text: String,
    /// The row of the table of errors, for the metrics.
    status: Status,
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        let (code, state) = refusal.status.mysql();
        Self { code, state, text: refusal.detail, status: refusal.status }
    }
}

impl Failure {
    fn new(code: u16, state: &'static [u8; 5], text: impl Into<String>) -> Self {
        Self { code, state, text: text.into(), status: Status::BadRequest }
    }

    /// The error for unknown SQL, which begins at `near`.
    fn other(near: &[u8]) -> Self {
        Refusal::bad(format!("not understood from '{}' on: {SERVED}", about::shown(near))).into()
    }

    fn empty() -> Self {
        Self::new(1065, b"42000", "the query was empty")
    }

    fn malformed() -> Self {
        Self::new(1835, b"HY000", "malformed communication packet")
    }

    /// As MySQL refuses such a name in `CREATE USER`.
    fn long_user() -> Self {
        let text = format!("the user name is longer than {USER_BYTES} bytes: log in with a shorter one");
        Self::new(1470, b"HY000", text)
    }

    fn long_database() -> Self {
        let text = format!(
            "the database's name is longer than {DATABASE_BYTES} bytes: use a shorter one, any will do"
        );
        Self::new(1059, b"42000", text)
    }

    fn unknown_statement(id: u32) -> Self {
        let text = format!(
            "there is no prepared statement {id} on this connection: prepare it again, also after a reset"
        );
        Self::new(1243, b"HY000", text)
    }
}

/// See the module.
pub(super) const FRONT: Front = Front { protocol: &PROTOCOL, serve, turn_away, counters: &[] };

/// Serves a connection. After the greeting it changes to TLS if the client asks for that.
fn serve(conversation: Conversation) -> BoxFuture<'static, io::Result<()>> {
    Box::pin(async move {
        let Conversation { mut stream, caller, client, backend, draining, id, tls: offer, .. } = conversation;
        let (limits, access) = (&backend.limits, backend.service.access());
        let mut random = [0; 20];
        getrandom::fill(&mut random).map_err(io::Error::other)?;
        let tls = match &offer {
            Offer::None => Tls::None,
            Offer::May(_) => Tls::Offered,
            Offer::Must(_) => Tls::Required,
        };
        let mut session = Mysql::new(&backend.service, caller, tls, limits, id, random);
        let left = session::run(&mut stream, &mut session, &client, limits, draining.clone()).await?;
        let (Some(hello), Offer::May(tls) | Offer::Must(tls)) = (left, offer) else { return Ok(()) };
        let _held = client.hold_to_the_end(tls::BYTES).await.map_err(no_memory)?;
        let stream = Rewound::new(hello, stream);
        let (secured, names) = tls.accept(stream, limits.header_timeout).await?;
        session.secured(access.certificate(&names));
        let mut stream: session::Stream = Box::new(secured);
        session::run(&mut stream, &mut session, &client, limits, draining).await.map(drop)
    })
}

/// Only for a lack of places, because TLS starts inside the protocol.
fn turn_away(why: &TurnedAway<'_>, _: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let TurnedAway::Busy(why) = why {
        // The number before the first.
        Replies::new(&mut bytes, u8::MAX, Capabilities::OFFERED).error(1040, b"08004", why);
    }
    bytes
}

impl Mysql {
    /// Without TLS so far. The connection's salt is `random`, which has to be fresh.
    pub(crate) fn new(
        service: &Arc<Service>,
        caller: Caller,
        tls: Tls,
        limits: &Limits,
        id: u64,
        random: [u8; 20],
    ) -> Self {
        let access = service.access();
        // If clients must log in, this plugin needs only one hash of a token.
        let plugin = if access.asks() { Plugin::CachingSha2 } else { Plugin::NativePassword };
        let packet_bytes = limits.request_bytes();
        Self {
            service: Arc::clone(service),
            tls,
            connected: caller.clone(),
            caller,
            metrics: service.metrics().protocol(PROTOCOL.word),
            packet_bytes,
            salt: Salt::from_random(random),
            plugin,
            phase: Phase::Opening,
            capabilities: Capabilities::OFFERED,
            multi_statements: false,
            about: About::new(id, packet_bytes, limits.idle_timeout),
            prepared: Prepared::default(),
            paused: None,
        }
    }

    /// TLS has begun, with a client whose certificate names `caller`.
    pub(crate) fn secured(&mut self, caller: Caller) {
        self.tls = Tls::Begun;
        self.connected = caller.at(&self.connected);
    }

    /// The capabilities that the server offers. The client chooses among them.
    fn offered(&self) -> Capabilities {
        match self.tls {
            Tls::None => Capabilities::OFFERED,
            Tls::Offered | Tls::Required | Tls::Begun => Capabilities::OFFERED.with(Capabilities::TLS),
        }
    }

    /// Takes one packet. `Read` if the next one may follow. A query may be [paused](Self::paused); then its packet is taken again.
    async fn take_packet(
        &mut self,
        packet: &Packet<'_>,
        output: &mut Vec<u8>,
        since: Instant,
    ) -> Result<Next, Error> {
        let mut replies = Replies::new(output, packet.sequence, self.capabilities);
        match self.phase {
            Phase::Opening => match Opening::read(packet, self.offered(), self.tls == Tls::Begun)? {
                // What follows is TLS.
                Opening::Tls => Ok(Next::HandOver),
                Opening::Login(_) if self.tls == Tls::Required => {
                    self.metrics.refused(Status::BadRequest);
                    let text = "this port takes TLS: connect with it (--ssl, sslmode, ssl-mode=REQUIRED)";
                    replies.error(3159, b"HY000", text);
                    Ok(Next::Close)
                }
                Opening::Login(login) => {
                    self.capabilities = login.capabilities;
                    self.multi_statements = login.capabilities.has(Capabilities::MULTI_STATEMENTS);
                    let mut replies = Replies::new(output, packet.sequence, self.capabilities);
                    Ok(self.log_in(&login, &mut replies))
                }
            },
            Phase::Proof(due) if due == packet.sequence => Ok(self.prove(packet.payload, &mut replies)),
            Phase::Proof(_) => Err(Error::OutOfOrder),
            Phase::Commands => match Command::read(packet, self.capabilities)? {
                Command::Query(text) => {
                    Ok(self.query(text, packet.sequence.wrapping_add(1), output, since).await)
                }
                command => Ok(self.run(command, &mut replies).await),
            },
        }
    }

    /// Checks a login, or asks for a proof by a plugin that the client knows.
    fn log_in(&mut self, login: &Login<'_>, replies: &mut Replies<'_>) -> Next {
        if login.user.len() > USER_BYTES {
            self.refuse(&Failure::long_user(), replies);
            return Next::Close;
        }
        if let Err(failure) = self.use_database(login.database.unwrap_or_default()) {
            self.refuse(&failure, replies);
            return Next::Close;
        }
        self.about.user = login.user.to_vec();
        // A client that names no plugin knows only the oldest one.
        let named = login.plugin.map_or(Some(Plugin::NativePassword), Plugin::named);
        if named == Some(self.plugin) {
            return self.prove(login.proof, replies);
        }
        self.plugin = named.unwrap_or(Plugin::NativePassword);
        replies.switch(self.plugin, &self.salt);
        self.phase = Phase::Proof(replies.sequence());
        Next::Read
    }

    fn prove(&mut self, proof: &[u8], replies: &mut Replies<'_>) -> Next {
        // No password is an empty proof, or one zero.
        let without = matches!(proof, [] | [0]);
        let access = self.service.access();
        self.caller = match self.plugin {
            _ if without => self.connected.clone(),
            plugin => access.proven(&self.connected, |token| proves(token, plugin, proof, &self.salt)),
        };
        if let Err(refusal) = self.caller.check() {
            self.refuse(&refusal.into(), replies);
            return Next::Close;
        }
        if self.plugin == Plugin::CachingSha2 && !without {
            replies.fast();
        }
        replies.ok(&Done::default());
        self.phase = Phase::Commands;
        Next::Read
    }

    async fn run(&mut self, command: Command<'_>, replies: &mut Replies<'_>) -> Next {
        let outcome = match command {
            Command::Quit => return Next::Close,
            Command::ChangeUser(login) => {
                self.forget();
                return self.log_in(&login, replies);
            }
            // It is answered piece by piece.
            Command::Query(_) => return Next::Read,
            Command::Execute(execute) => self.execute(&execute, replies).await,
            Command::Prepare(text) => self.prepare(text, replies),
            // Neither is answered.
            Command::SendLongData { statement } => {
                if let Some(prepared) = self.prepared.statements.get_mut(&statement) {
                    prepared.in_pieces = true;
                }
                return Next::Read;
            }
            Command::Close(statement) => {
                self.prepared.remove(statement);
                return Next::Read;
            }
            Command::Reset(statement) => match self.prepared.statements.get_mut(&statement) {
                Some(prepared) => {
                    prepared.in_pieces = false;
                    replies.ok(&self.done());
                    Ok(())
                }
                None => Err(Failure::unknown_statement(statement)),
            },
            Command::InitDb(database) => self.use_database(database).map(|()| replies.ok(&self.done())),
            Command::FieldList { .. } => {
                replies.fields(&about::TABLE, self.about.standing);
                Ok(())
            }
            Command::Statistics => {
                replies.statistics(&format!("floe {}", env!("CARGO_PKG_VERSION")));
                Ok(())
            }
            Command::Ping => {
                replies.ok(&self.done());
                Ok(())
            }
            Command::ResetConnection => {
                self.forget();
                replies.ok(&self.done());
                Ok(())
            }
            Command::SetOption { multi_statements } => {
                self.multi_statements = multi_statements;
                replies.eof(self.about.standing);
                Ok(())
            }
            Command::Unknown(code) => Err(Failure::new(
                1047,
                b"08S01",
                format!(
                    "unknown command {code}: floe knows queries, prepared statements, and what connections need"
                ),
            )),
            Command::Malformed(_) => {
                self.refuse(&Failure::malformed(), replies);
                return Next::Close;
            }
        };
        match outcome {
            Ok(()) => self.metrics.answered(1),
            Err(failure) => self.refuse(&failure, replies),
        }
        Next::Read
    }

    fn refuse(&mut self, failure: &Failure, replies: &mut Replies<'_>) {
        self.about.last_insert_id = None;
        self.metrics.refused(failure.status);
        replies.error(failure.code, failure.state, &failure.text);
    }

    /// Nothing was changed.
    fn done(&self) -> Done {
        Done { status: self.about.standing, ..Done::default() }
    }

    fn use_database(&mut self, database: &[u8]) -> Result<(), Failure> {
        if database.len() > DATABASE_BYTES {
            return Err(Failure::long_database());
        }
        self.about.use_database(database);
        Ok(())
    }

    /// What a connection forgets when it is reset.
    fn forget(&mut self) {
        self.prepared = Prepared::default();
        self.about.last_insert_id = Some(0);
        self.about.standing = Standing::default();
    }

    /// Answers one statement after another, up to the first failure. If answers are due to be written, the rest waits
    /// until the client has read them, so that a query with many statements never has more than a few answers in
    /// memory.
    async fn query(&mut self, text: &[u8], sequence: u8, output: &mut Vec<u8>, since: Instant) -> Next {
        let (mut statements, mut sequence) = match self.paused.take() {
            Some(Paused { next, sequence }) => (sql::statements_from(text, next), sequence),
            None => (sql::statements(text), sequence),
        };
        while let Some(parsed) = statements.next() {
            let more = statements.has_more();
            let answer = if more && !self.multi_statements {
                Err(Refusal::bad(
                    "there are several statements in one query: the client has to ask for that when it connects (CLIENT_MULTI_STATEMENTS), or send them one by one",
                )
                .into())
            } else if parsed.parameters > 0 {
                Err(Refusal::bad("a `?` stands for a parameter only in a prepared statement").into())
            } else {
                self.answer(&parsed.statement, &[]).await
            };
            let mut replies = Replies::new(output, sequence.wrapping_sub(1), self.capabilities);
            match answer {
                Ok(answer) => {
                    self.metrics.answered(1);
                    let standing = Standing { more_results: more, ..self.about.standing };
                    answer.write(Format::Text, standing, &mut replies);
                }
                Err(failure) => {
                    self.refuse(&failure, &mut replies);
                    break;
                }
            }
            sequence = replies.sequence();
            if more && is_due(output, since) {
                self.paused = Some(Paused { next: statements.place(), sequence });
                return Next::Again;
            }
        }
        Next::Read
    }

    fn prepare(&mut self, text: &[u8], replies: &mut Replies<'_>) -> Result<(), Failure> {
        let mut statements = sql::statements(text);
        let parsed = statements.next().ok_or_else(Failure::empty)?;
        if statements.next().is_some() {
            return Err(Refusal::bad("a prepared statement is one statement: prepare each by itself").into());
        }
        let columns = match &parsed.statement {
            Statement::Empty => return Err(Failure::empty()),
            Statement::Other(near) => return Err(Failure::other(near)),
            Statement::Select { items, .. } => self.about.columns(items)?,
            Statement::ShowVariables(_) => about::VARIABLES.to_vec(),
            Statement::ShowWarnings => about::WARNINGS.to_vec(),
            Statement::ShowFields { full, .. } => about::field_columns(*full),
            Statement::Tables { .. } => about::catalog_column(b"table_name"),
            Statement::PrimaryKey(_) => about::catalog_column(b"column_name"),
            _ => Vec::new(),
        };
        let count = u16::try_from(parsed.parameters)
            .map_err(|_| Failure::new(1390, b"HY000", "a prepared statement has at most 65535 parameters"))?;
        let full = self.prepared.statements.len() >= MOST_PREPARED
            || self.prepared.bytes + text.len() > self.packet_bytes;
        if full {
            let text = format!(
                "this connection has prepared {MOST_PREPARED} statements, or {} bytes of them, which is the most: close some, or prepare each once",
                self.packet_bytes
            );
            return Err(Failure::new(1461, b"42000", text));
        }
        let id = self.prepared.add(text, parsed.parameters);
        replies.prepared(id, count, &columns, self.about.standing);
        Ok(())
    }

    async fn execute(&mut self, execute: &Execute<'_>, replies: &mut Replies<'_>) -> Result<(), Failure> {
        let unknown = || Failure::unknown_statement(execute.statement);
        let prepared = self.prepared.statements.get_mut(&execute.statement).ok_or_else(unknown)?;
        if prepared.in_pieces {
            return Err(Refusal::bad(
                "parameters in pieces (COM_STMT_SEND_LONG_DATA) are not taken: send them with the statement, and reset it first",
            )
            .into());
        }
        let values: Vec<_> = execute
            .parameters(prepared.parameters, &mut prepared.types)
            .and_then(|values| values.collect::<Result<_, _>>().ok())
            .ok_or_else(Failure::malformed)?;
        let text = Arc::clone(&prepared.text);
        // It was read when it was prepared.
        let parsed = sql::statements(&text).next().ok_or_else(Failure::empty)?;
        let answer = self.answer(&parsed.statement, &values).await?;
        answer.write(Format::Binary, self.about.standing, replies);
        Ok(())
    }

    async fn answer<'s>(
        &mut self,
        statement: &Statement<'s>,
        parameters: &[floe_wire::mysql::Value<'_>],
    ) -> Result<Answer<'s>, Failure> {
        match statement {
            Statement::Insert { table, rows, replace } => {
                first::no_certain_id(parameters)?;
                return self.insert(table, *rows, *replace).await;
            }
            Statement::Raise { table, next } => {
                let raised = self.service.raise(&self.caller, &ROW, name(table)?, *next).await;
                raised.map_err(|refusal| refusal.told(self.caller.sees_inside()))?;
            }
            Statement::Select { items, limit } => {
                return self.select(items, *limit, parameters);
            }
            Statement::ShowVariables(which) => {
                return Ok(Answer::Rows { columns: about::VARIABLES.to_vec(), rows: self.about.show(which) });
            }
            Statement::ShowWarnings => {
                return Ok(Answer::Rows { columns: about::WARNINGS.to_vec(), rows: Vec::new() });
            }
            Statement::ShowFields { table, full } => {
                self.service.check_mintable(&self.caller, &ROW, name(table)?)?;
                let (columns, rows) = (about::field_columns(*full), about::fields(*full));
                return Ok(Answer::Rows { columns, rows });
            }
            Statement::Tables { named } => {
                let tables = match named {
                    None => self.service.mintable(&self.caller, &ROW, MOST_TABLES),
                    Some(table) if self.is_table(table) => vec![(*table).to_vec()],
                    Some(_) => Vec::new(),
                };
                return Ok(catalog(b"table_name", tables));
            }
            Statement::PrimaryKey(table) => {
                let key = self.is_table(table).then(|| about::KEY.into());
                return Ok(catalog(b"column_name", key));
            }
            Statement::Set { autocommit } => {
                if let Some(autocommit) = *autocommit {
                    self.about.standing = Standing { autocommit, ..Standing::default() };
                }
            }
            Statement::Use(database) => self.use_database(database)?,
            Statement::Begin => self.about.standing.in_transaction = true,
            Statement::Commit | Statement::Rollback => self.about.standing.in_transaction = false,
            Statement::Empty => return Err(Failure::empty()),
            Statement::Other(near) => return Err(Failure::other(near)),
        }
        Ok(Answer::Done(self.done()))
    }

    /// Whether a row can be inserted into a table of this name.
    fn is_table(&self, table: &[u8]) -> bool {
        let mintable = |name| self.service.check_mintable(&self.caller, &ROW, name).is_ok();
        str::from_utf8(table).is_ok_and(mintable)
    }

    async fn insert<'s>(
        &mut self,
        table: &Table<'_>,
        rows: usize,
        replace: bool,
    ) -> Result<Answer<'s>, Failure> {
        let name = name(table)?;
        let rows = u64::try_from(rows).unwrap_or(u64::MAX);
        let call = if rows == 1 { &ROW } else { &ROWS };
        let minted = self.service.mint(&self.caller, call, name, rows).await?;
        let first = first::first(name, rows, minted)?;
        self.about.last_insert_id = Some(first);
        let affected = if replace { rows.saturating_mul(2) } else { rows };
        Ok(Answer::Done(Done { affected, last_insert_id: first, status: self.about.standing }))
    }

    fn select<'s>(
        &self,
        items: &[Item<'s>],
        limit: Option<u64>,
        parameters: &[floe_wire::mysql::Value<'_>],
    ) -> Result<Answer<'s>, Failure> {
        let columns = self.about.columns(items)?;
        let mut parameters = parameters.iter();
        let row: Vec<Value> =
            items.iter().map(|item| self.about.value(item, &mut parameters)).collect::<Result<_, _>>()?;
        let rows = if limit == Some(0) { Vec::new() } else { vec![row] };
        Ok(Answer::Rows { columns, rows })
    }
}

impl Session for Mysql {
    fn greet(&mut self, output: &mut Vec<u8>) {
        if self.tls == Tls::Begun {
            // The client was greeted before.
            return;
        }
        Greeting {
            version: VERSION,
            connection: self.about.connection,
            salt: &self.salt,
            capabilities: self.offered(),
            plugin: self.plugin,
        }
        .encode(output);
    }

    fn may_idle(&self) -> bool {
        matches!(self.phase, Phase::Commands)
    }

    async fn take(&mut self, input: &[u8], output: &mut Vec<u8>, since: Instant) -> Option<Taken> {
        let taken = match packet(input, self.packet_bytes) {
            Ok(None) => return None,
            Ok(Some((packet, bytes))) => {
                let next = self.take_packet(&packet, output, since).await;
                next.map(|next| (if self.paused.is_none() { bytes } else { 0 }, next))
            }
            Err(error) => Err(error),
        };
        Some(taken.unwrap_or_else(|error| {
            let sequence = input.get(3).copied().unwrap_or_default();
            let text = format!("{error}: connect again");
            self.metrics.refused(Status::BadRequest);
            Replies::new(output, sequence, self.capabilities).error(error.code(), error.state(), &text);
            (input.len(), Next::Close)
        }))
    }

    fn keeps(&self) -> usize {
        // The types of a statement's parameters may take as much as its text.
        2 * self.prepared.bytes + self.prepared.statements.len() * PREPARED_BYTES
    }

    fn busy(&mut self, refusal: Refusal, output: &mut Vec<u8>) {
        self.refuse(&refusal.into(), &mut Replies::new(output, 0, self.capabilities));
    }

    fn took(&mut self, time: Duration) {
        self.metrics.took(time);
    }
}

impl Prepared {
    fn add(&mut self, text: &[u8], parameters: usize) -> u32 {
        // Numbers repeat after 2^32 statements, so it skips those still in use.
        while self.last == 0 || self.statements.contains_key(&self.last) {
            self.last = self.last.wrapping_add(1);
        }
        let statement =
            PreparedStatement { text: text.into(), parameters, types: Vec::new(), in_pieces: false };
        self.bytes += text.len();
        self.statements.insert(self.last, statement);
        self.last
    }

    fn remove(&mut self, id: u32) {
        if let Some(statement) = self.statements.remove(&id) {
            self.bytes -= statement.text.len();
        }
    }
}

/// Whether a proof for `salt` is one of a token's secret. The user is ignored, because the secret identifies the
/// caller.
fn proves(token: &TokenSettings, plugin: Plugin, proof: &[u8], salt: &Salt) -> bool {
    match plugin {
        Plugin::NativePassword => {
            token.mysql_native.is_some_and(|hash| native_password(proof, salt, &hash.0))
        }
        Plugin::CachingSha2 => token.hash.is_some_and(|hash| caching_sha2(proof, salt, &hash.0)),
    }
}

/// The answer to a question to `information_schema`.
fn catalog<'s>(column: &'static [u8], names: impl IntoIterator<Item = Vec<u8>>) -> Answer<'s> {
    let rows = names.into_iter().map(|name| vec![Value::Text(name)]).collect();
    Answer::Rows { columns: about::catalog_column(column), rows }
}

fn name<'a>(table: &Table<'a>) -> Result<&'a str, Refusal> {
    str::from_utf8(table.name).map_err(|_| Refusal::bad("a table's name has to be UTF-8"))
}

/// The column of the table of errors.
impl Status {
    /// The error's number and its SQLSTATE for MySQL's clients.
    pub(crate) const fn mysql(self) -> (u16, &'static [u8; 5]) {
        match self {
            Self::UnknownName => (1146, b"42S02"),
            Self::BadRequest => (1064, b"42000"),
            Self::WrongKind => (1366, b"HY000"),
            Self::Unauthenticated | Self::WrongToken => (1045, b"28000"),
            Self::Forbidden => (1142, b"42000"),
            Self::Busy | Self::Unavailable => (1205, b"HY000"),
            Self::Exhausted => (1467, b"HY000"),
            Self::Stopped => (1105, b"HY000"),
        }
    }
}

#[cfg(test)]
mod tests {
    use sha1::Sha1;
    use sha2::{Digest, Sha256};

    use super::*;
    use crate::access::Access;
    use crate::config::{Config, NewToken, TokenHash};
    use crate::metrics::Metrics;

    #[test]
    fn a_proof_of_mysqls_shows_a_token_and_a_hash_makes_none() {
        let shop = NewToken::random("shop", "*").unwrap();
        let other = NewToken::random("other", "*").unwrap();
        let text = format!("realm = 'r'\n{}{}", shop.toml().replace("# mysql", "mysql"), other.toml());
        let config = Config::parse(&text, "floe.toml".as_ref()).unwrap();
        let access = Access::new(&config.tokens, &[], &Metrics::new(10, []));
        let salt = Salt::from_random([7; 20]);
        let xor = |a: &[u8], b: &[u8]| a.iter().zip(b).map(|(a, b)| a ^ b).collect::<Vec<_>>();
        let sha2 = |once: &[u8]| {
            let twice = Sha256::digest(once);
            xor(once, &Sha256::new().chain_update(twice).chain_update(salt.as_bytes()).finalize())
        };
        let native = |secret: &str| {
            let once = Sha1::digest(secret);
            let twice = Sha1::digest(once);
            xor(&once, &Sha1::new().chain_update(salt.as_bytes()).chain_update(twice).finalize())
        };
        let with = |plugin: Plugin, proof: &[u8]| {
            let caller = access.proven(&access.unknown(), |token| proves(token, plugin, proof, &salt));
            caller.check_name("orders").err().map(|refusal| refusal.status)
        };
        assert_eq!(with(Plugin::CachingSha2, &sha2(&Sha256::digest(shop.secret()))), None);
        assert_eq!(with(Plugin::NativePassword, &native(shop.secret())), None);
        // Its mysql_native is not in the file.
        assert_eq!(with(Plugin::NativePassword, &native(other.secret())), Some(Status::WrongToken));
        let stolen = TokenHash::of(shop.secret().as_bytes());
        assert_eq!(with(Plugin::CachingSha2, &sha2(&stolen.0)), Some(Status::WrongToken));
        assert_eq!(with(Plugin::CachingSha2, b""), Some(Status::WrongToken));
    }
}
