//! A reader of a unit made from `docs/file-format.md` alone: it gives the documents back.

use std::fs;
use std::path::Path;

use kato_learner::{ChunkRule, TailPolicy};
use serde_json::Value;

use crate::support::{Corpus, Rules};

fn numbers(bytes: &[u8]) -> Vec<usize> {
    let numbers = bytes.as_chunks().0.iter();
    numbers
        .map(|&bytes| u32::from_le_bytes(bytes) as usize)
        .collect()
}

/// The bits of a column of lines; what is behind the last one is 0.
fn bits(column: &[u8]) -> Vec<bool> {
    let mut bits = Vec::new();
    for line in column.chunks(64) {
        let set = bits.iter().filter(|bit| **bit).count();
        assert_eq!(numbers(&line[..4]), [set]);
        for byte in &line[4..] {
            bits.extend((0..8).map(|bit| byte >> bit & 1 == 1));
        }
    }
    bits
}

/// A tree of the code.
enum Tree {
    Symbol(usize),
    Inner(Box<[Self; 2]>),
}

fn code(counts: &[usize]) -> Tree {
    // Joined trees before symbols, where they are equally rare.
    let symbols = counts.iter().enumerate();
    let mut left: Vec<(usize, usize, usize, Tree)> = symbols
        .map(|(number, &count)| (count, 1, number, Tree::Symbol(number)))
        .collect();
    for joined in 0.. {
        left.sort_by_key(|&(count, is_symbol, number, _)| (count, is_symbol, number));
        if left.len() == 1 {
            break;
        }
        let (zeros, ones) = (left.remove(0), left.remove(0));
        let inner = Tree::Inner(Box::new([zeros.3, ones.3]));
        left.push((zeros.0 + ones.0, 0, joined, inner));
    }
    left.remove(0).3
}

/// The symbols of so many rows, out of the bits of a tree and those below it.
fn decode(tree: &Tree, n: usize, bits: &mut impl Iterator<Item = bool>) -> Vec<usize> {
    let sides = match tree {
        Tree::Symbol(symbol) => return vec![*symbol; n],
        Tree::Inner(sides) => sides,
    };
    let own: Vec<bool> = bits.by_ref().take(n).collect();
    let n_ones = own.iter().filter(|bit| **bit).count();
    let mut zeros = decode(&sides[0], n - n_ones, bits).into_iter();
    let mut ones = decode(&sides[1], n_ones, bits).into_iter();
    let symbol = |bit: &bool| if *bit { ones.next() } else { zeros.next() };
    own.iter().filter_map(symbol).collect()
}

/// Number and name of each document.
fn names(bytes: &[u8], n: usize) -> Vec<(u64, String)> {
    let mut rest = bytes.iter().copied();
    let mut documents: Vec<(u64, String)> = Vec::new();
    for idx in 0..n {
        let mut number = || {
            let (mut number, mut shift) = (0u64, 0);
            for byte in rest.by_ref() {
                number |= u64::from(byte & 127) << shift;
                shift += 7;
                if byte < 128 {
                    break;
                }
            }
            number
        };
        let (last, name) = match documents.last() {
            Some((number, name)) if idx % 32 > 0 => (*number, name.as_str()),
            _ => (0, ""),
        };
        let (of_document, shared, more) = (last + number(), number(), number());
        let mut name = name.as_bytes()[..shared as usize].to_vec();
        name.extend(rest.by_ref().take(more as usize));
        documents.push((of_document, String::from_utf8(name).unwrap()));
    }
    assert_eq!(rest.next(), None);
    documents
}

