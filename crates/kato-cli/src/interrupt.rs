//! Ctrl-C and termination: the first signal asks the run to commit and end, the second ends the
//! process at once.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;

use kato_scheduler::StopSignal;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use signal_hook::iterator::Signals;

/// Exit code of a run that was interrupted and can be resumed: 128 + SIGINT, as shells report it.
pub(crate) const INTERRUPTED: u8 = 130;

/// Makes SIGINT and SIGTERM stop the run.
///
/// # Errors
///
/// When the operating system refuses to register the handlers.
pub(crate) fn stop_on_interrupt(stop: StopSignal) -> io::Result<()> {
    on_interrupt(move || stop.stop())
}

/// Calls `act` on SIGINT and SIGTERM, on a thread of its own.
///
/// # Errors
///
/// When the operating system refuses to register the handlers.
pub(crate) fn on_interrupt(mut act: impl FnMut() + Send + 'static) -> io::Result<()> {
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        // In this order: the second signal finds the flag that the first one set.
        flag::register_conditional_shutdown(
            signal,
            i32::from(INTERRUPTED),
            Arc::clone(&interrupted),
        )?;
        flag::register(signal, Arc::clone(&interrupted))?;
    }
    // A signal handler may do next to nothing, so a thread waits for the signals and acts.
    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || {
            for _signal in signals.forever() {
                act();
            }
        })?;
    Ok(())
}
