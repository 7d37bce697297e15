//! Salvage: a new knowledge base of all segments of a damaged one that are whole.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kato_model::PatternName;
use serde_json::{Value, json};

use super::damage::{DamagedFile, Held};
use super::deletions::Deletions;
use super::directory::{ensure_unoccupied, open_segment, parent_dir, segment_dir, segment_files};
use super::forget::Found;
use super::generation::{Manifests, Remains};
use super::lock::WriteLock;
use super::manifest::{Manifest, SegmentEntry, sync_dir};
use super::merge::merge_segments;
use super::merge_runs::RunMerge;
use super::options::EmbeddedOptions;
use super::segment::{Depth, NodeTotals, Segment};
use super::staged::StagedSegment;
use super::{EmbeddedStore, FileAccess, manifest_entry};
use crate::contract::StagedBatch;
use crate::{PatternStore, Place, Rescue, StoreError, Tombstone};

/// Key of the checkpoint of a knowledge base that was salvaged and lacks a part.
const SALVAGED: &str = "salvaged";

/// What [`salvage`] saved, and what it could not.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SalvageReport {
    /// What the new knowledge base holds.
    pub saved: Held,
    /// The commit that was salvaged; `None` where both of its manifests are lost.
    pub n_commits: Option<u64>,
    /// The files that are damaged or missing, with what they held.
    pub lost: Vec<DamagedFile>,
    /// Segments that were saved though no whole manifest names them: they may hold lessons that were
    /// never committed, and whether others are missing cannot be told.
    pub unnamed: Vec<PathBuf>,
    /// Segments that are whole and were left out: no manifest tells whether they or others are merges of
    /// each other, and their patterns would count twice then.
    pub left_out: Vec<PathBuf>,
}

impl SalvageReport {
    /// Returns whether nothing is lost: the new knowledge base is the newest commit.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        // A damaged manifest holds nothing.
        let has_lost = self.lost.iter().any(|file| file.held.is_some());
        self.n_commits.is_some() && !has_lost
    }
}

/// Returns whether a checkpoint is that of a knowledge base that was salvaged and lacks a part. There
/// is no position in a corpus that belongs to it.
#[must_use]
pub fn is_salvaged(checkpoint: &Value) -> bool {
    checkpoint.get(SALVAGED).is_some()
}

/// Writes a new knowledge base of every segment of a damaged one that is whole, to the last byte.
///
/// Nothing is counted twice: which segments count is taken from the newest manifest that is whole. Where
/// a merged segment is damaged and what was merged is still there, that is taken. Where both newest
/// manifests are lost, segments that no manifest names are taken, too, but for those that may be merges of
/// others. The damaged knowledge base stays as it is.
///
/// Where a part is missing, the new knowledge base can be asked and not trained on: its checkpoint
/// [says](is_salvaged) that it was salvaged. Names of patterns that are missing stay as symbols of those
/// that refer to them. It needs as much room as what is saved.
///
/// # Errors
///
/// [`StoreError::Missing`] and [`StoreError::Locked`] for the damaged one, [`StoreError::Corrupt`] where no
/// manifest is whole, which tells the nodes, or no segment; [`StoreError::Exists`],
/// [`StoreError::NotAKnowledgeBase`] for the new one; I/O errors.
pub fn salvage(kb: impl AsRef<Path>, out: impl AsRef<Path>) -> Result<SalvageReport, StoreError> {
    let kb = kb.as_ref();
    let out = out.as_ref();
    if !EmbeddedStore::exists(kb) {
        return Err(StoreError::Missing {
            place: Place::from_path(kb),
        });
    }
    ensure_unoccupied(out)?;
    // No writer may change the files meanwhile.
    let _lock = WriteLock::acquire(kb)?;
    let manifests = Manifests::read(kb)?;
    let damaged = manifests.damaged(kb);
    let Some((manifest, _, is_newest)) = manifests.best() else {
        let reason = "no manifest is whole, and without one neither nodes nor segments are known";
        return Err(StoreError::corrupt_with(kb, reason, Rescue::Nothing));
    };
    // Under another name until it is complete.
    let name = out.file_name().unwrap_or_default().to_string_lossy();
    let parent = parent_dir(out);
    let scratch = parent.join(format!(".kato-salvage-{name}.partial"));
    remove_dir(&scratch)?;
    let mut report = SalvageReport {
        saved: Held::default(),
        n_commits: is_newest.then_some(manifest.n_commits),
        lost: damaged,
        unnamed: Vec::new(),
        left_out: Vec::new(),
    };
    let written = write(kb, &manifests, manifest, is_newest, &scratch, &mut report);
    if let Err(error) = written {
        // Best effort: the next attempt removes it.
        let _ = fs::remove_dir_all(&scratch);
        return Err(error);
    }
    // An empty directory may be there, which not every system replaces.
    let _ = fs::remove_dir(out);
    fs::rename(&scratch, out).map_err(|source| StoreError::io("create", out, source))?;
    sync_dir(&parent)?;
    Ok(report)
}

