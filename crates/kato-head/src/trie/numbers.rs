//! Columns of numbers, in memory or in files that are read where they lie.

use kato_columns::{CheckedBytes, View};

/// The byte that says that a number stands among the large ones.
pub(crate) const LARGE: u8 = u8::MAX;

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
    /// A byte, or [`LARGE`] for those that stand among the large ones: the places of these, ascending, and
    /// the numbers, both of 4 bytes.
    Byte([CheckedBytes; 2]),
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
        let bytes_each = match width {
            Width::Byte(_) => 1,
            Width::Two => 2,
            Width::Four => 4,
        };
        let len = bytes.len() / bytes_each;
        Self::Frozen(Frozen { bytes, width, len })
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
            Self::Frozen(frozen) => {
                let large = match &frozen.width {
                    Width::Byte(large) => large.iter().map(CheckedBytes::heap_bytes).sum(),
                    Width::Two | Width::Four => 0,
                };
                frozen.bytes.heap_bytes() + large
            }
        }
    }
}

/// Bytes of a file up to which a range is looked at as one.
const MOST_PART_BYTES: usize = 1 << 16;

/// A range of a column, whose numbers are compared with their checksums once.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Part<'a> {
    Owned(&'a [u32]),
    /// The large ones are found by the place of the range.
    Byte(&'a [u8], &'a [CheckedBytes; 2], usize),
    Two(&'a [[u8; 2]]),
    Four(&'a [[u8; 4]]),
    /// Too long: from this place on, so many.
    Each(Reader<'a>, usize, usize),
}

impl Numbers {
    /// Returns a range to be read here and there.
    #[inline]
    pub(crate) fn part(&self, range: std::ops::Range<usize>) -> Part<'_> {
        let (start, len) = (range.start, range.len());
        let frozen = match self {
            Self::Owned(numbers) => return Part::Owned(numbers.get(range).unwrap_or_default()),
            Self::Frozen(frozen) => frozen,
        };
        let view = frozen.bytes.view();
        if len > MOST_PART_BYTES / 4 {
            return Part::Each(Reader::Frozen(frozen, view), start, len);
        }
        // Nothing where it is damaged, or beyond the end.
        let bytes = |width: usize| view.slice(start.saturating_mul(width), len * width);
        match &frozen.width {
            Width::Byte(large) => Part::Byte(bytes(1), large, start),
            Width::Two => Part::Two(bytes(2).as_chunks().0),
            Width::Four => Part::Four(bytes(4).as_chunks().0),
        }
    }
}

impl Part<'_> {
    /// Returns where a number stands in the range, whose numbers ascend.
    #[inline]
    pub(crate) fn find(self, number: u32) -> Option<usize> {
        let (at, len) = match self {
            Self::Owned(numbers) => (numbers.partition_point(|&n| n < number), numbers.len()),
            Self::Two(numbers) => {
                let is_below = |n: &[u8; 2]| u32::from(u16::from_le_bytes(*n)) < number;
                (numbers.partition_point(is_below), numbers.len())
            }
            Self::Four(numbers) => {
                let is_below = |n: &[u8; 4]| u32::from_le_bytes(*n) < number;
                (numbers.partition_point(is_below), numbers.len())
            }
            Self::Byte(..) | Self::Each(..) => {
                let len = self.len();
                (first_at_least(len, |at| self.get(at) < number), len)
            }
        };
        (at < len && self.get(at) == number).then_some(at)
    }

    fn len(self) -> usize {
        match self {
            Self::Owned(numbers) => numbers.len(),
            Self::Byte(bytes, ..) => bytes.len(),
            Self::Two(numbers) => numbers.len(),
            Self::Four(numbers) => numbers.len(),
            Self::Each(_, _, len) => len,
        }
    }

    /// Returns a number of the range; 0 beyond its end, and where a file is damaged.
    #[inline]
    pub(crate) fn get(self, at: usize) -> u32 {
        match self {
            Self::Owned(numbers) => numbers.get(at).copied().unwrap_or(0),
            Self::Byte(bytes, large, start) => match bytes.get(at) {
                Some(&LARGE) => large_number(large, start + at),
                small => small.copied().unwrap_or(0).into(),
            },
            Self::Two(numbers) => {
                u16::from_le_bytes(numbers.get(at).copied().unwrap_or_default()).into()
            }
            Self::Four(numbers) => u32::from_le_bytes(numbers.get(at).copied().unwrap_or_default()),
            Self::Each(reader, start, _) => reader.get(start + at),
        }
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
                Width::Byte(large) => match view.array::<1>(place)[0] {
                    LARGE => large_number(large, place),
                    small => small.into(),
                },
            },
        }
    }

    /// Returns the first place of a range whose number is not below another one; numbers ascend within
    /// the range. The end of the range if there is none.
    #[inline]
    pub(crate) fn lower_bound(self, range: std::ops::Range<usize>, number: u32) -> usize {
        let (mut low, mut high) = (range.start, range.end);
        while low < high {
            let middle = low.midpoint(high);
            match self.get(middle) < number {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        low
    }
}

/// Returns a number that takes more than a byte.
#[cold]
fn large_number([places, numbers]: &[CheckedBytes; 2], place: usize) -> u32 {
    let view = places.view();
    let (mut low, mut high) = (0, places.len() / 4);
    while low < high {
        let middle = low.midpoint(high);
        match (view.u32(middle) as usize) < place {
            true => low = middle + 1,
            false => high = middle,
        }
    }
    // Beyond the end it is damage.
    numbers.view().u32(low)
}

/// Returns how many of `len` things are below something, which are the first ones.
#[inline]
fn first_at_least(len: usize, is_below: impl Fn(usize) -> bool) -> usize {
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
pub(super) fn first_not_below(len: usize, is_below: impl Fn(usize) -> bool) -> usize {
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
