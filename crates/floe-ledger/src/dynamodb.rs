//! The ledger in a table of Amazon DynamoDB. There is no server to run.
//!
//! # What it promises
//! A record is an item, and each write of it has a condition: the item is still the one that was read, or no item
//! exists. DynamoDB checks the condition and writes in one step, and answers when the write is durable in more than one
//! zone. Reads are strongly consistent. So when `reserve` returns `Got`, the range is on stable storage, and no other
//! caller gets it; [`floe::store`] has the argument. A reserve on a record that this process wrote last is one request.
//!
//! A request whose answer is lost is sent again, up to three times. If the first one was executed, the second one is
//! refused, and DynamoDB sends the current item: the record's own number shows that this call wrote it.
//!
//! # On what that depends
//! - **One region.** In a global table each region writes, and the last writer wins: two nodes would get the same
//!   range. Each opening checks the table, and refuses one with replicas.
//! - **Conditions are executed.** Each opening tries both on the realm's own record. Each answer to a write says what
//!   it replaced, and that has to be what was read.
//! - **A restored table** has old marks: raise them first.
//!
//! # How it behaves
//! Each call ends within `max_wait` (5 s unless the URL says otherwise), and otherwise returns
//! [`LedgerError::Unavailable`]. A throttled request is sent again within that time. A missing table is made, which
//! takes some seconds. Calls may come from any thread, including threads of an async runtime.

use floe::ledger::LedgerError;
use floe::store::{Entry, Put, Store, Stored, Version};
use serde_json::{Value, json};

use self::requests::{Endpoint, Fault};
use crate::object::url::Settings;
use crate::object::{clock_is_off, is_of_the_clock};
use crate::remote::driver::Driver;
use crate::remote::{Trouble, realm, stored};
use crate::{OpenError, Opening};

mod requests;
mod table;

/// The attributes of an item: the folder of its key (`mark/shop`), the rest of the key (`n/orders`), and its text.
const FOLDER: &str = "folder";
const NAME: &str = "name";
const RECORD: &str = "record";

/// How many items of a list to request at once. DynamoDB answers with at most a megabyte.
const PAGE: usize = 1_000;

/// DynamoDB's answer if a condition does not hold.
const CONDITION: &str = "ConditionalCheckFailedException";

/// A table. Each realm's records are the items of one folder.
pub(crate) struct Table {
    endpoint: Endpoint,
    settings: Settings,
    driver: Driver,
}

/// Opens a URL.
pub(crate) fn open_url(url: &str, opening: &Opening) -> Result<Stored<Table>, OpenError> {
    crate::realm_name(opening.realm())?;
    let settings = Settings::parse(url)?;
    let endpoint = Endpoint::of(&settings)?;
    let driver = Driver::start("floe-dynamodb", &settings.shown, Box::pin(std::future::ready(())))?;
    let table = Table { endpoint, settings, driver };
    table.enter(opening)?;
    let place = stored::enter(&table, opening)?;
    let conditions = ["attribute_not_exists", "a comparison with what was read"];
    stored::check_conditions(&table, opening.realm(), &Version::new("another"), conditions)?;
    Ok(Stored::new(table, place))
}

/// Whether a URL can be read, options included. It makes no connection.
pub(crate) fn check_url(url: &str) -> Result<(), OpenError> {
    Endpoint::of(&Settings::parse(url)?).map(drop)
}

impl Table {
    fn ask(&self, operation: &str, body: Value) -> Result<Value, Trouble<Fault>> {
        let asked = async { self.endpoint.ask(operation, &body).await.map_err(Trouble::Store) };
        self.driver.wait(self.settings.max_wait, asked)
    }

    /// The record in an item.
    fn entry(&self, item: &Value) -> Result<Entry, LedgerError> {
        let text = text_of(item).ok_or_else(|| {
            realm::is_damaged(
                &self.settings.shown,
                &format!("an item without the attribute {RECORD} ({})", item[NAME]["S"]),
            )
        })?;
        Ok(stored::entry(text))
    }

