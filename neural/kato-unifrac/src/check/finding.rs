//! What a check can find.

use std::fmt;

use crate::options::MatchOptions;

/// How many names a finding shows.
pub(super) const N_EXAMPLES: usize = 10;

/// One thing that was found, with how often.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CheckFinding {
    /// What was found.
    pub kind: FindingKind,
    /// How often; at least 1.
    pub n: usize,
    /// The first ten names: of features, samples, or nodes. A node without a label is shown as
    /// `#` with its number.
    pub examples: Vec<String>,
}

/// What a finding means for computing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Nothing can be computed.
    Fault,
    /// Something can be computed once an option says how.
    Choice,
    /// It may be as it should be.
    Note,
}

/// The kinds of findings, gravest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum FindingKind {
    /// Several tips have one name.
    DuplicateTips,
    /// Several features have one name.
    DuplicateFeatures,
    /// Several samples have one name.
    DuplicateSamples,
    /// Counts are negative, not finite, or their sum is not.
    BadCounts,
    /// The file holds more trees than one.
    SeveralTrees,
    /// The sum of all lengths leaves the range of numbers.
    HugeLengths,
    /// Features of the table are no tips of the tree.
    UnknownFeatures,
    /// Branches below the root have no length.
    AbsentLengths,
    /// Branches have a negative length.
    NegativeLengths,
    /// Samples hold nothing.
    EmptySamples,
    /// Samples hold nothing but features that are no tips of the tree.
    EmptiedSamples,
    /// Features that are no tips would be, if `_` in the tree meant a space.
    UnderscoresForSpaces,
    /// There is a length above the root.
    RootLength,
    /// The root has three children or more, as in trees whose root nobody has chosen.
    ManyRootChildren,
    /// Tips have no name.
    UnnamedTips,
    /// Tips of the tree are no features of the table.
    AbsentTips,
}

impl FindingKind {
    /// Returns what it means for computing.
    #[must_use]
    pub const fn severity(self) -> Severity {
        match self {
            Self::DuplicateTips
            | Self::DuplicateFeatures
            | Self::DuplicateSamples
            | Self::BadCounts
            | Self::SeveralTrees
            | Self::HugeLengths => Severity::Fault,
            Self::UnknownFeatures
            | Self::AbsentLengths
            | Self::NegativeLengths
            | Self::EmptySamples
            | Self::EmptiedSamples => Severity::Choice,
            Self::UnderscoresForSpaces
            | Self::RootLength
            | Self::ManyRootChildren
            | Self::UnnamedTips
            | Self::AbsentTips => Severity::Note,
        }
    }

    /// Words for one, and for several.
    const fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::DuplicateTips => ("name stands at several tips", "names stand at several tips"),
            Self::DuplicateFeatures => (
                "name stands at several features",
                "names stand at several features",
            ),
            Self::DuplicateSamples => (
                "name stands at several samples",
                "names stand at several samples",
            ),
            Self::BadCounts => (
                "sample has negative or infinite counts",
                "samples have negative or infinite counts",
            ),
            Self::SeveralTrees => (
                "tree follows the first in the file",
                "trees follow the first in the file",
            ),
            Self::HugeLengths => (
                "sum of lengths is not finite",
                "sums of lengths are not finite",
            ),
            Self::UnknownFeatures => (
                "feature of the table is no tip of the tree",
                "features of the table are no tips of the tree",
            ),
            Self::AbsentLengths => ("branch has no length", "branches have no length"),
            Self::NegativeLengths => (
                "branch has a negative length",
                "branches have negative lengths",
            ),
            Self::EmptySamples => ("sample holds nothing", "samples hold nothing"),
            Self::EmptiedSamples => (
                "sample holds no tip of the tree",
                "samples hold no tip of the tree",
            ),
            Self::UnderscoresForSpaces => (
                "of these features is a tip if `_` in the tree means a space",
                "of these features are tips if `_` in the tree means a space",
            ),
            Self::RootLength => (
                "root has a length above it",
                "roots have a length above them",
            ),
            Self::ManyRootChildren => (
                "root has three children or more, as unrooted trees have",
                "roots have three children or more, as unrooted trees have",
            ),
            Self::UnnamedTips => ("tip has no name", "tips have no names"),
            Self::AbsentTips => (
                "tip of the tree is no feature of the table",
                "tips of the tree are no features of the table",
            ),
        }
    }

    /// What to do next.
    const fn remedy(self) -> &'static str {
        match self {
            Self::DuplicateTips => "rename or prune them in the tree",
            Self::DuplicateFeatures | Self::DuplicateSamples => "rename them, or add them up",
            Self::BadCounts => "correct them, or take the samples out",
            Self::SeveralTrees => "keep one of them",
            Self::HugeLengths => "scale the tree down",
            Self::UnknownFeatures => {
                "name the tree that the table was made with, or leave them out with \
                 `without_unknown_features`"
            }
            Self::AbsentLengths => {
                "give lengths, or count these as zero with `with_absent_lengths_as_zero`"
            }
            Self::NegativeLengths => {
                "correct them, or count these as zero with `with_negative_lengths_as_zero`"
            }
            Self::EmptySamples | Self::EmptiedSamples => {
                "take them out of the table, or leave them out with `without_empty_samples`"
            }
            Self::UnderscoresForSpaces => "read the tree `with_underscores_as_spaces`",
            Self::RootLength => "it does not count",
            Self::ManyRootChildren => "if nobody chose the root, choose it first",
            Self::UnnamedTips => "they match nothing and change nothing",
            Self::AbsentTips => "they change nothing",
        }
    }
}

impl CheckFinding {
    /// Tells whether distances can be computed in spite of it.
    #[must_use]
    pub const fn passes(&self, options: MatchOptions) -> bool {
        match self.kind {
            FindingKind::UnknownFeatures => options.without_unknown_features,
            FindingKind::AbsentLengths => options.absent_lengths_are_zero,
            FindingKind::NegativeLengths => options.negative_lengths_are_zero,
            FindingKind::EmptySamples => options.without_empty_samples,
            // Nothing is emptied where nothing is left out; that is refused already.
            FindingKind::EmptiedSamples => {
                options.without_empty_samples || !options.without_unknown_features
            }
            kind => matches!(kind.severity(), Severity::Note),
        }
    }
}

impl fmt::Display for CheckFinding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (one, several) = self.kind.words();
        if self.kind.severity() == Severity::Note {
            formatter.write_str("note, ")?;
        }
        write!(
            formatter,
            "{} {}",
            self.n,
            if self.n == 1 { one } else { several }
        )?;
        for (i, name) in self.examples.iter().enumerate() {
            // A name may be a whole sequence, and a line must stay readable.
            let shown: String = name.chars().take(60).collect();
            let cut = if shown.len() < name.len() { "…" } else { "" };
            write!(
                formatter,
                "{} `{shown}{cut}`",
                if i == 0 { ":" } else { "," }
            )?;
        }
        if self.n > self.examples.len() && !self.examples.is_empty() {
            write!(formatter, " and {} more", self.n - self.examples.len())?;
        }
        write!(formatter, ": {}", self.kind.remedy())
    }
}
