//! Work on each of some segments, on as many threads as the machine runs at once.

use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::thread;

use kato_probe::in_order;

use crate::StoreError;

/// Returns what `work` makes of each piece, in their order, or the first error in that order.
pub(super) fn on_each<P, R: Send>(
    pieces: impl ExactSizeIterator<Item = P> + Send,
    work: impl Fn(P) -> Result<R, StoreError> + Sync,
) -> Result<Vec<R>, StoreError> {
    let n_threads = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let workers = NonZeroUsize::new(n_threads.min(pieces.len())).unwrap_or(NonZeroUsize::MIN);
    let mut results = Vec::with_capacity(pieces.len());
    let mut pieces = pieces;
    let ended = in_order(
        workers,
        || pieces.next(),
        work,
        |result| match result {
            Ok(result) => {
                results.push(result);
                ControlFlow::Continue(())
            }
            Err(error) => ControlFlow::Break(error),
        },
    );
    match ended {
        ControlFlow::Continue(()) => Ok(results),
        ControlFlow::Break(error) => Err(error),
    }
}