    fn words(&self, trouble: Trouble<Fault>) -> LedgerError {
        let shown = &self.settings.shown;
        trouble.words(shown, |fault| {
            let cause = &fault.cause;
            if fault.code == table::NOT_FOUND {
                return realm::is_gone(shown, "the table");
            }
            if is_of_the_clock(cause) {
                return clock_is_off(shown, cause);
            }
            LedgerError::Unavailable(if fault.is_access() {
                let credentials = self.settings.credentials();
                format!("{shown} refuses access ({cause}): set {credentials}, and grant the rights that docs/ledgers.md lists")
            } else if fault.is_throttled() {
                format!("{shown} gets more requests than its capacity allows ({cause}): raise the table's capacity, or take a longer window")
            } else {
                format!(
                    "{shown}: {cause}. Check whether it can be reached, whether the endpoint is DynamoDB, and whether its certificate \
                     is trusted (sslrootcert=FILE)"
                )
            })
        })
    }
}

/// A record's text, which is also its version: no two writes leave the same text.
fn text_of(item: &Value) -> Option<&str> {
    item[RECORD]["S"].as_str()
}

/// The folder and the name of a key: `realm` and `shop`, or `mark/shop` and `n/orders`.
fn split(key: &str) -> (&str, &str) {
    let slash = key.match_indices('/').take(2).last();
    slash.map_or((key, ""), |(at, _)| (&key[..at], &key[at + 1..]))
}

impl Store for Table {
    fn get(&self, key: &str) -> Result<Option<Entry>, LedgerError> {
        let (folder, name) = split(key);
        let answer = self.ask(
            "GetItem",
            json!({
                "TableName": self.settings.bucket,
                "Key": { FOLDER: { "S": folder }, NAME: { "S": name } },
                "ConsistentRead": true,
            }),
        );
        let answer = answer.map_err(|trouble| self.words(trouble))?;
        answer.get("Item").map(|item| self.entry(item)).transpose()
    }

    fn put(&self, key: &str, text: &str, expected: Option<&Version>) -> Result<Put, LedgerError> {
        let (folder, name) = split(key);
        let expected = expected.map(Version::as_str);
        let mut write = json!({
            "TableName": self.settings.bucket,
            "Item": { FOLDER: { "S": folder }, NAME: { "S": name }, RECORD: { "S": text } },
            "ConditionExpression": "attribute_not_exists(#at)",
            "ExpressionAttributeNames": { "#at": FOLDER },
            "ReturnValues": "ALL_OLD",
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        });
        if let Some(expected) = expected {
            write["ConditionExpression"] = "#at = :expected".into();
            write["ExpressionAttributeNames"] = json!({ "#at": RECORD });
            write["ExpressionAttributeValues"] = json!({ ":expected": { "S": expected } });
        }
        match self.ask("PutItem", write) {
            Ok(answer) if text_of(&answer["Attributes"]) == expected => Ok(Put::Done(Version::new(text))),
            Ok(_) => {
                Err(realm::ignores(&self.settings.shown, "it replaced another record, or does not say which"))
            }
            // Some work-alikes do not return the current item.
            Err(Trouble::Store(fault)) if fault.code == CONDITION => match &fault.item {
                Some(item) => Ok(Put::Found(Some(self.entry(item)?))),
                None => Ok(Put::Conflict),
            },
            Err(trouble) => Err(self.words(trouble)),
        }
    }

