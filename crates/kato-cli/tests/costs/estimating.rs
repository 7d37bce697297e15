//! Estimates equal what a run stores where all of it was seen, and say how far off they may be
//! where it was not.

use serde_json::Value;

use crate::place::Place;

const N_DOCUMENTS: usize = 800;

fn level_values<'a>(estimate: &'a Value, figure: &str) -> Vec<&'a Value> {
    let levels = estimate["level_estimates"].as_array().unwrap();
    levels.iter().map(|level| &level[figure]["value"]).collect()
}

#[test]
fn a_corpus_of_just_as_many_documents_as_are_looked_at_is_seen_whole() {
    let place = Place::new(1);
    // So many of one length fill what is taken from the loader at once: its end is not found yet.
    let text = |document: usize| {
        let mut text = format!("document {document:04}");
        while text.len() < 5_300 {
            text += &format!(" word{}", (31 * document + text.len()) % 97);
        }
        text.truncate(5_300);
        text
    };
    let line = |document| format!("{}\n", serde_json::json!({"text": text(document)}));
    let corpus: String = (0..(512usize << 10).div_ceil(5_300)).map(line).collect();
    std::fs::write(place.path().join("equal.jsonl"), corpus).unwrap();
    for (look_at, whole) in [("99", true), ("98", false)] {
        let ask = [
            "equal.jsonl",
            "--documents",
            "99",
            "--max-documents",
            look_at,
        ];
        let ask = [&ask[..], &["--levels", "5,3", "--json", "--quiet"]].concat();
        let estimate = place.json_of("estimate", &ask);
        assert_eq!(estimate["observed"]["whole_corpus"], whole, "{look_at}");
    }
}

#[test]
fn what_was_seen_whole_is_exact_for_every_rule_of_cutting() {
    let place = Place::new(N_DOCUMENTS);
    let samples = N_DOCUMENTS.to_string();
    let rules: [&[&str]; 5] = [
        &["--levels", "5,7,9"],
        &["--levels", "4,3,3,2", "--tail", "promote"],
        &["--levels", "8,4", "--whole-document"],
        &["--levels", "5,3", "--mode", "sentences"],
        &[
            "--levels",
            "5,3",
            "--mode",
            "trigram",
            "--max-paragraph-tokens",
            "0",
        ],
    ];
    for (idx, rules) in rules.into_iter().enumerate() {
        let kb = format!("kb{idx}");
        let train = [&["corpus.jsonl", "--kb", &kb, "--json", "--quiet"], rules].concat();
        let trained = place.json_of("train", &train);
        let ask = [
            &["corpus.jsonl", "--documents", &samples, "--json", "--quiet"],
            rules,
        ]
        .concat();
        let estimate = place.json_of("estimate", &ask);
        assert_eq!(estimate["observed"]["whole_corpus"], true);
        let levels = trained["levels"].as_array().unwrap();
        for (figure, trained) in [
            ("learns", "learns"),
            ("distinct_patterns", "unique_patterns"),
        ] {
            let estimated = level_values(&estimate, figure);
            let estimated: Vec<_> = estimated
                .iter()
                .map(|value| value.as_f64().unwrap().round() as u64)
                .collect();
            let trained: Vec<_> = levels
                .iter()
                .map(|level| level[trained].as_u64().unwrap())
                .collect();
            assert_eq!(estimated, trained, "{figure} of {rules:?}");
        }
        let (estimated, trained) = (
            estimate["bytes"]["value"].as_f64().unwrap(),
            trained["disk_bytes"].as_f64().unwrap(),
        );
        let error = (estimated / trained - 1.0).abs();
        assert!(error < 0.05, "{estimated} bytes for {trained} of {rules:?}");
    }
}

#[test]
fn workers_for_whom_a_corpus_has_no_batch_store_nothing() {
    // Less than the 512 KiB of text that a worker takes at once.
    let place = Place::new(300);
    let ask = ["corpus.jsonl", "--workers", "8", "--json", "--quiet"];
    let trained = place.json_of("train", &[&ask[..], &["--kb", "kb"]].concat());
    let foretold = &place.json_of("estimate", &ask)["bytes"];
    let stored = trained["disk_bytes"].as_f64().unwrap();
    let error = foretold["value"].as_f64().unwrap() / stored - 1.0;
    assert!(error.abs() < 0.05, "{foretold} for {stored}");
}

#[test]
fn what_repeats_fills_the_memory_of_a_worker_as_well() {
    // Each document eight times in a row: of 5 MB of text an eighth is new, and a worker with 2 MiB of memory
    // writes several segments.
    let place = Place::new(800);
    let lines = place.read("corpus.jsonl");
    let lines: String = lines
        .split_inclusive('\n')
        .map(|line| line.repeat(8))
        .collect();
    std::fs::write(place.path().join("corpus.jsonl"), lines).unwrap();
    let run = ["corpus.jsonl", "--workers", "2", "--memory", "4MiB"];
    let ask = [&run[..], &["--json", "--quiet"]].concat();
    let trained = place.json_of("train", &[&ask[..], &["--kb", "kb"]].concat());
    let foretold = &place.json_of("estimate", &ask)["bytes"];
    let stored = trained["disk_bytes"].as_f64().unwrap();
    let error = foretold["value"].as_f64().unwrap() / stored - 1.0;
    assert!(error.abs() < 0.04, "{foretold} for {stored}");
    let segments = std::fs::read_dir(place.path().join("kb/segments")).unwrap();
    assert!(segments.count() > 2, "more than one a worker");
}

