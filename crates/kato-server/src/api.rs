//! The handlers of all endpoints.

pub(crate) mod admin;
pub(crate) mod asking;
pub(crate) mod documents;
pub(crate) mod extensions;
pub(crate) mod genes;
pub(crate) mod health;
pub(crate) mod lifecycle;
pub(crate) mod monitoring;
pub(crate) mod next;
pub(crate) mod nodes;
pub(crate) mod patterns;
pub(crate) mod pools;
pub(crate) mod sessions;

use kato_service::{Receipt, ServiceError};

use crate::refusal::Refusal;
use crate::reply::{Answer, Reply};

/// Answers once a write is as durable as the service is set to make it.
fn acknowledged<T: Send + 'static>(
    receipt: Receipt<T>,
    answer: impl FnOnce(T) -> Reply + Send + 'static,
) -> Answer {
    let replayed = receipt.replayed();
    // The write is done; what is left is waiting for the journal, which holds no thread, so that
    // any number of writes can share one flush.
    Answer::Later(Box::pin(async move {
        match receipt.acknowledged().await {
            Ok(value) => answer(value).replayed(replayed),
            // Of now, and not the first answer.
            Err(error @ ServiceError::StorageFailed { .. }) => Refusal::from(error).into(),
            Err(error) => Reply::from(Refusal::from(error)).replayed(replayed),
        }
    }))
}

/// Answers as [`acknowledged`] does, but runs to its end even if the client goes away meanwhile.
fn acknowledged_to_the_end<T: Send + 'static>(
    receipt: Receipt<T>,
    answer: impl FnOnce(T) -> Reply + Send + 'static,
) -> Answer {
    // A task of its own, because the future of an answer is dropped together with its connection,
    // and what `answer` announces on the event stream must be announced all the same.
    let task = tokio::spawn(async move {
        match receipt.acknowledged().await {
            Ok(value) => answer(value),
            Err(error) => Refusal::from(error).into(),
        }
    });
    Answer::Later(Box::pin(async move {
        match task.await {
            Ok(reply) => reply,
            // The task panicked, or the runtime is shutting down.
            Err(_) => Refusal::from(ServiceError::Closed).into(),
        }
    }))
}
