//! Memory that a target takes: hostile input must not cost more than it may.

use peak_alloc::PeakAlloc;

#[global_allocator]
static ALLOCATED: PeakAlloc = PeakAlloc;

/// Runs something that may take this many bytes, in a process that does nothing else meanwhile.
///
/// # Panics
///
/// When it takes more.
pub(crate) fn within<T>(most: usize, run: impl FnOnce() -> T) -> T {
    let before = ALLOCATED.current_usage();
    ALLOCATED.reset_peak_usage();
    let value = run();
    let taken = ALLOCATED.peak_usage().saturating_sub(before);
    assert!(taken <= most, "{taken} bytes, and {most} at most");
    value
}
