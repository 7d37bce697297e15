//! Errors of a run on a server, as those of the trainer.

use std::error::Error;
use std::io;
use std::path::Path;

use kato_client::{ClientError, KatoClient};
use kato_scheduler::TrainError;

/// Returns a function that makes an error of the system's about a file of the run.
pub(crate) fn failed(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> TrainError {
    move |source| TrainError::State {
        action,
        path: path.to_owned(),
        source,
    }
}

/// Creates the error that something is not done with a file of the run, and why.
pub(crate) fn refused(
    action: &'static str,
    path: &Path,
    reason: impl Into<Box<dyn Error + Send + Sync>>,
) -> TrainError {
    failed(action, path)(io::Error::other(reason))
}

/// Returns a function that makes the error of a server that does not answer before anything was
/// taught.
pub(crate) fn unreachable(client: &KatoClient) -> impl Fn(ClientError) -> TrainError {
    let place = client.base_url().to_owned();
    move |source| TrainError::Unreachable {
        place: place.clone(),
        source: Box::new(source),
    }
}

/// Creates the error that the node of a client cannot be taught.
pub(crate) fn teach(
    client: &KatoClient,
    source: impl Into<Box<dyn Error + Send + Sync>>,
) -> TrainError {
    TrainError::Teach {
        node: client.node_id().to_owned(),
        source: source.into(),
    }
}

/// Creates the error that the node of a client knows something that the run has not taught.
pub(crate) fn taught_before(client: &KatoClient) -> TrainError {
    TrainError::TaughtBefore {
        node: client.node_id().to_owned(),
    }
}
