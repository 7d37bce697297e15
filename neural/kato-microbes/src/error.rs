//! What can go wrong, with a way out in every text.

use std::path::PathBuf;

use kato_advice::ErrorClass;
use kato_gradient::GradientError;
use kato_neural::collective::CollectiveError;
use kato_neural::program::HasClass;
use kato_neural::run::{OtherReplicas, RunError};
use kato_unifrac::UnifracError;

/// Why a community could not be read, prepared, made or predicted from.
///
/// The text says what is wrong and what to do next; [`class`](Self::class) says the same to a
/// program.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MicrobesError {
    /// Table, tree or distances cannot be read or do not fit.
    #[error("table, tree or distances cannot be used")]
    Unifrac {
        /// Why.
        #[from]
        source: UnifracError,
    },
    /// A table holds what no sample can be learned from.
    #[error("the table cannot be used: {reason}")]
    BadTable {
        /// What it holds, and what to do.
        reason: String,
    },
    /// Names of features are no sequences.
    #[error(
        "{n} of {n_features} features are no nucleotide sequences, among them {}; their names have to be the sequences, or a FASTA file has to give one for each name: `--fasta FILE`",
        examples.join(", ")
    )]
    NoSequences {
        /// How many are none.
        n: usize,
        /// Features of the table.
        n_features: usize,
        /// The first of them.
        examples: Vec<String>,
    },
    /// A FASTA file lacks sequences of the table.
    #[error(
        "`{}` has no sequence for {n} of {n_features} features, among them {}; give the representative sequences that the table was made with",
        path.display(), examples.join(", ")
    )]
    AbsentSequences {
        /// The file.
        path: PathBuf,
        /// How many it lacks.
        n: usize,
        /// Features of the table.
        n_features: usize,
        /// The first of them.
        examples: Vec<String>,
    },
    /// A line of a text file cannot be understood.
    #[error("`{}`, line {line}: {reason}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// Line, counted from 1.
        line: usize,
        /// What is wrong, and what to do.
        reason: String,
    },
    /// There is no such column.
    #[error("the metadata have no column `{column}`; they have {}", columns.join(", "))]
    NoColumn {
        /// The column asked for.
        column: String,
        /// The columns that there are.
        columns: Vec<String>,
    },
    /// A column holds values of another kind than were asked for.
    #[error("column `{column}` has the value `{value}`, which is no number; predict it as classes")]
    NotNumeric {
        /// The column.
        column: String,
        /// The value.
        value: String,
    },
    /// A column has the same value for all samples that are left.
    #[error(
        "column `{column}` is `{value}` for all samples that are left, so that there is nothing to predict; choose a column with two values or more, or lower `--depth` so that more samples are deep enough"
    )]
    OneValue {
        /// The column.
        column: String,
        /// The value.
        value: String,
    },
    /// No sample holds as many counts as are to be drawn, or any.
    #[error("{}", too_shallow(*depth, *median, *deepest))]
    TooShallow {
        /// The counts of each sample that were asked for.
        depth: u64,
        /// What the middle sample holds.
        median: f64,
        /// What the deepest one holds.
        deepest: f64,
    },
    /// There are too few samples left.
    #[error("{what}: there are {n}, and {least} are needed; {advice}")]
    TooFewSamples {
        /// What they are, or are to be.
        what: &'static str,
        /// Samples that are left.
        n: usize,
        /// Samples that are needed.
        least: usize,
        /// What to do.
        advice: &'static str,
    },
    /// A part of the training has settings that it cannot work with.
    #[error("the training cannot be set up so")]
    Gradient {
        /// Which, and what is possible.
        #[from]
        source: GradientError,
    },
    /// Training failed, or a checkpoint cannot be read or written.
    #[error(transparent)]
    Training {
        /// Why.
        #[from]
        source: kato_neural::Error,
    },
    /// A setting is impossible, a run's folder cannot be used, a file of it is damaged, or another file
    /// cannot be read or written.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The forest could not be grown.
    #[error("the random forest cannot be grown: {reason}")]
    Forest {
        /// What its library says.
        reason: String,
    },
}

impl HasClass for MicrobesError {
    fn class(&self) -> ErrorClass {
        Self::class(self)
    }
}

impl MicrobesError {
    /// Returns what a caller can do about the error.
    #[must_use]
    pub fn class(&self) -> ErrorClass {
        match self {
            Self::Gradient { .. }
            | Self::NoColumn { .. }
            | Self::NotNumeric { .. }
            | Self::OneValue { .. } => ErrorClass::Usage,
            Self::Training { source } => source.class(),
            Self::Run(error) => error.class(),
            Self::Unifrac { source } => match source {
                UnifracError::Read { source, .. } | UnifracError::Write { source, .. } => {
                    ErrorClass::of_io(source.kind())
                }
                UnifracError::InvalidSetting { .. }
                | UnifracError::UnknownOutput { .. }
                | UnifracError::UnknownTableOutput { .. }
                | UnifracError::UnknownSample { .. } => ErrorClass::Usage,
                UnifracError::MemoryLimit { .. } => ErrorClass::NoRoom,
                _ => ErrorClass::Other,
            },
            Self::BadTable { .. }
            | Self::NoSequences { .. }
            | Self::TooShallow { .. }
            | Self::AbsentSequences { .. }
            | Self::Line { .. }
            | Self::TooFewSamples { .. }
            | Self::Forest { .. } => ErrorClass::Other,
        }
    }

    /// Returns whether it tells only that another replica has ended, whose own error says more.
    #[must_use]
    pub const fn is_gone(&self) -> bool {
        match self {
            Self::Training {
                source: kato_neural::Error::Collective { source, .. },
            } => source.is_gone(),
            _ => false,
        }
    }

    /// Returns what it tells of the other replicas.
    pub(crate) const fn other_replicas(&self) -> OtherReplicas {
        match self {
            Self::Training {
                source:
                    kato_neural::Error::Collective {
                        source: CollectiveError::Silent { rank, .. },
                        ..
                    },
            } => OtherReplicas::Silent(*rank),
            _ if self.is_gone() => OtherReplicas::OneGone,
            _ => OtherReplicas::Needless,
        }
    }
}

/// Says that no sample is deep enough: no depth would help where none holds anything.
fn too_shallow(depth: u64, median: f64, deepest: f64) -> String {
    if deepest > 0.0 {
        format!(
            "no sample holds {depth} counts; half of them hold {median} or more, and the deepest {deepest}: lower `--depth`, or take all counts with `--depth 0`"
        )
    } else {
        "no sample of the table holds any count; give a table of counts".to_owned()
    }
}

/// How many names an error or a report shows.
pub(crate) const N_EXAMPLES: usize = 10;

/// Returns the first names, each short enough for a line.
pub(crate) fn examples<'a>(names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let short = |name: &str| match name.char_indices().nth(40) {
        Some((end, _)) => format!("`{}…`", &name[..end]),
        None => format!("`{name}`"),
    };
    names.take(N_EXAMPLES).map(short).collect()
}
