//! The lists of ranks by symbol, by first symbol and by pair of neighbours, written along classes and
//! symbols, so that every list is complete at once.

use std::collections::BTreeMap;
use std::path::Path;

use crate::frozen::{Column, LONGEST_UNSIGNED_LIST, NodeLayout, SignatureShape};

use super::BuildOptions;
use super::buckets::PostingClass;
use super::columns::WrittenColumn;
use super::directories::{DirectoryWriter, ListWriter, SymbolLists};
use super::node::ClassBuild;
use super::postings::Postings;
use super::shapes::Shapes;
use crate::disk::IndexFileError;

/// What a list is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ListKind {
    /// The patterns that hold a symbol.
    Held,
    /// Those in which it has a neighbour.
    Pair,
}

/// What was counted on the way.
pub(super) struct Counted {
    /// Patterns that hold each text.
    pub(super) by_text: Vec<u32>,
    /// Names that a pattern holds.
    children: Bits,
    n_below: u32,
    /// Followers of all symbols in all classes.
    pub(super) n_followers: u64,
}

impl Counted {
    /// Returns the numbers of the symbols that a pattern holds.
    pub(super) fn symbols(&self) -> impl Iterator<Item = u32> {
        let names = (0..self.n_below).filter(|&number| self.children.contains(number));
        let texts = self.by_text.iter().zip(self.n_below..);
        let texts = texts.filter(|(n_patterns, _)| **n_patterns > 0);
        names.chain(texts.map(|(_, number)| number))
    }
}

/// Numbers of symbols, a bit for each up to the greatest.
#[derive(Debug, Clone, Default)]
struct Bits(Vec<u64>);

impl Bits {
    fn insert(&mut self, number: u32) {
        let word = number as usize / 64;
        if word >= self.0.len() {
            self.0.resize(word + 1, 0);
        }
        self.0[word] |= 1 << (number % 64);
    }

    #[inline]
    fn contains(&self, number: u32) -> bool {
        let word = self.0.get(number as usize / 64);
        word.is_some_and(|word| word >> (number % 64) & 1 == 1)
    }
}

/// A builder of all lists of a node.
pub(super) struct ListBuilder<'a> {
    pub(super) dir: &'a Path,
    pub(super) node_idx: usize,
    pub(super) options: &'a BuildOptions,
    pub(super) shapes: &'a Shapes,
    pub(super) layout: &'a NodeLayout,
    pub(super) classes: &'a mut [ClassBuild],
    /// The numbers of the classes in the order of their lists.
    pub(super) order: &'a [u16],
    pub(super) written: &'a mut BTreeMap<Column, WrittenColumn>,
}

