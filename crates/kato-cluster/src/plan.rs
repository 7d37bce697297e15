//! The plan of a generation: what is learned, cut into tasks, and into ranges of names for the
//! merges. It never changes.

use kato_loader::{
    CorpusIdentity, Cursor, OnBadRecord, RecordCounts, Shard, Split, StreamingDatasetLoader,
    StreamingDatasetLoaderBuilder,
};
use kato_scheduler::RunConfiguration;
use kato_store::slice::NameRanges;
use serde::{Deserialize, Serialize};

use crate::ClusterError;
use crate::generation::{Base, within};

/// Version of the plan and of everything below its prefix.
pub(crate) const VERSION: u32 = 1;

/// Tasks and ranges of a plan at most: far more than pay, and few enough that lists of them fit into
/// any memory.
const MOST_TASKS: u32 = 1_000_000;
const MOST_RANGES: u32 = 1_000_000;

/// Marks that are kept while a corpus is cut by position, for each task.
const MARKS_A_TASK: usize = 16;

/// Bytes of text to read before the next mark, at most.
const MOST_STRIDE: usize = 4 << 20;

/// Settings of a plan.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct PlanOptions {
    /// Tasks. Ten for each worker keep all of them busy to the end.
    pub tasks: u32,
    /// Ranges of names, each merged by itself.
    pub ranges: NameRanges,
    /// End after this many documents of the corpus. Needs a cut by position.
    pub max_documents: Option<u64>,
    /// End after this many records of the corpus. Needs a cut by position.
    pub max_records: Option<u64>,
    /// How the corpus is cut.
    pub cut: CutBy,
}

impl PlanOptions {
    /// Creates the settings of a plan with so many tasks and one range.
    #[must_use]
    pub fn new(tasks: u32) -> Self {
        Self {
            tasks,
            ranges: NameRanges::whole(),
            max_documents: None,
            max_records: None,
            cut: CutBy::Auto,
        }
    }
}

/// Settings of an extension; all else is that of the plan.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ExtendOptions {
    /// Tasks of what is new.
    pub tasks: u32,
    /// How it is cut.
    pub cut: CutBy,
}

impl ExtendOptions {
    /// Creates the settings of an extension with so many tasks.
    #[must_use]
    pub fn new(tasks: u32) -> Self {
        Self {
            tasks,
            cut: CutBy::Auto,
        }
    }
}

/// How a corpus is cut into tasks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum CutBy {
    /// By shards, unless what is asked for needs positions.
    #[default]
    Auto,
    /// Into the loader's [`Shard`]s: the corpus is not read for the plan. A shard does not know the numbers
    /// that its documents have in the whole corpus.
    Shards,
    /// At positions, which reading the corpus once finds: tasks know the number and the name of
    /// every document.
    Positions,
}

/// The tasks of a plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "by", rename_all = "snake_case")]
pub(crate) enum Cut {
    Shards {
        /// Position at the end of the corpus, for the knowledge base of all tasks.
        end: Cursor,
    },
    Positions {
        /// Where each task begins.
        starts: Vec<Cursor>,
    },
}

/// A plan: it is made once and says everything that decides the result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    pub(crate) version: u32,
    pub(crate) corpus: CorpusIdentity,
    pub(crate) configuration: RunConfiguration,
    pub(crate) tasks: u32,
    pub(crate) ranges: NameRanges,
    pub(crate) max_documents: Option<u64>,
    pub(crate) max_records: Option<u64>,
    pub(crate) cut: Cut,
    /// What it continues; nothing, where it is the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) base: Option<Base>,
}

impl Plan {
    /// Makes the plan of a corpus; reads it once where it is cut by position.
    ///
    /// # Errors
    ///
    /// [`ClusterError::Unplannable`], and what reading meets.
    pub(crate) fn make(
        mut loader: StreamingDatasetLoader,
        configuration: RunConfiguration,
        options: &PlanOptions,
    ) -> Result<Self, ClusterError> {
        let unplannable = |reason| Err(ClusterError::Unplannable { reason });
        let corpus = loader.identity();
        check_numbers(options.tasks, options.ranges)
            .map_err(|reason| ClusterError::Unplannable { reason })?;
        if corpus.is_shard() {
            return unplannable("the corpus is one shard of another: plan the whole");
        }
        let has_limits = options.max_documents.is_some() || options.max_records.is_some();
        let by_positions = by_positions(&corpus, &configuration, has_limits, options.cut)?;
        Ok(Self {
            version: VERSION,
            cut: Cut::make(&mut loader, by_positions, options.tasks)?,
            corpus,
            configuration,
            tasks: options.tasks,
            ranges: options.ranges,
            max_documents: options.max_documents,
            max_records: options.max_records,
            base: None,
        })
    }

