//! The handler of the question what comes next in a session.

use axum::http::StatusCode;
use kato_protocol::extension::{NextAnswer, NextAsked, NextLevel, NextSymbol};
use kato_service::ServiceError;
use kato_service::answer::{AskedSymbol, NextQuestion};

use super::sessions::{paid, reserve_copy};
use crate::app::App;
use crate::call::Call;
use crate::compat::query;
use crate::refusal::Refusal;
use crate::reply::Outcome;
use crate::resources::RequestResources;

/// Handles `GET /sessions/{session_id}/next`.
pub(crate) fn next(app: &App, call: &Call) -> Outcome {
    let query = question(&call.query)?;
    // The history is copied out of the session, and read by the head.
    reserve_copy(app, call)?;
    let found = app.service.next(call.param(), &query, &call.cancel);
    let found = match found {
        Err(ServiceError::Cancelled(_)) => return Err(took_too_long(&call.resources)),
        found => paid(call, found)?,
    };
    let level = |level: kato_service::answer::CountedNode| NextLevel {
        node_id: level.node_id,
        patterns: level.patterns,
    };
    call.written(&NextAnswer {
        session_id: call.param().to_owned(),
        levels: found.levels.into_iter().map(level).collect(),
        history: found.history,
        outcomes: found.outcomes,
        next: found.next.into_iter().map(symbol_of).collect(),
        other: found.other,
        asked: found.asked.into_iter().map(asked_of).collect(),
        explanations: found.explanations,
    })
}

/// Refuses a question that was cancelled while its client waits.
pub(super) fn took_too_long(resources: &RequestResources) -> Refusal {
    // Who was not given memory is told that instead.
    if let Err(error) = resources.check_parts() {
        return error.into();
    }
    Refusal::new(
        StatusCode::GATEWAY_TIMEOUT,
        "counting the patterns of the nodes took longer than the server allows and was ended; \
         ask for fewer levels, or have the server allow more (--prediction-timeout)",
    )
}

pub(super) fn symbol_of((symbol, probability): (String, f64)) -> NextSymbol {
    NextSymbol {
        symbol,
        probability,
    }
}

pub(super) fn asked_of(asked: AskedSymbol) -> NextAsked {
    NextAsked {
        symbol: asked.symbol,
        known: asked.is_known,
        probability: asked.probability,
    }
}

/// Reads the question.
fn question(query: &str) -> Result<NextQuestion, Refusal> {
    let invalid = |name: &str, reason: String| Refusal::of_part(&["query", name], reason);
    let defaults = NextQuestion::default();
    let number = |name: &str, default: usize| {
        let default = i64::try_from(default).unwrap_or(i64::MAX);
        let number = query::integer(query, name, default)?;
        usize::try_from(number)
            .map_err(|_| invalid(name, format!("{name} is {number}: ask for 0 or more")))
    };
    let flag = |name: &str| match query::parameter(query, name).as_deref() {
        None | Some("false" | "0") => Ok(false),
        Some("true" | "1") => Ok(true),
        Some(_) => Err(invalid(name, format!("{name} has to be true or false"))),
    };
    Ok(NextQuestion {
        top: number("top", defaults.top)?,
        symbols: query::parameters(query, "symbol"),
        above: query::parameters(query, "above"),
        explain: flag("explain")?,
        patterns: number("patterns", defaults.patterns)?,
        fit: flag("fit")?,
    })
}
