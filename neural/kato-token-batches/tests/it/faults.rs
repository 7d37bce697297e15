//! Errors come in their place, and the run can go on behind them.

use std::error::Error;

use kato_loader::{LoadError, OnBadRecord};
use kato_token_batches::options::{LongDocuments, OnBadDocument};
use kato_token_batches::{TokenBatchError, TokenBatchOptions, TokenBatches};

use super::support::{all, batches_of, corpus, decimal, documents, lines, until_error};

fn options(n_workers: usize) -> TokenBatchOptions {
    TokenBatchOptions::new(2)
        .with_window_documents(2)
        .with_workers(n_workers)
}

#[test]
fn an_error_of_the_loader_comes_behind_all_whole_windows() {
    let text = corpus(&[1, 1, 1, 1, 1]) + &"9".repeat(200) + "\n" + &corpus(&[2, 2]);
    let open = |policy| {
        lines(&text)
            .with_max_record_bytes(100)
            .on_bad_record(policy)
    };
    for n_workers in 0..3 {
        let loader = open(OnBadRecord::Fail).build().unwrap();
        let mut batches = TokenBatches::new(loader, options(n_workers), decimal).unwrap();
        let (delivered, error) = until_error(&mut batches);
        assert_eq!(documents(&delivered), [[0, 1], [2, 3]]);
        let TokenBatchError::Load(cause) = &error else {
            panic!("{error}");
        };
        assert!(matches!(cause, LoadError::BadRecord { .. }));
        assert!(batches.next().is_none());

        let state = batches.state().clone();
        assert_eq!(state.cursor().documents(), 4, "document 4 is not lost");
        let loader = open(OnBadRecord::Skip)
            .with_cursor(state.cursor().clone())
            .build()
            .unwrap();
        let mut rest =
            TokenBatches::new(loader, options(n_workers).with_state(state), decimal).unwrap();
        let found: Vec<_> = rest.by_ref().map(Result::unwrap).collect();
        assert_eq!(documents(&found), [vec![4], vec![5], vec![6]]);
        assert_eq!(rest.take_bad_records().len(), 1);
        assert_eq!(rest.state().cursor().counts().bad, 1);
    }
}

#[test]
fn a_document_that_cannot_be_encoded_is_named() {
    let text = "1\n2\n3\nfour\n5\n";
    for n_workers in 0..3 {
        let mut batches = batches_of(text, options(n_workers));
        let (delivered, error) = until_error(&mut batches);
        assert_eq!(documents(&delivered), [[0, 1]]);
        assert!(
            error
                .to_string()
                .starts_with("document 3 (`lines.txt#4`) cannot be encoded; ")
        );
        assert_eq!(
            error.source().unwrap().to_string(),
            "invalid digit found in string"
        );
        assert!(batches.next().is_none());
    }

    let skip = options(1).on_bad_document(OnBadDocument::Skip);
    let mut batches = batches_of(text, skip);
    let found: Vec<_> = batches.by_ref().map(Result::unwrap).collect();
    assert_eq!(documents(&found), [vec![0, 1], vec![2], vec![4]]);
    assert_eq!(batches.counts().bad_documents, 1);
    let ledger = batches.take_bad_documents();
    assert_eq!(
        ledger[0].to_string(),
        "document 3 (`lines.txt#4`): invalid digit found in string"
    );
    assert!(batches.take_bad_documents().is_empty());
}

#[test]
fn a_refused_document_says_how_long_it_is() {
    let refuse = options(0).with_long_documents(LongDocuments::Refuse);
    let (delivered, error) = until_error(&mut batches_of(&corpus(&[1, 2, 5]), refuse));
    assert_eq!(delivered.len(), 2);
    assert!(
        error
            .to_string()
            .starts_with("document 2 (`lines.txt#3`) has 5 tokens where 2 are allowed; ")
    );
}

#[test]
fn a_panic_of_the_encoder_reaches_the_caller() {
    for n_workers in 0..3 {
        let loader = lines(&corpus(&[1, 1, 1, 1])).build().unwrap();
        let encoder = |text: &str| match decimal(text) {
            Ok(tokens) if tokens == [2_000] => panic!("token 2000"),
            encoded => encoded,
        };
        let mut batches = TokenBatches::new(loader, options(n_workers), encoder).unwrap();
        assert_eq!(batches.next().unwrap().unwrap().documents, [0, 1]);
        let next = std::panic::AssertUnwindSafe(|| batches.next());
        let panic = std::panic::catch_unwind(next).unwrap_err();
        assert_eq!(panic.downcast_ref(), Some(&"token 2000"));
        assert!(batches.next().is_none(), "the batches have ended");
        assert_eq!(batches.state().cursor().documents(), 2);
    }
}

#[test]
fn ledgers_that_nobody_drains_end_the_batches() {
    let text = "one\n1\ntwo\n2\nthree\n3\n";
    let skip = options(0)
        .on_bad_document(OnBadDocument::Skip)
        .with_ledger_capacity(2);
    let mut batches = batches_of(text, skip.clone());
    let (delivered, error) = until_error(&mut batches);
    assert_eq!(delivered.len(), 2);
    assert!(error.to_string().starts_with(
        "3 bad records and documents would be waiting where 2 may, the last being document 4 "
    ));
    assert_eq!(batches.take_bad_documents().len(), 2, "none is lost");

    let mut batches = batches_of(text, skip);
    let mut taken = 0;
    while let Some(batch) = batches.next() {
        assert!(batch.is_ok());
        taken += batches.take_bad_documents().len();
    }
    assert_eq!(taken, 3);
}

#[test]
fn options_out_of_range_are_refused_by_name() {
    let valid = || TokenBatchOptions::new(8);
    let cases = [
        (TokenBatchOptions::new(0), "max_tokens"),
        (valid().with_max_sequences(0), "with_max_sequences"),
        (
            valid().with_max_sequence_tokens(0),
            "with_max_sequence_tokens",
        ),
        (
            valid().with_max_sequence_tokens(9),
            "with_max_sequence_tokens",
        ),
        (valid().with_window_documents(0), "with_window_documents"),
        (valid().with_window_bytes(0), "with_window_bytes"),
        (valid().with_ledger_capacity(0), "with_ledger_capacity"),
        (valid().with_prefetch(0), "with_prefetch"),
        (valid().with_prefetch(usize::MAX), "with_prefetch"),
        (valid().with_workers(usize::MAX), "with_workers"),
    ];
    for (options, expected) in cases {
        let loader = lines("1\n").build().unwrap();
        let error = TokenBatches::new(loader, options, decimal).unwrap_err();
        let TokenBatchError::InvalidOption { option, .. } = error else {
            panic!("{error}");
        };
        assert_eq!(option, expected);
    }
    assert_eq!(
        all("1\n", valid().with_workers(0).with_prefetch(0)).len(),
        1,
        "without workers nothing is ahead"
    );
}
