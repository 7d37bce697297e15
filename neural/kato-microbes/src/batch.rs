//! Samples as numbers: each distinct sequence once, and which sample holds it.

mod draw;
mod part;

use std::collections::BTreeMap;

use kato_random::SplitMix64;

use crate::community::Microbes;
use crate::metadata::first_categories;
use crate::settings::{MicroformerOptions, Selection};
use crate::tokens::MASK;

pub use draw::BatchDraw;
pub(crate) use draw::mixed;

/// Sequences that go through the first stack together, padded to the longest.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SequenceChunk {
    /// Tokens, `n × longest`; 0 behind a sequence's end.
    pub tokens: Vec<i64>,
    /// Tokens of each sequence.
    pub lengths: Vec<usize>,
    /// Tokens of the longest.
    pub n_steps: usize,
    /// Where a nucleotide is hidden, as places among `n × longest`, ascending.
    pub hidden: Vec<i64>,
    /// Which nucleotide it is, from 0.
    pub letters: Vec<i64>,
}

/// A batch of samples.
///
/// A sequence that several samples hold is there once, so that it is computed once: that is what a
/// batch costs, whatever its samples have in common.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SampleBatch {
    /// Which features of the table the distinct sequences are, chunk after chunk.
    pub features: Vec<usize>,
    /// The distinct sequences, the shortest first, so that little is padded; nothing is hidden.
    pub chunks: Vec<SequenceChunk>,
    /// Copies of some of them, with nucleotides hidden. Apart, because a model would tell sequences
    /// by what is hidden of them, and judge distances by that.
    pub guesses: Vec<SequenceChunk>,
    /// Sequences of each sample.
    pub lengths: Vec<usize>,
    /// Sequences of the largest sample.
    pub n_rows: usize,
    /// Which distinct sequence each row is, from 1, `samples × n_rows`; 0 where there is none.
    pub places: Vec<i64>,
    /// How abundant each is, from 0 to 1 on a scale of logarithms, `samples × n_rows`.
    pub abundances: Vec<f32>,
    /// A category of each column that is told of each sample, `samples × columns`.
    pub categories: Vec<i64>,
}

impl SampleBatch {
    /// Puts samples of a community, by their numbers, into a batch.
    ///
    /// A sample's sequences come by falling abundance, equals in the table's order; so places in a
    /// sample mean something, and a hidden nucleotide is hidden in every sample of the batch.
    ///
    /// # Panics
    ///
    /// There is no such sample.
    #[must_use]
    pub fn new(
        microbes: &Microbes,
        samples: &[usize],
        options: &MicroformerOptions,
        draw: BatchDraw,
    ) -> Self {
        let chosen: Vec<Vec<(usize, f32)>> = samples
            .iter()
            .map(|&sample| chosen(microbes, sample, options, draw.seed))
            .collect();
        let mut features: Vec<usize> = chosen.iter().flatten().map(|entry| entry.0).collect();
        features.sort_unstable();
        features.dedup();
        features.sort_by_key(|&feature| microbes.sequences.row(feature).len());
        let place: BTreeMap<usize, i64> = features.iter().copied().zip(1..).collect();
        let n_rows = chosen.iter().map(Vec::len).max().unwrap_or(0);
        let mut places = vec![0; samples.len() * n_rows];
        let mut abundances = vec![0.0; samples.len() * n_rows];
        for (at, rows) in chosen.iter().enumerate() {
            for (row, (feature, abundance)) in rows.iter().enumerate() {
                places[at * n_rows + row] = place[feature];
                abundances[at * n_rows + row] = *abundance;
            }
        }
        let size = options.chunk.max(1);
        let clean = features
            .chunks(size)
            .map(|part| chunk(microbes, part, None));
        let chunks = clean.collect();
        let guessed = guessed(&features, draw);
        let guesses = guessed
            .chunks(size)
            .map(|part| chunk(microbes, part, Some(draw)));
        let guesses = guesses.collect();
        Self {
            features,
            chunks,
            guesses,
            lengths: chosen.iter().map(Vec::len).collect(),
            n_rows,
            places,
            abundances,
            categories: samples
                .iter()
                .flat_map(|&sample| categories(microbes, sample, options))
                .collect(),
        }
    }

    /// Returns the number of samples.
    #[must_use]
    pub fn n_samples(&self) -> usize {
        self.lengths.len()
    }

    /// Returns the number of distinct sequences.
    #[must_use]
    pub fn n_sequences(&self) -> usize {
        self.chunks.iter().map(|chunk| chunk.lengths.len()).sum()
    }

    /// Returns the number of copies with hidden nucleotides.
    #[must_use]
    pub fn n_guesses(&self) -> usize {
        self.guesses.iter().map(|chunk| chunk.lengths.len()).sum()
    }

