//! Every spelling of a destination.

use kato_store::EmbeddedStore;
use serde_json::json;

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
        assert!(EmbeddedStore::exists(&place.path(dir)), "{dir}");
        assert_eq!(place.exported(dir), place.exported("kato-kb"));
    }
}

#[test]
fn what_is_there_is_not_overwritten() {
    let place = Place::new();
    place.trained("corpus.jsonl", &["--backend", "embedded:kb"]);
    let again = place.train("corpus.jsonl", &["--kb", "kb"]).output();
    let again = again.unwrap();
    assert_eq!(again.status.code(), Some(1));
    assert!(
        stderr(&again).contains("--resume goes on with an existing knowledge base"),
        "{}",
        stderr(&again)
    );
}

#[test]
fn a_server_or_database_that_is_not_there_is_an_error_that_names_it_without_the_password() {
    for (backend, shown) in [
        ("kato:http://127.0.0.1:9", "127.0.0.1:9"),
        (
            "kato:http://user:secret@127.0.0.1:9",
            "credentials do not belong into an address",
        ),
        ("mongodb://user:secret@127.0.0.1:9", "127.0.0.1:9"),
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
        assert_eq!(output.status.code(), Some(1), "{backend}: {message}");
        assert!(message.contains(shown), "{message}");
        assert!(!message.contains("secret"), "{message}");
    }
}

#[test]
fn a_damaged_manifest_is_told_and_loses_nothing() {
    let place = Place::new();
    place.trained("corpus.jsonl", &["--kb", "kb"]);
    let whole = place.exported("kb");
    std::fs::write(place.path("kb/MANIFEST"), "{").unwrap();
    let looked = place.command("inspect", &["--kb", "kb"]).output().unwrap();
    assert!(looked.status.success());
    let told = stderr(&looked);
    assert!(
        told.starts_with("warning: kb/MANIFEST is damaged"),
        "{told}"
    );
    assert!(told.contains("nothing is lost"), "{told}");
    assert_eq!(place.exported("kb"), whole);
}

/// Damages both copies of the newest manifest, or the newest segment.
fn damage(place: &Place, kb: &str, is_segment: bool) {
    if is_segment {
        let segments = std::fs::read_dir(place.path(kb).join("segments")).unwrap();
        let newest = segments.map(|entry| entry.unwrap().path()).max().unwrap();
        std::fs::write(newest, "KATO").unwrap();
    } else {
        for name in ["MANIFEST", "MANIFEST.twin"] {
            std::fs::write(place.path(kb).join(name), "{").unwrap();
        }
    }
}

#[test]
fn a_damaged_newest_commit_is_refused_and_trained_again() {
    let place = Place::new();
    place.trained("corpus.jsonl", &["--kb", "whole"]);
    for is_segment in [true, false] {
        let kb = format!("kb-{is_segment}");
        place.trained("corpus.jsonl", &["--kb", &kb, "--commit-interval", "0"]);
        damage(&place, &kb, is_segment);
        let looked = place.command("inspect", &["--kb", &kb]).output().unwrap();
        assert_eq!(looked.status.code(), Some(1));
        assert!(looked.stdout.is_empty(), "{looked:?}");
        for way in [
            "is damaged",
            "--go-back",
            "kato train --resume",
            "kato salvage",
        ] {
            assert!(stderr(&looked).contains(way), "{}", stderr(&looked));
        }
        let arguments = ["--kb", &kb, "--go-back", "--json"];
        let looked = place.command("inspect", &arguments).output().unwrap();
        assert!(looked.status.success(), "{}", stderr(&looked));
        assert!(
            stderr(&looked).contains("went back to commit"),
            "{}",
            stderr(&looked)
        );

        // Another corpus would not bring back what is lost.
        let arguments = ["--kb", &kb, "--resume", "--quiet"];
        std::fs::write(place.path("other.jsonl"), "{\"text\": \"another text\"}\n").unwrap();
        let refused = place.train("other.jsonl", &arguments).output().unwrap();
        assert_eq!(refused.status.code(), Some(1));
        let told = stderr(&refused);
        assert!(told.contains("cannot be learned again"), "{told}");
        assert!(!place.path(&kb).join("set-aside").exists());
        // Nor would other settings.
        let other = [
            "corpus.jsonl",
            "--tokenizer",
            "tokenizer.json",
            "--levels",
            "4,2",
        ];
        let other = [&other[..], &arguments].concat();
        let refused = place.command("train", &other).output().unwrap();
        assert_eq!(refused.status.code(), Some(1));
        assert!(!place.path(&kb).join("set-aside").exists());

        let output = place.train("corpus.jsonl", &arguments).output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        assert!(
            stderr(&output).contains("set-aside/1"),
            "{}",
            stderr(&output)
        );
        assert_eq!(place.exported(&kb), place.exported("whole"));
        assert_eq!(place.run(&kb)["manifest"]["state"], json!("complete"));
    }
}

#[test]
fn the_only_commit_of_a_run_is_never_an_empty_one_and_is_trained_again() {
    let place = Place::new();
    place.trained("corpus.jsonl", &["--kb", "whole"]);
    for is_segment in [true, false] {
        let kb = format!("kb-{is_segment}");
        place.trained("corpus.jsonl", &["--kb", &kb]);
        damage(&place, &kb, is_segment);
        for flags in [&[][..], &["--go-back"]] {
            let arguments = [&["--kb", &kb, "--text", "the"], flags].concat();
            let asked = place.command("predict", &arguments).output().unwrap();
            assert_eq!(asked.status.code(), Some(1), "{asked:?}");
            assert!(asked.stdout.is_empty(), "{asked:?}");
        }
        let arguments = ["--kb", &kb, "--resume", "--quiet"];
        let output = place.train("corpus.jsonl", &arguments).output().unwrap();
        if is_segment {
            assert!(output.status.success(), "{}", stderr(&output));
            assert_eq!(place.exported(&kb), place.exported("whole"));
        } else {
            // No manifest tells which corpus it was.
            assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
            assert!(place.path(&kb).join("segments/0000000000.seg").exists());
        }
    }
}
