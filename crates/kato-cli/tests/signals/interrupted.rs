//! A program that is sent a signal.

use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, Output};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Once};
use std::time::{Duration, Instant};

use kato_test_needs::ends_within;
use signal_hook::consts::{SIGHUP, SIGINT};
use signal_hook::flag::{register, register_conditional_shutdown};

use crate::random::Random;
use crate::report::stderr;
use crate::signal::signal;

/// Longest time from a signal to the end of the process.
pub(crate) const LONGEST: Duration = Duration::from_secs(5);

/// Exit code after both signals.
pub(crate) const INTERRUPTED: i32 = 130;

/// Time from the start in which a program may not have begun yet, and then ends as the system does it.
const STARTING: Duration = Duration::from_millis(500);

/// Moments of each kind.
pub(crate) fn n_moments() -> usize {
    let moments = std::env::var("KATO_SIGNAL_MOMENTS").ok();
    moments.map_or(2, |moments| moments.parse().unwrap())
}

/// A program that has ended, and how.
pub(crate) struct Interrupted {
    pub(crate) output: Output,
    /// Whether it had ended when the signal was sent.
    pub(crate) was_over: bool,
}

/// Runs a program, sends it SIGINT, SIGTERM or SIGHUP after a while, and expects it to obey.
pub(crate) fn interrupt(mut command: Command, after: Duration, random: &mut Random) -> Interrupted {
    let name = random.pick(&["INT", "TERM", "HUP"]);
    take_interrupts();
    let mut child = command.spawn().unwrap();
    // The moment is the point: nothing else is waited for.
    let was_over = ends_within(&mut child, after);
    let sent = Instant::now();
    if !was_over {
        signal(&child, name);
    }
    let output = child.wait_with_output().unwrap();
    let took = sent.elapsed();
    assert!(
        took <= LONGEST,
        "{command:?}: {took:.1?} after {name} at {after:?}: {}",
        stderr(&output)
    );
    // It may have been at its last line when the signal came.
    let is_silent = output.stderr.is_empty();
    let was_over = was_over || output.status.code() == Some(0) && is_silent;
    if !was_over {
        let code = output.status.code();
        // Before its first line no program can decide anything: a shell reports 130 and 143 then.
        let is_starting = code.is_none() && after < STARTING && is_silent;
        assert!(
            code == Some(INTERRUPTED) || is_starting,
            "{command:?}: {:?} after {name} at {after:?}, signal {:?}: {}",
            code,
            output.status.signal(),
            stderr(&output)
        );
    }
    Interrupted { output, was_over }
}

/// Lets programs be interrupted before their first line, also where the tests are a job in the background of a script,
/// or run under `nohup`.
fn take_interrupts() {
    static ONCE: Once = Once::new();
    // A shell lets such jobs ignore SIGINT, `nohup` SIGHUP, and programs inherit that. What is caught here is at its
    // default in them.
    ONCE.call_once(|| {
        let always = Arc::new(AtomicBool::new(true));
        register_conditional_shutdown(SIGINT, INTERRUPTED, always).unwrap();
        register(SIGHUP, Arc::default()).unwrap();
    });
}
