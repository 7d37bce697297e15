//! Learning many sequences as one operation.

use std::cell::Cell;

use kato_engine::node::Lesson;
use kato_engine::{EngineError, LearnOutcome, SessionConfig};
use kato_model::{Event, PatternName};

use super::Service;
use super::operate::{Form, IdempotentRequest};
use super::packed::PackedBatch;
use crate::answer::BatchOutcome;
use crate::error::StorageFailure;
use crate::journal::StoredAnswer;
use crate::keys::digest;
use crate::node::LoadedNode;
use crate::session::LoadedSession;
use crate::{Receipt, ServiceError};

impl Service {
    /// Teaches the session's node many sequences, one pattern each: all of them or none. The
    /// session's short-term memory is neither used nor changed.
    ///
    /// Strings of an event are sorted as observing sorts them; a sequence of fewer than two symbols
    /// makes no pattern.
    ///
    /// # Errors
    ///
    /// [`ServiceError::BatchTooLarge`], [`ServiceError::EmptySequence`],
    /// [`EngineError::Retired`] in a [`ServiceError::Engine`], and as
    /// [`observe`](Self::observe); everything is checked before the first sequence is learned.
    /// Should the node turn out to be full or damaged on the way, it is
    /// [`ServiceError::NodeInterrupted`], and the node is loaded again, without any of the batch. In memory
    /// there is nothing to load it from: a node that turns out to be full keeps what it learned of the batch
    /// before, and the [`Receipt`] brings [`EngineError::Index`].
    pub fn learn_batch(
        &self,
        id: &str,
        items: Vec<Lesson>,
        key: Option<&str>,
    ) -> Result<Receipt<BatchOutcome>, ServiceError> {
        let options = &self.shared.options;
        let (found, limit) = (items.len(), options.max_batch_sequences);
        if found > limit {
            return Err(ServiceError::BatchTooLarge { found, limit });
        }
        if let Some(idx) = items.iter().position(|item| item.events.is_empty()) {
            return Err(ServiceError::EmptySequence { idx });
        }
        // Everything is checked before the first of them is learned: a refusal leaves the node as
        // it was.
        for item in &items {
            item.check(&options.engine.limits)?;
        }
        let request = key.map(|key| IdempotentRequest {
            key,
            digest: digest("learn-batch", &items),
            outlives_session: true,
        });
        // Needed once, either the first time or for a repetition; only one of the two closures
        // runs.
        let items = Cell::new(items);
        let is_sorted = Cell::new(false);
        let form = Form {
            store: &|outcome| StoredAnswer::packed(&PackedBatch::pack(outcome, is_sorted.get())),
            read: &|answer| PackedBatch::read(answer, items.take()),
        };
        self.operate_as(
            id,
            request,
            &form,
            |_| true,
            |loaded, entry| {
                if let Err(full) = self.shared.check_session_memory(entry) {
                    return (Err(full), Vec::new());
                }
                let sorts = self.sorts_symbols(loaded.session.config());
                is_sorted.set(sorts);
                let mut lessons = items.take();
                if sorts {
                    lessons.iter_mut().for_each(sort);
                }
                if let Err(error) = check_retired(loaded, &lessons) {
                    return (Err(error), Vec::new());
                }
                match teach(&loaded.node, &lessons, self.shared.journal.is_some()) {
                    Ok(outcomes) => {
                        let mut is_pattern =
                            outcomes.iter().map(|outcome| outcome.name().is_some());
                        // A sequence that is too short has taught nothing, and replaying it would
                        // be for nothing.
                        lessons.retain(|_| is_pattern.next().unwrap_or(false));
                        let node_id = entry.node_id.clone();
                        (Ok(BatchOutcome { node_id, outcomes }), lessons)
                    }
                    Err((error, n_taught)) => {
                        lessons.truncate(n_taught);
                        lessons.retain(|lesson| lesson.pattern_name().is_some());
                        (Err(error), lessons)
                    }
                }
            },
        )
    }

