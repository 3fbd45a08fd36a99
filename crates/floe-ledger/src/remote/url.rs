//! One reader for the URLs of all stores behind a network.
//!
//! A store says in a [`Form`] what its URLs look like, and takes from a [`Url`] what it needs:
//! `scheme://credentials@host:port,host:port/path?option=value&option=value`. What they have in common is read here, once.
//! No error shows a part of the URL that may be a part of a password: a user may have left a `@`, `/`, `?` or `#` in it
//! unescaped.

use std::time::Duration;

use percent_encoding::percent_decode_str;

use super::Bounds;
use super::endpoint::{self, Endpoint};
use super::ssl_mode::{Tls, Use, asked_for};
use crate::OpenError;
use crate::options::{self, CONNECT_TIMEOUT, MAX_WAIT, password_from, takes};

/// The options of most stores.
pub(crate) const COMMON: &[&str] =
    &["max_wait", "connect_timeout", "unsafe", "password_file", "sslmode", "sslrootcert"];

/// The options for a certificate of floe's own.
pub(crate) const OWN: &[&str] = &["sslcert", "sslkey"];

/// The values of `sslmode` for a port that speaks TLS or does not, and does not say which: there is no `prefer`.
pub(crate) const EITHER: &[&str] = &["disable", "require", "verify-ca", "verify-full"];

/// The values of `sslmode` for a server that says whether it speaks TLS, as in libpq.
pub(crate) const ASKED: &[&str] = &["prefer", "disable", "require", "verify-ca", "verify-full"];

/// What the URLs of a store look like.
pub(crate) struct Form {
    /// What a URL names, for people: `a MySQL database`.
    pub(crate) of: &'static str,
    /// A URL with all of its parts except options.
    pub(crate) example: &'static str,
    pub(crate) schemes: &'static [&'static str],
    /// The port where none is named.
    pub(crate) port: u16,
    /// Which of `/`, `?` and `@` the credentials may hold as they are. `None` for a store that takes no credentials.
    pub(crate) unescaped: Option<&'static [char]>,
    /// The names of all options, as errors list them.
    pub(crate) options: &'static [&'static [&'static str]],
    /// The values of `sslmode`. The first one holds where none is named.
    pub(crate) modes: &'static [&'static str],
    /// Reads `connect_timeout`.
    pub(crate) timeout: fn(&str, &str) -> Result<Duration, OpenError>,
}

/// How a store is reached, as its URL says.
pub(crate) struct Reach {
    /// The URL without credentials and options.
    pub(crate) shown: String,
    pub(crate) bounds: Bounds,
    pub(crate) tls: Tls,
    /// Whether a store is taken that can lose ranges.
    pub(crate) allows_unsafe: bool,
}

/// The parts of a URL, as they are written.
pub(crate) struct Url<'a> {
    form: &'static Form,
    pub(crate) scheme: &'a str,
    /// All before the options.
    pub(crate) base: &'a str,
    pub(crate) credentials: Option<&'a str>,
    /// The servers.
    pub(crate) authority: &'a str,
    /// What follows the first slash behind the servers.
    pub(crate) path: &'a str,
    /// Each `name=value`.
    pub(crate) options: Vec<&'a str>,
}

/// The name of an option, and its value, which is still escaped.
pub(crate) fn pair(option: &str) -> (&str, &str) {
    option.split_once('=').unwrap_or((option, ""))
}

/// The error for a URL with a password beside the file of one.
pub(crate) fn clash(file_option: &str) -> OpenError {
    OpenError::Asked(format!("the URL has a password and a {file_option}: leave one out"))
}

