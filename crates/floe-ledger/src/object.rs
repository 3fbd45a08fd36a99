//! The ledger in a bucket of an object store: Amazon S3 and stores that speak its protocol, Google Cloud Storage, Azure
//! Blob Storage. There is no server to run.
//!
//! # What it promises
//! A record is an object, and each write of it is conditional: on the `ETag` (S3, Azure) or the generation (Google)
//! that was read, or on the absence of an object. These stores answer a write when it is durable, and read the last
//! write. So when `reserve` returns `Got`, the range is on stable storage, and no other caller gets it; [`floe::store`]
//! has the argument. A reserve on a record that this process wrote last is one request.
//!
//! # On what that depends
//! - **The store executes conditional writes.** Some stores with S3's protocol ignore `If-Match` and answer 200. Each
//!   opening of a ledger tries both conditions on the realm's own object, and refuses such a store.
//! - **No rule of the bucket deletes objects.** If a record is deleted, its name or slot stops, and nothing is handed
//!   out a second time. That holds as long as the note of its creation, which lies beside it, exists.
//! - **A bucket that is restored** to an earlier state (from a copy, or by versions) has old marks: raise them first.
//!
//! # How it behaves
//! Each call ends within `max_wait` (5 s unless the URL says otherwise), and otherwise returns
//! [`LedgerError::Unavailable`]. A throttled request is sent again within that time. A list of records takes a request
//! for each, and longer if there are many. Calls may come from any thread, including threads of an async runtime.

use std::sync::Arc;

use floe::ledger::LedgerError;
use floe::store::{Entry, Put, Store, Stored, Version};
use futures_util::{StreamExt, TryStreamExt};
use object_store::path::Path;
use object_store::{Error, ObjectStore, ObjectStoreExt, PutMode, PutOptions, UpdateVersion};

use self::keys::{key_of, path_of};
use self::url::Settings;
use crate::remote::driver::Driver;
use crate::remote::{Trouble, stored};
use crate::{OpenError, Opening};

pub(crate) mod connector;
mod keys;
pub(crate) mod url;

/// For a list: how many object names are one batch, how many objects, and how many of those are read at once.
const LISTED: usize = 1_000;
const READ: usize = 64;
const AT_ONCE: usize = 16;

/// The most bytes in a record. A longer object is not read, and is no record.
pub(crate) const LONGEST_RECORD: u64 = 64 * 1024;

/// The beginning of every record.
const FIRST: &str = "floe ";

/// How many characters of a cause are shown.
const LONGEST_CAUSE: usize = 300;

/// A bucket, or the part of it below a prefix.
pub(crate) struct Bucket {
    client: Arc<dyn ObjectStore>,
    settings: Settings,
    driver: Driver,
}

/// Opens what follows the scheme in a URL.
pub(crate) fn open_url(url: &str, opening: &Opening) -> Result<Stored<Bucket>, OpenError> {
    crate::realm_name(opening.realm())?;
    let settings = Settings::parse(url)?;
    let client = settings.client()?;
    let driver = Driver::start("floe-objects", &settings.shown, Box::pin(std::future::ready(())))?;
    let bucket = Bucket { client, settings, driver };
    let path = bucket.path(&format!("realm/{}", opening.realm()));
    match bucket.run(async { bucket.read(&path).await }) {
        Err(Trouble::Store(error)) if is_final(&error) => {
            return Err(OpenError::Asked(bucket.words(Trouble::Store(error)).to_string()));
        }
        found => found.map_err(|trouble| bucket.words(trouble))?,
    };
    let place = stored::enter(&bucket, opening)?;
    let other = Version::new("\"00000000000000000000000000000000\"\n1");
    stored::check_conditions(&bucket, opening.realm(), &other, bucket.settings.conditions())?;
    Ok(Stored::new(bucket, place))
}

/// Whether a URL can be read, options included. It makes no connection.
pub(crate) fn check_url(url: &str) -> Result<(), OpenError> {
    Settings::parse(url)?.client().map(drop)
}

impl Bucket {
    fn run<T: Send>(&self, work: impl Future<Output = Result<T, Error>> + Send) -> Result<T, Trouble<Error>> {
        self.driver.wait(self.settings.max_wait, async { work.await.map_err(Trouble::Store) })
    }

