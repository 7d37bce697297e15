//! Periodic work: ending sessions, folding, taking idle nodes out of memory, forgetting old keys.

use std::error::Error;
use std::io;
use std::sync::{Arc, TryLockError};

use super::Service;
use crate::ServiceError;
use crate::clock::Micros;
use crate::error::StorageFailure;
use crate::journal::{Entry, Journal, KeyRecord, Table, time_of};
use crate::node::{NodeEntry, Presence};

/// Keys that one round forgets at most.
const FORGOTTEN_AT_ONCE: usize = 10_000;

/// The work of one round of [`Service::maintain`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MaintenanceReport {
    /// Sessions removed because their time was over.
    pub sessions_expired: usize,
    /// Nodes whose lessons were folded into their stores.
    pub nodes_folded: usize,
    /// Nodes taken out of memory.
    pub nodes_evicted: usize,
    /// Idempotency keys forgotten.
    pub keys_forgotten: usize,
}

impl Service {
    /// Does what is due: removes sessions whose time is over, folds lessons into the stores, takes
    /// idle nodes out of memory, forgets old keys. To be called about every second; does nothing
    /// while another call runs or after closing.
    ///
    /// # Errors
    ///
    /// [`ServiceError::StorageFailed`] at once, where the journal has failed; otherwise the first of what
    /// went wrong, when everything was tried, which stays in
    /// [`Figures::failure`](crate::figures::Figures::failure) until a round succeeds. A store that cannot be
    /// written loses nothing: its lessons stay in the journal.
    pub fn maintain(&self) -> Result<MaintenanceReport, ServiceError> {
        let shared = &*self.shared;
        let _maintaining = match shared.maintenance.try_lock() {
            Ok(maintaining) => maintaining,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return Ok(MaintenanceReport::default()),
        };
        // Not held: closing waits for this round anyway, and writes must not wait for a closing
        // that waits for it.
        match shared.begin_write() {
            Ok(turn) => drop(turn),
            Err(ServiceError::Closed) => return Ok(MaintenanceReport::default()),
            Err(error) => return Err(error),
        }
        let mut done = MaintenanceReport {
            sessions_expired: self.remove_expired(),
            ..MaintenanceReport::default()
        };
        let now = shared.now();
        let worked = match &shared.journal {
            Some(journal) => self.maintain_disk(journal, now, &mut done),
            None => {
                done.keys_forgotten = shared.keys.forget(now);
                Ok(())
            }
        };
        // Behind the sessions that have just ended, and the nodes that have left memory.
        shared.nodes.forget_unused();
        shared.heads.drop_gone();
        *shared.fold_failure() = worked.as_ref().err().map(describe_error);
        worked.map(|()| done)
    }

    /// Evicts the least recently used nodes from memory until there is room for some more; returns how
    /// many were evicted. To be called often, at least ten times a second: it does nothing
    /// while there is room, and requests that find none make it themselves, and wait.
    #[expect(clippy::must_use_candidate, reason = "the number is a by-product")]
    pub fn keep_room(&self) -> usize {
        // A turn, so that closing waits for it.
        let Ok(_turn) = self.shared.begin_write() else {
            return 0;
        };
        let journal = self.shared.journal.as_ref();
        journal.map_or(0, |journal| self.shared.keep_room(journal))
    }

    /// Does what is due on the disk; returns the first error, when everything was tried.
    fn maintain_disk(
        &self,
        journal: &Journal,
        now: Micros,
        done: &mut MaintenanceReport,
    ) -> Result<(), ServiceError> {
        let nodes = self.shared.nodes.registry().in_memory();
        let folded = nodes
            .iter()
            .take_while(|_| !self.shared.is_closing())
            .map(|entry| self.fold_if_due(entry, journal, now))
            .map(|folded| folded.map(|folded| done.nodes_folded += usize::from(folded)))
            // All of them, whatever becomes of one: a store that cannot be written must not hold up
            // the others.
            .fold(Ok(()), Result::and);
        let folded = folded.and(self.fold_absent(journal, now, done));
        let evicted = self.evict_idle(nodes, journal, done);
        done.nodes_evicted += self.shared.keep_room(journal);
        let forgotten = Self::forget_keys(journal, now, done);
        let witnessed = journal.tables().witness_log_files();
        folded.and(evicted).and(forgotten).and(witnessed)
    }

    /// Folds a node that is in memory, if it is due; returns whether it did.
    fn fold_if_due(
        &self,
        entry: &Arc<NodeEntry>,
        journal: &Journal,
        now: Micros,
    ) -> Result<bool, ServiceError> {
        if entry.presence() == Presence::Failed {
            entry.load(self.shared.source_for(entry))?;
        }
        match entry.in_memory() {
            Some(node) if node.is_due(&self.shared.options, now) => {
                node.fold(entry.processor_id(), journal)
            }
            _ => Ok(false),
        }
    }

