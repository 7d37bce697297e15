//! Counting the n-grams of a store in name order, in bounded memory: sorted in batches, which are merged.

mod pattern;

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use kato_model::PatternName;
use kato_store::visit::{OrderedNode, OrderedVisitor, StoredContent, VisitedPattern};
use kato_store::{EmbeddedStore, PatternStore, Tombstones};

use super::batches::Batches;
use super::edges::{EdgeFile, EdgeSize, EdgeWriter};
use super::runs::Run;
use super::{CountsError, CountsOptions};
use crate::Counted;
use crate::collect::{Child, Edges, Missing};
use crate::trie::Packing;

/// What was counted of a store.
pub(super) struct Runs {
    pub(super) content: StoredContent,
    pub(super) packing: Packing,
    pub(super) runs: Vec<Run>,
    pub(super) counted: Counted,
    pub(super) missing: Missing,
    /// Whether it is all that the store holds, so that what comes later can be counted on top.
    pub(super) can_grow: bool,
    /// The texts of the lowest level, ascending, by the numbers that the runs have.
    pub(super) texts: Vec<String>,
    /// Of each, whether any n-gram can hold it.
    pub(super) is_used: Vec<bool>,
}

/// Counts all levels of a store; `None` where a name may stand for patterns of several levels, or for none,
/// which only looking names up tells, and where there are millions of symbols.
pub(super) fn count(
    store: &EmbeddedStore,
    order: usize,
    scratch: &Path,
    options: &CountsOptions,
) -> Result<Option<Runs>, CountsError> {
    let mut counter = Counter::new(store, order, scratch, options)?;
    let visited = store.visit_in_order(&mut counter);
    // The visitor's own reason first: it is why the visit ended.
    if counter.end.is_none() {
        visited?;
    }
    counter.finish()
}

/// The retired patterns of a level, by place.
type Retired = HashMap<u32, PatternName>;

/// Why a visit ended early.
enum End {
    Error(CountsError),
    IsUnusual,
}

/// A visitor that counts what it is shown.
pub(super) struct Counter {
    options: CountsOptions,
    scratch: PathBuf,
    n_levels: usize,
    tombstones: Vec<Tombstones>,
    /// What was shown; `None` before its end.
    content: Option<StoredContent>,
    level: usize,
    /// Patterns of the level below.
    n_below: u32,
    /// Those of the level at hand so far, and those of the level below.
    retired: Retired,
    retired_below: Retired,
    /// Patterns of the level at hand so far.
    n_of_level: u32,
    /// `None` ahead of the first level.
    batches: Option<Batches>,
    counted: Counted,
    missing: Missing,
    texts: Vec<String>,
    is_used: Vec<bool>,
    /// The ends of the patterns of the level below, by place, and those of the level at hand.
    below: Option<EdgeFile>,
    own: Option<EdgeWriter>,
    order: usize,
    /// Symbols of the pattern at hand, its children and their ends; reused.
    run: Vec<u32>,
    children: Vec<Child>,
    lengths: Vec<u8>,
    edges: Edges,
    n_seen: u64,
    end: Option<End>,
}

impl Counter {
    /// Creates a counter that has seen nothing, of a store without what is retired of it.
    pub(super) fn new(
        store: &EmbeddedStore,
        order: usize,
        scratch: &Path,
        options: &CountsOptions,
    ) -> Result<Self, CountsError> {
        Ok(Self {
            options: options.clone(),
            scratch: scratch.to_owned(),
            n_levels: store.nodes().len(),
            tombstones: Tombstones::of_store(store)?,
            content: None,
            level: 0,
            n_below: 0,
            retired: Retired::default(),
            retired_below: Retired::default(),
            n_of_level: 0,
            batches: None,
            order,
            counted: Counted::default(),
            missing: Missing::default(),
            texts: Vec::new(),
            is_used: Vec::new(),
            below: None,
            own: None,
            run: Vec::new(),
            children: Vec::new(),
            lengths: Vec::new(),
            edges: Edges::new(order - 1),
            n_seen: 0,
            end: None,
        })
    }

    /// Returns whether it was shown all that a store holds now, or as much as told that it cannot count it.
    pub(super) fn has_seen(&self, store: &EmbeddedStore) -> bool {
        let is_all = |content: &StoredContent| content.digest == store.content_digest();
        self.end.is_some() || self.content.as_ref().is_some_and(is_all)
    }

    /// Returns what was counted, as [`count`] does.
    pub(super) fn finish(self) -> Result<Option<Runs>, CountsError> {
        match self.end {
            Some(End::Error(error)) => return Err(error),
            Some(End::IsUnusual) => return Ok(None),
            None => {}
        }
        let Some(mut content) = self.content else {
            return Err(CountsError::Cancelled);
        };
        let whole = content.digest;
        content.digest = whole.without(&self.tombstones);
        // A store of no nodes holds no pattern either.
        let Some(batches) = self.batches else {
            return Ok(None);
        };
        Ok(Some(Runs {
            packing: batches.windows.packing(),
            runs: batches.finish()?,
            counted: self.counted,
            missing: self.missing,
            can_grow: content.digest == whole,
            content,
            texts: self.texts,
            is_used: self.is_used,
        }))
    }

    fn begin_level(&mut self, node: &OrderedNode<'_>) -> Result<(), CountsError> {
        self.level = node.node_idx;
        self.n_below = node.n_below;
        self.n_of_level = 0;
        self.retired_below = std::mem::take(&mut self.retired);
        if node.node_idx == 0 {
            self.texts = node.texts.iter().map(|&text| text.to_owned()).collect();
            self.is_used = vec![false; self.texts.len()];
            let sort_bytes = self.options.sort_bytes;
            let packing = Packing::new(self.order, self.texts.len());
            self.batches = packing.map(|packing| Batches::new(packing, &self.scratch, sort_bytes));
            let is_name = |text: &&str| PatternName::from_symbol(text).is_some();
            if self.batches.is_none() || node.texts.iter().any(is_name) {
                self.end = Some(End::IsUnusual);
            }
        } else if !node.texts.is_empty() {
            // Text, or a name that the level right below does not hold.
            self.end = Some(End::IsUnusual);
        }
        self.below = self.own.take().map(EdgeWriter::finish).transpose()?;
        if node.node_idx + 1 < self.n_levels {
            let path = self.scratch.join(format!("edges-{}", node.node_idx));
            let symbol_bytes = |batches: &Batches| batches.windows.packing().symbol_bytes();
            let size = EdgeSize {
                reach: self.order - 1,
                symbol_bytes: self.batches.as_ref().map_or(4, symbol_bytes),
            };
            self.own = Some(EdgeWriter::create(path, size)?);
        }
        Ok(())
    }
}

impl OrderedVisitor for Counter {
    fn node(&mut self, node: &OrderedNode<'_>) {
        if self.end.is_none()
            && let Err(error) = self.begin_level(node)
        {
            self.end = Some(End::Error(error));
        }
    }

    fn pattern(&mut self, pattern: &VisitedPattern<'_>) -> ControlFlow<()> {
        if self.end.is_some() {
            return ControlFlow::Break(());
        }
        match self.add(pattern) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                self.end = Some(End::Error(error));
                ControlFlow::Break(())
            }
        }
    }

    fn end(&mut self, content: &StoredContent) {
        self.content = Some(content.clone());
    }
}
