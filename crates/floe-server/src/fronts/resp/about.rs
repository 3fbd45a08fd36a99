//! What Redis' clients say about themselves and ask about the server. They need these answers to continue.

use floe_wire::resp::{Encoder, Request, Version};
use serde_json::Value;

use super::{Answer, Refused, State, argument_text, arguments, text, unknown};
use crate::access::Caller;
use crate::status::{Refusal, Status};

/// Every command that is known, for `COMMAND` and for what may stand between `MULTI` and `EXEC`.
pub(super) const KNOWN: [&str; 34] = [
    "AUTH",
    "CLIENT",
    "COMMAND",
    "CONFIG",
    "DECR",
    "DECRBY",
    "DISCARD",
    "ECHO",
    "EXEC",
    "EXISTS",
    "EXPIRE",
    "EXPIREAT",
    "GET",
    "HELLO",
    "INCR",
    "INCRBY",
    "INFO",
    "INSPECT",
    "MINT",
    "MULTI",
    "PERSIST",
    "PEXPIRE",
    "PEXPIREAT",
    "PING",
    "PTTL",
    "QUIT",
    "READONLY",
    "RESET",
    "SELECT",
    "SET",
    "SETNX",
    "TTL",
    "UNWATCH",
    "WATCH",
];

/// The longest name that a client may give itself.
const NAME_BYTES: usize = 256;

pub(super) fn answer(state: &mut State, word: &[u8], request: &Request<'_>, output: &mut Vec<u8>) -> Answer {
    let version = state.version;
    let mut encoder = Encoder::new(output, version);
    match word {
        b"PING" => {
            arguments(word, request, 0..=1)?;
            match request.get(1) {
                Some(message) => encoder.bulk(message),
                None => encoder.simple("PONG"),
            }
        }
        b"ECHO" => {
            arguments(word, request, 1..=1)?;
            encoder.bulk(request.get(1).unwrap_or_default());
        }
        b"SELECT" => {
            arguments(word, request, 1..=1)?;
            if argument_text(request, 1)? != "0" {
                return Err(Refusal::bad(
                    "there is only the database 0: realms keep names apart (docs/configuration.md)",
                )
                .into());
            }
            encoder.simple("OK");
        }
        b"HELLO" => return hello(state, request, output),
        b"AUTH" => {
            arguments(word, request, 1..=2)?;
            // AUTH [user] password: the secret tells who calls, and a user without it is nobody.
            let (first, second) = (request.get(1).unwrap_or_default(), request.get(2));
            state.caller = authenticated(state, second.map(|_| first), second.unwrap_or(first))?;
            Encoder::new(output, version).simple("OK");
        }
        b"CLIENT" => client(state, request, output)?,
        b"COMMAND" => match request.get(1).map(<[u8]>::to_ascii_uppercase).as_deref() {
            Some(b"COUNT") => encoder.integer(i64::try_from(KNOWN.len()).unwrap_or(i64::MAX)),
            Some(b"DOCS") => encoder.map(0),
            Some(b"LIST") => {
                encoder.array(KNOWN.len());
                KNOWN.iter().for_each(|known| encoder.bulk(known.to_ascii_lowercase().as_bytes()));
            }
            _ => encoder.array(0),
        },
        b"CONFIG" => {
            let get = request.get(1).is_some_and(|word| word.eq_ignore_ascii_case(b"GET"));
            if !get {
                return Err(Refusal::bad(
                    "settings are changed in floe's configuration file, and with a restart",
                )
                .into());
            }
            // What redis-benchmark asks for.
            let asked: Vec<&str> = ["save", "appendonly"]
                .into_iter()
                .filter(|known| {
                    request.iter().skip(2).any(|asked| asked.eq_ignore_ascii_case(known.as_bytes()))
                })
                .collect();
            encoder.map(asked.len());
            for known in asked {
                encoder.bulk(known.as_bytes());
                encoder.bulk(if known == "save" { b"" } else { b"yes" });
            }
        }
        b"INFO" => encoder.verbatim(&info(state, request)),
        // The usual recipe sets a time to live on the key of a date. Nothing is deleted: a name never starts again.
        b"EXPIRE" | b"PEXPIRE" | b"EXPIREAT" | b"PEXPIREAT" => {
            arguments(word, request, 2..=3)?;
            encoder.integer(1);
        }
        b"TTL" | b"PTTL" => {
            arguments(word, request, 1..=1)?;
            encoder.integer(-1);
        }
        b"PERSIST" => encoder.integer(0),
        b"WATCH" | b"UNWATCH" | b"READONLY" => encoder.simple("OK"),
        _ => return Err(unknown(word).into()),
    }
    Ok(())
}

