//! Which documents a text comes from: `index --occurrences`, `train --occurrences`, `count`, `trace` and
//! `inspect --pattern`.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::programs::Workplace;

fn json_of(place: &Workplace, program: &str, arguments: &[&str]) -> Value {
    let arguments: Vec<&str> = arguments.iter().copied().chain(["--json"]).collect();
    serde_json::from_str(&place.succeeds(program, &arguments)).unwrap()
}

/// A knowledge base that keeps occurrences.
fn kept() -> Workplace {
    let place = Workplace::trained();
    place.succeeds("index", &["--kb", "kb", "--occurrences"]);
    place
}

/// How often the corpus holds a text within a paragraph; no text here overlaps with itself.
fn in_corpus(place: &Workplace, text: &str) -> usize {
    let corpus = fs::read_to_string(place.path("corpus.jsonl")).unwrap();
    let documents = corpus.lines().map(|line| {
        let document: Value = serde_json::from_str(line).unwrap();
        document["text"].as_str().unwrap().matches(text).count()
    });
    documents.sum()
}

#[test]
fn counts_are_those_of_the_corpus() {
    let place = kept();
    for text in [" cat", " the mat", "A dog went home at night.", " zebra"] {
        let counted = json_of(&place, "count", &[text, "--kb", "kb"]);
        assert_eq!(counted["count"], in_corpus(&place, text), "{text:?}");
    }
    let text = place.succeeds("count", &[" the mat", "--kb", "kb"]);
    assert_eq!(text, format!("{}\n", in_corpus(&place, " the mat")));
    // A word that begins no line has other tokens: whoever forgets its blank is told.
    let output = place.run("count", &["mat", "--kb", "kb"]);
    assert_eq!(output.stdout, b"0\n");
    let within = in_corpus(&place, " mat");
    assert!(within > 0);
    assert_eq!(
        String::from_utf8(output.stderr).unwrap(),
        format!("with a blank in front, as within a line: {within}\n")
    );
    assert!(
        place
            .run("count", &[" mat", "--kb", "kb"])
            .stderr
            .is_empty()
    );
}

#[test]
fn spans_have_all_their_places() {
    let place = kept();
    let trace = |more: &[&str]| {
        let text = "A dog looked at the sea. My zebra went home at";
        let arguments: Vec<&str> = [text, "--kb", "kb"].iter().chain(more).copied().collect();
        json_of(&place, "trace", &arguments)
    };
    let whole = trace(&["--limit", "1000"]);
    let spans = whole["spans"].as_array().unwrap();
    assert!(spans.len() >= 2, "{spans:?}");
    for span in spans {
        let places = span["places"].as_array().unwrap();
        assert_eq!(span["count"], places.len());
    }
    let first = &trace(&["--limit", "2", "--after", "1"])["spans"][0];
    assert_eq!(
        first["places"].as_array().unwrap()[..],
        spans[0]["places"].as_array().unwrap()[1..3]
    );
    let of_place = &spans[0]["places"][0];
    assert!(
        of_place["document"]["id"]
            .as_str()
            .unwrap()
            .starts_with('d')
    );
    let name = of_place["pattern"]["name"].as_str().unwrap();
    let pattern = place.inspect_json(&["--kb", "kb", "--pattern", name]);
    assert_eq!(pattern["frequency"], of_place["pattern"]["frequency"]);
    let text = place.succeeds(
        "trace",
        &["A dog looked at the sea", "--kb", "kb", "--limit", "1"],
    );
    assert!(
        text.contains("more\n") && text.contains(" token "),
        "{text}"
    );
    let nothing = place.succeeds("trace", &["\u{2603}", "--kb", "kb"]);
    assert_eq!(nothing, "no document holds any of it\n");
    let short = place.succeeds("trace", &[" cat", "--kb", "kb", "--min-tokens", "2"]);
    assert!(short.contains("shorter than --min-tokens"), "{short}");
}

