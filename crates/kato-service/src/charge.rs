//! What sessions take of the memory that there is for all of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes that all sessions take.
#[derive(Debug, Clone, Default)]
pub(crate) struct Charges(Arc<AtomicUsize>);

/// Bytes that one session takes; given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Charge {
    all: Charges,
    bytes: AtomicUsize,
}

impl Charges {
    pub(crate) fn bytes(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    /// The charge of one more session.
    pub(crate) fn charge(&self, bytes: usize) -> Charge {
        let charge = Charge {
            all: self.clone(),
            bytes: AtomicUsize::new(0),
        };
        charge.set(bytes);
        charge
    }
}

impl Charge {
    /// Takes so many bytes from now on.
    pub(crate) fn set(&self, bytes: usize) {
        let before = self.bytes.swap(bytes, Ordering::Relaxed);
        // Sums that wrap around come right again.
        self.all
            .0
            .fetch_add(bytes.wrapping_sub(before), Ordering::Relaxed);
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.set(0);
    }
}
