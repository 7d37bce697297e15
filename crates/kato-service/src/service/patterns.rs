//! Patterns of a node that are counted, retired, un-retired and purged.

use std::sync::Arc;

use kato_engine::node::{PurgeOutcome, RetireOutcome, UnretireOutcome};
use kato_model::PatternName;
use kato_store::Tombstones;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Service;
use super::operate::{BeginResult, Form, IdempotentRequest};
use crate::answer::{PurgeAnswer, RetireAnswer, UnretireAnswer};
use crate::journal::{Entry, StoredAnswer, TakenBack};
use crate::keys::digest;
use crate::{Receipt, ServiceError};

impl Service {
    /// Returns the number of patterns of a node, retired ones included; 0 if nothing is known of it.
    ///
    /// # Errors
    ///
    /// As [`pattern`](Self::pattern).
    pub fn n_patterns(&self, node_id: &str) -> Result<u64, ServiceError> {
        let node = self.node(node_id)?;
        Ok(node.map_or(0, |node| node.node().n_patterns()))
    }

    /// Retires patterns of the session's **node**, durably and for all its sessions: from now on they
    /// are neither predicted nor learned again; see [`Node::retire`](kato_engine::Node::retire). What was taught before is folded
    /// first.
    ///
    /// # Errors
    ///
    /// As [`learn`](Self::learn).
    pub fn retire(
        &self,
        id: &str,
        names: &[PatternName],
        key: Option<&str>,
    ) -> Result<Receipt<RetireAnswer>, ServiceError> {
        self.take_back(id, request(key, "retire", &names), |node_id, tombstones| {
            let outcome = RetireOutcome::of(tombstones, names);
            let taken_back = TakenBack::Retired(outcome.retired.clone());
            (taken_back, RetireAnswer { node_id, outcome })
        })
    }

    /// Takes back that patterns are retired; see [`Node::unretire`](kato_engine::Node::unretire).
    ///
    /// # Errors
    ///
    /// As [`learn`](Self::learn).
    pub fn unretire(
        &self,
        id: &str,
        names: &[PatternName],
        key: Option<&str>,
    ) -> Result<Receipt<UnretireAnswer>, ServiceError> {
        self.take_back(
            id,
            request(key, "un-retire", &names),
            |node_id, tombstones| {
                let outcome = UnretireOutcome::of(tombstones, names);
                let taken_back = TakenBack::Unretired(outcome.un_retired.clone());
                (taken_back, UnretireAnswer { node_id, outcome })
            },
        )
    }

    /// Deletes retired patterns of the session's node with all that they taught, durably; see
    /// [`Node::purge`](kato_engine::Node::purge).
    ///
    /// # Errors
    ///
    /// As [`learn`](Self::learn).
    pub fn purge(
        &self,
        id: &str,
        names: Option<&[PatternName]>,
        most: usize,
        key: Option<&str>,
    ) -> Result<Receipt<PurgeAnswer>, ServiceError> {
        let request = request(key, "purge", &(names, most));
        self.take_back(id, request, |node_id, tombstones| {
            let outcome = PurgeOutcome::of(tombstones, names, most);
            let taken_back = TakenBack::Purged(outcome.purged.clone());
            (taken_back, PurgeAnswer { node_id, outcome })
        })
    }

    /// Runs an operation that takes patterns of a session's node back: `plan` makes of the node's
    /// tombstones what is to be done, and the answer.
    fn take_back<T: Serialize + DeserializeOwned>(
        &self,
        id: &str,
        request: Option<IdempotentRequest<'_>>,
        plan: impl FnOnce(String, &mut Tombstones) -> (TakenBack, T),
    ) -> Result<Receipt<T>, ServiceError> {
        let shared = &*self.shared;
        let _turn = shared.begin_write()?;
        let entry = shared.find_session(id)?;
        let claimed = match shared.begin(&entry, request, &Form::whole())? {
            BeginResult::New(claimed) => claimed,
            BeginResult::Done(receipt) => return Ok(receipt),
        };
        let mut body = entry.lock();
        let loaded = entry.activate(&mut body, shared.source_for(&entry.node))?;
        let node = Arc::clone(&loaded.node);
        shared.renew(&entry, shared.now());
        let plan = || {
            let mut tombstones = node.node().tombstones();
            let (taken_back, answer) = plan(entry.node_id.clone(), &mut tombstones);
            let mut written = Entry::default();
            if let Some(journal) = &shared.journal {
                entry.node.record_once(&mut written);
                entry.record_state(&body, journal, &mut written)?;
            }
            let kept = shared.keep(claimed, || StoredAnswer::whole(&answer), &mut written);
            Ok((taken_back, written, (answer, kept)))
        };
        let done = match &shared.journal {
            Some(journal) => {
                let processor_id = entry.node.processor_id();
                node.take_back(processor_id, (journal, shared.now()), plan)
            }
            None => {
                let _gate = node.gate();
                plan().and_then(|(taken_back, _, planned)| {
                    node.carry_out(&taken_back)?;
                    Ok(planned)
                })
            }
        };
        // Whatever came of it: who counts anew counts what there is.
        node.listeners().lose();
        node.measure();
        let (answer, kept) = done.map_err(|error| error.of_node(entry.node.node_id()))?;
        if let Some(kept) = kept {
            kept.publish();
        }
        Ok(Receipt::new(answer, None))
    }
}

/// Makes the key of a request.
fn request<'a>(
    key: Option<&'a str>,
    method: &str,
    body: &impl Serialize,
) -> Option<IdempotentRequest<'a>> {
    key.map(|key| IdempotentRequest {
        key,
        digest: digest(method, body),
        // It matters to the node.
        outlives_session: true,
    })
}