#[test]
fn all_of_a_corpus_is_counted_where_no_size_is_asked_for() {
    let place = Place::new(N_DOCUMENTS);
    let estimate = place.json_of("estimate", &["corpus.jsonl", "--json", "--quiet"]);
    assert_eq!(estimate["observed"]["whole_corpus"], true);
    assert_eq!(estimate["target"]["samples"], N_DOCUMENTS);
    let total = &estimate["level_estimates"][0]["distinct_patterns"];
    assert_eq!(total["method"], "counted");
    assert_eq!(total["low"], total["high"]);
    // Of a part, the rest is inferred by the size of the file.
    let part = [
        "corpus.jsonl",
        "--max-documents",
        "200",
        "--json",
        "--quiet",
    ];
    let part = place.json_of("estimate", &part);
    let [all, inferred] = [&estimate, &part].map(|e| e["target"]["text_bytes"].as_f64().unwrap());
    assert!((inferred / all - 1.0).abs() < 0.1, "{inferred} for {all}");
    assert_eq!(part["target"]["samples"], N_DOCUMENTS, "its lines tell");
    let figure = &part["level_estimates"][0]["distinct_patterns"];
    assert_eq!(figure["method"], "growth");
}

#[test]
fn two_numbers_that_would_decide_the_documents_are_refused() {
    let place = Place::new(1);
    for command in ["estimate", "plan", "tune"] {
        let both = ["corpus.jsonl", "--shuffle", "1", "--seed", "2"];
        let said = place.refusal(command, &both, 2);
        assert!(
            said.contains("--seed") && said.contains("--shuffle"),
            "{said}"
        );
    }
}

#[test]
fn documents_that_stand_there_twice_are_told_and_add_nothing() {
    let place = Place::new(N_DOCUMENTS);
    let once = place.read("corpus.jsonl");
    std::fs::write(place.path().join("twice.jsonl"), once.repeat(2)).unwrap();
    let ask = |source| place.json_of("estimate", &[source, "--json", "--quiet"]);
    let [single, double] = ["corpus.jsonl", "twice.jsonl"].map(ask);
    let patterns = |estimate: &Value| {
        estimate["total_patterns"]["value"]
            .as_f64()
            .unwrap()
            .round()
    };
    assert_eq!(patterns(&single), patterns(&double));
    let documents = &double["observed"]["repeats"]["documents"];
    assert_eq!(
        documents["units"],
        2 * documents["distinct"].as_u64().unwrap()
    );
    let bytes = documents["bytes"].as_u64().unwrap();
    assert_eq!(2 * documents["repeated_bytes"].as_u64().unwrap(), bytes);
    let told = place.run("estimate", &["twice.jsonl", "--quiet"]);
    let told = String::from_utf8(told.stdout).unwrap();
    assert!(told.contains("50 % in documents"), "{told}");
    // From a part of the documents, too.
    let sampled = ["twice.jsonl", "--max-documents", "400", "--json", "--quiet"];
    let sampled = &place.json_of("estimate", &sampled)["total_patterns"];
    let truth = patterns(&double);
    let end = |end| sampled[end].as_f64().unwrap();
    assert!(
        (end("value") / truth - 1.0).abs() < 0.25,
        "{truth}: {sampled}"
    );
    let stats = ["stats", "twice.jsonl", "--repeats", "--json", "--quiet"];
    let stats = place.json_of("datasets", &stats);
    assert_eq!(stats["repeats"]["documents"]["most"][0]["times"], 2);
}

