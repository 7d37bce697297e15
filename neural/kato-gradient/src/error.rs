//! What calls can refuse, each with what to do next.

/// What a call of this crate can refuse.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GradientError {
    /// A setting has a value that it cannot have.
    #[error("{setting} is {value}; set it to {wanted}")]
    Setting {
        /// The name of the field.
        setting: &'static str,
        /// Its value.
        value: String,
        /// Which values it can have.
        wanted: &'static str,
    },
    /// A saved state cannot be what these settings and data lead to.
    #[error(
        "the saved {what} does not belong here: {why}; resume with what it was saved with, or start anew"
    )]
    State {
        /// What was saved.
        what: &'static str,
        /// How it differs.
        why: String,
    },
    /// Slices that go together differ in length.
    #[error("{what} has {found} elements where {wanted} were expected; give one for each")]
    Length {
        /// Which slice.
        what: &'static str,
        /// How long it is.
        found: usize,
        /// How long it must be.
        wanted: usize,
    },
    /// An item is longer than a whole batch may be.
    #[error(
        "item {item} is {length} long and a batch holds {budget}; cut it, leave it out, or raise max_tokens"
    )]
    ItemTooLong {
        /// The item's index.
        item: usize,
        /// Its length in tokens.
        length: usize,
        /// The budget of a batch in tokens.
        budget: usize,
    },
    /// A class is none of those that were announced.
    #[error(
        "class {class} was met where there are {n_classes} classes, numbered from 0; make the metric with more"
    )]
    Class {
        /// The class.
        class: usize,
        /// How many classes there are.
        n_classes: usize,
    },
    /// Not even the smallest size fits.
    #[error(
        "a batch of {size} does not fit; use a smaller model or shorter items, or recompute activations"
    )]
    NothingFits {
        /// The smallest size that was tried.
        size: usize,
    },
    /// A trial of a finder failed for a reason of its own.
    #[error("the trial at {at} failed; mend its cause and search again")]
    Trial {
        /// The batch size or learning rate that was tried.
        at: String,
        /// Why it failed.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

/// Refuses a setting unless `holds`.
pub(crate) fn require(
    holds: bool,
    setting: &'static str,
    value: impl std::fmt::Display,
    wanted: &'static str,
) -> Result<(), GradientError> {
    if holds {
        return Ok(());
    }
    Err(GradientError::Setting {
        setting,
        // As text, so that settings of any type are one kind of error.
        value: value.to_string(),
        wanted,
    })
}

/// Refuses a number that is not finite and above 0.
pub(crate) fn require_positive(setting: &'static str, value: f64) -> Result<(), GradientError> {
    // A NaN fails both, so it needs no test of its own.
    let holds = value.is_finite() && value > 0.0;
    require(holds, setting, value, "a finite number above 0")
}

/// Refuses a number that is not finite and at least 0.
pub(crate) fn require_not_negative(setting: &'static str, value: f64) -> Result<(), GradientError> {
    let holds = value.is_finite() && value >= 0.0;
    require(holds, setting, value, "a finite number of at least 0")
}

/// Refuses a number outside of [0, 1].
pub(crate) fn require_share(setting: &'static str, value: f64) -> Result<(), GradientError> {
    // NaN is in no range, so it is refused too.
    let holds = (0.0..=1.0).contains(&value);
    require(holds, setting, value, "a number from 0 to 1")
}

/// Refuses two slices that differ in length.
pub(crate) fn require_length(
    what: &'static str,
    found: usize,
    wanted: usize,
) -> Result<(), GradientError> {
    if found == wanted {
        return Ok(());
    }
    Err(GradientError::Length {
        what,
        found,
        wanted,
    })
}
