//! What a name is: as the ledger has it, as flags ask for it, and whether the two agree.

use floe::form::Form;
use floe::kind::NanoIdFormat;
use floe::{DatedShape, Definition, Kind, Layout, Name, Overflow, reserved_name};

use crate::arguments::Shape;
use crate::failure::{Failure, Outcome};

impl Shape {
    /// Whether nothing is asked for.
    pub(crate) fn is_empty(&self) -> bool {
        self.kind.is_none() && !self.is_detailed()
    }

    /// Whether it says more than the kind.
    fn is_detailed(&self) -> bool {
        self.has_kinds_flags() || self.form.is_some()
    }

    /// Whether it says something that one kind alone has.
    fn has_kinds_flags(&self) -> bool {
        self.layout.is_some()
            || self.increment.is_some()
            || self.offset.is_some()
            || self.zone.is_some()
            || self.date.is_some()
            || self.digits.is_some()
            || self.prefix.is_some()
    }

    /// The definition that the flags describe; what they leave open has its default.
    ///
    /// A flag that belongs to another kind is wrong usage: in silence it would be lost.
    pub(crate) fn definition(&self) -> Outcome<Definition> {
        let kind = self.kind.unwrap_or_else(|| self.implied());
        let foreign: Vec<&str> = [
            (self.layout.is_some(), Kind::Snowflake, "--layout"),
            (self.increment.is_some(), Kind::Segment, "--increment"),
            (self.offset.is_some(), Kind::Segment, "--offset"),
            (self.zone.is_some(), Kind::Dated, "--zone"),
            (self.date.is_some(), Kind::Dated, "--date"),
            (self.digits.is_some(), Kind::Dated, "--digits"),
            (self.prefix.is_some(), Kind::Dated, "--prefix"),
        ]
        .into_iter()
        .filter(|(given, of, _)| *given && *of != kind)
        .map(|(_, _, flag)| flag)
        .collect();
        if !foreign.is_empty() {
            return Err(Failure::usage(format_args!("a {kind} has no {}", foreign.join(", ")))
                .hint("leave it out, or give the --kind that it belongs to"));
        }
        let definition = match kind {
            Kind::Snowflake => {
                Definition::Snowflake { layout: self.layout.clone().unwrap_or(Layout::TWITTER), own: false }
            }
            Kind::Segment => Definition::Segment {
                increment: self.increment.unwrap_or(1),
                offset: self.offset.unwrap_or(1),
            },
            Kind::Counter => Definition::Counter,
            Kind::Dated => Definition::Dated(DatedShape::with_date(
                self.date.unwrap_or_default(),
                self.zone.as_deref().unwrap_or("UTC"),
                self.digits.unwrap_or(6),
                self.prefix.as_deref().unwrap_or_default(),
                Overflow::Refuse,
            )?),
            Kind::Uuid4 => Definition::Uuid4,
            Kind::Uuid7 => Definition::Uuid7 { precise: false },
            Kind::Ulid => Definition::Ulid,
            Kind::ObjectId => Definition::ObjectId,
            Kind::Ksuid => Definition::Ksuid,
            Kind::NanoId => Definition::NanoId(NanoIdFormat::default()),
            Kind::Registered => {
                return Err(Failure::usage("a registered kind is minted by the program that registered it")
                    .hint("ask its server: --server http://127.0.0.1:7600"));
            }
        };
        definition.check()?;
        let Some(form) = &self.form else { return Ok(definition) };
        let bits = definition.form_bits().unwrap_or(Form::BITS);
        let form = Form::of_bits(form, bits).map_err(Failure::usage)?;
        Ok(definition.in_form(form)?)
    }

    /// The kind whose flags are given.
    fn implied(&self) -> Kind {
        if self.increment.is_some() || self.offset.is_some() {
            Kind::Segment
        } else if [self.zone.is_some(), self.date.is_some(), self.digits.is_some(), self.prefix.is_some()]
            .contains(&true)
        {
            Kind::Dated
        } else {
            Kind::Snowflake
        }
    }

    /// The definition to use for `name`: the stored one, if the flags do not contradict it; else the configured
    /// one; else what the flags say.
    pub(crate) fn settle(
        &self,
        name: &Name,
        stored: Option<Definition>,
        configured: Option<Definition>,
    ) -> Outcome<Definition> {
        // A configuration that disagrees with the ledger is found by `define`, which shows both.
        let (known, whose) = match (configured, stored) {
            (Some(configured), _) => (configured, "the configuration says"),
            (None, Some(stored)) => (stored, "the ledger has it as"),
            (None, None) => {
                self.check_reserved(name)?;
                return match Definition::called(name.as_str()).filter(|_| self.is_empty()) {
                    Some(called) => Ok(called),
                    None => self.definition(),
                };
            }
        };
        if self.is_empty() {
            return Ok(known);
        }
        // A form alone is one of what the name counts.
        let kind =
            self.kind.or(Some(known.kind()).filter(|_| self.form.is_some() && !self.has_kinds_flags()));
        let asked = Self { kind, ..self.clone() }.definition()?;
        let agrees = if self.is_detailed() { asked == known } else { asked.kind() == known.kind() };
        if agrees {
            return Ok(known);
        }
        let asked = if self.is_detailed() { asked.to_string() } else { asked.kind().to_string() };
        Err(Failure::new(format_args!(
            "the name {name} is not what was asked for:\n  {whose:width$}  {known}\n  {:width$}  {asked}",
            "asked for",
            width = whose.len()
        ))
        .hint("leave the flags out, or take another name: what a name is never changes"))
    }

