//! Carrying out a plan, and checking every name that comes back.

use kato_model::PatternName;
use kato_protocol::extension::BatchItem;
use kato_protocol::{Observation, Sequence};

use super::{BatchPlan, BatchSessions, PlannedRequest, is_plain};
use crate::ClientError;
use crate::session::{Learn, Session};

/// Makes the requests of a plan; returns how many patterns were new, where the server tells. Both
/// sessions work at the same time, because what they learn adds up in any order.
pub(crate) async fn execute_plan(
    plan: &BatchPlan,
    items: &[BatchItem],
    sessions: &mut BatchSessions,
    key: Option<&str>,
) -> Result<Option<u64>, ClientError> {
    let runs = &sessions.runs;
    let together = async {
        let mut new = plan.calls.is_empty().then_some(0);
        for (idx, call) in plan.calls.iter().enumerate() {
            match call {
                PlannedRequest::Batch { items: chosen } => {
                    // The plan depends only on the items and the server's limits, so a repeated
                    // call gives the same items the same keys.
                    let key = key.map(|key| format!("{key}-{idx}"));
                    let learned = learn_batch(runs, plan, items, chosen, key).await?;
                    *new.get_or_insert(0) += learned;
                }
                PlannedRequest::Run { items: chosen } => {
                    learn_run(runs, plan, items, chosen).await?
                }
                PlannedRequest::Single { .. } => {}
            }
        }
        Ok::<_, ClientError>(new)
    };
    // A copy, because both futures borrow the sessions.
    let mut has_leftover_attributes = sessions.has_leftover_attributes;
    let alone = async {
        for call in &plan.calls {
            if let PlannedRequest::Single { item } = call {
                learn_single(
                    &sessions.manual,
                    sessions.outlive,
                    &mut has_leftover_attributes,
                    sessions.learns_apart,
                    plan,
                    &items[*item],
                    *item,
                )
                .await?;
            }
        }
        Ok::<_, ClientError>(())
    };
    // Both to their end, whatever one of them returns: nothing is left at work when the caller gets
    // the error.
    let (together, alone) = tokio::join!(together, alone);
    sessions.has_leftover_attributes = has_leftover_attributes;
    alone.and(together)
}

/// Learns items in one `learn-batch`; returns how many of them were new.
async fn learn_batch(
    session: &Session,
    plan: &BatchPlan,
    items: &[BatchItem],
    chosen: &[usize],
    key: Option<String>,
) -> Result<u64, ClientError> {
    let sequences = chosen.iter().map(|idx| items[*idx].clone()).collect();
    let answer = session.learn_batch(sequences, key).await?;
    let results = &answer.results;
    check(
        plan,
        chosen,
        results.iter().map(|result| result.pattern_name.as_str()),
    )?;
    Ok(results.iter().filter(|result| result.new).count() as u64)
}

/// Learns items in one long sequence, which the session cuts into chunks.
async fn learn_run(
    session: &Session,
    plan: &BatchPlan,
    items: &[BatchItem],
    chosen: &[usize],
) -> Result<(), ClientError> {
    let events = chosen.iter().flat_map(|idx| &items[*idx].events);
    let sequence = Sequence {
        observations: events
            .map(|event| Observation::strings(event.iter().cloned()).into())
            .collect(),
        ..Sequence::default()
    };
    let answer = session.write(&sequence).await?;
    let names = answer.auto_learned_patterns.iter().map(String::as_str);
    check(plan, chosen, names)
}

/// Learns one item in one sequence.
async fn learn_single(
    session: &Session,
    outlive: bool,
    has_leftover_attributes: &mut bool,
    learns_apart: bool,
    plan: &BatchPlan,
    item: &BatchItem,
    idx: usize,
) -> Result<(), ClientError> {
    if *has_leftover_attributes {
        session.clear_stm().await?;
        *has_leftover_attributes = false;
    }
    // Before the request: whatever becomes of it, the next item starts clean.
    *has_leftover_attributes = outlive && !is_plain(item);
    let sequence = Sequence {
        observations: observations(item).map(Into::into).collect(),
        learn_at_end: !learns_apart,
        ..Sequence::default()
    };
    let answer = session.write(&sequence).await?;
    let learned = match learns_apart {
        true => Some(session.write(&Learn).await?.pattern_name),
        false => answer.final_learned_pattern,
    };
    check(plan, &[idx], learned.as_deref())
}

/// Checks every name that the server returned for the chosen items against the name of their
/// content.
fn check<'a>(
    plan: &BatchPlan,
    chosen: &[usize],
    found: impl IntoIterator<Item = &'a str>,
) -> Result<(), ClientError> {
    check_names(chosen.iter().map(|idx| plan.names[*idx]), found)
}

/// Checks every name that the server returned against the name of the content.
pub(crate) fn check_names<'a>(
    names: impl IntoIterator<Item = Option<PatternName>>,
    found: impl IntoIterator<Item = &'a str>,
) -> Result<(), ClientError> {
    let mut found = found.into_iter();
    for name in names {
        let expected = name.map(|name| name.prefixed().to_string());
        let found = found.next();
        if found != expected.as_deref() {
            return Err(ClientError::NameMismatch {
                expected: expected.unwrap_or_default(),
                found: found.unwrap_or_default().to_owned(),
            });
        }
    }
    // A name too many means that the server cut the items at other places.
    match found.next() {
        None => Ok(()),
        Some(more) => Err(ClientError::NameMismatch {
            expected: String::new(),
            found: more.to_owned(),
        }),
    }
}

/// Returns the observations that make an item, with emotives and metadata in the first one.
pub(crate) fn observations(item: &BatchItem) -> impl Iterator<Item = Observation> {
    item.events.iter().enumerate().map(|(idx, event)| {
        let mut observation = Observation::strings(event.iter().cloned());
        if idx == 0 {
            observation.emotives = item.emotives.clone();
            observation.metadata = item.metadata.clone();
        }
        observation
    })
}
