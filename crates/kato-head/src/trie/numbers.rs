//! Columns of numbers, in memory or in files that are read where they lie.

mod large;
mod lines;
mod part;

use kato_columns::{CheckedBytes, View};

pub(crate) use self::large::{LARGE_BLOCK, Large};
pub(crate) use self::lines::{LINE_BYTES, Lines, ONES, Ones, Step};
pub(crate) use self::part::Part;

/// The byte that says that a number stands among the large ones.
pub(crate) const LARGE: u8 = u8::MAX;

/// The half of a byte that says so.
pub(crate) const LARGE_HALF: u8 = 15;

/// A column of numbers.
#[derive(Debug)]
pub(crate) enum Numbers {
    Owned(Vec<u32>),
    Frozen(Frozen),
}

/// A column in a file.
#[derive(Debug)]
pub(crate) struct Frozen {
    bytes: CheckedBytes,
    width: Width,
    len: usize,
}

/// How wide the numbers of a file are.
#[derive(Debug)]
pub(crate) enum Width {
    /// A byte, or [`LARGE`] for those that stand among the large ones.
    Byte(Large),
    /// Half a byte, the lower one first, or [`LARGE_HALF`].
    Half(Large),
    /// Lines of so many numbers most of which are 1.
    Ones(Ones, usize),
    /// Lines of so many numbers that ascend.
    Lines(Lines, usize),
    /// 2 bytes.
    Two,
    /// 4 bytes.
    Four,
}

impl Default for Numbers {
    fn default() -> Self {
        Self::Owned(Vec::new())
    }
}

impl Numbers {
    /// Joins the bytes of a file and their width.
    pub(crate) fn from_file(bytes: CheckedBytes, width: Width) -> Self {
        Self::Frozen(Frozen::new(bytes, width))
    }

    /// Joins the bytes of a file that says which of so many numbers are 1, and those of the others with the large
    /// ones of these.
    pub(crate) fn ones(
        bytes: CheckedBytes,
        len: usize,
        others: CheckedBytes,
        large: Large,
    ) -> Self {
        let others = Frozen::new(others, Width::Half(large));
        Self::from_file(bytes, Width::Ones(Ones::new(others), len))
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Owned(numbers) => numbers.len(),
            Self::Frozen(frozen) => frozen.len,
        }
    }

    /// Returns what reads many of them.
    #[inline]
    pub(crate) fn read(&self) -> Reader<'_> {
        match self {
            Self::Owned(numbers) => Reader::Owned(numbers),
            Self::Frozen(frozen) => Reader::Frozen(frozen, frozen.bytes.view()),
        }
    }

    /// Returns a number; 0 beyond the end, and where a file is damaged.
    #[inline]
    pub(crate) fn get(&self, place: usize) -> u32 {
        self.read().get(place)
    }

    /// Returns the same numbers in memory.
    pub(crate) fn to_owned(&self) -> Self {
        let reader = self.read();
        Self::Owned((0..self.len()).map(|place| reader.get(place)).collect())
    }

    /// Returns the numbers to be changed; `None` for those in a file.
    pub(super) fn owned(&mut self) -> Option<&mut Vec<u32>> {
        match self {
            Self::Owned(numbers) => Some(numbers),
            Self::Frozen(_) => None,
        }
    }

    pub(super) fn heap_bytes(&self) -> usize {
        match self {
            Self::Owned(numbers) => numbers.capacity() * 4,
            Self::Frozen(frozen) => frozen.heap_bytes(),
        }
    }
}

impl Frozen {
    fn new(bytes: CheckedBytes, width: Width) -> Self {
        // Lines that are not as many as the numbers need do not fit what they are of.
        let fitting = |len: usize, needed: usize| match needed == bytes.len() {
            true => len,
            false => 0,
        };
        let len = match &width {
            Width::Byte(_) => bytes.len(),
            Width::Half(_) => bytes.len() * 2,
            Width::Ones(_, len) => fitting(*len, len.div_ceil(ONES) * LINE_BYTES),
            Width::Lines(lines, len) => fitting(*len, lines.bytes_of(*len)),
            Width::Two => bytes.len() / 2,
            Width::Four => bytes.len() / 4,
        };
        Self { bytes, width, len }
    }

