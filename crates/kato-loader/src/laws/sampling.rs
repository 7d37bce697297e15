//! Samples and splits are the same records in every order, shard and mixture.

use std::collections::HashSet;

use proptest::prelude::*;

use super::corpus::{Corpus, corpora, orders, sorted, texts};
use crate::{Order, Sample, Shard, Split, StreamingDatasetLoader, StreamingDatasetLoaderBuilder};

/// The texts that a choice leaves, in each way of reading.
fn in_every_way(
    corpus: &Corpus,
    order: Order,
    choose_records: impl Fn(StreamingDatasetLoaderBuilder) -> StreamingDatasetLoaderBuilder,
    choose_documents: impl Fn(StreamingDatasetLoaderBuilder) -> StreamingDatasetLoaderBuilder,
) -> Vec<Vec<String>> {
    let plain = || choose_documents(choose_records(corpus.open()));
    let sharded = |order: Order| {
        let shard = |index| {
            let builder = plain().with_order(order).with_shard(Shard::new(index, 3));
            texts(builder.with_workers(1))
        };
        (0..3).flat_map(shard).collect::<Vec<_>>()
    };
    let other = StreamingDatasetLoader::builder()
        .allow_empty()
        .with_reader("empty.txt", std::io::empty());
    let mixed = StreamingDatasetLoader::builder()
        .allow_empty()
        .with_mixed(0.5, choose_records(corpus.open().with_order(order)))
        .with_mixed(0.5, other)
        .on_bad_record(crate::OnBadRecord::Skip);
    vec![
        texts(plain()),
        texts(plain().with_order(order).with_workers(2)),
        sharded(Order::Sequential),
        sharded(order),
        texts(choose_documents(mixed)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn a_sample_is_the_same_records_in_every_order(
        corpus in corpora(),
        order in orders(),
        share in 0.05..0.95,
        seed: u64,
    ) {
        let sample = |share| Sample::new(share, seed);
        let all = in_every_way(&corpus, order, |builder| builder.with_sample(sample(share)), |builder| builder);
        for found in &all[1..] {
            prop_assert_eq!(sorted(found.clone()), sorted(all[0].clone()));
        }
        let larger: HashSet<_> = texts(corpus.open().with_sample(sample(share + 0.05))).into_iter().collect();
        prop_assert!(all[0].iter().all(|text| larger.contains(text)));
        prop_assert_eq!(sorted(texts(corpus.open().with_sample(sample(1.0)))), corpus.texts.clone());
    }

    #[test]
    fn a_split_is_the_same_documents_in_every_order_and_its_sides_are_complements(
        corpus in corpora(),
        order in orders(),
        share in 0.05..0.95,
        seed: u64,
    ) {
        let split = Split::held_out(share, seed);
        let held_out = in_every_way(&corpus, order, |builder| builder, |builder| builder.with_split(split));
        let training = in_every_way(&corpus, order, |builder| builder, |builder| builder.with_split(split.complement()));
        for (held_out, training) in held_out.iter().zip(&training) {
            prop_assert_eq!(sorted(held_out.clone()), sorted(texts(corpus.open().with_split(split))));
            prop_assert_eq!(sorted([held_out.clone(), training.clone()].concat()), corpus.texts.clone());
        }
    }
}

#[test]
fn a_sample_is_about_its_share_and_independent_of_a_split_by_the_same_seed() {
    let lines: String = (0..20_000).map(|line| format!("{line}\n")).collect();
    let open = || {
        let reader = std::io::Cursor::new(lines.clone());
        StreamingDatasetLoader::builder()
            .allow_empty()
            .with_reader("lines.txt", reader)
            .with_text_unit(crate::TextUnit::Line)
    };
    let near = |n: usize, share: f64| {
        let sigma = (20_000.0 * share * (1.0 - share)).sqrt();
        (n as f64 - 20_000.0 * share).abs() < 5.0 * sigma
    };
    let sample = Sample::new(0.3, 9);
    assert!(near(texts(open().with_sample(sample)).len(), 0.3));
    let both = open()
        .with_sample(sample)
        .with_split(Split::held_out(0.3, 9));
    assert!(near(texts(both).len(), 0.09));
}
