//! Every command, with what it prints and how it ends.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Output, Stdio};

use kato_learner::HierarchicalConceptLearner;
use kato_scheduler::RunConfiguration;
use kato_store::EmbeddedStore;
use serde_json::Value;
use tempfile::TempDir;

use crate::program::kato;

/// A folder with `runs/wiki` and `runs/project/books`, which have learned nothing yet.
struct Workplace(TempDir);

impl Workplace {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let learner = HierarchicalConceptLearner::builder(kato_tokenizer::gpt2())
            .with_chunk_sizes([5, 7])
            .build()
            .unwrap();
        let configuration = RunConfiguration::from_learner(&learner).to_json();
        for run in ["runs/wiki", "runs/project/books"] {
            let kb = dir.path().join(run);
            fs::create_dir_all(kb.parent().unwrap()).unwrap();
            let nodes = learner.node_names();
            EmbeddedStore::create(&kb, &nodes, configuration.clone()).unwrap();
        }
        Self(dir)
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn run(&self, arguments: &str, input: &str) -> Output {
        let mut child = kato("runs")
            .args(arguments.split(' '))
            .args(["--in", "runs"])
            .current_dir(self.path())
            .env_remove("COLUMNS")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // A program that does not ask may have ended by now.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        child.wait_with_output().unwrap()
    }

    fn succeeds(&self, arguments: &str) -> String {
        let output = self.run(arguments, "");
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{arguments}: {error}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn json(&self, arguments: &str) -> Value {
        let text = self.succeeds(&format!("{arguments} --json"));
        assert_eq!(text.lines().count(), 1, "one object on one line: {text}");
        serde_json::from_str(&text).unwrap()
    }

    /// Exit code and standard error of a command that prints no result.
    fn fails(&self, arguments: &str, input: &str) -> (i32, String) {
        let output = self.run(arguments, input);
        assert_eq!(String::from_utf8(output.stdout).unwrap(), "", "{arguments}");
        let error = String::from_utf8(output.stderr).unwrap();
        (output.status.code().unwrap(), error)
    }

    fn names(&self) -> Vec<String> {
        let runs = self.json("list");
        let names = runs["runs"].as_array().unwrap().iter();
        names
            .map(|run| run["manifest"]["name"].as_str().unwrap().to_owned())
            .collect()
    }
}

#[test]
fn the_list_is_a_table() {
    let text = Workplace::new().succeeds("list");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 3, "{text}");
    for heading in ["run", "state", "documents", "size", "began", "place"] {
        assert!(lines[0].contains(heading), "{text}");
    }
    assert!(
        lines[1].starts_with("books  interrupted  embedded          0"),
        "{text}"
    );
    assert!(lines[2].starts_with("wiki   interrupted"), "{text}");
    assert!(lines[2].ends_with(" runs/wiki"), "{text}");
}

#[test]
fn a_run_that_cannot_be_read_is_shown_and_listed_as_such() {
    let place = Workplace::new();
    fs::write(place.path().join("runs/wiki/run.json"), "{").unwrap();
    let list = place.succeeds("list");
    let line = list.lines().find(|line| line.starts_with("wiki "));
    assert!(
        line.is_some_and(|line| line.contains(" unreadable ")),
        "{list}"
    );
    let output = place.run("show wiki", "");
    let shown = String::from_utf8(output.stdout).unwrap();
    assert!(!output.status.success());
    assert!(shown.contains("\nstate      unreadable\n"), "{shown}");
}

#[test]
fn a_run_goes_through_its_life() {
    let place = Workplace::new();
    assert_eq!(place.names(), ["books", "wiki"]);
    assert_eq!(place.json("discover")["runs"].as_array().unwrap().len(), 2);
    let recorded = place.json("record wiki");
    assert_eq!(place.json("discover")["runs"].as_array().unwrap().len(), 1);
    assert_eq!(place.json("show wiki"), recorded);

    let renamed = place.json("rename wiki encyclopedia");
    assert_eq!(renamed["manifest"]["id"], recorded["manifest"]["id"]);
    place.succeeds("clone encyclopedia second");
    let shown = place.succeeds("show second");
    assert!(shown.contains("cloned from encyclopedia ("), "{shown}");
    assert!(shown.contains("second_node1_kato"), "{shown}");

    let exported = place.succeeds("export second out");
    assert!(exported.starts_with("run second is in out\n"), "{exported}");
    let (code, error) = place.fails("import out", "");
    assert_eq!(code, 6);
    assert_eq!(
        error,
        "error: there is a run second already: choose another name, or delete that run\n"
    );
    place.succeeds("import out --name third");
    assert_eq!(place.names(), ["books", "encyclopedia", "second", "third"]);
    let deleted = place.json("delete second --yes");
    assert_eq!(deleted["deleted"]["manifest"]["name"], "second");
    assert_eq!(place.names(), ["books", "encyclopedia", "third"]);
}

#[test]
fn deleting_asks_for_the_name() {
    let place = Workplace::new();
    for answer in ["", "\n", "y\n", "wik\n"] {
        let (code, error) = place.fails("delete wiki", answer);
        assert_eq!(code, 1);
        assert!(
            error.contains("type the name of the run to delete it"),
            "{error}"
        );
        assert!(error.ends_with("--yes deletes without asking\n"), "{error}");
    }
    assert_eq!(place.names(), ["books", "wiki"]);
    assert!(place.run("delete wiki", "wiki\n").status.success());
    assert_eq!(place.names(), ["books"]);
}

#[test]
fn errors_say_what_to_do() {
    let place = Workplace::new();
    let _writer = EmbeddedStore::open(place.path().join("runs/wiki")).unwrap();
    for (arguments, expected) in [
        (
            "show nothing",
            r#"there is no run "nothing"; the runs are books, wiki"#,
        ),
        (
            "delete wiki --yes",
            "is in use: wait for that to end, or stop it",
        ),
        (
            "export books runs/wiki",
            "exists already and is not overwritten",
        ),
        (
            "export books nowhere/out",
            "OUT nowhere/out cannot be written: choose another place",
        ),
        ("import runs", "holds no exported run"),
    ] {
        let (code, error) = place.fails(arguments, "");
        let is_conflict = expected.contains("in use") || expected.contains("exists already");
        assert_eq!(code, if is_conflict { 6 } else { 1 }, "{arguments}");
        assert!(
            error.starts_with("error: ") && error.contains(expected),
            "{error}"
        );
    }
    for arguments in ["rename wiki a-b", "frobnicate", "show"] {
        assert_eq!(place.fails(arguments, "").0, 2, "{arguments}");
    }
}

#[test]
fn help_is_complete() {
    let help = |arguments: &str| {
        let mut help = kato("runs");
        let output = help
            .args(arguments.split(' '))
            .env_remove("COLUMNS")
            .output()
            .unwrap();
        assert!(output.status.success());
        String::from_utf8(output.stdout).unwrap()
    };
    insta::assert_snapshot!("runs_help", help("--help"));
    for command in [
        "list", "discover", "show", "record", "rename", "clone", "export", "import", "delete",
    ] {
        insta::assert_snapshot!(
            format!("runs_{command}_help"),
            help(&format!("{command} --help"))
        );
    }
}
