//! Interrupted anywhere and resumed, the batches are those of a run that was not.

use kato_loader::{BadRecord, Cursor};
use kato_token_batches::options::{LongDocuments, OnBadDocument};
use kato_token_batches::state::TokenBatchState;
use kato_token_batches::{
    BadDocument, TokenBatch, TokenBatchError, TokenBatchOptions, TokenBatches,
};
use proptest::prelude::*;

use super::support::{all, batches_of, corpus, decimal, document, lines};

/// Batches and ledgers.
type Run = (Vec<TokenBatch>, Vec<BadRecord>, Vec<BadDocument>);

/// Up to so many batches, from a state; what was delivered is added to `run`, and the new state
/// returned.
fn go_on(
    text: &str,
    options: &TokenBatchOptions,
    from: Option<TokenBatchState>,
    n_batches: usize,
    run: &mut Run,
) -> TokenBatchState {
    let mut options = options.clone();
    let mut builder = lines(text).with_max_record_bytes(400);
    if let Some(state) = from {
        builder = builder.with_cursor(state.cursor().clone());
        options = options.with_state(state);
    }
    let loader = builder.build().unwrap();
    let mut batches = TokenBatches::new(loader, options, decimal).unwrap();
    run.0
        .extend(batches.by_ref().take(n_batches).map(Result::unwrap));
    run.1.extend(batches.take_bad_records());
    run.2.extend(batches.take_bad_documents());
    let stored = serde_json::to_string(batches.state()).unwrap();
    serde_json::from_str(&stored).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn stopping_anywhere_and_resuming_with_other_workers_changes_nothing(
        // 28 and 29 stand for a document that cannot be encoded, and a record too large to be one.
        lengths in proptest::collection::vec(0_usize..30, 0..50),
        max_tokens in 4_usize..40,
        window in 1_usize..16,
        seed in proptest::option::of(any::<u64>()),
        stops in proptest::collection::vec((0_usize..6, 0_usize..4, 1_usize..3), 0..8),
    ) {
        let text: String = lengths.iter().enumerate().map(|(index, &len)| match len {
            28 => "none\n".to_owned(),
            29 => "0 ".repeat(300) + "\n",
            len => document(index, len) + "\n",
        }).collect();
        let mut options = TokenBatchOptions::new(max_tokens)
            .with_long_documents(LongDocuments::Split)
            .on_bad_document(OnBadDocument::Skip)
            .with_window_documents(window)
            .with_workers(0);
        if let Some(seed) = seed {
            options = options.with_shuffle(seed);
        }
        let mut expected = Run::default();
        let end = go_on(&text, &options, None, usize::MAX, &mut expected);

        let mut run = Run::default();
        let mut state = None;
        for (n_batches, workers, prefetch) in stops {
            let options = options.clone().with_workers(workers).with_prefetch(prefetch);
            state = Some(go_on(&text, &options, state, n_batches, &mut run));
        }
        let state = go_on(&text, &options, state, usize::MAX, &mut run);
        prop_assert_eq!(run, expected);
        prop_assert_eq!(state, end);
    }

    #[test]
    fn the_number_of_workers_changes_nothing(
        lengths in proptest::collection::vec(0_usize..30, 0..80),
        window in 1_usize..16,
        workers in 1_usize..5,
        prefetch in 1_usize..4,
    ) {
        let options = TokenBatchOptions::new(40).with_window_documents(window).with_shuffle(1);
        let text = corpus(&lengths);
        let alone = all(&text, options.clone().with_workers(0));
        let together = all(&text, options.with_workers(workers).with_prefetch(prefetch));
        prop_assert_eq!(together, alone);
    }
}

fn options() -> TokenBatchOptions {
    TokenBatchOptions::new(6)
        .with_window_documents(4)
        .with_workers(0)
}

fn state_after(n_batches: usize, text: &str) -> TokenBatchState {
    let mut batches = batches_of(text, options());
    let taken = batches.by_ref().take(n_batches).map(Result::unwrap);
    assert_eq!(taken.count(), n_batches);
    batches.state().clone()
}

#[test]
fn a_state_is_the_beginning_of_a_window_and_a_number_of_batches() {
    let text = corpus(&[3, 1, 2, 3, 1, 4, 4, 1]);
    let positions: Vec<(u64, u64)> = (0..=5)
        .map(|n_batches| {
            let state = state_after(n_batches, &text);
            (state.cursor().documents(), state.batches_of_window())
        })
        .collect();
    assert_eq!(positions, [(0, 0), (0, 1), (4, 0), (4, 1), (4, 2), (8, 0)]);
}

#[test]
fn other_options_are_refused_with_what_differs() {
    let text = corpus(&[3, 1, 2, 3]);
    let state = state_after(1, &text);
    let resume = |options: TokenBatchOptions| {
        let cursor: Cursor = state.cursor().clone();
        let loader = lines(&text).with_cursor(cursor).build().unwrap();
        TokenBatches::new(loader, options.with_state(state.clone()), decimal)
            .map(|batches| batches.count())
    };
    assert_eq!(resume(options().with_workers(3)).unwrap(), 1);
    let error = resume(options().with_shuffle(3).with_max_sequences(9)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "these are other options than before:\n  sequences a batch: was unlimited, is 9\n  shuffle: was none, is seed 3\n\
         give the same, or start anew"
    );
}

#[test]
fn a_loader_that_stands_elsewhere_is_refused() {
    let text = corpus(&[3, 1, 2, 3, 1, 2]);
    let state = state_after(2, &text);
    let loader = lines(&text).build().unwrap();
    let error = TokenBatches::new(loader, options().with_state(state), decimal).unwrap_err();
    assert!(matches!(
        error,
        TokenBatchError::OtherPosition {
            expected: 4,
            found: 0
        }
    ));
}

#[test]
fn another_encoder_or_another_end_is_found_in_the_middle_of_a_window() {
    let text = corpus(&[3, 1, 2, 3]);
    let state = state_after(1, &text);
    let bytes = |text: &str| Ok::<Vec<u32>, TokenBatchError>(text.bytes().map(u32::from).collect());
    let cut_off = corpus(&[3, 1]);
    let empty = String::new();
    let cursor = || state.cursor().clone();
    let resumed = || options().with_state(state.clone());
    let loader = |text: &str| lines(text).with_cursor(cursor()).build().unwrap();
    let runs = [
        TokenBatches::new(loader(&text), resumed(), bytes),
        TokenBatches::new(loader(&cut_off), resumed(), decimal),
        TokenBatches::new(loader(&empty), resumed(), decimal),
    ];
    for run in runs {
        let mut batches = run.unwrap();
        let error = batches.next().unwrap().unwrap_err();
        assert!(
            matches!(error, TokenBatchError::OtherWindow { first_document: 0 }),
            "{error}"
        );
        assert!(batches.next().is_none());
        assert_eq!(batches.state(), &state, "a refusal moves nothing");
    }
}
