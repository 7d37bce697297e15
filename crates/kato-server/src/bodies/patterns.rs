//! Parsing of bodies that name patterns to retire, un-retire or purge.

use axum::http::HeaderMap;
use kato_model::PatternName;
use kato_model::naming::write_symbol_literal;
use kato_protocol::retirement::PurgeRequest;
use serde_json::json;

use super::{at_most_items, finish, read};
use crate::compat::json::Json;
use crate::compat::validate::{Check, as_integer};
use crate::refusal::Refusal;

/// Names in one request at most.
const MAX_NAMES: usize = 1000;

/// Patterns that one request purges at most.
const MAX_PURGED: i128 = 10_000;

/// Names that a refusal shows at most.
const SHOWN: usize = 5;

/// The names of a request.
#[derive(Debug, Default)]
pub(crate) struct Named {
    /// Each once, in order of first mention.
    pub(crate) names: Vec<PatternName>,
    /// How many were sent.
    pub(crate) requested: usize,
}

/// Parses patterns to retire or un-retire.
pub(crate) fn named(headers: &HeaderMap, body: &[u8]) -> Result<Named, Refusal> {
    let json = read(headers, body)?;
    let mut check = Check::new("body");
    let named = check.model(&json).map(|map| {
        check.required(map, "pattern_ids", |check, value| {
            if is_empty_list(value) {
                let ctx = json!({"field_type": "List", "min_length": 1, "actual_length": 0});
                let message = "List should have at least 1 item after validation, not 0";
                check.fault_saying(("too_short", message.to_owned()), value, ctx);
            }
            names(check, value)
        })
    });
    finish(check, named.unwrap_or_default())
}

/// Parses patterns to purge: those that are named, or `None`, and how many at most.
pub(crate) fn purge(
    headers: &HeaderMap,
    body: &[u8],
) -> Result<(Option<Vec<PatternName>>, usize), Refusal> {
    let json = read(headers, body)?;
    let mut check = Check::new("body");
    let mut named = None;
    let mut max_patterns = None;
    if let Some(map) = check.model(&json) {
        named = check.field(map, "pattern_ids", |check, value| {
            check.optional(value, |check, value| {
                if is_empty_list(value) {
                    let message = "Value error, pattern_ids must not be empty; omit the field entirely to purge every retired pattern";
                    let ctx = json!({"error": {}});
                    check.fault_saying(("value_error", message.to_owned()), value, ctx);
                }
                names(check, value).names
            })
        });
        max_patterns = check.field(map, "max_patterns", |check, value| {
            Some(max_purged(check, value))
        });
    }
    let default = PurgeRequest::default().max_patterns;
    let max_patterns = max_patterns.unwrap_or(usize::try_from(default).unwrap_or(usize::MAX));
    finish(check, (named, max_patterns))
}

/// Checks how many patterns are purged at most.
fn max_purged(check: &mut Check, value: &Json) -> usize {
    let number = match as_integer(value) {
        Ok(number) => number,
        Err(fault) => {
            check.fault(fault, value);
            return 0;
        }
    };
    let fault = match number {
        ..1 => ("greater_than_equal", "greater than or equal to 1", "ge", 1),
        1..=MAX_PURGED => return usize::try_from(number).unwrap_or(usize::MAX),
        _ => (
            "less_than_equal",
            "less than or equal to 10000",
            "le",
            MAX_PURGED,
        ),
    };
    let (kind, bound, key, limit) = fault;
    let message = format!("Input should be {bound}");
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    check.fault_saying((kind, message), value, json!({key: limit}));
    0
}

fn is_empty_list(value: &Json) -> bool {
    matches!(value, Json::List(items) if items.is_empty())
}

/// Reads names, with whitespace around them or not.
fn names(check: &mut Check, value: &Json) -> Named {
    let actual = match value {
        Json::List(items) => items.len(),
        _ => 0,
    };
    // Before the items, which nobody looks at then.
    if !at_most_items(check, value, MAX_NAMES) {
        return Named::default();
    }
    let texts = check.strings(value);
    let mut named = Named {
        names: Vec::with_capacity(actual),
        requested: actual,
    };
    let mut rejected = Vec::new();
    let mut seen = std::collections::HashSet::with_capacity(actual);
    for text in &texts {
        match text.trim_matches(is_white_space).parse::<PatternName>() {
            Ok(name) if seen.insert(name) => named.names.push(name),
            Ok(_) => {}
            Err(_) => rejected.push(text),
        }
    }
    // A list with an item that is no string has been refused for that, item by item.
    let all_are_strings = matches!(value, Json::List(items) if items.iter().all(|item| matches!(item, Json::Text(_))));
    if !rejected.is_empty() && all_are_strings {
        check.fault_saying(
            ("value_error", rejected_names(&rejected)),
            value,
            json!({"error": {}}),
        );
    }
    named
}

/// Returns whether Python takes a character for white space: four of ASCII's separators as well.
fn is_white_space(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\x1c'..='\x1f')
}

/// Says which names are none, as KATO does.
fn rejected_names(rejected: &[&String]) -> String {
    let shown = rejected.iter().take(SHOWN).map(|text| {
        let mut literal = String::new();
        write_symbol_literal(text, &mut literal);
        literal
    });
    let shown = shown.collect::<Vec<_>>().join(", ");
    let more = match rejected.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!(" (and {more} more)"),
    };
    format!(
        "Value error, pattern IDs must be a 40-character SHA1 hex digest, optionally prefixed with 'PTRN|'. Rejected: {shown}{more}"
    )
}
