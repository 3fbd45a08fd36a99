//! Taking an ID apart.

use std::collections::BTreeMap;

use floe::form::{Form, FormError};
use floe::inspect::{BitField, Datum, Reading as Said};
use floe::kind::Uuid;
use floe::layout::{FieldKind, PRESETS};
use floe::{Definition, Kind, Layout, Name, ReadIdError, WideId};
use serde::Serialize;
use utoipa::ToSchema;

use super::report::form_of;
use super::{Known, Service, names, short};
use crate::access::Caller;
use crate::status::Refusal;

/// What an ID can be.
#[derive(Clone, Serialize, ToSchema, Debug)]
pub(crate) struct Inspection {
    /// The ID as it was given.
    pub id: String,
    /// One reading if a name or a layout was given. Otherwise all readings that make sense: for at most 100 of this
    /// server's names, then without a name. Names with a form, or with a day in their IDs, come first, because few
    /// other IDs look like theirs.
    pub readings: Vec<Reading>,
    /// There are readings under more names: ask again with `after` set to this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// The most names under which an ID is read at once.
pub(crate) const MOST_NAMES: usize = 100;

/// An ID read by one definition.
#[derive(Clone, Serialize, ToSchema, Debug)]
pub(crate) struct Reading {
    /// The name whose ID it would be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The preset whose layout it would have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preset: Option<String>,
    /// `snowflake`, `segment`, `counter`, `dated`, `uuid7`, …
    pub kind: String,
    /// How it is written.
    pub form: String,
    /// The bit fields, tick and epoch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layout: Option<String>,
    /// When its tick begins, or its day as `yyyy-MM-dd`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<String>,
    /// When its tick begins, in milliseconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_ms: Option<i64>,
    /// The node fields taken together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worker: Option<u64>,
    /// The sequence number within its tick.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sequence: Option<u64>,
    /// Its position: within its name (from 0 for a segment, from 1 for a counter), or within its day.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub position: Option<u64>,
    /// Its number in decimal digits, if it is written in a form.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub number: Option<String>,
    /// The bit fields, high to low.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub fields: Vec<Field>,
}

/// A bit field of an ID.
#[derive(Clone, Serialize, ToSchema, Debug)]
pub(crate) struct Field {
    /// `time`, `sequence`, or the name of a node field.
    pub name: String,
    /// How many bits it has.
    pub bits: u32,
    /// Its lowest bit, counted from the ID's lowest, 0.
    pub shift: u32,
    /// What it holds.
    pub value: u64,
}

/// What an ID of a name with a form stands for.
#[derive(Clone, Serialize, ToSchema, Debug)]
pub(crate) struct Opened {
    /// The name.
    pub name: String,
    /// The ID as it was given.
    pub id: String,
    /// The number that it is, in decimal digits.
    pub number: String,
    /// The ID as its kind writes it, if that is not the number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// An ID that was minted by a clock this much ahead of this one still makes sense.
const AHEAD_MS: i64 = 86_400_000;

impl Service {
    /// What `id` is under a name, in a layout (a preset's name or its text), or, with neither, what it can be.
    /// Blocking if the name is not open here.
    ///
    /// # Errors
    /// A [`Refusal`]: no such name or layout, or an ID that cannot be one of it.
    pub(crate) fn inspect(
        &self,
        caller: &Caller,
        id: &str,
        name: Option<&str>,
        layout: Option<&str>,
        after: Option<&str>,
    ) -> Result<Inspection, Refusal> {
        caller.check()?;
        if after.is_some() && (name.is_some() || layout.is_some()) {
            return Err(Refusal::bad(
                "`after` continues an answer that was asked for without a name and a layout: leave it out if you give one of them",
            ));
        }
        let mut next = None;
        let readings = match (name, layout) {
            (Some(_), Some(_)) => {
                return Err(Refusal::bad(
                    "both a name and a layout are given: a name has its layout, so give one of them",
                ));
            }
            (Some(name), None) => {
                vec![Reading { name: Some(name.to_owned()), ..self.read_under(caller, id, name)? }]
            }
            (None, Some(text)) => {
                let layout: Layout =
                    text.parse().map_err(|error: floe::LayoutError| Refusal::bad(error.to_string()))?;
                let preset =
                    PRESETS.iter().find(|preset| preset.name == text).map(|preset| preset.name.to_owned());
                vec![Reading { preset, ..read_snowflake(number(id)?, &layout)? }]
            }
            (None, None) => {
                let (readings, more) = self.read_anyhow(caller, id, after)?;
                next = more;
                readings
            }
        };
        Ok(Inspection { id: id.to_owned(), readings, next })
    }

    fn read_under(&self, caller: &Caller, id: &str, name: &str) -> Result<Reading, Refusal> {
        caller.check_name(name)?;
        read(id, &self.known_definition(caller, name)?)
    }

