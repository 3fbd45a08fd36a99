//! Who calls, and what the caller may mint.
//!
//! Every wire finds its caller here, from whatever its clients can show (a token, a proof of one, a certificate), and
//! hands it to the [`Service`](crate::service::Service), which refuses. Without tokens, authentication is off.
//!
//! A token is 256 random bits, so one fast hash is enough: there is no dictionary to try. Each check compares all
//! hashes, in constant time. No secret is kept, logged, or shown in an error.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::http::{Extensions, HeaderMap, HeaderValue, header};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use prometheus_client::metrics::counter::Counter;
use subtle::{Choice, ConditionallySelectable, ConstantTimeEq};

use crate::clients::CLIENT;
use crate::config::{NameRule, TinyIdToken, TokenHash, TokenSettings};
use crate::metrics::Metrics;
use crate::status::{Refusal, Status};

pub(crate) mod strangers;

use strangers::Strangers;

/// The tokens of a server.
pub(crate) struct Access {
    bearers: Vec<Arc<Bearer>>,
    strangers: Strangers,
    /// The rows of tinyid's table of tokens.
    rows: Vec<TinyIdToken>,
    /// Host names under which a proxy may reach listeners of this machine only.
    hosts: Vec<String>,
}

/// Who calls. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Caller(Who, Option<Origin>);

/// Where a call comes from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Origin {
    /// What is spoken.
    pub(crate) protocol: &'static str,
    /// The other end; a unix socket has none.
    pub(crate) peer: Option<SocketAddr>,
    /// Whether that is on this machine.
    pub(crate) local: bool,
    /// Whether other machines reach the listener.
    pub(crate) exposed: bool,
}

#[derive(Clone)]
enum Who {
    /// The server has no tokens.
    Anybody,
    /// It has, and none was shown.
    Nobody,
    /// The server does not know the token that was shown.
    Stranger,
    Bearer(Arc<Bearer>),
    /// A bearer at the limit of connections with one token: the reason for the refusal.
    Crowded(Arc<Refusal>),
    /// A caller with a tinyid token for this name.
    Visitor(Arc<str>),
}

struct Bearer {
    settings: TokenSettings,
    minted: Counter,
}

impl Access {
    pub(crate) fn new(tokens: &[TokenSettings], rows: &[TinyIdToken], metrics: &Metrics) -> Self {
        let bearer = |settings: &TokenSettings| {
            Arc::new(Bearer { settings: settings.clone(), minted: metrics.minted_with(&settings.name) })
        };
        Self {
            bearers: tokens.iter().map(bearer).collect(),
            rows: rows.to_vec(),
            hosts: Vec::new(),
            strangers: Strangers::default(),
        }
    }

    /// Adds `hosts` under which clients may ask a listener of this machine only, besides the usual ones.
    pub(crate) fn with_hosts(self, hosts: &[String]) -> Self {
        Self { hosts: hosts.to_vec(), ..self }
    }

    pub(crate) fn hosts(&self) -> &[String] {
        &self.hosts
    }

    /// Whether authentication is on.
    pub(crate) fn asks(&self) -> bool {
        !self.bearers.is_empty()
    }

    /// The caller who has shown nothing.
    pub(crate) fn unknown(&self) -> Caller {
        Caller(if self.asks() { Who::Nobody } else { Who::Anybody }, None)
    }

    /// The caller with this secret, on the connection of `peer`.
    pub(crate) fn token(&self, secret: &[u8], peer: &Caller) -> Caller {
        let shown = TokenHash::of(secret);
        self.first(peer, |settings| match settings.hash {
            Some(hash) => hash.0.ct_eq(&shown.0),
            None => Choice::from(0),
        })
    }

