//! The error of the crate.

use std::error::Error;
use std::io;
use std::path::PathBuf;

use crate::check::Check;
use crate::newick::NewickError;
use crate::table::TableError;

/// Why distances could not be computed, read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UnifracError {
    /// A file cannot be opened or read.
    #[error("`{}` cannot be read; check the path and its permissions", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// A file is no table.
    #[error("`{}` cannot be read as a table", path.display())]
    Table {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: TableError,
    },
    /// A file is no tree.
    #[error("`{}` cannot be read as a Newick tree", path.display())]
    Tree {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: NewickError,
    },
    /// A file is no matrix of distances.
    #[error("`{}` cannot be read as distances of samples; write it anew", path.display())]
    Distances {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: Box<dyn Error + Send + Sync>,
    },
    /// Table and tree do not fit, and the options do not say what to do.
    #[error("table and tree do not fit:\n{0}")]
    Refused(Box<Check>),
    /// A setting has a value that nothing can be computed with.
    #[error("`{setting}` is out of range: {reason}")]
    InvalidSetting {
        /// The setting's name.
        setting: &'static str,
        /// What is allowed.
        reason: &'static str,
    },
    /// The memory allowed does not suffice.
    #[error(
        "this takes {needed_bytes} bytes of memory where {limit_bytes} are allowed; raise `memory_limit_bytes`, or ask for the \
         distances of a few samples with `distances_of`"
    )]
    MemoryLimit {
        /// The least that it can be computed with.
        needed_bytes: usize,
        /// The setting.
        limit_bytes: usize,
    },
    /// There is no sample of that name.
    #[error(
        "there is no sample `{sample}`, or it was left out; `sample_ids` lists those there are"
    )]
    UnknownSample {
        /// The name.
        sample: String,
    },
    /// The threads could not be started.
    #[error("the threads cannot be started; ask for fewer")]
    Threads(#[source] Box<dyn Error + Send + Sync>),
    /// Counts are drawn from, but some are no whole numbers.
    #[error(
        "sample `{sample}` has {count} of feature `{feature}`, which cannot be drawn from; give whole counts below 2^53"
    )]
    NotWhole {
        /// The sample.
        sample: String,
        /// The feature.
        feature: String,
        /// The count.
        count: f64,
    },
    /// A file cannot be written.
    #[error("`{}` cannot be written; check the folder, its permissions and the free space", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What went wrong.
        source: io::Error,
    },
    /// The name of a file does not say in which form to write it.
    #[error("`{}` names no format; end it in .npy, .h5 or .tsv", path.display())]
    UnknownOutput {
        /// The file.
        path: PathBuf,
    },
    /// The name of a table's file does not say in which form to write it.
    #[error("`{}` names no format of tables; end it in .biom or .tsv", path.display())]
    UnknownTableOutput {
        /// The file.
        path: PathBuf,
    },
}
