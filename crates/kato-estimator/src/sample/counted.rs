//! What documents teach, counted apart from the sample that takes it in, so that many threads can
//! count.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use super::gathered::Gathered;
use crate::EstimatedHierarchy;
use crate::bytes::{CALL_MEMORY, SYMBOL_MEMORY};
use crate::hash::{HashTable, hash_text, hash_token, hash_tokens};
use crate::path::Paths;
use crate::repeats::for_each_unit;
use crate::sketch::is_in_slice;

/// Tokens of a document of which windows are counted at once.
const MAX_TOKENS: usize = 1 << 17;

/// What some documents teach, made by a [`TextCounter`](crate::text_sampler::TextCounter).
#[derive(Debug, Clone, Default)]
pub struct CountedDocuments {
    pub(super) documents: Vec<CountedDocument>,
    /// Learn calls of each level, for one document after the other.
    pub(super) learned: Vec<u64>,
    pub(super) calls: Vec<Sighting>,
    pub(super) windows: Vec<Sighting>,
    /// Of each level, the slice of hashes that a document alone was too large for more of, as one in
    /// 2^shift; nothing where none was.
    pub(super) call_slices: Vec<u32>,
    pub(super) window_slices: Vec<u32>,
    pub(super) paragraphs: Vec<(u64, u64)>,
    pub(super) lines: Vec<(u64, u64)>,
    /// Tokens that are part of a pattern.
    pub(super) vocabulary: HashTable<SeenToken>,
}

impl CountedDocuments {
    /// Returns the memory that what these documents teach takes until it is written, in bytes.
    pub(super) fn memory(&self, n_levels: usize) -> u64 {
        let learned = self.learned.chunks(n_levels.max(1));
        let documents = self.documents.iter().zip(learned);
        let memory = documents.map(|(document, learned)| {
            let calls: u64 = learned.iter().sum();
            // The symbols of a level are the learn calls of the one below.
            let above = learned.last().copied().unwrap_or(0);
            let symbols = document.tokens + (calls - above);
            CALL_MEMORY * calls as f64 + SYMBOL_MEMORY * symbols as f64
        });
        memory.sum::<f64>() as u64
    }
}

/// A token, and how often it is part of a pattern.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct SeenToken {
    pub(super) token: u32,
    pub(super) times: u32,
}

/// A document, with the ends of what belongs to it.
#[derive(Debug, Clone, Copy)]
pub(super) struct CountedDocument {
    pub(super) hash: u64,
    pub(super) text_bytes: u64,
    pub(super) tokens: u64,
    pub(super) calls_end: usize,
    pub(super) windows_end: usize,
}

/// A pattern that a document holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Sighting {
    pub(super) level: u32,
    pub(super) name: u64,
    pub(super) n_symbols: u32,
    pub(super) times: u32,
}

/// The slices of hashes that a sample still counts. Whoever counts for it leaves out the others;
/// what it leaves out too late is left out by the sample.
#[derive(Debug)]
pub(super) struct Slices {
    pub(super) calls: Vec<AtomicU32>,
    pub(super) windows: Vec<AtomicU32>,
}

impl Slices {
    pub(super) fn new(n_levels: usize) -> Self {
        let all = || (0..n_levels).map(|_| AtomicU32::new(0)).collect();
        Self {
            calls: all(),
            windows: all(),
        }
    }
}

/// Counts documents of token ids, one paragraph after the other, in bounded memory.
#[derive(Debug, Clone)]
pub(crate) struct DocumentCounter {
    pub(super) hierarchy: EstimatedHierarchy,
    pub(super) has_windows: bool,
    pub(super) slices: Arc<Slices>,
    pub(super) max_patterns: usize,
    paths: Paths,
    counted: CountedDocuments,
    open: OpenDocument,
}

/// The document of which paragraphs are counted.
#[derive(Debug, Clone, Default)]
struct OpenDocument {
    tokens: u64,
    /// Paragraphs of which the windows are not counted yet, and their tokens.
    paragraphs: Vec<Vec<u32>>,
    waiting: usize,
    calls: Gathered,
    windows: Gathered,
}

impl DocumentCounter {
    pub(super) fn new(
        hierarchy: EstimatedHierarchy,
        has_windows: bool,
        slices: Arc<Slices>,
        max_patterns: usize,
    ) -> Self {
        Self {
            hierarchy,
            has_windows,
            slices,
            max_patterns,
            paths: Paths::default(),
            counted: CountedDocuments::default(),
            open: OpenDocument::default(),
        }
    }

    /// Counts a document of which only the tokens are known.
    pub(crate) fn count_tokens<P: AsRef<[u32]>>(&mut self, paragraphs: &[P], text_bytes: u64) {
        let mut hash = 0u64;
        for paragraph in paragraphs {
            hash = hash.rotate_left(1) ^ hash_tokens(paragraph.as_ref());
            self.paragraph(paragraph.as_ref());
        }
        self.end(hash, text_bytes);
    }

