//! Counting what somebody else walks along a store for.

use std::fmt;
use std::fs::File;
use std::ops::ControlFlow;

use kato_columns::files;
use kato_store::EmbeddedStore;
use kato_store::scratch::ScratchDir;
use kato_store::visit::{OrderedNode, OrderedVisitor, StoredContent, VisitedPattern};

use super::anew::Shown;
use super::build::build_locked;
use super::chain::find_parts;
use super::counting::Counter;
use super::files::{content_dir, content_of, counts_dir};
use super::{CountsError, CountsOptions, CountsReport};
use crate::HeadOptions;

/// A visitor that counts what it is shown of a store, so that this is walked along once for the counts and for
/// what somebody else makes of it, such as an index.
///
/// ```
/// use kato_head::disk::{Counting, CountsOptions};
/// use kato_store::EmbeddedStore;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let dir = tempfile::tempdir()?;
/// # let kb = dir.path().join("kb");
/// # drop(EmbeddedStore::create(&kb, &["node0"], serde_json::Value::Null)?);
/// let store = EmbeddedStore::open_read_only(&kb)?;
/// let options = CountsOptions::default();
/// if let Some(mut counting) = Counting::begin(&store, &options)? {
///     store.visit_in_order(&mut counting)?;
///     assert!(!counting.finish()?.was_there);
/// }
/// # Ok(())
/// # }
/// ```
pub struct Counting<'a> {
    store: &'a EmbeddedStore,
    options: CountsOptions,
    counter: Counter,
    scratch: ScratchDir,
    _lock: File,
}

impl fmt::Debug for Counting<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Counting").finish_non_exhaustive()
    }
}

impl<'a> Counting<'a> {
    /// Begins to count a store, while nobody else does. Nothing is read. `None` where nobody needs all of it
    /// counted, because there are counts to be kept, or to be added to: [`build`](super::build()) does.
    ///
    /// # Errors
    ///
    /// [`CountsError`]; counts that are there are as before.
    pub fn begin(
        store: &'a EmbeddedStore,
        options: &CountsOptions,
    ) -> Result<Option<Self>, CountsError> {
        let parent = counts_dir(store.dir());
        let lock = files::lock(&parent)?;
        let content = content_of(store)?;
        let is_there = content_dir(store.dir(), content.digest).exists();
        if is_there || !find_parts(store, &content.sources).is_empty() {
            return Ok(None);
        }
        let scratch = ScratchDir::create_in(&parent).map_err(CountsError::io("create", &parent))?;
        let order = HeadOptions::default().order;
        Ok(Some(Self {
            store,
            options: options.clone(),
            counter: Counter::new(store, order, scratch.path(), options)?,
            scratch,
            _lock: lock,
        }))
    }

    /// Writes the counts as [`build`](super::build()) does. What it was not shown whole is counted now.
    ///
    /// # Errors
    ///
    /// [`CountsError`]; counts that were there are as before.
    pub fn finish(self) -> Result<CountsReport, CountsError> {
        let shown = match self.counter.has_seen(self.store) {
            true => Some(Shown {
                counted: self.counter.finish()?,
                scratch: self.scratch,
            }),
            false => None,
        };
        build_locked(self.store, &self.options, shown)
    }
}

impl OrderedVisitor for Counting<'_> {
    fn node(&mut self, node: &OrderedNode<'_>) {
        self.counter.node(node);
    }

    fn pattern(&mut self, pattern: &VisitedPattern<'_>) -> ControlFlow<()> {
        self.counter.pattern(pattern)
    }

    fn end(&mut self, content: &StoredContent) {
        self.counter.end(content);
    }
}