#[test]
fn a_reader_of_the_description_finds_the_documents() {
    let rules = Rules {
        sizes: vec![4, 3],
        tail: TailPolicy::Drop,
        rule: ChunkRule::default(),
    };
    let text = |n: usize| (0..n % 23).map(move |at| [" a", " b", " c", " the"][(n + at * at) % 4]);
    let texts = (1..70).map(|n| format!("b{}", text(n).collect::<String>()));
    let corpus = Corpus::new(&rules, texts.collect());
    corpus.write(69, 1 << 20);
    let unit = corpus.kb.join("occurrences").join("00000000000000000000");
    let read = |name: &str| fs::read(unit.join(Path::new(name))).unwrap();
    let header = read("UNIT");
    let header = String::from_utf8(header).unwrap();
    let (body, _) = header.trim_end().rsplit_once('\n').unwrap();
    let header: Value = serde_json::from_str(body).unwrap();
    assert_eq!(header["documents"], 69);

    let symbols = numbers(&read("symbols"));
    let (symbols, counts): (Vec<_>, Vec<_>) = symbols
        .as_chunks()
        .0
        .iter()
        .map(|&[symbol, count]| (symbol, count))
        .unzip();
    let n: usize = counts.iter().sum();
    let before = decode(&code(&counts), n, &mut bits(&read("sequence")).into_iter());
    // From the end of the text, the first row, to its beginning.
    let first = |symbol: usize| counts[..symbol].iter().sum::<usize>();
    let rank = |row: usize| {
        before[..row]
            .iter()
            .filter(|other| **other == before[row])
            .count()
    };
    let (mut row, mut text, mut row_of) = (0, vec![0], vec![0]);
    for _ in 1..n {
        text.push(symbols[before[row]]);
        row = first(before[row]) + rank(row);
        row_of.push(row);
    }
    text.reverse();
    row_of.reverse();

    let starts = numbers(&read("starts"));
    let tokens = corpus.tokens();
    assert_eq!(starts.len(), tokens.len() + 1);
    assert_eq!((text[0], text[n - 1], starts[69]), (1, 0, n - 1));
    for (of_document, tokens) in starts.windows(2).zip(&tokens) {
        let expected = tokens.iter().map(|&token| token as usize + 2).chain([1]);
        assert!(
            text[of_document[0]..of_document[1]]
                .iter()
                .copied()
                .eq(expected)
        );
    }
    let expected = (0..69).map(|number| (number as u64, Corpus::id(number)));
    assert!(names(&read("names"), 69).into_iter().eq(expected));

    let marks = bits(&read("marks"));
    let (mut places, rows) = (numbers(&read("places")).into_iter(), numbers(&read("rows")));
    for (row, is_known) in marks.into_iter().enumerate().take(n) {
        let place = row_of.iter().position(|&of| of == row).unwrap();
        assert_eq!(is_known, place % 64 == 0);
        if is_known {
            assert_eq!(places.next(), Some(place / 64));
            assert_eq!(rows[place / 64], row);
        }
    }
    // Where learn calls begin is compared with the plans in `exactness`; here that both levels have a border
    // between documents.
    let borders = bits(&read("borders.0"));
    let above = bits(&read("borders.1"));
    let mut of_level = above.into_iter();
    for (place, is_border) in borders.into_iter().take(n - 1).enumerate() {
        let is_above = is_border && of_level.next().unwrap();
        let is_between = text[place] == 1;
        assert!(!is_between || is_above);
    }
}

#[test]
fn parts_end_where_the_description_says() {
    let rules = Rules {
        sizes: vec![4, 3],
        tail: TailPolicy::Drop,
        rule: ChunkRule::default(),
    };
    let text = |n: usize| " a b c the".repeat(1 + n * n % 9);
    let corpus = Corpus::new(&rules, (0..400).map(text).collect());
    let full = 1 << 12;
    corpus.write(400, full);
    // How many places the documents up to each one have, from the last full unit on.
    let (mut ends, mut n, mut starts) = (Vec::new(), 0, vec![0]);
    for (number, tokens) in (1..).zip(corpus.tokens()) {
        n += tokens.len() + 1;
        ends.push((number, n));
        // With the place in front of the first document.
        if n + 1 >= full {
            starts.push(number);
            (ends, n) = (Vec::new(), 0);
        }
    }
    assert!(starts.len() > 1 && n > full / 4, "{starts:?}, {n}");
    for power in 1..=5 {
        let multiple = n / (full >> (2 * power)) * (full >> (2 * power));
        let last = ends.iter().find(|(_, end)| *end >= multiple);
        starts.extend(last.filter(|_| multiple > 0).map(|(number, _)| number));
    }
    starts.retain(|&start| start < 400);
    starts.sort_unstable();
    starts.dedup();
    let names = corpus.units().into_iter();
    let names = names.map(|unit| unit.file_name().unwrap().to_str().unwrap().to_owned());
    let expected = starts.iter().map(|start| format!("{start:020}"));
    assert!(expected.eq(names), "{starts:?}");
    assert!(starts.len() > 4, "{starts:?}");
}
