//! Every spelling of a destination.

use kato_store::EmbeddedStore;

use crate::place::{N_SAMPLES, Place};
use crate::report::stderr;

#[test]
fn a_directory_is_named_in_three_ways() {
    let place = Place::new();
    for (arguments, dir) in [
        (&[][..], "kato-kb"),
        (&["--kb", "short"], "short"),
        (&["--backend", "embedded:long"], "long"),
    ] {
        let report = place.trained("corpus.jsonl", arguments);
        assert_eq!(report["samples_processed"], N_SAMPLES);
        assert_eq!(report["complete"], true);
        assert!(EmbeddedStore::exists(place.path(dir)), "{dir}");
        assert_eq!(place.exported(dir), place.exported("kato-kb"));
    }
}

#[test]
fn what_is_there_is_not_overwritten() {
    let place = Place::new();
    place.trained("corpus.jsonl", &["--backend", "embedded:kb"]);
    let again = place.train("corpus.jsonl", &["--kb", "kb"]).output();
    let again = again.unwrap();
    assert_eq!(again.status.code(), Some(6));
    assert!(
        stderr(&again).contains("kb is a knowledge base already: go on with --resume"),
        "{}",
        stderr(&again)
    );
}

#[test]
fn what_is_not_there_is_not_gone_on_with() {
    let place = Place::new();
    let resumed = ["--kb", "mistyped", "--resume", "--quiet"];
    let resumed = place.train("corpus.jsonl", &resumed).output().unwrap();
    assert_eq!(resumed.status.code(), Some(1));
    assert_eq!(
        stderr(&resumed),
        "error: mistyped holds no run to go on with: check the path, or begin one without --resume\n"
    );
    assert!(!place.path("mistyped").exists());
}

#[test]
fn a_server_or_database_that_is_not_there_is_an_error_that_names_it_without_the_password() {
    for (backend, shown, code) in [
        ("kato:http://127.0.0.1:9", "127.0.0.1:9", 4),
        (
            "kato:http://user:secret@127.0.0.1:9",
            "credentials do not belong into an address",
            2,
        ),
        ("mongodb://user:secret@127.0.0.1:9", "127.0.0.1:9", 4),
    ] {
        // A run that could not be begun may leave its state behind, which the next one would be
        // told of.
        let place = Place::new();
        let arguments = [
            "--backend",
            backend,
            "--run",
            "wiki",
            "--patience",
            "0",
            "--quiet",
        ];
        let output = place.train("corpus.jsonl", &arguments).output().unwrap();
        let message = stderr(&output);
        assert_eq!(output.status.code(), Some(code), "{backend}: {message}");
        assert!(message.contains(shown), "{message}");
        assert!(!message.contains("secret"), "{message}");
    }
}
