//! Every call once: what the server answers is what the types say.

use std::time::Duration;

use kato_client::calls::CallKind;
use kato_client::protocol::extension::{
    AskBatchRequest, Asked, BatchAnswer, BatchItem, BatchQuestion, NextQuery,
};
use kato_client::protocol::{Observation, Sequence};
use kato_client::{ClientError, KatoClient, KatoGeneration};
use kato_model::PatternName;
use serde_json::{Map, json};

use super::{Running, session};

const AB: &str = "PTRN|395314cc2f2880a00c3e6e11f1e02d8b8c45a0e4";

fn items(texts: &[&str]) -> Vec<BatchItem> {
    let events = |text: &&str| {
        text.chars()
            .map(|symbol| vec![symbol.to_string()])
            .collect()
    };
    texts
        .iter()
        .map(|text| BatchItem {
            events: events(text),
            ..BatchItem::default()
        })
        .collect()
}

async fn works_in_a_session(client: &KatoClient) {
    let joyful = Observation::strings(["b", "a"])
        .with_emotive("joy", 0.5)
        .with_metadata("title", "one");
    let observed = client.observe(joyful).await.unwrap();
    assert_eq!((observed.stm_length, observed.time), (1, 1));
    assert_eq!(client.stm().await.unwrap().stm, [["a", "b"]]);
    assert_eq!(
        client.percept().await.unwrap().percept_data.strings,
        ["a", "b"]
    );
    assert_eq!(
        client.cognition().await.unwrap().cognition_data.time,
        Some(1)
    );
    assert_eq!(client.learn().await.unwrap().pattern_name, AB);
    let sequence = Sequence {
        observations: ["a", "b", "c"]
            .map(|symbol| Observation::strings([symbol]).into())
            .into(),
        learn_at_end: true,
        ..Sequence::default()
    };
    let learned = client.observe_sequence(sequence).await.unwrap();
    assert!(learned.final_learned_pattern.is_some());
    client.observe(Observation::strings(["a"])).await.unwrap();
    client.observe(Observation::strings(["b"])).await.unwrap();
    let answer = client.predictions().await.unwrap();
    assert!(
        answer
            .predictions
            .iter()
            .any(|found| found.future == [["c"]])
    );
    let changes = Map::from_iter([("recall_threshold".to_owned(), json!(0.5))]);
    client.update_config(changes).await.unwrap();
    assert_eq!(client.config().await.unwrap()["recall_threshold"], 0.5);
    // Every setting that is wrong is named, and nothing has changed.
    let wrong = [
        ("recall_threshold", json!("7")),
        ("persistence", json!("x")),
    ];
    let wrong = Map::from_iter(wrong.map(|(key, value)| (key.to_owned(), value)));
    let error = client.update_config(wrong).await.unwrap_err();
    assert!(!error.may_have_acted());
    match error {
        ClientError::Validation {
            status: 400,
            details,
            ..
        } => {
            let mut keys: Vec<_> = details.iter().map(|one| one.loc[2].clone()).collect();
            keys.sort_by_key(ToString::to_string);
            assert_eq!(keys, ["persistence", "recall_threshold"]);
        }
        error => panic!("{error:?}"),
    }
    assert_eq!(client.config().await.unwrap()["recall_threshold"], 0.5);
    assert_eq!(client.session_info().await.unwrap().node_id, "n");
    assert!(client.session_exists().await.unwrap());
    let extended = client.extend(Duration::from_secs(90)).await.unwrap();
    assert_eq!(extended.ttl_seconds, 90);
    client.finalize_training().await.unwrap();
    client.clear_stm().await.unwrap();
    assert_eq!(client.stm().await.unwrap().length, 0);
}

