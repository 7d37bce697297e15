//! Short requests about the server and its nodes.

use kato_model::naming::NAME_PREFIX;
use kato_protocol::node::{NodeSymbols, SymbolStats};
use kato_protocol::percept::{CognitionData, Gene, GenesUpdated};
use kato_protocol::session::Root;
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::knowledge::{Node, kept_as};
use crate::request::Request;
use crate::service::map_under;
use crate::validate;
use crate::values::Generation;
use crate::world::World;

const DEPRECATED: &str = "This endpoint is deprecated. Use the endpoint of the session.";

/// Answers `GET /`.
pub(crate) fn root(world: &World) -> Answer {
    let mut answer = Answer::okay(&Root {
        service: "KATO API".to_owned(),
        version: version(world).to_owned(),
        description: "Knowledge Abstraction for Traceable Outcomes".to_owned(),
        docs: "/docs".to_owned(),
        health: "/health".to_owned(),
        status: "running".to_owned(),
        uptime_seconds: uptime(world),
        architecture: "modular".to_owned(),
        session_support: true,
    });
    answer.endless = world.options.endless;
    answer
}

/// Answers `GET /health`.
pub(crate) fn health(world: &World) -> Answer {
    Answer::okay(
        &json!({"status": "healthy", "processor_status": "healthy", "service_name": "kato",
        "uptime_seconds": uptime(world), "issues": [], "metrics_collected": 19, "last_collection": 0.0,
        "active_sessions": world.sessions.count(), "timestamp": "2026-11-20T22:09:35.380967+00:00"}),
    )
}

/// Answers `GET /status`.
pub(crate) fn status(world: &World) -> Answer {
    let active = world.sessions.count();
    let sessions = json!({"total_sessions": active, "active_sessions": active, "expired_sessions": 0, "backend": "redis",
        "redis_url": "redis://redis:6379"});
    let processors = json!({"total_processors": 0, "max_processors": 100, "eviction_ttl_seconds": 3600, "processors": []});
    Answer::okay(
        &json!({"status": "healthy", "base_processor_id": "kato", "uptime_seconds": uptime(world),
        "sessions": sessions, "processors": processors, "version": version(world)}),
    )
}

/// Answers `GET /pattern/{name}`.
pub(crate) fn pattern(world: &World, request: &Request) -> Answer {
    let node_id = request.node_id();
    let asked = &request.path[1];
    let name = asked.strip_prefix(NAME_PREFIX).unwrap_or(asked);
    let found = match world.knowledge.pattern(&node_id, name) {
        Some(pattern) => {
            let length: usize = pattern.events.iter().map(Vec::len).sum();
            let emotives = match world.generation() {
                // 2025-10 stores an empty map until the first emotives come, which would then be a
                // list.
                Generation::October2025 if pattern.emotives.is_empty() => json!({}),
                _ => json!(pattern.emotives),
            };
            // 3.10 reads a frequency that Redis does not know as 1.
            let frequency = pattern.frequency.max(1);
            json!({"status": "okay", "pattern": {"name": format!("{NAME_PREFIX}{name}"), "pattern_data": pattern.events,
                "length": length, "frequency": frequency, "emotives": emotives, "metadata": pattern.metadata}})
        }
        // An unknown pattern is no error of HTTP: KATO answers 200, and says so in the body.
        None => json!({"status": "error", "message": format!("Pattern {name} not found")}),
    };
    Answer::okay(&json!({"pattern": found, "node_id": kept_as(&node_id)}))
}

/// Answers `GET /percept-data`, in 2025-10 with the node's last observation.
pub(crate) fn percept(world: &World, request: &Request) -> Answer {
    let node_id = request.node_id();
    let kept_as = kept_as(&node_id);
    if world.generation() != Generation::October2025 {
        let empty = json!({"percept_data": {}, "node_id": kept_as, "warning": DEPRECATED});
        return Answer::okay(&empty);
    }
    let seen = |node: &mut Node| node.processor.percept.clone();
    let seen = world.knowledge.with(&node_id, seen);
    let seen = seen.map_or_else(|| json!({}), |percept| json!(percept));
    Answer::okay(&json!({"percept_data": seen, "node_id": kept_as}))
}

