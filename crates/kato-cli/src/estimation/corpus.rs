//! A look at a corpus: as much of it as a person waits for, and how large all of it is.

use std::num::NonZeroU64;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::Result;
use kato_estimator::{CorpusSample, Target};
use kato_learner::HierarchicalConceptLearner;
use kato_loader::{CorpusIdentity, StreamingDatasetLoader};
use kato_scheduler::StopSignal;

use super::sample::{Look, sample};
use crate::machine::threads;
use crate::meter::Meter;
use crate::source::{SourceArgs, is_stdin};

/// Bytes of files for each core and second of the time that is given, which are usually read in less: files
/// so small are read in the order of the run, on which the bytes of its store depend.
const SMALL: u64 = 10 << 20;
/// Bytes of files for each core that are so read to their end however long that takes.
const SMALLEST: u64 = 16 << 20;

/// Bytes of files of which the lines are counted: that takes less than a second. Of more, so many documents are
/// read that they tell their mean length.
const COUNTED: u64 = 1 << 30;

/// What is wanted of a corpus.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wish {
    /// Documents at most, however long that takes.
    pub(crate) documents: Option<NonZeroU64>,
    /// Time for which it is read otherwise.
    pub(crate) time: Duration,
    /// Decides which documents are read.
    pub(crate) seed: u64,
    /// Learning threads of the run, and its memory for what is not yet written.
    pub(crate) workers: u64,
    pub(crate) memory: u64,
    /// Whether the run may be of another size than the corpus.
    pub(crate) is_of_other_size: bool,
}

/// What was found in a corpus.
#[derive(Debug)]
pub(crate) struct LookedAt {
    /// The documents that were looked at.
    pub(crate) sample: CorpusSample,
    /// Whether they are all that there are.
    pub(crate) whole_corpus: bool,
    /// How large all of the corpus is; `None` where it does not tell.
    pub(crate) size: Option<Target>,
    /// What the corpus is, in the order of the run.
    pub(crate) identity: CorpusIdentity,
}

/// Looks at a corpus, in random order where it is not small.
///
/// # Errors
///
/// As [`sample`].
pub(crate) fn look_at(
    source: &SourceArgs,
    sources: &[PathBuf],
    learner: &HierarchicalConceptLearner,
    wish: Wish,
    stop: &StopSignal,
    meter: &mut Meter,
) -> Result<LookedAt> {
    // Standard input can be read once and in its own order only, so it is not shuffled.
    let is_stdin = sources.iter().any(|source| is_stdin(source));
    let mut source = source.clone();
    let mut loader = source.resolve(sources)?.loader()?;
    // Before the order in which documents are drawn: a run has its own.
    let identity = loader.identity();
    let is_all_asked_for = !wish.is_of_other_size && wish.documents.is_none();
    let cores = threads().get() as u64;
    let small = SMALL.saturating_mul(wish.time.as_secs());
    let is_at_most = |bytes: u64, most: u64| bytes <= most.max(SMALLEST).saturating_mul(cores);
    let bytes = loader.total_bytes().filter(|_| is_all_asked_for);
    let start = Instant::now();
    let mut is_in_order = bytes.is_some_and(|bytes| is_at_most(bytes, small));
    let (sample, whole_corpus) = loop {
        if !is_stdin && !is_in_order {
            source.draw_in_little_memory(wish.seed);
            loader = source.resolve(sources)?.loader()?;
        }
        let is_timed = wish.documents.is_none() && !is_in_order;
        let larger = bytes.filter(|&bytes| is_in_order && !is_at_most(bytes, SMALLEST));
        let look = Look {
            documents: wish.documents,
            time: is_timed.then(|| wish.time.saturating_sub(start.elapsed())),
            pace: larger.map(|bytes| (wish.time / 4, bytes / 4)),
            // A corpus that tells its size is mostly or wholly read, and far faster without.
            has_windows: !is_all_asked_for || loader.total_bytes().is_none(),
            run: is_in_order.then_some((wish.workers, wish.memory)),
            threads: threads(),
        };
        let sample = sample(&mut loader, learner, look, stop, meter)?;
        // The last batch may hold documents that were not looked at any more.
        let all_looked_at = sample.documents == loader.counts().documents;
        let is_at_end = loader.is_exhausted() || !is_stdin && ends(&mut loader);
        let whole_corpus = all_looked_at && is_at_end;
        if whole_corpus || !is_in_order {
            break (sample, whole_corpus);
        }
        // It takes too long, as it is compressed, or the machine slow. The beginning tells little of the
        // rest.
        is_in_order = false;
    };
    let size = match whole_corpus {
        true => Some(Target::samples(sample.documents).with_text_bytes(sample.text_bytes)),
        // Where a part of the files is asked for, the rest of them says nothing of its size.
        false if source.reads_a_part() => None,
        false => rest(&loader, &sample),
    };
    Ok(LookedAt {
        sample,
        whole_corpus,
        size,
        identity,
    })
}

/// Returns the size of a corpus of which a part was looked at, by the bytes of its files.
fn rest(loader: &StreamingDatasetLoader, sample: &CorpusSample) -> Option<Target> {
    let (all, read) = (loader.total_bytes()? as f64, loader.bytes_read() as f64);
    // Of the last batch, documents may have been taken from the loader and not looked at any more.
    let taken = loader.counts().documents as f64 / sample.documents as f64;
    let bytes = sample.text_bytes as f64 * taken * all / read.max(1.0);
    let size = Target::text_bytes(bytes.round() as u64);
    // With the documents it is known what part of them was drawn, however they differ in length.
    let rows = loader.count_records(COUNTED).ok().flatten();
    Some(rows.map_or(size, |rows| {
        let each = loader.counts().documents as f64 / loader.counts().records.max(1) as f64;
        Target::samples((rows as f64 * each).round() as u64).with_text_bytes(bytes.round() as u64)
    }))
}

/// Returns whether no document follows: after the last one, a loader has not found the end yet.
fn ends(loader: &mut StreamingDatasetLoader) -> bool {
    // What cannot be read follows all the same. It is not waited for on standard input, where more
    // may come at any time.
    matches!(loader.next_batch(1), Ok(None)) && loader.is_exhausted()
}
