//! The columns of one node, pattern by pattern in name order.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::frozen::{
    ClassKey, ClassLayout, Column, LARGE_FREQUENCY, LONGEST_SIGNED, LONGEST_UNSIGNED_LIST,
    NodeLayout,
};
use foldhash::HashMap;
use kato_store::visit::VisitedPattern;

use super::BuildOptions;
use super::columns::{ColumnWriter, NumberWriter, WrittenColumn};
use super::counts::CountWriter;
use super::lists;
use super::numbers::{Children, Numbers};
use super::shapes::{MARK_EVERY, Mark, Shapes};
use crate::disk::IndexFileError;
use crate::disk::files::{NodeHeader, column_path};

/// Patterns of a class for each that holds a symbol, from which on its pairs are listed: where there are many, a
/// question takes longer anyway, and most symbols are held by more.
const CLASS_SHARE: u64 = 1 << 8;

/// A class of patterns, as far as it was seen.
pub(super) struct ClassBuild {
    pub(super) layout: ClassLayout,
    /// The one length of all members, if there is just one.
    pub(super) length: Option<usize>,
    pub(super) n_patterns: u64,
}

impl ClassBuild {
    /// Settles of how many patterns that hold a symbol its pairs are listed.
    fn settle(&mut self, has_signatures: bool, options: &BuildOptions) {
        self.layout.least_pair_list = match has_signatures {
            true => options.least_pair_list.max(self.n_patterns / CLASS_SHARE),
            // All of them are read.
            false => LONGEST_UNSIGNED_LIST as u64,
        };
    }
}

/// A node whose patterns are being written.
pub(super) struct NodeBuilder {
    dir: PathBuf,
    node_idx: usize,
    name: String,
    layout: NodeLayout,
    /// What the symbols are that are shown.
    numbers: Numbers,
    /// The patterns as symbols of the node above.
    children: Children,
    /// Learns of patterns that lower indexes hold, by rank.
    learned: Vec<(u32, u64)>,
    /// Symbols of the pattern at hand; reused.
    translated: Vec<u32>,
    has_emotives: bool,
    written: BTreeMap<Column, WrittenColumn>,
    names: ColumnWriter,
    symbol_offsets: NumberWriter,
    n_pushed_symbols: u64,
    symbols: ColumnWriter,
    frequencies: ColumnWriter,
    large_ranks: ColumnWriter,
    large_frequencies: ColumnWriter,
    event_ranks: ColumnWriter,
    event_offsets: NumberWriter,
    event_lengths: ColumnWriter,
    n_event_lengths: u64,
    /// Occurrences of the texts over all learns.
    text_frequencies: Vec<u64>,
    classes: Vec<ClassBuild>,
    class_numbers: HashMap<ClassKey, u16>,
    /// By rank, the class, and the length where the class does not tell; only needed until the
    /// lists are written.
    shapes: BufWriter<File>,
    shapes_path: PathBuf,
    n_shape_bytes: u64,
    marks: Vec<Mark>,
}

