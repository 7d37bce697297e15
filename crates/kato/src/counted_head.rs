//! Finding the head's counts of a knowledge base on the disk, or counting them.

use kato_head::disk::{self, CountsOptions, WRITTEN_TOKENS};
use kato_head::{Head, HeadOptions};
use kato_store::{EmbeddedStore, PatternStore};
use kato_tokenizer::Tokenizer;

use crate::Error;

/// Returns the head of a store: of its counts on the disk, which are written first where much was learned
/// and there are none; otherwise of what is counted in memory, where the counts on the disk are damaged,
/// cannot be written, or are others than those asked for, or somebody trains on it. The answers are the same.
pub(crate) fn head_of(
    store: &EmbeddedStore,
    tokenizer: &dyn Tokenizer,
    options: HeadOptions,
) -> Result<Head, Error> {
    let vocabulary = tokenizer.vocabulary();
    let open = || {
        let mut tokens = vocabulary.iter().map(|(_, token)| token);
        let opened = disk::open(store, Some(&mut tokens), options.clone());
        // What cannot be used is passed over.
        opened.ok().flatten()
    };
    if let Some(head) = open() {
        return Ok(head);
    }
    let usual = HeadOptions::default().order;
    let is_written =
        options.order <= usual && options.levels.is_none_or(|n| n >= store.nodes().len());
    // Who trains on it writes counts in the end, and only of what it holds then: ours would be removed, or in its way.
    if is_written
        && !store.is_written_elsewhere()
        && store.totals(0)?.learned_symbols >= WRITTEN_TOKENS
        && disk::build(store, &CountsOptions::default()).is_ok()
        && let Some(head) = open()
    {
        return Ok(head);
    }
    let tokens = vocabulary.iter().map(|(_, token)| token);
    let head = Head::from_store_with_vocabulary(store, tokens, options);
    Ok(head.map_err(kato_hierarchy::HierarchyError::from)?)
}
