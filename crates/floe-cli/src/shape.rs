//! What a name is: as the ledger has it, as flags ask for it, and whether the two agree.

use floe::form::Form;
use floe::{Definition, Kind, Name, reserved_name};

use crate::arguments::{LAYOUT_EXAMPLE, Shape};
use crate::failure::{Failure, Outcome};

impl Shape {
    /// Whether nothing is asked for.
    pub(crate) fn is_empty(&self) -> bool {
        self.kind.is_none() && !self.is_detailed()
    }

    /// Whether it says more than the kind.
    fn is_detailed(&self) -> bool {
        !self.given.0.is_empty() || self.form.is_some()
    }

    /// The definition that the flags describe; what they leave open has its default.
    ///
    /// A flag that belongs to another kind is wrong usage: in silence it would be lost.
    pub(crate) fn definition(&self) -> Outcome<Definition> {
        let given = &self.given.0;
        let has = |kind: &Kind, key| kind.settings().iter().any(|setting| setting.key == key);
        // Flags of a kind say which it is.
        let implied = || Kind::ALL.iter().copied().find(|kind| given.keys().any(|key| has(kind, key)));
        let kind = self.kind.or_else(implied).unwrap_or(Kind::SNOWFLAKE);
        let foreign: Vec<_> =
            given.keys().filter(|key| !has(&kind, key)).map(|key| format!("--{key}")).collect();
        if !foreign.is_empty() {
            return Err(Failure::usage(format_args!("a {kind} has no {}", foreign.join(", ")))
                .hint("leave it out, or give the --kind that it belongs to"));
        }
        let mut wrong = Vec::new();
        let defined = kind.define(given, &mut |key, why| wrong.push(format!("--{key}: {why}")));
        let definition = defined.ok_or_else(|| {
            let failure = Failure::usage(wrong.join("; "));
            match kind == Kind::SNOWFLAKE {
                true => failure.hint(format_args!("a layout in full is --layout \"{LAYOUT_EXAMPLE}\"")),
                false => failure,
            }
        })?;
        let Some(form) = &self.form else { return Ok(definition) };
        let bits = definition.form_bits().unwrap_or(Form::BITS);
        let form = Form::of_bits(form, bits).map_err(Failure::usage)?;
        Ok(definition.in_form(form)?)
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
            self.kind.or(Some(known.kind()).filter(|_| self.form.is_some() && self.given.0.is_empty()));
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
        .hint("leave the flags out, or take another name: a definition never changes"))
    }

    /// Refuses a name that is reserved for a kind, unless another kind is given.
    pub(crate) fn check_reserved(&self, name: &Name) -> Outcome {
        if self.is_empty() && reserved_name(name.as_str()) {
            return Err(Failure::new(format_args!(
                "the name {name} is reserved for a kind that this version of floe does not mint yet"
            ))
            .hint("take another name, or choose its kind for ever with --kind"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use floe::Given;

    use super::*;
    use crate::arguments::KindFlags;

    fn name() -> Name {
        Name::new("orders").expect("a name")
    }

    fn with(key: &'static str, value: &str) -> Shape {
        let mut given = Given::default();
        given.set(key, value);
        Shape { given: KindFlags(given), ..Shape::default() }
    }

    #[test]
    fn a_new_name_is_a_snowflake_unless_told_otherwise() {
        let settle =
            |shape: Shape| shape.settle(&name(), None, None).map(|definition| definition.kind()).ok();
        assert_eq!(settle(Shape::default()), Some(Kind::SNOWFLAKE));
        assert_eq!(settle(Shape { kind: Some(Kind::COUNTER), ..Shape::default() }), Some(Kind::COUNTER));
        assert_eq!(settle(with("increment", "2")), Some(Kind::SEGMENT));
        assert_eq!(settle(with("zone", "UTC")), Some(Kind::DATED));
        assert_eq!(settle(with("date", "yyMM")), Some(Kind::DATED));
        assert_eq!(settle(with("length", "12")).map(Kind::as_str), Some("nanoid"));
    }

    #[test]
    fn a_known_name_stays_what_it_is() {
        let odd = Definition::Segment { increment: 2, offset: 1 };
        let settle = |shape: Shape| shape.settle(&name(), Some(odd.clone()), None).ok();
        assert_eq!(settle(Shape::default()), Some(odd.clone()));
        assert_eq!(settle(Shape { kind: Some(Kind::SEGMENT), ..Shape::default() }), Some(odd.clone()));
        assert_eq!(settle(with("increment", "2")), Some(odd.clone()));
        assert_eq!(settle(with("increment", "3")), None);
        assert_eq!(settle(Shape { kind: Some(Kind::COUNTER), ..Shape::default() }), None);
    }

    #[test]
    fn a_flag_of_another_kind_is_not_lost_in_silence() {
        let shape = Shape { kind: Some(Kind::COUNTER), ..with("digits", "4") };
        assert!(shape.definition().is_err());
    }

    #[test]
    fn a_reserved_name_is_refused_unless_told_otherwise() {
        let cuid = Name::new("cuid").expect("a name");
        assert!(Shape::default().settle(&cuid, None, None).is_err());
        // Somebody has said what it is: a flag, the ledger, or a configuration.
        let counter = Shape { kind: Some(Kind::COUNTER), ..Shape::default() };
        assert!(counter.settle(&cuid, None, None).is_ok());
        assert!(Shape::default().settle(&cuid, Some(Definition::Counter), None).is_ok());
        assert!(Shape::default().settle(&cuid, None, Some(Definition::Counter)).is_ok());
    }

    #[test]
    fn a_name_that_is_called_like_a_kind_has_it_unless_told_otherwise() {
        let uuid = Name::new("uuid").expect("a name");
        let settled = |shape: Shape, stored| shape.settle(&uuid, stored, None).ok();
        assert_eq!(settled(Shape::default(), None), Definition::called("uuid4"));
        assert_eq!(settled(Shape::default(), Some(Definition::Counter)), Some(Definition::Counter));
        let counter = Shape { kind: Some(Kind::COUNTER), ..Shape::default() };
        assert_eq!(settled(counter, None), Some(Definition::Counter));
    }

    #[test]
    fn a_form_is_for_the_bits_of_its_kind() {
        let kind = |word: &str| word.parse().expect("a kind");
        let formed = |kind, form: &str| {
            let shape = Shape { kind: Some(kind), form: Some(form.to_owned()), ..Shape::default() };
            shape
                .definition()
                .map(|definition| definition.to_string())
                .map_err(|failure| failure.cause().to_string())
        };
        assert_eq!(
            formed(kind("uuid7"), "base62 width=22").as_deref(),
            Ok("uuid7 form base62 bits=128 width=22")
        );
        assert_eq!(formed(Kind::COUNTER, "hex").as_deref(), Ok("counter form hex"));
        assert!(formed(kind("ksuid"), "hex").is_err_and(|cause| cause.contains("text of its own")));
        assert!(formed(Kind::COUNTER, "roman").is_err_and(|cause| cause.contains("unknown form")));
    }
}