    /// Makes the plan of the next generation; `loader` reads the corpus of both from the end of this
    /// one's on.
    ///
    /// # Errors
    ///
    /// As [`make`](Self::make).
    pub(crate) fn extend(
        &self,
        base: Base,
        mut loader: StreamingDatasetLoader,
        options: &ExtendOptions,
    ) -> Result<Self, ClusterError> {
        let unplannable = |reason| Err(ClusterError::Unplannable { reason });
        let corpus = loader.identity();
        check_numbers(options.tasks, self.ranges)
            .map_err(|reason| ClusterError::Unplannable { reason })?;
        if !corpus.extends(&self.corpus) {
            return unplannable(
                "an extension adds files behind those of the plan, to be read with the same options, and those of the plan must be there and be what they were",
            );
        }
        let configuration = self.configuration.clone();
        let by_positions = by_positions(&corpus, &configuration, false, options.cut)?;
        Ok(Self {
            version: VERSION,
            cut: Cut::make(&mut loader, by_positions, options.tasks)?,
            corpus,
            configuration,
            tasks: options.tasks,
            ranges: self.ranges,
            max_documents: None,
            max_records: None,
            base: Some(base),
        })
    }

    /// Refuses a plan whose numbers no plan has.
    ///
    /// # Errors
    ///
    /// What is wrong with them.
    pub(crate) fn check(&self) -> Result<(), &'static str> {
        check_numbers(self.tasks, self.ranges)?;
        if self.levels() == 0 {
            return Err("it has no levels");
        }
        match &self.cut {
            Cut::Positions { starts } if starts.len() as u64 != u64::from(self.tasks) => {
                Err("it does not say where each task begins")
            }
            Cut::Positions { .. } | Cut::Shards { .. } => Ok(()),
        }
    }

    /// Refuses a plan whose corpus has no end to go on from.
    pub(crate) fn check_extendable(&self) -> Result<(), ClusterError> {
        let unplannable = |reason| Err(ClusterError::Unplannable { reason });
        if self.corpus.is_shuffled() || self.corpus.is_mixture() {
            return unplannable(
                "a random order and a mixture are of the whole corpus: only one that is read file by file can be extended",
            );
        }
        if self.max_documents.is_some() || self.max_records.is_some() {
            return unplannable("a plan with limits ends where they say, and cannot be extended");
        }
        Ok(())
    }

    /// Opens the corpus of this plan with more behind it, at the end of this plan's.
    pub(crate) fn open_extended(
        &self,
        base: &Base,
        add: impl FnOnce(StreamingDatasetLoaderBuilder) -> StreamingDatasetLoaderBuilder,
    ) -> Result<StreamingDatasetLoader, ClusterError> {
        let mut builder = add(StreamingDatasetLoader::builder_with(&self.corpus))
            .on_bad_record(OnBadRecord::Fail)
            .with_cursor(base.cursor.clone());
        if let Some(split) = self.configuration.split {
            builder = builder.with_split(split);
        }
        Ok(builder.build()?)
    }

    /// Returns the number of the generation: 0 for the first.
    #[must_use]
    pub fn generation(&self) -> u32 {
        self.base.as_ref().map_or(0, |base| base.generation + 1)
    }

    /// Returns the key of an object of this generation.
    pub(crate) fn key(&self, key: &str) -> String {
        within(self.generation(), key)
    }

    /// Returns the number of tasks.
    #[must_use]
    pub fn tasks(&self) -> u32 {
        self.tasks
    }

    /// Returns the ranges of names.
    #[must_use]
    pub fn ranges(&self) -> NameRanges {
        self.ranges
    }

    /// Returns the number of levels.
    #[must_use]
    pub fn levels(&self) -> usize {
        self.configuration.rules.learner.nodes.len()
    }

    /// Returns the corpus.
    #[must_use]
    pub fn corpus(&self) -> &CorpusIdentity {
        &self.corpus
    }

    /// Returns everything that decides what is learned of a document.
    #[must_use]
    pub fn configuration(&self) -> &RunConfiguration {
        &self.configuration
    }

    /// Returns whether tasks are shards of the corpus; else they begin at positions.
    #[must_use]
    pub fn is_cut_by_shards(&self) -> bool {
        matches!(self.cut, Cut::Shards { .. })
    }

    /// Returns a name of the plan: 64 hexadecimal digits, which every marker carries.
    #[must_use]
    pub fn digest(&self) -> String {
        blake3::hash(&crate::record::plain(self))
            .to_hex()
            .to_string()
    }

    /// Returns the side of a split that is learned.
    #[must_use]
    pub fn split(&self) -> Option<Split> {
        self.configuration.split
    }

    /// Opens the corpus of a task with a builder of the whole corpus.
    pub(crate) fn open_task(
        &self,
        task: u32,
        mut builder: StreamingDatasetLoaderBuilder,
    ) -> Result<StreamingDatasetLoader, ClusterError> {
        // Whatever the caller has set: a task is all of its records or it fails.
        builder = builder
            .on_bad_record(OnBadRecord::Fail)
            .with_max_documents(u64::MAX)
            .with_max_records(u64::MAX);
        if let Some(split) = self.configuration.split {
            builder = builder.with_split(split);
        }
        let builder = match &self.cut {
            Cut::Shards { .. } => {
                let shard = Shard::new(u64::from(task), u64::from(self.tasks));
                if let Some(base) = &self.base {
                    // Each task counts its own.
                    let start = base.cursor.clone().with_counts(RecordCounts::default());
                    builder = builder.with_cursor(start);
                }
                // A task may have nothing to do: all records are of one task or another.
                builder
                    .allow_empty()
                    .with_shard(shard)
                    .with_identity(self.corpus.clone().with_shard(shard))
            }
            Cut::Positions { starts } => {
                let start = starts.get(task as usize).cloned().unwrap_or_default();
                let mut builder = builder
                    .with_identity(self.corpus.clone())
                    .with_cursor(start);
                // A limit on records ends the stream wherever it lies: it is that of the whole.
                if let Some(records) = self.max_records {
                    builder = builder.with_max_records(records);
                }
                let next = starts.get(task as usize + 1).map(Cursor::documents);
                match next.or(self.max_documents) {
                    Some(documents) => builder.with_max_documents(documents),
                    None => builder,
                }
            }
        };
        Ok(builder.build()?)
    }
}

