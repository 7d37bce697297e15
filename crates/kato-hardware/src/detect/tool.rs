//! Running of vendors' tools, which are ended when they hang.

use std::io::{self, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

/// Most bytes of an output that are read: more than any list of devices has.
const MAX_OUTPUT: u64 = 1 << 20;
/// Interval at which the end of a tool is checked.
const POLL_INTERVAL: Duration = Duration::from_millis(10);
/// Time for a killed tool to end; one that hangs in a driver may never.
const KILL_TIMEOUT: Duration = Duration::from_millis(500);

/// The answer of a tool.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) is_success: bool,
    /// Its output, or its error output where that is empty.
    pub(crate) text: String,
}

/// Asks a tool of the directory given, or of the search path, for at most `limit`.
///
/// # Errors
///
/// The reason why there is no answer, and what to do.
pub(crate) fn ask(
    directory: Option<&Path>,
    program: &str,
    arguments: &[&str],
    limit: Duration,
) -> Result<Answer, String> {
    let mut child = spawn(directory, program, arguments)?;
    let outputs = match read_outputs(&mut child) {
        Ok(outputs) => outputs,
        Err(error) => {
            kill(&mut child);
            return Err(format!(
                "no thread could be started ({error}): raise the limit of processes"
            ));
        }
    };
    let start = Instant::now();
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if start.elapsed() < limit => thread::sleep(POLL_INTERVAL),
            Ok(None) => {
                kill(&mut child);
                return Err(format!(
                    "{program} did not answer within {:.1} s and was ended: see whether the driver hangs",
                    limit.as_secs_f64()
                ));
            }
            Err(error) => {
                kill(&mut child);
                return Err(format!("{program} cannot be waited for ({error})"));
            }
        }
    };
    let mut texts = [String::new(), String::new()];
    for _ in 0..texts.len() {
        // A child of the tool may hold the pipes open. What the tool wrote is lost then, as it is
        // not known to be complete.
        // At least a moment: the output of a tool that has just ended is on its way.
        let rest = limit.saturating_sub(start.elapsed()).max(POLL_INTERVAL);
        let Ok((place, bytes)) = outputs.recv_timeout(rest) else {
            return Err(format!(
                "{program} left its output open: see what it started"
            ));
        };
        texts[place] = String::from_utf8_lossy(&bytes).into_owned();
    }
    let [out, errors] = texts;
    Ok(Answer {
        is_success: status.success(),
        text: if out.trim().is_empty() { errors } else { out },
    })
}

/// Starts a tool; an error says why it cannot be started, and what to do.
fn spawn(directory: Option<&Path>, program: &str, arguments: &[&str]) -> Result<Child, String> {
    let path = directory.map_or_else(|| program.into(), |directory| directory.join(program));
    let spawned = Command::new(&path)
        .args(arguments)
        // A tool that asks something gets an end of file, and does not wait.
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    spawned.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => {
            format!("{program} is not there: install the vendor's tools to see its devices")
        }
        _ => format!("{program} cannot be started ({error}): see its permissions"),
    })
}

/// Reads the output and the error output of a tool, which come as 0 and 1.
fn read_outputs(child: &mut Child) -> io::Result<Receiver<(usize, Vec<u8>)>> {
    let (sender, receiver) = mpsc::channel();
    // Both are there, as they were asked for, so the first place is that of the output.
    let outputs: [Option<Box<dyn Read + Send>>; 2] = [
        child.stdout.take().map(|pipe| Box::new(pipe) as _),
        child.stderr.take().map(|pipe| Box::new(pipe) as _),
    ];
    for (place, pipe) in outputs.into_iter().flatten().enumerate() {
        let sender = sender.clone();
        // On threads of their own: a tool that fills a pipe which nobody reads would seem to hang.
        thread::Builder::new().spawn(move || {
            let mut bytes = Vec::new();
            // What was read before an error counts as the output. The receiver may have given up.
            let _ = pipe.take(MAX_OUTPUT).read_to_end(&mut bytes);
            let _ = sender.send((place, bytes));
        })?;
    }
    // The sender is dropped here, so that the receiver sees when a reading thread has ended without a
    // word.
    Ok(receiver)
}

/// Kills a tool and waits a moment for it, so that it leaves no entry in the list of processes.
fn kill(child: &mut Child) {
    // It may have ended by itself.
    let _ = child.kill();
    let start = Instant::now();
    while start.elapsed() < KILL_TIMEOUT && matches!(child.try_wait(), Ok(None)) {
        thread::sleep(POLL_INTERVAL);
    }
}
