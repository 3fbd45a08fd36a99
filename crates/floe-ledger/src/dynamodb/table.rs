//! The table: every opening of a ledger checks it, and makes it if it is missing.

use std::time::Duration;

use floe::ledger::LedgerError;
use serde_json::{Value, json};

use super::requests::{DENIED, Fault};
use super::{FOLDER, NAME, Table};
use crate::remote::{Trouble, Wanted};
use crate::{OpenError, Opening};

/// DynamoDB's code if the table does not exist.
pub(super) const NOT_FOUND: &str = "ResourceNotFoundException";

/// How often to check whether a new table is ready: for a minute.
const LOOKS: u32 = 240;
const LOOK_EVERY: Duration = Duration::from_millis(250);

impl Table {
    /// Returns once the table exists and is fit.
    pub(super) fn enter(&self, opening: &Opening) -> Result<(), OpenError> {
        let shown = &self.settings.shown;
        let mut description = self.description(false)?;
        if description.is_none() {
            if !Wanted::at_open(opening).may_make(shown, "the table")? {
                return Err(opening.is_not_there(&[], shown).into());
            }
            self.make()?;
            description = self.description(true)?;
        }
        self.check(&description.unwrap_or_default()).map_err(OpenError::Ledger)
    }

    /// DynamoDB's description of the table, once its creation has ended; `None` if it does not exist. A table that
    /// `was_made` may stay invisible for a moment.
    fn description(&self, was_made: bool) -> Result<Option<Value>, OpenError> {
        let table = json!({ "TableName": self.settings.bucket });
        let mut looks = 0;
        loop {
            let pause = if looks == 0 { Duration::ZERO } else { LOOK_EVERY };
            let looked = async {
                tokio::time::sleep(pause).await;
                self.endpoint.ask("DescribeTable", &table).await.map_err(Trouble::Store)
            };
            looks += 1;
            match self.driver.wait(pause + self.settings.max_wait, looked) {
                Ok(answer) if answer["Table"]["TableStatus"] == "CREATING" && looks < LOOKS => {}
                Ok(answer) => return Ok(Some(answer["Table"].clone())),
                Err(Trouble::Store(fault)) if fault.code == NOT_FOUND && !was_made => return Ok(None),
                Err(Trouble::Store(fault)) if fault.code == NOT_FOUND && looks < LOOKS => {}
                Err(trouble) => return Err(self.words_at_open(trouble)),
            }
        }
    }

    fn make(&self) -> Result<(), OpenError> {
        let key = |name: &str, kind: &str| json!({ "AttributeName": name, "KeyType": kind });
        let text = |name: &str| json!({ "AttributeName": name, "AttributeType": "S" });
        let made = self.ask(
            "CreateTable",
            json!({
                "TableName": self.settings.bucket,
                "AttributeDefinitions": [text(FOLDER), text(NAME)],
                "KeySchema": [key(FOLDER, "HASH"), key(NAME, "RANGE")],
                "BillingMode": "PAY_PER_REQUEST",
                "DeletionProtectionEnabled": true,
            }),
        );
        match made {
            // Another process is making it.
            Err(Trouble::Store(fault)) if fault.code == "ResourceInUseException" => Ok(()),
            Err(Trouble::Store(fault)) if fault.code.contains(DENIED) => Err(OpenError::Asked(format!(
                "{} has no table, and floe may not make it ({}): grant dynamodb:CreateTable, or have somebody else make it: {}",
                self.settings.shown,
                fault.cause,
                self.by_hand()
            ))),
            made => made.map(drop).map_err(|trouble| self.words_at_open(trouble)),
        }
    }

    /// The command by which an operator makes the table.
    fn by_hand(&self) -> String {
        format!(
            "aws dynamodb create-table --table-name {} --billing-mode PAY_PER_REQUEST --deletion-protection-enabled \
             --attribute-definitions AttributeName={FOLDER},AttributeType=S AttributeName={NAME},AttributeType=S \
             --key-schema AttributeName={FOLDER},KeyType=HASH AttributeName={NAME},KeyType=RANGE",
            self.settings.bucket
        )
    }

    fn check(&self, description: &Value) -> Result<(), LedgerError> {
        let shown = &self.settings.shown;
        if description["Replicas"].as_array().is_some_and(|replicas| !replicas.is_empty()) {
            return Err(LedgerError::Unfit(format!(
                "{shown} is a global table (Replicas): each region writes it, the last writer wins, and two nodes would be given \
                 the same range. Remove its replicas, or use a table of one region"
            )));
        }
        let status = description["TableStatus"].as_str().unwrap_or_default();
        if !["ACTIVE", "UPDATING"].contains(&status) {
            return Err(LedgerError::Unavailable(format!(
                "the table of {shown} cannot be used (TableStatus {status}): wait, or look at it with aws dynamodb describe-table"
            )));
        }
        let key = |name: &str, kind: &str| {
            let is_of = |list: &str, field: &str, word: &str| {
                let all = description[list].as_array().into_iter().flatten();
                all.filter(|part| part["AttributeName"] == name).any(|part| part[field] == word)
            };
            is_of("KeySchema", "KeyType", kind) && is_of("AttributeDefinitions", "AttributeType", "S")
        };
        if key(FOLDER, "HASH") && key(NAME, "RANGE") {
            return Ok(());
        }
        Err(LedgerError::Unfit(format!(
            "the table of {shown} has another key (KeySchema {}): it is not floe's. Name another table, and floe makes \
             it, or make it yourself: {}",
            description["KeySchema"],
            self.by_hand()
        )))
    }

    /// While the ledger is opened, a wrong key or a missing right is the user's error.
    fn words_at_open(&self, trouble: Trouble<Fault>) -> OpenError {
        match trouble {
            Trouble::Store(fault) if fault.is_access() => {
                OpenError::Asked(self.words(Trouble::Store(fault)).to_string())
            }
            trouble => self.words(trouble).into(),
        }
    }
}
