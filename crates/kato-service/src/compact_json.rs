//! Data that clients attach to sessions and nodes, kept in no more memory than was sent.

use serde_json::{Map, Value};

use crate::ServiceError;

/// A map that is kept as JSON text: as a tree it would take up to a hundred times as much.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct CompactJson(Option<Box<str>>);

impl CompactJson {
    /// Keeps a map.
    pub(crate) fn new(map: &Map<String, Value>) -> Self {
        let text = || Value::to_string(&Value::Object(map.clone()));
        // An empty map, which is what most clients send, takes nothing.
        Self((!map.is_empty()).then(|| text().into_boxed_str()))
    }

    /// Returns the map.
    pub(crate) fn to_map(&self) -> Map<String, Value> {
        let read = |text: &str| serde_json::from_str(text);
        self.0
            .as_deref()
            .map(read)
            .transpose()
            .expect("it is JSON that was written here")
            .unwrap_or_default()
    }

    /// Returns the bytes of the text.
    pub(crate) fn len(&self) -> usize {
        self.0.as_deref().map_or(0, str::len)
    }
}

/// Refuses what has more bytes than may be kept.
pub(crate) fn check_size(
    what: &'static str,
    found: usize,
    limit: usize,
) -> Result<(), ServiceError> {
    if found <= limit {
        return Ok(());
    }
    Err(ServiceError::TooLarge { what, found, limit })
}
