//! The training position that is committed together with the counts.

use kato_learner::Dropped;
use kato_loader::{
    CorpusIdentity, Cursor, LoadError, StreamingDatasetLoader, StreamingDatasetLoaderBuilder,
};
use kato_store::embedded::is_salvaged;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::TrainError;
use crate::failure::FailureCounts;
use crate::json::plain_json;

/// The position of a run: what is learned of the documents in front of the cursor is committed, and
/// nothing of those behind it.
///
/// A store commits it in one step with the patterns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Checkpoint {
    /// The corpus that the run reads.
    pub corpus: CorpusIdentity,
    /// Position at which reading goes on.
    pub cursor: Cursor,
    /// Counts of everything in front of the cursor.
    pub counters: Counters,
    /// Length of the ledger of skipped records, in bytes; what lies behind it was never committed.
    pub ledger_bytes: u64,
    /// Whether the corpus was read to its end, with no more failures than may be.
    pub complete: bool,
}

/// The counts that a run keeps beside the patterns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Counters {
    /// Documents learned.
    #[serde(alias = "samples")]
    pub documents: u64,
    /// Documents that could not be learned.
    pub failed: u64,
    /// Documents that could not be learned, by kind. Checkpoints of earlier versions do not tell
    /// the kinds apart.
    pub failures: FailureCounts,
    /// Tokens that are part of a pattern.
    pub tokens: u64,
    /// What the rules of the learner left out.
    pub dropped: Dropped,
}

impl Counters {
    /// Adds the counts of another part.
    pub fn merge(&mut self, other: &Self) {
        self.documents += other.documents;
        self.failed += other.failed;
        self.failures.merge(&other.failures);
        self.tokens += other.tokens;
        self.dropped.merge(&other.dropped);
    }

    /// Returns the counts without those of a part; `None` if that has more of something.
    fn checked_sub(&self, part: &Self) -> Option<Self> {
        Some(Self {
            documents: self.documents.checked_sub(part.documents)?,
            failed: self.failed.checked_sub(part.failed)?,
            failures: self.failures.checked_sub(&part.failures)?,
            tokens: self.tokens.checked_sub(part.tokens)?,
            dropped: self.dropped.checked_sub(&part.dropped)?,
        })
    }
}

impl Checkpoint {
    /// Creates the checkpoint of a run that has learned nothing yet.
    #[must_use]
    pub fn at_start(corpus: CorpusIdentity, cursor: Cursor) -> Self {
        Self {
            corpus,
            cursor,
            counters: Counters::default(),
            ledger_bytes: 0,
            complete: false,
        }
    }

    /// Returns the number of documents that were skipped because a split holds them out.
    #[must_use]
    pub fn held_out(&self) -> u64 {
        // The cursor counts every document that was read: what was neither learned nor failed was
        // held out. Saturating, because a checkpoint is data from outside and need not add up.
        let taken = self.counters.documents + self.counters.failed;
        self.cursor.documents().saturating_sub(taken)
    }

    /// Returns the checkpoint of a run without what a part of its corpus taught: of the corpus that is left, at
    /// the position in it. `None` if more became of the part than of all.
    #[must_use]
    pub fn without(&self, part: &Self, corpus: CorpusIdentity, position: Cursor) -> Option<Self> {
        let counts = self.cursor.counts().checked_sub(&part.cursor.counts())?;
        Some(Self {
            corpus,
            cursor: position.with_counts(counts),
            counters: self.counters.checked_sub(&part.counters)?,
            ..self.clone()
        })
    }

    /// Reads a store's checkpoint; `None` where nothing was ever committed.
    ///
    /// # Errors
    ///
    /// [`TrainError::Checkpoint`] when it was written by something else, [`TrainError::Salvaged`] when it
    /// is that of a knowledge base which lacks a part.
    pub fn from_json(checkpoint: &Value) -> Result<Option<Self>, TrainError> {
        if checkpoint.is_null() {
            return Ok(None);
        }
        if is_salvaged(checkpoint) {
            return Err(TrainError::Salvaged);
        }
        Self::deserialize(checkpoint)
            .map(Some)
            .map_err(|source| TrainError::Checkpoint { source })
    }

    /// Returns the checkpoint as JSON, for the store.
    #[must_use]
    pub fn to_json(&self) -> Value {
        plain_json(self)
    }
}

/// Builds a loader that starts where a run ended, by the checkpoint that its store or backend
/// keeps; at the beginning of the corpus for a new run.
///
/// # Errors
///
/// [`TrainError::Checkpoint`] and [`TrainError::Salvaged`] as [`Checkpoint::from_json`],
/// [`TrainError::OtherCorpus`] when the builder names another corpus, [`TrainError::Load`] when the
/// corpus cannot be opened.
pub fn loader_at_checkpoint(
    builder: StreamingDatasetLoaderBuilder,
    checkpoint: &Value,
) -> Result<StreamingDatasetLoader, TrainError> {
    loader_at_position(builder, checkpoint, checkpoint)
}