/// Writes the new knowledge base.
fn write(
    kb: &Path,
    manifests: &Manifests,
    manifest: &Manifest,
    is_newest: bool,
    scratch: &Path,
    report: &mut SalvageReport,
) -> Result<(), StoreError> {
    let options = EmbeddedOptions {
        attribute_limits: manifest.attribute_limits,
        ..EmbeddedOptions::default()
    };
    let configuration = manifest.configuration.clone();
    let store = EmbeddedStore::create_with(scratch, &manifest.nodes, configuration, options)?;
    let mut copies = Copies {
        store: &store,
        copied: Vec::new(),
        purged: purged(manifest),
    };
    let mut lost = Vec::new();
    // Copying reads all of them.
    let remains = Remains::open(kb, manifest, Depth::Indexes)?;
    if let Some(mut file) = remains.deletions {
        // What it is about comes back, which is another knowledge base than the commit was.
        file.held = Some(Held::default());
        report.lost.push(file);
    }
    for (entry, opened) in manifest.segments.iter().zip(remains.segments) {
        match opened.map(|segment| copies.copy(&segment)) {
            Ok(copied) => lost.extend(copied?.err().map(|file| (file, entry))),
            Err(file) => lost.push((file, entry)),
        }
    }
    let previous = manifests.previous.whole();
    let sources = previous.and_then(|previous| Sources::find(kb, manifest, previous, &lost));
    for (mut file, entry) in lost {
        file.held = Some(entry.held());
        match &sources {
            Some(sources) if sources.of == entry.file => {
                for source in &sources.entries {
                    let lost = copies.copy_source(kb, manifest, sources, source, &file)?;
                    report.lost.extend(lost);
                }
            }
            _ => report.lost.push(file),
        }
    }
    if !is_newest {
        copies.take_unnamed(kb, manifest, report)?;
    }
    if copies.copied.is_empty() {
        let reason = "no segment of it is whole: nothing can be saved";
        return Err(StoreError::corrupt_with(kb, reason, Rescue::Nothing));
    }
    let staged: Vec<StagedSegment> = copies.copied.into_iter().map(|it| it.staged).collect();
    for segment in &staged {
        let written = segment.staged_by(store.writer()?)?;
        report.saved = [report.saved, manifest_entry(written).held()]
            .into_iter()
            .sum();
    }
    store.commit(
        staged.into_iter().map(StagedBatch::new).collect(),
        checkpoint(kb, manifest, report),
    )?;
    keep_tombstones(&store, manifest)
}

/// Returns the names of purged patterns by node: where it is lost which patterns were deleted, these are known
/// all the same.
fn purged(manifest: &Manifest) -> Vec<Vec<PatternName>> {
    let mut purged = vec![Vec::new(); manifest.nodes.len()];
    for (purged, of_node) in purged.iter_mut().zip(&manifest.tombstones) {
        let names = of_node.iter().filter(|(_, it)| *it == Tombstone::Purged);
        purged.extend(names.map(|(name, _)| name));
    }
    purged
}

/// Keeps the tombstones, if there are any, so that what was taken back does not come back.
fn keep_tombstones(store: &EmbeddedStore, manifest: &Manifest) -> Result<(), StoreError> {
    if manifest.tombstones.is_empty() {
        return Ok(());
    }
    let no_names = vec![Vec::new(); manifest.nodes.len()];
    store.bury(manifest.tombstones.clone(), &no_names, store.checkpoint())
}

