//! The error of this crate's loader.

use std::io;
use std::path::Path;

use kato_advice::{Advice, ErrorClass, ErrorKind};

use crate::bad_record::{BadRecord, Cause};

/// Why a corpus could not be opened, or why its stream stopped.
///
/// The text says what is wrong; what to do about it, in names of this library, says
/// [`advice`](Self::advice) where that is more than the text has.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The builder was given nothing to read.
    #[error("no input was given; name a file, a directory, a glob or `-` for standard input")]
    NoInput,
    /// An input does not exist or cannot be listed.
    #[error("input `{input}` cannot be opened; check the path and its permissions")]
    Input {
        /// The path concerned.
        input: String,
        /// What the operating system said.
        source: io::Error,
    },
    /// A glob matches no file.
    #[error(
        "glob `{pattern}` matches no file{}; check it, and the directory it is relative to",
        beside(ignored)
    )]
    EmptyGlob {
        /// The pattern as given.
        pattern: String,
        /// How many it matches that cannot be read, for each reason; empty for none.
        ignored: String,
    },
    /// A glob is not well formed.
    #[error("glob `{pattern}` is not well formed; correct it")]
    InvalidGlob {
        /// The pattern as given.
        pattern: String,
        /// What is wrong with it.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A directory holds no file of a known format.
    #[error(
        "directory `{path}` holds no file with a known extension{}",
        aside(ignored)
    )]
    EmptyDirectory {
        /// The directory as given.
        path: String,
        /// How many it holds that are not read, for each reason; empty for none.
        ignored: String,
    },
    /// Two inputs lead to the same file, whose documents would be read twice.
    #[error("file `{name}` is named by more than one input; drop one of them")]
    DuplicateFile {
        /// Name of the file.
        name: String,
    },
    /// An input cannot be read in the format asked for.
    #[error("`{name}` cannot be read: {reason}")]
    Unsupported {
        /// Name of the input.
        name: String,
        /// What is not possible, and what is.
        reason: &'static str,
    },
    /// A remote location cannot be listed.
    #[error("`{input}` cannot be listed")]
    Remote {
        /// The location as given, without secrets.
        input: String,
        /// What went wrong.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// What shuffled order depends on cannot be read: the footer of a Parquet file, or where the rows
    /// of a CSV or TSV file begin.
    ///
    /// That order is a function of where the parts of all files begin and end.
    #[error(
        "`{name}` cannot be cut into parts, on which shuffled order depends; try again, or leave the file out"
    )]
    Footer {
        /// Name of the file.
        name: String,
        /// What went wrong.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A stored corpus was read through a filter, which is code and cannot be stored.
    #[error("the corpus was filtered by `{name}`")]
    FilterMissing {
        /// Its name.
        name: String,
    },
    /// A thread cannot be started.
    #[error("a worker thread cannot be started")]
    Thread(#[source] io::Error),
    /// An option has a value that no corpus can be read with.
    #[error("option `{option}` is out of range: {reason}")]
    InvalidOption {
        /// Name of the builder's method.
        option: &'static str,
        /// What is allowed.
        reason: &'static str,
    },
    /// The position to resume from does not exist in this corpus.
    #[error("cannot resume: {reason}")]
    InvalidCursor {
        /// What does not fit.
        reason: String,
    },
    /// The corpus is not the expected one.
    #[error("this is another corpus than before:\n  {}\ngive the same input and options", differences.join("\n  "))]
    OtherCorpus {
        /// What differs, in words.
        differences: Vec<String>,
    },
    /// A record could not be turned into a document, and the policy is to stop.
    #[error("{record}")]
    BadRecord {
        /// Where and why.
        record: Box<BadRecord>,
        /// The cause, where another library or the operating system reported one.
        source: Option<Box<dyn std::error::Error + Send + Sync>>,
    },
    /// The corpus ends, and nothing of it became a document though no option left anything out.
    #[error(
        "no document in the corpus: {}, {n_blank} of them blank, {n_bad} bad{}",
        kato_advice::counted(*n_records, "record"),
        first_in_words(first_bad.as_deref())
    )]
    NoDocuments {
        /// Records that were met.
        n_records: u64,
        /// Records without text.
        n_blank: u64,
        /// Records that could not be read.
        n_bad: u64,
        /// The first of them that this loader met.
        first_bad: Option<Box<BadRecord>>,
    },
    /// A shard of the corpus has no record: there are fewer records, or parts of files, than shards.
    #[error(
        "shard {index} of {count}, counted from 0, has no record: the corpus has fewer of them, or fewer parts"
    )]
    EmptyShard {
        /// The shard.
        index: u64,
        /// The number of shards.
        count: u64,
    },
    /// The ledger is full: the caller does not drain it, or nearly every record is bad.
    #[error("{capacity} bad records are waiting in the ledger, the last being {last}")]
    LedgerFull {
        /// How many entries the ledger may hold.
        capacity: usize,
        /// The record that did not fit.
        last: Box<BadRecord>,
    },
    /// Reading was ended, as the caller had asked for with
    /// [`with_interrupt`](crate::StreamingDatasetLoaderBuilder::with_interrupt) or an
    /// [`interrupter`](crate::StreamingDatasetLoader::interrupter).
    #[error("reading was interrupted")]
    Interrupted,
    /// The stream has already ended with an error.
    #[error("the stream already ended with an error")]
    Stopped,
}

