//! Steps: what can be asked of a session.

use kato_engine::config::StmMode;
use kato_engine::session::SequencedObservation;
use kato_engine::{EngineError, Observation, Sequence, SessionConfig};
use kato_model::vector::VECTOR_PREFIX;
use kato_model::{Event, KatoGeneration, MetadataValue, PatternName};
use serde_json::{Map, Value};

use super::{Observer, World, node};
use crate::input::Input;

/// Number of frequent symbols.
const SYMBOLS: usize = 4;

/// Settings, and some that do not exist.
const KEYS: [&str; 18] = [
    "max_pattern_length",
    "stm_mode",
    "recall_threshold",
    "max_predictions",
    "use_token_matching",
    "fuzzy_token_threshold",
    "rank_sort_algo",
    "affinity_emotive",
    "filter_pipeline",
    "length_max_ratio",
    "minhash_num_hashes",
    "minhash_bands",
    "jaccard_min_overlap",
    "persistence",
    "sort_symbols",
    "indexer_type",
    "bloom_false_positive_rate",
    "",
];

impl World {
    /// Does one thing with one session.
    pub(super) fn step(&mut self, input: &mut Input<'_>) {
        let idx = input.below(2);
        match input.below(16) {
            0..6 => self.observe(idx, &observation(input)),
            6..8 => self.learn(idx),
            8 => self.observe_sequence(idx, input),
            9 => configure(&mut self.sessions[idx], input),
            10 => {
                let Observer { session, memory } = &mut self.sessions[idx];
                let config = session.config_mut();
                config.max_pattern_length = input.below(5) as u64;
                config.stm_mode = input.choose(&[StmMode::Clear, StmMode::Rolling]);
                // A shorter limit takes effect with the next observation, not at once.
                assert_eq!(session.stm(), memory.stm);
            }
            11 => self.predict(idx),
            12 => {
                let Observer { session, memory } = &mut self.sessions[idx];
                session.clear_stm();
                *memory = super::Memory::default();
            }
            13 => self.store_sessions(),
            14 => self.rarely(idx, input),
            _ => self.commit(),
        }
    }

    /// Does one of the things that would hide the others if they were frequent.
    fn rarely(&mut self, idx: usize, input: &mut Input<'_>) {
        match input.below(4) {
            0 => self.reopen(),
            // A crash: what was not committed is lost, and so is what `finalize_training` has
            // computed.
            1 if self.store.is_some() => {
                self.replace_engine();
                self.knowledge = self.committed.clone();
                self.finalized = false;
            }
            2 => {
                let n_patterns = node(&self.engine).totals().patterns;
                assert_eq!(node(&self.engine).finalize_training() as u64, n_patterns);
                self.finalized = true;
            }
            _ => {
                let Observer { session, memory } = &mut self.sessions[idx];
                session
                    .clear_all()
                    .expect("nodes without a store, and single nodes of one, can be emptied");
                *memory = super::Memory::default();
                self.knowledge.clear();
                // Emptying a node is durable at once, without a commit.
                self.committed.clear();
            }
        }
    }

    /// Observes with a session and its model.
    fn observe(&mut self, idx: usize, observation: &Observation) {
        let session = &mut self.sessions[idx].session;
        let before = session.state().clone();
        let observed = match session.observe(observation.clone()) {
            Ok(observed) => observed,
            Err(error) => {
                // A refusal leaves the session as it was.
                assert!(is_refusal(&error), "{error:?}");
                assert_eq!(*session.state(), before);
                return;
            }
        };
        let learned = observed.auto_learned;
        let event = self.event(idx, observation, learned);
        let Observer { session, memory } = &mut self.sessions[idx];
        let expected = memory.observe(event, session.config(), &mut self.knowledge);
        memory.keep(super::model::KEPT);
        assert_eq!(learned, expected);
        let (stm_length, time) = (memory.stm.len(), memory.time);
        assert_eq!((observed.stm_length, observed.time), (stm_length, time));
    }

