//! Ranges of columns.

use super::lines::words;
use super::{
    LINE_BYTES, Large, Numbers, ONES, Ones, Reader, Width, first_at_least, first_not_below,
};

/// Bytes of a file up to which a range is looked at as one.
const MOST_PART_BYTES: usize = 1 << 16;

/// A range of a column, whose numbers are compared with their checksums once.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Part<'a> {
    Owned(&'a [u32]),
    /// The large ones are found by the place of the range.
    Byte(&'a [u8], &'a Large, usize),
    /// The lines that hold the range, which begins at this place and has so many numbers.
    Ones(&'a [[u8; LINE_BYTES]], &'a Ones, usize, usize),
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
            Width::Ones(ones, n) => {
                let len = len.min(n.saturating_sub(start));
                let (first, end) = (start / ONES, (start + len).div_ceil(ONES));
                let lines = (end.saturating_sub(first)) * LINE_BYTES;
                let lines = view.slice(first * LINE_BYTES, lines);
                Part::Ones(lines.as_chunks().0, ones, start, len)
            }
            Width::Half(_) | Width::Lines(..) => {
                Part::Each(Reader::Frozen(frozen, view), start, len)
            }
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
            Self::Byte(..) | Self::Ones(..) | Self::Each(..) => {
                let len = self.len();
                (first_at_least(len, |at| self.get(at) < number), len)
            }
        };
        (at < len && self.get(at) == number).then_some(at)
    }

    /// Returns the first place from another one on whose number is not below a number, as these ascend; takes longer
    /// the further it is.
    #[inline]
    pub(crate) fn first_from(self, from: usize, number: u32) -> usize {
        let rest = self.len().saturating_sub(from);
        from + match self {
            // Asked which kind it is only once.
            Self::Owned(numbers) => first_not_below(rest, |at| numbers[from + at] < number),
            Self::Two(numbers) => first_not_below(rest, |at| {
                u32::from(u16::from_le_bytes(numbers[from + at])) < number
            }),
            Self::Four(numbers) => {
                first_not_below(rest, |at| u32::from_le_bytes(numbers[from + at]) < number)
            }
            Self::Byte(..) | Self::Ones(..) | Self::Each(..) => {
                first_not_below(rest, |at| self.get(from + at) < number)
            }
        }
    }

    #[inline]
    pub(crate) fn len(self) -> usize {
        match self {
            Self::Owned(numbers) => numbers.len(),
            Self::Byte(bytes, ..) => bytes.len(),
            Self::Two(numbers) => numbers.len(),
            Self::Four(numbers) => numbers.len(),
            Self::Ones(_, _, _, len) | Self::Each(_, _, len) => len,
        }
    }

    /// Returns a number of the range; 0 beyond its end, and where a file is damaged.
    #[inline]
    pub(crate) fn get(self, at: usize) -> u32 {
        match self {
            Self::Owned(numbers) => numbers.get(at).copied().unwrap_or(0),
            Self::Byte(bytes, large, start) => {
                large.of_byte(bytes.get(at).copied().unwrap_or(0), start + at)
            }
            Self::Ones(lines, ones, start, len) if at < len => of_lines(lines, ones, start, at),
            Self::Ones(..) => 0,
            Self::Two(numbers) => {
                u16::from_le_bytes(numbers.get(at).copied().unwrap_or_default()).into()
            }
            Self::Four(numbers) => u32::from_le_bytes(numbers.get(at).copied().unwrap_or_default()),
            Self::Each(reader, start, _) => reader.get(start + at),
        }
    }
}

/// Returns a number of lines, of which the first one holds what stands at `start`.
#[inline(never)]
fn of_lines(lines: &[[u8; LINE_BYTES]], ones: &Ones, start: usize, at: usize) -> u32 {
    let place = start + at;
    let line = lines.get(place / ONES - start / ONES);
    line.map_or(0, |line| ones.of_line(&words(line), place % ONES))
}