#[test]
fn of_a_run_that_did_not_come_to_its_end_it_is_said() {
    let place = Place::new(200);
    std::fs::write(
        place.path().join("torn.jsonl"),
        place.read("corpus.jsonl") + "{\n",
    )
    .unwrap();
    let train = ["torn.jsonl", "--kb", "torn", "--commit-interval", "0"];
    place.refusal("train", &train, 1);
    place.run("train", &["corpus.jsonl", "--kb", "whole"]);
    let ask = |kb| {
        let words = ["--from-run", kb, "--documents", "9000", "--force"];
        let output = place.run("estimate", &words);
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    let told = ask("torn");
    assert!(
        told.contains(
            "torn was not trained to the end of its corpus: what is taken from it is that of "
        ),
        "{told}"
    );
    assert!(!ask("whole").contains("was not trained"));
}

#[test]
fn a_finished_run_predicts_a_larger_one() {
    let place = Place::new(N_DOCUMENTS);
    for (kb, samples) in [("small", "400"), ("tiny", "200")] {
        place.json_of(
            "train",
            &[
                "corpus.jsonl",
                "--kb",
                kb,
                "--max-documents",
                samples,
                "--json",
                "--quiet",
            ],
        );
    }
    let all = place.json_of(
        "train",
        &["corpus.jsonl", "--kb", "all", "--json", "--quiet"],
    );
    let ask = [
        "--from-run",
        "small",
        "--from-run",
        "tiny",
        "--documents",
        "800",
        "--json",
    ];
    let estimate = place.json_of("estimate", &ask);
    assert_eq!(estimate["observed"]["documents"], 400);
    assert!(
        !estimate["observed"]["held_out"]
            .as_array()
            .unwrap()
            .is_empty()
    );
    let trained: u64 = all["levels"]
        .as_array()
        .unwrap()
        .iter()
        .map(|level| level["unique_patterns"].as_u64().unwrap())
        .sum();
    let total = &estimate["total_patterns"];
    let (low, high) = (
        total["low"].as_f64().unwrap(),
        total["high"].as_f64().unwrap(),
    );
    assert!(
        low <= trained as f64 && trained as f64 <= high,
        "{trained} is not in {total}"
    );
}

#[test]
fn far_targets_are_refused_unless_forced_and_intervals_widen() {
    let place = Place::new(N_DOCUMENTS);
    let told = place.refusal(
        "estimate",
        &["corpus.jsonl", "--documents", "1000000000", "--quiet"],
        2,
    );
    assert!(
        told.contains("--max-documents") && told.contains("--force"),
        "{told}"
    );
    let width = |samples: &str| {
        let ask = [
            "corpus.jsonl",
            "--documents",
            samples,
            "--json",
            "--quiet",
            "--force",
        ];
        let total = place.json_of("estimate", &ask)["total_patterns"].clone();
        let of = |end: &str| total[end].as_f64().unwrap();
        assert!(of("value").is_finite() && of("value") > 0.0);
        (of("high") - of("low")) / of("value")
    };
    let widths = ["1600", "80000", "1000000000"].map(width);
    assert!(widths.is_sorted(), "{widths:?}");
}

#[test]
fn plots_are_pictures() {
    let place = Place::new(200);
    // Nothing is made where there is nothing to draw.
    place.refusal("estimate", &["none.jsonl", "--plot", "plots"], 1);
    assert!(!place.path().join("plots").exists());
    let ask = [
        "corpus.jsonl",
        "--documents",
        "2000",
        "--quiet",
        "--plot",
        "plots",
    ];
    let output = place.run("estimate", &ask);
    assert!(output.status.success(), "{output:?}");
    let files = std::fs::read_dir(place.path().join("plots")).unwrap();
    let mut names: Vec<_> = files
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(
        names,
        [
            "bytes.svg",
            "growth.svg",
            "rank-frequency.svg",
            "repeats.svg"
        ]
    );
    for name in names {
        let svg = place.read(&format!("plots/{name}"));
        assert!(svg.starts_with("<svg") && svg.contains("node0"), "{svg}");
    }
}

#[test]
fn wrong_usage_and_missing_things_are_told() {
    // So many that a shard surely holds several.
    let place = Place::new(20);
    let shard = ["corpus.jsonl", "--shard", "0/2", "--max-documents", "1"];
    let told = place.refusal("estimate", &shard, 2);
    assert!(
        told.contains("--documents") && told.contains("--for"),
        "{told}"
    );
    let told = place.refusal("estimate", &["nowhere.jsonl", "--documents", "5"], 1);
    assert!(told.contains("nowhere.jsonl"), "{told}");
    let run_is_not_read = ["--from-run", "nowhere", "--max-documents", "5"];
    let told = place.refusal("estimate", &run_is_not_read, 2);
    assert!(told.contains("--max-documents"), "{told}");
    let told = place.refusal(
        "estimate",
        &["--from-run", "nowhere", "--documents", "5"],
        1,
    );
    assert!(told.contains("nowhere"), "{told}");
    for ask in [["--text-size", "0"], ["--confidence", "2"]] {
        let told = place.refusal("estimate", &["corpus.jsonl", ask[0], ask[1]], 2);
        assert!(told.contains(ask[0]), "{told}");
    }
}

#[test]
fn the_bytes_in_a_mongodb_are_foretold() {
    if !kato_mongo_server::is_installed() {
        return;
    }
    let uri = kato_mongo_server::shared(kato_mongo_server::ServerOptions::default());
    let place = Place::new(60);
    for (run, levels) in [("short", "4,5"), ("long", "9,6,3")] {
        let train = [
            "corpus.jsonl",
            "--backend",
            &uri,
            "--run",
            run,
            "--levels",
            levels,
            "--json",
            "--quiet",
        ];
        let trained = place.json_of("train", &train)["disk_bytes"]
            .as_f64()
            .unwrap();
        let ask = [
            "corpus.jsonl",
            "--documents",
            "60",
            "--levels",
            levels,
            "--engine",
            "mongodb",
            "--json",
            "--quiet",
        ];
        let bytes = place.json_of("estimate", &ask)["bytes"]["value"]
            .as_f64()
            .unwrap();
        let error = (bytes / trained - 1.0).abs();
        assert!(error < 0.05, "{bytes} bytes for {trained} of {levels}");
    }
}
