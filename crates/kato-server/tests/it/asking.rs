//! `POST /sessions/{id}/ask-batch`: many questions, whose answers are sent while they are made.

use kato_head::{Head, HeadOptions, Weights};
use kato_model::Event;
use kato_service::{Service, ServiceOptions};
use serde_json::{Value, json};

use crate::support::{Answer, Request, Running, until};

const CHUNKS: [[&str; 3]; 4] = [
    ["the", "cat", "sat"],
    ["on", "the", "mat"],
    ["the", "cat", "ran"],
    ["on", "my", "hat"],
];

fn events(words: &[&str]) -> Value {
    words.iter().map(|word| json!([word])).collect()
}

async fn taught(server: &Running) -> String {
    let id = server.session("n0").await;
    let sequences: Vec<Value> = CHUNKS
        .iter()
        .map(|chunk| json!({"events": events(chunk)}))
        .collect();
    let target = format!("/sessions/{id}/learn-batch");
    let learned = server.post(&target, json!({"sequences": sequences})).await;
    assert_eq!(learned.status, 200);
    id
}

async fn ask(server: &Running, id: &str, body: Value) -> Answer {
    server
        .post(&format!("/sessions/{id}/ask-batch"), body)
        .await
}

/// The lines of an answer.
fn lines(answer: &Answer) -> Vec<Value> {
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(answer.header("content-type"), Some("application/x-ndjson"));
    let text = answer.text();
    let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
    lines.collect()
}

#[tokio::test]
async fn every_answer_is_that_of_a_session_that_observed_the_events() {
    let server = Running::memory().await;
    let id = taught(&server).await;
    let states: [&[&str]; 5] = [&["the"], &["cat", "the"], &["on", "my"], &["new"], &[]];
    // More questions than one thread answers in a turn, of all kinds, in no order of their cost.
    let questions: Vec<Value> = (0..100)
        .map(|idx| {
            let state = events(states[idx % states.len()]);
            match idx % 3 {
                0 => json!({"ask": "predictions", "events": state}),
                1 => json!({"ask": "next", "events": state, "top": 3, "symbols": ["cat", "dog"]}),
                _ => json!({"ask": "next", "events": state}),
            }
        })
        .collect();
    let answers = lines(&ask(&server, &id, json!({"questions": questions})).await);
    assert_eq!(answers.len(), questions.len());
    for (question, answer) in questions.iter().zip(&answers) {
        let fresh = server.session("n0").await;
        for event in question["events"].as_array().unwrap() {
            let target = format!("/sessions/{fresh}/observe");
            server.post(&target, json!({"strings": event})).await;
        }
        if question["ask"] == "predictions" {
            let target = format!("/sessions/{fresh}/predictions");
            let alone = server.get(&target).await.json();
            let (predictions, futures) = (&alone["predictions"], &alone["future_potentials"]);
            let expected = json!({"predictions": predictions, "future_potentials": futures});
            assert_eq!(answer, &json!({"predictions": expected}));
        } else {
            let named = match question.get("symbols") {
                Some(_) => "top=3&symbol=cat&symbol=dog",
                None => "top=10",
            };
            let target = format!("/sessions/{fresh}/next?{named}");
            let alone = server.get(&target).await.json();
            for key in ["history", "outcomes", "next", "other", "asked"] {
                assert_eq!(answer["next"][key], alone[key], "{key} of {question}");
            }
        }
    }
    // The session itself has observed nothing.
    let stm = server.get(&format!("/sessions/{id}/stm")).await.json();
    assert_eq!(stm["length"], 0);
}

#[tokio::test]
async fn a_score_prices_every_event_as_the_head_does() {
    let server = Running::memory().await;
    let id = taught(&server).await;
    let text = ["on", "the", "mat", "the", "dog", "sat"];
    let mut observed = events(&text);
    // An event of several symbols has no price, and an empty one is none.
    observed
        .as_array_mut()
        .unwrap()
        .insert(2, json!(["the", "cat"]));
    observed.as_array_mut().unwrap().insert(4, json!([]));
    let questions = json!([{"ask": "score", "events": observed}]);
    let answers = lines(&ask(&server, &id, json!({"questions": questions})).await);

    let mut head = Head::new(HeadOptions::default().with_levels(1)).unwrap();
    for chunk in CHUNKS {
        let chunk = chunk.map(|word| Event::new([word]));
        let learned = head.learn(0, &chunk, 1, |_, _| Ok::<_, kato_head::HeadError>(None));
        learned.unwrap();
    }
    let mut scorer = head.scorer(Weights::new());
    let symbols = [
        Some("on"),
        Some("the"),
        None,
        Some("mat"),
        Some("the"),
        Some("dog"),
        Some("sat"),
    ];
    let prices: Vec<Option<f64>> = symbols
        .into_iter()
        .map(|symbol| {
            let price = scorer.score(symbol.and_then(|symbol| head.symbol(symbol)), None);
            price.filter(|_| symbol.is_some())
        })
        .collect();
    let bits: f64 = prices
        .iter()
        .flatten()
        .map(|price| -libm::log2(*price))
        .sum();
    let expected = json!({"probabilities": prices, "bits": bits, "unknown": 1});
    assert_eq!(answers, [json!({"score": expected})]);
}

