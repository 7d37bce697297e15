//! The laws of a split: two exact complements, whatever the batches and the interruptions.

use kato_loader::{
    LoadError, Split, StreamingDatasetLoader, StreamingDatasetLoaderBuilder, TextUnit,
};
use proptest::prelude::*;

/// Index and text of every document of a loader.
fn documents(builder: StreamingDatasetLoaderBuilder) -> Vec<(u64, String)> {
    let documents = builder.build().unwrap().map(Result::unwrap);
    documents
        .map(|document| (document.index, document.text))
        .collect()
}

/// Lines, every third one blank, so that indices and line numbers differ.
fn lines(n: u64) -> StreamingDatasetLoaderBuilder {
    let text: String = (0..n).map(|line| format!("line {line}\n\n")).collect();
    StreamingDatasetLoader::builder()
        .allow_empty()
        .with_reader("lines.txt", std::io::Cursor::new(text))
        .with_text_unit(TextUnit::Line)
}

fn splits() -> impl Strategy<Value = Split> {
    (0.001..0.999, any::<u64>()).prop_map(|(share, seed)| Split::held_out(share, seed))
}

proptest! {
    #[test]
    fn both_sides_together_are_the_corpus(n in 0..60u64, split in splits()) {
        let held_out = documents(lines(n).with_split(split));
        let training = documents(lines(n).with_split(split.complement()));
        let mut both = [held_out, training].concat();
        both.sort();
        prop_assert_eq!(both, documents(lines(n)));
    }

    #[test]
    fn batches_hold_the_same_documents(n in 0..60u64, split in splits(), target in 1..200usize) {
        let mut loader = lines(n).with_split(split).build().unwrap();
        let mut found = Vec::new();
        while let Some(batch) = loader.next_batch(target).unwrap() {
            prop_assert_eq!(Some(batch.first_index()), batch.iter().next().map(|document| document.index));
            found.extend(batch.iter().map(|document| (document.index, document.text.to_owned())));
            prop_assert_eq!(Some(batch.indices().end), found.last().map(|(index, _)| index + 1));
        }
        prop_assert_eq!(found, documents(lines(n).with_split(split)));
        prop_assert_eq!(loader.counts().documents, n);
    }

    #[test]
    fn a_resumed_side_goes_on(n in 1..60u64, split in splits(), k in 0..60usize) {
        let mut first = lines(n).with_split(split).build().unwrap();
        let mut found: Vec<_> = first.by_ref().take(k).map(Result::unwrap).map(|document| (document.index, document.text)).collect();
        found.extend(documents(lines(n).with_split(split).with_cursor(first.cursor())));
        prop_assert_eq!(found, documents(lines(n).with_split(split)));
    }

    #[test]
    fn a_stored_split_comes_back_as_it_was(split in splits()) {
        let stored = serde_json::to_string(&split).unwrap();
        prop_assert_eq!(serde_json::from_str::<Split>(&stored).unwrap(), split);
    }

    #[test]
    fn a_larger_share_holds_out_more(share in 0.001..0.998, seed in any::<u64>(), index in any::<u64>()) {
        let smaller = Split::held_out(share, seed);
        prop_assert!(!smaller.contains(index) || Split::held_out(share + 0.001, seed).contains(index));
    }
}

#[test]
fn the_share_is_met() {
    for share in [0.01, 0.05, 0.5, 0.9] {
        let split = Split::held_out(share, 3);
        let n = (0..100_000).filter(|&index| split.contains(index)).count() as f64;
        // Five standard deviations of a binomial count.
        let tolerance = 5.0 * (100_000.0 * share * (1.0 - share)).sqrt();
        assert!((n - 100_000.0 * share).abs() < tolerance, "{share}: {n}");
    }
}

#[test]
fn the_function_never_changes() {
    let held_out = |seed| -> Vec<u64> {
        let split = Split::held_out(0.05, seed);
        (0..100).filter(|&index| split.contains(index)).collect()
    };
    assert_eq!(held_out(0), [0, 18, 22, 48, 88]);
    assert_eq!(held_out(1), [6, 14, 48, 50, 72, 95]);
}

#[test]
fn limits_count_the_documents_of_the_corpus() {
    let split = Split::training(0.5, 1);
    let found = documents(lines(40).with_split(split).with_max_documents(20));
    assert!(found.iter().all(|(index, _)| *index < 20));
    assert!(found.len() < 20);
}

#[test]
fn the_identity_is_that_of_the_whole_corpus_and_reads_it_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.txt");
    std::fs::write(&path, "one\ntwo\nthree\n").unwrap();
    let open = || {
        StreamingDatasetLoader::builder()
            .with_input(&path)
            .with_text_unit(TextUnit::Line)
    };
    let side = open().with_split(Split::held_out(0.5, 0)).build().unwrap();
    let identity = open().build().unwrap().identity();
    assert_eq!(side.identity(), identity);
    assert_eq!(
        documents(StreamingDatasetLoader::builder_of(&identity)),
        documents(open())
    );

    let moved = folder.path().join("b.txt");
    std::fs::rename(&path, &moved).unwrap();
    assert!(
        StreamingDatasetLoader::builder_of(&identity)
            .build()
            .is_err()
    );
    let now = StreamingDatasetLoader::builder()
        .with_input(&moved)
        .with_text_unit(TextUnit::Line);
    let now = now.build().unwrap().identity();
    assert!(
        identity
            .diff(&now.clone().with_names_of(&identity))
            .is_empty()
    );
    std::fs::write(&moved, "one\ntwo\nfour!\n").unwrap();
    let now = StreamingDatasetLoader::builder_of(&now)
        .build()
        .unwrap_err();
    assert!(matches!(now, LoadError::OtherCorpus { .. }));
}