    fn path(&self, key: &str) -> Path {
        path_of(&self.settings.prefix, key)
    }

    async fn read(&self, path: &Path) -> Result<Option<Entry>, Error> {
        let found = match self.client.get(path).await {
            Err(error @ Error::NotFound { .. }) if is_of_object(&error) => return Ok(None),
            found => found?,
        };
        let version = version(found.meta.e_tag.clone(), found.meta.version.clone());
        let is_short = found.meta.size <= LONGEST_RECORD;
        let bytes = if is_short { found.bytes().await? } else { Default::default() };
        match std::str::from_utf8(&bytes) {
            Ok(text) if text.starts_with(FIRST) => Ok(Some(Entry { version, text: text.to_owned() })),
            // A portal's page looks like this too. It says nothing about the record.
            _ => Err(Error::Generic {
                store: "floe",
                source: format!("{path} is not a record of floe's: check what it is, and whether the endpoint is an object store")
                    .into(),
            }),
        }
    }

    fn write(&self, key: &str, text: &str, mode: PutMode) -> Result<Put, LedgerError> {
        let (path, text, options) = (self.path(key), text.to_owned(), PutOptions::from(mode));
        let outcome = self.run(async { self.client.put_opts(&path, text.into(), options).await });
        match outcome {
            Ok(put) => Ok(Put::Done(version(put.e_tag, put.version))),
            Err(Trouble::Store(
                Error::AlreadyExists { .. } | Error::Precondition { .. } | Error::NotModified { .. },
            )) => Ok(Put::Conflict),
            // The object to replace is gone.
            Err(Trouble::Store(error @ Error::NotFound { .. })) if is_of_object(&error) => Ok(Put::Conflict),
            Err(trouble) => Err(self.words(trouble)),
        }
    }

    fn words(&self, trouble: Trouble<Error>) -> LedgerError {
        let shown = &self.settings.shown;
        trouble.words(shown, |error| {
            let (cause, credentials) = (cause(&error), self.settings.credentials());
            let rights = self.settings.rights();
            match error {
                Error::NotImplemented { .. } | Error::NotSupported { .. } => LedgerError::Unfit(format!(
                    "{shown} does not support conditional writes ({cause}): use a store that does, or another ledger"
                )),
                _ if cause.contains("certificate") => LedgerError::Unavailable(format!(
                    "{shown}: {cause}. Name the certificates to trust by sslrootcert=FILE, or use the name that is in the \
                     server's certificate"
                )),
                _ if is_of_the_clock(&whole_cause(&error)) => clock_is_off(shown, &cause),
                _ if is_final(&error) && !matches!(error, Error::NotFound { .. }) => LedgerError::Unavailable(format!(
                    "{shown} refuses access ({cause}): set {credentials}. floe has to read, write and list objects there{rights}"
                )),
                Error::NotFound { .. } => LedgerError::Unavailable(format!(
                    "{shown} is not there ({cause}): make the bucket, or name the right bucket and endpoint"
                )),
                _ => LedgerError::Unavailable(format!(
                    "{shown}: {cause}. Check whether it can be reached, and whether the credentials are right: set {credentials}"
                )),
            }
        })
    }
}

/// Whether the store says that the object does not exist. Any other 404 says nothing about a record.
fn is_of_object(error: &Error) -> bool {
    let cause = whole_cause(error);
    ["NoSuchKey", "BlobNotFound"].iter().any(|code| cause.contains(code))
}

/// Whether the store refused a request because of the time in its signature. Somebody may set this machine's clock
/// right, so it is worth waiting, although some stores answer as to wrong credentials.
pub(crate) fn is_of_the_clock(cause: &str) -> bool {
    let words = [
        "RequestTimeTooSkewed",
        // DynamoDB, with the code of a wrong signature.
        "Signature expired",
        "Signature not yet current",
        // Azure, with the code of a failed authentication.
        "Request date header too old",
        // Google, to a service account that asks for a token.
        "in a reasonable timeframe",
    ];
    words.iter().any(|word| cause.contains(word))
}

