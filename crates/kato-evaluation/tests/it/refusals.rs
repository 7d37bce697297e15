//! What cannot be evaluated is refused, and the error says what to do.

use std::ops::ControlFlow;

use kato_engine::Engine;
use kato_evaluation::{Corpora, EvaluationError, EvaluationOptions, evaluate};
use kato_loader::{Split, StreamingDatasetLoader, TextUnit};

use crate::support::Lab;

fn lab() -> Lab {
    Lab::new(&["a b c a b d"], &["a b c"], &[3, 2])
}

#[test]
fn the_training_documents_themselves() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lines.txt");
    let text: String = (0..50).map(|_| "a b c d e\n").collect();
    std::fs::write(&path, text).unwrap();
    let open = |split: Option<Split>| {
        let builder = StreamingDatasetLoader::builder()
            .with_input(&path)
            .with_text_unit(TextUnit::Line);
        match split {
            Some(split) => builder.with_split(split).build(),
            None => builder.build(),
        }
    };
    let lab = lab();
    let evaluate = |training, held_out| {
        let corpora = Corpora::new(move || open(training), move || open(held_out));
        let go_on = |_: &_| ControlFlow::Continue(());
        evaluate(
            &lab.engine(),
            &lab.learner,
            &corpora,
            &EvaluationOptions::default(),
            go_on,
        )
    };
    let split = Split::training(0.2, 3);
    let other = Split::held_out(0.2, 4);
    for (training, held_out) in [
        (None, None),
        (Some(split), Some(split)),
        (Some(split), Some(other)),
        (None, Some(other)),
    ] {
        let refused = evaluate(training, held_out);
        assert!(
            matches!(refused, Err(EvaluationError::NotHeldOut)),
            "{training:?} {held_out:?}"
        );
    }
    assert!(evaluate(Some(split), Some(split.complement())).is_ok());
}

#[test]
fn another_hierarchy() {
    let lab = lab();
    let engine = Engine::in_memory(&["node0"]);
    let go_on = |_: &_| ControlFlow::Continue(());
    let refused = evaluate(
        &engine,
        &lab.learner,
        &lab.corpora(),
        &EvaluationOptions::default(),
        go_on,
    );
    let message = refused.unwrap_err().to_string();
    assert!(
        message.starts_with("evaluate nodes node0: the learner's nodes are node0, node1;"),
        "{message}"
    );
}

#[test]
fn nothing_to_ask() {
    let empty = Lab::new(&["a b c"], &["a"], &[3, 2]).evaluate(&EvaluationOptions::default());
    assert!(matches!(empty, Err(EvaluationError::NoDocuments)));
}

#[test]
fn documents_that_cannot_be_tokenized_are_counted() {
    let report = Lab::new(&["a b c"], &["a b c", "a b unknown"], &[3, 2]);
    let report = report.evaluate(&EvaluationOptions::default()).unwrap();
    assert_eq!((report.documents, report.failed), (1, 1));
}

#[test]
fn options_out_of_range() {
    let check = |change: fn(&mut EvaluationOptions), field: &str| {
        let mut options = EvaluationOptions::default();
        change(&mut options);
        let refused = lab().evaluate(&options);
        assert!(
            matches!(refused, Err(EvaluationError::InvalidOption { option, .. }) if option == field),
            "{field}"
        );
    };
    check(|options| options.max_questions = 0, "max_questions");
    check(|options| options.ngram_order = 0, "ngram_order");
    check(|options| options.ngram_order = 17, "ngram_order");
    check(
        |options| options.recognition_threshold = f64::NAN,
        "recognition_threshold",
    );
}
