//! Interrupted at any document and continued with any number of threads, a stream is the
//! uninterrupted one.

use proptest::prelude::*;

use super::corpus::{Corpus, Read, corpora, orders, read, workers};
use crate::{
    Cursor, LoadError, LoaderState, OnBadRecord, Order, Sample, Shard, StreamingDatasetLoader,
    StreamingDatasetLoaderBuilder, WhenExhausted,
};

fn through_json<T: serde::Serialize + serde::de::DeserializeOwned>(value: &T) -> T {
    serde_json::from_str(&serde_json::to_string(value).unwrap()).unwrap()
}

/// Checks the law at every document.
fn check(open: impl Fn() -> StreamingDatasetLoaderBuilder, workers: [usize; 2]) {
    let all = read(open());
    for k in 0..=all.documents.len() {
        let mut run = Read::default();
        let mut first = open().with_workers(workers[0]).build().unwrap();
        run.go_on(&mut first, k);
        let (cursor, state) = (through_json(&first.cursor()), through_json(&first.state()));
        assert_eq!(LoaderState::cursor(&state), &cursor);
        drop(first);
        let mut second = match k % 2 {
            0 => open().with_cursor(cursor),
            _ => open().with_state(state),
        }
        .with_workers(workers[1])
        .build()
        .unwrap();
        run.go_on(&mut second, usize::MAX);
        assert!(second.is_exhausted());
        assert_eq!(run, all, "interrupted after {k}");
    }
}

fn policies() -> impl Strategy<Value = OnBadRecord> {
    prop::sample::select(vec![OnBadRecord::Skip, OnBadRecord::SkipFile])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn one_dataset(
        corpus in corpora(),
        order in orders(),
        shard in prop::option::of((0..3_u64).prop_map(|index| Shard::new(index, 3))),
        skipped in prop::sample::select(vec![0, 0, 5, 20]),
        policy in policies(),
        first in workers(),
        second in workers(),
    ) {
        check(|| {
            let mut builder = corpus.open().with_order(order).on_bad_record(policy);
            if let Some(shard) = shard {
                builder = builder.with_shard(shard);
            }
            builder.with_skip_records(skipped).with_filter("no x", |text| !text.contains("xx"))
        }, [first, second]);
    }

    #[test]
    fn a_mixture(
        parts in prop::collection::vec((corpora(), orders()), 2..4),
        seed: u64,
        stops: bool,
        policy in policies(),
        first in workers(),
        second in workers(),
    ) {
        check(|| {
            let mixture = StreamingDatasetLoader::builder().allow_empty()
                .with_mixing_seed(seed)
                .on_bad_record(policy)
                .when_exhausted(if stops { WhenExhausted::Stop } else { WhenExhausted::Continue });
            parts.iter().fold(mixture, |mixture, (corpus, order)| {
                mixture.with_mixed(1.0, corpus.open().with_order(*order).with_sample(Sample::new(0.8, 1)))
            })
        }, [first, second]);
    }
}

/// Two small files of lines.
fn small() -> Corpus {
    use super::corpus::{Kind, Row};
    let rows: Vec<_> = (0..20).map(|row| Row::Text(format!("row {row}"))).collect();
    Corpus::new(&[(Kind::JsonLines, rows.clone()), (Kind::Lines, rows)], 50)
}

fn differences(builder: StreamingDatasetLoaderBuilder) -> String {
    match builder.build() {
        Err(LoadError::OtherCorpus { differences }) => differences.join("; "),
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("a state of another corpus was taken"),
    }
}

