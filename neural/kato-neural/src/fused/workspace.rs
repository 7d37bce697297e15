//! Workspaces that go from a forward pass to its backward pass, and back into a pool.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Values that the nodes of a layer keep to shorten their way back, at most: 16 MiB.
const MAX_KEPT: usize = 1 << 22;

/// Workspaces of one layer that no pass uses at the moment.
///
/// A pass takes one and keeps it until its gradients are computed, or its graph is dropped. So a
/// training step after the first allocates none, however many graphs are alive at once.
#[derive(Debug)]
pub(crate) struct Pool<T> {
    free: Arc<Mutex<Vec<T>>>,
    n_kept: Arc<AtomicUsize>,
}

impl<T> Default for Pool<T> {
    fn default() -> Self {
        Self {
            free: Arc::default(),
            n_kept: Arc::default(),
        }
    }
}

impl<T> Clone for Pool<T> {
    /// A clone of a layer shares its workspaces: they hold nothing between passes.
    fn clone(&self) -> Self {
        Self {
            free: Arc::clone(&self.free),
            n_kept: Arc::clone(&self.n_kept),
        }
    }
}

impl<T> Pool<T> {
    /// Gives room for values that shorten a way back; `None` where there are none, or the layer's nodes keep many.
    pub(crate) fn keep(&self, n: usize) -> Option<Kept> {
        let add = |kept: usize| kept.checked_add(n).filter(|&sum| n > 0 && sum <= MAX_KEPT);
        let n_kept = Arc::clone(&self.n_kept);
        n_kept
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, add)
            .ok()?;
        let values = vec![0.0; n];
        Some(Kept { values, n_kept })
    }

    /// Takes a workspace that fits, or makes one.
    pub(crate) fn take(&self, fits: impl Fn(&T) -> bool, make: impl FnOnce() -> T) -> Lease<T> {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        // Any that fits: a pass overwrites all that it reads.
        let place = free.iter().position(fits);
        let item = place.map(|place| free.swap_remove(place));
        // Those of another precision would only keep memory.
        if item.is_none() {
            free.clear();
        }
        drop(free);
        Lease {
            item: Some(item.unwrap_or_else(make)),
            pool: self.clone(),
        }
    }
}

/// Values that one node of a layer keeps.
#[derive(Debug)]
pub(crate) struct Kept {
    pub(crate) values: Vec<f32>,
    n_kept: Arc<AtomicUsize>,
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.n_kept.fetch_sub(self.values.len(), Ordering::Relaxed);
    }
}

/// A workspace in use; it returns to its pool when it is dropped.
#[derive(Debug)]
pub(crate) struct Lease<T> {
    item: Option<T>,
    pool: Pool<T>,
}

impl<T> Lease<T> {
    pub(crate) const fn get(&mut self) -> &mut T {
        self.item.as_mut().expect("present until it is dropped")
    }
}

impl<T> Drop for Lease<T> {
    fn drop(&mut self) {
        let free = &self.pool.free;
        let mut free = free.lock().unwrap_or_else(PoisonError::into_inner);
        // Also where a graph is dropped without its way back.
        free.extend(self.item.take());
    }
}

/// A workspace inside a graph, which wants its state to be cloned and sent.
#[derive(Debug)]
pub(crate) struct Held<T>(Arc<Mutex<Lease<T>>>);

impl<T> Clone for Held<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Held<T> {
    pub(crate) fn new(lease: Lease<T>) -> Self {
        Self(Arc::new(Mutex::new(lease)))
    }

    /// Uses the workspace.
    pub(crate) fn with<R>(&self, work: impl FnOnce(&mut T) -> R) -> R {
        work(self.0.lock().unwrap_or_else(PoisonError::into_inner).get())
    }
}
