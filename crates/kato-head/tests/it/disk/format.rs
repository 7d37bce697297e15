//! The document describes every byte: a reader made from `docs/file-format.md` alone.

mod columns;

use kato_column_reader::numbers;
use kato_head::{Head, HeadOptions, SymbolId};

use self::columns::Counts;
use super::{Kb, learn, levels};

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
