//! Counting the n-grams of a store in name order, in bounded memory: sorted in batches, which are merged.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;

use kato_map::Map;
use kato_model::PatternName;
use kato_store::visit::{OrderedNode, OrderedVisitor, StoredContent, VisitedPattern};
use kato_store::{EmbeddedStore, PatternStore, Tombstones};

use super::runs::{Run, RunWriter, each_node};
use super::writing::map_scratch;
use super::{BuildOptions, CountsError};
use crate::Counted;
use crate::collect::{BREAK, Child, Edges, Missing, note_missing};
use crate::trie::Batch;

/// Bytes that sorting a window takes, with what becomes of it.
const WINDOW_BYTES: usize = 128;

/// Windows of a batch at least, and at most.
const WINDOWS: std::ops::RangeInclusive<usize> = 1 << 4..=1 << 26;

/// Patterns between two looks whether it was cancelled.
const CHECK_EVERY: u64 = 1 << 12;

/// What was counted of a store.
pub(super) struct Runs {
    pub(super) content: StoredContent,
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
/// which only looking names up tells.
pub(super) fn count(
    store: &EmbeddedStore,
    order: usize,
    scratch: &Path,
    options: &BuildOptions,
) -> Result<Option<Runs>, CountsError> {
    let tombstones = Tombstones::of_store(store)?;
    let mut counter = Counter {
        options,
        scratch,
        n_levels: store.nodes().len(),
        tombstones: &tombstones,
        level: 0,
        n_below: 0,
        retired: Retired::default(),
        retired_below: Retired::default(),
        n_of_level: 0,
        batches: Batches::new(order, scratch, options.sort_bytes),
        counted: Counted::default(),
        missing: Missing::default(),
        texts: Vec::new(),
        is_used: Vec::new(),
        below: None,
        own: None,
        reach: order - 1,
        run: Vec::new(),
        children: Vec::new(),
        edges: Edges::new(order - 1),
        n_seen: 0,
        end: None,
    };
    let visited = store.visit_in_order(&mut counter);
    // The visitor's own reason first: it is why the visit ended.
    match counter.end.take() {
        Some(End::Error(error)) => return Err(error),
        Some(End::NeedsNames) => return Ok(None),
        None => {}
    }
    let Some(mut content) = visited? else {
        return Err(CountsError::Cancelled);
    };
    let whole = content.digest;
    content.digest = whole.without(&tombstones);
    Ok(Some(Runs {
        runs: counter.batches.finish()?,
        counted: counter.counted,
        missing: counter.missing,
        can_grow: content.digest == whole,
        content,
        texts: counter.texts,
        is_used: counter.is_used,
    }))
}

/// The retired patterns of a level, by place.
type Retired = HashMap<u32, PatternName>;

/// Why a visit ended early.
enum End {
    Error(CountsError),
    NeedsNames,
}

struct Counter<'a> {
    options: &'a BuildOptions,
    scratch: &'a Path,
    n_levels: usize,
    tombstones: &'a [Tombstones],
    level: usize,
    /// Patterns of the level below.
    n_below: u32,
    /// Those of the level at hand so far, and those of the level below.
    retired: Retired,
    retired_below: Retired,
    /// Patterns of the level at hand so far.
    n_of_level: u32,
    batches: Batches,
    counted: Counted,
    missing: Missing,
    texts: Vec<String>,
    is_used: Vec<bool>,
    /// The ends of the patterns of the level below, by place, and those of the level at hand.
    below: Option<EdgeFile>,
    own: Option<EdgeWriter>,
    /// One less than the order.
    reach: usize,
    /// Symbols of the pattern at hand, its children and their ends; reused.
    run: Vec<u32>,
    children: Vec<Child>,
    edges: Edges,
    n_seen: u64,
    end: Option<End>,
}