    /// The number that an ID of a name with a form stands for: what a sealed one hides, and what a database has. Blocking
    /// where the name is not open here.
    ///
    /// # Errors
    /// A [`Refusal`]: no such name, one without a form, or a text that its form does not write.
    pub(crate) fn open_text(&self, caller: &Caller, name: &str, id: &str) -> Result<Opened, Refusal> {
        caller.check_name(name)?;
        let definition = self.known_definition(caller, name)?;
        let Some(form) = definition.form() else {
            return Err(Refusal::wrong_kind(format!(
                "`{name}` has no form, so its IDs are not texts of a number"
            )));
        };
        let number = form.decode(id).map_err(|error| no_text_of_the_form(id, &definition, &error))?;
        // If the name cannot have minted it, it is not an ID of the name, even if the form reads it.
        read(id, &definition)?;
        let text = definition.unformed_text(number);
        let number = number.to_string();
        let text = Some(text).filter(|text| *text != number);
        Ok(Opened { name: name.to_owned(), id: id.to_owned(), number, text })
    }

    /// The definition of a name, with this server's keys for it, without opening it.
    fn known_definition(&self, caller: &Caller, name: &str) -> Result<Definition, Refusal> {
        if let Some(Known::Open(open)) = self.find(name) {
            return Ok(open.handle.definition().clone());
        }
        let report = self.name(caller, name)?;
        if let Some(Known::Mismatch(detail)) = self.find(name) {
            return Err(Refusal::stopped(&*detail));
        }
        // IDs were minted by the ledger's definition. The configuration only adds the keys, if they are the right ones.
        if let Ok(parsed) = Name::new(name)
            && let Ok(names::Rule::Listed(settings) | names::Rule::FirstUse(Some(settings))) =
                self.rules.of(&parsed)
            && settings.definition.form().is_some_and(Form::is_sealed)
        {
            let definition = &settings.definition;
            if definition.to_string() != report.definition {
                return Err(Refusal::stopped(format!(
                    "the name `{name}` is \"{}\" in the ledger, and \"{definition}\" here: configure the first, with its key",
                    report.definition
                )));
            }
            definition
                .check_keys(&parsed, self.floe.ledger())
                .map_err(|error| self.refuse_to_open(&parsed, error).told(caller.sees_inside()))?;
            return Ok(definition.clone());
        }
        let stored = report.definition.parse();
        stored.map_err(|error: floe::DefinitionError| Refusal::wrong_kind(error.to_string()))
    }