#[test]
fn every_lesson_of_a_pattern_is_known() {
    let place = kept();
    for node in ["node0", "node1", "node2"] {
        for pattern in place.exported(node).iter().step_by(7) {
            let name = pattern["name"].as_str().unwrap();
            let arguments = ["--kb", "kb", "--pattern", name, "--limit", "1000"];
            let shown = place.inspect_json(&arguments);
            let lessons = &shown["lessons"];
            assert_eq!(lessons["count"], shown["frequency"]);
            assert_eq!(
                lessons["count"],
                lessons["places"].as_array().unwrap().len()
            );
            assert!(lessons["problem"].is_null());
            let (number, id) = (&shown["first_seen"]["document_idx"], &shown["document"]);
            let is_first = |place: &Value| {
                place["document"]["number"] == *number && place["document"]["id"] == *id
            };
            assert!(lessons["places"].as_array().unwrap().iter().any(is_first));
        }
    }
    let top = &place.exported("node0")[0];
    let text = place.inspect(&["--kb", "kb", "--pattern", top["name"].as_str().unwrap()]);
    assert!(text.contains("taught "), "{text}");
}

#[test]
fn of_a_pattern_above_a_purged_one_nobody_says_that_it_was_never_taught() {
    let place = kept();
    let name = place.exported("node1")[0]["name"].clone();
    let arguments = ["--kb", "kb", "--pattern", name.as_str().unwrap()];
    let below = place.inspect_json(&arguments)["events"][0][0]["name"].clone();
    let below = below.as_str().unwrap();
    let text = place.inspect_json(&["--kb", "kb", "--pattern", below])["text"].clone();
    place.succeeds("retire", &["--kb", "kb", below]);
    place.succeeds("purge", &["--kb", "kb", "--yes"]);
    let lessons = place.inspect_json(&arguments)["lessons"].clone();
    let problem = lessons["problem"].as_str().unwrap();
    assert!(
        problem.contains(below) && problem.contains("no node below holds"),
        "{problem}"
    );
    let shown = place.inspect(&arguments);
    assert!(shown.contains("who taught it is not known"), "{shown}");
    assert!(!shown.contains("taught 0"), "{shown}");
    // Its places are those of a pattern that is gone.
    let text = text.as_str().unwrap();
    let traced = place.succeeds("trace", &[text, "--kb", "kb", "--limit", "1000"]);
    assert!(traced.contains("which node0 holds no more"), "{traced}");
}

#[test]
fn without_occurrences_the_commands_say_what_to_do() {
    let place = Workplace::trained();
    for program in ["count", "trace"] {
        let (code, error) = place.fails(program, &["cat", "--kb", "kb"]);
        assert_eq!(code, 1);
        assert!(
            error.contains("`kato index --kb kb --occurrences`"),
            "{error}"
        );
    }
    let name = place.exported("node0")[0]["name"]
        .as_str()
        .unwrap()
        .to_owned();
    let pattern = place.inspect_json(&["--kb", "kb", "--pattern", &name]);
    assert!(pattern["lessons"].is_null());
}

#[test]
fn they_follow_the_training_and_are_written_once() {
    let place = Workplace::new();
    let train = |more: &[&str]| {
        let fixed = [
            "--kb",
            "kb",
            "--id-field",
            "id",
            "--quiet",
            "--json",
            "corpus.jsonl",
        ];
        let arguments: Vec<&str> = fixed.iter().chain(more).copied().collect();
        serde_json::from_str::<Value>(&place.succeeds("train", &arguments)).unwrap()
    };
    let trained = train(&["--max-documents", "20", "--occurrences"]);
    assert_eq!(trained["occurrences"]["documents"], 20);
    assert_eq!(trained["occurrences"]["tokens"], trained["tokens"]);
    train(&["--resume"]);
    let (code, error) = place.fails("count", &["cat", "--kb", "kb"]);
    assert_eq!(code, 6);
    assert!(
        error.contains("`kato index --kb kb --occurrences`"),
        "{error}"
    );
    let index = || json_of(&place, "index", &["--kb", "kb", "--occurrences"]);
    let kept = index();
    assert_eq!(kept["occurrences"]["documents"], 60);
    assert_eq!(kept["occurrences"]["missing_lessons"], 0);
    assert_eq!(kept["occurrences"]["was_there"], false);
    assert_eq!(index()["occurrences"]["was_there"], true);
    let counted = json_of(&place, "count", &[" cat", "--kb", "kb"]);
    assert_eq!(counted["count"], in_corpus(&place, " cat"));
    // What was forgotten was taught all the same.
    place.succeeds("cleanup", &["--kb", "kb", "--threshold", "2", "--yes"]);
    assert_eq!(json_of(&place, "count", &[" cat", "--kb", "kb"]), counted);
    assert!(index()["occurrences"]["missing_lessons"].as_u64() > Some(0));
}

