//! Mixtures: drawn by weight, every record once, the same for everyone.

use proptest::prelude::*;

use super::corpus::{Corpus, corpora, orders, read, sorted, texts, workers};
use crate::{
    OnBadRecord, Order, StreamingDatasetLoader, StreamingDatasetLoaderBuilder, TextUnit,
    WhenExhausted,
};

fn mixture(corpora: &[(f64, Corpus, Order)], seed: u64) -> StreamingDatasetLoaderBuilder {
    let mixture = StreamingDatasetLoader::builder()
        .allow_empty()
        .with_mixing_seed(seed)
        .on_bad_record(OnBadRecord::Skip);
    corpora
        .iter()
        .fold(mixture, |mixture, (weight, corpus, order)| {
            mixture.with_mixed(*weight, corpus.open().with_order(*order))
        })
}

fn parts() -> impl Strategy<Value = Vec<(f64, Corpus, Order)>> {
    prop::collection::vec((0.1..5.0, corpora(), orders()), 1..4)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn every_record_of_every_dataset_comes_once(parts in parts(), seed: u64, workers in workers()) {
        let all = read(mixture(&parts, seed).with_workers(0));
        prop_assert_eq!(&read(mixture(&parts, seed).with_workers(workers)), &all);
        prop_assert_eq!(&read(mixture(&parts, seed).with_workers(2).with_prefetch_bytes(1)), &all);
        let expected = parts.iter().flat_map(|(_, corpus, _)| corpus.texts.clone()).collect();
        let found = all.documents.into_iter().map(|document| document.text).collect();
        prop_assert_eq!(sorted(found), sorted(expected));
        prop_assert_eq!(all.counts.bad, parts.iter().map(|(_, corpus, _)| corpus.n_bad).sum::<u64>());
    }

    #[test]
    fn each_dataset_keeps_its_order(parts in parts(), seed: u64) {
        // A text says which file and row it is of, and not of which dataset.
        let found = texts(mixture(&parts, seed));
        for (_, corpus, order) in &parts {
            let mut left = found.iter();
            let alone = texts(corpus.open().with_order(*order));
            prop_assert!(alone.iter().all(|text| left.any(|other| other == text)));
        }
    }

    #[test]
    fn stopping_gives_what_continuing_gives_until_one_ends(parts in parts(), seed: u64, workers in workers()) {
        let open = || mixture(&parts, seed).when_exhausted(WhenExhausted::Stop);
        let mut loader = open().with_workers(workers).build().unwrap();
        let mut stopped = super::corpus::Read::default();
        stopped.go_on(&mut loader, usize::MAX);
        prop_assert!(loader.is_exhausted());
        prop_assert_eq!(&read(open().with_workers(0)), &stopped);
        let all = read(mixture(&parts, seed));
        prop_assert_eq!(&stopped.documents[..], &all.documents[..stopped.documents.len()]);
    }
}

/// Lines that say of which dataset they are.
fn lines(word: &str, n: usize) -> StreamingDatasetLoaderBuilder {
    StreamingDatasetLoader::builder()
        .allow_empty()
        .with_reader(
            format!("{word}.txt"),
            std::io::Cursor::new(format!("{word}\n").repeat(n)),
        )
        .with_text_unit(TextUnit::Line)
}

#[test]
fn proportions_hold_until_a_dataset_ends() {
    let open = || {
        StreamingDatasetLoader::builder()
            .allow_empty()
            .with_mixed(5.0, lines("a", 20_000))
            .with_mixed(3.0, lines("b", 20_000))
            .with_mixed(2.0, lines("c", 1000))
            .with_mixing_seed(3)
    };
    let found = texts(open());
    let last = found.iter().rposition(|text| text == "c").unwrap();
    let near = |texts: &[String], word: &str, share: f64| {
        let n = texts.len() as f64;
        let count = texts.iter().filter(|text| *text == word).count() as f64;
        let sigma = (n * share * (1.0 - share)).sqrt();
        assert!(
            (count - n * share).abs() < 5.0 * sigma,
            "{word}: {count} of {n}"
        );
    };
    near(&found[..last], "a", 0.5);
    near(&found[..last], "b", 0.3);
    near(&found[..last], "c", 0.2);
    // Those that are left go on by their weights.
    let rest = &found[last + 1..last + 10_000];
    near(rest, "a", 5.0 / 8.0);
    near(rest, "b", 3.0 / 8.0);
    assert_eq!(texts(open().when_exhausted(WhenExhausted::Stop)).len(), {
        let ended = texts(open().when_exhausted(WhenExhausted::Stop));
        assert_eq!(ended, found[..ended.len()]);
        assert!(ended.len() > last);
        ended.len()
    });
}
