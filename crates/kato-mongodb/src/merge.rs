//! The batches of a commit as one: patterns merged by name, symbol counts summed, in bounded
//! memory.

use std::cmp::Reverse;
use std::collections::binary_heap::PeekMut;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, Write};

use kato_model::{PatternName, add_emotives};
use kato_store::{StoreError, SymbolCounts, Totals};

use crate::change::SymbolSum;
use crate::pattern_delta::{CompactSymbol, PatternDelta};
use crate::staged::{Kind, Source};
use crate::state::StoreState;

/// Symbols that are counted in memory; what exceeds them is written out, sorted.
const SYMBOLS_IN_MEMORY: usize = 1 << 20;

/// The patterns of a node over all batches of a commit, in name order, each name once.
pub(crate) struct Merge<'a> {
    core: &'a StoreState,
    readers: Vec<Reader<'a>>,
    /// The next name of every reader that has one.
    heads: BinaryHeap<Reverse<([u8; PatternName::BYTES], usize)>>,
}

/// The patterns of one batch, read blob by blob.
struct Reader<'a> {
    source: &'a Source,
    kind: Kind,
    next_blob: usize,
    n_blobs: usize,
    patterns: VecDeque<PatternDelta>,
}

impl Reader<'_> {
    /// Makes sure that the next pattern is in memory, and returns its name; `None` at the end.
    fn fill(&mut self, core: &StoreState) -> Result<Option<[u8; PatternName::BYTES]>, StoreError> {
        while self.patterns.is_empty() && self.next_blob < self.n_blobs {
            self.patterns = self.source.read(core, self.kind, self.next_blob)?;
            self.next_blob += 1;
        }
        Ok(self.patterns.front().map(|delta| delta.name))
    }
}

impl<'a> Merge<'a> {
    pub(crate) fn new(
        core: &'a StoreState,
        sources: &'a [Source],
        node_idx: usize,
    ) -> Result<Self, StoreError> {
        let mut merge = Self {
            core,
            readers: Vec::new(),
            heads: BinaryHeap::new(),
        };
        for source in sources {
            let mut reader = Reader {
                source,
                kind: Kind::Patterns(node_idx),
                next_blob: 0,
                n_blobs: source.record.patterns[node_idx] as usize,
                patterns: VecDeque::new(),
            };
            if let Some(name) = reader.fill(core)? {
                merge.heads.push(Reverse((name, merge.readers.len())));
                merge.readers.push(reader);
            }
        }
        Ok(merge)
    }

    /// Takes the next pattern of the reader whose name comes first.
    fn pop(&mut self) -> Result<Option<PatternDelta>, StoreError> {
        let Some(mut head) = self.heads.peek_mut() else {
            return Ok(None);
        };
        let Reverse((_, reader_idx)) = *head;
        let reader = &mut self.readers[reader_idx];
        let delta = reader.patterns.pop_front();
        match reader.fill(self.core)? {
            // Replaced in place, which costs one move through the heap instead of two.
            Some(name) => *head = Reverse((name, reader_idx)),
            None => drop(PeekMut::pop(head)),
        }
        Ok(delta)
    }

    /// Returns the next pattern with all that the batches taught about it.
    pub(crate) fn next(&mut self) -> Result<Option<PatternDelta>, StoreError> {
        let Some(mut merged) = self.pop()? else {
            return Ok(None);
        };
        let is_same = |head: Option<&Reverse<([u8; 20], usize)>>, name| {
            head.is_some_and(|Reverse((next, _))| *next == name)
        };
        // Equal names come in the order of the batches, which the record of the commit keeps: a
        // replay adds floating-point sums in the same order.
        while is_same(self.heads.peek(), merged.name) {
            if let Some(more) = self.pop()? {
                merged.merge(more, &self.core.limits);
            }
        }
        Ok(Some(merged))
    }
}

/// Sums over the symbols of a node in one commit. What does not fit into memory goes into temporary
/// files.
#[derive(Debug, Default)]
pub(crate) struct SymbolSums {
    counted: HashMap<CompactSymbol, SymbolSum>,
    runs: Vec<File>,
    pub(crate) totals: Totals,
    scratch: Vec<(CompactSymbol, u64)>,
}