    /// The caller of a tinyid name with the token that its clients send; `None` if the token is wrong. It is checked
    /// only if there is something to compare it with: rows of tinyid's table, or floe's own tokens, which `caller`
    /// may also have shown elsewhere in the request.
    pub(crate) fn visitor(&self, caller: &Caller, name: &str, token: &str) -> Option<Caller> {
        if name.is_empty() {
            return None;
        }
        let shown = TokenHash::of(token.as_bytes());
        let mut is_row = Choice::from(0);
        for row in self.rows.iter().filter(|row| row.biz_type == name) {
            is_row |= row.hash.0.ct_eq(&shown.0);
        }
        if bool::from(is_row) && !token.is_empty() {
            return Some(Caller(Who::Visitor(name.into()), caller.1));
        }
        if !self.asks() {
            return self.rows.is_empty().then(|| caller.clone());
        }
        let shown = || self.token(token.as_bytes(), caller);
        let caller = if caller.check().is_ok() { caller.clone() } else { shown() };
        caller.sees(name).then_some(caller)
    }

    /// The caller who proves a secret, on the connection of `peer`. The proof is checked against each token.
    pub(crate) fn proven(&self, peer: &Caller, proves: impl Fn(&TokenSettings) -> bool) -> Caller {
        self.first(peer, |settings| Choice::from(u8::from(proves(settings))))
    }

    /// The caller of a client certificate with these names: the first name that a token lists.
    pub(crate) fn certificate(&self, names: &[String]) -> Caller {
        let listed = |bearer: &&Arc<Bearer>| {
            bearer.settings.certificate.as_ref().is_some_and(|certificate| names.contains(certificate))
        };
        let bearer = self.bearers.iter().find(listed);
        bearer.map_or_else(|| self.unknown(), known)
    }

    /// The caller of a request with these headers, on a connection of `peer`: `Authorization: Bearer <token>`, or `Basic`
    /// with the token for a password.
    pub(crate) fn request(&self, headers: &HeaderMap, peer: &Caller) -> Caller {
        let mut shown = headers.get_all(header::AUTHORIZATION).iter();
        match (self.asks(), shown.next(), shown.next()) {
            (false, ..) | (true, None, _) => peer.clone(),
            (true, Some(value), None) => {
                secret(value).map_or_else(|| self.stranger(peer), |secret| self.token(&secret, peer))
            }
            (true, Some(_), Some(_)) => self.stranger(peer),
        }
    }

    /// The bearer of the first token for which `matches` is true. All are looked at, each for as long as any other.
    fn first(&self, peer: &Caller, matches: impl Fn(&TokenSettings) -> Choice) -> Caller {
        if !self.asks() {
            return self.unknown().at(peer);
        }
        let mut found = u64::MAX;
        for (index, bearer) in (0..).zip(&self.bearers) {
            let matched = matches(&bearer.settings) & found.ct_eq(&u64::MAX);
            found.conditional_assign(&index, matched);
        }
        let bearer = usize::try_from(found).ok().and_then(|found| self.bearers.get(found));
        bearer.map_or_else(|| self.stranger(peer), |bearer| known(bearer).at(peer))
    }

    /// The caller with an unknown token, on the connection of `peer`. It is logged.
    fn stranger(&self, peer: &Caller) -> Caller {
        self.strangers.tell(peer.address());
        Caller(Who::Stranger, None).at(peer)
    }
}

/// The bearer of a token, if one more connection may show it.
fn known(bearer: &Arc<Bearer>) -> Caller {
    let shown = CLIENT.try_with(|client| client.shows(&bearer.settings.name));
    Caller(
        match shown {
            Ok(Err(refusal)) => Who::Crowded(Arc::new(refusal)),
            _ => Who::Bearer(Arc::clone(bearer)),
        },
        None,
    )
}

impl Caller {
    /// The caller of a request with these extensions, as the gate of HTTP determined it; before the gate, the caller
    /// of the connection.
    pub(crate) fn of(request: &Extensions) -> Self {
        request.get().cloned().unwrap_or_else(Self::nobody)
    }

    /// The caller if nothing is known, not even that authentication is off.
    fn nobody() -> Self {
        Self(Who::Nobody, None)
    }

    /// Whether the call comes from the server's own machine.
    pub(crate) fn is_local(&self) -> bool {
        self.1.is_some_and(|origin| origin.local)
    }

    /// Whether the call came to an address that only the server's own machine reaches, as its browsers do. No browser reaches a
    /// unix socket.
    pub(crate) fn is_at_home(&self) -> bool {
        self.1.is_some_and(|origin| !origin.exposed && origin.peer.is_some())
    }

