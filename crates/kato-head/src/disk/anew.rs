//! Writing the counts of all that a store holds, as counts that add to no others.

use std::path::Path;

use kato_store::scratch::ScratchDir;
use kato_store::visit::StoredContent;
use kato_store::{EmbeddedStore, PatternStore};

use super::columns::Columns;
use super::counting::{Runs, count};
use super::files::{FORMAT_VERSION, Header, content_of};
use super::merging::{merge, reduce};
use super::nodes::{Assembler, Node, Nodes, each_node};
use super::writing::{NgramWriter, Written};
use super::{CountsError, CountsOptions};
use crate::collect::Missing;
use crate::{Counted, Head, HeadOptions};

/// What was counted of all that a store holds, `None` where that is for memory; and the directory of its working
/// files.
pub(super) struct Shown {
    pub(super) counted: Option<Runs>,
    pub(super) scratch: ScratchDir,
}

impl Shown {
    /// Counts what a store holds.
    fn of(
        store: &EmbeddedStore,
        parent: &Path,
        options: &CountsOptions,
    ) -> Result<Self, CountsError> {
        let scratch = ScratchDir::create_in(parent).map_err(CountsError::io("create", parent))?;
        let order = HeadOptions::default().order;
        let counted = count(store, order, scratch.path(), options)?;
        Ok(Self { counted, scratch })
    }
}

/// The columns of n-grams, and what their header tells of what was counted.
struct Columned {
    written: Written,
    counted: Counted,
    missing: Missing,
    content: StoredContent,
    can_grow: bool,
}

/// Writes the counts of what a store holds into a directory.
pub(super) fn write(
    store: &EmbeddedStore,
    dir: &Path,
    parent: &Path,
    options: &CountsOptions,
    shown: Option<Shown>,
) -> Result<Header, CountsError> {
    let Shown { counted, scratch } = match shown {
        Some(shown) => shown,
        None => Shown::of(store, parent, options)?,
    };
    let columns = Columns::new(dir);
    let check = &|| options.check();
    let columned = match counted {
        Some(runs) => write_runs(runs, columns, scratch.path(), check)?,
        None => write_head(store, columns)?,
    };
    let missing = columned.missing.iter();
    let mut missing: Vec<_> = missing
        .map(|(name, level)| (name.to_string(), *level))
        .collect();
    missing.sort_unstable();
    let mut written = columned.written;
    let continuations = written.write_continuations(scratch.path(), options.sort_bytes, check)?;
    written.write_sums(&continuations, check)?;
    drop(scratch);
    let list = written.columns.finish()?;
    let content = columned.content;
    let header = Header {
        format_version: FORMAT_VERSION,
        content: content.digest.to_string(),
        sources: content.sources.iter().map(ToString::to_string).collect(),
        lower: None,
        order: HeadOptions::default().order,
        levels: store.nodes().len(),
        symbol_bytes: written.symbol_bytes,
        can_grow: columned.can_grow,
        counted: columned.counted,
        missing,
        ngrams: written.ngrams,
        counts: written.counts,
        continuations,
        columns: list.columns,
        checksums_crc32: list.checksums_crc32,
    };
    options.check()?;
    header.write(dir)?;
    Ok(header)
}

/// Writes the n-grams of sorted runs.
fn write_runs(
    runs: Runs,
    columns: Columns,
    scratch: &Path,
    check: &dyn Fn() -> Result<(), CountsError>,
) -> Result<Columned, CountsError> {
    let packing = runs.packing;
    let reduced = reduce(runs.runs, scratch, packing, check)?;
    let texts = runs.texts.iter().zip(&runs.is_used);
    let used: Vec<&str> = texts
        .filter_map(|(text, is_used)| is_used.then_some(&**text))
        .collect();
    let order = HeadOptions::default().order;
    let renumbered = Renumbered {
        writer: NgramWriter::new(columns, order, used.iter().copied())?,
        numbers: numbers(&runs.is_used),
    };
    let mut ngrams = Assembler::new(renumbered, packing);
    merge(reduced, packing, check, |key, times| {
        ngrams.window(key, times)
    })?;
    Ok(Columned {
        written: ngrams.finish()?.writer.finish()?,
        counted: runs.counted,
        missing: runs.missing,
        content: runs.content,
        can_grow: runs.can_grow,
    })
}

/// Counts a store in memory and writes that.
fn write_head(store: &EmbeddedStore, columns: Columns) -> Result<Columned, CountsError> {
    loop {
        let content = content_of(store)?;
        let head = Head::from_store(store, HeadOptions::default())?;
        // A commit in between is in one of the two alone.
        if content_of(store)?.digest != content.digest {
            continue;
        }
        let (trie, texts) = head.in_text_order();
        let texts = texts.iter().map(String::as_str);
        let mut writer = NgramWriter::new(columns, trie.order(), texts)?;
        each_node(&trie, &mut writer)?;
        return Ok(Columned {
            written: writer.finish()?,
            counted: head.counted(),
            missing: head.missing,
            content,
            can_grow: false,
        });
    }
}

/// Returns the numbers that symbols get when those that are not in use get none.
fn numbers(is_used: &[bool]) -> Vec<u32> {
    let mut next = 0;
    let number = |&is_used: &bool| {
        let number = next;
        next += u32::from(is_used);
        number
    };
    is_used.iter().map(number).collect()
}

/// Gives symbols their numbers among those in use, in the same order.
struct Renumbered {
    writer: NgramWriter,
    numbers: Vec<u32>,
}

impl Nodes for Renumbered {
    fn node(&mut self, depth: usize, node: Node) -> Result<(), CountsError> {
        let number = self.numbers.get(node.symbol as usize).copied();
        let symbol = number.unwrap_or(u32::MAX);
        self.writer.node(depth, Node { symbol, ..node })
    }
}
