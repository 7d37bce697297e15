//! `GET /sessions/{id}/next`: what comes next, with a probability, over HTTP.

use kato_head::{Head, HeadOptions, Weights};
use kato_model::batch::BatchSymbol;
use kato_model::{LearnBatch, PatternName};
use kato_service::{Service, ServiceOptions};
use kato_store::{EmbeddedStore, MemoryStore, PatternStore};
use serde_json::{Value, json};

use crate::support::{Request, Running};

const CHUNKS: [[&str; 3]; 4] = [
    ["the", "cat", "sat"],
    ["on", "the", "mat"],
    ["the", "cat", "sat"],
    ["on", "my", "hat"],
];

/// Chunks, and pairs of them above.
fn lessons() -> [Vec<Vec<String>>; 2] {
    let chunks: Vec<Vec<String>> = CHUNKS
        .iter()
        .map(|chunk| chunk.map(str::to_owned).to_vec())
        .collect();
    let name = |chunk: &Vec<String>| {
        let events: Vec<[&String; 1]> = chunk.iter().map(|word| [word]).collect();
        PatternName::of_events(&events).prefixed().to_string()
    };
    let pairs = chunks
        .chunks(2)
        .map(|pair| pair.iter().map(name).collect())
        .collect();
    [chunks, pairs]
}

fn fill(store: &dyn PatternStore) {
    let mut batch = LearnBatch::new(2);
    for (level, lessons) in lessons().iter().enumerate() {
        for symbols in lessons {
            let events: Vec<[&String; 1]> = symbols.iter().map(|symbol| [symbol]).collect();
            let literals: Vec<_> = symbols
                .iter()
                .map(|symbol| BatchSymbol::Literal(batch.literal(symbol)))
                .collect();
            batch.learn(level, PatternName::of_events(&events), literals);
        }
    }
    store
        .commit(vec![store.stage(batch.seal()).unwrap()], json!(null))
        .unwrap();
}

/// What a head says, as the server does.
fn said(store: &dyn PatternStore, history: &[&str]) -> Value {
    let head = Head::from_store(store, HeadOptions::default()).unwrap();
    let mut read = head.history();
    history.iter().for_each(|word| head.read(&mut read, word));
    let next = head.next(&read, &Weights::new(), None).distribution();
    let one = |(symbol, p)| json!({"symbol": head.text(symbol), "probability": p});
    json!({"next": next.top(1000).into_iter().map(one).collect::<Vec<_>>(), "other": next.of_unknown()})
}

async fn teach(server: &Running) {
    for (node, lessons) in ["n0", "n1"].iter().zip(lessons()) {
        let id = server.session(node).await;
        let events = |symbols: &Vec<String>| json!({"events": symbols.iter().map(|symbol| [symbol]).collect::<Vec<_>>()});
        let batch: Vec<Value> = lessons.iter().map(events).collect();
        let learned = server
            .post(
                &format!("/sessions/{id}/learn-batch"),
                json!({"sequences": batch}),
            )
            .await;
        assert_eq!(learned.status, 200);
    }
}

async fn observe(server: &Running, id: &str, words: &[&str]) {
    for word in words {
        let observed = server
            .post(
                &format!("/sessions/{id}/observe"),
                json!({"strings": [word]}),
            )
            .await;
        assert_eq!(observed.status, 200);
    }
}

#[tokio::test]
async fn memory_disk_and_server_say_the_same_to_the_last_bit() {
    let history = ["the", "cat", "sat", "on"];
    let memory = MemoryStore::new(&["n0", "n1"], json!(null));
    let dir = tempfile::tempdir().unwrap();
    let disk = EmbeddedStore::create(dir.path().join("kb"), &["n0", "n1"], json!(null)).unwrap();
    fill(&memory);
    fill(&disk);
    let expected = said(&memory, &history);
    assert_eq!(said(&disk, &history), expected);
    let on_disk = || Service::open(dir.path().join("server"), ServiceOptions::default()).unwrap();
    for (service, restarts) in [
        (Service::in_memory(ServiceOptions::default()), false),
        (on_disk(), true),
    ] {
        let mut server = Running::of(service, |builder| builder).await;
        teach(&server).await;
        let id = server.session("n0").await;
        observe(&server, &id, &history).await;
        let target = format!("/sessions/{id}/next?top=1000&above=n1");
        let answer = server.get(&target).await.json();
        assert_eq!(
            json!({"next": answer["next"], "other": answer["other"]}),
            expected
        );
        let levels = json!([{"node_id": "n0", "patterns": 3}, {"node_id": "n1", "patterns": 2}]);
        assert_eq!(
            (&answer["levels"], &answer["history"]),
            (&levels, &json!(4))
        );
        let listed = answer["next"].as_array().unwrap();
        let sum: f64 = listed
            .iter()
            .map(|next| next["probability"].as_f64().unwrap())
            .sum();
        assert!((sum + answer["other"].as_f64().unwrap() - 1.0).abs() < 1e-9);
        if restarts {
            server.stop().await.unwrap().unwrap();
            server = Running::of(on_disk(), |builder| builder).await;
            assert_eq!(server.get(&target).await.json(), answer);
        }
        // What is learned is counted with the next question.
        let before = server
            .get(&format!("/sessions/{id}/next?top=0&symbol=roof"))
            .await
            .json();
        assert_eq!(before["asked"][0]["known"], json!(false));
        server
            .post(&format!("/sessions/{id}/learn"), json!({}))
            .await;
        observe(&server, &id, &["the", "roof"]).await;
        server
            .post(&format!("/sessions/{id}/learn"), json!({}))
            .await;
        let after = server
            .get(&format!("/sessions/{id}/next?symbol=roof&explain=true"))
            .await
            .json();
        let (known, p) = (
            &after["asked"][0]["known"],
            &after["asked"][0]["probability"],
        );
        assert_eq!((known, &after["history"]), (&json!(true), &json!(6)));
        let parts = after["explanations"][0]["parts"].as_array().unwrap();
        let sum: f64 = parts
            .iter()
            .map(|part| part["contribution"].as_f64().unwrap())
            .sum();
        assert_eq!(sum, p.as_f64().unwrap());
    }
}

