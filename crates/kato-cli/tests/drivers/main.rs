//! `kato cluster` as Ray drives it, with real worker processes that are killed in the middle: the
//! knowledge base is that of `kato train`.

#![cfg(unix)]
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
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use kato_test_needs::ends_within;
use serde_json::Value;
use tempfile::TempDir;

use crate::program::kato;
use crate::python::python_with;

const TASKS: usize = 4;
/// Levels times ranges.
const MERGES: usize = 4;
const RANGES: usize = 2;

/// Longer than any run takes: one that hangs must not hang the tests.
const AT_MOST: Duration = Duration::from_secs(300);

/// Stands in front of the program. The first time that a piece of work is begun, something dies in
/// the middle of it: of even pieces the worker, while the program goes on, as on a machine that
/// nobody hears of any more (it is noted before, as Ray may end what its worker began); of odd ones
/// the program, when it has computed and not yet uploaded, which the worker reports.
const KILLER: &str = r#"#!/bin/sh
case "$*" in *--task*|*--piece*|*--range*) ;; *) exec "$KATO_REAL" "$@" ;; esac
for number; do :; done
begun="$KATO_KILLS/$(printf '%s' "$*" | tr -c 'a-z0-9' '_')"
if mkdir "$begun" 2>/dev/null; then
    case "$number" in
        *[02468])
            "$KATO_REAL" "$@" &
            program=$!
            sleep 0.03
            [ "$PPID" -gt 1 ] && touch "$begun/worker" && kill -KILL "$PPID"
            wait "$program"
            exit
            ;;
        *)
            touch "$begun/program"
            KATO_CLUSTER_ABORT_AT=computed exec "$KATO_REAL" "$@"
            ;;
    esac
fi
exec "$KATO_REAL" "$@"
"#;

/// A folder with a corpus, a plan and the program behind its killer.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        for folder in ["corpus", "bin", "kills"] {
            fs::create_dir(place.path(folder)).unwrap();
        }
        for file in 0..8_u32 {
            let mut lines = String::new();
            for document in 0..70_u32 {
                let word = |at| format!("w{}", (file * 7 + document * 31 + at * at) % 97);
                let words: Vec<String> = (0..120_u32).map(word).collect();
                let line = serde_json::json!({"text": words.join(" ") + "."});
                writeln!(lines, "{line}").unwrap();
            }
            fs::write(place.path(&format!("corpus/{file}.jsonl")), lines).unwrap();
        }
        let killer = place.path("bin/kato");
        fs::write(&killer, KILLER).unwrap();
        fs::set_permissions(&killer, fs::Permissions::from_mode(0o755)).unwrap();
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// What the program prints, which must succeed.
    fn succeeds(&self, line: &str) -> String {
        let mut words = line.split_whitespace();
        let mut command = kato(words.next().unwrap());
        command.args(words).current_dir(self.0.path());
        let output = command.stdin(Stdio::null()).output().unwrap();
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{line}: {message}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Runs a driver to its end, in which it publishes `together`.
    fn driven_by(&self, python: &Path, driver: &str) {
        let drivers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/cluster");
        let path = std::env::var("PATH").unwrap();
        let log = fs::File::create(self.path("log")).unwrap();
        let mut driver = Command::new(python)
            .arg(drivers.join(driver))
            .args([self.path("plan"), self.path("together")])
            .current_dir(self.0.path())
            .env("PATH", format!("{}:{path}", self.path("bin").display()))
            .env("KATO_REAL", env!("CARGO_BIN_EXE_kato"))
            .env("KATO_KILLS", self.path("kills"))
            // Ray keeps a token there.
            .env("HOME", self.0.path())
            .env("RAY_TMPDIR", self.0.path())
            .env("RAY_USAGE_STATS_ENABLED", "0")
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .unwrap();
        if !ends_within(&mut driver, AT_MOST) {
            driver.kill().unwrap();
        }
        let status = driver.wait().unwrap();
        let log = fs::read_to_string(self.path("log")).unwrap();
        assert!(status.success(), "{status:?}: {log}");
    }

    /// How many times a worker or the program died.
    fn kills_of(&self, what: &str) -> usize {
        let begun = fs::read_dir(self.path("kills")).unwrap();
        begun
            .filter(|entry| entry.as_ref().unwrap().path().join(what).exists())
            .count()
    }

    fn export(&self, kb: &str, node: &str) -> String {
        self.succeeds(&format!("inspect --kb {kb} --node {node} --export -"))
    }
}

#[test]
fn ray_repeats_what_its_workers_died_of_and_ends_in_what_one_machine_learns() {
    let Some(python) = python_with("ray") else {
        return;
    };
    let place = Place::new();
    place.succeeds("train corpus --kb alone --levels 4,3 --workers 1 --quiet");
    let corpus = place.path("corpus");
    place.succeeds(&format!(
        "cluster plan {} --store plan --levels 4,3 --tasks {TASKS} --ranges {RANGES}",
        corpus.display()
    ));
    place.driven_by(&python, "ray_driver.py");
    assert!(place.kills_of("worker") >= (TASKS + MERGES + RANGES) / 2);
    assert!(place.kills_of("program") > 0);
    let status: Value =
        serde_json::from_str(&place.succeeds("cluster status --store plan --json")).unwrap();
    assert_eq!(
        (&status["tasks_done"], &status["merges_done"]),
        (&TASKS.into(), &MERGES.into())
    );
    assert_eq!(status["ranges_sealed"], RANGES);
    for node in ["node0", "node1"] {
        let alone = place.export("alone", node);
        assert!(alone.lines().count() > 90, "{alone}");
        assert!(alone == place.export("together", node), "{node}");
    }
}
