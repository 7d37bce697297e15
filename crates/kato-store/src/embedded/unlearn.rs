//! Taking lessons back: counts that are learned with a minus, as one commit.

use std::sync::atomic::{AtomicU64, Ordering};

use kato_model::batch::BatchSymbol;
use kato_model::{Attributes, LearnBatch, PatternName};
use serde_json::Value;

use super::forget::Found;
use super::on_each::on_each;
use super::staged::StagedSegment;
use super::{EmbeddedStore, Generation, open_durably};
use crate::contract::check_node_count;
use crate::{PatternStore, StoreError, StoredPattern, Tombstone};

/// Patterns that are taken back at a time: some ten megabytes.
const CHUNK_PATTERNS: usize = 1 << 16;

const LESS_OFTEN: &str = "it was not learned as often";
const UNKNOWN_REST: &str =
    "it has a first sighting, metadata or emotives, and nobody can tell which of them are left";

impl EmbeddedStore {
    /// Takes back every learn call that another store of the same nodes holds, and keeps the checkpoint given,
    /// as one commit: patterns, totals and counts of symbols are then those of a knowledge base that never
    /// learned them. Vectors and documents stay, and what was purged is gone already. What is known of a pattern
    /// beside its counts has to be the same with and without.
    ///
    /// Cost: a look-up of each of its patterns in every segment, and a segment of those that were learned
    /// elsewhere as well. Memory: 8 bytes for each pattern that is taken back, and those that stay.
    ///
    /// ```
    /// use kato_model::batch::BatchSymbol;
    /// use kato_model::{LearnBatch, PatternName};
    /// use kato_store::{EmbeddedStore, MemoryStore, PatternStore};
    /// use serde_json::Value;
    ///
    /// let teach = |store: &dyn PatternStore, times: usize| {
    ///     let mut batch = LearnBatch::new(1);
    ///     for _ in 0..times {
    ///         let symbols = ["a", "b"].map(|text| BatchSymbol::Literal(batch.literal(text)));
    ///         batch.learn(0, PatternName::of_events(&[["a"], ["b"]]), symbols);
    ///     }
    ///     store.commit(vec![store.stage(batch.seal())?], Value::Null)
    /// };
    /// let dir = tempfile::tempdir()?;
    /// let store = EmbeddedStore::create(&dir.path().join("kb"), &["node0"], Value::Null)?;
    /// teach(&store, 3)?;
    /// let lessons = MemoryStore::new(&["node0"], Value::Null);
    /// teach(&lessons, 2)?;
    /// store.unlearn(&lessons, Value::Null)?;
    /// assert_eq!(store.totals(0)?.learns, 1);
    /// assert!(store.unlearn(&lessons, Value::Null).is_err(), "they are gone");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`StoreError::NotLearned`] where a pattern was learned less often, or has a first sighting, metadata or
    /// emotives, of which nobody can tell what is left; [`StoreError::NodeCount`]; and when one of the stores
    /// cannot be read. Then nothing is taken back. When this one cannot be written, what holds is as
    /// after [`commit`](PatternStore::commit).
    pub fn unlearn(&self, lessons: &dyn PatternStore, checkpoint: Value) -> Result<(), StoreError> {
        let writer = self.writer()?;
        check_node_count(&self.nodes, lessons.nodes().len())?;
        let mut writing = self.writing();
        // It would bring back what is taken.
        writing.clear();
        let mut next = self.newest();
        next.manifest.checkpoint = checkpoint;
        next.manifest.n_commits += 1;
        let mut taken = Found::nothing_of(&next);
        let mut left = LearnBatch::new(self.nodes.len());
        for node_idx in 0..self.nodes.len() {
            let mut scan = lessons.scan(node_idx)?;
            loop {
                let chunk = scan.by_ref().take(CHUNK_PATTERNS);
                let chunk: Vec<StoredPattern> = chunk.collect::<Result<_, _>>()?;
                if chunk.is_empty() {
                    break;
                }
                let remaining = self.take_back(&next, node_idx, &chunk, &mut taken)?;
                for (pattern, frequency) in chunk.iter().zip(remaining) {
                    if frequency > 0 {
                        learn(&mut left, node_idx, pattern, frequency);
                    }
                }
            }
        }
        let (mut written, deletes) = self.delete(&mut next, taken)?;
        // What was learned elsewhere as well is deleted with the rest, and learned again as often.
        if !left.is_empty() {
            let staged = self.stage(left.seal())?.into_prepared::<StagedSegment>()?;
            let (entry, segment) = open_durably(staged.staged_by(writer)?)?;
            next.push(entry, segment);
            written.push(staged);
        }
        written.iter_mut().for_each(StagedSegment::keep);
        match deletes {
            true => self.replace_deleting(&writing, next)?,
            false => self.replace(&writing, next)?,
        }
        self.drop_previous_generation(&writing);
        Ok(())
    }

    /// Finds patterns of a node in the segments of a generation, and returns how often each was learned
    /// elsewhere.
    fn take_back(
        &self,
        next: &Generation,
        node_idx: usize,
        patterns: &[StoredPattern],
        taken: &mut [Found],
    ) -> Result<Vec<u64>, StoreError> {
        let refused = |idx: usize, reason| StoreError::NotLearned {
            node: self.nodes[node_idx].clone(),
            pattern: patterns[idx].name,
            reason,
        };
        let names: Vec<PatternName> = patterns.iter().map(|pattern| pattern.name).collect();
        let tombstones = next.manifest.tombstones.get(node_idx);
        let is_purged = |name| tombstones.and_then(|it| it.get(name)) == Some(Tombstone::Purged);
        let segments = next.segments.iter().zip(taken);
        let held: Vec<AtomicU64> = names.iter().map(|_| AtomicU64::new(0)).collect();
        on_each(segments, |(segment, taken)| {
            taken.find(segment, node_idx, &names, |idx, record| {
                let extras = record.extras().ok_or_else(|| segment.corrupt_block())?;
                if !extras.tells_content_alone() {
                    return Err(refused(idx, UNKNOWN_REST));
                }
                // The sum is the same in whichever order, also where it stops at the largest number.
                let more = |held: u64| Some(held.saturating_add(record.frequency));
                let _ = held[idx].fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
                Ok(())
            })
        })?;
        let mut remaining = Vec::with_capacity(held.len());
        for (idx, held) in held.into_iter().map(AtomicU64::into_inner).enumerate() {
            // All of it went, and nobody has learned it since.
            if held == 0 && is_purged(&names[idx]) {
                remaining.push(0);
                continue;
            }
            let rest = held.checked_sub(patterns[idx].frequency);
            // A sum that has stopped at the largest number does not say what was added.
            let rest = rest.filter(|_| held < u64::MAX);
            remaining.push(rest.ok_or_else(|| refused(idx, LESS_OFTEN))?);
        }
        Ok(remaining)
    }
}

/// Adds what is left of a pattern.
fn learn(batch: &mut LearnBatch, node_idx: usize, pattern: &StoredPattern, frequency: u64) {
    let symbols = pattern.symbols.iter();
    let symbols: Vec<BatchSymbol> = symbols
        .map(|symbol| BatchSymbol::Literal(batch.literal(&symbol.to_string())))
        .collect();
    let occurrence = batch.learn(node_idx, pattern.name, symbols);
    let attributes = Attributes {
        extra_frequency: frequency - 1,
        event_lengths: pattern.event_lengths.clone(),
        ..Attributes::default()
    };
    if attributes != Attributes::default() {
        batch.attach(node_idx, occurrence, attributes);
    }
}
