//! The counts of the symbols of a commit, summed in bounded memory.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, Write};

use kato_model::emotives::add_emotives;
use kato_store::StoreError;
use kato_store::contract::{SymbolCounts, Totals};

use super::document_change::SymbolSum;
use crate::error::temporary_file;
use crate::staging::{CompactSymbol, PatternDelta};

/// Symbols that are counted in memory; what exceeds them is written out, sorted.
const SYMBOLS_IN_MEMORY: usize = 1 << 20;

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
            learns: delta.frequency,
            learned_symbols: delta.frequency.saturating_mul(delta.symbols.len() as u64),
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
            self.spill().map_err(temporary_file)?;
        }
        Ok(())
    }

    /// Writes the counts to a temporary file in the order of symbols, and begins anew.
    fn spill(&mut self) -> io::Result<()> {
        let mut out = BufWriter::new(tempfile::tempfile()?);
        for entry in sorted(std::mem::take(&mut self.counted)) {
            let bytes = postcard::to_stdvec(&entry).map_err(io::Error::other)?;
            let length = u32::try_from(bytes.len())
                .expect("a symbol is part of a document, which has at most 16 MiB");
            out.write_all(&length.to_le_bytes())?;
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
            if let Some((symbol, first)) = run.next().map_err(temporary_file)? {
                counts[run_idx] = first;
                heads.push(Reverse((symbol, run_idx)));
            }
        }
        let mut current: Option<(CompactSymbol, SymbolSum)> = None;
        while let Some(Reverse((symbol, run_idx))) = heads.pop() {
            let added = std::mem::take(&mut counts[run_idx]);
            if let Some((next, following)) = runs[run_idx].next().map_err(temporary_file)? {
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
