//! Columns of lines, of which each is fetched at once: numbers that ascend, and numbers most of which are 1.

use kato_columns::View;

use super::{Frozen, LARGE, LARGE_HALF, Large};

/// Bytes of a line: a number, and what tells more.
pub(crate) const LINE_BYTES: usize = 32;

/// Bytes of a line behind its number.
pub(crate) const REST_BYTES: usize = LINE_BYTES - 4;

/// Numbers of a line of which a bit says whether each is 1.
pub(crate) const ONES: usize = REST_BYTES * 8;

/// A line as words, the lowest bits first.
type Words = [u64; LINE_BYTES / 8];

/// Reads a line; zeros where it is damaged or not there.
#[inline]
fn line(view: View<'_>, number: usize) -> Words {
    words(&view.array(number.wrapping_mul(LINE_BYTES)))
}

#[inline]
pub(super) fn words(line: &[u8; LINE_BYTES]) -> Words {
    let (words, _) = line.as_chunks::<8>();
    std::array::from_fn(|idx| u64::from_le_bytes(words[idx]))
}

/// Returns the bits of a word below some bit of a line, which may lie in any word.
#[inline]
const fn below(word: usize, bit: usize) -> u64 {
    match bit.saturating_sub(word * 64) {
        bits @ 0..64 => (1 << bits) - 1,
        _ => u64::MAX,
    }
}

/// How wide the steps are from each number that ascends to the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// Half a byte, the lower one first, or [`LARGE_HALF`].
    Half,
    /// A byte, or [`LARGE`].
    Byte,
}

impl Step {
    /// Returns the bits of a step.
    pub(crate) const fn bits(self) -> usize {
        match self {
            Self::Half => 4,
            Self::Byte => 8,
        }
    }

    /// Returns the numbers of a line.
    pub(crate) const fn n_numbers(self) -> usize {
        REST_BYTES * 8 / self.bits()
    }

    /// Returns the step that says that the next number stands among the large ones.
    pub(crate) const fn large(self) -> u8 {
        match self {
            Self::Half => LARGE_HALF,
            Self::Byte => LARGE,
        }
    }

    /// Returns the lowest bit of every step that is large.
    #[inline]
    const fn find_large(self, word: u64) -> u64 {
        let pairs = word & word >> 1;
        let halves = pairs & pairs >> 2;
        match self {
            Self::Half => halves & 0x1111_1111_1111_1111,
            Self::Byte => halves & halves >> 4 & 0x0101_0101_0101_0101,
        }
    }

    /// Adds up the steps of a word, in four parts.
    #[inline]
    const fn sum(self, word: u64) -> u64 {
        const BYTES: u64 = 0x0F0F_0F0F_0F0F_0F0F;
        const PARTS: u64 = 0x00FF_00FF_00FF_00FF;
        let bytes = match self {
            Self::Half => (word & BYTES) + (word >> 4 & BYTES),
            Self::Byte => word,
        };
        (bytes & PARTS) + (bytes >> 8 & PARTS)
    }
}

/// Reads numbers that ascend: of a line the first one, and of all how much more the next one is.
#[derive(Debug)]
pub(crate) struct Lines {
    step: Step,
    /// By the place of a number, the next one, where the step to that is large.
    large: Large,
}

impl Lines {
    /// Joins the width of the steps with what they cannot hold.
    pub(crate) const fn new(step: Step, large: Large) -> Self {
        Self { step, large }
    }

    /// Returns the bytes of so many numbers.
    pub(super) const fn bytes_of(&self, len: usize) -> usize {
        len.div_ceil(self.step.n_numbers()) * LINE_BYTES
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.large.heap_bytes()
    }

    /// Returns a number.
    #[inline]
    pub(super) fn get(&self, view: View<'_>, place: usize) -> u32 {
        let (number, at) = self.place(place);
        self.number(&line(view, number), place, at)
    }

    /// Returns a number and the next one.
    #[inline]
    pub(super) fn pair(&self, view: View<'_>, place: usize) -> (u32, u32) {
        let (number, at) = self.place(place);
        let words = line(view, number);
        let first = self.number(&words, place, at);
        let bits = self.step.bits();
        let bit = 32 + at * bits;
        let step = (words[bit / 64] >> (bit % 64)) as u8 & (u8::MAX >> (8 - bits));
        match step == self.step.large() {
            true => (first, self.large.get(place)),
            false => (first, first.wrapping_add(step.into())),
        }
    }

    /// Returns the line of a number, and its place in that.
    #[inline]
    const fn place(&self, place: usize) -> (usize, usize) {
        // Each a division by what the compiler knows.
        match self.step {
            Step::Half => (
                place / Step::Half.n_numbers(),
                place % Step::Half.n_numbers(),
            ),
            Step::Byte => (
                place / Step::Byte.n_numbers(),
                place % Step::Byte.n_numbers(),
            ),
        }
    }

    #[inline]
    fn number(&self, words: &Words, place: usize, at: usize) -> u32 {
        let bits = self.step.bits();
        let end = 32 + at * bits;
        let (mut first, mut from) = (words[0] as u32, 32);
        let masked = |word: usize, from| words[word] & below(word, end) & !below(word, from);
        let mut large = [0; LINE_BYTES / 8];
        for (word, large) in large.iter_mut().enumerate() {
            *large = self.step.find_large(masked(word, 32));
        }
        if large.iter().any(|&large| large != 0) {
            // What comes behind the last large step goes on from there.
            for (word, &large) in large.iter().enumerate().filter(|(_, large)| **large != 0) {
                from = word * 64 + 64 - large.leading_zeros() as usize + bits - 1;
            }
            let n_behind = (end - from) / bits;
            first = self.large.get(place.saturating_sub(n_behind + 1));
        }
        let parts = (0..words.len()).map(|word| self.step.sum(masked(word, from)));
        let sum = parts.sum::<u64>().wrapping_mul(0x0001_0001_0001_0001) >> 48;
        // At most 28 times 255.
        first.wrapping_add(sum as u32)
    }
}

/// Reads numbers most of which are 1: of a line how many others stand in front of it, and a bit for each number.
#[derive(Debug)]
pub(crate) struct Ones {
    /// Those that are not 1.
    others: Box<Frozen>,
}

impl Ones {
    /// Joins what stands beside.
    pub(super) fn new(others: Frozen) -> Self {
        Self {
            others: Box::new(others),
        }
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.others.heap_bytes()
    }

    /// Returns a number.
    #[inline]
    pub(super) fn get(&self, view: View<'_>, place: usize) -> u32 {
        self.of_line(&line(view, place / ONES), place % ONES)
    }

    /// Returns a number of a line.
    #[inline]
    pub(super) fn of_line(&self, words: &Words, at: usize) -> u32 {
        let bit = 32 + at;
        if words[bit / 64] >> (bit % 64) & 1 == 0 {
            return 1;
        }
        let before = (0..words.len()).map(|word| {
            let others = words[word] & below(word, bit) & !below(word, 32);
            others.count_ones()
        });
        let n_before = (words[0] as u32).wrapping_add(before.sum());
        self.others.get(n_before as usize)
    }
}
