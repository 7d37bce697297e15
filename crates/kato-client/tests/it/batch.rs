//! Batches: the same result as one by one, with fewer requests.

use kato_client::ClientError;
use kato_client::batch::{BatchMode, BatchPlan, PlannedRequest};
use kato_client::calls::CallKind;
use kato_client::protocol::extension::BatchItem;
use proptest::collection::vec;
use proptest::prelude::*;

use crate::faults::fault;
use crate::mini::{Fault, Kind, Mini, Node};

fn item() -> impl Strategy<Value = BatchItem> {
    let event = prop_oneof![8 => vec("[a-d]", 1..2), 1 => vec("[a-d]", 0..3)];
    let events = prop_oneof![3 => vec(event.clone(), 3..4), 1 => vec(event, 0..5)];
    (events, 0..6_u8, 0..6_u8).prop_map(|(events, emotive, title)| {
        let mut item = BatchItem {
            events,
            ..BatchItem::default()
        };
        if emotive == 0 {
            item.emotives.insert("joy".to_owned(), 0.5);
        }
        if title == 0 {
            item.metadata.insert("title".to_owned(), "one".into());
        }
        item
    })
}

/// Frequency, emotives and metadata that the items add up to.
fn expected(items: &[BatchItem]) -> Node {
    let mut node = Node::new();
    let (plan, sent) = BatchPlan::new(items, BatchMode::OneByOne);
    for (item, name) in sent.iter().zip(&plan.names) {
        let Some(name) = name else { continue };
        let pattern = node.entry(name.to_string()).or_default();
        pattern.events.clone_from(&item.events);
        pattern.frequency += 1;
        if !item.emotives.is_empty() {
            pattern.emotives.push(item.emotives.clone());
            let excess = pattern.emotives.len().saturating_sub(5);
            pattern.emotives.drain(..excess);
        }
        for (key, value) in &item.metadata {
            let values = pattern.metadata.entry(key.clone()).or_default();
            values.insert(value.to_string());
        }
    }
    node
}

async fn learns_all(kind: Kind, items: &[BatchItem], faults: &[Fault]) {
    let mini = Mini::start(kind).await;
    let client = mini.client();
    client.generation().await.unwrap();
    mini.fail(faults);
    let half = items.len() / 2;
    for items in [&items[..half], &items[half..]] {
        client.learn_all(items, Some(3)).await.unwrap();
    }
    assert_eq!(mini.knowledge("n"), expected(items), "{kind:?}");
}

/// Chunks and tails as training sends them: one symbol after the other.
fn plain_items() -> impl Strategy<Value = Vec<BatchItem>> {
    let text = prop_oneof![3 => "[abc]{3}", 1 => "[abc]{2,5}"];
    vec(text.prop_map(|text| chunk(&text)), 1..10)
}

/// Faults after which it can always be told what happened, whatever others teach.
fn tellable_fault() -> impl Strategy<Value = Fault> {
    use Fault::{ActThenCut, ActThenRefuse, Cut, Limit, None, Refuse};
    proptest::sample::select(&[None, None, Refuse, ActThenRefuse, Cut, ActThenCut, Limit][..])
}

