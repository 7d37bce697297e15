//! Publishing: an ordinary knowledge base of all merges.

use std::fs;
use std::path::{Path, PathBuf};

use kato_loader::{Counts, Cursor};
use kato_scheduler::{Checkpoint, Counters};
use kato_store::{EmbeddedStore, PatternStore as _};
use serde_json::Value;

use super::{Cluster, Done};
use crate::ClusterError;
use crate::blocking::{self, Scratch};
use crate::marker::{
    MergeMarker, PUBLICATION, Publication, PublishedLevel, StoredFile, TaskMarker, merge_key,
};
use crate::plan::{Cut, Plan};
use crate::record::{Created, decode};

impl Cluster {
    /// Writes the knowledge base of the whole plan into a directory that does not exist or is empty,
    /// and records what it is. Everyone who publishes a plan gets the same segment, byte for byte.
    ///
    /// All tasks and merges must be done. The directory appears at once and whole; merged slices are
    /// fetched beside it first. One that holds this very knowledge base is done before.
    ///
    /// # Errors
    ///
    /// [`ClusterError::Unfinished`], [`ClusterError::OtherKnowledge`],
    /// [`ClusterError::Disagrees`], and what reading, writing or the store meets.
    pub async fn publish(&self, dir: &Path) -> Result<Done<Publication>, ClusterError> {
        let plan = self.read_plan().await?;
        let tasks = self.all_tasks(&plan).await?;
        let merges = self.all_merges(&plan).await?;
        let checkpoint = checkpoint(&plan, &tasks);
        if let Some(found) = checkpoint_of(dir).await? {
            let record: Option<Publication> = self.record.read_json(PUBLICATION).await?;
            return match record {
                Some(record) if found == checkpoint.to_json() => Ok(Done::Before(record)),
                _ => Err(ClusterError::OtherKnowledge {
                    path: dir.to_owned(),
                }),
            };
        }
        let parent = match dir.parent() {
            Some(parent) if parent != Path::new("") => parent,
            _ => Path::new("."),
        };
        fs::create_dir_all(parent).map_err(ClusterError::io("create", parent))?;
        // On the same disk, so that the knowledge base can be moved to its place in one step.
        let work = Scratch::create_in(parent)?;
        let mut levels = Vec::new();
        for (level, merges) in merges.iter().enumerate() {
            let mut slices = Vec::new();
            for merge in merges {
                let path = work.path().join(format!("{level}.{}", merge.range));
                let file = &merge.slice.file;
                let whole = 0..file.bytes;
                self.record
                    .download(&file.key, &[whole], &path, &work)
                    .await?;
                slices.push(path);
            }
            levels.push(slices);
        }
        let mut documents = Vec::new();
        for file in tasks.iter().filter_map(|task| task.documents.as_ref()) {
            let bytes = self.record.read(&file.key).await?;
            let bytes = bytes.ok_or_else(|| damaged(&file.key, "it is not there"))?;
            let file = file.clone();
            documents.extend(blocking::run(move || parse_documents(&file, &bytes)).await?);
        }
        let assembly = Assembly {
            plan,
            merges,
            levels,
            documents,
            checkpoint,
            work: work.clone(),
        };
        let (made, publication) = blocking::run(move || assembly.assemble()).await?;
        // Recorded first: a directory that is in its place has been compared with the record.
        let recorded = self.record.create_json(PUBLICATION, &publication).await?;
        let done = match recorded {
            Created::Own => Done::Now(publication),
            Created::Before(there) => {
                let there: Publication = decode(PUBLICATION, &there)?;
                if there != publication {
                    return Err(ClusterError::Disagrees {
                        key: PUBLICATION.to_owned(),
                    });
                }
                Done::Before(there)
            }
        };
        let (dir, parent) = (dir.to_owned(), parent.to_owned());
        blocking::run(move || {
            // An empty directory may be there already; anything else is refused.
            let moved = fs::rename(&made, &dir).map_err(ClusterError::io("create", dir));
            drop(work);
            moved?;
            fs::File::open(&parent)
                .and_then(|parent| parent.sync_all())
                .map_err(ClusterError::io("flush", parent))
        })
        .await?;
        Ok(done)
    }

