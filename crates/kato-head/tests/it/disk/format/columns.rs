//! Reads the columns of counts by what the document says of them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use kato_column_reader::{ColumnReader, numbers};
use serde_json::Value;

/// The columns of counts.
pub(super) struct Counts {
    pub(super) header: Value,
    pub(super) columns: BTreeMap<String, Vec<u8>>,
}

impl Counts {
    /// Reads counts and compares all checksums.
    pub(super) fn read(dir: &Path) -> Self {
        let mut reader = ColumnReader::open(dir, "HEAD", 5);
        let header = reader.header.clone();
        let mut columns = BTreeMap::new();
        for column in header["columns"].as_array().unwrap() {
            let name = column[0].as_str().unwrap();
            columns.insert(name.to_owned(), reader.column(name, &column[1]));
        }
        reader.end();
        let files = fs::read_dir(dir).unwrap().count();
        assert_eq!(files, columns.len() + 2);
        Self { header, columns }
    }

    pub(super) fn order(&self) -> usize {
        self.header["order"].as_u64().unwrap() as usize
    }

    pub(super) fn numbers(&self, column: &str, width: usize) -> Vec<u64> {
        numbers(&self.columns[column], width)
    }

    /// Returns the large numbers of a column of `len` numbers, by place.
    fn large(&self, column: &str, len: usize) -> BTreeMap<usize, u64> {
        let column = format!("{column}_large");
        let numbers = self.numbers(&column, 4);
        let mut starts = self.numbers(&format!("{column}_blocks"), 4);
        assert_eq!(starts.len(), len.div_ceil(256));
        starts.push(numbers.len() as u64);
        let mut large = BTreeMap::new();
        for (block, ends) in starts.windows(2).enumerate() {
            let range = ends[0] as usize..ends[1] as usize;
            let places = &self.columns[&format!("{column}_places")][range.clone()];
            assert!(places.is_sorted());
            let places = places.iter().map(|&place| 256 * block + usize::from(place));
            large.extend(places.zip(numbers[range].iter().copied()));
        }
        assert_eq!(large.len(), numbers.len());
        large
    }

    pub(super) fn small(&self, n: usize, column: &str, len: usize) -> Vec<u64> {
        let column = format!("{n}.{column}");
        let bytes = &self.columns[&column];
        if n <= 2 {
            assert_eq!(bytes.len(), len);
            return self.with_large(&column, bytes, 255);
        }
        let lines = self.lines(&column);
        assert_eq!(lines.len(), len.div_ceil(224));
        let others = format!("{column}_others");
        let halves = self.columns[&others].iter();
        let mut halves: Vec<u8> = halves.flat_map(|byte| [byte & 15, byte >> 4]).collect();
        let mut numbers = Vec::new();
        let mut n_others = 0;
        for (first, rest) in lines {
            assert_eq!(first, n_others);
            for place in 0..224 {
                let is_other = rest[place / 8] >> (place % 8) & 1 == 1;
                n_others += u64::from(is_other);
                numbers.push(is_other);
            }
        }
        assert!(numbers.drain(len..).all(|is_other| !is_other));
        let n_others = n_others as usize;
        assert_eq!(halves.len(), n_others.next_multiple_of(2));
        assert!(halves.drain(n_others..).all(|rest| rest == 0));
        let mut of_others = self.with_large(&others, &halves, 15).into_iter();
        let number = |is_other: bool| match is_other {
            true => of_others.next().unwrap(),
            false => 1,
        };
        numbers.into_iter().map(number).collect()
    }

    /// Returns the numbers of a column, of which `largest` stands for large ones.
    pub(super) fn with_large(&self, column: &str, numbers: &[u8], largest: u8) -> Vec<u64> {
        let mut large = self.large(column, numbers.len());
        let number = |(place, &small): (usize, &u8)| match small == largest {
            true => large.remove(&place).unwrap(),
            false => small.into(),
        };
        let numbers = numbers.iter().enumerate().map(number).collect();
        assert!(large.is_empty());
        numbers
    }

    /// Returns the number and the other bytes of each line.
    fn lines(&self, column: &str) -> Vec<(u64, &[u8])> {
        let lines = self.columns[column].chunks(32);
        let line = lines.map(|line| {
            assert_eq!(line.len(), 32);
            (numbers(&line[..4], 4)[0], &line[4..])
        });
        line.collect()
    }

    /// Returns where those begin that continue each of `len` n-grams, and where all end.
    pub(super) fn starts(&self, n: usize, len: usize) -> Vec<u64> {
        let column = format!("{n}.starts");
        if n == 1 {
            return self.numbers(&column, 4);
        }
        let (of_line, largest) = if n == 2 { (28, 255) } else { (56, 15) };
        let lines = self.lines(&column);
        assert_eq!(lines.len(), (len + 1).div_ceil(of_line));
        let mut large = self.large(&column, len);
        let mut starts = vec![0];
        for (line, (first, rest)) in lines.into_iter().enumerate() {
            assert_eq!(starts[line * of_line], first);
            let steps: Vec<u8> = match n {
                2 => rest.to_vec(),
                _ => rest
                    .iter()
                    .flat_map(|byte| [byte & 15, byte >> 4])
                    .collect(),
            };
            for step in steps {
                let place = starts.len() - 1;
                starts.push(match step == largest {
                    true => large.remove(&place).unwrap(),
                    false => starts[place] + u64::from(step),
                });
            }
        }
        assert!(large.is_empty());
        let end = starts[len];
        assert!(starts.drain(len + 1..).all(|rest| rest == end));
        starts
    }
}
