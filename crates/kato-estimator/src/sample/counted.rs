//! What documents teach, counted apart from the sample that takes it in, so that many threads can
//! count.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::EstimatedHierarchy;
use crate::hash::{HashTable, hash_text, hash_token, hash_tokens};
use crate::path::Paths;
use crate::repeats::for_each_unit;
use crate::sketch::is_in_slice;

/// What some documents teach, made by a [`TextCounter`](crate::text_sampler::TextCounter).
#[derive(Debug, Clone, Default)]
pub struct CountedDocuments {
    pub(super) documents: Vec<CountedDocument>,
    /// Learn calls of each level, for one document after the other.
    pub(super) learned: Vec<u64>,
    pub(super) calls: Vec<Sighting>,
    pub(super) windows: Vec<Sighting>,
    pub(super) paragraphs: Vec<(u64, u64)>,
    pub(super) lines: Vec<(u64, u64)>,
    /// Times that a token is part of a pattern.
    pub(super) vocabulary: HashTable<u32>,
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
#[derive(Debug, Clone, Copy)]
pub(super) struct Sighting {
    pub(super) name: u64,
    pub(super) level: u32,
    pub(super) n_symbols: u32,
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

/// Counts documents of token ids.
#[derive(Debug, Clone)]
pub(crate) struct DocumentCounter {
    pub(super) hierarchy: EstimatedHierarchy,
    pub(super) has_windows: bool,
    pub(super) slices: Arc<Slices>,
    paths: Paths,
    counted: CountedDocuments,
}

impl DocumentCounter {
    pub(super) fn new(
        hierarchy: EstimatedHierarchy,
        has_windows: bool,
        slices: Arc<Slices>,
    ) -> Self {
        Self {
            hierarchy,
            has_windows,
            slices,
            paths: Paths::default(),
            counted: CountedDocuments::default(),
        }
    }

    /// Counts a document of which only the tokens are known.
    pub(crate) fn count_tokens<P: AsRef<[u32]>>(&mut self, paragraphs: &[P], text_bytes: u64) {
        let hash = paragraphs.iter().fold(0, |hash: u64, paragraph| {
            hash.rotate_left(1) ^ hash_tokens(paragraph.as_ref())
        });
        self.count(paragraphs, hash, text_bytes);
    }

    /// Counts a document by its text and its tokens.
    pub(crate) fn count_text<P: AsRef<[u32]>>(&mut self, paragraphs: &[P], text: &str) {
        let CountedDocuments {
            paragraphs: pieces,
            lines,
            ..
        } = &mut self.counted;
        for_each_unit(
            text,
            |piece| pieces.push((hash_text(piece.as_bytes()), piece.len() as u64)),
            |line| lines.push((hash_text(line.as_bytes()), line.len() as u64)),
        );
        self.count(paragraphs, hash_text(text.as_bytes()), text.len() as u64);
    }

    fn count<P: AsRef<[u32]>>(&mut self, paragraphs: &[P], hash: u64, text_bytes: u64) {
        let Self {
            hierarchy,
            slices,
            paths,
            counted,
            ..
        } = self;
        let first = counted.learned.len();
        counted.learned.resize(first + hierarchy.n_levels(), 0);
        let admits = |slices: &[AtomicU32], level: usize, name| {
            // A slice that is out of date is only larger.
            let shift = slices.get(level).map(|shift| shift.load(Ordering::Relaxed));
            shift.is_some_and(|shift| is_in_slice(name, shift))
        };
        let (learned, calls) = (&mut counted.learned[first..], &mut counted.calls);
        let vocabulary = &mut counted.vocabulary;
        paths.calls(hierarchy, paragraphs, |level, name, tokens, n_symbols| {
            if let Some(learned) = learned.get_mut(level) {
                *learned += 1;
            }
            if admits(&slices.calls, level, name) {
                calls.push(Sighting::new(level, name, n_symbols));
            }
            // Given at level 0 only. Tokens that no pattern holds are in no dictionary.
            for &token in tokens {
                *vocabulary.entry(hash_token(token)).or_default() += 1;
            }
        });
        if self.has_windows {
            let windows = &mut counted.windows;
            paths.windows(hierarchy, paragraphs, |level, name, n_symbols| {
                if admits(&slices.windows, level, name) {
                    windows.push(Sighting::new(level, name, n_symbols));
                }
            });
        }
        let tokens = paragraphs.iter().map(|p| p.as_ref().len() as u64).sum();
        counted.documents.push(CountedDocument {
            hash,
            text_bytes,
            tokens,
            calls_end: counted.calls.len(),
            windows_end: counted.windows.len(),
        });
    }

    /// Returns what was counted since the last time.
    pub(crate) fn take(&mut self) -> CountedDocuments {
        std::mem::take(&mut self.counted)
    }
}

impl Sighting {
    fn new(level: usize, name: u64, n_symbols: usize) -> Self {
        // Levels are few; a pattern of more symbols than that would not fit into memory.
        let [level, n_symbols] = [level, n_symbols].map(|n| u32::try_from(n).unwrap_or(u32::MAX));
        Self {
            name,
            level,
            n_symbols,
        }
    }
}
