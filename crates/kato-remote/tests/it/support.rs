//! A corpus, a server in this process, and what both ways of training leave behind.

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Duration;

use kato_client::{KatoClient, KatoClientBuilder, RetryPolicy, SessionOptions};
use kato_learner::HierarchicalConceptLearner;
use kato_learner::config::Recording;
use kato_loader::{StreamingDatasetLoader, StreamingDatasetLoaderBuilder, TextUnit};
use kato_model::RunName;
use kato_model::naming::processor_id;
use kato_remote::{RemoteBackend, RemoteBackendBuilder, RemoteError};
use kato_scheduler::{
    Backend, RunConfiguration, TrainError, TrainingOptions, TrainingReport, Workers,
    loader_at_checkpoint, train_parallel, train_parallel_with,
};
use kato_server::Server;
use kato_service::{Service, ServiceOptions};
use kato_store::{EmbeddedStore, KnowledgeBase, MemoryStore};
use tokio::runtime::Runtime;
use tokio::sync::oneshot;

pub(crate) const RUN: &str = "test_run";

/// Documents of a few short paragraphs over few words, so that patterns repeat and tails have all
/// lengths.
pub(crate) fn corpus(n_documents: u64) -> String {
    const WORDS: [&str; 12] = [
        "the", "cat", "sat", "on", "a", "mat", "and", "dog's", "\"bone\"", "café", "it", "ran",
    ];
    let mut text = String::new();
    for document in 0..n_documents {
        let mut paragraphs = Vec::new();
        for paragraph in 0..=document % 4 {
            let n_words = 5 + (document * 7 + paragraph * 11) % 23;
            let word = |n: u64| WORDS[((document * 31 + paragraph * 17 + n * n * 5) % 12) as usize];
            let words: Vec<_> = (0..n_words).map(word).collect();
            paragraphs.push(words.join(" ") + ".");
        }
        let record = serde_json::json!({"text": paragraphs.join("\n\n")});
        text += &format!("{record}\n");
    }
    text
}

pub(crate) fn learner() -> HierarchicalConceptLearner {
    HierarchicalConceptLearner::builder(kato_tokenizer::gpt2())
        .with_chunk_sizes([4, 3, 2])
        .with_recording(Recording {
            provenance: false,
            metadata: true,
        })
        .build()
        .unwrap()
}

pub(crate) fn documents(text: &str) -> StreamingDatasetLoaderBuilder {
    let text = std::io::Cursor::new(text.as_bytes().to_vec());
    StreamingDatasetLoader::builder()
        .with_reader("corpus.jsonl", text)
        .with_text_unit(TextUnit::File)
}

/// The knowledge bases of training in this process, one export a level.
pub(crate) fn trained_here(text: &str) -> Vec<String> {
    let learner = learner();
    let configuration = RunConfiguration::from_learner(&learner).to_json();
    let store = MemoryStore::new(&learner.node_names(), configuration);
    let mut loader = documents(text).build().unwrap();
    train_parallel(&mut loader, &learner, &store, &options(1), |_event| {}).unwrap();
    KnowledgeBase::all(&store)
        .map(|level| export(&level))
        .collect()
}

