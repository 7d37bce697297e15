//! Conversion to JSON of what a store or backend keeps of a run.

use serde::Serialize;
use serde_json::Value;

/// Returns the JSON value of plain data.
///
/// Never a placeholder: a checkpoint of `null` would be one from before the first commit, and the
/// corpus would count twice.
pub(crate) fn plain_json<T: Serialize>(data: &T) -> Value {
    serde_json::to_value(data).expect("plain data: no map whose keys are not text, no path")
}
