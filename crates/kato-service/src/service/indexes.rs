//! Writing the indexes beside the knowledge bases of nodes, from which they are opened at once.

use std::sync::TryLockError;

use super::Service;
use crate::indexes::IndexReport;

impl Service {
    /// Writes the index of each node in memory that has learned enough since the last one
    /// ([`index_after_patterns`](crate::ServiceOptions::index_after_patterns) and
    /// [`index_after_percent`](crate::ServiceOptions::index_after_percent)), one after the other, lets
    /// the node go over to it, and returns what became of it and what is wrong with indexes that there
    /// are.
    ///
    /// To be called every few seconds by a thread of its own, as one takes some seconds for each million
    /// patterns. Requests go on meanwhile, also those of the node. Does nothing while another call runs,
    /// in memory, or once [`stop_writing_indexes`](Self::stop_writing_indexes) was called.
    ///
    /// An index is worth nothing but time and memory: what fails here is tried again later, and answers
    /// are the same with it and without.
    #[must_use]
    pub fn write_indexes(&self) -> IndexReport {
        let shared = &*self.shared;
        let mut report = IndexReport::default();
        let _indexing = match shared.indexing.try_lock() {
            Ok(indexing) => indexing,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return report,
        };
        let Some(disk) = shared.source().disk else {
            return report;
        };
        for entry in shared.nodes.registry().in_memory() {
            if shared.index_writers.is_stopped() || disk.journal.check().is_err() {
                break;
            }
            let Some(node) = entry.in_memory().filter(|node| node.failure().is_none()) else {
                continue;
            };
            let (node_id, now) = (entry.node_id(), shared.now());
            if node.is_index_due(node_id, disk, now) {
                let ids = (entry.processor_id(), node_id);
                report.written.extend(node.write_index(ids, disk, now));
            }
        }
        report.faults = shared.index_writers.take_faults();
        let n_faults = report.faults.len() as u64;
        shared.counters.index_faults.add(n_faults);
        report
    }

    /// Ends the writing of indexes, for good and without waiting for it: what was written of one is
    /// removed. To be called first of all when a program ends, as a request may wait for an index without
    /// which its node does not fit into memory. [`close`](Self::close) does so as well.
    pub fn stop_writing_indexes(&self) {
        self.shared.index_writers.stop();
    }
}
