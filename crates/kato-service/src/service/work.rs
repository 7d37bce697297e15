//! Working in a session: observing, learning, clearing, and looking at what is there.

use std::time::Instant;

use kato_engine::session::Percept;
use kato_engine::{EngineError, Observation, Sequence, SessionConfig};
use kato_model::Event;
use kato_prediction::{Cancel, Predictions};
use serde_json::Value;
use uuid::Uuid;

use super::operate::{BeginResult, Form, IdempotentRequest, OperationOutcome};
use super::{Service, kept};
use crate::answer::{Cognition, FinalizeAnswer, LearnAnswer, ObserveOutcome, SequenceAnswer};
use crate::journal::{Entry, StoredAnswer};
use crate::keys::digest;
use crate::node::LoadedNode;
use crate::session::{LoadedSession, SessionEntry};
use crate::{Receipt, ServiceError};

impl Service {
    /// Observes an event; see [`Session::observe`](kato_engine::Session::observe).
    ///
    /// # Errors
    ///
    /// [`ServiceError::MemoryFull`], [`ServiceError::SessionMemoryFull`],
    /// [`ServiceError::SessionNotFound`], [`ServiceError::Engine`], [`ServiceError::KeyReused`],
    /// [`ServiceError::KeyInvalid`], [`ServiceError::Closed`], [`ServiceError::StorageFailed`]. So
    /// for all writes; but learning and clearing go on whatever sessions take.
    pub fn observe(
        &self,
        id: &str,
        observation: Observation,
        key: Option<&str>,
    ) -> Result<Receipt<ObserveOutcome>, ServiceError> {
        let request = key.map(|key| IdempotentRequest {
            key,
            digest: digest("observe", &observation),
            outlives_session: false,
        });
        let form = Form {
            store: &kept::observation,
            read: &kept::read_observation,
        };
        let receipt = self.operate_as(
            id,
            request,
            &form,
            |config| config.max_pattern_length > 0,
            |loaded, entry| {
                // Checked here and not first, so that the repetition of a request that was carried
                // out gets its answer all the same.
                if let Err(full) = self.shared.check_memory_for(entry) {
                    return (Err(full), Vec::new());
                }
                run_operation(
                    loaded,
                    entry,
                    |loaded| loaded.session.observe(observation),
                    |node_id, observed| ObserveOutcome {
                        node_id,
                        unique_id: unique_id("obs-"),
                        observed,
                    },
                )
            },
        )?;
        self.shared
            .counters
            .observations
            .add(u64::from(!receipt.replayed()));
        Ok(receipt)
    }

    /// Observes several observations as one operation; see
    /// [`Session::observe_sequence`](kato_engine::Session::observe_sequence).
    ///
    /// # Errors
    ///
    /// As [`observe`](Self::observe). Behind something that it has taught the node, which keeps it, the
    /// error comes with the receipt, and a repetition gets it again. Should the node turn out to be full
    /// or damaged there, it is [`ServiceError::NodeInterrupted`], as of
    /// [`learn_batch`](Self::learn_batch).
    pub fn observe_sequence(
        &self,
        id: &str,
        sequence: Sequence,
        key: Option<&str>,
    ) -> Result<Receipt<SequenceAnswer>, ServiceError> {
        let request = key.map(|key| IdempotentRequest {
            key,
            digest: digest("observe-sequence", &sequence),
            outlives_session: false,
        });
        let learns = sequence.learn_after_each || sequence.learn_at_end;
        let mut n_observed = 0;
        let receipt = self.operate(
            id,
            request,
            |config| learns || config.max_pattern_length > 0,
            |loaded, entry| {
                if let Err(full) = self.shared.check_memory_for(entry) {
                    return (Err(full), Vec::new());
                }
                run_operation(
                    loaded,
                    entry,
                    |loaded| loaded.session.observe_sequence(sequence),
                    |node_id, mut outcome| {
                        n_observed = outcome.steps.len();
                        for step in &mut outcome.steps {
                            let given = step.unique_id.take().filter(|id| !id.is_empty());
                            step.unique_id = Some(given.unwrap_or_else(|| unique_id("seq-obs-")));
                        }
                        SequenceAnswer { node_id, outcome }
                    },
                )
            },
        )?;
        self.shared.counters.observations.add(n_observed as u64);
        Ok(receipt)
    }