#[tokio::test]
async fn questions_that_cannot_be_answered_are_refused() {
    let server = Running::memory().await;
    let id = server.session("n0").await;
    server.session("n-1").await;
    let many = "symbol=x&".repeat(101);
    for (query, status, detail) in [
        ("", 200, ""),
        ("top=0", 200, ""),
        ("top=1000&explain=1", 200, ""),
        ("top=1001", 422, "1001"),
        ("top=-1", 422, "top is -1"),
        ("top=99999999999999999999999", 422, "limit is 1000"),
        ("top=many", 422, "int_parsing"),
        ("explain=maybe", 422, "true or false"),
        ("fit=1&explain=true&patterns=100", 200, ""),
        ("fit=perhaps", 422, "fit has to be true or false"),
        ("patterns=101", 422, "limit is 100"),
        ("patterns=-5", 422, "patterns is -5"),
        ("above=nowhere", 422, "nowhere"),
        ("above=n0", 422, "name it once"),
        ("above=n-1&above=n_1", 422, "name it once"),
        ("above=", 422, "no such node"),
        ("symbol=%ff%00&symbol=", 200, ""),
        (many.as_str(), 422, "limit is 100"),
    ] {
        let answer = server.get(&format!("/sessions/{id}/next?{query}")).await;
        let text = answer.text();
        assert_eq!(answer.status, status, "{query}: {text}");
        assert!(text.contains(detail), "{query}: {text}");
    }
    assert_eq!(server.get("/sessions/nobody/next").await.status, 404);
    let posted = server
        .send(Request::new("POST", &format!("/sessions/{id}/next")))
        .await;
    assert_eq!(posted.status, 405);
    // No node was made by asking for it.
    assert_eq!(server.get("/stats").await.status, 200);
    assert_eq!(
        server.get("/extensions").await.json()["next"],
        "/sessions/{session_id}/next"
    );
}

#[tokio::test]
async fn a_stock_server_has_no_such_question() {
    let service = Service::in_memory(ServiceOptions::default());
    let server = Running::of(service, |builder| builder.with_extensions(false)).await;
    let id = server.session("n0").await;
    assert_eq!(
        server.get(&format!("/sessions/{id}/next")).await.status,
        404
    );
}

#[tokio::test]
async fn counts_and_answers_for_which_there_is_no_memory_are_refused() {
    let options = ServiceOptions::default().with_max_head_memory(2 << 20);
    let server = Running::of(Service::in_memory(options), |builder| {
        builder.with_max_answer_memory(1 << 20)
    })
    .await;
    let learn = async |node: &str, n: usize| {
        let id = server.session(node).await;
        let sequence = |idx: usize| json!({"events": [[format!("a{idx}")], [format!("b{idx}")]]});
        let sequences: Vec<Value> = (0..n).map(sequence).collect();
        let target = format!("/sessions/{id}/learn-batch");
        assert_eq!(
            server
                .post(&target, json!({"sequences": sequences}))
                .await
                .status,
            200
        );
        id
    };
    let large = learn("large", 50_000).await;
    let refused = server.get(&format!("/sessions/{large}/next")).await;
    assert_eq!(refused.status, 507, "{}", refused.text());
    assert!(
        refused.text().contains("--max-head-memory") || refused.text().contains("fewer levels")
    );
    // It costs others nothing.
    let small = learn("small", 10).await;
    assert_eq!(
        server.get(&format!("/sessions/{small}/next")).await.status,
        200
    );
    assert_eq!(
        server.get(&format!("/sessions/{large}/stm")).await.status,
        200
    );
}