impl Form {
    /// Takes a URL apart.
    ///
    /// # Errors
    /// `Asked` if it is no URL of this form, if a part cannot be told from the next, or if there is no such option.
    pub(crate) fn read<'a>(&'static self, url: &'a str) -> Result<Url<'a>, OpenError> {
        let known = url.split_once("://").filter(|(scheme, _)| self.schemes.contains(scheme));
        let (scheme, rest) = known.ok_or_else(|| self.no_url())?;
        let unescaped = self.unescaped.unwrap_or_default();
        let end = rest.find(|c| matches!(c, '/' | '?') && !unescaped.contains(&c)).unwrap_or(rest.len());
        let (credentials, rest) = match rest[..end].rfind('@') {
            Some(at) => (Some(&rest[..at]), &rest[at + 1..]),
            None => (None, rest),
        };
        let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, path) = place.split_once('/').unwrap_or((place, ""));
        let has = |sign| credentials.is_some_and(|text| text.contains(sign));
        // This may be the end of a password, or its beginning may be taken for a host with a path and options.
        if place.contains('@')
            || (self.unescaped.is_some() && query.contains('@'))
            || (has('@') && !unescaped.contains(&'@'))
            || (has('/') && has('?'))
        {
            return Err(self.no_url());
        }
        let options = query.split('&').filter(|option| !option.is_empty()).collect();
        let base = &url[..url.len() - rest.len() + place.len()];
        let url = Url { form: self, scheme, base, credentials, authority, path, options };
        let mut names = url.options.iter().map(|option| pair(option).0);
        if let Some(name) = names.find(|name| !self.options.iter().any(|some| some.contains(name))) {
            if name.contains('@') || url.places().is_none() {
                return Err(self.no_url());
            }
            return Err(OpenError::Asked(format!(
                "`{scheme}://` has no option `{name}`: it has {}",
                self.options.concat().join(", ")
            )));
        }
        Ok(url)
    }

    /// The error for what cannot be read. It shows no part of it.
    pub(crate) fn no_url(&self) -> OpenError {
        OpenError::Asked(format!(
            "this is no URL of {}: write {}?option=value, with %40 for @, %3A for :, %2F for /, %3F for ?, %23 for #, %26 for & \
             and %25 for % in a user, a password or an option",
            self.of, self.example
        ))
    }
}