/// The sections of `INFO` that were asked for, in Redis' form; all where none was.
fn info(state: &State, request: &Request<'_>) -> String {
    let metrics = state.service.metrics();
    let sections = [
        (
            "Server",
            format!(
                "redis_version:7.0.0\r\nfloe_version:{}\r\nredis_mode:standalone\r\nprocess_id:{}\r\nuptime_in_seconds:{}\r\n",
                env!("CARGO_PKG_VERSION"),
                std::process::id(),
                state.service.uptime().as_secs()
            ),
        ),
        (
            "Clients",
            // Of every protocol: they share the limit.
            format!(
                "connected_clients:{}\r\nmaxclients:{}\r\nblocked_clients:0\r\n",
                metrics.connections.get(),
                state.most_clients
            ),
        ),
        // Clients do not begin while a server is loading.
        ("Persistence", "loading:0\r\n".to_owned()),
        (
            "Stats",
            format!(
                "total_connections_received:{}\r\nrejected_connections:{}\r\n",
                metrics.accepted.get(),
                metrics.turned_away.get()
            ),
        ),
        ("Replication", "role:master\r\nconnected_slaves:0\r\n".to_owned()),
        ("floe", format!("ready:{}\r\n", u8::from(state.service.is_ready()))),
    ];
    let asked = |section: &str| {
        let of = |asked: &[u8]| {
            let all: [&str; 4] = [section, "all", "default", "everything"];
            all.iter().any(|known| asked.eq_ignore_ascii_case(known.as_bytes()))
        };
        request.len() == 1 || request.iter().skip(1).any(of)
    };
    let shown = sections.iter().filter(|(name, _)| asked(name));
    shown.map(|(name, lines)| format!("# {name}\r\n{lines}")).collect::<Vec<_>>().join("\r\n")
}

/// `HELLO [2|3 [AUTH user password] [SETNAME name]]`.
fn hello(state: &mut State, request: &Request<'_>, output: &mut Vec<u8>) -> Answer {
    let mut version = state.version;
    if let Some(asked) = request.get(1) {
        version = match asked {
            b"2" => Version::Two,
            b"3" => Version::Three,
            // In Redis' own words: clients fall back to version 2 at the first, and report the second.
            other if std::str::from_utf8(other).is_ok_and(|text| text.parse::<i64>().is_ok()) => {
                let refusal = Refusal::bad("unsupported protocol version");
                return Err(Refused { word: "NOPROTO", refusal });
            }
            _ => {
                return Err(Refusal::bad("Protocol version is not an integer or out of range").into());
            }
        };
    }
    let (mut at, mut name, mut caller) = (2, None, state.caller.clone());
    while let Some(option) = request.get(at) {
        match option.to_ascii_uppercase().as_slice() {
            b"SETNAME" => {
                name = Some(client_name(request.get(at + 1))?);
                at += 2;
            }
            b"AUTH" => {
                let (user, secret) = (request.get(at + 1), request.get(at + 2));
                let syntax = || Refusal::bad("Syntax error in HELLO option 'AUTH'");
                caller = authenticated(state, user, secret.ok_or_else(syntax)?)?;
                at += 3;
            }
            _ => {
                return Err(Refusal::bad(
                    "syntax error in HELLO: HELLO [2|3 [AUTH user token] [SETNAME name]]",
                )
                .into());
            }
        }
    }
    // All of it, or nothing of it.
    caller.check()?;
    (state.version, state.caller) = (version, caller);
    if let Some(name) = name {
        state.name = name;
    }
    let mut encoder = Encoder::new(output, version);
    let proto = if version == Version::Three { 3 } else { 2 };
    let said: [(&str, Value); 7] = [
        ("server", "redis".into()),
        ("version", "7.0.0".into()),
        ("proto", proto.into()),
        ("id", state.id.into()),
        ("mode", "standalone".into()),
        ("role", "master".into()),
        ("modules", Value::Array(Vec::new())),
    ];
    encoder.map(said.len());
    for (key, value) in &said {
        encoder.bulk(key.as_bytes());
        write_json(&mut encoder, value);
    }
    Ok(())
}