/// Learns while others learn the same patterns; whether nothing was left in doubt.
async fn learns_beside_others(items: &[BatchItem], others: &[BatchItem], faults: &[Fault]) -> bool {
    let mini = Mini::start(Kind::Stock).await;
    let client = mini.client();
    client.generation().await.unwrap();
    mini.fail(faults);
    let patterns: Vec<_> = others.iter().map(|item| item.events.clone()).collect();
    mini.meanwhile(&patterns);
    let learned = client.learn_all(items, Some(3)).await;
    let found = mini.knowledge("n");
    let all = expected(&[items, others].concat());
    match learned {
        Ok(_) => assert_eq!(found, all),
        Err(ClientError::OutcomeUnknown { .. }) => {
            let least = expected(others);
            let frequency = |node: &Node, name| node.get(name).map_or(0, |found| found.frequency);
            for (name, pattern) in &all {
                let found = frequency(&found, name);
                assert!(found >= frequency(&least, name), "{name} was lost");
                assert!(found <= pattern.frequency, "{name} was doubled");
            }
            return false;
        }
        Err(error) => panic!("{error} {error:?}"),
    }
    true
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn others_who_learn_the_same_put_nothing_in_doubt(
        items in plain_items(),
        others in vec(any::<proptest::sample::Index>(), 0..60),
        faults in vec(tellable_fault(), 0..16),
    ) {
        let others: Vec<_> = others.iter().map(|idx| idx.get(&items).clone()).collect();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        prop_assert!(runtime.block_on(learns_beside_others(&items, &others, &faults)));
    }

    #[test]
    fn late_copies_among_others_who_learn_the_same_double_nothing(
        items in plain_items(),
        others in vec(any::<proptest::sample::Index>(), 0..60),
        faults in vec(fault(), 0..16),
    ) {
        let others: Vec<_> = others.iter().map(|idx| idx.get(&items).clone()).collect();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(learns_beside_others(&items, &others, &faults));
    }

    #[test]
    fn every_server_ends_with_what_was_given(items in vec(item(), 0..30)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            for kind in [Kind::Stock, Kind::October2025, Kind::KatoRs] {
                learns_all(kind, &items, &[]).await;
            }
            let faults = [Fault::None, Fault::ActThenCut, Fault::Limit, Fault::Cut, Fault::ActThenRefuse];
            learns_all(Kind::KatoRs, &items, &faults).await;
        });
    }

    #[test]
    fn every_item_is_planned_once_within_the_limits(
        items in vec(item(), 0..40),
        max_sequences in 1..9_usize,
        max_bytes in 1..900_usize,
    ) {
        for mode in [
            BatchMode::LearnBatch { max_sequences, max_bytes },
            BatchMode::Runs { chunk_size: 3, max_events: max_bytes },
            BatchMode::OneByOne,
        ] {
            let (plan, sent) = BatchPlan::new(&items, mode);
            let mut planned = Vec::new();
            for call in &plan.calls {
                match call {
                    PlannedRequest::Batch { items: chosen } => {
                        prop_assert!(chosen.len() <= max_sequences);
                        let sequences = chosen.iter().map(|idx| sent[*idx].clone()).collect();
                        let request = kato_protocol::extension::LearnBatchRequest { sequences };
                        let bytes = serde_json::to_vec(&request).unwrap().len();
                        prop_assert!(bytes <= max_bytes || chosen.len() == 1, "{bytes}");
                        planned.extend(chosen);
                    }
                    PlannedRequest::Run { items: chosen } => {
                        prop_assert!(chosen.len() * 3 <= max_bytes || chosen.len() == 1);
                        prop_assert!(chosen.iter().all(|idx| sent[*idx].events.len() == 3));
                        planned.extend(chosen);
                    }
                    PlannedRequest::Single { item } => planned.push(*item),
                    _ => unreachable!(),
                }
            }
            planned.sort_unstable();
            let learnable: Vec<_> = (0..items.len()).filter(|idx| plan.names[*idx].is_some()).collect();
            prop_assert_eq!(planned, learnable);
        }
    }
}

fn chunk(text: &str) -> BatchItem {
    BatchItem {
        events: text
            .chars()
            .map(|symbol| vec![symbol.to_string()])
            .collect(),
        ..BatchItem::default()
    }
}

#[tokio::test]
async fn a_sample_costs_one_call_and_one_for_each_odd_chunk() {
    let mini = Mini::start(Kind::Stock).await;
    let client = mini.client();
    let mut items: Vec<_> = ["abc", "bcd", "cda", "dab", "abc", "ab"].map(chunk).into();
    items[0].metadata.insert("title".to_owned(), "one".into());
    client.learn_all(&items, Some(3)).await.unwrap();
    let report = client.learn_all(&items, Some(3)).await.unwrap();
    assert_eq!(report.calls.of(CallKind::ObserveSequence), 3);
    assert_eq!(
        report.calls.requests, 4,
        "{:?}: one clear before",
        report.calls
    );
    assert_eq!(report.names.len(), 6);
}

#[tokio::test]
async fn lost_answers_of_runs_are_resolved_without_a_second_learn() {
    let items: Vec<_> = ["abc", "bcd", "cda"].map(chunk).into();
    let mini = Mini::start(Kind::Stock).await;
    let client = mini.client();
    client.learn_all(&items, Some(3)).await.unwrap();
    mini.fail(&[Fault::ActThenCut]);
    client.learn_all(&items, Some(3)).await.unwrap();
    mini.fail(&[Fault::Cut]);
    client.learn_all(&items, Some(3)).await.unwrap();
    let node = mini.knowledge("n");
    assert!(node.len() == 3 && node.values().all(|pattern| pattern.frequency == 3));
}
