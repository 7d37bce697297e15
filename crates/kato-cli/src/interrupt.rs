//! Ctrl-C, SIGTERM and SIGHUP, which a terminal sends that is closed: the first asks the command to stop, and
//! ends the process where the command does not stop in time; the second ends the process at once.
//!
//! Ending the process is safe: a commit is done or not, and everything else is made again. So a
//! command that has nothing to put in order needs no code for signals, and a wait that cannot be cut
//! short costs seconds and no data.

use std::fs;
use std::io::{self, IsTerminal, stderr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use kato_prediction::Cancel;
use kato_scheduler::StopSignal;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::flag;
use signal_hook::iterator::Signals;
use signal_hook::low_level::exit;

use crate::notice;

/// Exit code after each of them: 128 + SIGINT, as shells report it. The same for all, so that
/// one number says that a run can be resumed.
pub(crate) const INTERRUPTED: u8 = 130;

/// The last word of a command that is to be given again.
pub(crate) const AGAIN: &str = "interrupted: give the same command again";

/// Longest time from the first signal until the process ends.
const LONGEST_STOP: Duration = Duration::from_secs(4);

/// What is said where the process ends at once.
static LAST_WORD: Mutex<&str> = Mutex::new(AGAIN);

/// Whether a signal has come: set by the handler itself, before any thread knows.
static HAS_COME: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// How the command stops; `None` while the process may end at once.
static ORDERLY_STOP: Mutex<Option<OrderlyStop>> = Mutex::new(None);

/// What the user is told on standard error.
pub(crate) enum Told {
    /// A line.
    Line(String),
    /// An entry of the log, in its form.
    Logged(&'static str),
}

impl From<&str> for Told {
    fn from(line: &str) -> Self {
        Self::Line(line.to_owned())
    }
}

impl From<String> for Told {
    fn from(line: String) -> Self {
        Self::Line(line)
    }
}

/// The way in which a command stops.
struct OrderlyStop {
    /// What the user is told at once.
    announcement: Told,
    /// What the user is told when the command does not stop in time.
    given_up: Told,
    ask: Box<dyn FnMut() + Send>,
}

/// Listens for SIGINT, SIGTERM and SIGHUP from now on, and lets a file that grows beyond the limit of its user be an
/// error of the write instead of the end of the process. To be called once, before anything else: a signal that
/// comes earlier ends the process as the system does it.
///
/// # Errors
///
/// When the operating system refuses to register the handlers.
pub(crate) fn listen() -> io::Result<()> {
    let has_come = HAS_COME.get_or_init(Arc::default);
    // A signal handler may do next to nothing, so a thread waits for the signals and acts. What
    // collects them comes first: a signal that the handlers below do not see yet is not lost.
    let obeyed = [SIGINT, SIGTERM, SIGHUP];
    let obeyed = obeyed
        .into_iter()
        .filter(|signal| *signal != SIGHUP || !is_hangup_ignored());
    let mut signals = Signals::new(obeyed.clone())?;
    for signal in obeyed {
        // In this order: the second signal finds the flag that the first one set.
        flag::register_conditional_shutdown(signal, INTERRUPTED.into(), Arc::clone(has_come))?;
        flag::register(signal, Arc::clone(has_come))?;
    }
    flag::register(SIGXFSZ, Arc::default())?;
    thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || {
            if signals.forever().next().is_some() {
                // The flag is left to the handlers: set here, the first signal could pass for a second.
                stop_process()
            }
        })?;
    Ok(())
}

/// Returns whether the process was started to outlive its terminal, as by `nohup`; also where the system does not tell.
fn is_hangup_ignored() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mut masks = status
        .lines()
        .filter_map(|line| line.strip_prefix("SigIgn:"));
    let mask = masks
        .next()
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_none_or(|mask| mask & (1 << (SIGHUP - 1)) != 0)
}

/// Has something else said where the process ends at once: what a command has made by then may want another command.
pub(crate) fn set_last_word(word: &'static str) {
    *LAST_WORD.lock().unwrap_or_else(PoisonError::into_inner) = word;
}

/// Stops the command in its way, if it has one, and ends the process where that takes too long.
fn stop_process() -> ! {
    let came = Instant::now();
    let mut stop = orderly_stop();
    let Some(stop) = stop.as_mut() else {
        let last_word = LAST_WORD.lock().unwrap_or_else(PoisonError::into_inner);
        end(&(*last_word).into());
    };
    tell("stopping", &stop.announcement);
    (stop.ask)();
    while let Some(left) = LONGEST_STOP.checked_sub(came.elapsed()) {
        // Wakes up now and then without a reason.
        thread::park_timeout(left);
    }
    end(&stop.given_up);
}

/// Ends the process with a last word.
fn end(word: &Told) -> ! {
    tell("notice", word);
    exit(INTERRUPTED.into())
}

/// Tells the user something: for machines an event of this kind, unless it is logged.
fn tell(event: &str, told: &Told) {
    match told {
        Told::Line(line) => {
            // A terminal shows ^C, and perhaps a bar, where the line would begin.
            let begin = if stderr().is_terminal() { "\n" } else { "" };
            notice::tell(event, begin, line);
        }
        Told::Logged(entry) => tracing::warn!("{entry}"),
    }
}

/// Locks the way in which the command stops.
fn orderly_stop() -> MutexGuard<'static, Option<OrderlyStop>> {
    ORDERLY_STOP.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes the first signal call `ask` from now on, on a thread of its own, instead of ending the
/// process. The user is told `announcement` at once, and `given_up` if the process must be ended.
pub(crate) fn on_interrupt(
    announcement: impl Into<Told>,
    given_up: impl Into<Told>,
    ask: impl FnMut() + Send + 'static,
) {
    // Where the signal has come already, its thread holds the lock until the process ends.
    *orderly_stop() = Some(OrderlyStop {
        announcement: announcement.into(),
        given_up: given_up.into(),
        ask: Box::new(ask),
    });
}

/// Returns a signal that the first one of the system sets, for a command that is then to be given again.
#[must_use]
pub(crate) fn stop_on_interrupt() -> StopSignal {
    let stop = StopSignal::default();
    let stopped = stop.clone();
    on_interrupt("stopping", AGAIN, move || stopped.stop());
    stop
}

/// Returns a flag that the first signal sets, for work that removes what it made when it is
/// cancelled.
#[must_use]
pub(crate) fn cancel_on_interrupt() -> Cancel {
    let cancel = Cancel::new();
    let cancelled = cancel.clone();
    on_interrupt("stopping", AGAIN, move || cancelled.cancel());
    cancel
}

/// Returns whether a signal has come.
#[must_use]
pub(crate) fn is_interrupted() -> bool {
    // Relaxed, as no other memory is published by the flag.
    HAS_COME
        .get()
        .is_some_and(|has_come| has_come.load(Ordering::Relaxed))
}