    /// Returns the event that an observation should have become; of its vectors, what the session
    /// has made of them.
    fn event(
        &self,
        idx: usize,
        observation: &Observation,
        learned: Option<PatternName>,
    ) -> Option<Event> {
        let Observer { session, .. } = &self.sessions[idx];
        if observation.strings.is_empty() && observation.vectors.is_empty() {
            return None;
        }
        let mut strings = observation.strings.clone();
        let options = self.engine.options();
        let sorts = match options.session_sort_symbols {
            true => session.config().sort_symbols,
            false => options.sort_symbols,
        };
        if sorts {
            strings.sort_unstable();
        }
        if observation.vectors.is_empty() {
            return Some(Event::in_given_order(strings));
        }
        // The names of the nearest vectors are not in the model, so that they are read from where
        // the event went: the memory, or the pattern that was learned from it.
        let learned = learned.and_then(|name| session.node().pattern(&name).ok().flatten());
        let events = learned
            .as_ref()
            .map_or(session.stm(), |record| record.pattern.events());
        // Learned automatically, and too short for a pattern: nothing is left of it to compare.
        let Some(event) = events.last() else {
            return Some(Event::in_given_order(Vec::new()));
        };
        let (vectors, rest) = event.symbols().split_at(event.len() - strings.len());
        assert_eq!(rest, strings);
        assert!((1..=4).contains(&vectors.len()), "{vectors:?}");
        assert!(
            vectors
                .iter()
                .all(|vector| vector.starts_with(VECTOR_PREFIX))
        );
        Some(event.clone())
    }

    /// Learns with a session and its model.
    fn learn(&mut self, idx: usize) {
        let Observer { session, memory } = &mut self.sessions[idx];
        let was_empty = memory.stm.is_empty();
        match session.learn() {
            Err(error) => assert!(was_empty && matches!(error, EngineError::EmptyStm)),
            Ok(outcome) => {
                assert!(!was_empty);
                assert_eq!(outcome.name(), memory.learn(&mut self.knowledge));
            }
        }
    }

    /// Observes a sequence with a session and its model.
    fn observe_sequence(&mut self, idx: usize, input: &mut Input<'_>) {
        let mut observations = match input.is_one_in(32) {
            // More than a session keeps between operations, although not within one.
            true => vec![Observation::strings(["a"]); input.below(1200)],
            false => input.list(6, observation),
        };
        observations
            .iter_mut()
            // What vectors become can be seen only after the whole sequence, which is too late for
            // `event`.
            .for_each(|observation| observation.vectors.clear());
        let items = observations
            .iter()
            .cloned()
            .enumerate()
            .map(|(idx, observation)| SequencedObservation {
                observation,
                unique_id: Some(idx.to_string()),
            });
        let mut sequence = Sequence::from_items(items);
        sequence.learn_after_each = input.is_one_in(3);
        sequence.learn_at_end = input.is_one_in(2);
        sequence.clear_stm_between = input.is_one_in(3);
        let (each, end, between) = (
            sequence.learn_after_each,
            sequence.learn_at_end,
            sequence.clear_stm_between,
        );

        let before = self.sessions[idx].session.state().clone();
        let outcome = match self.sessions[idx].session.observe_sequence(sequence) {
            Ok(outcome) => outcome,
            Err(error) => {
                assert!(is_refusal(&error), "{error:?}");
                assert_eq!(*self.sessions[idx].session.state(), before);
                return;
            }
        };
        let mut learned = 0;
        for (position, observation) in observations.iter().enumerate() {
            let event = self.event(idx, observation, None);
            let Observer { session, memory } = &mut self.sessions[idx];
            if between && position > 0 {
                memory.stm.clear();
            }
            let step = &outcome.steps[position];
            let by_itself = memory.observe(event, session.config(), &mut self.knowledge);
            assert_eq!(step.auto_learned, by_itself);
            learned += usize::from(by_itself.is_some());
            if each && !memory.stm.is_empty() {
                memory.learn(&mut self.knowledge);
                learned += 1;
            }
            assert_eq!(
                (step.stm_length, step.time),
                (memory.stm.len(), memory.time)
            );
            assert_eq!(step.unique_id, Some(position.to_string()));
        }
        let memory = &mut self.sessions[idx].memory;
        if end && !memory.stm.is_empty() {
            let name = memory.learn(&mut self.knowledge);
            assert_eq!(
                outcome.final_learned.map(|outcome| outcome.name()),
                Some(name)
            );
            learned += 1;
        }
        assert_eq!(outcome.learned.len(), learned);
        assert_eq!(outcome.final_stm_length, memory.stm.len());
        memory.keep(super::model::KEPT);
    }

