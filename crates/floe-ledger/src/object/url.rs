//! The URL of a bucket or a table, and the environment.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use object_store::aws::{AmazonS3, AmazonS3Builder, AmazonS3ConfigKey, AwsCredential};
use object_store::azure::MicrosoftAzureBuilder;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::path::Path;
use object_store::{ObjectStore, RetryConfig, StaticCredentialProvider};
use url::Url;

use super::connector::Connector;
use crate::OpenError;
use crate::options::{self, MAX_WAIT, check_private, password_from, takes};
use crate::remote::ssl_mode::{SYSTEM, Verify};
use crate::remote::tls;
use crate::remote::url::Form;

const BUCKET: Form = Form {
    of: "a bucket or a table",
    example: "s3://bucket/prefix, gs://bucket/prefix, az://container/prefix or dynamodb://table",
    schemes: &["gs"],
    port: 0,
    unescaped: None,
    options: &[EVERYWHERE],
    modes: &[],
    timeout: options::connect_timeout,
};

const EVERYWHERE: &[&str] = &["max_wait", "endpoint", "sslrootcert", "password_file"];

/// The options of services that sign with an access key.
const SIGNED: &[&[&str]] = &[EVERYWHERE, &["region", "key_id"]];

static FORMS: [(Cloud, Form); 4] = [
    (Cloud::Google, BUCKET),
    (Cloud::S3, Form { schemes: &["s3"], options: SIGNED, ..BUCKET }),
    (Cloud::DynamoDb, Form { schemes: &["dynamodb"], options: SIGNED, ..BUCKET }),
    (Cloud::Azure, Form { schemes: &["az"], options: &[EVERYWHERE, &["account"]], ..BUCKET }),
];

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
        let scheme = url.split_once(':').map_or("", |(scheme, _)| scheme);
        let form = FORMS.iter().find(|(_, form)| form.schemes.contains(&scheme));
        let (cloud, form) = form.ok_or_else(|| BUCKET.no_url())?;
        let url = form.read(url)?;
        if url.credentials.is_some() {
            // Shows no part of what may be a secret.
            return Err(OpenError::Asked(format!(
                "the URL of a bucket or a table cannot have credentials: {} takes them from the same places as its other clients ({})",
                cloud.name(),
                cloud.credentials()
            )));
        }
        if url.authority.is_empty() || (*cloud == Cloud::DynamoDb && !url.path.is_empty()) {
            return Err(form.no_url());
        }
        let folder = url.path.trim_end_matches('/');
        let prefix = Path::parse(folder).map_err(|error| {
            OpenError::Asked(format!("`{folder}` cannot be the beginning of an object's name: {error}"))
        })?;
        let (key_id, password_file) = (url.option("key_id", key_id)?, url.text("password_file")?);
        if form.options == SIGNED && key_id.is_some() != password_file.is_some() {
            return Err(OpenError::Asked(
                "key_id and password_file belong together: the one names the access key, the other a file with its secret"
                    .to_owned(),
            ));
        }
        Ok(Self {
            cloud: *cloud,
            bucket: url.authority.to_owned(),
            prefix,
            max_wait: url.option("max_wait", options::max_wait)?.unwrap_or(MAX_WAIT),
            endpoint: url.option("endpoint", endpoint)?,
            region: url.text("region")?,
            account: url.text("account")?,
            key_id,
            password_file: password_file.map(PathBuf::from),
            roots: Verify::Full(url.text("sslrootcert")?.unwrap_or_else(|| SYSTEM.to_owned()).into()),
            shown: url.base.to_owned(),
        })
    }

    /// The source of the credentials, for a refused user.
    pub(crate) fn credentials(&self) -> &'static str {
        self.cloud.credentials()
    }

    /// The rights that floe needs, by the names of the cloud, for a refused user.
    pub(super) fn rights(&self) -> &'static str {
        match self.cloud {
            Cloud::S3 => {
                ": grant s3:GetObject and s3:PutObject on the objects, and s3:ListBucket on the bucket"
            }
            Cloud::Google => ": grant roles/storage.objectUser",
            Cloud::Azure => ": grant Storage Blob Data Contributor",
            Cloud::DynamoDb => "",
        }
    }

    /// The headers of its conditions: that there is no object, and that it is the one that was read.
    pub(super) fn conditions(&self) -> [&'static str; 2] {
        match self.cloud {
            Cloud::Google => ["x-goog-if-generation-match"; 2],
            Cloud::S3 | Cloud::Azure | Cloud::DynamoDb => ["If-None-Match", "If-Match"],
        }
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
                    check_private(file)?;
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

/// A URL for which object_store can sign a request. It panics if it cannot.
fn endpoint(key: &str, value: &str) -> Result<String, OpenError> {
    match Url::parse(value) {
        Ok(url) if matches!(url.scheme(), "http" | "https") => Ok(value.to_owned()),
        _ => Err(takes(key, value, "a URL such as https://minio.example:9000")),
    }
}

fn key_id(key: &str, value: &str) -> Result<String, OpenError> {
    if is_header(value) { Ok(value.to_owned()) } else { Err(takes(key, value, "letters and digits")) }
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
