//! State that the sessions of a node share in 2025-10: time, what has gathered, settings that
//! stick, the last observation.

use kato_protocol::percept::PerceptData;
use serde_json::{Map, Value};

use crate::config;
use crate::session::{Gathered, Session};
use crate::values::Generation;

/// Emotives that a pattern keeps, unless the session that made the processor says otherwise.
pub(crate) const PERSISTENCE: usize = 5;

/// State of a node's processor.
#[derive(Debug, Default)]
pub(crate) struct Processor {
    pub(crate) gathered: Gathered,
    pub(crate) time: u64,
    /// The short-term memory of the session that was used last.
    pub(crate) stm: Vec<Vec<String>>,
    pub(crate) percept: Option<PerceptData>,
    /// Settings that some session or `/genes/update` has made. They stay.
    pub(crate) config: Map<String, Value>,
    persistence: Option<usize>,
}

impl Processor {
    /// Takes over the settings of a session that is used, for all sessions and from then on.
    pub(crate) fn adopt(&mut self, session: &Session) {
        self.config.extend(session.config.clone());
        // The first session decides for good: 2025-10 reads this setting when it makes the
        // processor.
        self.persistence.get_or_insert_with(|| {
            let own = session.config.get("persistence").and_then(Value::as_u64);
            own.map_or(PERSISTENCE, |own| {
                usize::try_from(own).unwrap_or(usize::MAX)
            })
        });
    }

    /// Returns how many emotives a pattern keeps.
    pub(crate) fn persistence(&self) -> usize {
        self.persistence.unwrap_or(PERSISTENCE)
    }

    /// Empties the short-term memory and what has gathered.
    pub(crate) fn clear_stm(&mut self) {
        self.stm.clear();
        self.gathered = Gathered::default();
    }

    /// Empties it, and sets the time back.
    pub(crate) fn clear_all(&mut self) {
        self.clear_stm();
        self.time = 0;
    }

    /// Returns a setting by its name in any case; `None` if there is none, or it is null.
    pub(crate) fn gene(&self, name: &str, node_id: &str, processor_id: &str) -> Option<Value> {
        let name = name.to_lowercase();
        let mut genes = config::defaults(Generation::October2025);
        // As a gene, this setting has another name.
        let sort = genes.remove("sort_symbols");
        genes.extend(sort.map(|sort| ("sort".to_owned(), sort)));
        genes.insert("name".to_owned(), node_id.into());
        genes.insert("kb_id".to_owned(), processor_id.into());
        for (key, value) in &self.config {
            genes.insert(key.to_lowercase(), value.clone());
        }
        genes.remove(&name).filter(|value| !value.is_null())
    }
}
