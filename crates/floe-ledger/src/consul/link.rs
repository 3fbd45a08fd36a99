//! A connection to an agent: transactions, and the names of keys.

use std::sync::Arc;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use http::response::Parts;
use http::{Method, Request, StatusCode};
use hyper::body::Bytes;
use serde::Deserialize;
use serde_json::{Value, json};

use super::url::Settings;
use crate::options::let_be;
use crate::remote::http::{Fault, Http, Servers, Speaks};
use crate::remote::{self, Connected, Wanted};

type Trouble = remote::Trouble<Fault>;

/// The most bytes in an answer: the names of some 500,000 keys.
const LONGEST_ANSWER: usize = 32 << 20;

/// How many characters of an error are shown.
const SHOWN: usize = 300;

/// An answer that Consul would not give, and what to do about it.
const UNREADABLE: &str = "the answer cannot be read";
const ODD: &str = "this is not an answer of Consul's: check the address, and what stands before it";

/// What to check if the connection broke off.
const BROKEN_OFF: &str = "check the host and the port in the URL, whether the agent runs, whether it asks for a certificate \
                          (sslcert, sslkey), and whether a list exceeds 32 MiB";

/// Consul's words if a condition of a transaction does not hold.
const STALE: [&str; 2] = ["index is stale", "doesn't exist"];

/// Words in what Consul refuses, whether the URL is wrong, and the way out.
const WAYS_OUT: [(&str, bool, &str); 9] = [
    ("ACL not found", true, "no such token: look at the URL, token_file and CONSUL_HTTP_TOKEN"),
    ("ermission denied", true, "give CONSUL_HTTP_TOKEN or token_file the rights of docs/ledgers.md"),
    ("No path to datacenter", true, "look at datacenter in the URL"),
    ("HTTPS server", true, "it speaks TLS there: say sslmode=verify-full&sslrootcert=FILE"),
    ("unknown KV verb", true, "update Consul to 1.14 or newer"),
    ("leader", false, "look which servers run (consul operator raft list-peers)"),
    ("ate limit", false, "raise limits.request_limits of the servers, or take a longer window"),
    ("too large", false, "raise limits.kv_max_value_size and limits.txn_max_req_len"),
    ("connection broke off", false, BROKEN_OFF),
];

/// A connection to one agent.
pub(super) struct Link {
    http: Http,
    settings: Arc<Settings>,
}

/// A key in an answer.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Kv {
    pub(super) key: String,
    value: Option<String>,
    pub(super) flags: u64,
    /// 0 if there is no such key.
    pub(super) modify_index: u64,
}

impl Kv {
    pub(super) fn text(&self) -> Option<String> {
        String::from_utf8(BASE64_STANDARD.decode(self.value.as_deref()?).ok()?).ok()
    }
}

/// A text as the value of a key in a request.
pub(super) fn encoded(text: &str) -> String {
    BASE64_STANDARD.encode(text)
}

/// The step that reads a key, which may be missing.
pub(super) fn look(name: &str) -> Value {
    json!({ "KV": { "Verb": "get-or-empty", "Key": name } })
}

impl AsRef<Http> for Link {
    fn as_ref(&self) -> &Http {
        &self.http
    }
}

/// The agents of a URL, and the name of the realm's key.
pub(super) struct Agents {
    pub(super) settings: Arc<Settings>,
    pub(super) realm: String,
}

impl Speaks for Agents {
    type Link = Link;

    fn servers(&self) -> &Servers {
        &self.settings.agents
    }

    async fn enter(&self, http: Http, _: Wanted<'_>) -> Result<Connected<Link>, Trouble> {
        let mut link = Link { http, settings: Arc::clone(&self.settings) };
        let mut remarks = Vec::new();
        // Without a right to read it, the agent does not say what it is.
        let is_fine = [StatusCode::OK, StatusCode::FORBIDDEN];
        let (_, own) = link.ask(Method::GET, "/v1/agent/self", Vec::new(), &is_fine).await?;
        let own: Value = serde_json::from_slice(&own).unwrap_or_default();
        if own["DebugConfig"]["DevMode"] == true {
            let what = "a restart forgets every mark, and IDs would repeat";
            let finding = ["runs with -dev, and keeps nothing on disk", what, "Start it with -data-dir"];
            let_be(
                self.settings.agents.reach.allows_unsafe,
                &self.settings.agents.reach.shown,
                &mut remarks,
                finding,
            )?;
        }
        // This takes a leader with a majority, and a token with the rights.
        link.transact(vec![look(&self.realm)]).await?;
        Ok(Connected { link, realm_id: None, remarks })
    }
}

