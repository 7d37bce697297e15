//! Publishing: an ordinary knowledge base of the segments of all ranges.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use kato_loader::{Cursor, RecordCounts};
use kato_scheduler::{Checkpoint, Counters};
use kato_store::{EmbeddedStore, PatternStore as _, Place, StoreError};
use serde_json::Value;

use super::{Cluster, Completed};
use crate::ClusterError;
use crate::blocking::{self, Scratch};
use crate::marker::{
    MergeMarker, Publication, PublishedLevel, SealMarker, StoredFile, TaskMarker, merge_key,
    publication_key,
};
use crate::plan::{Cut, Plan};
use crate::record::{Created, decode};
use crate::status::publication;

impl Cluster {
    /// Writes the knowledge base of the generation, with all before it, into a directory that does not
    /// exist or is empty, and records what it is. Everyone who publishes a generation gets the same
    /// segments, byte for byte.
    ///
    /// All ranges must be sealed. Their segments are fetched and compared with their markers beside the
    /// directory, which then appears at once and whole; nothing is merged. One that holds this very
    /// knowledge base is done before.
    ///
    /// # Errors
    ///
    /// [`ClusterError::Unfinished`], [`ClusterError::OtherKnowledge`],
    /// [`StoreError::NotAKnowledgeBase`] where something else is, [`ClusterError::Disagrees`], and what reading, writing or the store meets.
    pub async fn publish(
        &self,
        dir: impl AsRef<Path>,
    ) -> Result<Completed<Publication>, ClusterError> {
        let dir = dir.as_ref();
        let plan = self.read_plan().await?;
        let tasks = self.all_tasks(&plan).await?;
        let seals = self.all_sealed(&plan).await?;
        let key = publication_key(plan.generation());
        let checkpoint = checkpoint(&plan, &tasks);
        if let Some(found) = checkpoint_of(dir).await? {
            let record = publication(&self.record, &plan).await?;
            return match record {
                Some(record) if found == checkpoint.to_json() => Ok(Completed::Before(record)),
                _ => Err(ClusterError::OtherKnowledge {
                    path: dir.to_owned(),
                }),
            };
        }
        let wanted = dir.to_owned();
        blocking::run(move || ensure_unoccupied(&wanted)).await?;
        let parent = match dir.parent() {
            Some(parent) if parent != Path::new("") => parent.to_owned(),
            _ => PathBuf::from("."),
        };
        let made = parent.clone();
        blocking::run(move || fs::create_dir_all(&made).map_err(ClusterError::io("create", made)))
            .await?;
        // On the same disk, so that the knowledge base can be moved to its place in one step.
        let work = Scratch::create_in(&parent).await?;
        let mut segments = Vec::new();
        for seal in &seals {
            let path = work.path().join(format!("{}.seg", seal.range));
            let file = &seal.segment;
            let whole = 0..file.bytes;
            self.record
                .download(&file.key, &[whole], &path, &work)
                .await?;
            segments.push(path);
        }
        let assembly = Assembly {
            plan,
            seals,
            segments,
            checkpoint,
            work: work.clone(),
        };
        let (made, publication) = blocking::run(move || assembly.assemble()).await?;
        // Recorded first: a directory that is in its place has been compared with the record.
        let recorded = self.record.create_json(&key, &publication).await?;
        let done = match recorded {
            Created::Own => Completed::Now(publication),
            Created::Before(there) => {
                let there: Publication = decode(&key, &there)?;
                if there != publication {
                    return Err(ClusterError::Disagrees { key });
                }
                Completed::Before(there)
            }
        };
        let dir = dir.to_owned();
        blocking::run(move || put_in_place(&made, work, &dir, &parent)).await?;
        Ok(done)
    }

    /// Reads the markers of all merges, by level; they must be done.
    pub(super) async fn all_merges(
        &self,
        plan: &Plan,
    ) -> Result<Vec<Vec<MergeMarker>>, ClusterError> {
        let (mut levels, mut missing) = (Vec::new(), Vec::new());
        for level in 0..plan.levels() {
            let mut ranges = Vec::new();
            for range in 0..plan.ranges.count() {
                match self.merged(plan, level, range).await? {
                    Some(marker) => ranges.push(marker),
                    None => missing.push(plan.key(&merge_key(level, range))),
                }
            }
            levels.push(ranges);
        }
        if missing.is_empty() {
            return Ok(levels);
        }
        missing.truncate(20);
        Err(ClusterError::Unfinished {
            what: "merges",
            numbers: missing,
            failures: Vec::new(),
            failed: 0,
        })
    }
}

/// Moves what was made to its directory, and flushes the directory around it.
fn put_in_place(made: &Path, work: Scratch, dir: &Path, parent: &Path) -> Result<(), ClusterError> {
    // An empty directory may be there already; what came since it was looked at is refused.
    let moved = fs::rename(made, dir).map_err(|error| {
        let occupied = ensure_unoccupied(dir).err();
        occupied.unwrap_or_else(|| ClusterError::io("create", dir)(error))
    });
    drop(work);
    moved?;
    fs::File::open(parent)
        .and_then(|parent| parent.sync_all())
        .map_err(ClusterError::io("flush", parent))
}