impl ListBuilder<'_> {
    /// Writes all lists.
    pub(super) fn build(&mut self) -> Result<Counted, IndexFileError> {
        let n_texts = usize::try_from(self.layout.n_texts).unwrap_or(usize::MAX);
        let n_below = usize::try_from(self.layout.n_below).unwrap_or(usize::MAX);
        let mut by_text = vec![0_u32; n_texts];
        let mut children = Bits::default();
        // By class, the symbols whose pairs are listed.
        let mut has_pairs = vec![Bits::default(); self.order.len()];
        let least = self.order.iter();
        let least = least.map(|&number| self.classes[usize::from(number)].layout.least_pair_list);
        let least: Vec<u64> = least.collect();
        self.write_lists(|class, symbol, n_patterns| {
            match (symbol as usize).checked_sub(n_below) {
                Some(text) => {
                    by_text[text] += u32::try_from(n_patterns).unwrap_or(u32::MAX);
                }
                None => children.insert(symbol),
            }
            if n_patterns as u64 >= least[class] {
                has_pairs[class].insert(symbol);
            }
        })?;
        let half = self.layout.n_patterns / 2;
        self.options.progress.add(half);
        let n_followers = self.write_pairs(&has_pairs)?;
        self.options.progress.add(self.layout.n_patterns - half);
        Ok(Counted {
            by_text,
            children,
            // Numbers have 32 bits.
            n_below: u32::try_from(n_below).unwrap_or(u32::MAX),
            n_followers,
        })
    }

    /// Writes the lists of single symbols, and tells of each its class, symbol and length.
    ///
    /// Of long ones also those that begin with the symbol: of others, who asks for these looks at all.
    fn write_lists(
        &mut self,
        mut tell: impl FnMut(usize, u32, usize),
    ) -> Result<(), IndexFileError> {
        let mut held = SymbolLists::create(
            self,
            [Column::HeldKeys, Column::HeldStarts, Column::HeldLists],
        )?;
        let mut first = SymbolLists::create(
            self,
            [Column::FirstKeys, Column::FirstStarts, Column::FirstLists],
        )?;
        let shapes = self.signature_shapes(ListKind::Held);
        let postings = self.postings(ListKind::Held, &shapes, |_, _| true);
        postings.for_each_bucket(|class, postings| {
            for list in postings.chunk_by(|a, b| a.first() == b.first()) {
                self.options.cancel.check()?;
                held.push(class, list.iter(), shapes[class].is_some())?;
                if list.len() > LONGEST_UNSIGNED_LIST {
                    let begins = list.iter().filter(|posting| posting.begins());
                    first.push(class, begins, false)?;
                }
                tell(class, list[0].first(), list.len());
            }
            Ok(())
        })?;
        let parts = [held.finish(self)?, first.finish(self)?];
        for (place, &number) in self.order.iter().enumerate() {
            let layout = &mut self.classes[usize::from(number)].layout;
            [layout.held, layout.first] = [parts[0][place], parts[1][place]];
        }
        Ok(())
    }

    /// Writes the lists of pairs of symbols that both have some, and returns the number of followers.
    fn write_pairs(&mut self, has_pairs: &[Bits]) -> Result<u64, IndexFileError> {
        let keys = [Column::PairKeys, Column::PairKeyStarts];
        let mut out = DirectoryWriter::create(self.dir, self.node_idx, keys)?;
        let followers = [Column::PairFollowers, Column::PairStarts];
        let mut follower_out = DirectoryWriter::create(self.dir, self.node_idx, followers)?;
        let mut list_out = ListWriter::create(self, Column::PairLists)?;
        let shapes = self.signature_shapes(ListKind::Pair);
        let mut n_followers = 0_u64;
        let is_listed = |class: usize, symbol: u32| has_pairs[class].contains(symbol);
        let postings = self.postings(ListKind::Pair, &shapes, is_listed);
        postings.for_each_bucket(|class, postings| {
            for list in postings.chunk_by(|a, b| a.symbols() == b.symbols()) {
                self.options.cancel.check()?;
                if out.begin(class, list[0].first(), n_followers)? {
                    // A new symbol begins its followers anew, also where the last one's last
                    // follower was the same.
                    follower_out.forget_key();
                }
                follower_out.begin(class, list[0].second(), list_out.n_bytes)?;
                n_followers += 1;
                list_out.push(list.iter(), shapes[class].is_some())?;
            }
            Ok(())
        })?;
        let n_bytes = list_out.n_bytes;
        self.written
            .insert(Column::PairLists, list_out.column.finish()?);
        let parts = self.finish_directory(out, n_followers)?;
        for (&number, part) in self.order.iter().zip(parts) {
            self.classes[usize::from(number)].layout.pairs = part;
        }
        self.finish_directory(follower_out, n_bytes)?;
        Ok(n_followers)
    }

    /// Returns, by class, how the signatures of its lists are laid out; `None` where there are none.
    ///
    /// Lists of a name are short, as nearly every pattern has names of its own, and of long patterns
    /// signatures would tell little.
    fn signature_shapes(&self, kind: ListKind) -> Vec<Option<SignatureShape>> {
        let n_known = match kind {
            ListKind::Held if self.layout.n_below == 0 => 1,
            ListKind::Pair => 2,
            ListKind::Held => return vec![None; self.order.len()],
        };
        let length = |&number: &u16| self.classes[usize::from(number)].length;
        let lengths = self.order.iter().map(length);
        lengths
            .map(|length| SignatureShape::new(length?, n_known))
            .collect()
    }

    /// Returns the source of the postings of a kind, of the symbols that are wanted in a class.
    fn postings<'s, F>(
        &'s self,
        kind: ListKind,
        signatures: &'s [Option<SignatureShape>],
        is_wanted: F,
    ) -> Postings<'s, F> {
        let classes = self.order.iter().map(|&number| {
            let class = &self.classes[usize::from(number)];
            (number, class.length, class.n_patterns)
        });
        let n_numbers = self.layout.n_below + self.layout.n_texts;
        let classes = PostingClass::divide(classes, n_numbers, self.options.sort_bytes);
        Postings {
            kind,
            shapes: self.shapes,
            classes,
            signatures,
            options: self.options,
            is_wanted,
        }
    }

    /// Ends a directory whose last list ends there, and returns the part of the keys of each class.
    pub(super) fn finish_directory(
        &mut self,
        mut out: DirectoryWriter,
        end: u64,
    ) -> Result<Vec<[u64; 2]>, IndexFileError> {
        out.starts.push(end)?;
        let n_keys = out.n_keys;
        let mut parts = vec![[n_keys; 2]; self.order.len()];
        let mut end = n_keys;
        for (class, part) in parts.iter_mut().enumerate().rev() {
            *part = [out.first_keys.get(&class).copied().unwrap_or(end), end];
            end = part[0];
        }
        let [keys, starts] = out.columns;
        self.written.insert(keys, out.keys.finish()?);
        self.written.insert(starts, out.starts.finish()?);
        Ok(parts)
    }
}
