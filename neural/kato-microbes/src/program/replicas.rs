//! Replicas of a run as processes: this program once more for each but the first.

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use kato_microbes::Run;
use kato_microbes::run::{MicrobesEvent, MicrobesOutcome};
use kato_neural::program::{CommandFailure, on_threads};
use kato_neural::run::{ReplicaProcesses, Signals, replica_group};

use super::cli_training::FollowArguments;

/// Trains a run with replicas that are processes, if its settings ask for such.
pub(crate) fn train(
    run: &mut Run,
    on_event: &mut (dyn FnMut(MicrobesEvent<'_>) -> bool + Send),
) -> Result<MicrobesOutcome, CommandFailure> {
    let training = &run.settings().training;
    let n = training.replicas;
    if !training.processes || n < 2 {
        return Ok(run.train(on_event)?);
    }
    let limit = Duration::from_secs(training.silence_s);
    let n_threads = NonZeroUsize::new(rayon::current_num_threads() / n);
    let n_threads = n_threads.unwrap_or(NonZeroUsize::MIN);
    let arguments = [
        OsString::from("--threads"),
        n_threads.to_string().into(),
        "follow".into(),
        run.folder().into(),
    ];
    let (processes, group) = ReplicaProcesses::start(n, &arguments, limit)?;
    on_threads(Some(n_threads), || {
        let ended = |others| Ok(processes.finish(others)?);
        run.train_as_first(Arc::new(group), on_event, ended)
    })
}

/// Trains along as one of the processes.
pub(crate) fn follow(arguments: &FollowArguments, signals: &Signals) -> Result<(), CommandFailure> {
    // A replica heeds the process that it follows, which a terminal's Ctrl-C asks to save as well.
    let _unheeded = signals.begin_training();
    let group = replica_group()?;
    match Run::follow(&arguments.run, Arc::new(group)) {
        // Whoever went first says why.
        Err(error) if error.is_gone() => Err(CommandFailure::Silent),
        followed => Ok(followed?),
    }
}
