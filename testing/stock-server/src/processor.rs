//! What the sessions of a node share in 2025-10: time, what has gathered, settings that stick, the last observation.

use kato_protocol::PerceptData;
use serde_json::{Map, Value};

use crate::config;
use crate::session::{Gathered, Session};
use crate::values::Generation;

/// Emotives that a pattern keeps, unless the session that made the processor says otherwise.
pub(crate) const PERSISTENCE: usize = 5;

#[derive(Debug, Default)]
pub(crate) struct Processor {
    pub(crate) gathered: Gathered,
    pub(crate) time: u64,
    /// The short-term memory of the session that was used last.
    pub(crate) stm: Vec<Vec<String>>,
    pub(crate) percept: Option<PerceptData>,
    /// Settings that some session or `/genes/update` has set; they stay.
    pub(crate) config: Map<String, Value>,
    persistence: Option<usize>,
}

impl Processor {
    /// A session is used: its own settings become the node's, for all sessions and from now on.
    pub(crate) fn adopt(&mut self, session: &Session) {
        self.config.extend(session.config.clone());
        self.persistence.get_or_insert_with(|| {
            let own = session.config.get("persistence").and_then(Value::as_u64);
            own.map_or(PERSISTENCE, |own| {
                usize::try_from(own).unwrap_or(usize::MAX)
            })
        });
    }

    pub(crate) fn persistence(&self) -> usize {
        self.persistence.unwrap_or(PERSISTENCE)
    }

    pub(crate) fn clear_stm(&mut self) {
        self.stm.clear();
        self.gathered = Gathered::default();
    }

    pub(crate) fn clear_all(&mut self) {
        self.clear_stm();
        self.time = 0;
    }

    /// A setting by its name in any case; none where there is none, or null.
    pub(crate) fn gene(&self, name: &str, node_id: &str, processor_id: &str) -> Option<Value> {
        let name = name.to_lowercase();
        let mut genes = config::defaults(Generation::October2025);
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
