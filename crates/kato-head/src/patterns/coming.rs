//! How patterns come, and so which of those that hold a count may be dropped before all were seen.

use std::ops::ControlFlow;

use kato_model::PatternName;

use super::found::Found;

/// Patterns of one count beyond those that will be listed, before the least of them are dropped. Few in builds for
/// tests, so that tests see it.
const SPARE: usize = if cfg!(debug_assertions) { 4 } else { 1000 };

/// Patterns of all counts that are kept of those that come in parts: some hundred megabytes.
const MOST_IN_PARTS: usize = if cfg!(debug_assertions) { 16 } else { 1 << 20 };

/// The first name that there can be.
const FIRST: PatternName = PatternName::from_bytes([0; PatternName::BYTES]);

/// How the patterns of a level come.
#[derive(Debug, Clone, Copy)]
pub(super) enum Coming {
    /// Each once, as it seems: the least are dropped where there are many.
    Once {
        /// Whether some were, so that nothing may come of one that was seen.
        has_dropped: bool,
        /// Whether something may come, so that all of them have to come again.
        is_wrong: bool,
    },
    /// Several times, with a part of the count each time: those of some names at a time, of as many as are kept.
    InParts {
        from: PatternName,
        /// The first that is left for another time.
        until: Option<PatternName>,
    },
    /// Those that are kept, once more.
    Again,
}

impl Coming {
    pub(super) const ONCE: Self = Self::Once {
        has_dropped: false,
        is_wrong: false,
    };

    const IN_PARTS: Self = Self::InParts {
        from: FIRST,
        until: None,
    };

    /// Returns whether a pattern is one of those that are looked at.
    pub(super) fn is_looked_at(&self, name: &PatternName) -> bool {
        match self {
            Self::Once { .. } | Self::Again => true,
            Self::InParts { from, until } => {
                from <= name && until.is_none_or(|until| *name < until)
            }
        }
    }

    /// Drops patterns where there are many, but so many of each count that may be listed.
    pub(super) fn drop_some(&mut self, found: &mut [Found], most: usize) {
        match self {
            Self::Once { has_dropped, .. } => {
                let many = most.saturating_add(SPARE);
                for found in found.iter_mut().filter(|found| found.open.len() >= many) {
                    *has_dropped |= found.drop_open(most);
                }
            }
            Self::InParts { until, .. } => {
                let n_open: usize = found.iter().map(|found| found.open.len()).sum();
                if n_open > MOST_IN_PARTS {
                    *until = leave_half(found).or(*until);
                }
            }
            Self::Again => {}
        }
    }

    /// Notes that patterns may come that came before; breaks off where some of those were dropped.
    pub(super) fn again(&mut self) -> ControlFlow<()> {
        match self {
            Self::Once {
                has_dropped: true,
                is_wrong,
            } => {
                *is_wrong = true;
                return ControlFlow::Break(());
            }
            Self::Once { .. } => *self = Self::IN_PARTS,
            Self::InParts { .. } | Self::Again => {}
        }
        ControlFlow::Continue(())
    }

    /// Notes that no more patterns of a level come; goes on where they have to come once more.
    pub(super) fn end(&mut self, found: &mut [Found], most: usize) -> ControlFlow<()> {
        if let Self::Once { is_wrong: true, .. } = self {
            found.iter_mut().for_each(Found::forget_open);
            *self = Self::IN_PARTS;
            return ControlFlow::Continue(());
        }
        found.iter_mut().for_each(|found| found.settle(most));
        match *self {
            Self::InParts {
                until: Some(until), ..
            } => {
                *self = Self::InParts {
                    from: until,
                    until: None,
                };
                ControlFlow::Continue(())
            }
            _ => {
                *self = Self::ONCE;
                ControlFlow::Break(())
            }
        }
    }
}

/// Leaves the second half of the open patterns, by name, for another time, and returns where it begins; `None` if
/// all are of one name.
fn leave_half(found: &mut [Found]) -> Option<PatternName> {
    let open = found.iter().flat_map(|found| found.open.keys());
    let mut names: Vec<PatternName> = open.map(|holder| holder.name).collect();
    names.sort_unstable();
    names.dedup();
    // At least one stays, so that the others come to an end.
    let until = *names.get((names.len() / 2).max(1))?;
    for found in found {
        found.open.retain(|holder, _| holder.name < until);
    }
    Some(until)
}