    /// The readings that make sense: a time that has been, in a layout that covers every bit. Those of names are paged; the
    /// second is where the next page begins.
    fn read_anyhow(
        &self,
        caller: &Caller,
        id: &str,
        after: Option<&str>,
    ) -> Result<(Vec<Reading>, Option<String>), Refusal> {
        let latest = self.steady_time().plus(AHEAD_MS).get();
        let sensible = |reading: &Reading| reading.time_ms.is_none_or(|time| time <= latest);
        let after = after.map(place).transpose()?;
        let open = self.names_open_here();
        let mut best = BTreeMap::new();
        for served in open.iter().filter(|served| caller.sees(served.name())) {
            let definition = served.handle.definition();
            let place = (rank(definition), served.name());
            let worse =
                || best.len() > MOST_NAMES && best.last_key_value().is_some_and(|(last, _)| place > *last);
            // Any number can be a counted one, so it is a reading only if the name's form or date shows in it.
            let counted = matches!(definition.unformed(), Definition::Segment { .. } | Definition::Counter);
            if (!counted || definition.form().is_some())
                && after.is_none_or(|after| place > after)
                && !worse()
                && let Ok(reading) = read(id, definition)
                && sensible(&reading)
            {
                best.insert(place, Reading { name: Some(served.name().to_owned()), ..reading });
                if best.len() > MOST_NAMES + 1 {
                    best.pop_last();
                }
            }
        }
        let more = best.len() > MOST_NAMES;
        if more {
            best.pop_last();
        }
        let next = best.last_key_value().filter(|_| more).map(|((rank, name), _)| format!("{rank}:{name}"));
        let mut readings: Vec<_> = best.into_values().collect();
        // The first page had the other readings.
        if after.is_some() {
            return Ok((readings, next));
        }
        readings.extend(read_unreserved(id).into_iter().filter(sensible));
        let parsed = number(id);
        if let Ok(number) = parsed {
            for preset in PRESETS {
                if let Ok(reading) = read_snowflake(number, &preset.layout)
                    && sensible(&reading)
                {
                    readings.push(Reading { preset: Some(preset.name.to_owned()), ..reading });
                }
            }
        }
        match (readings.is_empty(), parsed) {
            (false, _) => Ok((readings, next)),
            (true, Err(_)) => Err(Refusal::bad(format!(
                "{:?} is not a number, UUID, ULID, ObjectId or KSUID with a time in the past, and not an ID of a name served here: give its ?name=, or use `floe inspect`, which knows more kinds",
                short(id)
            ))),
            (true, Ok(_)) => Err(Refusal::bad(format!(
                "{} is not an ID of a name served here, nor of any preset (its time would lie in the future, or it has too many bits): give its ?name= or its ?layout=",
                short(id)
            ))),
        }
    }
}

/// How distinctive an ID of such a name is: 0 is the most distinctive.
fn rank(definition: &Definition) -> u8 {
    match definition {
        Definition::Formed(..) => 0,
        Definition::Dated(_) => 1,
        _ => 2,
    }
}

/// Where a page ended, as the page says it.
fn place(after: &str) -> Result<(u8, &str), Refusal> {
    let place = after.split_once(':').and_then(|(rank, name)| Some((rank.parse().ok()?, name)));
    place.ok_or_else(|| {
        Refusal::bad(format!(
            "after = {:?} is not where a page ended: give the `next` of an answer",
            short(after)
        ))
    })
}

fn read(id: &str, definition: &Definition) -> Result<Reading, Refusal> {
    match definition.read(id) {
        Ok(said) => Ok(Reading::of(definition, said)),
        Err(error @ ReadIdError::Registered(_)) => Err(Refusal::wrong_kind(error.to_string())),
        Err(error @ ReadIdError::Foreign { .. }) => {
            Err(Refusal::bad(format!("{error}. Give the name that it was minted under")))
        }
        Err(error) => Err(Refusal::bad(error.to_string())),
    }
}

/// The readings of an ID of a kind without a ledger. It does not show who minted it.
fn read_unreserved(id: &str) -> Vec<Reading> {
    // Of whatever version.
    let uuid = id.parse::<Uuid>().ok().and_then(|id| {
        let said = Said::from(id);
        let (kind, form) = (said.kind.clone(), "uuid".to_owned());
        Some(Reading { kind, form, ..Reading::of(&Definition::called("uuid")?, said) })
    });
    // Nearly any text would be a NanoID, and a UUID of version 7 was read above.
    let tells = |kind: &&Kind| kind.has_time() && !kind.is_number() && kind.as_str() != "uuid7";
    let others = Kind::ALL.iter().filter(tells).filter_map(|kind| {
        let definition = Definition::called(kind.as_str())?;
        let said = definition.read(id).ok()?;
        Some(Reading::of(&definition, said))
    });
    uuid.into_iter().chain(others).collect()
}

impl Reading {
    /// The library's reading of an ID, in the terms of `/v1/inspect`.
    fn of(definition: &Definition, said: Said) -> Self {
        let known = |key: &str| said.extra.iter().find(|(known, _)| known == key).map(|(_, datum)| datum);
        let text = |key: &str| match known(key) {
            Some(Datum::Text(text)) => Some(text.clone()),
            _ => None,
        };
        let number = |key: &str| match known(key) {
            Some(Datum::Number(number)) => Some(*number),
            _ => None,
        };
        let has_worker = match definition.unformed() {
            Definition::Snowflake { layout, .. } => {
                layout.fields().any(|field| field.kind() == FieldKind::Node)
            }
            _ => false,
        };
        let is_layout = matches!(definition.unformed(), Definition::Snowflake { .. });
        let field = |field: &BitField| {
            let &BitField { ref name, bits, shift, value } = field;
            Some(Field { name: name.clone(), bits, shift, value: u64::try_from(value).ok()? })
        };
        Self {
            name: None,
            preset: None,
            kind: definition.kind_name().to_owned(),
            form: form_of(definition),
            layout: text("layout"),
            time: said.time.as_ref().map(|time| time.millis.to_string()).or_else(|| text("time")),
            time_ms: said.time.as_ref().map(|time| time.millis.get()),
            worker: number("worker").filter(|_| has_worker),
            sequence: number("sequence").filter(|_| is_layout),
            position: number("position"),
            number: text("number"),
            fields: said.fields.iter().filter(|_| is_layout).filter_map(field).collect(),
        }
    }
}

fn no_text_of_the_form(id: &str, definition: &Definition, error: &FormError) -> Refusal {
    Refusal::bad(format!("{} is not an ID in the form \"{}\": {error}", short(id), form_of(definition)))
}

fn read_snowflake(id: WideId, layout: &Layout) -> Result<Reading, Refusal> {
    let said = Said::by_layout(id, layout).map_err(|error| Refusal::bad(error.to_string()))?;
    Ok(Reading::of(&Definition::Snowflake { layout: layout.clone(), own: false }, said))
}

fn number(id: &str) -> Result<WideId, Refusal> {
    id.parse().map_err(|error| Refusal::bad(format!("{:?} is not an ID: {error}", short(id))))
}
