//! Generations of KATO, as values: what changed between its releases, one rule a function.
//!
//! Each rule says which generations have it, and nothing else compares versions. What is done where nobody
//! knows what 6.3 does, and where that is decided, is a table of `docs/compatibility.md` (*What is not known of
//! 6.3*).

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// A generation of KATO: releases that answer alike.
///
/// ```
/// use kato_model::KatoGeneration;
///
/// let generation: KatoGeneration = "6.3.2".parse()?;
/// assert_eq!(generation, KatoGeneration::V6);
/// assert!(KatoGeneration::V3_10 < generation);
/// assert_eq!(generation.to_string(), "6.3");
/// # Ok::<(), kato_model::UnknownGeneration>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum KatoGeneration {
    /// The MongoDB generation of October 2025, whose API says version 1.0.0.
    October2025,
    /// 3.x and 4.x, of which 3.10.1 was measured.
    V3_10,
    /// 5.x, by 5.2.
    V5,
    /// 6.x, by 6.3.2: the newest.
    #[default]
    V6,
}

impl KatoGeneration {
    /// All generations, oldest first.
    pub const ALL: [Self; 4] = [Self::October2025, Self::V3_10, Self::V5, Self::V6];

    /// Returns the generation of the server that says that it has a version. What is unknown is taken
    /// for the newest.
    #[must_use]
    pub fn from_version(version: &str) -> Self {
        let major = version.split('.').next().unwrap_or_default();
        match major.parse::<u64>() {
            Ok(0..=2) => Self::October2025,
            Ok(3 | 4) => Self::V3_10,
            Ok(5) => Self::V5,
            _ => Self::V6,
        }
    }

    /// Returns the release that stands for the generation.
    #[must_use]
    pub const fn release(self) -> &'static str {
        match self {
            Self::October2025 => "1.0.0",
            Self::V3_10 => "3.10.1",
            Self::V5 => "5.2.0",
            Self::V6 => "6.3.2",
        }
    }
}

