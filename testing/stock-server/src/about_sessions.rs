//! Short requests about sessions.

use kato_model::naming::NAME_PREFIX;
use kato_protocol::observation::Stm;
use kato_protocol::percept::{CognitionData, PerceptAnswer, SessionCognition};
use kato_protocol::session::{
    Cleared, ConfigAnswer, ConfigUpdated, Deleted, Exists, Extended, FinalizedTraining,
    SessionCount,
};
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::service::map_under;
use crate::session::{Gathered, Session, now};
use crate::values::Generation;
use crate::world::World;
use crate::{config, validate};

/// Answers `POST /sessions`.
pub(crate) fn create(world: &World, body: &[u8]) -> Result<Answer, Answer> {
    // KATO takes the number, and its Redis then refuses it.
    if validate::has_negative_ttl(body) {
        return Err(Answer::crash());
    }
    let wanted = validate::create_session(body)?;
    // Zero counts as not given.
    let ttl_seconds = wanted.ttl_seconds.filter(|ttl| *ttl > 0);
    let ttl_seconds = ttl_seconds.unwrap_or(world.options.session_ttl);
    let wanted_config = wanted.config.unwrap_or_default();
    let session = Session {
        id: world.sessions.new_id(),
        node_id: wanted.node_id,
        created_at: now(),
        expires_at: 0,
        ttl_seconds,
        metadata: wanted.metadata,
        config: config::at_creation(world.generation(), wanted_config),
        stm: Vec::new(),
        gathered: Gathered::default(),
        time: 0,
        percept: None,
    };
    let created_at = session.created_at;
    let session = session.saved(created_at);
    let answer = Answer::okay(&session.info(world.generation(), ttl_seconds));
    world.sessions.put(session);
    Ok(answer)
}

/// Answers `GET /sessions/count`.
pub(crate) fn count(world: &World) -> Answer {
    let active_session_count = world.sessions.count() as u64;
    Answer::okay(&SessionCount {
        active_session_count,
    })
}

/// Answers `GET /sessions/{id}`.
pub(crate) fn show(world: &World, id: &str) -> Result<Answer, Answer> {
    // This path is not checked before the endpoints, so that its 404 has another shape than the
    // others: see `Answer::session_gone`.
    let gone = || Answer::detail(404, &format!("Session {id} not found or expired"));
    let session = world.sessions.load(id).ok_or_else(gone)?;
    let left = session.expires_at.saturating_sub(now()) / 1000;
    Ok(Answer::okay(&session.info(world.generation(), left)))
}

/// Answers `GET /sessions/{id}/exists`.
pub(crate) fn exists(world: &World, id: &str) -> Answer {
    Answer::okay(&Exists {
        exists: world.sessions.load(id).is_some(),
        // KATO deletes an expired session when it loads it, and then knows of none.
        expired: false,
        session_id: id.to_owned(),
    })
}

/// Answers `DELETE /sessions/{id}`.
pub(crate) fn delete(world: &World, session: &Session) -> Answer {
    world.sessions.delete(&session.id);
    Answer::okay(&Deleted {
        status: "deleted".to_owned(),
        session_id: session.id.clone(),
    })
}

/// Answers `GET /sessions/{id}/config`, which only 3.10 has.
pub(crate) fn config(world: &World, session: &Session) -> Answer {
    Answer::okay(&ConfigAnswer {
        session_id: session.id.clone(),
        config: config::shown(world.generation(), &session.config),
    })
}

/// Answers `POST /sessions/{id}/config`.
///
/// It does not take the session's lock: a request that is at work writes the old settings back in
/// the end.
pub(crate) fn set_config(
    world: &World,
    mut session: Session,
    body: &[u8],
) -> Result<Answer, Answer> {
    let mut wanted = map_under("config", validate::map(body)?).ok_or_else(Answer::crash)?;
    if world.generation() != Generation::October2025 {
        let errors = config::refusals(&wanted);
        if !errors.is_empty() {
            let detail =
                json!({"error": "Configuration validation failed", "validation_errors": errors});
            return Err(Answer::json(400, &json!({ "detail": detail })));
        }
        if let Some(matching) = wanted.get("use_token_matching").cloned() {
            // A quirk of 3.10: setting one sets the other, which has no effect.
            wanted.entry("sort_symbols").or_insert(matching);
        }
    }
    let known = config::known(world.generation(), wanted);
    session.config.extend(known);
    let session_id = session.id.clone();
    world.sessions.save(session);
    Ok(Answer::okay(&ConfigUpdated {
        status: "okay".to_owned(),
        message: "Configuration updated".to_owned(),
        session_id,
    }))
}

/// Answers `POST /sessions/{id}/extend`, whose body is read and means nothing.
pub(crate) fn extend(
    world: &World,
    mut session: Session,
    seconds: Option<&str>,
) -> Result<Answer, Answer> {
    let seconds = seconds.unwrap_or("3600");
    let Ok(ttl_seconds) = seconds.parse::<i64>() else {
        let msg = "Input should be a valid integer, unable to parse string as an integer";
        let loc = ["query", "ttl_seconds"];
        let detail = json!({"type": "int_parsing", "loc": loc, "msg": msg, "input": seconds});
        return Err(Answer::invalid(&[detail]));
    };
    let millis = u64::try_from(ttl_seconds).unwrap_or(0).saturating_mul(1000);
    // The session's own time to live stays: the next write goes back to it. Hence `put`, not
    // `save`. Zero seconds end the session.
    session.expires_at = now().saturating_add(millis);
    let session_id = session.id.clone();
    world.sessions.put(session);
    Ok(Answer::okay(&Extended {
        status: "extended".to_owned(),
        session_id,
        ttl_seconds,
    }))
}

