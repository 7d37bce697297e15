//! Writing what a store learned after its counts were written, as counts that add to those.

use std::path::Path;

use kato_store::visit::ContentDigest;
use kato_store::{EmbeddedStore, PatternStore};

use super::chain::{Chain, find_parts, holds_any};
use super::columns::{Columns, name_of};
use super::files::{Header, LATER_VERSION, content_of};
use super::later::{MOST, count_later};
use super::open::{Use, open_counts};
use super::writing::write_texts;
use super::{CountsError, CountsOptions};
use crate::symbols::SymbolId;
use crate::trie::Since;
use crate::trie::sums::to_bytes;
use crate::{Head, HeadOptions};

/// Bytes of memory that a pattern takes while it is counted on top, about.
const PATTERN_BYTES: usize = 2 << 10;

/// What was counted on top of counts.
pub(super) struct Added {
    head: Head,
    /// The counts that it was counted on top of.
    pub(super) lower: Chain,
    content: ContentDigest,
    /// The digests of what was counted, ascending.
    sources: Vec<ContentDigest>,
    /// Symbols that those below know.
    n_symbols: usize,
}

/// Counts what a store holds and its counts lack on top of them; `None` where all is better counted anew.
pub(super) fn count_added(
    store: &EmbeddedStore,
    options: &CountsOptions,
) -> Result<Option<Added>, CountsError> {
    let content = content_of(store)?;
    if content.digest != store.content_digest() {
        // What is retired is in the counts below.
        return Ok(None);
    }
    let most = (options.sort_bytes / PATTERN_BYTES).max(1 << 12) as u64;
    let usual = HeadOptions::default();
    let is_better = |(chain, lacks): &(Chain, u64)| {
        *lacks <= most && chain.top().order == usual.order && chain.takes(*lacks)
    };
    let mut parts = find_parts(store, &content.sources).into_iter();
    let Some((lower, _)) = parts.find(is_better) else {
        return Ok(None);
    };
    let n_levels = store.nodes().len();
    let Ok(mut head) = open_counts(&lower, n_levels, None, usual, Use::Adding) else {
        // They are written anew.
        return Ok(None);
    };
    let n_symbols = head.symbols.len();
    options.check()?;
    let is_cancelled = || options.check().is_err();
    let counted =
        head.read_checked_mut(|head| count_later(head, store, &lower.covered, &is_cancelled));
    options.check()?;
    let is_counted = match counted {
        Some(counted) => counted?,
        None => false,
    };
    if !is_counted || content_of(store)?.digest != content.digest {
        return Ok(None);
    }
    let mut covered = lower.covered.iter().peekable();
    // Both ascend, and all that is covered is among the sources.
    let sources = content.sources.into_iter();
    let sources = sources.filter(|source| covered.next_if_eq(&source).is_none());
    Ok(Some(Added {
        head,
        content: content.digest,
        sources: sources.collect(),
        n_symbols,
        lower,
    }))
}

impl Added {
    /// Writes what was counted into a directory, and returns its header.
    pub(super) fn write(&self, store: &EmbeddedStore, dir: &Path) -> Result<Header, CountsError> {
        let mut columns = Columns::new(dir);
        let new = (self.n_symbols..self.head.symbols.len()).filter_map(|number| {
            // Numbers have 32 bits.
            self.head.symbols.text(SymbolId(number as u32))
        });
        write_texts(&mut columns, new)?;
        let trie = &self.head.trie;
        let order = trie.order();
        for (length, since) in trie.since().iter().enumerate() {
            write_since(&mut columns, length + 1, since)?;
        }
        let list = columns.finish()?;
        let header = Header {
            format_version: LATER_VERSION,
            content: self.content.to_string(),
            sources: self.sources.iter().map(ToString::to_string).collect(),
            lower: Some(self.lower.top().content.clone()),
            order,
            levels: store.nodes().len(),
            symbol_bytes: self.lower.top().symbol_bytes,
            can_grow: true,
            counted: self.head.counted(),
            missing: Vec::new(),
            ngrams: trie
                .levels()
                .iter()
                .map(|level| level.len() as u64)
                .collect(),
            counts: (1..=order).map(|n| trie.counts(n)).collect(),
            continuations: (1..=order).map(|n| trie.continuations(n)).collect(),
            columns: list.columns,
            checksums_crc32: list.checksums_crc32,
        };
        header.write(dir)?;
        Ok(header)
    }
}

/// Writes what is new and what is changed of the n-grams of `n` symbols.
fn write_since(columns: &mut Columns, n: usize, since: &Since) -> Result<(), CountsError> {
    let mut write = |name: &str, numbers: &mut dyn Iterator<Item = u32>| {
        let name = name_of(n, name);
        let mut column = columns.create(&name)?;
        for number in numbers {
            column.push(&number.to_le_bytes())?;
        }
        columns.end(&name, column)
    };
    let Since {
        changed,
        added,
        sums,
    } = since;
    write("changed", &mut changed.iter().map(|(id, _)| *id))?;
    let counts = changed.iter().map(|(_, counts)| *counts);
    write(
        "changed_counts",
        &mut counts.flat_map(|(count, before)| [count, before]),
    )?;
    let by_context = || added.chunk_by(|(one, _), (other, _)| one == other);
    let contexts = by_context().filter_map(|followers| followers.first());
    write("contexts", &mut contexts.map(|(context, _)| *context))?;
    let ends = by_context().scan(0u32, |end, followers| {
        // There are fewer n-grams than 2³².
        *end += followers.len() as u32;
        Some(*end)
    });
    write("starts", &mut std::iter::once(0).chain(ends))?;
    let ngrams = || added.iter().map(|(_, ngram)| *ngram);
    write("symbols", &mut ngrams().map(|ngram| ngram.symbol))?;
    write(
        "counts",
        &mut ngrams().flat_map(|ngram| [ngram.count, ngram.continuation]),
    )?;
    let (ids, bytes) = (name_of(n - 1, "summed"), name_of(n - 1, "sums"));
    let mut column = (columns.create(&ids)?, columns.create(&bytes)?);
    for (context, of_context) in sums {
        column.0.push(&context.to_le_bytes())?;
        column.1.push(&to_bytes(of_context))?;
    }
    columns.end(&ids, column.0)?;
    columns.end(&bytes, column.1)
}

/// Tokens that were learned from which on the first question writes counts: fewer are counted in about a
/// second.
pub const WRITTEN_TOKENS: u64 = 1_000_000;

/// Returns whether whoever has changed a store is to write its counts again: nobody else writes to it, and
/// somebody has asked for them. There are some then: of a part of what it holds, and the rest is more than can be
/// counted in a moment when they are opened; or only such as nobody can add to, of what was merged, deleted or
/// written by an earlier version. Where there are none they are left to the first question: counting takes longer
/// than learning.
#[must_use]
pub fn is_due(store: &EmbeddedStore) -> bool {
    let Ok(content) = content_of(store) else {
        return false;
    };
    if store.is_written_elsewhere()
        || matches!(Chain::read(store.dir(), content.digest), Ok(Some(_)))
    {
        return false;
    }
    let is_whole = content.digest == store.content_digest();
    let parts = find_parts(store, &content.sources);
    let is_little = |&(_, lacks): &(Chain, u64)| is_whole && lacks <= MOST / 10;
    match parts.is_empty() {
        true => holds_any(store.dir()),
        false => !parts.iter().any(is_little),
    }
}