    /// Reads the markers of all merges, by level; they must be done.
    async fn all_merges(&self, plan: &Plan) -> Result<Vec<Vec<MergeMarker>>, ClusterError> {
        let (mut levels, mut missing) = (Vec::new(), Vec::new());
        for level in 0..plan.levels() {
            let mut ranges = Vec::new();
            for range in 0..plan.ranges.count() {
                match self.merged(plan, level, range).await? {
                    Some(marker) => ranges.push(marker),
                    None => missing.push(merge_key(level, range)),
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

/// What a knowledge base is assembled of, fetched and complete.
struct Assembly {
    plan: Plan,
    merges: Vec<Vec<MergeMarker>>,
    /// The merged slices of each level, bottom up.
    levels: Vec<Vec<PathBuf>>,
    /// Number and id of each.
    documents: Vec<(u64, String)>,
    checkpoint: Checkpoint,
    work: Scratch,
}

impl Assembly {
    /// Makes the knowledge base in its working directory, and returns where, and what it is.
    fn assemble(self) -> Result<(PathBuf, Publication), ClusterError> {
        let mut documents = self.documents;
        documents.sort_unstable();
        documents.dedup();
        let made = self.work.path().join("kb");
        let nodes = &self.plan.configuration.learner.nodes;
        let names: Vec<&str> = nodes.iter().map(|node| node.name.as_str()).collect();
        let store = EmbeddedStore::create_from_slices(
            &made,
            &names,
            self.plan.configuration.to_json(),
            &self.levels,
            &documents,
            self.checkpoint.to_json(),
            self.work.path(),
        )?;
        let mut levels = Vec::new();
        for (node_idx, node) in names.iter().enumerate() {
            let parts = self.merges[node_idx].iter();
            levels.push(PublishedLevel {
                node: (*node).to_owned(),
                patterns: parts.map(|merge| merge.slice.summary.patterns()).sum(),
                learns: store.totals(node_idx)?.learns,
            });
        }
        drop(store);
        let (segment_bytes, segment_blake3) = hash_segment(&made.join("segments"))?;
        let publication = Publication {
            plan: self.plan.digest(),
            levels,
            samples: self.checkpoint.counters.samples,
            tokens: self.checkpoint.counters.tokens,
            segment_bytes,
            segment_blake3,
        };
        Ok((made, publication))
    }
}

/// Reads the documents that a task has recorded.
fn parse_documents(file: &StoredFile, bytes: &[u8]) -> Result<Vec<(u64, String)>, ClusterError> {
    if blake3::hash(bytes).to_hex().as_str() != file.blake3 {
        return Err(damaged(&file.key, "its BLAKE3 does not match"));
    }
    serde_json::Deserializer::from_slice(bytes)
        .into_iter()
        .collect::<Result<_, _>>()
        .map_err(|error: serde_json::Error| damaged(&file.key, &error.to_string()))
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
fn checkpoint(plan: &Plan, tasks: &[TaskMarker]) -> Checkpoint {
    let mut counters = Counters::default();
    let mut counts = Counts::default();
    for task in tasks {
        counters.merge(&task.counters);
        counts.merge(&task.cursor.counts());
    }
    let cursor: Cursor = match &plan.cut {
        Cut::Shards { end } => end.clone().with_counts(counts),
        // Positions count from the beginning of the corpus, so the last task's is that of all.
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

/// Returns size and BLAKE3 of the only file of a directory.
fn hash_segment(dir: &Path) -> Result<(u64, String), ClusterError> {
    let entry = fs::read_dir(dir)
        .and_then(|mut entries| entries.next().transpose())
        .map_err(ClusterError::io("list", dir))?;
    let Some(entry) = entry else {
        return Err(damaged("segment", "it is not there"));
    };
    let path = entry.path();
    let file = fs::File::open(&path).map_err(ClusterError::io("open", &path))?;
    let mut hasher = blake3::Hasher::new();
    hasher
        .update_reader(&file)
        .map_err(ClusterError::io("read", &path))?;
    Ok((hasher.count(), hasher.finalize().to_hex().to_string()))
}

/// Creates the error of an object that is not what its marker says.
fn damaged(key: &str, reason: &str) -> ClusterError {
    ClusterError::Damaged {
        key: key.to_owned(),
        reason: reason.to_owned(),
    }
}
