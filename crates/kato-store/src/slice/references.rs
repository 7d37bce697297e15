//! Children by name become numbers: a join of a level's references with the names below, in bounded
//! memory.
//!
//! References are written to files by the leading bits of the name they refer to, in the order in
//! which they were met. Then the names of one such part after the other are held in memory, and its
//! references become numbers, still in that order. Reading all parts side by side gives the numbers
//! back in the order of the references. Parts ascend, so what is found out about one after the other,
//! such as which names the level below lacks, ascends as well.

use std::fs::{self, File};
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use kato_model::PatternName;

use super::source::SliceSource;
use crate::StoreError;

/// Names that are held in memory at a time, in the middle: so few that looking one up stays within
/// the processor's second cache. There are as many parts as that takes, up to [`MAX_PARTS`].
const PART_NAMES: u64 = 1 << 16;

/// Names that are collected before those that occur twice are dropped.
const SORT_NAMES: usize = 1 << 20;

/// Bytes that a name takes in a slice.
const NAME_BYTES: u64 = 1 + PatternName::BYTES as u64;

/// Most parts, and files that are open at a time.
const MAX_PARTS: u64 = 512;

/// Bytes of each open file that are in memory.
const PART_BUFFER: usize = 1 << 15;

/// References that are being collected.
pub(super) struct References {
    files: PartFiles,
    out: Vec<BufWriter<File>>,
}

/// The numbers of references, in the order in which they were collected.
pub(super) struct Numbers {
    files: PartFiles,
    input: Vec<BufReader<File>>,
}

/// The files of the parts; they are removed when it is dropped.
struct PartFiles {
    dir: PathBuf,
    n_parts: u64,
}

impl References {
    /// Starts to collect the references of slices to a level of so many patterns, in files of a
    /// directory.
    pub(super) fn create(
        dir: &Path,
        n_below: u32,
        slices: &[SliceSource],
    ) -> Result<Self, StoreError> {
        // At most so many different names have to be held beside those of the level below.
        let mut n_names = u64::from(n_below);
        for slice in slices {
            n_names += slice.open()?.1 / NAME_BYTES;
        }
        let files = PartFiles {
            dir: dir.to_owned(),
            n_parts: n_names.div_ceil(PART_NAMES).clamp(1, MAX_PARTS),
        };
        let create = |part| {
            let path = files.path(part, "names");
            let file = File::create(&path);
            let file = file.map_err(|source| StoreError::io("create", &path, source))?;
            Ok(BufWriter::with_capacity(PART_BUFFER, file))
        };
        let out = (0..files.n_parts).map(create).collect::<Result<_, _>>()?;
        Ok(Self { files, out })
    }

    /// Appends a reference.
    pub(super) fn push(&mut self, name: &PatternName) -> Result<(), StoreError> {
        let part = self.files.part_of(name);
        let written = self.out[part].write_all(name.as_bytes());
        written.map_err(|source| self.files.error("write", part, "names", source))
    }

    /// Looks all references up among the names of the level below, which ascend, and returns their
    /// numbers. Those of names that are there are places among them; those of other names begin with
    /// `n_below`, and the names are shown to `foreign` in their order.
    pub(super) fn number(
        self,
        names: impl Iterator<Item = Result<PatternName, StoreError>>,
        n_below: u32,
        foreign: &mut dyn FnMut(PatternName) -> Result<(), StoreError>,
    ) -> Result<Numbers, StoreError> {
        let Self { files, out } = self;
        for (part, out) in out.into_iter().enumerate() {
            let flushed = out.into_inner();
            flushed.map_err(|error| files.error("write", part, "names", error.into_error()))?;
        }
        let mut names = names.peekable();
        let mut next = NextNumbers {
            home: 0,
            foreign: n_below,
        };
        let mut held: Vec<PatternName> = Vec::new();
        for part in 0..usize::try_from(files.n_parts).unwrap_or(usize::MAX) {
            held.clear();
            while let Some(name) = names.next_if(|name| match name {
                Ok(name) => files.part_of(name) <= part,
                Err(_) => true,
            }) {
                held.push(name?);
            }
            files.number_part(part, &held, &mut next, foreign)?;
        }
        let open = |part| {
            let path = files.path(part, "numbers");
            let file = File::open(&path);
            let file = file.map_err(|source| StoreError::io("open", &path, source))?;
            Ok(BufReader::with_capacity(PART_BUFFER, file))
        };
        let input = (0..files.n_parts).map(open).collect::<Result<_, _>>()?;
        Ok(Numbers { files, input })
    }
}

impl Numbers {
    /// Returns the number of the next reference, which is to this name. To be called for every
    /// reference in the order in which they were pushed.
    pub(super) fn next(&mut self, name: &PatternName) -> Result<u32, StoreError> {
        let part = self.files.part_of(name);
        let mut number = [0; 4];
        let read = self.input[part].read_exact(&mut number);
        read.map_err(|source| self.files.error("read", part, "numbers", source))?;
        Ok(u32::from_le_bytes(number))
    }
}

impl PartFiles {
    /// Returns the part of a name; it never falls from one name to the next.
    fn part_of(&self, name: &PatternName) -> usize {
        let scaled = u128::from(name.leading_u64()) * u128::from(self.n_parts);
        usize::try_from(scaled >> 64).unwrap_or(usize::MAX)
    }

    /// Returns the file of a part.
    fn path(&self, part: u64, kind: &str) -> PathBuf {
        self.dir.join(format!("references.{part}.{kind}"))
    }

    /// Creates the error of a file of a part.
    fn error(
        &self,
        action: &'static str,
        part: usize,
        kind: &str,
        source: std::io::Error,
    ) -> StoreError {
        StoreError::io(action, &self.path(part as u64, kind), source)
    }

