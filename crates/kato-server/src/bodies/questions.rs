//! Parsing of bodies of many questions.

use axum::http::HeaderMap;
use kato_model::Event;
use kato_service::answer::NextQuestion;
use kato_service::answer::asking::{Question, QuestionBatch, QuestionKind};

use super::{at_most_items, fast_path, finish, is_json, read};
use crate::compat::json::{Json, Text};
use crate::compat::validate::{Check, Fault, as_integer};
use crate::refusal::Refusal;

const NO_QUESTION: Fault = Fault {
    kind: "enum",
    message: "Input should be 'predictions', 'next' or 'score'",
};

const NO_TOP: Fault = Fault {
    kind: "value_error",
    message: "Input should be a number from 0 to 1000",
};

/// Parses questions (`ask-batch`).
pub(crate) fn batch(headers: &HeaderMap, body: &[u8]) -> Result<QuestionBatch, Refusal> {
    if is_json(headers)
        && let Some(plain) = fast_path::questions(body).filter(is_within_bounds)
    {
        return Ok(plain);
    }
    let json = read(headers, body)?;
    let mut check = Check::new("body");
    let mut batch = QuestionBatch::default();
    if let Some(map) = check.model(&json) {
        let questions = check.required(map, "questions", |check, value| {
            check.list(value, |check, item| {
                check.model(item).map(|map| check_question(check, map))
            })
        });
        batch.questions = questions.into_iter().flatten().collect();
        batch.above = check.field(map, "above", |check, value| {
            at_most_items(check, value, NextQuestion::MAX_ABOVE);
            check.strings(value)
        });
    }
    finish(check, batch)
}

fn is_within_bounds(batch: &QuestionBatch) -> bool {
    let mut questions = batch.questions.iter();
    batch.above.len() <= NextQuestion::MAX_ABOVE
        && questions.all(|question| {
            question.top.is_none_or(|top| top <= NextQuestion::MAX_TOP)
                && question.symbols.len() <= NextQuestion::MAX_SYMBOLS
        })
}

fn check_question(check: &mut Check, map: &[(Text, Json)]) -> Question {
    let ask = check.required(map, "ask", |check, value| {
        let asked = match value {
            Json::Text(text) => asked_by(&text.text),
            _ => None,
        };
        if asked.is_none() {
            check.fault(NO_QUESTION, value);
        }
        asked
    });
    let events = check.required(map, "events", |check, value| {
        check.list(value, Check::strings)
    });
    let top = check.field(map, "top", |check, value| {
        let top = check.optional(value, |check, value| {
            let top = as_integer(value).ok();
            let top = top.and_then(|top| usize::try_from(top).ok());
            let top = top.filter(|top| *top <= NextQuestion::MAX_TOP);
            if top.is_none() {
                check.fault(NO_TOP, value);
            }
            top
        });
        top.flatten()
    });
    let symbols = check.field(map, "symbols", |check, value| {
        at_most_items(check, value, NextQuestion::MAX_SYMBOLS);
        check.strings(value)
    });
    Question {
        // One that is none is a fault, and the request is refused.
        ask: ask.unwrap_or(QuestionKind::Predictions),
        events: events.into_iter().map(Event::in_given_order).collect(),
        top,
        symbols,
    }
}

/// Returns what a word asks.
pub(super) fn asked_by(word: &str) -> Option<QuestionKind> {
    Some(match word {
        "predictions" => QuestionKind::Predictions,
        "next" => QuestionKind::Next,
        "score" => QuestionKind::Score,
        _ => return None,
    })
}