impl Url<'_> {
    /// The servers' names, as they are written, and ports. `None` if there is a port that is none.
    pub(crate) fn places(&self) -> Option<Vec<(&str, Option<u16>)>> {
        self.authority.split(',').map(endpoint::split).collect()
    }

    /// The servers.
    ///
    /// # Errors
    /// `Asked` if there is none, or one is no server.
    pub(crate) fn hosts(&self) -> Result<Vec<Endpoint>, OpenError> {
        let hosts = self.places().and_then(|places| {
            let each = places.into_iter();
            each.map(|(host, port)| Endpoint::new(host, port.unwrap_or(self.form.port))).collect()
        });
        hosts.ok_or_else(|| self.form.no_url())
    }

    /// The servers, which HTTP has to name.
    ///
    /// # Errors
    /// As [`hosts`](Self::hosts).
    pub(crate) fn plain_hosts(&self) -> Result<Vec<Endpoint>, OpenError> {
        let hosts = self.hosts()?;
        if hosts.iter().all(Endpoint::is_plain) { Ok(hosts) } else { Err(self.form.no_url()) }
    }

    /// The text without escapes.
    pub(crate) fn decoded(&self, text: &str) -> Result<String, OpenError> {
        percent_decode_str(text).decode_utf8().map(Into::into).map_err(|_| self.form.no_url())
    }

    /// The value of an option. The last one counts if it is there more than once, and all have to be right.
    pub(crate) fn option<T>(
        &self,
        name: &str,
        read: impl Fn(&str, &str) -> Result<T, OpenError>,
    ) -> Result<Option<T>, OpenError> {
        let mut last = None;
        for (_, value) in self.options.iter().map(|option| pair(option)).filter(|(known, _)| *known == name) {
            last = Some(read(name, &self.decoded(value)?)?);
        }
        Ok(last)
    }

    /// The value of an option that takes any text.
    pub(crate) fn text(&self, name: &str) -> Result<Option<String>, OpenError> {
        self.option(name, |_, value| Ok(value.to_owned()))
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.options.iter().any(|option| pair(option).0 == name)
    }

    /// Whether it names files for TLS.
    pub(crate) fn has_files(&self) -> bool {
        self.has("sslrootcert") || OWN.iter().any(|option| self.has(option))
    }

    /// The user in the URL: `Some` if it has credentials.
    pub(crate) fn user(&self) -> Result<Option<String>, OpenError> {
        let user = self.credentials.map(|text| text.split_once(':').map_or(text, |(user, _)| user));
        user.map(|user| self.decoded(user)).transpose()
    }

    /// The password in the URL.
    pub(crate) fn password(&self) -> Result<Option<String>, OpenError> {
        let password = self.credentials.and_then(|text| text.split_once(':'));
        password.map(|(_, password)| self.decoded(password)).transpose()
    }

    /// The password in the URL, or in the file that an option names, or `elsewhere`.
    ///
    /// # Errors
    /// `Asked` if the URL has both, or the file cannot be used.
    pub(crate) fn secret(
        &self,
        file_option: &str,
        elsewhere: impl FnOnce() -> Option<String>,
    ) -> Result<Option<String>, OpenError> {
        match (self.password()?, self.text(file_option)?) {
            (Some(_), Some(_)) => Err(clash(file_option)),
            (None, Some(file)) => password_from(file.as_ref()).map(Some),
            (written, None) => Ok(written.or_else(elsewhere)),
        }
    }

    /// What it says of the way to these hosts. If it has no `sslmode` or no `sslrootcert`, those of `elsewhere` count.
    ///
    /// # Errors
    /// `Asked` if an option is wrong, or does not go with the others.
    pub(crate) fn reach(
        &self,
        hosts: &[Endpoint],
        path: &str,
        elsewhere: [Option<String>; 2],
    ) -> Result<Reach, OpenError> {
        let hosts: Vec<_> = hosts.iter().map(ToString::to_string).collect();
        let max_wait = self.option("max_wait", options::max_wait)?.unwrap_or(MAX_WAIT);
        let connect = self.option("connect_timeout", self.form.timeout)?.unwrap_or(CONNECT_TIMEOUT);
        Ok(Reach {
            shown: format!("{}://{}{path}", self.scheme, hosts.join(",")),
            // Connecting takes no longer than a call.
            bounds: Bounds { max_wait, connect: connect.min(max_wait) },
            tls: self.tls(elsewhere)?,
            allows_unsafe: self.option("unsafe", options::allows)?.unwrap_or(false),
        })
    }

    /// `sslmode`, `sslrootcert`, `sslcert` and `sslkey`, as in libpq.
    fn tls(&self, elsewhere: [Option<String>; 2]) -> Result<Tls, OpenError> {
        let modes = self.form.modes;
        let [mode, roots] = elsewhere;
        let mode = match self.text("sslmode")?.or(mode) {
            Some(mode) => mode,
            None if modes.first() == Some(&"disable") && self.has_files() => {
                return Err(OpenError::Asked(
                    "sslrootcert, sslcert and sslkey need TLS: say sslmode=verify-full".to_owned(),
                ));
            }
            None => modes.first().copied().unwrap_or_default().to_owned(),
        };
        if !modes.contains(&mode.as_str()) {
            return Err(takes("sslmode", &mode, &format!("one of {}", modes.join(", "))));
        }
        let own = match (self.text("sslcert")?, self.text("sslkey")?) {
            (Some(certificate), Some(key)) => Some((certificate.into(), key.into())),
            (None, None) => None,
            _ => {
                return Err(OpenError::Asked(
                    "sslcert and sslkey need each other: name both files".to_owned(),
                ));
            }
        };
        let (wanted, verify) = asked_for(&mode, self.text("sslrootcert")?.or(roots))?;
        if wanted == Use::Never && own.is_some() {
            return Err(OpenError::Asked("sslcert and sslkey need TLS: say sslmode=verify-full".to_owned()));
        }
        Ok(Tls { wanted, verify, own })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static BUCKET: Form = Form {
        of: "a bucket",
        example: "bucket://name",
        schemes: &["bucket"],
        port: 0,
        unescaped: None,
        options: &[&["max_wait", "endpoint"]],
        modes: EITHER,
        timeout: options::connect_timeout,
    };

    /// Somebody may write credentials where none belong, and a `?` in them.
    #[test]
    fn an_option_that_may_be_the_end_of_a_password_is_not_shown() {
        assert!(BUCKET.read("bucket://ids?endpoint=http://a@minio").is_ok(), "here a value may have it");
        for url in ["bucket://key?s3cr3t@ids", "bucket://key:123?s3cr3t@ids", "bucket://key:s3c?r3t@ids=1"] {
            let Err(error) = BUCKET.read(url) else { panic!("{url} was read") };
            let text = error.to_string();
            assert!(text.contains("no URL of a bucket") && !text.contains("r3t"), "{url}: {text}");
        }
        let Err(error) = BUCKET.read("bucket://ids?region=x") else { panic!("no such option") };
        assert!(error.to_string().contains("has no option `region`: it has max_wait, endpoint"), "{error}");
    }
}
