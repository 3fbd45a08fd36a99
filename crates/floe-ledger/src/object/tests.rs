//! What can be told without a store.

use super::keys::{key_of, path_of};
use super::url::Settings;
use crate::OpenError;
use object_store::path::Path;
use proptest::prelude::*;

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
    assert!(asked("s3://bucket?realm=a").contains("a s3: URL has no option `realm`: it has max_wait"));
    assert!(asked("gs://bucket?region=eu").contains("has no option `region`"));
    assert!(asked("s3://bucket?max_wait=1y").contains("max_wait=1y"));
    assert!(asked("s3://bucket?sslrootcert=/nowhere&endpoint=https://a").contains("/nowhere cannot be used"));
}
