//! Random work under random faults: nothing is lost, nothing doubled, or the one operation in doubt
//! is named.

use kato_client::protocol::{Observation, Sequence};
use kato_client::{ClientError, KatoClient, SessionOptions};
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::Map;

use crate::mini::{Fault, Kind, Mini, Node, SLOWEST};

#[derive(Debug, Clone)]
enum Step {
    Observe(Observation),
    Sequence(Sequence),
    Learn,
    ClearStm,
    /// From now on learn after so many events.
    Limit(u64),
}

fn observation() -> impl Strategy<Value = Observation> {
    (vec("[ab]", 0..3), 0..6_u8, 0..8_u8).prop_map(|(mut strings, emotive, metadata)| {
        strings.sort();
        let mut observation = Observation::strings(strings);
        if emotive == 0 {
            observation = observation.with_emotive("joy", 0.5);
        }
        if metadata == 0 {
            observation = observation.with_metadata("title", "one");
        }
        observation
    })
}

fn common_step() -> impl Strategy<Value = Step> {
    let sequence = (vec(observation(), 0..4), any::<bool>(), 0..5_u8, 0..5_u8).prop_map(
        |(observations, learn_at_end, each, clear)| Sequence {
            observations: observations.into_iter().map(Into::into).collect(),
            learn_at_end,
            learn_after_each: each == 0,
            clear_stm_between: clear == 0,
        },
    );
    prop_oneof![
        5 => observation().prop_map(Step::Observe),
        3 => sequence.prop_map(Step::Sequence),
        2 => Just(Step::Learn),
        1 => Just(Step::ClearStm),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        10 => common_step(),
        1 => (0..4_u64).prop_map(Step::Limit),
    ]
}

pub(crate) fn fault() -> impl Strategy<Value = Fault> {
    prop_oneof![
        7 => Just(Fault::None),
        1 => Just(Fault::Refuse),
        1 => Just(Fault::ActThenRefuse),
        1 => Just(Fault::Cut),
        1 => Just(Fault::ActThenCut),
        2 => prop_oneof![1..14_u8, Just(u8::MAX)].prop_map(Fault::ActLate),
        2 => (1..=SLOWEST).prop_map(Fault::Slow),
        1 => (1..8_u8).prop_map(|n| Fault::BeginLate(n, n + 1)),
        1 => Just(Fault::Limit),
        1 => Just(Fault::Expire),
    ]
}

async fn take(client: &KatoClient, step: &Step) -> Result<Vec<String>, ClientError> {
    match step.clone() {
        Step::Observe(observation) => {
            let answer = client.observe(observation).await?;
            Ok(answer.auto_learned_pattern.into_iter().collect())
        }
        Step::Sequence(sequence) => Ok(client
            .observe_sequence(sequence)
            .await?
            .auto_learned_patterns),
        Step::Learn => match client.learn().await {
            Ok(answer) => Ok(vec![answer.pattern_name]),
            Err(ClientError::Status { status: 400, .. }) => Ok(Vec::new()),
            Err(error) => Err(error),
        },
        Step::ClearStm => client.clear_stm().await.map(|_| Vec::new()),
        Step::Limit(limit) => {
            let changes = Map::from_iter([("max_pattern_length".to_owned(), limit.into())]);
            client.update_config(changes).await.map(|()| Vec::new())
        }
    }
}

fn options(limit: u64, rolling: bool) -> SessionOptions {
    SessionOptions::new("n")
        .with_max_pattern_length(limit)
        .with_rolling(rolling)
}

/// Knowledge, short-term memory and answer after every step, with no faults.
async fn reference(
    kind: Kind,
    session: &SessionOptions,
    steps: &[Step],
) -> Vec<(Node, Vec<Vec<String>>, Vec<String>)> {
    let mini = Mini::start(kind).await;
    let client = mini.builder(session.clone()).build().unwrap();
    let mut states = vec![(Node::default(), Vec::new(), Vec::new())];
    for step in steps {
        let names = take(&client, step).await.unwrap();
        let stm = client.stm().await.unwrap().stm;
        states.push((mini.knowledge("n"), stm, names));
    }
    states
}

async fn check(kind: Kind, session: SessionOptions, steps: Vec<Step>, faults: Vec<Fault>) -> bool {
    let states = reference(kind, &session, &steps).await;
    let mini = Mini::start(kind).await;
    let client = mini.builder(session).build().unwrap();
    client.session_id().await.unwrap();
    mini.fail(&faults);
    for (idx, step) in steps.iter().enumerate() {
        let names = match take(&client, step).await {
            Ok(names) => names,
            Err(ClientError::OutcomeUnknown { .. }) => {
                let found = mini.knowledge("n");
                assert!(
                    found == states[idx].0 || found == states[idx + 1].0,
                    "more in doubt than step {idx}: {found:?}"
                );
                let after = client.learn().await.unwrap_err();
                assert!(
                    matches!(after, ClientError::OutcomeUnknown { .. }),
                    "{after}"
                );
                return false;
            }
            Err(error) => panic!("step {idx}: {error} {error:?}"),
        };
        assert_eq!(names, states[idx + 1].2, "answer of step {idx}");
    }
    mini.fail(&[]);
    let (knowledge, stm, _) = states.last().unwrap();
    // First what is still under way does its worst.
    assert_eq!(&mini.knowledge("n"), knowledge);
    assert_eq!(&client.stm().await.unwrap().stm, stm);
    true
}

fn run(kind: Kind, session: SessionOptions, steps: Vec<Step>, faults: Vec<Fault>) -> bool {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(check(kind, session, steps, faults))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn a_stock_server_ends_as_without_faults_or_one_step_is_in_doubt(
        steps in vec(step(), 1..10),
        faults in vec(fault(), 0..24),
        limit in prop_oneof![Just(0_u64), Just(2), Just(3)],
        rolling in any::<bool>(),
    ) {
        run(Kind::Stock, options(limit, rolling), steps, faults);
    }

    #[test]
    fn a_server_with_keys_ends_as_without_faults(
        steps in vec(step(), 1..10),
        faults in vec(fault(), 0..24),
        limit in prop_oneof![Just(0_u64), Just(3)],
        rolling in any::<bool>(),
    ) {
        prop_assert!(run(Kind::KatoRs, options(limit, rolling), steps, faults));
    }

    #[test]
    fn the_older_generation_ends_as_without_faults_or_one_step_is_in_doubt(
        steps in vec(common_step(), 1..8),
        faults in vec(fault(), 0..16),
    ) {
        run(Kind::October2025, options(0, false), steps, faults);
    }
}