    /// Whether the caller may read what the errors of the ledger say: where it is, who logs in there, and which nodes there
    /// are. That is for the server's own machine, and for tokens that are for every name.
    pub(crate) fn sees_inside(&self) -> bool {
        self.is_local() || (matches!(self.0, Who::Bearer(_)) && self.check_all_names().is_ok())
    }

    /// The same caller on a connection that comes from there.
    pub(crate) fn from(self, origin: Origin) -> Self {
        Self(self.0, Some(origin))
    }

    /// The same caller on the connection of `other`.
    pub(crate) fn at(self, other: &Self) -> Self {
        Self(self.0, other.1)
    }

    /// The address that the call comes from, where it has one.
    fn address(&self) -> Option<IpAddr> {
        Some(self.1?.peer?.ip())
    }

    /// What a log says of a call: who calls, in which protocol, and from where.
    pub(crate) fn shown(&self) -> String {
        let who = match &self.0 {
            Who::Bearer(bearer) => format!("the token `{}`", bearer.settings.name),
            Who::Visitor(_) => "a client of tinyid".to_owned(),
            Who::Anybody | Who::Nobody | Who::Stranger | Who::Crowded(_) => "a client".to_owned(),
        };
        match self.1 {
            Some(Origin { protocol, peer: Some(peer), .. }) => format!("{who} over {protocol} from {peer}"),
            Some(Origin { protocol, peer: None, .. }) => format!("{who} over {protocol} on a unix socket"),
            // Only the names that are listed are opened without a call.
            None => "the configuration, at the start".to_owned(),
        }
    }

    /// Refuses an unknown caller.
    ///
    /// # Errors
    /// `Unauthenticated` and `WrongToken`.
    pub(crate) fn check(&self) -> Result<(), Refusal> {
        match &self.0 {
            Who::Anybody | Who::Bearer(_) | Who::Visitor(_) => Ok(()),
            Who::Crowded(refusal) => Err(Refusal::clone(refusal)),
            Who::Nobody => Err(Refusal::new(
                Status::Unauthenticated,
                "this server asks for a token and none was shown: send `Authorization: Bearer <token>` over HTTP and gRPC, AUTH over Redis' protocol, the token as the password over MySQL; other protocols need a client certificate",
            )),
            Who::Stranger => Err(Refusal::new(
                Status::WrongToken,
                "this server does not know this token: send one that has a [[token]] in its configuration (floe token new)",
            )),
        }
    }

    /// Refuses a caller that may not mint or read `name`.
    ///
    /// # Errors
    /// As [`check`](Self::check), and `Forbidden`.
    pub(crate) fn check_name(&self, name: &str) -> Result<(), Refusal> {
        self.check()?;
        if self.sees(name) {
            return Ok(());
        }
        // Whether the name exists is not said.
        let shown: String = name.chars().take(40).collect();
        Err(Refusal::forbidden(format!(
            "the token `{self}` is not for the name {shown:?}: use a token that lists it, or add it to `names` of that [[token]]"
        )))
    }

    /// Refuses a caller that may not see every name.
    ///
    /// # Errors
    /// As [`check`](Self::check), and `Forbidden`.
    pub(crate) fn check_all_names(&self) -> Result<(), Refusal> {
        self.check()?;
        let all = |rule: &NameRule| matches!(rule, NameRule::Pattern(prefix) if prefix.is_empty());
        match &self.0 {
            Who::Visitor(_) => Err(Refusal::forbidden(
                "this shows every name, and a token of tinyid's is for one name: use a [[token]] with names = [\"*\"]",
            )),
            Who::Bearer(bearer) if !bearer.settings.names.iter().any(all) => {
                Err(Refusal::forbidden(format!(
                    "this shows every name, and the token `{self}` is not for all names: use one with names = [\"*\"]"
                )))
            }
            _ => Ok(()),
        }
    }

