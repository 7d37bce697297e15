//! A word on standard error when something is waited for: a knowledge base that is opened, a server, a
//! database, the listing of a hub, a pipe.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use kato_report::figures;

use crate::notice::{is_for_machines, say};

/// Time that a wait may take before standard error says what it is for.
pub(crate) const PATIENCE: Duration = Duration::from_secs(2);

/// Does something, and says a line on standard error when that takes its time.
pub(crate) fn patiently<T>(line: &str, work: impl FnOnce() -> T) -> T {
    thread::scope(|scope| {
        // Nothing is ever sent: dropping the sender ends the other thread, also when the work fails or
        // panics. The scope waits for it.
        let (done, waiting) = channel();
        scope.spawn(move || tell(line, &waiting));
        let outcome = work();
        drop(done);
        outcome
    })
}

/// Says that something takes its time, until the other end of the channel is dropped.
fn tell(line: &str, done: &Receiver<()>) {
    let start = Instant::now();
    // `Disconnected` says that it took less than the patience.
    if done.recv_timeout(PATIENCE) != Err(RecvTimeoutError::Timeout) {
        return;
    }
    let spinner = Spinner::new(line.to_owned());
    if spinner.0.is_hidden() {
        say(line);
    }
    let _ = done.recv();
    drop(spinner);
    let took = figures::seconds(start.elapsed().as_secs_f64());
    say(format_args!("done in {took}"));
}

/// A spinner on standard error, for work of which nobody can tell how much is done; machines are shown none.
///
/// It goes when it is dropped: an error stands on a line of its own.
#[derive(Debug)]
pub(crate) struct Spinner(ProgressBar);

impl Spinner {
    /// Shows a spinner beside a line.
    pub(crate) fn new(line: String) -> Self {
        let spinner = match is_for_machines() {
            true => ProgressBar::hidden(),
            false => ProgressBar::new_spinner(),
        };
        let spinner = spinner.with_message(line);
        if !spinner.is_hidden() {
            spinner.enable_steady_tick(Duration::from_millis(100));
        }
        Self(spinner)
    }

    /// Shows another line.
    pub(crate) fn say(&self, line: String) {
        self.0.set_message(line);
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// A watch over work that gives signs of going on: a silence is told, with what is waited for.
#[derive(Debug)]
pub(crate) struct Watch {
    signs: Sender<&'static str>,
}

impl Watch {
    /// Begins to watch. `say` is called from another thread with what is waited for: once for a silence,
    /// and then only for one that lasts twice as long.
    pub(crate) fn new(say: impl Fn(&str) + Send + 'static) -> Self {
        let (signs, seen) = channel();
        thread::spawn(move || watch(&seen, say));
        Self { signs }
    }

    /// Notes that the work goes on, and what would be waited for from now on.
    pub(crate) fn note(&self, waited_for: &'static str) {
        // A watch is no reason for work to fail.
        let _ = self.signs.send(waited_for);
    }
}

/// Tells silences, until the watch is dropped.
fn watch(seen: &Receiver<&'static str>, say: impl Fn(&str)) {
    let mut patience = PATIENCE;
    let Ok(mut waited_for) = seen.recv() else {
        return;
    };
    loop {
        match seen.recv_timeout(patience) {
            Ok(sign) => waited_for = sign,
            Err(RecvTimeoutError::Disconnected) => return,
            Err(RecvTimeoutError::Timeout) => {
                say(waited_for);
                patience *= 2;
                match seen.recv() {
                    Ok(sign) => waited_for = sign,
                    Err(_) => return,
                }
            }
        }
    }
}