impl SymbolSums {
    /// Adds what a pattern counts.
    pub(crate) fn add(&mut self, delta: &PatternDelta) -> Result<(), StoreError> {
        self.scratch.clear();
        let mut symbols: Vec<&CompactSymbol> = delta.symbols.iter().collect();
        symbols.sort_unstable();
        // KATO counts occurrences, and beside them each distinct symbol once a learn call.
        for same in symbols.chunk_by(|a, b| a == b) {
            self.scratch.push((same[0].clone(), same.len() as u64));
        }
        self.totals.merge(Totals {
            observations: delta.frequency,
            symbols: delta.frequency.saturating_mul(delta.symbols.len() as u64),
            member_symbols: delta.frequency.saturating_mul(self.scratch.len() as u64),
        });
        for (symbol, occurrences) in self.scratch.drain(..) {
            let sum = self.counted.entry(symbol).or_default();
            sum.counts.merge(SymbolCounts {
                frequency: delta.frequency.saturating_mul(occurrences),
                member_frequency: delta.frequency,
            });
            // Every distinct symbol gets the pattern's sums of emotives once, however often it
            // occurs.
            if let Some(attributes) = &delta.attributes {
                add_emotives(&mut sum.emotives, &attributes.affinity);
            }
        }
        if self.counted.len() >= SYMBOLS_IN_MEMORY {
            self.spill().map_err(temporary)?;
        }
        Ok(())
    }

    /// Writes the counts to a temporary file in the order of symbols, and begins anew.
    fn spill(&mut self) -> io::Result<()> {
        let mut out = BufWriter::new(tempfile::tempfile()?);
        for entry in sorted(std::mem::take(&mut self.counted)) {
            let bytes = postcard::to_stdvec(&entry).map_err(io::Error::other)?;
            // An entry is one symbol with its sums, and a symbol is part of a document of at most
            // 16 MiB.
            out.write_all(&(bytes.len() as u32).to_le_bytes())?;
            out.write_all(&bytes)?;
        }
        let mut file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.rewind()?;
        self.runs.push(file);
        Ok(())
    }

    /// Hands all symbols over in their order, with their sums.
    pub(crate) fn finish(
        self,
        mut take: impl FnMut(CompactSymbol, SymbolSum) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let mut runs: Vec<Run> = self.runs.into_iter().map(Run::from_file).collect();
        runs.push(Run::Memory(sorted(self.counted).into_iter()));
        // The heap orders symbols by run; their sums stay outside, since nothing compares them.
        let mut heads = BinaryHeap::new();
        let mut counts = Vec::new();
        for (run_idx, run) in runs.iter_mut().enumerate() {
            counts.push(SymbolSum::default());
            if let Some((symbol, first)) = run.next().map_err(temporary)? {
                counts[run_idx] = first;
                heads.push(Reverse((symbol, run_idx)));
            }
        }
        let mut current: Option<(CompactSymbol, SymbolSum)> = None;
        while let Some(Reverse((symbol, run_idx))) = heads.pop() {
            let added = std::mem::take(&mut counts[run_idx]);
            if let Some((next, following)) = runs[run_idx].next().map_err(temporary)? {
                counts[run_idx] = following;
                heads.push(Reverse((next, run_idx)));
            }
            match &mut current {
                Some((held, sum)) if *held == symbol => sum.merge(&added),
                _ => {
                    if let Some((symbol, sum)) = current.replace((symbol, added)) {
                        take(symbol, sum)?;
                    }
                }
            }
        }
        current.map_or(Ok(()), |(symbol, sum)| take(symbol, sum))
    }
}

/// Returns the counts in the order of symbols.
fn sorted(counted: HashMap<CompactSymbol, SymbolSum>) -> Vec<(CompactSymbol, SymbolSum)> {
    let mut entries: Vec<_> = counted.into_iter().collect();
    entries.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
    entries
}

/// Sorted counts, in memory or in a file.
enum Run {
    Memory(std::vec::IntoIter<(CompactSymbol, SymbolSum)>),
    File(BufReader<File>),
}

impl Run {
    /// Opens sorted counts that were written out.
    fn from_file(file: File) -> Self {
        Self::File(BufReader::new(file))
    }

    /// Returns the next symbol; `None` at the end.
    fn next(&mut self) -> io::Result<Option<(CompactSymbol, SymbolSum)>> {
        let file = match self {
            Self::Memory(entries) => return Ok(entries.next()),
            Self::File(file) => file,
        };
        let mut length = [0; 4];
        if let Err(error) = file.read_exact(&mut length) {
            return match error.kind() {
                io::ErrorKind::UnexpectedEof => Ok(None),
                _ => Err(error),
            };
        }
        let mut bytes = vec![0; u32::from_le_bytes(length) as usize];
        file.read_exact(&mut bytes)?;
        postcard::from_bytes(&bytes)
            .map(Some)
            .map_err(io::Error::other)
    }
}

/// Returns the error of a temporary file.
pub(crate) fn temporary(source: io::Error) -> StoreError {
    StoreError::Io {
        action: "use a temporary file in",
        path: std::env::temp_dir(),
        source,
    }
}
