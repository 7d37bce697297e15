//! The report of a training run, for machines.

use anyhow::Result;
use kato_scheduler::TrainingReport;
use serde_json::{Value, json};

/// Returns the report with the shares of time that learning waited for documents, and of text left out.
///
/// # Errors
///
/// When the report has no JSON form, which would be a bug.
pub(crate) fn to_json(report: &TrainingReport) -> Result<Value> {
    let mut value = serde_json::to_value(report)?;
    value["starved_share"] = json!(report.starved_share());
    value["left_out_share"] = json!(report.left_out_share());
    Ok(value)
}