impl Link {
    /// The results of a transaction's steps, except those that delete; `None` if a condition does not hold.
    pub(super) async fn transact(&mut self, steps: Vec<Value>) -> Result<Option<Vec<Kv>>, Trouble> {
        let path = format!("/v1/txn?{}", self.settings.query);
        let steps = Value::Array(steps);
        let body = steps.to_string().into_bytes();
        let is_fine = [StatusCode::OK, StatusCode::CONFLICT];
        let (_, answer) = self.ask(Method::PUT, &path, body, &is_fine).await?;
        let mut answer: Value = serde_json::from_slice(&answer).map_err(|_| self.fault(UNREADABLE))?;
        if let Some(refusals) = answer["Errors"].as_array().filter(|refusals| !refusals.is_empty()) {
            let mut refusals = refusals.iter().map(|refusal| refusal["What"].as_str().unwrap_or_default());
            let other = refusals.find(|what| !STALE.iter().any(|words| what.contains(words)));
            return other.map_or(Ok(None), |what| Err(self.fault(what).into()));
        }
        let results = answer.get_mut("Results").and_then(Value::as_array_mut).map(std::mem::take);
        let results = results.unwrap_or_default().into_iter();
        let found =
            results.map(|result| serde_json::from_value(result.get("KV").cloned().unwrap_or_default()));
        let found: Vec<Kv> = found.collect::<Result<_, _>>().map_err(|_| self.fault(UNREADABLE))?;
        // Consul leaves out, without an error, what the token may not read.
        let wanted = steps
            .as_array()
            .into_iter()
            .flatten()
            .map(|step| &step["KV"])
            .filter(|kv| kv["Verb"] != "delete");
        match wanted.map(|kv| kv["Key"].as_str()).eq(found.iter().map(|kv| Some(kv.key.as_str()))) {
            true => Ok(Some(found)),
            false => {
                Err(self.fault("the answer leaves keys out: permission denied, or this is not Consul").into())
            }
        }
    }

    /// The names of all keys that begin with `prefix`; if the list `may_be_partial`, of those that the token may read.
    pub(super) async fn names(&mut self, prefix: &str, may_be_partial: bool) -> Result<Vec<String>, Trouble> {
        let path = format!("/v1/kv/{prefix}?keys&{}", self.settings.query);
        let is_fine = [StatusCode::OK, StatusCode::NOT_FOUND, StatusCode::FORBIDDEN];
        let is_fine = if may_be_partial { &is_fine } else { &is_fine[..2] };
        let (head, body) = self.ask(Method::GET, &path, Vec::new(), is_fine).await?;
        let says = |name: &str| head.headers.contains_key(name);
        match head.status {
            StatusCode::FORBIDDEN => Ok(Vec::new()),
            _ if !says("x-consul-index") => Err(self.fault(UNREADABLE).into()),
            _ if says("x-consul-results-filtered-by-acls") && !may_be_partial => {
                Err(self.fault("permission denied: the list leaves keys out").into())
            }
            StatusCode::NOT_FOUND => Ok(Vec::new()),
            _ => serde_json::from_slice(&body).map_err(|_| self.fault(UNREADABLE).into()),
        }
    }

    async fn ask(
        &mut self,
        method: Method,
        path: &str,
        body: Vec<u8>,
        is_fine: &[StatusCode],
    ) -> Result<(Parts, Bytes), Fault> {
        let mut request = Request::builder().method(method).uri(path);
        if let Some(token) = &self.settings.token {
            request = request.header("x-consul-token", token.clone());
        }
        let asked = self.http.ask(request, body, LONGEST_ANSWER).await;
        let (head, body) = asked.map_err(|fault| self.fault(&fault.text))?;
        match is_fine.contains(&head.status) {
            true => Ok((head, body)),
            false => Err(self.fault(&format!("{}: {}", head.status, String::from_utf8_lossy(&body)))),
        }
    }

    /// What the agent says, in one line and shortened, and the way out.
    fn fault(&self, text: &str) -> Fault {
        let known = WAYS_OUT.iter().find(|(words, ..)| text.contains(words));
        let (_, is_asked_for, way_out) = known.copied().unwrap_or(("", false, ODD));
        let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let line: String = line.chars().take(SHOWN).collect();
        Fault { is_asked_for, ..Fault::new(&self.http.server, format!("{line}; {way_out}")) }
    }
}
