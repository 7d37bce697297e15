//! The lessons that a node must have: all that were folded into its knowledge base, and those of
//! the journal one after the other.

use std::path::Path;

use kato_store::{EmbeddedStore, StoreError};

use super::NodeEntry;
use super::lazy_store::directory_of;
use super::loaded::sequence_in;
use crate::ServiceError;
use crate::journal::{Journal, LessonsRecord, Table, key_of_lessons, sequence_of};
use crate::loss::DataLoss;

/// A walk along a node's lessons.
#[derive(Debug)]
pub(super) struct Lineage<'a> {
    node_id: &'a str,
    knowledge_base: &'a Path,
    /// The last lessons that are accounted for.
    last: u64,
}

impl<'a> Lineage<'a> {
    pub(super) const fn new(node_id: &'a str, knowledge_base: &'a Path) -> Self {
        Self {
            node_id,
            knowledge_base,
            last: 0,
        }
    }

    /// Begins with a knowledge base that has the lessons up to `found`, if it is there, and had
    /// them up to `folded`. Returns what it lacks.
    pub(super) fn begin(&mut self, folded: u64, found: Option<u64>) -> Option<DataLoss> {
        // What it lacks is reported here once. The journal goes on behind `folded`, or behind
        // `found` where a crash came before the fold was recorded.
        self.last = found.unwrap_or(0).max(folded);
        (found.unwrap_or(0) < folded).then(|| DataLoss::KnowledgeBase {
            node_id: self.node_id.to_owned(),
            path: self.knowledge_base.to_owned(),
            folded,
            found,
        })
    }

    /// Goes on with lessons of the journal, which may be that everything before is forgotten.
    /// Returns those that are missing in front of them.
    pub(super) fn follow(&mut self, sequence: u64, is_cleared: bool) -> Option<DataLoss> {
        let expected = self.last + 1;
        self.last = sequence;
        // What is forgotten need not be there.
        (sequence > expected && !is_cleared).then(|| DataLoss::Lessons {
            node_id: self.node_id.to_owned(),
            path: self.knowledge_base.to_owned(),
            first: expected,
            last: sequence - 1,
        })
    }

    /// Returns the number of the last lessons that are accounted for.
    pub(super) const fn last(&self) -> u64 {
        self.last
    }
}

/// Returns the number of the last lessons that the journal says were folded into a node's knowledge
/// base; 0 for none.
pub(super) fn folded(processor_id: &str, journal: &Journal) -> Result<u64, ServiceError> {
    let found = journal
        .tables()
        .get(Table::Folds, processor_id.as_bytes())?;
    let Some(bytes) = found else { return Ok(0) };
    let number = <[u8; 8]>::try_from(&*bytes)
        .map_err(|error| ServiceError::corrupt("read what was folded", error))?;
    Ok(u64::from_be_bytes(number))
}

impl NodeEntry {
    /// Returns what is missing of the node, without loading it; a knowledge base that cannot be
    /// read says so when it is used.
    pub(crate) fn find_loss(
        &self,
        journal: &Journal,
        nodes_dir: &Path,
    ) -> Result<Option<DataLoss>, ServiceError> {
        let prefix = key_of_lessons(&self.processor_id, None);
        let mut rows = journal.tables().prefix(Table::Lessons, &prefix).peekable();
        let folded = folded(&self.processor_id, journal)?;
        // Nothing was taught through this journal: opening need not touch the store, of which there
        // may be thousands.
        if folded == 0 && rows.peek().is_none() {
            return Ok(None);
        }
        let path = directory_of(nodes_dir, &self.processor_id);
        let Ok(found) = sequence_of_store(&path) else {
            return Ok(None);
        };
        let mut lineage = Lineage::new(&self.node_id, &path);
        if let Some(loss) = lineage.begin(folded, found) {
            return Ok(Some(loss));
        }
        for row in rows {
            let (key, value) = row?;
            let sequence = sequence_of(&key)
                .ok_or_else(|| ServiceError::corrupt("read what a node was taught", "its key"))?;
            // Those up to there are in the store, and only not removed yet.
            if sequence > lineage.last()
                && let Some(loss) = lineage.follow(sequence, LessonsRecord::is_cleared(&value))
            {
                return Ok(Some(loss));
            }
        }
        Ok(None)
    }
}

/// Returns the number of the last lessons that a knowledge base has; `None` if there is none, 0 if
/// no journal fed it.
pub(crate) fn sequence_of_store(path: &Path) -> Result<Option<u64>, StoreError> {
    let checkpoint = EmbeddedStore::checkpoint_of(path)?;
    Ok(checkpoint.as_ref().map(sequence_in))
}