    /// Predicts with a session, and checks what the model knows of the answer.
    fn predict(&self, idx: usize) {
        let session = &self.sessions[idx].session;
        let answer = session.predict().expect("a node in memory can be read");
        assert!(answer.predictions.len() as u64 <= session.config().max_predictions);
        for prediction in &answer.predictions {
            assert_eq!(
                prediction.frequency,
                self.knowledge.frequency(&prediction.name)
            );
        }
        // Asking changes nothing, and equal questions have equal answers.
        assert_eq!(
            answer,
            session.predict().expect("a node in memory can be read")
        );
        assert!(serde_json::to_string(&answer.predictions).is_ok());
    }
}

/// Changes settings by their names, some of them to values that are refused.
fn configure(observer: &mut Observer, input: &mut Input<'_>) {
    let entries = input.list(3, |input| (input.choose(&KEYS).to_owned(), setting(input)));
    let changes: Map<String, Value> = entries.into_iter().collect();
    let session = &mut observer.session;
    let before = session.config().clone();
    if session
        .config_mut()
        .update(&changes, KatoGeneration::V3_10)
        .is_err()
    {
        // All of the changes are made, or none.
        assert_eq!(*session.config(), before);
    }
    let (created, error) = SessionConfig::at_creation(&changes, KatoGeneration::V3_10);
    assert!(error.is_none() || created == SessionConfig::default());
}

/// Makes a value of a setting.
fn setting(input: &mut Input<'_>) -> Value {
    match input.below(7) {
        0 => input.below(8).into(),
        1 => input.number().into(),
        2 => input.is_one_in(2).into(),
        3 => input
            .choose(&["ROLLING", "CLEAR", "similarity", "joy", "VI", ""])
            .into(),
        4 => input
            .list(3, |input| {
                input.choose(&["length", "jaccard", "minhash", "bloom", "rapidfuzz", "x"])
            })
            .into(),
        5 => input.choose(&[u64::MAX, 1 << 40, 100_000]).into(),
        _ => Value::Null,
    }
}

/// Makes an observation.
fn observation(input: &mut Input<'_>) -> Observation {
    let mut observation = Observation::strings(input.list(3, |input| input.symbol(SYMBOLS)));
    if input.is_one_in(6) {
        observation.vectors = input.list(3, |input| input.list(3, Input::number));
    }
    if input.is_one_in(4) {
        observation = observation.with_emotive(input.choose(&["joy", ""]), input.number());
    }
    if input.is_one_in(4) {
        let value = match input.below(4) {
            0 => MetadataValue::Text(input.text()),
            // Beyond what doubles and signed 64-bit numbers hold exactly.
            1 => MetadataValue::Integer(i128::from(u64::MAX) - input.below(3) as i128),
            2 => MetadataValue::List(vec![MetadataValue::Null, MetadataValue::Bool(true)]),
            _ => MetadataValue::Float(input.below(100) as f64 / 7.0),
        };
        observation = observation.with_metadata(input.choose(&["k", "a.b", ""]), value);
    }
    observation
}

/// Returns whether an error says that the input was refused, and nothing broke.
fn is_refusal(error: &EngineError) -> bool {
    matches!(
        error,
        EngineError::TooLarge { .. }
            | EngineError::Vectors(_)
            | EngineError::VectorNotFinite { .. }
            | EngineError::EmotiveRange { .. }
    )
}