    /// Each page of the list is bounded like a call.
    fn list(&self, prefix: &str, after: &str, limit: usize) -> Result<Vec<(String, String)>, LedgerError> {
        let (folder, start) = split(prefix);
        // The lowest possible name: no name has a control character, and none is empty, because no value may be empty here.
        let from = match after {
            after if after >= prefix => format!("{}\u{1}", split(after).1),
            _ if start.is_empty() => "\u{1}".to_owned(),
            _ => start.to_owned(),
        };
        // No name is above this, because a key has at most 400 bytes.
        let to = format!("{start}{}", "\u{10ffff}".repeat(100));
        if from > to {
            return Ok(Vec::new());
        }
        let mut query = json!({
            "TableName": self.settings.bucket,
            "KeyConditionExpression": "#folder = :folder AND #name BETWEEN :from AND :to",
            "ExpressionAttributeNames": { "#folder": FOLDER, "#name": NAME },
            "ExpressionAttributeValues": {
                ":folder": { "S": folder }, ":from": { "S": from }, ":to": { "S": to },
            },
            "ConsistentRead": true,
        });
        let mut all = Vec::new();
        while all.len() < limit {
            query["Limit"] = (limit - all.len()).min(PAGE).into();
            let page = self.ask("Query", query.clone()).map_err(|trouble| self.words(trouble))?;
            for item in page["Items"].as_array().into_iter().flatten() {
                let name = item[NAME]["S"].as_str().unwrap_or_default();
                all.push((format!("{folder}/{name}"), self.entry(item)?.text));
            }
            match page.get("LastEvaluatedKey") {
                Some(last) => query["ExclusiveStartKey"] = last.clone(),
                None => break,
            }
        }
        Ok(all)
    }

    fn describe(&self) -> String {
        self.settings.shown.clone()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Each URL is read or refused, and no error shows a password.
        #[test]
        fn no_url_is_too_odd(place in ".{0,20}", option in "(region|endpoint|max_wait|key_id|.{0,9})", value in ".{0,20}") {
            let _outcome = check_url(&format!("dynamodb://{place}?{option}={value}"));
            let told = check_url(&format!("dynamodb://floe:s3cr3t@{place}?{option}={value}")).unwrap_err();
            prop_assert!(!told.to_string().contains("s3cr3t"));
        }
    }

    #[test]
    fn a_key_has_a_folder_and_a_name() {
        for (key, parts) in [
            ("realm/shop", ("realm", "shop")),
            ("mark/shop/n/orders", ("mark/shop", "n/orders")),
            ("made/shop/s/10/7", ("made/shop", "s/10/7")),
            ("realm/", ("realm", "")),
            ("mark/shop/", ("mark/shop", "")),
        ] {
            assert_eq!(split(key), parts);
        }
    }

    #[test]
    fn what_is_wrong_in_a_url_is_named_with_the_way_out() {
        let asked = |url: &str| match check_url(url) {
            Err(OpenError::Asked(text)) => text,
            other => panic!("{url}: {other:?}"),
        };
        check_url("dynamodb://ids?region=eu-central-1").unwrap();
        check_url("dynamodb://ids?endpoint=http://[::1]:8000/").unwrap();
        for no_url in ["dynamodb:ids", "dynamodb://", "dynamodb://ids/folder"] {
            assert!(asked(no_url).contains("dynamodb://table"), "{no_url}");
        }
        let secret = asked("dynamodb://key:secret@ids");
        assert!(secret.contains("AWS_ACCESS_KEY_ID") && !secret.contains("secret"), "{secret}");
        let example = "a URL such as https://minio.example:9000";
        for endpoint in ["localhost:8000", "http://1.2.3.999", "ftp://a", "http://a%20b"] {
            assert!(asked(&format!("dynamodb://ids?endpoint={endpoint}")).contains(example), "{endpoint}");
        }
        assert!(asked("dynamodb://ids?region=eu/central").contains("`eu/central` is no region"));
        assert!(asked("dynamodb://ids?region=eu%0Acentral").contains("the region has a space, a line break"));
        assert!(asked("dynamodb://ids?key_id=a").contains("key_id and password_file belong together"));
        assert!(asked("dynamodb://ids?account=a").contains("`dynamodb://` has no option `account`"));
    }
}
