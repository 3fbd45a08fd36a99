//! Tests without a store.

use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::net::TcpListener;
use std::thread;

use floe::ledger::LedgerError;
use object_store::Error;
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::client::{ClientOptions, HttpConnector as _, HttpErrorKind, HttpRequestBody};
use object_store::path::Path;
use proptest::prelude::*;

use super::connector::{self, Connector};
use super::keys::{key_of, path_of};
use super::url::{Settings, check_signed, signed_with};
use super::{Bucket, is_final, is_of_the_clock, whole_cause};
use crate::OpenError;
use crate::remote::Trouble;
use crate::remote::driver::Driver;
use crate::remote::ssl_mode::{SYSTEM, Verify};
use crate::remote::tests::golden;
use crate::remote::tls;

mod google;

#[test]
fn keys_are_paths_that_people_can_read() {
    let below = Path::from("floe/ids");
    for (key, path) in [
        ("realm/shop", "floe/ids/realm/shop"),
        ("mark/shop/s/10/7", "floe/ids/mark/shop/s/10/7"),
        ("mark/shop/n/orders.eu-1", "floe/ids/mark/shop/n/orders.eu-1"),
        ("mark/shop/n/..", "floe/ids/mark/shop/n/=2e."),
        ("mark/shop/n/a=b%é", "floe/ids/mark/shop/n/a=3db=25=c3=a9"),
    ] {
        assert_eq!(path_of(&below, key).as_ref(), path);
        assert_eq!(key_of(&below, &Path::parse(path).unwrap()).as_deref(), Some(key));
    }
    // A dot for which its part has no room, after 198 bytes and one more.
    let dotted = format!("mark/shop/n/{}a.", "%".repeat(66));
    let path = path_of(&below, &dotted);
    assert!(path.as_ref().ends_with("25a=/=2e"), "{path}");
    assert_eq!(key_of(&below, &path).as_deref(), Some(&*dotted));
    let long = path_of(&below, &format!("mark/shop/n/{}", "%".repeat(70)));
    let (first, rest) = ("=25".repeat(66), "=25".repeat(4));
    assert_eq!(long.as_ref(), format!("floe/ids/mark/shop/n/{first}=/{rest}"));
    for somebody_elses in
        ["floe/idsx/realm/shop", "floe/ids/mark/=6f", "floe/ids/mark/a b", "floe/ids/mark/=zz"]
    {
        assert_eq!(key_of(&below, &Path::parse(somebody_elses).unwrap()), None, "{somebody_elses}");
    }
}

proptest! {
    #[test]
    fn every_key_has_an_object_of_its_own(name in "[^/]{1,128}") {
        let below = Path::default();
        let key = format!("mark/shop/n/{name}");
        let path = path_of(&below, &key);
        prop_assert_eq!(Path::parse(path.as_ref()).unwrap(), path.clone());
        prop_assert_eq!(key_of(&below, &path), Some(key));
        prop_assert!(path.parts().all(|part| part.as_ref().len() <= 200));
    }
}

fn asked(url: &str) -> String {
    match Settings::parse(url).map(|settings| settings.client().map(drop)) {
        Err(OpenError::Asked(text)) | Ok(Err(OpenError::Asked(text))) => text,
        other => panic!("{url}: {:?}", other.map(|_| ())),
    }
}

#[test]
fn what_is_wrong_in_a_url_is_named_with_the_way_out() {
    assert!(asked("s3:bucket").contains("write s3://bucket/prefix"));
    assert!(asked("s3://").contains("write s3://bucket/prefix"));
    let secret = asked("s3://key:secret@bucket/ids");
    assert!(secret.contains("AWS_ACCESS_KEY_ID") && !secret.contains("secret"), "{secret}");
    assert!(asked("s3://bucket/a//b").contains("`a//b` cannot be the beginning of an object's name"));
    assert!(asked("s3://bucket?endpoint=minio:9000").contains("a URL such as https://minio.example:9000"));
    assert!(
        asked("s3://bucket?endpoint=http://1.2.3.999").contains("a URL such as https://minio.example:9000")
    );
    assert!(asked("s3://bucket?endpoint=ftp://minio").contains("a URL such as https://minio.example:9000"));
    assert!(asked("s3://bucket?key_id=a%0Ab&password_file=/a").contains("letters and digits"));
    assert!(asked("s3://bucket?region=eu%0Acentral").contains("the region has a space, a line break"));
    assert!(asked("s3://bucket?realm=a").contains("`s3://` has no option `realm`: it has max_wait"));
    assert!(asked("gs://bucket?region=eu").contains("has no option `region`"));
    assert!(asked("s3://bucket?max_wait=1y").contains("max_wait=1y"));
    assert!(asked("s3://bucket?sslrootcert=/nowhere&endpoint=https://a").contains("/nowhere cannot be used"));
}