pub(crate) fn clock_is_off(shown: &str, cause: &str) -> LedgerError {
    LedgerError::Unavailable(format!(
        "{shown} refuses the time in the request's signature ({cause}): this machine's clock is off by more minutes than the \
         store allows, so set it right (`timedatectl` says whether it is synchronised)"
    ))
}

/// Whether waiting cannot help, because the URL or the credentials are wrong.
fn is_final(error: &Error) -> bool {
    let cause = whole_cause(error);
    if is_of_the_clock(&cause) {
        return false;
    }
    let is_refused = matches!(error, Error::PermissionDenied { .. } | Error::Unauthenticated { .. });
    let words = [
        "NoSuchBucket",
        "ContainerNotFound",
        "403 Forbidden",
        "401 Unauthorized",
        "invalid peer certificate",
    ];
    is_refused || words.iter().any(|word| cause.contains(word))
}

impl Store for Bucket {
    fn get(&self, key: &str) -> Result<Option<Entry>, LedgerError> {
        let path = self.path(key);
        self.run(async { self.read(&path).await }).map_err(|trouble| self.words(trouble))
    }

    fn put(&self, key: &str, text: &str, expected: Option<&Version>) -> Result<Put, LedgerError> {
        let mode = match expected {
            None => PutMode::Create,
            Some(version) => {
                let (e_tag, generation) = version.as_str().split_once('\n').unwrap_or((version.as_str(), ""));
                let given = |text: &str| (!text.is_empty()).then(|| text.to_owned());
                PutMode::Update(UpdateVersion { e_tag: given(e_tag), version: given(generation) })
            }
        };
        self.write(key, text, mode)
    }

    /// Requests the names of all objects below the prefix's last `/`, and reads the wanted ones. It takes many
    /// requests: each batch of them is bounded like a call.
    fn list(&self, prefix: &str, after: &str, limit: usize) -> Result<Vec<(String, String)>, LedgerError> {
        let folder = prefix.rsplit_once('/').map_or("", |(folder, _)| folder);
        let mut found = self.client.list(Some(&self.path(folder)));
        let mut keys = Vec::new();
        loop {
            let lot = found.by_ref().take(LISTED).map_ok(|object| object.location).try_collect();
            let lot: Vec<Path> = self.run(lot).map_err(|trouble| self.words(trouble))?;
            keys.extend(lot.iter().filter_map(|path| key_of(&self.settings.prefix, path)));
            if lot.len() < LISTED {
                break;
            }
        }
        keys.retain(|key| key.starts_with(prefix) && key.as_str() > after);
        keys.sort_unstable();
        let read = |key: String| async move {
            let entry = self.read(&self.path(&key)).await?;
            Ok::<_, Error>(entry.map(|entry| (key, entry.text)))
        };
        let (mut all, mut keys) = (Vec::new(), keys.into_iter());
        // The next ones take the place of objects that were deleted since.
        while all.len() < limit && !keys.as_slice().is_empty() {
            let lot = keys.by_ref().take(READ.min(limit - all.len()));
            let texts = futures_util::stream::iter(lot.map(read)).buffered(AT_ONCE).try_collect();
            let texts: Vec<Option<(String, String)>> =
                self.run(texts).map_err(|trouble| self.words(trouble))?;
            all.extend(texts.into_iter().flatten());
        }
        Ok(all)
    }

    fn describe(&self) -> String {
        self.settings.shown.clone()
    }
}

/// S3 and Azure distinguish versions by `ETag`, Google by generation. An `ETag` has no line break.
fn version(e_tag: Option<String>, generation: Option<String>) -> Version {
    Version::new(&format!("{}\n{}", e_tag.unwrap_or_default(), generation.unwrap_or_default()))
}

/// The innermost cause in one line, shortened.
pub(crate) fn cause(error: &dyn std::error::Error) -> String {
    let whole = whole_cause(error);
    match whole.char_indices().nth(LONGEST_CAUSE) {
        Some((end, _)) => format!("{}…", &whole[..end]),
        None => whole,
    }
}

fn whole_cause(error: &dyn std::error::Error) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string().split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests;
