//! What a server does beside answering: the service's periodic work, and samples of the machine's load.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::{self, JoinHandle};
use tokio::time::{self, Interval, MissedTickBehavior};

use crate::app::App;
use crate::meters::Sampler;
use crate::refusal::chain;
use crate::repeated::Repeated;

/// How often the service's periodic work is done.
const MAINTENANCE_INTERVAL: Duration = Duration::from_secs(1);

/// How often the machine's load is read, as in KATO.
const SAMPLE_INTERVAL: Duration = Duration::from_secs(10);

/// Work that is done again and again; ends together with the server.
pub(super) struct Periodic(JoinHandle<()>);

impl Periodic {
    pub(super) fn of(work: impl Future<Output = ()> + Send + 'static) -> Self {
        Self(task::spawn(work))
    }

    /// Waits for the round that runs, after it was told to be the last.
    pub(super) async fn finish(mut self) {
        if let Err(error) = (&mut self.0).await {
            tracing::error!(%error, "periodic work ended unexpectedly");
        }
    }
}

impl Drop for Periodic {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Waits for the next round; `false` if there is none, as the server ends.
async fn next(interval: &mut Interval, ending: &mut watch::Receiver<bool>) -> bool {
    tokio::select! {
        _ = interval.tick() => !*ending.borrow(),
        // An error means that the server is gone.
        _ = ending.changed() => false,
    }
}

pub(super) async fn maintain(app: Arc<App>, mut ending: watch::Receiver<bool>) {
    let mut interval = time::interval(MAINTENANCE_INTERVAL);
    interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let failures = Repeated::default();
    let mut is_failing = false;
    let mut logged = Vec::new();
    while next(&mut interval, &mut ending).await {
        let losses = app.service.losses();
        for loss in losses.iter().filter(|loss| !logged.contains(*loss)) {
            tracing::error!(%loss, "something was lost");
        }
        logged = losses;
        let service = app.service.clone();
        let maintained = task::spawn_blocking(move || service.maintain()).await;
        let failed = !matches!(maintained, Ok(Ok(_)));
        if is_failing && !failed {
            tracing::info!("periodic work succeeds again");
        }
        is_failing = failed;
        match maintained {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => {
                if let Some(n_left_out) = failures.tell() {
                    tracing::warn!(
                        error = chain(&error),
                        n_left_out,
                        "periodic work failed, and is tried again"
                    );
                }
            }
            Err(error) => {
                if let Some(n_left_out) = failures.tell() {
                    tracing::error!(%error, n_left_out, "periodic work ended unexpectedly");
                }
            }
        }
    }
}

pub(super) async fn sample(app: Arc<App>, mut ending: watch::Receiver<bool>) {
    let mut interval = time::interval(SAMPLE_INTERVAL);
    interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut sampler = Sampler::default();
    let mut is_new = true;
    while next(&mut interval, &mut ending).await {
        let app = Arc::clone(&app);
        let read = task::spawn_blocking(move || {
            if is_new {
                sampler = Sampler::new();
            }
            app.meters.sample(sampler.read(), &app.service.figures());
            sampler
        });
        match read.await {
            Ok(same) => (sampler, is_new) = (same, false),
            Err(error) => {
                tracing::error!(%error, "reading the machine's load ended unexpectedly");
                return;
            }
        }
    }
}