    /// Returns whether a session with these settings sorts the symbols of its events.
    pub(super) fn sorts_symbols(&self, config: &SessionConfig) -> bool {
        let options = &self.shared.options.engine;
        // In KATO the setting of a session has no effect: the process decides for all of them.
        match options.session_sort_symbols {
            true => config.sort_symbols,
            false => options.sort_symbols,
        }
    }
}

/// Sorts the symbols of every event.
pub(super) fn sort(lesson: &mut Lesson) {
    for event in &mut lesson.events {
        if !event.symbols().is_sorted() {
            *event = sorted(event);
        }
    }
}

/// Returns an event with its symbols sorted, as observing sorts them.
pub(super) fn sorted(event: &Event) -> Event {
    Event::new(event.symbols().iter().map(String::as_str))
}

/// Refuses lessons of which one is of a retired pattern, before any of them is taught.
fn check_retired(loaded: &LoadedSession, lessons: &[Lesson]) -> Result<(), ServiceError> {
    let node = loaded.node.node();
    let tombstones = node.tombstones();
    if tombstones.is_empty() {
        return Ok(());
    }
    for lesson in lessons {
        let n_symbols: usize = lesson.events.iter().map(Event::len).sum();
        let name = PatternName::of_events(&lesson.events);
        // What is too short is no pattern.
        if n_symbols > 1 && tombstones.get(&name).is_some() {
            let node = node.name().to_owned();
            return Err(EngineError::Retired { node, name }.into());
        }
    }
    Ok(())
}

/// Teaches lessons one after the other, up to the first that fails; returns how many the node keeps then.
/// Where some were taught before and there is a journal, the node is loaded again without them: a batch is
/// learned as a whole or not at all.
fn teach(
    node: &LoadedNode,
    lessons: &[Lesson],
    has_journal: bool,
) -> Result<Vec<LearnOutcome>, (ServiceError, usize)> {
    let mut outcomes = Vec::with_capacity(lessons.len());
    for lesson in lessons {
        match node.node().teach(lesson) {
            Ok(outcome) => outcomes.push(outcome),
            Err(error) if outcomes.iter().all(|outcome| outcome.name().is_none()) => {
                return Err((error.into(), 0));
            }
            Err(error) if has_journal => {
                let failure = node.fail(StorageFailure::new(error));
                return Err((failure.into_interrupted(node.node().name()), 0));
            }
            // To ask for it again would teach them twice.
            Err(error) => return Err((error.into(), outcomes.len())),
        }
    }
    Ok(outcomes)
}

#[cfg(test)]
mod tests {
    use kato_engine::Observation;

    use super::*;
    use crate::ServiceOptions;
    use crate::answer::NewSession;

    #[test]
    fn in_memory_a_batch_that_fails_on_the_way_says_what_the_node_keeps() {
        let service = Service::in_memory(ServiceOptions::default());
        let made = service.create_session(NewSession::new("n"));
        let id = made.unwrap().wait().unwrap().session_id;
        let observed = service.observe(&id, Observation::strings(["a"]), None);
        observed.unwrap().wait().unwrap();
        let entry = service.shared.nodes.enter("n", service.shared.now());
        let node = entry.in_memory().unwrap();
        let fine = Lesson::new([Event::new(["a"]), Event::new(["b"])]);
        // Refused by the engine, as one is for which the node has no room.
        let odd = fine
            .clone()
            .with_emotives([("joy".to_owned(), f64::NAN)].into());
        let lessons = [fine.clone(), fine, odd];
        let (error, n_taught) = teach(&node, &lessons, false).unwrap_err();
        assert!(matches!(error, ServiceError::Engine(_)), "{error}");
        assert_eq!((n_taught, node.node().totals().learns), (2, 2));
        assert!(node.failure().is_none());
        // Nothing is left of it where the node can be loaded again.
        let (error, n_taught) = teach(&node, &lessons, true).unwrap_err();
        assert!(
            matches!(error, ServiceError::NodeInterrupted { .. }),
            "{error}"
        );
        assert!(n_taught == 0 && node.failure().is_some());
    }
}
