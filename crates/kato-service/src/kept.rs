//! What a client has kept beside what is learned, in no more memory than it sent.

use serde_json::{Map, Value};

use crate::ServiceError;

/// A map as JSON text: as a tree it would take up to a hundred times as much.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Kept(Option<Box<str>>);

impl Kept {
    pub(crate) fn of(map: &Map<String, Value>) -> Self {
        let text = || Value::to_string(&Value::Object(map.clone()));
        Self((!map.is_empty()).then(|| text().into_boxed_str()))
    }

    pub(crate) fn map(&self) -> Map<String, Value> {
        let read = |text: &str| serde_json::from_str(text);
        self.0
            .as_deref()
            .map(read)
            .transpose()
            .expect("it is JSON that was written here")
            .unwrap_or_default()
    }

    /// Bytes of the text.
    pub(crate) fn len(&self) -> usize {
        self.0.as_deref().map_or(0, str::len)
    }
}

/// Refuses what has more bytes than may be kept.
pub(crate) fn at_most(what: &'static str, found: usize, limit: usize) -> Result<(), ServiceError> {
    if found <= limit {
        return Ok(());
    }
    Err(ServiceError::TooLarge { what, found, limit })
}
