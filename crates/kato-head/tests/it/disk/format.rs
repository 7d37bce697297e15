//! The document describes every byte: a reader made from `docs/file-format.md` alone.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use kato_head::{Head, HeadOptions, SymbolId};
use serde_json::Value;

use super::{Kb, learn, levels};

/// The columns of counts.
struct Counts {
    header: Value,
    columns: BTreeMap<String, Vec<u8>>,
}

/// An n-gram with its number of occurrences and of symbols to the left.
type Ngram = (Vec<String>, u64, u64);

#[test]
fn the_document_describes_every_byte() {
    // Followers of one symbol that are many, counts that take more than a byte, and what is unusual.
    let kb = Kb::new(&levels(2));
    for n in 0..40 {
        let word = format!("w{n:02}");
        let names = learn(
            &kb.store,
            &[
                (0, &[&["the"], &[&word], &["sat"]]),
                (0, &[&["and"], &["the"], &[&word]]),
            ],
        );
        learn(&kb.store, &[(1, &[&[&names[0]], &[&names[1]]])]);
    }
    // Three symbols that more continue than a byte can tell.
    for n in 0..300 {
        learn(
            &kb.store,
            &[(0, &[&["p"], &["q"], &["r"], &[&format!("x{n}")]])],
        );
    }
    let often: Vec<(usize, &[&[&str]])> = vec![(0, &[&["on"], &["and"], &["on"]]); 300];
    learn(&kb.store, &often);
    learn(
        &kb.store,
        &[(0, &[&["on"], &["b", "nobody"], &["on"], &["é"]])],
    );
    kb.build(0);
    let dir = kb
        .dir
        .join("head")
        .join(kb.store.content_digest().to_string());
    let counts = Counts::read(&dir);
    let head = Head::from_store(&kb.store, HeadOptions::default()).unwrap();
    let ngrams = counts.ngrams();
    assert_eq!(ngrams.len(), head.n_ngrams());
    for (symbols, count, n_before) in &ngrams {
        let ids: Option<Vec<SymbolId>> = symbols.iter().map(|symbol| head.symbol(symbol)).collect();
        let ids = ids.unwrap();
        assert_eq!(
            (*count, *n_before),
            (head.count(&ids), head.n_before(&ids)),
            "{symbols:?}"
        );
    }
    counts.check_sums(&ngrams);
    counts.check_header(&ngrams, &head);
    for column in [
        "1.counts_large",
        "1.summed",
        "3.counts_others_large",
        "3.starts_large",
    ] {
        assert!(!counts.columns[column].is_empty(), "{column}");
    }
}

impl Counts {
    /// Reads counts and compares all checksums.
    fn read(dir: &Path) -> Self {
        let text = fs::read_to_string(dir.join("HEAD")).unwrap();
        let (body, trailer) = text.trim_end().rsplit_once('\n').unwrap();
        assert_eq!(trailer, format!("crc32 {:08x}", crc32(body.as_bytes())));
        let header: Value = serde_json::from_str(body).unwrap();
        assert_eq!(header["format_version"], 5);
        assert_eq!(
            header["content"].as_str(),
            dir.file_name().unwrap().to_str()
        );
        let checksums = fs::read(dir.join("CHECKSUMS")).unwrap();
        assert_eq!(header["checksums_crc32"], crc32(&checksums));
        let mut checksums = numbers(&checksums, 4).into_iter();
        let mut columns = BTreeMap::new();
        for column in header["columns"].as_array().unwrap() {
            let name = column[0].as_str().unwrap();
            let bytes = fs::read(dir.join(name)).unwrap();
            assert_eq!(column[1].as_u64(), Some(bytes.len() as u64));
            for block in bytes.chunks(4096) {
                assert_eq!(checksums.next(), Some(u64::from(crc32(block))));
            }
            columns.insert(name.to_owned(), bytes);
        }
        assert_eq!(checksums.next(), None);
        let files = fs::read_dir(dir).unwrap().count();
        assert_eq!(files, columns.len() + 2);
        Self { header, columns }
    }

    fn order(&self) -> usize {
        self.header["order"].as_u64().unwrap() as usize
    }