    /// Returns the number of hidden nucleotides.
    #[must_use]
    pub fn n_hidden(&self) -> usize {
        self.guesses.iter().map(|chunk| chunk.hidden.len()).sum()
    }

    /// Returns which nucleotides are hidden, from 0, in the order of the scores.
    #[must_use]
    pub fn letters(&self) -> Vec<i64> {
        let letters = self.guesses.iter().flat_map(|chunk| &chunk.letters);
        letters.copied().collect()
    }

    /// Returns the number of tokens that go through the first stack.
    #[must_use]
    pub fn n_tokens(&self) -> usize {
        let chunks = self.chunks.iter().chain(&self.guesses);
        let lengths = chunks.flat_map(|chunk| &chunk.lengths);
        lengths.sum()
    }
}

/// Returns the categories of a sample; those that stand for nothing known where none are given.
pub(crate) fn categories(
    microbes: &Microbes,
    sample: usize,
    options: &MicroformerOptions,
) -> Vec<i64> {
    let n = options.categorical.len();
    let given = microbes.categories.get(sample * n..(sample + 1) * n);
    given.map_or_else(|| first_categories(&options.categorical), <[i64]>::to_vec)
}

/// Chooses the sequences of a sample that are read, with their abundance.
fn chosen(
    microbes: &Microbes,
    sample: usize,
    options: &MicroformerOptions,
    seed: u64,
) -> Vec<(usize, f32)> {
    let mut held: Vec<(usize, f64)> = microbes.table.sample(sample).collect();
    let total: f64 = held.iter().map(|entry| entry.1).sum();
    let most = options.max_sequences;
    match options.selection {
        Selection::First => held.truncate(most),
        Selection::Random if held.len() > most => {
            // By the sample's number, so that other samples of the batch change nothing.
            let mut random = SplitMix64::from_seed(mixed(seed, sample as u64));
            for at in 0..most {
                let other = at + random.below(held.len() - at);
                held.swap(at, other);
            }
            held.truncate(most);
            held.sort_unstable_by_key(|entry| entry.0);
        }
        Selection::Abundant | Selection::Random => {}
    }
    // Stable: equals stay in the table's order.
    held.sort_by(|a, b| b.1.total_cmp(&a.1));
    held.truncate(most);
    held.into_iter()
        .map(|(feature, count)| (feature, level(count / total)))
        .collect()
}

/// Brings a share to a scale on which one of a thousand is near a tenth, and all is 1.
fn level(share: f64) -> f32 {
    (libm::log1p(1000.0 * share) / libm::log1p(1000.0)) as f32
}

/// Draws the sequences of which nucleotides are hidden: one of four, at least one.
fn guessed(features: &[usize], draw: BatchDraw) -> Vec<usize> {
    if draw.masked == 0 {
        return Vec::new();
    }
    let mut random = SplitMix64::from_seed(mixed(draw.seed, u64::MAX));
    let first = random.below(N_GUESSED);
    // Every fourth, as neighbours are of like length: chunks stay full.
    let some: Vec<usize> = features
        .iter()
        .copied()
        .skip(first)
        .step_by(N_GUESSED)
        .collect();
    if some.is_empty() {
        features.to_vec()
    } else {
        some
    }
}

/// One of how many sequences has nucleotides hidden in a copy.
const N_GUESSED: usize = 4;

fn chunk(microbes: &Microbes, features: &[usize], draw: Option<BatchDraw>) -> SequenceChunk {
    let rows: Vec<&[u8]> = features
        .iter()
        .map(|&f| microbes.sequences.row(f))
        .collect();
    let n_steps = rows.iter().map(|row| row.len()).max().unwrap_or(0);
    let mut chunk = SequenceChunk {
        tokens: vec![0; rows.len() * n_steps],
        lengths: rows.iter().map(|row| row.len()).collect(),
        n_steps,
        hidden: Vec::new(),
        letters: Vec::new(),
    };
    for (at, (row, &feature)) in rows.iter().zip(features).enumerate() {
        for (step, &token) in row.iter().enumerate() {
            chunk.tokens[at * n_steps + step] = token.into();
        }
        let Some(draw) = draw else { continue };
        let drawn = draw.places(feature, row.len());
        for ((step, &token), is_drawn) in row.iter().enumerate().zip(drawn) {
            // START and what is not known cannot be guessed.
            if is_drawn && (1..=4).contains(&token) {
                let place = at * n_steps + step;
                chunk.tokens[place] = MASK.into();
                chunk.hidden.push(place as i64);
                chunk.letters.push(i64::from(token) - 1);
            }
        }
    }
    chunk
}