    /// Refuses a caller that may not raise `name`.
    ///
    /// # Errors
    /// As [`check_name`](Self::check_name).
    pub(crate) fn check_raise(&self, name: &str) -> Result<(), Refusal> {
        self.check_name(name)?;
        match &self.0 {
            Who::Visitor(_) => Err(Refusal::forbidden(
                "a token of tinyid's may not raise names, since this cannot be undone: use floe marks raise",
            )),
            Who::Bearer(bearer) if !bearer.settings.raise => Err(Refusal::forbidden(format!(
                "the token `{self}` may not raise names, since this cannot be undone: set `raise = true` in its [[token]], or use floe marks raise"
            ))),
            _ => Ok(()),
        }
    }

    /// Refuses a caller that may not use the ledger of `realm`, or of any realm if `None`. Without tokens, nobody may.
    ///
    /// # Errors
    /// As [`check`](Self::check), and `Forbidden`.
    pub(crate) fn check_ledger(&self, realm: Option<&str>) -> Result<(), Refusal> {
        self.check()?;
        let rules = match &self.0 {
            Who::Bearer(bearer) => bearer.settings.ledger.as_slice(),
            _ => &[],
        };
        if rules.iter().any(|rule| realm.is_none_or(|realm| rule.covers(realm))) {
            return Ok(());
        }
        let of = realm.map_or(String::new(), |realm| {
            format!(" of the realm {:?}", realm.chars().take(40).collect::<String>())
        });
        Err(Refusal::forbidden(match &self.0 {
                Who::Bearer(_) => format!(
                    "the token `{self}` may not use the ledger{of}: add the realm to `ledger` of that [[token]]"
                ),
                _ => "this server offers its ledger only to tokens that may use it: give a [[token]] `ledger = [\"default\"]`, the realms that its bearer may use (floe token new), and show that token".to_owned(),
            }))
    }

    /// Whether the caller may know of `name`.
    pub(crate) fn sees(&self, name: &str) -> bool {
        match &self.0 {
            Who::Anybody => true,
            Who::Nobody | Who::Stranger | Who::Crowded(_) => false,
            Who::Bearer(bearer) => bearer.settings.names.iter().any(|rule| rule.covers(name)),
            Who::Visitor(visited) => **visited == *name,
        }
    }

    /// The limit of names that the caller's patterns may cover before it makes another one, and the prefixes of those patterns.
    pub(crate) fn most_names(&self) -> Option<(usize, impl Iterator<Item = &str>)> {
        let Who::Bearer(bearer) = &self.0 else { return None };
        let beginnings = bearer.settings.names.iter().filter_map(|rule| match rule {
            NameRule::Pattern(beginning) => Some(beginning.as_str()),
            NameRule::Exact(_) => None,
        });
        Some((bearer.settings.max_names?, beginnings))
    }

    /// Counts IDs that the caller got.
    pub(crate) fn minted(&self, n: u64) {
        if let Who::Bearer(bearer) = &self.0 {
            bearer.minted.inc_by(n);
        }
    }
}

/// What a log calls the caller.
impl fmt::Display for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match &self.0 {
            Who::Anybody => "anybody",
            Who::Nobody => "nobody",
            Who::Stranger => "a stranger",
            Who::Crowded(_) => "a bearer with too many connections",
            Who::Bearer(bearer) => &bearer.settings.name,
            Who::Visitor(_) => "a client of tinyid",
        })
    }
}