impl NodeBuilder {
    /// Creates the files of a node and writes its texts.
    pub(super) fn new(
        dir: &Path,
        name: String,
        node_idx: usize,
        (numbers, texts): (Numbers, Vec<&str>),
        children: Children,
    ) -> Result<Self, IndexFileError> {
        let mut written = BTreeMap::new();
        write_texts(dir, node_idx, &texts, &mut written)?;
        let shapes_path = dir.join(format!("{node_idx}.shapes"));
        let shapes = File::create_new(&shapes_path);
        let shapes = shapes.map_err(IndexFileError::io("create", &shapes_path))?;
        let column = |column| ColumnWriter::create(dir, node_idx, column);
        let mut symbol_offsets = NumberWriter::create(dir, node_idx, Column::SymbolStarts)?;
        let mut event_offsets = NumberWriter::create(dir, node_idx, Column::EventStarts)?;
        symbol_offsets.push(0)?;
        event_offsets.push(0)?;
        Ok(Self {
            layout: NodeLayout::new(numbers.n_below().into(), numbers.n_texts().into()),
            text_frequencies: vec![0; numbers.n_texts() as usize],
            numbers,
            children,
            learned: Vec::new(),
            translated: Vec::new(),
            names: column(Column::Names)?,
            symbols: column(Column::Symbols)?,
            frequencies: column(Column::Frequencies)?,
            large_ranks: column(Column::LargeRanks)?,
            large_frequencies: column(Column::LargeFrequencies)?,
            event_ranks: column(Column::EventRanks)?,
            event_lengths: column(Column::EventLengths)?,
            symbol_offsets,
            event_offsets,
            n_pushed_symbols: 0,
            n_event_lengths: 0,
            classes: Vec::new(),
            class_numbers: HashMap::default(),
            shapes: BufWriter::with_capacity(1 << 20, shapes),
            shapes_path,
            n_shape_bytes: 0,
            marks: Vec::new(),
            dir: dir.to_owned(),
            node_idx,
            name,
            has_emotives: false,
            written,
        })
    }

    fn too_large(&self, reason: &'static str) -> IndexFileError {
        IndexFileError::TooLarge {
            node: self.name.clone(),
            reason,
        }
    }

    /// Returns the rank behind all patterns so far, those of lower indexes included.
    pub(super) fn end_rank(&self) -> u32 {
        let lower = self.numbers.lower().map_or(0, |lower| lower.n_patterns());
        let end = lower as u64 + self.layout.n_patterns;
        u32::try_from(end).unwrap_or(u32::MAX)
    }

    /// Takes the patterns as symbols of the node above; there are no more of them.
    pub(super) fn take_children(&mut self) -> Children {
        std::mem::take(&mut self.children)
    }

    /// Appends a pattern; names ascend.
    pub(super) fn push(&mut self, pattern: &VisitedPattern<'_>) -> Result<(), IndexFileError> {
        // Taken out for the call, as writing borrows all of the builder.
        let mut symbols = std::mem::take(&mut self.translated);
        self.numbers.translate(pattern.symbols, &mut symbols);
        let pushed = self.push_translated(pattern, &symbols);
        self.translated = symbols;
        pushed
    }

    /// Appends a pattern of these symbols.
    fn push_translated(
        &mut self,
        pattern: &VisitedPattern<'_>,
        symbols: &[u32],
    ) -> Result<(), IndexFileError> {
        self.has_emotives |= pattern.attributes.is_some_and(|attributes| {
            !attributes.emotives.is_empty() || !attributes.affinity.is_empty()
        });
        self.count_texts(symbols, pattern.frequency);
        if let Some(rank) = self.numbers.lower_rank(&pattern.name) {
            self.children.push(&pattern.name, rank);
            self.learned.push((rank, pattern.frequency));
            return Ok(());
        }
        let end_rank = self.end_rank();
        if end_rank >= (1 << 31) - 2 {
            return Err(self.too_large("more than 2^31 patterns"));
        }
        self.children.push(&pattern.name, end_rank);
        self.push_new(pattern, symbols)
    }

    /// Appends a pattern that no lower index holds.
    fn push_new(
        &mut self,
        pattern: &VisitedPattern<'_>,
        symbols: &[u32],
    ) -> Result<(), IndexFileError> {
        // Below that of the last, which 32 bits count.
        let rank = u32::try_from(self.layout.n_patterns).unwrap_or(u32::MAX);
        self.layout.n_patterns += 1;
        if rank.is_multiple_of(MARK_EVERY) {
            self.marks.push(Mark {
                n_symbols: self.n_pushed_symbols,
                shape_bytes: self.n_shape_bytes,
            });
        }
        self.names.push(pattern.name.as_bytes())?;
        self.push_symbols(symbols)?;
        match u8::try_from(pattern.frequency) {
            Ok(frequency) if frequency != LARGE_FREQUENCY => self.frequencies.push(&[frequency])?,
            _ => {
                self.frequencies.push(&[LARGE_FREQUENCY])?;
                self.large_ranks.push(&rank.to_le_bytes())?;
                let frequency = pattern.frequency.to_le_bytes();
                self.large_frequencies.push(&frequency)?;
            }
        }
        let event_lengths = pattern.event_lengths();
        if let Some(lengths) = event_lengths {
            self.event_ranks.push(&rank.to_le_bytes())?;
            for length in lengths {
                self.event_lengths.push(&length.to_le_bytes())?;
            }
            self.n_event_lengths += lengths.len() as u64;
            self.event_offsets.push(self.n_event_lengths)?;
        }
        self.push_shape(symbols, event_lengths)
    }