    /// Refuses a name that is kept for a kind, unless somebody says what else it is.
    pub(crate) fn check_reserved(&self, name: &Name) -> Outcome {
        if self.is_empty() && reserved_name(name.as_str()) {
            return Err(Failure::new(format_args!(
                "the name {name} is reserved for the kind of that name, which this version does not mint yet"
            ))
            .hint("take another name, or say with --kind what it is to be instead, for ever"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name() -> Name {
        Name::new("orders").expect("a name")
    }

    #[test]
    fn a_new_name_is_a_snowflake_unless_told_otherwise() {
        let settle =
            |shape: Shape| shape.settle(&name(), None, None).map(|definition| definition.kind()).ok();
        assert_eq!(settle(Shape::default()), Some(Kind::Snowflake));
        assert_eq!(settle(Shape { kind: Some(Kind::Counter), ..Shape::default() }), Some(Kind::Counter));
        assert_eq!(settle(Shape { increment: Some(2), ..Shape::default() }), Some(Kind::Segment));
        assert_eq!(settle(Shape { zone: Some("UTC".into()), ..Shape::default() }), Some(Kind::Dated));
        let date = Some(floe::DateFormat::ShortMonth);
        assert_eq!(settle(Shape { date, ..Shape::default() }), Some(Kind::Dated));
    }

    #[test]
    fn a_known_name_stays_what_it_is() {
        let odd = Definition::Segment { increment: 2, offset: 1 };
        let settle = |shape: Shape| shape.settle(&name(), Some(odd.clone()), None).ok();
        assert_eq!(settle(Shape::default()), Some(odd.clone()));
        assert_eq!(settle(Shape { kind: Some(Kind::Segment), ..Shape::default() }), Some(odd.clone()));
        assert_eq!(settle(Shape { increment: Some(2), ..Shape::default() }), Some(odd.clone()));
        assert_eq!(settle(Shape { increment: Some(3), ..Shape::default() }), None);
        assert_eq!(settle(Shape { kind: Some(Kind::Counter), ..Shape::default() }), None);
    }

    #[test]
    fn a_flag_of_another_kind_is_not_lost_in_silence() {
        let shape = Shape { kind: Some(Kind::Counter), digits: Some(4), ..Shape::default() };
        assert!(shape.definition().is_err());
    }

    #[test]
    fn a_reserved_name_is_refused_unless_told_otherwise() {
        let cuid = Name::new("cuid").expect("a name");
        assert!(Shape::default().settle(&cuid, None, None).is_err());
        // Somebody has said what it is: a flag, the ledger, or a configuration.
        let counter = Shape { kind: Some(Kind::Counter), ..Shape::default() };
        assert!(counter.settle(&cuid, None, None).is_ok());
        assert!(Shape::default().settle(&cuid, Some(Definition::Counter), None).is_ok());
        assert!(Shape::default().settle(&cuid, None, Some(Definition::Counter)).is_ok());
    }

    #[test]
    fn a_name_that_is_called_like_a_kind_has_it_unless_told_otherwise() {
        let uuid = Name::new("uuid").expect("a name");
        let settled = |shape: Shape, stored| shape.settle(&uuid, stored, None).ok();
        assert_eq!(settled(Shape::default(), None), Some(Definition::Uuid4));
        assert_eq!(settled(Shape::default(), Some(Definition::Counter)), Some(Definition::Counter));
        let counter = Shape { kind: Some(Kind::Counter), ..Shape::default() };
        assert_eq!(settled(counter, None), Some(Definition::Counter));
    }

    #[test]
    fn a_form_is_for_the_bits_of_its_kind() {
        let formed = |kind, form: &str| {
            let shape = Shape { kind: Some(kind), form: Some(form.to_owned()), ..Shape::default() };
            shape
                .definition()
                .map(|definition| definition.to_string())
                .map_err(|failure| failure.cause().to_string())
        };
        assert_eq!(
            formed(Kind::Uuid7, "base62 width=22").as_deref(),
            Ok("uuid7 form base62 bits=128 width=22")
        );
        assert_eq!(formed(Kind::Counter, "hex").as_deref(), Ok("counter form hex"));
        assert!(formed(Kind::Ksuid, "hex").is_err_and(|cause| cause.contains("text of its own")));
        assert!(formed(Kind::Counter, "roman").is_err_and(|cause| cause.contains("unknown form")));
    }
}