impl Counter<'_> {
    fn begin_level(&mut self, node: &OrderedNode<'_>) -> Result<(), CountsError> {
        self.level = node.node_idx;
        self.n_below = node.n_below;
        self.n_of_level = 0;
        self.retired_below = std::mem::take(&mut self.retired);
        if node.node_idx == 0 {
            self.texts = node.texts.iter().map(|&text| text.to_owned()).collect();
            self.is_used = vec![false; self.texts.len()];
            if node
                .texts
                .iter()
                .any(|text| PatternName::from_symbol(text).is_some())
            {
                self.end = Some(End::NeedsNames);
            }
        } else if !node.texts.is_empty() {
            // Text, or a name that the level right below does not hold.
            self.end = Some(End::NeedsNames);
        }
        self.below = self.own.take().map(EdgeWriter::finish).transpose()?;
        if node.node_idx + 1 < self.n_levels {
            let path = self.scratch.join(format!("edges-{}", node.node_idx));
            self.own = Some(EdgeWriter::create(&path, self.reach)?);
        }
        Ok(())
    }

    fn add(&mut self, pattern: &VisitedPattern<'_>) -> Result<(), CountsError> {
        self.n_seen += 1;
        if self.n_seen.is_multiple_of(CHECK_EVERY) {
            self.options.check()?;
        }
        let place = self.n_of_level;
        self.n_of_level += 1;
        if self.tombstones[self.level].get(&pattern.name).is_some() {
            self.retired.insert(place, pattern.name);
            // Those behind it keep their places.
            return self.own.as_mut().map_or(Ok(()), |own| own.push(&[]));
        }
        let times = u32::try_from(pattern.frequency).unwrap_or(u32::MAX);
        self.counted.patterns += 1;
        self.run.clear();
        if self.level == 0 {
            self.counted.learns = self.counted.learns.saturating_add(pattern.frequency);
            let n_symbols = pattern.symbols.len() as u64;
            let learned = pattern.frequency.saturating_mul(n_symbols);
            self.counted.symbols = self.counted.symbols.saturating_add(learned);
            for event in pattern.events() {
                self.run.push(match *event {
                    [number] => {
                        if let Some(is_used) = self.is_used.get_mut(number as usize) {
                            *is_used = true;
                        }
                        number
                    }
                    // Which of them came first was not learned.
                    _ => {
                        self.counted.wide_events += 1;
                        BREAK
                    }
                });
            }
            for run in self.run.split(|&symbol| symbol == BREAK) {
                self.batches.batch.run(run, times);
            }
        } else {
            self.read_children(pattern);
            let batch = &mut self.batches.batch;
            self.edges
                .crossing_windows(&self.children, |window, n_known| {
                    batch.window(window, n_known, times);
                    Ok::<_, CountsError>(())
                })?;
            if self.own.is_some() {
                self.edges.join(&self.children, &mut self.run);
            }
        }
        if let Some(own) = &mut self.own {
            own.push(&self.run)?;
        }
        self.batches.end_if_full()
    }

    /// Reads the children of a pattern above the lowest level.
    fn read_children(&mut self, pattern: &VisitedPattern<'_>) {
        self.children.clear();
        self.edges.clear();
        for event in pattern.events() {
            let child = match (event, &self.below) {
                (&[number], Some(below))
                    if number < self.n_below && !self.retired_below.contains_key(&number) =>
                {
                    below.read(number, &mut self.run);
                    Some(self.edges.push(&self.run))
                }
                ([number], _) => {
                    self.counted.unknown_names += 1;
                    if let Some(name) = self.retired_below.get(number) {
                        note_missing(&mut self.missing, self.level, *name);
                    }
                    None
                }
                _ => {
                    self.counted.wide_events += 1;
                    None
                }
            };
            self.children.push(child);
        }
        self.run.clear();
    }
}

impl OrderedVisitor for Counter<'_> {
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
}

/// Windows that are collected, sorted on another thread and written.
struct Batches {
    order: usize,
    scratch: PathBuf,
    batch: Batch,
    most_windows: usize,
    sorting: Option<JoinHandle<Result<Run, CountsError>>>,
    runs: Vec<Run>,
    n_begun: usize,
}