/// Google's client reads the file of a service account itself.
#[cfg(unix)]
#[test]
fn a_file_with_a_secret_that_others_can_read_is_refused_by_every_cloud() {
    use std::fs::{Permissions, set_permissions};
    use std::os::unix::fs::PermissionsExt;
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(b"a secret\n").unwrap();
    let path = file.path().display();
    for url in ["s3://bucket?region=eu-central-1&key_id=a&", "gs://bucket?", "az://container?account=a&"] {
        for (mode, words) in [(0o644, "can be read by others: chmod 600 it"), (0o640, "chmod 600 it")] {
            set_permissions(file.path(), Permissions::from_mode(mode)).unwrap();
            let text = asked(&format!("{url}password_file={path}"));
            assert!(text.contains(words) && text.contains(&path.to_string()), "{mode:o}: {text}");
        }
    }
    set_permissions(file.path(), Permissions::from_mode(0o600)).unwrap();
    let text = asked(&format!("gs://bucket?password_file={path}"));
    assert!(text.contains("cannot be used") && !text.contains("chmod"), "it is no service account: {text}");
}

/// The stores' own words: to a request whose time is off, and to one whose credentials are wrong.
#[test]
fn a_refusal_for_the_time_is_told_from_one_for_the_credentials() {
    for (words, is_of_time) in [
        ("<Code>RequestTimeTooSkewed</Code><Message>The difference between the request time and", true),
        ("Signature expired: 20261201T120000Z is now earlier than 20261201T124500Z", true),
        ("Signature not yet current: 20261201T140000Z is still later than 20261201T125000Z", true),
        ("Request date header too old: 'Fri, 04 Oct 2019 18:02:12 GMT'</AuthenticationErrorDetail>", true),
        ("Invalid JWT: Token must be a short-lived token and in a reasonable timeframe", true),
        ("<Code>SignatureDoesNotMatch</Code><Message>The request signature we calculated does not", false),
        ("The MAC signature found in the HTTP request is not the same as any computed signature", false),
        ("Invalid JWT Signature.", false),
    ] {
        let error = Error::PermissionDenied { path: String::new(), source: words.into() };
        assert_eq!(
            (is_of_the_clock(&whole_cause(&error)), is_final(&error)),
            (is_of_time, !is_of_time),
            "{words}"
        );
    }
}

#[test]
fn a_wrong_bucket_or_credential_or_certificate_does_not_pass_and_a_busy_store_does() {
    for (words, expected) in [
        ("Client error with status 404 Not Found: <Code>NoSuchBucket</Code>", true),
        ("Client error with status 404 Not Found: <Code>ContainerNotFound</Code>", true),
        ("Client error with status 403 Forbidden: No Body", true),
        ("Client error with status 401 Unauthorized: No Body", true),
        ("invalid peer certificate: UnknownIssuer", true),
        ("Server returned non-2xx status code: 503 Service Unavailable: SlowDown", false),
        ("Client error with status 429 Too Many Requests: slow down", false),
        ("tcp connect error: Connection refused (os error 111)", false),
    ] {
        let error = Error::Generic { store: "S3", source: words.into() };
        assert_eq!(is_final(&error), expected, "{words}");
    }
    let source = || "its words".into();
    assert!(is_final(&Error::PermissionDenied { path: String::new(), source: source() }));
    assert!(is_final(&Error::Unauthenticated { path: String::new(), source: source() }));
    assert!(!is_final(&Error::NotFound { path: String::new(), source: source() }));
}

#[test]
fn a_store_that_has_no_conditional_writes_is_unfit() {
    let settings = Settings::parse("s3://ids?region=eu-central-1&endpoint=http://127.0.0.1:1").unwrap();
    let driver = Driver::start("floe-objects", &settings.shown, Box::pin(std::future::ready(()))).unwrap();
    let bucket = Bucket { client: settings.client().unwrap(), settings, driver };
    let not_implemented = Error::NotImplemented { operation: "put_opts".into(), implementer: "S3".into() };
    for error in [not_implemented, Error::NotSupported { source: "its words".into() }] {
        let told = bucket.words(Trouble::Store(error));
        assert!(
            matches!(&told, LedgerError::Unfit(text) if text.contains("does not support conditional writes")),
            "{told:?}"
        );
    }
}

/// The access key and the session token that a client signs with.
fn credentials_of(builder: AmazonS3Builder) -> (String, Option<String>) {
    let roots = tls::client(&Verify::Full(SYSTEM.into())).unwrap();
    let builder =
        builder.with_bucket_name("ids").with_region("eu-central-1").with_http_connector(Connector(roots));
    let client = builder.build().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let credential = runtime.block_on(client.credentials().get_credential()).unwrap();
    (credential.key_id.clone(), credential.token.clone())
}

