//! Sessions that last, end and come back.

use std::time::Duration;

use kato_client::calls::CallKind;
use kato_client::protocol::Observation;
use kato_client::protocol::extension::BatchItem;
use kato_client::{ClientError, KatoClient, SessionOptions};
use kato_model::PatternName;
use kato_service::{Service, ServiceOptions};

use super::{Running, any_port, session};

/// Waits until the client has asked for its session's extension with a request that began after
/// now.
async fn extended_anew(client: &KatoClient) {
    let before = client.calls().of(CallKind::Session);
    while client.calls().of(CallKind::Session) < before + 2 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_session_that_is_kept_alive_outlives_its_time() {
    let (server, clock) = Running::manual().await;
    let kept = session().with_keep_alive(Duration::from_millis(1));
    let client = server.builder(kept).build().unwrap();
    client.observe(Observation::strings(["a"])).await.unwrap();
    let id = client.session_id().await.unwrap();
    for _ in 0..4 {
        clock.advance(Duration::from_secs(40));
        extended_anew(&client).await;
    }
    assert_eq!(client.session_id().await.unwrap(), id);
    assert_eq!(client.stm().await.unwrap().stm, [["a"]]);
    assert_eq!(client.calls().recoveries, 0);
}

fn work() -> Vec<Observation> {
    let vector = Observation {
        vectors: vec![vec![1.0, 2.0, 3.0]],
        ..Observation::strings(["seen"])
    };
    vec![
        Observation::strings(["b", "a"]).with_emotive("joy", 0.5),
        vector,
        Observation::strings(["c"])
            .with_metadata("title", "one")
            .with_emotive("joy", -1.0),
        Observation::strings(["d"]),
    ]
}

#[tokio::test]
async fn a_session_that_expires_during_work_changes_nothing() {
    for extended in [true, false] {
        let (server, clock) = Running::manual().await;
        let calm = server
            .builder(session())
            .with_extensions(extended)
            .build()
            .unwrap();
        let node = SessionOptions::new("other").with_ttl(Duration::from_secs(60));
        let lively = calm.fork_with(node);
        for observation in work() {
            calm.observe(observation).await.unwrap();
        }
        let expected = calm.stm().await.unwrap().stm;
        for observation in work() {
            clock.advance(Duration::from_secs(3600));
            lively.observe(observation).await.unwrap();
        }
        clock.advance(Duration::from_secs(3600));
        assert_eq!(lively.stm().await.unwrap().stm, expected);
        assert_eq!(lively.calls().recoveries, 4);
        clock.advance(Duration::from_secs(3600));
        let learned = lively.learn().await.unwrap().pattern_name;
        assert_eq!(calm.learn().await.unwrap().pattern_name, learned);
        let name: PatternName = learned.strip_prefix("PTRN|").unwrap().parse().unwrap();
        let [calm, lively] = [calm.pattern(&name).await, lively.pattern(&name).await]
            .map(|found| found.unwrap().unwrap());
        assert_eq!(calm, lively, "frequency, emotives and metadata too");
        assert_eq!(calm.metadata["title"], ["one"]);
    }
}

fn lesson(n: usize) -> BatchItem {
    BatchItem {
        events: vec![vec![format!("a{n}")], vec![format!("b{n}")]],
        ..BatchItem::default()
    }
}

/// Learns with keys, one observation after the other, and in batches; every pattern once.
async fn learns_with_keys(client: KatoClient, n_lessons: usize) {
    for n in 0..n_lessons {
        let [item] = [lesson(n)];
        for event in item.events.clone() {
            client.observe(Observation::strings(event)).await.unwrap();
        }
        client.learn().await.unwrap();
        for _ in 0..2 {
            client
                .learn_all_once(&format!("key-{n}"), std::slice::from_ref(&item), Some(2))
                .await
                .unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_starts_again_during_keyed_learns_loses_and_doubles_nothing() {
    const LESSONS: usize = 40;
    let dir = tempfile::tempdir().unwrap();
    let open = || Service::open(dir.path(), ServiceOptions::default()).unwrap();
    let mut server = Running::of(open(), any_port(), |server| server).await;
    let addr = server.addr;
    let client = server.builder(session()).build().unwrap();
    let asking = client.fork();
    let learning = tokio::spawn(learns_with_keys(client.fork(), LESSONS));
    for restart in 1..=3 {
        // Somewhere in the middle: wherever it is, the result is the same.
        let name = PatternName::of_events(&lesson(restart * 8).events);
        while asking.pattern(&name).await.unwrap().is_none() {
            tokio::task::yield_now().await;
        }
        server.stop().await;
        server = Running::of(open(), addr, |server| server).await;
    }
    learning.await.unwrap();
    for n in 0..LESSONS {
        let name = PatternName::of_events(&lesson(n).events);
        let pattern = asking.pattern(&name).await.unwrap().unwrap();
        assert_eq!(pattern.frequency, 2, "lesson {n}");
    }
    server.stop().await;
}

#[tokio::test]
async fn what_the_server_would_change_or_refuse_is_not_sent() {
    let server = Running::in_memory(|server| server).await;
    let field = |error: ClientError| match error {
        ClientError::Config { field, .. } => field,
        error => panic!("{error}"),
    };
    let named = |id: &str| SessionOptions::new(id);
    for (options, refused) in [
        (named("me@et"), "node_id"),
        (named("n").with_recall_threshold(0.0), "recall_threshold"),
        (
            named("n").with_setting("filter_pipeline", ["length"].to_vec()),
            "filter_pipeline",
        ),
    ] {
        let client = server.builder(options).build().unwrap();
        assert_eq!(field(client.session_id().await.unwrap_err()), refused);
    }
    let wrong = server.builder(named("n").with_max_predictions(0)).build();
    assert_eq!(field(wrong.map(drop).unwrap_err()), "max_predictions");

    let shared = named("me@et").with_shared_node_id(true);
    let builder = server.builder(shared).with_extensions(false);
    let client = builder.build().unwrap();
    client.session_id().await.unwrap();
    // Sessions of lessons are of the same node.
    client.learn_all(&[lesson(0)], None).await.unwrap();
    client.close().await.unwrap();
    server.stop().await;
}