fn export(knowledge_base: &KnowledgeBase<'_>) -> String {
    let mut out = Vec::new();
    knowledge_base.export(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}

pub(crate) fn options(workers: usize) -> TrainingOptions {
    let mut options = TrainingOptions::default();
    options.n_workers = Workers::Exactly(NonZeroUsize::new(workers).unwrap());
    options.commit_interval = Duration::from_millis(20);
    options
}

/// A server in this process on a directory.
#[derive(Debug)]
pub(crate) struct TestServer {
    pub(crate) addr: SocketAddr,
    pub(crate) runtime: Runtime,
    dir: PathBuf,
    stop: oneshot::Sender<()>,
    served: tokio::task::JoinHandle<()>,
}

impl TestServer {
    pub(crate) fn start(dir: &Path, extensions: bool) -> Self {
        let runtime = Runtime::new().unwrap();
        let service = Service::open(dir, ServiceOptions::default()).unwrap();
        let server = Server::builder(service)
            .with_addr(SocketAddr::from(([127, 0, 0, 1], 0)))
            .with_extensions(extensions)
            .with_generation_2025_10(extensions);
        let server = runtime.block_on(server.bind()).unwrap();
        let addr = server.local_addr();
        let (stop, stopped) = oneshot::channel();
        let served = runtime.spawn(async move {
            let shutdown = async { stopped.await.unwrap_or_default() };
            server.serve(shutdown).await.unwrap();
        });
        Self {
            addr,
            runtime,
            dir: dir.to_owned(),
            stop,
            served,
        }
    }

    /// Stops the server.
    pub(crate) fn end(self) -> PathBuf {
        self.stop.send(()).unwrap();
        self.runtime.block_on(self.served).unwrap();
        self.dir
    }

    /// Stops the server, and reads the knowledge bases of the run's nodes.
    pub(crate) fn stop(self) -> Vec<String> {
        let dir = self.end();
        let run: RunName = RUN.parse().unwrap();
        let export = |node: &&str| {
            let id = processor_id(&run.node_id(node), "kato");
            let store = EmbeddedStore::open_read_only(dir.join("nodes").join(id)).unwrap();
            export(&KnowledgeBase::at(&store, 0).unwrap())
        };
        learner().node_names().iter().map(export).collect()
    }
}

/// A client that does not give up soon and does not wait long.
pub(crate) fn client(addr: SocketAddr) -> KatoClientBuilder {
    KatoClient::builder(format!("http://{addr}"), SessionOptions::new("unused"))
        .with_request_timeout(Duration::from_secs(20))
        .with_retry(
            RetryPolicy::default()
                .with_attempts(40)
                .with_patience(Duration::from_secs(20))
                .with_first_wait(Duration::from_millis(2))
                .with_longest_wait(Duration::from_millis(50))
                .with_jitter_seed(7),
        )
        .with_settle(Duration::from_millis(50))
}

pub(crate) fn backend(
    addr: SocketAddr,
    state: &Path,
    batch: usize,
) -> Result<RemoteBackend, RemoteError> {
    backend_of(builder(addr, state, batch), state)
}

/// Settings of a backend on a server.
pub(crate) fn builder(addr: SocketAddr, state: &Path, batch: usize) -> RemoteBackendBuilder {
    RemoteBackend::builder(client(addr), RUN.parse().unwrap(), state)
        .with_batch(NonZeroUsize::new(batch).unwrap())
        .with_timeout(Duration::from_secs(20))
        .with_settle(Duration::from_millis(50))
}

/// Begins a run, or goes on with it where there is a state.
pub(crate) fn backend_of(
    builder: RemoteBackendBuilder,
    state: &Path,
) -> Result<RemoteBackend, RemoteError> {
    let learner = learner();
    // A run that was killed before its first commit has taught nothing.
    match state.exists() {
        true => builder.open(&learner),
        false => builder.create(&learner, &RunConfiguration::from_learner(&learner)),
    }
}

/// Trains from where the state says to the end of the documents.
pub(crate) fn train_there(
    backend: &RemoteBackend,
    documents: StreamingDatasetLoaderBuilder,
    workers: usize,
) -> Result<TrainingReport, TrainError> {
    train_there_with(backend, documents, &options(workers))
}

/// [`train_there`] with any options.
pub(crate) fn train_there_with(
    backend: &RemoteBackend,
    documents: StreamingDatasetLoaderBuilder,
    options: &TrainingOptions,
) -> Result<TrainingReport, TrainError> {
    let mut loader = loader_at_checkpoint(documents, &backend.checkpoint())?;
    train_parallel_with(&mut loader, &learner(), backend, options, |_event| {})
}

/// The backend's own error behind that of a run.
pub(crate) fn own_error(error: &TrainError) -> Option<&RemoteError> {
    match error {
        TrainError::Backend(error) => error.get_ref().downcast_ref(),
        _ => None,
    }
}

/// The first level at which two results differ, with the first line that does.
pub(crate) fn assert_equal(found: &[String], expected: &[String], how: &str) {
    for (node_idx, (found, expected)) in found.iter().zip(expected).enumerate() {
        let differing = found.lines().zip(expected.lines()).find(|(a, b)| a != b);
        assert_eq!(differing, None, "{how}, node{node_idx}");
        assert_eq!(
            found.lines().count(),
            expected.lines().count(),
            "{how}, node{node_idx}"
        );
    }
    assert_eq!(found.len(), expected.len());
}
