//! Learning: makes a pattern of the short-term memory and of all that has gathered.

use std::collections::{BTreeMap, BTreeSet};

use kato_model::emotives::learned_mean;
use kato_model::naming::NAME_PREFIX;
use kato_model::{MetadataValue, PatternName};
use serde_json::{Map, Value};

use crate::processor::PERSISTENCE;
use crate::record::Learn;
use crate::session::{Gathered, now};
use crate::values::Generation;
use crate::work::{Crash, Work};
use crate::world::Failed;

/// Reason for which a pattern is learned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Occasion {
    /// A request asks for it.
    Asked,
    /// The short-term memory is full.
    Auto,
}

impl Work<'_> {
    /// Stores the short-term memory as a pattern, and returns its name, empty if there were too few
    /// symbols.
    pub(crate) fn store(&mut self, occasion: Occasion) -> Result<String, Crash> {
        self.share_stm();
        let events = &self.session.stm;
        // KATO learns from two symbols on, counted over all events, and says nothing about fewer.
        if events.iter().map(Vec::len).sum::<usize>() < 2 {
            // 2025-10 forgets what has gathered even if nothing is stored.
            if self.is_old() {
                self.processor(|processor| processor.gathered = Gathered::default());
            }
            return Ok(String::new());
        }
        let name = PatternName::of_events(events).to_string();
        if self.world.is_retired(&self.session.node_id, &name) {
            return Err(Crash::Retired { name, occasion });
        }
        let mut taken = Gathered::default();
        let make = || self.lesson(&name, occasion, &mut taken);
        if let Err(Failed) = self.world.learn(self.turn, make) {
            // What has gathered stays in the node if the pattern is not stored.
            self.processor(|processor| processor.gathered = taken);
            return Err(Crash::Uncaught);
        }
        Ok(format!("{NAME_PREFIX}{name}"))
    }

    /// Returns what is to be learned. In 2025-10 it takes what has gathered in the node, and leaves
    /// a copy.
    fn lesson(&self, name: &str, occasion: Occasion, taken: &mut Gathered) -> Learn {
        let (emotives, metadata, persistence) = match self.world.generation() {
            Generation::October2025 => self.processor(|processor| {
                let gathered = std::mem::take(&mut processor.gathered);
                taken.clone_from(&gathered);
                let mean = learned_mean(&gathered.emotives);
                // One mean of all maps, and no map at all if there were none.
                let has_emotives = !gathered.emotives.is_empty();
                let emotives = has_emotives.then_some(mean).into_iter().collect();
                (emotives, texts(&gathered.metadata), processor.persistence())
            }),
            // A quirk of 3.10: patterns that are learned automatically get neither emotives nor
            // metadata.
            Generation::V3_10 | Generation::V6_3 if occasion == Occasion::Auto => {
                Default::default()
            }
            Generation::V3_10 | Generation::V6_3 => {
                // A quirk of 3.10: what has gathered is not taken away, and goes into the next
                // pattern as well. It also ignores the session's own `persistence`.
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

/// Returns for every key the values as Python writes them, each once.
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
