//! Parallel training: documents in, committed knowledge out, the same result for any worker count.
