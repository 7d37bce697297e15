//! A condition on texts that the caller states in code.

use std::fmt;
use std::sync::Arc;

/// Decides which texts become documents.
#[derive(Clone)]
pub(crate) struct Filter {
    name: String,
    keeps: Arc<dyn Fn(&str) -> bool + Send + Sync>,
}

impl Filter {
    pub(crate) fn new(name: String, keeps: impl Fn(&str) -> bool + Send + Sync + 'static) -> Self {
        let keeps = Arc::new(keeps);
        Self { name, keeps }
    }

    /// Returns the name that stands for the condition in identities.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Returns whether a text becomes a document.
    pub(crate) fn keeps(&self, text: &str) -> bool {
        (self.keeps)(text)
    }
}

impl fmt::Debug for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Filter").field(&self.name).finish()
    }
}