/// Builds a loader as [`loader_at_checkpoint`] does, of the corpus that one checkpoint names and at
/// the position of another: that of a commit before any document names no corpus.
///
/// # Errors
///
/// As [`loader_at_checkpoint`].
pub fn loader_at_position(
    mut builder: StreamingDatasetLoaderBuilder,
    corpus: &Value,
    position: &Value,
) -> Result<StreamingDatasetLoader, TrainError> {
    // The identity is compared before the first document is read: the position means nothing in
    // another corpus.
    if let Some(checkpoint) = Checkpoint::from_json(corpus)? {
        builder = builder.with_identity(checkpoint.corpus);
    }
    if let Some(checkpoint) = Checkpoint::from_json(position)? {
        builder = builder.with_cursor(checkpoint.cursor);
    }
    builder.build().map_err(|error| match error {
        // Reported as the error of the run, whose text says what to do about its knowledge base.
        LoadError::OtherCorpus { differences } => TrainError::OtherCorpus { differences },
        error => TrainError::Load(error),
    })
}

/// Builds a loader that reads more behind the corpus of a run that was read to its end: the files of
/// `builder`, which has the options that the run was begun with.
///
/// Training goes on with them as if they had been there from the beginning, and commits the corpus of
/// both before it learns. What is cut off then is resumed as any other run.
///
/// # Errors
///
/// [`TrainError::NotExtendable`] where the corpus has no end to go on from, was not read to it, has
/// changed, or holds one of the files already; [`TrainError::OtherCorpus`] for other options;
/// [`TrainError::Checkpoint`] and [`TrainError::Salvaged`] as [`Checkpoint::from_json`];
/// [`TrainError::Load`] when a file of either corpus cannot be opened.
pub fn loader_behind(
    builder: StreamingDatasetLoaderBuilder,
    checkpoint: &Value,
) -> Result<StreamingDatasetLoader, TrainError> {
    let refused = |reason| Err(TrainError::NotExtendable { reason });
    let Some(was) = Checkpoint::from_json(checkpoint)? else {
        return refused("no training is in it: learn this as a corpus of its own");
    };
    if !was.complete {
        return refused(
            "its corpus, with what was added to it before, was not read to its end: resume it first, or train all of it into another \
             place",
        );
    }
    if was.corpus.is_shuffled() || was.corpus.is_mixture() || was.corpus.is_shard() {
        return refused(
            "its corpus is shuffled, mixed or a shard, and has no end to go on from: train all of it into another place",
        );
    }
    let builder = builder.behind(&was.corpus).with_cursor(was.cursor);
    let loader = match builder.build() {
        // Nothing is learned twice unasked: a command that is given again would do just that.
        Err(LoadError::DuplicateFile { name }) if holds(&was.corpus, &name) => {
            return refused("a file that is to be added is in its corpus already: leave it out");
        }
        built => built.map_err(TrainError::Load)?,
    };
    let corpus = loader.identity();
    let differences = was.corpus.diff_options(&corpus);
    if !differences.is_empty() {
        return Err(TrainError::OtherCorpus { differences });
    }
    if !corpus.extends(&was.corpus) {
        return refused(
            "the files of its own corpus are not there as they were: put them back, or train all of it into another place",
        );
    }
    Ok(loader)
}

/// Returns whether a file is one of a corpus, however its path is written.
fn holds(corpus: &CorpusIdentity, name: &str) -> bool {
    let place = |name: &str| std::path::absolute(name).unwrap_or_else(|_| name.into());
    let files = corpus.files();
    files.iter().any(|file| place(&file.name) == place(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counters of these numbers, one a field.
    fn counters(numbers: &[u64]) -> Counters {
        fn fill(value: &mut Value, numbers: &mut std::slice::Iter<'_, u64>) {
            match value {
                Value::Object(fields) => fields.values_mut().for_each(|value| fill(value, numbers)),
                number => *number = numbers.next().copied().unwrap().into(),
            }
        }
        let mut json = plain_json(&Counters::default());
        let mut numbers = numbers.iter();
        fill(&mut json, &mut numbers);
        assert_eq!(numbers.next(), None);
        serde_json::from_value(json).unwrap()
    }

    /// The checkpoint of a run that read these counts of an empty corpus.
    fn checkpoint(numbers: &[u64], bad: u64) -> Checkpoint {
        let loader = StreamingDatasetLoader::builder().allow_empty();
        let loader = loader.with_reader("none.txt", std::io::empty());
        let loader = loader.build().unwrap();
        let mut read = loader.counts();
        read.bad = bad;
        Checkpoint {
            counters: counters(numbers),
            ..Checkpoint::at_start(loader.identity(), loader.cursor().with_counts(read))
        }
    }

    #[test]
    fn every_count_is_added_and_taken_away_by_itself() {
        let (own, part): (Vec<u64>, Vec<u64>) = (1..16).map(|n| (n * n, 1_000 + n)).unzip();
        let all: Vec<u64> = own
            .iter()
            .zip(&part)
            .map(|(own, part)| own + part)
            .collect();
        let mut sum = counters(&own);
        sum.merge(&counters(&part));
        assert_eq!(sum, counters(&all));
        let run = checkpoint(&all, 7);
        let without = |part: &Checkpoint| run.without(part, run.corpus.clone(), Cursor::default());
        let left = without(&checkpoint(&part, 5)).unwrap();
        assert_eq!(
            (left.counters, left.cursor.counts().bad),
            (counters(&own), 2)
        );
        for field in 0..all.len() {
            let mut more = all.clone();
            more[field] += 1;
            assert_eq!(without(&checkpoint(&more, 5)), None);
        }
        assert_eq!(without(&checkpoint(&part, 8)), None);
    }
}