/// Answers `GET /cognition-data`, in 2025-10 with the state of the node's processor.
pub(crate) fn cognition(world: &World, request: &Request) -> Answer {
    let node_id = request.node_id();
    let mut answer = json!({"node_id": kept_as(&node_id)});
    let mut data = CognitionData::default();
    match world.generation() {
        Generation::V3_10 | Generation::V6_3 => answer["warning"] = json!(DEPRECATED),
        Generation::October2025 => world.knowledge.with(&node_id, |node| {
            let processor = &node.processor;
            data.symbols = processor.stm.concat();
            data.short_term_memory.clone_from(&processor.stm);
            data.emotives = processor
                .gathered
                .emotives
                .last()
                .cloned()
                .unwrap_or_default();
        }),
    }
    answer["cognition_data"] = json!(data);
    Answer::okay(&answer)
}

/// Answers `POST /genes/update`, which only 2025-10 has.
pub(crate) fn set_genes(world: &World, request: &Request) -> Result<Answer, Answer> {
    let node_id = request.node_id();
    let body = validate::map(&request.body)?;
    let genes = map_under("genes", body.clone()).ok_or_else(Answer::crash)?;
    world
        .knowledge
        // KATO checks nothing here: anything is kept, and may fail when it is used.
        .with(&node_id, |node| node.processor.config.extend(genes));
    Ok(Answer::okay(&GenesUpdated {
        status: "okay".to_owned(),
        node_id: kept_as(&node_id),
        genes: Value::Object(body),
    }))
}

/// Answers `GET /gene/{name}`, which only 2025-10 has.
pub(crate) fn gene(world: &World, request: &Request) -> Result<Answer, Answer> {
    let node_id = request.node_id();
    let (gene, kept_as) = (&request.path[1], kept_as(&node_id));
    let read = |node: &mut Node| node.processor.gene(gene, &node_id, &kept_as);
    let not_found = || Answer::detail(404, &format!("Gene {gene} not found"));
    let value = world.knowledge.with(&node_id, read).ok_or_else(not_found)?;
    Ok(Answer::okay(&Gene {
        gene: gene.clone(),
        value,
        node_id: kept_as,
    }))
}

/// Answers `GET /symbols/stats`, which only 3.10 has.
pub(crate) fn symbol_stats(world: &World, request: &Request) -> Answer {
    let node_id = request.node_id();
    let stats = |(symbol, counts): (&String, &(u64, u64))| {
        let stats = SymbolStats {
            name: symbol.clone(),
            frequency: counts.0,
            pattern_member_frequency: counts.1,
        };
        (symbol.clone(), stats)
    };
    let symbols = world
        .knowledge
        .with(&node_id, |node| node.symbols.iter().map(stats).collect());
    Answer::okay(&NodeSymbols {
        symbols,
        node_id: kept_as(&node_id),
    })
}

/// Returns the version that the generation's API reports.
fn version(world: &World) -> &'static str {
    match world.generation() {
        Generation::V3_10 => "3.10.1",
        Generation::V6_3 => "6.3.2",
        Generation::October2025 => "1.0.0",
    }
}

/// Returns how long the server has been running, in seconds.
fn uptime(world: &World) -> f64 {
    world.started.elapsed().as_secs_f64()
}

/// Answers `GET /patterns/count`, which only 6.3 has.
pub(crate) fn count_patterns(world: &World, request: &Request) -> Answer {
    let node_id = request.node_id();
    let rows = |node: &mut Node| {
        node.patterns
            .values()
            .filter(|pattern| pattern.rows > 0)
            .count()
    };
    let pattern_count = world.knowledge.with(&node_id, rows);
    Answer::okay(&json!({"pattern_count": pattern_count, "node_id": kept_as(&node_id)}))
}
