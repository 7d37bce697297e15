//! Periodic work of a server: maintenance of the service, and samples of the machine's load.

use std::sync::Arc;
use std::time::Duration;

use kato_service::Service;
use tokio::sync::watch;
use tokio::task::{self, JoinHandle};
use tokio::time::{self, Interval, MissedTickBehavior};

use crate::app::App;
use crate::log_throttle::LogThrottle;
use crate::meters::Sampler;
use crate::refusal::error_chain;

/// Time between two rounds of the service's maintenance.
const MAINTENANCE_INTERVAL: Duration = Duration::from_secs(1);

/// Time between two looks for room for nodes: shorter than it takes clients to fill what is kept
/// free.
const ROOM_INTERVAL: Duration = Duration::from_millis(50);

/// Time between two looks for nodes whose indexes are to be written.
const INDEX_INTERVAL: Duration = Duration::from_secs(5);

/// Time between two samples of the machine's load, as in KATO.
const SAMPLE_INTERVAL: Duration = Duration::from_secs(10);

/// A task that repeats its work until the server ends.
pub(super) struct Periodic(JoinHandle<()>);

impl Periodic {
    /// Starts a task.
    pub(super) fn spawn(work: impl Future<Output = ()> + Send + 'static) -> Self {
        Self(task::spawn(work))
    }

    /// Waits for the present round, after the task was told to end.
    pub(super) async fn finish(mut self) {
        if let Err(error) = (&mut self.0).await {
            tracing::error!(%error, "periodic work ended unexpectedly");
        }
    }
}

impl Drop for Periodic {
    fn drop(&mut self) {
        // A server whose future is dropped leaves no tasks behind.
        self.0.abort();
    }
}

/// Waits for the next round; returns `false` if there is none because the server ends.
async fn next(interval: &mut Interval, ending: &mut watch::Receiver<bool>) -> bool {
    tokio::select! {
        _ = interval.tick() => !*ending.borrow(),
        // An error means that the server's future was dropped.
        _ = ending.changed() => false,
    }
}

/// Maintains the service until the server ends.
pub(super) async fn maintain(app: Arc<App>, mut ending: watch::Receiver<bool>) {
    let mut interval = time::interval(MAINTENANCE_INTERVAL);
    // A round that took long must not be followed by a burst of them.
    interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let failures = LogThrottle::default();
    let mut is_failing = false;
    let mut logged = Vec::new();
    while next(&mut interval, &mut ending).await {
        let losses = app.service.losses();
        // Once each, not every second: they stay until somebody mends them.
        for loss in losses.iter().filter(|loss| !logged.contains(*loss)) {
            tracing::error!(%loss, "something was lost or damaged");
        }
        logged = losses;
        let service = app.service.clone();
        let maintained = task::spawn_blocking(move || service.maintain()).await;
        let failed = !matches!(maintained, Ok(Ok(_)));
        if is_failing && !failed {
            tracing::info!("periodic work succeeds again");
        }
        // A failure is tried again in the next round, and what it concerns stays in the journal
        // until then.
        is_failing = failed;
        match maintained {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => {
                if let Some(n_left_out) = failures.should_log() {
                    tracing::warn!(
                        error = error_chain(&error),
                        n_left_out,
                        "periodic work failed, and is tried again"
                    );
                }
            }
            Err(error) => {
                if let Some(n_left_out) = failures.should_log() {
                    tracing::error!(%error, n_left_out, "periodic work ended unexpectedly");
                }
            }
        }
    }
}

/// Keeps room for nodes until the server ends.
pub(super) async fn keep_room(app: Arc<App>, mut ending: watch::Receiver<bool>) {
    let mut interval = time::interval(ROOM_INTERVAL);
    interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while next(&mut interval, &mut ending).await {
        let service = app.service.clone();
        // A panic is one of a node's store, which requests for that node tell as well.
        let _ = task::spawn_blocking(move || service.keep_room()).await;
    }
}

/// Writes the indexes of nodes until the server ends.
pub(super) async fn write_indexes(app: Arc<App>, mut ending: watch::Receiver<bool>) {
    let mut interval = time::interval(INDEX_INTERVAL);
    interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let faults = LogThrottle::default();
    // A server whose future is dropped leaves no thread behind that goes on for minutes.
    let _stop = StopWritingIndexes(app.service.clone());
    while next(&mut interval, &mut ending).await {
        let service = app.service.clone();
        let round = match task::spawn_blocking(move || service.write_indexes()).await {
            Ok(round) => round,
            Err(error) => {
                if let Some(n_left_out) = faults.should_log() {
                    tracing::error!(%error, n_left_out, "writing an index ended unexpectedly");
                }
                continue;
            }
        };
        for index in round.written {
            tracing::info!(
                node_id = index.node_id,
                patterns = index.patterns,
                bytes = index.bytes,
                took_ms = u64::try_from(index.elapsed.as_millis()).unwrap_or(u64::MAX),
                is_in_use = index.is_in_use,
                "wrote an index"
            );
        }
        for fault in round.faults {
            if let Some(n_left_out) = faults.should_log() {
                tracing::warn!(%fault, n_left_out, "an index cannot be used, and is written again");
            }
        }
    }
}

/// Ends the writing of indexes when it is dropped.
struct StopWritingIndexes(Service);

impl Drop for StopWritingIndexes {
    fn drop(&mut self) {
        self.0.stop_writing_indexes();
    }
}

/// Samples the machine's load until the server ends.
pub(super) async fn sample(app: Arc<App>, mut ending: watch::Receiver<bool>) {
    let mut interval = time::interval(SAMPLE_INTERVAL);
    interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut sampler = Sampler::default();
    let mut is_new = true;
    while next(&mut interval, &mut ending).await {
        let app = Arc::clone(&app);
        let read = task::spawn_blocking(move || {
            // Here and not at the start of the task, because listing disks may block.
            if is_new {
                sampler = Sampler::new();
            }
            app.meters.sample(sampler.read(), &app.service.figures());
            sampler
        });
        match read.await {
            Ok(same) => (sampler, is_new) = (same, false),
            Err(error) => {
                // The sampler is gone with the thread that panicked. The load is no more than
                // information, so the server goes on without it.
                tracing::error!(%error, "reading the machine's load ended unexpectedly");
                return;
            }
        }
    }
}
