//! Repeats of whole documents, of paragraphs and of lines, counted in bounded memory.

use serde::{Deserialize, Serialize};

use crate::FrequencyCounts;
use crate::hash::{HashTable, hash_text};
use crate::sketch::is_in_slice;

/// Most units of a kind that are counted one by one. Of more, a share chosen by hash stands for
/// all. As many as a table of 2^17 places holds, with one that comes before some go: with more it would
/// double.
const MAX_UNITS: usize = (1 << 17) / 8 * 7 - 1;
/// Units of a kind that are shown, and the bytes of each.
const SHOWN: usize = 10;
const SHOWN_BYTES: usize = 200;

/// How much of some text is a repeat of what stands in it already.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Repeats {
    /// Whole documents.
    pub documents: RepeatedUnits,
    /// Paragraphs: what stands between empty lines.
    pub paragraphs: RepeatedUnits,
    /// Lines that are not empty, without blanks around them.
    pub lines: RepeatedUnits,
}

/// The repeats among units of a kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RepeatedUnits {
    /// All units.
    pub units: u64,
    /// Different ones.
    pub distinct: u64,
    /// Bytes of all units.
    pub bytes: u64,
    /// Bytes that would go if every unit stood there once.
    pub repeated_bytes: u64,
    /// Whether every unit was counted. If not, `distinct` and `repeated_bytes` are scaled from a
    /// share of the units.
    pub is_exact: bool,
    /// Those that take the most bytes by repeating, where texts were kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub most: Vec<RepeatedText>,
}

/// A text that stands there more than once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RepeatedText {
    /// How often.
    pub times: u64,
    /// Its bytes.
    pub bytes: u64,
    /// Its beginning.
    pub text: String,
}

impl RepeatedUnits {
    /// Returns the share of the bytes that are repeats, 0 to 1.
    #[must_use]
    pub fn share(&self) -> f64 {
        self.repeated_bytes as f64 / self.bytes.max(1) as f64
    }
}

/// Counts the repeats of the documents that it is given.
///
/// ```
/// use kato_estimator::repeats::RepeatCounter;
///
/// let mut counter = RepeatCounter::default();
/// for text in ["a\n\nb\n", "c\nb\n", "a\n\nb\n"] {
///     counter.add(text);
/// }
/// let repeats = counter.repeats();
/// assert_eq!((repeats.documents.units, repeats.documents.distinct), (3, 2));
/// assert_eq!((repeats.lines.units, repeats.lines.distinct), (6, 3));
/// ```
#[derive(Debug, Clone, Default)]
pub struct RepeatCounter {
    pub(crate) documents: UnitSketch,
    pub(crate) paragraphs: UnitSketch,
    pub(crate) lines: UnitSketch,
}

impl RepeatCounter {
    /// Counts the units of a document, and keeps the beginnings of those that repeat.
    pub fn add(&mut self, text: &str) {
        let count = |sketch: &mut UnitSketch, unit: &str| {
            sketch.add(hash_text(unit.as_bytes()), unit.len() as u64, Some(unit));
        };
        count(&mut self.documents, text);
        let Self {
            paragraphs, lines, ..
        } = self;
        for_each_unit(
            text,
            |paragraph| count(paragraphs, paragraph),
            |line| count(lines, line),
        );
    }

    /// Returns what was counted.
    #[must_use]
    pub fn repeats(&self) -> Repeats {
        Repeats {
            documents: self.documents.repeats(),
            paragraphs: self.paragraphs.repeats(),
            lines: self.lines.repeats(),
        }
    }
}

/// Calls `paragraph` and `line` for those of a text.
pub(crate) fn for_each_unit(
    text: &str,
    mut paragraph: impl FnMut(&str),
    mut line: impl FnMut(&str),
) {
    // Where the open paragraph begins and ends; both are ends of lines.
    let (mut start, mut end, mut at) = (0, 0, 0);
    for whole in text.split_inclusive('\n') {
        at += whole.len();
        let trimmed = whole.trim();
        if trimmed.is_empty() {
            if start < end {
                paragraph(text[start..end].trim());
            }
            start = at;
        } else {
            line(trimmed);
        }
        end = at;
    }
    if !text[start..end].trim().is_empty() {
        paragraph(text[start..end].trim());
    }
}