#[test]
fn a_corpus_that_is_named_is_looked_at_also_where_its_places_are_kept() {
    let place = kept();
    fs::write(place.path("other.jsonl"), "{\"text\": \"A zebra.\"}\n").unwrap();
    let index = ["--kb", "kb", "--occurrences"];
    for (named, code) in [("other.jsonl", 6), ("nowhere.jsonl", 1)] {
        let (found, error) = place.fails("index", &[&index[..], &[named]].concat());
        assert_eq!(found, code, "{error}");
    }
    place.succeeds("index", &[&index[..], &["corpus.jsonl"]].concat());
}

/// The files of all units, by their names.
fn unit_files(place: &Workplace, kb: &str) -> BTreeMap<PathBuf, PathBuf> {
    let units = place.path(kb).join("occurrences");
    let mut files = BTreeMap::new();
    for unit in fs::read_dir(&units).unwrap() {
        let unit = unit.unwrap().path();
        if unit.is_dir() {
            for file in fs::read_dir(unit).unwrap() {
                let path = file.unwrap().path();
                files.insert(path.strip_prefix(&units).unwrap().to_owned(), path);
            }
        }
    }
    files
}

#[test]
fn what_is_added_leaves_most_of_what_is_there_as_it_is() {
    let place = Workplace::new();
    // More than the smallest part.
    let document = |n: usize| {
        let text = format!(
            "{n} cats sat on the mat and looked at the sea {} times",
            n * n
        );
        json!({"id": format!("c{n}"), "text": text}).to_string() + "\n"
    };
    fs::write(
        place.path("cats.jsonl"),
        (0..1500).map(document).collect::<String>(),
    )
    .unwrap();
    let train = |kb: &str, more: &[&str]| {
        let fixed = [
            "--kb",
            kb,
            "--id-field",
            "id",
            "--quiet",
            "--json",
            "--occurrences",
        ];
        let arguments: Vec<&str> = fixed.iter().chain(more).copied().collect();
        serde_json::from_str::<Value>(&place.succeeds("train", &arguments)).unwrap()
    };
    train("kb", &["cats.jsonl"]);
    let files = unit_files(&place, "kb");
    let sequence = PathBuf::from("00000000000000000000/sequence");
    let written = |path: &PathBuf| fs::metadata(path).unwrap().modified().unwrap();
    let before = written(&files[&sequence]);
    assert!(
        files
            .keys()
            .any(|path| !path.starts_with(sequence.parent().unwrap()))
    );
    let trained = train("kb", &["corpus.jsonl", "--add"]);
    assert_eq!(trained["occurrences"]["documents"], 1560);
    assert_eq!(written(&unit_files(&place, "kb")[&sequence]), before);
    // As where all is learned at once.
    train("both", &["cats.jsonl", "corpus.jsonl"]);
    let content = |kb| -> BTreeMap<PathBuf, Vec<u8>> {
        let files = unit_files(&place, kb).into_iter();
        let files = files.map(|(name, path)| (name, fs::read(path).unwrap()));
        files.collect()
    };
    assert!(content("kb") == content("both"));
    for text in [" looked at the sea", "A dog sat on the mat", "121 cats sat"] {
        let of = |kb| json_of(&place, "trace", &[text, "--kb", kb, "--limit", "7"]);
        assert_eq!(of("kb"), of("both"));
        assert!(of("kb")["spans"][0]["count"].as_u64() > Some(0));
    }
}

#[test]
fn what_cannot_be_kept_takes_no_result_away() {
    let place = Workplace::new();
    let train = ["corpus.jsonl", "--kb", "kb", "--quiet", "--json"];
    place.succeeds("train", &[&train[..], &["--max-documents", "20"]].concat());
    // Where their directory was to be.
    fs::write(place.path("kb/occurrences"), "").unwrap();
    let arguments = [&train[..], &["--resume", "--occurrences"]].concat();
    let output = place.command("train", &arguments).output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success());
    assert!(error.contains("everything learned is safe"), "{error}");
    let trained: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(trained["complete"], true);
    assert!(trained.get("occurrences").is_none());
}

#[test]
fn an_empty_text_is_no_question() {
    let place = Workplace::new();
    let train = ["corpus.jsonl", "--kb", "kb", "--quiet", "--occurrences"];
    place.succeeds("train", &train);
    for program in ["count", "trace"] {
        let (code, error) = place.fails(program, &["", "--kb", "kb"]);
        assert_eq!(code, 2, "{error}");
        assert!(error.contains("the text is empty"), "{error}");
    }
}
