//! A process that works for this one, and ends with it.

use std::io::{self, Read};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Time between two looks at the flag.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Runs a program to its end and returns what it has printed; `None` once a flag is set, as
/// [`Signals::begin_training`](super::Signals::begin_training) returns one: then the program is ended, and
/// nothing that it has printed is kept. It reads nothing from standard input.
///
/// ```
/// use std::process::Command;
/// use std::sync::atomic::AtomicBool;
///
/// use kato_neural::run::output_unless_interrupted;
///
/// let output = output_unless_interrupted(Command::new("echo").arg("done"), &AtomicBool::new(false))?;
/// assert_eq!(output.expect("nobody interrupts it").stdout, b"done\n");
/// let ended = output_unless_interrupted(Command::new("sleep").arg("600"), &AtomicBool::new(true))?;
/// assert!(ended.is_none());
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
///
/// When the program cannot be started, or not be listened to.
pub fn output_unless_interrupted(
    command: &mut Command,
    interrupt: &AtomicBool,
) -> io::Result<Option<Output>> {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    // Both are read at once: a program whose words nobody takes waits for ever.
    let (stdout, stderr) = (
        read_beside(child.stdout.take()),
        read_beside(child.stderr.take()),
    );
    let is_interrupted = loop {
        if stdout.is_finished() && stderr.is_finished() {
            break false;
        }
        // Relaxed, as no other memory is published by the flag.
        if interrupt.load(Ordering::Relaxed) {
            // Nothing that it makes is kept. Ctrl-C may have reached it as well.
            drop(child.kill());
            break true;
        }
        thread::park_timeout(POLL_INTERVAL);
    };
    let status = child.wait()?;
    if is_interrupted {
        return Ok(None);
    }
    let output = Output {
        status,
        stdout: taken(stdout)?,
        stderr: taken(stderr)?,
    };
    // The signal comes before the failure of a program that it ended.
    Ok((!interrupt.load(Ordering::Relaxed)).then_some(output))
}

/// Reads all that a program prints on a thread of its own, which wakes this one when it is done.
fn read_beside(printed: Option<impl Read + Send + 'static>) -> JoinHandle<io::Result<Vec<u8>>> {
    let waiting = thread::current();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = printed.map_or(Ok(0), |mut printed| printed.read_to_end(&mut bytes));
        waiting.unpark();
        read.map(|_| bytes)
    })
}

/// Returns what a thread has read.
fn taken(reading: JoinHandle<io::Result<Vec<u8>>>) -> io::Result<Vec<u8>> {
    let read = reading.join();
    read.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
