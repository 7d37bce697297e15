//! Parquet out of the program and into it, with what DuckDB makes of the files.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests may fail by panic, as tests do"
)]

#[path = "../support/program.rs"]
mod program;
#[path = "../support/python.rs"]
mod python;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::program::kato;
use crate::python::python_with;

const NODES: [&str; 2] = ["node0", "node1"];

/// A folder with `kb`, which has learned a small corpus, and `empty`, which has learned nothing.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        let mut lines = String::new();
        for document in 0..200_u32 {
            let word = |at| format!("w{}", (document * 31 + at * at) % 61);
            let words: Vec<String> = (0..40_u32).map(word).collect();
            let line = json!({"text": words.join(" ") + "."});
            writeln!(lines, "{line}").unwrap();
        }
        fs::write(place.path("corpus.jsonl"), lines).unwrap();
        fs::write(place.path("nothing.txt"), "").unwrap();
        for (corpus, kb) in [("corpus.jsonl", "kb"), ("nothing.txt", "empty")] {
            place.succeeds(&format!(
                "train {corpus} --kb {kb} --levels 4,3 --provenance --workers 1 --quiet --allow-empty"
            ));
        }
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Files that were begun and are not in their places.
    fn parts(&self) -> Vec<String> {
        let entries = fs::read_dir(self.0.path()).unwrap();
        entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name.ends_with(".part"))
            .collect()
    }

    fn command(&self, line: &str) -> Command {
        let mut words = line.split_whitespace();
        let mut command = kato(words.next().unwrap());
        command
            .args(words)
            .current_dir(self.0.path())
            .stdin(Stdio::null());
        command
    }

    fn succeeds(&self, line: &str) -> String {
        let output = self.command(line).output().unwrap();
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{line}: {message}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn fails(&self, line: &str) -> String {
        let output = self.command(line).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{line}");
        String::from_utf8(output.stderr).unwrap()
    }

    fn lines(&self, kb: &str, node: &str) -> String {
        self.succeeds(&format!("inspect --kb {kb} --node {node} --export -"))
    }

    /// What DuckDB answers to a query, as rows of JSON.
    fn asked(&self, python: &Path, query: &str) -> Value {
        let script =
            "import duckdb, json, sys\nprint(json.dumps(duckdb.sql(sys.argv[1]).fetchall()))";
        let output = Command::new(python)
            .args(["-c", script, query])
            .current_dir(self.0.path())
            .output()
            .unwrap();
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{query}: {message}");
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

#[test]
fn exported_and_imported_elsewhere_the_lines_are_the_same() {
    let place = Place::new();
    for node in NODES {
        let said = place.succeeds(&format!(
            "inspect --kb kb --node {node} --export a.parquet --json"
        ));
        let n_lines = place.lines("kb", node).lines().count();
        let exported: Value = serde_json::from_str(&said).unwrap();
        assert_eq!(
            exported,
            json!({"node": node, "exported": n_lines, "file": "a.parquet"})
        );
        assert!(
            fs::read(place.path("a.parquet"))
                .unwrap()
                .starts_with(b"PAR1")
        );
        let said = place.succeeds(&format!(
            "inspect --kb empty --node {node} --import a.parquet --json"
        ));
        let imported: Value = serde_json::from_str(&said).unwrap();
        assert_eq!(
            (&imported["imported"], &imported["new_patterns"]),
            (&json!(n_lines), &json!(n_lines))
        );
        assert!(
            place.lines("kb", node) == place.lines("empty", node),
            "{node}"
        );
    }
    assert_eq!(place.parts(), [] as [String; 0]);
}

#[test]
fn a_file_that_was_cut_short_adds_nothing() {
    let place = Place::new();
    place.succeeds("inspect --kb kb --export a.parquet");
    let whole = fs::read(place.path("a.parquet")).unwrap();
    fs::write(place.path("cut.parquet"), &whole[..whole.len() / 2]).unwrap();
    let message = place.fails("inspect --kb empty --import cut.parquet");
    let expected = "error: cut.parquet: failed to read a Parquet file, so nothing was imported";
    assert!(message.starts_with(expected), "{message}");
    fs::write(place.path("lines.parquet"), place.lines("kb", "node0")).unwrap();
    let message = place.fails("inspect --kb empty --import lines.parquet");
    assert!(
        message.contains("failed to read a Parquet file"),
        "{message}"
    );
    assert_eq!(place.lines("empty", "node0"), "");
}

#[test]
fn duckdb_reads_what_the_program_counts_and_what_it_writes_is_taken_back() {
    let Some(python) = python_with("duckdb") else {
        return;
    };
    let place = Place::new();
    for node in NODES {
        place.succeeds(&format!(
            "inspect --kb kb --node {node} --export {node}.parquet"
        ));
    }
    let overview: Value = serde_json::from_str(&place.succeeds("inspect --kb kb --json")).unwrap();
    for (idx, node) in NODES.into_iter().enumerate() {
        let totals = &overview["nodes"][idx]["totals"];
        let lines = place.lines("kb", node);
        let query = format!(
            "SELECT count(*), sum(frequency)::BIGINT, \
             sum(frequency * coalesce(len(symbols), len(children)))::BIGINT, \
             count(first_document), min(first_document) FROM '{node}.parquet'"
        );
        let n_lines = lines.lines().count();
        assert_eq!(
            place.asked(&python, &query),
            json!([[
                n_lines,
                totals["learns"],
                totals["learned_symbols"],
                n_lines,
                0
            ]])
        );
        // In the order of the file, without asking for one.
        let names = place.asked(&python, &format!("SELECT name FROM '{node}.parquet'"));
        let names: Vec<&str> = names
            .as_array()
            .unwrap()
            .iter()
            .map(|row| row[0].as_str().unwrap())
            .collect();
        let expected: Vec<String> = lines
            .lines()
            .map(|line| {
                serde_json::from_str::<Value>(line).unwrap()["name"]
                    .as_str()
                    .unwrap()
                    .to_owned()
            })
            .collect();
        assert!(names.is_sorted());
        assert_eq!(names, expected);
    }
    // Every child is a name of the node below.
    let missing = "SELECT count(*) FROM (SELECT unnest(children) AS child FROM 'node1.parquet') \
                   ANTI JOIN 'node0.parquet' ON child = name";
    assert_eq!(place.asked(&python, missing), json!([[0]]));
    let written = place.asked(
        &python,
        "COPY (FROM 'node0.parquet' ORDER BY frequency, name DESC) TO 'again.parquet'; SELECT 1",
    );
    assert_eq!(written, json!([[1]]));
    place.succeeds("inspect --kb empty --import again.parquet");
    assert!(place.lines("kb", "node0") == place.lines("empty", "node0"));
}