    /// Adds the learns of a pattern to those of the texts that it holds.
    fn count_texts(&mut self, symbols: &[u32], frequency: u64) {
        for &symbol in symbols {
            let text = u64::from(symbol).checked_sub(self.layout.n_below);
            let text = text.and_then(|text| usize::try_from(text).ok());
            if let Some(count) = text.and_then(|text| self.text_frequencies.get_mut(text)) {
                *count = count.saturating_add(frequency);
            }
        }
    }

    fn push_symbols(&mut self, symbols: &[u32]) -> Result<(), IndexFileError> {
        // As many bytes hold all numbers of a node as its layout says.
        match self.layout.symbol_bytes {
            2 => push_numbers::<2>(&mut self.symbols, symbols),
            3 => push_numbers::<3>(&mut self.symbols, symbols),
            _ => push_numbers::<4>(&mut self.symbols, symbols),
        }?;
        self.n_pushed_symbols += symbols.len() as u64;
        self.symbol_offsets.push(self.n_pushed_symbols)
    }

    /// Writes the shape of a pattern: its class, and its length where the class does not tell it.
    fn push_shape(
        &mut self,
        symbols: &[u32],
        event_lengths: Option<&[u32]>,
    ) -> Result<(), IndexFileError> {
        let key = ClassKey::of(symbols, event_lengths);
        let next = u16::try_from(self.classes.len()).unwrap_or(u16::MAX);
        let number = *self.class_numbers.entry(key).or_insert(next);
        if usize::from(number) == self.classes.len() {
            self.classes.push(ClassBuild {
                layout: ClassLayout::new(key),
                length: (key.shortest <= 32).then_some(symbols.len()),
                n_patterns: 0,
            });
        }
        self.classes[usize::from(number)].n_patterns += 1;
        let mut shape = [0; 6];
        shape[..2].copy_from_slice(&number.to_le_bytes());
        // As many as the symbols of a record, which 32 bits count.
        let length = u32::try_from(symbols.len()).unwrap_or(u32::MAX);
        shape[2..].copy_from_slice(&length.to_le_bytes());
        let shape = match self.classes[usize::from(number)].length {
            Some(_) => &shape[..2],
            None => &shape[..],
        };
        self.n_shape_bytes += shape.len() as u64;
        let written = self.shapes.write_all(shape);
        written.map_err(IndexFileError::io("write", &self.shapes_path))
    }