    /// Counts the next paragraph of a document.
    pub(crate) fn paragraph(&mut self, tokens: &[u32]) {
        self.open.tokens += tokens.len() as u64;
        let n_levels = self.hierarchy.n_levels();
        let mut learned = learned(&mut self.counted, &self.slices, n_levels);
        self.paths.paragraph(&self.hierarchy, tokens, &mut learned);
        drop(learned);
        if self.has_windows {
            // A long paragraph in pieces: what begins at the end of one is cut short there, which is
            // little beside memory for windows of all of it.
            for piece in tokens.chunks(MAX_TOKENS) {
                self.open.paragraphs.push(piece.to_vec());
                self.open.waiting += piece.len();
                if self.open.waiting >= MAX_TOKENS {
                    self.count_windows();
                    self.sum_up();
                }
            }
        }
        self.sum_up();
    }

    /// Sums up what the open document has taught so far, where that is much.
    fn sum_up(&mut self) {
        let Self {
            counted, slices, ..
        } = self;
        let CountedDocuments {
            calls,
            windows,
            call_slices,
            window_slices,
            ..
        } = counted;
        let (open, max) = (&mut self.open, self.max_patterns);
        open.calls.sum_up(calls, &slices.calls, call_slices, max);
        open.windows
            .sum_up(windows, &slices.windows, window_slices, max);
    }

    /// Counts the windows of the paragraphs that wait for it.
    fn count_windows(&mut self) {
        let Self {
            hierarchy,
            slices,
            paths,
            counted,
            open,
            ..
        } = self;
        let CountedDocuments {
            windows,
            window_slices,
            ..
        } = counted;
        paths.windows(hierarchy, &open.paragraphs, |level, name, n_symbols| {
            if admits(&slices.windows, window_slices, level, name) {
                windows.push(Sighting::new(level, name, n_symbols));
            }
        });
        open.paragraphs.clear();
        open.waiting = 0;
    }

    /// Ends a document of which the text is known.
    pub(crate) fn end_text(&mut self, text: &str) {
        let CountedDocuments {
            paragraphs, lines, ..
        } = &mut self.counted;
        for_each_unit(
            text,
            |piece| paragraphs.push((hash_text(piece.as_bytes()), piece.len() as u64)),
            |line| lines.push((hash_text(line.as_bytes()), line.len() as u64)),
        );
        self.end(hash_text(text.as_bytes()), text.len() as u64);
    }

    fn end(&mut self, hash: u64, text_bytes: u64) {
        let Self {
            hierarchy,
            slices,
            paths,
            counted,
            ..
        } = self;
        paths.end(
            hierarchy,
            &mut learned(counted, slices, hierarchy.n_levels()),
        );
        self.count_windows();
        let counted = &mut self.counted;
        counted.documents.push(CountedDocument {
            hash,
            text_bytes,
            tokens: self.open.tokens,
            calls_end: counted.calls.len(),
            windows_end: counted.windows.len(),
        });
        self.open.tokens = 0;
        self.open.calls = Gathered::from(counted.calls.len());
        self.open.windows = Gathered::from(counted.windows.len());
    }

    /// Returns what was counted since the last time.
    pub(crate) fn take(&mut self) -> CountedDocuments {
        self.paths.abandon();
        self.open = OpenDocument::default();
        std::mem::take(&mut self.counted)
    }
}

/// Returns what takes the learn calls of a document that is not ended.
fn learned<'a>(
    counted: &'a mut CountedDocuments,
    slices: &'a Slices,
    n_levels: usize,
) -> impl FnMut(usize, u64, &[u32], usize) + 'a {
    let first = n_levels * counted.documents.len();
    counted.learned.resize(first + n_levels, 0);
    let CountedDocuments {
        learned,
        calls,
        call_slices,
        vocabulary,
        ..
    } = counted;
    move |level, name, tokens, n_symbols| {
        if let Some(learned) = learned.get_mut(first + level) {
            *learned += 1;
        }
        if admits(&slices.calls, call_slices, level, name) {
            calls.push(Sighting::new(level, name, n_symbols));
        }
        // Given at level 0 only. Tokens that no pattern holds are in no dictionary.
        for &token in tokens {
            let seen: &mut SeenToken = vocabulary.entry(hash_token(token)).or_default();
            (seen.token, seen.times) = (token, seen.times + 1);
        }
    }
}

/// Returns whether the slice of a level holds a name: that of the sample, and that of these documents.
/// One that is out of date is only larger.
fn admits(slices: &[AtomicU32], own: &[u32], level: usize, name: u64) -> bool {
    let shift = slices.get(level).map(|shift| shift.load(Ordering::Relaxed));
    let own = own.get(level).copied().unwrap_or(0);
    shift.is_some_and(|shift| is_in_slice(name, shift.max(own)))
}

impl Sighting {
    fn new(level: usize, name: u64, n_symbols: usize) -> Self {
        // Levels are few; a pattern of more symbols than that would not fit into memory.
        let [level, n_symbols] = [level, n_symbols].map(|n| u32::try_from(n).unwrap_or(u32::MAX));
        Self {
            level,
            name,
            n_symbols,
            times: 1,
        }
    }
}
