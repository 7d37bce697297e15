//! Trains the nodes of a KATO server: the learner plans on this side, the server learns.
//!
//! [`RemoteBackend`] is a [`Backend`](kato_scheduler::Backend) for [`train_parallel_with`](kato_scheduler::train_parallel_with): workers plan documents and send
//! every level's learn calls at the same time, because names are computed on this side and no level has to wait for another.
//! What the server learns is exactly what a store in this process would have learned; every name that it answers is compared.
//!
//! | server | requests | a lost answer, a crash of either side |
//! |---|---|---|
//! | kato-rs | one a level and batch of documents | exactly once: repeated work carries the same idempotency keys, and the server keeps the run's record |
//! | stock KATO 3.10 | one for neighbouring chunks, about a second of learning; one for each with metadata | exactly once, or an error that says what cannot be told, as long as nobody else teaches the nodes: what arrived is asked for once the server is quiet, and only the rest is sent |
//! | stock KATO 2025-10 | one a chunk | the same |
//!
//! A stock KATO learns a request chunk by chunk and goes on when nobody listens, so no time tells what became of it; `docs/training.md`
//! has the rule and its limits. Restarts of a server of ours are the client's business: see `kato_client`.
//!
//! ```no_run
//! use kato_client::{KatoClient, SessionOptions};
//! use kato_learner::HierarchicalConceptLearner;
//! use kato_loader::StreamingDatasetLoader;
//! use kato_model::RunName;
//! use kato_remote::RemoteBackend;
//! use kato_scheduler::{RunConfiguration, TrainingOptions, train_parallel_with};
//!
//! let learner = HierarchicalConceptLearner::builder(kato_tokenizer::gpt2()).chunk_sizes([5, 7, 9]).build()?;
//! let client = KatoClient::builder("http://127.0.0.1:8000", SessionOptions::new("unused"));
//! let run: RunName = "wikitext_1".parse()?;
//! let backend = RemoteBackend::builder(client, run, "wikitext_1.kato-run.json")
//!     .create(&learner, &RunConfiguration::of(&learner))?;
//! let mut loader = StreamingDatasetLoader::builder().with_input("corpus.jsonl").build()?;
//! let report = train_parallel_with(&mut loader, &learner, &backend, &TrainingOptions::default(), |_event| {})?;
//! println!("{} samples, {} requests", report.samples_processed, backend.calls().requests);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod backend;
mod builder;
mod doubts;
mod error;
mod items;
mod record;
mod state;
mod stock;
mod teacher;

pub use backend::{RemoteBackend, RemotePart};
pub use builder::RemoteBackendBuilder;
pub use doubts::Doubts;
