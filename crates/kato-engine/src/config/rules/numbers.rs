//! Numbers that settings may have.

use kato_model::KatoGeneration;
use serde_json::Value;

use super::{MAX, Rule};

/// A whole number in a range. Booleans count as 0 and 1, as in Python.
pub(in crate::config) struct Whole(pub(in crate::config) u64, pub(in crate::config) u64);

impl Rule for Whole {
    type Setting = u64;

    fn read(&self, value: &Value, _: KatoGeneration) -> Option<u64> {
        // Written as an integer in the JSON: KATO refuses 2.0.
        value.as_bool().map(u64::from).or_else(|| value.as_u64())
    }

    fn allows(&self, number: &u64, _: KatoGeneration) -> bool {
        (self.0..=self.1).contains(number)
    }

    fn message(&self, _: &Value, _: KatoGeneration) -> String {
        match *self {
            Self(0, MAX) => "Must be a non-negative integer".to_owned(),
            Self(min, MAX) => format!("Must be an integer of at least {min}"),
            Self(min, max) => format!("Must be an integer between {min} and {max}"),
        }
    }
}

/// A number in a range that counts whole things: of half a thing it needs all.
pub(in crate::config) struct Count(pub(in crate::config) u64, pub(in crate::config) u64);

impl Rule for Count {
    type Setting = u64;

    fn read(&self, value: &Value, generation: KatoGeneration) -> Option<u64> {
        let whole = Whole(self.0, self.1).read(value, generation);
        whole.or_else(|| {
            let number = value.as_f64().filter(|number| *number >= 0.0)?;
            // Rounded so that it stays on the side of the range on which it is.
            let rounded = match number < self.0 as f64 {
                true => number.floor(),
                false => number.ceil(),
            };
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "it is whole and not below 0, and one above all counts becomes the largest"
            )]
            Some(rounded as u64)
        })
    }

    fn allows(&self, number: &u64, generation: KatoGeneration) -> bool {
        Whole(self.0, self.1).allows(number, generation)
    }

    fn message(&self, _: &Value, _: KatoGeneration) -> String {
        match *self {
            Self(min, MAX) => format!("Must be a number of at least {min}"),
            Self(min, max) => format!("Must be a number between {min} and {max}"),
        }
    }
}

/// A number in a range. Booleans count as 0 and 1.
pub(in crate::config) struct Number(pub(in crate::config) f64, pub(in crate::config) f64);

impl Rule for Number {
    type Setting = f64;

    fn read(&self, value: &Value, _: KatoGeneration) -> Option<f64> {
        let flag = value.as_bool().map(|flag| f64::from(u8::from(flag)));
        flag.or_else(|| value.as_f64())
    }

    fn allows(&self, number: &f64, _: KatoGeneration) -> bool {
        (self.0..=self.1).contains(number)
    }

    fn message(&self, _: &Value, _: KatoGeneration) -> String {
        match *self {
            Self(min, f64::MAX) => format!("Must be a number of at least {min:?}"),
            Self(min, max) => format!("Must be a number between {min:?} and {max:?}"),
        }
    }
}

/// A recall threshold: from 0 to 1, and from 6.x on above 0 and no boolean.
pub(in crate::config) struct Threshold;

impl Rule for Threshold {
    type Setting = f64;

    fn read(&self, value: &Value, generation: KatoGeneration) -> Option<f64> {
        match generation.needs_common_symbols() {
            true => value.as_f64(),
            false => Number(0.0, 1.0).read(value, generation),
        }
    }

    fn allows(&self, threshold: &f64, generation: KatoGeneration) -> bool {
        (0.0..=1.0).contains(threshold) && !(generation.needs_common_symbols() && *threshold == 0.0)
    }

    fn message(&self, value: &Value, generation: KatoGeneration) -> String {
        match generation.needs_common_symbols() {
            true => "Must be a number greater than 0.0 and at most 1.0. A threshold of 0 accepts every pattern regardless of similarity and is never a useful setting.".to_owned(),
            false => Number(0.0, 1.0).message(value, generation),
        }
    }
}

/// A whole number in a range, and no boolean.
pub(in crate::config) struct Integer(pub(in crate::config) u64, pub(in crate::config) u64);

impl Rule for Integer {
    type Setting = u64;

    fn read(&self, value: &Value, _: KatoGeneration) -> Option<u64> {
        value.as_u64()
    }

    fn allows(&self, number: &u64, _: KatoGeneration) -> bool {
        (self.0..=self.1).contains(number)
    }

    fn message(&self, value: &Value, generation: KatoGeneration) -> String {
        Whole(self.0, self.1).message(value, generation)
    }
}

/// As [`Number`], or `null` for unset.
pub(in crate::config) struct OptionalNumber(pub(in crate::config) f64, pub(in crate::config) f64);

impl Rule for OptionalNumber {
    type Setting = Option<f64>;

    fn read(&self, value: &Value, generation: KatoGeneration) -> Option<Option<f64>> {
        match value {
            Value::Null => Some(None),
            value => Number(self.0, self.1).read(value, generation).map(Some),
        }
    }

    fn allows(&self, number: &Option<f64>, generation: KatoGeneration) -> bool {
        number.is_none_or(|number| Number(self.0, self.1).allows(&number, generation))
    }

    fn message(&self, value: &Value, generation: KatoGeneration) -> String {
        format!(
            "{}, or null",
            Number(self.0, self.1).message(value, generation)
        )
    }
}
