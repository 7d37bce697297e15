//! Some of a batch's sequences, to be encoded apart from the others.

use std::ops::Range;

use super::{SampleBatch, SequenceChunk};

impl SampleBatch {
    /// Returns how many tokens each sequence has, copies with hidden nucleotides behind all others.
    #[must_use]
    pub fn sizes(&self) -> Vec<usize> {
        let chunks = self.chunks.iter().chain(&self.guesses);
        chunks.flat_map(|chunk| chunk.lengths.clone()).collect()
    }

    /// Takes some sequences out of the batch, numbered as in [`sizes`](Self::sizes). The samples stay
    /// behind: encoded sequences of all parts are put together before samples are encoded.
    #[must_use]
    pub fn part(&self, rows: &Range<usize>) -> Self {
        let mut first = 0;
        let mut cut = |chunks: &[SequenceChunk]| -> Vec<SequenceChunk> {
            let parts = chunks.iter().filter_map(|chunk| {
                let n = chunk.lengths.len();
                let within = rows.start.clamp(first, first + n) - first
                    ..rows.end.clamp(first, first + n) - first;
                first += n;
                (!within.is_empty()).then(|| chunk.part(&within))
            });
            parts.collect()
        };
        let (chunks, guesses) = (cut(&self.chunks), cut(&self.guesses));
        let n = self.n_sequences();
        let features = self.features[rows.start.min(n)..rows.end.min(n)].to_vec();
        Self {
            features,
            chunks,
            guesses,
            lengths: Vec::new(),
            n_rows: 0,
            places: Vec::new(),
            abundances: Vec::new(),
            categories: Vec::new(),
        }
    }
}

impl SequenceChunk {
    fn part(&self, rows: &Range<usize>) -> Self {
        let n_steps = self.n_steps;
        let places = rows.start * n_steps..rows.end * n_steps;
        let within = |place: &i64| places.contains(&(*place as usize));
        let begin = self
            .hidden
            .partition_point(|&place| (place as usize) < places.start);
        let hidden = self.hidden[begin..].iter().filter(|place| within(place));
        let hidden: Vec<i64> = hidden.map(|place| place - places.start as i64).collect();
        Self {
            tokens: self.tokens[places.clone()].to_vec(),
            lengths: self.lengths[rows.clone()].to_vec(),
            n_steps,
            letters: self.letters[begin..begin + hidden.len()].to_vec(),
            hidden,
        }
    }
}
