//! Work on several threads whose results arrive in the order of what they were made of.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;

/// Pieces in flight for each worker: one that is worked on, and one that waits for its turn.
const IN_FLIGHT: usize = 2;

/// Draws pieces one after the other with `draw`, works on them on `workers` threads, and gives the
/// results to `take` in the order of drawing, on the calling thread.
///
/// At most two pieces a worker are in memory. It ends when there are no more pieces, or when `take`
/// breaks, and returns what that broke with. A panic of `draw`, `work` or `take` ends it, too, and is
/// passed on.
///
/// Take it where pieces come one after the other from something that is read once, such as the lines of a
/// file, each takes some time, and the results are wanted as if one thread had done it all. Pieces are drawn
/// as they are needed, so a file of any size takes the memory of a few of them. Threads are started for each
/// call, and a piece is handed from thread to thread, which takes some microseconds: pieces that take less
/// are better drawn many at a time.
///
/// ```
/// use std::num::NonZeroUsize;
/// use std::ops::ControlFlow;
///
/// use kato_probe::in_order;
///
/// let mut lines = "1 2 3\n4 5\n6".lines();
/// let mut sums = Vec::new();
/// let workers = NonZeroUsize::new(2).unwrap();
/// let ended: ControlFlow<()> = in_order(
///     workers,
///     || lines.next(),
///     |line| line.split(' ').map(|number| number.parse::<u32>().unwrap()).sum::<u32>(),
///     |sum| {
///         sums.push(sum);
///         ControlFlow::Continue(())
///     },
/// );
/// assert!(ended.is_continue());
/// assert_eq!(sums, [6, 9, 6]);
/// ```
pub fn in_order<P, R, B>(
    workers: NonZeroUsize,
    draw: impl FnMut() -> Option<P> + Send,
    work: impl Fn(P) -> R + Sync,
    mut take: impl FnMut(R) -> ControlFlow<B>,
) -> ControlFlow<B>
where
    R: Send,
{
    // A permit is one piece in flight. Without them, one slow piece would let all that follow it
    // pile up.
    let (permits, permitted) = mpsc::channel();
    let (results, finished) = mpsc::channel();
    for _ in 0..workers.get() * IN_FLIGHT {
        // Both ends are here, so this cannot fail.
        let _ = permits.send(());
    }
    let queue = Mutex::new((permitted, Some(draw), 0_u64));
    let worker = |results: mpsc::Sender<(u64, thread::Result<R>)>| {
        loop {
            let (idx, piece) = {
                // The permit is waited for under the lock: whoever has the lock draws next, so
                // nobody else could draw meanwhile. Drawing under it makes the numbers those of the
                // order.
                let mut queue = queue.lock().unwrap_or_else(PoisonError::into_inner);
                let (permitted, drawing, n_drawn) = &mut *queue;
                let Some(draw) = drawing else { return };
                // It fails when no more results are wanted.
                let Ok(()) = permitted.recv() else { return };
                let drawn = catch_unwind(AssertUnwindSafe(draw)).transpose();
                // Nobody asks again after the end: there may be more behind it, as on a terminal. Nor
                // after a panic, which leaves things half done.
                if !matches!(drawn, Some(Ok(_))) {
                    *drawing = None;
                }
                let Some(drawn) = drawn else { return };
                *n_drawn += 1;
                (*n_drawn - 1, drawn)
            };
            // The caller waits for every number, so that a panic must arrive as a result. It is
            // resumed there, and nothing that it may have left half done is used again.
            let result = piece.and_then(|piece| catch_unwind(AssertUnwindSafe(|| work(piece))));
            if results.send((idx, result)).is_err() {
                return;
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..workers.get() {
            let (worker, results) = (&worker, results.clone());
            scope.spawn(move || worker(results));
        }
        // The workers have clones: the loop below ends when the last worker does.
        drop(results);
        // Moved into this closure, so that they are dropped at its end, also on an error or a
        // panic. That ends the workers, for which the scope then waits.
        let (permits, finished) = (permits, finished);
        let mut waiting = BTreeMap::new();
        let mut n_taken = 0;
        for (idx, result) in finished {
            waiting.insert(idx, result);
            while let Some(result) = waiting.remove(&n_taken) {
                n_taken += 1;
                let result = result.unwrap_or_else(|panic| resume_unwind(panic));
                take(result)?;
                // It fails when all workers are done; then nothing is missing.
                let _ = permits.send(());
            }
        }
        ControlFlow::Continue(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workers(n: usize) -> NonZeroUsize {
        NonZeroUsize::new(n).unwrap()
    }

    #[test]
    fn results_come_in_the_order_of_drawing() {
        for n in [1, 2, 7] {
            let mut pieces = 0..1000;
            let mut taken = Vec::new();
            let ended: ControlFlow<()> = in_order(
                workers(n),
                || pieces.next(),
                |piece| piece * 2,
                |result| {
                    taken.push(result);
                    ControlFlow::Continue(())
                },
            );
            assert!(ended.is_continue());
            assert!(taken.into_iter().eq((0..1000).map(|piece| piece * 2)));
        }
    }

    #[test]
    fn no_more_is_drawn_than_permitted() {
        for n in [1, 3] {
            let mut n_drawn = 0;
            let ended = in_order(
                workers(n),
                || {
                    n_drawn += 1;
                    Some(n_drawn)
                },
                |piece| piece,
                |piece| match piece {
                    10 => ControlFlow::Break("enough"),
                    _ => ControlFlow::Continue(()),
                },
            );
            assert_eq!(ended, ControlFlow::Break("enough"));
            assert!(n_drawn <= 9 + IN_FLIGHT * n, "{n_drawn} drawn");
        }
    }

    #[test]
    #[should_panic(expected = "piece 3")]
    fn a_panic_is_passed_on() {
        let mut pieces = 0..1000;
        let _: ControlFlow<()> = in_order(
            workers(2),
            || pieces.next(),
            |piece| assert_ne!(piece, 3, "piece 3"),
            |()| ControlFlow::Continue(()),
        );
    }

    #[test]
    #[should_panic(expected = "piece 3")]
    fn a_panic_of_drawing_is_passed_on_in_its_place() {
        let mut pieces = 0..1000;
        let mut n_taken = 0;
        let _: ControlFlow<()> = in_order(
            workers(2),
            || {
                pieces
                    .next()
                    .inspect(|&piece| assert_ne!(piece, 3, "piece 3"))
            },
            |piece| piece,
            |piece| {
                assert_eq!(piece, n_taken);
                n_taken += 1;
                ControlFlow::Continue(())
            },
        );
    }

    #[test]
    fn nothing_is_drawn_behind_the_end() {
        for n in [1, 2, 7] {
            let mut n_draws = 0;
            let mut taken = Vec::new();
            let ended: ControlFlow<()> = in_order(
                workers(n),
                || {
                    n_draws += 1;
                    (n_draws != 4).then_some(n_draws)
                },
                |piece| piece,
                |piece| {
                    taken.push(piece);
                    ControlFlow::Continue(())
                },
            );
            assert!(ended.is_continue());
            assert_eq!((n_draws, taken), (4, vec![1, 2, 3]));
        }
    }

    #[test]
    fn stopping_ends_everything() {
        let mut n_taken = 0;
        let ended = in_order(
            workers(4),
            || Some(()),
            |()| (),
            |()| {
                n_taken += 1;
                ControlFlow::Break(())
            },
        );
        assert_eq!((ended, n_taken), (ControlFlow::Break(()), 1));
    }
}
