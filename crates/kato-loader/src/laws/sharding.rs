//! Shards together hold every record once.

use proptest::prelude::*;

use super::corpus::{corpora, orders, read, workers};
use crate::{RecordCounts, Shard};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn shards_together_are_the_corpus(
        corpus in corpora(),
        order in orders(),
        count in 1..6_u64,
        workers in workers(),
    ) {
        let mut found = Vec::new();
        let (mut n_bad, mut n_records) = (0, 0);
        for index in 0..count {
            let open = || corpus.open().with_order(order).with_shard(Shard::new(index, count));
            let shard = read(open().with_workers(workers));
            prop_assert_eq!(&shard, &read(open().with_workers(0)));
            n_bad += shard.ledger.len() as u64;
            n_records += shard.counts.records;
            found.extend(shard.documents.into_iter().map(|document| document.text));
        }
        found.sort();
        prop_assert_eq!(found, corpus.texts.clone());
        prop_assert_eq!((n_bad, n_records), (corpus.n_bad, corpus.n_records()));
    }

    #[test]
    fn the_end_is_where_reading_all_ends(corpus in corpora(), order in orders(), count in 1..4_u64) {
        let open = || corpus.open().with_order(order);
        let mut all = open().build().unwrap();
        let end = all.end();
        all.by_ref().for_each(drop);
        // A corpus with damage may end without having been read to its end.
        prop_assume!(all.is_exhausted());
        let mut counts = RecordCounts::default();
        for index in 0..count {
            let mut shard = open().with_shard(Shard::new(index, count)).build().unwrap();
            shard.by_ref().for_each(drop);
            counts.merge(&shard.counts());
        }
        prop_assert_eq!(end.with_counts(counts), all.cursor());
    }

    #[test]
    fn in_sequential_order_the_records_of_a_shard_keep_theirs(corpus in corpora(), count in 2..5_u64) {
        let texts = |builder| super::corpus::texts(builder);
        let all = texts(corpus.open());
        for index in 0..count {
            let shard = texts(corpus.open().with_shard(Shard::new(index, count)));
            let mut places = shard.iter().map(|text| all.iter().position(|other| other == text));
            prop_assert!(places.by_ref().is_sorted());
        }
    }
}