    fn heap_bytes(&self) -> usize {
        let beside = match &self.width {
            Width::Byte(large) | Width::Half(large) => large.heap_bytes(),
            Width::Ones(ones, _) => ones.heap_bytes(),
            Width::Lines(lines, _) => lines.heap_bytes(),
            Width::Two | Width::Four => 0,
        };
        self.bytes.heap_bytes() + beside
    }

    /// Returns a number; 0 beyond the end, and where a file is damaged.
    #[inline]
    fn get(&self, place: usize) -> u32 {
        Reader::Frozen(self, self.bytes.view()).get(place)
    }
}

/// What reads a column.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Reader<'a> {
    Owned(&'a [u32]),
    Frozen(&'a Frozen, View<'a>),
}

impl Reader<'_> {
    /// Returns a number; 0 beyond the end, and where a file is damaged.
    #[inline]
    pub(crate) fn get(self, place: usize) -> u32 {
        match self {
            Self::Owned(numbers) => numbers.get(place).copied().unwrap_or(0),
            Self::Frozen(frozen, view) => match &frozen.width {
                Width::Two => u32::from(u16::from_le_bytes(view.array(place.wrapping_mul(2)))),
                Width::Four => view.u32(place),
                Width::Byte(large) => large.of_byte(view.array::<1>(place)[0], place),
                Width::Half(large) => large.of_half(view.array::<1>(place / 2)[0], place),
                Width::Ones(..) | Width::Lines(..) if place >= frozen.len => 0,
                Width::Ones(ones, _) => ones.get(view, place),
                Width::Lines(lines, _) => lines.get(view, place),
            },
        }
    }

    /// Returns a number and the next one, as of [`get`](Self::get).
    #[inline]
    pub(crate) fn pair(self, place: usize) -> (u32, u32) {
        match self {
            Self::Frozen(frozen, view) if place + 1 < frozen.len => match &frozen.width {
                Width::Lines(lines, _) => lines.pair(view, place),
                _ => (self.get(place), self.get(place + 1)),
            },
            _ => (self.get(place), self.get(place + 1)),
        }
    }

    /// Returns the first place of a range whose number is not below another one; numbers ascend within
    /// the range. The end of the range if there is none.
    #[inline]
    pub(crate) fn lower_bound(self, range: std::ops::Range<usize>, number: u32) -> usize {
        let (start, len) = (range.start, range.len());
        let below = match self {
            // Asked which kind it is only once.
            Self::Frozen(frozen, view) if matches!(frozen.width, Width::Four) => {
                first_at_least(len, |at| view.u32(start + at) < number)
            }
            _ => first_at_least(len, |at| self.get(start + at) < number),
        };
        start + below
    }
}

/// Returns the half of a byte that belongs to a place.
#[inline]
pub(crate) const fn half(byte: u8, place: usize) -> u8 {
    byte >> (4 * (place % 2)) & 15
}

/// Returns how many of `len` things are below something, which are the first ones.
#[inline]
fn first_at_least(len: usize, is_below: impl Fn(usize) -> bool) -> usize {
    // With branches: what is foretold is fetched ahead, which is worth more than what is foretold wrongly costs.
    let (mut low, mut high) = (0, len);
    while low < high {
        let middle = low.midpoint(high);
        match is_below(middle) {
            true => low = middle + 1,
            false => high = middle,
        }
    }
    low
}

/// Returns how many of `len` things are below something, which are the first ones; takes longer the
/// more they are.
#[inline]
pub(crate) fn first_not_below(len: usize, is_below: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high, mut step) = (0, 0, 1);
    while high < len && is_below(high) {
        low = high + 1;
        high += step;
        step *= 2;
    }
    let high = high.min(len);
    // All before `low` are below it, and what `high` is at is not.
    low + first_at_least(high - low, |at| is_below(low + at))
}
