//! Writing columns of lines, and where what continues each n-gram begins.

use kato_columns::files::ColumnWriter;

use super::CountsError;
use super::columns::{Columns, step};
use super::small::LargeWriter;
use crate::trie::numbers::{LARGE, LINE_BYTES, Step};

/// A line that is filled from its lowest bit on: its number, and what tells more.
#[derive(Default)]
pub(super) struct Line {
    pub(super) bytes: [u8; LINE_BYTES],
    /// Things that it holds.
    pub(super) len: usize,
}

impl Line {
    /// Begins with a number.
    pub(super) fn begin(&mut self, number: u32) {
        *self = Self::default();
        self.bytes[..4].copy_from_slice(&number.to_le_bytes());
    }

    /// Adds the next thing, of so many bits: 1, 4 or 8.
    #[inline]
    pub(super) fn push(&mut self, thing: u8, bits: usize) {
        let bit = 32 + self.len * bits;
        self.bytes[bit / 8] |= thing << (bit % 8);
        self.len += 1;
    }
}

/// A column of the places at which what continues each n-gram begins.
pub(super) struct StartsWriter {
    starts: ColumnWriter,
    /// `None` where each has 4 bytes.
    lines: Option<LinesWriter>,
}

/// The lines of numbers that ascend.
struct LinesWriter {
    step: Step,
    line: Line,
    large: LargeWriter,
    /// The latest number, from which a step leads to the next one.
    last: Option<u32>,
}

impl LinesWriter {
    #[inline]
    fn push(&mut self, starts: &mut ColumnWriter, number: u32) -> Result<(), CountsError> {
        let Some(last) = self.last.replace(number) else {
            self.line.begin(number);
            return Ok(());
        };
        // They ascend.
        let step = u8::try_from(number - last).unwrap_or(LARGE);
        let step = step.min(self.step.large());
        self.line.push(step, self.step.bits());
        self.large.push(number, step == self.step.large())?;
        if self.line.len == self.step.n_numbers() {
            starts.push(&self.line.bytes)?;
            self.line.begin(number);
        }
        Ok(())
    }
}

impl StartsWriter {
    /// Creates a column of n-grams of `n` symbols.
    pub(super) fn create(columns: &Columns, n: usize, name: &str) -> Result<Self, CountsError> {
        let lines = |step| {
            Ok::<_, CountsError>(LinesWriter {
                step,
                line: Line::default(),
                large: LargeWriter::create(columns, name)?,
                last: None,
            })
        };
        Ok(Self {
            starts: columns.create(name)?,
            lines: step(n).map(lines).transpose()?,
        })
    }

    #[inline]
    pub(super) fn push(&mut self, start: u32) -> Result<(), CountsError> {
        match &mut self.lines {
            Some(lines) => lines.push(&mut self.starts, start),
            None => Ok(self.starts.push(&start.to_le_bytes())?),
        }
    }

    /// Ends the column.
    pub(super) fn end(mut self, columns: &mut Columns, name: &str) -> Result<(), CountsError> {
        let Some(lines) = self.lines else {
            return columns.end(name, self.starts);
        };
        // That of the last number, which nothing follows.
        self.starts.push(&lines.line.bytes)?;
        columns.end(name, self.starts)?;
        lines.large.end(columns, name)
    }
}

#[cfg(test)]
mod tests {
    use kato_columns::DamageWatch;
    use proptest::prelude::*;

    use super::super::columns::{name_of, small, starts};
    use super::super::small::SmallWriter;
    use super::*;

    fn number() -> impl Strategy<Value = u32> {
        prop_oneof![6 => Just(1), 4 => 0..4u32, 2 => 10..20u32, 1 => 250..260u32, 1 => any::<u32>()]
    }

    proptest! {
        #[test]
        fn columns_are_read_as_they_were_written(
            numbers in prop::collection::vec(number(), 0..700),
            n in 1..5usize,
            range in (any::<prop::sample::Index>(), any::<prop::sample::Index>()),
        ) {
            let (dir, damage) = (tempfile::tempdir().unwrap(), DamageWatch::default());
            let mut columns = Columns::new(dir.path());
            let counts = name_of(n, "counts");
            let mut writer = SmallWriter::create(&columns, n, &counts).unwrap();
            numbers.iter().for_each(|&number| writer.push(number).unwrap());
            writer.end(&mut columns, &counts).unwrap();
            let name = name_of(n, "starts");
            let mut writer = StartsWriter::create(&columns, n, &name).unwrap();
            let ends = numbers.iter().scan(0u32, |end, number| {
                *end = end.saturating_add(*number);
                Some(*end)
            });
            let expected: Vec<u32> = std::iter::once(0).chain(ends).collect();
            expected.iter().for_each(|&start| writer.push(start).unwrap());
            writer.end(&mut columns, &name).unwrap();

            let mut find = |name: &str| columns.map(name, &damage);
            let found = small(n, "counts", numbers.len(), &mut find).unwrap();
            let places = [range.0, range.1].map(|place| place.index(numbers.len() + 1));
            let range = places[0].min(places[1])..places[0].max(places[1]);
            let part = found.part(range.clone());
            for (place, &number) in numbers.iter().enumerate() {
                prop_assert_eq!(found.get(place), number);
                if let Some(at) = place.checked_sub(range.start).filter(|at| *at < range.len()) {
                    prop_assert_eq!(part.get(at), number);
                }
            }
            let found = starts(n, numbers.len(), &mut find).unwrap();
            prop_assert_eq!(found.len(), expected.len());
            for (place, ends) in expected.windows(2).enumerate() {
                prop_assert_eq!(found.get(place), ends[0]);
                prop_assert_eq!(found.read().pair(place), (ends[0], ends[1]));
            }
            prop_assert_eq!(found.get(numbers.len()), expected[numbers.len()]);
            prop_assert_eq!(damage.what(), None);
        }
    }
}
