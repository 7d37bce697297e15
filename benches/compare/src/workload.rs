//! The stream of learn calls that every engine gets: made from numbers, so that it needs no memory and no corpus.

/// Symbols of a pattern: a level-0 chunk of five tokens.
pub const N_SYMBOLS: usize = 5;
/// Size of the vocabulary: GPT-2's.
pub const N_TOKENS: u32 = 50_257;

/// A pattern's name.
pub type Name = [u8; 20];

/// One learn call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Record {
    /// Stands for the SHA-1 of the content: 20 uniform bytes.
    pub name: Name,
    /// Token ids.
    pub symbols: [u16; N_SYMBOLS],
}

/// What is measured.
#[derive(Debug, Clone, Copy)]
pub struct Workload {
    /// Learn calls.
    pub n_records: u64,
    /// Learn calls of one commit.
    pub batch: u64,
    /// Share of repeats.
    pub repeat_percent: u64,
    /// Look-ups.
    pub n_look_ups: u64,
    /// Seed.
    pub seed: u64,
}

impl Workload {
    /// The learn calls of each commit.
    pub fn batches(self) -> impl Iterator<Item = Vec<Record>> {
        (0..self.n_records.div_ceil(self.batch)).map(move |batch_idx| {
            let start = batch_idx * self.batch;
            let end = self.n_records.min(start + self.batch);
            (start..end).map(|idx| self.record(idx)).collect()
        })
    }

    /// Names to look up: all were learned.
    pub fn look_ups(self) -> impl Iterator<Item = Name> {
        (0..self.n_look_ups).map(move |idx| {
            let learned = mix(self.seed ^ 0x5eed, idx) % self.n_records.max(1);
            self.record(learned).name
        })
    }

    /// A learn call: new, or a repeat of any earlier one.
    fn record(self, idx: u64) -> Record {
        let mut pattern = idx;
        // What is repeated may itself be a repeat; numbers fall, so this ends.
        while pattern > 0 && mix(self.seed, pattern) % 100 < self.repeat_percent {
            pattern = mix(self.seed ^ 0xba5e, pattern) % pattern;
        }
        let word = |which: u64| mix(self.seed ^ 0xda7a ^ which, pattern);
        let mut name = [0; 20];
        name[..8].copy_from_slice(&word(1).to_be_bytes());
        name[8..16].copy_from_slice(&word(2).to_be_bytes());
        name[16..].copy_from_slice(&word(3).to_be_bytes()[..4]);
        let symbols = std::array::from_fn(|which| token(word(10 + which as u64)));
        Record { name, symbols }
    }
}

/// A token with about Zipf's frequencies: ranks of every power of two are equally likely.
fn token(bits: u64) -> u16 {
    let power = bits % u64::from(N_TOKENS.ilog2() + 1);
    let rank = (1 << power) | (bits >> 32 & ((1 << power) - 1));
    (rank % u64::from(N_TOKENS)) as u16
}

/// Hashes two numbers to one (the finalizer of SplitMix64, twice).
fn mix(a: u64, b: u64) -> u64 {
    let finalize = |mut z: u64| {
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    };
    finalize(
        finalize(a.wrapping_mul(0x9e37_79b9_7f4a_7c15))
            .wrapping_add(b.wrapping_mul(0x9e37_79b9_7f4a_7c15)),
    )
}

/// Counts a batch and puts it in name order: the best that can be done for an engine before it sees the data.
pub fn count_sorted(mut batch: Vec<Record>) -> Vec<(Record, u64)> {
    batch.sort_unstable();
    let mut counted: Vec<(Record, u64)> = Vec::with_capacity(batch.len());
    for record in batch {
        match counted.last_mut() {
            Some((last, count)) if last.name == record.name => *count += 1,
            _ => counted.push((record, 1)),
        }
    }
    counted
}

/// The bytes that key-value engines store for a pattern: its symbols, then its frequency as a varint. 11 bytes for most.
pub fn encode(record: &Record, mut frequency: u64) -> Vec<u8> {
    let mut value: Vec<u8> = record
        .symbols
        .iter()
        .flat_map(|symbol| symbol.to_le_bytes())
        .collect();
    while frequency >= 0x80 {
        value.push(frequency as u8 | 0x80);
        frequency >>= 7;
    }
    value.push(frequency as u8);
    value
}

/// The frequency in a stored value.
pub fn frequency(value: &[u8]) -> u64 {
    let digits = value.iter().skip(2 * N_SYMBOLS).enumerate();
    digits.fold(0, |sum, (idx, byte)| {
        sum | u64::from(byte & 0x7f) << (7 * idx)
    })
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    const WORKLOAD: Workload = Workload {
        n_records: 20_000,
        batch: 3_000,
        repeat_percent: 10,
        n_look_ups: 100,
        seed: 7,
    };

    #[test]
    fn the_share_of_repeats_is_as_asked() {
        let mut counts: HashMap<Name, u64> = HashMap::new();
        WORKLOAD
            .batches()
            .flatten()
            .for_each(|record| *counts.entry(record.name).or_default() += 1);
        let new = counts.len() as f64 / WORKLOAD.n_records as f64;
        assert!((0.89..0.91).contains(&new), "{new}");
        assert!(WORKLOAD.look_ups().all(|name| counts.contains_key(&name)));
    }

    #[test]
    fn counting_loses_nothing() {
        let counted: u64 = WORKLOAD
            .batches()
            .flat_map(count_sorted)
            .map(|(_, count)| count)
            .sum();
        assert_eq!(counted, WORKLOAD.n_records);
    }

    #[test]
    fn frequencies_read_back() {
        let record = WORKLOAD.record(1);
        for count in [1, 127, 128, 1 << 40] {
            assert_eq!(frequency(&encode(&record, count)), count);
        }
        assert_eq!(encode(&record, 1).len(), 11);
    }
}
