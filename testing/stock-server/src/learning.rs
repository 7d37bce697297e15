//! Learning: what the short-term memory and all that has gathered make of a pattern.

use std::collections::{BTreeMap, BTreeSet};

use kato_model::{MetadataValue, NAME_PREFIX, PatternName, learned_mean};
use serde_json::{Map, Value};

use crate::knowledge::Clash;
use crate::processor::PERSISTENCE;
use crate::record::Learn;
use crate::session::{Gathered, now};
use crate::values::Generation;
use crate::work::{Crash, Work};

/// When a pattern is learned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Occasion {
    Asked,
    /// The short-term memory is full.
    Auto,
}

impl Work<'_> {
    /// Stores the short-term memory as a pattern; its name, empty if there were too few symbols.
    pub(crate) fn store(&mut self, occasion: Occasion) -> Result<String, Crash> {
        self.share_stm();
        let events = &self.session.stm;
        if events.iter().map(Vec::len).sum::<usize>() < 2 {
            if self.is_old() {
                self.processor(|processor| processor.gathered = Gathered::default());
            }
            return Ok(String::new());
        }
        let name = PatternName::of_events(events).to_string();
        let mut taken = Gathered::default();
        let make = || self.lesson(&name, occasion, &mut taken);
        if let Err(Clash) = self.world.learn(self.turn, make) {
            self.processor(|processor| processor.gathered = taken);
            return Err(Crash);
        }
        Ok(format!("{NAME_PREFIX}{name}"))
    }

    /// What is to be learned. In 2025-10 it takes what has gathered in the node, and leaves a copy.
    fn lesson(&self, name: &str, occasion: Occasion, taken: &mut Gathered) -> Learn {
        let (emotives, metadata, persistence) = match self.world.generation() {
            Generation::October2025 => self.processor(|processor| {
                let gathered = std::mem::take(&mut processor.gathered);
                taken.clone_from(&gathered);
                let mean = learned_mean(&gathered.emotives);
                let has_emotives = !gathered.emotives.is_empty();
                let emotives = has_emotives.then_some(mean).into_iter().collect();
                (emotives, texts(&gathered.metadata), processor.persistence())
            }),
            Generation::V3_10 if occasion == Occasion::Auto => Default::default(),
            Generation::V3_10 => {
                let gathered = &self.session.gathered;
                let emotives = gathered.emotives.clone();
                (emotives, texts(&gathered.metadata), PERSISTENCE)
            }
        };
        Learn {
            node: self.session.node_id.clone(),
            name: name.to_owned(),
            events: self.session.stm.clone(),
            emotives,
            persistence: persistence.max(1),
            metadata,
            session: self.session.id.clone(),
            request: self.request,
            at: now(),
        }
    }
}

/// For every key the values as Python writes them, each once.
fn texts(gathered: &[Map<String, Value>]) -> BTreeMap<String, BTreeSet<String>> {
    let mut texts: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
    for (key, value) in gathered.iter().flatten() {
        let text = serde_json::from_value::<MetadataValue>(value.clone())
            .expect("any JSON is a metadata value");
        let values = texts.entry(key.clone()).or_default();
        values.insert(text.to_string());
    }
    texts
}