    /// Learns the short-term memory; see [`Session::learn`](kato_engine::Session::learn).
    ///
    /// # Errors
    ///
    /// [`ServiceError::EmptyStm`], and as [`observe`](Self::observe).
    pub fn learn(&self, id: &str, key: Option<&str>) -> Result<Receipt<LearnAnswer>, ServiceError> {
        let form = Form {
            store: &StoredAnswer::whole,
            read: &kept::read_learn,
        };
        self.operate_as(
            id,
            idempotent_request(key, "learn"),
            &form,
            |_| true,
            |loaded, entry| {
                let events = loaded.session.stm().len();
                run_operation(
                    loaded,
                    entry,
                    |loaded| loaded.session.learn(),
                    |node_id, outcome| LearnAnswer {
                        node_id,
                        outcome,
                        events,
                    },
                )
            },
        )
    }

    /// Empties the short-term memory and what has gathered with it.
    ///
    /// # Errors
    ///
    /// As [`observe`](Self::observe).
    pub fn clear_stm(&self, id: &str, key: Option<&str>) -> Result<Receipt<()>, ServiceError> {
        let clear = |loaded: &mut LoadedSession, _: &SessionEntry| {
            loaded.session.clear_stm();
            (Ok(()), Vec::new())
        };
        self.operate(id, idempotent_request(key, "clear-stm"), |_| false, clear)
    }

    /// Empties the session's **node** for all its sessions, durably, and then this session as
    /// [`clear_stm`](Self::clear_stm) does. Other sessions keep their short-term memories.
    /// Idempotency keys stay known.
    ///
    /// # Errors
    ///
    /// As [`observe`](Self::observe).
    pub fn clear_all(&self, id: &str, key: Option<&str>) -> Result<Receipt<()>, ServiceError> {
        let shared = &*self.shared;
        let _turn = shared.begin_write()?;
        let entry = shared.find_session(id)?;
        let request = idempotent_request(key, "clear-all");
        let claimed = match shared.begin(&entry, request, &Form::whole())? {
            BeginResult::New(claimed) => claimed,
            BeginResult::Done(receipt) => return Ok(receipt),
        };
        let mut body = entry.lock();
        let loaded = entry.activate(&mut body, shared.source_for(&entry.node))?;
        let node = std::sync::Arc::clone(&loaded.node);
        loaded.session.clear_stm();
        entry.update_charge(&body);
        shared.renew(&entry, shared.now());
        let Some(journal) = &shared.journal else {
            node.engine().clear(Value::Null)?;
            node.listeners().lose();
            node.measure();
            let kept = shared.keep(claimed, || StoredAnswer::whole(&()), &mut Entry::default());
            if let Some(kept) = kept {
                kept.publish();
            }
            return Ok(Receipt::new((), None));
        };
        let mut written = Entry::default();
        entry.node.record_once(&mut written);
        entry.record_state(&body, journal, &mut written)?;
        let kept = shared.keep(claimed, || StoredAnswer::whole(&()), &mut written);
        // Also with `Durability::Os`: a store that is emptied must not run ahead of the journal.
        written.sync = true;
        let cleared = node.clear(entry.node.processor_id(), journal, written);
        // Whatever came of it: who counts anew counts what there is.
        node.listeners().lose();
        cleared?;
        node.measure();
        if let Some(kept) = kept {
            kept.publish();
        }
        Ok(Receipt::new((), None))
    }

    /// Returns the short-term memory, oldest event first.
    ///
    /// # Errors
    ///
    /// [`ServiceError::SessionNotFound`]; [`ServiceError::Engine`] when the node cannot be loaded.
    /// So for all reads.
    pub fn stm(&self, id: &str) -> Result<Vec<Event>, ServiceError> {
        self.with_stm(id, <[Event]>::to_vec)
    }

    /// Looks at the short-term memory where it is, which a copy of it may be too large for. Other
    /// operations of the session wait meanwhile.
    ///
    /// # Errors
    ///
    /// As [`stm`](Self::stm).
    pub fn with_stm<T>(
        &self,
        id: &str,
        look: impl FnOnce(&[Event]) -> T,
    ) -> Result<T, ServiceError> {
        self.read(id, |loaded, _| look(loaded.session.stm()))
    }

    /// Returns the patterns that the short-term memory resembles, and what would come next. Other
    /// operations of the session go on meanwhile.
    ///
    /// # Errors
    ///
    /// As [`stm`](Self::stm).
    pub fn predictions(&self, id: &str) -> Result<Predictions, ServiceError> {
        self.predictions_unless(id, &Cancel::never())
    }

    /// Returns what [`predictions`](Self::predictions) does, and can be ended from another thread.
    ///
    /// # Errors
    ///
    /// [`ServiceError::Cancelled`], and as [`stm`](Self::stm).
    pub fn predictions_unless(
        &self,
        id: &str,
        cancel: &Cancel,
    ) -> Result<Predictions, ServiceError> {
        // Copied under the session's lock, and predicted without it: predictions may take long.
        let (stm, config, node) = self.read(id, |loaded, _| {
            let session = &loaded.session;
            let node = std::sync::Arc::clone(&loaded.node);
            (session.stm().to_vec(), session.config().clone(), node)
        })?;
        self.predict(&node, &stm, &config, cancel)
    }

