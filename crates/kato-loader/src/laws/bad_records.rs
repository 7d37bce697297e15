//! What is bad is listed once, under every policy, in every order, with any number of threads.

use proptest::prelude::*;

use super::corpus::{Read, corpora, orders, read, workers};
use crate::{LoadError, OnBadRecord, Order, StreamingDatasetLoaderBuilder};

/// Reads until something is bad, and from there under another policy.
fn failing_then(
    open: impl Fn() -> StreamingDatasetLoaderBuilder,
    policy: OnBadRecord,
    workers: usize,
) -> Read {
    let mut run = Read::default();
    let strict = open().on_bad_record(OnBadRecord::Fail);
    let mut loader = strict.with_workers(workers).build().unwrap();
    let failed = loop {
        match loader.next() {
            None => break None,
            Some(Ok(document)) => run.documents.push(document),
            Some(Err(error)) => break Some(error),
        }
    };
    assert!(loader.next().is_none(), "after an error there is nothing");
    assert!(loader.take_bad_records().is_empty());
    run.counts = loader.counts();
    if let Some(error) = failed {
        assert!(matches!(error, LoadError::BadRecord { .. }), "{error}");
        let builder = open().on_bad_record(policy).with_cursor(loader.cursor());
        let mut rest = builder.build().unwrap();
        run.go_on(&mut rest, usize::MAX);
        let first = &run.ledger[0];
        let met = error.record().unwrap();
        assert_eq!((&met.file, &met.reason), (&first.file, &first.reason));
    }
    run
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn every_policy_meets_the_same_records(corpus in corpora(), order in orders(), workers in workers()) {
        for policy in [OnBadRecord::Skip, OnBadRecord::SkipFile] {
            let open = || corpus.open().with_order(order);
            let all = read(open().on_bad_record(policy).with_workers(0));
            prop_assert_eq!(&read(open().on_bad_record(policy).with_workers(workers)), &all);
            // In shuffled order, what stands behind a bad record of its block may come before it.
            if policy == OnBadRecord::Skip || order == Order::Sequential {
                prop_assert_eq!(&failing_then(open, policy, workers), &all, "{:?}", policy);
            }
        }
    }

    #[test]
    fn in_sequential_order_a_bad_record_takes_the_rest_of_its_file(corpus in corpora(), workers in workers()) {
        let all = read(corpus.open().on_bad_record(OnBadRecord::SkipFile).with_workers(workers));
        let mut files: Vec<_> = all.ledger.iter().map(|record| &record.file).collect();
        files.dedup();
        prop_assert_eq!(files.len(), all.ledger.len());
        let every = read(corpus.open().with_order(Order::Sequential));
        let mut left = every.documents.iter();
        for document in &all.documents {
            prop_assert!(left.any(|other| other.text == document.text), "order is kept");
        }
    }
}
