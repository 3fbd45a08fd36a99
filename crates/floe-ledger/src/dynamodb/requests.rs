//! Signed requests, and the errors without an answer.

use http::header::CONTENT_TYPE;
use http::{Request, StatusCode, Uri};
use object_store::aws::{AwsAuthorizer, AwsCredentialProvider};
use object_store::client::{ClientOptions, HttpClient, HttpConnector, HttpRequestBody};
use serde_json::Value;

use crate::OpenError;
use crate::object::url::{RETRIES, Settings, is_header};
use crate::object::{cause, is_of_the_clock};
use crate::pauses;
use crate::remote::pool::PAUSES;

/// How many characters of a text that is no answer are shown.
const TOLD: usize = 300;

/// A code contains this if a right is missing.
pub(super) const DENIED: &str = "AccessDenied";

/// The address of requests, and the credentials that sign them.
pub(super) struct Endpoint {
    client: HttpClient,
    credentials: AwsCredentialProvider,
    region: String,
    uri: Uri,
}

/// Why a request has no answer.
#[derive(Debug, Default)]
pub(super) struct Fault {
    /// DynamoDB's code; empty if it sent none.
    pub(super) code: String,
    /// A text for people.
    pub(super) cause: String,
    /// The current item, if the condition of a write did not hold.
    pub(super) item: Option<Value>,
    /// Whether a later try may succeed.
    passes: bool,
}

impl Endpoint {
    /// Makes no connection.
    pub(super) fn of(settings: &Settings) -> Result<Self, OpenError> {
        let (client, region) = settings.amazon()?;
        let url = match &settings.endpoint {
            Some(endpoint) => format!("{}/", endpoint.trim_end_matches('/')),
            // The region becomes a part of a host name here.
            None if region.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') => {
                format!("https://dynamodb.{region}.amazonaws.com/")
            }
            None => {
                return Err(OpenError::Asked(format!(
                    "`{region}` is no region: write one such as eu-central-1 into the URL or AWS_REGION"
                )));
            }
        };
        let uri = url.parse().map_err(|error| {
            OpenError::Asked(format!(
                "`{url}` cannot be used ({error}): write the endpoint in ASCII characters"
            ))
        })?;
        let connected = settings.connector()?.connect(&ClientOptions::default());
        let requests = connected.map_err(|error| OpenError::Asked(cause(&error)))?;
        Ok(Self { client: requests, credentials: client.credentials().clone(), region, uri })
    }

    /// The answer to a request. The request is sent again if that may help.
    pub(super) async fn ask(&self, operation: &str, body: &Value) -> Result<Value, Fault> {
        let mut failures = 0;
        loop {
            match self.ask_once(operation, body).await {
                Err(fault) if fault.passes && (failures as usize) < RETRIES => {
                    tokio::time::sleep(PAUSES.after(failures, pauses::random())).await;
                    failures += 1;
                }
                outcome => return outcome,
            }
        }
    }

    async fn ask_once(&self, operation: &str, body: &Value) -> Result<Value, Fault> {
        let credential =
            self.credentials.get_credential().await.map_err(|error| Fault::here(&cause(&error)))?;
        // The signer panics on characters that a request header cannot hold.
        if ![Some(&credential.key_id), credential.token.as_ref()]
            .into_iter()
            .flatten()
            .all(|text| is_header(text))
        {
            return Err(Fault::here(
                "the access key or its session token has a space or a line break in it: set it again",
            ));
        }
        let request = Request::post(self.uri.clone())
            .header(CONTENT_TYPE, "application/x-amz-json-1.0")
            .header("x-amz-target", format!("DynamoDB_20120810.{operation}"))
            .body(HttpRequestBody::from(body.to_string()));
        let mut request = request.map_err(|error| Fault::here(&error.to_string()))?;
        AwsAuthorizer::new(&credential, "dynamodb", &self.region)
            .try_authorize(&mut request, None)
            .map_err(|error| Fault::here(&cause(&error)))?;
        let cut = |error| Fault { passes: true, ..Fault::here(&cause(&error)) };
        let answer = self.client.execute(request).await.map_err(cut)?;
        let status = answer.status();
        let body = answer.into_body().bytes().await.map_err(cut)?;
        match serde_json::from_slice(&body) {
            Ok(answer @ Value::Object(_)) if status.is_success() => Ok(answer),
            Ok(answer) => Err(Fault::of(status, &answer)),
            // A portal's page looks like this too. It says nothing about the record.
            Err(_) => {
                let text: String = String::from_utf8_lossy(&body).chars().take(TOLD).collect();
                let fault =
                    Fault::here(&format!("the server that answered is not DynamoDB ({status}: {text})"));
                // Some work-alikes deny access in XML.
                let is_refused = matches!(status, StatusCode::FORBIDDEN | StatusCode::UNAUTHORIZED);
                let code = if is_refused { DENIED.to_owned() } else { String::new() };
                Err(Fault { passes: status.is_server_error(), code, ..fault })
            }
        }
    }
}

impl Fault {
    fn here(cause: &str) -> Self {
        Self { cause: cause.to_owned(), ..Self::default() }
    }

    fn of(status: StatusCode, answer: &Value) -> Self {
        let code = answer["__type"].as_str().unwrap_or_default();
        let code = code.rsplit('#').next().unwrap_or_default().to_owned();
        let text = answer["message"].as_str().or_else(|| answer["Message"].as_str()).unwrap_or_default();
        let mut fault = Self {
            cause: format!("{status}, {code}: {text}"),
            item: answer.get("Item").cloned(),
            code,
            passes: false,
        };
        fault.passes = status.is_server_error() || fault.is_throttled();
        fault
    }

    /// Whether the table or the account gets more requests than its capacity allows.
    pub(super) fn is_throttled(&self) -> bool {
        ["Throughput", "Throttling", "LimitExceeded"].iter().any(|word| self.code.contains(word))
    }

    /// Whether the credentials are wrong, or lack the right.
    pub(super) fn is_access(&self) -> bool {
        let words = [DENIED, "Signature", "Token", "UnrecognizedClient"];
        words.iter().any(|word| self.code.contains(word)) && !is_of_the_clock(&self.cause)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use object_store::StaticCredentialProvider;
    use object_store::aws::AwsCredential;

    use super::*;

    /// From any source, such as a machine's metadata: the signer would panic.
    #[tokio::test]
    async fn a_line_break_in_what_is_signed_with_is_told() {
        let settings = Settings::parse("dynamodb://ids?endpoint=http://127.0.0.1:1").unwrap();
        for (key_id, token) in [("a\nb", None), ("a", Some("of-the-session\n".to_owned()))] {
            let credential =
                AwsCredential { key_id: key_id.to_owned(), secret_key: "secret".to_owned(), token };
            let credentials = Arc::new(StaticCredentialProvider::new(credential));
            let endpoint = Endpoint { credentials, ..Endpoint::of(&settings).unwrap() };
            let fault = endpoint.ask("GetItem", &Value::Null).await.unwrap_err();
            assert!(fault.cause.contains("has a space or a line break in it"), "{fault:?}");
        }
    }
}