async fn asks_the_node(client: &KatoClient) {
    let name: PatternName = AB.strip_prefix("PTRN|").unwrap().parse().unwrap();
    let pattern = client.pattern(&name).await.unwrap().unwrap();
    assert_eq!(
        (pattern.frequency, pattern.pattern_data),
        (1, vec![vec!["a".to_owned(), "b".to_owned()]])
    );
    let absent = PatternName::of_events(&[["absent", "pattern"]]);
    assert!(client.pattern(&absent).await.unwrap().is_none());
    assert_eq!(client.symbols().await.unwrap().symbols["a"].frequency, 2);
    assert!(
        client
            .affinities()
            .await
            .unwrap()
            .affinities
            .contains_key("a")
    );
    assert!(client.affinity("a").await.unwrap()["joy"] > 0.0);
    assert!(client.affinity("/ ?").await.unwrap().is_empty());
}

async fn asks_the_server(client: &KatoClient) {
    assert_eq!(client.root().await.unwrap().version, "6.3.2");
    client.health().await.unwrap();
    client.status().await.unwrap();
    client.metrics().await.unwrap();
    client.stats(10).await.unwrap();
    client.concurrency().await.unwrap();
    client.cache_stats().await.unwrap();
    client.distributed_stm().await.unwrap();
    client.connection_pools().await.unwrap();
    client.invalidate_cache(None).await.unwrap();
    assert!(client.session_count().await.unwrap() >= 1);
    assert!(
        client
            .metric_history("no_such_metric", 10)
            .await
            .unwrap()
            .is_none()
    );
}

#[tokio::test]
async fn every_call_is_answered_with_and_without_extensions() {
    for extended in [true, false] {
        let server = Running::in_memory(|server| {
            server
                .with_extensions(extended)
                .with_generation_2025_10(extended)
        })
        .await;
        let client = server.builder(session()).build().unwrap();
        assert_eq!(client.generation().await.unwrap(), KatoGeneration::V6);
        assert_eq!(client.extensions().await.unwrap().is_some(), extended);
        assert_eq!(client.base_url(), format!("http://{}/", server.addr));
        works_in_a_session(&client).await;
        asks_the_node(&client).await;
        asks_the_server(&client).await;
        let genes = Map::from_iter([("max_pattern_length".to_owned(), json!(7))]);
        match client.update_genes(genes).await {
            Ok(_) => assert_eq!(
                client.gene("max_pattern_length").await.unwrap(),
                Some(json!(7))
            ),
            Err(error) => assert!(!extended && matches!(error, ClientError::Unsupported { .. })),
        }
        let report = client
            .learn_all(&items(&["abc", "bcd", "ab", "x"]), Some(3))
            .await
            .unwrap();
        assert_eq!(report.names.iter().flatten().count(), 3);
        assert_eq!(report.new_patterns, extended.then_some(2), "abc was there");
        client.clear_all().await.unwrap();
        assert!(client.symbols().await.unwrap().symbols.is_empty());
        client.close().await.unwrap();
        server.stop().await;
    }
}

#[tokio::test]
async fn a_key_acts_once() {
    let server = Running::in_memory(|server| server).await;
    let client = server.builder(session()).build().unwrap();
    let texts = items(&["abc", "bcd", "abc"]);
    for _ in 0..2 {
        // As from a process that forgot the first time.
        let report = client
            .fork()
            .learn_all_once("k", &texts, Some(3))
            .await
            .unwrap();
        assert_eq!(report.new_patterns, Some(2));
        let pattern = client
            .pattern(&report.names[0].unwrap())
            .await
            .unwrap()
            .unwrap();
        assert_eq!(pattern.frequency, 2);
    }
    let error = client
        .learn_all_once("k", &items(&["xyz"]), Some(3))
        .await
        .unwrap_err();
    assert_eq!(error.status(), Some(422), "{error}");
    let report = client.learn_all_once("k2", &texts, Some(3)).await.unwrap();
    assert_eq!(report.new_patterns, Some(0));
    assert_eq!(report.calls.of(CallKind::LearnBatch), 1);
    let mut both = report.calls.clone();
    both.merge(&report.calls);
    assert_eq!(
        (both.requests, both.of(CallKind::LearnBatch)),
        (2 * report.calls.requests, 2)
    );
}

