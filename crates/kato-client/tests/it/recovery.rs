//! Sessions that the server lost, and calls that nobody waits for.

use kato_client::calls::CallKind;
use kato_client::protocol::Observation;
use kato_client::{ClientError, SessionOptions};
use serde_json::json;

use crate::mini::{Fault, Kind, Mini};

#[tokio::test]
async fn an_expired_session_is_restored_with_emotives_metadata_and_settings() {
    let mini = Mini::start(Kind::Stock).await;
    let session = SessionOptions::new("n").with_recall_threshold(0.5);
    let client = mini.builder(session).build().unwrap();
    let first = Observation::strings(["a"])
        .with_emotive("joy", 0.5)
        .with_metadata("title", "one");
    client.observe(first).await.unwrap();
    client.observe(Observation::strings(["b"])).await.unwrap();
    mini.expire_all();
    let answer = client.observe(Observation::strings(["c"])).await.unwrap();
    assert_eq!((answer.stm_length, answer.time), (3, 3));
    let learned = client.learn().await.unwrap();
    assert_eq!(
        learned.pattern_name,
        "PTRN|b98534b32c1d7489d4ce1a48724aa65aeecbdba9"
    );
    let node = mini.knowledge("n");
    let pattern = node.values().next().unwrap();
    assert_eq!((node.len(), pattern.frequency), (1, 1));
    assert_eq!(pattern.emotives[0]["joy"], 0.5);
    assert!(pattern.metadata["title"].contains("\"one\""));
    assert_eq!(client.calls().recoveries, 1);
}

#[tokio::test]
async fn replaying_teaches_nothing_even_below_a_lowered_limit() {
    let mini = Mini::start(Kind::Stock).await;
    let client = mini.client();
    for symbol in ["a", "b", "c"] {
        client
            .observe(Observation::strings([symbol]))
            .await
            .unwrap();
    }
    let lower = json!({"max_pattern_length": 2})
        .as_object()
        .unwrap()
        .clone();
    client.update_config(lower).await.unwrap();
    mini.expire_all();
    assert_eq!(client.stm().await.unwrap().length, 3);
    assert!(mini.knowledge("n").is_empty());
    let answer = client.observe(Observation::strings(["d"])).await.unwrap();
    assert!(answer.auto_learned_pattern.is_some(), "the limit is back");
}

#[tokio::test]
async fn a_learn_whose_answer_is_lost_is_answered_from_what_the_server_shows() {
    let mini = Mini::start(Kind::Stock).await;
    let client = mini.client();
    client
        .observe(Observation::strings(["a", "b"]))
        .await
        .unwrap();
    mini.fail(&[Fault::ActThenCut]);
    let learned = client.learn().await.unwrap();
    assert_eq!(
        learned.pattern_name,
        "PTRN|395314cc2f2880a00c3e6e11f1e02d8b8c45a0e4"
    );
    assert_eq!(client.calls().of(CallKind::Learn), 1, "not repeated");
    assert_eq!(mini.knowledge("n").values().next().unwrap().frequency, 1);
}

#[tokio::test]
async fn a_learn_that_never_arrived_is_made_after_the_old_session_is_shut() {
    let mini = Mini::start(Kind::Stock).await;
    let client = mini.client();
    client
        .observe(Observation::strings(["a", "b"]))
        .await
        .unwrap();
    mini.fail(&[Fault::Refuse]);
    client.learn().await.unwrap();
    assert_eq!(mini.knowledge("n").values().next().unwrap().frequency, 1);
    let requests = mini.requests();
    let shut = requests
        .iter()
        .position(|line| line == "DELETE /sessions/{id}")
        .unwrap();
    let learn = requests
        .iter()
        .rposition(|line| line.ends_with("/learn"))
        .unwrap();
    assert!(shut < learn);
}

#[tokio::test]
async fn a_doubt_that_stays_stops_the_session_until_it_starts_over() {
    let mini = Mini::start(Kind::Stock).await;
    let client = mini.client();
    client
        .observe(Observation::strings(["a", "b"]))
        .await
        .unwrap();
    // It acts, and the session is gone before anybody can look.
    mini.fail(&[Fault::ActThenCut, Fault::Expire]);
    let error = client.learn().await.unwrap_err();
    assert!(matches!(&error, ClientError::OutcomeUnknown { what, .. } if what == "learn"));
    assert!(error.may_have_acted());
    assert!(client.stm().await.is_err());
    client.start_over().await;
    assert_eq!(client.stm().await.unwrap().length, 0);
}

#[tokio::test]
async fn a_call_that_nobody_waits_for_is_still_carried_out() {
    let mini = Mini::start(Kind::Stock).await;
    let client = mini.client();
    client.session_id().await.unwrap();
    {
        let mut call = Box::pin(client.observe(Observation::strings(["a"])));
        let waker = futures_util::task::noop_waker();
        let mut context = std::task::Context::from_waker(&waker);
        assert!(call.as_mut().poll(&mut context).is_pending());
    }
    while client.stm().await.unwrap().length == 0 {
        tokio::task::yield_now().await;
    }
    let answer = client.observe(Observation::strings(["b"])).await.unwrap();
    assert_eq!(answer.stm_length, 2);
}
