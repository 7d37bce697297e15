//! What real KATO servers answered, request by request, answered again.
//!
//! A sample of what 6.3.2 answered is kept here. All of it is replayed where `KATO_GOLDEN_DIR` names the folder
//! of the recordings, whose `http` has files of exchanges.

mod compare;
mod exchange;

use std::collections::BTreeSet;
use std::time::Duration;

use kato_model::KatoGeneration;
use serde_json::Value;

use self::compare::difference;
use self::exchange::{Ids, request, rows};
use crate::support::Running;

const RECORDED: &str = include_str!("../data/transcripts.jsonl");

const RECORDED_6: &str = include_str!("../data/transcripts-6.jsonl");

#[tokio::test]
async fn answers_are_those_of_the_real_server() {
    let mut failed = BTreeSet::new();
    let is_failed = |row: &Value| {
        let label = row["label"].as_str().unwrap().to_owned();
        // What follows a failure in a label may differ with it.
        if row["status"] == 500 || label.starts_with("NaN") {
            failed.insert(label.clone());
        }
        failed.contains(&label)
    };
    let differing = replay(rows(RECORDED), KatoGeneration::V3_10, is_failed).await;
    assert_none(&differing);
}

#[tokio::test]
async fn answers_are_those_of_6_3_2() {
    let differing = replay(rows(RECORDED_6), KatoGeneration::V6, is_failure_of_6()).await;
    assert_none(&differing);
}

#[tokio::test]
async fn all_recorded_answers_of_6_3_2_are_given() {
    let Some(folder) = std::env::var_os("KATO_GOLDEN_DIR") else {
        eprintln!("passed over: KATO_GOLDEN_DIR is not set");
        return;
    };
    let folder = std::path::Path::new(&folder).join("http");
    let mut all = Vec::new();
    for name in ["probes", "suite"] {
        let text = std::fs::read_to_string(folder.join(name).with_extension("jsonl")).unwrap();
        let exchanges = rows(&text);
        let n = exchanges.len();
        let differing = replay(exchanges, KatoGeneration::V6, is_failure_of_6()).await;
        println!("{name}: {} of {n} exchanges differ", differing.len());
        all.extend(differing);
    }
    assert_none(&all);
}

/// Tells answers that nobody wants to have again, or that are open (docs/compatibility.md).
fn is_failure_of_6() -> impl FnMut(&Value) -> bool {
    |row| {
        // KATO leaves retired patterns out of what it has predicted before; here it is predicted anew.
        let path = row["path"].as_str().unwrap();
        let is_stale = row["label"] == "retire" && path.ends_with("/cognition-data");
        // Of a new session it is refused, where KATO fails once it has nothing else to say.
        let is_negative = row["json"]["ttl_seconds"] == -1;
        row["status"] == 500 || is_stale || is_negative
    }
}

fn assert_none(differing: &[String]) {
    let n = differing.len();
    assert!(n == 0, "{n} differ:\n{}", differing.join("\n"));
}

/// Sends the requests of exchanges to a server of a generation; what is answered otherwise. Where the real
/// server failed, this one must not.
async fn replay(
    exchanges: Vec<Value>,
    generation: KatoGeneration,
    mut is_failed: impl FnMut(&Value) -> bool,
) -> Vec<String> {
    let (server, clock) = Running::manual_of(generation, |builder| {
        builder.with_generation_2025_10(false).with_cors(true)
    })
    .await;
    let mut ids = Ids::default();
    let mut differing = Vec::new();
    let mut at = 0.0;
    let mut connection = server.connect().await;
    for row in exchanges {
        let t = row["t"].as_f64().unwrap();
        clock.advance(Duration::from_secs_f64((t - at).max(0.0)));
        at = at.max(t);
        let answer = connection.send(&request(&row, &ids)).await;
        if answer.header("connection") == Some("close") {
            connection = server.connect().await;
        }
        ids.learn(&row["answer"], &answer.json());
        let difference = match is_failed(&row) {
            true => (answer.status >= 500).then(|| format!("{}", answer.status)),
            false => difference(&row, &answer, &ids, generation),
        };
        if let Some(difference) = difference {
            let (label, method, path) = (&row["label"], &row["method"], &row["path"]);
            let sent = row.get("json").unwrap_or(&row["text"]);
            differing.push(format!(
                "{label}: {method} {path} {} {sent}\n    {difference}",
                row["query"]
            ));
        }
    }
    differing
}