    /// Predicts from a short-term memory, and counts it: what was ended or failed is none. An error names the node.
    pub(super) fn predict(
        &self,
        node: &LoadedNode,
        stm: &[Event],
        config: &SessionConfig,
        cancel: &Cancel,
    ) -> Result<Predictions, ServiceError> {
        let predictions = node.node().predict_unless(stm, config, cancel);
        let note = |error: EngineError| self.shared.note(node, node.node().name(), error.into());
        let predictions = predictions.map_err(note)?;
        self.shared.counters.predictions.add(1);
        Ok(predictions)
    }

    /// Returns what was observed last; `None` before the first observation.
    ///
    /// # Errors
    ///
    /// As [`stm`](Self::stm).
    pub fn percept(&self, id: &str) -> Result<Option<Percept>, ServiceError> {
        self.read(id, |loaded, _| loaded.session.percept())
    }

    /// Returns the state of the session as KATO's `cognition-data` shows it.
    ///
    /// # Errors
    ///
    /// As [`stm`](Self::stm).
    pub fn cognition(&self, id: &str) -> Result<Cognition, ServiceError> {
        self.cognition_unless(id, &Cancel::never())
    }

    /// Returns what [`cognition`](Self::cognition) does, and can be ended from another thread.
    ///
    /// # Errors
    ///
    /// [`ServiceError::Cancelled`], and as [`stm`](Self::stm).
    pub fn cognition_unless(&self, id: &str, cancel: &Cancel) -> Result<Cognition, ServiceError> {
        let (mut cognition, predicts, node) = self.read(id, |loaded, entry| {
            let state = loaded.session.state();
            let cognition = Cognition {
                node_id: entry.node_id.clone(),
                predictions: Predictions::default(),
                emotives: state.emotives().last().cloned().unwrap_or_default(),
                short_term_memory: state.stm().to_vec(),
                time: state.time(),
            };
            let predicts = loaded.session.config().process_predictions;
            (cognition, predicts, std::sync::Arc::clone(&loaded.node))
        })?;
        if predicts {
            // As in KATO, whose data come from predictions that were made while observing, with the
            // settings of the process and not with the session's.
            let defaults = &self.shared.options.defaults;
            let stm = &cognition.short_term_memory;
            cognition.predictions = self.predict(&node, stm, defaults, cancel)?;
        }
        Ok(cognition)
    }

    /// Finalises the training of the session's node, as KATO's `finalize-training`; see
    /// [`Node::finalize_training`](kato_engine::Node::finalize_training). Lasts until the node
    /// leaves memory.
    ///
    /// # Errors
    ///
    /// As [`stm`](Self::stm).
    pub fn finalize_training(&self, id: &str) -> Result<FinalizeAnswer, ServiceError> {
        let (node_id, node) = self.read(id, |loaded, entry| {
            (entry.node_id.clone(), std::sync::Arc::clone(&loaded.node))
        })?;
        let began = Instant::now();
        let patterns = node.node().finalize_training();
        Ok(FinalizeAnswer {
            node_id,
            patterns,
            took: began.elapsed(),
        })
    }

    /// Looks at a session in memory, where it is brought if it rests.
    pub(super) fn read<T>(
        &self,
        id: &str,
        look: impl FnOnce(&mut LoadedSession, &SessionEntry) -> T,
    ) -> Result<T, ServiceError> {
        let entry = self.shared.find_session(id)?;
        let mut body = entry.lock();
        let loaded = entry.activate(&mut body, self.shared.source_for(&entry.node))?;
        Ok(look(loaded, &entry))
    }
}

/// Makes the key of a request without a body.
fn idempotent_request<'a>(key: Option<&'a str>, method: &str) -> Option<IdempotentRequest<'a>> {
    key.map(|key| IdempotentRequest {
        key,
        digest: digest(method, &()),
        outlives_session: false,
    })
}

/// Runs an operation of the engine, and makes its answer.
fn run_operation<O, T>(
    loaded: &mut LoadedSession,
    entry: &SessionEntry,
    act: impl FnOnce(&mut LoadedSession) -> Result<O, EngineError>,
    answer: impl FnOnce(String, O) -> T,
) -> OperationOutcome<T> {
    let outcome = act(loaded);
    let lessons = loaded.session.take_lessons();
    let answer = outcome.map(|outcome| answer(entry.node_id.clone(), outcome));
    (answer.map_err(ServiceError::from), lessons)
}

/// Makes a unique id.
fn unique_id(prefix: &str) -> String {
    format!("{prefix}{}", Uuid::new_v4().simple())
}
