//! Workspaces that go from a forward pass to its backward pass, and back into a pool.

use std::sync::{Arc, Mutex, PoisonError};

/// Workspaces of one layer that no pass uses at the moment.
///
/// A pass takes one and keeps it until its gradients are computed, or its graph is dropped. So a
/// training step after the first allocates none, however many graphs are alive at once.
#[derive(Debug)]
pub(crate) struct Pool<T>(Arc<Mutex<Vec<T>>>);

impl<T> Default for Pool<T> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<T> Clone for Pool<T> {
    /// A clone of a layer shares its workspaces: they hold nothing between passes.
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Pool<T> {
    /// Takes a workspace that fits, or makes one.
    pub(crate) fn take(&self, fits: impl Fn(&T) -> bool, make: impl FnOnce() -> T) -> Lease<T> {
        let mut free = self.0.lock().unwrap_or_else(PoisonError::into_inner);
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
        let mut free = self.pool.0.lock().unwrap_or_else(PoisonError::into_inner);
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
