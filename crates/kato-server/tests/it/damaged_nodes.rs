//! A node whose files are damaged while it is served: every look at it is an error with its cause, and other
//! nodes are served.
// Elsewhere a mapped file cannot be cut off, or ends the process that reads it.
#![cfg(target_os = "linux")]

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use kato_engine::node::Lesson;
use kato_model::Event;
use kato_service::answer::NewSession;
use kato_service::clock::ManualClock;
use kato_service::{Service, ServiceOptions};
use serde_json::json;

use crate::support::Running;

/// Returns all files of one extension or folder below a directory.
fn files(dir: &Path, is_one: &dyn Fn(&Path) -> bool) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap().flatten() {
        let path = entry.path();
        match path.is_dir() {
            true => found.extend(files(&path, is_one)),
            false if is_one(&path) => found.push(path),
            false => {}
        }
    }
    found
}

#[tokio::test]
async fn what_cannot_be_read_of_a_node_is_an_error_and_the_server_lives() {
    let dir = tempfile::tempdir().unwrap();
    let clock = Arc::new(ManualClock::default());
    let options = ServiceOptions::default()
        .with_clock(Arc::clone(&clock) as _)
        .with_index_after_patterns(1);
    let service = Service::open(dir.path(), options).unwrap();
    let lesson = ["a", "b", "c"].map(|symbol| Event::new([symbol]));
    for node_id in ["n", "other"] {
        let made = service.create_session(NewSession::new(node_id));
        let id = made.unwrap().wait().unwrap().session_id;
        let learned = service.learn_batch(&id, vec![Lesson::new(lesson.clone())], None);
        learned.unwrap().wait().unwrap();
    }
    clock.advance(Duration::from_secs(61));
    service.maintain().unwrap();
    assert_eq!(service.write_indexes().written.len(), 2);
    let damaged_dir = files(dir.path(), &|path| path.ends_with("0.names"))
        .into_iter()
        .map(|path| path.parent().unwrap().to_owned())
        .find(|path| path.to_string_lossy().contains(&service.processor_id("n")))
        .unwrap();
    let server = Running::of(service, |builder| builder).await;
    let name = lesson_name(&lesson);
    let id = server.session("n").await;
    let target = format!("/sessions/{id}/observe-sequence");
    let observed = server.post(
        &target,
        json!({"observations": [
        {"strings": ["a"]}, {"strings": ["b"]}]}),
    );
    assert_eq!(observed.await.status, 200);
    let routes = |node_id: &str| {
        [
            "/symbols/stats",
            "/symbols/affinity",
            "/symbols/a/affinity",
            &format!("/pattern/{name}"),
        ]
        .map(|route| format!("{route}?node_id={node_id}"))
    };
    let predictions = format!("/sessions/{id}/predictions");
    for target in routes("n").iter().chain([&predictions]) {
        assert_eq!(server.get(target).await.status, 200, "{target}");
    }

    // First the index alone: everything is answered from the store.
    File::create(damaged_dir.join("0.names")).unwrap();
    let answer = server.get(&predictions).await;
    assert_eq!(answer.json()["predictions"][0]["future"], json!([["c"]]));
    assert_eq!(server.get(&routes("n")[0]).await.status, 200);

    // What was taken from the store is in memory from then on.
    for path in files(dir.path(), &|path| {
        path.parent().unwrap().ends_with("segments")
    }) {
        let len = fs::metadata(&path).unwrap().len();
        fs::write(&path, vec![0; usize::try_from(len).unwrap()]).unwrap();
    }
    assert_eq!(server.get(&predictions).await.status, 200);

    assert_eq!(server.get("/status").await.json()["status"], "healthy");

    // The other node still lies above its index, and its store is damaged as well.
    let other = server.session("other").await;
    for path in files(dir.path(), &|path| path.ends_with("0.frequencies")) {
        File::create(path).unwrap();
    }
    let target = format!("/sessions/{other}/observe-sequence");
    let sequence = json!({"observations": [{"strings": ["a"]}, {"strings": ["b"]}]});
    assert_eq!(server.post(&target, sequence).await.status, 200);
    let predictions_of_other = format!("/sessions/{other}/predictions");
    for target in routes("other").iter().chain([&predictions_of_other]) {
        // Symbols without affinity are in memory, and their list touches no index.
        if target.contains("affinity") {
            continue;
        }
        let answer = server.get(target).await;
        assert_eq!(answer.status, 500, "{target} {}", answer.text());
        let text = answer.text();
        assert!(
            text.contains("\"other") && text.contains("damaged"),
            "{text}"
        );
        assert!(text.contains("other nodes are not concerned"), "{text}");
        assert!(!text.contains("0.frequencies"), "{text}");
    }
    let health = server.get("/health").await.json();
    assert_eq!(health["status"], "degraded", "{health}");
    let issues = health["issues"].to_string();
    assert!(issues.contains("cannot be read"), "{issues}");
    assert_eq!(server.get(&predictions).await.status, 200);
    server.stop().await.unwrap().unwrap();
}

#[tokio::test]
async fn a_node_that_does_not_fit_without_its_damaged_index_is_worth_asking_again() {
    let dir = tempfile::tempdir().unwrap();
    let open = |limit| {
        let options = ServiceOptions::default().with_max_knowledge_memory(limit);
        Service::open(dir.path(), options).unwrap()
    };
    let service = open(usize::MAX);
    let made = service.create_session(NewSession::new("n"));
    let id = made.unwrap().wait().unwrap().session_id;
    let lesson =
        |n: usize| Lesson::new([format!("a{n}"), format!("b{n}")].map(|it| Event::new([it])));
    let learned = service.learn_batch(&id, (0..1500).map(lesson).collect(), None);
    learned.unwrap().wait().unwrap();
    let limit = service.figures().knowledge_bytes / 4;
    service.close().unwrap();
    drop(service);
    // Too large, so that its index is written before it is used.
    let service = open(limit);
    service.stm(&id).unwrap();
    service.close().unwrap();
    drop(service);
    for path in files(dir.path(), &|path| path.ends_with("0.symbols")) {
        let bytes = fs::read(&path).unwrap();
        fs::write(path, vec![0xFF; bytes.len()]).unwrap();
    }

    let server = Running::of(open(limit), |builder| builder).await;
    let target = format!("/sessions/{id}/observe-sequence");
    let sequence = json!({"observations": [{"strings": ["a1"]}, {"strings": ["b1"]}]});
    assert_eq!(server.post(&target, sequence).await.status, 200);
    let refused = server.get(&format!("/sessions/{id}/predictions")).await;
    let text = refused.text();
    assert_eq!(refused.status, 507, "{text}");
    for part in ["\"n", "try again once", "--max-knowledge-memory"] {
        assert!(text.contains(part), "{text}");
    }
}

fn lesson_name(lesson: &[Event]) -> String {
    kato_model::PatternName::of_events(lesson)
        .prefixed()
        .to_string()
}