    /// Folds the nodes that have left memory with lessons that are due by now; returns the first
    /// error, when everything was tried.
    fn fold_absent(
        &self,
        journal: &Journal,
        now: Micros,
        done: &mut MaintenanceReport,
    ) -> Result<(), ServiceError> {
        let latest = now.minus(self.shared.options.fold_interval);
        let due = self.shared.nodes.registry().unfolded_before(latest);
        due.iter()
            .take_while(|_| !self.shared.is_closing())
            .map(|entry| self.fold_unless_lost(entry, journal))
            .map(|folded| folded.map(|folded| done.nodes_folded += usize::from(folded)))
            .fold(Ok(()), Result::and)
    }

    /// Takes nodes that nobody uses out of memory, the least recently used first, until no more are
    /// left than allowed.
    fn evict_idle(
        &self,
        mut nodes: Vec<Arc<NodeEntry>>,
        journal: &Journal,
        done: &mut MaintenanceReport,
    ) -> Result<(), ServiceError> {
        nodes.retain(|entry| entry.is_idle());
        NodeEntry::sort_by_last_use(&mut nodes);
        let surplus = nodes
            .len()
            .saturating_sub(self.shared.options.max_loaded_nodes);
        nodes[..surplus]
            .iter()
            .map(|entry| entry.evict(journal))
            .map(|gone| gone.map(|gone| done.nodes_evicted += usize::from(gone)))
            .fold(Ok(()), Result::and)
    }

    /// Forgets keys whose time is over.
    fn forget_keys(
        journal: &Journal,
        now: Micros,
        done: &mut MaintenanceReport,
    ) -> Result<(), ServiceError> {
        let mut entry = Entry::default();
        for row in journal
            .tables()
            .prefix(Table::KeyTimes, &[])
            .take(FORGOTTEN_AT_ONCE)
        {
            let (time_key, _) = row?;
            let (until, key) = time_of(&time_key)
                .ok_or_else(|| ServiceError::corrupt("read an idempotency key", "its time"))?;
            // Ordered by time: the others are later.
            if now < until {
                break;
            }
            entry.remove(Table::KeyTimes, &*time_key);
            let record = journal.tables().get(Table::Keys, key)?;
            let record = record
                .map(|bytes| KeyRecord::read(key, &bytes))
                .transpose()?;
            // A key may have been used anew since, and then has another time in the table as well.
            if record.is_some_and(|record| record.until == until) {
                entry.remove(Table::Keys, key);
                done.keys_forgotten += 1;
            }
        }
        if !entry.changes.is_empty() {
            drop(journal.append(entry)?);
        }
        Ok(())
    }

    /// Folds all nodes, those included that are not in memory, as far as there is time.
    pub(super) fn fold_everything(&self, journal: &Journal) -> Result<(), ServiceError> {
        // What is in the queue may be the first that a node was taught, and is not in the tables
        // yet.
        journal.sync()?;
        let unfolded = self.shared.nodes.unfolded(journal);
        unfolded
            .iter()
            .take_while(|_| !self.shared.is_out_of_time())
            .map(|entry| self.fold_unless_lost(entry, journal).map(drop))
            .fold(Ok(()), Result::and)
    }

    /// Folds a node, in memory or not; returns whether there was something to fold.
    fn fold_unless_lost(
        &self,
        entry: &Arc<NodeEntry>,
        journal: &Journal,
    ) -> Result<bool, ServiceError> {
        let shared = &self.shared;
        let was_in_memory = entry.is_in_memory();
        let node = match entry.load(shared.source_for(entry)) {
            // It is reported, and what is left of the node stays where it is; as does what a node was
            // taught that fits into memory only over an index, which is not written any more.
            Err(ServiceError::Lost { .. } | ServiceError::Closed) => return Ok(false),
            loaded => loaded?,
        };
        let folded = node.fold(entry.processor_id(), journal)?;
        drop(node);
        if !was_in_memory {
            // Loaded for this alone, and there may be more of them than fit into memory.
            entry.evict(journal)?;
        }
        Ok(folded)
    }
}

/// Returns an error in a form that can be shown to those who ask later.
fn describe_error(error: &ServiceError) -> StorageFailure {
    match error {
        ServiceError::StorageFailed { source } | ServiceError::Journal { source, .. } => {
            source.clone()
        }
        error => StorageFailure::new(DescribedError::new(error)),
    }
}

/// An error that was returned to somebody else, as it is shown later: its text, what the system
/// said, and its cause.
#[derive(Debug, thiserror::Error)]
#[error("{text}")]
struct DescribedError {
    text: String,
    source: Option<Box<dyn Error + Send + Sync>>,
}

impl DescribedError {
    /// Describes an error with its causes.
    fn new(error: &dyn Error) -> Self {
        Self {
            text: error.to_string(),
            source: error.source().map(describe_cause),
        }
    }
}

/// Describes the cause of an error.
fn describe_cause(error: &(dyn Error + 'static)) -> Box<dyn Error + Send + Sync> {
    // An error of the system stays one, as `StorageFailure::system_error` looks for it.
    let system = error
        .downcast_ref::<io::Error>()
        .and_then(io::Error::raw_os_error);
    match system {
        Some(code) => Box::new(io::Error::from_raw_os_error(code)),
        None => Box::new(DescribedError::new(error)),
    }
}
