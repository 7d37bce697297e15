//! Requests that act when nobody counts on them any more: each case that the client must tell
//! apart, to the request.

use kato_client::protocol::extension::BatchItem;
use kato_client::protocol::{Observation, Sequence};
use kato_client::{ClientError, KatoClient};
use serde_json::{Map, json};

use crate::mini::{Fault, Kind, Mini, Node};

fn frequencies(node: &Node) -> Vec<u64> {
    node.values().map(|pattern| pattern.frequency).collect()
}

async fn limit(client: &KatoClient, events: u64) {
    let changes = Map::from_iter([("max_pattern_length".to_owned(), json!(events))]);
    client.update_config(changes).await.unwrap();
}

#[tokio::test]
async fn a_late_copy_of_a_refused_learn_finds_nothing_to_learn() {
    let mini = Mini::start(Kind::KatoRs).await;
    let client = mini.client();
    client.session_id().await.unwrap();
    mini.fail(&[Fault::ActLate(u8::MAX)]);
    assert_eq!(client.learn().await.unwrap_err().status(), Some(400));
    let event = Observation::strings(["a", "b"]);
    client.observe(event).await.unwrap();
    assert!(mini.knowledge("n").is_empty());
    assert_eq!(client.stm().await.unwrap().stm, [["a", "b"]]);
}

#[tokio::test]
async fn a_late_copy_of_a_setting_does_not_undo_a_later_one() {
    let mini = Mini::start(Kind::Stock).await;
    let client = mini.client();
    client.session_id().await.unwrap();
    mini.fail(&[Fault::ActLate(3)]);
    limit(&client, 2).await;
    limit(&client, 0).await;
    for symbol in ["a", "b", "c"] {
        let event = Observation::strings([symbol]);
        client.observe(event).await.unwrap();
    }
    assert!(mini.knowledge("n").is_empty());
    assert_eq!(client.stm().await.unwrap().length, 3);
}

/// What a learn does when its copy acts before the given request, counted from the one without an
/// answer: a look, the frequency, a look, the deletion, the frequency again. The frequencies in the
/// end.
async fn learn_with(fault: Fault) -> (Result<String, ClientError>, Vec<u64>) {
    let mini = Mini::start(Kind::Stock).await;
    let client = mini.client();
    let event = Observation::strings(["a", "b"]);
    client.observe(event).await.unwrap();
    mini.fail(&[fault]);
    let learned = client.learn().await.map(|learned| learned.pattern_name);
    (learned, frequencies(&mini.knowledge("n")))
}

#[tokio::test]
async fn a_late_learn_is_seen_or_shut_out_or_in_doubt() {
    for n in [1, 2, 3, 5, 6, u8::MAX] {
        let (learned, frequencies) = learn_with(Fault::ActLate(n)).await;
        assert!(learned.is_ok(), "{n}: {learned:?}");
        assert_eq!(frequencies, [1], "{n}");
    }
    for fault in [Fault::ActLate(4), Fault::BeginLate(4, 5)] {
        let (learned, frequencies) = learn_with(fault).await;
        assert!(
            matches!(learned, Err(ClientError::OutcomeUnknown { .. })),
            "{fault:?}: {learned:?}"
        );
        assert_eq!(frequencies, [1], "{fault:?}");
    }
    for n in 1..=3 {
        let (learned, frequencies) = learn_with(Fault::Slow(n)).await;
        assert!(learned.is_ok(), "{n}: {learned:?}");
        assert_eq!(frequencies, [1], "{n}");
    }
}

/// What a run of one chunk does among others who learn the same before every request: a look, the
/// frequency, a look, the setting, a look, a look, where the time has moved the setting, the
/// deletion. How often the chunk was learned beyond what the others did.
async fn run_with(fault: Fault) -> (Result<(), ClientError>, u64) {
    const OTHERS: usize = 20;
    let mini = Mini::start(Kind::Stock).await;
    let client = mini.client();
    let events: Vec<_> = ["a", "b", "c"].map(|symbol| vec![symbol.to_owned()]).into();
    let chunk = BatchItem {
        events: events.clone(),
        ..BatchItem::default()
    };
    let lesson = [chunk];
    client.learn_all(&lesson, Some(3)).await.unwrap();
    mini.fail(&[fault]);
    mini.meanwhile(&vec![events; OTHERS]);
    let learned = client.learn_all(&lesson, Some(3)).await.map(|_| ());
    let frequency = frequencies(&mini.knowledge("n"))[0];
    (learned, frequency - 1 - OTHERS as u64)
}

#[tokio::test]
async fn a_late_run_among_others_is_seen_or_harmless_or_in_doubt() {
    let certain = [
        Fault::Cut,
        Fault::ActThenCut,
        Fault::ActLate(3),
        // It begins when the setting is in force, before and after the time was looked at.
        Fault::ActLate(6),
        Fault::ActLate(7),
        Fault::ActLate(u8::MAX),
        // It begins before the setting and ends after the time was looked at.
        Fault::BeginLate(4, 6),
        Fault::Slow(3),
    ];
    for fault in certain {
        let (learned, n) = run_with(fault).await;
        assert!(learned.is_ok(), "{fault:?}: {learned:?}");
        assert_eq!(n, 1, "{fault:?}");
    }
    // It acts between the last look and the setting, or as soon as that is in force: the time says
    // the same.
    for (fault, acted) in [(Fault::ActLate(4), 1), (Fault::ActLate(5), 0)] {
        let (learned, n) = run_with(fault).await;
        assert!(
            matches!(learned, Err(ClientError::OutcomeUnknown { .. })),
            "{fault:?}: {learned:?}"
        );
        assert_eq!(n, acted, "{fault:?}");
    }
}

#[tokio::test]
async fn in_the_older_generation_a_frequency_that_stays_proves_nothing() {
    let mini = Mini::start(Kind::October2025).await;
    let client = mini.client();
    let sequence = Sequence {
        observations: ["a", "b"]
            .map(|symbol| Observation::strings([symbol]).into())
            .into(),
        learn_at_end: true,
        ..Sequence::default()
    };
    client.session_id().await.unwrap();
    // The short-term memory is empty before and after: no look can show that it acted.
    mini.fail(&[Fault::ActThenRefuse]);
    let learned = client.observe_sequence(sequence).await;
    assert!(
        matches!(learned, Err(ClientError::OutcomeUnknown { .. })),
        "{learned:?}"
    );
    assert_eq!(frequencies(&mini.knowledge("n")), [1]);
}
