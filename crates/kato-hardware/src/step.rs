//! The steps of an analysis: each runs on a thread of its own for its share of the time, and is
//! given up when it hangs.

use std::fmt;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::plan::Share;
use crate::{Allowance, Cancellation};

/// Interval at which the waiting thread checks whether the analysis was cancelled.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// A step of an analysis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Step {
    /// Processor, memory, limits, virtualisation.
    Machine,
    /// Mounted file systems.
    Disks,
    /// Graphics processors, by their vendors' tools.
    Gpus,
    /// Network interfaces.
    Network,
    /// Memory bandwidth.
    Memory,
    /// SHA-1, which names patterns.
    Naming,
    /// Parsing JSON Lines.
    Decoding,
    /// Text to tokens.
    Tokenizing,
    /// Sequential and random access, flushes.
    Disk,
    /// The embedded store.
    Store,
    /// Round trips inside the machine.
    Loopback,
    /// A MongoDB.
    Mongodb,
    /// A KATO server.
    Kato,
}

/// The beginning or end of a step, as given to a listener.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum StepEvent {
    /// A step begins.
    Started {
        /// The step.
        step: Step,
        /// Longest time that it may take.
        limit: Duration,
    },
    /// A step has ended, measured or given up.
    Finished {
        /// The step.
        step: Step,
        /// Time that it took.
        took: Duration,
        /// Whether it has no result, as it was cancelled, took too long or failed.
        gave_up: bool,
    },
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Machine => "processor, memory, limits",
            Self::Disks => "file systems",
            Self::Gpus => "graphics processors",
            Self::Network => "network interfaces",
            Self::Memory => "memory bandwidth",
            Self::Naming => "naming (SHA-1)",
            Self::Decoding => "decoding JSON Lines",
            Self::Tokenizing => "tokenizing",
            Self::Disk => "disk",
            Self::Store => "embedded store",
            Self::Loopback => "loopback",
            Self::Mongodb => "MongoDB",
            Self::Kato => "KATO server",
        })
    }
}

/// Executes work on a thread of its own and waits for it until `limit`.
///
/// The work is to measure for the time of its share, and has the grace of its share to clean up
/// when it is cancelled.
///
/// # Errors
///
/// The reason when it was given up. The thread then goes on until it notices; a thread that hangs
/// in the kernel stays as long as the process. It owns all that it uses, so nothing waits for it.
pub(crate) fn run<T: Send + 'static>(
    step: Step,
    share: Share,
    limit: Duration,
    cancellation: &Cancellation,
    work: impl FnOnce(&Allowance) -> T + Send + 'static,
) -> Result<T, String> {
    if cancellation.is_cancelled() {
        return Err(cancelled());
    }
    let allowance = Allowance::new(share.time, cancellation);
    let abandoned = allowance.abandoned.clone();
    // Room for the result, so that the thread can end even when nobody takes it.
    let (sender, receiver) = mpsc::sync_channel(1);
    let thread = thread::Builder::new().name("kato-hardware".to_owned());
    let start = Instant::now();
    let spawned = thread.spawn(move || {
        // Fails when the step was given up, and the result is of no use then.
        let _ = sender.send(work(&allowance));
    });
    if let Err(error) = spawned {
        return Err(format!(
            "no thread could be started ({error}): raise the limit of processes"
        ));
    }
    let mut cancelled_at: Option<Instant> = None;
    loop {
        match receiver.recv_timeout(POLL_INTERVAL) {
            Ok(result) => return Ok(result),
            // The sender was dropped without a result: the work panicked.
            Err(RecvTimeoutError::Disconnected) => {
                return Err(format!(
                    "measuring {step} failed unexpectedly: please report this with the program's error output"
                ));
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
        if cancellation.is_cancelled() {
            // Not at once: the work may have a database or files to remove.
            let since = *cancelled_at.get_or_insert_with(Instant::now);
            if since.elapsed() >= share.grace {
                return Err(cancelled());
            }
        }
        if start.elapsed() >= limit {
            // Only this step: the ones after it are measured as usual.
            abandoned.cancel();
            return Err(format!(
                "took longer than {:.1} s: see whether the device or service hangs",
                limit.as_secs_f64()
            ));
        }
    }
}

/// Returns the reason of everything that was not measured because the analysis was cancelled.
pub(crate) fn cancelled() -> String {
    "cancelled before it was measured: let the analysis finish".to_owned()
}

#[cfg(test)]
mod tests {
    use kato_test_needs::wait_until;

    use super::*;

    const SHORT: Duration = Duration::from_millis(30);
    const LONG: Duration = Duration::from_secs(30);

    fn share(time: Duration) -> Share {
        Share { time, grace: time }
    }

    #[test]
    fn a_result_in_time_is_the_result() {
        let result = run(Step::Disk, share(LONG), LONG, &Cancellation::new(), |_| 5);
        assert_eq!(result, Ok(5));
    }

    #[test]
    fn a_step_that_hangs_is_given_up_and_told() {
        let (hold, held) = mpsc::channel::<()>();
        let (tell, told) = mpsc::channel();
        let result = run(
            Step::Disk,
            share(SHORT),
            SHORT,
            &Cancellation::new(),
            move |allowance| {
                let _ = held.recv();
                let _ = tell.send(allowance.is_stopped());
            },
        );
        assert!(result.unwrap_err().contains("took longer than"));
        drop(hold);
        assert_eq!(told.recv(), Ok(true));
    }

    #[test]
    fn a_slow_step_may_take_longer_than_its_share() {
        let slow = |allowance: &Allowance| wait_until("its share is over", || allowance.is_over());
        let result = run(Step::Disk, share(SHORT), LONG, &Cancellation::new(), slow);
        assert_eq!(result, Ok(()));
    }

    #[test]
    fn a_step_that_panics_is_unknown() {
        // Writing a backtrace takes time.
        let result = run(Step::Disk, share(LONG), LONG, &Cancellation::new(), |_| {
            panic!("expected by the test")
        });
        let result: Result<(), String> = result;
        assert!(result.unwrap_err().contains("failed unexpectedly"));
    }

    #[test]
    fn nothing_begins_after_cancelling() {
        let cancellation = Cancellation::new();
        cancellation.cancel();
        let result = run(Step::Disk, share(SHORT), SHORT, &cancellation, |_| 5);
        assert!(result.unwrap_err().contains("cancelled"));
    }
}
