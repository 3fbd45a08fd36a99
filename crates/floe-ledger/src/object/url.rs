//! The URL of a bucket or a table, and the environment.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use object_store::aws::{AmazonS3, AmazonS3Builder, AmazonS3ConfigKey, AwsCredential};
use object_store::azure::MicrosoftAzureBuilder;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::path::Path;
use object_store::{ObjectStore, RetryConfig, StaticCredentialProvider};
use percent_encoding::percent_decode_str;
use url::Url;

use super::connector::Connector;
use crate::OpenError;
use crate::remote::options::{self, MAX_WAIT, password_from, takes};
use crate::remote::ssl_mode::{SYSTEM, Verify};
use crate::remote::tls;

const OPTIONS: &str = "max_wait, endpoint, sslrootcert, password_file, region and key_id (s3: and dynamodb:), and account (az:)";

/// How often a request is repeated automatically. The caller also tries again.
pub(crate) const RETRIES: usize = 3;

/// The region for signatures if none is given: a work-alike has no regions.
const NO_REGION: &str = "us-east-1";

/// The protocol.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Cloud {
    S3,
    Google,
    Azure,
    DynamoDb,
}

pub(crate) struct Settings {
    pub(super) cloud: Cloud,
    /// Or the table.
    pub(crate) bucket: String,
    pub(super) prefix: Path,
    pub(crate) max_wait: Duration,
    pub(crate) endpoint: Option<String>,
    pub(super) region: Option<String>,
    pub(super) account: Option<String>,
    pub(super) key_id: Option<String>,
    /// The file with the secret: S3's and Azure's key, and Google's service account.
    pub(super) password_file: Option<PathBuf>,
    pub(super) roots: Verify,
    /// The URL without options.
    pub(crate) shown: String,
}

impl Settings {
    pub(crate) fn parse(url: &str) -> Result<Self, OpenError> {
        let (scheme, rest) = url.split_once("://").ok_or_else(no_url)?;
        let cloud = match scheme {
            "s3" => Cloud::S3,
            "gs" => Cloud::Google,
            "az" => Cloud::Azure,
            "dynamodb" => Cloud::DynamoDb,
            _ => return Err(no_url()),
        };
        let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
        if place.contains('@') {
            // Shows no part of what may be a secret.
            return Err(OpenError::Asked(format!(
                "the URL of a bucket or a table cannot have credentials: {} takes them from the same places as its other clients ({})",
                cloud.name(),
                cloud.credentials()
            )));
        }
        let (bucket, folder) = place.split_once('/').unwrap_or((place, ""));
        if bucket.is_empty() || (cloud == Cloud::DynamoDb && !folder.is_empty()) {
            return Err(no_url());
        }
        let folder = folder.trim_end_matches('/');
        let prefix = Path::parse(folder).map_err(|error| {
            OpenError::Asked(format!("`{folder}` cannot be the beginning of an object's name: {error}"))
        })?;
        let mut settings = Self {
            cloud,
            bucket: bucket.to_owned(),
            prefix,
            max_wait: MAX_WAIT,
            endpoint: None,
            region: None,
            account: None,
            key_id: None,
            password_file: None,
            roots: Verify::Full(SYSTEM.into()),
            shown: format!("{scheme}://{place}"),
        };
        for option in query.split('&').filter(|option| !option.is_empty()) {
            let (key, raw) = option.split_once('=').unwrap_or((option, ""));
            let value = percent_decode_str(raw).decode_utf8().map_err(|_| no_url())?.into_owned();
            match (key, cloud) {
                ("max_wait", _) => settings.max_wait = options::max_wait(key, &value)?,
                ("endpoint", _) if is_endpoint(&value) => settings.endpoint = Some(value),
                ("endpoint", _) => {
                    return Err(takes(key, &value, "a URL such as https://minio.example:9000"));
                }
                ("region", Cloud::S3 | Cloud::DynamoDb) => settings.region = Some(value),
                ("key_id", Cloud::S3 | Cloud::DynamoDb) if is_header(&value) => settings.key_id = Some(value),
                ("key_id", Cloud::S3 | Cloud::DynamoDb) => {
                    return Err(takes(key, &value, "letters and digits"));
                }
                ("password_file", _) => settings.password_file = Some(value.into()),
                ("account", Cloud::Azure) => settings.account = Some(value),
                ("sslrootcert", _) => settings.roots = Verify::Full(value.into()),
                _ => {
                    return Err(OpenError::Asked(format!(
                        "a {scheme}: URL has no option `{key}`: it has {OPTIONS}"
                    )));
                }
            }
        }
        if matches!(cloud, Cloud::S3 | Cloud::DynamoDb)
            && settings.key_id.is_some() != settings.password_file.is_some()
        {
            return Err(OpenError::Asked(
                "key_id and password_file belong together: the one names the access key, the other a file with its secret"
                    .to_owned(),
            ));
        }
        Ok(settings)
    }