#[test]
fn a_state_refuses_whatever_is_different_and_names_it() {
    let corpus = small();
    let order = Order::shuffled(1);
    let open = || corpus.open().with_order(order);
    let mut loader = open().build().unwrap();
    loader.by_ref().take(7).for_each(drop);
    let (state, identity) = (loader.state(), loader.identity());
    let check = |other: StreamingDatasetLoaderBuilder, words: &str, named: &str| {
        let rebuilt = || other_like(&corpus, &other);
        let by_state = differences(rebuilt().with_state(state.clone()));
        assert!(by_state.contains(words), "{by_state}");
        let by_identity = differences(rebuilt().with_identity(identity.clone()));
        assert!(by_identity.contains(named), "{by_identity}");
    };
    check(
        open().with_order(Order::shuffled(2)),
        "order `shuffled, seed 2, epoch 0",
        "order: was `shuffled, seed 1",
    );
    check(open().with_order(order.with_epoch(1)), "epoch 1", "epoch 1");
    check(
        open().with_order(order.with_window_bytes(99)),
        "windows of 99 bytes",
        "windows of 99 bytes",
    );
    check(
        open().with_shard(Shard::new(1, 2)),
        "shard `1 of 2`",
        "shard: was ``, is `1 of 2`",
    );
    check(
        open().with_sample(Sample::new(0.5, 1)),
        "sample",
        "sample: was",
    );
    check(
        open().with_min_chars(3),
        "minimum characters `3`",
        "minimum characters: was `0`, is `3`",
    );
    check(
        open().with_skip_records(4),
        "records passed over `4`",
        "records passed over: was ``, is `4`",
    );
    check(
        open().with_max_record_bytes(77),
        "record limit in bytes `77`",
        "record limit in bytes",
    );
    let filtered = open().with_filter("short", |text| text.len() < 9);
    let refused = differences(filtered.with_state(state.clone()));
    assert!(refused.contains("filter `short`"), "{refused}");
    let smaller = small_but_changed();
    let refused = differences(smaller.open().with_order(order).with_state(state.clone()));
    assert!(refused.contains("the files are not those"), "{refused}");
    let refused = differences(smaller.open().with_order(order).with_identity(identity));
    assert!(refused.contains("file missing"), "{refused}");
}

/// The same options once more: a builder is used once.
fn other_like(
    corpus: &Corpus,
    builder: &StreamingDatasetLoaderBuilder,
) -> StreamingDatasetLoaderBuilder {
    let mut other = corpus.open();
    other.selection = builder.selection.clone();
    other
}

fn small_but_changed() -> Corpus {
    use super::corpus::{Kind, Row};
    Corpus::new(&[(Kind::Lines, vec![Row::Text("a".to_owned())])], 50)
}

#[test]
fn a_state_of_a_mixture_refuses_other_weights_and_seeds() {
    let corpus = small();
    let open = |weight, seed| {
        StreamingDatasetLoader::builder()
            .allow_empty()
            .with_mixed(weight, corpus.open())
            .with_mixed(1.0, corpus.open().with_order(Order::shuffled(3)))
            .with_mixing_seed(seed)
    };
    let mut loader = open(2.0, 5).build().unwrap();
    loader.by_ref().take(9).for_each(drop);
    let state = loader.state();
    assert!(differences(open(2.5, 5).with_state(state.clone())).contains("weight 2.5"));
    assert!(differences(open(2.0, 6).with_state(state.clone())).contains("seed: 6"));
    assert_eq!(
        open(2.0, 5).with_state(state).build().unwrap().count(),
        80 - 9
    );
}

#[test]
fn positions_that_do_not_exist_are_refused() {
    let corpus = small();
    let cursor_of = |builder: StreamingDatasetLoaderBuilder, n: usize| -> Cursor {
        let mut loader = builder.build().unwrap();
        loader.by_ref().take(n).for_each(drop);
        loader.cursor()
    };
    let shuffled = || {
        corpus
            .open()
            .with_order(Order::shuffled(1).with_window_bytes(100))
    };
    let refused = |builder: StreamingDatasetLoaderBuilder, words: &str| {
        let error = match builder.build() {
            Err(error) => error,
            Ok(mut loader) => loader.next().unwrap().unwrap_err(),
        };
        assert!(error.to_string().contains(words), "{error}");
    };
    let sequential = cursor_of(corpus.open(), 3);
    refused(
        shuffled().with_cursor(sequential.clone()),
        "in a sequential order",
    );
    refused(
        corpus.open().with_cursor(cursor_of(shuffled(), 3)),
        "in a shuffled order",
    );
    let mixed = StreamingDatasetLoader::builder()
        .allow_empty()
        .with_mixed(1.0, corpus.open())
        .with_mixed(1.0, corpus.open());
    refused(mixed.with_cursor(sequential), "a mixture of 1");
    let of_first = cursor_of(shuffled().with_shard(Shard::new(0, 2)), 1);
    refused(
        shuffled()
            .with_shard(Shard::new(1, 2))
            .with_cursor(of_first),
        "another shard",
    );
    let elsewhere = cursor_of(
        corpus
            .open()
            .with_order(Order::shuffled(9).with_window_bytes(100)),
        1,
    );
    refused(
        shuffled().with_cursor(elsewhere),
        "ends before the position",
    );
}
