//! The handler of many questions in one request, whose answers are sent while they are made.

use std::ops::Range;
use std::sync::Arc;

use axum::http::HeaderValue;
use kato_prediction::prediction::FutureShare;
use kato_prediction::{Cancel, Prediction};
use kato_protocol::extension::{
    BatchAnswer, BatchError, BatchNext, BatchPredictions, BatchScore, NextAsked, NextSymbol,
};
use kato_service::ServiceError;
use kato_service::answer::asking::{self, QuestionBatch};

use super::next::{asked_of, symbol_of, took_too_long};
use crate::app::App;
use crate::bodies::questions;
use crate::call::Call;
use crate::dispatch::{TRACE_ID, log_failure};
use crate::lines::{Lines, LinesBuffer};
use crate::refusal::Refusal;
use crate::reply::{Answer, Outcome, Reply};
use crate::resources::RequestResources;

/// Questions for the head that one thread answers before others have their turn.
const QUESTIONS: usize = 16;

/// Events of these questions, as one of many events takes longer.
const EVENTS: usize = 4096;

/// Handles `POST /sessions/{session_id}/ask-batch`.
pub(crate) fn ask_batch(app: &App, call: &Call) -> Outcome {
    let batch = questions::batch(&call.headers, &call.body)?;
    // What is wrong with the request, or with all that it asks about, is said by its status.
    let prepared = app
        .service
        .prepare_batch(call.param(), &batch, &call.cancel);
    prepared.map_err(|error| match error {
        ServiceError::Cancelled(_) => took_too_long(&call.resources),
        ServiceError::UnknownNode { .. } | ServiceError::RepeatedNode { .. } => {
            Refusal::of_part(&["body", "above"], error.to_string())
        }
        error => error.into(),
    })?;
    let session_id = call.param().to_owned();
    let node = app.service.processor_id_of_session(&session_id);
    let pieces = pieces(&batch);
    let trace_id = call.headers.get(TRACE_ID).cloned();
    let asking = Asking {
        trace_id: trace_id.clone(),
        session_id,
        batch,
    };
    Ok(Answer::Lines(Lines {
        node: node.unwrap_or_default(),
        trace_id,
        n_pieces: pieces.len(),
        answer: Arc::new(move |app, idx, resources, cancel| {
            let piece = pieces.get(idx).cloned().unwrap_or_default();
            asking.answer(app, piece, resources, cancel)
        }),
    }))
}

/// Questions that are being answered.
struct Asking {
    session_id: String,
    batch: QuestionBatch,
    /// That of the request, for the log.
    trace_id: Option<HeaderValue>,
}

/// Cuts questions into pieces, each of which is answered by one thread, as one of its turns: a
/// prediction alone, as it may take long, and several questions for the head.
fn pieces(batch: &QuestionBatch) -> Vec<Range<usize>> {
    let mut pieces: Vec<Range<usize>> = Vec::new();
    let mut n_events = 0;
    for (idx, question) in batch.questions.iter().enumerate() {
        let of_question = question.events.len();
        match pieces.last_mut() {
            Some(piece)
                if question.ask.is_of_head()
                    && batch.questions[piece.start].ask.is_of_head()
                    && piece.len() < QUESTIONS
                    && n_events + of_question <= EVENTS =>
            {
                piece.end += 1;
                n_events += of_question;
            }
            _ => {
                pieces.push(idx..idx + 1);
                n_events = of_question;
            }
        }
    }
    pieces
}

impl Asking {
    /// Answers the questions of a piece, a line each.
    fn answer(
        &self,
        app: &App,
        piece: Range<usize>,
        resources: &RequestResources,
        cancel: &Cancel,
    ) -> Vec<u8> {
        let mut lines = LinesBuffer::new(resources);
        let mut left = piece.len();
        let take = |found| {
            left -= 1;
            let written = match found {
                Ok(found) => lines.write(&line_of(found)),
                Err(error) => Err(refusal_of(error, resources)),
            };
            if let Err(refusal) = written {
                lines.write_free(&self.line_of(refusal, app));
            }
            // What the answer was made of is gone, and the next one is made of something else.
            resources.forget_parts();
        };
        let (id, batch) = (&self.session_id, &self.batch);
        if let Err(error) = app.service.ask_batch(id, batch, piece, cancel, take) {
            // Such as that the session ended meanwhile.
            let line = self.line_of(refusal_of(error, resources), app);
            (0..left).for_each(|_| lines.write_free(&line));
        }
        lines.into_bytes()
    }

    /// Returns what a question is told that has no answer.
    fn line_of(&self, refusal: Refusal, app: &App) -> Line {
        let mut reply = Reply::from(refusal);
        if let Some(cause) = reply.take_cause() {
            let trace_id = self.trace_id.as_ref();
            log_failure(app, trace_id, &cause, "question of a batch failed");
        }
        BatchAnswer::Error(BatchError {
            status: reply.status().as_u16(),
            detail: reply.detail(),
        })
    }
}

/// Returns why a question has no answer.
fn refusal_of(error: ServiceError, resources: &RequestResources) -> Refusal {
    // Who was not given memory is told that instead.
    if matches!(error, ServiceError::Cancelled(_))
        && let Err(refused) = resources.check_parts()
    {
        return refused.into();
    }
    error.into()
}

/// An answer as it is sent.
type Line = BatchAnswer<Prediction, FutureShare>;

fn line_of(found: asking::QuestionAnswer) -> Line {
    match found {
        asking::QuestionAnswer::Predictions(found) => BatchAnswer::Predictions(BatchPredictions {
            predictions: found.predictions,
            future_potentials: found.future_potentials,
        }),
        asking::QuestionAnswer::Next(found) => {
            let next: Vec<NextSymbol> = found.next.into_iter().map(symbol_of).collect();
            let asked: Vec<NextAsked> = found.asked.into_iter().map(asked_of).collect();
            BatchAnswer::Next(BatchNext {
                history: found.history,
                outcomes: found.outcomes,
                next,
                other: found.other,
                asked,
            })
        }
        asking::QuestionAnswer::Score(found) => BatchAnswer::Score(BatchScore {
            probabilities: found.probabilities,
            bits: found.bits,
            unknown: found.unknown,
        }),
        // Of a service that is newer than this.
        _ => BatchAnswer::Error(BatchError {
            status: 501,
            detail: "the server has no form for this answer".to_owned(),
        }),
    }
}
