//! Runs of the library and runs of the program are the same runs: each is found, gone on with, listed,
//! exported and cleaned by the other, in every kind of place.

use kato::{Destination, HierarchicalConceptLearner, StreamingDatasetLoader, Training};
use kato_client::{KatoClient, SessionOptions};
use kato_mongo_server::{ServerOptions, is_installed, shared};
use kato_mongodb::MongoStore;
use kato_remote::RemoteBackend;
use kato_scheduler::TrainingReport;
use kato_stock_server::{StockOptions, StockServer};
use serde_json::{Value, json};

use crate::place::{N_SAMPLES, Place};

/// Documents of the half that the first of the two learns.
const HALF: u64 = 20;

/// The rules that [`by_program`] names as options.
fn learner(place: &Place) -> HierarchicalConceptLearner {
    let tokenizer = kato_tokenizer::load(&place.path("tokenizer.json").display().to_string());
    HierarchicalConceptLearner::builder(tokenizer.unwrap())
        .with_chunk_sizes([3, 2])
        .build()
        .unwrap()
}

/// Trains the corpus of a place by the library, up to so many documents.
fn by_library(place: &Place, to: impl Into<Destination>, most: Option<u64>) -> TrainingReport {
    let learner = learner(place);
    let corpus = StreamingDatasetLoader::builder()
        .with_input(place.path("corpus.jsonl"))
        .with_id_field("id");
    let corpus = match most {
        Some(most) => corpus.with_max_documents(most),
        None => corpus,
    };
    Training::new(to)
        .with_learner(learner)
        .with_corpus(corpus)
        .run()
        .unwrap()
}

/// Trains the corpus of a place by the program, with the names that the library used.
fn by_program(place: &Place, more: &[&str]) -> Value {
    let (corpus, tokenizer) = (place.path("corpus.jsonl"), place.path("tokenizer.json"));
    let (corpus, tokenizer) = (
        corpus.display().to_string(),
        tokenizer.display().to_string(),
    );
    let fixed = [
        corpus.as_str(),
        "--tokenizer",
        &tokenizer,
        "--levels",
        "3,2",
    ];
    let more = [&["--id-field", "id", "--quiet"], more].concat();
    place.json("train", &[&fixed[..], &more].concat())
}

/// The names of the runs of a place, with their states.
fn listed(place: &Place, within: &str) -> Vec<(String, String)> {
    let runs = place.json("runs", &["list", "--in", within]);
    let runs = runs["runs"].as_array().unwrap().iter();
    let text = |run: &Value, field: &str| run["manifest"][field].as_str().unwrap().to_owned();
    runs.map(|run| (text(run, "name"), text(run, "state")))
        .collect()
}

fn run(name: &str, state: &str) -> (String, String) {
    (name.to_owned(), state.to_owned())
}

#[test]
fn a_directory_is_one_run_to_both() {
    let place = Place::new();
    let whole = place.path("runs/whole").display().to_string();
    by_program(&place, &["--kb", &whole]);

    // Begun by the library, gone on with by the program.
    let half = by_library(&place, place.path("runs/a"), Some(HALF));
    assert_eq!((half.documents_processed, half.complete), (HALF, false));
    assert_eq!(listed(&place, "runs")[0], run("a", "interrupted"));
    let a = place.path("runs/a").display().to_string();
    let rest = by_program(&place, &["--kb", &a, "--resume"]);
    assert_eq!(rest["session_documents"], N_SAMPLES - HALF);

    // And the other way round.
    let b = place.path("runs/b").display().to_string();
    by_program(&place, &["--kb", &b, "--max-documents", &HALF.to_string()]);
    let rest = by_library(&place, &b, None);
    assert_eq!(rest.session_documents, N_SAMPLES - HALF);

    let all = ["a", "b", "whole"].map(|name| run(name, "complete"));
    assert_eq!(listed(&place, "runs"), all);
    for name in ["a", "b"] {
        assert_eq!(
            place.exported(&format!("runs/{name}")),
            place.exported("runs/whole")
        );
        place.json(
            "runs",
            &["export", name, &format!("{name}-out"), "--in", "runs"],
        );
        let kb = format!("runs/{name}");
        place.json("cleanup", &["--kb", &kb, "--threshold", "2", "--yes"]);
    }
    assert_eq!(place.exported("runs/a"), place.exported("runs/b"));
}