impl Batches {
    fn new(order: usize, scratch: &Path, sort_bytes: usize) -> Self {
        // One is collected while another is sorted.
        let most_windows = sort_bytes / 2 / WINDOW_BYTES;
        Self {
            order,
            scratch: scratch.to_owned(),
            batch: Batch::new(order),
            most_windows: most_windows.clamp(*WINDOWS.start(), *WINDOWS.end()),
            sorting: None,
            runs: Vec::new(),
            n_begun: 0,
        }
    }

    fn end_if_full(&mut self) -> Result<(), CountsError> {
        match self.batch.len() < self.most_windows {
            true => Ok(()),
            false => self.end_batch(),
        }
    }

    fn end_batch(&mut self) -> Result<(), CountsError> {
        self.wait()?;
        let mut batch = std::mem::replace(&mut self.batch, Batch::new(self.order));
        let (scratch, number, order) = (self.scratch.clone(), self.n_begun, self.order);
        self.n_begun += 1;
        self.sorting = Some(std::thread::spawn(move || {
            let mut run = RunWriter::create(&scratch, number, order)?;
            each_node(&batch.sorted(), &mut run)?;
            run.finish()
        }));
        Ok(())
    }

    fn wait(&mut self) -> Result<(), CountsError> {
        if let Some(sorting) = self.sorting.take() {
            let run = sorting.join();
            self.runs
                .push(run.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?);
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Vec<Run>, CountsError> {
        self.end_batch()?;
        self.wait()?;
        Ok(std::mem::take(&mut self.runs))
    }
}

impl Drop for Batches {
    fn drop(&mut self) {
        // Whoever fails meanwhile leaves no thread behind that still writes.
        if let Some(sorting) = self.sorting.take() {
            drop(sorting.join());
        }
    }
}

/// The first and the last symbols of the patterns of a level in a working file, the same number of bytes
/// for each.
struct EdgeWriter {
    out: BufWriter<File>,
    path: PathBuf,
    reach: usize,
}

struct EdgeFile {
    map: Map,
    reach: usize,
}

/// Returns the bytes of the ends of a pattern: how many symbols there are, and the symbols.
const fn edge_bytes(reach: usize) -> usize {
    1 + 2 * reach * 4
}

impl EdgeWriter {
    fn create(path: &Path, reach: usize) -> Result<Self, CountsError> {
        let file = File::create(path).map_err(CountsError::io("create", path))?;
        Ok(Self {
            out: BufWriter::with_capacity(1 << 18, file),
            path: path.to_owned(),
            reach,
        })
    }

    /// Appends the symbols of a pattern, or what is left of them; see [`Edges::insert`].
    fn push(&mut self, symbols: &[u32]) -> Result<(), CountsError> {
        let reach = self.reach;
        let (first, last) = match symbols.len() <= 2 * reach {
            true => (symbols, &[][..]),
            false => (&symbols[..reach], &symbols[symbols.len() - reach..]),
        };
        let mut bytes = [0u8; edge_bytes(crate::options::MAX_ORDER)];
        // At most 30.
        bytes[0] = (first.len() + last.len()) as u8;
        let parts = bytes[1..].chunks_exact_mut(4);
        for (part, symbol) in parts.zip(first.iter().chain(last)) {
            part.copy_from_slice(&symbol.to_le_bytes());
        }
        let written = self.out.write_all(&bytes[..edge_bytes(reach)]);
        written.map_err(CountsError::io("write", &self.path))
    }

    fn finish(mut self) -> Result<EdgeFile, CountsError> {
        self.out
            .flush()
            .map_err(CountsError::io("write", &self.path))?;
        drop(self.out);
        let map = map_scratch(&self.path)?;
        map.advise_random();
        Ok(EdgeFile {
            map,
            reach: self.reach,
        })
    }
}

impl EdgeFile {
    /// Reads the ends of a pattern.
    fn read(&self, place: u32, symbols: &mut Vec<u32>) {
        symbols.clear();
        let bytes = edge_bytes(self.reach);
        let start = place as usize * bytes;
        let Some([length, bytes @ ..]) = self.map.get(start..start + bytes) else {
            return;
        };
        let parts = bytes.as_chunks::<4>().0.iter().take((*length).into());
        symbols.extend(parts.map(|&symbol| u32::from_le_bytes(symbol)));
    }
}