/// Defines rules: functions of a generation, each true from one generation on.
macro_rules! rules {
    ($($(#[$doc:meta])* $name:ident since $first:ident;)*) => {
        /// Rules that changed, each with the first generation that has it.
        impl KatoGeneration {
            $(
                $(#[$doc])*
                #[doc = ""]
                #[doc = concat!("From [`", stringify!($first), "`](Self::", stringify!($first), ") on.")]
                #[must_use]
                pub const fn $name(self) -> bool {
                    self as u8 >= Self::$first as u8
                }
            )*
        }
    };
}

rules! {
    /// Returns whether settings, percepts and what was observed belong to the session, and observed
    /// attributes outlive a learn. Before, the sessions of a node shared all of them, as genes.
    keeps_sessions_apart since V3_10;
    /// Returns whether symbols are told with their counts and affinities, and training can be finalized.
    tells_symbols since V3_10;
    /// Returns whether `anomalies` are a flat list of symbols, and what matched although it differs
    /// has a key of its own, `fuzzy_matches`.
    anomalies_are_flat since V5;
    /// Returns whether past, present and future, what is missing and what is extra are told by the
    /// positions that match, and not by membership of symbols.
    segments_by_position since V5;
    /// Returns whether of equally good patterns the later name comes first. Before, the order was
    /// random, and here the earlier name comes first.
    ties_descend since V5;
    /// Returns whether the settings that have no rule of their own are checked when a session is
    /// changed, too.
    checks_all_settings since V5;
    /// Returns whether a recall threshold of 0 is refused, and with it all patterns that share nothing
    /// with the state.
    needs_common_symbols since V6;
    /// Returns whether the filter `length` and its two ratios are gone.
    has_no_length_filter since V6;
    /// Returns whether settings are refused at creation as they are when they are changed: all faulty
    /// ones are named. Before, one wrong value made all be defaults, without a word.
    refuses_at_creation since V6;
    /// Returns whether `use_token_matching` sets `sort_symbols` at creation, too.
    matching_sets_sorting_at_creation since V6;
    /// Returns whether sessions have settings of vectors: what the event of a vector holds, how many
    /// nearest ones are searched for, and whether the answer tells them.
    has_vector_settings since V6;
    /// Returns whether a state of one symbol is answered by the same code as all others.
    ///
    /// 5.x had events in place of flat lists there, with the metrics of before. That was read and never
    /// measured, so its answers are taken for those of 3.10.
    single_symbols_are_ordinary since V6;
    /// Returns whether entropies and `tfidf_score` are always those of the whole pattern. Before, they
    /// were those of its present until training was finalized.
    describes_whole_patterns since V6;
    /// Returns whether a failure of the learn at the end of a sequence is swallowed: the observations
    /// stay, and the answer has no name.
    swallows_final_learn since V6;
    /// Returns whether patterns can be retired and purged.
    can_retire since V6;
    /// Returns whether a server tells the number of a node's patterns (`GET /patterns/count`).
    counts_patterns since V5;
    /// Returns whether health and the event stream of a server tell the process that answers.
    tells_worker since V5;
    /// Returns whether a server's own failures are objects with a code, under `error`. Before, they were
    /// a `detail`.
    failures_have_codes since V5;
    /// Returns whether pages of other origins must not send credentials where all origins are allowed.
    refuses_credentials since V5;
    /// Returns whether the message of a learn tells the events that were learned. Before, it told those
    /// that were left: none.
    learn_tells_events since V6;
    /// Returns whether the message that there is no pattern names it as it was asked for. Before, it
    /// had no prefix.
    names_missing_patterns_as_asked since V6;
    /// Returns whether the notice of endpoints outside of sessions tells what to use, and no more.
    notices_are_short since V6;
    /// Returns whether the answer to an observation has a place for what was found near its vector, null
    /// unless the session asks for it.
    // Documents leave open whether it is there when nobody asks; the recorded server has it.
    answers_vector_search since V6;
    /// Returns whether `KATO_USE_TOKEN_MATCHING` and `KATO_FUZZY_TOKEN_THRESHOLD` set the defaults of a
    /// process. Before, only names without the prefix did.
    reads_prefixed_variables since V5;
    /// Returns whether the name of a knowledge base keeps nothing but ASCII letters, digits and `_` of
    /// the ids that it is made of. Before, thirteen characters were replaced.
    processor_ids_are_words since V5;
}

impl fmt::Display for KatoGeneration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::October2025 => "2025-10",
            Self::V3_10 => "3.10",
            Self::V5 => "5.2",
            Self::V6 => "6.3",
        })
    }
}

/// A text that names no generation.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("there is no KATO {text:?} here: the generations are 2025-10, 3.10, 5.2 and 6.3")]
pub struct UnknownGeneration {
    text: String,
}

impl FromStr for KatoGeneration {
    type Err = UnknownGeneration;

    /// Reads a version of 1 to 6, with or without what follows its first number, or `2025-10`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "2025-10" {
            return Ok(Self::October2025);
        }
        let parts: Option<Vec<u64>> = text.split('.').map(|part| part.parse().ok()).collect();
        match parts.as_deref() {
            Some([1..=6, ..]) => Ok(Self::from_version(text)),
            _ => Err(UnknownGeneration {
                text: text.to_owned(),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::KatoGeneration as G;

    #[test]
    fn a_rule_holds_from_its_generation_on() {
        for (rule, first) in [
            (G::ties_descend as fn(G) -> bool, G::V5),
            (G::describes_whole_patterns, G::V6),
        ] {
            for generation in G::ALL {
                assert_eq!(rule(generation), generation >= first);
            }
        }
    }

    #[test]
    fn what_is_displayed_is_read() {
        for generation in G::ALL {
            assert_eq!(generation.to_string().parse(), Ok(generation));
            assert_eq!(G::from_version(generation.release()), generation);
        }
        for text in ["", "7", "0.9", "six", "6.", "-1"] {
            assert!(text.parse::<G>().is_err(), "{text:?}");
        }
    }
}