#[test]
fn a_directory_that_the_library_has_skipped_documents_in_lists_them_as_the_program_does() {
    let place = Place::new().with_bad_records();
    let options = {
        let mut options = kato::TrainingOptions::default();
        options.failures.on_failure = kato_scheduler::failure::OnFailure::Skip;
        options
    };
    let learner = learner(&place);
    let corpus = StreamingDatasetLoader::builder()
        .with_input(place.path("bad.jsonl"))
        .with_id_field("id")
        .on_bad_record(kato_loader::OnBadRecord::Skip);
    let report = Training::new(place.path("kb"))
        .with_learner(learner)
        .with_corpus(corpus)
        .with_options(options)
        .run()
        .unwrap();
    assert_eq!(report.errors, 5);
    let listed = std::fs::read_to_string(place.path("kb/errors.jsonl")).unwrap();
    assert_eq!(listed.lines().count(), 5, "{listed}");
}

#[test]
fn the_nodes_of_a_server_are_one_run_to_both() {
    let place = Place::new();
    let whole = by_program(&place, &["--kb", "whole"]);
    let levels = whole["levels"].as_array().unwrap().iter();
    let expected: u64 = levels.map(|level| level["learns"].as_u64().unwrap()).sum();
    let server = StockServer::start(StockOptions::quick().data(&place.path("data")));
    let to = |name: &str| {
        let client = KatoClient::builder(server.url(), SessionOptions::new(name));
        let state = place.path(&format!("{name}.kato-run.json"));
        let nodes = RemoteBackend::builder(client, name.parse().unwrap(), state);
        Destination::on_server(nodes.with_settle(std::time::Duration::from_millis(300)))
    };
    let backend = format!("kato:{}", server.url());
    let program = |name: &str, more: &[&str]| {
        let fixed = ["--backend", &backend, "--run", name, "--settle", "0.3"];
        by_program(&place, &[&fixed, more].concat())
    };
    assert_eq!(
        by_library(&place, to("a"), Some(HALF)).documents_processed,
        HALF
    );
    assert_eq!(
        listed(&place, "."),
        [run("a", "interrupted"), run("whole", "complete")]
    );
    assert_eq!(
        program("a", &["--resume"])["session_documents"],
        N_SAMPLES - HALF
    );
    program("b", &["--max-documents", &HALF.to_string()]);
    assert_eq!(
        by_library(&place, to("b"), None).session_documents,
        N_SAMPLES - HALF
    );
    assert_eq!(server.learned().total_learn_calls(), 2 * expected);
    let both = ["a", "b", "whole"].map(|name| run(name, "complete"));
    assert_eq!(listed(&place, "."), both);
}

#[test]
fn a_mongodb_is_one_run_to_both() {
    if !is_installed() {
        return;
    }
    let uri = shared(ServerOptions::default());
    let place = Place::new();
    by_program(&place, &["--kb", "whole"]);
    let to = |name: &str| Destination::in_mongodb(MongoStore::builder(&uri, name.parse().unwrap()));
    let program = |name: &str, more: &[&str]| {
        by_program(
            &place,
            &[&["--backend", &uri, "--run", name], more].concat(),
        )
    };
    by_library(&place, to("liba"), Some(HALF));
    let rest = program("liba", &["--resume"]);
    assert_eq!(rest["session_documents"], N_SAMPLES - HALF);
    program("libb", &["--max-documents", &HALF.to_string()]);
    assert_eq!(
        by_library(&place, to("libb"), None).session_documents,
        N_SAMPLES - HALF
    );
    let runs = listed(&place, &uri);
    place.json("analyze", &["--kb", "whole", "--snapshot", "whole.json"]);
    for name in ["liba", "libb"] {
        assert!(runs.contains(&run(name, "complete")), "{runs:?}");
        let file = format!("{name}.json");
        place.json(
            "analyze",
            &["--kb", &uri, "--run", name, "--snapshot", &file],
        );
        let compared = place.json("analyze", &["--compare", "whole.json", &file]);
        assert_eq!(compared["equal"], json!(true), "{name}");
        place.json(
            "runs",
            &["export", name, &format!("{name}-out"), "--in", &uri],
        );
        let cleaned = ["--kb", &uri, "--run", name, "--threshold", "2", "--yes"];
        place.json("cleanup", &cleaned);
    }
}