/// Returns the kind of what another library or the system reported, or one of its causes.
fn of_cause(cause: &(dyn std::error::Error + 'static)) -> ErrorKind {
    of_fetch(cause).or(ErrorKind::of_causes(cause))
}

/// Returns the kind of the first error of fetching among an error and its causes.
#[cfg(feature = "remote")]
fn of_fetch(cause: &(dyn std::error::Error + 'static)) -> ErrorKind {
    use kato_fetch::FetchError;
    let causes = std::iter::successors(Some(cause), |&cause| cause.source());
    let of_fetch = causes.filter_map(|cause| {
        let within = || cause.downcast_ref().and_then(FetchError::within);
        cause.downcast_ref().or_else(within)
    });
    of_fetch.fold(ErrorKind::Other, |kind, error| kind.or(error.kind()))
}

/// Returns that nothing was fetched.
#[cfg(not(feature = "remote"))]
const fn of_fetch(_: &(dyn std::error::Error + 'static)) -> ErrorKind {
    ErrorKind::Other
}

/// Returns what was passed over, as an end of a sentence.
fn aside(ignored: &str) -> String {
    match ignored {
        "" => String::new(),
        ignored => format!("; passed over: {ignored}"),
    }
}

/// Returns what was passed over, as an end of a sentence that speaks of files.
fn beside(ignored: &str) -> String {
    match ignored {
        "" => String::new(),
        ignored => format!(" that can be read; passed over: {ignored}"),
    }
}

/// Says which record is the first one of those that were counted, if any.
fn first_in_words(first: Option<&BadRecord>) -> String {
    first.map_or_else(String::new, |record| format!("; first {record}"))
}

impl LoadError {
    /// Creates the error of an input that cannot be opened or listed.
    pub(crate) fn input(path: &Path, source: io::Error) -> Self {
        Self::Input {
            input: path.display().to_string(),
            source,
        }
    }

    /// Creates the error of a bad record.
    pub(crate) fn bad_record(record: BadRecord, source: Option<Cause>) -> Self {
        Self::BadRecord {
            record: Box::new(record),
            source,
        }
    }

    /// Returns what to do about it, where the text does not say that.
    ///
    /// ```
    /// use kato_loader::StreamingDatasetLoader;
    ///
    /// let mut loader = StreamingDatasetLoader::builder()
    ///     .with_reader("rows.jsonl", "{\"body\": \"a\"}\n".as_bytes())
    ///     .build()?;
    /// let Some(Err(error)) = loader.next() else { panic!("there is no field `text`") };
    /// let advice = error.advice().expect("there is something to do");
    /// assert!(advice.to_string().starts_with("name the text field with `with_text_field`"));
    /// # Ok::<(), kato_loader::LoadError>(())
    /// ```
    #[must_use]
    pub fn advice(&self) -> Option<Advice> {
        Some(match self {
            Self::EmptyDirectory { .. } => {
                Advice::new(&["name the files", "take all of them with `with_format`"])
            }
            Self::FilterMissing { .. } => Advice::new(&[
                "give that filter again with `with_filter`",
                "go on with a program that has it",
            ]),
            Self::Thread(_) => Advice::new(&["ask for fewer with `with_workers`"]),
            Self::InvalidCursor { .. } => {
                Advice::new(&["resume with the files and options of the interrupted run"])
            }
            Self::BadRecord { record, .. } => record.reason.advice(),
            Self::NoDocuments { .. } => {
                Advice::new(&["check where it comes from", "allow it with `allow_empty`"])
            }
            Self::EmptyShard { .. } => Advice::new(&[
                "use fewer shards, `with_shard`",
                "allow it with `allow_empty`",
            ]),
            Self::LedgerFull { .. } => Advice::new(&[
                "take the entries in time with `take_bad_records`",
                "check the format of the files and the text field, `with_text_field`",
            ]),
            Self::Interrupted | Self::Stopped => {
                Advice::new(&["begin a new reading that resumes where this one ended"])
            }
            Self::NoInput
            | Self::Input { .. }
            | Self::EmptyGlob { .. }
            | Self::InvalidGlob { .. }
            | Self::DuplicateFile { .. }
            | Self::Unsupported { .. }
            | Self::Remote { .. }
            | Self::Footer { .. }
            | Self::InvalidOption { .. }
            | Self::OtherCorpus { .. } => return None,
        })
    }

    /// Returns what a caller can do about it: for what another library reported, what it says of it.
    #[must_use]
    pub fn class(&self) -> ErrorClass {
        self.kind().class()
    }

    /// Returns what has happened, without its text.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Input { source, .. } | Self::Thread(source) => ErrorKind::of_io(source.kind()),
            Self::Remote { source, .. } | Self::Footer { source, .. } => of_cause(source.as_ref()),
            Self::BadRecord { record, source } => {
                let of_cause = source
                    .as_ref()
                    .map_or(ErrorKind::Other, |source| of_cause(source.as_ref()));
                of_cause.or(record.reason.kind())
            }
            Self::InvalidCursor { .. } | Self::OtherCorpus { .. } => ErrorKind::OtherCorpus,
            Self::Interrupted => ErrorKind::Interrupted,
            Self::NoInput
            | Self::InvalidGlob { .. }
            | Self::DuplicateFile { .. }
            | Self::FilterMissing { .. }
            | Self::EmptyShard { .. }
            | Self::InvalidOption { .. } => ErrorKind::InvalidArgument,
            Self::EmptyGlob { .. } | Self::EmptyDirectory { .. } => ErrorKind::NotFound,
            Self::NoDocuments { .. } => ErrorKind::Empty,
            Self::LedgerFull { last, .. } => last.reason.kind(),
            Self::Unsupported { .. } => ErrorKind::Unsupported,
            Self::Stopped => ErrorKind::Other,
        }
    }

    /// Returns the record concerned, when the error is about one.
    #[must_use]
    pub fn record(&self) -> Option<&BadRecord> {
        match self {
            Self::BadRecord { record, .. } => Some(record),
            Self::LedgerFull { last, .. } => Some(last),
            Self::NoInput
            | Self::Input { .. }
            | Self::EmptyGlob { .. }
            | Self::InvalidGlob { .. }
            | Self::EmptyDirectory { .. }
            | Self::DuplicateFile { .. }
            | Self::Unsupported { .. }
            | Self::Remote { .. }
            | Self::Footer { .. }
            | Self::FilterMissing { .. }
            | Self::Thread(_)
            | Self::InvalidOption { .. }
            | Self::InvalidCursor { .. }
            | Self::OtherCorpus { .. }
            | Self::NoDocuments { .. }
            | Self::EmptyShard { .. }
            | Self::Interrupted
            | Self::Stopped => None,
        }
    }
}
