//! The order of the records is a function of corpus, seed and epoch alone, and holds every record
//! once.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;

use proptest::prelude::*;

use super::corpus::{Corpus, Kind, Read, Row, corpora, orders, read, sorted, texts};
use crate::{Order, StreamingDatasetLoaderBuilder};

fn in_batches(builder: StreamingDatasetLoaderBuilder, target_bytes: usize) -> Read {
    let mut loader = builder.build().unwrap();
    let mut read = Read::default();
    while let Some(batch) = loader.next_batch(target_bytes).unwrap() {
        read.documents
            .extend(batch.iter().map(|document| document.to_document()));
    }
    read.ledger = loader.take_bad_records();
    read.counts = loader.counts();
    read
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_record_comes_once(corpus in corpora(), order in orders()) {
        let read = read(corpus.open().with_order(order));
        let found = read.documents.into_iter().map(|document| document.text).collect();
        prop_assert_eq!(sorted(found), corpus.texts.clone());
        prop_assert_eq!(read.ledger.len() as u64, corpus.n_bad);
        prop_assert_eq!(read.counts.blank, corpus.n_blank);
        prop_assert_eq!(read.counts.records, corpus.n_records());
    }

    #[test]
    fn neither_threads_nor_budgets_nor_batches_have_a_part_in_it(
        corpus in corpora(),
        order in orders(),
        target_bytes in 1..2000_usize,
        prefetch in 1..4_usize,
    ) {
        let alone = read(corpus.open().with_order(order).with_workers(0));
        for workers in [0, 1, 3] {
            for budget in [1, 700, 64 << 20] {
                let open = || {
                    let prefetch = NonZeroUsize::new(prefetch).unwrap();
                    let builder = corpus.open().with_order(order).with_workers(workers);
                    builder.with_prefetch(prefetch).with_prefetch_bytes(budget)
                };
                prop_assert_eq!(&read(open()), &alone, "{} workers, {} bytes", workers, budget);
                prop_assert_eq!(&in_batches(open(), target_bytes), &alone, "batches, {} workers", workers);
            }
        }
    }

    #[test]
    fn passing_over_and_ending_early_are_cuts_of_the_raw_order(
        corpus in corpora(),
        order in orders(),
        skipped in 0..80_u64,
        taken in 0..80_u64,
    ) {
        // Which record of the order each document is.
        let mut loader = corpus.open().with_order(order).build().unwrap();
        let mut numbered = Vec::new();
        while let Some(document) = loader.next() {
            numbered.push((loader.counts().records, document.unwrap().text));
        }
        let expected: Vec<_> = numbered
            .into_iter()
            .filter(|(number, _)| (skipped + 1..=skipped + taken).contains(number))
            .map(|(_, text)| text)
            .collect();
        for workers in [0, 3] {
            let builder = corpus.open().with_order(order).with_workers(workers);
            let read = read(builder.with_skip_records(skipped).with_max_records(taken));
            let found: Vec<_> = read.documents.into_iter().map(|document| document.text).collect();
            prop_assert_eq!(&found, &expected);
            prop_assert_eq!(read.counts.passed_over, skipped.min(corpus.n_records()));
            prop_assert_eq!(read.counts.records, (skipped + taken).min(corpus.n_records()));
            prop_assert_eq!(read.counts.bad, read.ledger.len() as u64);
        }
    }
}

/// Files of each kind, of so many rows each.
fn of_all_kinds(rows: usize) -> Corpus {
    let parquet = |group_rows, has_page_index: bool| Kind::Parquet {
        group_rows,
        page_rows: 64,
        has_dictionary: !has_page_index,
        has_page_index,
    };
    let kinds = [
        Kind::JsonLines,
        Kind::JsonLinesGz,
        Kind::Lines,
        Kind::LinesZst,
        Kind::Csv,
        parquet(rows, true),
        parquet(rows / 7, false),
    ];
    let text = |row| Row::Text(format!("lorem ipsum {}", row * row));
    let rows: Vec<_> = (0..rows).map(text).collect();
    Corpus::new(&kinds.map(|kind| (kind, rows.clone())), 4000)
}

#[test]
fn shuffled_order_is_no_sequential_one_and_every_epoch_has_its_own() {
    let corpus = of_all_kinds(100);
    let orders = [
        Order::Sequential,
        Order::shuffled(1),
        Order::shuffled(2),
        Order::shuffled(1).with_epoch(1),
        Order::shuffled(1).with_window_bytes(8000),
    ];
    let read: Vec<_> = orders
        .iter()
        .map(|order| texts(corpus.open().with_order(*order)))
        .collect();
    for (at, one) in read.iter().enumerate() {
        assert!(sorted(one.clone()) == corpus.texts);
        for (before, other) in read.iter().enumerate().take(at) {
            let same = one.iter().zip(other).filter(|(one, other)| one == other);
            assert!(same.count() < 20, "orders {before} and {at}");
        }
    }
}