/// Returns the checkpoint of the new knowledge base, which says so where a part is missing.
fn checkpoint(kb: &Path, manifest: &Manifest, report: &SalvageReport) -> Value {
    if report.is_complete() {
        return manifest.checkpoint.clone();
    }
    let lost = report.lost.iter();
    let lost: Vec<String> = lost.map(|file| file.path.display().to_string()).collect();
    json!({SALVAGED: {
        "from": kb.display().to_string(),
        "n_commits": report.n_commits,
        "saved_learns": report.saved.learns,
        "lost": lost,
        "checkpoint": manifest.checkpoint,
    }})
}

/// A segment that was copied, every byte of it checked.
struct Copy {
    staged: StagedSegment,
    segment: Arc<Segment>,
}

/// The segments that were copied into the new knowledge base.
struct Copies<'a> {
    store: &'a EmbeddedStore,
    copied: Vec<Copy>,
    /// Names of patterns that are left out, by node.
    purged: Vec<Vec<PatternName>>,
}

impl Copies<'_> {
    /// Copies a segment, or says what is wrong with it.
    fn copy(&mut self, segment: &Arc<Segment>) -> Result<Result<(), DamagedFile>, StoreError> {
        let copied = self.written(segment);
        Ok(match copied {
            Ok(copy) => {
                self.copied.push(copy);
                Ok(())
            }
            Err(StoreError::Corrupt { reason, .. }) => {
                Err(DamagedFile::new(segment.path().to_owned(), reason, None))
            }
            Err(error) => return Err(error),
        })
    }

    /// Copies a segment of which the file that is lost was merged; returns what is wrong with it.
    fn copy_source(
        &mut self,
        kb: &Path,
        manifest: &Manifest,
        sources: &Sources,
        source: &SegmentEntry,
        merged: &DamagedFile,
    ) -> Result<Option<DamagedFile>, StoreError> {
        let access = FileAccess::Exclusive;
        let copied = match open_segment(kb, manifest, source, &sources.deletions, access) {
            Ok(segment) => self.copy(&Arc::new(segment))?,
            Err(_) => Err(merged.clone()),
        };
        Ok(copied.err().map(|mut lost| {
            lost.path = segment_dir(kb).join(&source.file);
            lost.held = Some(source.held());
            lost
        }))
    }

    /// Writes a segment again, for which all of it is read.
    fn written(&self, segment: &Arc<Segment>) -> Result<Copy, StoreError> {
        let path = self.store.next_segment_path();
        let (n_nodes, limits) = (self.store.nodes.len(), self.store.options.attribute_limits);
        let writer = self.store.writer()?;
        let purged = Found::of_names(segment, &self.purged)?;
        let inputs = [match purged.is_empty() {
            true => Arc::clone(segment),
            false => Arc::new(segment.without(purged.rows, &purged.totals)?),
        }];
        let write = || {
            let written = merge_segments(&inputs, n_nodes, &limits, &path, &|| false)?;
            Ok(written.expect("a merge that nobody cancels is done"))
        };
        let staged = StagedSegment::write(&path, writer, write)?;
        let segment = Arc::new(Segment::open(staged.staged_by(writer)?.path())?);
        Ok(Copy { staged, segment })
    }

    /// Copies the segments that no manifest names, but for those of which all names are in another one
    /// or that have all names of another: one of the two may be a merge of the other.
    fn take_unnamed(
        &mut self,
        kb: &Path,
        manifest: &Manifest,
        report: &mut SalvageReport,
    ) -> Result<(), StoreError> {
        let named: HashSet<&str> = manifest.files().collect();
        let n_named = self.copied.len();
        let mut files = Vec::new();
        for file in segment_files(kb)? {
            let path = segment_dir(kb).join(&file);
            if named.contains(file.as_str()) {
                continue;
            }
            // One that is not whole may never have been: a writer was killed while it wrote.
            let Ok(segment) = Segment::open(&path) else {
                continue;
            };
            let has_nodes = segment.all_totals().len() == manifest.nodes.len();
            if has_nodes && self.copy(&Arc::new(segment))?.is_ok() {
                files.push(path);
            }
        }
        let segments: Vec<_> = self
            .copied
            .iter()
            .map(|it| Arc::clone(&it.segment))
            .collect();
        let contained = containments(&segments, manifest.nodes.len())?;
        let size =
            |idx: usize| -> u64 { segments[idx].all_totals().map(|node| node.patterns).sum() };
        let mut is_taken = vec![true; segments.len()];
        for (inner, outer) in contained {
            // What a manifest names counts; of two others the larger one does.
            let first_goes = match (inner < n_named, outer < n_named) {
                (true, true) => continue,
                (true, false) => false,
                (false, true) => true,
                (false, false) => (size(inner), outer) <= (size(outer), inner),
            };
            is_taken[if first_goes { inner } else { outer }] = false;
        }
        let mut idx = 0;
        self.copied.retain(|_| {
            idx += 1;
            is_taken[idx - 1]
        });
        for (path, is_taken) in files.into_iter().zip(&is_taken[n_named..]) {
            match is_taken {
                true => report.unnamed.push(path),
                false => report.left_out.push(path),
            }
        }
        Ok(())
    }
}

