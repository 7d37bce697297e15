//! Observing and learning: a session is loaded, changed for as long as it takes, and saved once.

use kato_model::emotives::mean_emotives;
use kato_model::{Event, VectorName};
use kato_protocol::observation::ObservationResult;
use kato_protocol::percept::PerceptData;
use kato_protocol::sequence::{SequenceItemResult, SequenceResult};
use kato_protocol::{Observation, Sequence};

use crate::config;
use crate::event_loop::Turn;
use crate::learning::Occasion;
use crate::processor::Processor;
use crate::session::{Gathered, MAX_ENTRIES, Session};
use crate::values::Generation;
use crate::world::World;

/// Session in the hands of a request.
#[derive(Debug)]
pub(crate) struct Work<'a> {
    pub(crate) world: &'a World,
    pub(crate) turn: &'a Turn<'a>,
    pub(crate) request: u64,
    pub(crate) session: Session,
}

/// Error that nothing catches: the answer is a 500, and the session is not saved.
#[derive(Debug)]
pub(crate) struct Crash;

impl Work<'_> {
    /// Observes once, and returns the answer.
    pub(crate) fn observe_one(
        &mut self,
        observation: &Observation,
    ) -> Result<ObservationResult, Crash> {
        let learned = self.observe(observation)?;
        let time = self.time();
        Ok(ObservationResult {
            status: "okay".to_owned(),
            session_id: self.session.id.clone(),
            processor_id: Some(self.session.node_id.clone()),
            // The length as it is saved, unlike that of a sequence's answer.
            stm_length: self.session.stm.len().min(MAX_ENTRIES),
            time,
            unique_id: Some(format!("obs-{:024x}{:08x}", self.request, time)),
            auto_learned_pattern: learned.filter(|name| !name.is_empty()),
            vector_search: None,
        })
    }

    /// Observes one after the other. Whatever is learned on the way is known to all at once.
    pub(crate) fn sequence(&mut self, sequence: &Sequence) -> Result<SequenceResult, Crash> {
        let initial_stm_length = self.session.stm.len();
        let mut results = Vec::new();
        let mut names = Vec::new();
        for (idx, item) in sequence.observations.iter().enumerate() {
            if sequence.clear_stm_between && idx > 0 {
                self.session.stm.clear();
                if self.is_old() {
                    self.processor(Processor::clear_stm);
                }
            }
            // An error on the way keeps what was learned before it, and loses the session's
            // changes.
            let auto_learned = self.observe(&item.observation)?;
            // First this learn, then the name of the automatic one, as KATO lists them.
            if sequence.learn_after_each && !self.session.stm.is_empty() {
                names.push(self.learn()?);
            }
            names.extend(auto_learned.clone());
            let made = || format!("seq-obs-{:024x}{idx:08x}", self.request);
            results.push(SequenceItemResult {
                status: "okay".to_owned(),
                sequence_position: idx,
                stm_length: self.session.stm.len(),
                time: self.time(),
                unique_id: Some(item.unique_id.clone().unwrap_or_else(made)),
                auto_learned_pattern: auto_learned.filter(|name| !name.is_empty()),
            });
        }
        let mut final_learned_pattern = None;
        if sequence.learn_at_end && !self.session.stm.is_empty() {
            // KATO ignores an error of this last learn.
            final_learned_pattern = self.learn().ok();
            names.extend(final_learned_pattern.clone());
        }
        Ok(SequenceResult {
            status: "completed".to_owned(),
            processor_id: Some(self.session.node_id.clone()),
            observations_processed: results.len(),
            initial_stm_length,
            final_stm_length: self.session.stm.len(),
            results,
            auto_learned_patterns: names,
            final_learned_pattern,
            isolated: sequence.clear_stm_between,
        })
    }

    /// Learns the short-term memory and empties it. Returns the name, empty if there were too few
    /// symbols.
    pub(crate) fn learn(&mut self) -> Result<String, Crash> {
        let name = self.store(Occasion::Asked)?;
        self.keep_events(0);
        Ok(name)
    }

    /// Hands the session's settings and memory to the node's processor, in 2025-10.
    pub(crate) fn begin(&mut self) {
        if self.is_old() {
            let session = self.session.clone();
            self.processor(|processor| {
                processor.adopt(&session);
                processor.stm.clone_from(&session.stm);
            });
        }
    }

    /// Saves the session as it is, over whatever became of it since it was loaded.
    pub(crate) fn save(self) {
        self.share_stm();
        self.world.sessions.save(self.session);
    }

    /// Observes, and returns the name of the pattern that was learned because the memory was full.
    fn observe(&mut self, observation: &Observation) -> Result<Option<String>, Crash> {
        let vector = match observation.vectors.as_slice() {
            [] => None,
            vectors => Some(VectorName::of_observation(vectors).map_err(|_| Crash)?),
        };
        let event = Event::with_vectors(vector, observation.strings.clone());
        self.take_in(observation, &event);
        // Time and what has gathered count all the same.
        if event.is_empty() {
            return Ok(None);
        }
        self.session.stm.push(event.symbols().to_vec());
        // In 2025-10 the node's settings, which another session may have made.
        let config = match self.is_old() {
            true => self.processor(|processor| processor.config.clone()),
            false => self.session.config.clone(),
        };
        let max = config::max_pattern_length(&config).ok_or(Crash)?;
        let events = self.session.stm.len();
        if max == 0 || events < max {
            return Ok(None);
        }
        let name = self.store(Occasion::Auto)?;
        // A memory of a single event is emptied in both modes.
        let rolls = config::rolls(&config) && events > 1;
        self.keep_events(if rolls { max - 1 } else { 0 });
        Ok(Some(name))
    }

    /// Advances the time, and gathers emotives and metadata: in the session, or in 2025-10 in the
    /// node.
    fn take_in(&mut self, observation: &Observation, event: &Event) {
        let is_old = self.is_old();
        let percept = |gathered: &Gathered| PerceptData {
            // 2025-10 shows them as they were sent, 3.10 as they are in the event, sorted.
            strings: match is_old {
                true => observation.strings.clone(),
                false => event.symbols().to_vec(),
            },
            vectors: observation.vectors.clone(),
            emotives: mean_emotives(&gathered.emotives),
            path: Vec::new(),
            metadata: observation.metadata.clone(),
        };
        if is_old {
            self.processor(|processor| {
                processor.time += 1;
                let gathered = &mut processor.gathered;
                gathered.observe(&observation.emotives, &observation.metadata);
                processor.percept = Some(percept(gathered));
            });
        } else {
            self.session.time += 1;
            let gathered = &mut self.session.gathered;
            gathered.observe(&observation.emotives, &observation.metadata);
            self.session.percept = Some(percept(gathered));
        }
    }

    /// Returns the time, of the session or in 2025-10 of the node.
    fn time(&self) -> u64 {
        match self.is_old() {
            true => self.processor(|processor| processor.time),
            false => self.session.time,
        }
    }

    /// Keeps the last events of the short-term memory.
    fn keep_events(&mut self, events: usize) {
        let stm = &mut self.session.stm;
        stm.drain(..stm.len().saturating_sub(events));
        self.share_stm();
    }

    /// Copies the short-term memory to the processor, which in 2025-10 works on that of the session
    /// that was used last.
    pub(crate) fn share_stm(&self) {
        if self.is_old() {
            self.processor(|processor| processor.stm.clone_from(&self.session.stm));
        }
    }

    /// Returns whether the server plays the generation of 2025-10.
    pub(crate) fn is_old(&self) -> bool {
        self.world.generation() == Generation::October2025
    }

    /// Calls `act` with the processor of the session's node.
    pub(crate) fn processor<T>(&self, act: impl FnOnce(&mut Processor) -> T) -> T {
        let node_id = &self.session.node_id;
        self.world
            .knowledge
            .with(node_id, |node| act(&mut node.processor))
    }
}
