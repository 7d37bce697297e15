//! Predictions that take minutes: nobody else waits for them, and they end when nobody waits for
//! them.

use std::time::Duration;

use kato_engine::node::Lesson;
use kato_engine::{Observation, Sequence};
use kato_model::Event;
use kato_server::ServerBuilder;
use kato_service::answer::NewSession;
use kato_service::{Service, ServiceOptions};
use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::time;

use crate::support::{Connection, Request, Running, figure};

/// Far above what anything here takes on a busy machine, and far below one of the predictions.
const SOON: Duration = Duration::from_secs(60);

/// Half a million symbols of two kinds, different for every number.
fn long(number: usize) -> impl Iterator<Item = Vec<&'static str>> {
    (0..1000usize).map(move |idx| {
        let n_first = (idx * 7919 + number * 104_729) % 500;
        let symbol = |idx: usize| if idx < n_first { "a" } else { "b" };
        (0..500).map(symbol).collect()
    })
}

/// A session whose prediction takes minutes.
fn endless(service: &Service, node_id: &str) -> String {
    let created = service.create_session(NewSession::new(node_id)).unwrap();
    let id = created.wait().unwrap().session_id;
    let lessons = (0..10).map(|number| Lesson::new(long(number).map(Event::new)));
    let taught = service.learn_batch(&id, lessons.collect(), None).unwrap();
    taught.wait().unwrap();
    let sequence = Sequence::new(long(100).map(Observation::strings));
    let observed = service.observe_sequence(&id, sequence, None).unwrap();
    observed.wait().unwrap();
    id
}

async fn server(configure: impl FnOnce(ServerBuilder) -> ServerBuilder) -> (Running, Service) {
    let service = Service::in_memory(ServiceOptions::default());
    // One thread for what takes long of a node, two in all.
    let server = Running::of(service.clone(), |builder| {
        configure(builder.with_workers(2))
    });
    (server.await, service)
}

/// Asks for predictions and does not wait for them.
async fn ask(server: &Running, id: &str) -> Connection {
    let mut connection = server.connect().await;
    let request = Request::new("GET", &format!("/sessions/{id}/predictions"));
    connection.stream.write_all(&request.bytes()).await.unwrap();
    connection
}

/// Waits for it: a request keeps its place for a moment after its client has read the answer.
async fn until_in_flight(server: &Running, n: u64) {
    let reached = async {
        loop {
            let answer = server.get("/concurrency").await.json();
            // This request is one of them.
            if answer["current"]["concurrent_requests"] == n + 1 {
                return;
            }
        }
    };
    let reached = time::timeout(SOON, reached).await;
    reached.expect("so many requests are in flight");
}

/// A session of a node that predicts in no time.
async fn quick(server: &Running, node_id: &str) -> String {
    let id = server.session(node_id).await;
    let target = format!("/sessions/{id}/observe");
    server.post(&target, json!({"strings": ["quick"]})).await;
    id
}

async fn predicts(server: &Running, id: &str) {
    let target = format!("/sessions/{id}/predictions");
    let answer = time::timeout(SOON, server.get(&target)).await;
    assert_eq!(answer.expect("it is answered soon").status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_abandoned_prediction_gives_its_thread_back() {
    let (server, service) = server(|builder| builder).await;
    let slow = endless(&service, "n");
    let quick = quick(&server, "n").await;
    for _ in 0..3 {
        let asked = ask(&server, &slow).await;
        until_in_flight(&server, 1).await;
        drop(asked);
        // It waits for the node's only thread.
        predicts(&server, &quick).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_prediction_that_takes_too_long_is_ended_and_says_so() {
    let short = Duration::from_millis(300);
    let (server, service) = server(|builder| builder.with_prediction_timeout(short)).await;
    let slow = endless(&service, "n");
    for path in ["predictions", "cognition-data"] {
        let target = format!("/sessions/{slow}/{path}");
        let answer = time::timeout(SOON, server.get(&target)).await.unwrap();
        assert_eq!(answer.status, 504, "{path}");
        let message = answer.json()["error"]["message"].clone();
        assert!(
            message
                .as_str()
                .unwrap()
                .contains("longer than the server allows")
        );
    }
    assert_eq!(figure(&server, "kato_predictions_total").await, 0.0);
    let quick = quick(&server, "n").await;
    predicts(&server, &quick).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_stops_though_a_prediction_would_go_on_for_minutes() {
    let short = Duration::from_millis(300);
    let (server, service) = server(|builder| builder.with_shutdown_timeout(short)).await;
    let slow = endless(&service, "n");
    let _asked = ask(&server, &slow).await;
    until_in_flight(&server, 1).await;
    let stopped = time::timeout(SOON, server.stop()).await;
    let stopped = stopped.expect("it stops soon").unwrap().unwrap();
    assert_eq!(stopped.n_cut_off, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_is_answered_while_the_queue_of_another_one_is_full() {
    let (server, service) = server(|builder| builder).await;
    let slow = endless(&service, "busy");
    let mut asked = Vec::new();
    for _ in 0..5 {
        asked.push(ask(&server, &slow).await);
    }
    until_in_flight(&server, 5).await;
    let quick = quick(&server, "other").await;
    predicts(&server, &quick).await;
    // So are short requests of the busy node, those that teach it included.
    let target = format!("/sessions/{slow}");
    let learned = server.post(&format!("{target}/learn"), json!({})).await;
    assert_eq!(learned.status, 200);
    assert_eq!(
        server.get(&format!("{target}/stm")).await.json()["length"],
        0
    );
    assert_eq!(server.get("/status").await.status, 200);
    // All of it while the five went on.
    until_in_flight(&server, 5).await;
}
