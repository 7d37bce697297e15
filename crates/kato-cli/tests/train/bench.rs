//! `bench_workers` on a corpus of no size.

use serde_json::Value;

use crate::place::Place;

const ARGUMENTS: [&str; 9] = [
    "corpus.jsonl",
    "--max-documents",
    "20",
    "--workers",
    "1,2,3",
    "--repeat",
    "2",
    "--levels",
    "3,2",
];

#[test]
fn there_is_a_row_for_every_number_of_workers() {
    let table = Place::new().json("bench", &ARGUMENTS);
    assert_eq!(table["documents"], 20);
    assert_eq!(table["distribution"], "work-stealing");
    assert!(table["cores"].as_u64() >= Some(1));
    let rows = table["rows"].as_array().unwrap();
    let workers: Vec<u64> = rows
        .iter()
        .filter_map(|row| row["workers"].as_u64())
        .collect();
    assert_eq!(workers, [1, 2, 3]);
    for row in rows {
        let number = |key: &str| row[key].as_f64().unwrap();
        assert_eq!(row["backend"], "embedded");
        assert!(number("slowest") > 0.0 && number("slowest") <= number("documents_per_sec"));
        assert!(number("documents_per_sec") <= number("fastest"));
        let efficiency = number("speed_up") / number("workers");
        assert!((number("efficiency") - efficiency).abs() < 1e-9, "{row}");
    }
    assert_eq!(rows[0]["speed_up"], Value::from(1.0));
}

#[test]
fn people_get_a_table() {
    let place = Place::new();
    let output = place.command("bench", &ARGUMENTS).output().unwrap();
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 5, "{text}");
    assert!(
        lines[0].starts_with("20 documents, work-stealing, "),
        "{text}"
    );
    assert!(
        lines[1].starts_with("backend   workers  documents/s"),
        "{text}"
    );
    assert!(lines[4].starts_with("embedded        3"), "{text}");
}
