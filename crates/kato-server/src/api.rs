//! What each endpoint does.

pub(crate) mod admin;
pub(crate) mod documents;
pub(crate) mod extensions;
pub(crate) mod genes;
pub(crate) mod health;
pub(crate) mod lifecycle;
pub(crate) mod monitoring;
pub(crate) mod nodes;
pub(crate) mod pools;
pub(crate) mod sessions;

use kato_service::{Receipt, ServiceError};

use crate::refusal::Refusal;
use crate::reply::{Answer, Reply};

/// Answers once a write is durable.
fn acknowledged<T: Send + 'static>(
    receipt: Receipt<T>,
    answer: impl FnOnce(T) -> Reply + Send + 'static,
) -> Answer {
    let replayed = receipt.replayed();
    Answer::Later(Box::pin(async move {
        match receipt.acknowledged().await {
            Ok(value) => answer(value).replayed(replayed),
            Err(error) => Refusal::from(error).into(),
        }
    }))
}

/// As [`acknowledged`], but to its end even if the client goes away meanwhile.
fn acknowledged_to_the_end<T: Send + 'static>(
    receipt: Receipt<T>,
    answer: impl FnOnce(T) -> Reply + Send + 'static,
) -> Answer {
    let task = tokio::spawn(async move {
        match receipt.acknowledged().await {
            Ok(value) => answer(value),
            Err(error) => Refusal::from(error).into(),
        }
    });
    Answer::Later(Box::pin(async move {
        match task.await {
            Ok(reply) => reply,
            Err(_) => Refusal::from(ServiceError::Closed).into(),
        }
    }))
}
