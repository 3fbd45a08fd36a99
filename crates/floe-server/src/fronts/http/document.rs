//! The parts of `/openapi.json` that are the same for all calls: how a caller authenticates, and the gate's answers.

use utoipa::Number;
use utoipa::openapi::path::Operation;
use utoipa::openapi::schema::{Components, Object, OneOf, Type};
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityRequirement, SecurityScheme};
use utoipa::openapi::{Content, Header, OpenApi, Ref, RefOr, Response, Schema};

use crate::config::Limits;

/// Errors of any call, before it reaches its route or while it waits.
const OF_EVERY_CALL: [(u16, &str); 6] = [
    (400, "The request is wrong: a key or a value in the query, or a body where none is taken"),
    (408, "The body did not arrive in time"),
    (413, "The body is over limits.body_bytes"),
    (414, "The path and query are over limits.uri_bytes"),
    (431, "The header is over limits.header_bytes or limits.header_count"),
    (503, "Busy, or the ledger is unavailable: see Retry-After"),
];

/// Errors of calls that need a token.
const OF_CALLERS: [(u16, &str); 2] = [
    (401, "No token or a wrong one, if the server asks for one"),
    (403, "The token is not for this name, or not for every name"),
];

/// Errors of calls that ask for a name or read the ledger.
const OF_NAMES: [(u16, &str); 2] = [(404, "No such name"), (500, "The name or the ledger is stopped")];

/// Errors of calls that mint.
const OF_MINTING: [(u16, &str); 1] = [(507, "Used up")];

/// Pages that need no token, and are the same for everybody.
const OPEN: [&str; 4] = ["/", "/livez", "/readyz", "/problems/{problem}"];

/// Adds these parts to each operation's own description.
pub(super) fn complete(api: &mut OpenApi, limits: &Limits) {
    let components = api.components.get_or_insert_default();
    let schemes = [
        ("bearer", HttpAuthScheme::Bearer, "A token of the server's configuration (floe token new)"),
        ("basic", HttpAuthScheme::Basic, "The token as the password, and any user"),
    ];
    for (name, scheme, description) in schemes {
        let mut http = Http::new(scheme);
        http.description = Some(description.to_owned());
        components.security_schemes.insert(name.to_owned(), RefOr::T(SecurityScheme::Http(http)));
    }
    nullable_data(components);
    name_operations(api);
    for (path, item) in &mut api.paths.paths {
        let methods = [&mut item.get, &mut item.post, &mut item.put, &mut item.patch, &mut item.delete];
        for operation in methods.into_iter().flatten() {
            let open = OPEN.contains(&path.as_str());
            // A server without tokens asks for none.
            let mut ways = vec![SecurityRequirement::default()];
            if !open {
                ways.extend(["bearer", "basic"].map(|name| SecurityRequirement::new(name, [""; 0])));
            }
            operation.security = Some(ways);
            limit_count(operation, limits);
            add(operation, &OF_EVERY_CALL);
            if open {
                continue;
            }
            // Leaf's clients and tinyid's hear of it in their own way, which their calls describe.
            let of = |tags: &[&str]| operation.tags.iter().flatten().any(|tag| tags.contains(&tag.as_str()));
            let (own, hidden) = (of(&["leaf", "tinyid"]), of(&["tinyid"]));
            add(operation, if hidden { &[] } else { &OF_CALLERS });
            if !own {
                add(operation, &OF_NAMES);
                let mints = ["/v1/mint/{name}", "/id", "/ids"].contains(&path.as_str());
                add(operation, if mints { &OF_MINTING } else { &[] });
            }
        }
    }
}

/// tinyid's answers have `null` for a missing value, and the schema of a field must say so.
fn nullable_data(components: &mut Components) {
    for (_, schema) in components.schemas.iter_mut().filter(|(name, _)| name.starts_with("Answer_")) {
        if let RefOr::T(Schema::Object(answer)) = schema
            && let Some(data) = answer.properties.get_mut("data")
        {
            let null = Object::with_type(Type::Null);
            let either = OneOf { items: vec![null.into(), data.clone()], ..OneOf::default() };
            *data = RefOr::T(Schema::OneOf(either));
        }
    }
}

/// What `n` may be, which is a setting.
fn limit_count(operation: &mut Operation, limits: &Limits) {
    for parameter in operation.parameters.iter_mut().flatten() {
        if let RefOr::T(parameter) = parameter
            && parameter.name == "n"
            && let Some(RefOr::T(Schema::Object(schema))) = &mut parameter.schema
        {
            schema.maximum = usize::try_from(limits.max_batch).ok().map(Number::UInt);
        }
    }
}

/// Adds answers, each a problem, for statuses without a description.
fn add(operation: &mut Operation, answers: &[(u16, &str)]) {
    for (status, description) in answers {
        let response = operation.responses.responses.entry(status.to_string());
        response.or_insert_with(|| problem(*status, description));
    }
}

fn problem(status: u16, description: &str) -> RefOr<Response> {
    let mut response = Response::new(description);
    let content = Content::new(Some(Ref::from_schema_name("Problem")));
    response.content.insert("application/problem+json".to_owned(), RefOr::T(content));
    if status == 503 {
        let mut header = Header::default();
        header.description = Some("Seconds until it makes sense to ask again".to_owned());
        response.headers.insert("Retry-After".to_owned(), RefOr::T(header));
    }
    RefOr::T(response)
}

/// Gives the operations of a handler that takes several methods a name each: no two may share one.
fn name_operations(api: &mut OpenApi) {
    for item in api.paths.paths.values_mut() {
        let methods = [
            ("put", &mut item.put),
            ("patch", &mut item.patch),
            ("post", &mut item.post),
            ("delete", &mut item.delete),
        ];
        let first = item.get.as_ref().and_then(|get| get.operation_id.clone());
        for (method, operation) in methods {
            if let Some(operation) = operation
                && operation.operation_id == first
            {
                operation.operation_id = first.as_ref().map(|id| format!("{id}_{method}"));
            }
        }
    }
}