    /// Writes the lists, and returns the node's header and all checksums.
    pub(super) fn finish(
        mut self,
        options: &BuildOptions,
    ) -> Result<(NodeHeader, Vec<u32>), IndexFileError> {
        let flushed = self.shapes.flush();
        flushed.map_err(IndexFileError::io("write", &self.shapes_path))?;
        for (column, written) in [
            (Column::Names, self.names.finish()?),
            (Column::SymbolStarts, self.symbol_offsets.finish()?),
            (Column::Symbols, self.symbols.finish()?),
            (Column::Frequencies, self.frequencies.finish()?),
            (Column::LargeRanks, self.large_ranks.finish()?),
            (Column::LargeFrequencies, self.large_frequencies.finish()?),
            (Column::EventRanks, self.event_ranks.finish()?),
            (Column::EventStarts, self.event_offsets.finish()?),
            (Column::EventLengths, self.event_lengths.finish()?),
        ] {
            self.written.insert(column, written);
        }
        for class in &mut self.classes {
            let length = class.length.unwrap_or(usize::MAX);
            class.settle(
                self.layout.n_below == 0 && length <= LONGEST_SIGNED,
                options,
            );
        }
        let order = class_order(&self.classes);
        let symbols_path = column_path(&self.dir, self.node_idx, Column::Symbols);
        let marks = std::mem::take(&mut self.marks);
        let shapes = Shapes::open(&symbols_path, &self.shapes_path, marks, &self.layout)?;
        let mut lists = lists::ListBuilder {
            dir: &self.dir,
            node_idx: self.node_idx,
            options,
            shapes: &shapes,
            layout: &self.layout,
            classes: &mut self.classes,
            order: &order,
            written: &mut self.written,
        };
        let counted = lists.build()?;
        // Before anything says that the lists are whole.
        shapes.check_unchanged()?;
        drop(shapes);
        let removed = fs::remove_file(&self.shapes_path);
        removed.map_err(IndexFileError::io("remove", &self.shapes_path))?;
        let mut counts = CountWriter {
            dir: &self.dir,
            node_idx: self.node_idx,
            written: &mut self.written,
        };
        let first_text = self.numbers.first_text();
        counts.write_texts(first_text, &counted.by_text, &self.text_frequencies)?;
        counts.write_learned(self.learned)?;
        self.layout.n_followers = counted.n_followers;
        self.layout.n_symbols = self.numbers.n_symbols(counted.symbols());
        let classes = order
            .iter()
            .map(|&number| self.classes[usize::from(number)].layout.clone());
        self.layout.classes = classes.collect();
        let (column_bytes, checksums) = in_order(self.written);
        let header = NodeHeader {
            layout: self.layout,
            has_emotives: self.has_emotives,
            column_bytes,
        };
        Ok((header, checksums))
    }
}

/// Appends numbers of a width that the compiler knows, which spares a call of `memcpy` for each.
fn push_numbers<const WIDTH: usize>(
    column: &mut ColumnWriter,
    numbers: &[u32],
) -> Result<(), IndexFileError> {
    for number in numbers {
        column.push(&number.to_le_bytes()[..WIDTH])?;
    }
    Ok(())
}

/// Writes the texts of a node's symbols.
fn write_texts(
    dir: &Path,
    node_idx: usize,
    of_node: &[&str],
    written: &mut BTreeMap<Column, WrittenColumn>,
) -> Result<(), IndexFileError> {
    let mut texts = ColumnWriter::create(dir, node_idx, Column::Texts)?;
    let mut offsets = NumberWriter::create(dir, node_idx, Column::TextStarts)?;
    let mut at = 0;
    offsets.push(at)?;
    for text in of_node {
        texts.push(text.as_bytes())?;
        at += text.len() as u64;
        offsets.push(at)?;
    }
    written.insert(Column::Texts, texts.finish()?);
    written.insert(Column::TextStarts, offsets.finish()?);
    Ok(())
}

/// Returns the numbers of classes in one order, whichever pattern came first.
fn class_order(classes: &[ClassBuild]) -> Vec<u16> {
    let mut order: Vec<u16> = (0..).take(classes.len()).collect();
    order.sort_by_key(|&number| classes[usize::from(number)].layout.class);
    order
}

/// Returns sizes and checksums of the columns in their order.
fn in_order(mut written: BTreeMap<Column, WrittenColumn>) -> (Vec<u64>, Vec<u32>) {
    let mut column_bytes = Vec::new();
    let mut checksums = Vec::new();
    for column in Column::ALL {
        let written = written.remove(&column);
        let mut written = written.expect("every column is written above or by the lists");
        column_bytes.push(written.bytes);
        checksums.append(&mut written.checksums);
    }
    (column_bytes, checksums)
}
