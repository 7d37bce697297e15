//! A corpus that is added behind another: the knowledge base is that of a training of both.

use kato_stock_server::{StockOptions, StockServer};

use crate::place::{Place, object};
use crate::report::stderr;

/// A folder with the corpus in three parts, `a.jsonl` to `c.jsonl`, and `whole` trained on all of them.
fn place() -> (Place, [String; 2]) {
    let place = Place::new().in_parts();
    let all = ["b.jsonl", "c.jsonl", "--kb", "whole", "--provenance"];
    place.trained("a.jsonl", &all);
    let expected = place.exported("whole");
    (place, expected)
}

const ADD: [&str; 4] = ["--kb", "kb", "--provenance", "--add"];

/// What a training that is refused says, and its exit code.
fn refusal(place: &Place, input: &str, more: &[&str]) -> (Option<i32>, String) {
    let output = place.train(input, &[&["--quiet"], more].concat()).output();
    let output = output.unwrap();
    (output.status.code(), stderr(&output))
}

#[test]
fn what_is_added_is_learned_as_if_it_had_been_there() {
    let (place, expected) = place();
    place.trained("a.jsonl", &["--kb", "kb", "--provenance", "--workers", "1"]);
    let report = place.trained("b.jsonl", &ADD);
    assert_eq!(
        (&report["samples_processed"], &report["complete"]),
        (&40.into(), &true.into())
    );
    place.trained("c.jsonl", &ADD);
    assert_eq!(place.exported("kb"), expected);
    // The run is one of all three files now.
    let all = [
        "b.jsonl",
        "c.jsonl",
        "--kb",
        "kb",
        "--provenance",
        "--resume",
    ];
    let again = place.trained("a.jsonl", &all);
    assert_eq!(again["samples_processed"], 60);
    assert_eq!(place.exported("kb"), expected);
}

#[test]
fn an_addition_that_is_cut_off_goes_on_as_a_run() {
    let (place, expected) = place();
    place.trained("a.jsonl", &["--kb", "kb", "--provenance"]);
    let cut = ["c.jsonl", "--max-documents", "27"];
    place.trained("b.jsonl", &[&cut[..], &ADD].concat());
    let (code, told) = refusal(&place, "c.jsonl", &ADD);
    assert_eq!(code, Some(6), "{told}");
    assert!(told.contains("was not read to its end"), "{told}");
    let all = [
        "b.jsonl",
        "c.jsonl",
        "--kb",
        "kb",
        "--provenance",
        "--resume",
    ];
    place.trained("a.jsonl", &all);
    assert_eq!(place.exported("kb"), expected);
}

#[test]
fn what_cannot_be_added_leaves_the_run_ready_for_another_addition() {
    let (place, expected) = place();
    place.trained("a.jsonl", &["--kb", "kb", "--provenance"]);
    std::fs::write(place.path("bad.jsonl"), "{\n").unwrap();
    let (code, told) = refusal(&place, "bad.jsonl", &ADD);
    assert_eq!(code, Some(1), "{told}");
    assert!(told.contains("nothing was added"), "{told}");
    // Nothing but the addition is begun anew.
    assert!(
        told.contains("mend or leave out what failed, then add again"),
        "{told}"
    );
    assert!(!told.contains("repair the file and begin anew"), "{told}");
    for added in ["b.jsonl", "c.jsonl"] {
        place.trained(added, &ADD);
    }
    assert_eq!(place.exported("kb"), expected);
}

#[test]
fn what_cannot_be_added_to_a_server_is_a_part_of_the_run_and_says_the_way_on() {
    let place = Place::new().in_parts();
    let server = StockServer::start(StockOptions::default().data(&place.path("data")));
    let backend = format!("kato:{}", server.url());
    let run = ["--backend", &backend, "--run", "r", "--settle", "1"];
    // What is waited for is told, which a server takes its time for.
    let train = |input: &str, more: &[&str]| {
        let output = place.train(input, more).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        object(&output)
    };
    train("a.jsonl", &run);
    std::fs::write(place.path("bad.jsonl"), "{\n").unwrap();
    let add = [&run[..], &["--add"]].concat();
    let (code, told) = refusal(&place, "bad.jsonl", &add);
    assert_eq!(code, Some(1), "{told}");
    let way = "go on with --resume and --skip-errors, without --add and SOURCE";
    assert!(told.contains(way), "{told}");
    let fixed = ["--tokenizer", "tokenizer.json", "--levels", "3,2"];
    let more = ["--id-field", "id", "--quiet", "--resume", "--skip-errors"];
    let resumed = [&fixed[..], &more, &run].concat();
    let resumed = place.json("train", &resumed);
    assert_eq!(
        (&resumed["complete"], &resumed["errors"]),
        (&true.into(), &1.into())
    );
    assert_eq!(train("b.jsonl", &add)["samples_processed"], 40);
}

#[test]
fn what_has_no_end_or_is_there_already_is_refused_and_changes_nothing() {
    let (place, expected) = place();
    let whole = ["--kb", "whole", "--provenance", "--add"];
    let (code, told) = refusal(&place, "b.jsonl", &whole);
    assert_eq!(code, Some(6), "{told}");
    assert!(
        told.contains("in its corpus already: leave it out\n"),
        "{told}"
    );
    let (code, told) = refusal(
        &place,
        "corpus.jsonl",
        &[&whole[..], &["--min-chars", "3"]].concat(),
    );
    assert_eq!(code, Some(6), "{told}");
    assert!(told.contains("minimum"), "{told}");
    let (code, told) = refusal(&place, "corpus.jsonl", &["--kb", "nothing", "--add"]);
    assert_eq!(code, Some(6), "{told}");
    assert!(told.contains("no training is in it"), "{told}");
    assert!(!place.path("nothing").exists());
    place.trained("a.jsonl", &["--kb", "shuffled", "--shuffle", "1"]);
    let (code, told) = refusal(
        &place,
        "b.jsonl",
        &["--kb", "shuffled", "--shuffle", "1", "--add"],
    );
    assert_eq!(code, Some(6), "{told}");
    assert!(told.contains("shuffled"), "{told}");
    assert_eq!(place.exported("whole"), expected);
}
