//! What workers open on a server they close, however they end.

use std::num::NonZeroUsize;

use kato_learner::HierarchicalConceptLearner;
use kato_remote::RemoteBackend;
use kato_scheduler::failure::OnFailure;
use kato_scheduler::{
    RunConfiguration, TrainError, TrainingReport, WorkDistribution, loader_at_checkpoint,
    train_parallel_with,
};
use kato_tokenizer::{Family, TokenizeError, Tokenizer, Vocabulary};

use crate::support::{TestServer, assert_equal, client, corpus, documents, options, trained_here};

/// Panics at a word, as no tokenizer should.
#[derive(Debug)]
struct Panicking<T>(T, &'static str);

impl<T: Tokenizer> Tokenizer for Panicking<T> {
    fn name(&self) -> &str {
        self.0.name()
    }
    fn fingerprint(&self) -> &str {
        self.0.fingerprint()
    }
    fn family(&self) -> Family {
        self.0.family()
    }
    fn vocabulary(&self) -> &Vocabulary {
        self.0.vocabulary()
    }
    fn encode_into(&self, text: &str, ids: &mut Vec<u32>) -> Result<(), TokenizeError> {
        assert!(!text.contains(self.1), "the tokenizer panics");
        self.0.encode_into(text, ids)
    }
    fn decode(&self, ids: &[u32]) -> String {
        self.0.decode(ids)
    }
}

/// A line over which every worker dies.
const DEADLY: &str = "{\"text\":\"a deadly document with quite some words in it\"}\n";

fn panicking() -> HierarchicalConceptLearner {
    let learner = crate::support::learner();
    HierarchicalConceptLearner::builder(Panicking(kato_tokenizer::gpt2(), "deadly"))
        .with_config(learner.config().clone())
        .build()
        .unwrap()
}

/// Trains on a server; returns the result and how many sessions are open there before and after.
fn train(
    server: &TestServer,
    text: &str,
    distribution: WorkDistribution,
    on_failure: OnFailure,
) -> (Result<TrainingReport, TrainError>, [u64; 2]) {
    let dir = tempfile::tempdir().unwrap();
    let learner = panicking();
    let sessions = || {
        let client = client(server.addr).build().unwrap();
        server.runtime.block_on(client.session_count()).unwrap()
    };
    let before = sessions();
    let backend = RemoteBackend::builder(
        client(server.addr),
        crate::support::RUN.parse().unwrap(),
        dir.path().join("s.json"),
    )
    .with_batch(NonZeroUsize::new(4).unwrap())
    .create(&learner, &RunConfiguration::from_learner(&learner))
    .unwrap();
    let mut options = options(3);
    options.distribution = distribution;
    options.failures.on_failure = on_failure;
    let mut loader = loader_at_checkpoint(documents(text), &serde_json::Value::Null).unwrap();
    let report = train_parallel_with(&mut loader, &learner, &backend, &options, |_event| {});
    drop(backend);
    (report, [before, sessions()])
}

#[test]
fn sessions_are_closed_and_a_deadly_sample_costs_nothing_but_itself() {
    let text = corpus(40);
    let half = text.len() / 2 + text[text.len() / 2..].find('\n').unwrap() + 1;
    let with_deadly = format!("{}{DEADLY}{}", &text[..half], &text[half..]);
    // A row without text in its place, so that the ids of the others are the same.
    let expected = trained_here(&with_deadly.replace(DEADLY, "{\"text\":\" \"}\n"));
    for extensions in [true, false] {
        for distribution in WorkDistribution::ALL {
            let how = format!("extensions {extensions}, {distribution}");
            let dir = tempfile::tempdir().unwrap();
            let server = TestServer::start(&dir.path().join("data"), extensions);
            let (report, sessions) = train(&server, &with_deadly, distribution, OnFailure::Skip);
            let report = report.unwrap();
            assert_eq!(
                (report.documents_processed, report.failures.worker_died),
                (40, 1),
                "{how}"
            );
            assert_eq!(sessions, [0, 0], "{how}");
            assert_equal(&server.stop(), &expected, &how);
        }
        let dir = tempfile::tempdir().unwrap();
        let server = TestServer::start(&dir.path().join("data"), extensions);
        let (report, sessions) = train(
            &server,
            &with_deadly,
            WorkDistribution::default(),
            OnFailure::End,
        );
        assert!(report.is_err());
        assert_eq!(sessions, [0, 0], "extensions {extensions}, after a failure");
        server.end();
    }
}