/// Refuses numbers that no plan has.
fn check_numbers(tasks: u32, ranges: NameRanges) -> Result<(), &'static str> {
    if tasks == 0 {
        return Err("there is at least one task");
    }
    if tasks > MOST_TASKS {
        return Err("there are a million tasks at most");
    }
    if ranges.count() > MOST_RANGES {
        return Err("there are a million ranges at most");
    }
    Ok(())
}

impl Cut {
    /// Cuts what lies behind the position of a loader; reads it where that is by positions.
    fn make(
        loader: &mut StreamingDatasetLoader,
        by_positions: bool,
        tasks: u32,
    ) -> Result<Self, ClusterError> {
        Ok(match by_positions {
            false => Self::Shards { end: loader.end() },
            true => Self::Positions {
                starts: positions(loader, tasks as usize)?,
            },
        })
    }
}

/// Returns whether a corpus is cut by positions.
fn by_positions(
    corpus: &CorpusIdentity,
    configuration: &RunConfiguration,
    has_limits: bool,
    cut: CutBy,
) -> Result<bool, ClusterError> {
    let recording = configuration.rules.learner.recording;
    let needs_positions = recording.provenance
        || recording.metadata
        || has_limits
        || corpus.is_mixture()
        || corpus.skips_records();
    match cut {
        CutBy::Auto => Ok(needs_positions),
        CutBy::Positions => Ok(true),
        CutBy::Shards if needs_positions => Err(ClusterError::Unplannable {
            reason: "provenance, metadata, limits, skipped rows and mixtures need the number that a document has in the whole corpus: cut by positions",
        }),
        CutBy::Shards => Ok(false),
    }
}

/// Reads a corpus and returns positions that cut it into parts of about equally much text.
fn positions(
    loader: &mut StreamingDatasetLoader,
    tasks: usize,
) -> Result<Vec<Cursor>, ClusterError> {
    let start = loader.cursor();
    // Bytes of text in front of a position, and the position: as fine as a document at first, and
    // coarser as the corpus turns out to be larger.
    let mut marks: Vec<(u64, Cursor)> = Vec::new();
    let (mut stride, mut bytes) = (1_usize, 0_u64);
    let most = tasks.saturating_mul(MARKS_A_TASK).max(1024);
    while let Some(batch) = loader.next_batch(stride)? {
        bytes += batch.text_bytes() as u64;
        marks.push((bytes, batch.cursor()));
        if marks.len() > most {
            let mut keep = false;
            marks.retain(|_| {
                keep = !keep;
                !keep
            });
            let mean = bytes / marks.len() as u64;
            stride = usize::try_from(mean)
                .unwrap_or(MOST_STRIDE)
                .clamp(1, MOST_STRIDE);
        }
    }
    let mut starts = vec![start];
    for task in 1..tasks as u128 {
        let wanted = u128::from(bytes) * task / tasks as u128;
        let at = marks.partition_point(|(bytes, _)| u128::from(*bytes) < wanted);
        let cut = match marks.get(at) {
            Some((_, cursor)) => cursor.clone(),
            None => loader.cursor(),
        };
        starts.push(cut);
    }
    Ok(starts)
}
