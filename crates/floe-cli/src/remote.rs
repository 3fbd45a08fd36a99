//! A floe server, asked over its own HTTP.

use std::time::Duration;

use serde_json::Value;

use crate::failure::{Failure, Outcome};

/// A server under one address.
pub(crate) struct Remote {
    agent: ureq::Agent,
    base: String,
    /// The header that authenticates the caller, if the server needs it.
    authorization: Option<String>,
}

/// What a server answers to a request.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: String,
    /// What the server asks for before the next try.
    pub(crate) retry_after: Option<Duration>,
}

/// The variable of the environment that holds a token: an argument would be seen by everybody on the machine.
const TOKEN: &str = "FLOE_TOKEN";

/// The longest answer that is read: more than the largest batch of IDs.
const MAX_ANSWER_BYTES: u64 = 64 << 20;

/// The longest page that a server gives.
const PAGE: usize = 1_000;

impl Remote {
    /// The server at `url`, which is not asked yet.
    pub(crate) fn at(url: &str) -> Outcome<Self> {
        let base = url.trim_end_matches('/');
        let refuse = |why: &str| {
            Failure::usage(format_args!("--server {url:?} {why}"))
                .hint("write the address that the server prints at its start, such as http://127.0.0.1:7600")
        };
        match base.split_once("://") {
            Some(("http" | "https", host)) if !host.is_empty() => {}
            _ => return Err(refuse("is not the address of a server")),
        }
        let authorization = match std::env::var(TOKEN) {
            Ok(token) if token.is_empty() => None,
            Ok(token) if token.bytes().all(|byte| byte.is_ascii_graphic()) => Some(format!("Bearer {token}")),
            Err(std::env::VarError::NotPresent) => None,
            // What it holds is not shown.
            Ok(_) | Err(_) => {
                return Err(Failure::usage(format_args!("{TOKEN} holds no token"))
                    .hint("a token is the first line that `floe token new` prints: copy only that line"));
            }
        };
        // The certificates that the system trusts, or those in the file that SSL_CERT_FILE names.
        let tls = ureq::tls::TlsConfig::builder().root_certs(ureq::tls::RootCerts::PlatformVerifier).build();
        let agent = ureq::Agent::config_builder()
            .tls_config(tls)
            .http_status_as_error(false)
            .timeout_connect(Some(Duration::from_secs(5)))
            .timeout_global(Some(Duration::from_secs(30)))
            .user_agent(concat!("floe/", env!("CARGO_PKG_VERSION")))
            .build()
            .into();
        Ok(Self { agent, base: base.to_owned(), authorization })
    }

    /// `GET` of `path` under the server's address.
    pub(crate) fn get(&self, path: &str, accept: &str) -> Outcome<Answer> {
        let unreachable = |error: ureq::Error| {
            Failure::new(format_args!("no answer from {}: {error}", self.base)).hint(match self.base.starts_with("https") {
                true => "check that `floe serve` runs there with tls, and that its certificate is trusted by this system, or by the file in SSL_CERT_FILE",
                false => "check that `floe serve` runs there and that the address and port are right",
            })
        };
        let mut request = self.agent.get(format!("{}{path}", self.base)).header("Accept", accept);
        if let Some(authorization) = &self.authorization {
            request = request.header("Authorization", authorization);
        }
        let mut answer = request.call().map_err(unreachable)?;
        let retry_after = answer
            .headers()
            .get("retry-after")
            .and_then(|value| value.to_str().ok()?.parse().ok())
            .map(Duration::from_secs);
        let body =
            answer.body_mut().with_config().limit(MAX_ANSWER_BYTES).read_to_string().map_err(unreachable)?;
        Ok(Answer { status: answer.status().as_u16(), body, retry_after })
    }

    /// The JSON under `path`; any status but 200 is a failure that says what the server said.
    pub(crate) fn json(&self, path: &str) -> Outcome<Value> {
        let answer = self.get(path, "application/json")?;
        if answer.status != 200 {
            return Err(self.refused(&answer));
        }
        serde_json::from_str(&answer.body).map_err(|error| self.foreign(error))
    }

    /// All of the list `key` under `path`, page by page.
    pub(crate) fn list(&self, path: &str, key: &str) -> Outcome<Vec<Value>> {
        let mut all = Vec::new();
        let mut after = String::new();
        loop {
            let mut page = self.json(&format!("{path}?limit={PAGE}&after={}", path_segment(&after)))?;
            let Some(Value::Array(items)) = page.get_mut(key).map(Value::take) else {
                return Err(self.foreign(format_args!("no list of {key}")));
            };
            all.extend(items);
            match page.get("next").and_then(Value::as_str) {
                // A page that ends where the one before did would be asked for for ever.
                Some(next) if next > after.as_str() => next.clone_into(&mut after),
                _ => return Ok(all),
            }
        }
    }

    /// The failure for an answer that is an error.
    pub(crate) fn refused(&self, answer: &Answer) -> Failure {
        if answer.status == 401 {
            let why = match self.authorization {
                None => "asks for a token",
                Some(_) => "does not know this token",
            };
            return Failure::new(format_args!("{} {why}", self.base))
                .hint(format_args!("put a token of that server into the variable {TOKEN}"));
        }
        match detail(answer) {
            Some(_) => Failure::new(self.said(answer)),
            None => Failure::new(self.said(answer))
                .hint("is it a floe server? Its /docs page lists what it answers"),
        }
    }

    /// The message of an error answer.
    pub(crate) fn said(&self, answer: &Answer) -> String {
        match detail(answer) {
            Some(detail) => format!("{} says: {detail}", self.base),
            None => format!("{} answers with status {}", self.base, answer.status),
        }
    }

    /// The failure for an answer that floe's own server would not give.
    pub(crate) fn foreign(&self, why: impl std::fmt::Display) -> Failure {
        Failure::new(format_args!("{} does not answer like a floe server: {why}", self.base))
            .hint("check the address, and that the server and this command have the same version")
    }
}

/// RFC 9457: title and detail are written for people.
fn detail(answer: &Answer) -> Option<String> {
    let problem: Value = serde_json::from_str(&answer.body).unwrap_or_default();
    let text = |key: &str| problem.get(key).and_then(Value::as_str).map(str::to_owned);
    text("detail").or_else(|| text("title"))
}

/// `text` as one segment of a URL's path.
pub(crate) fn path_segment(text: &str) -> String {
    text.bytes().fold(String::new(), |mut path, byte| {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                path.push(char::from(byte))
            }
            _ => path.push_str(&format!("%{byte:02X}")),
        }
        path
    })
}

#[cfg(test)]
mod tests {
    use super::path_segment;

    #[test]
    fn a_name_is_one_segment_of_a_path() {
        assert_eq!(path_segment("orders-2026_a.b~c"), "orders-2026_a.b~c");
        assert_eq!(path_segment("a?b#c%d:é"), "a%3Fb%23c%25d%3A%C3%A9");
    }
}
