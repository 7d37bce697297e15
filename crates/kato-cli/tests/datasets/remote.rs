//! Sources behind a network: looked at, and learned like local ones.

use kato_hub_standin::Dataset;
use serde_json::Value;

use crate::place::{N_ROWS, Place, json_lines, text};

const SOURCE: &str = "hf://me/corpus";

fn texts(documents: &Value) -> Vec<String> {
    let documents = documents["documents"].as_array().unwrap().iter();
    documents
        .map(|document| document["text"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn info_tells_what_there_is_without_reading_it() {
    let place = Place::new();
    let info = place.json("datasets", &format!("info {SOURCE} --rate 10"));
    assert_eq!(info["rows"], N_ROWS);
    assert_eq!(info["rows_are_counted"], true);
    assert_eq!(info["estimate"]["seconds"], N_ROWS as f64 / 10.0);
    assert_eq!(info["sources"][0]["split"], "train");
    let revision = info["sources"][0]["revision"].as_str().unwrap();
    let name = info["files"][0]["name"].as_str().unwrap();
    assert!(
        name.contains(revision) && name.ends_with("/default/train/0000.parquet"),
        "{name}"
    );
    let bytes = std::fs::metadata(place.path("corpus.parquet"))
        .unwrap()
        .len();
    assert_eq!(
        (&info["bytes"], &info["files"][0]["bytes"]),
        (&bytes.into(), &bytes.into())
    );

    let shown = place.succeeds("datasets", &format!("info {SOURCE} --rate 10"));
    assert!(shown.contains("60 rows"), "{shown}");
    assert!(
        shown.contains("about 6.0s at 10 documents/s (as given)"),
        "{shown}"
    );
    assert!(shown.contains(&format!("@{}/", &revision[..8])), "{shown}");
}

#[test]
fn head_shows_the_first_documents() {
    let place = Place::new();
    let head = place.json("datasets", &format!("head {SOURCE} -n 3"));
    assert_eq!(texts(&head), [text(0), text(1), text(2)]);
    assert_eq!(head["documents"][1]["index"], 1);
    assert!(head["network"]["requests"].as_u64().unwrap() > 0);

    let shown = place.succeeds("datasets", &format!("head {SOURCE} -n 1"));
    assert!(
        shown.lines().all(|line| line.chars().count() <= 120),
        "{shown}"
    );
}

#[test]
fn secrets_of_a_source_are_neither_shown_nor_written_nor_recorded() {
    let place = Place::new();
    let file = kato_hub_standin::PlainFile::new(json_lines(0..N_ROWS));
    place.hub.put_file("corpus.jsonl", file);
    let plain = place.hub.file_url("corpus.jsonl");
    let source = plain.replace("http://", "http://me:hush@") + "?part=1&token=hush";
    place.write(
        "datasets.toml",
        format!("[[dataset]]\nkey = \"mine\"\nsource = \"{source}\"\n"),
    );
    let history = "--history runs.db --levels 3,2 --workers 1";
    let again = format!("{source} --kb kb");
    let missing = source.replace("corpus.jsonl", "none.jsonl");
    let lines = [
        ("datasets", format!("info {source} --rate 10 --json")),
        (
            "datasets",
            "list --registry datasets.toml --rate 10 --json".to_owned(),
        ),
        (
            "datasets",
            "list --registry datasets.toml --rate 10".to_owned(),
        ),
        ("datasets", format!("head 0.0*{source}")),
        (
            "plan",
            format!(
                "{source} --pilot 2kB --repeat 1 --out plan.json --report plan.html --json {history}"
            ),
        ),
        ("plan", format!("1.0*{source} --pilot 2kB --repeat 1")),
        ("estimate", format!("{source} --json {history}")),
        ("estimate", missing.clone()),
        (
            "train",
            format!("{source} --kb kb --profile --report profile.html --json {history}"),
        ),
        ("train", again.clone()),
        ("history", "list --history runs.db --json".to_owned()),
        ("runs", "show kb --json".to_owned()),
        ("evaluate", format!("--kb kb --unseen {missing}")),
        ("forget", format!("--kb kb {missing}")),
        (
            "bench",
            format!("{source} --max-documents 5 --workers 1 --levels 3,2"),
        ),
        (
            "tune",
            format!(
                "{source} --levels 3 --text-size 2kB --held-out 1kB --rounds 1 --repeat 1 --questions 0 --journal trials.jsonl --report tune.html --json"
            ),
        ),
        (
            "cluster",
            format!("plan {source} --store store --levels 3,2 --tasks 2"),
        ),
    ];
    for (name, line) in lines {
        let output = place.command(name, &line).output().unwrap();
        let told = [output.stdout, output.stderr].concat();
        let told = String::from_utf8(told).unwrap();
        assert!(!told.contains("hush"), "{name} {line}: {told}");
        let is_wrong = line.contains("0.0*");
        let (code, expected) = (output.status.code(), if is_wrong { 2 } else { 0 });
        let fails = line.contains("none.jsonl") || line == again;
        assert!(
            code == Some(expected) || fails && code != Some(2),
            "{name} {line}: {told}"
        );
    }
    let plan = std::fs::read(place.path("plan.json")).unwrap();
    let plan: Value = serde_json::from_slice(&plan).unwrap();
    assert_eq!(plan["sources"][0], format!("{plain}?part=1"));
    let mut folders = vec![place.path(".")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if !path.ends_with("datasets.toml") {
                let bytes = std::fs::read(&path).unwrap();
                let has_secret = bytes.windows(4).any(|part| part == b"hush");
                assert!(!has_secret, "{}", path.display());
            }
        }
    }
}

#[test]
fn a_sample_is_decided_by_its_seed() {
    let place = Place::new();
    let sample =
        |seed: u32| texts(&place.json("datasets", &format!("sample {SOURCE} -n 10 --seed {seed}")));
    let first = sample(1);
    assert_eq!(first.len(), 10);
    assert_eq!(first, sample(1));
    assert_ne!(first, sample(2));
    let local = place.json("datasets", "sample corpus.parquet -n 10 --seed 1");
    assert_eq!(
        first,
        texts(&local),
        "the order is that of the rows, wherever they lie"
    );
}

#[test]
fn stats_count_rows_and_bytes_and_requests() {
    let place = Place::new();
    let stats = place.json("datasets", &format!("stats {SOURCE} --quiet"));
    assert_eq!(
        (&stats["records"], &stats["documents"]),
        (&N_ROWS.into(), &N_ROWS.into())
    );
    assert_eq!(stats["complete"], true);
    let bytes: usize = (0..N_ROWS).map(|row| text(row).len()).sum();
    assert_eq!(
        (&stats["text_bytes"], &stats["characters"]),
        (&bytes.into(), &bytes.into())
    );
    let longest = (0..N_ROWS).map(|row| text(row).len()).max().unwrap();
    assert_eq!(stats["lengths"]["max"], longest);
    assert!(stats["network"]["bytes_received"].as_u64().unwrap() > 0);

    let part = place.json("datasets", &format!("stats {SOURCE} --max-rows 7"));
    assert_eq!(
        (&part["records"], &part["complete"]),
        (&7.into(), &false.into())
    );
}

#[test]
fn what_the_cache_holds_is_not_fetched_again() {
    let place = Place::new();
    let line = format!("stats {SOURCE} --cache cache --cache-size 64MiB");
    let first = place.json("datasets", &line);
    let again = place.json("datasets", &line);
    assert!(first["network"]["bytes_received"].as_u64().unwrap() > 0);
    assert_eq!(again["network"]["bytes_received"], 0);
    assert_eq!(first["lengths"], again["lengths"]);
}

#[test]
fn training_from_afar_teaches_what_training_on_the_same_file_does() {
    let place = Place::new();
    let exports = |source: &str, kb: &str, options: &str| {
        let line = format!("{source} --kb {kb} --levels 3,2 --workers 2 {options}");
        let report = place.json("train", &line);
        let share = report["starved_share"].as_f64().unwrap();
        assert!((0.0..=1.0).contains(&share), "{share}");
        ["node0", "node1"]
            .map(|node| place.succeeds("inspect", &format!("--kb {kb} --node {node} --export -")))
    };
    let local = exports("corpus.parquet", "local", "");
    assert!(local.iter().all(|lines| !lines.is_empty()));
    assert_eq!(exports(SOURCE, "remote", ""), local);
    assert_eq!(
        exports(SOURCE, "shuffled", "--shuffle 7 --loader-workers 3"),
        local
    );
    let half = exports(SOURCE, "half", "--max-rows 30");
    assert_ne!(half, local);

    // A run on a remote source goes on like any other, here beyond the limit that ended it.
    let line = format!("{SOURCE} --kb half --levels 3,2 --resume");
    let report = place.json("train", &line);
    assert_eq!(
        (&report["samples_processed"], &report["session_documents"]),
        (&60.into(), &30.into())
    );
    let node = place.succeeds("inspect", "--kb half --node node0 --export -");
    assert_eq!(node, local[0]);
}

#[test]
fn held_out_documents_of_a_remote_source_are_read_again() {
    let place = Place::new();
    let train = format!("{SOURCE} --kb kb --levels 3,2 --hold-out 0.2");
    let report = place.json("train", &train);
    let evaluated = place.json("evaluate", "--kb kb --quiet");
    assert_eq!(evaluated["documents"], report["held_out_documents"]);
}

#[test]
fn a_run_goes_on_with_its_very_files_when_the_dataset_moved_on() {
    let place = Place::new();
    let first = json_lines(0..N_ROWS);
    let dataset = || Dataset::new("me/moving").file_at("before", "data/train.jsonl", &*first);
    place
        .hub
        .put_dataset(dataset().file("data/train.jsonl", &*first));
    place.json("train", "hf://me/moving --kb kb --max-documents 20");
    place
        .hub
        .put_dataset(dataset().file("data/train.jsonl", json_lines(7..90)));

    let (code, message) = place.fails("train", "hf://me/moving --kb kb --resume");
    assert_eq!(code, 6);
    assert!(message.contains("another corpus"), "{message}");

    let report = place.json("train", "--kb kb --resume");
    assert_eq!(report["samples_processed"], N_ROWS);
    place.write("first.jsonl", &first);
    place.json("train", "first.jsonl --kb local");
    let export = |kb| place.succeeds("inspect", &format!("--kb {kb} --node node0 --export -"));
    assert_eq!(export("kb"), export("local"));
}