#[tokio::test]
async fn a_batch_that_cannot_be_asked_is_refused_as_a_whole() {
    let server = Running::memory().await;
    let id = taught(&server).await;
    let of = |question: Value| json!({"questions": [question]});
    let too_many: Vec<String> = (0..101).map(|idx| idx.to_string()).collect();
    for (body, place) in [
        (json!({}), json!(["body", "questions"])),
        (
            of(json!({"events": []})),
            json!(["body", "questions", 0, "ask"]),
        ),
        (
            of(json!({"ask": "why", "events": []})),
            json!(["body", "questions", 0, "ask"]),
        ),
        (
            of(json!({"ask": "next"})),
            json!(["body", "questions", 0, "events"]),
        ),
        (
            of(json!({"ask": "next", "events": [[7]]})),
            json!(["body", "questions", 0, "events", 0, 0]),
        ),
        (
            of(json!({"ask": "next", "events": [], "top": 1001})),
            json!(["body", "questions", 0, "top"]),
        ),
        (
            of(json!({"ask": "next", "events": [], "symbols": too_many})),
            json!(["body", "questions", 0, "symbols"]),
        ),
        (
            json!({"questions": [], "above": ["nowhere"]}),
            json!(["body", "above"]),
        ),
        (
            json!({"questions": [], "above": ["n0"]}),
            json!(["body", "above"]),
        ),
    ] {
        let refused = ask(&server, &id, body.clone()).await;
        assert_eq!(refused.status, 422, "{body}");
        assert_eq!(refused.json()["detail"][0]["loc"], place, "{body}");
    }
    let nobody = ask(&server, "session-of-nobody", json!({"questions": []})).await;
    assert_eq!(nobody.status, 404);
    let none = ask(&server, &id, json!({"questions": []})).await;
    assert_eq!((none.status, none.body.len()), (200, 0));
}

/// A server with little memory for answers, and a session whose node answers at length.
async fn with_long_answers(workers: usize) -> (Running, String) {
    let service = Service::in_memory(ServiceOptions::default());
    let server = Running::of(service, |builder| {
        builder
            .with_max_answer_memory(1 << 20)
            .with_workers(workers)
    })
    .await;
    let id = server.session("n0").await;
    let long = "x".repeat(2000);
    let sequences: Vec<Value> = (0..100)
        .map(|idx| json!({"events": [["a"], [format!("b{idx}{long}")], ["c"]]}))
        .collect();
    let target = format!("/sessions/{id}/learn-batch");
    let learned = server.post(&target, json!({"sequences": sequences})).await;
    assert_eq!(learned.status, 200);
    (server, id)
}

#[tokio::test]
async fn a_question_without_room_for_its_answer_says_so_in_its_place() {
    // However many others are made ahead of their turn, which take memory meanwhile.
    for workers in [2, 4, 32] {
        let (server, id) = with_long_answers(workers).await;
        let next = json!({"ask": "next", "events": [["a"]], "top": 1});
        let predictions = json!({"ask": "predictions", "events": [["a"], ["c"]]});
        let questions = json!([next, predictions, next]);
        let answers = lines(&ask(&server, &id, json!({"questions": questions})).await);
        assert_eq!(answers.len(), 3);
        assert_eq!(answers[1]["error"]["status"], 507, "{}", answers[1]);
        let detail = answers[1]["error"]["detail"].as_str().unwrap();
        assert!(detail.contains("ask for less"), "{detail}");
        assert!(answers[0]["next"].is_object() && answers[0] == answers[2]);
    }
}

#[tokio::test]
async fn all_answers_together_may_be_larger_than_the_memory_for_them() {
    // More are made ahead than there is memory for.
    let (server, id) = with_long_answers(32).await;
    let fewer = json!({"max_predictions": 10});
    let target = format!("/sessions/{id}/config");
    assert_eq!(server.post(&target, fewer).await.status, 200);
    let question = json!({"ask": "predictions", "events": [["a"], ["c"]], "top": 10});
    let answer = ask(&server, &id, json!({"questions": vec![question; 100]})).await;
    let answers = lines(&answer);
    assert!(answer.body.len() > 4 << 20, "{}", answer.body.len());
    assert_eq!(answers.len(), 100);
    assert!(answers.iter().all(|line| line["predictions"].is_object()));
    // And all of it was given back.
    until(&server, "kato_answer_memory_bytes", |bytes| bytes == 0.0).await;
}

#[tokio::test]
async fn nothing_more_is_made_for_a_client_that_does_not_read_or_is_gone() {
    let (server, id) = with_long_answers(4).await;
    let fewer = json!({"max_predictions": 10});
    let target = format!("/sessions/{id}/config");
    assert_eq!(server.post(&target, fewer).await.status, 200);
    let question = json!({"ask": "predictions", "events": [["a"], ["c"]]});
    let n_questions = 10_000;
    let request = Request::new("POST", &format!("/sessions/{id}/ask-batch"))
        .json(&json!({"questions": vec![question; n_questions]}));
    let mut connection = server.connect().await;
    tokio::io::AsyncWriteExt::write_all(&mut connection.stream, &request.bytes())
        .await
        .unwrap();
    connection.take(1 << 16).await.unwrap();
    drop(connection);
    // This look is the only request that is left.
    until(&server, "kato_requests_in_flight", |n| n <= 1.0).await;
    let n_made = crate::support::figure(&server, "kato_predictions_total").await;
    assert!(n_made < n_questions as f64, "{n_made}");
}
