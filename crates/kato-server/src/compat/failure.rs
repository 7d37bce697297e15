//! Failures with codes, as KATO has them from 5.x on.

use std::time::SystemTime;

use axum::http::StatusCode;
use kato_model::PatternName;
use kato_protocol::error::Failure;
use serde_json::{Map, Value, json};

use crate::compat::timestamp;

/// What is said of refused settings that have no rule of their own: which it is stands in the log.
pub(crate) const UNNAMED_SETTING: &str = "One or more configuration values are outside their permitted range. See server logs for the offending field.";

/// Returns the failure that a status stands for, with what there is to say.
pub(crate) fn of_status(status: StatusCode, said: &Value) -> Failure {
    let message = match said {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    // Statuses are KATO's; for two of them names and codes are not known, and ours.
    let (kind, code, recoverable) = match status {
        StatusCode::SERVICE_UNAVAILABLE => ("ServiceUnavailableError", "SERVICE_UNAVAILABLE", true),
        StatusCode::GATEWAY_TIMEOUT => ("TimeoutError", "TIMEOUT", false),
        StatusCode::INSUFFICIENT_STORAGE => ("StorageError", "STORAGE_FULL", false),
        _ => {
            return Failure {
                code: "INTERNAL_ERROR".to_owned(),
                message,
                details: Some(Map::new()),
                ..Failure::default()
            };
        }
    };
    Failure {
        kind: Some(kind.to_owned()),
        code: code.to_owned(),
        message,
        recoverable: Some(recoverable),
        timestamp: Some(timestamp::seconds(SystemTime::now())),
        ..Failure::default()
    }
}

/// Returns the failure to learn a pattern that is retired.
pub(crate) fn retired(name: &PatternName) -> Failure {
    let mut context = Map::new();
    context.insert("pattern_name".to_owned(), json!(name));
    Failure {
        kind: Some("RetiredPatternError".to_owned()),
        code: "RETIRED_PATTERN".to_owned(),
        message: format!(
            "Pattern {name} is retired on this node and cannot be learned again. Un-retire it first if it should exist."
        ),
        recoverable: Some(true),
        context,
        timestamp: Some(timestamp::seconds(SystemTime::now())),
        ..Failure::default()
    }
}