    fn numbers(&self, column: &str, width: usize) -> Vec<u64> {
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

    fn small(&self, n: usize, column: &str, len: usize) -> Vec<u64> {
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
    fn with_large(&self, column: &str, numbers: &[u8], largest: u8) -> Vec<u64> {
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
    fn starts(&self, n: usize, len: usize) -> Vec<u64> {
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

    fn texts(&self) -> Vec<String> {
        let starts = self.numbers("text_starts", 8);
        let text = |ends: &[u64]| {
            let bytes = &self.columns["texts"][ends[0] as usize..ends[1] as usize];
            String::from_utf8(bytes.to_vec()).unwrap()
        };
        let texts: Vec<String> = starts.windows(2).map(text).collect();
        assert!(texts.is_sorted());
        texts
    }

    /// Returns the symbols of the n-grams of each length, by place; first the empty one.
    fn symbols(&self) -> Vec<Vec<Vec<String>>> {
        let texts = self.texts();
        let symbol_bytes = self.header["symbol_bytes"].as_u64().unwrap() as usize;
        let mut all = vec![vec![Vec::new()]];
        for n in 1..=self.order() {
            let shorter = &all[n - 1];
            let last = self.numbers(&format!("{n}.symbols"), symbol_bytes);
            let starts = match n {
                1 => vec![0, last.len() as u64],
                _ => self.starts(n - 1, shorter.len()),
            };
            assert_eq!(starts.len(), shorter.len() + 1);
            assert_eq!(*starts.last().unwrap(), last.len() as u64);
            let mut ngrams = Vec::new();
            for (context, ends) in shorter.iter().zip(starts.windows(2)) {
                let continued = &last[ends[0] as usize..ends[1] as usize];
                assert!(continued.windows(2).all(|pair| pair[0] < pair[1]));
                for &number in continued {
                    let mut longer = context.clone();
                    longer.push(texts[number as usize].clone());
                    ngrams.push(longer);
                }
            }
            all.push(ngrams);
        }
        all
    }

    fn ngrams(&self) -> Vec<Ngram> {
        let mut ngrams = Vec::new();
        for (n, symbols) in self.symbols().into_iter().enumerate().skip(1) {
            let counts = self.small(n, "counts", symbols.len());
            let continuations = match n < self.order() {
                true => self.small(n, "continuations", symbols.len()),
                false => vec![0; symbols.len()],
            };
            assert_eq!([counts.len(), continuations.len()], [symbols.len(); 2]);
            let counted = symbols.into_iter().zip(counts).zip(continuations);
            ngrams.extend(counted.map(|((ngram, count), n_before)| (ngram, count, n_before)));
        }
        ngrams
    }

    /// Compares the sums with the n-grams that they are of.
    fn check_sums(&self, ngrams: &[Ngram]) {
        for (n, contexts) in self.symbols().iter().enumerate().take(self.order()) {
            let summed = self.numbers(&format!("{n}.summed"), 4);
            let mut sums = self.columns[&format!("{n}.sums")].chunks(40);
            for (place, context) in contexts.iter().enumerate() {
                let continues =
                    |ngram: &&Ngram| ngram.0.len() == n + 1 && ngram.0[..n] == **context;
                let followers: Vec<&Ngram> = ngrams.iter().filter(continues).collect();
                let is_summed = summed.binary_search(&(place as u64)).is_ok();
                assert_eq!(is_summed, followers.len() > 16);
                if !is_summed {
                    continue;
                }
                let followers: Vec<&Ngram> = followers.into_iter().filter(|f| f.1 > 0).collect();
                let of = |value: fn(&Ngram) -> u64| {
                    let values: Vec<u64> =
                        followers.iter().map(|&follower| value(follower)).collect();
                    let n = |is: fn(u64) -> bool| values.iter().filter(|&&v| is(v)).count() as u64;
                    [
                        values.iter().sum(),
                        n(|v| v == 1),
                        n(|v| v == 2),
                        n(|v| v > 2),
                    ]
                };
                let expected = [of(|ngram| ngram.2), of(|ngram| ngram.1)];
                let halves = sums.next().unwrap().chunks(20);
                let found = halves.map(|half| {
                    let n = numbers(&half[8..], 4);
                    [numbers(&half[..8], 8)[0], n[0], n[1], n[2]]
                });
                assert_eq!(found.collect::<Vec<_>>(), expected);
            }
            assert_eq!(sums.next(), None);
        }
    }

    fn check_header(&self, ngrams: &[Ngram], head: &Head) {
        let of_length = |n: usize| ngrams.iter().filter(move |ngram| ngram.0.len() == n);
        for n in 1..=self.order() {
            assert_eq!(self.header["ngrams"][n - 1], of_length(n).count());
            for value in 1..=4u64 {
                let with_count = of_length(n).filter(|ngram| ngram.1 == value).count();
                let with_before = of_length(n).filter(|ngram| ngram.2 == value).count();
                let place = value as usize - 1;
                assert_eq!(self.header["counts"][n - 1][place], with_count);
                assert_eq!(self.header["continuations"][n - 1][place], with_before);
            }
        }
        let counted = &self.header["counted"];
        assert_eq!(counted["learns"], head.counted().learns);
        assert_eq!(counted["symbols"], head.counted().symbols);
        assert_eq!(counted["wide_events"], 1);
        assert_eq!(self.header["can_grow"], true);
        assert_eq!(self.header["levels"], 2);
    }
}

fn numbers(bytes: &[u8], width: usize) -> Vec<u64> {
    let number = |bytes: &[u8]| {
        bytes
            .iter()
            .rev()
            .fold(0, |n, &byte| n << 8 | u64::from(byte))
    };
    bytes.chunks(width).map(number).collect()
}

/// Returns the CRC-32 of zlib.
fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    for &byte in bytes {
        crc ^= u32::from(byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 {
                crc >> 1 ^ 0xEDB8_8320
            } else {
                crc >> 1
            };
        }
    }
    !crc
}
