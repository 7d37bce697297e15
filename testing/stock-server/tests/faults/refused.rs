//! A run that is refused at once leaves nothing, and one that began keeps its state.

use std::fs;
use std::num::NonZeroUsize;
use std::path::Path;

use kato_client::{KatoClient, SessionOptions};
use kato_remote::{RemoteBackend, RemoteBackendBuilder, RemoteError};
use kato_scheduler::{
    Backend as _, RunConfiguration, TrainError, TrainingOptions, Workers, loader_at_checkpoint,
    train_parallel_with,
};
use kato_stock_server::{StockOptions, StockServer};
use kato_store::{EmbeddedStore, PatternStore as _};

use crate::GENERATIONS;
use crate::knowledge::{RUN, documents, learner};

fn builder(server: &StockServer, state: &Path) -> RemoteBackendBuilder {
    let client = KatoClient::builder(server.url(), SessionOptions::new("unused"));
    // One batch, which is shorter than asked for: it is written down before it is sent.
    RemoteBackend::builder(client, RUN.parse().unwrap(), state)
        .with_batch(NonZeroUsize::new(10_000).unwrap())
}

fn train(server: &StockServer, state: &Path) -> Result<(), TrainError> {
    train_by(builder(server, state))
}

/// Begins a run.
fn train_by(builder: RemoteBackendBuilder) -> Result<(), TrainError> {
    let backend = builder.create(learner(), &RunConfiguration::from_learner(learner()))?;
    let mut loader = loader_at_checkpoint(documents(), &backend.checkpoint())?;
    let mut options = TrainingOptions::default();
    options.n_workers = Workers::Exactly(NonZeroUsize::MIN);
    train_parallel_with(&mut loader, learner(), &backend, &options, |_event| {}).map(drop)
}

#[test]
fn refused_at_once() {
    for generation in GENERATIONS {
        let dir = tempfile::tempdir().unwrap();
        let program = Path::new(env!("CARGO_BIN_EXE_stock_server"));
        let options = StockOptions::quick().generation(generation);
        let server = StockServer::start_program(program, options);
        train(&server, &dir.path().join("first.json")).unwrap();
        let learned = server.learned().total_learn_calls();
        let kept = |name: &str| {
            let files = fs::read_dir(dir.path()).unwrap();
            let files = files.map(|file| file.unwrap().file_name().into_string().unwrap());
            files.filter(|file| file.starts_with(name)).count()
        };
        let n_files = kept("first");
        assert!(n_files >= 3, "state, journal, and what was taught");
        // The same command can be tried again.
        for _ in 0..2 {
            let refused = train(&server, &dir.path().join("second.json")).unwrap_err();
            let TrainError::Backend(error) = &refused else {
                panic!("{generation:?}: {refused:?}");
            };
            let own = error.get_ref().downcast_ref::<RemoteError>();
            assert!(
                matches!(own, Some(RemoteError::TaughtBefore { .. })),
                "{generation:?}: {refused:?}"
            );
            assert_eq!(kept("second"), 0, "{generation:?}");
        }
        assert_eq!(kept("first"), n_files);
        assert_eq!(server.learned().total_learn_calls(), learned);
    }
}

/// What a run has taught is there once, if it is lost on the server: no refusal removes it.
#[test]
fn what_was_taught_stays_whatever_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let program = Path::new(env!("CARGO_BIN_EXE_stock_server"));
    let server = StockServer::start_program(program, StockOptions::quick());
    let state = dir.path().join("first.json");
    train(&server, &state).unwrap();
    let patterns = |state: &Path| {
        let store = EmbeddedStore::open_read_only(state.with_added_extension("taught")).unwrap();
        store.count_patterns(0).unwrap()
    };
    let taught = patterns(&state);
    assert!(taught > 0);
    // Taught again to nodes that know it.
    let second = dir.path().join("second.json");
    train_by(builder(&server, &second).with_reteaching(&state)).unwrap_err();
    assert_eq!(patterns(&second), taught);
    // Without the state file nothing else tells of it.
    for file in fs::read_dir(dir.path()).unwrap() {
        let path = file.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if ["first.json", "first.json.previous"].contains(&name) {
            fs::remove_file(path).unwrap();
        }
    }
    for _ in 0..2 {
        train(&server, &state).unwrap_err();
        assert_eq!(patterns(&state), taught);
    }
}
