//! Requests are as large with many workers as with one, and `auto` ends with few of them.

use std::num::NonZeroUsize;
use std::path::Path;

use kato_client::calls::CallKind;
use kato_client::{KatoClient, SessionOptions};
use kato_learner::HierarchicalConceptLearner;
use kato_loader::{StreamingDatasetLoader, TextUnit};
use kato_remote::RemoteBackend;
use kato_scheduler::{RunConfiguration, TrainingOptions, Workers, train_parallel_with};
use kato_stock_server::{StockOptions, StockServer};

/// Documents of one long paragraph each, without metadata, so that all chunks but the last go
/// together.
fn corpus(n_documents: u64, n_words: u64) -> String {
    let words = move |document: u64| {
        let word = move |n: u64| format!("w{}", (document * 7919 + n * n * 31) % 997);
        (0..n_words).map(word).collect::<Vec<_>>().join(" ")
    };
    let line = |document| format!("{}\n", serde_json::json!({"text": words(document)}));
    (0..n_documents).map(line).collect()
}

/// Learn calls a request, and the workers at the end.
fn train(workers: Workers, learn_ms: u64, n_documents: u64, n_words: u64) -> (f64, usize) {
    let program = Path::new(env!("CARGO_BIN_EXE_stock_server"));
    let options = StockOptions::quick().learn_ms(learn_ms);
    let server = StockServer::start_program(program, options);
    let dir = tempfile::tempdir().unwrap();
    let learner = HierarchicalConceptLearner::builder(kato_tokenizer::gpt2())
        .with_chunk_sizes([5, 3, 2])
        .build()
        .unwrap();
    let client = KatoClient::builder(server.url(), SessionOptions::new("unused"));
    let backend = RemoteBackend::builder(client, "sizes".parse().unwrap(), dir.path().join("s"))
        .with_batch(NonZeroUsize::new(2).unwrap())
        .create(&learner, &RunConfiguration::from_learner(&learner))
        .unwrap();
    let text = std::io::Cursor::new(corpus(n_documents, n_words).into_bytes());
    let mut loader = StreamingDatasetLoader::builder()
        .with_reader("corpus.jsonl", text)
        .with_text_unit(TextUnit::File)
        .build()
        .unwrap();
    let mut options = TrainingOptions::default();
    options.n_workers = workers;
    let report =
        train_parallel_with(&mut loader, &learner, &backend, &options, |_event| {}).unwrap();
    let learns: u64 = report.levels.iter().map(|level| level.learns).sum();
    let requests = backend.calls().of(CallKind::ObserveSequence);
    (learns as f64 / requests as f64, report.n_workers)
}

#[test]
fn sixteen_workers_send_requests_as_large_as_one_does() {
    let workers = |n| Workers::Exactly(NonZeroUsize::new(n).unwrap());
    // One that is quick sends as much at once as goes together.
    let (one, _) = train(workers(1), 1, 32, 24);
    let (sixteen, _) = train(workers(16), 8, 32, 24);
    eprintln!("{one:.1} learn calls a request of one worker, {sixteen:.1} of sixteen");
    assert!(sixteen > 0.5 * one, "{sixteen} and {one}");
}

#[test]
fn auto_ends_with_one_or_two_at_a_server_of_one_process() {
    // The choice follows the rates that are measured, which other work on the machine disturbs: it is tried
    // again. A choice that is wrong by itself is wrong each time.
    let mut ended_with = Vec::new();
    while ended_with.len() < 3 && !ended_with.last().is_some_and(|n| (1..=2).contains(n)) {
        ended_with.push(train(Workers::Auto, 1, 60, 80).1);
    }
    eprintln!("auto ended with {ended_with:?} workers");
    let last = ended_with.last();
    assert!(last.is_some_and(|n| (1..=2).contains(n)), "{ended_with:?}");
}