/// Refuses a place where something else is than an empty directory.
fn ensure_unoccupied(dir: &Path) -> Result<(), ClusterError> {
    let is_empty = match fs::read_dir(dir) {
        Ok(mut entries) => entries.next().is_none(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => true,
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => !dir.exists(),
        Err(error) => return Err(ClusterError::io("list", dir)(error)),
    };
    match is_empty {
        true => Ok(()),
        false => Err(StoreError::NotAKnowledgeBase {
            place: Place::from_path(dir),
        }
        .into()),
    }
}

/// What a knowledge base is assembled of, fetched and complete.
struct Assembly {
    plan: Plan,
    seals: Vec<SealMarker>,
    /// The segment of each.
    segments: Vec<PathBuf>,
    checkpoint: Checkpoint,
    work: Scratch,
}

impl Assembly {
    /// Makes the knowledge base in its working directory, and returns where, and what it is.
    fn assemble(self) -> Result<(PathBuf, Publication), ClusterError> {
        for (seal, path) in self.seals.iter().zip(&self.segments) {
            compare(&seal.segment, path)?;
        }
        let made = self.work.path().join("kb");
        let nodes = &self.plan.configuration.rules.learner.nodes;
        let names: Vec<&str> = nodes.iter().map(|node| node.name.as_str()).collect();
        let store = EmbeddedStore::create_from_segments(
            &made,
            &names,
            self.plan.configuration.to_json(),
            &self.segments,
            self.checkpoint.to_json(),
        )?;
        let mut levels = Vec::new();
        for (node_idx, node) in names.iter().enumerate() {
            let sealed = self.seals.iter();
            let sealed = sealed.filter_map(|seal| seal.levels.get(node_idx));
            let (mut patterns, mut learns) = (0, 0_u64);
            for level in sealed {
                patterns += level.patterns;
                learns = learns.saturating_add(level.learns);
            }
            if store.totals(node_idx)?.learns != learns {
                return Err(damaged(
                    "sealed",
                    "its segments do not hold what they should",
                ));
            }
            levels.push(PublishedLevel {
                node: (*node).to_owned(),
                patterns,
                learns,
            });
        }
        let publication = Publication {
            generation: self.plan.generation(),
            plan: self.plan.digest(),
            levels,
            documents: self.checkpoint.counters.documents,
            tokens: self.checkpoint.counters.tokens,
            segments: self.seals.into_iter().map(|seal| seal.segment).collect(),
        };
        Ok((made, publication))
    }
}

/// Compares a file that was fetched with its marker.
fn compare(file: &StoredFile, path: &Path) -> Result<(), ClusterError> {
    let open = fs::File::open(path).map_err(ClusterError::io("open", path))?;
    let mut hasher = blake3::Hasher::new();
    hasher
        .update_reader(&open)
        .map_err(ClusterError::io("read", path))?;
    match hasher.finalize().to_hex().as_str() == file.blake3 {
        true => Ok(()),
        false => Err(damaged(&file.key, "its BLAKE3 does not match")),
    }
}

/// Returns the checkpoint of the knowledge base in a directory; `None` if there is none.
async fn checkpoint_of(dir: &Path) -> Result<Option<Value>, ClusterError> {
    let dir = dir.to_owned();
    blocking::run(move || match EmbeddedStore::exists(&dir) {
        true => Ok(Some(EmbeddedStore::open_read_only(&dir)?.checkpoint())),
        false => Ok(None),
    })
    .await
}

/// Returns the checkpoint that one machine would have at the end of the plan.
pub(super) fn checkpoint(plan: &Plan, tasks: &[TaskMarker]) -> Checkpoint {
    // Positions count from the beginning of the corpus, as the cursors of their tasks do.
    let (mut counters, mut counts) = match &plan.base {
        Some(base) => (base.counters, base.cursor.counts()),
        None => (Counters::default(), RecordCounts::default()),
    };
    for task in tasks {
        counters.merge(&task.counters);
        counts.merge(&task.cursor.counts());
    }
    let cursor: Cursor = match &plan.cut {
        Cut::Shards { end } => end.clone().with_counts(counts),
        // The last task's is that of all.
        Cut::Positions { .. } => tasks
            .last()
            .map(|task| task.cursor.clone())
            .unwrap_or_default(),
    };
    let mut checkpoint = Checkpoint::at_start(plan.corpus.clone(), cursor);
    checkpoint.counters = counters;
    checkpoint.complete = match &plan.cut {
        Cut::Shards { .. } => tasks.iter().all(|task| task.complete),
        Cut::Positions { .. } => tasks.last().is_some_and(|task| task.complete),
    };
    checkpoint
}

/// Creates the error of an object that is not what its marker says.
fn damaged(key: &str, reason: &str) -> ClusterError {
    ClusterError::Damaged {
        key: key.to_owned(),
        reason: reason.to_owned(),
    }
}