/// The caller with this secret, as that user. With tokens, any user may show one. Without tokens, the answers are
/// those of Redis, word for word: its user `default` takes any password, and a password without a user is an error of
/// the client.
fn authenticated(state: &State, user: Option<&[u8]>, secret: &[u8]) -> Result<Caller, Refusal> {
    let access = state.service.access();
    if !access.asks() {
        return match user {
            Some(b"default") => Ok(state.connected.clone()),
            Some(_) => {
                Err(Refusal::new(Status::WrongToken, "invalid username-password pair or user is disabled."))
            }
            None => Err(Refusal::bad(
                "AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?",
            )),
        };
    }
    let caller = access.token(secret, &state.connected);
    caller.check()?;
    Ok(caller)
}

fn client(state: &mut State, request: &Request<'_>, output: &mut Vec<u8>) -> Result<(), Refusal> {
    let mut encoder = Encoder::new(output, state.version);
    match request.get(1).map(<[u8]>::to_ascii_uppercase).as_deref() {
        Some(b"SETNAME") => {
            state.name = client_name(request.get(2))?;
            encoder.simple("OK");
        }
        Some(b"GETNAME") => match state.name.is_empty() {
            true => encoder.null(),
            false => encoder.bulk(state.name.as_bytes()),
        },
        Some(b"ID") => encoder.integer(i64::try_from(state.id).unwrap_or(i64::MAX)),
        Some(b"SETINFO" | b"NO-EVICT" | b"NO-TOUCH") => encoder.simple("OK"),
        _ => {
            return Err(Refusal::bad(
                "unknown subcommand of CLIENT: floe knows ID, SETNAME, GETNAME and SETINFO",
            ));
        }
    }
    Ok(())
}

fn client_name(name: Option<&[u8]>) -> Result<String, Refusal> {
    let name = text(name.ok_or_else(|| Refusal::bad("SETNAME without a name"))?)?;
    match name.len() <= NAME_BYTES && name.bytes().all(|byte| byte.is_ascii_graphic()) {
        true => Ok(name.to_owned()),
        false => Err(Refusal::bad("a client's name has at most 256 printable characters and no spaces")),
    }
}

/// JSON as maps, arrays and bulk strings.
pub(super) fn write_json(encoder: &mut Encoder<'_>, json: &Value) {
    match json {
        Value::Object(fields) => {
            encoder.map(fields.len());
            for (key, value) in fields {
                encoder.bulk(key.as_bytes());
                write_json(encoder, value);
            }
        }
        Value::Array(items) => {
            encoder.array(items.len());
            items.iter().for_each(|item| write_json(encoder, item));
        }
        Value::Null => encoder.null(),
        Value::String(text) => encoder.bulk(text.as_bytes()),
        Value::Number(number) => match number.as_i64() {
            Some(number) => encoder.integer(number),
            None => encoder.bulk(number.to_string().as_bytes()),
        },
        Value::Bool(yes) => encoder.integer((*yes).into()),
    }
}