/// Returns the pairs of segments of which the second has all names of the first.
fn containments(
    segments: &[Arc<Segment>],
    n_nodes: usize,
) -> Result<Vec<(usize, usize)>, StoreError> {
    let n = segments.len();
    let mut has_all = vec![true; n * n];
    for node_idx in 0..n_nodes {
        let mut merge = RunMerge::new(segments, node_idx);
        let mut members = vec![false; n];
        while let Some(group) = merge.next_group()? {
            members.fill(false);
            group.members().for_each(|member| members[member] = true);
            for inner in group.members() {
                for (outer, is_member) in members.iter().enumerate() {
                    has_all[inner * n + outer] &= is_member;
                }
            }
        }
    }
    let pairs = (0..n).flat_map(|inner| (0..n).map(move |outer| (inner, outer)));
    Ok(pairs
        .filter(|(inner, outer)| inner != outer && has_all[inner * n + outer])
        // One without patterns is part of nothing.
        .filter(|(inner, _)| segments[*inner].all_totals().any(|node| node.patterns > 0))
        .collect())
}

/// The segments that a lost one was merged of.
struct Sources {
    /// The file of the lost one.
    of: String,
    entries: Vec<SegmentEntry>,
    /// What was deleted of them before they were merged.
    deletions: Deletions,
}

impl Sources {
    /// Finds what one of the lost segments was merged of among those that only the manifest before names.
    ///
    /// A commit drops segments for merges of them, or for what is left after forgetting. So where a
    /// single new segment has exactly the totals of all that were dropped, it is their merge.
    fn find(
        kb: &Path,
        manifest: &Manifest,
        previous: &Manifest,
        lost: &[(DamagedFile, &SegmentEntry)],
    ) -> Option<Self> {
        let is_in = |file: &str, manifest: &Manifest| manifest.files().any(|it| it == file);
        let dropped: Vec<SegmentEntry> = previous
            .segments
            .iter()
            .filter(|entry| !is_in(&entry.file, manifest))
            .cloned()
            .collect();
        let sums = sums_of(&dropped);
        let added = manifest.segments.iter();
        let mut merges = added
            .filter(|entry| !is_in(&entry.file, previous))
            .filter(|entry| !dropped.is_empty() && sums_of(std::slice::from_ref(*entry)) == sums);
        let (merge, None) = (merges.next()?, merges.next()) else {
            return None;
        };
        let is_lost = lost.iter().any(|(_, entry)| entry.file == merge.file);
        Some(Self {
            of: is_lost.then(|| merge.file.clone())?,
            entries: dropped,
            deletions: Deletions::read(kb, previous).ok()?,
        })
    }
}

/// Returns the totals of each node that merging adds up.
fn sums_of(entries: &[SegmentEntry]) -> Vec<[u64; 3]> {
    let n_nodes = entries.first().map_or(0, |entry| entry.nodes.len());
    let sum = |node_idx: usize, count: fn(NodeTotals) -> u64| {
        let nodes = entries
            .iter()
            .filter_map(|entry| entry.totals().nth(node_idx));
        nodes.map(count).fold(0, u64::saturating_add)
    };
    (0..n_nodes)
        .map(|idx| {
            [
                sum(idx, |node| node.observations),
                sum(idx, |node| node.symbols),
                sum(idx, |node| node.member_symbols),
            ]
        })
        .collect()
}

/// Removes a directory, if it is there.
fn remove_dir(dir: &Path) -> Result<(), StoreError> {
    match fs::remove_dir_all(dir) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(StoreError::io("remove", dir, error))
        }
        _ => Ok(()),
    }
}