/// By its answer floe knows whether it was written before (`floe::store`).
#[tokio::test]
async fn a_write_on_a_connection_that_the_server_resets_may_be_sent_again() {
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/ids/floe/realm/shop", server.local_addr().unwrap());
    let resets = thread::spawn(move || {
        let (connection, _) = server.accept().unwrap();
        // The request has come, and nobody has read it.
        while connection.peek(&mut [0]).unwrap() == 0 {}
    });
    let client = Connector(tls::client(&Verify::Full(SYSTEM.into())).unwrap());
    let client = client.connect(&ClientOptions::default()).unwrap();
    let write = http::Request::put(url).body(HttpRequestBody::from(b"floe 1".to_vec())).unwrap();
    let error = client.execute(write).await.unwrap_err();
    assert_eq!(error.kind(), HttpErrorKind::Request, "{error:?}");
    resets.join().unwrap();
    // The other words for it, as of a server that ends TLS without a farewell.
    for cut in [ErrorKind::ConnectionAborted, ErrorKind::BrokenPipe, ErrorKind::UnexpectedEof] {
        assert_eq!(connector::kind(&io::Error::from(cut)), HttpErrorKind::Request, "{cut}");
    }
    assert_eq!(connector::kind(&io::Error::from(ErrorKind::TimedOut)), HttpErrorKind::Timeout);
}

/// It requests a token with PUT, and the answer has a body.
#[test]
fn a_machine_has_the_credentials_of_its_role() {
    let service = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", service.local_addr().unwrap());
    let asked = thread::spawn(move || {
        let mut asked = Vec::new();
        while asked.len() < 3 {
            let mut reader = BufReader::new(service.accept().unwrap().0);
            while asked.len() < 3 {
                let mut head = Vec::new();
                for line in reader.by_ref().lines().map_while(Result::ok).take_while(|line| !line.is_empty())
                {
                    head.push(line);
                }
                let Some(first) = head.into_iter().next() else { break };
                let page = match first.as_str() {
                    "PUT /latest/api/token HTTP/1.1" => "the-token",
                    "GET /latest/meta-data/iam/security-credentials/ HTTP/1.1" => "the-role",
                    _ => {
                        r#"{"Code":"Success","LastUpdated":"2026-01-01T00:00:00Z","Type":"AWS-HMAC","AccessKeyId":"the-key",
                            "SecretAccessKey":"secret","Token":"of-the-role","Expiration":"2096-01-01T00:00:00Z"}"#
                    }
                };
                write!(reader.get_mut(), "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{page}", page.len())
                    .unwrap();
                asked.push(first);
            }
        }
        asked
    });
    let had = credentials_of(AmazonS3Builder::new().with_metadata_endpoint(endpoint));
    assert_eq!(had, ("the-key".to_owned(), Some("of-the-role".to_owned())));
    assert_eq!(asked.join().unwrap()[2], "GET /latest/meta-data/iam/security-credentials/the-role HTTP/1.1");
}

/// As a shell leaves it in a variable that it read from a file.
#[test]
fn a_line_break_in_what_is_signed_with_is_told() {
    let environment = AmazonS3Builder::new().with_token("of-the-session\n");
    let refused = check_signed(&environment, AmazonS3ConfigKey::Token, "AWS_SESSION_TOKEN").unwrap_err();
    assert!(refused.to_string().contains("AWS_SESSION_TOKEN has a space, a line break"), "{refused}");
    check_signed(&AmazonS3Builder::new().with_token("of/the+session="), AmazonS3ConfigKey::Token, "")
        .unwrap();
}

#[test]
fn a_key_in_the_url_takes_no_session_token_of_the_environment_along() {
    let environment =
        AmazonS3Builder::new().with_access_key_id("its").with_secret_access_key("b").with_token("session");
    let had = credentials_of(signed_with(environment, "ours", "secret".to_owned()));
    assert_eq!(had, ("ours".to_owned(), None));
}

#[test]
fn every_url_means_what_it_meant() {
    golden("object", |url, _| {
        let settings = Settings::parse(url)?;
        let rest = format!(
            "{:?} bucket={:?} prefix={:?} wait={:?} endpoint={:?} region={:?} account={:?} key={:?} file={:?} roots={:?}",
            settings.cloud,
            settings.bucket,
            settings.prefix.as_ref(),
            settings.max_wait,
            settings.endpoint,
            settings.region,
            settings.account,
            settings.key_id,
            settings.password_file.as_ref().map(|_| ()),
            settings.roots
        );
        Ok((settings.shown, rest))
    });
}