/// Answers `GET /sessions/{id}/stm`.
///
/// In 2025-10 a session with nothing in its short-term memory gets what the processor has in its
/// own.
pub(crate) fn stm(world: &World, mut session: Session) -> Answer {
    if world.generation() == Generation::October2025 && session.stm.is_empty() {
        let shared = |node: &mut crate::knowledge::Node| node.processor.stm.clone();
        session.stm = world.knowledge.with(&session.node_id, shared);
        if !session.stm.is_empty() {
            world.sessions.put(session.clone());
        }
    }
    Answer::okay(&Stm {
        length: session.stm.len(),
        stm: session.stm,
        session_id: session.id,
    })
}

/// Answers `POST /sessions/{id}/clear-stm`.
pub(crate) fn clear_stm(world: &World, session: Session) -> Answer {
    let node_id = &session.node_id;
    world
        .knowledge
        // In 2025-10 this takes from all sessions of the node; nothing looks at a processor in
        // 3.10.
        .with(node_id, |node| node.processor.clear_stm());
    cleared(world, session, None)
}

/// Answers `POST /sessions/{id}/clear-all`.
pub(crate) fn clear_all(world: &World, session: Session) -> Answer {
    world.knowledge.clear_all(&session.node_id);
    cleared(world, session, Some("all".to_owned()))
}

/// Empties a session and answers so.
fn cleared(world: &World, mut session: Session, scope: Option<String>) -> Answer {
    session.clear(world.generation());
    let session_id = session.id.clone();
    world.sessions.save(session);
    Answer::okay(&Cleared {
        status: "cleared".to_owned(),
        session_id,
        scope,
    })
}

/// Answers `POST /sessions/{id}/finalize-training`, which only 3.10 has. Nothing is computed.
pub(crate) fn finalize(world: &World, session: &Session) -> Answer {
    let patterns = world
        .knowledge
        .with(&session.node_id, |node| node.patterns.len());
    Answer::okay(&FinalizedTraining {
        status: "completed".to_owned(),
        patterns_processed: patterns as u64,
        time_ms: 0.0,
        session_id: session.id.clone(),
        node_id: session.node_id.clone(),
        message: format!(
            "Computed Shannon entropy and TF vectors for {patterns} patterns in 0.0ms"
        ),
    })
}

/// Answers `GET /sessions/{id}/percept-data`, which only 3.10 has.
pub(crate) fn percept(session: &Session) -> Answer {
    let Some(percept_data) = session.percept.clone() else {
        let (id, node_id) = (&session.id, &session.node_id);
        return Answer::okay(&json!({"percept_data": {}, "session_id": id, "node_id": node_id}));
    };
    Answer::okay(&PerceptAnswer {
        percept_data,
        session_id: Some(session.id.clone()),
        node_id: session.node_id.clone(),
        warning: None,
    })
}

/// Answers `GET /sessions/{id}/cognition-data`, which only 3.10 has.
pub(crate) fn cognition(session: &Session) -> Answer {
    let cognition_data = CognitionData {
        emotives: session
            .gathered
            .emotives
            .last()
            .cloned()
            .unwrap_or_default(),
        symbols: session.stm.concat(),
        short_term_memory: session.stm.clone(),
        time: Some(session.time),
        ..CognitionData::default()
    };
    Answer::okay(&SessionCognition {
        cognition_data,
        session_id: Some(session.id.clone()),
        node_id: session.node_id.clone(),
        warning: None,
    })
}

/// Answers `POST /sessions/{id}/patterns/retire` and `…/un-retire`, which only 6.3 has.
pub(crate) fn retire(
    world: &World,
    session: &Session,
    body: &[u8],
    retires: bool,
) -> Result<Answer, Answer> {
    let body = validate::map(body)?;
    let ids = body.get("pattern_ids").and_then(Value::as_array);
    let ids: Option<Vec<&str>> = ids.and_then(|ids| ids.iter().map(Value::as_str).collect());
    let ids = ids.ok_or_else(|| {
        Answer::invalid(&[json!({"type": "missing", "loc": ["body", "pattern_ids"],
        "msg": "Field required", "input": body})])
    })?;
    let bare = |id: &&str| id.trim().trim_start_matches(NAME_PREFIX).to_owned();
    let (changed, unchanged): (Vec<String>, Vec<String>) = ids
        .iter()
        .map(bare)
        .partition(|name| world.knowledge.retire(&session.node_id, name, retires));
    let (done, before) = match retires {
        true => ("retired", "already_retired"),
        false => ("un_retired", "not_retired"),
    };
    Ok(Answer::okay(
        &json!({"status": "okay", "session_id": session.id, "node_id": session.node_id,
        "requested": ids.len(), done: changed, before: unchanged}),
    ))
}
