//! The patterns of a node, to be read any number of times, and by several threads at once.

use std::fs::File;
use std::ops::Range;
use std::path::Path;

use crate::Cancel;
use crate::frozen::NodeLayout;
use kato_columns::map::{Map, MapState};

use crate::disk::IndexFileError;

/// Patterns between two marks.
pub(super) const MARK_EVERY: u32 = 1 << 12;

/// A place among the patterns at which reading may begin.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mark {
    /// Symbols before it.
    pub(super) n_symbols: u64,
    /// Bytes of shapes before it.
    pub(super) shape_bytes: u64,
}

/// The patterns of a node: class, length where the class does not tell it, and symbols.
pub(super) struct Shapes {
    symbols: Map,
    shapes: Map,
    marks: Vec<Mark>,
    symbol_bytes: usize,
    n_patterns: u32,
}

/// What is sought in the patterns of a class: some symbols, or none.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sought {
    /// The place of the class in the order of the lists.
    pub(super) place: usize,
    /// The length of the patterns, where they have one.
    pub(super) length: Option<usize>,
    /// The first symbol.
    pub(super) first: u64,
    /// How many from there on.
    pub(super) n_symbols: u64,
    /// The bucket of symbol 0, and the shift that makes another's of a symbol's number.
    pub(super) first_bucket: usize,
    pub(super) shift: u32,
}

impl Sought {
    pub(super) fn seeks(&self, symbol: u32) -> bool {
        // Below the first it wraps around, and is far above.
        u64::from(symbol).wrapping_sub(self.first) < self.n_symbols
    }
}

impl Shapes {
    /// Maps what was written of the patterns; the marks are those of every so many patterns.
    pub(super) fn open(
        symbols: &Path,
        shapes: &Path,
        marks: Vec<Mark>,
        layout: &NodeLayout,
    ) -> Result<Self, IndexFileError> {
        let map = |path: &Path| {
            let map = File::open(path).and_then(|file| Map::from_file(path, &file));
            let map = map.map_err(IndexFileError::io("map", path))?;
            map.advise_sequential();
            Ok::<Map, IndexFileError>(map)
        };
        Ok(Self {
            symbols: map(symbols)?,
            shapes: map(shapes)?,
            marks,
            symbol_bytes: usize::try_from(layout.symbol_bytes).unwrap_or(4),
            // Patterns were counted by 31 bits.
            n_patterns: u32::try_from(layout.n_patterns).unwrap_or(0),
        })
    }

    /// Fails if the files were changed since they were opened, so that what was read of them is not what
    /// was written.
    pub(super) fn check_unchanged(&self) -> Result<(), IndexFileError> {
        for map in [&self.symbols, &self.shapes] {
            let reason = match map.look() {
                MapState::Unchanged => continue,
                MapState::Changed => "it was written to while the index was built".to_owned(),
                MapState::Lost(reason) => reason,
            };
            return Err(IndexFileError::damaged(map.path(), reason));
        }
        Ok(())
    }

    /// Divides the patterns into so many stretches at most, each from one mark to another.
    pub(super) fn stretches(&self, at_most: usize) -> Vec<Range<usize>> {
        let n_marks = self.marks.len();
        let a_stretch = n_marks.div_ceil(at_most).max(1);
        let starts = (0..n_marks).step_by(a_stretch);
        starts
            .map(|start| start..(start + a_stretch).min(n_marks))
            .collect()
    }

    /// Shows every pattern of a stretch that holds a symbol that is sought: its rank, what is sought
    /// in its class, and its symbols. `sought` goes by the numbers of classes.
    pub(super) fn for_each(
        &self,
        stretch: &Range<usize>,
        sought: &[Sought],
        cancel: &Cancel,
        visit: impl FnMut(u32, &Sought, &[u32]),
    ) -> Result<(), IndexFileError> {
        match self.symbol_bytes {
            2 => self.for_each_of(
                stretch,
                sought,
                cancel,
                |two| u16::from_le_bytes(two).into(),
                visit,
            ),
            3 => {
                let number_of = |[a, b, c]: [u8; 3]| u32::from_le_bytes([a, b, c, 0]);
                self.for_each_of(stretch, sought, cancel, number_of, visit)
            }
            _ => self.for_each_of(stretch, sought, cancel, u32::from_le_bytes, visit),
        }
    }

    fn for_each_of<const N: usize>(
        &self,
        stretch: &Range<usize>,
        sought: &[Sought],
        cancel: &Cancel,
        number_of: impl Fn([u8; N]) -> u32,
        mut visit: impl FnMut(u32, &Sought, &[u32]),
    ) -> Result<(), IndexFileError> {
        let (all_numbers, _) = self.symbols.as_chunks::<N>();
        let mut symbols = Vec::new();
        for mark_idx in stretch.clone() {
            cancel.check()?;
            let Some(mark) = self.marks.get(mark_idx) else {
                return Ok(());
            };
            // Nothing is missing, unless somebody changes the files meanwhile.
            let from = |at: u64| usize::try_from(at).unwrap_or(usize::MAX);
            let Some(mut numbers) = all_numbers.get(from(mark.n_symbols)..) else {
                return Ok(());
            };
            let Some(mut shapes) = self.shapes.get(from(mark.shape_bytes)..) else {
                return Ok(());
            };
            // There are no more marks than patterns.
            let first = u32::try_from(mark_idx).unwrap_or(u32::MAX) * MARK_EVERY;
            for rank in first..(first + MARK_EVERY).min(self.n_patterns) {
                let Some((class, rest)) = shapes.split_first_chunk() else {
                    return Ok(());
                };
                shapes = rest;
                let Some(of_class) = sought.get(usize::from(u16::from_le_bytes(*class))) else {
                    return Ok(());
                };
                let length = match of_class.length {
                    Some(length) => length,
                    None => {
                        let Some((length, rest)) = shapes.split_first_chunk() else {
                            return Ok(());
                        };
                        shapes = rest;
                        from(u32::from_le_bytes(*length).into())
                    }
                };
                let Some((of_pattern, rest)) = numbers.split_at_checked(length) else {
                    return Ok(());
                };
                numbers = rest;
                // Most patterns hold nothing that is sought.
                if of_pattern.iter().any(|&n| of_class.seeks(number_of(n))) {
                    symbols.clear();
                    symbols.extend(of_pattern.iter().map(|&n| number_of(n)));
                    visit(rank, of_class, &symbols);
                }
            }
        }
        Ok(())
    }
}