    /// Writes the numbers of a part's references.
    fn number_part(
        &self,
        part: usize,
        names: &[PatternName],
        next: &mut NextNumbers,
        foreign: &mut dyn FnMut(PatternName) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let (from, to) = (
            self.path(part as u64, "names"),
            self.path(part as u64, "numbers"),
        );
        let home = NameSearch::new(names);
        let mut others = Vec::new();
        let mut distinct = 0;
        read_names(&from, |name| {
            if home.position(&name).is_none() {
                others.push(name);
                // Now and then, so that memory is that of the names and not of the references.
                if others.len() > 2 * distinct + SORT_NAMES {
                    others.sort_unstable();
                    others.dedup();
                    distinct = others.len();
                }
            }
            Ok(())
        })?;
        others.sort_unstable();
        others.dedup();
        others.iter().try_for_each(|name| foreign(*name))?;
        let other = NameSearch::new(&others);
        let create = File::create(&to).map_err(|source| StoreError::io("create", &to, source))?;
        let mut out = BufWriter::with_capacity(1 << 18, create);
        read_names(&from, |name| {
            let (first, place) = match home.position(&name) {
                Some(place) => (next.home, Some(place)),
                None => (next.foreign, other.position(&name)),
            };
            let place = place.and_then(|place| u32::try_from(place).ok());
            let number = place.and_then(|place| first.checked_add(place));
            let number = number.ok_or_else(|| {
                StoreError::corrupt_slice(&from, "it was changed while a segment was written")
            })?;
            let written = out.write_all(&number.to_le_bytes());
            written.map_err(|source| StoreError::io("write", &to, source))
        })?;
        let flushed = out.into_inner();
        flushed.map_err(|error| StoreError::io("write", &to, error.into_error()))?;
        next.home += count(names.len());
        next.foreign += count(others.len());
        // It is read no more, and its room is wanted for the next.
        let _ = fs::remove_file(&from);
        Ok(())
    }
}

/// The numbers that the next part's names begin with.
struct NextNumbers {
    home: u32,
    foreign: u32,
}

/// Returns a number of names that a segment takes, so that each has got a number.
fn count(n_names: usize) -> u32 {
    u32::try_from(n_names).expect("the writer has refused more names than there are numbers")
}

/// Shows the names of a file.
fn read_names(
    path: &Path,
    mut show: impl FnMut(PatternName) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let file = File::open(path).map_err(|source| StoreError::io("open", path, source))?;
    let size = file.metadata();
    let size = size.map_err(|source| StoreError::io("read", path, source))?;
    let mut input = BufReader::with_capacity(1 << 18, file);
    for _ in 0..size.len() / PatternName::BYTES as u64 {
        let mut bytes = [0; PatternName::BYTES];
        let read = input.read_exact(&mut bytes);
        read.map_err(|source| StoreError::io("read", path, source))?;
        show(PatternName::from_bytes(bytes))?;
    }
    Ok(())
}

impl Drop for PartFiles {
    fn drop(&mut self) {
        for part in 0..self.n_parts {
            // Working files: nothing is lost when one stays.
            let _ = fs::remove_file(self.path(part, "names"));
            let _ = fs::remove_file(self.path(part, "numbers"));
        }
    }
}

/// A search among ascending names, which are digests: where one stands is guessed from its leading
/// bits, so that a few names are looked at and not one for each doubling.
struct NameSearch<'a> {
    names: &'a [PatternName],
    first: u64,
    span: u64,
}

impl<'a> NameSearch<'a> {
    fn new(names: &'a [PatternName]) -> Self {
        let first = names.first().map_or(0, PatternName::leading_u64);
        let last = names.last().map_or(0, PatternName::leading_u64);
        Self {
            names,
            first,
            span: last - first,
        }
    }

    /// Returns the place of a name.
    fn position(&self, name: &PatternName) -> Option<usize> {
        let end = self.names.len();
        let offset = u128::from(name.leading_u64().checked_sub(self.first)?);
        let guess = offset * (end.saturating_sub(1)) as u128 / u128::from(self.span.max(1));
        let guess = usize::try_from(guess).ok()?.min(end.checked_sub(1)?);
        // Doubling steps away from the guess enclose the place, whatever the names are.
        let (mut low, mut high) = (guess, guess + 1);
        let mut step = 16;
        while low > 0 && self.names[low] > *name {
            low = low.saturating_sub(step);
            step *= 2;
        }
        step = 16;
        while high < end && self.names[high - 1] < *name {
            high = (high + step).min(end);
            step *= 2;
        }
        let found = self.names[low..high].binary_search(name).ok()?;
        Some(low + found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(leading: u64) -> PatternName {
        let mut bytes = [0; PatternName::BYTES];
        bytes[..8].copy_from_slice(&leading.to_be_bytes());
        PatternName::from_bytes(bytes)
    }

    #[test]
    fn every_name_is_found_however_uneven_names_are() {
        let uneven: Vec<u64> = (0..300)
            .chain((0..300).map(|at| u64::MAX - 900 + 3 * at))
            .collect();
        let even: Vec<u64> = (0..500).map(|at| at * (u64::MAX / 500)).collect();
        for leading in [uneven, even, vec![7], Vec::new()] {
            let names: Vec<PatternName> = leading.iter().copied().map(name).collect();
            let search = NameSearch::new(&names);
            for (at, leading) in leading.iter().enumerate() {
                assert_eq!(search.position(&name(*leading)), Some(at));
            }
            for missing in [301, u64::MAX, u64::MAX / 1000] {
                let expected = names.binary_search(&name(missing)).ok();
                assert_eq!(search.position(&name(missing)), expected);
            }
        }
    }
}