/// Units of a kind by the hash of their content, as far as they are in a slice of all hashes.
#[derive(Debug, Clone, Default)]
pub(crate) struct UnitSketch {
    seen: HashTable<Unit>,
    shift: u32,
    units: u64,
    bytes: u64,
}

#[derive(Debug, Clone)]
struct Unit {
    times: u64,
    bytes: u64,
    text: Option<Box<str>>,
}

impl UnitSketch {
    /// Counts a unit.
    pub(crate) fn add(&mut self, hash: u64, bytes: u64, text: Option<&str>) {
        self.units += 1;
        self.bytes += bytes;
        if !is_in_slice(hash, self.shift) {
            return;
        }
        let unit = self.seen.entry(hash).or_insert(Unit {
            times: 0,
            bytes,
            text: None,
        });
        unit.times += 1;
        if unit.times == 2 {
            // Only now: most units never repeat.
            unit.text = text.map(|text| text[..text.floor_char_boundary(SHOWN_BYTES)].into());
        }
        while self.seen.len() > MAX_UNITS && self.shift < 63 {
            self.shift += 1;
            let shift = self.shift;
            self.seen.retain(|&hash, _| is_in_slice(hash, shift));
        }
    }

    /// Returns how many different units of the slice were seen how often.
    pub(crate) fn times(&self) -> FrequencyCounts {
        self.seen.values().map(|unit| (unit.times, 1)).collect()
    }

    /// Returns what was counted.
    fn repeats(&self) -> RepeatedUnits {
        let (all, repeated) = self.seen.values().fold((0, 0), |(all, repeated), unit| {
            let bytes = unit.times * unit.bytes;
            (all + bytes, repeated + bytes - unit.bytes)
        });
        // The share of the slice is closer than its sum: units differ in length.
        let share = repeated as f64 / all.max(1) as f64;
        let mut most: Vec<RepeatedText> = self
            .seen
            .values()
            .filter_map(|unit| {
                Some(RepeatedText {
                    times: unit.times,
                    bytes: unit.bytes,
                    text: unit.text.as_deref()?.to_owned(),
                })
            })
            .collect();
        // By the text as well, as the order of the table is none.
        most.sort_by(|a, b| {
            let saved = |unit: &RepeatedText| (unit.times - 1) * unit.bytes;
            saved(b).cmp(&saved(a)).then_with(|| a.text.cmp(&b.text))
        });
        most.truncate(SHOWN);
        RepeatedUnits {
            units: self.units,
            distinct: ((self.seen.len() as u64) << self.shift).min(self.units),
            bytes: self.bytes,
            repeated_bytes: if self.shift == 0 {
                repeated
            } else {
                (share * self.bytes as f64).round() as u64
            },
            is_exact: self.shift == 0,
            most,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn units(text: &str) -> (Vec<String>, Vec<String>) {
        let (mut paragraphs, mut lines) = (Vec::new(), Vec::new());
        for_each_unit(
            text,
            |paragraph| paragraphs.push(paragraph.to_owned()),
            |line| lines.push(line.to_owned()),
        );
        (paragraphs, lines)
    }

    #[test]
    fn paragraphs_end_at_empty_lines_and_lines_lose_their_blanks() {
        let (paragraphs, lines) = units("\n a \nb\n \t\n\nc\r\n\r\nd");
        assert_eq!(paragraphs, ["a \nb", "c", "d"]);
        assert_eq!(lines, ["a", "b", "c", "d"]);
        assert_eq!(units(" \n\n"), (vec![], vec![]));
    }

    #[test]
    fn more_units_than_are_kept_are_told_by_a_share() {
        let mut counter = RepeatCounter::default();
        for number in 0..3 * MAX_UNITS {
            // Every fourth line repeats the one before.
            counter.add(&format!("line number {}", number - number % 4 / 3));
        }
        let lines = counter.repeats().lines;
        assert!(!lines.is_exact && lines.units == 3 * MAX_UNITS as u64);
        assert!((lines.share() - 0.25).abs() < 0.01, "{}", lines.share());
        assert!((lines.distinct as f64 / lines.units as f64 - 0.75).abs() < 0.01);
        assert_eq!(lines.most.len(), SHOWN);
        assert!(lines.most.iter().all(|unit| unit.times == 2));
    }
}