#[test]
fn row_groups_of_many_rows_are_cut_and_shuffled_the_same_with_threads() {
    // A block is at least 1,024 rows, so these row groups are cut into three each.
    let corpus = of_all_kinds(3000);
    for order in [
        Order::Sequential,
        Order::shuffled(5).with_window_bytes(100_000),
    ] {
        let alone = texts(corpus.open().with_order(order).with_workers(0));
        assert!(sorted(alone.clone()) == corpus.texts);
        assert!(alone == texts(corpus.open().with_order(order).with_workers(3)));
        for skipped in [1, 1023, 1024, 12_345, 20_000] {
            let builder = corpus.open().with_order(order).with_workers(2);
            let found = texts(builder.with_skip_records(skipped as u64));
            assert!(found == alone[skipped..], "{order:?} after {skipped}");
        }
    }
}

#[test]
fn tables_are_shuffled_in_blocks_and_their_rows_keep_names_and_lines() {
    let row = |n: usize| match n % 50 {
        7 => Row::Bad,
        _ => Row::Text(format!("lorem ipsum {n}")),
    };
    let corpus = Corpus::new(&[(Kind::Csv, (0..2000).map(row).collect())], 4000);
    let order = Order::shuffled(3).with_window_bytes(4000);
    let [alone, shuffled] =
        [Order::Sequential, order].map(|order| read(corpus.open().with_order(order)));
    let named = |read: &Read| -> BTreeMap<String, String> {
        let documents = read.documents.iter();
        documents
            .map(|document| (document.id.to_string(), document.text.clone()))
            .collect()
    };
    assert_eq!(named(&shuffled), named(&alone));
    let told = |read: &Read| sorted(read.ledger.iter().map(ToString::to_string).collect());
    assert_eq!(told(&shuffled), told(&alone));

    // A window is a block, and no more of the file is held.
    let texts = shuffled.documents.iter().map(|document| &document.text);
    let numbers = texts.map(|text| text.rsplit('\n').next().unwrap().parse::<usize>().unwrap());
    let window: Vec<_> = numbers.take(20).collect();
    let (least, most) = (window.iter().min().unwrap(), window.iter().max().unwrap());
    assert!(most - least < 150, "{window:?}");
    assert!(!window.is_sorted(), "{window:?}");
}

#[test]
fn what_is_too_large_to_be_held_is_read_in_slices_in_the_order_of_what_is_held() {
    let row = |n: usize| match n % 40 {
        7 => Row::Bad,
        8 => Row::Blank,
        9 => Row::Text("x".repeat(1500)),
        _ => Row::Text(format!("lorem ipsum {n}")),
    };
    for kind in [Kind::JsonLinesGz, Kind::LinesZst] {
        // A block is the file, whatever the window.
        let corpus = Corpus::new(&[(kind, (0..300).map(row).collect())], 50);
        let open = |window_bytes| {
            let order = Order::shuffled(3).with_window_bytes(window_bytes);
            corpus.open().with_order(order)
        };
        let held = read(open(1 << 30));
        assert_eq!(held.documents.len() + held.ledger.len(), 300 - 8);
        for workers in [0, 3] {
            let small = || open(1).with_workers(workers);
            assert_eq!(read(small()), held);
            for taken in [1, 20, 150, 280] {
                let mut first = small().build().unwrap();
                let mut run = Read::default();
                run.go_on(&mut first, taken);
                let mut second = small().with_cursor(first.cursor()).build().unwrap();
                run.go_on(&mut second, usize::MAX);
                assert_eq!(run, held, "interrupted after {taken}");
            }
        }
    }
}

#[test]
fn the_order_never_changes() {
    // Knowledge bases and checkpoints depend on it.
    let rows: Vec<_> = ["a", "b", "c", "d", "e", "f"]
        .map(|text| Row::Text(text.to_owned()))
        .into();
    let parquet = Kind::Parquet {
        group_rows: 2,
        page_rows: 2,
        has_dictionary: false,
        has_page_index: true,
    };
    let corpus = Corpus::new(&[(Kind::JsonLines, rows.clone()), (parquet, rows)], 60);
    let order = Order::shuffled(7).with_epoch(1).with_window_bytes(120);
    let found: String = texts(corpus.open().with_order(order)).join(" | ");
    insta::assert_snapshot!(
        found,
        @"0:3 d | 0:2 c | 0:1 b | 0:0 a | 1:4 e | 1:5 f | 1:0 a | 1:1 b | 1:2 c | 1:3 d | 0:5 f | 0:4 e"
    );
}