    /// The source of the credentials, for a refused user.
    pub(crate) fn credentials(&self) -> &'static str {
        self.cloud.credentials()
    }

    /// Finds the credentials for Amazon's services, as a client of S3, and the region. It makes no connection.
    pub(crate) fn amazon(&self) -> Result<(AmazonS3, String), OpenError> {
        let mut builder = AmazonS3Builder::from_env().with_bucket_name(&self.bucket);
        if self.key_id.is_none() {
            check_signed(&builder, AmazonS3ConfigKey::AccessKeyId, "AWS_ACCESS_KEY_ID")?;
            check_signed(&builder, AmazonS3ConfigKey::Token, "AWS_SESSION_TOKEN")?;
        }
        if let Some(endpoint) = &self.endpoint {
            builder = builder.with_endpoint(endpoint);
        }
        if let (Some(id), Some(file)) = (&self.key_id, &self.password_file) {
            builder = signed_with(builder, id, password_from(file)?);
        }
        let told = self.region.clone().or_else(|| builder.get_config_value(&AmazonS3ConfigKey::Region));
        let region = match (told, &self.endpoint) {
            (Some(region), _) => region,
            (None, Some(_)) => NO_REGION.to_owned(),
            (None, None) => {
                return Err(OpenError::Asked(format!(
                    "the region of {shown} is not known: set AWS_REGION, or write {shown}?region=eu-central-1",
                    shown = self.shown
                )));
            }
        };
        let builder = builder.with_region(&region).with_retry(self.retry());
        check_signed(&builder, AmazonS3ConfigKey::Region, "the region")?;
        let built = builder.with_http_connector(self.connector()?).build();
        built.map(|client| (client, region)).map_err(|error| self.cannot_be_used(&error))
    }

    /// The connector with the TLS that the URL asks for.
    pub(crate) fn connector(&self) -> Result<Connector, OpenError> {
        Ok(Connector(tls::client(&self.roots)?))
    }

    fn retry(&self) -> RetryConfig {
        // If a request is repeated after its answer was lost, it finds its own write: see `floe::store`.
        RetryConfig { retry_timeout: self.max_wait, max_retries: RETRIES, ..RetryConfig::default() }
    }

    fn cannot_be_used(&self, error: &object_store::Error) -> OpenError {
        let cause = super::cause(error);
        OpenError::Asked(format!("{} cannot be used ({cause}): set {}", self.shown, self.credentials()))
    }

    /// A bucket's client. It makes no connection.
    pub(super) fn client(&self) -> Result<Arc<dyn ObjectStore>, OpenError> {
        let (retry, connector) = (self.retry(), self.connector()?);
        let built: Result<Arc<dyn ObjectStore>, object_store::Error> = match self.cloud {
            Cloud::S3 | Cloud::DynamoDb => {
                let (client, _) = self.amazon()?;
                Ok(Arc::new(client))
            }
            Cloud::Google => {
                let mut builder = GoogleCloudStorageBuilder::from_env().with_bucket_name(&self.bucket);
                if let Some(endpoint) = &self.endpoint {
                    builder = builder.with_base_url(endpoint);
                }
                if let Some(file) = &self.password_file {
                    builder = builder.with_service_account_path(file.display().to_string());
                }
                let builder = builder.with_retry(retry).with_http_connector(connector);
                builder.build().map(|client| Arc::new(client) as Arc<dyn ObjectStore>)
            }
            Cloud::Azure => {
                let mut builder = MicrosoftAzureBuilder::from_env().with_container_name(&self.bucket);
                if let Some(endpoint) = &self.endpoint {
                    builder = builder.with_endpoint(endpoint.clone());
                }
                if let Some(account) = &self.account {
                    builder = builder.with_account(account);
                }
                if let Some(file) = &self.password_file {
                    builder = builder.with_access_key(password_from(file)?);
                }
                let builder = builder.with_retry(retry).with_http_connector(connector);
                builder.build().map(|client| Arc::new(client) as Arc<dyn ObjectStore>)
            }
        };
        built.map_err(|error| self.cannot_be_used(&error))
    }
}

/// Whether object_store can sign a request to it. It panics if it cannot.
fn is_endpoint(text: &str) -> bool {
    Url::parse(text).is_ok_and(|url| matches!(url.scheme(), "http" | "https"))
}

/// Whether a request header can hold it.
pub(crate) fn is_header(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_graphic())
}

/// The keys that a client signs with go into a request header. With a line break in one, object_store panics.
pub(super) fn check_signed(
    builder: &AmazonS3Builder,
    key: AmazonS3ConfigKey,
    what: &str,
) -> Result<(), OpenError> {
    match builder.get_config_value(&key) {
        Some(value) if !is_header(&value) => Err(OpenError::Asked(format!(
            "{what} has a space, a line break or a character that is not ASCII in it: set it again without"
        ))),
        _ => Ok(()),
    }
}

/// Uses this key without a session token, which would belong to the environment's own key.
pub(super) fn signed_with(builder: AmazonS3Builder, key_id: &str, secret_key: String) -> AmazonS3Builder {
    let key = AwsCredential { key_id: key_id.to_owned(), secret_key, token: None };
    builder.with_credentials(Arc::new(StaticCredentialProvider::new(key)))
}

impl Cloud {
    fn name(self) -> &'static str {
        match self {
            Self::S3 => "S3",
            Self::Google => "Google Cloud Storage",
            Self::Azure => "Azure Blob Storage",
            Self::DynamoDb => "DynamoDB",
        }
    }

    fn credentials(self) -> &'static str {
        match self {
            Self::S3 | Self::DynamoDb => {
                "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, write key_id=…&password_file=… in the URL, or give the machine a \
                 role"
            }
            Self::Google => {
                "GOOGLE_APPLICATION_CREDENTIALS, write password_file=… in the URL, or give the machine a service account"
            }
            Self::Azure => {
                "AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY, write account=…&password_file=… in the URL, or \
                 give the machine an identity"
            }
        }
    }
}

fn no_url() -> OpenError {
    OpenError::Asked(
        "this is no URL of a bucket or a table: write s3://bucket/prefix, gs://bucket/prefix, az://container/prefix or \
         dynamodb://table, and options behind a ?, with %26 for & in one"
            .to_owned(),
    )
}
