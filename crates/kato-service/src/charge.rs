//! Accounting of the memory that sessions, and nodes, take of what there is for all of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The bytes that all holders take.
#[derive(Debug, Clone, Default)]
pub(crate) struct Charges(Arc<AtomicUsize>);

/// The bytes that one holder takes; given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Charge {
    all: Charges,
    bytes: AtomicUsize,
}

impl Charges {
    /// Returns the bytes that all holders take.
    pub(crate) fn bytes(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    /// Charges one more holder.
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
    /// Returns the bytes that the holder takes.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Sets the bytes that the holder takes.
    pub(crate) fn set(&self, bytes: usize) {
        let before = self.bytes.swap(bytes, Ordering::Relaxed);
        // A smaller charge is added as a difference that wraps around, which leaves the right sum.
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