#[tokio::test]
async fn without_its_token_nobody_is_served() {
    let server = Running::in_memory(|server| server.with_token("right")).await;
    for token in [None, Some("wrong")] {
        let mut builder = server.builder(session());
        if let Some(token) = token {
            builder = builder.with_bearer_token(token);
        }
        let error = builder
            .build()
            .unwrap()
            .observe(Observation::strings(["a"]))
            .await
            .unwrap_err();
        assert_eq!(error.status(), Some(401), "{error}");
        assert!(!error.may_have_acted());
    }
    let client = server
        .builder(session())
        .with_bearer_token("right")
        .build()
        .unwrap();
    client.observe(Observation::strings(["a"])).await.unwrap();
}

#[tokio::test]
async fn what_comes_next_is_asked_in_types() {
    let server = Running::in_memory(|server| server).await;
    let client = server.builder(session()).build().unwrap();
    let words = |words: &[&str]| -> Vec<Observation> {
        let observations = words.iter().map(|word| Observation::strings([*word]));
        observations.collect()
    };
    for chunk in [
        ["the", "cat", "sleeps"],
        ["the", "cat", "sits"],
        ["the", "cat", "sleeps"],
    ] {
        for observation in words(&chunk) {
            client.observe(observation).await.unwrap();
        }
        client.learn().await.unwrap();
    }
    client.clear_stm().await.unwrap();
    for observation in words(&["the", "cat"]) {
        client.observe(observation).await.unwrap();
    }
    let query = NextQuery {
        top: 3,
        symbols: vec!["sits & sleeps".to_owned(), "sits".to_owned()],
        explain: true,
        patterns: 1,
        fit: true,
        ..NextQuery::default()
    };
    let answer = client.next(query.clone()).await.unwrap();
    assert_eq!(
        (answer.next[0].symbol.as_str(), answer.next.len()),
        ("sleeps", 3)
    );
    assert_eq!((answer.history, answer.levels[0].patterns), (2, 2));
    assert!(!answer.asked[0].known && answer.asked[1].known);
    let why = &answer.explanations[0];
    assert_eq!(why["symbol"], "sits");
    let orders = why["parts"][0]["reason"]["orders"].as_array().unwrap();
    // "sits" after "the cat" was counted in one pattern.
    assert_eq!(orders.last().unwrap()["n_patterns"], 1);
    let unknown = NextQuery {
        above: vec!["no&where".to_owned()],
        ..query
    };
    let refused = client.next(unknown).await.unwrap_err();
    assert_eq!(refused.status(), Some(422));
    assert!(refused.to_string().contains("no&where"), "{refused}");

    let events = vec![vec!["the".to_owned()], vec!["cat".to_owned()]];
    let ask = |asked| BatchQuestion::new(asked, events.clone());
    let questions = vec![ask(Asked::Next), ask(Asked::Predictions), ask(Asked::Score)];
    let request = AskBatchRequest {
        questions,
        above: Vec::new(),
    };
    let answers = client.ask_batch(request).await.unwrap();
    let [
        BatchAnswer::Next(next),
        BatchAnswer::Predictions(found),
        BatchAnswer::Score(score),
    ] = &answers[..]
    else {
        panic!("{answers:?}");
    };
    assert_eq!(next.next[0].symbol, "sleeps");
    let alone = client.predictions().await.unwrap();
    assert_eq!(found.predictions, alone.predictions);
    assert_eq!((score.probabilities.len(), score.unknown), (2, 0));
    let none = client.ask_batch(AskBatchRequest::default()).await.unwrap();
    assert!(none.is_empty());
    client.close().await.unwrap();
    server.stop().await;

    let stock = Running::in_memory(|server| server.with_extensions(false)).await;
    let client = stock.builder(session()).build().unwrap();
    let refused = client.next(NextQuery::default()).await.unwrap_err();
    assert!(
        matches!(refused, ClientError::Unsupported { what: "next", .. }),
        "{refused}"
    );
    client.close().await.unwrap();
    stock.stop().await;
}
