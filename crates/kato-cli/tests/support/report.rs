//! What a run of `train` says.

use std::process::Output;

use serde_json::Value;

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// What `--json` printed, without what belongs to one session.
pub(crate) fn counters(output: &Output) -> Value {
    let mut report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let fields = report.as_object_mut().unwrap();
    let is_counter = [
        "samples_processed",
        "samples_attempted",
        "errors",
        "tokens",
        "levels",
        "dropped",
        "blank_records",
        "short_records",
        "complete",
    ];
    fields.retain(|key, _| is_counter.contains(&key.as_str()));
    assert_eq!(fields.len(), is_counter.len());
    report
}