/// The secret of an `Authorization` header.
fn secret(value: &HeaderValue) -> Option<Vec<u8>> {
    let (scheme, rest) = value.to_str().ok()?.split_once(' ')?;
    let rest = rest.trim();
    if scheme.eq_ignore_ascii_case("bearer") {
        return Some(rest.as_bytes().to_vec());
    }
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let pair = STANDARD.decode(rest).ok()?;
    let colon = pair.iter().position(|byte| *byte == b':')?;
    pair.get(colon + 1..).map(<[u8]>::to_vec)
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::config::{Config, NewToken};

    fn access() -> (Access, NewToken, NewToken) {
        let (shop, other) =
            (NewToken::random("shop", "orders, user-*").unwrap(), NewToken::random("other", "*").unwrap());
        let text = format!(
            "realm = 'r'\n{}{}",
            shop.toml().replace("# mysql", "mysql").replace("# raise", "raise"),
            other.toml().replace("name =", "certificate = 'cache.example'\nname =")
        );
        let config = Config::parse(&text, "floe.toml".as_ref()).unwrap();
        assert!(!format!("{config:?}").contains(shop.secret()));
        (Access::new(&config.tokens, &[], &Metrics::new(10, [])), shop, other)
    }

    fn status(caller: &Caller, name: &str) -> Option<Status> {
        caller.check_name(name).err().map(|refusal| refusal.status)
    }

    #[test]
    fn a_token_is_for_its_names_alone() {
        let (access, shop, other) = access();
        let caller = access.token(shop.secret().as_bytes(), &access.unknown());
        for (name, refused) in [
            ("orders", None),
            ("user-7", None),
            ("user-", Some(Status::Forbidden)),
            ("orders2", Some(Status::Forbidden)),
        ] {
            assert_eq!(status(&caller, name), refused, "{name}");
        }
        assert_eq!(status(&access.token(other.secret().as_bytes(), &access.unknown()), "orders2"), None);
        let mut close = shop.secret().to_owned();
        close.pop();
        for wrong in [close.as_str(), "", "floe_"] {
            assert_eq!(
                status(&access.token(wrong.as_bytes(), &access.unknown()), "orders"),
                Some(Status::WrongToken)
            );
        }
        // A hash is no secret, wherever it was found.
        let hash = TokenHash::of(shop.secret().as_bytes());
        assert_eq!(status(&access.token(&hash.0, &access.unknown()), "orders"), Some(Status::WrongToken));
        assert_eq!(status(&access.unknown(), "orders"), Some(Status::Unauthenticated));
        assert_eq!(access.token(shop.secret().as_bytes(), &access.unknown()).to_string(), "shop");
    }

    #[test]
    fn what_shows_all_names_and_what_moves_one_on_is_for_those_who_may() {
        let (access, shop, other) = access();
        let (shop, other) = (
            access.token(shop.secret().as_bytes(), &access.unknown()),
            access.token(other.secret().as_bytes(), &access.unknown()),
        );
        let of = |checked: Result<(), Refusal>| checked.err().map(|refusal| refusal.status);
        assert_eq!(of(shop.check_all_names()), Some(Status::Forbidden));
        assert_eq!(of(other.check_all_names()), None);
        assert_eq!(of(access.unknown().check_all_names()), Some(Status::Unauthenticated));
        assert_eq!(of(shop.check_raise("orders")), None);
        assert_eq!(of(shop.check_raise("orders2")), Some(Status::Forbidden));
        assert_eq!(of(other.check_raise("orders")), Some(Status::Forbidden));
    }

    #[test]
    fn headers_and_certificates_name_a_caller() {
        let (access, shop, _) = access();
        let shows = |values: &[String], peer: &Caller, name: &str| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(header::AUTHORIZATION, value.parse().unwrap());
            }
            status(&access.request(&headers, peer), name)
        };
        let of = |values: &[String]| shows(values, &access.unknown(), "orders");
        let bearer = format!("bearer {}", shop.secret());
        let basic = |pair: String| format!("Basic {}", STANDARD.encode(pair));
        assert_eq!(of(std::slice::from_ref(&bearer)), None);
        assert_eq!(of(&[basic(format!("any:{}", shop.secret()))]), None);
        assert_eq!(of(&[]), Some(Status::Unauthenticated));
        for wrong in [
            vec![bearer.clone(), bearer.clone()],
            vec![basic(shop.secret().to_owned())],
            vec![format!("Digest {}", shop.secret())],
            vec!["Basic ***".to_owned()],
            vec!["Bearer".to_owned()],
        ] {
            assert_eq!(of(&wrong), Some(Status::WrongToken), "{wrong:?}");
        }
        let named = |name: &str| status(&access.certificate(&[name.to_owned()]), "x");
        assert_eq!(named("cache.example"), None);
        assert_eq!(named("cache.exampl"), Some(Status::Unauthenticated));
        // A token replaces the certificate of the connection, whatever that is for.
        let certified = access.certificate(&["cache.example".to_owned()]);
        assert_eq!(shows(&[], &certified, "x"), None);
        assert_eq!(shows(&[bearer], &certified, "x"), Some(Status::Forbidden));
        assert_eq!(shows(&["Bearer floe_0000".to_owned()], &certified, "x"), Some(Status::WrongToken));
    }

    #[test]
    fn a_row_of_tinyids_is_for_its_name_alone() {
        let (shop_access, shop, _) = access();
        let row = |token: &str, name: &str| TinyIdToken {
            hash: TokenHash::of(token.as_bytes()),
            biz_type: name.to_owned(),
        };
        let rows = [row("a", "orders"), row("b", "orders"), row("b", "bills"), row("", "empty")];
        let alone = Access::new(&[], &rows, &Metrics::new(10, []));
        let settings: Vec<_> = shop_access.bearers.iter().map(|bearer| bearer.settings.clone()).collect();
        let both = Access::new(&settings, &rows, &Metrics::new(10, []));
        for access in [&alone, &both] {
            let visits = |name: &str, token: &str| access.visitor(&access.unknown(), name, token).is_some();
            for (name, token, is) in [
                ("orders", "a", true),
                ("orders", "b", true),
                ("bills", "b", true),
                ("bills", "a", false),
                ("orders", "", false),
                ("empty", "", false),
                ("", "a", false),
                ("nope", "a", false),
            ] {
                assert_eq!(visits(name, token), is, "{name} {token}");
            }
            let visitor = access.visitor(&access.unknown(), "bills", "b").unwrap();
            assert_eq!(status(&visitor, "bills"), None);
            assert_eq!(status(&visitor, "orders"), Some(Status::Forbidden));
            assert!(visitor.check_all_names().is_err() && visitor.check_raise("bills").is_err());
        }
        assert!(both.visitor(&both.unknown(), "orders", shop.secret()).is_some(), "floe's own holds too");
        assert!(both.visitor(&both.token(shop.secret().as_bytes(), &both.unknown()), "user-1", "").is_some());
        assert!(both.visitor(&both.token(shop.secret().as_bytes(), &both.unknown()), "bills", "").is_none());
        let none = Access::new(&[], &[], &Metrics::new(10, []));
        assert!(none.visitor(&none.unknown(), "orders", "").is_some(), "there is nothing to hold it against");
    }

    #[test]
    fn a_ledger_is_for_the_realms_of_a_token_alone() {
        let token = NewToken::random("fleet", "*").unwrap();
        let ledger = token.toml().replace("# ledger = [\"default\"]", "ledger = ['shop', 'test-*']");
        let config = Config::parse(&format!("realm = 'r'\n{ledger}"), "floe.toml".as_ref()).unwrap();
        let offering = Access::new(&config.tokens, &[], &Metrics::new(10, []));
        let refused = |caller: &Caller, realm: Option<&str>| {
            caller.check_ledger(realm).err().map(|refusal| refusal.status)
        };
        let bearer = offering.token(token.secret().as_bytes(), &offering.unknown());
        for realm in [None, Some("shop"), Some("test-1")] {
            assert_eq!(refused(&bearer, realm), None, "{realm:?}");
        }
        for realm in ["r", "shop2", "test-", ""] {
            assert_eq!(refused(&bearer, Some(realm)), Some(Status::Forbidden), "{realm}");
        }
        assert_eq!(refused(&offering.unknown(), None), Some(Status::Unauthenticated));
        // Every name is not the ledger, and neither is a server that asks nobody.
        let (other, _, all_names) = access();
        let none = Access::new(&[], &[], &Metrics::new(10, []));
        for caller in [other.token(all_names.secret().as_bytes(), &other.unknown()), none.unknown()] {
            assert_eq!(refused(&caller, None), Some(Status::Forbidden));
            assert_eq!(refused(&caller, Some("r")), Some(Status::Forbidden));
        }
    }

    #[test]
    fn a_server_without_tokens_asks_nobody() {
        let access = Access::new(&[], &[], &Metrics::new(10, []));
        for caller in [access.unknown(), access.token(b"x", &access.unknown()), access.certificate(&[])] {
            assert_eq!(status(&caller, "orders"), None);
        }
        assert_eq!(status(&Caller::nobody(), "orders"), Some(Status::Unauthenticated));
    }
}
