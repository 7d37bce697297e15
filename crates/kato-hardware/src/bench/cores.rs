//! Running of the same work on several cores at once.

use std::sync::mpsc;
use std::thread;

/// Executes the work on `n` threads and adds up their windows of (work, seconds), window by window,
/// as long as all have one.
///
/// The work prepares what it needs, then waits for the gate, so that all threads begin together.
///
/// # Errors
///
/// The reason, when not all threads can be started or one of them fails.
pub(crate) fn run_on_cores(
    n: usize,
    work: impl Fn(Gate) -> Result<Vec<(f64, f64)>, String> + Sync,
) -> Result<Vec<(f64, f64)>, String> {
    let results: Result<Vec<Vec<(f64, f64)>>, String> = thread::scope(|scope| {
        let mut threads = Vec::with_capacity(n);
        let mut gates = Vec::with_capacity(n);
        for _ in 0..n {
            // Room for one message each, so that neither side waits for the other to take it.
            let (ready, is_ready) = mpsc::sync_channel(1);
            let (open, opened) = mpsc::sync_channel(1);
            let work = &work;
            let thread = thread::Builder::new()
                .name("kato-hardware".to_owned())
                .spawn_scoped(scope, move || work(Gate { ready, opened }))
                // Returning drops `gates`, which opens every gate with an error. The threads that
                // were started then end, and the scope does not wait for ever.
                .map_err(|error| {
                    format!("no thread could be started ({error}): raise the limit of processes")
                })?;
            threads.push(thread);
            gates.push((is_ready, open));
        }
        for (is_ready, _) in &gates {
            // Fails for a thread that failed while preparing and dropped its end. It must not hold
            // up the others, whose errors or results are waited for below.
            let _ = is_ready.recv();
        }
        for (_, open) in &gates {
            // Fails for the same thread; its error comes with `join`.
            let _ = open.send(());
        }
        threads
            .into_iter()
            .map(|thread| match thread.join() {
                Ok(result) => result,
                Err(_) => Err("a thread failed unexpectedly".to_owned()),
            })
            .collect()
    });
    Ok(sum_windows(&results?))
}

/// The gate at which the threads of [`run_on_cores`] wait for each other.
#[derive(Debug)]
pub(crate) struct Gate {
    ready: mpsc::SyncSender<()>,
    opened: mpsc::Receiver<()>,
}

impl Gate {
    /// Waits until all threads are ready.
    ///
    /// # Errors
    ///
    /// When the threads do not begin, because not all could be started.
    pub(crate) fn wait(self) -> Result<(), String> {
        let closed = |_| "not all threads could be started".to_owned();
        self.ready.send(()).map_err(|_| closed(()))?;
        self.opened.recv().map_err(|_| closed(()))
    }
}

/// Adds up the rates of each window that all threads have, over the mean length of the window.
///
/// Later windows are left out, because some cores may have been idle in them.
fn sum_windows(threads: &[Vec<(f64, f64)>]) -> Vec<(f64, f64)> {
    let n_windows = threads.iter().map(Vec::len).min().unwrap_or(0);
    (0..n_windows)
        .map(|place| {
            let windows = threads.iter().filter_map(|windows| windows.get(place));
            let (rate, seconds) = windows.fold((0.0, 0.0), |sum, (work, seconds)| {
                (sum.0 + work / seconds.max(1e-9), sum.1 + seconds)
            });
            let seconds = seconds / threads.len().max(1) as f64;
            (rate * seconds, seconds)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_of_threads_add_up_in_the_windows_that_all_have() {
        let threads = [vec![(10.0, 1.0), (20.0, 1.0)], vec![(15.0, 0.5)]];
        assert_eq!(sum_windows(&threads), [(40.0 * 0.75, 0.75)]);
        assert!(sum_windows(&[]).is_empty());
    }

    #[test]
    fn a_thread_that_fails_before_the_gate_holds_nobody_up() {
        let first = std::sync::atomic::AtomicBool::new(true);
        let result = run_on_cores(3, |gate| {
            if first.swap(false, std::sync::atomic::Ordering::Relaxed) {
                return Err("expected by the test".to_owned());
            }
            gate.wait()?;
            Ok(vec![(1.0, 1.0)])
        });
        assert_eq!(result, Err("expected by the test".to_owned()));
    }
}
